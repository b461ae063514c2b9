"""EAST: searching the space of latent trees by expansion, adjustment and simplification."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from pgmpy_latent import presets, scores
from pgmpy_latent.em.starts import random_memberships
from pgmpy_latent.exceptions import DataError, FewColumnsWarning, SkeletonError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.column_forest import bic_forest
from pgmpy_latent.learners.east.policy import EastPolicy
from pgmpy_latent.learners.east.settings import Columns, EastSettings, Rules
from pgmpy_latent.learners.held_out import PathLearner, Searching
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.learners.search_learner import Start, learned_for
from pgmpy_latent.learners.skeletons import in_order_of_table, model_given, one_state_tree, states_of_columns
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import cut_edge, make_regular
from pgmpy_latent.runtime.configured import ORDER_DOES_NOT_MATTER, MovedPreset
from pgmpy_latent.runtime.settings import Constraint, RandomState, number, one_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData

#: Random starts of the latent class model that the search begins with.
N_INIT = 16
#: Shares of the penalty on excursions, and from how many columns on there are excursions by default.
EXCURSIONS, MANY_COLUMNS = (0.5, 0.25), 25
#: Iterations of local EM by default.
STEPS = {"rl": 40, "dc": 40, "auto": 6}
#: Most categories of a column: counts of their pairs take seconds, and 64 MB for every state of a hidden variable.
MOST_CATEGORIES = 2_000


class EAST(PathLearner):
    """Learn a latent tree: its hidden variables, their numbers of states, and its edges.

    The search begins with a latent class model and repeats three phases until nothing raises BIC: *expansion*
    introduces hidden variables between an existing one and two of its neighbours, and adds states; *adjustment* moves
    neighbours of one hidden variable to another; *simplification* deletes states, and then hidden variables. The result
    is a tree in which columns are leaves, or several trees where parts of the table are independent of each other. With
    ``columns="anywhere"`` any node may be the neighbour of any other, and the search begins with the forest over the
    columns that has the highest BIC (:class:`Baseline`): columns that hang on columns need no hidden variable.

    Parameters
    ----------
    columns : {"leaves", "anywhere"}
        Where columns may stand: at the ends of the tree, or also inside it.
    start : LatentTree, pgmpy network or learner, optional
        Where to begin, instead of a latent class model with two classes or a forest of columns: a model, a fitted
        learner, or one that is yet to be fitted to the table, as ``BinG(simplify=True)``.
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
        If there are fewer than three columns, which no hidden variable can explain better than they do themselves.

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
        "columns": one_of("leaves", "anywhere"),
        "scoring_method": scores.check_penalised_method,
        "max_states": number(2, whole=True, optional=True),
    }
    _default_tuning = presets.EAST
    PAPER = MovedPreset("presets.CHEN_2008 or presets.CHEN_2008_DC")
    _tuning: presets.EASTTuning
    _has_standard_form: ClassVar[bool] = True
    _shared: ClassVar[Mapping[str, tuple[str, str]]] = {"random_state": ORDER_DOES_NOT_MATTER}

    def __init__(
        self,
        *,
        columns: Columns = "leaves",
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
        if len(data.columns) < 3:
            warn(
                f"a hidden variable needs three columns to be of use, and the table has {len(data.columns)}; add "
                "columns, or compare the result with Baseline('chow_liu')",
                FewColumnsWarning,
            )
        return data

    def _rules(self, data: CategoricalData) -> Rules:
        groups = _groups(self.together, set(data.columns))
        unlimited = np.inf
        return Rules(
            unlimited if self.max_latents is None else self.max_latents,
            unlimited if self.max_states is None else self.max_states,
            _united(groups),
            self.columns,
        )

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

    def _searching(
        self, data: CategoricalData, penalty: float, search: Search, continues: bool = False
    ) -> Searching[EastPolicy]:
        rules = self._rules(data)
        tuning = self._tuning
        settings = EastSettings(
            tuning.evaluation,
            bool(tuning.improvement_ratio),
            tuning.n_starts,
            STEPS[tuning.evaluation] if tuning.n_steps is None else tuning.n_steps,
            look_ahead=tuning.look_ahead,
            excursions=() if continues else _excursions(tuning.excursions, len(data.columns)),
            rules=rules,
        )
        policy = EastPolicy(data, search, settings, penalty)
        return Searching(policy, lambda: self._first_tree(data, search, rules))

    def _first_tree(self, data: CategoricalData, search: Search, rules: Rules) -> LatentTree:
        start = learned_for(self, self.start, data, search) if self._start_is_to_be_fitted() else self.start
        start = model_given(start)
        if start is None and rules.anywhere and not rules.together:  # these columns need a hidden variable
            return bic_forest(data, search)[0]
        if start is None:
            return _two_classes(data, search, rules)
        tree = make_regular(in_order_of_table(start, data))
        broken = rules.broken(tree)
        if broken is not None:
            raise SkeletonError(f"the model to start with {broken}; start with another one, or relax the constraint")
        return tree


def _excursions(shares: Sequence[float] | None, n_columns: int) -> tuple[float, ...]:
    """Return the shares of the penalty that excursions use; by default, none in tables with few columns."""
    if shares is None:
        return EXCURSIONS if n_columns >= MANY_COLUMNS else ()
    return tuple(shares)


def _two_classes(data: CategoricalData, search: Search, rules: Rules) -> LatentTree:
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
    engine, codes = engine_for(shape, data), data.codes_of(shape.names)
    starts = [
        random_memberships(shape.parents, shape.cards, codes, data.weights, data.row_keys, search.seed(0, number))
        for number in range(N_INIT)
    ]
    fit = search.fit(engine, np.stack(starts), narrowing=2.0, first=True)
    return make_regular(shape.with_tables(engine.layout.unpack(fit.tables)))


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
