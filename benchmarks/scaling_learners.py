"""The learners whose growth is measured: what they are given, which of their sizes grow, and which make no sense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks import runner  # noqa: F401 - first: it sets the number of threads

# isort: split
from benchmarks.classification import drawn
from benchmarks.scaling_tables import (
    ATTRIBUTES,
    COLUMNS,
    COMPONENTS,
    HIDDEN,
    HIDDEN_STATES,
    ITEMS,
    LATENTS,
    ROWS,
    STATES,
    WAVES,
    Sizes,
    half_network,
    half_numbers,
    linked_network,
    panel,
    planted,
    planted_numbers,
    with_gaps,
)
from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    GaussianBaseline,
    GaussianBinA,
    GaussianBinG,
    GaussianEAST,
    GaussianTreeEM,
    HiddenChowLiu,
    HiddenChowLiuMixture,
    LatentClassificationModel,
    LatentTree,
    NetworkEM,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
    latent_transition,
    to_pgmpy,
)
from pgmpy_latent.model.gaussian_convert import to_linear_gaussian

BASE: Sizes = {ROWS: 1_000, COLUMNS: 12, STATES: 3, HIDDEN: 2, HIDDEN_STATES: 3}
ONE: Sizes = {**BASE, HIDDEN: 1}
SMALL: Sizes = {**ONE, COLUMNS: 8}
WIDE: Sizes = {ROWS: 1_000, COLUMNS: 50, STATES: 2, HIDDEN: 8, HIDDEN_STATES: 2}
NUMBERS: Sizes = {ROWS: 1_000, ATTRIBUTES: 20, LATENTS: 5, COMPONENTS: 3}
TREE_OF_NUMBERS: Sizes = {ROWS: 1_000, ATTRIBUTES: 20}
PANEL: Sizes = {ROWS: 1_000, ITEMS: 4, STATES: 3, WAVES: 6, HIDDEN_STATES: 2}
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
NUMBERS_GROWTH = {ROWS: MANY_ROWS, ATTRIBUTES: (10, 20, 40, 80)}
#: What else changes. Three columns for each of up to eight hidden variables; six for each, however many columns.
ENOUGH_COLUMNS = {HIDDEN: lambda n_hidden: {COLUMNS: 24}}
GROUPS_OF_SIX = {COLUMNS: lambda n_columns: {HIDDEN: n_columns // 6}}

FOUND = "it finds the number itself"
ONE_HIDDEN = "there is one by definition"
NONE_HIDDEN = "nothing is hidden"
#: Of trees of numbers.
NO_STATES = {
    STATES: "numbers have no states",
    HIDDEN: "the drawn trees have about one for every three columns",
    HIDDEN_STATES: "hidden variables are numbers, too",
}


#: Takes a time limit and a number of workers, and returns what was fitted.
Fit = Callable[[float, int], Any]
QUIET = {"random_state": 0, "show_progress": False}


def fitting(learner: Any, table: Any, **options: Any) -> Fit:
    """Return fits of a learner; options go to its ``fit``."""

    def fit(limit: float, n_jobs: int) -> Any:
        settings = {**QUIET, "time_limit": limit, "n_jobs": n_jobs}
        known = {name: value for name, value in settings.items() if name in learner.get_params()}
        return learner.set_params(**known).fit(table, **options)

    return fit


def searching(make: Callable[[LatentTree, Sizes], Any], gaps: bool = False) -> Callable[[Sizes], Fit]:
    """Return what prepares fits of a learner; it may be given the tree that the rows were drawn from."""

    def prepare(sizes: Sizes) -> Fit:
        truth, table = planted(sizes)
        return fitting(make(truth, sizes), with_gaps(table) if gaps else table)

    return prepare


def searching_mixed(make: Callable[[], Any]) -> Callable[[Sizes], Fit]:
    """Return what prepares fits of a learner to a table of which every other column has numbers."""

    def prepare(sizes: Sizes) -> Fit:
        table, kinds = half_numbers(planted(sizes)[1])
        return fitting(make(), table, kinds=kinds)

    return prepare


def searching_numbers(make: Callable[[], Any]) -> Callable[[Sizes], Fit]:
    """Return what prepares fits of a learner of Gaussian trees."""
    return lambda sizes: fitting(make(), planted_numbers(sizes)[1])


def estimating(estimator: type, network_of: Callable[[LatentTree], Any], gaps: bool = False) -> Callable[[Sizes], Fit]:
    """Return what prepares fits of a parameter estimator, which has no time limit."""

    def prepare(sizes: Sizes) -> Fit:
        truth, table = planted(sizes)
        table = with_gaps(table) if gaps else table
        network, settings = network_of(truth), {"latent_card": sizes[HIDDEN_STATES], "seed": 0, "show_progress": False}
        return lambda limit, n_jobs: estimator(**settings, n_jobs=n_jobs).fit(network, table)

    return prepare


def estimating_numbers(sizes: Sizes) -> Fit:
    """Prepare fits of the tree that the rows of numbers were drawn from."""
    truth, table = planted_numbers(sizes)
    network = to_linear_gaussian(truth)
    return lambda limit, n_jobs: GaussianTreeEM(seed=0, time_limit=limit, show_progress=False).fit(network, table)


def moving(sizes: Sizes) -> Fit:
    """Prepare fits of latent transitions."""
    table, items = panel(sizes)
    return lambda limit, n_jobs: latent_transition(
        table, "person", "wave", items, sizes[HIDDEN_STATES], **QUIET, time_limit=limit, n_jobs=n_jobs
    )


def classifying(sizes: Sizes) -> Fit:
    """Prepare fits of a classifier."""
    attributes, labels = drawn(sizes[ROWS], sizes[ATTRIBUTES], N_CLASSES, 0)
    return fitting(
        LatentClassificationModel(n_latents=sizes[LATENTS], n_components=sizes[COMPONENTS]), attributes, y=labels
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
        {**WIDE_GROWTH, COLUMNS: (50, 100, 200, 400)},
        WIDE,
        beside=GROUPS_OF_SIX,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "BinA": Learner(
        "A binary forest is found.",
        searching(lambda truth, sizes: BinA()),
        {**WIDE_GROWTH, COLUMNS: (50, 100, 200, 400)},
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
    "TreeEM, tree, rows with gaps": Learner(
        "As `TreeEM` of a tree, but a tenth of the cells is missing, at random, so that nearly every row has gaps of "
        "its own.",
        estimating(TreeEM, to_pgmpy, gaps=True),
        EM_GROWTH,
        beside=ENOUGH_COLUMNS,
    ),
    "EAST, rows with gaps": Learner(
        "As `EAST`, but a tenth of the cells is missing, at random.",
        searching(lambda truth, sizes: EAST(), gaps=True),
        {**GROWTH, COLUMNS: (6, 12, 24), HIDDEN: (1, 2, 4)},
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "EAST, mixed columns": Learner(
        "As `EAST`, but every other column has numbers that scatter around its categories.",
        searching_mixed(lambda: EAST()),
        {**GROWTH, ROWS: GROWTH[ROWS][:-1], COLUMNS: (6, 12, 24), HIDDEN: (1, 2, 4)},
        beside=ENOUGH_COLUMNS,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "HiddenChowLiu": Learner(
        "A hidden variable beside every column; their number of states and the smoothing are chosen by rows held out.",
        searching(lambda truth, sizes: HiddenChowLiu()),
        {**WIDE_GROWTH, ROWS: GROWTH[ROWS], COLUMNS: (50, 100, 200, 400)},
        WIDE,
        beside=GROUPS_OF_SIX,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "HiddenChowLiuMixture": Learner(
        "As `HiddenChowLiu`, but a mixture of several trees with edges of their own.",
        searching(lambda truth, sizes: HiddenChowLiuMixture()),
        {**WIDE_GROWTH, COLUMNS: (50, 100, 200)},
        WIDE,
        beside=GROUPS_OF_SIX,
        left_out={HIDDEN_STATES: FOUND},
    ),
    "latent_transition": Learner(
        "Rows are people, who answer some items at some waves; a hidden variable per wave. The number of states is "
        "given; 16 starts.",
        moving,
        {ROWS: MANY_ROWS, ITEMS: (2, 4, 8, 16), STATES: GROWTH[STATES], WAVES: (3, 6, 12, 24), **STATES_GIVEN},
        PANEL,
    ),
    "GaussianTreeEM": Learner(
        "The tree that rows of numbers were drawn from; four starts.",
        estimating_numbers,
        NUMBERS_GROWTH,
        TREE_OF_NUMBERS,
        left_out=NO_STATES,
    ),
    "GaussianEAST": Learner(
        "Everything about the tree is found. That of ten columns has few hidden variables, that of 80 has about 25.",
        searching_numbers(lambda: GaussianEAST()),
        NUMBERS_GROWTH,
        TREE_OF_NUMBERS,
        left_out=NO_STATES,
    ),
    "GaussianBinG": Learner(
        "A binary forest over columns of numbers is found.",
        searching_numbers(lambda: GaussianBinG()),
        NUMBERS_GROWTH,
        TREE_OF_NUMBERS,
        left_out=NO_STATES,
    ),
    "GaussianBinA": Learner(
        "A binary forest over columns of numbers is found.",
        searching_numbers(lambda: GaussianBinA()),
        NUMBERS_GROWTH,
        TREE_OF_NUMBERS,
        left_out=NO_STATES,
    ),
    "GaussianBaseline, Chow-Liu": Learner(
        "A tree over the columns of numbers themselves is found.",
        searching_numbers(lambda: GaussianBaseline("chow_liu")),
        NUMBERS_GROWTH,
        TREE_OF_NUMBERS,
        left_out=NO_STATES,
    ),
}
