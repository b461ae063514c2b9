"""Standard errors and confidence intervals of the probabilities of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, logit
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics import information_matrix as fisher
from pgmpy_latent.diagnostics.dimension import effective_dimension
from pgmpy_latent.diagnostics.resampling import drawn_weights
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.restrictions import refuse_restricted
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import engine_for, model_and_data
from pgmpy_latent.model.network import LatentNetwork, as_network, reordered_tables
from pgmpy_latent.model.tree import DiscreteModel, LatentTree
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_n_jobs, check_number, entropy_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Design, Survey, WeightKind

#: Share of uniform tables in the start of EM for a bootstrap draw: EM cannot leave zeros.
UNIFORM_SHARE = 0.01
#: Fewest draws for which an interrupted bootstrap returns a result.
FEWEST_DRAWS = 20
#: Fewer degrees of freedom (clusters less strata) than this make standard errors vague.
FEW_UNITS = 10
#: Gain, in nats, above which a warning says that tables are not at a maximum.
NOTABLE_GAIN = 0.1
#: Share of the weight below which rows of tables count as unknown.
NO_WEIGHT = 1e-9
#: Information in some direction, as a share of that of complete rows, below which the structure decides if it is flat.
LITTLE = 1e-2


def standard_errors(
    model,
    X,
    *,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    method: str | None = None,
    level: float = 0.95,
    n_bootstrap: int = 200,
    random_state=0,
    n_jobs: int | None = None,
    show_progress: bool = True,
) -> pd.DataFrame:
    """Return standard errors and confidence intervals of all probabilities of a model fitted by maximum likelihood.

    Parameters
    ----------
    model : LatentTree, LatentNetwork or fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The table that it was fitted to.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. By default all are as the
        learner was fitted: it remembers the kind and the columns (``design_``).
    method : {"information", "sandwich", "bootstrap"}, optional
        From the curvature of the likelihood; from the curvature and from how much the gradients of rows, or of
        clusters, differ; or from fits to rows, or clusters, drawn anew from the table, with replacement. By default
        ``"sandwich"`` where there are sampling weights, strata or clusters, and ``"information"`` otherwise.
    level : float
        How often the intervals shall cover the truth.
    n_bootstrap : int
        Number of bootstrap draws.
    random_state : int, optional
        Seed of the draws; the result depends on it and not on ``n_jobs``.
    n_jobs : int, optional
        Threads; -1 for all cores, None for one.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    DataFrame
        A row per entry of the tables: ``node``; ``parent_state``, the state of its parent (None for roots, a tuple of
        states if there are several parents); ``state``; ``probability``; ``standard_error``; ``lower`` and ``upper``,
        the confidence interval; and ``note``: empty, ``"at the boundary"`` or ``"not identified"``.

    Warns
    -----
    UserWarning
        If probabilities are at the boundary or not identified, the model is not at a maximum of the likelihood, or
        there are few clusters: fewer than ten more than strata.

    Raises
    ------
    ImpossibleRowError
        If the model rules out a row of the table.

    Notes
    -----
    *Information.* Minus the matrix of second derivatives of the log-likelihood is inverted; the derivatives are central
    differences of exact gradients, by the logits of the probabilities of each row of each table. Standard errors of
    probabilities follow by the delta method. Intervals are made on the scale of logits, and so stay within 0 and 1.

    *Sandwich.* With A the information and B the variance of the gradient of the log-likelihood, as differences between
    units within strata show it, the variance is ``inv(A) B inv(A)``. Units are clusters, or rows where there are no
    clusters. It is right for sampling weights, and also where the model is not quite true. Intervals use Student's
    distribution with the number of units less the number of strata as degrees of freedom. Strata with a single unit
    are joined (``docs/survey_weights.md``); finite populations are not corrected for.

    *At the boundary* are probabilities of 0 and 1, also such that EM is still approaching: below 0.001, in a cell that
    stands for less than a tenth of a row. The curvature means nothing there, so their standard error is NaN, and those
    of other entries take them as known. The bootstrap does without this.

    *Not identified* are probabilities that can change without changing the likelihood, because others make up for it:
    those of a model with more classes than the columns can tell apart, or of a state that no row is in.

    *Bootstrap.* EM begins with the model's tables for every draw, a hundredth of the way to uniform ones. Hidden states
    are matched with the model's by how often rows are in both. Where rows were drawn in clusters or from strata, so are
    they here: one unit less than a stratum has, with weights raised to make up for it. Intervals are those between
    quantiles. A probability of 0 stays 0 in most draws; its interval says how rarely anything else is seen, rather than
    what is possible.

    References
    ----------
    Louis, T. A. (1982). Finding the observed information matrix when using the EM algorithm. Journal of the Royal
    Statistical Society B 44, 226-233.
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys. International
    Statistical Review 51, 279-292.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> table = pd.DataFrame({"x": ["a", "b"]})
    >>> found = standard_errors(tree, table, sample_weight=[100, 300])
    >>> found.drop(columns=["parent_state", "note"]).round(4)
      node state  probability  standard_error   lower   upper
    0    x     a         0.25          0.0217  0.2100  0.2948
    1    x     b         0.75          0.0217  0.7052  0.7900
    """
    _check_settings(method, level, n_bootstrap, n_jobs)
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    refuse_restricted(model, "standard_errors")
    tree, data = model_and_data(model, X, sample_weight=sample_weight, **survey)
    method = _method_for(data, method)
    _warn_of_few_units(data.design)
    engine = engine_for(tree, data)
    tables = engine.layout.pack(tree.tables)
    log_likelihood, counts = engine.expected_counts(tables)
    if np.isneginf(log_likelihood):
        raise ImpossibleRowError(
            "the model rules out some rows of this table, so it was not fitted to it; give the table that it was "
            "fitted to, or fit with a prior, e.g. prior=0.01"
        )
    fixed = fisher.at_the_boundary(engine.layout, tables, counts)
    boundary = _whole_boundary(engine.layout, fixed)
    with one_blas_thread():
        if method != "bootstrap":
            design = (data.design or Design.of_counts(data.weights)) if method == "sandwich" else None
            errors, identified = _by_information(
                tree, engine, parallel.n_threads(n_jobs), tables, counts, fixed, design, show_progress
            )
            freedom = np.inf if design is None else design.degrees_of_freedom
            lower, upper = _logit_intervals(tables, errors, level, freedom)
            _warn_of_boundary(boundary)
        else:
            draws = _bootstrapped(tree, data, engine, tables, n_bootstrap, random_state, n_jobs, show_progress)
            errors, identified = draws.std(axis=0, ddof=1), np.ones(len(tables), bool)
            lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    table = _labels(tree)
    table["probability"] = tables
    table["standard_error"] = errors
    table["lower"], table["upper"] = lower, upper
    table["note"] = np.where(boundary, "at the boundary", np.where(identified, "", "not identified"))
    return table


def _check_settings(method: str | None, level: float, n_bootstrap: int, n_jobs: int | None) -> None:
    if method not in (None, "information", "sandwich", "bootstrap"):
        raise ValueError(f"method is {method!r}; give 'information', 'sandwich' or 'bootstrap'")
    check_number("level", level, 0)
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; give a number between 0 and 1, such as 0.95")
    check_number("n_bootstrap", n_bootstrap, 2, whole=True)
    check_n_jobs(n_jobs)


def _method_for(data: CategoricalData, method: str | None) -> str:
    """Return how standard errors are computed: as asked for, if that is right for the weights."""
    if method is None:
        return "information" if data.design is None else "sandwich"
    if method == "information" and data.design is not None:
        raise ValueError(
            "method='information' takes rows for independent draws that all count alike, which rows with sampling "
            "weights, strata or clusters are not; leave method out, or give 'sandwich' or 'bootstrap'"
        )
    return method


def _warn_of_few_units(design: Design | None) -> None:
    """Warn if so few clusters were drawn that differences between them say little about their variance."""
    if design is None or design.cluster is None or not 0 < design.degrees_of_freedom < FEW_UNITS:
        return
    units = f"{design.n_units:.10g} clusters" + (f" in {design.n_strata} strata" if design.n_strata > 1 else "")
    warn(
        f"standard errors rest on {units}, so few that they are rough and tend to be too small. Draw more clusters; or "
        "leave cluster out, if rows were drawn one by one.",
    )


def _labels(tree: DiscreteModel) -> pd.DataFrame:
    """Return node, state of the parent and state of every entry of the tables, in the order of the flat vector."""
    columns: dict[str, list] = {"node": [], "parent_state": [], "state": []}
    for node, name in enumerate(tree.names):
        for above in product(*(tree.state_names[parent] for parent in tree.parents[node])):
            for state in tree.state_names[node]:
                columns["node"].append(name)
                columns["parent_state"].append(None if not above else above[0] if len(above) == 1 else above)
                columns["state"].append(state)
    index = range(len(columns["node"]))
    return pd.DataFrame({key: pd.Series(values, index=index, dtype=object) for key, values in columns.items()})


def _whole_boundary(layout: Layout, fixed: np.ndarray) -> np.ndarray:
    """Return which entries are at zero, or at one because all others of their row are at zero."""
    free = layout.row_sums((~fixed).astype(np.float64))
    return fixed | ((free == 1) & (np.repeat(layout.row_lengths, layout.row_lengths) > 1))


def _logit_intervals(
    tables: np.ndarray, errors: np.ndarray, level: float, freedom: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence limits that lie between 0 and 1; those of a probability that is 1 by definition are 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = student.ppf((1 + level) / 2, freedom) * errors / (tables * (1 - tables))
        reach = np.where(errors == 0, 0.0, reach)
        return expit(logit(tables) - reach), expit(logit(tables) + reach)


def _warn_of_boundary(boundary: np.ndarray) -> None:
    if boundary.any():
        warn(
            f"{int(boundary.sum())} of {len(boundary)} probabilities are at the boundary, 0 or 1, where the curvature "
            "of the likelihood says nothing; their standard errors are NaN, and those of others take them as known. "
            'In standard_errors, method="bootstrap" does without this.',
        )


# --- Information -------------------------------------------------------------------------------------------


def _by_information(
    tree: LatentTree | LatentNetwork,
    engine: RowEngine,
    n_threads: int,
    tables: np.ndarray,
    counts: np.ndarray,
    fixed: np.ndarray,
    design: Design | None,
    show_progress: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of every entry, and which entries are identified; with a design, by the sandwich."""
    layout = engine.layout
    unknown = layout.row_sums(counts) <= NO_WEIGHT * engine.total_weight
    coordinates = fisher.Coordinates(layout, tables, fixed | unknown)
    curvature = fisher.information(em.Problem(engine, n_threads=n_threads), coordinates, show_progress)
    scatter = None
    if design is not None:
        scatter = design.scatter(fisher.row_scores(engine, coordinates, show_progress))
    precision = fisher.precision(coordinates, curvature, counts, scatter=scatter)
    if isinstance(tree, LatentTree) and precision.weakest < LITTLE:
        # short of the ridge of maxima, the curvature alone would not show that it is flat along the ridge
        n_flat = coordinates.n_parameters - _dimension(tree)
        precision = fisher.precision(coordinates, curvature, counts, n_flat, scatter)
    sure = np.repeat(layout.row_lengths, layout.row_lengths) == 1
    errors = np.where(sure, 0.0, precision.standard_errors)
    identified = sure | (precision.identified & ~unknown)
    if not identified[~fixed].all():
        warn(
            f"{int((~identified & ~fixed).sum())} of {len(fixed)} probabilities are not identified: others make up for "
            "any change of them, so they have no standard error. Fewer hidden states may fit as well.",
        )
    if precision.gain > NOTABLE_GAIN or not precision.is_maximum:
        gain = f"about {precision.gain:.2g} nats could be gained" if precision.is_maximum else "it is bent upwards"
        warn(
            f"the model is not at a maximum of the likelihood of this table ({gain}), as standard errors presume. Give "
            "the table and weights that it was fitted to; fit without a prior, and with a smaller tolerance.",
        )
    return errors, identified


def _dimension(tree: LatentTree) -> int:
    """Return the effective dimension; warn if the tree has more parameters."""
    dimension = effective_dimension(tree)
    if dimension < tree.n_parameters:
        warn(
            f"the columns can tell only {dimension} of the {tree.n_parameters} parameters of this structure apart, so "
            "that infinitely many tables fit alike; standard errors hold at best for these ones. Use fewer hidden "
            "states.",
        )
    return dimension


# --- Bootstrap ---------------------------------------------------------------------------------------------


def _bootstrapped(
    tree: LatentTree | LatentNetwork,
    data: CategoricalData,
    engine: RowEngine,
    tables: np.ndarray,
    n_bootstrap: int,
    random_state,
    n_jobs: int | None,
    show_progress: bool,
) -> np.ndarray:
    """Return the tables fitted to rows drawn from the table: (n_bootstrap, size); fewer after Ctrl-C."""
    lengths = engine.layout.row_lengths
    start = (1 - UNIFORM_SHARE) * tables + UNIFORM_SHARE / np.repeat(lengths, lengths)
    matching = Matching(as_network(tree), engine, tables)
    clock = Clock()
    work = _Draws(data, engine, start, entropy_of(random_state), matching, clock).fitted
    bar = tqdm(
        total=n_bootstrap, desc="bootstrap", disable=not show_progress, delay=PROGRESS_DELAY, leave=False, unit=" fits"
    )
    with bar:
        draws, interrupted = parallel.work_through(work, range(n_bootstrap), n_jobs, lambda _: bar.update(), clock)
    if interrupted and len(draws) < FEWEST_DRAWS:
        raise clock.stop_signal()
    if interrupted:
        warn(
            f"Ctrl-C stopped the bootstrap; what is returned rests on {len(draws)} of {n_bootstrap} draws",
            ConvergenceWarning,
        )
    return np.stack(draws)


@dataclass(frozen=True, eq=False)
class _Draws:
    """Fits to rows drawn from a table, each a function of its number."""

    data: CategoricalData
    engine: RowEngine
    start: np.ndarray
    seed: int
    match: Matching
    clock: Clock

    def fitted(self, draw: int) -> np.ndarray:
        """Return the tables that EM finds for a draw, with hidden states in the order of the model's."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(draw,)))
        fit = em.fit(self.engine.reweighted(drawn_weights(self.data, rng)), self.start, clock=self.clock)
        if fit.interrupted:  # an unfinished fit must not count as a draw
            self.clock.note_stop()
            raise self.clock.stop_signal()
        return self.match(fit.tables)


class Matching:
    """Sorts the hidden states of other tables like those of a model, by the weight of rows that are in both.

    Parameters
    ----------
    network : LatentNetwork
        The structure.
    engine : RowEngine
        For the rows.
    tables : array, shape (size,)
        The model's tables.
    """

    def __init__(self, network: LatentNetwork, engine: RowEngine, tables: np.ndarray):
        self.network = network
        self.engine = engine
        self.hidden = np.flatnonzero(network.latent).tolist()
        self.shares = [engine.weights[:, None] * belief for belief in engine.beliefs(tables, self.hidden)]

    def __call__(self, tables: np.ndarray) -> np.ndarray:
        """Return other tables with their hidden states in the model's order."""
        layout, orders = self.engine.layout, {}
        for node, share, belief in zip(self.hidden, self.shares, self.engine.beliefs(tables, self.hidden), strict=True):
            _, orders[node] = linear_sum_assignment(share.T @ np.nan_to_num(belief), maximize=True)
        return layout.pack(reordered_tables(layout.unpack(tables), self.network.parents, orders))
