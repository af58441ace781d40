"""Runs as tables, files of other programs, and objects for Python; nothing here changes a run."""
