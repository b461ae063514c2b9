"""How the classes of a model relate to what is known about rows besides its columns."""
