"""The study: what many runs show together, as tables, figures and a page."""
