"""Settings that tune searches, and presets that reproduce papers.

Every learner takes ``tuning``, an immutable object of a class of its own. None stands for the learner's defaults, which
are here under the name of the learner (``SPLIT_MERGE``, ``EAST``, ...). ``replace`` returns a copy with some settings
changed. Keywords of a learner that are settings here as well, such as ``tol``, override these where they are given.

Examples
--------
>>> from pgmpy_latent import EAST as Learner
>>> from pgmpy_latent import presets
>>> Learner(tuning=presets.CHEN_2008.replace(n_starts=8))
EAST(tuning=EASTTuning(accelerate=False, evaluation='rl', columns='leaves', n_steps=40))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypedDict, TypeVar

from pgmpy_latent.em.starts import STRATEGIES, random_strategies
from pgmpy_latent.runtime.configured import Tuning, choices, fill_docstring, setting
from pgmpy_latent.runtime.settings import flag, number, one_of, sequence_of
from pgmpy_latent.scores import HELD_OUT_NAME, SCORERS, HeldOut, check_scoring_method, check_validated_method

__all__ = [
    "AGGLOMERATIVE_CARDINALITY",
    "BIN_A",
    "BIN_G",
    "CHEN_2008",
    "CHEN_2008_DC",
    "EAST",
    "ELIDAN_FRIEDMAN_2001",
    "FIND_HIDDEN",
    "HARMELING_WILLIAMS_2011_BIN_A",
    "HARMELING_WILLIAMS_2011_BIN_G",
    "HIDDEN_CHOW_LIU",
    "HLTA",
    "KARCIAUSKAS_2005_CHAPTER_4",
    "KARCIAUSKAS_2005_CHAPTER_4_STANDARD",
    "KARCIAUSKAS_2005_CHAPTER_4_STANDARD_FIXED",
    "KARCIAUSKAS_2005_CHAPTER_6",
    "KARCIAUSKAS_2005_CHAPTER_7",
    "KARCIAUSKAS_2005_STANDARD3",
    "KARCIAUSKAS_2005_STANDARD_FIXED",
    "LANGSETH_NIELSEN_2005",
    "LANGSETH_NIELSEN_2005_NONLINEAR",
    "LATENT_CLASSIFICATION",
    "RANDOM_STARTS",
    "SPLIT_MERGE",
    "STRUCTURAL_EM",
    "AgglomerativeCardinalityTuning",
    "BinATuning",
    "BinGTuning",
    "EASTTuning",
    "FindHiddenTuning",
    "HLTATuning",
    "HiddenChowLiuTuning",
    "LatentClassificationTuning",
    "RandomStartsTuning",
    "SearchTuning",
    "SplitMergeTuning",
    "StructuralEMTuning",
]

Preset = TypeVar("Preset", bound=Tuning)

#: Numbers that are counts, and counts that may be left open.
_count, _count_or_none = number(1, whole=True), number(1, whole=True, optional=True)
_positive_or_none = number(0, optional=True)
_shares = sequence_of(number(above=0, below=1), "a tuple of numbers between 0 and 1, such as (0.5,)", least=1)
#: One in so many candidates survives; one in one would never end.
_narrowing, _narrowing_or_none = number(above=1, example="2"), number(above=1, optional=True)


def _start(name: str, value) -> None:
    one_of(*random_strategies())(name, value)


def _ways_to_begin() -> str:
    """Return what the starts of the random strategies are."""
    *others, last = [STRATEGIES[name].description for name in random_strategies()]
    text = ", ".join([*others, f"or {last}"])
    return text[0].upper() + text[1:]


def _documented(tuning: Preset, text: str) -> Preset:
    """Give a preset a docstring of its own; copies with other settings have that of their class."""
    object.__setattr__(tuning, "__doc__", text)
    return tuning


@dataclass(frozen=True, repr=False)
class SearchTuning(Tuning):
    """How EM runs in a search.

    Attributes
    ----------
    tol, search_tol : float
        EM ends when the log-likelihood left to gain, by extrapolation and in nats, is below this: for the final model,
        and for candidates.
    max_iter, search_iter : int
        Most iterations of EM, for the final model and for candidates.
    stop : {"remaining", "last_step"}
        What the tolerances bound: the gain left, or the gain of the last iteration.
    accelerate : bool
        Whether EM extrapolates (SQUAREM).
    """

    tol: float = setting(1e-3, number(0))
    search_tol: float = setting(0.1, number(0))
    max_iter: int = setting(10_000, _count)
    search_iter: int = setting(300, _count)
    stop: str = setting("remaining", one_of("remaining", "last_step"))
    accelerate: bool = setting(True, flag)


@fill_docstring(scorers=choices((*SCORERS, HELD_OUT_NAME)))
@dataclass(frozen=True, repr=False)
class SplitMergeTuning(SearchTuning):
    """How :class:`~pgmpy_latent.SplitMerge` searches.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`.
    scoring_method : {scorers}, HeldOut or callable
        What the search maximises.
    prior : float or None
        Dirichlet pseudo-count of every table entry (MAP); None is maximum likelihood.
    merge, adjust : bool
        Whether to shrink, and whether to adjust, which needs merges too. With ``merge=False`` this is *Splitting*; with
        ``patience=None`` and a time limit as well, its anytime form.
    partial : bool
        Whether splits of a state are tried by EM with the two new states only, on the data that belong to it: a few
        iterations, or, with ``directions="thesis"`` or ``stop="last_step"``, to its end.
    local : bool
        Whether candidates around a node are compared by EM on its neighbourhood alone. Matters for skeletons only.
    introduce : bool
        Whether new states for badly described rows, and removals of states, are candidates too.
    adjustments : {"all", "thesis"}
        Which adjustments are tried: all of them, with a last look at more splits by EM to convergence, or those of
        Procedure 6.4: merge then split, and half of a state joined to another.
    directions : {"data", "random", "thesis", "clipped"}
        How states are split: along what varies most in their data (two thirds, and at random), at random in proportion
        to probabilities, as chapter 6 of the thesis does, which cannot split states with probabilities near 0 or 1, or
        as its chapter 4 does: at random, clipped where a probability would leave (0, 1), and normalised.
    n_splits : int
        Splits tried for every state.
    perturbation : float
        Size of random splits: the largest relative change, at most 1; with ``"thesis"`` and ``"clipped"``, the largest
        change.
    n_candidates, n_merge_candidates : int or None
        How many of the most promising splits, and merges, EM is run for; None is all.
    n_screened : int or None
        With more states than this, only that many are considered for a split: those whose data are furthest (by
        Kullback-Leibler divergence) from the state's distribution. With more pairs of states, or of a state and half of
        another, only that many are considered for a merge: those that lose least if every row stays in its state.
        None considers all.
    narrowing, merge_narrowing : float
        Of the candidates, the best ``1/narrowing`` are kept after 1, 3, 7, 15, ... iterations.
    delta : float
        What an adjustment must gain.
    patience : int or None
        How often growing may fail, with new random splits, before the search goes on. None goes on until
        ``time_limit``.
    depth : int
        How many states an adjustment may go up and down again, or down and up again.
    n_restarts : int
        How often an adjustment tries random starts with as many states, improved by splitting and merging, where
        nothing else helps; and then once with a state more and once with a state less. 0 does without.
    regular : bool
        Whether hidden variables get only as many states as their neighbours can tell apart, and are left out in the
        end where they carry nothing.
    """

    preset: ClassVar[str] = "SPLIT_MERGE"

    scoring_method: str | Callable | HeldOut = setting("bic", check_validated_method)  # noqa: RUF009
    prior: float | None = setting(None, _positive_or_none)
    merge: bool = setting(True, flag)
    adjust: bool = setting(True, flag)
    partial: bool = setting(True, flag)
    local: bool = setting(True, flag)
    introduce: bool = setting(False, flag)
    adjustments: str = setting("all", one_of("all", "thesis"))
    directions: str = setting("data", one_of("data", "random", "thesis", "clipped"))
    n_splits: int = setting(4, _count)
    perturbation: float = setting(0.5, number(above=0, most=1))
    n_candidates: int | None = setting(8, _count_or_none)
    n_merge_candidates: int | None = setting(8, _count_or_none)
    n_screened: int | None = setting(64, _count_or_none)
    narrowing: float = setting(2.0, _narrowing)
    merge_narrowing: float = setting(2.0, _narrowing)
    delta: float = setting(0.1, number(0))
    patience: int | None = setting(1, _count_or_none)
    depth: int = setting(3, _count)
    n_restarts: int = setting(2, number(0, whole=True))
    regular: bool = setting(True, flag)


@fill_docstring(starts=choices(random_strategies()), ways_to_begin=_ways_to_begin())
@dataclass(frozen=True, repr=False)
class RandomStartsTuning(SearchTuning):
    """How :class:`~pgmpy_latent.RandomStarts` searches.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`.
    scoring_method, prior
        As in :class:`SplitMergeTuning`; no rows are held out.
    n_starts : int
        Number of starts for each model.
    n_rounds : int or None
        With given numbers of states: rounds, each with twice as many starts. None goes on until ``time_limit``.
    starts : {starts}
        {ways_to_begin}.
    narrowing : float or None
        Of the starts, the best ``1/narrowing`` are kept after 1, 3, 7, 15, ... iterations. None takes all to the end.
    shrink, adjust : bool
        Whether to try one state less, and new starts.
    delta : float
        What new starts must gain.
    patience : int or None
        How often one state more may fail before the search goes on. None goes on until ``time_limit``.
    regular : bool
        Whether to try only numbers of states that the neighbours can tell apart, and to leave out hidden variables
        that carry nothing.
    """

    preset: ClassVar[str] = "RANDOM_STARTS"

    scoring_method: str | Callable = setting("bic", check_scoring_method)  # noqa: RUF009
    prior: float | None = setting(None, _positive_or_none)
    n_starts: int = setting(64, _count)
    n_rounds: int | None = setting(1, _count_or_none)
    starts: str = setting("memberships", _start)
    narrowing: float | None = setting(2.0, _narrowing_or_none)
    shrink: bool = setting(True, flag)
    adjust: bool = setting(True, flag)
    delta: float = setting(0.1, number(0))
    patience: int | None = setting(1, _count_or_none)
    regular: bool = setting(True, flag)


@dataclass(frozen=True, repr=False)
class EASTTuning(SearchTuning):
    """How :class:`~pgmpy_latent.EAST` searches.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`.
    evaluation : {"auto", "rl", "dc"}
        How candidates are compared. ``"rl"``: restricted likelihood, EM on the tables that a candidate changes.
        ``"dc"``: data completion, scores of the table as the current model completes it. ``"auto"``: the second to
        choose what is worth a look, the first to put it in order, EM on all tables to decide; and ``excursions`` and
        ``look_ahead`` where nothing helps any more.
    columns : {"anywhere", "leaves"} or None
        Where columns may stand: anywhere in the tree, which needs ``"auto"``, or as leaves of hidden variables; see
        :class:`~pgmpy_latent.EAST`. None is the first with ``"auto"``, and the second otherwise.
    improvement_ratio : bool
        Whether expansion prefers what raises BIC most per parameter, and not simply what raises it most. A search from
        several starts uses both orders.
    n_starts : int
        Starts of local EM, of which the better half survives after 1, 3, 7, ... iterations.
    n_steps : int or None
        Iterations of local EM. None stands for 6 with ``"auto"``, since EM on all tables follows, and for 40 otherwise.
    look_ahead : int or None
        With ``"auto"``: how many candidates are given time to settle when none helps by itself; 0 ends the search
        there. None stands for 24, and in tables of more than 20,000 cells (in distinct rows, 800 rows at least) whose
        columns may stand anywhere for 5 per column, if that is more; of more than 120,000 cells, for 72 at most. Where
        a tree explains all pairs of columns of such a table, 24 are enough.
    excursions : sequence of float or None
        With ``"auto"``: when nothing helps any more, the search goes on as if parameters cost only this share of what
        they do, or so many times as much, and then comes back; where it ends is kept if BIC is higher there. Several
        shares are tried in turn; ``()`` does without. None stands for ``(0.25, 2.0)`` from 25 columns on, ``(2.0,)`` if
        there are more than 120,000 cells as well, and none with fewer columns, where this rarely finds anything.
    """

    preset: ClassVar[str] = "EAST"

    search_tol: float = setting(0.5, number(0))
    search_iter: int = setting(100, _count)
    evaluation: str = setting("auto", one_of("auto", "rl", "dc"))
    columns: str | None = setting(None, one_of("anywhere", "leaves", None))
    improvement_ratio: bool = setting(True, flag)
    n_starts: int = setting(8, _count)
    n_steps: int | None = setting(None, _count_or_none)
    look_ahead: int | None = setting(None, number(0, whole=True, optional=True))
    excursions: Sequence[float] | None = setting(
        None,
        sequence_of(
            number(above=0), "a tuple of positive numbers, such as (0.25, 2.0), () for none, or None", optional=True
        ),
    )


@dataclass(frozen=True, repr=False)
class BinATuning(SearchTuning):
    """How :class:`~pgmpy_latent.BinA` models pairs of roots.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`; candidates are the models of pairs.
    debias : bool
        Whether roots are compared without the mutual information that independent variables show by chance, which is
        ``(states - 1) * (states - 1) / (2 * rows)``. It favours columns with many states.
    context : tuple of int
        How many related roots help to find the model of a pair, which the pair alone leaves open: two binary columns
        can be explained by two classes in many ways. Several numbers give several models to choose from. ``()`` does
        without.
    n_starts : int
        Random starts for every number of states.
    grouped_starts : bool
        Whether groupings of the states of either root are starts as well.
    narrowing : float or None
        Of the starts, the best ``1/narrowing`` are kept after 1, 3, 7, 15, ... iterations. None takes all to the end.
    """

    preset: ClassVar[str] = "BIN_A"

    debias: bool = setting(True, flag)
    context: Sequence[int] = setting((4, 12), sequence_of(_count, "a tuple of whole numbers above 0, or () for none"))
    n_starts: int = setting(12, _count)
    grouped_starts: bool = setting(True, flag)
    narrowing: float | None = setting(2.0, _narrowing_or_none)


@dataclass(frozen=True, repr=False)
class BinGTuning(BinATuning):
    """How :class:`~pgmpy_latent.BinG` chooses and models pairs of roots.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`; candidates are the models of pairs.
    debias, context, n_starts, grouped_starts, narrowing
        As in :class:`BinATuning`.
    patience : int or None
        How many pairs may be refused a parent before this ends. None goes on with the other pairs that are informative
        about each other, so that a column with very many states does not spoil the rest.
    """

    preset: ClassVar[str] = "BIN_G"

    patience: int | None = setting(None, _count_or_none)


@dataclass(frozen=True, repr=False)
class HiddenChowLiuTuning(SearchTuning):
    """How :class:`~pgmpy_latent.HiddenChowLiu` runs EM, and what it tries.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`, for the last EM on all rows. EM of what is tried ends at ``tol`` or ``max_iter``,
        but mostly earlier, by held-out rows.
    concentrations : tuple of float
        Random starts for every number of states: for each, the parameter of the Dirichlet distribution that rows of its
        tables are drawn from. With less than 1, few entries of a row are large.
    category_starts : int
        Further starts for every number of states, in which the states of a hidden variable stand for categories of its
        column, for columns that nearly determine each other. :class:`~pgmpy_latent.HiddenChowLiuMixture`, and mixtures
        of trees with the same edges, try both ways to begin; with 0, random tables alone.
    race_iter : int
        Iterations after which held-out rows choose one of several starts.
    batch_size, n_epochs : int
        If a table has more than 50,000 distinct rows, every start first sees it in batches of so many distinct rows,
        and its tables change after each of them (stepwise EM); and how often it sees each batch. With 0 epochs, EM
        looks at all rows from the start. That is mostly as fast, as patterns that many rows share are computed once.
    interval, patience : int
        Iterations between two looks at the held-out rows, and looks in a row that may be no better before EM ends.
    rise : float
        How much better a look must be to count as better: log-likelihood per held-out row, in nats.
    smoothings : tuple of float
        Values of ``smoothing`` that are tried, in ascending order.
    first_smoothing : float
        The one with which numbers of states are compared; the nearest in ``smoothings``.
    last_iter : int
        Iterations of EM on all rows at the end.
    precision : {"double", "single"}
        Of the expected counts while ``HiddenChowLiu`` tries candidates with 16 states or more: see
        :meth:`~pgmpy_latent.inference.tree_engine.TreeEngine.in_precision`. Held-out rows are judged, and the last EM
        on all rows runs, in double.
    """

    preset: ClassVar[str] = "HIDDEN_CHOW_LIU"

    tol: float = setting(0.1, number(0))
    max_iter: int = setting(1_000, _count)
    concentrations: Sequence[float] = setting(
        (0.1, 0.1, 0.1, 1.0), sequence_of(number(above=0), "a tuple of numbers above 0, one at least", least=1)
    )
    category_starts: int = setting(2, number(0, whole=True))
    race_iter: int = setting(20, _count)
    batch_size: int = setting(10_000, _count)
    n_epochs: int = setting(0, number(0, whole=True))
    interval: int = setting(10, _count)
    patience: int = setting(5, _count)
    rise: float = setting(0.003, number(0))
    smoothings: Sequence[float] = setting(
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        sequence_of(number(above=0), "a tuple of numbers above 0, one at least", least=1),
    )
    first_smoothing: float = setting(1.0, number(above=0))
    last_iter: int = setting(10, _count)
    precision: Literal["double", "single"] = setting("single", one_of("double", "single"))


@dataclass(frozen=True, repr=False)
class HLTATuning(SearchTuning):
    """How :class:`~pgmpy_latent.HLTA` runs EM.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`; candidates are islands.
    batch_size : int or None
        Rows that a step of the last EM looks at. None: all of them if the table has up to 50 million cells, else as
        many as have 30 million.
    n_epochs : int
        How often the last EM looks at every row if a step does not look at all of them.
    """

    preset: ClassVar[str] = "HLTA"

    tol: float = setting(0.1, number(0))
    max_iter: int = setting(200, _count)
    search_iter: int = setting(60, _count)
    batch_size: int | None = setting(None, _count_or_none)
    n_epochs: int = setting(4, _count)


@dataclass(frozen=True, repr=False)
class StructuralEMTuning(SearchTuning):
    """How :class:`~pgmpy_latent.StructuralEM` searches.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`.
    n_starts : int
        Random starts of the first fit, if ``start`` has no tables.
    """

    preset: ClassVar[str] = "STRUCTURAL_EM"

    n_starts: int = setting(16, _count)


@dataclass(frozen=True, repr=False)
class AgglomerativeCardinalityTuning(SearchTuning):
    """How :class:`~pgmpy_latent.AgglomerativeCardinality` merges states and runs EM.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`; candidates are other numbers of states.
    max_initial : int
        Most distinct assignments of a Markov blanket to begin with; time and memory grow with its square.
    """

    preset: ClassVar[str] = "AGGLOMERATIVE_CARDINALITY"

    max_initial: int = setting(2_000, _count)


@dataclass(frozen=True, repr=False)
class FindHiddenTuning(SearchTuning):
    """How :class:`~pgmpy_latent.FindHidden` proposes and judges hidden variables.

    Attributes
    ----------
    tol, search_tol, max_iter, search_iter, stop, accelerate
        As in :class:`SearchTuning`.
    min_children : int
        Smallest set of columns for which a hidden variable is proposed, at least 3.
    max_candidates : int or None
        Most semi-cliques that are proposed in a round, the largest first; None is all.
    shares : tuple of float
        Share of a semi-clique to which each member must be linked; for each share, semi-cliques are proposed.
    use_tree : bool
        Whether the columns around each hidden variable of latent trees are proposed, and the network is compared with
        the trees in the end: those of :class:`~pgmpy_latent.HLTA`, and of :class:`~pgmpy_latent.EAST` for tables with
        at most 25 columns and 20,000 cells in distinct rows.
    agglomerate : bool
        Whether agglomeration finds a further number of states to begin with for every proposal.
    max_initial : int
        Most distinct assignments of a Markov blanket that agglomeration begins with.
    n_starts : int
        Random starts of EM for every number of states that a proposal begins with.
    n_resized : int
        Number of proposals, the best first, whose states are split and merged in their surroundings.
    n_placed : int
        Number of proposals, the best first, with which the whole network is fitted.
    min_gain : float
        By how much the score must rise for a hidden variable to be kept. The default, 3, asks that the network with
        it, or the held-out rows, are twenty times as likely.
    cross_validate : bool
        Whether a hidden variable that raises the score by less is kept as well, if cross-validation in five folds
        agrees. With ``criterion="held_out"`` there is none.
    """

    preset: ClassVar[str] = "FIND_HIDDEN"

    min_children: int = setting(3, number(3, whole=True))
    max_candidates: int | None = setting(30, _count_or_none)
    shares: tuple[float, ...] = setting((0.5, 0.4), _shares)
    use_tree: bool = setting(True, flag)
    agglomerate: bool = setting(False, flag)
    max_initial: int = setting(2_000, _count)
    n_starts: int = setting(4, _count)
    n_resized: int = setting(4, _count)
    n_placed: int = setting(2, _count)
    min_gain: float = setting(3.0, number(0))
    cross_validate: bool = setting(True, flag)


@dataclass(frozen=True, repr=False)
class LatentClassificationTuning(Tuning):
    """How :class:`~pgmpy_latent.LatentClassificationModel` learns.

    Attributes
    ----------
    tol : float
        EM ends when an iteration raises the log-likelihood by less than this; see ``stop``.
    max_iter : int
        Most iterations of EM.
    stop : {"per_row", "relative"}
        Whether ``tol`` is in nats per row, or a share of the log-likelihood of the scaled attributes. While sizes are
        compared it is at least 0.01, except with ``sizes="every"`` and ``"greedy"``.
    n_starts : int
        Restarts of the final model.
    thinning : bool
        Whether most restarts are given up after 10 and 20 iterations.
    sizes : {"search", "every", "greedy"}
        Which numbers of latents and components are compared: few at first, then those near the best, and the best
        again on other folds; or every number of latents up to the bound, with all numbers of components in 1, 2, 3, 4,
        5, 10, 15, ..., 40, with as many restarts as the final model and without a limit on the work; or the same as
        long as one latent more raises the best accuracy over numbers of components.
    select : {"accuracy", "likelihood"}
        What decides among restarts, measured on the rows they were learned from.
    offset : bool
        Whether the attributes have offsets. Without offsets the attributes are scaled, but not centred.
    noise_floor : float
        Smallest variance of the noise, as a share of the attribute's variance. It keeps components from shrinking to
        single rows.
    shrinkage : float or None
        How many rows a class borrows from the others for the variances of its latents: in each M-step it gets so many
        rows more, whose variance is the harmonic mean of the classes'; where rows weigh less than one on average, so do
        these. It steadies classes with few rows; 0 is maximum likelihood. None: 20 with one component, and 0 with
        several or where edges are learned.
    """

    preset: ClassVar[str] = "LATENT_CLASSIFICATION"

    tol: float = setting(3e-3, number(0))
    max_iter: int = setting(100, _count)
    stop: str = setting("per_row", one_of("per_row", "relative"))
    n_starts: int = setting(20, _count)
    thinning: bool = setting(True, flag)
    sizes: str = setting("search", one_of("search", "every", "greedy"))
    select: str = setting("accuracy", one_of("accuracy", "likelihood"))
    offset: bool = setting(True, flag)
    # below the least floor, sums of squares lose all their digits
    noise_floor: float = setting(1e-2, number(1e-9, below=1, example="0.01"))
    shrinkage: float | None = setting(None, number(0, below=float("inf"), optional=True))


SPLIT_MERGE = _documented(SplitMergeTuning(), "The defaults of :class:`~pgmpy_latent.SplitMerge`.")
RANDOM_STARTS = _documented(RandomStartsTuning(), "The defaults of :class:`~pgmpy_latent.RandomStarts`.")
EAST = _documented(EASTTuning(), "The defaults of :class:`~pgmpy_latent.EAST`.")
BIN_G = _documented(BinGTuning(), "The defaults of :class:`~pgmpy_latent.BinG`.")
BIN_A = _documented(BinATuning(), "The defaults of :class:`~pgmpy_latent.BinA`.")
HIDDEN_CHOW_LIU = _documented(HiddenChowLiuTuning(), "The defaults of :class:`~pgmpy_latent.HiddenChowLiu`.")
HLTA = _documented(HLTATuning(), "The defaults of :class:`~pgmpy_latent.HLTA`.")
STRUCTURAL_EM = _documented(StructuralEMTuning(), "The defaults of :class:`~pgmpy_latent.StructuralEM`.")
AGGLOMERATIVE_CARDINALITY = _documented(
    AgglomerativeCardinalityTuning(), "The defaults of :class:`~pgmpy_latent.AgglomerativeCardinality`."
)
FIND_HIDDEN = _documented(FindHiddenTuning(), "The defaults of :class:`~pgmpy_latent.FindHidden`.")
LATENT_CLASSIFICATION = _documented(
    LatentClassificationTuning(), "The defaults of :class:`~pgmpy_latent.LatentClassificationModel`."
)


class _EMSettings(TypedDict):
    """Fields of :class:`SplitMergeTuning` and :class:`RandomStartsTuning` that say when EM ends."""

    tol: float
    search_tol: float
    max_iter: int
    search_iter: int
    stop: str
    accelerate: bool


#: EM of the thesis (section 4.5.2): it ends when a step gains less than 0.01, or after 200 iterations.
_THESIS_EM: _EMSettings = {
    "tol": 0.01, "search_tol": 0.01, "max_iter": 200, "search_iter": 200, "stop": "last_step", "accelerate": False,
}  # fmt: skip

KARCIAUSKAS_2005_CHAPTER_6 = _documented(
    SplitMergeTuning(
        **_THESIS_EM,
        local=False,
        adjustments="thesis",
        directions="thesis",
        perturbation=0.001,
        n_splits=16,
        n_candidates=1,
        n_merge_candidates=None,
        n_screened=None,
        narrowing=2.0,
        merge_narrowing=10.0,
        delta=1.0,
        depth=1,
        n_restarts=0,
        regular=False,
    ),
    """*SplitMerge* for latent class models: Procedures 6.1 to 6.4 with the settings of section 6.3.1.

    BIC, maximum likelihood, 16 random splits of every state of size p = 0.001, partial EM, q = 2 for splits and 10 for
    merges and adjustments, delta = 1, and EM that ends when a step gains less than 0.01 or after 200 iterations. The
    thesis stops runs after five hours, and after ten on synthetic data; give ``time_limit`` for that.

    Departures: scores must rise by more than rounding errors. States whose data are all alike are not split.
    """,
)
KARCIAUSKAS_2005_CHAPTER_7 = _documented(
    KARCIAUSKAS_2005_CHAPTER_6.replace(),
    """*HLCSplitMerge* for a skeleton: Procedures 7.1 to 7.4 with the settings of section 7.3.1, those of chapter 6.

    EM runs on the whole model for every candidate, cardinalities may exceed the bound of regularity, and a hidden
    variable may end with a single state.

    Departures: those of :data:`KARCIAUSKAS_2005_CHAPTER_6`. The tree is not rooted at the variable in question, which
    changes no likelihood. Partial EM changes the tables around the two new states only; those further away wait for the
    EM on the whole model that follows.
    """,
)
KARCIAUSKAS_2005_CHAPTER_4 = _documented(
    KARCIAUSKAS_2005_CHAPTER_6.replace(
        scoring_method="cs",
        prior=1.0,
        merge=False,
        partial=False,
        directions="clipped",
        perturbation=0.1,
        n_splits=1,
        n_candidates=None,
        patience=None,
    ),
    """*Splitting*, Procedure 4.1 with the settings of section 4.5.2; give ``time_limit``, which ends it.

    One random split of every state, of size p = 0.1, is a start of the multiple restart EM with q = 2; states are never
    merged. The score is Cheeseman-Stutz, and parameters are MAP for Dirichlet priors whose parameters are 1, in the
    parameterisation of Chickering and Heckerman (1997), in which this adds 1 to every count.

    Departures: scores must rise by more than rounding errors. The first model, of one state, has MAP parameters, as all
    others do; step 1 of the procedure takes maximum likelihood. Starts are narrowed down, and EM ends, by the
    log-likelihood plus the logarithm of the prior, which is what MAP maximises; the thesis names the log-likelihood.
    """,
)
KARCIAUSKAS_2005_STANDARD3 = _documented(
    RandomStartsTuning(**_THESIS_EM, starts="random", n_starts=64, narrowing=2.0, delta=1.0, regular=False),
    """*Standard3*, or *HLCStandard3* with a skeleton: sections 6.2.2 and 7.2.2, settings of 6.3.1 and 7.3.1.

    64 starts drawn uniformly for every model, q = 2, delta = 1, BIC, maximum likelihood. Departures: scores must rise
    by more than rounding errors.
    """,
)
KARCIAUSKAS_2005_STANDARD_FIXED = _documented(
    KARCIAUSKAS_2005_STANDARD3.replace(n_starts=16, n_rounds=None),
    """*StandardFixed*, or *HLCStandardFixed* with a skeleton, in chapters 6 and 7: 16 starts, then 32, 64, ...

    Give ``n_states`` and ``time_limit``, which ends it. Departures: none that is known.
    """,
)
KARCIAUSKAS_2005_CHAPTER_4_STANDARD = _documented(
    KARCIAUSKAS_2005_STANDARD3.replace(
        scoring_method="cs", prior=1.0, n_starts=1, narrowing=None, shrink=False, adjust=False, patience=None
    ),
    """*Standard*, Procedure 4.2 with the settings of section 4.5.2: one random start for one state more, repeatedly.

    Cheeseman-Stutz and MAP as in :data:`KARCIAUSKAS_2005_CHAPTER_4`; give ``time_limit``, which ends it. Departures:
    those of :data:`KARCIAUSKAS_2005_CHAPTER_4`.
    """,
)
KARCIAUSKAS_2005_CHAPTER_4_STANDARD_FIXED = _documented(
    KARCIAUSKAS_2005_STANDARD_FIXED.replace(scoring_method="cs", prior=1.0, n_starts=1),
    """*StandardFixed*, Procedure 4.3 with the settings of section 4.5.2: one start, then twice as many each time.

    Cheeseman-Stutz and MAP as in :data:`KARCIAUSKAS_2005_CHAPTER_4`; give ``n_states`` and ``time_limit``, which ends
    it. Departures: starts are narrowed down, and EM ends, as in :data:`KARCIAUSKAS_2005_CHAPTER_4`.
    """,
)
CHEN_2008 = _documented(
    EASTTuning(evaluation="rl", columns="leaves", n_starts=16, n_steps=40, accelerate=False),
    """*EAST-RL* at its highest setting, μ = 16 starts and ν = 40 iterations of local EM, with improvement ratios.

    Local and full EM take plain steps, without acceleration. Departures: the paper does not say when full EM ends; the
    tolerances are those of :data:`EAST`. Where EM comes to rest, entries near zero that would raise the likelihood are
    lifted, and the final EM begins again with small entries lifted as long as that helps. Full EM on a candidate ends
    early if it cannot become better than the current tree. Local EM begins at random for new hidden variables only: a
    state more begins with splits of the states that are there, a state less with merges and removals, and a node that
    gets another neighbour with the probabilities that the current tables imply, since these need fewer starts. Local EM
    may end before ν iterations, if less than 0.1 of log-likelihood is left to gain. The first latent class model has
    the best of 16 random starts; the paper takes any. Trees stay regular, and may fall apart into several where parts
    of the table are independent.
    """,
)
CHEN_2008_DC = _documented(
    CHEN_2008.replace(evaluation="dc"),
    """*EAST-DC*: candidates are compared on the data as the current model completes them.

    Departures: those of :data:`CHEN_2008` that do not concern local EM.
    """,
)
HARMELING_WILLIAMS_2011_BIN_G = _documented(
    BinGTuning(
        debias=False, context=(), n_starts=10, grouped_starts=False, narrowing=None, accelerate=False, patience=1
    ),
    """*BIN-G*, Algorithm 1: 10 random restarts of EM, and the first pair that is refused a parent ends it.

    Departures: the paper does not say when EM ends; the tolerances are those of :data:`BIN_G`, and bound the gain that
    is left, by extrapolation. Where EM comes to rest, entries near zero that would raise the likelihood are lifted. The
    EM that refines the finished forest continues to a twentieth of its tolerance, and begins again with small entries
    lifted as long as that helps. Numbers of states are tried up to that of the smaller of the two variables, beyond
    which nothing can be gained, and not further once two in a row were no better or a bound shows that more cannot be;
    the paper tries all up to a K_max, which ``max_states`` can give.
    """,
)
HARMELING_WILLIAMS_2011_BIN_A = _documented(
    BinATuning(debias=False, context=(), n_starts=10, grouped_starts=False, narrowing=None, accelerate=False),
    """*BIN-A*, Algorithm 2: agglomerative clustering, then 10 random restarts of EM for every hidden variable.

    The paper reports average linkage, the default of ``linkage``. Departures: those of
    :data:`HARMELING_WILLIAMS_2011_BIN_G`.
    """,
)
ELIDAN_FRIEDMAN_2001 = _documented(
    FindHiddenTuning(
        max_candidates=None,
        shares=(0.5,),
        use_tree=False,
        agglomerate=True,
        max_initial=1_000_000,
        min_gain=0.0,
        n_starts=5,
        accelerate=False,
    ),
    """*FindHidden* with agglomeration: every semi-clique is proposed, and kept if the score rises at all.

    5 random starts of EM, as in the comparison of section 5. Departures: the paper does not say when EM ends, nor what
    its priors weigh; tolerances are those of :data:`FIND_HIDDEN`, and ``prior`` decides. Where EM comes to rest,
    entries near zero that would raise the likelihood are lifted, and the final EM continues to a twentieth of its
    tolerance and begins again with small entries lifted as long as that helps. Semi-cliques have at least 3 members
    (``min_children``) and grow from triangles and cycles of four nodes; the paper names no least number, and no way to
    find them. No node gets more than 5 parents unless the learner's ``max_parents`` says otherwise; the paper names no
    bound. Besides the number of states that agglomeration finds, two states from random starts are tried, and states
    of the best proposals are split and merged. Proposals are compared by what they gain in a small network of the
    columns around them, and the best two are put back; the paper fits the whole network with each. A hidden variable
    that is not needed any more is left out again.
    """,
)
LANGSETH_NIELSEN_2005 = _documented(
    LatentClassificationTuning(
        tol=1e-3,
        max_iter=100,
        stop="relative",
        n_starts=100,
        thinning=False,
        sizes="every",
        select="accuracy",
        offset=False,
        noise_floor=1e-9,
        shrinkage=0.0,
    ),
    """The linear model, LCM(q), with the settings of section 5; give ``n_components=1``.

    100 restarts, all taken to their ends: an iteration that raises the log-likelihood by less than 0.001 of it, or 100
    iterations. The restart with the highest accuracy on the training data counts. Every q from 1 to the number of
    attributes times that of classes is compared by cross-validation with 5 folds, the default of ``cv``. There are no
    offsets (note 11), with edges (``learn_edges=True``, LCM(q)/S) or without.

    Departures: the paper leaves open how restarts are drawn. Attributes are scaled first, so that the 0.001 is a share
    of the log-likelihood of scaled attributes, and noise is at least 1e-9 of an attribute's variance, for the sake of
    arithmetic. Without offsets, the score of edges takes the means of the latents and attributes for known to be 0.
    """,
)
LANGSETH_NIELSEN_2005_NONLINEAR = _documented(
    LANGSETH_NIELSEN_2005.replace(offset=True, sizes="greedy"),
    """The non-linear models, LCM(q, m; T) and, with ``tied=False``, LCM(q, m; U): components have offsets.

    The search is greedy in q, from 1 on, each q being as good as its best number of components; those are the numbers
    of note 13, and the product of both is at most the number of rows. Departures: those of
    :data:`LANGSETH_NIELSEN_2005`; the paper does not say where the search begins and what its steps are; and models of
    one component have an offset here.
    """,
)
