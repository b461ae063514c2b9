"""Latent trees above thousands of columns."""
