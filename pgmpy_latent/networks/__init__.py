"""Hidden variables in networks of any shape."""
