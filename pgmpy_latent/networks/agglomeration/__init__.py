"""The number of states of hidden variables in networks."""
