"""Models on this machine: organisms with planted facts, GGUF files, their weights and their server."""
