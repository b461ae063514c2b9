"""EAST: searching the space of latent trees by expansion, adjustment and simplification."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from pgmpy_latent import presets, scores
from pgmpy_latent.exceptions import DataError, FewColumnsWarning, SkeletonError
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.column_forest import bic_forest
from pgmpy_latent.learners.east.policy import EastPolicy
from pgmpy_latent.learners.east.race import Race
from pgmpy_latent.learners.east.settings import Columns, EastSettings, Rules
from pgmpy_latent.learners.east.starts import (
    BING,
    FOREST,
    SECOND,
    STAGES,
    class_starts,
    has_many_columns,
    is_large,
    most_starts,
    two_classes,
)
from pgmpy_latent.learners.forests.bin_g import BinG
from pgmpy_latent.learners.held_out import PathLearner, Searching
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.learners.search_learner import Start, learned_for
from pgmpy_latent.learners.skeletons import in_order_of_table, model_given, states_of_columns
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import make_regular
from pgmpy_latent.runtime.configured import ORDER_DOES_NOT_MATTER, MovedPreset
from pgmpy_latent.runtime.settings import Constraint, RandomState, number
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.number_bins import BinnedTable

#: Shares of the penalty on excursions; smaller trees take less time than larger ones.
TO_LARGER_TREES, TO_SMALLER_TREES = 0.25, 2.0
#: How many moves the look-ahead tries by default; for every column of a larger table, whose search has fewer starts;
#: and at most in the largest tables.
LOOK_AHEAD, LOOK_AHEAD_PER_COLUMN, MOST_LOOK_AHEAD = 24, 5, 72
#: Bins in the place of a number when the forest and BinG's tree are learned: they cost as much as a Gaussian column.
N_BINS = 3
#: Iterations of local EM by default.
STEPS = {"rl": 40, "dc": 40, "auto": 6}
#: Most categories of a column: counts of their pairs take seconds, and 64 MB for every state of a hidden variable.
MOST_CATEGORIES = 2_000


class EAST(PathLearner):
    """Learn a latent tree: its hidden variables, their numbers of states, and its edges.

    The search repeats three phases until nothing raises BIC: *expansion* introduces hidden variables between a node and
    one or two of its neighbours, and adds states; *adjustment* moves neighbours of one node to another;
    *simplification* deletes states, and then hidden variables. Any node may be the neighbour of any other, so that
    columns that hang on columns need no hidden variable: Chow-Liu trees and latent trees are special cases. The result
    is a tree, or several where parts of the table are independent of each other.

    The search begins with several trees, one after the other: the forest over the columns that has the highest BIC
    (:class:`Baseline`), the tree of :class:`BinG`, and the latent class model with the highest BIC, perhaps also the
    one with two classes; with many columns or in larger tables the first two, or the better one of these. It goes on
    with the best result: by excursions to larger and to smaller trees if there are many columns, by moves that pay off
    only together, and by a last look at the numbers of states, by splits and merges.

    Columns of numbers (``fit(..., kinds=...)``) are leaves, with a density given each state of their parent; see
    ``docs/mixed.md``.

    Parameters
    ----------
    columns : {"anywhere", "leaves"}, optional
        Where columns may stand: anywhere in the tree, or, as in the paper, as leaves of hidden variables. With
        ``"leaves"``, columns are linked with each other only in a part of the result that has no hidden variable; such
        a part may later be linked to the others, by any of its columns. None: as ``tuning`` says, by default anywhere.
    start : LatentTree, pgmpy network or learner, optional
        Where to begin instead: a model, a fitted learner, or one that is yet to be fitted to the table, as
        ``BinG(simplify=True)``.
    max_latents, max_states : int, optional
        Most hidden variables, and most states of each.
    together : sequence of sequences of columns
        Groups of columns that must have the same hidden variable as a neighbour; or one such group.
    scoring_method : {"bic", "aic", "heldout"} or HeldOut
        What the search maximises: BIC, AIC, or the log-likelihood of rows that are held out, for a tree that predicts
        new rows; see :class:`~pgmpy_latent.scores.HeldOut`.
    {shared}
    tuning : EASTTuning, optional
        How candidates are compared, and when EM ends; ``presets.CHEN_2008`` and ``presets.CHEN_2008_DC`` follow the
        paper. None stands for ``presets.EAST``.

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. The root is the hidden variable in the
        middle of the tree, and hidden variables are called H1, H2 and so on from there: the direction of edges cannot
        be learned, and two runs that found the same tree report the same network. ``history_`` has the names that the
        hidden variables had during the search.
    held_out_ : DataFrame or None
        With rows held out, a row for every share of BIC's penalty that was tried: ``share``, ``penalty`` (per
        parameter), ``log_likelihood`` of the held-out rows, mean ``n_parameters``, and whether it was the ``best``.
        ``score_`` is the best ``log_likelihood``, and ``history_`` has a row for every share on the way to it.

    Warns
    -----
    FewColumnsWarning
        If there are fewer than three columns, which no hidden variable can explain better than they do themselves;
        except for two columns with three categories or more each, which can have a hidden variable between them if
        they may stand anywhere.

    See Also
    --------
    BinG : Much faster for many columns; its trees have a lower BIC.
    SplitMerge : Numbers of states for a given tree.

    References
    ----------
    T. Chen, N. L. Zhang and Y. Wang (2008). Efficient model evaluation in the search-based approach to latent structure
    discovery. Proceedings of the fourth European workshop on probabilistic graphical models, 57-64.

    Examples
    --------
    >>> from pgmpy_latent import EAST, datasets, sample
    >>> table = sample(datasets.hlc_model(7, random_state=2), 2000, random_state=0)
    >>> learner = EAST(random_state=0).fit(table)
    >>> sorted(learner.tree_.children("H2")), sorted(learner.tree_.children("H3"))
    (['D1', 'D2', 'D3'], ['D5', 'D6', 'D7'])
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "scoring_method": scores.check_penalised_method,
        "max_states": number(2, whole=True, optional=True),
    }
    _default_tuning = presets.EAST
    PAPER = MovedPreset("presets.CHEN_2008 or presets.CHEN_2008_DC")
    _tuning: presets.EASTTuning
    _has_standard_form: ClassVar[bool] = True
    _takes_numbers: ClassVar[bool] = True
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {"random_state": ORDER_DOES_NOT_MATTER}

    def __init__(
        self,
        *,
        columns: Columns | None = None,
        start: Start = None,
        max_latents: int | None = None,
        max_states: int | None = None,
        together: Sequence[Sequence[Hashable]] = (),
        scoring_method: Literal["bic", "aic", "heldout"] | scores.HeldOut = "bic",
        prior: float | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        time_limit: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        show_progress: bool = True,
        tuning: presets.EASTTuning | None = None,
    ) -> None:
        self.columns = columns
        self.start = start
        self.max_latents = max_latents
        self.max_states = max_states
        self.together = together
        self.scoring_method = scoring_method
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress
        self.tuning = tuning

    def _check_settings(self) -> None:
        super()._check_settings()
        tuning = self._tuning
        if tuning.columns == "anywhere" and tuning.evaluation != "auto":
            raise ValueError(
                f"evaluation={tuning.evaluation!r} compares trees whose columns are leaves; give columns='leaves', or "
                "evaluation='auto'"
            )
        if not self._start_is_to_be_fitted():
            model_given(self.start)

    def _start_is_to_be_fitted(self) -> bool:
        start = self.start
        is_learner = hasattr(start, "fit") and hasattr(start, "_learn") and not isinstance(start, type)
        return is_learner and not hasattr(start, "model_")

    def _known_states(self) -> dict | None:
        return None if self._start_is_to_be_fitted() else states_of_columns(model_given(self.start))

    def _known_codes(self) -> tuple:
        start = None if self._start_is_to_be_fitted() else model_given(self.start)
        return () if start is None else start.missing

    def _check_fit_data(self, X, sample_weight=None, **options) -> CategoricalData:
        data = super()._check_fit_data(X, sample_weight, **options)
        _refuse_many_categories(data)
        self._rules(data)  # contradictions are named before the search
        may_stand_between = len(data.columns) == 2 and data.cards.min() > 2 and self._columns_stand() == "anywhere"
        if len(data.columns) < 3 and not may_stand_between:
            warn(
                f"a hidden variable needs three columns to be of use, and the table has {len(data.columns)}; add "
                "columns, or compare the result with Baseline('chow_liu')",
                FewColumnsWarning,
            )
        return data

    def _check_numbers(self, data: CategoricalData) -> None:
        super()._check_numbers(data)
        if self._tuning.evaluation == "dc":
            raise DataError(
                f"evaluation='dc' compares candidates on completed counts, and {next(iter(data.values))!r} is a "
                "number; use evaluation='auto' or 'rl', or bin it (as pd.cut does)"
            )

    def _rules(self, data: CategoricalData) -> Rules:
        groups = _groups(self.together, set(data.columns))
        unlimited = np.inf
        return Rules(
            unlimited if self.max_latents is None else self.max_latents,
            unlimited if self.max_states is None else self.max_states,
            _united(groups),
            self._columns_stand(),
        )

    def _columns_stand(self) -> Columns:
        """Return where columns may stand."""
        tuning = self._tuning
        if tuning.columns is None:
            return "anywhere" if tuning.evaluation == "auto" else "leaves"
        return "anywhere" if tuning.columns == "anywhere" else "leaves"

    # The run

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        how = scores.held_out_of(self.scoring_method)
        if how is not None:
            return self._learn_path(data.in_order_of_names(), how)
        search = self._search(data)
        ordered = data.in_order_of_names()
        penalty = scores.PENALTIES[str(self.scoring_method)](ordered.total_weight)
        policy, first_tree = self._searching(ordered, penalty, search)
        return search.run(lambda: policy.start(first_tree()), policy.advance, policy.check, policy.finish)

    def _searching(self, data: CategoricalData, penalty: float, search: Search, continues: bool = False) -> Searching:
        rules = self._rules(data)
        tuning = self._tuning
        settings = EastSettings(
            tuning.evaluation,
            bool(tuning.improvement_ratio),
            tuning.n_starts,
            STEPS[tuning.evaluation] if tuning.n_steps is None else tuning.n_steps,
            look_ahead=self._look_ahead(data),
            excursions=() if continues else self._excursions(data),
            rules=rules,
        )
        if self.start is None and rules.anywhere and not continues:
            race = Race(data, search, settings, STAGES, most_starts(data), penalty, SECOND)
            return Searching(race, lambda: self._starts(data, search, rules, race.last.score))
        policy = EastPolicy(data, search, settings, penalty)
        return Searching(policy, lambda: self._first_tree(data, search, rules))

    def _excursions(self, data: CategoricalData) -> tuple[float, ...]:
        """Return the shares of the penalty that excursions use."""
        if self._tuning.excursions is not None:
            return tuple(self._tuning.excursions)
        if not has_many_columns(data):
            return ()
        return (TO_SMALLER_TREES,) if most_starts(data) == 1 else (TO_LARGER_TREES, TO_SMALLER_TREES)

    def _look_ahead(self, data: CategoricalData) -> int:
        """Return how many moves the look-ahead tries."""
        if self._tuning.look_ahead is not None:
            return self._tuning.look_ahead
        if not is_large(data) or self._columns_stand() == "leaves":
            return LOOK_AHEAD
        further = max(LOOK_AHEAD, LOOK_AHEAD_PER_COLUMN * len(data.columns))
        return min(further, MOST_LOOK_AHEAD) if most_starts(data) == 1 else further

    def _starts(
        self, data: CategoricalData, search: Search, rules: Rules, score: Callable[[LatentTree, float], float]
    ) -> dict[str, LatentTree]:
        """Return the trees to begin with: for a large table, or many columns, the forest and BinG's tree only."""
        bin_g = BinG(simplify=True, columns="anywhere")
        binned = BinnedTable(data, N_BINS) if data.values else None
        categories = data if binned is None else binned.data
        starts = {FOREST: bic_forest(categories, search)[0]}
        if not _is_stopped(search):  # otherwise the forest is what there is time for
            starts[BING] = self._tree_of(bin_g, categories, search)
        if binned is not None:
            starts = {name: make_regular(binned.with_numbers(tree)) for name, tree in starts.items()}
        starts = {name: tree for name, tree in starts.items() if rules.broken(tree) is None}
        if starts and (_is_stopped(search) or is_large(data) or has_many_columns(data)):
            return starts
        return {**starts, **class_starts(data, search, rules, score)}

    def _tree_of(self, learner: LatentTreeLearner, data: CategoricalData, search: Search) -> LatentTree:
        """Return the tree of another learner, without hidden variables that it does not need."""
        return make_regular(in_order_of_table(learned_for(self, learner, data, search), data))

    def _first_tree(self, data: CategoricalData, search: Search, rules: Rules) -> LatentTree:
        start = learned_for(self, self.start, data, search) if self._start_is_to_be_fitted() else self.start
        start = model_given(start)
        if start is None:
            return two_classes(data, search, rules)
        tree = make_regular(in_order_of_table(start, data))
        broken = rules.broken(tree)
        if broken is not None:
            raise SkeletonError(f"the model to start with {broken}; start with another one, or relax the constraint")
        return tree


def _is_stopped(search: Search) -> bool:
    """Tell whether the time is up, or Ctrl-C was pressed; what was found until then is no start to resume from."""
    if search.clock.is_up:
        search.note_interrupt()
    return search.stopped is not None


def _groups(together, columns: set[Hashable]) -> list[frozenset]:
    """Return the groups of columns that were asked for; one group may be given by itself."""
    kinds = (list, tuple, set, frozenset)
    if not isinstance(together, kinds):
        raise ValueError(f"together is {together!r}; give groups of columns, as [['x', 'y'], ['u', 'v', 'w']]")
    by_itself = any(isinstance(one, Hashable) and one in columns for one in together)  # a name may be a tuple
    groups = [together] if by_itself else list(together)
    for group in groups:
        if not isinstance(group, kinds):
            raise DataError(
                f"together names {group!r}, which the table does not have; its columns are {_some(columns)}"
            )
        missing = [name for name in group if not isinstance(name, Hashable) or name not in columns]
        if missing:
            raise DataError(
                f"together names {missing}, which the table does not have; its columns are {_some(columns)}"
            )
        if len(set(group)) < 2:
            raise ValueError(f"together has the group {list(group)}; give two different columns or more")
    return [frozenset(group) for group in groups]


def _united(groups: Iterable[frozenset]) -> tuple[frozenset, ...]:
    """Return groups that have no column in common: those that do are one."""
    disjoint: list[frozenset] = []
    for group in groups:
        united = group.union(*(other for other in disjoint if other & group))
        disjoint = [other for other in disjoint if not other & united] + [united]
    return tuple(disjoint)


def _some(names: Iterable[Hashable], most: int = 12) -> str:
    names = sorted(map(str, names))
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _refuse_many_categories(data: CategoricalData) -> None:
    """Raise if a column has so many categories that a step would take minutes, whatever the time limit."""
    most = int(np.argmax(data.cards))
    if data.cards[most] > MOST_CATEGORIES:
        raise DataError(
            f"column {data.columns[most]!r} has {data.cards[most]:,} categories. EAST counts pairs of categories "
            f"around hidden variables, which takes the square of their number: bin them to {MOST_CATEGORIES:,} at "
            "most, drop the column, or use SplitMerge, BinG or HLTA"
        )
