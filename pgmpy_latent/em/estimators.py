"""EM as pgmpy parameter estimators: what they share, and TreeEM for networks in the shape of a forest."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.constraints import Constraints
from pgmpy_latent.em.few_rows import warn_of_few_rows
from pgmpy_latent.em.inputs import (
    RowsInMemory,
    RowsInShards,
    Structure,
    encoded_table,
    kinds_of_columns,
    opened_rows,
    tables_of_cpds,
)
from pgmpy_latent.em.restrictions import Restrictions, check_fixed, check_ordinal, check_tied, ordered_columns
from pgmpy_latent.em.resume import EMCheckpoint
from pgmpy_latent.em.starts import STRATEGIES, StartInputs, StartRows, make_start
from pgmpy_latent.exceptions import DataError, DegenerateStateWarning, StateNameError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.model.convert import to_cpds
from pgmpy_latent.model.emissions import emissions_table
from pgmpy_latent.model.network import (
    LatentNetwork,
    by_state,
    check_one_parent,
    reordered_tables,
    topological_order,
)
from pgmpy_latent.model.pgmpy_api import DAG, DiscreteParameterEstimator, TabularCPD
from pgmpy_latent.model.tree import DiscreteModel, LatentTree, MissingCodes
from pgmpy_latent.operators import marginals
from pgmpy_latent.operators.states import canonical_tables
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import check_checkpoint
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.configured import Configured, choices
from pgmpy_latent.runtime.fingerprint import fingerprint_of
from pgmpy_latent.runtime.settings import (
    PROGRESS_DELAY,
    Constraint,
    entropy_of,
    kind_in_words,
    number,
    time_left,
    word_list,
)
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.chunks import MEMORY_LIMIT, ShardedTable
from pgmpy_latent.tables.columns import checked_states
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.missing_codes import settled_columns
from pgmpy_latent.tables.numbers import Kind, check_kinds, kinds_in_use, numeric_only
from pgmpy_latent.tables.suitable import warn_of_codes, warn_of_many_states
from pgmpy_latent.tables.survey import Survey, WeightKind, design_of_fit

#: A hidden state with a smaller share of the rows than this is empty.
EMPTY = 1e-6
#: Two hidden states whose children's tables differ by no more than this are the same.
SAME = 1e-4
#: Where EM begins if nothing else is said.
DEFAULT_START = next(iter(STRATEGIES))


def _ways_to_begin() -> str:
    first, *others = [strategy.description for strategy in STRATEGIES.values()]
    return ", ".join([f"{first} (the default)", *others])


#: The keywords of the estimators, as their docstrings describe them.
KEYWORDS = {
    "state_names": (
        "state_names : dict, optional",
        "States of variables, including states that the data do not show; by default the categories of the data.",
    ),
    "latent_card": (
        "latent_card : dict or int, optional",
        "Number of states of every hidden variable (2 for variables that the dict does not name); one number is "
        "for all.",
    ),
    "n_init": (
        "n_init : int",
        "Number of random starts.",
    ),
    "max_iter": (
        "max_iter : int",
        "Most iterations of a start.",
    ),
    "atol": (
        "atol : float",
        "A start ends when the log-likelihood that is left to gain, by extrapolation, is below this; 0 never "
        "stops early.",
    ),
    "prior": (
        "prior : float, optional",
        "Dirichlet pseudo-count of every table entry: the estimate is ``(prior + count) / sum(prior + count)`` "
        "and the objective gains ``prior * log(entry)``. None is maximum likelihood, under which new rows may "
        "be impossible.",
    ),
    "init_cpds": (
        f"init_cpds : dict or {choices(STRATEGIES)}, optional",
        f"Where to begin: {_ways_to_begin()}, or CPDs by variable. Variables that the dict does not name begin with "
        f"{DEFAULT_START}; if it names all, there is one start, and the hidden states keep their order. Zeros in CPDs "
        "give way where the data are more likely without.",
    ),
    "tied": (
        "tied : list of lists of nodes, optional",
        "Groups of nodes whose tables are equal, as those of an item at several times: same states, and parents with "
        "as many states. Counts are summed; pseudo-counts and parameters count once.",
    ),
    "fixed": (
        "fixed : dict of node to array or TabularCPD, optional",
        "Tables that are known, or some of their entries: an array with a row per state of the parent and a column per "
        "state, NaN where an entry is free. Free entries share what is left of their row. Fixed entries have neither "
        "pseudo-counts nor parameters, and hidden states that they are about keep their order.",
    ),
    "ordinal": (
        "ordinal : list of columns or True, optional",
        "Columns whose categories are ordered, from low to high; True for all ordered Categoricals. A class moves the "
        "answers up or down by one effect (adjacent-category logits with scores 1, 2, ...), which leaves ``(c - 1) + "
        "(K - 1)`` parameters for c categories and K classes.",
    ),
    "seed": (
        "seed : int, optional",
        "The same seed gives the same result, whatever ``n_jobs`` is.",
    ),
    "n_jobs": (
        "n_jobs : int, optional",
        "Threads that share the starts, and the rows of large tables; -1 for all cores, None for one. With "
        "another backend of joblib (``joblib.parallel_config``), its workers share the starts of an EM that "
        "takes long.",
    ),
    "show_progress": (
        "show_progress : bool",
        "Whether a fit that takes more than two seconds shows a progress bar.",
    ),
    "memory_limit": (
        "memory_limit : float, optional",
        "Bytes that the distinct rows of a table in chunks may take; a row counts 12 bytes per column and 80 "
        "more. If they take more, EM runs on shards: held by the workers of the active Dask client, or by files "
        "in a temporary folder. The starts are the same, and the result differs by rounding only. None: never "
        "on shards.",
    ),
    "time_limit": (
        "time_limit : float, optional",
        "Seconds, after which the fit ends with the best model so far; ``stopped_`` says so.",
    ),
    "checkpoint": (
        "checkpoint : path-like, optional",
        "File that EM is saved in. A fit that was killed resumes from it, and ends in the same tables as one "
        "that never stopped; a finished one returns its tables. A file of other data or other settings is "
        "refused.",
    ),
}


def check_init_cpds(name: str, value) -> None:
    """Raise if ``init_cpds`` is neither the name of a kind of start nor a dict of CPDs."""
    if isinstance(value, str):
        if value not in STRATEGIES:
            known = word_list([*map(repr, STRATEGIES), "a dict of CPDs"], "or")
            raise ValueError(f"{name} is {value!r}; give {known}")
    elif value is not None and not isinstance(value, Mapping):
        raise ValueError(f"{name} is {kind_in_words(value)}; give a dict of CPDs by variable, or a word")


class EMEstimator(Configured, DiscreteParameterEstimator):
    """The base of the estimators by EM; see :class:`TreeEM` for the keywords."""

    _tags = {"supports_latent_variables": True, "supports_weighted_data": True}  # noqa: RUF012 - skbase merges these
    _shared = KEYWORDS
    _called_here: ClassVar[Mapping[str, str]] = {"n_starts": "n_init, as pgmpy does", "random_state": "seed"}
    parameters_: list[TabularCPD]
    state_names_: dict[Hashable, list]
    log_likelihood_: float
    log_likelihoods_: np.ndarray
    n_iter_: int
    converged_: bool
    n_best_: int
    interrupted_: bool
    start_objectives_: np.ndarray
    weight_kind_: WeightKind | None
    design_: dict[str, Hashable]
    n_rows_: int
    total_weight_: float
    stopped_: str | None
    degenerate_states_: list[str]
    n_parameters_: int
    bic_: float
    kinds_: dict[Hashable, Kind]
    emissions_: pd.DataFrame
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_init": number(1, whole=True),
        "max_iter": number(1, whole=True),
        "atol": number(0, below=np.inf),
        "prior": number(0, below=np.inf, optional=True),
        "init_cpds": check_init_cpds,
        "tied": check_tied,
        "fixed": check_fixed,
        "ordinal": check_ordinal,
        "seed": number(0, whole=True, optional=True),
        "memory_limit": number(1, optional=True),
        "checkpoint": lambda name, value: check_checkpoint(value),
    }

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
        checkpoint: str | os.PathLike | None = None,
        tied: Sequence[Sequence[Hashable]] | None = None,
        fixed: Mapping[Hashable, object] | None = None,
        ordinal: Sequence[Hashable] | bool | None = None,
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
        self.tied = tied
        self.fixed = fixed
        self.ordinal = ordinal
        super().__init__(state_names=state_names)

    def fit(
        self,
        model,
        data,
        sample_weight=None,
        *,
        weight_kind: WeightKind | None = None,
        strata=None,
        cluster=None,
        missing=None,
        kinds=None,
    ) -> Self:
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
            What the weights are: numbers of rows, or sampling weights. Whole numbers are frequencies by default, others
            sampling weights. See :func:`pgmpy_latent.encode`; ``weight_kind_`` says which was assumed.
        strata, cluster : array, shape (n_rows,), or column name, optional
            The stratum and the primary sampling unit of every row. The tables do not depend on them.
        missing : value, list of values, or dict of column to either, optional
            Values that count as missing cells, as ``{"age": [99, -1]}``; the fitted model keeps them. ``{}`` says that
            none do, so that no warning points out values that look as if.
        kinds : dict of column to kind, or "auto", optional
            Which columns are numbers: ``{"age": "gaussian", "visits": "poisson"}``; also ``"shared_gaussian"`` (one
            variance for all states of the parent), ``"negative_binomial"``, ``"ordinal"`` and ``"categorical"``. The
            kinds of other columns, or of all with "auto", are read from their types; ``kinds_`` says what was read.
            Numbers are leaves with one parent (``docs/mixed.md``). By default all columns are categories.

        Returns
        -------
        self
        """
        self._check_settings()
        check_kinds("kinds", kinds)
        clock = Clock(self.time_limit)
        structure = self._structure(model)
        self._check_state_names(structure.names)
        found = kinds_of_columns(data, structure, kinds, self.state_names, missing)
        wanted = self._restrictions(structure, data, found)
        wanted.check_names(structure)
        survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
        numeric = numeric_only(found or {})
        encoded = encoded_table(
            data, structure, self.state_names, sample_weight, self.memory_limit, missing, numeric, **survey
        )
        self._warn_of_columns(encoded, missing, takes_kinds=kinds is None)
        state_names = self._all_state_names(structure, encoded)
        cards = np.array([len(states) for states in state_names])
        prior = 0.0 if self.prior is None else float(self.prior)
        with one_blas_thread(), opened_rows(structure, cards, encoded, self.n_jobs) as rows:
            constraints = self._constraints_of(wanted, structure, state_names, rows.engine.layout, data)
            checkpoint = self._checkpoint(structure, state_names, rows)
            starts = self._starts(structure, state_names, rows, checkpoint.entropy)
            checkpoint.check(em.constrained_problem(rows.engine, prior, constraints), len(starts))
            result = checkpoint.fit
            if result is None:
                with self._progress(clock) as report, checkpoint.resuming:
                    result = em.fit(
                        rows.engine,
                        starts,
                        prior=prior,
                        constraints=constraints,
                        max_iter=int(self.max_iter) + 1,  # evaluations: the first is that of the start itself
                        atol=float(self.atol),
                        n_jobs=rows.n_jobs,
                        retry=True,
                        position=checkpoint.position,
                        checkpoint=checkpoint.save,
                        clock=clock,
                        report=report,
                    )
                checkpoint.finish(result)
            fitted, shares = self._build_model(structure, state_names, result.tables, rows.engine, encoded.missing)
        self._set_fitted(fitted, result)
        self.kinds_ = kinds_in_use(encoded.state_names, encoded.columns, wanted.ordinal)
        self.emissions_ = emissions_table(fitted)
        self.weight_kind_, self.n_rows_, self.total_weight_ = encoded.weight_kind, encoded.n_rows, encoded.total_weight
        drawn = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        self.design_ = design_of_fit(data, encoded, drawn)
        self.stopped_ = ("time_limit" if clock.seconds_left <= 0 else "interrupted") if result.interrupted else None
        self.degenerate_states_ = degenerate_states(fitted, shares)
        self._warn(result)
        self.n_parameters_ = fitted.n_parameters if constraints is None else constraints.n_parameters
        self.bic_ = float(self.log_likelihood_ - self.n_parameters_ * np.log(self.total_weight_) / 2)
        warn_of_few_rows(fitted, encoded.total_weight, n_parameters=self.n_parameters_)
        return self

    def _restrictions(self, structure: Structure, data, kinds: Mapping[Hashable, Kind] | None) -> Restrictions:
        """Return what the user wants to hold for the tables."""
        ordinal = self.ordinal
        if isinstance(ordinal, bool):
            ordinal = [name for name in ordered_columns(data) if name in structure.names] if ordinal else []
        ordinal = list(ordinal or ())
        ordinal += [name for name, kind in (kinds or {}).items() if kind == "ordinal" and name not in ordinal]
        for argument, names in (("fixed", self.fixed or ()), ("ordinal", ordinal)):
            odd = [name for name in names if name in numeric_only(kinds or {})]
            if odd:
                raise DataError(f"{argument} names {odd[0]!r}, which is a number; name columns of categories")
        return Restrictions(self.tied or (), self.fixed, ordinal)

    def _constraints_of(
        self, wanted: Restrictions, structure: Structure, state_names: list[tuple], layout: Layout, data
    ) -> Constraints | None:
        """Return the constraints of EM, and remember what they mean for the order of hidden states."""
        self._wanted = wanted
        if not wanted:
            return None
        return wanted.constraints(structure, state_names, layout, [*(self.state_names or ()), *ordered_columns(data)])

    def _warn_of_columns(self, encoded: CategoricalData | ShardedTable, missing, takes_kinds: bool) -> None:
        """Warn of columns with many states, and of values that look like codes for missing answers."""
        named = self.state_names or ()
        if isinstance(encoded, CategoricalData):  # nothing is refused: whoever writes down a network means its nodes
            free = [name for name in encoded.columns if name not in named]
            remedy = "give their state_names"
            warn_of_many_states(encoded, columns=free, refused=False, remedy=remedy, takes_kinds=takes_kinds)
        settled = {*settled_columns(missing, encoded.missing, encoded.columns), *named}
        warn_of_codes(encoded, settled, call=f"{type(self).__name__}(...).fit(model, data, {{}})")

    def _structure(self, model) -> Structure:
        """Return the nodes and edges of a network."""
        if not isinstance(model, DAG):
            raise TypeError(f"expected a pgmpy DAG or DiscreteBayesianNetwork, got {type(model).__name__}")
        names = list(model.nodes())
        if not names:
            raise DataError("the model has no nodes; add the columns that it shall describe")
        position = {name: node for node, name in enumerate(names)}
        parents = [tuple(position[above] for above in model.predecessors(name)) for name in names]
        topological_order(parents, names)  # refuses cycles
        return Structure(names, parents, set(model.latents))

    def _checkpoint(
        self, structure: Structure, state_names: list[tuple], rows: RowsInMemory | RowsInShards
    ) -> EMCheckpoint:
        """Return the checkpoint of this EM; it does nothing if no file is named."""
        mark = None
        if self.checkpoint is not None:
            described = (structure.names, structure.parents, sorted(map(repr, structure.hidden)), state_names)
            mark = fingerprint_of(self, repr(described), *rows.digests())
        return EMCheckpoint(self.checkpoint, mark, entropy_of(self.seed), self.seed is not None)

    @contextmanager
    def _progress(self, clock: Clock) -> Iterator[Callable[[int, float], None]]:
        """Show a progress bar, and yield the function that updates it."""
        with tqdm(disable=not self.show_progress, delay=PROGRESS_DELAY, unit="it", desc="EM", leave=False) as bar:

            def report(iteration: int, value: float) -> None:
                if bar.disable:
                    return
                bar.update(iteration - bar.n)
                bar.set_postfix_str(f"log-likelihood {value:.4f}{time_left(clock.seconds_left)}", refresh=False)

            yield report

    def _sortable(self, structure: Structure) -> list[int]:
        """Return the hidden nodes whose states may be put in order: those without CPDs that name them."""
        named = self.init_cpds if isinstance(self.init_cpds, Mapping) else ()
        return [node for node in np.flatnonzero(structure.latent).tolist() if structure.names[node] not in named]

    def _build_model(
        self,
        structure: Structure,
        state_names: list[tuple],
        tables: np.ndarray,
        engine: Engine,
        missing: MissingCodes,
    ) -> tuple[LatentTree | LatentNetwork, list[np.ndarray]]:
        """Build the fitted model, with hidden states in order, and return it with the shares of all states."""
        raise NotImplementedError

    def _check_state_names(self, names: list) -> None:
        """Raise for names of variables that the model does not have, such as misspelt ones."""
        for argument in ("state_names", "init_cpds"):
            value = getattr(self, argument)
            unknown = [name for name in value if name not in names] if isinstance(value, Mapping) else []
            if unknown:
                raise StateNameError(f"{argument} names {unknown}, which the model does not have; leave them out")
        if isinstance(self.init_cpds, Mapping):
            for name, cpd in self.init_cpds.items():
                if not isinstance(cpd, TabularCPD):
                    raise StateNameError(f"init_cpds of {name!r} is {kind_in_words(cpd)}; give a TabularCPD")

    def _all_state_names(self, structure: Structure, encoded: CategoricalData | ShardedTable) -> list[tuple]:
        """Return the states of every node; hidden ones are numbered unless they are named."""
        hidden = structure.hidden
        self._check_latent_card(hidden)
        observed = dict(zip(encoded.columns, encoded.state_names, strict=True))
        return [self._latent_states(name) if name in hidden else observed[name] for name in structure.names]

    def _check_latent_card(self, hidden: set) -> None:
        if not isinstance(self.latent_card, Mapping):
            cards = {"all hidden variables": 2 if self.latent_card is None else self.latent_card}
        else:
            cards = self.latent_card
            unknown = [name for name in cards if name not in hidden]
            if unknown:
                raise StateNameError(
                    f"latent_card names {unknown}, which the model does not hide; its latents are "
                    f"{sorted(map(str, hidden))}. Add them to the model's latents, or leave them out."
                )
        for name, card in cards.items():
            if not isinstance(card, (int, np.integer)) or isinstance(card, bool) or card < 1:
                raise StateNameError(f"latent_card of {name!r} is {card!r}; give a whole number of at least 1")

    def _latent_states(self, name: Hashable) -> tuple:
        """Return the states of a hidden variable from latent_card, init_cpds or state_names; conflicts raise."""
        sources: dict[str, tuple] = {}
        if isinstance(self.latent_card, Mapping) and name in self.latent_card:
            sources["latent_card"] = tuple(range(self.latent_card[name]))
        elif isinstance(self.latent_card, (int, np.integer)):
            sources["latent_card"] = tuple(range(self.latent_card))
        if isinstance(self.init_cpds, Mapping) and name in self.init_cpds:
            sources["init_cpds"] = tuple(self.init_cpds[name].state_names[name])
        if self.state_names is not None and name in self.state_names:
            sources["state_names"] = tuple(checked_states(name, self.state_names[name]))
        if len({len(states) for states in sources.values()}) > 1:
            sizes = ", ".join(f"{source} gives {len(states)}" for source, states in sources.items())
            raise StateNameError(f"the number of states of {name!r} is contradictory: {sizes}. Make them agree.")
        return list(sources.values())[-1] if sources else (0, 1)

    def _names_all_tables(self, names: list) -> bool:
        return isinstance(self.init_cpds, Mapping) and all(name in self.init_cpds for name in names)

    def _kind_of_start(self, structure: Structure) -> str:
        """Return the strategy of the tables that no CPDs are given for; nothing hidden needs but one start."""
        if isinstance(self.init_cpds, str):
            return self.init_cpds
        return "uniform" if self.init_cpds is None and structure.hidden.isdisjoint(structure.names) else DEFAULT_START

    def _starts(
        self, structure: Structure, state_names: list[tuple], rows: RowsInMemory | RowsInShards, entropy: int
    ) -> np.ndarray:
        """Return the tables to begin with: (starts, size)."""
        layout, names = rows.engine.layout, structure.names
        kind = self._kind_of_start(structure)
        several = STRATEGIES[kind].is_random and not self._names_all_tables(names)
        seeds = [np.random.SeedSequence(entropy, spawn_key=(start,)) for start in range(self.n_init if several else 1)]
        start_rows = None
        if STRATEGIES[kind].needs_rows:
            data, silent = rows.starting_rows(seeds)
            start_rows = StartRows.of(data, names, silent)
        cards = np.array([len(states) for states in state_names])
        inputs = StartInputs(layout, structure.parents, cards, start_rows)
        starts = np.stack(list(map(partial(make_start, kind, inputs), seeds)))
        if isinstance(self.init_cpds, Mapping):
            tables = tables_of_cpds(self.init_cpds, structure, state_names)
            for node, view in enumerate(layout.unpack(starts)):
                if names[node] in tables:
                    view[:] = tables[names[node]]
        return starts

    def _set_fitted(self, fitted: LatentTree | LatentNetwork, result: em.Fit) -> None:
        self.state_names_ = {name: list(states) for name, states in zip(fitted.names, fitted.state_names, strict=True)}
        self.parameters_ = to_cpds(fitted)
        self.log_likelihood_ = result.log_likelihood
        self.log_likelihoods_ = result.log_likelihoods
        self.n_iter_ = min(result.n_iter, int(self.max_iter))
        self.converged_ = result.converged
        self.n_best_ = result.n_best
        self.interrupted_ = result.interrupted
        self.start_objectives_ = result.final_objectives

    def _warn(self, result: em.Fit) -> None:
        if result.interrupted:
            why = "time_limit was reached" if self.stopped_ == "time_limit" else "interrupted"
            resume = "" if self.checkpoint is None else f"; fit again to go on from {os.fspath(self.checkpoint)!r}"
            warn(f"{why}: this is the best model so far, not a converged one{resume}", ConvergenceWarning)
        elif not result.converged and self.atol > 0:
            left = (
                f"about {result.remaining_gain:.3g}" if np.isfinite(result.remaining_gain) else "an unknown number of"
            )
            warn(
                f"EM stopped after max_iter={self.max_iter} iterations with {left} nats of log-likelihood left to gain "
                f"(atol={self.atol}). Raise max_iter, or accept a larger atol.",
                ConvergenceWarning,
            )
        warn_of_degenerate_states(self.degenerate_states_)


class TreeEM(EMEstimator):
    """Fit the parameters of a forest-shaped network by expectation maximisation.

    A drop-in for pgmpy's ``DiscreteEM`` where every node has at most one parent: latent class models, latent trees,
    naive Bayes, Chow-Liu trees, with nodes hidden or observed anywhere. Missing cells are summed out exactly, rows may
    have weights, and many starts guard against poor local maxima. See :func:`pgmpy_latent.em.fit.fit` for how.

    ``network.fit(table, estimator=TreeEM())`` passes on the table and ``sample_weight`` alone. With ``missing``
    or ``kinds``, call ``est.fit(network, table, missing=...)``; ``to_pgmpy(est.tree_)`` is then the fitted network.

    Parameters
    ----------
    {shared}

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
    n_parameters_ : int
        Number of free parameters, constraints taken into account.
    bic_ : float
        ``log_likelihood_ - n_parameters_ / 2 * log(total_weight_)``; larger is better.

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

    tree_: LatentTree

    def _structure(self, model) -> Structure:
        structure = super()._structure(model)
        for name, above in zip(structure.names, structure.parents, strict=True):
            check_one_parent(name, [structure.names[node] for node in above])
        return structure

    def _build_model(
        self,
        structure: Structure,
        state_names: list[tuple],
        tables: np.ndarray,
        engine: Engine,
        missing: MissingCodes,
    ) -> tuple[LatentTree, list[np.ndarray]]:
        parent = np.array([above[0] if above else -1 for above in structure.parents], dtype=np.int64)
        unordered = engine.layout.unpack(tables)
        if self._wanted:
            orders = self._wanted.orders(structure, state_shares(engine, tables), self._sortable(structure))
            ordered = reordered_tables(unordered, structure.parents, orders)
        else:
            ordered = canonical_tables(parent, structure.latent, unordered, self._sortable(structure))
        self.tree_ = LatentTree(structure.names, state_names, parent, structure.latent, ordered, missing)
        return self.tree_, marginals(self.tree_)


def state_shares(engine: Engine, tables: np.ndarray) -> list[np.ndarray]:
    """Return the expected share of the rows that are in each state of every node."""
    _, counts = engine.expected_counts(tables)
    return [table.sum(axis=0) / engine.total_weight for table in engine.layout.unpack(counts)]


def warn_of_degenerate_states(descriptions: Sequence[str]) -> None:
    """Warn of hidden states that are empty or there twice, if there are any."""
    if descriptions:
        warn(f"{'; '.join(descriptions)}. Fewer states would fit as well.", DegenerateStateWarning)


def degenerate_states(model: DiscreteModel, shares: Sequence[np.ndarray]) -> list[str]:
    """Describe the hidden states that are empty, or equal to another one."""
    descriptions = []
    for node in np.flatnonzero(model.latent).tolist():
        name, states = model.names[node], model.state_names[node]
        below = [by_state(model, child, node) for child, above in enumerate(model.parents) if node in above]
        for state, share in enumerate(shares[node]):
            if share < EMPTY and len(states) > 1:
                descriptions.append(f"state {states[state]!r} of {name!r} is empty")
                continue
            for other in range(state):
                same = below and max(np.abs(t[state] - t[other]).max() for t in below) < SAME
                if same and shares[node][other] >= EMPTY:
                    descriptions.append(f"states {states[other]!r} and {states[state]!r} of {name!r} are the same")
                    break
    return descriptions
