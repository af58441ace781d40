"""Check by canaries whether an endpoint does what an audit takes for granted."""
