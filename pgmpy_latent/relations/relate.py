"""Relating classes to covariates and outcomes, in one, two or three steps."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, overload

import numpy as np
import pandas as pd
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.em.restrictions import refuse_restricted
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.memo import memo_of_call
from pgmpy_latent.relations.covariate_result import ALL, CovariateRelation, coefficient_table, terms_of
from pgmpy_latent.relations.covariates import Covariates
from pgmpy_latent.relations.evidence import Assignment, Correction, Method
from pgmpy_latent.relations.last_step import Estimate, covariance, estimated
from pgmpy_latent.relations.logit import LogitPart
from pgmpy_latent.relations.one_step import OneStep, OneStepParameters, Starts
from pgmpy_latent.relations.outcome_result import OutcomeRelation, difference_table, mean_table
from pgmpy_latent.relations.outcomes import Family, NormalPart, family_of, outcome_part
from pgmpy_latent.relations.rows import RelatedRows, related_rows
from pgmpy_latent.relations.run import Run, no_errors
from pgmpy_latent.relations.separation import separation, without_unbounded
from pgmpy_latent.relations.step_one import StepOne
from pgmpy_latent.relations.wald import wald_test
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, RandomState, check_n_jobs, check_number, check_time_limit
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.survey import Survey, WeightKind


@overload
def relate(
    learner, table, z, kind: Literal["covariate"] = "covariate", steps: int = 3, correction: Correction | None = "ml",
    assignment: Assignment = "modal", *, latent: Hashable | None = None, reference: Hashable | None = None,
    family: Family | None = None, level: float = 0.95, n_starts: int = 1, random_state: RandomState = 0,
    n_jobs: int | None = None, sample_weight=None, weight_kind: WeightKind | None = None, strata=None, cluster=None,
    time_limit: float | None = None, checkpoint: str | os.PathLike | None = None, show_progress: bool = True,
) -> CovariateRelation: ...  # fmt: skip
@overload
def relate(
    learner, table, z, kind: Literal["outcome"], steps: int = 3, correction: Correction | None = "ml",
    assignment: Assignment = "modal", *, latent: Hashable | None = None, reference: Hashable | None = None,
    family: Family | None = None, level: float = 0.95, n_starts: int = 1, random_state: RandomState = 0,
    n_jobs: int | None = None, sample_weight=None, weight_kind: WeightKind | None = None, strata=None, cluster=None,
    time_limit: float | None = None, checkpoint: str | os.PathLike | None = None, show_progress: bool = True,
) -> OutcomeRelation: ...  # fmt: skip
def relate(
    learner,
    table,
    z,
    kind: Literal["covariate", "outcome"] = "covariate",
    steps: int = 3,
    correction: Correction | None = "ml",
    assignment: Assignment = "modal",
    *,
    latent: Hashable | None = None,
    reference: Hashable | None = None,
    family: Family | None = None,
    level: float = 0.95,
    n_starts: int = 1,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike | None = None,
    show_progress: bool = True,
) -> CovariateRelation | OutcomeRelation:
    """Relate the classes of a model to covariates, which predict the class, or to an outcome that differs by class.

    Parameters
    ----------
    learner : fitted learner, TreeEM, LatentTree or LatentNetwork
        The model of the columns. Its hidden variable is the class.
    table : DataFrame
        Rows with the columns of the model.
    z : column name, list of them, Series or DataFrame
        The covariates, or the outcome; by position: the index is not looked at. Numbers count as numbers, and
        categories and truth values as categories, the first of which the others are compared with.
    kind : {"covariate", "outcome"}
        Whether z predicts the class, by a multinomial logit, or the class z.
    steps : {3, 2, 1}
        Three: rows are assigned to classes, and assigned classes are related to z. Two: the probabilities of the
        columns given the class are fixed, and classes are summed out. One: all parameters are estimated together, from
        the learner's; for covariates only, since an outcome would become one of the columns that define the classes.
    correction : {"ml", "bch"}, optional
        With three steps, how wrong assignments are corrected for: by the likelihood of assigned classes, or by
        weights, which one and two steps refuse; None treats assigned classes as if they were
        known, which makes relations too weak.
    assignment : {"modal", "proportional"}
        With three steps, whether a row is assigned to its likeliest class, or to all in proportion to their posteriors.
    latent : hashable, optional
        Name of the hidden variable that is the class; need not be given if there is only one.
    reference : hashable, optional
        The class that others are compared with; by default the largest.
    family : {"normal", "categorical", "count"}, optional
        Distribution of an outcome in a class: a normal one with a mean and a variance per class, shares, or a Poisson
        one. By default numbers with more than two values are normal, and everything else is categorical.
    level : float
        How often intervals shall cover the truth.
    n_starts : int
        With one step, the number of starts of EM: the first is the learner's model, the others are random. Classes
        are in the order of the learner's, by the rows that they share.
    random_state : int or Generator, optional
        Seed of the random starts.
    n_jobs : int, optional
        Threads that share the starts; -1 for all cores, None for one. The result does not depend on it.
    sample_weight, weight_kind, strata, cluster
        Weights of the rows and how rows were drawn, as in :func:`pgmpy_latent.encode`; by default as the learner was
        fitted. They hold for all steps.
    time_limit : float, optional
        Seconds, after which standard errors and tests that are not finished are NaN, with a warning, and the EM of one
        step ends with its best estimates so far; those of two and three steps are always finished. Ctrl-C does the
        same.
    checkpoint : path, optional
        A file for what is finished. The same call with the same file continues from there; see :class:`SplitMerge`.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    CovariateRelation or OutcomeRelation
        See there for ``coefficients``, ``tests``, ``means`` and more.

    Raises
    ------
    DataError, ValueError
        If z cannot be used, naming what is wrong; if the classes cannot be told apart well enough for a correction.

    Warns
    -----
    UserWarning
        If a coefficient has no finite estimate, or if BCH gives negative shares or variances.
    ConvergenceWarning
        If the time limit or Ctrl-C came first, or the last step did not converge.
    MissingCodeWarning
        If values of z look like codes for missing answers, such as 99 above ages up to 80.

    See Also
    --------
    classification_table : How many rows are assigned to the wrong class.

    Notes
    -----
    *Rows* without a value of z (of any covariate), or without any known column, are left out of every step;
    ``n_rows_left_out`` counts them. The model is first refitted to the rows that are used, by EM from the learner's
    tables, so that all steps rest on the same rows; missing cells of the columns are summed out.

    *ML.* With D the classification errors P(assigned class | class), which step one gives, the likelihood of a row's
    assigned class s is the sum over classes k of ``P(k | z) D[k, s]``.

    *BCH.* Each row counts in class k with the weight ``(a inv(D))[k]``, where a is 1 for the assigned class. Weights
    sum to one and may be negative. For covariates the function to be maximised is concave all the same. For outcomes
    the means always exist; shares that come out negative are set to zero, and the others of their class are scaled to
    sum to one, while tests use them as they came out; a negative variance gives no standard deviation, and concerns
    neither the means nor their standard errors. ``note`` and a warning say where this happened.

    *Outcomes* with two steps and ML: classes have the sizes of step one.

    *Standard errors* of two and three steps hold for all steps together: to what a row adds to the equations of the
    last step comes how much it moves the tables of step one and the classification errors, and the variance of the sum
    is that between rows, or between clusters within strata (a sandwich). Rows with likeliest classes that would change
    are not accounted for. With one step they come from the observed information of the whole model, or from the
    sandwich where rows have sampling weights, strata or clusters. Likelihood-ratio tests of two and three steps take
    step one as known, and are not given where there are sampling weights, strata or clusters.

    References
    ----------
    Bolck, A., Croon, M. and Hagenaars, J. (2004). Estimating latent structure models with categorical variables:
    one-step versus three-step estimators. Political Analysis 12, 3-27.
    Vermunt, J. K. (2010). Latent class modeling with covariates: two improved three-step approaches. Political Analysis
    18, 450-469.
    Bakk, Z. and Kuha, J. (2018). Two-step estimation of models between latent classes and external variables.
    Psychometrika 83, 871-892.

    Examples
    --------
    Does income, in five steps, predict the camp of a voter?

    >>> from pgmpy_latent import RandomStarts, datasets, relate
    >>> survey = datasets.load_anes96()
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(survey[["vote", "PID", "selfLR", "ClinLR"]])
    >>> income = pd.Series(survey["income"].cat.codes, name="income")
    >>> found = relate(learner, survey, income, steps=3, correction="ml")
    >>> found.coefficients[["class", "covariate", "estimate", "standard_error"]].round(3)
       class    covariate  estimate  standard_error
    0      1  (intercept)    -1.133           0.145
    1      1       income     0.299           0.051
    >>> found.model_at({"income": 3}).get_cpds("H").values.round(3)
    array([0.559, 0.441])
    """
    _check_settings(kind, steps, correction, assignment, level)
    check_number("n_starts", n_starts, 1, whole=True)
    check_n_jobs(n_jobs)
    check_time_limit(time_limit)
    refuse_restricted(learner, "relate")
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    rows = related_rows(learner, table, z, latent, sample_weight=sample_weight, **survey)
    prior = _prior_of(learner)
    stated = {
        "kind": kind, "steps": steps, "correction": correction, "assignment": assignment, "latent": latent,
        "reference": reference, "family": family, "n_starts": n_starts, "prior": prior, "model": rows.network,
    }  # fmt: skip
    further = "" if checkpoint is None else rows.z.to_csv()
    memo, entropy = memo_of_call(checkpoint, "relate", stated, rows.data, random_state, further)
    total = 2 if kind == "outcome" else 3 + rows.z.shape[1]  # what is told
    bar = tqdm(desc="relate", total=total, disable=not show_progress, delay=PROGRESS_DELAY, leave=False)
    run = Run(Clock(time_limit), memo, bar)
    with one_blas_thread(), bar, memo.going_on:
        if kind == "outcome":
            found: CovariateRelation | OutcomeRelation = _outcome(
                rows, prior, steps, correction, assignment, family, level, run
            )
        else:
            starts = Starts(int(n_starts), entropy, n_jobs, prior, run.clock)
            found = _covariates(rows, steps, correction, assignment, reference, level, starts, run)
    run.end()
    return found


def _check_settings(kind, steps, correction, assignment, level: float) -> None:
    if kind not in ("covariate", "outcome"):
        raise ValueError(f"kind is {kind!r}; give 'covariate' or 'outcome'")
    if steps not in (1, 2, 3):
        raise ValueError(f"steps is {steps!r}; give 1, 2 or 3")
    if correction not in ("ml", "bch", None):
        raise ValueError(f"correction is {correction!r}; give 'ml', 'bch' or None")
    if correction == "bch" and steps != 3:
        raise ValueError(
            f"correction is 'bch' and steps is {steps}; only three steps assign rows, so give steps=3, or leave out "
            "correction"
        )
    if assignment not in ("modal", "proportional"):
        raise ValueError(f"assignment is {assignment!r}; give 'modal' or 'proportional'")
    if kind == "outcome" and steps == 1:
        raise ValueError(
            "steps=1 is not for outcomes, since the outcome would become one of the columns that define the classes; "
            "give 2 or 3, or fit a model with the outcome among its columns"
        )
    check_number("level", level, 0)
    if not 0 < level < 1:
        raise ValueError(f"level is {level!r}; give a number between 0 and 1, such as 0.95")


def _check_reference(reference: Hashable | None, states: Sequence[Hashable]) -> None:
    if reference is not None and reference not in states:
        raise ValueError(f"reference is {reference!r}; the classes are {list(states)}")


def _prior_of(learner) -> float:
    """Return the pseudo-count that the learner was fitted with."""
    prior = getattr(learner, "prior", None)
    return float(prior) if isinstance(prior, (int, float)) else 0.0


# Covariates ---------------------------------------------------------------------------------------


def _covariates(
    rows: RelatedRows,
    steps: int,
    correction: Correction | None,
    assignment: Assignment,
    reference: Hashable | None,
    level: float,
    starts: Starts,
    run: Run,
) -> CovariateRelation:
    """Relate classes to covariates."""
    covariates = Covariates.of(rows.z)
    _check_reference(reference, rows.states)
    step_one = StepOne.fitted(rows, starts.prior, run.memo)
    sizes = step_one.sizes(step_one.tables)
    at = int(sizes.argmax()) if reference is None else rows.states.index(reference)
    run.tell("coefficients")
    if steps == 1:
        return _one_step(rows, step_one, covariates, at, level, starts, run)
    method = Method(step_one, steps, correction, assignment, rows.weights, with_sizes=False)
    return _last_step(rows, method, covariates, at, level, run)


def _last_step(
    rows: RelatedRows, method: Method, covariates: Covariates, reference: int, level: float, run: Run
) -> CovariateRelation:
    """Relate classes to covariates in two or three steps."""
    method.check()
    step_one, n_classes = method.step_one, len(rows.states)
    raw = covariates.matrix(rows.z)
    transform = covariates.scaling(raw)
    part = LogitPart(raw @ transform, rows.pattern, n_classes, reference)
    estimate = _estimate(part, method, run, "estimates")
    is_weighted = method.steps == 3 and method.correction == "bch"
    unbounded = _unbounded(rows, covariates, part.beta(estimate.theta) @ transform.T, reference, is_weighted)
    run.tell("standard errors")
    bounded, theta = replace(part, unbounded=unbounded), estimate.theta
    errors = run.unless_stopped(
        "standard errors", lambda: covariance(bounded, method, theta, rows.design, run.clock), no_errors(len(theta))
    )
    objectives = {}
    for name in (*covariates.names, ALL):
        run.tell("tests")
        smaller = LogitPart(part.matrix[:, ~terms_of(covariates, name)], rows.pattern, n_classes, reference)
        what = f"the test of {name!r}"
        compute = partial(_objective, smaller, method, run, what)
        objectives[name] = run.unless_stopped(what, compute, np.nan)
    n_measured = rows.network.n_parameters - (n_classes - 1) if method.steps == 2 else 0
    layout = step_one.engine.layout
    return covariate_relation(
        rows,
        covariates,
        part.beta(estimate.theta) @ transform.T,
        _covariance_of_terms(errors, transform, unbounded),
        reference,
        level,
        log_likelihood=np.nan if is_weighted else estimate.objective,
        without=objectives,
        n_parameters=n_measured + len(estimate.theta),
        network=rows.network.with_tables(layout.unpack(step_one.tables)),
        method=(method.steps, method.correction if method.steps == 3 else None, method.assignment),
    )


def _one_step(
    rows: RelatedRows,
    step_one: StepOne,
    covariates: Covariates,
    reference: int,
    level: float,
    starts: Starts,
    run: Run,
) -> CovariateRelation:
    """Relate classes to covariates in one step."""
    raw = covariates.matrix(rows.z)
    transform = covariates.scaling(raw)
    n_classes = len(rows.states)
    part = LogitPart(raw @ transform, rows.pattern, n_classes, reference)
    model = OneStep(rows, part)
    tables = run.best_so_far("estimates", model.engine.layout, lambda: model.best(step_one, starts))
    beta = part.beta(model.theta(tables))
    unbounded = _unbounded(rows, covariates, beta @ transform.T, reference, False)
    run.tell("standard errors")
    errors = run.unless_stopped(
        "standard errors", OneStepParameters(model, tables).covariance, no_errors(beta[1:].size)
    )
    without = {}
    for name in (*covariates.names, ALL):
        run.tell("tests")
        compute = partial(model.without, terms_of(covariates, name), tables, step_one, starts)
        without[name] = run.unless_stopped(f"the test of {name!r}", compute, np.nan)
    network = rows.network.with_tables(model.measured(tables))
    return covariate_relation(
        rows,
        covariates,
        beta @ transform.T,
        _covariance_of_terms(errors, transform, unbounded),
        reference,
        level,
        log_likelihood=model.log_likelihood(tables),
        without=without,
        n_parameters=network.n_parameters - (n_classes - 1) + errors.shape[0],
        network=network,
        method=(1, None, "modal"),
    )


def _estimate(part, method: Method, run: Run, name: str, clock: Clock | None = None) -> Estimate:
    """Return the parameters of the last step, from the memo if it has them."""
    tables = method.step_one.tables

    def compute() -> Estimate:
        return estimated(part, method.evidence(tables), method.weights, method.step_one.posteriors(tables), clock)

    found: Estimate = run.memo.recall(f"{name}, parameters", compute)
    if not found.converged:
        warn(
            "the last step did not converge: classes are too much alike, or a category is too rare, so that its "
            "coefficients grow without bound. Merge categories, or use fewer classes or covariates.",
            ConvergenceWarning,
        )
    return found


def _objective(part, method: Method, run: Run, name: str) -> float:
    """Return what the parameters of a part of the covariates reach, unless the clock raises."""
    return _estimate(part, method, run, name, run.clock).objective


def covariate_relation(
    rows: RelatedRows,
    covariates: Covariates,
    beta: np.ndarray,
    errors: np.ndarray,
    reference: int,
    level: float,
    *,
    log_likelihood: float,
    without: dict[Hashable, float],
    n_parameters: int,
    network,
    method: tuple[int, Correction | None, Assignment],
) -> CovariateRelation:
    """Return the result for coefficients on the scale of the covariates, and their covariance."""
    others = [at for at in range(len(rows.states)) if at != reference]
    freedom = rows.degrees_of_freedom
    steps, correction, assignment = method
    return CovariateRelation(
        coefficients=coefficient_table(beta, errors, covariates, rows.states, others, level, freedom),
        tests=_test_table(covariates, beta[others], errors, log_likelihood, without, rows.data.design is None),
        log_likelihood=log_likelihood,
        n_parameters=n_parameters,
        n_rows=rows.n_rows,
        n_rows_left_out=rows.n_left_out,
        steps=steps,
        correction=correction,
        assignment=assignment,
        reference=rows.states[reference],
        covariance=errors,
        level=level,
        degrees_of_freedom=freedom,
        network=network,
        latent=rows.network.names[rows.node],
        _covariates=covariates,
        _beta=beta,
        _rows=(rows.z, np.bincount(rows.pattern, rows.weights, minlength=len(rows.z))),
    )


def _test_table(
    covariates: Covariates,
    beta: np.ndarray,
    errors: np.ndarray,
    log_likelihood: float,
    without: dict[Hashable, float],
    compare: bool,
) -> pd.DataFrame:
    """Return Wald and likelihood-ratio tests of every covariate and of all of them."""
    lines = []
    for name in (*covariates.names, ALL):
        which = np.tile(terms_of(covariates, name), len(beta))
        block = errors[np.ix_(which, which)]
        statistic, freedom, p_value = np.nan, int(which.sum()), np.nan
        if np.isfinite(block).all():
            statistic, freedom, p_value = wald_test(beta.ravel()[which], block)
        ratio = max(2 * (log_likelihood - without[name]), 0.0) if compare and np.isfinite(log_likelihood) else np.nan
        lines.append((statistic, freedom, p_value, ratio, float(chi2.sf(ratio, freedom))))
    index = pd.Index([*covariates.names, ALL], name="covariate", tupleize_cols=False)
    return pd.DataFrame(lines, index, ["wald", "df", "p_value", "likelihood_ratio", "lr_p_value"])


def _unbounded(
    rows: RelatedRows, covariates: Covariates, beta: np.ndarray, reference: int, is_weighted: bool
) -> np.ndarray:
    """Return which coefficients of the other classes grow without bound, and warn of them."""
    matrix = covariates.matrix(rows.z)
    weights = np.bincount(rows.pattern, rows.weights, minlength=len(matrix))
    found = separation(covariates, matrix, weights, beta, reference, all_classes=is_weighted)
    remedy = (
        "Use correction='ml', whose likelihood-ratio test remains" if is_weighted else "Use the likelihood-ratio test"
    )
    found.warn(covariates, rows.states, f"{remedy}, or merge categories.")
    return np.delete(found.coefficients, reference, axis=0).ravel()


def _covariance_of_terms(errors: np.ndarray, transform: np.ndarray, unbounded: np.ndarray) -> np.ndarray:
    """Return the covariance of the coefficients on the scale of the covariates; NaN where they have no estimate."""
    if np.isnan(errors).all():  # there was no time for it
        return errors
    back = np.kron(np.eye(len(errors) // len(transform)), transform)
    return without_unbounded(back @ np.nan_to_num(errors) @ back.T, unbounded)


# Outcomes -----------------------------------------------------------------------------------------


def _outcome(
    rows: RelatedRows,
    prior: float,
    steps: int,
    correction: Correction | None,
    assignment: Assignment,
    family: Family | None,
    level: float,
    run: Run,
) -> OutcomeRelation:
    """Relate classes to an outcome in two or three steps."""
    if rows.z.shape[1] != 1:
        raise DataError(f"z has the columns {list(rows.z.columns)}; relate one outcome at a time")
    column = rows.z.iloc[:, 0]
    family = family_of(column, family)
    step_one = StepOne.fitted(rows, prior, run.memo)
    run.tell("means" if family != "categorical" else "shares")
    method = Method(step_one, steps, correction, assignment, rows.weights, with_sizes=True)
    method.check()
    n_classes = len(rows.states)
    part = outcome_part(column, rows.pattern, family, n_classes)
    estimate = _estimate(part, method, run, "estimates")
    run.tell("standard errors")
    theta = estimate.theta
    errors = run.unless_stopped(
        "standard errors", lambda: covariance(part, method, theta, rows.design, run.clock), no_errors(len(theta))
    )
    if isinstance(part, NormalPart):
        errors = errors[:n_classes, :n_classes]
    freedom = rows.degrees_of_freedom
    sizes = step_one.sizes(step_one.tables)
    return OutcomeRelation(
        means=mean_table(part, estimate.theta, errors, rows.states, sizes, level, freedom),
        tests=difference_table(part, estimate.theta, errors, rows.states),
        log_likelihood=np.nan if steps == 3 and correction == "bch" else estimate.objective,
        n_rows=rows.n_rows,
        n_rows_left_out=rows.n_left_out,
        steps=steps,
        correction=correction if steps == 3 else None,
        assignment=assignment,
        outcome=rows.z.columns[0],
        family=family,
        covariance=errors,
        level=level,
        degrees_of_freedom=freedom,
    )
