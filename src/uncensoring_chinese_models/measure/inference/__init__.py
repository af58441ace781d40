"""Intervals, tests and agreement between judges."""
