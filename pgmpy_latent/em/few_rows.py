"""Has a fitted model more parameters than its table has rows?"""

from __future__ import annotations

import warnings

from pgmpy_latent.exceptions import FewRowsWarning
from pgmpy_latent.model.network import child_lists
from pgmpy_latent.model.tree import DiscreteModel


def too_many_parameters(model: DiscreteModel, n_rows: float) -> int | None:
    """Return the number of parameters that a table of so many rows cannot bear, or None if it bears them.

    A table may be so wide that columns which have nothing to do with each other take more parameters than there are
    rows. No model of it has fewer, and each of its tables is estimated from all rows; so it is asked whether some node
    and its children alone have too many.

    Examples
    --------
    >>> from pgmpy_latent.model.tree import LatentTree
    >>> tree = LatentTree("Hxyz", [[0, 1]] * 4, [-1, 0, 0, 0], [True] + [False] * 3,
    ...                   [[[0.5, 0.5]], *[[[0.9, 0.1], [0.1, 0.9]]] * 3])
    >>> too_many_parameters(tree, 6), too_many_parameters(tree, 7), too_many_parameters(tree, 2)
    (7, None, 7)
    """
    apart = sum(len(states) - 1 for states, hidden in zip(model.state_names, model.latent, strict=True) if not hidden)
    if apart <= n_rows:
        total = model.n_parameters
        return total if total > n_rows else None
    sizes = [table.shape[0] * (table.shape[1] - 1) for table in model.tables]
    below = child_lists(model.parents)
    largest = max(sizes[node] + sum(sizes[child] for child in below[node]) for node in range(model.n_nodes))
    return largest if largest > n_rows else None


def warn_of_few_rows(model: DiscreteModel, n_rows: float, *, called: str = "the model", stacklevel: int = 1) -> None:
    """Warn if a fitted model has more parameters than its table has rows.

    Examples
    --------
    >>> from pgmpy_latent.model.tree import LatentTree
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     warn_of_few_rows(LatentTree(["x"], ["abc"], [-1], [False], [[[0.5, 0.25, 0.25]]]), 1)
    >>> print(said[0].message)
    the model has 2 parameters for 1 row, so that its probabilities say more about these rows than about others; ask \
for fewer states, join rare categories, leave columns out, or give a prior, as prior=1
    """
    number = too_many_parameters(model, n_rows)
    if number is not None:
        rows = f"{n_rows:,.6g} row{'s' * (n_rows != 1)}"
        whose = "has" if number == model.n_parameters else "has a node that, with its children, has"
        warnings.warn(
            f"{called} {whose} {number:,} parameters for {rows}, so that its probabilities say more about these rows "
            "than about others; ask for fewer states, join rare categories, leave columns out, or give a prior, as "
            "prior=1",
            FewRowsWarning,
            stacklevel=stacklevel + 1,
        )
