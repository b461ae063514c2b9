"""The argument ``y``, which learners do not use: weights that stand there by mistake are refused."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.exceptions import UnusedTargetWarning, WeightError
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.survey import names_column

REMEDY = "y is not used; give fit(X, sample_weight={})"


def refuse_weights_as_target(y: object, sample_weight: object = None) -> None:
    """Raise if ``y`` can only be weights, and warn if it may be: ``fit(X, weights)`` would ignore them.

    scikit-learn's pipelines and searches pass labels on to every estimator, so that ``y`` as such is no mistake.
    The name of a column, or numbers with fractions, cannot be labels of classes; whole numbers may be either.

    Parameters
    ----------
    y : anything
        What a learner was given in the place of the target.
    sample_weight : anything
        If weights were given too, whole numbers in ``y`` are labels.

    Raises
    ------
    WeightError
        If ``y`` names a column, or holds numbers with fractions.

    Examples
    --------
    >>> refuse_weights_as_target(["yes", "no"])
    >>> refuse_weights_as_target("w")
    Traceback (most recent call last):
    ...
    pgmpy_latent.exceptions.WeightError: y is 'w'; y is not used; give fit(X, sample_weight='w')
    """
    if y is None:
        return
    if names_column(y):
        raise WeightError(f"y is {y!r}; {REMEDY.format(repr(y))}")
    values = np.asarray(y)
    if values.dtype.kind not in "iuf":
        return
    remedy = REMEDY.format("weights")
    if values.dtype.kind == "f" and np.any(np.isfinite(values) & (values != np.floor(values))):
        raise WeightError(f"y has numbers with fractions, which look like weights; {remedy}")
    if sample_weight is None:
        words = f"y has whole numbers. If they are weights: {remedy}. If they are labels, leave them out."
        warn(words, UnusedTargetWarning)
