"""How well a model fits, and how sure it is."""
