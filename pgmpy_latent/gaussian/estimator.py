"""GaussianTreeEM: a pgmpy parameter estimator for forest-shaped linear Gaussian networks with hidden variables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.em.fit import fit as run_em
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.gaussian.columns import check_columns, read_numbers, warn_of_few_numbers
from pgmpy_latent.gaussian.fit import FitByEM, fitted, pairwise_correlations, random_starts
from pgmpy_latent.gaussian.forest import Forest, forest_of
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.model.gaussian_convert import from_linear_gaussian, to_gaussian_cpds
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.network import check_one_parent
from pgmpy_latent.model.pgmpy_api import (
    DAG,
    GaussianParameterEstimator,
    LinearGaussianBayesianNetwork,
    LinearGaussianCPD,
)
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.configured import Configured
from pgmpy_latent.runtime.settings import (
    PROGRESS_DELAY,
    Constraint,
    entropy_of,
    kind_in_words,
    number,
    stopped_words,
    time_left,
)
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.tables.survey import WeightKind


class GaussianTreeEM(Configured, GaussianParameterEstimator):
    """Fit a linear Gaussian network in the shape of a forest, with hidden variables and missing cells, by exact EM.

    EM works on moments: of a complete table on its means and covariances, so that an iteration takes the
    same time for any number of rows; where cells are missing on those of every pattern of missing columns.

    The likelihood does not say in which units a hidden variable is measured. Here it has mean 0 and variance 1, and its
    largest loading, the correlation with a column, is positive. A hidden variable with fewer than three neighbours is
    redundant: of two neighbours only the product of both correlations is known, so that many networks fit alike.

    Parameters
    ----------
    n_init : int
        Number of starts: the first from principal components, the others from components of columns that are weighted
        at random.
    max_iter : int
        Most iterations of a start.
    atol : float
        A start ends when the log-likelihood that is left to gain, by extrapolation, is below this; 0 never stops early.
    init : GaussianTree or LinearGaussianBayesianNetwork, optional
        Where EM begins, in place of the starts: the same nodes and edges, in any direction.
    seed : int, optional
        The same seed gives the same result.
    time_limit : float, optional
        Seconds, after which the fit ends with the best model so far; ``stopped_`` says so.
    show_progress : bool
        Whether a fit that takes more than two seconds shows a progress bar.

    Attributes
    ----------
    parameters_ : list of LinearGaussianCPD
        One per node, in node order.
    tree_ : GaussianTree
        The fitted model; ``pgmpy_latent.gaussian`` has likelihoods, posteriors, imputation and sampling for it.
    log_likelihood_, bic_ : float
        Natural logarithms; larger is better.
    n_parameters_ : int
        Two per column and one per edge.
    log_likelihoods_ : array
        At every iteration of the best start.
    n_iter_, n_best_ : int
        Iterations of the best start; how many starts reached its value.
    converged_ : bool
    stopped_ : {None, "time_limit", "interrupted"}
    weight_kind_ : {None, "frequency", "sampling"}
    n_rows_, total_weight_ : int and float
        Number of rows, and their weight.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(500, 1)) + rng.normal(size=(500, 3)), columns=["x", "y", "z"])
    >>> network = LinearGaussianBayesianNetwork([("H", "x"), ("H", "y"), ("H", "z")], latents={"H"})
    >>> estimator = GaussianTreeEM(seed=0)
    >>> _ = network.fit(table, estimator=estimator)
    >>> network.get_cpds("x").evidence, round(estimator.log_likelihood_, 2), estimator.n_parameters_
    (['H'], -2464.77, 9)
    """

    _tags = {"supports_latent_variables": True, "supports_weighted_data": True}  # noqa: RUF012 - skbase merges these
    _called_here: ClassVar[Mapping[str, str]] = {"n_starts": "n_init, as pgmpy does", "random_state": "seed"}
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_init": number(1, whole=True),
        "max_iter": number(1, whole=True),
        "atol": number(0, below=np.inf),
        "seed": number(0, whole=True, optional=True),
    }
    parameters_: list[LinearGaussianCPD]
    tree_: GaussianTree
    log_likelihood_: float
    bic_: float
    n_parameters_: int
    log_likelihoods_: np.ndarray
    n_iter_: int
    n_best_: int
    converged_: bool
    stopped_: str | None
    weight_kind_: WeightKind | None
    n_rows_: int
    total_weight_: float

    def __init__(
        self,
        n_init: int = 4,
        max_iter: int = 10_000,
        atol: float = 1e-3,
        init: GaussianTree | LinearGaussianBayesianNetwork | None = None,
        seed: int | None = None,
        time_limit: float | None = None,
        show_progress: bool = True,
    ) -> None:
        self.n_init = n_init
        self.max_iter = max_iter
        self.atol = atol
        self.init = init
        self.seed = seed
        self.time_limit = time_limit
        self.show_progress = show_progress
        super().__init__()

    def fit(self, model, data, sample_weight=None, *, weight_kind: WeightKind | None = None, missing=None) -> Self:
        """Fit the CPDs of a network to a table.

        Parameters
        ----------
        model : pgmpy LinearGaussianBayesianNetwork or DAG
            The structure; hidden variables are its ``latents``. It is not changed.
        data : DataFrame or array
            Columns of numbers, one per observed variable; others are left aside. Missing cells are fine.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows.
        weight_kind : {"frequency", "sampling"}, optional
            What the weights are; see :func:`pgmpy_latent.encode`.
        missing : value, list of values, or dict of column to either, optional
            Values that count as missing cells, as ``{"income": [999]}``; ``tree_`` keeps them.

        Returns
        -------
        self
        """
        self._check_settings()
        clock = Clock(self.time_limit)
        names, parent, latent = structure_of(model)
        columns = [name for name, hidden in zip(names, latent, strict=True) if not hidden]
        table = read_numbers(data, sample_weight, weight_kind=weight_kind, columns=columns, missing=missing)
        check_columns(table)
        empty = GaussianTree(names, parent, latent, np.zeros(len(names)))
        forest, nodes = forest_of(empty, columns)
        with one_blas_thread(), self._progress(clock) as report:
            moments = table.moments()
            starts, begin = self._starts(forest, nodes, empty, moments)
            found = fitted(
                forest,
                moments,
                starts,
                run_em,
                *begin,
                max_iter=int(self.max_iter) + 1,  # evaluations: the first is that of the start itself
                atol=float(self.atol),
                clock=clock,
                report=report,
            )
        self.weight_kind_, self.n_rows_, self.total_weight_ = table.weight_kind, table.n_rows, table.total_weight
        self._keep(_with_parameters(empty, nodes, found).with_missing(table.missing), found, clock)
        warn_of_few_numbers(self.n_parameters_, self.total_weight_)
        return self

    def _starts(
        self, forest: Forest, nodes: np.ndarray, empty: GaussianTree, moments: TableMoments
    ) -> tuple[np.ndarray, tuple]:
        """Return correlations to begin with; and means and standard deviations, if there are any."""
        if self.init is None:
            rng = np.random.default_rng(entropy_of(self.seed))
            return random_starts(forest, pairwise_correlations(moments), int(self.n_init), rng), ()
        if not isinstance(self.init, (GaussianTree, LinearGaussianBayesianNetwork)):
            raise TypeError(
                f"init is {kind_in_words(self.init)}; give a GaussianTree or a LinearGaussianBayesianNetwork"
            )
        given = self.init if isinstance(self.init, GaussianTree) else from_linear_gaussian(self.init)
        if set(given.names) != set(empty.names) or set(given.latent_names) != set(empty.latent_names):
            raise DataError("init has other nodes than the model; give a GaussianTree of the same nodes and edges")
        edges = {}
        for node in np.flatnonzero(given.parent >= 0).tolist():
            pair = empty.index(given.names[node]), empty.index(given.names[given.parent[node]])
            edges[frozenset(pair)] = float(given.correlation[node])
        asked = [frozenset(map(int, nodes[pair])) for pair in forest.ends]
        if set(asked) != set(edges):
            raise DataError("init has other edges than the model; give a GaussianTree of the same nodes and edges")
        places = [given.index(empty.names[node]) for node in nodes[: forest.n_columns]]
        return np.array([[edges[pair] for pair in asked]]), (given.mean[places], given.std[places])

    def _keep(self, tree: GaussianTree, found: FitByEM, clock: Clock) -> None:
        """Set the attributes that describe the result, and warn if it is not finished."""
        self.tree_ = tree
        self.parameters_ = to_gaussian_cpds(tree)
        self.log_likelihood_, self.n_parameters_ = found.log_likelihood, tree.n_parameters
        self.bic_ = bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        self.log_likelihoods_, self.n_iter_ = found.em.log_likelihoods, found.em.n_iter
        self.n_best_, self.converged_ = found.em.n_best, found.em.converged
        self.stopped_ = None
        if found.em.interrupted:
            self.stopped_ = "time_limit" if clock.seconds_left <= 0 else "interrupted"
            warn(stopped_words(self.stopped_, left=found.em.remaining_gain), ConvergenceWarning)
        elif not self.converged_ and self.atol > 0:
            warn(
                f"EM has made {self.n_iter_ - 1:,} iterations and has not converged; raise max_iter",
                ConvergenceWarning,
            )

    @contextmanager
    def _progress(self, clock: Clock) -> Iterator[Callable[[int, float], None]]:
        """Show a progress bar, and yield the function that updates it."""
        with tqdm(disable=not self.show_progress, delay=PROGRESS_DELAY, unit="it", desc="EM", leave=False) as bar:

            def report(iteration: int, value: float) -> None:
                if not bar.disable:
                    bar.update(iteration - bar.n)
                    bar.set_postfix_str(f"log-likelihood {value:.4f}{time_left(clock.seconds_left)}", refresh=False)

            yield report


def structure_of(model) -> tuple[list[Hashable], np.ndarray, np.ndarray]:
    """Return names, parents and hidden nodes of a pgmpy network; raise if it is no forest."""
    if not isinstance(model, DAG):
        raise TypeError(f"expected a pgmpy LinearGaussianBayesianNetwork or DAG, got {type(model).__name__}")
    names: list[Hashable] = list(model.nodes())
    if not names:
        raise DataError("the model has no nodes; add the columns that it shall describe")
    position = {name: node for node, name in enumerate(names)}
    parent = np.full(len(names), -1)
    for name in names:
        above: Sequence[Hashable] = list(model.predecessors(name))
        check_one_parent(name, above)
        if above:
            parent[position[name]] = position[above[0]]
    latent = np.array([name in model.latents for name in names])
    if latent.all():
        raise DataError("all nodes of the model are hidden; at least one must be a column of the table")
    return names, parent, latent


def _with_parameters(empty: GaussianTree, nodes: np.ndarray, found: FitByEM) -> GaussianTree:
    """Return a model with the parameters of a fitted forest, given the node of the model for each of the forest."""
    correlation, mean, std = np.zeros(empty.n_nodes), np.zeros(empty.n_nodes), np.ones(empty.n_nodes)
    forest = found.forest
    for (left, right), value in zip(nodes[forest.ends].tolist(), forest.correlation.tolist(), strict=True):
        correlation[right if empty.parent[right] == left else left] = value
    columns = nodes[: forest.n_columns]
    mean[columns], std[columns] = found.mean, found.std
    return GaussianTree(empty.names, empty.parent, empty.latent, correlation, mean, std)
