"""One table to choose the number of classes."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Never

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent import presets, scores
from pgmpy_latent.diagnostics.goodness import chi_squared_p, degrees_of_freedom, deviance_and_pearson
from pgmpy_latent.diagnostics.resampling import batches, n_rows_of
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.ascent import same_value
from pgmpy_latent.em.constraints import Constraints, ordinal_families
from pgmpy_latent.em.few_rows import warn_of_few_rows
from pgmpy_latent.em.restrictions import check_order, check_ordinal, ordered_columns
from pgmpy_latent.em.starts import StartInputs, StartRows, make_start
from pgmpy_latent.exceptions import DataError, RegularityWarning
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.cardinality.random_starts import RandomStarts, with_cards
from pgmpy_latent.learners.cardinality.split_merge import SplitMerge
from pgmpy_latent.learners.memo import Memo, memo_of_call
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.learners.skeletons import one_state_tree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import bound_from_cards, canonical_states, marginals, split_state
from pgmpy_latent.operators.canonical import presentable
from pgmpy_latent.operators.regularity import UNBOUNDED
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock
from pgmpy_latent.runtime.configured import fill_docstring, refuse_renamed
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_number, check_time_limit, entropy_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.selection.added_edges import best_edge
from pgmpy_latent.selection.class_choice import caveats, recommended, worth_of_edge
from pgmpy_latent.selection.class_draws import DRAW_TOL, Refit, refitted
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.numbers import Kinds, check_kinds
from pgmpy_latent.tables.survey import Survey, WeightKind

#: Beyond this many parameters, whether they can be told apart is not found out: it would take longer than the fit.
MOST_PARAMETERS = 500
#: Columns of the table behind those of the scores, and their types.
FURTHER_COLUMNS = {
    "minus_2_bic": "float64", "relative_entropy": "float64", "smallest_share": "float64", "n_best": "int64",
    "n_starts": "int64", "effective_dimension": "Int64", "identified": "boolean", "g2": "float64", "x2": "float64",
    "df": "Int64", "g2_p": "float64", "x2_p": "float64", "blrt": "float64", "blrt_p": "float64", "edge": object,
    "edge_bic": "float64", "found_by": object, "seconds": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class _Settings:
    """How models are fitted."""

    method: str
    n_starts: int
    prior: float
    entropy: int
    n_jobs: int | None
    ordinal: tuple[Hashable, ...] = ()
    memo: Memo = field(default_factory=Memo)
    clock: Clock = field(default_factory=Clock)

    @property
    def of_learners(self) -> dict:
        return {"prior": self.prior, "random_state": self.entropy, "n_jobs": self.n_jobs, "show_progress": False}

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, if there is one; a little where it has passed."""
        return max(self.clock.seconds_left, 1e-3) if np.isfinite(self.clock.seconds_left) else None

    def seed(self, *key: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.entropy, spawn_key=key)


@held_by_checkpoints("classes")
@dataclass(frozen=True)
class _ClassFit:
    """A fitted model of one size, how it was found, and in how many seconds."""

    tree: LatentTree
    log_likelihood: float
    found_by: str
    n_best: int
    n_starts: int
    interrupted: bool
    n_parameters: int | None = None
    seconds: float = 0.0


@fill_docstring(scores=", ".join(f"``{name}``" for name in scores.compared_scores()))
def compare_classes(
    X,
    n_classes: Iterable[int] = range(1, 9),
    *,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    method: str = "both",
    n_starts: int = 16,
    prior: float | None = None,
    n_bootstrap: int = 0,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike | None = None,
    show_progress: bool = True,
    return_models: bool = False,
    missing=None,
    allow_many_states=None,
    ordinal: Sequence[Hashable] | bool | None = None,
    kinds: Kinds = None,
    **renamed: Never,
):
    """Fit latent class models with several numbers of classes and put what speaks for each side by side.

    Parameters
    ----------
    X : DataFrame, array or CategoricalData
        A row per observation; missing cells are fine.
    n_classes : iterable of int
        Numbers of classes to compare.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. Criteria use the effective
        number of rows of sampling weights. Strata and clusters change nothing here: neither criteria nor tests know
        that rows of a cluster are alike.
    method : {"both", "random", "split"}
        EM from random starts for every number, from splits of the classes of the model before (:class:`SplitMerge`),
        or the better of the two, so that more classes never describe the table worse.
    n_starts : int
        Number of random starts, all of which go on to their ends.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; None is maximum likelihood.
    n_bootstrap : int
        Number of tables that are drawn from every model, for p-values. 0 draws none; 100 are enough for a decision at
        the level of 0.05, and take some seconds where tables are small.
    random_state : int, optional
        Same seed, same table.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    time_limit : float, optional
        Seconds, after which the rows that are finished are returned, with a warning, and p-values from the tables that
        were drawn until then. Ctrl-C does the same.
    checkpoint : path, optional
        A file for what is finished. The same call with the same file continues from there; see :class:`SplitMerge`.
    show_progress : bool
        Whether work of more than two seconds shows a bar.
    return_models : bool
        Whether to return the models as well.
    missing : value, list of values, or dict of column to either, optional
        Values that count as missing cells, as ``{"age": [99, -1]}``; the models keep them. See :meth:`SplitMerge.fit`.
    allow_many_states : bool or list of columns, optional
        Which columns are categories although they look like identifiers, dates or measurements.
    ordinal : list of columns or True, optional
        Columns whose categories are ordered; True for all ordered Categoricals. A class moves their answers up or down
        by one effect, which takes ``(c - 1) + (K - 1)`` parameters for c categories and K classes; see :class:`TreeEM`.
        All models are then fitted from random starts, and from the model before with a class there twice. The
        effective dimension and the Cheeseman-Stutz score, which know no order, are NA. See :func:`order_test`.
    kinds : dict of column to kind, or "auto", optional
        Which columns are numbers, as ``{"age": "gaussian", "visits": "poisson"}``; with Gaussian columns alone the
        models are latent profiles. See :meth:`SplitMerge.fit` and ``docs/mixed.md``. The effective dimension, the
        Cheeseman-Stutz score, the statistics of cells and the best edge are NA then, and there is no bootstrap.

    Returns
    -------
    table : DataFrame
        A row per number of classes, with these columns.

        - ``best``: marks the recommended row, the one with the best BIC. ``table.attrs["recommended"]`` is its number
          of classes, and ``table.attrs["reason"]`` says why, and what speaks against it.
        - ``log_likelihood``, {scores}: larger is better (see
          :mod:`pgmpy_latent.scores`); ``n_parameters``; ``minus_2_bic``: BIC as other programs print it, where
          smaller is better.
        - ``relative_entropy``: 1 where every row belongs to one class; ``smallest_share``: of the smallest class.
        - ``n_best`` of ``n_starts`` random starts reached the best value. Few are a hint that it may not be the
          global maximum; none, that splits found a better one.
        - ``effective_dimension``: how many of the parameters the columns can tell apart, and ``identified``: whether
          all of them. Not computed, NA, above 500 parameters.
        - ``g2``, ``x2``: the likelihood-ratio and Pearson statistics of all cells; ``df``: the number of cells less 1
          and less the effective dimension; ``g2_p``, ``x2_p``: small if the table deviates from the model by more
          than chance. From the bootstrap, if there is one; else by the chi-squared distribution, and NaN where it says
          little (fewer than 5 rows per cell, or no degrees of freedom). With missing cells there is no table of cells
          to compare with: all five are NaN.
        - ``blrt``: twice the gain in log-likelihood over the next smaller model of the table; ``blrt_p``: small if
          tables drawn from that smaller model do not show such a gain (bootstrap likelihood-ratio test). NaN in the
          first row and without a bootstrap.
        - ``edge``: two columns, and ``edge_bic``: the BIC of this model with an edge between them, which is the best of
          the edges between the three pairs with the largest residuals. Where it is larger than the BIC of a model with
          a class more, the edge is worth more than the class, and the reason says so; :func:`add_direct_effects` adds
          it. None and NaN above 500 parameters, and where the comparison was stopped.
        - ``found_by``: "random starts" or "splits"; ``seconds``: for the fit and the tables drawn from it.
    models : dict of int to LatentTree
        Only if asked for.

    Notes
    -----
    The bootstrap is parametric. From each model ``n_bootstrap`` tables are drawn, with as many rows as the given one
    and with missing cells where it has them. To each of them this model is fitted, and the next larger one of the
    comparison, from several starts. With ``B`` tables, a p-value is ``(1 + #{drawn >= observed}) / (1 + B)``, where
    values that differ by less than EM's tolerance count as equal. Where weights count rows, a table has as many rows as
    they sum to, rounded; with sampling weights, each drawn row gets the weight and the missing cells of a row of the
    table.

    References
    ----------
    McLachlan, G. J. (1987). On bootstrapping the likelihood ratio test statistic for the number of components in a
    normal mixture. Applied Statistics, 36(3), 318-324.
    Nylund, K. L., Asparouhov, T. and Muthén, B. O. (2007). Deciding on the number of classes in latent class analysis
    and growth mixture modeling. Structural Equation Modeling, 14(4), 535-569.

    Examples
    --------
    >>> from pgmpy_latent import compare_classes, datasets
    >>> survey = datasets.load_anes96().iloc[:, :4]
    >>> table = compare_classes(survey, range(1, 4), n_starts=4)
    >>> table.index.tolist(), bool((table["log_likelihood"].diff().dropna() >= 0).all())
    ([1, 2, 3], True)
    >>> table = compare_classes(survey, [1, 2], n_starts=4, n_bootstrap=19)
    >>> table["blrt_p"].tolist()
    [nan, 0.05]
    """
    refuse_renamed("compare_classes", renamed, {"n_init": "n_starts"})
    sizes = _checked_sizes(n_classes)
    if method not in ("both", "random", "split"):
        raise ValueError(f"method is {method!r}; give 'both', 'random' or 'split'")
    check_number("n_bootstrap", n_bootstrap, 0, whole=True)
    check_time_limit(time_limit)
    check_ordinal("ordinal", ordinal)
    check_kinds("kinds", kinds)
    if isinstance(kinds, Mapping) and "ordinal" in kinds.values():
        ordered = [name for name, kind in kinds.items() if kind == "ordinal"]
        ordinal = [*(ordinal if isinstance(ordinal, Sequence) else ordered_columns(X) if ordinal else ()), *ordered]
        kinds = {name: "categorical" if kind == "ordinal" else kind for name, kind in kinds.items()}
    if ordinal and method == "split":
        raise ValueError("ordinal and method='split' do not go together; leave method out")
    check_number("n_starts", n_starts, 1, whole=True)
    settings = _Settings(method, n_starts, 0.0 if prior is None else prior, entropy_of(random_state), n_jobs)
    learner = RandomStarts(n_starts=n_starts, **settings.of_learners)
    learner._check_settings()
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    options = {"missing": missing, "allow_many_states": allow_many_states, "kinds": kinds}
    data = learner._check_fit_data(X, sample_weight, **options, **survey)
    ordinal_columns = tuple(ordered_items(X, data, ordinal))
    stated = {"n_classes": sizes, "method": method, "n_starts": n_starts, "prior": prior, "n_bootstrap": n_bootstrap,
              "ordinal": ordinal_columns}  # fmt: skip
    if n_bootstrap and data.values:
        raise DataError(
            f"n_bootstrap draws tables of categories alone, and {next(iter(data.values))!r} is a number; leave it out"
        )
    if n_bootstrap:
        n_rows_of(data)  # raises
    memo, entropy = memo_of_call(checkpoint, "compare_classes", stated, data, random_state)
    settings = replace(settings, ordinal=ordinal_columns, entropy=entropy, memo=memo, clock=Clock(time_limit))
    with memo.going_on:
        fits = _fit_all(sizes, data, settings, show_progress)
        seconds = {size: fit.seconds for size, fit in fits.items()}
        _warn_of_too_many(list(fits), data)
        is_late = settings.clock.stopped == "time_limit"
        n_draws = 0 if is_late else n_bootstrap
        refits = _bootstrap(fits, data, settings, n_draws, seconds, show_progress) if n_draws else {}
    memo.finish() if settings.clock.stopped is None else memo.tend(now=True)
    table = _table(fits, data, seconds, settings)
    _fill_in_p_values(table, refits)
    table.attrs["recommended"], reason = recommended(table)
    table.attrs["reason"] = " ".join([reason, *worth_of_edge(table), *caveats(data, n_bootstrap)])
    table.insert(0, "best", table.index == table.attrs["recommended"])
    models = {size: replace(fit.tree, missing=data.missing) for size, fit in fits.items()}
    best = table.attrs["recommended"]
    called = f"the recommended model, of {best} class{'es' * (best != 1)},"
    warn_of_few_rows(models[best], data.total_weight, called=called, n_parameters=fits[best].n_parameters)
    return (table, models) if return_models else table


def _fit_all(
    sizes: Sequence[int], data: CategoricalData, settings: _Settings, show_progress: bool
) -> dict[int, _ClassFit]:
    """Return the model of every size; after the time limit or Ctrl-C, of those that were finished."""
    fits: dict[int, _ClassFit] = {}
    smaller: LatentTree | None = None
    clock = settings.clock
    for size in tqdm(sizes, desc="classes", disable=not show_progress, delay=PROGRESS_DELAY, leave=False):
        interrupted, signal = False, None
        try:
            fit = _remembered_fit(size, smaller, data, settings)
            interrupted = fit.interrupted
            if not (interrupted and fits):  # a size that was not finished is shown only if there is no other
                fits[size], smaller = fit, fit.tree
        except STOP_SIGNALS as stop:
            interrupted, signal = True, stop
            if not fits:
                raise
        if interrupted:
            clock.note_stop(signal)
            warn(
                f"{_stopped_by(clock)} stopped the comparison at {size} class{'es' * (size != 1)}; the table holds "
                f"{', '.join(map(str, fits))}",
                ConvergenceWarning,
            )
            break
    return fits


def _stopped_by(clock: Clock) -> str:
    return "the time limit" if clock.stopped == "time_limit" else "Ctrl-C"


def _remembered_fit(size: int, smaller: LatentTree | None, data: CategoricalData, settings: _Settings) -> _ClassFit:
    """Return the best model of one size, from the memo if that has it."""
    began, name = time.perf_counter(), f"{size} classes"

    def check(fit: _ClassFit) -> None:
        check_model_again(fit.tree, data.columns, data.state_names)
        check_number_again("log-likelihood", fit.log_likelihood, scores.log_likelihood(fit.tree, data))

    if name in settings.memo.entries:
        known: _ClassFit = settings.memo.recall(name, dict, check=check)
        return known
    fit = _fitted(size, smaller, data, settings)
    fit = replace(fit, seconds=time.perf_counter() - began)
    if not fit.interrupted:
        settings.memo.note(name, fit)
    return fit


def _fitted(size: int, smaller: LatentTree | None, data: CategoricalData, settings: _Settings) -> _ClassFit:
    """Return the best model of one size."""
    trees: dict[str, LatentTree] = {}
    ends, interrupted = np.empty(0), False
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", RegularityWarning)  # one for all sizes comes at the end
        warnings.simplefilter("ignore", ConvergenceWarning)
        if settings.ordinal:
            return _ordinal_fit(size, smaller, data, settings)
        if settings.method != "split":
            trees["random starts"], fit = _from_random_starts(size, data, settings)
            ends, interrupted = fit.final_objectives, fit.interrupted
        if settings.method != "random" and not interrupted:
            learner = SplitMerge(  # split classes until there are as many as wanted, whatever the penalty would say
                start=smaller,
                max_states=size,
                scoring_method=scores.log_likelihood,
                tuning=presets.SPLIT_MERGE.replace(merge=False, regular=False),
                time_limit=settings.seconds_left,
                **settings.of_learners,
            )
            outcome = learner._learn(data)
            trees["splits"] = _with_classes(presentable(outcome.tree, data.missing), size)
            interrupted = outcome.stopped is not None
    values = {name: scores.log_likelihood(tree, data) for name, tree in trees.items()}
    chosen = max(values, key=lambda name: values[name])
    flat = np.concatenate([table.ravel() for table in trees[chosen].tables])
    prior: float | np.ndarray = settings.prior
    if data.values and prior:
        prior = engine_for(trees[chosen], data).layout.pseudo_counts(prior)
    best = values[chosen] + float(em.log_prior(flat, prior))
    n_best = int(same_value(ends, best).sum())
    return _ClassFit(trees[chosen], values[chosen], chosen, n_best, len(ends), interrupted)


def _from_random_starts(size: int, data: CategoricalData, settings: _Settings) -> tuple[LatentTree, em.Fit]:
    """Fit a model from random starts, all of which go on to their ends."""
    shape, engine, starts = _random_starts(size, data, settings)
    fit = em.fit(engine, starts, prior=float(settings.prior), retry=True, n_jobs=settings.n_jobs, clock=settings.clock)
    tree = canonical_states(shape.with_tables(engine.layout.unpack(fit.tables)))
    return shape.with_tables(tree.tables), fit  # states are numbered in their new order


def _random_starts(size: int, data: CategoricalData, settings: _Settings) -> tuple[LatentTree, TreeEngine, np.ndarray]:
    """Return the shape of a model with some classes, its engine, and random starts."""
    shape = one_state_tree(None, data)
    shape = with_cards(shape, np.where(shape.latent, size, shape.cards))
    engine = engine_for(shape, data)
    inputs = StartInputs(engine.layout, shape.parents, shape.cards, StartRows.of(data, shape.names))
    starts = [
        make_start("memberships", inputs, settings.seed(0, size, number))
        for number in range(settings.n_starts if size > 1 else 1)
    ]
    return shape, engine, np.stack(starts)


def _ordinal_fit(size: int, smaller: LatentTree | None, data: CategoricalData, settings: _Settings) -> _ClassFit:
    """Fit a model with ordered columns: from random starts, and from the smaller model with its first class twice."""
    shape, engine, starts = _random_starts(size, data, settings)
    n_random = len(starts)
    if smaller is not None:
        starts = np.vstack([starts, engine.layout.pack(_with_classes(smaller, size).tables)])
    families = ordinal_families(engine.layout, [shape.index(name) for name in settings.ordinal])
    constraints = Constraints(engine.layout, log_linear=families)
    prior, n_jobs = float(settings.prior), settings.n_jobs
    fit = em.fit(engine, starts, prior=prior, constraints=constraints, retry=True, n_jobs=n_jobs, clock=settings.clock)
    tree = canonical_states(shape.with_tables(engine.layout.unpack(fit.tables)))
    found_by = "random starts" if fit.best_start < n_random else "splits"
    n_best = int(same_value(fit.final_objectives[:n_random], fit.objective).sum())
    ordered = shape.with_tables(tree.tables)
    return _ClassFit(ordered, fit.log_likelihood, found_by, n_best, n_random, fit.interrupted, constraints.n_parameters)


def ordered_items(X, data: CategoricalData, ordinal: Sequence[Hashable] | bool | None) -> list[Hashable]:
    """Return the columns whose categories are ordered; raise for names that are no columns, and for unknown orders."""
    stated = list(data.columns) if isinstance(X, CategoricalData) else ordered_columns(X)
    if isinstance(ordinal, bool):
        ordinal = [name for name in ordered_columns(X) if name in data.columns] if ordinal else []
    states = dict(zip(data.columns, data.state_names, strict=True))
    for name in ordinal or ():
        if name not in states:
            raise DataError(f"ordinal names {name!r}, which is no column of the table; leave it out")
        check_order(name, states[name], stated)
    return list(ordinal or ())


def _with_classes(tree: LatentTree, size: int) -> LatentTree:
    """Return the tree with as many classes as wanted: where no split helped, a class is there twice."""
    hidden = tree.latent_names[0]
    while tree.cards[tree.index(hidden)] < size:
        tree = split_state(tree, hidden, tree.state_names[tree.index(hidden)][0], direction={})
    return tree


def _bootstrap(
    fits: dict[int, _ClassFit],
    data: CategoricalData,
    settings: _Settings,
    n_bootstrap: int,
    seconds: dict[int, float],
    show_progress: bool,
) -> dict[int, Refit]:
    """Return what was found on tables drawn from every model; seconds are added to those of the models."""
    refits: dict[int, Refit] = {}
    sizes = list(fits)
    with tqdm(
        total=len(sizes) * n_bootstrap, desc="bootstrap", unit=" tables", disable=not show_progress,
        delay=PROGRESS_DELAY, leave=False,
    ) as bar:  # fmt: skip
        for size, larger in zip(sizes, [*sizes[1:], None], strict=True):
            began = time.perf_counter()
            bar.set_postfix_str(f"{size} classes", refresh=False)
            tree, more = fits[size].tree, None if larger is None else fits[larger].tree
            seeds = [[settings.seed(1, size, draw) for draw in draws] for draws in batches(data, n_bootstrap)]
            ordinal = [data.columns.index(name) for name in settings.ordinal]
            prior, clock = float(settings.prior), settings.clock
            work = partial(refitted, tree, more, data, prior=prior, ordinal=ordinal, clock=clock)
            names = [f"draws from {size} classes, batch {at}" for at in range(len(seeds))]
            parts, interrupted = settings.memo.work_through(
                names, work, seeds, settings.n_jobs, lambda part: bar.update(len(part.g2)), clock
            )
            if parts:
                refits[size] = Refit.joined(parts)
            seconds[size] += time.perf_counter() - began
            if interrupted:
                clock.note_stop()
                _warn_of_few_draws(refits, n_bootstrap, _stopped_by(clock))
                break
    return refits


def _warn_of_few_draws(refits: dict[int, Refit], n_bootstrap: int, why: str) -> None:
    done = ", ".join(f"{len(refit.g2)} for {size}" for size, refit in refits.items()) or "none"
    warn(
        f"{why} stopped the bootstrap; p-values rest on the tables that were finished, by number of classes: {done} "
        f"({n_bootstrap} for each were wanted)",
        ConvergenceWarning,
    )


def _warn_of_too_many(sizes: list[int], data: CategoricalData) -> None:
    bound = UNBOUNDED if data.values else bound_from_cards(data.cards.tolist())
    if max(sizes) > max(bound, 1):
        warn(
            f"more than {bound} classes cannot describe these columns any better (the bound of regularity: the product "
            f"of their numbers of states, divided by the largest); compare at most {bound}",
            RegularityWarning,
        )


def _checked_sizes(n_classes: Iterable[int]) -> list[int]:
    sizes = [n_classes] if isinstance(n_classes, (int, np.integer)) else list(n_classes)
    if not sizes:
        raise ValueError("n_classes is empty; give numbers of classes to compare, as range(1, 9)")
    for size in sizes:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"n_classes holds {size!r}; give whole numbers of at least 1")
    return sorted({int(size) for size in sizes})


def _table(
    fits: dict[int, _ClassFit], data: CategoricalData, seconds: dict[int, float], settings: _Settings
) -> pd.DataFrame:
    """Return the table without what the bootstrap says."""
    rows = [
        {"n_classes": size, **_row(fit, data), **_edge(fit, data, settings), "seconds": seconds[size]}
        for size, fit in fits.items()
    ]
    table = pd.DataFrame(rows).set_index("n_classes")
    table["minus_2_bic"] = -2 * table["bic"]
    table["blrt"] = 2 * table["log_likelihood"].diff()
    table["blrt_p"] = np.nan
    columns: dict[str, Any] = {"log_likelihood": "float64", "n_parameters": "int64"}
    columns |= dict.fromkeys(scores.compared_scores(), "float64") | FURTHER_COLUMNS
    return table[list(columns)].astype(columns)


def _row(fit: _ClassFit, data: CategoricalData) -> dict:
    tree, free = fit.tree, fit.n_parameters is None and not data.values
    effective = free and tree.n_parameters <= MOST_PARAMETERS
    summary = asdict(scores.summary(tree, data, effective=effective, n_parameters=fit.n_parameters))
    if not free:
        summary["cheeseman_stutz"] = np.nan
    dimension = summary["effective_dimension"]
    hidden = int(np.flatnonzero(tree.latent)[0])
    return {
        **{name: summary[name] for name in ("log_likelihood", "n_parameters", *scores.compared_scores())},
        "relative_entropy": summary["relative_entropy"],
        "smallest_share": float(marginals(tree)[hidden].min()),
        "n_best": fit.n_best,
        "n_starts": fit.n_starts,
        "effective_dimension": dimension,
        "identified": None if dimension is None else dimension == summary["n_parameters"],
        **_misfit(tree, data, summary["n_parameters"] if dimension is None else dimension),
        "found_by": fit.found_by,
    }


def _edge(fit: _ClassFit, data: CategoricalData, settings: _Settings) -> dict:
    """Return the best edge between two columns, and the BIC of the model with it; none beside ordered columns."""
    none = {"edge": None, "edge_bic": np.nan}
    is_ordered = fit.n_parameters is not None
    if settings.clock.stopped is not None or is_ordered or data.values or fit.tree.n_parameters > MOST_PARAMETERS:
        return none
    with one_blas_thread():
        found = best_edge(fit.tree, data, float(settings.prior))
    return none if found is None else {"edge": (found.parent, found.child), "edge_bic": found.bic}


def _misfit(tree: LatentTree, data: CategoricalData, dimension: int) -> dict:
    """Return G² and X² with their degrees of freedom and p-values; nothing where cells are missing, or numbers."""
    if data.has_missing.any() or data.values:
        return {"g2": np.nan, "x2": np.nan, "df": None, "g2_p": np.nan, "x2_p": np.nan}
    engine = engine_for(tree, data)
    rows = engine.row_log_likelihoods(engine.layout.pack(tree.tables))
    g2, x2 = map(float, deviance_and_pearson(data.weights, rows))
    df = degrees_of_freedom(data, dimension)
    return {"g2": g2, "x2": x2, "df": df, "g2_p": chi_squared_p(data, g2, df), "x2_p": chi_squared_p(data, x2, df)}


def _fill_in_p_values(table: pd.DataFrame, refits: dict[int, Refit]) -> None:
    """Replace p-values by those of the bootstrap, where there is one."""
    sizes = table.index.tolist()
    for size, larger in zip(sizes, [*sizes[1:], None], strict=True):
        if size not in refits:
            continue
        refit = refits[size]
        for name, drawn in (("g2", refit.g2), ("x2", refit.x2)):
            table.loc[size, f"{name}_p"] = _share_beyond(drawn, table.loc[size, name])
        if larger is not None and refit.ratio is not None:
            table.loc[larger, "blrt_p"] = _share_beyond(refit.ratio, table.loc[larger, "blrt"])


def _share_beyond(drawn: np.ndarray, observed: float) -> float:
    """Return the p-value of an observed value; drawn ones that fall short of it by less than EM's tolerance count."""
    if np.isnan(observed):
        return np.nan
    return float((1 + (drawn >= observed - 2 * DRAW_TOL).sum()) / (1 + len(drawn)))
