"""A mixture of trees in words: its size, and each of its trees."""

from __future__ import annotations

import pandas as pd

from pgmpy_latent.diagnostics.explain import counted
from pgmpy_latent.model.mixture import TreeMixture

#: Trees that a summary lists, the heaviest first.
MOST_TREES = 20


def parts_of(mixture: TreeMixture) -> pd.DataFrame:
    """Return a row for every tree of a mixture, the heaviest first.

    Returns
    -------
    DataFrame
        ``weight``; how many ``hidden_variables`` the tree has; the most ``states`` of any of them; and its
        ``parameters``. The index, ``part``, is the number of the tree.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> parts_of(TreeMixture([hlc_model(7, random_state=0)] * 2, [0.25, 0.75]))
          weight  hidden_variables  states  parameters
    part
    1       0.75                 3       3          56
    0       0.25                 3       3          56
    """
    rows = [
        (weight, int(tree.latent.sum()), int(tree.cards[tree.latent].max(initial=0)), tree.n_parameters)
        for weight, tree in zip(mixture.weights.tolist(), mixture.trees, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["weight", "hidden_variables", "states", "parameters"])
    return table.rename_axis("part").sort_values("weight", ascending=False, kind="stable")


def size_text(mixture: TreeMixture) -> str:
    """Return how large a mixture is, in words.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> size_text(TreeMixture([hlc_model(7, random_state=0)] * 2, [0.25, 0.75]))
    '113 parameters, 2 trees, 7 columns'
    """
    numbers = (mixture.n_parameters, "parameter"), (len(mixture.trees), "tree"), (len(mixture.observed_names), "column")
    return ", ".join(counted(*number) for number in numbers)


def mixture_text(mixture: TreeMixture, n: int | None = None) -> str:
    """Return the trees of a mixture in lines, the heaviest first.

    Parameters
    ----------
    mixture : TreeMixture
        The model.
    n : int, optional
        How many trees to list; twenty by default.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> print(mixture_text(TreeMixture([hlc_model(7, random_state=0)] * 2, [0.25, 0.75]), 1))
    tree 1: 75.0% of the rows, 3 hidden variables of up to 3 states, 56 parameters
    and 1 further tree
    """
    n = MOST_TREES if n is None else n
    lines = [
        f"tree {row.Index}: {row.weight:.1%} of the rows, {counted(row.hidden_variables, 'hidden variable')}"
        f"{f' of up to {row.states} states' if row.hidden_variables else ''}, {counted(row.parameters, 'parameter')}"
        for row in parts_of(mixture).head(n).itertuples()
    ]
    left = len(mixture.trees) - len(lines)
    return "\n".join([*lines, *([f"and {counted(left, 'further tree')}"] if left else [])])
