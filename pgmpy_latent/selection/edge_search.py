"""Add edges between the columns of a latent class model, one by one, as long as BIC rises."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics.direct_effects import class_model, edges_to_add
from pgmpy_latent.diagnostics.score_test import ScoreTest, ScoreTests
from pgmpy_latent.em.restrictions import refuse_restricted
from pgmpy_latent.inference.queries import engine_for, model_and_data
from pgmpy_latent.learners.memo import Memo, memo_of_call
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.settings import (
    PROGRESS_DELAY,
    check_n_jobs,
    check_number,
    check_time_limit,
    time_left,
)
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.scores.information import bic_from_parts, penalty_per_parameter
from pgmpy_latent.selection.added_edges import TRIED, EdgeFit, by_size, fitted_with_edge
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey, WeightKind

#: Columns of the history, and their types.
HISTORY = {
    "parent": object, "child": object, "log_likelihood": "float64", "n_parameters": "int64", "bic": "float64",
    "minus_2_bic": "float64", "statistic": "float64", "df": "Int64", "p_value": "float64", "seconds": "float64",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class DirectEffects:
    """A latent class model with edges between columns, and how it was found; printed, it says so in words.

    Attributes
    ----------
    network_ : LatentNetwork
        The model.
    history_ : DataFrame
        A row per step; the first is the model without edges. See :func:`add_direct_effects`.
    edges : list of pairs of names
        The edges that were added, in their order: (parent, child).
    reason : str
        What the edges are worth, and why there are no more.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts, add_direct_effects, datasets
    >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR", "educ"]]
    >>> add_direct_effects(RandomStarts(n_states=2, random_state=0).fit(survey), survey, show_progress=False)
    No edge between two columns raises BIC, -5176.9 without.
    """

    network_: LatentNetwork
    history_: pd.DataFrame
    edges: list[tuple[Hashable, Hashable]]
    reason: str

    @property
    def model_(self):
        """The model as a network of pgmpy."""
        return to_pgmpy(self.network_)

    @property
    def log_likelihood_(self) -> float:
        """Of the model."""
        return float(self.history_["log_likelihood"].iloc[-1])

    @property
    def bic_(self) -> float:
        """Of the model; larger is better."""
        return float(self.history_["bic"].iloc[-1])

    def __repr__(self) -> str:
        return self.reason


def add_direct_effects(
    learner,
    X,
    *,
    max_edges: int | None = None,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    n_starts: int = 4,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike | None = None,
    show_progress: bool = True,
) -> DirectEffects:
    """Add edges between the columns of a latent class model, as long as BIC rises.

    Two columns that go together for a reason of their own, such as a common wording, otherwise ask for a class that
    nobody can name.

    Parameters
    ----------
    learner : LatentTree, LatentNetwork or fitted learner
        A latent class model, fitted to ``X``; its number of classes stays.
    X : DataFrame, array or CategoricalData
        The table.
    max_edges : int, optional
        Most edges to add.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. By default all are as the
        learner was fitted.
    n_starts : int
        Number of random starts of every model that is accepted, beside the tables of the model before.
    random_state : int, optional
        Same seed, same result.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    time_limit : float, optional
        Seconds, after which the edges so far are returned, with a warning. Ctrl-C does the same.
    checkpoint : path, optional
        A file for what is finished. The same call with the same file continues from there; see :class:`SplitMerge`.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    DirectEffects
        Its ``network_`` (for pgmpy ``model_``) is the model with the edges, and its ``history_`` has a row per step:
        ``parent``, ``child``, ``log_likelihood``, ``n_parameters``, ``bic``, ``minus_2_bic`` (BIC as
        other programs print it), the score test of the edge before it was added (``statistic``, ``df``, ``p_value``),
        and ``seconds``.

    See Also
    --------
    direct_effects : Test all edges.
    compare_classes : Its columns ``edge`` and ``edge_bic`` say what one edge is worth beside another class.

    Notes
    -----
    In every step all edges are tested by score tests. The three that promise the largest gain in BIC are fitted by EM,
    and the best of them is accepted if BIC rises. An edge has parameters of its own in every class: ``P(child | class,
    parent)``. Its direction means nothing: the edge turned around describes tables equally well. Every column gets at
    most one other column as a parent, which keeps probability tables small and missing cells cheap to sum out.

    Examples
    --------
    Every fourth answer to s is a copy of that to r.

    >>> from pgmpy_latent import LatentTree, RandomStarts, sample
    >>> names, item = list("pqrst"), [[0.9, 0.1], [0.2, 0.8]]
    >>> tree = LatentTree(["H", *names], [[0, 1], *[["no", "yes"]] * 5], [-1, *[0] * 5], [True, *[False] * 5],
    ...                   [[[0.5, 0.5]], *[item] * 5])
    >>> table = sample(tree, 1000, random_state=0)
    >>> table["s"] = table["r"].where(table.index % 4 == 0, table["s"])
    >>> found = add_direct_effects(RandomStarts(n_states=2, random_state=0).fit(table), table, show_progress=False)
    >>> found.edges, found.model_.check_model()
    ([('r', 's')], True)
    >>> print(found)
    1 edge between columns raises BIC by 3.7, to -2717.9: 'r' and 's'. No other edge raises it further.
    """
    check_number("max_edges", max_edges, 0, none=True, whole=True)
    check_number("n_starts", n_starts, 0, whole=True)
    check_time_limit(time_limit)
    check_n_jobs(n_jobs)
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    refuse_restricted(learner, "add_direct_effects")
    found, data = model_and_data(learner, X, sample_weight=sample_weight, **survey)
    network = class_model(found)
    given = getattr(learner, "prior", None)
    prior = 0.0 if given is None else float(given)
    stated = {"model": network, "max_edges": max_edges, "n_starts": n_starts, "prior": prior}
    memo, entropy = memo_of_call(checkpoint, "add_direct_effects", stated, data, random_state)
    search = _Search(data, prior, int(n_starts), entropy, n_jobs, Clock(time_limit), memo)
    with one_blas_thread(), memo.going_on:
        search.run(network, max_edges, show_progress)
    memo.tend(now=True)
    return search.result()


class _Search:
    """A greedy search: the steps so far, and the next one."""

    def __init__(
        self,
        data: CategoricalData,
        prior: float,
        n_starts: int,
        entropy: int,
        n_jobs: int | None,
        clock: Clock,
        memo: Memo,
    ):
        self.data, self.prior, self.n_starts, self.entropy, self.n_jobs = data, prior, n_starts, entropy, n_jobs
        self.clock, self.memo = clock, memo
        self.network: LatentNetwork
        self.rows: list[dict] = []
        self.why = "No other edge raises it further."

    def run(self, network: LatentNetwork, max_edges: int | None, show_progress: bool) -> None:
        """Add edges until none helps, there are enough, or time is up."""
        engine = engine_for(network, self.data)
        value = float(engine.log_likelihood(engine.layout.pack(network.tables)))
        self._keep(by_size(network), value, None, None)
        with tqdm(desc="edges", disable=not show_progress, delay=PROGRESS_DELAY, leave=False) as bar:
            while max_edges is None or len(self.rows) <= max_edges:
                try:
                    step = self._remembered_step()
                except STOP_SIGNALS as signal:
                    self.clock.note_stop(signal)
                    self._warn()
                    return
                if step is None:
                    break
                fit, test = step
                self._keep(fit.network, fit.log_likelihood, fit, test)
                bar.update()
                bar.set_postfix_str(f"BIC {fit.bic:.1f}{time_left(self.clock.seconds_left)}", refresh=False)
            else:
                self.why = f"The search ended at max_edges={max_edges}."
        self.memo.finish()

    def _remembered_step(self) -> tuple[EdgeFit, ScoreTest] | None:
        """Return the next step, from the memo if it has one."""
        name = f"step {len(self.rows)}"
        known = self.memo.recall(name, self._step_to_remember, check=self._check_again)
        if known is None:
            return None
        self.clock.earlier += max(known["seconds"] - self.clock.elapsed, 0.0)  # of the run that the memo comes from
        return known["fit"], ScoreTest(known["statistic"], known["df"])

    def _step_to_remember(self) -> dict | None:
        step = self._step()
        if step is None:
            return None
        fit, test = step
        return {"fit": fit, "statistic": test.statistic, "df": test.df, "seconds": self.clock.elapsed}

    def _check_again(self, known: dict | None) -> None:
        """Raise if a step of the memo is not one of this table."""
        if known is not None:
            network = known["fit"].network
            check_model_again(network, self.data.columns, self.data.state_names)
            engine = engine_for(network, self.data)
            value = float(engine.log_likelihood(engine.layout.pack(network.tables)))
            check_number_again("log-likelihood", known["fit"].log_likelihood, value)

    def _step(self) -> tuple[EdgeFit, ScoreTest] | None:
        """Return the best model with one edge more, and the score test of that edge; None if BIC does not rise."""
        tests = ScoreTests(self.network, self.data)
        found: dict[tuple[Hashable, Hashable], ScoreTest] = {}
        for edge in edges_to_add(self.network):
            self.clock.check()
            found[edge] = tests.edge(*edge)
        fits = [fitted_with_edge(self.network, self.data, edge, **self._options()) for edge in self._promising(found)]
        if not fits:
            return None
        best = max(fits, key=lambda fit: fit.bic)
        edge = (best.parent, best.child)
        if self.n_starts:
            spawn_key = (len(self.rows),)
            seeds = np.random.SeedSequence(self.entropy, spawn_key=spawn_key).spawn(self.n_starts)
            again = fitted_with_edge(self.network, self.data, edge, seeds=seeds, **self._options())
            best = max(best, again, key=lambda fit: fit.bic)
        return (best, found[edge]) if best.bic > self.rows[-1]["bic"] else None

    def _options(self) -> dict:
        return {"prior": self.prior, "n_jobs": self.n_jobs, "clock": self.clock}

    def _promising(self, found: dict[tuple[Hashable, Hashable], ScoreTest]) -> list[tuple[Hashable, Hashable]]:
        """Return the edges whose score test promises most: half its statistic, less what its parameters cost."""
        cost = penalty_per_parameter(self.data.total_weight)
        gains = {edge: test.statistic / 2 - cost * test.df for edge, test in found.items() if test.df}
        return sorted(gains, key=lambda edge: -gains[edge])[:TRIED]

    def _keep(self, network: LatentNetwork, value: float, fit: EdgeFit | None, test: ScoreTest | None) -> None:
        self.network = network
        bic = bic_from_parts(value, network.n_parameters, self.data.total_weight)
        row = {
            "parent": None if fit is None else fit.parent, "child": None if fit is None else fit.child,
            "log_likelihood": value, "n_parameters": network.n_parameters,
            "bic": bic, "minus_2_bic": -2 * bic,
            "statistic": np.nan if test is None else test.statistic, "df": None if test is None else test.df,
            "p_value": np.nan if test is None else test.p_value, "seconds": self.clock.elapsed,
        }  # fmt: skip
        self.rows.append(row)

    def _warn(self) -> None:
        why = "the time limit" if self.clock.stopped == "time_limit" else "Ctrl-C"
        self.why = f"{why[0].upper()}{why[1:]} ended the search."
        warn(
            f"{why} stopped the search for edges after {len(self.rows) - 1}; more may be worth it. Give more time, or "
            "begin with network_ of the result.",
            ConvergenceWarning,
        )

    def result(self) -> DirectEffects:
        history = pd.DataFrame(self.rows, columns=list(HISTORY)).astype(HISTORY)
        edges = [(row["parent"], row["child"]) for row in self.rows[1:]]
        return DirectEffects(self.network, history, edges, self._reason(edges))

    def _reason(self, edges: list[tuple[Hashable, Hashable]]) -> str:
        first, last = self.rows[0]["bic"], self.rows[-1]["bic"]
        if not edges:
            return f"No edge between two columns raises BIC, {first:.1f} without."
        named = ", ".join(f"{parent!r} and {child!r}" for parent, child in edges)
        one = len(edges) == 1
        return (
            f"{len(edges)} edge{'s' * (not one)} between columns raise{'s' * one} BIC by {last - first:.1f}, to "
            f"{last:.1f}: {named}. {self.why}"
        )
