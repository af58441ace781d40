"""A small language model behind real HTTP in a process of our own, for audits without a key."""
