"""A mixture of trees as a latent class model: which tree a row comes from, and one column at a time."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.states import marginals


def classes_of(mixture: TreeMixture) -> LatentTree:
    """Return a latent class model whose classes are the trees of a mixture.

    Classes have the weights of the trees, and every column has in a class the distribution that it has in the tree. So
    every single column, and every column together with the class, is distributed as in the mixture. How columns
    depend on each other within a tree is left out.

    Examples
    --------
    >>> trees = [LatentTree(["x"], ["ab"], [-1], [False], [[[share, 1 - share]]]) for share in (0.5, 0.1)]
    >>> classes = classes_of(TreeMixture(trees, [0.25, 0.75]))
    >>> classes.names, classes.table("part"), classes.table("x")
    (('part', 'x'), array([[0.25, 0.75]]), array([[0.5, 0.5],
           [0.1, 0.9]]))
    """
    shares = [marginals(tree) for tree in mixture.trees]
    tables = [mixture.weights[None]]
    for name in mixture.observed_names:
        in_trees = [of_tree[tree.index(name)] for tree, of_tree in zip(mixture.trees, shares, strict=True)]
        tables.append(np.stack(in_trees))
    n_columns = len(mixture.observed_names)
    return LatentTree(
        mixture.names,
        mixture.state_names,
        [-1, *[0] * n_columns],
        [True, *[False] * n_columns],
        tables,
        mixture.missing,
    )
