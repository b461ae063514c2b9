"""How many states hidden variables have."""
