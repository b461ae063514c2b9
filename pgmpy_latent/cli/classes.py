"""Latent class models with the number of classes that has the best BIC: the method of ``learn`` that is the default."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from tqdm.auto import tqdm

from pgmpy_latent import scores
from pgmpy_latent.cli.text import counted
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import StartInputs, StartRows, make_start
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.cardinality.random_starts import with_cards
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.learners.search_learner import SearchingLearner
from pgmpy_latent.learners.skeletons import one_state_tree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.checkpoint import HistoryEntry
from pgmpy_latent.runtime.clock import STOP_SIGNALS
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, number
from pgmpy_latent.tables.encode import CategoricalData


@dataclass(frozen=True)
class Candidate:
    """A fitted model with its score, and how many starts reached it."""

    n_classes: int
    tree: LatentTree
    log_likelihood: float
    n_parameters: int
    bic: float
    n_best: int
    n_starts: int
    n_iter: int
    converged: bool


class LatentClasses(SearchingLearner):
    """Learn a latent class model: EM from random starts for every number of classes, and the best BIC.

    The result is that of :class:`~pgmpy_latent.TreeEM` with the same seed. As a learner it can be asked and reported
    on as the other methods of the command line. Without a terminal, it prints its progress to stderr.

    Parameters
    ----------
    n_states : int, optional
        The number of classes; None tries all from 1 to ``max_states``.
    max_states : int
        Most classes to try.
    n_starts : int
        Random starts of every model.
    {shared}
    tuning : SearchTuning, optional
        When EM ends.

    Attributes
    ----------
    candidates_ : list of Candidate
        The models that were fitted to the end, by their numbers of classes.
    chosen_ : Candidate
        The best of them.

    Examples
    --------
    >>> from pgmpy_latent import datasets
    >>> survey = datasets.load_anes96().iloc[:, :4]
    >>> learner = LatentClasses(n_states=2, random_state=0).fit(survey)
    >>> learner.n_states_, learner.chosen_.n_best
    ({'H': 2}, 6)
    """

    _takes_numbers: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        "n_states": number(1, whole=True, optional=True),
        "n_starts": number(1, whole=True),
    }

    def __init__(
        self,
        *,
        n_states=None,
        max_states=8,
        n_starts=16,
        prior=None,
        tol=None,
        max_iter=None,
        n_jobs=None,
        random_state=None,
        time_limit=None,
        show_progress=True,
        tuning=None,
    ):
        self.n_states = n_states
        self.max_states = max_states
        self.n_starts = n_starts
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.time_limit = time_limit
        self.show_progress = show_progress
        self.tuning = tuning

    def _learn(self, data: CategoricalData) -> Outcome[LatentTree]:
        search = self._search(data)
        search.clock.use_reserve()  # every size is fitted to its end
        wanted = range(1, (self.max_states or 8) + 1) if self.n_states is None else [self.n_states]
        self.candidates_: list[Candidate] = []
        history: list[HistoryEntry] = []
        with tqdm(
            total=len(wanted), desc="classes", disable=not self.show_progress, delay=PROGRESS_DELAY, leave=False
        ) as bar:
            for n_classes in wanted:
                try:
                    candidate = self._candidate(data, n_classes, search, bar)
                except STOP_SIGNALS as stop:  # outside EM, which keeps what it has
                    search.note_interrupt(stop)
                if search.stopped is not None and self._nothing_more(search):
                    break  # a size that was not finished counts only if there is no other
                self.candidates_.append(candidate)
                score, log_likelihood, n = candidate.bic, candidate.log_likelihood, candidate.n_parameters
                history.append(search.entry(len(history), "fit", n_classes, score, log_likelihood, n))
                self._tell(candidate, bar)
                if search.stopped is not None:
                    break
        self.chosen_ = chosen = max(self.candidates_, key=lambda candidate: candidate.bic)
        left = 0.0 if chosen.converged else np.inf
        return Outcome(chosen.tree, chosen.bic, chosen.log_likelihood, history, search.stopped, remaining_gain=left)

    def _nothing_more(self, search: Search) -> bool:
        """Return whether a model was fitted already; raise if Ctrl-C came before the first one."""
        if not self.candidates_ and search.stopped == "interrupted":
            raise KeyboardInterrupt
        return bool(self.candidates_)

    def _candidate(self, data: CategoricalData, n_classes: int, search: Search, bar: tqdm) -> Candidate:
        shape = one_state_tree(None, data)
        shape = with_cards(shape, np.array([n_classes, *shape.cards[1:]]))
        engine = engine_for(shape, data)
        inputs = StartInputs(engine.layout, shape.parents, shape.cards, StartRows.of(data, shape.names))

        def report(iteration: int, value: float) -> None:
            bar.set_postfix_str(f"{counted(n_classes, 'class', 'es')}, log-likelihood {value:.1f}", refresh=False)
            bar.update(0)

        starts = [make_start("memberships", inputs, search.seed(start)) for start in range(self.n_starts)]
        fit = em.fit(
            engine,
            np.stack(starts),
            prior=search.settings.prior,
            max_iter=search.settings.max_iter,
            atol=search.settings.tol,
            retry=True,
            n_jobs=self.n_jobs,
            clock=search.clock if n_classes > 1 else None,  # one class takes a step or two
            report=report,
        )
        if fit.interrupted:
            search.note_interrupt()
        tree = shape.with_tables(engine.layout.unpack(fit.tables))
        size = tree.n_parameters
        return Candidate(
            n_classes,
            tree,
            fit.log_likelihood,
            size,
            scores.bic_from_parts(fit.log_likelihood, size, data.total_weight),
            fit.n_best,
            len(fit.final_objectives),
            fit.n_iter,
            fit.converged,
        )

    def _tell(self, found: Candidate, bar: tqdm) -> None:
        bar.update(1)
        if self.show_progress and not sys.stderr.isatty():
            print(f"{counted(found.n_classes, 'class', 'es')}: BIC {found.bic:.2f}", file=sys.stderr, flush=True)
