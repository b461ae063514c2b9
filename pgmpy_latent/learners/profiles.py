"""Profiles: how the observed variables are distributed in each state of each hidden variable."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.conditionals import shares_and_conditionals
from pgmpy_latent.model.emissions import Emission, emissions_of
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree


def profiles(model: LatentTree | LatentNetwork) -> pd.DataFrame:
    """Return the share of every hidden state, and P(observed variable | hidden state) for all observed variables.

    Rows are pairs (variable, category), the first of them ``("share", "")``; columns are pairs (latent, state). Numeric
    columns have mean and standard deviation given the state, ``(variable, "mean")`` and ``(variable, "sd")``. Where
    truth values and numbers meet, truth values are written as text, as pandas cannot tell True from 1 in an index.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> profiles(tree)
    latent               H
    state                0    1
    variable category
    share               0.7  0.3
    x        a          0.9  0.2
             b          0.1  0.8
    """
    observed, hidden = np.flatnonzero(~model.latent), np.flatnonzero(model.latent)
    emissions = emissions_of(model)
    n_rows = sum(2 if at in emissions else int(model.cards[at]) for at in observed)
    blocks = [np.empty((1 + n_rows, 0))]
    for node in hidden.tolist():
        share, given = shares_and_conditionals(model, node)
        described = [_moments(emissions[at], given[at]) if at in emissions else given[at] for at in observed.tolist()]
        blocks.append(np.concatenate([share[:, None], *described], axis=1).T)
    columns = [(model.names[node], state) for node in hidden for state in model.state_names[node]]
    return pd.DataFrame(
        np.concatenate(blocks, axis=1),
        index=pd.MultiIndex.from_tuples(_row_labels(model, observed), names=["variable", "category"]),
        columns=pd.MultiIndex.from_tuples(columns, names=["latent", "state"]),
    )


def profiles_with_errors(model: LatentTree | LatentNetwork, errors: pd.DataFrame) -> pd.DataFrame:
    """Return the profiles as a table with a row per probability, with standard errors and confidence intervals.

    Parameters
    ----------
    model : LatentTree or LatentNetwork
        The model.
    errors : DataFrame
        What :func:`pgmpy_latent.standard_errors` returned for it.

    Returns
    -------
    DataFrame
        ``latent``, ``state``, ``variable``, ``category``, ``probability``, ``standard_error``, ``lower``, ``upper`` and
        ``note``. The shares of the states have the variable ``"share"`` and an empty category. A probability that is
        no entry of the model's tables has no error of its own, and its note says so.

    Examples
    --------
    >>> from pgmpy_latent import standard_errors
    >>> tree = LatentTree(["H", "x"], [[0], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.25, 0.75]]])
    >>> errors = standard_errors(tree, pd.DataFrame({"x": list("abbb") * 100}))
    >>> profiles_with_errors(tree, errors)[["variable", "category", "probability", "standard_error"]].round(4)
      variable category  probability  standard_error
    0    share                  1.00          0.0000
    1        x        a         0.25          0.0217
    2        x        b         0.75          0.0217
    """
    wide = profiles(model)
    apart = {name: _independent_roots(model, model.index(name)) for name in model.latent_names}
    known: dict[tuple, tuple] = {}
    for row in errors.itertuples():
        above = [model.names[at] for at in model.parents[model.index(row.node)]]
        if len(above) <= 1:
            known[row.node, above[0] if above else None, row.parent_state, row.state] = (
                row.standard_error, row.lower, row.upper, row.note,
            )  # fmt: skip
    unknown = (np.nan, np.nan, np.nan, "computed from several tables")
    rows = []
    for latent, state in wide.columns:
        for variable, category in wide.index:
            if (variable, category) == ("share", ""):
                key = (latent, None, None, state)
            else:
                key = (
                    (variable, None, None, category)
                    if variable in apart[latent]
                    else (variable, latent, state, category)
                )
            value = wide.at[(variable, category), (latent, state)]
            rows.append((latent, state, variable, category, value, *known.get(key, unknown)))
    names = ["latent", "state", "variable", "category", "probability", "standard_error", "lower", "upper", "note"]
    columns = {name: pd.Series([row[at] for row in rows], dtype=object) for at, name in enumerate(names[:4])}
    columns |= {name: pd.Series([row[at] for row in rows], dtype=float) for at, name in enumerate(names[:8]) if at >= 4}
    return pd.DataFrame({**columns, "note": pd.Series([row[8] for row in rows], dtype=object)})


def _independent_roots(model: LatentTree | LatentNetwork, latent: int) -> set[Hashable]:
    """Return the columns without parents that are independent of a hidden variable: those that are not above it.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "alone"], [[0], ["a", "b"], ["c"]], [-1, 0, -1], [True, False, False],
    ...                   [[[1.0]], [[0.25, 0.75]], [[1.0]]])
    >>> _independent_roots(tree, 0)
    {'alone'}
    """
    above, ahead = {latent}, [latent]
    while ahead:
        further = set(model.parents[ahead.pop()]) - above
        above |= further
        ahead += further
    roots = (at for at in np.flatnonzero(~model.latent).tolist() if not len(model.parents[at]))
    return {model.names[at] for at in roots if at not in above}


def _moments(emission: Emission, features: np.ndarray) -> np.ndarray:
    """Return mean and standard deviation, by the expected features given every state: also those of mixtures."""
    found = emission.parameters(features)
    return np.stack([found.mean, np.sqrt(found.variance)], axis=1)


def _row_labels(tree: LatentTree | LatentNetwork, observed: np.ndarray) -> list[tuple[Hashable, Hashable]]:
    emissions = emissions_of(tree)
    labels = [
        (tree.names[at], state)
        for at in observed.tolist()
        for state in (("mean", "sd") if at in emissions else tree.state_names[at])
    ]
    kinds = {type(state) for _, state in labels}
    if bool in kinds and not kinds.isdisjoint({int, float}):
        labels = [(name, str(state) if isinstance(state, bool) else state) for name, state in labels]
    return [("share", ""), *labels]
