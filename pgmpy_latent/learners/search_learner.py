"""Learners that search: the settings they share, and the search that these make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar, TypeAlias

import networkx as nx
from sklearn.base import clone

from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.resumed import check_hidden
from pgmpy_latent.learners.search import Outcome, Search, Settings
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import make_regular
from pgmpy_latent.presets import SearchTuning
from pgmpy_latent.runtime.checkpoint import Checkpoint, check_checkpoint
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.configured import Configured, Tuning, settings_in_force
from pgmpy_latent.runtime.fingerprint import Identified, fingerprint
from pgmpy_latent.runtime.settings import Constraint, RandomState, evaluations, number, whole_seed
from pgmpy_latent.tables.encode import CategoricalData

#: Seconds that a learner gets at least to find the model that another one begins with.
LEAST_SECONDS = 0.1
#: What a search may begin with: a model of ours or of pgmpy, or a learner.
Start: TypeAlias = LatentTree | nx.DiGraph | LatentTreeLearner | None


class SearchSettings(Configured):
    """Mixin of the learners that search: the settings that they share, and the search that these make.

    It reads the keywords ``n_jobs``, ``random_state``, ``time_limit``, ``show_progress`` and ``tuning``, and ``prior``,
    ``max_states`` and ``checkpoint`` where a subclass has them. The tuning is a
    :class:`~pgmpy_latent.presets.SearchTuning`.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "prior": number(0, optional=True),
        "max_states": number(1, whole=True, optional=True),
        "max_latents": number(1, whole=True, optional=True),
        "checkpoint": lambda name, value: check_checkpoint(value),
    }
    _default_tuning: ClassVar[Tuning | None] = SearchTuning()
    _tuning: SearchTuning
    random_state: RandomState
    time_limit: float | None
    n_jobs: int | None
    show_progress: bool
    #: Clock of a computation that this learner is part of: if that is cancelled, its search ends.
    _outer_clock: Clock | None = None

    def _search(self, data: Identified) -> Search:
        path = getattr(self, "checkpoint", None)
        checkpoint = None if path is None else Checkpoint(path, fingerprint(self, data))
        tuning = self._tuning
        search = Search(
            Settings(
                float(settings_in_force(self).get("prior") or 0.0),
                float(tuning.tol),
                float(tuning.search_tol),
                evaluations(tuning.max_iter),
                evaluations(tuning.search_iter),
                tuning.stop,
                bool(tuning.accelerate),
            ),
            random_state=whole_seed(self.random_state),
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            show_progress=self.show_progress,
            title=type(self).__name__,
            checkpoint=checkpoint,
            outer_clock=self._outer_clock,
        )
        tree = None if search.saved is None else search.saved.state.tree
        if tree is None or isinstance(tree, GaussianTree):  # without hidden states
            return search
        if checkpoint is not None and not checkpoint.mark.is_given_a_model:
            with checkpoint.checking():
                check_hidden(tree)
        return search


class SearchingLearner(SearchSettings, LatentTreeLearner):
    """Base of the learners that search for a tree.

    ``_search(data)`` returns the :class:`~pgmpy_latent.learners.Search` that the keywords ask for: ``n_jobs``,
    ``random_state``, ``time_limit``, ``show_progress`` and ``tuning``, which every subclass has, and ``prior``,
    ``max_states`` and ``checkpoint`` where a subclass has them. See ``docs/adding_a_learner.md``.

    Examples
    --------
    >>> from pgmpy_latent import EAST
    >>> issubclass(EAST, SearchingLearner)
    True
    """


def learned_for(host, learner, data: CategoricalData, search: Search):
    """Return the model with which another learner begins, found with the seed, the workers and the time of that one.

    If the host has a checkpoint, the learner has one beside it until the search of the host begins.

    Parameters
    ----------
    host : learner
        The one that searches.
    learner : learner of ours
        Not fitted; it is not changed.
    data : CategoricalData
        The table.
    search : Search
        Of the host; it ends if Ctrl-C ended the learner.
    """
    learner = clone(learner)
    settings = learner.get_params(deep=False)
    left = None if host.time_limit is None else max(search.clock.seconds_left, LEAST_SECONDS)
    shared = {"random_state": whole_seed(host.random_state), "n_jobs": host.n_jobs, "time_limit": left}
    learner.set_params(**{name: value for name, value in shared.items() if settings.get(name, 0) is None})
    if "show_progress" in settings:
        learner.set_params(show_progress=host.show_progress)
    if search.checkpoint is not None and settings.get("checkpoint", 0) is None:
        learner.set_params(checkpoint=search.checkpoint.beside("start"))
    learner._outer_clock = search.clock
    learner._check_settings()
    if data.values:
        learner._check_numbers(data)
    outcome = learner._learn(data)
    if outcome.stopped == "interrupted":
        search.note_interrupt()  # whoever pressed Ctrl-C does not want the search that follows
    return outcome.tree


def made_regular(outcome: Outcome[LatentTree], score: Callable[[LatentTree, float], float]) -> Outcome[LatentTree]:
    """Leave out hidden variables that are not needed: the likelihood stays, and parameters become fewer."""
    tree = make_regular(outcome.tree)
    if tree.names == outcome.tree.names and (tree.cards == outcome.tree.cards).all():
        return outcome
    value = score(tree, outcome.log_likelihood)
    if value < outcome.score:
        return outcome
    last = outcome.history[-1]
    entry = replace(
        last, step=last.step + 1, operator="make regular", target=None, score=value, n_parameters=tree.n_parameters
    )
    gone = tuple(name for name in outcome.tree.latent_names if name not in tree.latent_names)
    return replace(outcome, tree=tree, score=value, history=[*outcome.history, entry], not_needed=gone)
