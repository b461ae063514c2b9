"""EAST: searching the space of latent trees by expansion, adjustment and simplification."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import ClassVar

import numpy as np

from pgmpy_latent.em.starts import random_memberships
from pgmpy_latent.exceptions import DataError, FewColumnsWarning, SkeletonError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.evaluation import EVALUATIONS
from pgmpy_latent.learners.east.policy import EastPolicy
from pgmpy_latent.learners.east.settings import EastSettings, Rules
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.learners.search_learner import SearchingLearner, learned_for
from pgmpy_latent.learners.skeletons import in_order_of_table, model_given, one_state_tree, states_of_columns
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import canonical_tree, cut_edge, make_regular
from pgmpy_latent.tables.encode import CategoricalData

#: Random starts of the latent class model that the search begins with.
N_INIT = 16
#: What parameters cost on excursions, as a share; and from how many columns on there are any, if nobody says.
EXCURSIONS, MANY_COLUMNS = (0.5, 0.25), 25
#: Iterations of local EM, where none are asked for.
STEPS = {"rl": 40, "dc": 40, "auto": 6}
#: Most categories of a column: counts of their pairs take seconds, and 64 MB for every state of a hidden variable.
MOST_CATEGORIES = 2_000


class EAST(SearchingLearner):
    """Learn a latent tree: which hidden variables there are, how many states they have, and what is linked to what.

    The search begins with a latent class model and repeats three phases until nothing raises BIC: *expansion*
    introduces hidden variables between one that is there and two of its neighbours, and states; *adjustment* moves
    neighbours of one hidden variable to another; *simplification* deletes states, and then hidden variables. The result
    is a tree in which columns are leaves, or several trees where parts of the table are independent of each other.

    Parameters
    ----------
    start : LatentTree, pgmpy network or learner, optional
        Where to begin, instead of a latent class model with two classes: a model, a fitted learner, or one that is yet
        to be fitted to the table, as ``BinG(simplify=True)``.
    evaluation : {"auto", "rl", "dc"}
        How candidates are compared. ``"rl"``: restricted likelihood, EM on the tables that a candidate changes.
        ``"dc"``: data completion, scores of the table as the current model completes it. ``"auto"``: the second to
        choose what is worth a look, the first to put it in order, EM on all tables to decide; and ``excursions`` and
        ``look_ahead`` where nothing helps any more.
    improvement_ratio : bool
        Whether expansion prefers what raises BIC most per parameter, and not simply what raises it most.
    n_starts, n_steps : int
        Starts of local EM, of which the better half survives after 1, 3, 7, ... iterations, and its iterations. None
        stands for 6 with ``"auto"``, since EM on all tables follows, and for 40 otherwise.
    excursions : sequence of float, optional
        With ``"auto"``: when nothing helps any more, the search goes on as if parameters cost only this share of what
        they do, and then comes back; where it ends is kept if BIC is higher there. Several shares are tried in turn;
        ``()`` does without. None stands for ``(0.5, 0.25)`` from 25 columns on and for none below, where this rarely
        finds anything and takes as long as all the rest.
    look_ahead : int
        With ``"auto"``: how many candidates are given time to settle when none helps by itself; 0 ends the search
        there.
    max_latents, max_states : int, optional
        Most hidden variables, and most states of each.
    together : sequence of sequences of columns
        Groups of columns that must have the same hidden variable as a neighbour; or one such group.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; None is maximum likelihood.
    tol, max_iter
        Where the final EM stops: when less than ``tol`` is left to gain (in nats), or after so many iterations.
    search_tol, search_iter
        The same for EM during the search.
    allow_many_states : bool
        Whether columns that look like identifiers, dates or measurements are taken; ``fit`` can be told of some.
    unseen : {"missing", "error"}
        What becomes of unknown categories in new rows.
    n_jobs : int, optional
        Threads; -1 for all cores. The result does not depend on it.
    random_state : int, optional
        Same seed, same answer, whatever the order of columns and rows. (Weights with fractions are summed in the order
        of the rows, which can change last digits.)
    time_limit : float, optional
        Seconds; the best tree so far is then returned, and ``stopped_`` says so.
    checkpoint : path-like, optional
        File that the search is kept in. A search that was killed goes on from it, and ends in the same model as one
        that never stopped; a finished one returns its model. A file of other data or other settings is refused.
    show_progress : bool
        Whether searches of more than two seconds show a bar.

    Attributes
    ----------
    tree_, model_, history_, bic_, stopped_, ...
        See the fitted attributes shared by all learners in ``docs/learners.md``. The root is the hidden variable in the
        middle of the tree, and hidden variables are called H1, H2 and so on from there: the direction of edges cannot
        be learned, and two runs that found the same tree report the same network. ``history_`` has the names that the
        hidden variables had during the search.

    Warns
    -----
    FewColumnsWarning
        If there are fewer than three columns, which no hidden variable can explain better than they do themselves.

    See Also
    --------
    BinG : Less good trees, much faster where columns are many.
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

    #: As the paper does it, at its highest setting.
    PAPER: ClassVar[dict] = {"evaluation": "rl", "n_starts": 16, "n_steps": 40}

    def __init__(
        self,
        *,
        start=None,
        evaluation="auto",
        improvement_ratio=True,
        n_starts=8,
        n_steps=None,
        look_ahead=24,
        excursions=None,
        max_latents=None,
        max_states=None,
        together=(),
        prior=None,
        tol=1e-3,
        search_tol=0.5,
        max_iter=10_000,
        search_iter=100,
        allow_many_states=False,
        unseen="missing",
        n_jobs=None,
        random_state=None,
        time_limit=None,
        checkpoint=None,
        show_progress=True,
    ):
        self.start = start
        self.evaluation = evaluation
        self.improvement_ratio = improvement_ratio
        self.n_starts = n_starts
        self.n_steps = n_steps
        self.look_ahead = look_ahead
        self.excursions = excursions
        self.max_latents = max_latents
        self.max_states = max_states
        self.together = together
        self.prior = prior
        self.tol = tol
        self.search_tol = search_tol
        self.max_iter = max_iter
        self.search_iter = search_iter
        self.allow_many_states = allow_many_states
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.show_progress = show_progress

    # -- what is asked for ----------------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        if not isinstance(self.evaluation, str) or self.evaluation not in EVALUATIONS:
            raise ValueError(f"evaluation is {self.evaluation!r}; give 'auto', 'rl' or 'dc'")
        for name in ("improvement_ratio", "allow_many_states"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} is {getattr(self, name)!r}; give True or False")
        self._check_number("max_latents", 1, none=True, whole=True)
        self._check_number("max_states", 2, none=True, whole=True)
        super()._check_settings()
        self._check_number("n_starts", 1, whole=True)
        self._check_number("n_steps", 1, none=True, whole=True)
        self._check_number("look_ahead", 0, whole=True)
        shares = () if self.excursions is None else self.excursions
        if not isinstance(shares, Sequence) or not all(isinstance(one, Real) and 0 < one < 1 for one in shares):
            raise ValueError(f"excursions is {shares!r}; give a tuple of numbers between 0 and 1, () for none, or None")
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
            warnings.warn(
                f"a hidden variable needs three columns to be of use, and the table has {len(data.columns)}; add "
                "columns, or compare the result with Baseline('chow_liu')",
                FewColumnsWarning,
                stacklevel=3,  # the line that calls fit
            )
        return data

    def _rules(self, data: CategoricalData) -> Rules:
        groups = _groups(self.together, set(data.columns))
        unlimited = np.inf
        return Rules(
            unlimited if self.max_latents is None else self.max_latents,
            unlimited if self.max_states is None else self.max_states,
            _united(groups),
        )

    # -- the run --------------------------------------------------------------------------------------------------

    def _learn(self, data: CategoricalData) -> Outcome:
        search = self._search(data)
        ordered = data.in_order_of_names()
        rules = self._rules(ordered)
        settings = EastSettings(
            self.evaluation,
            bool(self.improvement_ratio),
            self.n_starts,
            STEPS[self.evaluation] if self.n_steps is None else self.n_steps,
            look_ahead=self.look_ahead,
            excursions=self._excursions(len(data.columns)),
            rules=rules,
        )
        policy = EastPolicy(ordered, search, settings)
        outcome = search.run(
            lambda: policy.start(self._first_tree(ordered, search, rules)), policy.advance, policy.check, policy.finish
        )
        return replace(outcome, tree=in_order_of_table(canonical_tree(outcome.tree), data))

    def _excursions(self, n_columns: int) -> tuple[float, ...]:
        if self.excursions is None:
            return EXCURSIONS if n_columns >= MANY_COLUMNS else ()
        return tuple(self.excursions)

    def _first_tree(self, data: CategoricalData, search: Search, rules: Rules) -> LatentTree:
        start = learned_for(self, self.start, data, search) if self._start_is_to_be_fitted() else self.start
        start = model_given(start)
        if start is None:
            return _two_classes(data, search, rules)
        tree = make_regular(in_order_of_table(start, data))
        broken = rules.broken(tree)
        if broken is not None:
            raise SkeletonError(f"the model to start with {broken}; start with another one, or relax the constraint")
        return tree


def _two_classes(data: CategoricalData, search: Search, rules: Rules) -> LatentTree:
    """Return the latent class model with two classes, after a few iterations of EM from random memberships.

    Columns with a single category, which say nothing, stand alone.
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
    found = search.fit(engine, np.stack(starts), narrowing=2.0, first=True)
    return make_regular(shape.with_tables(engine.layout.unpack(found.tables)))


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
    found: list[frozenset] = []
    for group in groups:
        joined = group.union(*(other for other in found if other & group))
        found = [other for other in found if not other & joined] + [joined]
    return tuple(found)


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
