"""Many runs as one page with tables and figures."""
