"""The viewer: a folder of runs as pages, served to this machine alone; nothing is written to a run."""
