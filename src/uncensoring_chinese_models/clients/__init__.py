"""Everything that talks to a model: one method, request in, reply out.

`http_api` speaks to a server, `wire` understands what it says, and `layers` wraps one client
around another: journaled over retrying over limited over metered over HTTP.
"""
