"""Where EM begins for hidden Chow-Liu trees: random tables, or states that stand for categories of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pgmpy_latent.em.judged import fit_judged
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.em.starts import LEAST, random_tables
from pgmpy_latent.em.stepwise import first_passes
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.density.shape import inner_columns
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.presets import HiddenChowLiuTuning
from pgmpy_latent.tables.encode import CategoricalData

#: Distinct rows beyond which EM begins with passes over batches.
ALL_AT_ONCE = 50_000
#: In a start, how much less likely than its own category others of its column are in a state.
OTHERS = 0.02
#: Parameter of the Dirichlet distribution of tables that are then multiplied by the shares of categories.
CONCENTRATION = 0.3


def starts_of(
    tree: LatentTree,
    data: CategoricalData,
    parent: np.ndarray,
    rngs: Sequence[np.random.Generator],
    concentrations: Sequence[float],
) -> list[LatentTree]:
    """Return a tree for every generator: the first have random tables of these concentrations, others category tables.

    See :func:`category_tables` for the other arguments.
    """
    layout = Layout([table.shape for table in tree.tables])
    n_random = len(concentrations)
    tables = [
        layout.unpack(random_tables(layout, rng, concentration))
        for rng, concentration in zip(rngs[:n_random], concentrations, strict=True)
    ]
    tables += [category_tables(tree, data, parent, rng) for rng in rngs[n_random:]]
    return [tree.with_tables(own) for own in tables]


def approached(
    trees: Sequence[LatentTree],
    data: CategoricalData,
    prior: np.ndarray,
    seed: np.random.SeedSequence,
    tuning: HiddenChowLiuTuning,
    search: Search,
) -> np.ndarray:
    """Return the flat tables of trees of one shape; if the table is large, after passes over its batches."""
    tables = np.stack([Layout([table.shape for table in tree.tables]).pack(tree.tables) for tree in trees])
    if data.n_distinct <= ALL_AT_ONCE or tuning.n_epochs == 0:
        return tables
    return first_passes(
        trees[0],
        data,
        tables,
        prior=prior,
        size=tuning.batch_size,
        n_passes=tuning.n_epochs,
        seed=seed,
        n_jobs=search.n_jobs,
        clock=search.clock,
    )


def begun(
    tree: LatentTree,
    data: CategoricalData,
    parent: np.ndarray,
    seed: np.random.SeedSequence,
    by_category: bool,
    smoothing: float,
    tuning: HiddenChowLiuTuning,
    search: Search,
) -> LatentTree:
    """Return a part of a mixture after a few iterations of EM on its rows.

    It begins with random tables, or by category: see :func:`category_tables`.
    """
    rng = np.random.default_rng(seed)
    (start,) = starts_of(tree, data, parent, [rng], () if by_category else tuning.concentrations[:1])
    engine = engine_for(tree, data)
    prior = pseudo_counts_of_rows(engine.layout, smoothing)
    fit = fit_judged(
        engine,
        approached([start], data, prior, seed, tuning, search),
        engine.log_likelihood,
        prior=prior,
        max_iter=tuning.race_iter if search.stopped is None else 1,
        n_jobs=search.n_jobs,
        clock=search.clock,
    )
    if fit.interrupted:  # other parts begin with the tables that were drawn
        search.note_interrupt()
    return tree.with_tables(engine.layout.unpack(fit.tables))


def category_tables(
    tree: LatentTree, data: CategoricalData, parent: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Draw tables in which each state of a hidden variable stands for a category of the column whose place it takes.

    Tables are drawn as random ones are, and multiplied by the shares that categories have in rows with another
    category; so what columns say about each other is there from the start. Where columns nearly
    determine each other, EM ends higher than from random tables.

    Parameters
    ----------
    tree : LatentTree
        A hidden Chow-Liu tree; see :func:`~pgmpy_latent.learners.density.shape.hidden_tree`.
    data : CategoricalData
        The rows that shares are taken from, with the columns that the tree was made from.
    parent : int array, shape (n_columns,)
        The tree over the columns.
    rng : Generator
        Source of the draws.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> from pgmpy_latent.learners.density.shape import hidden_tree
    >>> data, parent = encode(np.array([[0, 0, 0], [1, 1, 1]])), np.array([-1, 0, 1])
    >>> tree = hidden_tree(data, parent, 2)
    >>> [table.shape for table in category_tables(tree, data, parent, np.random.default_rng(0))]
    [(1, 2), (2, 2), (2, 2), (2, 2)]
    """
    columns, standing = _stands_for(tree, data, parent)
    tables = []
    for node, above in enumerate(tree.parent.tolist()):
        table = rng.standard_gamma(CONCENTRATION, tree.tables[node].shape) + LEAST
        if above >= 0 and tree.latent[above]:
            shares = _shares(data, columns[above], columns[node])
            table *= shares[np.ix_(standing[above], standing[node])]
        tables.append(table / table.sum(axis=1, keepdims=True))
    return tables


def _stands_for(tree: LatentTree, data: CategoricalData, parent: np.ndarray) -> tuple[list[int], list[np.ndarray]]:
    """Return for every node the column that it stands for, and for each of its states the category."""
    inner = iter(inner_columns(parent).tolist())
    columns = [
        next(inner) if hidden else data.columns.index(name)
        for name, hidden in zip(tree.names, tree.latent, strict=True)
    ]
    categories = [
        _states_of_categories(_counts(data, column), int(card)) if hidden else np.arange(card)
        for column, card, hidden in zip(columns, tree.cards, tree.latent, strict=True)
    ]
    return columns, categories


def _counts(data: CategoricalData, column: int) -> np.ndarray:
    codes = data.codes[:, column]
    return np.bincount(codes[codes >= 0], data.weights[codes >= 0], minlength=data.cards[column])


def _states_of_categories(counts: np.ndarray, n_states: int) -> np.ndarray:
    """Share states among categories, by the square roots of their counts; every category has one if there are enough.

    Examples
    --------
    >>> _states_of_categories(np.array([90, 10]), 4).tolist(), _states_of_categories(np.array([5, 90, 5]), 1).tolist()
    ([0, 0, 0, 1], [1])
    """
    sizes, given = np.sqrt(counts + 1.0), np.zeros(len(counts), dtype=np.int64)
    for _ in range(n_states):
        urgency = np.where(given > 0, sizes / np.maximum(given, 1), sizes * n_states * sizes.sum())
        given[np.argmax(urgency)] += 1
    return np.repeat(np.arange(len(counts)), given)


def _shares(data: CategoricalData, given: int, column: int) -> np.ndarray:
    """Return the shares of a column's categories in the rows with each category of another column, or of itself."""
    n_given, n_categories = int(data.cards[given]), int(data.cards[column])
    if given == column:
        return np.where(np.eye(n_given) > 0, 1.0, OTHERS)
    first, second = data.codes[:, given], data.codes[:, column]
    known = (first >= 0) & (second >= 0)
    cells = first[known].astype(np.int64) * n_categories + second[known]
    counts = np.bincount(cells, data.weights[known], minlength=n_given * n_categories) + 0.5
    counts = counts.reshape(n_given, n_categories)
    return counts / counts.sum(axis=1, keepdims=True)
