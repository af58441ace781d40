"""Tell whether a text answers or withholds, and by which words."""
