"""How surely rows are assigned to the states of a hidden variable."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Unpack

import numpy as np
import pandas as pd

from pgmpy_latent.inference.queries import engine_for, model_and_data
from pgmpy_latent.model.tree import DiscreteModel
from pgmpy_latent.tables.survey import Survey


def classification_table(
    model, X, latent: Hashable | None = None, *, sample_weight=None, **survey: Unpack[Survey]
) -> pd.DataFrame:
    """Cross-tabulate the states that rows are assigned to with the states that they belong to, by the model.

    A row is assigned to its most likely state, and belongs to every state with its posterior probability. Entry (s, t)
    is the sum of ``w P(t | row)`` over the rows that are assigned to s.

    Parameters
    ----------
    model : LatentTree, LatentNetwork or fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    latent : hashable, optional
        Name of the hidden variable; need not be given if there is only one.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    DataFrame
        A row per assigned state, a column per true state. The entries sum to the weight of all rows: their number
        without weights, and Kish's effective number of rows with sampling weights, which is smaller.
        ``attrs["error"]`` is the share of the weight off the diagonal: the share of rows that the model expects to be
        assigned wrongly.

    Warns
    -----
    UserWarning
        If rows have probability zero under the model; they are left out.

    Examples
    --------
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["H", "x"], [["low", "high"], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> table = classification_table(tree, pd.DataFrame({"x": ["a", "a", "b"]}))
    >>> table
    true        low   high
    assigned
    low       1.500  0.500
    high      0.125  0.875
    >>> round(table.attrs["error"], 4)
    0.2083
    """
    tree, data = model_and_data(model, X, sample_weight=sample_weight, **survey)
    node = hidden_node(tree, latent)
    engine = engine_for(tree, data)
    (belief,) = engine.beliefs(engine.layout.pack(tree.tables), [node])
    impossible = np.isnan(belief).any(axis=1)
    if impossible.any():
        warnings.warn(
            f"rows of probability zero under the model are left out (weight {data.weights[impossible].sum():.10g}). "
            "Fit with a prior, e.g. prior=0.01, to rule nothing out.",
            stacklevel=2,
        )
    return counted(belief, data.weights, tree.state_names[node])


def counted(belief: np.ndarray, weights: np.ndarray, states: Sequence[Hashable]) -> pd.DataFrame:
    """Return the table of :func:`classification_table`, given P(state | row); rows of NaN are left out.

    Examples
    --------
    >>> counted(np.array([[0.75, 0.25], [0.125, 0.875]]), np.array([2.0, 1.0]), ["low", "high"]).to_numpy().tolist()
    [[1.5, 0.5], [0.125, 0.875]]
    """
    possible = ~np.isnan(belief).any(axis=1)
    belief, weights = belief[possible], weights[possible]
    assigned = np.eye(belief.shape[1])[belief.argmax(axis=1)]
    counts = assigned.T @ (weights[:, None] * belief)
    table = pd.DataFrame(
        counts,
        index=pd.Index(states, name="assigned", tupleize_cols=False),
        columns=pd.Index(states, name="true", tupleize_cols=False),
    )
    table.attrs["error"] = float(1 - np.trace(counts) / counts.sum()) if len(weights) else np.nan
    return table


def average_posteriors(
    model, X, latent: Hashable | None = None, *, sample_weight=None, **survey: Unpack[Survey]
) -> pd.DataFrame:
    """Return the mean posterior of every state among the rows that are assigned to each.

    These are the rows of :func:`classification_table`, each divided by its sum. Values near 1 on the diagonal say that
    states can be told apart; 0.7 to 0.8 is often asked for before assigned states are treated as if they were known.

    Parameters
    ----------
    model, X, latent, sample_weight, survey
        As in :func:`classification_table`.

    Returns
    -------
    DataFrame
        A row per assigned state, a column per true state; rows sum to one, and are NaN if nothing is assigned.

    Examples
    --------
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["H", "x"], [["low", "high"], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> average_posteriors(tree, pd.DataFrame({"x": ["a", "a", "b"]}))
    true        low   high
    assigned
    low       0.750  0.250
    high      0.125  0.875
    """
    table = classification_table(model, X, latent, sample_weight=sample_weight, **survey)
    return table.div(table.sum(axis=1).replace(0.0, np.nan), axis=0)


def hidden_node(tree: DiscreteModel, latent: Hashable | None) -> int:
    """Return the position of the hidden variable of that name, or of the only one.

    Examples
    --------
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x", "H"], [["a", "b"], [0]], [1, -1], [False, True], [[[0.5, 0.5]], [[1.0]]])
    >>> hidden_node(tree, None), hidden_node(tree, "H")
    (1, 1)
    """
    names = list(tree.latent_names)
    if latent is None:
        if len(names) != 1:
            several = f"{len(names)} hidden variables; name one of {names} as latent" if names else "no hidden variable"
            raise ValueError(f"the model has {several}")
        return tree.index(names[0])
    if latent not in names:
        raise ValueError(f"latent is {latent!r}; the hidden variables are {names}")
    return tree.index(latent)
