"""How a search holds rows out: what users ask for. The search itself is in ``learners/held_out``."""

from __future__ import annotations

from dataclasses import dataclass

from pgmpy_latent.runtime.settings import number

#: Its name as a ``scoring_method``.
HELD_OUT_NAME = "heldout"
#: Number of folds by default.
N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class HeldOut:
    """How a search finds the model that predicts best: a ``scoring_method`` of EAST and SplitMerge.

    BIC's best model is not the best predictor. What is validated is the cost of a parameter: for every fold, the search
    learns from the rows of the other folds with BIC's penalty, and goes on from there with smaller and smaller shares
    of it. After each share the rows of the fold are scored with :func:`~pgmpy_latent.smoothed` tables. The share with
    the highest sum over all folds is then used for all rows, in the same way. ``"heldout"`` stands for ``HeldOut()``.

    Attributes
    ----------
    n_folds : int
        Number of folds; every row is held out once.
    validation : DataFrame, array or CategoricalData, optional
        Rows to validate with instead of folds; encode them with :func:`~pgmpy_latent.encode` to give them weights. The
        search then learns from the whole table of ``fit``, and not once more for every fold.

    Examples
    --------
    >>> HeldOut(n_folds=5).n_folds
    5
    >>> HeldOut(n_folds=1)
    Traceback (most recent call last):
    ...
    ValueError: n_folds is 1; give a whole number of at least 2
    """

    n_folds: int = N_FOLDS
    validation: object = None

    def __post_init__(self) -> None:
        number(2, whole=True)("n_folds", self.n_folds)
        if isinstance(self.validation, (str, int, float)):
            raise TypeError(
                f"validation is {self.validation!r}; give a table with the columns of the one to learn from"
            )

    def __repr__(self) -> str:
        if self.validation is None:
            return "HeldOut()" if self.n_folds == N_FOLDS else f"HeldOut(n_folds={self.n_folds})"
        return f"HeldOut(validation={type(self.validation).__name__})"


def held_out_of(scoring_method: object) -> HeldOut | None:
    """Return how a search validates; None if it maximises a score of the rows it learns from.

    Examples
    --------
    >>> held_out_of("heldout"), held_out_of("bic")
    (HeldOut(), None)
    """
    if isinstance(scoring_method, HeldOut):
        return scoring_method
    return HeldOut() if isinstance(scoring_method, str) and scoring_method == HELD_OUT_NAME else None
