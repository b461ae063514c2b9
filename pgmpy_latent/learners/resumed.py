"""Checks of a search that is resumed from a checkpoint: its model is scored again on the table before it continues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.arrays import ROUNDING
from pgmpy_latent.runtime.checkpoint import State, check_number_again
from pgmpy_latent.runtime.lossless_json import plain
from pgmpy_latent.tables.encode import CategoricalData

Model = TypeVar("Model", bound=LatentTree | LatentNetwork | TreeMixture)


def check_again(state: State, data: CategoricalData, score: Callable[[Model, float], float]) -> None:
    """Raise if the model of a checkpoint does not have the columns of a table, or is not as good as the file says.

    Parameters
    ----------
    state : State
        What the file says.
    data : CategoricalData
        The table.
    score : callable
        Model and log-likelihood -> score.
    """
    check_model_again(state.tree, data.columns, data.state_names)
    engine = engine_for(state.tree, data)
    log_likelihood = float(engine.log_likelihood(engine.layout.pack(state.tree.tables)))
    check_number_again("log-likelihood", state.log_likelihood, log_likelihood)
    check_number_again("score", state.score, score(state.tree, log_likelihood))


def check_hidden(model: LatentTree | LatentNetwork) -> None:
    """Raise if hidden states are not numbered, as they are unless somebody gave a model in which they are named."""
    for name, states, latent in zip(model.names, model.state_names, model.latent, strict=True):
        if latent and _exact_text(list(states)) != _exact_text(list(range(len(states)))):
            raise ValueError(f"its model gives the hidden {name!r} the states {tuple(states)!r}")


def check_model_again(model, columns: Sequence, state_names: Sequence[tuple]) -> None:
    """Raise if a model does not have the columns of a table, with their states.

    Parameters
    ----------
    model : LatentTree, LatentNetwork or TreeMixture
    columns, state_names : sequences
        What the table has.

    Examples
    --------
    >>> tree = LatentTree(["x"], [[0, 5]], [-1], [False], [[[0.25, 0.75]]])
    >>> check_model_again(tree, ["x"], [(0, 1)])
    Traceback (most recent call last):
    ValueError: its model gives 'x' the states (0, 5), the table (0, 1)
    """
    if not isinstance(model, (LatentTree, LatentNetwork, TreeMixture)):
        raise ValueError("it holds no model where one should be")
    states_in_table = {_exact_text(name): states for name, states in zip(columns, state_names, strict=True)}
    for name, states, latent in zip(model.names, model.state_names, model.latent, strict=True):
        in_table = states_in_table.pop(_exact_text(name), None)
        if latent == (in_table is not None):
            raise ValueError(f"its model has {name!r} {'hidden' if latent else 'as a column'}, unlike the table")
        if in_table is not None and _exact_text(list(states)) != _exact_text(list(in_table)):
            raise ValueError(f"its model gives {name!r} the states {tuple(states)!r}, the table {tuple(in_table)!r}")
    if states_in_table:
        raise ValueError(f"its model lacks the column {next(iter(states_in_table))}")


def _exact_text(value) -> str:
    """Return text that differs for 1, True, 1.0 and "1", and is the same for scalars of NumPy and of Python."""
    return repr(plain(value))


def check_same_state(state: State, again: State) -> None:
    """Raise if the model of a checkpoint is not the one that its memory leads to."""
    tree, expected = state.tree, again.tree
    same_shape = tree.names == expected.names and tree.parents == expected.parents
    if not same_shape or tree.state_names != expected.state_names:
        raise ValueError("its model is not the one that its memory leads to")
    for name, table, expected_table in zip(tree.names, tree.tables, expected.tables, strict=True):
        if not np.allclose(table, expected_table, rtol=0, atol=ROUNDING):
            raise ValueError(f"its table of {name!r} is not the one that its memory leads to")
    check_number_again("log-likelihood", state.log_likelihood, again.log_likelihood)
    check_number_again("score", state.score, again.score)


def check_over(state: State, nothing_left: bool) -> None:
    """Raise if a checkpoint says that its search is finished, although its memory holds something left to try.

    Parameters
    ----------
    state : State
        What the file says.
    nothing_left : bool
        Whether a search with this memory can have come to its end.
    """
    if state.finished and not nothing_left:
        raise ValueError("it says that its search is finished, and remembers what is left to try")
