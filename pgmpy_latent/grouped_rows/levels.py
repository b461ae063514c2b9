"""Classes at two levels: pupils in classes, and schools in clusters that differ in the sizes of these classes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pgmpy_latent.em.estimators import TreeEM, degenerate_states, warn_of_degenerate_states
from pgmpy_latent.em.few_rows import warn_of_few_rows
from pgmpy_latent.exceptions import DataError, DegenerateStateWarning, FewRowsWarning
from pgmpy_latent.grouped_rows.long_tables import LongTable, category_index, check_columns, read_long
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.runtime.settings import check_number
from pgmpy_latent.tables.survey import WeightKind

#: Names of the hidden variables, unless an item is called so.
CLUSTER, CLASS = "cluster", "class"


@dataclass(frozen=True, eq=False, repr=False)
class MultilevelClasses:
    """Classes of rows and clusters of groups; made by :func:`multilevel_classes`.

    Attributes
    ----------
    tree_ : LatentTree
        The model of one row: cluster → class → items. The rows of a group share their cluster.
    model_ : pgmpy.models.DiscreteBayesianNetwork
        The same as a network of pgmpy's.
    log_likelihood_ : float
        Of the whole table, in which the rows of a group share their cluster; larger is better.
    n_parameters_ : int
    bic_ : float
        ``log_likelihood_ - n_parameters_ / 2 * log(n)`` with ``n`` the number of rows (pupils): with one cluster this
        is the BIC of the latent class model. Larger is better.
    bic_groups_ : float
        The same with ``n`` the number of groups (schools), which suits the choice of the number of clusters.
    cluster_shares_ : Series
        Share of the groups in every cluster.
    class_shares_ : DataFrame
        Share of every class (columns) in every cluster (rows).
    profiles_ : DataFrame
        Probability of every category of every item (rows) in every class (columns), the same in all clusters.
    estimator_ : TreeEM
        The estimator, for ``n_best_``, ``converged_`` and so on; its rows are the groups.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"school": list("aabbcc"), "x": [0, 0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 0, 1]})
    >>> found = multilevel_classes(table, "school", n_states=2, n_clusters=1, random_state=0)
    >>> found
    MultilevelClasses(2 classes in 1 cluster, 6 rows in 3 groups, 2 items, 5 parameters, log-likelihood -6.068,
    BIC by groups -8.815)
    """

    tree_: LatentTree
    log_likelihood_: float
    n_parameters_: int
    bic_: float
    bic_groups_: float
    estimator_: TreeEM
    _long: LongTable = field(repr=False)
    _index: pd.Index = field(repr=False)

    def __repr__(self) -> str:
        clusters, classes = self.tree_.tables[1].shape
        items = len(self.tree_.observed_names)
        return (
            f"MultilevelClasses({classes} class{'es' * (classes != 1)} in {clusters} cluster{'s' * (clusters != 1)}, "
            f"{len(self._index):,} rows in {len(self._long.units):,} groups, {items} item{'s' * (items != 1)}, "
            f"{self.n_parameters_} parameters, log-likelihood {self.log_likelihood_:.3f}, BIC by groups "
            f"{self.bic_groups_:.3f})"
        )

    @property
    def model_(self):
        """The model of one row as a network of pgmpy's."""
        return to_pgmpy(self.tree_)

    @property
    def cluster_shares_(self) -> pd.Series:
        """Share of the groups in every cluster."""
        return pd.Series(self.tree_.tables[0][0], index=self._states(0), name="share")

    @property
    def class_shares_(self) -> pd.DataFrame:
        """Share of every class (columns) in every cluster (rows)."""
        return pd.DataFrame(self.tree_.tables[1], index=self._states(0), columns=self._states(1))

    @property
    def profiles_(self) -> pd.DataFrame:
        """Probability of every category of every item (rows) in every class (columns)."""
        values = np.concatenate([table.T for table in self.tree_.tables[2:]])
        return pd.DataFrame(values, index=category_index(self._long.items, self._long.states), columns=self._states(1))

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
        >>> table = pd.DataFrame({"school": list("aabbcc"), "x": [0, 0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 0, 1]})
        >>> found = multilevel_classes(table, "school", 2, 1, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found.report(f"{folder}/report.html")
        ...     os.listdir(folder)
        ['report.html']
        """
        from pgmpy_latent.report import write_report  # a later layer

        write_report(self, path)

    def _states(self, node: int) -> pd.Index:
        return pd.Index(self.tree_.state_names[node], name=(CLUSTER, CLASS)[node])

    def groups(self) -> pd.DataFrame:
        """Return the posterior of every group: the probability of every cluster (columns), given all its rows.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"school": list("aabbcc"), "x": [0, 0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 0, 1]})
        >>> multilevel_classes(table, "school", 2, 1, random_state=0).groups().shape
        (3, 1)
        """
        return pd.DataFrame(self._posterior()[0], index=self._long.units, columns=self._states(0))

    def posterior(self) -> pd.DataFrame:
        """Return the posterior of every row: the probability of every class (columns), given all rows of its group.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"school": list("aabbcc"), "x": [0, 0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 0, 1]})
        >>> multilevel_classes(table, "school", 2, 1, random_state=0).posterior().shape
        (6, 2)
        """
        of_group, by_cluster = self._posterior()
        values = np.einsum("rc,rck->rk", of_group[self._long.unit_of_row], by_cluster)
        return pd.DataFrame(values, index=self._index, columns=self._states(1))

    def _posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return P(cluster | group) and P(class | cluster, row), an axis for each of what they name."""
        codes, likely = self._long.codes, np.zeros((len(self._index), self.tree_.tables[1].shape[1]))
        with np.errstate(divide="ignore"):
            for at, table in enumerate(self.tree_.tables[2:]):
                known = codes[:, at] >= 0
                likely[known] += np.log(table).T[codes[known, at]]
            joint = np.log(self.tree_.tables[1])[None] + likely[:, None, :]
            top = joint.max(axis=2, keepdims=True)
            top = np.where(np.isfinite(top), top, 0.0)
            weights = np.exp(joint - top)
            row = (top + np.log(weights.sum(axis=2, keepdims=True)))[:, :, 0]
            group = np.tile(np.log(self.tree_.tables[0]), (len(self._long.units), 1))
        np.add.at(group, self._long.unit_of_row, row)
        group = np.exp(group - group.max(axis=1, keepdims=True))
        return group / group.sum(axis=1, keepdims=True), weights / np.maximum(
            weights.sum(axis=2, keepdims=True), 1e-300
        )


def multilevel_classes(
    table: pd.DataFrame,
    group: Hashable,
    n_states: int,
    n_clusters: int,
    *,
    items: Sequence[Hashable] | None = None,
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
) -> MultilevelClasses:
    """Fit classes of rows in clusters of groups, such as pupils in schools.

    A latent class model of rows at whose top stands a hidden variable of groups: every group belongs to a cluster, and
    clusters differ in the sizes of the classes. The classes mean the same everywhere. EM is exact: it runs on one row
    per group, in which every member has a class of its own, with tables that are equal for all members. Missing cells
    are summed out, so that rows without any answer say nothing; but BIC counts them as rows.

    Parameters
    ----------
    table : DataFrame
        A row per member of a group.
    group : hashable
        Column with the group of every row.
    n_states, n_clusters : int
        Number of classes of rows, and of clusters of groups. These clusters are found; sampling units, which are known,
        are named by ``cluster``.
    items : list of columns, optional
        What was observed; by default all columns but ``group``.
    sample_weight : column name or array, shape (n_rows,), optional
        Weights of groups: the same in all rows of a group. Weights of single rows are refused.
    weight_kind, strata, cluster
        What the weights are, and how groups were drawn; see :func:`pgmpy_latent.encode`.
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
    MultilevelClasses

    References
    ----------
    Vermunt, J. K. (2003). Multilevel latent class models. Sociological Methodology, 33(1), 213-239.
    Lukočienė, O., Varriale, R. and Vermunt, J. K. (2010). The simultaneous decision(s) about the number of lower- and
    higher-level classes in multilevel latent class analysis. Sociological Methodology, 40(1), 247-283.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"school": list("aabbcc"), "x": [0, 0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 0, 1]})
    >>> multilevel_classes(table, "school", n_states=2, n_clusters=1, random_state=0).n_parameters_
    5
    """
    check_number("n_states", n_states, 1, whole=True)
    check_number("n_clusters", n_clusters, 1, whole=True)
    check_columns(table, [group])
    named = [name for name in (sample_weight, strata, cluster) if isinstance(name, Hashable)]
    chosen = [name for name in table.columns if name != group and name not in named] if items is None else items
    long = read_long(table, group, chosen, state_names=state_names, missing=missing, call="multilevel_classes(..., {})")
    ordered = set(long.ordered_items(ordinal))
    drawn = long.drawn(table, sample_weight=sample_weight, strata=strata, cluster=cluster)
    place = _places(long)
    members = range(int(place.max()) + 1)
    names = [[f"{item} of {member}" for member in members] for item in chosen]
    hidden = [f"{CLASS} of {member}" for member in members]
    wide = long.laid_out(place, names)
    estimator = TreeEM(
        state_names=long.states_of_empty(wide, names),
        n_init=n_starts, prior=prior, seed=random_state, n_jobs=n_jobs, show_progress=show_progress,
        time_limit=time_limit, checkpoint=checkpoint, tied=_tied(hidden, names), init_cpds="random",
        ordinal=[name for item, named in zip(chosen, names, strict=True) if item in ordered for name in named],
        latent_card={CLUSTER: int(n_clusters), **dict.fromkeys(hidden, int(n_states))},
    )  # fmt: skip
    shape = _unrolled(hidden, names, long.states, int(n_clusters), int(n_states))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRowsWarning)  # it counts groups
        warnings.simplefilter("ignore", DegenerateStateWarning)  # it names every member
        estimator.fit(to_pgmpy(shape), wide, weight_kind=weight_kind, missing={}, **drawn)
    tree = _one_member(estimator.tree_, chosen)
    n, sizes = estimator.n_parameters_, np.bincount(long.unit_of_row)
    rows = estimator.total_weight_ * float(np.average(sizes, weights=drawn["sample_weight"]))
    warn_of_few_rows(tree, rows, n_parameters=n)
    warn_of_degenerate_states(degenerate_states(tree, marginals(tree)))
    return MultilevelClasses(
        tree, estimator.log_likelihood_, n, float(estimator.log_likelihood_ - n * np.log(rows) / 2), estimator.bic_,
        estimator, long, table.index,
    )  # fmt: skip


def _places(long: LongTable) -> np.ndarray:
    """Return at which place of its group every row stands: alike rows of different groups at alike places."""
    order = np.lexsort((*long.codes.T[::-1], long.unit_of_row))
    units = long.unit_of_row[order]
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(units, units)
    return place


def _tied(hidden: list[str], names: list[list[str]]) -> list[list[str]] | None:
    return [hidden, *names] if len(hidden) > 1 else None


def _unrolled(
    hidden: list[str], names: list[list[str]], states: list[tuple], n_clusters: int, n_states: int
) -> LatentTree:
    """Return the tree of a group: its cluster above the classes of its members, and these above their items."""
    all_names = [CLUSTER, *hidden, *(name for named in names for name in named)]
    if len(set(all_names)) < len(all_names):
        raise DataError("an item is named like a hidden variable or like another item; rename it")
    parent = [-1, *[0] * len(hidden), *(1 + member for named in names for member, _ in enumerate(named))]
    listed = [tuple(range(n_clusters)), *[tuple(range(n_states))] * len(hidden)]
    listed += [of_item for named, of_item in zip(names, states, strict=True) for _ in named]
    tables = [
        np.full((1 if above < 0 else len(listed[above]), len(own)), 1 / len(own))
        for above, own in zip(parent, listed, strict=True)
    ]
    latent = [name == CLUSTER or at <= len(hidden) for at, name in enumerate(all_names)]
    return LatentTree(all_names, listed, parent, latent, tables)


def _one_member(tree: LatentTree, items: Sequence[Hashable]) -> LatentTree:
    """Return the tree of one member of a group."""
    nodes = [tree.index(name) for name in (CLUSTER, f"{CLASS} of 0", *(f"{item} of 0" for item in items))]
    upper = [name if name not in items else f"{name} (hidden)" for name in (CLUSTER, CLASS)]
    return LatentTree(
        [*upper, *items], [tree.state_names[at] for at in nodes], [-1, 0, *[1] * len(items)],
        [True, True, *[False] * len(items)], [tree.tables[at] for at in nodes],
    )  # fmt: skip
