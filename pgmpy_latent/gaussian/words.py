"""A Gaussian tree in words."""

from __future__ import annotations

from pgmpy_latent.diagnostics.explain import counted, indented_text, score_words, shown
from pgmpy_latent.gaussian.loadings import determinacy
from pgmpy_latent.gaussian.queries import checked
from pgmpy_latent.model.gaussian_tree import GaussianTree


def tree_text(tree: GaussianTree) -> str:
    """Return a tree as indented text, one line for each node with children, with the correlations of all edges.

    A number belongs to the node before it, and is its correlation with the node on whose line, or below which, it is.

    Examples
    --------
    >>> tree = GaussianTree(["G", "H", *"abcd"], [-1, 0, 0, 0, 1, 1], [True] * 2 + [False] * 4,
    ...                     [0.0, 0.5, 0.8, -0.7, 0.8, 0.9])
    >>> print(tree_text(tree))
    G: a 0.80, b -0.70
    └ H 0.50: c 0.80, d 0.90
    """
    checked(tree)

    def words(node: int) -> str:
        return shown(tree.names[node]) + (f" {tree.correlation[node]:.2f}" if tree.parent[node] >= 0 else "")

    return indented_text(tree, words)


def summary_text(
    tree: GaussianTree, *, log_likelihood: float | None = None, bic: float | None = None, score: float | None = None
) -> str:
    """Return a tree in words: its size, its nodes and edges, and how well the columns determine hidden variables.

    Parameters
    ----------
    tree : GaussianTree
    log_likelihood, bic : float, optional
        How well it describes its data; left out if None.
    score : float, optional
        What a search maximised, if that was not the BIC.

    Examples
    --------
    >>> tree = GaussianTree(["H", *"abc"], [-1, 0, 0, 0], [True] + [False] * 3, [0.0, 0.8, -0.7, 0.8])
    >>> print(summary_text(tree, bic=-100.0))
    BIC -100.00, 9 parameters, 1 hidden variable, 3 columns
    <BLANKLINE>
    H: a 0.80, b -0.70, c 0.80
    <BLANKLINE>
    Numbers are correlations with the variable above. Hidden variables and their scores correlate by
    H: 0.90
    """
    facts = [] if log_likelihood is None else [f"log-likelihood {log_likelihood:,.2f}"]
    facts += [] if bic is None else [f"BIC {bic:,.2f}"]
    facts += [] if score is None else [score_words(score)]
    parts = [", ".join([*facts, size_words(tree)]), tree_text(tree)]
    if tree.latent_names:
        known = [f"{shown(name)}: {value:.2f}" for name, value in determinacy(tree).items()]
        header = "Numbers are correlations with the variable above. Hidden variables and their scores correlate by"
        parts.append("\n".join([header, *known]))
    elif (tree.parent >= 0).any():
        parts.append("Numbers are correlations with the variable above.")
    return "\n\n".join(parts)


def size_words(tree: GaussianTree) -> str:
    """Return how large a model is.

    Examples
    --------
    >>> size_words(GaussianTree(["x"], [-1], [False], [0.0]))
    '2 parameters, 0 hidden variables, 1 column'
    """
    sizes = (tree.n_parameters, "parameter"), (len(tree.latent_names), "hidden variable")
    return ", ".join(counted(*size) for size in (*sizes, (len(tree.observed_names), "column")))
