"""Recognise refusals, denials, deflections and official lines by their wording."""
