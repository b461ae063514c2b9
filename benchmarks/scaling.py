"""How the seconds of every learner grow with rows, columns, states and hidden variables; a page with a plot for each.

Tables are drawn from latent trees that are known. Every point is one fit in one thread, in processor seconds; all of
them take about twelve minutes if the machine does nothing else. ``--only`` takes any part of "case | learner" as it is
printed: ``EAST``, ``"30,000 rows"``.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from pgmpy.base import DAG

from benchmarks.classification import drawn
from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    LatentClassificationModel,
    LatentTree,
    NetworkEM,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
    sample,
    to_pgmpy,
)

Sizes = dict[str, int]
ROWS, COLUMNS, STATES = "rows", "columns", "states of columns"
HIDDEN, HIDDEN_STATES = "hidden variables", "states of hidden variables"
AXES = (ROWS, COLUMNS, STATES, HIDDEN, HIDDEN_STATES)
#: What a classifier of numbers calls its sizes.
ATTRIBUTES, LATENTS, COMPONENTS = "attributes", "latents", "components"

BASE: Sizes = {ROWS: 1_000, COLUMNS: 12, STATES: 3, HIDDEN: 2, HIDDEN_STATES: 3}
ONE: Sizes = {**BASE, HIDDEN: 1}
SMALL: Sizes = {**ONE, COLUMNS: 8}
WIDE: Sizes = {ROWS: 1_000, COLUMNS: 50, STATES: 2, HIDDEN: 8, HIDDEN_STATES: 2}
NUMBERS: Sizes = {ROWS: 1_000, ATTRIBUTES: 20, LATENTS: 5, COMPONENTS: 3}
N_CLASSES = 3  # of the rows of numbers

GROWTH = {
    ROWS: (1_000, 3_000, 10_000, 30_000),
    COLUMNS: (6, 12, 24, 48),
    STATES: (2, 3, 4, 6, 8),
    HIDDEN: (1, 2, 4, 8),
}
STATES_GIVEN = {HIDDEN_STATES: (2, 3, 4, 6, 8)}
MANY_ROWS = (*GROWTH[ROWS], 100_000)
EM_GROWTH = {**GROWTH, ROWS: MANY_ROWS, COLUMNS: (*GROWTH[COLUMNS], 96)} | STATES_GIVEN
WIDE_GROWTH = {**GROWTH, ROWS: GROWTH[ROWS][:-1], COLUMNS: (50, 100, 200, 400, 800)}
#: What else changes. Three columns for each of up to eight hidden variables; six for each, however many columns.
ENOUGH_COLUMNS = {HIDDEN: lambda n_hidden: {COLUMNS: 24}}
GROUPS_OF_SIX = {COLUMNS: lambda n_columns: {HIDDEN: n_columns // 6}}

#: Share of each row of a table that goes to one state; the rest is random.
STRENGTH = 0.6
#: Seconds of a fit. Learners look at the clock, which goes on while others have the processor; a limit that stopped
#: them after less than a share of it was too early, and is doubled, but not for ever.
LIMIT, LEAST_SHARE, LONGEST_LIMIT = 60.0, 0.8, 960.0
#: A fit of fewer seconds is repeated so many times, and the fastest counts: what disturbs it can only add.
SHORT, SHORT_REPEATS = 0.5, 4
WARM_UP_ROWS = 200

FOUND = "it finds the number itself"
ONE_HIDDEN = "there is one by definition"
NONE_HIDDEN = "nothing is hidden"

# -- tables ------------------------------------------------------------------------------------------------------------


def planted_tree(sizes: Sizes) -> LatentTree:
    """Return a binary tree of hidden variables, each above as many columns as the others.

    >>> planted_tree({**BASE, COLUMNS: 4}).children("H2")
    ('x3', 'x4')
    """
    rng = np.random.default_rng(0)
    n_hidden, n_columns = sizes[HIDDEN], sizes[COLUMNS]
    parent = [(node - 1) // 2 if node else -1 for node in range(n_hidden)]
    parent += [column * n_hidden // n_columns for column in range(n_columns)]
    cards = [sizes[HIDDEN_STATES]] * n_hidden + [sizes[STATES]] * n_columns
    names = [f"H{node + 1}" for node in range(n_hidden)] + [f"x{column + 1}" for column in range(n_columns)]
    tables = [
        np.full((1, card), 1 / card) if above < 0 else planted_table(rng, cards[above], card)
        for above, card in zip(parent, cards, strict=True)
    ]
    return LatentTree(names, [range(card) for card in cards], parent, [name[0] == "H" for name in names], tables)


def planted_table(rng: np.random.Generator, n_above: int, card: int) -> np.ndarray:
    """Draw a table in which states of the parent prefer different states of the child, as far as there are enough."""
    preferred = rng.permutation(max(n_above, card))[:n_above] % card
    return STRENGTH * np.eye(card)[preferred] + (1 - STRENGTH) * rng.dirichlet(np.ones(card), size=n_above)


def planted(sizes: Sizes) -> tuple[LatentTree, pd.DataFrame]:
    """Return a tree, and rows drawn from it."""
    truth = planted_tree(sizes)
    return truth, sample(truth, sizes[ROWS], random_state=0)


def columns_below(truth: LatentTree, hidden: str) -> list[str]:
    return [name for name in truth.children(hidden) if name in truth.observed_names]


def dag(truth: LatentTree, edges: list[tuple[str, str]]) -> DAG:
    network = DAG(edges, latents=set(truth.latent_names))
    network.add_nodes_from(truth.names)
    return network


def linked_network(truth: LatentTree) -> DAG:
    """Return the tree's graph with links between pairs of columns besides, so that it is no tree."""
    edges = [(above, name) for above in truth.latent_names for name in truth.children(above)]
    groups = [columns_below(truth, above) for above in truth.latent_names]
    return dag(truth, edges + [pair for group in groups for pair in zip(group[::2], group[1::2], strict=False)])


def half_network(truth: LatentTree) -> DAG:
    """Return the tree's graph without the edges to every other column, for a learner to find."""
    edges = []
    for above in truth.latent_names:
        unlinked = columns_below(truth, above)[1::2]
        edges += [(above, name) for name in truth.children(above) if name not in unlinked]
    return dag(truth, edges)


# -- learners ----------------------------------------------------------------------------------------------------------

#: Takes a time limit, and returns what was fitted.
Fit = Callable[[float], Any]


def searching(make: Callable[[LatentTree, Sizes], Any]) -> Callable[[Sizes], Fit]:
    """Return what prepares fits of a learner; it may be given the tree that the rows were drawn from."""

    def prepare(sizes: Sizes) -> Fit:
        truth, table = planted(sizes)
        settings = {"random_state": 0, "show_progress": False}
        return lambda limit: make(truth, sizes).set_params(**settings, time_limit=limit).fit(table)

    return prepare


def estimating(estimator: type, network_of: Callable[[LatentTree], Any]) -> Callable[[Sizes], Fit]:
    """Return what prepares fits of a parameter estimator, which has no time limit."""

    def prepare(sizes: Sizes) -> Fit:
        truth, table = planted(sizes)
        network, settings = network_of(truth), {"latent_card": sizes[HIDDEN_STATES], "seed": 0, "show_progress": False}
        return lambda limit: estimator(**settings).fit(network, table)

    return prepare


def classifying(sizes: Sizes) -> Fit:
    """Prepare a fit of a classifier."""
    attributes, labels = drawn(sizes[ROWS], sizes[ATTRIBUTES], N_CLASSES, 0)
    settings = {"n_latents": sizes[LATENTS], "n_components": sizes[COMPONENTS], "random_state": 0}
    return lambda limit: LatentClassificationModel(**settings, time_limit=limit, show_progress=False).fit(
        attributes, labels
    )


@dataclass(frozen=True)
class Learner:
    """What is measured of a learner: which sizes grow, what changes with them, and which make no sense and why."""

    about: str
    prepare: Callable[[Sizes], Fit]
    growth: dict[str, tuple[int, ...]]
    base: Sizes = field(default_factory=lambda: BASE)
    beside: dict[str, Callable[[int], Sizes]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def at(self, what: str, size: int) -> Sizes:
        """Return all sizes of a point."""
        others = self.beside[what](size) if what in self.beside else {}
        return {**self.base, **others, what: size}


LEARNERS = {
    "TreeEM, latent class": Learner(
        "One hidden variable above all columns, with as many states as the rows were drawn with; 16 starts.",
        estimating(TreeEM, to_pgmpy),
        {what: sizes for what, sizes in EM_GROWTH.items() if what != HIDDEN},
        ONE,
        left_out={HIDDEN: ONE_HIDDEN},
    ),
    "TreeEM, tree": Learner(
        "The tree that the rows were drawn from, with its numbers of states; 16 starts.",
        estimating(TreeEM, to_pgmpy),
        EM_GROWTH,
        beside=ENOUGH_COLUMNS,
    ),
    "SplitMerge": Learner(
        "The tree that the rows were drawn from is the skeleton; the numbers of states are found.",
        searching(lambda truth, sizes: SplitMerge(truth)),
        GROWTH,
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "RandomStarts": Learner(
        "The tree that the rows were drawn from is the skeleton; the numbers of states are found.",
        searching(lambda truth, sizes: RandomStarts(truth)),
        {**GROWTH, HIDDEN: (1, 2, 3, 4)},
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: f"{FOUND}; given the number it is a single fit, as `TreeEM`"},
    ),
    "EAST": Learner(
        "Everything about the tree is found.",
        searching(lambda truth, sizes: EAST()),
        {**GROWTH, COLUMNS: (6, 12, 24, 36, 48)},
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "BinG": Learner(
        "A binary forest is found.",
        searching(lambda truth, sizes: BinG()),
        WIDE_GROWTH,
        WIDE,
        beside=GROUPS_OF_SIX,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "BinA": Learner(
        "A binary forest is found.",
        searching(lambda truth, sizes: BinA()),
        WIDE_GROWTH,
        WIDE,
        beside=GROUPS_OF_SIX,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "HLTA": Learner(
        "A tree in levels is found.",
        searching(lambda truth, sizes: HLTA()),
        {**WIDE_GROWTH, ROWS: MANY_ROWS},
        WIDE,
        beside=GROUPS_OF_SIX,
        left_out={HIDDEN_STATES: "its hidden variables are binary"},
    ),
    "Baseline, Chow-Liu": Learner(
        "A tree over the columns themselves is found.",
        searching(lambda truth, sizes: Baseline("chow_liu")),
        {ROWS: MANY_ROWS, COLUMNS: (6, 12, 48, 192, 768), STATES: GROWTH[STATES]},
        left_out={HIDDEN: NONE_HIDDEN, HIDDEN_STATES: NONE_HIDDEN},
    ),
    "Baseline, BIC forest": Learner(
        "The forest over the columns with the highest BIC is found.",
        searching(lambda truth, sizes: Baseline("forest")),
        {ROWS: MANY_ROWS, COLUMNS: (6, 12, 48, 192, 768), STATES: GROWTH[STATES]},
        left_out={HIDDEN: NONE_HIDDEN, HIDDEN_STATES: NONE_HIDDEN},
    ),
    "Baseline, latent class": Learner(
        "One hidden variable above all columns; its number of states is found. This is `SplitMerge` without a "
        "skeleton. What is drawn from several hidden variables needs many states.",
        searching(lambda truth, sizes: Baseline("latent_class")),
        GROWTH,
        ONE,
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "NetworkEM": Learner(
        "The tree that the rows were drawn from, with links between pairs of columns so that it is none; 16 starts.",
        estimating(NetworkEM, linked_network),
        GROWTH | STATES_GIVEN,
        beside=ENOUGH_COLUMNS,
    ),
    "AgglomerativeCardinality": Learner(
        "The same networks; the numbers of states are found. Rows end where hidden variables have more than 2,000 "
        "different surroundings, which it refuses.",
        searching(lambda truth, sizes: AgglomerativeCardinality(linked_network(truth))),
        {**GROWTH, ROWS: (1_000, 2_000, 4_000, 8_000)},
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "StructuralEM": Learner(
        "The tree that the rows were drawn from, without the edges to every other column, which are to be found.",
        searching(lambda truth, sizes: StructuralEM(half_network(truth), n_states=sizes[HIDDEN_STATES])),
        GROWTH | STATES_GIVEN,
        beside=ENOUGH_COLUMNS,
    ),
    "FindHidden": Learner(
        "Everything about the network is found. What it takes depends on how many hidden variables the network over "
        "the columns makes it propose, and on how many numbers of states each is tried with, more than on any size: "
        "from one size to the next seconds may rise or fall many times over, and slopes say little.",
        searching(lambda truth, sizes: FindHidden()),
        {**GROWTH, COLUMNS: (6, 8, 10, 12, 14), HIDDEN: (1, 2, 3)},
        SMALL,
        beside={HIDDEN: lambda n_hidden: {COLUMNS: 12}},
        left_out={HIDDEN_STATES: FOUND},
    ),
    "LatentClassificationModel": Learner(
        f"Rows of numbers in {N_CLASSES} classes; the numbers of latents and components are given. 20 starts.",
        classifying,
        {ROWS: GROWTH[ROWS], ATTRIBUTES: (10, 20, 40, 80), LATENTS: (2, 5, 10, 20), COMPONENTS: (1, 3, 6, 12)},
        NUMBERS,
        left_out={STATES: "numbers have no states"},
    ),
}

# -- measuring ---------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """A fit: how large something was, what it took, and whether the limit stopped it."""

    size: int
    seconds: float
    stopped: bool


def case_of(sizes: Sizes) -> str:
    """Return sizes in words.

    >>> case_of({ROWS: 1_000, HIDDEN: 1})
    '1,000 rows, 1 hidden variable'
    """
    return ", ".join(f"{size:,} {what if size > 1 else what.removesuffix('s')}" for what, size in sizes.items())


def kept_of(found: Any) -> dict:
    """Return what explains the seconds of a search: its steps, and how many hidden variables it found."""
    names = {"steps": "history_", "hidden": "latents_"}
    return {name: len(getattr(found, attribute)) for name, attribute in names.items() if hasattr(found, attribute)}


def timed(fit: Fit, limit: float) -> tuple[Any, float]:
    """Fit, and return what was fitted and processor seconds."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of limits, and of states that are empty
        found = fit(limit)
    return found, time.process_time() - began


def measured(learner: Learner, sizes: Sizes) -> dict:
    """Fit once; again if the processor was too busy for the limit to mean anything, or the fit is short."""
    fit, limit = learner.prepare(sizes), LIMIT
    found, seconds = timed(fit, limit)
    while (stopped := was_stopped(found)) and seconds < LEAST_SHARE * LIMIT and limit < LONGEST_LIMIT:
        limit *= 2
        found, seconds = timed(fit, limit)
    for _ in range(SHORT_REPEATS if seconds < SHORT and not stopped else 0):
        seconds = min(seconds, timed(fit, limit)[1])
    return {"seconds": seconds, "stopped": stopped} | kept_of(found)


def was_stopped(found: Any) -> bool:
    return getattr(found, "stopped_", None) is not None


@cache
def warm_up(name: str) -> None:
    """Fit once without counting, so that what is loaded and compiled once is not counted later."""
    measured(LEARNERS[name], {**LEARNERS[name].base, ROWS: WARM_UP_ROWS})


def cases(name: str) -> Iterator[tuple[str, Sizes]]:
    """Return what is measured of a learner, each once: the base is a point of several axes."""
    learner = LEARNERS[name]
    points = [learner.at(what, size) for what, sizes in learner.growth.items() for size in sizes]
    yield from {case_of(sizes): sizes for sizes in points}.items()


def measure(run: runner.Runner, only: str) -> None:
    """Run everything that is not there yet."""
    for name, learner in LEARNERS.items():
        for case, sizes in cases(name):
            if only in f"{case} | {name}" and not run.find(case, name):
                warm_up(name)
                run.compare(case, {name: partial(measured, learner, sizes)}, repeats=1)


def points_of(run: runner.Runner, name: str, what: str) -> list[Point]:
    """Return what is there of a learner's growth with something."""
    points = []
    for size in LEARNERS[name].growth.get(what, ()):
        if row := run.find(case_of(LEARNERS[name].at(what, size)), name):
            points.append(Point(size, float(row["seconds"]), json.loads(row["figures"])["stopped"]))
    return points


def main() -> None:
    from benchmarks.scaling_page import write  # it takes the learners above for its sections

    options = runner.arguments(__doc__)
    run = runner.Runner("scaling", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    write(run, runner.PAGE.parent)


if __name__ == "__main__":
    main()
