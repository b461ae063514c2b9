"""Refinement: a learned tree grows where rows that are held out become likelier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import presets
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.judged import JudgedFit, fit_judged
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows, smoothed_tables
from pgmpy_latent.exceptions import NothingGrewWarning
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.queries import check_is_tree, engine_for, model_and_data, model_of
from pgmpy_latent.learners.density.growth import shaken, weighty_states, with_copies, with_hidden_copies
from pgmpy_latent.learners.held_out import validation_table
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.canonical import presentable
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.settings import RandomState, check_number, entropy_of, number
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import Fold, held_out_share
from pgmpy_latent.tables.survey import Survey

#: How EM runs, and which smoothing is tried: as in HiddenChowLiu.
TUNING = presets.HIDDEN_CHOW_LIU
#: How far apart the copies of a state begin.
SHAKE = 0.3
#: What takes the place of zeros before EM, such as those of a column below its hidden copy.
FROM_ZERO = 0.05
#: A state must have the weight of so many rows to be split: first of all, then of few states only.
LEAST_ROWS = (20.0, 200.0)
#: How often splits are drawn anew as long as none has helped: with one draw, chance could end everything.
FIRST_DRAWS = 8


def refine(
    model,
    X,
    X_valid=None,
    *,
    max_states: int = 64,
    validation_share: float = 0.1,
    sample_weight=None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    **survey: Unpack[Survey],
) -> LatentTree:
    """Return a learned tree that was grown for prediction, where rows that are held out become likelier.

    First its tables are smoothed, and EM follows as long as held-out rows become likelier. Then a hidden variable takes
    the place of every column that has several neighbours, and states are split in two, round by round: all that have
    the weight of 20 rows or, if that does not help, of 200. EM on the whole tree follows each time; what does not make
    held-out rows likelier is undone. As long as no split has helped, they are drawn anew, up to eight times; if none
    does, a warning says that the tree has kept its shape. In the end other values of the smoothing are tried.

    Parameters
    ----------
    model : LatentTree or fitted learner of one
        What was learned; it is not changed.
    X : DataFrame, array or CategoricalData
        The rows to learn from.
    X_valid : DataFrame, array or CategoricalData, optional
        Rows to validate with; tables are then fitted to ``X`` alone. By default a share of the rows of ``X`` is held
        out, and the final tables are fitted to all of them.
    max_states : int
        Most states of a hidden variable; those with more are not split.
    validation_share : float
        Share of the rows that are held out if there is no ``X_valid``.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows of ``X``, or the name of the column that holds them.
    time_limit : float, optional
        Seconds after which the best tree so far is returned, with a warning; as after Ctrl-C.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    random_state : int or Generator, optional
        For the rows that are held out and for splits; same seed, same tree.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    LatentTree
        The held-out rows are at least as likely as under the tree with smoothed tables (see :func:`smoothed`).
        :func:`to_pgmpy` makes a network of it.

    See Also
    --------
    HiddenChowLiu : Learns a tree for prediction from scratch, which is mostly the better way.
    smoothed : The same tree with tables that rule nothing out.

    Notes
    -----
    Hidden variables of the result are for prediction: to interpret a tree, use the one that was learned. Where hidden
    variables rule out states of each other, as in mixtures of trees, they still do.

    Examples
    --------
    >>> from pgmpy_latent import Baseline, datasets, log_likelihood, refine, smoothed
    >>> survey = datasets.load_anes96().iloc[:, :6]
    >>> train, valid = survey.iloc[:700], survey.iloc[700:]
    >>> learner = Baseline("chow_liu").fit(train)
    >>> refined = refine(learner, train, valid, random_state=0)
    >>> bool(log_likelihood(refined, valid) > log_likelihood(smoothed(learner, train), valid))
    True
    """
    check_is_tree(model_of(model))
    check_number("max_states", max_states, 1, whole=True)
    number(above=0, below=1)("validation_share", validation_share)
    number(above=0, optional=True)("time_limit", time_limit)
    tree, data = model_and_data(model, X, sample_weight=sample_weight, **survey)
    assert isinstance(tree, LatentTree), "that was checked"
    entropy = entropy_of(random_state)
    if X_valid is not None:
        part = Fold(data, validation_table(data, X_valid))
    else:
        part = held_out_share(data, float(validation_share), np.random.SeedSequence(entropy, spawn_key=(0,)))
    refinement = Refinement(part, entropy, int(max_states), n_jobs, Clock(time_limit))
    with one_blas_thread():
        found = refinement.run(tree)
        if X_valid is None and refinement.clock.stopped is None:
            found = refinement.with_all_rows(found, data)
    if refinement.clock.stopped is not None:
        what = "the time limit" if refinement.clock.stopped == "time_limit" else "Ctrl-C"
        warn(f"{what} ended the refinement early; give it more time to grow further", ConvergenceWarning)
    elif found.tree.n_nodes == tree.n_nodes and found.tree.cards.sum() == tree.cards.sum():
        warn(
            "no further hidden variable or state made the held-out rows likelier: the tree has kept its shape, "
            "and only its tables were fitted; try another random_state or a larger validation_share, give X_valid, or "
            "learn from scratch with HiddenChowLiu",
            NothingGrewWarning,
        )
    return presentable(found.tree, tree.missing, tree.observed_names)


@dataclass(frozen=True)
class Refined:
    """A tree, the smoothing of its tables, and the log-likelihood of the held-out rows."""

    tree: LatentTree
    smoothing: float
    verdict: float


class Refinement:
    """Grows a tree, judged by held-out rows.

    Parameters
    ----------
    part : Fold
        Rows to learn from, and rows that judge.
    entropy : int
        Of all seeds.
    max_states : int
        Most states of a hidden variable.
    n_jobs : int, optional
        Threads.
    clock : Clock
        Ends the refinement; what was best until then is the result.
    """

    def __init__(self, part: Fold, entropy: int, max_states: int, n_jobs: int | None, clock: Clock):
        self.part, self.entropy, self.max_states, self.n_jobs, self.clock = part, entropy, max_states, n_jobs, clock

    def run(self, tree: LatentTree) -> Refined:
        """Return the best tree that was found; never one that is worse than the smoothed one."""
        best = self.smoothed(tree)
        try:
            best = self.better(best, _with_zeros_between_hidden(best.tree, tree), best.smoothing)
            best = self._grown(best)
            return self._smoothing(best)
        except _Stopped as stop:
            return stop.best

    def smoothed(self, tree: LatentTree) -> Refined:
        """Return the tree with smoothed tables, learned without the held-out rows."""
        first = smoothed_tables(tree, self.part.learn)
        return Refined(first, TUNING.first_smoothing, _log_likelihood(first, self.part.held_out))

    def better(self, best: Refined, start: LatentTree, smoothing: float) -> Refined:
        """Return what EM makes of a tree, or the best so far if held-out rows prefer it."""
        found = self._fitted(start, smoothing, judges_start=smoothing == best.smoothing)
        tree = start.with_tables(_layout(start).unpack(found.tables))
        if found.verdict > best.verdict:
            best = Refined(tree, smoothing, found.verdict)
        if found.interrupted:
            self.clock.note_stop()
            raise _Stopped(best)
        return best

    def _fitted(self, start: LatentTree, smoothing: float, judges_start: bool) -> JudgedFit:
        engine, judging = (engine_for(start, rows) for rows in self.part)
        prior, tables = _pseudo_counts(start, smoothing), engine.layout.pack(start.tables)
        tables = np.where((tables == 0) & (prior > 0), FROM_ZERO, tables)
        return fit_judged(
            engine,
            (tables / engine.layout.row_sums(tables))[None],
            judging.log_likelihood,
            prior=prior,
            judges_start=judges_start,
            interval=TUNING.interval,
            patience=TUNING.patience,
            rise=TUNING.rise * self.part.held_out.total_weight,
            max_iter=TUNING.max_iter,
            atol=TUNING.tol,
            n_jobs=self.n_jobs,
            clock=self.clock,
        )

    def _grown(self, best: Refined) -> Refined:
        """Split states round by round, until neither many nor few help; draw those of the first round several times."""
        n_rounds, n_draws = 0, FIRST_DRAWS
        while True:
            before = best
            wider = with_hidden_copies(best.tree)
            for least in LEAST_ROWS * n_draws:
                copies = self._copies(wider, least)
                if copies:
                    rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(1, n_rounds)))
                    best = self.better(best, shaken(with_copies(wider, copies), SHAKE, rng), best.smoothing)
                n_rounds += 1
                if best is not before:
                    break
            if best is before:
                return best
            n_draws = 1

    def _copies(self, tree: LatentTree, least: float) -> dict[int, np.ndarray]:
        """Return how often each state of hidden nodes shall be there; only nodes that are split."""
        weighty = weighty_states(tree, self.part.learn.total_weight, least)
        return {
            node: 1 + which
            for node, which in weighty.items()
            if which.any() and len(which) + which.sum() <= self.max_states
        }

    def _smoothing(self, best: Refined) -> Refined:
        """Try less smoothing and more, each as long as it helps."""
        values = sorted(TUNING.smoothings)
        for step in (-1, 1):
            while True:
                at = values.index(best.smoothing) + step
                if not 0 <= at < len(values):
                    break
                before, best = best, self.better(best, best.tree, values[at])
                if best is before:
                    break
        return best

    def with_all_rows(self, best: Refined, data: CategoricalData) -> Refined:
        """Let tables follow all rows, by a few iterations of EM, unless the held-out rows then are less likely."""
        engine = engine_for(best.tree, data)
        tables = engine.layout.pack(best.tree.tables)
        prior = _pseudo_counts(best.tree, best.smoothing)
        found = fit(engine, tables, prior=prior, max_iter=TUNING.last_iter, check=False, clock=self.clock)
        if found.interrupted:
            self.clock.note_stop()
        tree = best.tree.with_tables(engine.layout.unpack(found.tables))
        verdict = _log_likelihood(tree, self.part.held_out)
        return replace(best, tree=tree, verdict=verdict) if verdict >= best.verdict else best


class _Stopped(Exception):  # noqa: N818 - not an error: the best tree so far is returned
    """Ctrl-C or the time limit ended EM."""

    def __init__(self, best: Refined):
        super().__init__()
        self.best = best


def _layout(tree: LatentTree) -> Layout:
    return Layout([table.shape for table in tree.tables])


def _log_likelihood(tree: LatentTree, data: CategoricalData) -> float:
    engine = engine_for(tree, data)
    return float(engine.log_likelihood(engine.layout.pack(tree.tables)))


def _pseudo_counts(tree: LatentTree, smoothing: float) -> np.ndarray:
    """Return pseudo-counts of all table entries but zeros between hidden variables, which stay."""
    layout = _layout(tree)
    possible = [
        np.ones(table.shape) if not _is_between_hidden(tree, at) else table > 0 for at, table in enumerate(tree.tables)
    ]
    return pseudo_counts_of_rows(layout, smoothing, layout.pack(possible) > 0)


def _is_between_hidden(tree: LatentTree, node: int) -> bool:
    return bool(tree.latent[node] and tree.parent[node] >= 0 and tree.latent[tree.parent[node]])


def _with_zeros_between_hidden(tree: LatentTree, given: LatentTree) -> LatentTree:
    """Return a smoothed tree in which hidden variables rule out what they ruled out in the tree that was given."""
    tables = []
    for node, (table, before) in enumerate(zip(tree.tables, given.tables, strict=True)):
        kept = table * (before > 0) if _is_between_hidden(tree, node) else table
        tables.append(kept / kept.sum(axis=1, keepdims=True))
    return tree.with_tables(tables)
