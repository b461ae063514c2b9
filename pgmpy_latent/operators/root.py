"""Moving the root: the same distribution with other arrows."""

from __future__ import annotations

from collections.abc import Hashable

from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import rooted_at


def root_walk(tree: LatentTree, node: Hashable) -> LatentTree:
    """Return the same distribution over all variables with a node as the root of its component.

    The edges on the path from the old root to the node are reversed. All other tables, other components, names, states
    and the order of the nodes stay as they are, and so does the number of parameters. Given a state of probability
    zero, the reversed table is uniform, since any row would do. Walking back therefore restores every table except the
    rows of states that have probability zero.

    Parameters
    ----------
    tree : LatentTree
        The model.
    node : hashable
        Name of the new root, hidden or observed.

    Returns
    -------
    LatentTree
        The tree itself if the node is a root already.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> walked = root_walk(tree, "x")
    >>> walked.table("x"), walked.table("H").round(3)
    (array([[0.75, 0.25]]), array([[0.667, 0.333], [0.   , 1.   ]]))
    """
    at = tree.index(node)
    if tree.parent[at] < 0:
        return tree
    parent, tables = rooted_at(tree.parent, tree.tables, at)
    return LatentTree(tree.names, tree.state_names, parent, tree.latent, tables, tree.missing)
