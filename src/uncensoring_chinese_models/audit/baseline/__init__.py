"""The baseline auditor: rules in place of an LLM."""
