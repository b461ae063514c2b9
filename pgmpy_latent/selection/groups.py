"""Do groups differ in the sizes of their classes, in some items, or in everything?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics.adjustment import holm
from pgmpy_latent.diagnostics.score_test import ScoreTests
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.cardinality.random_starts import RandomStarts
from pgmpy_latent.learners.memo import memo_of_call
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.settings import (
    PROGRESS_DELAY,
    check_n_jobs,
    check_number,
    check_time_limit,
    time_left,
)
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.scores.information import aic_from_parts, bic_from_parts
from pgmpy_latent.selection.class_choice import SIGNIFICANT
from pgmpy_latent.selection.group_choice import notes, one_decimal, recommended_rung
from pgmpy_latent.selection.group_models import GroupFit, GroupModels
from pgmpy_latent.tables.columns import as_pandas, listing
from pgmpy_latent.tables.encode import CategoricalData, column_names
from pgmpy_latent.tables.survey import Survey, WeightKind, names_column

#: Columns of the table of models, and their types.
COLUMNS = {
    "log_likelihood": "float64", "n_parameters": "int64", "bic": "float64", "minus_2_bic": "float64", "aic": "float64",
    "lr": "float64", "lr_df": "Int64", "lr_p": "float64", "n_best": "int64", "n_starts": "int64", "seconds": "float64",
}  # fmt: skip
#: Columns of the table of items, and their types.
ITEM_COLUMNS = {
    "item": object, "statistic": "float64", "df": "int64", "p_value": "float64", "adjusted_p": "float64",
    "differs": "bool", "step": "Int64",
}  # fmt: skip
#: Where the items that differ stand in the table.
COLUMNS_BEFORE_ITEMS = list(COLUMNS).index("n_best")
#: The rungs of the ladder; which items differ is tested in the second.
NOTHING, SIZES, SOME, ALL = "nothing differs", "sizes differ", "some items differ", "all differ"


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison:
    """What differs between groups; printed, it is the table of models and the recommendation.

    Attributes
    ----------
    table : DataFrame
        A row per model, the one in which nothing differs first. See :func:`compare_groups`.
    items : DataFrame
        A row per item: the test of whether its probabilities differ between the groups.
    models : dict of str to LatentNetwork
        The models, by the names of the table's rows.
    recommended : str
        The row with the best BIC.
    reason : str
        Why, and what speaks against it.
    group : name
        The column of the group.
    total_weight : float
        The N of BIC: how many rows have a group and some answer, or the sum of their weights.

    Examples
    --------
    >>> from pgmpy_latent import compare_groups, datasets
    >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR", "educ"]]
    >>> found = compare_groups(survey, "educ", 2, n_starts=4, show_progress=False)
    >>> list(found.table.index)[:2], sorted(found.network_.edges)[:2]
    (['nothing differs', 'sizes differ'], [('H', 'PID'), ('H', 'selfLR')])
    """

    table: pd.DataFrame
    items: pd.DataFrame
    models: dict[str, LatentNetwork] = field(repr=False)
    recommended: str
    reason: str
    group: Hashable
    total_weight: float

    @property
    def network_(self) -> LatentNetwork:
        """The recommended model."""
        return self.models[self.recommended]

    @property
    def model_(self):
        """The recommended model as a network of pgmpy."""
        return to_pgmpy(self.network_)

    def profiles(self, rung: str | None = None) -> pd.DataFrame:
        """Return the sizes of the classes and the probabilities of the items in every group.

        Parameters
        ----------
        rung : str, optional
            Which of the models; the recommended one by default.

        Returns
        -------
        DataFrame
            Rows are pairs (variable, category), the first of them ``("share", "")``; columns are pairs (group, class).

        Examples
        --------
        >>> from pgmpy_latent import compare_groups, datasets
        >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
        >>> found = compare_groups(survey, "vote", 2, n_starts=4, show_progress=False)
        >>> found.profiles("sizes differ").shape
        (15, 4)
        """
        network = self._named(rung)
        n_groups, n_classes = (int(card) for card in network.cards[:2])
        blocks = [np.broadcast_to(network.tables[1], (n_groups, n_classes))[:, :, None]]
        for node in range(2, network.n_nodes):
            table = network.tables[node]
            if len(network.parents[node]) == 1:
                table = np.repeat(table, n_groups, axis=0)
            blocks.append(table.reshape(n_classes, n_groups, -1).swapaxes(0, 1))
        values = np.concatenate(blocks, axis=2).reshape(n_groups * n_classes, -1).T
        rows = [
            (network.names[node], state) for node in range(2, network.n_nodes) for state in network.state_names[node]
        ]
        columns = [(group, state) for group in network.state_names[0] for state in network.state_names[1]]
        return pd.DataFrame(
            values,
            index=pd.MultiIndex.from_tuples([("share", ""), *rows], names=["variable", "category"]),
            columns=pd.MultiIndex.from_tuples(columns, names=[self.group, "class"]),
        )

    def sizes(self, rung: str | None = None) -> pd.DataFrame:
        """Return the sizes of the classes: a row per group, a column per class. Arguments are as in ``profiles``.

        Examples
        --------
        >>> from pgmpy_latent import compare_groups, datasets
        >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
        >>> found = compare_groups(survey, "vote", 2, n_starts=4, show_progress=False)
        >>> found.sizes("sizes differ").sum(axis=1).round(6).tolist()
        [1.0, 1.0]
        """
        network = self._named(rung)
        values = np.broadcast_to(network.tables[1], tuple(network.cards[:2])).copy()
        index = pd.Index(list(network.state_names[0]), name=self.group, tupleize_cols=False)
        return pd.DataFrame(values, index, pd.Index(list(network.state_names[1]), name="class"))

    def _named(self, rung: str | None) -> LatentNetwork:
        name = self.recommended if rung is None else rung
        if name not in self.models:
            raise ValueError(f"rung is {rung!r}; give one of {', '.join(map(repr, self.models))}")
        return self.models[name]

    def __repr__(self) -> str:
        shown = self.table[["best", "log_likelihood", "n_parameters", "bic", "lr", "lr_df", "lr_p"]]
        return f"{shown.round(4).to_string()}\n{self.reason}"


def compare_groups(
    X,
    group,
    n_states: int,
    *,
    differ: Sequence[Hashable] | None = None,
    items: str = "score",
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    n_starts: int = 16,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike | None = None,
    show_progress: bool = True,
    missing=None,
    allow_many_states=None,
) -> GroupComparison:
    """Find out what differs between groups in a latent class model: nothing, sizes, some items, or everything.

    Items are all columns but the group. Four models are fitted, each of which contains the one before: in the first,
    the group has no edge; in the second, an edge to the hidden variable, so that classes have other sizes in other
    groups; in the third, edges to some items as well, whose probabilities then differ within classes; in the last, to
    all of them.

    Parameters
    ----------
    X : DataFrame, array or CategoricalData
        The items and the group; missing cells are fine.
    group : name, or array of shape (n_rows,)
        The column of the group, or the group of every row. Rows in which it is not known are left out of all models,
        with a warning.
    n_states : int
        Number of classes; :func:`compare_classes` helps to choose it.
    differ : sequence of names, optional
        The items of the third model. By default those that differ by the tests of items; where these are none, or all,
        there is no third model.
    items : {"score", "refit"}
        How items are tested one by one: by a score test, or by fitting the model with this edge.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. Score tests account for all of
        them; criteria and likelihood-ratio tests use the effective number of rows of sampling weights, and do not know
        that rows of a cluster are alike.
    n_starts : int
        Number of random starts of every model; where everything differs, of every group.
    random_state : int, optional
        Same seed, same result.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    time_limit : float, optional
        Seconds, after which the models that are finished are returned, with a warning; the first always is. Ctrl-C does
        the same.
    checkpoint : path, optional
        A file for what is finished. The same call with the same file continues from there; see :class:`SplitMerge`.
    show_progress : bool
        Whether work of more than two seconds shows a bar.
    missing : value, list of values, or dict of column to either, optional
        Values that count as missing cells, as ``{"age": [99, -1]}``; the models keep them.
    allow_many_states : bool or list of columns, optional
        Which columns are categories although they look like identifiers, dates or measurements.

    Returns
    -------
    GroupComparison
        Its ``table`` has a row per model:

        - ``best``: marks the recommended row, the one with the best BIC;
        - ``log_likelihood``: of the items given the group; ``n_parameters``: without the shares of the groups;
          ``bic``, ``aic``: larger is better; ``minus_2_bic``: BIC as other programs print it;
        - ``lr``: twice the gain in log-likelihood over the row before; ``lr_df``: by how many parameters it differs;
          ``lr_p``: of the likelihood-ratio test, by the chi-squared distribution;
        - ``differs``: the items with edges from the group;
        - ``n_best`` of ``n_starts`` random starts reached the best value; ``seconds``.

        Its ``items`` has a row per item: ``item``, ``statistic``, ``df``, ``p_value``, ``adjusted_p`` (by Holm's
        method), ``differs`` and ``step``. The item with the smallest p-value differs if its adjusted p-value is at
        most 0.05; the model then lets it differ, and the others are tested again, because an item that differs makes
        others look as if they did. ``step`` says in which order items were found to differ; all other rows are tests
        within the last of these models. ``network_`` and ``model_`` are the recommended model, ``profiles()`` and
        ``sizes()`` its probabilities by group.

    See Also
    --------
    compare_classes : How many classes?
    pgmpy_latent.plotting.plot_groups : A picture of the sizes of classes and of items by group.

    Notes
    -----
    With G groups, an item of c categories and K classes, a test has ``(G - 1) (c - 1) K`` degrees of freedom; the score
    test has fewer if probabilities are at the boundary, from where they could only move one way, and leaves these out.
    All tests hold for large tables; groups in which few rows are expected in some class make them rough. The third
    model is chosen with the rows that it is then fitted to, so that its likelihood-ratio test flatters it; name
    ``differ`` beforehand if it is a hypothesis.

    Rows without any answer say nothing and are left out as well; the reason says how many.

    References
    ----------
    Clogg, C. C. and Goodman, L. A. (1985). Simultaneous latent structure analysis in several groups. Sociological
    Methodology 15, 81-110.
    Masyn, K. E. (2017). Measurement invariance and differential item functioning in latent class analysis with stepwise
    multiple indicator multiple cause modeling. Structural Equation Modeling 24(2), 180-197.

    Examples
    --------
    >>> from pgmpy_latent import compare_groups, datasets
    >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
    >>> found = compare_groups(survey, "vote", 2, n_starts=4, show_progress=False)
    >>> found.table["n_parameters"].tolist()[:2], bool((found.table["lr"].dropna() >= 0).all())
    ([25, 26], True)
    >>> sorted(found.items["item"]), found.recommended
    (['PID', 'selfLR'], 'sizes differ')
    """
    check_number("n_states", n_states, 1, whole=True)
    check_number("n_starts", n_starts, 1, whole=True)
    check_time_limit(time_limit)
    check_n_jobs(n_jobs)
    if items not in ("score", "refit"):
        raise ValueError(f"items is {items!r}; give 'score' or 'refit'")
    X, group = _with_group(X, group)
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    options = {"missing": missing, "allow_many_states": allow_many_states, "takes_kinds": False}
    data = RandomStarts(n_states=n_states)._check_fit_data(X, sample_weight, **options, **survey)
    _check_groups(data, group, differ)
    data, left_out = _with_answers(data, group)
    clock = Clock(time_limit)
    stated = {"group": group, "n_states": n_states, "differ": differ, "items": items, "n_starts": n_starts}
    memo, entropy = memo_of_call(checkpoint, "compare_groups", stated, data, random_state)
    models = GroupModels(data, group, int(n_states), int(n_starts), entropy, n_jobs, clock, memo)
    ladder = _Ladder(models, items, differ)
    with memo.going_on:
        ladder.climb(show_progress)
    memo.tend(now=True)
    table = _table(ladder, data)
    best, reason = recommended_rung(table, ladder.items)
    table.insert(0, "best", table.index == best)
    reason = " ".join([reason, *notes(data, group, left_out)])
    networks = {name: fit.network for name, fit in ladder.fits.items()}
    return GroupComparison(table, ladder.items, networks, best, reason, group, float(data.total_weight))


class _Ladder:
    """Fits the models one after the other, as far as time allows."""

    def __init__(self, models: GroupModels, how: str, differ: Sequence[Hashable] | None):
        self.models, self.how = models, how
        self.differ = None if differ is None else tuple(name for name in models.columns if name in set(differ))
        self.fits: dict[str, GroupFit] = {}
        self.seconds: dict[str, float] = {}
        self.items = _item_table([])
        self._tests: ScoreTests | None = None

    def climb(self, show_progress: bool) -> None:
        """Fit all models; the time limit and Ctrl-C leave out those that are not finished."""
        clock = self.models.clock
        steps: list[tuple[str, Callable[[], None]]] = [
            (NOTHING, lambda: self._keep(NOTHING, self.models.fit(sizes=False))),
            (SIZES, lambda: self._keep(SIZES, self.models.fit(near=[self.fits[NOTHING]]))),
            ("items", self._test_items),
            (SOME, self._fit_some),
            (ALL, self._fit_all),
        ]
        with tqdm(steps, desc="groups", disable=not show_progress, delay=PROGRESS_DELAY, leave=False) as bar:
            for name, step in bar:
                bar.set_postfix_str(f"{name}{time_left(clock.seconds_left)}", refresh=False)
                began = time.perf_counter()
                try:
                    step()
                except STOP_SIGNALS as signal:
                    if not self.fits:
                        raise
                    clock.note_stop(signal)
                    self._warn()
                    return
                took = time.perf_counter() - began
                self.seconds[name] = self.models.memo.recall(f"seconds of {name}", partial(float, took))
        self.models.memo.finish()

    def _warn(self) -> None:
        why = "the time limit" if self.models.clock.stopped == "time_limit" else "Ctrl-C"
        warn(
            f"{why} stopped the comparison of groups; what is returned rests on the models that were finished: "
            f"{', '.join(self.fits)}. Give more time, or fewer n_starts.",
            ConvergenceWarning,
        )

    def _keep(self, name: str, fit: GroupFit) -> None:
        self.fits[name] = fit

    def _test_items(self) -> None:
        """Test the items, free the one that differs most clearly, and test the others again, until none differs."""
        null = self.fits[SIZES]
        chosen: list[Hashable] = []
        rows: dict[Hashable, dict] = {}
        left = list(self.models.columns)
        while left:
            tested = _tested(left, [self._test(null, chosen, name) for name in left])
            rows |= {row["item"]: row for row in tested}
            first = min(tested, key=lambda row: np.nan_to_num(row["p_value"], nan=np.inf))
            if not first["adjusted_p"] <= SIGNIFICANT:
                break
            chosen.append(first["item"])
            first |= {"differs": True, "step": len(chosen)}
            left.remove(first["item"])
            null = self.models.fit(differ=chosen, near=[null], n_starts=0)
        self.items = _item_table(rows.values())

    def _test(self, null: GroupFit, chosen: list[Hashable], name: Hashable) -> tuple[float, int]:
        """Return statistic and degrees of freedom of the test of an item."""
        self.models.clock.check()
        if self.how == "score":
            if self._tests is None or self._tests.network is not null.network:
                self._tests = ScoreTests(null.network, self.models.data)
            test = self._tests.edge(self.models.group, name)
            return test.statistic, test.df
        more = self.models.fit(differ=[*chosen, name], near=[null], n_starts=0)
        gain = max(more.log_likelihood - null.log_likelihood, 0.0)
        return 2 * gain, more.n_parameters - null.n_parameters

    def _fit_some(self) -> None:
        """Fit the model in which some items differ, if there are some, and others."""
        found = set(self.items.loc[self.items["differs"], "item"])
        some = tuple(name for name in self.models.columns if name in found) if self.differ is None else self.differ
        if 0 < len(some) < len(self.models.columns):
            self._keep(SOME, self.models.fit(differ=some, near=[self.fits[SIZES]]))

    def _fit_all(self) -> None:
        near = [self.fits[SOME]] if SOME in self.fits else []
        self._keep(ALL, self.models.fit_apart(self.fits[SIZES], near))


def _tested(names: Sequence[Hashable], found: Sequence[tuple[float, int]]) -> list[dict]:
    """Return tests of several items at once."""
    p_values = np.array([float(chi2.sf(value, df)) if df else np.nan for value, df in found])
    return [
        {
            "item": name,
            "statistic": value,
            "df": df,
            "p_value": p,
            "adjusted_p": adjusted,
            "differs": False,
            "step": None,
        }
        for name, (value, df), p, adjusted in zip(names, found, p_values, holm(p_values), strict=True)
    ]


def _item_table(rows: Iterable[dict]) -> pd.DataFrame:
    """Return the tests of single items: those that differ in the order in which this was found, then the others."""
    table = pd.DataFrame(list(rows), columns=list(ITEM_COLUMNS)).astype(ITEM_COLUMNS)
    return table.sort_values(["step", "p_value"], kind="stable", na_position="last").reset_index(drop=True)


def _table(ladder: _Ladder, data: CategoricalData) -> pd.DataFrame:
    """Return the table of models, without the recommendation."""
    rows = []
    before: GroupFit | None = None
    for name, fit in ladder.fits.items():
        value, size = fit.log_likelihood, fit.n_parameters
        lr, df = (np.nan, None) if before is None else (2 * (value - before.log_likelihood), size - before.n_parameters)
        row = {
            "rung": name, "log_likelihood": value, "n_parameters": size,
            "bic": bic_from_parts(value, size, data.total_weight), "aic": aic_from_parts(value, size),
            "lr": lr, "lr_df": df, "lr_p": float(chi2.sf(lr, df)) if df else np.nan,
            "n_best": fit.n_best, "n_starts": fit.n_starts, "seconds": ladder.seconds[name],
        }  # fmt: skip
        rows.append(row)
        before = fit
    table = pd.DataFrame(rows).set_index("rung")
    table["minus_2_bic"] = -2 * table["bic"]
    table = table[list(COLUMNS)].astype(COLUMNS)
    group = ladder.models.group
    with_edge = [[below for above, below in fit.network.edges if above == group] for fit in ladder.fits.values()]
    differs = [tuple(name for name in below if name != ladder.models.hidden) for below in with_edge]
    table.insert(COLUMNS_BEFORE_ITEMS, "differs", pd.Series(differs, index=table.index, dtype=object))
    return table


def _with_group(X, group) -> tuple[object, Hashable]:
    """Return the table with the group as a column, and the name of that column."""
    names = column_names(X)
    if names_column(group, names):
        if group not in names:
            raise DataError(f"the table has no column {group!r}, which group names; it has {listing(names)}")
        return X, group
    frame = as_pandas(X)
    if not isinstance(frame, pd.DataFrame):
        raise DataError("group holds values, and X is not a DataFrame; make the group a column of X, and give its name")
    values = list(group)
    if len(values) != len(frame):
        raise DataError(f"group has {len(values)} values for {len(frame)} rows; give one per row")
    if "group" in names:
        raise DataError("the table has a column 'group'; give its name, or rename it")
    return frame.assign(group=pd.Series(values, index=frame.index)), "group"


def _check_groups(data: CategoricalData, group: Hashable, differ) -> None:
    items = [name for name in data.columns if name != group]
    if not items:
        raise DataError(f"the table has no column but the group {group!r}; add the items")
    codes = data.codes[:, data.columns.index(group)]
    if len(np.unique(codes[codes >= 0])) < 2:
        raise DataError(f"the column {group!r} has fewer than two groups; compare_classes is for a single one")
    strangers = [name for name in (differ or ()) if name not in items]
    if strangers or isinstance(differ, str):
        raise DataError(f"differ names {strangers or differ!r}; give a list of items, of {listing(items)}")


def _with_answers(data: CategoricalData, group: Hashable) -> tuple[CategoricalData, dict[str, float]]:
    """Return the rows with a known group and some answer, and how many were left out for want of either."""
    at = data.columns.index(group)
    has_group = data.codes[:, at] >= 0
    has_answer = (np.delete(data.codes, at, axis=1) >= 0).any(axis=1)
    rows = data.table_rows
    left_out = {"the group": float(rows[~has_group].sum()), "any answer": float(rows[has_group & ~has_answer].sum())}
    if left_out["the group"]:
        warn(
            f"{one_decimal(left_out['the group'])} of {one_decimal(rows.sum())} rows have no {group!r} and are left "
            "out of all models; fill the cells, or give such rows a group of their own",
        )
    kept = data.take(has_group & has_answer)
    design, weights = kept.design, kept.weights
    if kept.weight_kind == "sampling" and design is not None and kept.n_distinct < data.n_distinct:
        design = design.on_kish_scale()  # the effective number is that of the rows that are left
        weights = design.row_weights(kept.n_distinct)
    n_rows = int(rows[has_group & has_answer].sum())
    present, place = np.unique(kept.codes[:, at], return_inverse=True)
    if len(present) < 2:
        raise DataError(f"only one group of {group!r} has rows with answers; compare_classes is for a single one")
    codes, states = np.array(kept.codes), list(kept.state_names)
    codes[:, at], states[at] = place.ravel(), tuple(states[at][code] for code in present)  # groups that occur
    return CategoricalData(
        kept.columns,
        states,
        codes,
        weights,
        weight_kind=kept.weight_kind,
        design=design,
        row_count=n_rows,
        missing=kept.missing,
    ), left_out
