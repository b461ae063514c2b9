"""The classes of a mixture of trees: single columns are distributed as in the mixture."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import TreeMixture
from pgmpy_latent.operators.classes import classes_of
from pgmpy_latent.testing.strategies import latent_trees
from tests.support.reference import distribution


@given(latent_trees(max_nodes=5), st.floats(0.0, 1.0))
def test_columns_are_distributed_as_in_each_tree(tree, share):
    uniform = [np.full_like(table, 1 / table.shape[1]) for table in tree.tables]
    mixture = TreeMixture([tree, tree.with_tables(uniform)], [share, 1 - share])
    classes = classes_of(mixture)
    assert classes.table(mixture.names[0]).tolist() == [[share, 1 - share]]
    for name in mixture.observed_names:
        by_tree = [distribution(part, [name]) for part in mixture.trees]
        assert np.allclose(classes.table(name), by_tree, rtol=1e-12, atol=1e-14)
        mean = np.array([share, 1 - share]) @ by_tree
        assert np.allclose(distribution(classes, [name]), mean, rtol=1e-12, atol=1e-14)
