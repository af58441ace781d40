"""Pages for people: one view model of a run, one set of templates, charts as inline SVG."""
