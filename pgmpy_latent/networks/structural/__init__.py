"""The edges of networks with hidden variables."""
