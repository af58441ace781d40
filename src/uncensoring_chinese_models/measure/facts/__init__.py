"""What is true of a topic, with matched falsehoods: the schema, its checks, the files."""
