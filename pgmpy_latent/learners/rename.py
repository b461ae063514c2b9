"""Other names for nodes and states, in models and in fitted learners."""

from __future__ import annotations

import copy
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace

from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.inference.queries import asked
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.given import fitted, gaussian_tree_of
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.columns import listing

Names = Mapping[Hashable, Hashable]


def rename(model, nodes: Names | None = None, states: Mapping[Hashable, Names | Sequence[Hashable]] | None = None):
    """Return a model with other names of nodes and states; profiles, pictures, reports and predictions then have these.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, TreeMixture, GaussianTree, pgmpy network, fitted learner or estimator
        It stays as it is. Of a learner only hidden variables have new names: its columns are those of its table.
    nodes : dict, optional
        Name -> new name. Others keep theirs.
    states : dict, optional
        Name of a node, as it was -> state -> new state, or all new states in their order.

    Returns
    -------
    model
        Of the same kind: a tree, a network, a pgmpy network, or a learner. Estimators come back as a learner that has
        their model, as :func:`pgmpy_latent.fitted` makes it. The ``history_`` of a learner has the names used in its
        search.

    Raises
    ------
    InvalidTreeError
        If there is no such node or state, or a new name is taken.

    Examples
    --------
    >>> tree = LatentTree(["H1", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> named = rename(tree, nodes={"H1": "mood"}, states={"H1": {0: "content", 1: "sad"}})
    >>> named.names, named.state_names[0]
    (('mood', 'x'), ('content', 'sad'))
    >>> rename(tree, states={"H1": ["content", "sad"]}).state_names[0]
    ('content', 'sad')
    """
    nodes, states = dict(nodes or {}), dict(states or {})
    gaussian = gaussian_tree_of(model)
    if gaussian is not None and states:
        raise InvalidTreeError("states are for nodes that have any, and all variables of a Gaussian tree are numbers")
    old = asked(model) if gaussian is None else gaussian
    found = _renamed(old, nodes, states)
    if model is old:
        return found
    if hasattr(model, "get_cpds"):
        return to_pgmpy(found)
    return _learner_with(model, old, found, nodes, states)


def _renamed(model, nodes: dict, states: dict):
    """Return a tree, a network or a mixture of trees with other names."""
    for argument, wanted in (("nodes", nodes), ("states", states)):
        _check_known(argument, wanted, _all_names(model), nodes.values() if argument == "states" else ())
    if isinstance(model, TreeMixture):
        trees = [_renamed(tree, _within(tree, nodes), _within(tree, states)) for tree in model.trees]
        return TreeMixture(trees, model.weights)
    names = tuple(nodes.get(name, name) for name in model.names)
    if taken := [name for name in names if names.count(name) > 1]:
        raise InvalidTreeError(f"nodes would give the name {taken[0]!r} to several nodes; give each a name of its own")
    missing = tuple((nodes.get(name, name), values) for name, values in model.missing)
    if isinstance(model, GaussianTree):
        return replace(model, names=names, missing=missing)
    numeric = {model.names[at] for at in emissions_of(model)}
    if of_numbers := [name for name in states if name in numeric]:
        raise InvalidTreeError(f"states names {listing(of_numbers)}, a column of numbers, which has no states")
    pairs = zip(model.names, model.state_names, strict=True)
    new_states = tuple(_new_states(name, old, states.get(name, {})) for name, old in pairs)
    return replace(model, names=names, state_names=new_states, missing=missing)


def _all_names(model) -> list[Hashable]:
    """Return the names of all nodes; those of a mixture are the nodes of its trees."""
    trees = model.trees if isinstance(model, TreeMixture) else [model]
    return list(dict.fromkeys(name for tree in trees for name in tree.names))


def _within(tree: LatentTree, wanted: dict) -> dict:
    """Return what is wanted of the nodes that a tree of a mixture has."""
    return {name: new for name, new in wanted.items() if name in tree.names}


def _check_known(argument: str, wanted: dict, known: Sequence[Hashable], new: Collection[Hashable]) -> None:
    """Raise for names that there are not; ``new`` are those that nodes are about to get."""
    if absent := [name for name in wanted if name not in known]:
        remedy = "; use the names that nodes have before they are renamed" * any(name in new for name in absent)
        raise InvalidTreeError(f"{argument} names {listing(absent)}, but the nodes are {listing(known)}{remedy}")


def _new_states(name: Hashable, old: tuple, wanted: Names | Sequence[Hashable]) -> tuple:
    if isinstance(wanted, Mapping):
        if absent := [state for state in wanted if state not in old]:
            raise InvalidTreeError(f"node {name!r} has no state {absent[0]!r}; its states are {listing(old)}")
        new = tuple(wanted.get(state, state) for state in old)
    else:
        new = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        if len(new) != len(old):
            raise InvalidTreeError(f"node {name!r} has {len(old)} states, and states gives it {len(new)} names")
    if len(set(new)) < len(new):
        raise InvalidTreeError(f"states would give two states of {name!r} the same name: {listing(new)}")
    return new


def _learner_with(learner, old, model, nodes: dict, states: dict):
    """Return a learner that has the renamed model in place of the old one."""
    if of_table := [name for name in (*nodes, *states) if name in old.observed_names]:
        raise InvalidTreeError(
            f"{listing(of_table)}: a learner has the columns of its table; rename hidden variables alone, rename the "
            f"table before fit, or rename the model, {type(learner).__name__}.{_holder(model)}"
        )
    found = copy.copy(fitted(learner))
    if not isinstance(found, StructureLearner):
        found._describe(model)
        if hasattr(found, "model"):  # a given one
            found.model = model
        return found
    setattr(found, learner._holder, model)
    found._keep_network(model)
    found.latents_ = list(model.latent_names)
    found.n_states_ = {name: int(model.cards[model.index(name)]) for name in found.latents_}
    found.not_needed_ = [nodes.get(name, name) for name in learner.not_needed_]
    return found


def _holder(model) -> str:
    holders = ((LatentNetwork, "network_"), (TreeMixture, "mixture_"))
    return next((name for kind, name in holders if isinstance(model, kind)), "tree_")
