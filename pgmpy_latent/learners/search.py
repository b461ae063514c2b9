"""The search driver that all learners share: history, clock, progress bar, Ctrl-C, seeds, checkpoints.

A search is a sequence of states. A policy turns a state into the next one, by a function of the state, the data and the
seed alone; the driver calls it until the search ends by itself, the time is up, or somebody presses Ctrl-C. Whatever a
policy remembers from one step to the next is part of the state (:mod:`pgmpy_latent.learners.memory`), so that a search
can be resumed from a checkpoint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Generic, TypedDict, TypeVar, Unpack

import numpy as np
from tqdm.auto import tqdm

from pgmpy_latent.em.fit import Fit, Objective, fit, fit_groups, narrowing_stages
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.checkpoint import Checkpoint, HistoryEntry, Saved, State, check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, time_left

#: Share of a time limit that is kept for the last EM: a search that is not over by then ends, and its model is fitted.
LAST_SHARE = 0.1


Model = TypeVar("Model", bound=LatentTree | LatentNetwork | TreeMixture | GaussianTree)


@dataclass(frozen=True)
class Outcome(Generic[Model]):
    """Result of a search.

    Attributes
    ----------
    tree : LatentTree or LatentNetwork
        The best model.
    score, log_likelihood : float
        Of the best model; larger is better.
    history : list of HistoryEntry
        One per accepted step.
    stopped : str or None
        ``"time_limit"``, ``"interrupted"``, or None if the search ended by itself.
    not_needed : tuple
        Hidden variables that were left out in the end, because they carried nothing.
    memory : dataclass
        The memory of the policy in the end.
    remaining_gain : float
        Log-likelihood that the last EM left to gain, by extrapolation, because its time or its iterations were up; 0
        if it came to its end.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> Outcome(tree, score=-2.0, log_likelihood=-1.4, history=[]).stopped is None
    True
    """

    tree: Model
    score: float
    log_likelihood: float
    history: list[HistoryEntry]
    stopped: str | None = None
    not_needed: tuple[Hashable, ...] = ()
    memory: Any = None
    remaining_gain: float = 0.0


class FitOptions(TypedDict, total=False):
    """Options of :meth:`Search.fit`, all of them optional.

    ``first`` says that an interrupt does not end the search: there is nothing better to return than what this fit has
    reached. The others are those of :func:`pgmpy_latent.em.fit.fit`, with the settings of the search as defaults.
    """

    first: bool
    prior: float | np.ndarray
    free: np.ndarray | None
    max_iter: int
    atol: float
    narrowing: float | None
    polish: bool
    check: bool
    retry: bool
    target: float
    n_jobs: int | None


@dataclass(frozen=True)
class Settings:
    """How EM runs in a search; see :func:`pgmpy_latent.em.fit.fit`.

    Attributes
    ----------
    prior : float
        Dirichlet pseudo-count of every table entry.
    tol, search_tol : float
        Where EM stops: for the final model, and for candidates.
    max_iter, search_iter : int
        Most iterations of a start: for the final model, and for candidates.
    stop : {"remaining", "last_step"}
        What the tolerances bound.
    accelerate : bool
        Whether EM leaps.

    Examples
    --------
    >>> Settings(tol=1e-4).last_fit["atol"]
    0.0001
    """

    prior: float = 0.0
    tol: float = 1e-3
    search_tol: float = 0.1
    max_iter: int = 10_000
    search_iter: int = 300
    stop: str = "remaining"
    accelerate: bool = True

    @property
    def last_fit(self) -> FitOptions:
        """How EM runs for the final model."""
        return {"first": True, "atol": self.tol, "max_iter": self.max_iter, "polish": True, "retry": True}


@dataclass(frozen=True)
class Step:
    """Result of one step of a policy.

    Attributes
    ----------
    state : State
        The next state.
    operator : str, optional
        The operator that led to the new model; None if no model was accepted.
    target : hashable
        The variable or variables that changed.
    entries : tuple of HistoryEntry
        Entries of the history, one for each model, from a policy that accepts many models at once because building
        a tree for each would take longer than finding them.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> step = Step(State(tree, score=-2.0, log_likelihood=-1.4, step=1), "split", "H")
    >>> step.operator, step.state.score
    ('split', -2.0)
    """

    state: State
    operator: str | None = None
    target: Hashable = None
    entries: tuple[HistoryEntry, ...] = ()


class Search:
    """The driver of a search.

    Parameters
    ----------
    settings : Settings
        Of EM.
    random_state : int, optional
        Seeds are keyed by step and candidate, never counted: ``seed(step, candidate)`` gives the same whatever was
        drawn before, by however many threads.
    time_limit : float, optional
        Seconds, of which the last tenth is kept for the EM of the model that the search has then.
    n_jobs : int, optional
        Workers that share candidates and starts; results do not depend on it.
    show_progress : bool
        Whether searches of more than two seconds show a bar.
    title : str
        Written before the bar.
    checkpoint : Checkpoint, optional
        Receives every new state with the history so far; may supply a search to resume.
    outer_clock : Clock, optional
        Clock of a computation that this search is part of, and that may be cancelled.

    Examples
    --------
    >>> from dataclasses import replace
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> def advance(state):
    ...     return Step(replace(state, finished=True, score=-1.0), "toss", "x")
    >>> outcome = Search(Settings()).run(lambda: State(tree, -2.0, -2.0), advance)
    >>> outcome.score, [entry.operator for entry in outcome.history]
    (-1.0, ['start', 'toss'])
    """

    def __init__(
        self,
        settings: Settings,
        *,
        random_state: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        show_progress: bool = False,
        title: str = "search",
        checkpoint: Checkpoint | None = None,
        outer_clock: Clock | None = None,
    ):
        self.settings = settings
        entropy = np.random.SeedSequence(random_state).entropy
        if not isinstance(entropy, int):
            raise TypeError(f"random_state is {random_state!r}; give a whole number, or None")
        self.entropy = entropy
        self.n_jobs = n_jobs
        parallel.n_workers(n_jobs)  # raises if there are no workers
        self.show_progress = show_progress
        self.title = title
        self.checkpoint = checkpoint
        self.saved = None if checkpoint is None else checkpoint.resume(self.entropy, random_state is not None)
        if self.saved is not None:
            self.entropy = self.saved.entropy
        is_watched = checkpoint is not None or show_progress
        self.clock = Clock(time_limit, LAST_SHARE, self._between_checks if is_watched else None, outer_clock)
        self.remaining_gain = 0.0
        self._bar = tqdm(disable=True)

    @property
    def n_workers(self) -> int:
        """How many candidates are worked on at once."""
        return parallel.n_workers(self.n_jobs)

    @property
    def stopped(self) -> str | None:
        """Why the search stopped early: ``"time_limit"``, ``"interrupted"``, or None."""
        return self.clock.stopped

    def __getstate__(self) -> dict:
        """Return the state for a worker, which works alone and writes no checkpoint."""
        alone = {"n_jobs": 1, "checkpoint": None, "saved": None, "show_progress": False}
        return {**{name: value for name, value in vars(self).items() if name != "_bar"}, **alone}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, _bar=tqdm(disable=True))

    def part(self) -> Search:
        """Return a search that is a part of this one: the same settings, seeds, clock and workers; no checkpoint."""
        part = object.__new__(Search)
        vars(part).update(vars(self), checkpoint=None, saved=None, show_progress=False, _bar=tqdm(disable=True))
        return part

    def seed(self, *key: int) -> np.random.SeedSequence:
        """Return the seed of a step, a candidate, and whatever else tells draws apart."""
        return np.random.SeedSequence(self.entropy, spawn_key=key)

    def tick(self) -> None:
        """Raise TimeLimitReached when the time is up."""
        self.clock.check()

    def _between_checks(self) -> None:
        """Write the checkpoint if it is due, and let the bar show that time passes."""
        if self.checkpoint is not None:
            self.checkpoint.tend()
        if threading.current_thread() is threading.main_thread():
            self._redraw()

    def fit(self, engine: Engine | Objective, starts: np.ndarray, **options: Unpack[FitOptions]) -> Fit:
        """Run EM with the settings of this search: those for candidates, unless options say otherwise."""
        settings = self.settings
        is_first, polish = options.get("first", False), options.get("polish", False)
        result = fit(
            engine,
            starts,
            prior=options.get("prior", settings.prior),
            free=options.get("free"),
            max_iter=options.get("max_iter", min(settings.search_iter, settings.max_iter)),
            atol=options.get("atol", max(settings.search_tol, settings.tol)),
            narrowing=options.get("narrowing"),
            accelerate=settings.accelerate,
            stop=settings.stop,
            polish=polish,
            check=options.get("check", True),
            retry=options.get("retry", False),
            target=options.get("target", -np.inf),
            n_jobs=options.get("n_jobs", 1),
            clock=self.clock,
        )
        if is_first or polish:
            self.remaining_gain = 0.0 if result.converged else result.remaining_gain
        if result.interrupted:
            self.note_interrupt()
            if not is_first:
                raise self.clock.stop_signal()
        return result

    def fit_groups(
        self,
        engine: Engine,
        starts: np.ndarray,
        groups: np.ndarray,
        *,
        narrowing: float,
        max_iter: int,
        atol: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run EM for many small problems at once, each with as many starts, without a prior.

        Returns
        -------
        tables : array, shape (n_problems, size)
        log_likelihoods : array, shape (n_problems,)
        """
        self.tick()
        stages = narrowing_stages(len(starts) // engine.n_weightings, narrowing)
        return fit_groups(engine, starts, groups, max_iter=max_iter, atol=atol, stages=stages)

    def map(self, function: Callable, items: Sequence) -> list:
        """Apply a function to independent candidates that the workers share; results come in the order of the items.

        With process workers, the object that a method is bound to must be picklable.
        """
        return parallel.mapped(function, items, self.n_jobs, self.clock)

    @property
    def going_on(self) -> AbstractContextManager:
        """A context in which errors of a resumed search name its file."""
        return nullcontext() if self.saved is None or self.checkpoint is None else self.checkpoint.resuming()

    def run(
        self,
        start: Callable[[], State],
        advance: Callable[[State], Step],
        check: Callable[[State], None] = lambda state: None,
        finish: Callable[[State], Step] | None = None,
    ) -> Outcome:
        """Advance until the search ends, and return the best model.

        Parameters
        ----------
        start : callable
            Makes the state to begin with; not called if the checkpoint holds a search, which goes on where it was.
        advance : callable
            The policy: takes a state, returns a :class:`Step`.
        check : callable
            Raises if a state of a checkpoint does not fit the table.
        finish : callable, optional
            Fits the model of a state to its end. Called when a time limit stopped the search, in the time that is left.
        """
        if self.saved is None:
            state = start()
            history = [self._entry(state, "start", None)]
        else:
            state, history = self._resumed(self.saved, check)
        is_whole = self.stopped is None  # an interrupt may cut a step short
        with (
            tqdm(
                disable=not self.show_progress, delay=PROGRESS_DELAY, unit=" steps", desc=self.title, leave=False
            ) as self._bar,
            self.going_on,
        ):
            try:
                while not state.finished and self.stopped is None:
                    self._save(state, history)
                    self.tick()  # a policy that has nothing left to try does no EM
                    step = advance(state)
                    is_whole = self.stopped is None
                    state = step.state
                    history.extend(step.entries)
                    if step.operator is not None:
                        history.append(self._entry(state, step.operator, step.target))
                    n_accepted = len(step.entries) + (step.operator is not None)
                    last, phase = history[-1].operator, getattr(state.memory, "phase", None)
                    self.show(last if phase is None else f"{phase} (last: {last})", state, n_accepted)
            except STOP_SIGNALS as stop:
                self.note_interrupt(stop)
        if is_whole:
            self._save(state, history, last=True)
        elif self.checkpoint is not None:  # a resumed search begins the step that was cut short anew
            self.checkpoint.tend(now=True)
        if self.stopped is not None and not state.finished:
            self.remaining_gain = np.inf
        if self.stopped == "time_limit" and finish is not None:
            state, history = self._finished(state, finish, history)
        return Outcome(
            state.tree,
            state.score,
            state.log_likelihood,
            history,
            self.stopped,
            memory=state.memory,
            remaining_gain=self.remaining_gain,
        )

    def _resumed(self, saved: Saved, check: Callable[[State], None]) -> tuple[State, list[HistoryEntry]]:
        """Return the state and the history of a checkpoint, after they were checked."""
        state, history = saved.state, list(saved.history)
        with nullcontext() if self.checkpoint is None else self.checkpoint.checking():
            _check_end(state, history)
            check(state)
        self.clock.earlier = history[-1].seconds  # the time limit is that of this run
        return state, history

    def _finished(
        self, state: State, finish: Callable[[State], Step], history: list[HistoryEntry]
    ) -> tuple[State, list[HistoryEntry]]:
        """Fit the last model in the time that is reserved for it, and update its entry of the history.

        The checkpoint stays as it was, so that the search can be resumed from there.
        """
        self.clock.use_reserve()
        try:
            new = finish(state).state
        except STOP_SIGNALS:
            return state, history
        last = history[-1]
        return new, [*history[:-1], replace(self._entry(new, last.operator, last.target), step=last.step)]

    def checking(self) -> AbstractContextManager:
        """Return a context in which any error is reported as damage of the checkpoint."""
        return nullcontext() if self.checkpoint is None else self.checkpoint.checking()

    def keep_result(self, outcome: Outcome, memory: object) -> None:
        """Write what was made of the model after the search, as part of its memory, into the checkpoint."""
        if self.checkpoint is not None and self.stopped is None:
            step = outcome.history[-1].step
            state = State(outcome.tree, outcome.score, outcome.log_likelihood, step, memory, True)
            self.checkpoint.keep(state, outcome.history, last=True)

    def note_interrupt(self, stop: BaseException | None = None) -> None:
        """End the search after this step; see :meth:`~pgmpy_latent.runtime.clock.Clock.note_stop`."""
        self.clock.note_stop(stop)

    def _save(self, state: State, history: list[HistoryEntry], last: bool = False) -> None:
        known = self.saved is not None and state is self.saved.state  # the file holds it, and stays as it is
        if self.checkpoint is not None and not known:
            self.checkpoint.keep(state, history, last)

    def _entry(self, state: State, operator: str, target: Hashable) -> HistoryEntry:
        return self.entry(state.step, operator, target, state.score, state.log_likelihood, state.tree.n_parameters)

    def entry(
        self, step: int, operator: str, target: Hashable, score: float, log_likelihood: float, n_parameters: int
    ) -> HistoryEntry:
        """Return the entry of the history for a model that was accepted now."""
        return HistoryEntry(step, operator, target, score, log_likelihood, n_parameters, self.clock.elapsed)

    def show(self, words: str, state: State, n_accepted: int = 0) -> None:
        """Write where the search is behind the bar, and move the bar on by the steps that were accepted."""
        left = time_left(self.clock.seconds_left)
        self._bar.set_postfix_str(f"{words}: score {state.score:.1f}, {_size_words(state.tree)}{left}", refresh=False)
        self._bar.update(n_accepted)
        if not n_accepted:
            self._redraw()

    def _redraw(self) -> None:
        """Let the bar show its words and the clock, although no step was accepted; once in a while."""
        bar, now = self._bar, time.time()
        if not bar.disable and now > bar.start_t + bar.delay and now > bar.last_print_t + bar.mininterval:
            bar.last_print_t = now
            bar.refresh()


def _size_words(tree) -> str:
    """Say how large a model is, for the bar."""
    if isinstance(tree, GaussianTree):
        return f"hidden {len(tree.latent_names)}"
    states = tree.cards[tree.latent].tolist()
    sizes = states[0] if len(states) == 1 else states if len(states) <= 12 else f"{sum(states)} in {len(states)}"
    return f"states {sizes}"


def _check_end(state: State, history: list[HistoryEntry]) -> None:
    """Raise if a history does not end with the step and the model of a state."""
    last = history[-1]
    if state.step != last.step:
        raise ValueError(f"it counts {state.step} steps, and its history {last.step}")
    check_number_again("score", state.score, last.score)
    check_number_again("log-likelihood", state.log_likelihood, last.log_likelihood)
    check_number_again("number of parameters", last.n_parameters, state.tree.n_parameters)
