"""How do two networks differ? Their edges, hidden variables, probabilities, and scores on a table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from pgmpy_latent import scores
from pgmpy_latent.diagnostics.conditionals import shares_and_conditionals
from pgmpy_latent.diagnostics.explain import counted, shown
from pgmpy_latent.diagnostics.link_strength import family_probabilities
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import engine_for, model_and_data, model_of, refuse_numbers
from pgmpy_latent.learners.common_edges import counterparts, matched_latents, shared_part
from pgmpy_latent.model.network import LatentNetwork, as_network, child_lists, reordered_tables, table_in_order
from pgmpy_latent.tables.columns import listing
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey

#: What is said of an edge.
BOTH, REVERSED, FIRST, SECOND = "both", "reversed", "first only", "second only"
#: The row of scores that has a standard error.
PER_ROW = "log_likelihood_per_row"
#: Edges that a text lists at most, of each kind.
MOST_EDGES = 12


@dataclass(frozen=True, eq=False)
class NetworkComparison:
    """How two networks of the same columns differ; printed, it says so in words.

    Attributes
    ----------
    edges : DataFrame
        A row for every two variables that either network links: ``parent`` and ``child``, as in the first network that
        has the edge, and ``status``: ``"both"``, ``"reversed"`` in the second, ``"first only"`` or ``"second only"``.
    latents : DataFrame
        A row for every hidden variable: its name in the ``first`` and in the ``second`` network, None where it
        has no match; ``similarity``, the share of their neighbouring columns that are next to both; ``states_first``
        and ``states_second``, their numbers of states; and ``columns``, those next to either.
    parameters : DataFrame
        A row for every variable in both: ``mean_difference``, the total variation distance of its distributions given
        its parents, averaged over their states as the first network expects them; ``largest_difference`` of two
        probabilities; and a ``note`` where they cannot be compared, as with other parents. States of hidden variables
        are matched first.
    scores : DataFrame or None
        Scores by name, of the ``first`` and the ``second`` network and their ``difference`` (second less first); and
        the log-likelihood per row (``"log_likelihood_per_row"``), with the paired ``standard_error`` of its difference.
        None without a table.
    equivalent : bool
        Whether the networks state the same independences: the same variables are linked, and the same pairs of parents
        that are not linked have a common child.
    """

    edges: pd.DataFrame
    latents: pd.DataFrame
    parameters: pd.DataFrame
    scores: pd.DataFrame | None
    equivalent: bool

    @property
    def n_different(self) -> int:
        """How many edges differ: in one network only, or reversed (the structural Hamming distance)."""
        return int((self.edges["status"] != BOTH).sum())

    def __repr__(self) -> str:
        parts = [self._edges_in_words(), self._latents_in_words()]
        compared = self.parameters.dropna(subset="mean_difference").sort_values("mean_difference", ascending=False)
        if len(compared):
            name, most = shown(compared["variable"].iloc[0]), compared["mean_difference"].iloc[0]
            what = f"they differ most for {name}, by {most:.3f} on average" if most > 0 else "they are the same"
            known = f"{len(compared)} of {counted(len(self.parameters), 'variable')}"
            parts.append(f"Probabilities of {known} can be compared; {what}.")
        if self.scores is not None:
            row = self.scores.loc[PER_ROW]
            parts.append(
                f"The second less the first (larger is better): BIC {self.scores.at['bic', 'difference']:+,.2f}, "
                f"log-likelihood per row {row['difference']:+.5f} (standard error {row['standard_error']:.5f})."
            )
        return "\n".join(part for part in parts if part)

    def _edges_in_words(self) -> str:
        kinds = self.edges["status"].value_counts()
        numbers = [f"{kinds.get(BOTH, 0)} in both", f"{kinds.get(REVERSED, 0)} reversed"]
        numbers += [f"{kinds.get(FIRST, 0)} in the first only", f"{kinds.get(SECOND, 0)} in the second only"]
        same = " They state the same independences." if self.equivalent else ""
        lines = [f"Edges: {', '.join(numbers)}.{same}"]
        for status in (REVERSED, FIRST, SECOND):
            some = self.edges[self.edges["status"] == status]
            listed = [f"{shown(row.parent)} -> {shown(row.child)}" for row in some.itertuples()][:MOST_EDGES]
            more = f", and {len(some) - MOST_EDGES} more" if len(some) > MOST_EDGES else ""
            lines += [f"  {status}: {', '.join(listed)}{more}"] if listed else []
        return "\n".join(lines)

    def _latents_in_words(self) -> str:
        lines = []
        for row in self.latents.itertuples():
            if row.first is None or row.second is None:
                name, where = (row.second, "second") if row.first is None else (row.first, "first")
                lines.append(f"Hidden variable {shown(name)}: in the {where} network only.")
            else:
                states = f"{row.states_first} states, {row.states_second} in the second"
                lines.append(
                    f"Hidden variable {shown(row.first)} is {shown(row.second)} in the second network: "
                    f"{row.similarity:.0%} of the columns next to them are the same; {states}."
                )
        return "\n".join(lines)


def compare_networks(first, second, X=None, *, sample_weight=None, **survey: Unpack[Survey]) -> NetworkComparison:
    """Compare two networks, or trees, of the same columns: edges, hidden variables, probabilities, and scores.

    Hidden variables have names that mean nothing, so they are matched by their neighbours: two of them can be the
    same if at least half of the columns next to one or the other are next to both.

    Parameters
    ----------
    first, second : LatentNetwork, LatentTree, pgmpy network, fitted learner or estimator
        The models. Columns and their categories must be the same.
    X : DataFrame, array or CategoricalData, optional
        A table on which both are scored.
    sample_weight : array, shape (n_rows,), optional
        Weights of its rows, or the name of the column that holds them.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    NetworkComparison

    Examples
    --------
    >>> tables = [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]]
    >>> chain = LatentNetwork("xyz", [[0, 1]] * 3, [(), (0,), (1,)], [False] * 3, tables)
    >>> fork = LatentNetwork("xyz", [[0, 1]] * 3, [(), (0,), (0,)], [False] * 3, tables)
    >>> found = compare_networks(chain, fork, pd.DataFrame({"x": [0, 0, 1], "y": [0, 1, 1], "z": [0, 1, 1]}))
    >>> found.edges
      parent child       status
    0      x     y         both
    1      y     z   first only
    2      x     z  second only
    >>> print(found)
    Edges: 1 in both, 0 reversed, 1 in the first only, 1 in the second only.
      first only: y -> z
      second only: x -> z
    Probabilities of 2 of 3 variables can be compared; they are the same.
    The second less the first (larger is better): BIC -0.69, log-likelihood per row -0.23105 (standard error 0.18865).
    """
    models = [model_of(model) for model in (first, second)]
    for model in models:
        refuse_numbers(model, "compare_networks")
    one, other = map(as_network, models)
    _check_same_columns(one, other)
    if X is None and (sample_weight is not None or survey):
        raise ValueError("sample_weight belongs to X; give both, or neither")
    other = _with_states_of(one, other)
    place = counterparts(one, other)
    found = _edges(one, other, place)
    scored = None
    if X is not None:
        _check_same_states(one, other)
        scored = _scores(one, other, model_and_data(one, X, sample_weight=sample_weight, **survey)[1])
    return NetworkComparison(
        found, _latents(one, other), _parameters(one, other, place), scored, _is_equivalent(one, other, place, found)
    )


def _with_states_of(one: LatentNetwork, other: LatentNetwork) -> LatentNetwork:
    """Return the second network with the states of its columns in the order of the first, where they are the same."""
    states, orders = list(other.state_names), {}
    for name in one.observed_names:
        node, wanted = other.index(name), one.state_names[one.index(name)]
        if set(wanted) == set(states[node]):
            orders[node] = [states[node].index(state) for state in wanted]
            states[node] = wanted
    tables = reordered_tables(other.tables, other.parents, orders)
    return LatentNetwork(other.names, states, other.parents, other.latent, tables, other.missing)


def _check_same_states(one: LatentNetwork, other: LatentNetwork) -> None:
    for name in one.observed_names:
        ours, theirs = set(one.state_names[one.index(name)]), set(other.state_names[other.index(name)])
        if ours != theirs:
            differ = listing(sorted(map(str, ours ^ theirs)))
            raise DataError(
                f"the networks have different categories of {name!r}: only one of them has {differ}, so that they "
                "cannot score the same table; leave out X, or fit both to one table"
            )


def _check_same_columns(one: LatentNetwork, other: LatentNetwork) -> None:
    ours, theirs = set(one.observed_names), set(other.observed_names)
    if ours != theirs:
        differ = [
            *(name for name in one.observed_names if name not in theirs),
            *(name for name in other.observed_names if name not in ours),
        ]
        raise DataError(f"the networks have different columns: {listing(differ)}; compare networks of the same columns")


def _names_of_second(one: LatentNetwork, other: LatentNetwork, place: dict[int, int]) -> list[Hashable]:
    """Return the names of the second network's nodes as a comparison says them: those of their counterparts.

    A hidden variable without counterpart whose name is taken is called "H (second)".
    """
    names = {there: one.names[here] for here, there in place.items()}
    taken = set(one.names)
    return [names.get(at, f"{name} (second)" if name in taken else name) for at, name in enumerate(other.names)]


def _edges(one: LatentNetwork, other: LatentNetwork, place: dict[int, int]) -> pd.DataFrame:
    names = _names_of_second(one, other, place)
    theirs = {(names[above], names[node]) for node, some in enumerate(other.parents) for above in some}
    rows = []
    for parent, child in one.edges:
        status = BOTH if (parent, child) in theirs else REVERSED if (child, parent) in theirs else FIRST
        rows.append((parent, child, status))
        theirs -= {(parent, child), (child, parent)}
    order = [(names[above], names[node]) for node, some in enumerate(other.parents) for above in some]
    rows += [(*edge, SECOND) for edge in order if edge in theirs]
    return _frame({"parent": object, "child": object, "status": object}, rows)


def _frame(types: Mapping[str, object], rows: list[tuple]) -> pd.DataFrame:
    """Return rows as a table; None stays None in columns of objects."""
    values = zip(*rows, strict=True) if rows else [()] * len(types)
    named = zip(types.items(), values, strict=True)
    return pd.DataFrame({name: pd.Series(list(some), dtype=kind) for (name, kind), some in named})


def _latents(one: LatentNetwork, other: LatentNetwork) -> pd.DataFrame:
    matches = matched_latents(one, other)
    near, near_other = _columns_near(one), _columns_near(other)
    rows: list[tuple] = []
    for node in np.flatnonzero(one.latent).tolist():
        match = matches.get(node)
        both = near[node] | (set() if match is None else near_other[match])
        columns = tuple(name for name in one.observed_names if name in both)
        if match is None:
            rows.append((one.names[node], None, np.nan, one.cards[node], None, columns))
        else:
            similarity = shared_part(near[node], near_other[match])
            rows.append((one.names[node], other.names[match], similarity, one.cards[node], other.cards[match], columns))
    for node in np.flatnonzero(other.latent).tolist():
        if node not in matches.values():
            columns = tuple(name for name in one.observed_names if name in near_other[node])
            rows.append((None, other.names[node], np.nan, None, other.cards[node], columns))
    types = {
        "first": object,
        "second": object,
        "similarity": float,
        "states_first": "Int64",
        "states_second": "Int64",
        "columns": object,
    }
    return _frame(types, rows)


def _columns_near(network: LatentNetwork) -> dict[int, set[Hashable]]:
    """Return the columns next to every hidden node."""
    children = child_lists(network.parents)
    return {
        node: {network.names[at] for at in (*network.parents[node], *children[node]) if not network.latent[at]}
        for node in np.flatnonzero(network.latent).tolist()
    }


def _is_equivalent(one: LatentNetwork, other: LatentNetwork, place: dict[int, int], edges: pd.DataFrame) -> bool:
    """Tell whether both have the same links and the same unlinked parents of common children (Verma and Pearl)."""
    same_nodes = len(place) == one.n_nodes == other.n_nodes
    if not same_nodes or not edges["status"].isin([BOTH, REVERSED]).all():
        return False
    ours = {(frozenset(place[at] for at in pair), place[node]) for pair, node in _colliders(one)}
    return ours == set(_colliders(other))


def _colliders(network: LatentNetwork) -> list[tuple[frozenset[int], int]]:
    """Return the pairs of parents without a link, with their common child."""
    parents = network.parents
    return [
        (frozenset((left, right)), node)
        for node, above in enumerate(parents)
        for left in above
        for right in above
        if left < right and left not in parents[right] and right not in parents[left]
    ]


# Probabilities ----------------------------------------------------------------------------------------------


def _parameters(one: LatentNetwork, other: LatentNetwork, place: dict[int, int]) -> pd.DataFrame:
    orders, rows = _orders_of_states(one, other, place), []
    families = family_probabilities(one)
    for node in sorted(place):
        why = _why_not_compared(one, other, node, place, orders)
        mean = largest = np.nan
        if not why:
            table = _table_like(one, other, node, place, orders)
            apart = np.abs(one.tables[node] - table)
            weights = np.ones(len(table)) if families is None else families[node].reshape(table.shape).sum(axis=1)
            mean, largest = float(weights @ apart.sum(axis=1) / 2 / weights.sum()), float(apart.max())
        rows.append((one.names[node], mean, largest, why))
    types = {"variable": object, "mean_difference": float, "largest_difference": float, "note": object}
    return _frame(types, rows)


def _orders_of_states(one: LatentNetwork, other: LatentNetwork, place: dict[int, int]) -> dict[int, np.ndarray]:
    """Return, for nodes whose states correspond, the state of the second network for each of the first."""
    orders = {}
    for node, match in place.items():
        states, theirs = one.state_names[node], other.state_names[match]
        if one.latent[node]:
            if len(states) == len(theirs):
                orders[node] = _matched_states(one, other, node, match)
        elif states == theirs:
            orders[node] = np.arange(len(states))
    return orders


def _matched_states(one: LatentNetwork, other: LatentNetwork, node: int, match: int) -> np.ndarray:
    """Return the state of the second network's hidden variable for each of the first's, by what they say of columns."""
    _, ours = shares_and_conditionals(one, node)
    _, theirs = shares_and_conditionals(other, match)
    apart = np.zeros((len(one.state_names[node]),) * 2)
    for name in one.observed_names:
        here, there = one.index(name), other.index(name)
        if one.state_names[here] == other.state_names[there]:
            apart += np.abs(ours[here][:, None, :] - theirs[there][None, :, :]).sum(axis=2)
    return linear_sum_assignment(apart)[1]


def _why_not_compared(
    one: LatentNetwork, other: LatentNetwork, node: int, place: dict[int, int], orders: dict[int, np.ndarray]
) -> str:
    """Return why the tables of a node cannot be compared; empty if they can."""
    if {place.get(above) for above in one.parents[node]} != set(other.parents[place[node]]):
        return "other parents"
    if missing := [at for at in (*one.parents[node], node) if at not in orders]:
        return f"other states of {shown(one.names[missing[0]])}"
    return ""


def _table_like(
    one: LatentNetwork, other: LatentNetwork, node: int, place: dict[int, int], orders: dict[int, np.ndarray]
) -> np.ndarray:
    """Return the second network's table of a node, with parents and states in the order of the first."""
    match = place[node]
    table = table_in_order(other, match, [place[above] for above in one.parents[node]])
    for axis, member in enumerate((*one.parents[node], node)):
        table = np.take(table, orders[member], axis=axis)
    return table.reshape(one.tables[node].shape)


# Scores -----------------------------------------------------------------------------------------------------


def _scores(one: LatentNetwork, other: LatentNetwork, data: CategoricalData) -> pd.DataFrame:
    """Return the scores of both networks on a table."""
    table = pd.DataFrame({"first": scores.network_summary(one, data), "second": scores.network_summary(other, data)})
    table.loc[PER_ROW] = table.loc["log_likelihood"] / data.total_weight
    table["difference"] = table["second"] - table["first"]
    engines = [engine_for(network, data) for network in (one, other)]
    flat = [engine.layout.pack(network.tables) for engine, network in zip(engines, (one, other), strict=True)]
    by_row = [engine.row_log_likelihoods(tables) for engine, tables in zip(engines, flat, strict=True)]
    with np.errstate(invalid="ignore"):  # rows that both rule out
        apart = by_row[1] - by_row[0] - table.at[PER_ROW, "difference"]
    table["standard_error"] = np.nan
    table.at[PER_ROW, "standard_error"] = _standard_error_of_mean(apart, data)
    return table


def _standard_error_of_mean(values: np.ndarray, data: CategoricalData) -> float:
    """Return the standard error of the mean of a value of all rows, which is zero; by clusters and strata, if any."""
    design = data.design
    variance = data.weights @ values**2
    if design is not None and np.isfinite(values).all():
        variance = design.scatter(values[:, None])[0, 0]
    return float(np.sqrt(variance) / data.total_weight)
