"""Latent transition models: how people move between hidden states over time."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pgmpy_latent.em.estimators import TreeEM
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.grouped_rows.long_tables import LongTable, category_index, check_columns, check_list, read_long
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.runtime.settings import check_number
from pgmpy_latent.tables.columns import plain
from pgmpy_latent.tables.survey import WeightKind


@dataclass(frozen=True, eq=False, repr=False)
class LatentTransition:
    """A fitted latent transition model; made by :func:`latent_transition`.

    Attributes
    ----------
    tree_ : LatentTree
        The model: a hidden variable for every time, each the parent of the next and of the items at its time.
    model_ : pgmpy.models.DiscreteBayesianNetwork
        The same as a network of pgmpy's.
    log_likelihood_ : float
        Natural logarithm of the likelihood; larger is better.
    n_parameters_ : int
        Tables that are equal count once.
    bic_ : float
        ``log_likelihood_ - n_parameters_ / 2 * log(n)`` with ``n`` the number of people (their total weight), not of
        observations; larger is better.
    times_, items_ : list
        The times in order, and the columns of the items.
    by_time : bool
        Whether transitions differ between times.
    shares_ : DataFrame
        A row per time: the share of people in every hidden state.
    transitions_ : DataFrame
        Probability of the next state (columns) given the state before (rows); by time, with an index (time, state)
        whose time is that of the state before.
    profiles_ : DataFrame
        Probability of every category of every item (rows) in every hidden state (columns), the same at all times.
    estimator_ : TreeEM
        The estimator, for ``n_best_``, ``converged_`` and so on.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("p", 1, "no"), ("p", 2, "no"), ("p", 3, "yes"), ("q", 1, "yes"), ("q", 2, "yes"), ("q", 3, "yes"),
    ...         ("r", 1, "no"), ("r", 3, "yes"), ("s", 1, "no"), ("s", 2, "no"), ("s", 3, "no")]
    >>> table = pd.DataFrame(rows, columns=["id", "time", "smokes"])
    >>> found = latent_transition(table, "id", "time", ["smokes"], n_states=2, random_state=0)
    >>> found
    LatentTransition(2 states, 3 times, 4 people, equal transitions, 5 parameters, log-likelihood -5.135,
    BIC -8.601)
    >>> found.paths().loc["p"].tolist()
    [0, 0, 1]
    """

    tree_: LatentTree
    log_likelihood_: float
    n_parameters_: int
    bic_: float
    times_: list
    items_: list
    by_time: bool
    estimator_: TreeEM
    _long: LongTable = field(repr=False)
    _time_of_row: np.ndarray = field(repr=False)
    _columns: tuple[Hashable, Hashable] = field(repr=False)

    def __repr__(self) -> str:
        kind = "transitions by time" if self.by_time else "equal transitions"
        return (
            f"LatentTransition({len(self.states)} states, {len(self.times_)} times, {len(self._long.units):,} people, "
            f"{kind}, {self.n_parameters_} parameters, log-likelihood {self.log_likelihood_:.3f}, BIC {self.bic_:.3f})"
        )

    @property
    def states(self) -> list:
        """The hidden states, largest first."""
        return list(self.tree_.state_names[self.tree_.index(_hidden(self.times_[0]))])

    @property
    def model_(self):
        """The model as a network of pgmpy's."""
        return to_pgmpy(self.tree_)

    @property
    def shares_(self) -> pd.DataFrame:
        """Share of people in every hidden state (columns) at every time (rows)."""
        shares = marginals(self.tree_)
        rows = [shares[self.tree_.index(_hidden(time))] for time in self.times_]
        return pd.DataFrame(
            rows, index=pd.Index(self.times_, name=self._columns[1]), columns=self._state_index("state")
        )

    @property
    def transitions_(self) -> pd.DataFrame:
        """Probability of the next state (columns) given the state before (rows)."""
        tables = [self.tree_.table(_hidden(time)) for time in self.times_[1:]]
        after = self._state_index("to")
        if not self.by_time:
            return pd.DataFrame(tables[0], index=self._state_index("from"), columns=after)
        index = pd.MultiIndex.from_product([self.times_[:-1], self.states], names=[self._columns[1], "from"])
        return pd.DataFrame(np.concatenate(tables), index=index, columns=after)

    @property
    def profiles_(self) -> pd.DataFrame:
        """Probability of every category of every item (rows) in every hidden state (columns)."""
        first = self.times_[0]
        tables = [self.tree_.table(_observed(item, first)).T for item in self.items_]
        index = category_index(self.items_, self._long.states)
        return pd.DataFrame(np.concatenate(tables), index=index, columns=self._state_index("state"))

    def report(self, path) -> None:
        """Write a report: one page of HTML about the model, which needs no network.

        Parameters
        ----------
        path : path-like
            The file, as ``"report.html"``. It is replaced if it exists.

        Examples
        --------
        >>> import os, tempfile
        >>> import pandas as pd
        >>> table = pd.DataFrame({"id": [1, 1, 2, 2, 3, 3], "wave": [1, 2] * 3, "x": [0, 0, 1, 1, 0, 1]})
        >>> found = latent_transition(table, "id", "wave", ["x"], 2, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(f"{folder}/report.html")
        ...     os.listdir(folder)
        ['report.html']
        """
        from pgmpy_latent.report import write_report  # a later layer

        write_report(self, path)

    def _state_index(self, name: str) -> pd.Index:
        return pd.Index(self.states, name=name)

    def paths(self, table: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the most likely path of everyone: the hidden states at all times that are jointly the most likely.

        Parameters
        ----------
        table : DataFrame, optional
            A long table with the same columns; by default the one that the model was fitted to. Times at which someone
            was not observed have a state as well, the likeliest given the others.

        Returns
        -------
        DataFrame
            A row per id, a column per time.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"id": [1, 1, 2, 2, 3, 3], "wave": [1, 2] * 3, "x": [0, 0, 1, 1, 0, 1]})
        >>> latent_transition(table, "id", "wave", ["x"], 2, random_state=0).paths().columns.tolist()
        [1, 2]
        """
        long, time_of_row = self._long, self._time_of_row
        if table is not None:
            unit, time = self._columns
            states = dict(zip(self.items_, long.states, strict=True))
            long = read_long(table, unit, self.items_, state_names=states)
            time_of_row = _times(table, time, long, self.times_)[1]
        best = self._most_likely_paths(long, time_of_row)
        labels = np.array(self.states, dtype=object)
        index = pd.Index(self.times_, name=self._columns[1])
        return pd.DataFrame(labels[best], index=long.units, columns=index).infer_objects()

    def _most_likely_paths(self, long: LongTable, time_of_row: np.ndarray) -> np.ndarray:
        """Return the numbers of the states along the most likely paths: the algorithm of Viterbi."""
        n_times, n_states = len(self.times_), len(self.states)
        seen = np.zeros((len(long.units), n_times, n_states))
        with np.errstate(divide="ignore"):
            for at, item in enumerate(self.items_):
                logs = np.log(self.tree_.table(_observed(item, self.times_[0]))).T
                known = long.codes[:, at] >= 0
                seen[long.unit_of_row[known], time_of_row[known]] += logs[long.codes[known, at]]
            moves = [np.log(self.tree_.table(_hidden(time))) for time in self.times_[1:]]
            value = np.log(self.tree_.table(_hidden(self.times_[0])))[0] + seen[:, 0]
        came_from = []
        for at, move in enumerate(moves, start=1):
            by_before = value[:, :, None] + move[None]
            came_from.append(by_before.argmax(axis=1))
            value = by_before.max(axis=1) + seen[:, at]
        path = [value.argmax(axis=1)]
        for before in reversed(came_from):
            path.append(before[np.arange(len(before)), path[-1]])
        return np.stack(path[::-1], axis=1)


def latent_transition(
    table: pd.DataFrame,
    id: Hashable,
    time: Hashable,
    items: Sequence[Hashable],
    n_states: int,
    by_time: bool = False,
    *,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    missing=None,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None = None,
    ordinal: Sequence[Hashable] | bool | None = None,
    prior: float | None = None,
    n_starts: int = 16,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike | None = None,
    show_progress: bool = True,
) -> LatentTransition:
    """Fit a latent transition model: hidden states that people move between, and items that show them.

    A hidden Markov model for panel data. The item tables are equal at all times, so that the states mean the same; the
    transitions are equal, or differ between times. Cells that are missing, and times at which someone was not observed,
    are summed out exactly, so that nobody is left out.

    Parameters
    ----------
    table : DataFrame
        Long: a row per person and time.
    id, time : hashable
        Columns with the person and the time of every row. Times are taken in their order, however far apart they are.
    items : list of columns
        What was observed; categories.
    n_states : int
        Number of hidden states.
    by_time : bool
        Whether transitions differ between times.
    sample_weight : column name or array, shape (n_rows,), optional
        Weights of people: the same in all rows of a person.
    weight_kind, strata, cluster
        What the weights are, and how people were drawn; see :func:`pgmpy_latent.encode`.
    missing : value, list of values, or dict of column to either, optional
        Values that count as missing cells.
    state_names : dict of item to list, optional
        Categories of items, in order; by default those of the table.
    ordinal : list of items or True, optional
        Items whose categories are ordered; see :class:`TreeEM`.
    prior : float, optional
        Dirichlet pseudo-count of every table entry, once for tables that are equal; None is maximum likelihood.
    n_starts : int
        Number of random starts.
    random_state : int, optional
        Same seed, same result.
    n_jobs, time_limit, checkpoint, show_progress
        As in :class:`TreeEM`.

    Returns
    -------
    LatentTransition

    Notes
    -----
    With K states, items of c categories and T times there are ``(K - 1) + K (K - 1) + K Σ(c - 1)`` parameters if
    transitions are equal, and ``(K - 1) + (T - 1) K (K - 1) + K Σ(c - 1)`` if not. Twice the difference of two
    log-likelihoods tests whether they are.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": [1, 1, 2, 2, 3, 3], "wave": [1, 2] * 3, "x": [0, 0, 1, 1, 0, 1]})
    >>> found = latent_transition(table, "id", "wave", ["x"], n_states=2, random_state=0)
    >>> found.n_parameters_, found.transitions_.shape
    (5, (2, 2))
    """
    check_number("n_states", n_states, 1, whole=True)
    check_list("items", items)
    check_columns(table, [id, time, *items])
    long = read_long(table, id, items, state_names=state_names, missing=missing, call="latent_transition(..., {})")
    times, time_of_row = _times(table, time, long)
    if len(times) < 2:
        raise DataError(f"column {time!r} has one time only; compare_classes describes a single time")
    names = [[_observed(item, at) for at in times] for item in items]
    wide = long.laid_out(time_of_row, names)
    shape = _chain(times, names, long.states, int(n_states))
    hidden = [_hidden(at) for at in times]
    tied = [*names, *([] if by_time or len(hidden) < 3 else [hidden[1:]])]
    stated = set(long.ordered_items(ordinal))
    ordered = [name for item, named in zip(items, names, strict=True) if item in stated for name in named]
    estimator = TreeEM(
        latent_card=int(n_states), n_init=n_starts, prior=prior, seed=random_state, n_jobs=n_jobs,
        show_progress=show_progress, time_limit=time_limit, checkpoint=checkpoint, tied=tied, ordinal=ordered or None,
        state_names=long.states_of_empty(wide, names),
    )  # fmt: skip
    drawn = long.drawn(table, sample_weight=sample_weight, strata=strata, cluster=cluster)
    estimator.fit(to_pgmpy(shape), wide, weight_kind=weight_kind, missing={}, **drawn)
    return LatentTransition(
        estimator.tree_, estimator.log_likelihood_, estimator.n_parameters_, estimator.bic_, times, list(items),
        bool(by_time), estimator, long, time_of_row, (id, time),
    )  # fmt: skip


def _hidden(time) -> str:
    return f"state at {time}"


def _observed(item: Hashable, time) -> str:
    return f"{item} at {time}"


def _in_order(values: pd.Series, column: Hashable) -> list:
    """Return the times that occur, in the order of an ordered Categorical, of numbers or of dates; texts have none."""
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        occur = set(values.unique())
        return [plain(time) for time in values.cat.categories if time in occur]
    times = [plain(time) for time in values.unique().tolist()]
    if any(isinstance(time, str) for time in times):
        raise DataError(
            f"column {column!r} has times that are texts, such as {times[0]!r}, which have no order; make it an "
            "ordered Categorical, pd.Categorical(..., categories=[first, second, ...], ordered=True), or give numbers"
        )
    return sorted(times)


def _times(
    table: pd.DataFrame, column: Hashable, long: LongTable, known: list | None = None
) -> tuple[list, np.ndarray]:
    """Return the times in order, and the number of the time of every row; raise if someone has two rows at one time."""
    check_columns(table, [column])
    values = table[column]
    lost = np.flatnonzero(values.isna().to_numpy())
    if len(lost):
        raise DataError(f"column {column!r} has no time in row {lost[0]}; leave such rows out, or give them one")
    times = _in_order(values, column) if known is None else known
    place = {time: at for at, time in enumerate(times)}
    unknown = [time for time in values.unique().tolist() if time not in place]
    if unknown:
        raise DataError(f"column {column!r} has the time {unknown[0]!r}, which the model does not know; leave it out")
    if len({str(time) for time in times}) < len(times):
        raise DataError(f"column {column!r} has different times with the same text; write all of them alike")
    numbers = values.map(place).to_numpy(np.int64)
    twice = pd.DataFrame({"unit": long.unit_of_row, "time": numbers}).duplicated().to_numpy()
    if twice.any():
        row = int(np.flatnonzero(twice)[0])
        unit = plain(long.units[long.unit_of_row[row]])
        raise DataError(f"{unit!r} has several rows at time {times[numbers[row]]!r}; leave all but one out")
    return times, numbers


def _chain(times: list, names: list[list[str]], states: list[tuple], n_states: int) -> LatentTree:
    """Return the tree of a latent transition model, with tables that say nothing."""
    n_times = len(times)
    parent = [at - 1 for at in range(n_times)] + [at for named in names for at, _ in enumerate(named)]
    hidden = [tuple(range(n_states))] * n_times
    observed = [listed for named, listed in zip(names, states, strict=True) for _ in named]
    all_states = [*hidden, *observed]
    all_names = [*map(_hidden, times), *(name for named in names for name in named)]
    if len(set(all_names)) < len(all_names):
        raise DataError("items and times give two columns the same name; rename an item")
    tables = [
        np.full((1 if above < 0 else n_states, len(listed)), 1 / len(listed))
        for above, listed in zip(parent, all_states, strict=True)
    ]
    return LatentTree(all_names, all_states, parent, [True] * n_times + [False] * len(observed), tables)
