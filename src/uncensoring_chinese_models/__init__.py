"""Find out what a language model knows about a matter of public record, and how it hides it."""

__version__ = "0.6.0"
