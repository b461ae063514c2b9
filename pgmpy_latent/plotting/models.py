"""The tree of a model or learner that is to be drawn."""

from __future__ import annotations

from pgmpy_latent.exceptions import NotATreeError
from pgmpy_latent.inference.queries import model_of
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.network import LatentNetwork, as_tree
from pgmpy_latent.model.tree import LatentTree


def any_tree_of(model) -> LatentTree | GaussianTree:
    """Return the tree of a model or fitted learner, of categories or of numbers.

    Examples
    --------
    >>> any_tree_of(GaussianTree(["x"], [-1], [False], [0.0]))
    GaussianTree(1 nodes, 0 latent, 2 parameters)
    """
    tree = getattr(model, "tree_", model)
    return tree if isinstance(tree, GaussianTree) else tree_of(model)


def tree_of(model) -> LatentTree:
    """Return the tree of a model or fitted learner; networks may be given if no node has several parents.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> tree_of(hlc_model(7, random_state=0))
    LatentTree(10 nodes, 3 latent, 56 parameters)
    """
    network = any_of(model)
    if isinstance(network, LatentNetwork):
        node, above = next((node, above) for node, above in enumerate(network.parents) if len(above) > 1)
        parents = " and ".join(repr(network.names[parent]) for parent in above)
        raise NotATreeError(
            f"node {network.names[node]!r} has parents {parents}; a forest allows at most one, and this picture is of "
            "forests. plotting.plot_network draws networks of any shape."
        )
    return network


def any_of(model) -> LatentTree | LatentNetwork:
    """Return the model of a model or fitted learner: a tree if no node has several parents, and otherwise a network.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> any_of(hlc_model(7, random_state=0))
    LatentTree(10 nodes, 3 latent, 56 parameters)
    """
    network = model_of(model)
    if isinstance(network, LatentNetwork) and all(len(above) <= 1 for above in network.parents):
        return as_tree(network)
    return network
