"""Has a fitted model more parameters than its table has rows?"""

from __future__ import annotations

from pgmpy_latent.exceptions import FewRowsWarning
from pgmpy_latent.model.tree import DiscreteModel
from pgmpy_latent.runtime.warn import warn


def warn_of_few_rows(
    model: DiscreteModel, n_rows: float, *, called: str = "the model", n_parameters: int | None = None
) -> None:
    """Warn if a fitted model has more parameters than its table has rows; constraints may have left it fewer.

    Examples
    --------
    >>> from pgmpy_latent.model.tree import LatentTree
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     warn_of_few_rows(LatentTree(["x"], ["abc"], [-1], [False], [[[0.5, 0.25, 0.25]]]), 1)
    >>> print(said[0].message)
    the model has 2 parameters for 1 row, so that its probabilities say more about these rows than about others; ask \
for fewer states, join rare categories, leave columns out, or give a prior, as prior=1
    """
    n_parameters = model.n_parameters if n_parameters is None else n_parameters
    if n_parameters > n_rows:
        rows = f"{n_rows:,.6g} row{'s' * (n_rows != 1)}"
        warn(
            f"{called} has {n_parameters:,} parameters for {rows}, so that its probabilities say more about "
            "these rows than about others; ask for fewer states, join rare categories, leave columns out, or give a "
            "prior, as prior=1",
            FewRowsWarning,
        )
