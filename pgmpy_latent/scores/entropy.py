"""How sure the rows are of their hidden states, and the score that takes it into account."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from pgmpy_latent.diagnostics.completion import complete, open_entropy
from pgmpy_latent.diagnostics.dimension import n_parameters
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.scores.information import bic_from_parts
from pgmpy_latent.tables.survey import Survey


def classification_entropy(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return how unsure the rows are of their hidden states, in nats; zero is certain.

    ``E = sum_n w_n H_n`` with ``H_n = - sum_h P(h | x_n) ln P(h | x_n)``, where ``w_n`` is the weight of row ``n``,
    ``x_n`` are its filled cells and ``h`` runs over the joint states of all hidden variables.

    Missing cells are no hidden variables and are summed out, with one exception. Missing cells that are neighbours in
    the tree form a region; where it touches at least two hidden variables, their posterior does not factor along
    the tree without it, and the cells of the region are hidden variables of this row. That needs an observed variable
    in between hidden ones; a missing leaf never does it.

    Notes
    -----
    ``ln P(open | x_n) = ln P(open, x_n) - ln P(x_n)``, where ``open`` is all that row ``n`` leaves open. Its
    expectation, summed over rows, is ``LL - sum(counts * ln(tables))`` with the expected counts of EM, so that
    hidden variables need no work by row. The entropy of missing cells, given their neighbours, is subtracted.

    Parameters
    ----------
    tree : LatentTree
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.

    Returns
    -------
    float
        NaN if a row is impossible.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.8, 0.2]]])
    >>> round(classification_entropy(tree, pd.DataFrame({"x": ["a", "b", None]})), 4)  # 3 ln 2
    2.0794
    """
    return open_entropy(complete(tree, X, sample_weight, **survey))[0]


def icl(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return the integrated completed likelihood criterion, ``BIC - E``; larger is better.

    ``BIC`` is :func:`bic` and ``E`` is :func:`classification_entropy`, that of the joint posterior of all hidden
    variables: models whose classes overlap lose. Without hidden variables this is the BIC. Arguments are those of
    :func:`bic`.

    References
    ----------
    Biernacki, C., Celeux, G. and Govaert, G. (2000). Assessing a mixture model for clustering with the integrated
    completed likelihood. IEEE Transactions on Pattern Analysis and Machine Intelligence, 22(7), 719-725.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> from pgmpy_latent.scores import bic
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]])
    >>> X = pd.DataFrame({"x": ["a", "b"]})
    >>> round(bic(tree, X), 4), round(icl(tree, X), 4)
    (-2.426, -3.4268)
    """
    done = complete(tree, X, sample_weight, **survey)
    value = bic_from_parts(done.log_likelihood, n_parameters(tree), done.total_weight)
    return icl_from_parts(value, open_entropy(done)[0])


def icl_from_parts(bic_value: float, entropy: float) -> float:
    """Return ICL, given BIC and the classification entropy."""
    return bic_value if np.isneginf(bic_value) else bic_value - entropy  # an impossible row has no posterior


def relative_entropy(tree: LatentTree, X, *, sample_weight=None, **survey: Unpack[Survey]) -> float:
    """Return how well the rows' hidden states are known, from 0 (not at all) to 1 (for certain); larger is better.

    ``1 - E / (N sum_h ln k_h)``, where ``E`` is :func:`classification_entropy`, ``N`` the sum of the weights and
    ``k_h`` the number of states of hidden variable ``h``: the entropy index of latent class analysis, for any
    number of hidden variables. If nothing is hidden, or if every hidden variable has one state, it is 1. Missing
    cells that count as hidden (see there) enter the denominator with their rows' weights. It is no criterion to
    choose a model by. Arguments are those of :func:`classification_entropy`; NaN if a row is impossible.

    References
    ----------
    Ramaswamy, V., DeSarbo, W. S., Reibstein, D. J. and Robinson, W. T. (1993). An empirical pooling approach for
    estimating marketing mix elasticities with PIMS data. Marketing Science, 12(1), 103-124.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.8, 0.2], [0.2, 0.8]]])
    >>> round(relative_entropy(tree, pd.DataFrame({"x": ["a", "b"]})), 4)
    0.2781
    """
    return relative_entropy_from_parts(*open_entropy(complete(tree, X, sample_weight, **survey)))


def relative_entropy_from_parts(entropy: float, largest: float) -> float:
    """Return the relative entropy, given the classification entropy and the largest that it could be."""
    if np.isnan(entropy):
        return np.nan
    return max(1 - entropy / largest, 0.0) if largest > 0 else 1.0
