"""Small local models with planted facts: the list, the weights, the server."""
