"""Is the search that a checkpoint holds what the table says? Its model is scored again before it is gone on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from reprlib import repr as shorten

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.arrays import ROUNDING
from pgmpy_latent.runtime.checkpoint import State, check_number_again
from pgmpy_latent.runtime.lossless_json import plain
from pgmpy_latent.tables.encode import CategoricalData


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


def check_hidden(model: LatentTree | LatentNetwork) -> None:
    """Raise if hidden states are not numbered, as they are unless somebody gave a model in which they are named."""
    for name, states, latent in zip(model.names, model.state_names, model.latent, strict=True):
        if latent and _words(list(states)) != _words(list(range(len(states)))):
            raise ValueError(f"its model gives the hidden {name!r} the states {tuple(states)!r}")


def check_model_again(model, columns: Sequence, state_names: Sequence[tuple]) -> None:
    """Raise if a model does not have the columns of a table, with their states.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
    columns, state_names : sequences
        What the table has.

    Examples
    --------
    >>> tree = LatentTree(["x"], [[0, 5]], [-1], [False], [[[0.25, 0.75]]])
    >>> check_model_again(tree, ["x"], [(0, 1)])
    Traceback (most recent call last):
    ValueError: its model gives 'x' the states (0, 5), the table (0, 1)
    """
    if not isinstance(model, (LatentTree, LatentNetwork)):
        raise ValueError("it holds no model where one should be")
    seen = {_words(name): states for name, states in zip(columns, state_names, strict=True)}
    for name, states, latent in zip(model.names, model.state_names, model.latent, strict=True):
        known = seen.pop(_words(name), None)
        if latent == (known is not None):
            raise ValueError(f"its model has {name!r} {'hidden' if latent else 'as a column'}, unlike the table")
        if not latent and _words(list(states)) != _words(list(known)):
            raise ValueError(f"its model gives {name!r} the states {tuple(states)!r}, the table {tuple(known)!r}")
    if seen:
        raise ValueError(f"its model lacks the column {next(iter(seen))}")


def _words(value) -> str:
    """Return what tells 1, True, 1.0 and "1" apart, and no scalar of NumPy's from one of Python's."""
    return repr(plain(value))


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
