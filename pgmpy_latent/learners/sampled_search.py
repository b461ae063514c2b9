"""Learning from tables that do not fit into memory: a search on a sample of the rows, EM on all of them.

A second search, on other rows of the same table, shows how much of the tree another sample would have shown.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent import scores
from pgmpy_latent.em.fit import LIFT, Fit, fit
from pgmpy_latent.em.shards import Holder, Shards, held_rows
from pgmpy_latent.exceptions import MemoryLimitError, SampledRowsWarning
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.splits import shared_splits
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.presets import SearchTuning
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.checkpoint import HistoryEntry
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.configured import settings_in_force
from pgmpy_latent.runtime.files import name_beside
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, evaluations, time_left, whole_seed
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables import chunks
from pgmpy_latent.tables.chunks import ShardedTable, encode_or_shard
from pgmpy_latent.tables.distinct_rows import BYTES_PER_CELL, BYTES_PER_ROW
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.row_sample import two_samples
from pgmpy_latent.tables.sparse import SparseRows

#: Rows of a sample; fewer if two samples of this size do not fit into memory.
SAMPLE_ROWS = 100_000
#: Share of a time limit that each of the two searches may use; EM on all rows has what is left.
SEARCH_SHARE = 0.4
#: Operator of the entry of the history that is about all rows; those before it are about the sample.
ALL_ROWS = "fit to all rows"
#: Scores that searches on a sample may maximise: those that follow from what is known about all rows.
SCORES_OF_ALL_ROWS: dict[str, Callable[[float, int, float], float]] = {
    "bic": scores.bic_from_parts,
    "aic": lambda log_likelihood, n_parameters, total_weight: log_likelihood - n_parameters,
}


def of_search(history: pd.DataFrame) -> pd.DataFrame:
    """Return the entries of a history that are about the table that was searched, and not about all of its rows.

    Examples
    --------
    >>> of_search(pd.DataFrame({"operator": ["start", ALL_ROWS], "score": [-20.0, -2000.0]}))
      operator  score
    0    start  -20.0
    """
    return history[history["operator"] != ALL_ROWS]


class LargeTable:
    """Reads a table in pieces for a learner; holds the rows in shards, and two samples, if it does not fit into memory.

    Parameters
    ----------
    learner : learner of latent trees
        Which is fitted.

    Attributes
    ----------
    table : ShardedTable or None
        The whole table; None if it fits into memory.
    stability : float or None
        How much of the trees of both samples is the same, by :func:`~pgmpy_latent.learners.splits.shared_splits`.
    second_tree : LatentTree or None
        The tree of the second sample.
    """

    def __init__(self, learner):
        self.learner = learner
        self.table: ShardedTable | None = None
        self.stability: float | None = None
        self.second_tree: LatentTree | None = None
        self._second: CategoricalData
        self._held: Holder
        self._seed: int | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error) -> None:
        self._open.close()

    def read(self, X, **options) -> CategoricalData:
        """Return the distinct rows of a table in pieces, or a sample of its rows if they do not fit into memory."""
        table = encode_or_shard(X, columns=None, memory_limit=chunks.MEMORY_LIMIT, **options)
        if isinstance(table, CategoricalData):
            return table
        _check_score(self.learner)
        self.table, self._seed = table, whole_seed(getattr(self.learner, "random_state", None))
        n_threads = parallel.n_threads(getattr(self.learner, "n_jobs", None))
        self._held = self._open.enter_context(held_rows(table, n_threads))
        most_rows = chunks.MEMORY_LIMIT / (BYTES_PER_CELL * len(table.columns) + BYTES_PER_ROW)
        n_rows = max(1, int(min(SAMPLE_ROWS, most_rows / 2)))
        # without a seed samples are always the same, so that a search can be resumed from its checkpoint
        first, self._second = two_samples(table, self._held.each, n_rows, self._seed or 0)
        return first

    def learn(self, first: CategoricalData | SparseRows) -> Outcome[LatentTree]:
        """Search on the first sample, fit the tree to all rows, and search on the second sample.

        The model comes first: if the time is up, or after Ctrl-C, the second search is what is missing.
        """
        table = _given(self.table)
        self._say_what_is_done(first)
        clock = Clock(getattr(self.learner, "time_limit", None))
        part = self._part(SEARCH_SHARE * clock.time_limit, self._seed)
        outcome = part._outcome(first)
        found = {name: value for name, value in vars(part).items() if name.endswith("_")}  # such as HLTA's levels_
        vars(self.learner).update(found)
        search_seconds = clock.elapsed
        fitted = _AllRows(self.learner, table, self._held).fitted(outcome, clock, clock.seconds_left - search_seconds)
        if fitted.stopped != "interrupted":
            self._search_again(outcome.tree, min(SEARCH_SHARE * clock.time_limit, clock.seconds_left))
        return fitted

    def _search_again(self, tree: LatentTree, seconds: float) -> None:
        """Search on the second sample, and compare its tree."""
        if seconds <= 0:
            warn("the time limit left no time for a second search: stability_ is not known", ConvergenceWarning)
            return
        again = self._part(seconds, self._seed)
        if self._seed is not None:
            again.random_state = int(np.random.SeedSequence(self._seed, spawn_key=(1,)).generate_state(1)[0])
        if getattr(again, "checkpoint", None) is not None:
            path = Path(again.checkpoint)
            again.checkpoint = path.with_name(name_beside(path.name, ".second"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say about the table was said at the first search
            outcome = again._outcome(self._second)
        if outcome.stopped == "interrupted":  # what it has found by then says little
            warn("Ctrl-C stopped the second search: stability_ is not known, the model is whole", ConvergenceWarning)
            return
        self.second_tree = outcome.tree
        self.stability = shared_splits(tree, outcome.tree)

    def _part(self, seconds: float, seed: int | None):
        """Return a learner with the settings of this one, for one of the searches."""
        part = copy.copy(self.learner)
        if np.isfinite(seconds):
            part.time_limit = seconds
        if seed is not None:
            part.random_state = seed
        return part

    def _say_what_is_done(self, first: CategoricalData | SparseRows) -> None:
        table = _given(self.table)
        name = type(self.learner).__name__
        warn(
            f"the distinct rows of the table take more than {chunks.MEMORY_LIMIT:g} bytes. {name} searches on a sample "
            f"of {first.n_rows:,} of its {table.total_weight:,.0f} rows and fits the tables of the tree that it finds "
            f"to all rows; a second search, on {self._second.n_rows:,} other rows, says how stable the tree is "
            "(stability_). To search on all rows, leave out columns, or allow more memory: "
            f"{name}(...).fit(encode_chunks(X, memory_limit=...)).",
            SampledRowsWarning,
        )


def _given(table: ShardedTable | None) -> ShardedTable:
    assert table is not None, "the table fits into memory"
    return table


def _check_score(learner) -> None:
    """Raise if a learner maximises a score that cannot be computed for all rows."""
    score = settings_in_force(learner).get("scoring_method", "bic")
    if score not in SCORES_OF_ALL_ROWS:
        raise MemoryLimitError(
            f"scoring_method is {score!r}, and the distinct rows of the table do not fit into memory: its value for "
            "all rows is not known. Use 'bic' or 'aic', or allow more memory: "
            "fit(encode_chunks(X, memory_limit=...))"
        )


@dataclass(frozen=True)
class _AllRows:
    """All rows of a table, and the learner whose settings EM on them has."""

    learner: Any
    table: ShardedTable
    held: Holder

    def fitted(self, outcome: Outcome[LatentTree], clock: Clock, seconds: float) -> Outcome[LatentTree]:
        """Fit the tables of a tree that was found on a sample to all rows, within some seconds."""
        tree = outcome.tree
        engine = Shards(self.table, self.held, (tree.names, tree.parents, tree.cards)).engine
        start = _without_zeros(engine.layout.pack(tree.tables), engine.layout)
        own = Clock(max(0.0, seconds), outer=getattr(self.learner, "_outer_clock", None))
        result = self._em(engine, start, own, is_short=outcome.stopped == "interrupted")
        stopped = outcome.stopped
        if result.interrupted and stopped is None:
            stopped = "time_limit" if own.seconds_left <= 0 else "interrupted"
        tree = tree.with_tables(engine.layout.unpack(result.tables))
        log_likelihood = float(result.log_likelihood)
        method = settings_in_force(self.learner).get("scoring_method", "bic")
        score = SCORES_OF_ALL_ROWS[method](log_likelihood, tree.n_parameters, self.table.total_weight)
        step = outcome.history[-1].step + 1 if outcome.history else 0
        entry = HistoryEntry(step, ALL_ROWS, None, score, log_likelihood, tree.n_parameters, clock.elapsed)
        return replace(
            outcome,
            tree=tree,
            score=score,
            log_likelihood=log_likelihood,
            history=[*outcome.history, entry],
            stopped=stopped,
            remaining_gain=0.0 if result.converged else result.remaining_gain,
        )

    def _em(self, engine, start: np.ndarray, clock: Clock, *, is_short: bool) -> Fit:
        """Run EM with the settings of the learner; a single step of it if nobody wants to wait."""
        default, settings = SearchTuning(), settings_in_force(self.learner)

        def setting(name: str):
            value = settings.get(name)
            return getattr(default, name) if value is None else value

        shown = getattr(self.learner, "show_progress", False)
        with tqdm(disable=not shown, delay=PROGRESS_DELAY, unit="it", desc="EM on all rows", leave=False) as bar:
            return fit(
                engine,
                start,
                prior=float(settings.get("prior") or 0.0),
                max_iter=2 if is_short else evaluations(setting("max_iter")),
                atol=float(setting("tol")),
                stop=setting("stop"),
                accelerate=bool(setting("accelerate")),
                polish=not is_short,
                retry=not is_short,
                clock=clock,
                report=partial(_show, bar, clock),
            )


def _show(bar: tqdm, clock: Clock, iteration: int, value: float) -> None:
    if not bar.disable:
        bar.update(iteration - bar.n)
        bar.set_postfix_str(f"log-likelihood {value:.4f}{time_left(clock.seconds_left)}", refresh=False)


def _without_zeros(tables: np.ndarray, layout: Layout) -> np.ndarray:
    """Return tables under which every row is possible, also one with a category that the sample does not have."""
    lifted = np.maximum(tables, LIFT)
    return lifted / layout.row_sums(lifted)
