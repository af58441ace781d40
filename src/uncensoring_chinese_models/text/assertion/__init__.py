"""Whether a text asserts what one of its stretches says."""
