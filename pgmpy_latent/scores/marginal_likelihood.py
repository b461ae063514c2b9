"""The Cheeseman-Stutz approximation of the log marginal likelihood."""

from __future__ import annotations

from numbers import Real
from typing import Unpack

import numpy as np
from scipy.special import gammaln

from pgmpy_latent.diagnostics.completion import Completed, complete
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.survey import Survey


def cheeseman_stutz(
    tree: LatentTree | LatentNetwork, X, *, sample_weight=None, prior: float = 1.0, **survey: Unpack[Survey]
) -> float:
    """Return the Cheeseman-Stutz approximation of the log marginal likelihood; larger is better.

    ``CS = LL(D | θ) - LL(D' | θ) + ln P(D')``. Here ``D`` is the table and ``θ`` are the tree's tables. ``D'`` is
    the table completed with the tree: all that a row leaves open, hidden variables and missing cells, counts with
    its posterior probability, so that ``D'`` consists of the expected counts ``N_iuv`` of node ``i`` in state ``v``
    with its parent in state ``u``. ``LL(D' | θ) = sum N_iuv ln θ_iuv``, and the marginal likelihood of complete
    data is exact::

        ln P(D') = sum_iu [ lnΓ(α_iu) - lnΓ(α_iu + N_iu) + sum_v ( lnΓ(α + N_iuv) - lnΓ(α) ) ]

    with ``α`` the parameter of the Dirichlet prior of every table entry, ``α_iu`` and ``N_iu`` the sums of ``α``
    and ``N_iuv`` over the states ``v``. Without anything hidden or missing, the score is the marginal likelihood
    itself.

    Parameters
    ----------
    tree : LatentTree
        The model. Its tables should be those that EM finds with the same ``prior``, ``θ = (α + N) / sum(α + N)``.
        The prior belongs to the tables as the tree is rooted, so that another root means another score.
    X : DataFrame, array or CategoricalData
        The table.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    prior : float
        ``α``, above zero. 1 is uniform.

    Notes
    -----
    Learners of networks maximise it with a prior of their own: ``score_`` of a learner with ``scoring_method="bde"`` is
    this score with ``prior=0.5``, or with the ``prior`` that the learner was given; with ``"bdeu"`` the entries of a
    table share its prior, which no single number here can say. ``score_`` of a search for trees with
    ``scoring_method="cs"`` is this score with ``prior=1``. Scores with different priors cannot be compared.

    The penalty depends on the tables, not on the structure alone: of two models with equal structure the one
    with the lower log-likelihood can have the higher score. Nothing is added for relabellings of hidden states. Models
    with numeric columns, which have no Dirichlet prior, have no score: NaN.

    References
    ----------
    Cheeseman, P. and Stutz, J. (1995). Bayesian classification (AutoClass): theory and results. In Advances in
    Knowledge Discovery and Data Mining, 153-180.
    Chickering, D. M. and Heckerman, D. (1997). Efficient approximations for the marginal likelihood of Bayesian
    networks with hidden variables. Machine Learning, 29, 181-212.

    Examples
    --------
    Two rows of a variable with two states are seen with probability 1/2 · 1/3 under a uniform prior.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmpy_latent import LatentTree
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    >>> round(float(np.exp(cheeseman_stutz(tree, pd.DataFrame({"x": ["a", "b"]})))), 4)
    0.1667
    """
    if not (isinstance(prior, Real) and 0 < float(prior) < np.inf):
        raise ValueError(f"prior is {prior!r}; give a number above zero, such as 1 for a uniform prior")
    return cheeseman_stutz_from_parts(complete(tree, X, sample_weight, **survey), prior)


def cheeseman_stutz_from_parts(done: Completed, prior: float | np.ndarray) -> float:
    """Return :func:`cheeseman_stutz`, given the completed table; the prior may differ from entry to entry."""
    layout = done.engine.layout
    if layout.numeric is not None:  # numbers have no Dirichlet prior
        return float("nan")
    row_totals = np.add.reduceat(done.counts, layout.row_starts)
    priors = np.broadcast_to(np.asarray(prior, dtype=np.float64), done.counts.shape)
    row_priors = np.add.reduceat(priors, layout.row_starts)
    marginal = (gammaln(row_priors) - gammaln(row_priors + row_totals)).sum()
    marginal += (gammaln(priors + done.counts) - gammaln(priors)).sum()
    return float(done.log_likelihood - done.completed_log_likelihood + marginal)
