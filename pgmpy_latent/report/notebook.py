"""How models and learners look in a notebook: short HTML, in which every name is escaped."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from html import escape

import numpy as np

from pgmpy_latent.diagnostics.explain import counted, is_leaf, shown
from pgmpy_latent.diagnostics.mixture_text import parts_of, size_text
from pgmpy_latent.gaussian.loadings import determinacy, loadings
from pgmpy_latent.learners.fitted import remarks_on
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.tree import DiscreteModel, LatentTree
from pgmpy_latent.operators import marginals

#: Maximum number of inner nodes that are listed; of larger trees only the number is given.
MOST_INNER = 500
#: Trees with at most this many inner nodes are shown unfolded.
UNFOLDED = 12
#: Maximum number of hidden variables, or of nodes of a network, in a table.
MOST_ROWS = 20
#: Maximum number of columns named in one line.
MOST_NAMES = 40
#: What is told about the fit of a learner's model -> its attribute.
FIT = {"BIC": "bic_", "log-likelihood": "log_likelihood_"}
#: Maximum number of loadings of a hidden variable that are given.
MOST_LOADINGS = 5
#: Maximum number of states whose shares are given.
MOST_SHARES = 12


def model_html(model: DiscreteModel | GaussianTree) -> str:
    """Return a model as HTML: its size, a table of its hidden variables, and the tree as a list that can be folded.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> text = model_html(hlc_model(7, random_state=0))
    >>> "3 hidden variables, 7 columns, 56 parameters" in text, text.count("<details")
    (True, 3)
    """
    return _block([f"<b>{type(model).__name__}</b>: {_size(model)}", *_structure(model)])


def learner_html(learner, settings: str) -> str:
    """Return a learner as HTML: its settings as scikit-learn shows them and, once it is fitted, what it found.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts
    >>> learner_html(RandomStarts(), "<p>settings</p>")
    '<p>settings</p>'
    """
    model = vars(learner).get(learner._holder)
    if model is None:
        return settings
    fit = {name: getattr(learner, attribute, None) for name, attribute in FIT.items()}  # a given model may have none
    facts = [*(f"{name} {value:,.2f}" for name, value in fit.items() if value is not None), _size(model)]
    line = f"<b>Found</b>: {', '.join(facts)}"
    lines = [line, *map(escape, remarks_on(learner))]
    return settings + _block([*lines, *_structure(model)])


def _structure(model: DiscreteModel | GaussianTree) -> list[str]:
    """Return a model's hidden variables and its tree; the trees of a mixture; or the nodes of a network."""
    if isinstance(model, GaussianTree):
        return [_loadings_table(model), _tree_list(model)]
    if isinstance(model, LatentTree):
        return [_hidden_table(model), _tree_list(model)]
    return [_trees_table(model) if isinstance(model, TreeMixture) else _node_table(model)]


def _block(parts: Iterable[str]) -> str:
    return "".join(f"<div>{part}</div>" for part in parts if part)


def _size(model: DiscreteModel | GaussianTree) -> str:
    if isinstance(model, TreeMixture):
        return size_text(model)
    numbers = (len(model.latent_names), "hidden variable"), (len(model.observed_names), "column")
    return ", ".join([*(counted(*number) for number in numbers), counted(model.n_parameters, "parameter")])


def _name(name: Hashable) -> str:
    return escape(shown(name))


def _names(names: Sequence[Hashable]) -> str:
    """Return names in one line, the first ones if there are many."""
    line = ", ".join(map(_name, names[:MOST_NAMES]))
    return line if len(names) <= MOST_NAMES else f"{line} and {len(names) - MOST_NAMES:,} more"


def _beside(tree: LatentTree | GaussianTree, node: int) -> str:
    """Return what stands beside the name of a node: its number of states, or its correlation with its parent."""
    if isinstance(tree, GaussianTree):
        return f" {tree.correlation[node]:.2f}" if tree.parent[node] >= 0 else ""
    return f" ({tree.cards[node]})" if tree.latent[node] else ""


def _leaves(tree: LatentTree | GaussianTree, nodes: Sequence[int]) -> str:
    """Return columns in one line, the first ones if there are many."""
    line = ", ".join(_name(tree.names[node]) + _beside(tree, node) for node in nodes[:MOST_NAMES])
    return line if len(nodes) <= MOST_NAMES else f"{line} and {len(nodes) - MOST_NAMES:,} more"


def _loadings_table(tree: GaussianTree) -> str:
    """Return the hidden variables of a Gaussian tree with their largest loadings, unless there are too many."""
    if not 0 < len(tree.latent_names) <= MOST_ROWS:
        return ""
    found, known = loadings(tree), determinacy(tree)
    rows = []
    for at, name in enumerate(tree.latent_names):
        values = found.iloc[:, at]
        best = np.argsort(-np.abs(values.to_numpy()), kind="stable")[:MOST_LOADINGS]
        listed = ", ".join(f"{_name(found.index[one])} {values.iloc[one]:.2f}" for one in best)
        rows.append((_name(name), listed, f"{known.iloc[at]:.2f}"))
    return _table(["hidden variable", "largest loadings", "correlation with its score"], rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th style="text-align:left">{cell}</th>' for cell in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shares(distribution: np.ndarray) -> str:
    shares = ", ".join(f"{share:.0%}" for share in distribution[:MOST_SHARES])
    return shares if len(distribution) <= MOST_SHARES else f"{shares}, …"


def _hidden_table(tree: LatentTree) -> str:
    """Return the hidden variables with their states, unless there are too many."""
    hidden = np.flatnonzero(tree.latent).tolist()
    if not 0 < len(hidden) <= MOST_ROWS:
        return ""
    shares = marginals(tree)
    rows = [(_name(tree.names[at]), str(tree.cards[at]), _shares(shares[at])) for at in hidden]
    return _table(["hidden variable", "states", "shares"], rows)


def _tree_list(tree: LatentTree | GaussianTree) -> str:
    """Return the tree as nested lists, in which subtrees can be folded."""
    inner = [node for node in range(tree.n_nodes) if not is_leaf(tree, node)]
    if len(inner) > MOST_INNER:
        return "The tree is too large to be listed here; plotting.plot_tree draws its largest parts."
    state = " open" if len(inner) <= UNFOLDED else ""
    pieces: list[str] = []
    # a stack of nodes and of what closes them, as trees can be deeper than Python's recursion
    ahead: list[int | str] = [node for node in tree.roots[::-1].tolist() if not is_leaf(tree, node)]
    while ahead:
        at = ahead.pop()
        if isinstance(at, str):
            pieces.append(at)
            continue
        below = tree.child_lists[at]
        title = f"<b>{_name(tree.names[at])}</b>{_beside(tree, at)}"
        leaves = [child for child in below if is_leaf(tree, child)]
        pieces.append(f'<details{state}><summary>{title}</summary><ul style="margin:0">')
        pieces.append(f"<li>{_leaves(tree, leaves)}</li>" if leaves else "")
        ahead.append("</ul></details>")
        for child in reversed(below):
            if not is_leaf(tree, child):
                ahead += ["</li>", child, "<li>"]
    if alone := [tree.names[node] for node in tree.roots.tolist() if is_leaf(tree, node)]:
        pieces.append(f"<div>independent: {_names(alone)}</div>")
    return "".join(pieces)


def _trees_table(mixture: TreeMixture) -> str:
    """Return the trees of a mixture, the heaviest first."""
    parts = parts_of(mixture)
    rows = [
        (str(row.Index), f"{row.weight:.1%}", f"{row.hidden_variables:,}", f"{row.states:,}", f"{row.parameters:,}")
        for row in parts.head(MOST_ROWS).itertuples()
    ]
    left = len(parts) - len(rows)
    table = _table(["tree", "weight", "hidden variables", "most states", "parameters"], rows)
    return table + (f"and {counted(left, 'further tree')}" if left else "")


def _node_table(network: DiscreteModel) -> str:
    """Return the nodes of a network with their parents, the hidden ones first."""
    order = np.argsort(~network.latent, kind="stable").tolist()
    rows = [
        (
            f"<b>{_name(network.names[at])}</b>" if network.latent[at] else _name(network.names[at]),
            "hidden" if network.latent[at] else "column",
            str(network.cards[at]),
            _names([network.names[above] for above in network.parents[at]]),
        )
        for at in order[:MOST_ROWS]
    ]
    left = len(order) - len(rows)
    return _table(["node", "", "states", "parents"], rows) + (f"and {counted(left, 'further node')}" if left else "")
