"""The doctor: small requests (canaries) that test what an audit relies on at an endpoint."""
