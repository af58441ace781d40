"""An auditing agent that finds what a language model knows but will not say."""
