"""The starts of EAST: which trees a search begins with, and how it goes on from each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pgmpy_latent.em.starts import StartInputs, StartRows, make_start
from pgmpy_latent.exceptions import SkeletonError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.block_states import split_and_merged
from pgmpy_latent.learners.east.race import Stage
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.learners.search import Search
from pgmpy_latent.learners.skeletons import one_state_tree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import cut_edge, make_regular
from pgmpy_latent.tables.encode import CategoricalData

#: Names of starts, and the stages of the search from each.
FOREST, BING, CLASSES = "forest of columns", "BinG", "latent class model"
TWO_CLASSES, TWO_CLASSES_BY_GAIN = "two classes", "two classes, by gain"
STAGES = {
    FOREST: (Stage("anywhere", by_ratio=True),),
    BING: (Stage("anywhere", by_ratio=True),),
    CLASSES: (Stage("anywhere", by_ratio=True),),
    TWO_CLASSES: (Stage("leaves", by_ratio=True), Stage("anywhere", by_ratio=True)),
    TWO_CLASSES_BY_GAIN: (Stage("anywhere", by_ratio=False),),
}
#: A tree with no more hidden variables than this is little more than classes.
FEW_HIDDEN = 2
#: A table with so many cells in distinct rows, or so many distinct rows, is small: the search from all starts is cheap.
FEW_CELLS, LEAST_ROWS = 20_000, 800
#: A larger table with no more cells than this in distinct rows is searched from the forest of columns and from BinG.
MORE_CELLS = 120_000
#: Random starts of the latent class model that the search begins with.
N_INIT = 16
#: From so many columns on, latent class models are too far from a good tree to begin with, and excursions help.
MANY_COLUMNS = 25


def _two_classes_are_tried(leader: str, n_hidden: int) -> bool:
    """Tell whether two classes, with columns as leaves first, may lead to another tree than the best one so far.

    Where many classes led furthest, and to few hidden variables, they do. Trees that grow among columns, from the
    forest or from BinG's tree, may be caught where a hidden variable has a state too few and a column stands between
    others in its place.
    """
    return n_hidden <= FEW_HIDDEN if leader == CLASSES else n_hidden > 0


def _two_classes_by_gain_are_tried(leader: str, n_hidden: int) -> bool:
    """Tell whether two classes, by gain, may lead further: where many classes led to more hidden variables."""
    return leader == CLASSES and n_hidden > FEW_HIDDEN


#: Starts that are tried last, and when.
SECOND = {TWO_CLASSES: _two_classes_are_tried, TWO_CLASSES_BY_GAIN: _two_classes_by_gain_are_tried}


def _few_rows(n_columns: int) -> int:
    """Return how many rows are few enough for a search from all starts."""
    return max(LEAST_ROWS, FEW_CELLS // n_columns)


def is_large(data: CategoricalData) -> bool:
    """Tell whether a table is too large for a search from all starts."""
    return len(data.codes) > _few_rows(len(data.columns))


def most_starts(data: CategoricalData) -> int | None:
    """Return how many starts a search is carried on from; None is all."""
    if not is_large(data):
        return None
    return 2 if data.codes.size <= MORE_CELLS else 1


def has_many_columns(data: CategoricalData) -> bool:
    """Tell whether there are so many columns that a latent class model is far from a good tree."""
    return len(data.columns) >= MANY_COLUMNS


def class_starts(
    data: CategoricalData, search: Search, rules: Rules, score: Callable[[LatentTree, float], float]
) -> dict[str, LatentTree]:
    """Return the starts with one hidden variable above all columns: as many classes as raise the score, and two."""
    two = two_classes(data, search, rules)
    if search.stopped is not None:
        return {CLASSES: two}
    classes = make_regular(split_and_merged(two, data, search, score, rules.max_states)[0])
    best = two if rules.broken(classes) else classes
    return {CLASSES: best, TWO_CLASSES: two, TWO_CLASSES_BY_GAIN: two}


def two_classes(data: CategoricalData, search: Search, rules: Rules) -> LatentTree:
    """Return the latent class model with two classes, after a few iterations of EM from random memberships.

    Columns with a single category carry no information and get no neighbours.
    """
    shape = one_state_tree(None, data)
    shape = LatentTree(
        shape.names,
        [(0, 1), *shape.state_names[1:]],
        shape.parent,
        shape.latent,
        [np.full((1, 2), 0.5), *(np.repeat(table, 2, axis=0) for table in shape.tables[1:])],
    )
    for name, card in zip(data.columns, data.cards, strict=True):
        if card == 1 and not rules.binds(name):
            shape = cut_edge(shape, shape.names[0], name)
    broken = rules.broken(make_regular(shape))
    if broken is not None:
        raise SkeletonError(
            f"a regular tree with one hidden variable {broken}; the table has too few columns or categories for it"
        )
    engine = engine_for(shape, data)
    inputs = StartInputs(engine.layout, shape.parents, shape.cards, StartRows.of(data, shape.names))
    starts = [make_start("memberships", inputs, search.seed(0, number)) for number in range(N_INIT)]
    fit = search.fit(engine, np.stack(starts), narrowing=2.0, first=True)
    return make_regular(shape.with_tables(engine.layout.unpack(fit.tables)))
