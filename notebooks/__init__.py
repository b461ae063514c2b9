"""Notebooks as text, and :mod:`notebooks.run`, which executes them."""
