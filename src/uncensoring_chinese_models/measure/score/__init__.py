"""Score a run against what its target is known to know."""
