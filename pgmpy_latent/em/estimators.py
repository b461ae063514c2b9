"""EM as pgmpy parameter estimators: what they share, and TreeEM for networks in the shape of a forest."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.few_rows import warn_of_few_rows
from pgmpy_latent.em.inputs import RowsInMemory, RowsInShards, encoded_table, given_tables, opened_rows
from pgmpy_latent.em.resume import EMCheckpoint
from pgmpy_latent.em.starts import random_memberships, random_tables, uniform_tables
from pgmpy_latent.exceptions import DataError, DegenerateStateWarning, StateNameError
from pgmpy_latent.model.convert import to_cpds
from pgmpy_latent.model.network import LatentNetwork, as_tree, by_state, check_one_parent, topological_order
from pgmpy_latent.model.pgmpy_api import DAG, DiscreteParameterEstimator, TabularCPD
from pgmpy_latent.model.tree import DiscreteModel
from pgmpy_latent.operators import canonical_states, marginals
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import check_checkpoint
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.fingerprint import fingerprint_of
from pgmpy_latent.runtime.settings import (
    PROGRESS_DELAY,
    check_n_jobs,
    check_number,
    check_time_limit,
    time_left,
)
from pgmpy_latent.tables.chunks import MEMORY_LIMIT, ShardedTable
from pgmpy_latent.tables.columns import checked_states
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.missing import settled_columns
from pgmpy_latent.tables.suitable import warn_of_codes, warn_of_many_states
from pgmpy_latent.tables.survey import Survey, design_of_fit

#: A hidden state with a smaller share of the rows than this is empty.
EMPTY = 1e-6
#: Two hidden states whose children's tables differ by no more than this are the same.
SAME = 1e-4


class EMEstimator(DiscreteParameterEstimator):
    """What the estimators by EM have in common; see :class:`TreeEM` for the keywords."""

    _tags = {"supports_latent_variables": True, "supports_weighted_data": True}  # noqa: RUF012 - skbase merges these

    def __init__(
        self,
        state_names: dict | None = None,
        latent_card: dict | int | None = None,
        n_init: int = 16,
        max_iter: int = 10_000,
        atol: float = 1e-3,
        prior: float | None = None,
        init_cpds: dict[Hashable, TabularCPD] | str | None = None,
        seed: int | None = None,
        n_jobs: int | None = None,
        show_progress: bool = True,
        memory_limit: float | None = MEMORY_LIMIT,
        time_limit: float | None = None,
        checkpoint=None,
    ) -> None:
        self.latent_card = latent_card
        self.n_init = n_init
        self.max_iter = max_iter
        self.atol = atol
        self.prior = prior
        self.init_cpds = init_cpds
        self.seed = seed
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.memory_limit = memory_limit
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        super().__init__(state_names=state_names)

    def fit(
        self,
        model,
        data,
        sample_weight=None,
        *,
        weight_kind: str | None = None,
        strata=None,
        cluster=None,
        missing=None,
    ):
        """Fit the tables of a network to a table of data.

        Parameters
        ----------
        model : pgmpy.base.DAG or pgmpy.models.DiscreteBayesianNetwork
            The structure; hidden variables are its ``latents``. It is not changed.
        data : DataFrame, array, CategoricalData, or a table in pieces
            One column per observed variable; others are left aside. Missing cells are fine. A Parquet path, a pyarrow
            Dataset, a Dask DataFrame or an iterator of frames is read by :func:`pgmpy_latent.encode_chunks`; if its
            distinct rows exceed ``memory_limit``, EM runs on shards (not for iterators, which are gone once read).
        sample_weight : array, shape (n_rows,), optional
            Weights of the rows, by position: the index of a Series is not looked at; or the name of the column that
            holds them. Of a table in pieces, the name.
        weight_kind : {"frequency", "sampling"}, optional
            What the weights are: numbers of rows, or survey weights. Whole numbers are frequencies by default, others
            sampling weights. See :func:`pgmpy_latent.encode`; ``weight_kind_`` says which was assumed.
        strata, cluster : array, shape (n_rows,), or column name, optional
            The stratum and the primary sampling unit of every row. The tables do not depend on them.
        missing : value, list of values, or dict of column to either, optional
            Values that count as missing cells, as ``{"age": [99, -1]}``; the fitted model keeps them. ``{}`` says that
            none do, so that no warning points out values that look as if.

        Returns
        -------
        self
        """
        self._check_settings()
        clock = Clock(self.time_limit)
        names, parents, hidden = self._structure(model)
        self._check_state_names(names)
        survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
        encoded = encoded_table(
            data, names, hidden, self.state_names, sample_weight, self.memory_limit, missing, **survey
        )
        if isinstance(encoded, CategoricalData):  # nothing is refused: whoever writes down a network means its nodes
            free = [name for name in encoded.columns if name not in (self.state_names or ())]
            warn_of_many_states(encoded, columns=free, refused=False, remedy="give their state_names")
        settled = {*settled_columns(missing, encoded.missing, encoded.columns), *(self.state_names or ())}
        warn_of_codes(encoded, settled, call=f"{type(self).__name__}(...).fit(model, data, {{}})")
        state_names = self._all_state_names(names, hidden, encoded)
        cards = np.array([len(states) for states in state_names])
        prior = 0.0 if self.prior is None else float(self.prior)
        with one_blas_thread(), opened_rows(names, parents, cards, encoded, self.n_jobs) as rows:
            checkpoint = self._checkpoint((names, parents, sorted(map(repr, hidden)), state_names), rows)
            starts = self._starts(names, parents, cards, state_names, hidden, rows, checkpoint.entropy)
            checkpoint.check(em.Problem(rows.engine, prior), len(starts))
            found = checkpoint.fit
            if found is None:
                with self._progress(clock) as report, checkpoint.resuming:
                    found = em.fit(
                        rows.engine,
                        starts,
                        prior=prior,
                        max_iter=int(self.max_iter) + 1,  # evaluations: the first is that of the start itself
                        atol=float(self.atol),
                        n_jobs=rows.n_jobs,
                        retry=True,
                        position=checkpoint.position,
                        checkpoint=checkpoint.save,
                        clock=clock,
                        report=report,
                    )
                checkpoint.finish(found)
            fitted, shares = self._ordered(names, parents, hidden, state_names, found, encoded, rows)
        self._set_fitted(fitted, found)
        self.weight_kind_, self.n_rows_, self.total_weight_ = encoded.weight_kind, encoded.n_rows, encoded.total_weight
        drawn = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        self.design_ = design_of_fit(data, encoded, drawn)
        self.stopped_ = ("time_limit" if clock.seconds_left <= 0 else "interrupted") if found.interrupted else None
        self.degenerate_states_ = degenerate_states(fitted, shares)
        self._warn(found)
        warn_of_few_rows(fitted, encoded.total_weight, stacklevel=2)
        return self

    def _structure(self, model) -> tuple[list, list[tuple[int, ...]], set]:
        """Return names, parents and hidden names of a network."""
        if not isinstance(model, DAG):
            raise TypeError(f"expected a pgmpy DAG or DiscreteBayesianNetwork, got {type(model).__name__}")
        names = list(model.nodes())
        if not names:
            raise DataError("the model has no nodes; add the columns that it shall describe")
        position = {name: node for node, name in enumerate(names)}
        parents = [tuple(position[above] for above in model.predecessors(name)) for name in names]
        topological_order(parents, names)  # refuses cycles
        return names, parents, set(model.latents)

    def _checkpoint(self, described: tuple, rows: RowsInMemory | RowsInShards) -> EMCheckpoint:
        """Return the file of this EM, if it has one."""
        mark = None if self.checkpoint is None else fingerprint_of(self, repr(described), *rows.digests())
        return EMCheckpoint(self.checkpoint, mark, np.random.SeedSequence(self.seed).entropy, self.seed is not None)

    @contextmanager
    def _progress(self, clock: Clock) -> Iterator[Callable[[int, float], None]]:
        """Show a bar, and yield what moves it on."""
        with tqdm(disable=not self.show_progress, delay=PROGRESS_DELAY, unit="it", desc="EM", leave=False) as bar:

            def report(iteration: int, value: float) -> None:
                bar.update(iteration - bar.n)
                bar.set_postfix_str(f"log-likelihood {value:.4f}{time_left(clock.seconds_left)}", refresh=False)

            yield report

    def _ordered(
        self, names, parents, hidden: set, state_names, found: em.Fit, encoded, rows
    ) -> tuple[DiscreteModel, list[np.ndarray]]:
        """Return the fitted model with hidden states in order, unless they were named, and the shares of all states."""
        latent = [name in hidden for name in names]
        tables = rows.engine.layout.unpack(found.tables)
        network = LatentNetwork(names, state_names, parents, latent, tables, encoded.missing)
        named = self.init_cpds if isinstance(self.init_cpds, Mapping) else ()
        return self._in_order(network, [name for name in network.latent_names if name not in named], rows.engine)

    def _in_order(
        self, network: LatentNetwork, nodes: Sequence[Hashable], engine
    ) -> tuple[DiscreteModel, list[np.ndarray]]:
        """Return the fitted model with the states of some hidden nodes in order, and the shares of all states."""
        raise NotImplementedError

    def _check_settings(self) -> None:
        """Raise for settings that cannot be meant, before any work."""
        for name, least in (("n_init", 1), ("max_iter", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} is {value!r}; give a whole number of at least {least}")
        for name in ("atol", "prior"):
            value = getattr(self, name)
            if name == "prior" and value is None:
                continue
            if not isinstance(value, Real) or not np.isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value!r}; give a number of at least 0")
        if self.seed is not None and (not isinstance(self.seed, (int, np.integer)) or self.seed < 0):
            raise ValueError(f"seed is {self.seed!r}; give a whole number of at least 0, or None")
        check_n_jobs(self.n_jobs)
        check_time_limit(self.time_limit)
        check_checkpoint(self.checkpoint)
        check_number("memory_limit", self.memory_limit, 1, none=True)
        if isinstance(self.init_cpds, str):
            if self.init_cpds not in ("memberships", "random", "uniform"):
                raise ValueError(
                    f"init_cpds is {self.init_cpds!r}; give 'memberships', 'random', 'uniform' or a dict of CPDs"
                )
        elif self.init_cpds is not None and not isinstance(self.init_cpds, Mapping):
            raise ValueError(
                f"init_cpds is a {type(self.init_cpds).__name__}; give a dict of CPDs by variable, or a word"
            )

    def _check_state_names(self, names: list) -> None:
        """Raise for names of variables that the model does not have, such as typing errors."""
        for argument in ("state_names", "init_cpds"):
            given = getattr(self, argument)
            strangers = [name for name in given if name not in names] if isinstance(given, Mapping) else []
            if strangers:
                raise StateNameError(f"{argument} names {strangers}, which the model does not have; leave them out")
        if isinstance(self.init_cpds, Mapping):
            for name, cpd in self.init_cpds.items():
                if not isinstance(cpd, TabularCPD):
                    raise StateNameError(f"init_cpds of {name!r} is a {type(cpd).__name__}; give a TabularCPD")

    def _all_state_names(self, names: list, hidden: set, encoded: CategoricalData | ShardedTable) -> list[tuple]:
        """Return the states of every node; hidden ones are numbered unless they are named."""
        self._check_latent_card(hidden)
        seen = dict(zip(encoded.columns, encoded.state_names, strict=True))
        return [self._latent_states(name) if name in hidden else seen[name] for name in names]

    def _check_latent_card(self, hidden: set) -> None:
        if not isinstance(self.latent_card, Mapping):
            cards = {"all hidden variables": 2 if self.latent_card is None else self.latent_card}
        else:
            cards = self.latent_card
            strangers = [name for name in cards if name not in hidden]
            if strangers:
                raise StateNameError(
                    f"latent_card names {strangers}, which the model does not hide; its latents are "
                    f"{sorted(map(str, hidden))}. Add them to the model's latents, or leave them out."
                )
        for name, card in cards.items():
            if not isinstance(card, (int, np.integer)) or isinstance(card, bool) or card < 1:
                raise StateNameError(f"latent_card of {name!r} is {card!r}; give a whole number of at least 1")

    def _latent_states(self, name: Hashable) -> tuple:
        """Return the states of a hidden variable, from whatever says them; what is said twice must agree."""
        said = {}
        if isinstance(self.latent_card, Mapping) and name in self.latent_card:
            said["latent_card"] = tuple(range(self.latent_card[name]))
        elif isinstance(self.latent_card, (int, np.integer)):
            said["latent_card"] = tuple(range(self.latent_card))
        if isinstance(self.init_cpds, Mapping) and name in self.init_cpds:
            said["init_cpds"] = tuple(self.init_cpds[name].state_names[name])
        if self.state_names is not None and name in self.state_names:
            said["state_names"] = tuple(checked_states(name, self.state_names[name]))
        if len({len(states) for states in said.values()}) > 1:
            sizes = ", ".join(f"{source} gives {len(states)}" for source, states in said.items())
            raise StateNameError(f"the number of states of {name!r} is contradictory: {sizes}. Make them agree.")
        return list(said.values())[-1] if said else (0, 1)

    def _names_all_tables(self, names: list) -> bool:
        return isinstance(self.init_cpds, Mapping) and all(name in self.init_cpds for name in names)

    def _starts(
        self, names, parents, cards, state_names, hidden: set, rows: RowsInMemory | RowsInShards, entropy: int
    ) -> np.ndarray:
        """Return the tables to begin with: (starts, size)."""
        layout = rows.engine.layout
        nothing_hidden = hidden.isdisjoint(names)
        if self.init_cpds == "uniform" or (nothing_hidden and self.init_cpds is None):
            return uniform_tables(layout)[None]
        n_starts = 1 if self._names_all_tables(names) else self.n_init
        seeds = [np.random.SeedSequence(entropy, spawn_key=(start,)) for start in range(n_starts)]
        if self.init_cpds == "random":
            return np.stack([random_tables(layout, np.random.default_rng(seed)) for seed in seeds])
        some, silent = rows.starting_rows(seeds)
        codes = some.codes_of(names)
        starts = np.stack(
            [random_memberships(parents, cards, codes, some.weights, some.row_keys, seed, silent) for seed in seeds]
        )
        if isinstance(self.init_cpds, Mapping):
            given = given_tables(self.init_cpds, names, parents, state_names)
            for node, view in enumerate(layout.unpack(starts)):
                if names[node] in given:
                    view[:] = given[names[node]]
        return starts

    def _set_fitted(self, fitted: DiscreteModel, found: em.Fit) -> None:
        self.state_names_ = {name: list(states) for name, states in zip(fitted.names, fitted.state_names, strict=True)}
        self.parameters_ = to_cpds(fitted)
        self.log_likelihood_ = found.log_likelihood
        self.log_likelihoods_ = found.log_likelihoods
        self.n_iter_ = min(found.n_iter, int(self.max_iter))
        self.converged_ = found.converged
        self.n_best_ = found.n_best
        self.interrupted_ = found.interrupted
        self.start_objectives_ = found.final_objectives

    def _warn(self, found: em.Fit) -> None:
        if found.interrupted:
            why = "time_limit was reached" if self.stopped_ == "time_limit" else "interrupted"
            kept = "" if self.checkpoint is None else f"; fit again to go on from {os.fspath(self.checkpoint)!r}"
            warnings.warn(
                f"{why}: this is the best model so far, not a converged one{kept}", ConvergenceWarning, stacklevel=3
            )
        elif not found.converged and self.atol > 0:
            left = f"about {found.remaining_gain:.3g}" if np.isfinite(found.remaining_gain) else "an unknown number of"
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations with {left} nats of log-likelihood left to gain "
                f"(atol={self.atol}). Raise max_iter, or accept a larger atol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.degenerate_states_:
            warnings.warn(
                f"{'; '.join(self.degenerate_states_)}. Fewer states would fit as well.",
                DegenerateStateWarning,
                stacklevel=3,
            )


class TreeEM(EMEstimator):
    """Fit the parameters of a forest-shaped network by expectation maximisation.

    A drop-in for pgmpy's ``DiscreteEM`` where every node has at most one parent: latent class models, latent trees,
    naive Bayes, Chow-Liu trees, with nodes hidden or observed anywhere. Missing cells are summed out exactly, rows may
    have weights, and many starts guard against poor local maxima. See :func:`pgmpy_latent.em.fit.fit` for how.

    Parameters
    ----------
    state_names : dict, optional
        Variable -> its states, also such as the data does not show. Otherwise the categories of the data.
    latent_card : dict or int, optional
        Hidden variable -> number of states (2 where it is not named); one number holds for all.
    n_init : int
        Number of random starts.
    max_iter : int
        Most iterations of a start.
    atol : float
        A start ends when the log-likelihood that further iterations would gain, by extrapolation, is below this; 0
        never stops early.
    prior : float, optional
        Dirichlet pseudo-count of every table entry: the estimate is ``(prior + count) / sum(prior + count)`` and the
        objective gains ``prior * log(entry)``. None is maximum likelihood, under which new rows may be impossible.
    init_cpds : dict or {"memberships", "random", "uniform"}, optional
        Where to begin: random class memberships of some rows (the default), random tables, uniform tables (with hidden
        variables a saddle point that EM cannot leave), or CPDs by variable. Variables that the dict leaves out begin
        with memberships; if it names all, there is one start, and the hidden states keep their order. Zeros in CPDs are
        left where the data are likelier without.
    seed : int, optional
        Same seed, same answer, whatever ``n_jobs`` is.
    n_jobs : int, optional
        Threads that share the starts, and the rows of large tables; -1 for all cores, None for one. Where joblib was
        told to use other workers (``joblib.parallel_config``), these share the starts of an EM that takes long.
    show_progress : bool
        Whether fits of more than two seconds show a bar.
    memory_limit : float, optional
        Bytes that the distinct rows of a table in pieces may take; a row counts 12 bytes per column and 80 more. With
        more of them EM runs on shards: held by the workers of the active Dask client, or else by files in a temporary
        folder. The starts are the same, and the result differs by rounding only. None: never on shards.
    time_limit : float, optional
        Seconds; the best model so far is then fitted, and ``stopped_`` says so.
    checkpoint : path-like, optional
        File that EM is kept in. A fit that was killed goes on from it, and ends in the same tables as one that never
        stopped; a finished one returns its tables. A file of other data or other settings is refused.

    Attributes
    ----------
    parameters_ : list of TabularCPD
        The fitted tables, in the order of the model's nodes.
    state_names_ : dict
        States of every variable.
    tree_ : LatentTree
        The fitted model.
    log_likelihood_ : float
        Natural logarithm of the likelihood of the data under ``tree_``; larger is better.
    log_likelihoods_ : ndarray
        The same at every iteration of the best start.
    n_iter_ : int
        Iterations of the best start.
    converged_ : bool
        Whether it stopped because little was left to gain.
    n_best_ : int
        In how many of the starts the best value was reached.
    start_objectives_ : ndarray
        The (penalised) log-likelihood at which every start ended.
    interrupted_ : bool
        Whether Ctrl-C or the time limit ended the fit; what is fitted is then the best so far.
    stopped_ : str or None
        ``"time_limit"`` or ``"interrupted"``; None if EM came to its end.
    degenerate_states_ : list of str
        Hidden states that are empty or equal to another one, in words.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> data = pd.DataFrame({"a": [0, 0, 1, 1, None, 0], "b": [0, 0, 1, 1, 1, 1], "c": [0, 0, 1, None, 1, 0]})
    >>> model = DiscreteBayesianNetwork([("H", "a"), ("H", "b"), ("H", "c")], latents={"H"})
    >>> fitted = model.fit(data, estimator=TreeEM(seed=0))
    >>> fitted.check_model()
    True
    >>> estimator = TreeEM(latent_card={"H": 2}, seed=0).fit(model, data)
    >>> round(estimator.log_likelihood_, 3)
    -6.068
    """

    def _structure(self, model) -> tuple[list, list[tuple[int, ...]], set]:
        names, parents, hidden = super()._structure(model)
        for name, above in zip(names, parents, strict=True):
            check_one_parent(name, [names[node] for node in above])
        return names, parents, hidden

    def _in_order(
        self, network: LatentNetwork, nodes: Sequence[Hashable], engine
    ) -> tuple[DiscreteModel, list[np.ndarray]]:
        self.tree_ = canonical_states(as_tree(network), nodes)
        return self.tree_, marginals(self.tree_)


def degenerate_states(model: DiscreteModel, shares: Sequence[np.ndarray]) -> list[str]:
    """Say which hidden states are empty, or equal to another one."""
    found = []
    for node in np.flatnonzero(model.latent):
        name, states = model.names[node], model.state_names[node]
        below = [by_state(model, child, node) for child, above in enumerate(model.parents) if node in above]
        for state, share in enumerate(shares[node]):
            if share < EMPTY and len(states) > 1:
                found.append(f"state {states[state]!r} of {name!r} is empty")
                continue
            for other in range(state):
                same = below and max(np.abs(t[state] - t[other]).max() for t in below) < SAME
                if same and shares[node][other] >= EMPTY:
                    found.append(f"states {states[other]!r} and {states[state]!r} of {name!r} are the same")
                    break
    return found
