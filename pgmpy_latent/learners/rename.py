"""Other names for nodes and states, in models and in fitted learners."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from pgmpy_latent.exceptions import InvalidTreeError
from pgmpy_latent.inference.queries import model_of
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.given import GivenModel, fitted
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import DiscreteModel, LatentTree
from pgmpy_latent.tables.columns import listing

Names = Mapping[Hashable, Hashable]


def rename(model, nodes: Names | None = None, states: Mapping[Hashable, Names | Sequence[Hashable]] | None = None):
    """Return a model with other names of nodes and states; profiles, pictures, reports and predictions then have these.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, pgmpy network, fitted learner, or fitted TreeEM or NetworkEM
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
    found = _renamed(model_of(model), nodes, states)
    if isinstance(model, (LatentTree, LatentNetwork)):
        return found
    if hasattr(model, "get_cpds"):
        return to_pgmpy(found)
    return _learner_with(model, found, nodes, states)


def _renamed(model: LatentTree | LatentNetwork, nodes: dict, states: dict) -> LatentTree | LatentNetwork:
    """Return a tree or network with other names."""
    known = set(model.names)
    for argument, wanted in (("nodes", nodes), ("states", states)):
        if absent := [name for name in wanted if name not in known]:
            raise InvalidTreeError(f"{argument} names {listing(absent)}, but the nodes are {listing(model.names)}")
    names = tuple(nodes.get(name, name) for name in model.names)
    if taken := [name for name in names if names.count(name) > 1]:
        raise InvalidTreeError(f"nodes would give the name {taken[0]!r} to several nodes; give each a name of its own")
    numeric = {model.names[at] for at in emissions_of(model)}
    if of_numbers := [name for name in states if name in numeric]:
        raise InvalidTreeError(f"states names {listing(of_numbers)}, a column of numbers, which has no states")
    pairs = zip(model.names, model.state_names, strict=True)
    new_states = tuple(_new_states(name, old, states.get(name, {})) for name, old in pairs)
    missing = tuple((nodes.get(name, name), values) for name, values in model.missing)
    return replace(model, names=names, state_names=new_states, missing=missing)


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


def _learner_with(learner, model: LatentTree | LatentNetwork, nodes: dict, states: dict):
    """Return a learner that has the renamed model."""
    old = model_of(learner)
    if of_table := [name for name in (*nodes, *states) if not old.latent[old.index(name)]]:
        raise InvalidTreeError(
            f"{listing(of_table)}: a learner has the columns of its table; rename hidden variables alone, rename the "
            f"table before fit, or rename the model, {type(learner).__name__}.{_holder(model)}"
        )
    if isinstance(learner, GivenModel) or not isinstance(learner, StructureLearner):
        given = fitted(learner) if not isinstance(learner, GivenModel) else learner
        found = copy.copy(given)
        found.model = model
        found._describe(model)
        return found
    found = copy.copy(learner)
    setattr(found, learner._holder, model)
    found._keep_network(model)
    found.latents_ = list(model.latent_names)
    found.n_states_ = {name: int(model.cards[model.index(name)]) for name in found.latents_}
    found.not_needed_ = [nodes.get(name, name) for name in learner.not_needed_]
    return found


def _holder(model: DiscreteModel) -> str:
    return "tree_" if isinstance(model, LatentTree) else "network_"
