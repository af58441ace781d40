"""Compare runs, arms or languages fact by fact."""
