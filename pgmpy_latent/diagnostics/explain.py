"""A tree in words: the columns that say most about its hidden variables, and the tree as text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.network_information import NOTHING, NetworkInformation, mean_information
from pgmpy_latent.exceptions import ComponentTooLargeError
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.queries import check_is_tree
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.inference.walk import multiply_scaled
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import DiscreteModel, LatentTree, child_lists
from pgmpy_latent.operators.bins import in_bins
from pgmpy_latent.operators.edges import normalised, rooted_at
from pgmpy_latent.tables.dependence import DECIMALS, block_information

#: Information coverage that the listed columns reach, unless a number of columns is given.
ENOUGH = 0.95
#: How many rows are drawn to estimate that.
N_ROWS = 5000
#: How many columns are listed at least.
FEWEST = 2
#: How many columns a line of text lists at most, unless a number is given.
MOST_IN_TEXT = 6
#: What stands above the columns that say most.
INFORMATION = "Columns that say most about each hidden variable, in nats (and how much of all they cover):"
#: Longest line of a text.
WIDTH = 100
#: How lines are drawn where the box-drawing characters cannot be shown.
ASCII = str.maketrans("├└│", "|`|")


# --- Informative columns ----------------------------------------------------------------------------------


def informative_columns(
    tree: LatentTree | LatentNetwork,
    n: int | None = None,
    *,
    latents: Iterable[Hashable] | None = None,
    n_rows: int = N_ROWS,
    random_state=0,
) -> pd.DataFrame:
    """Return which columns say most about each hidden variable.

    The columns W1, W2, ... of a hidden variable Y are sorted by their mutual information I(Y; Wi). The information
    coverage of the first i of them is I(Y; W1..Wi) / I(Y; all columns): what they say about Y together, as a share of
    all that can be said about it. Columns that repeat each other add little.

    Parameters
    ----------
    tree : LatentTree or LatentNetwork
        The model.
    n : int, optional
        How many columns to list for each hidden variable, if there are as many. By default as many as it takes to
        cover 95%, and at least two.
    latents : iterable of names, optional
        Which hidden variables; all by default. A tree of a thousand takes a minute or two.
    n_rows : int
        Number of rows drawn from the model to estimate the coverage.
    random_state : int or Generator
        For these draws.

    Returns
    -------
    DataFrame
        Columns ``latent``, ``column``, ``mutual_information`` (in nats, exact) and ``coverage`` (estimated, except that
        all columns together cover 1; it never falls from one column of a hidden variable to its next). Hidden variables
        come in node order. Columns of other components are independent of the hidden variable and left out; so are
        columns of a network that say nothing by themselves, which may say something beside others.

    References
    ----------
    T. Chen, N. L. Zhang, T. Liu, K. M. Poon, Y. Wang: Model-based multidimensional clustering of categorical data.
    Artificial Intelligence 176 (2012).

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> informative_columns(hlc_model(7, random_state=0), 2).round(2).head(4)
      latent column  mutual_information  coverage
    0     H1     D4                0.22      0.64
    1     H1     D6                0.08      0.78
    2     H2     D2                0.27      0.51
    3     H2     D3                0.24      0.87
    """
    rows = [
        (latent, tree.names[column], information, coverage)
        for latent, _, listed in _all_listed(tree, n, n_rows, random_state, latents)
        for column, information, coverage in listed
    ]
    latents, columns, information, coverage = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pd.DataFrame(
        {
            "latent": _objects(latents),
            "column": _objects(columns),
            "mutual_information": np.array(information, dtype=np.float64),
            "coverage": np.array(coverage, dtype=np.float64),
        }
    )


def _objects(names: Iterable[Hashable]) -> pd.Series:
    """Return names as they are: a tuple stays one, and 1 does not become 1.0."""
    return pd.Series(list(names), dtype=object)


class _DrawnRows:
    """Distinct rows drawn from a tree, with the posteriors of hidden nodes given all columns.

    Attributes
    ----------
    codes : int array, shape (n_distinct, n_nodes)
        States of the columns; -1 for hidden nodes.
    weights : array, shape (n_distinct,)
        Shares of the rows; they sum to one.
    beliefs : dict of arrays, shape (n_distinct, states)
        P(hidden node | row).
    """

    def __init__(self, tree: LatentTree, hidden: list[int], n_rows: int, random_state):
        unseen = _engine(tree, {}, n_rows)
        tables = unseen.layout.pack(tree.tables)
        drawn = unseen.draw(tables, np.random.default_rng(random_state))
        drawn[:, tree.latent] = -1
        self.codes, counts = np.unique(drawn, axis=0, return_counts=True)
        self.weights = counts / n_rows
        evidence = {
            node: Evidence(np.ascontiguousarray(self.codes[:, node]), int(tree.cards[node]))
            for node in np.flatnonzero(~tree.latent).tolist()
        }
        beliefs = _engine(tree, evidence, len(counts)).beliefs(tables, hidden)
        self.beliefs = dict(zip(hidden, beliefs, strict=True))


def _engine(tree: LatentTree, evidence: Mapping[int, Evidence], n_rows: int) -> TreeEngine:
    plan = compile_plan(tree.parent, evidence, row_constants=np.zeros(n_rows))  # which give the number of rows
    return TreeEngine(plan, tree.cards)


class _TreeInformation:
    """What the columns of a tree say about its hidden nodes; as :class:`NetworkInformation`."""

    def __init__(self, tree: LatentTree, hidden: list[int], n_rows: int, random_state):
        self.tree, self.rows = tree, _DrawnRows(tree, hidden, n_rows, random_state)

    @property
    def weights(self) -> np.ndarray:
        return self.rows.weights

    def belief(self, at: int) -> np.ndarray:
        return self.rows.beliefs[at]

    def each(self, at: int) -> tuple[np.ndarray, list[int], np.ndarray, int]:
        parent, tables = rooted_at(self.tree.parent, self.tree.tables, at)
        columns, information = _pairwise(self.tree, at, parent, tables)
        return tables[at][0], columns, information, len(columns)

    def beliefs_given_first(self, at: int, columns: Iterable[int]) -> Iterator[np.ndarray]:
        parent, tables = rooted_at(self.tree.parent, self.tree.tables, at)
        listener = _Listener(parent, tables, self.rows.codes)
        for column in columns:
            listener.hear(column)
            yield listener.belief(at)


def _all_listed(
    model: LatentTree | LatentNetwork,
    n: int | None,
    n_rows: int,
    random_state,
    latents: Iterable[Hashable] | None = None,
) -> Iterator[tuple[Hashable, float, list[tuple[int, float, float]]]]:
    """Yield hidden variables, how much all columns say about it, and what :func:`_listed` lists for it."""
    if not isinstance(model, LatentNetwork):
        check_is_tree(model)
        model = in_bins(model)  # what numbers say, nearly
    for name, number in (("n", 1 if n is None else n), ("n_rows", n_rows)):
        if not isinstance(number, (int, np.integer)) or number < 1:
            raise ValueError(f"{name} is {number!r}; give a whole number that is at least 1")
    hidden = np.flatnonzero(model.latent).tolist() if latents is None else sorted(map(model.index, latents))
    for at in hidden:
        if not model.latent[at]:
            raise ValueError(f"latents names {model.names[at]!r}, which is a column; give hidden variables")
    if not hidden:
        return
    source: _TreeInformation | NetworkInformation
    if isinstance(model, LatentNetwork):
        source = NetworkInformation(model, hidden, n_rows, random_state)
    else:
        source = _TreeInformation(model, hidden, n_rows, random_state)
    for at in hidden:
        yield model.names[at], *_listed(source, at, n)


def _listed(
    source: _TreeInformation | NetworkInformation, at: int, n: int | None
) -> tuple[float, list[tuple[int, float, float]]]:
    """Return how much all columns say about a hidden node, and the first columns with information and coverage."""
    prior, columns, information, n_linked = source.each(at)
    of_all_columns = mean_information(source.weights, source.belief(at), prior)
    order = [columns[place] for place in np.argsort(-information.round(DECIMALS), kind="stable")[:n]]
    known = dict(zip(columns, information.tolist(), strict=True))
    listed: list[tuple[int, float, float]] = []
    covered = 0.0
    for column, belief in zip(order, source.beliefs_given_first(at, order), strict=True):
        if len(listed) + 1 == n_linked or of_all_columns < NOTHING:
            covered = 1.0
        else:
            share = mean_information(source.weights, belief, prior) / of_all_columns
            covered = min(max(covered, share), 1.0)  # coverage never falls, though an estimate of it may
        listed.append((column, known[column], covered))
        if n is None and len(listed) >= FEWEST and covered >= ENOUGH:
            break
    return of_all_columns, listed


def _pairwise(tree: LatentTree, at: int, parent: np.ndarray, tables: list[np.ndarray]) -> tuple[list[int], np.ndarray]:
    """Return the columns below a root, and the mutual information of each with the root."""
    children = child_lists(parent)
    joints = {at: np.diag(tables[at][0])}  # P(root, node)
    reached = [at]
    for node in reached:  # the list grows while it is walked
        for child in children[node]:
            joints[child] = joints[node] @ tables[child]
        reached.extend(children[node])
    columns = sorted(node for node in reached if not tree.latent[node])
    if not columns:
        return [], np.empty(0)
    ends = np.cumsum(tree.cards[columns])
    side_by_side = np.concatenate([joints[node] for node in columns], axis=1)
    return columns, block_information(side_by_side, [0], ends - tree.cards[columns])[0]


class _Listener:
    """P(root | columns heard so far), for many rows at once.

    One more column changes only the messages on its way to the root, while an engine would compile a plan anew for it.
    """

    def __init__(self, parent: np.ndarray, tables: list[np.ndarray], codes: np.ndarray):
        self.parent, self.tables, self.codes = parent.tolist(), tables, codes
        #: Node -> messages from its children, and its evidence, as if that came from a child.
        self.told: dict[int, dict[int, np.ndarray]] = {}

    def hear(self, column: int) -> None:
        """Take in the states of one more column."""
        self.told.setdefault(column, {})[column] = np.eye(self.tables[column].shape[1])[self.codes[:, column]]
        node = column
        while (above := self.parent[node]) >= 0:
            self.told.setdefault(above, {})[node] = self._likelihood(node) @ self.tables[node].T
            node = above

    def belief(self, root: int) -> np.ndarray:
        """Return P(root | columns): (n_rows, states)."""
        return normalised(self._likelihood(root) * self.tables[root])

    def _likelihood(self, node: int) -> np.ndarray:
        """Return P(what was heard from below | node), up to a factor for each row."""
        first, *others = self.told[node].values()
        return multiply_scaled(first, others)


# --- Text -------------------------------------------------------------------------------------------------


def tree_text(tree: LatentTree) -> str:
    """Return a tree as indented text, one line for each node with children.

    Hidden variables are followed by their number of states, as in ``H1 (3)``. Columns without
    children are listed on the line of their parent. Trees of a forest follow each other; columns without neighbours
    are listed at the end.

    Parameters
    ----------
    tree : LatentTree
        The model.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> print(tree_text(hlc_model(7, random_state=0)))
    H1 (3): D4
    ├ H2 (3): D1, D2, D3
    └ H3 (3): D5, D6, D7
    """
    check_is_tree(tree)

    def with_states(node: int) -> str:
        return shown(tree.names[node]) + (f" ({tree.cards[node]})" if tree.latent[node] else "")

    return indented_text(tree, with_states)


def indented_text(tree: LatentTree | GaussianTree, words: Callable[[int], str]) -> str:
    """Return a tree as indented text, one line for each node with children; ``words`` are those of a node.

    Examples
    --------
    >>> tree = GaussianTree(["H", "x", "y"], [-1, 0, -1], [True, False, False], [0.0, 0.8, 0.0])
    >>> print(indented_text(tree, lambda node: str(tree.names[node])))
    H: x
    independent: y
    """
    lines: list[str] = []
    # a stack, as trees can be deeper than Python's recursion: a node, and what its first and later lines begin with
    ahead = [(node, "", "") for node in tree.roots[::-1].tolist() if not is_leaf(tree, node)]
    while ahead:
        node, first, later = ahead.pop()
        leaves = [child for child in tree.child_lists[node] if is_leaf(tree, child)]
        inner = [child for child in tree.child_lists[node] if not is_leaf(tree, child)]
        lines += _wrapped(first + words(node), list(map(words, leaves)), later + ("│   " if inner else "    "))
        for place, child in enumerate(reversed(inner)):
            ahead.append((child, later + ("├ " if place else "└ "), later + ("│ " if place else "  ")))
    if alone := [words(node) for node in tree.roots.tolist() if is_leaf(tree, node)]:
        lines += _wrapped("independent", alone, "    ")
    return "\n".join(lines)


def summary_text(
    tree: LatentTree,
    n: int | None = None,
    *,
    log_likelihood: float | None = None,
    bic: float | None = None,
    score: float | None = None,
) -> str:
    """Return a tree in words: its size, its nodes and edges, and the columns that say most about hidden variables.

    See :func:`tree_text` and :func:`informative_columns` for the two parts.

    Parameters
    ----------
    tree : LatentTree
        The model.
    n : int, optional
        How many columns to list for each hidden variable. By default as many as it takes to cover 95% of what all
        columns say, and at most six. See :func:`informative_columns`.
    log_likelihood, bic : float, optional
        How well it describes its data; left out if None.
    score : float, optional
        What a search maximised, if that was not the BIC.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> print(summary_text(hlc_model(7, random_state=0), 3))
    56 parameters, 3 hidden variables, 7 columns
    <BLANKLINE>
    H1 (3): D4
    ├ H2 (3): D1, D2, D3
    └ H3 (3): D5, D6, D7
    <BLANKLINE>
    Columns that say most about each hidden variable, in nats (and how much of all they cover):
    H1: D4 0.22, D6 0.08, D7 0.08 (88%)
    H2: D2 0.27, D3 0.24, D1 0.12 (98%)
    H3: D7 0.19, D6 0.19, D5 0.17 (91%)
    """
    check_is_tree(tree)
    parts = [_size_and_fit(tree, log_likelihood, bic, score), tree_text(tree)]
    if lines := _information_lines(tree, n):
        parts.append("\n".join([INFORMATION, *lines]))
    return "\n\n".join(parts)


def network_text(
    network: LatentNetwork,
    n: int | None = None,
    *,
    log_likelihood: float | None = None,
    bic: float | None = None,
    score: float | None = None,
) -> str:
    """Return a network of any shape in words: its size, its hidden variables with their neighbours, and other edges.

    The columns that say most about hidden variables follow, unless they cannot be computed, because too many nodes
    depend on each other. The arguments are those of :func:`summary_text`.

    Examples
    --------
    >>> network = LatentNetwork(["x", "H", "y"], [[0, 1]] * 3, [(), (), (0, 1)], [False, True, False],
    ...                         [[[0.5, 0.5]], [[0.5, 0.5]], [[0.5, 0.5]] * 4])
    >>> print(network_text(network))
    6 parameters, 1 hidden variable, 2 columns, 2 edges
    <BLANKLINE>
    H (2): y
    <BLANKLINE>
    Edges among columns:
    x -> y
    <BLANKLINE>
    Columns that say most about each hidden variable, in nats (and how much of all they cover):
    H: the columns say nothing about it
    """
    edges = network.edges
    lines = [f"{_size_and_fit(network, log_likelihood, bic, score)}, {counted(len(edges), 'edge')}"]
    for name in network.latent_names:
        above = ", ".join(shown(parent) for parent, child in edges if child == name)
        below = ", ".join(shown(child) for parent, child in edges if parent == name)
        states = network.cards[network.index(name)]
        lines += ["", f"{shown(name)} ({states})" + (f", given {above}" if above else "") + f": {below}"]
    others: dict[Hashable, list[str]] = {}
    for parent, child in edges:
        if parent not in network.latent_names and child not in network.latent_names:
            others.setdefault(child, []).append(shown(parent))
    if others:
        edge_lines = (f"{', '.join(above)} -> {shown(child)}" for child, above in others.items())
        lines += ["", "Edges among columns:", *edge_lines]
    linked = {name for edge in edges for name in edge}
    if alone := [shown(name) for name in network.observed_names if name not in linked]:
        lines += ["", *_wrapped("independent", alone, "    ")]
    with suppress(ComponentTooLargeError):
        if told := _information_lines(network, n):
            lines += ["", INFORMATION, *told]
    return "\n".join(lines)


def _size_and_fit(model: DiscreteModel, log_likelihood: float | None, bic: float | None, score: float | None) -> str:
    facts = [] if log_likelihood is None else [f"log-likelihood {log_likelihood:,.2f}"]
    facts += [] if bic is None else [f"BIC {bic:,.2f} (other programs: {-2 * bic:,.2f})"]
    facts += [] if score is None else [score_words(score)]
    facts += [
        counted(model.n_parameters, "parameter"),
        counted(len(model.latent_names), "hidden variable"),
        counted(len(model.observed_names), "column"),
    ]
    return ", ".join(facts)


def score_words(score: float) -> str:
    """Return a score that is not the BIC, in words.

    Examples
    --------
    >>> score_words(-1234.5)
    'score -1,234.50 (what the search maximised)'
    """
    return f"score {score:,.2f} (what the search maximised)"


def writable(text: str, encoding: str | None) -> str:
    """Return a text that can be written in an encoding; where that lacks the characters, lines are drawn in ASCII.

    Examples
    --------
    >>> writable("├ x", "utf-8"), writable("├ x", "cp1252")
    ('├ x', '| x')
    """
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(ASCII).encode(encoding, "replace").decode(encoding)
    return text


def _information_lines(model: LatentTree | LatentNetwork, n: int | None) -> list[str]:
    """Return a line for every hidden variable, or more if it does not fit."""
    lines: list[str] = []
    for name, whole, listed in _all_listed(model, n, N_ROWS, 0):
        if whole < NOTHING or not listed:
            lines.append(f"{shown(name)}: the columns say nothing about it")
            continue
        if n is None:
            listed = listed[:MOST_IN_TEXT]
        items = [f"{shown(model.names[column])} {information:.2f}" for column, information, _ in listed]
        items[-1] += f" ({listed[-1][2]:.0%})"
        lines += _wrapped(shown(name), items, "    ")
    return lines


def is_leaf(tree: LatentTree | GaussianTree, node: int) -> bool:
    """Tell whether a node is a column without children.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> is_leaf(hlc_model(7, random_state=0), 0)
    False
    """
    return not tree.latent[node] and not tree.child_lists[node]


def shown(name: Hashable) -> str:
    """Return a name as text, in quotes if it would be misread in a list.

    Examples
    --------
    >>> shown("age"), shown("age, in years")
    ('age', "'age, in years'")
    """
    text = str(name)
    return text if text.isprintable() and "," not in text and text.strip() == text != "" else repr(name)


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> counted(1, "column"), counted(1000, "column")
    ('1 column', '1,000 columns')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _wrapped(label: str, items: list[str], later: str) -> list[str]:
    """Return "label: items" in lines of bounded width, never broken inside an item; others begin with ``later``."""
    if not items:
        return [label]
    pieces = [*(f"{item}," for item in items[:-1]), items[-1]]
    lines = [f"{label}: {pieces[0]}"]
    for piece in pieces[1:]:
        if len(lines[-1]) + 1 + len(piece) > WIDTH:
            lines.append(later + piece)
        else:
            lines[-1] += f" {piece}"
    return lines
