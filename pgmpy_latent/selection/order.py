"""Do answers follow the order of their categories? A likelihood-ratio test of order against no order."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent.em.estimators import TreeEM
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.cardinality.random_starts import with_cards
from pgmpy_latent.learners.memo import Memo, memo_of_call
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.resumed import check_model_again
from pgmpy_latent.learners.skeletons import one_state_tree
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import STOP_SIGNALS, Clock, TimeLimitReached
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_n_jobs, check_number, check_time_limit, time_left
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.selection.compare import ordered_items
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.survey import WeightKind

#: Name of the line for all ordered columns together.
ALL = "all"
#: What the model without order is called, which no column can be.
NONE = None


def order_test(
    X,
    n_classes: int,
    ordinal: Sequence[Hashable] | bool = True,
    *,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    missing=None,
    n_starts: int = 16,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    checkpoint: str | os.PathLike | None = None,
    show_progress: bool = True,
) -> pd.DataFrame:
    """Test whether the classes of a latent class model move answers up or down along the order of their categories.

    The model with order has one effect per class and ordered column (adjacent-category logits, see :class:`TreeEM`);
    the one without leaves all probabilities free. Twice the difference of their log-likelihoods is compared with the
    chi-squared distribution of ``(K - 1)(c - 2)`` degrees of freedom for a column of c categories and K classes. A
    small p-value speaks against the order.

    Parameters
    ----------
    X : DataFrame, array or CategoricalData
        A row per observation; missing cells are summed out.
    n_classes : int
        Number of classes, at least 2.
    ordinal : list of columns or True
        Columns whose categories are ordered; True for all ordered Categoricals. Columns of two categories have an order
        in any case, and nothing to test.
    sample_weight : array, shape (n_rows,), or column name, optional
        Weights of the rows. With sampling weights the p-values are approximate.
    weight_kind : {"frequency", "sampling"}, optional
        What the weights are; see :func:`pgmpy_latent.encode`.
    strata, cluster : array, shape (n_rows,), or column name, optional
        How the rows were drawn. Such rows are not independent, so that ``p`` is then NaN.
    missing : value, list of values, or dict of column to either, optional
        Values that count as missing cells.
    n_starts : int
        Number of random starts of every model.
    random_state : int, optional
        Same seed, same table.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    time_limit : float, optional
        Seconds, after which the rows that are finished are returned, with a warning; the model without order and that
        with all orders are always fitted. Ctrl-C returns what is finished, too, if these two are.
    checkpoint : path, optional
        A file for what is finished. The same call with the same file continues from there; see :class:`SplitMerge`.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    DataFrame
        A row for all ordered columns together, and one for each of them with the others left free:
        ``log_likelihood`` with order and ``without_order``, ``n_parameters`` with order, ``statistic``, ``df``, ``p``,
        and ``bic_gain``: the BIC with order less that without; above zero it speaks for the order.

    Examples
    --------
    >>> from pgmpy_latent import datasets, order_test
    >>> survey = datasets.load_anes96()[["selfLR", "PID", "ClinLR", "DoleLR"]]
    >>> found = order_test(survey, 2, ["selfLR", "PID"], n_starts=4)
    >>> found["df"].tolist()
    [10, 5, 5]
    """
    check_number("n_classes", n_classes, 2, whole=True)
    check_number("n_starts", n_starts, 1, whole=True)
    check_time_limit(time_limit)
    check_n_jobs(n_jobs)
    if isinstance(ordinal, str):
        raise DataError(f"ordinal is {ordinal!r}; give a list of columns, as [{ordinal!r}]")
    data = encode(
        X, sample_weight=sample_weight, weight_kind=weight_kind, strata=strata, cluster=cluster, missing=missing
    )
    columns = [name for name in ordered_items(X, data, ordinal) if len(_states(data, name)) > 2]
    if not columns:
        raise DataError("ordinal names no column of three categories or more; name some that are ordered")
    stated = {"n_classes": int(n_classes), "ordinal": columns, "n_starts": n_starts}
    memo, entropy = memo_of_call(checkpoint, "order_test", stated, data, random_state)
    models = _OrderModels(data, int(n_classes), int(n_starts), entropy, n_jobs, Clock(time_limit), memo)
    with memo.going_on:
        fits = models.fit_all(columns, show_progress)
        without = fits.pop(NONE)
        best = max(fits.values(), key=lambda fit: fit.log_likelihood)
        if best.log_likelihood > without.log_likelihood:  # a poorer maximum: the model with order is one without, too
            without = max(models.fit([], begin=best), without, key=lambda fit: fit.log_likelihood)
    memo.tend(now=True)
    is_drawn_together = strata is not None or cluster is not None
    rows = {label: _row(fit, without, is_drawn_together) for label, fit in fits.items()}
    index = pd.Index(list(rows), name="ordered", dtype=object)
    return pd.DataFrame(list(rows.values()), index=index)


@held_by_checkpoints("order")
@dataclass(frozen=True, eq=False)
class _OrderFit:
    """A model in which some columns are ordered."""

    tree: LatentTree
    log_likelihood: float
    n_parameters: int
    bic: float


class _OrderModels:
    """Fits latent class models in which some columns are ordered, as far as time allows."""

    def __init__(
        self,
        data: CategoricalData,
        n_classes: int,
        n_starts: int,
        entropy: int,
        n_jobs: int | None,
        clock: Clock,
        memo: Memo,
    ):
        self.data, self.clock, self.memo = data, clock, memo
        shape = one_state_tree(None, data)
        self.network = to_pgmpy(with_cards(shape, np.where(shape.latent, n_classes, shape.cards)))
        self.settings: dict[str, Any] = {
            "latent_card": {shape.latent_names[0]: n_classes}, "n_init": n_starts, "seed": entropy, "n_jobs": n_jobs,
            "show_progress": False,
        }  # fmt: skip

    def fit_all(self, columns: list[Hashable], show_progress: bool) -> dict[Hashable, _OrderFit]:
        """Return the models without order, with all orders, and with that of each column, as far as time allows."""
        sets: dict[Hashable, list[Hashable]] = {NONE: [], ALL: columns}
        if len(columns) > 1:
            sets |= {name: [name] for name in columns}
        fits: dict[Hashable, _OrderFit] = {}
        with tqdm(sets.items(), "order", disable=not show_progress, delay=PROGRESS_DELAY, leave=False) as bar:
            for label, names in bar:
                bar.set_postfix_str(f"{_in_words(label)}{time_left(self.clock.seconds_left)}", refresh=False)
                try:
                    fits[label] = self.fit(names, is_limited=len(fits) > 1)
                except STOP_SIGNALS as signal:
                    if len(fits) < 2:
                        raise
                    self.clock.note_stop(signal)
                    self._warn(list(fits)[1:])
                    return fits
        self.memo.finish()
        return fits

    def fit(self, names: list[Hashable], begin: _OrderFit | None = None, is_limited: bool = False) -> _OrderFit:
        """Return the model in which some columns are ordered, from random starts or from another model."""
        name = f"{names!r} ordered" if begin is None else f"{names!r} ordered, from another model"
        return self.memo.recall(name, lambda: self._fitted(names, begin, is_limited), check=self._check_again)

    def _fitted(self, names: list[Hashable], begin: _OrderFit | None, is_limited: bool) -> _OrderFit:
        if is_limited:
            self.clock.check()
        stated = {name: list(_states(self.data, name)) for name in names}
        fit = TreeEM(
            **self.settings,
            ordinal=names or None,
            state_names=stated or None,
            init_cpds=None if begin is None else {cpd.variable: cpd for cpd in to_pgmpy(begin.tree).cpds},
            time_limit=self.clock.seconds_left if is_limited and np.isfinite(self.clock.seconds_left) else None,
        ).fit(self.network, self.data, missing={})
        if fit.interrupted_:
            raise TimeLimitReached if fit.stopped_ == "time_limit" else KeyboardInterrupt
        return _OrderFit(fit.tree_, fit.log_likelihood_, fit.n_parameters_, fit.bic_)

    def _check_again(self, fit: _OrderFit) -> None:
        """Raise if a model of the memo is not one of this table."""
        check_model_again(fit.tree, self.data.columns, self.data.state_names)
        engine = engine_for(fit.tree, self.data)
        value = float(engine.log_likelihood(engine.layout.pack(fit.tree.tables)))
        check_number_again("log-likelihood", fit.log_likelihood, value)

    def _warn(self, finished: list[Hashable]) -> None:
        why = "the time limit" if self.clock.stopped == "time_limit" else "Ctrl-C"
        rows = ", ".join(map(_in_words, finished))
        warn(
            f"{why} stopped the tests of order; the table holds {rows}. Give more time, or fewer n_starts.",
            ConvergenceWarning,
        )


def _in_words(label: Hashable) -> str:
    return {NONE: "no order", ALL: "all orders"}.get(label, f"order of {label!r}")  # type: ignore[call-overload]


def _states(data: CategoricalData, name: Hashable) -> tuple:
    return data.state_names[data.columns.index(name)]


def _row(fit: _OrderFit, without: _OrderFit, is_drawn_together: bool) -> dict:
    statistic = max(2 * (without.log_likelihood - fit.log_likelihood), 0.0)
    df = without.n_parameters - fit.n_parameters
    return {
        "log_likelihood": fit.log_likelihood,
        "without_order": without.log_likelihood,
        "n_parameters": fit.n_parameters,
        "statistic": statistic,
        "df": df,
        "p": np.nan if is_drawn_together else float(chi2.sf(statistic, df)),
        "bic_gain": fit.bic - without.bic,
    }
