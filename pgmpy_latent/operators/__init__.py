"""Pure operators on trees: a tree goes in, a new tree comes out; no data, no fitting."""

from pgmpy_latent.operators.states import canonical_states, marginals, permute_states

__all__ = ["canonical_states", "marginals", "permute_states"]
