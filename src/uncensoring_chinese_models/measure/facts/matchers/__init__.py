"""Find dates, numbers and orders of events in a text, however they are written."""
