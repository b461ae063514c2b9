"""How sure is a learned tree? The share of bootstrap trees that separate the columns in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics.resampling import drawn_from_rows, n_rows_of
from pgmpy_latent.inference.queries import model_and_data
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.splits import column_bits, splits
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_n_jobs, check_number, entropy_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey, WeightKind

#: What a learner is set to for a drawn table, where it has such a setting: threads share the tables, and a checkpoint
#: is that of the given table.
FOR_DRAWS = {"show_progress": False, "n_jobs": 1, "checkpoint": None}


def support(
    learner: LatentTreeLearner,
    X,
    *,
    n_bootstrap: int = 100,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    show_progress: bool = True,
) -> pd.DataFrame:
    """Return how often the edges between hidden variables are found again in tables drawn anew.

    An edge of a tree separates the columns on one side of it from those on the other. ``n_bootstrap`` tables are drawn
    from the rows of the given one (nonparametric bootstrap), the learner learns from each of them, and the support of
    an edge is the share of the trees found in which some edge separates the columns in the same way. This is what
    phylogenetics writes on the branches of a tree.

    Parameters
    ----------
    learner : learner of latent trees, fitted
        As :class:`~pgmpy_latent.EAST` or :class:`~pgmpy_latent.BinG`. Clones of it learn from the drawn tables, with
        its settings but another seed, one thread and no checkpoint; it is not changed.
    X : DataFrame, array or CategoricalData
        The table it has learned from.
    n_bootstrap : int
        Number of tables to draw.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them. Where they count rows, a table of as many rows
        as they sum to, rounded, is drawn, each of its rows with a probability in proportion to its weight.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. By default all are as the
        learner was fitted: it remembers the kind and the columns (``design_``). Rows with sampling weights are drawn
        with equal chances and keep their weights; clusters are drawn as a whole, within strata.
    random_state : int, optional
        Same seed, same support.
    n_jobs : int, optional
        Threads, which share the tables; the result does not depend on it.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    DataFrame
        A row for every edge of ``learner.tree_`` between two hidden variables: ``parent``, ``child``, ``columns``, a
        tuple of the columns on the child's side, and ``support``, from 0 to 1. ``attrs["n_bootstrap"]`` is the number
        of trees behind it.

    Warns
    -----
    UserWarning
        If the tree has no edge between two hidden variables, as a latent class model has none. The table is empty then,
        and nothing is drawn.

    Notes
    -----
    The place of the root and the direction of edges do not matter, nor do names and numbers of states of hidden
    variables. A column inside the tree belongs to the side it stands on. In a forest an edge separates the columns of
    its own tree; a bootstrap forest agrees if it has a tree of the same columns, separated in the same way.

    A bootstrap tree sees fewer distinct rows and is noisier than the given one, so that support below 1 does not mean
    that an edge is wrong. It says how much of a tree another sample of this size would show.

    Ctrl-C returns the support by the trees that were finished, with a warning.

    References
    ----------
    Felsenstein, J. (1985). Confidence limits on phylogenies: an approach using the bootstrap. Evolution, 39(4),
    783-791.

    Examples
    --------
    The hidden variables above three columns each are found again; which two of the three a binary tree joins first is
    less certain.

    >>> from pgmpy_latent import BinG, LatentTree, sample, support
    >>> near = [[0.9, 0.1], [0.1, 0.9]]
    >>> truth = LatentTree("ABpqrstu", [[0, 1]] * 8, [-1, 0, 0, 0, 0, 1, 1, 1], [True] * 2 + [False] * 6,
    ...                    [[[0.5, 0.5]], [[0.7, 0.3], [0.3, 0.7]], *[near] * 6])
    >>> table = sample(truth, 500, random_state=0)
    >>> learner = BinG(random_state=0, show_progress=False).fit(table)
    >>> support(learner, table, n_bootstrap=10, show_progress=False)
      parent child    columns  support
    0     H2    H1     (t, u)      0.9
    1     H5    H2  (s, t, u)      1.0
    2     H4    H3     (q, r)      0.7
    3     H5    H4  (p, q, r)      1.0
    """
    check_number("n_bootstrap", n_bootstrap, 1, whole=True)
    check_n_jobs(n_jobs)
    entropy = entropy_of(random_state)
    tree = _tree_of(learner)
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    _, data = model_and_data(learner, X, sample_weight=sample_weight, **survey)
    n_rows_of(data)  # raises
    _warn_of_other_weights(learner, data)
    if not _inner_edges(tree):
        warn(_why_empty(tree))
        return _table(tree, {}, [])
    bits = column_bits(tree)
    wanted = splits(tree, bits)
    with warnings.catch_warnings(), tqdm(
        total=n_bootstrap, desc="bootstrap", unit=" trees", disable=not show_progress, delay=PROGRESS_DELAY, leave=False
    ) as bar:  # fmt: skip
        warnings.simplefilter("ignore")  # what there is to say about the table was said when the learner was fitted
        clock = Clock()
        work = partial(_splits_of_draw, clone(learner), data, bits, entropy, clock)
        draws, interrupted = parallel.work_through(work, range(n_bootstrap), n_jobs, lambda _: bar.update(), clock)
    if interrupted and not draws:
        raise KeyboardInterrupt
    if interrupted:
        warn(
            f"Ctrl-C stopped the bootstrap; the support rests on {len(draws)} of {n_bootstrap} trees",
            ConvergenceWarning,
        )
    return _table(tree, wanted, draws)


def _tree_of(learner) -> LatentTree:
    if not isinstance(learner, LatentTreeLearner):
        raise TypeError(
            f"expected a fitted learner of latent trees as the first argument, as EAST().fit(X) or BinG().fit(X), got "
            f"{type(learner).__name__}, which cannot learn from the tables that are drawn; a model by itself, or one "
            "that fitted() read from a file, does not know the settings of its search"
        )
    check_is_fitted(learner)
    return learner.tree_


def _splits_of_draw(
    learner: LatentTreeLearner,
    data: CategoricalData,
    bits: Mapping[Hashable, int],
    entropy: int,
    clock: Clock,
    draw: int,
) -> set[frozenset[int]]:
    """Return what the edges separate in the tree that is learned from a drawn table."""
    seed = np.random.SeedSequence(entropy, spawn_key=(draw,))
    return set(splits(_learned(learner, data, seed, clock), bits).values())


def _learned(
    learner: LatentTreeLearner, data: CategoricalData, seed: np.random.SeedSequence, clock: Clock
) -> LatentTree:
    """Return what a clone of the learner finds in a table drawn from the rows of another, unless it is cancelled."""
    drawn = drawn_from_rows(data, np.random.default_rng(seed))
    again = clone(learner)
    again._outer_clock = clock
    settings = {**FOR_DRAWS, "random_state": int(seed.generate_state(1)[0])}
    again.set_params(**{name: value for name, value in settings.items() if name in again.get_params(deep=False)})
    again.fit(drawn, missing={}, allow_many_states=True)  # what there is to say was said when the learner was fitted
    if again.stopped_ == "interrupted":  # learners return their best so far, which is no draw like the others
        raise KeyboardInterrupt
    return again.tree_


def _table(tree: LatentTree, wanted: dict[int, frozenset[int]], draws: list[set[frozenset[int]]]) -> pd.DataFrame:
    rows = []
    for node in _inner_edges(tree):
        columns = tuple(name for name in tree.observed_names if name in _names_below(tree, node))
        share = sum(wanted[node] in drawn for drawn in draws) / len(draws)
        rows.append((tree.names[tree.parent[node]], tree.names[node], columns, share))
    table = pd.DataFrame(rows, columns=["parent", "child", "columns", "support"]).astype({"support": "float64"})
    table.attrs["n_bootstrap"] = len(draws)
    return table


def _inner_edges(tree: LatentTree) -> list[int]:
    """Return the hidden nodes whose parents are hidden."""
    inside = (tree.parent >= 0) & tree.latent & tree.latent[tree.parent]
    return np.flatnonzero(inside).tolist()


def _why_empty(tree: LatentTree) -> str:
    """Say why a tree has no edge to support, and what to ask instead."""
    what = "support is that of edges between two hidden variables, and this model has none"
    if not tree.latent.any():
        return f"{what}: nothing in it is hidden. Learn a latent tree, as with EAST or BinG."
    if tree.latent.sum() == 1:
        return (
            f"{what}: it has a single hidden variable. compare_classes(X, n_bootstrap=100) says how sure its number of "
            "states is, and standard_errors(learner, X) how sure its probabilities are."
        )
    return f"{what}. standard_errors(learner, X) says how sure its probabilities are."


def _names_below(tree: LatentTree, top: int) -> set[Hashable]:
    nodes = [top]
    for node in nodes:  # the list grows while it is walked
        nodes.extend(tree.child_lists[node])
    return {tree.names[node] for node in nodes if not tree.latent[node]}


def _warn_of_other_weights(learner, data: CategoricalData) -> None:
    """Warn if the learner was fitted to another table, or with other weights."""
    fitted = getattr(learner, "_data", None)
    if fitted is None or (data.weight_kind is None and fitted.weight_kind is not None):  # weights are missed elsewhere
        return
    if not np.isclose(fitted.total_weight, data.total_weight):
        warn(
            f"the learner was fitted to rows of total weight {fitted.total_weight:g}, and these have "
            f"{data.total_weight:g}; give the same table and sample_weight to learn how sure that tree is",
            UserWarning,
        )
