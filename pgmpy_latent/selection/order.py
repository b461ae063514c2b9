"""Do answers follow the order of their categories? A likelihood-ratio test of order against no order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import chi2
from tqdm.auto import tqdm

from pgmpy_latent.em.estimators import TreeEM
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.cardinality.random_starts import with_cards
from pgmpy_latent.learners.skeletons import one_state_tree
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_number
from pgmpy_latent.selection.compare import ordered_items
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.survey import WeightKind

#: Name of the line for all ordered columns together.
ALL = "all"


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
    show_progress : bool
        Whether work of more than two seconds shows a bar. Ctrl-C ends it without a result.

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
    if isinstance(ordinal, str):
        raise DataError(f"ordinal is {ordinal!r}; give a list of columns, as [{ordinal!r}]")
    data = encode(
        X, sample_weight=sample_weight, weight_kind=weight_kind, strata=strata, cluster=cluster, missing=missing
    )
    is_drawn_together = strata is not None or cluster is not None
    columns = [name for name in ordered_items(X, data, ordinal) if len(_states(data, name)) > 2]
    if not columns:
        raise DataError("ordinal names no column of three categories or more; name some that are ordered")
    shape = one_state_tree(None, data)
    network = to_pgmpy(with_cards(shape, np.where(shape.latent, int(n_classes), shape.cards)))
    card = {shape.latent_names[0]: int(n_classes)}
    options = {"latent_card": card, "seed": random_state, "n_jobs": n_jobs, "show_progress": False}

    def fitted(names: list[Hashable], **start) -> TreeEM:
        stated = {name: list(_states(data, name)) for name in names}
        settings = {**options, "n_init": n_starts, "ordinal": names or None, "state_names": stated or None, **start}
        fit = TreeEM(**settings).fit(network, data, missing={})
        if fit.interrupted_:
            raise KeyboardInterrupt
        return fit

    sets = {ALL: columns, **({name: [name] for name in columns} if len(columns) > 1 else {})}
    models = [*sets.values(), []]  # the last without order
    bar = tqdm(models, "order", disable=not show_progress, delay=PROGRESS_DELAY, leave=False)
    *fits, without = [fitted(names) for names in bar]
    with_order = dict(zip(sets, fits, strict=True))
    best = max(with_order.values(), key=lambda fit: fit.log_likelihood_)
    if best.log_likelihood_ > without.log_likelihood_:  # a poorer maximum: the model with order is one without, too
        again = fitted([], init_cpds={cpd.variable: cpd for cpd in best.parameters_})
        without = max(again, without, key=lambda fit: fit.log_likelihood_)
    rows = {label: _row(fit, without, is_drawn_together) for label, fit in with_order.items()}
    index = pd.Index(list(rows), name="ordered", dtype=object)
    return pd.DataFrame(list(rows.values()), index=index)


def _states(data: CategoricalData, name: Hashable) -> tuple:
    return data.state_names[data.columns.index(name)]


def _row(fit: TreeEM, without: TreeEM, is_drawn_together: bool) -> dict:
    statistic = max(2 * (without.log_likelihood_ - fit.log_likelihood_), 0.0)
    df = without.n_parameters_ - fit.n_parameters_
    return {
        "log_likelihood": fit.log_likelihood_,
        "without_order": without.log_likelihood_,
        "n_parameters": fit.n_parameters_,
        "statistic": statistic,
        "df": df,
        "p": np.nan if is_drawn_together else float(chi2.sf(statistic, df)),
        "bic_gain": fit.bic_ - without.bic_,
    }
