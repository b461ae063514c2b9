"""What hidden Gaussian variables have to do with the columns: loadings, and how well the columns determine them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgmpy_latent.gaussian.forest import forest_of
from pgmpy_latent.gaussian.queries import checked, named
from pgmpy_latent.gaussian.shape import Inference, Shape
from pgmpy_latent.model.gaussian_tree import GaussianTree


def loadings(tree: GaussianTree) -> pd.DataFrame:
    """Return the correlation of every column with every hidden variable, next to it or further away.

    Parameters
    ----------
    tree : GaussianTree

    Returns
    -------
    DataFrame
        A row per column of the table, a column per hidden variable.

    Examples
    --------
    >>> tree = GaussianTree(["G", "H", "x", "y"], [-1, 0, 1, 1], [True, True, False, False], [0.0, 0.5, 0.8, -0.5])
    >>> loadings(tree)
          G    H
    x  0.40  0.8
    y -0.25 -0.5
    """
    checked(tree)
    values = tree.correlations()[np.ix_(~tree.latent, tree.latent)]
    return pd.DataFrame(values, index=named(tree.observed_names), columns=named(tree.latent_names))


def determinacy(tree: GaussianTree) -> pd.Series:
    """Return the correlation of every hidden variable with its score, the best prediction from all columns.

    Its square is the share of the hidden variable's variance that the columns determine. Scores of a hidden variable
    with less than 0.8 or so should not be compared between rows.

    Parameters
    ----------
    tree : GaussianTree

    Returns
    -------
    Series
        From 0 to 1, by hidden variable.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, 0], [True, False, False], [0.0, 0.8, -0.5])
    >>> determinacy(tree).round(3).tolist()
    [0.824]
    """
    checked(tree)
    forest, _ = forest_of(tree)
    known = np.arange(forest.n_nodes) < forest.n_columns
    inference = Inference.at(Shape.of(forest.ends, known), forest.correlation)
    left = np.clip(inference.covariance.diagonal(), 0.0, 1.0)
    return pd.Series(np.sqrt(1 - left), index=named(tree.latent_names), name="determinacy")
