"""Ask LLM judges what samples do with facts."""
