"""Is the search that a checkpoint holds what the table says? Its model is scored again before it is gone on with."""

from __future__ import annotations

from collections.abc import Callable
from reprlib import repr as shorten

import numpy as np

from pgmpy_latent._arrays import ROUNDING
from pgmpy_latent._checkpoint import State, check_model_again, check_number_again
from pgmpy_latent.data import CategoricalData
from pgmpy_latent.queries import engine_for
from pgmpy_latent.tree import LatentTree


def check_again(state: State, data: CategoricalData, score: Callable[[LatentTree, float], float]) -> None:
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
    found = float(engine.log_likelihood(engine.layout.pack(state.tree.tables)))
    check_number_again("log-likelihood", state.log_likelihood, found)
    check_number_again("score", state.score, score(state.tree, found))


def check_same_state(state: State, again: State) -> None:
    """Raise if the model of a checkpoint is not the one that its memory leads to."""
    one, other = state.tree, again.tree
    if one.names != other.names or one.parents != other.parents or one.state_names != other.state_names:
        raise ValueError("its model is not the one that its memory leads to")
    for name, table, known in zip(one.names, one.tables, other.tables, strict=True):
        if not np.allclose(table, known, rtol=0, atol=ROUNDING):
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


def check_memory(memory: dict, **kinds: type | tuple | Callable) -> None:
    """Raise if something that a policy remembers is missing, or is not of its kind.

    Parameters
    ----------
    memory : dict
        What is remembered.
    **kinds : type, tuple of values, or callable
        By name: the type that something has, the values that it may have, or what tells whether it is right.

    Examples
    --------
    >>> check_memory({"phase": "join", "rounds": -1}, phase=("join", "fit"), rounds=int)
    Traceback (most recent call last):
    ValueError: its memory of 'rounds' is -1
    """
    for name, kind in kinds.items():
        value = memory.get(name)
        if isinstance(kind, tuple):
            good = isinstance(value, str) and value in kind
        elif isinstance(kind, type):
            good = type(value) is kind and (kind is not int or value >= 0)
        else:
            good = kind(value)
        if not good:
            raise ValueError(f"its memory of {name!r} is {shorten(value)}")
