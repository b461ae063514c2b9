"""The layout of a tree: an outline from left to right, folded if it would be too long."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.diagnostics.explain import counted, is_leaf
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.plotting.axes import as_label

#: Maximum number of rows if every column has one; with more, columns are counted and subtrees are folded.
MOST_ROWS = 160
#: Maximum number of rows of a folded picture.
FOLDED_ROWS = 60
#: Number of columns that a folded row names.
NAMED = 4
#: Maximum length of a name inside a box, in characters.
BOX_LABEL = 24
#: Rows left free between the trees of a forest.
BETWEEN_TREES = 0.5
#: Kinds of entries: a hidden variable, a column with children, a column, or a note about several nodes.
HIDDEN, INNER, COLUMN, NOTE = "hidden", "inner", "column", "note"


@dataclass(frozen=True)
class Entry:
    """One line of text in the picture.

    Attributes
    ----------
    text : str
        What it says.
    kind : str
        ``HIDDEN``, ``INNER``, ``COLUMN`` or ``NOTE``.
    node : int
        The node, -1 for notes.
    above : int
        Position of the entry it hangs on, -1 if on none.
    """

    text: str
    kind: str
    node: int
    above: int


def outlined(
    tree: LatentTree | GaussianTree, strength: np.ndarray, most_rows: int = MOST_ROWS
) -> tuple[list[Entry], bool]:
    """Return the entries of a picture, parents before children, and whether the picture is folded.

    Columns come before the subtrees that hang on the same node, and in both the strongest edges come first. If there
    are more rows than allowed, the columns of a node become one note that counts them and names the first, and small
    subtrees are folded into such notes as well.

    Parameters
    ----------
    tree : LatentTree or GaussianTree
        The model.
    strength : array, shape (n_nodes,)
        Of the edge to the parent.
    most_rows : int
        Most rows of a picture with all columns.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> entries, folded = outlined(hlc_model(7, random_state=0), np.zeros(10))
    >>> [entry.text for entry in entries], folded
    (['H1 (3)', 'D4', 'H2 (3)', 'D1', 'D2', 'D3', 'H3 (3)', 'D5', 'D6', 'D7'], False)
    >>> entries, folded = outlined(hlc_model(7, random_state=0), np.zeros(10), most_rows=5)
    >>> [entry.text for entry in entries], folded
    (['H1 (3)', 'D4', 'H2 (3)', '3 columns: D1, D2, D3', 'H3 (3)', '3 columns: D5, D6, D7'], True)
    """
    return _Outline(tree, strength, most_rows).entries()


class _Outline:
    def __init__(self, tree: LatentTree | GaussianTree, strength: np.ndarray, most_rows: int):
        self.tree = tree
        self.children = [sorted(below, key=lambda node: -strength[node]) for below in tree.child_lists]
        self.n_columns = self._columns_below()
        self.folded = sum(not below for below in self.children) > most_rows
        roots = tree.roots.tolist()
        self.alone = [node for node in roots if is_leaf(tree, node)]
        self.trees = [node for node in roots if not is_leaf(tree, node)]
        self.left_out: list[int] = []
        if self.folded:
            largest = set(sorted(self.trees, key=lambda node: -self.n_columns[node])[:FOLDED_ROWS])
            self.left_out = [node for node in self.trees if node not in largest]
            self.trees = [node for node in self.trees if node in largest]
            self.open = self._opened()

    def _columns_below(self) -> np.ndarray:
        counts = (~self.tree.latent).astype(np.int64)
        for node in self.tree.order[::-1]:
            if self.tree.parent[node] >= 0:
                counts[self.tree.parent[node]] += counts[node]
        return counts

    def _parts(self, node: int) -> tuple[list[int], list[int]]:
        """Return the children without children, and the others."""
        leaves = [child for child in self.children[node] if is_leaf(self.tree, child)]
        return leaves, [child for child in self.children[node] if not is_leaf(self.tree, child)]

    def _opened(self) -> set[int]:
        """Return the nodes whose subtrees are shown: those with most columns, as long as rows are left."""
        waiting = [(-self.n_columns[node], node) for node in self.trees]
        heapq.heapify(waiting)
        n_rows, chosen = len(waiting), set()
        while waiting:
            _, node = heapq.heappop(waiting)
            leaves, inner = self._parts(node)
            if (more := max(len(inner) + bool(leaves) - 1, 0)) + n_rows <= FOLDED_ROWS:
                n_rows += more
                chosen.add(node)
                for child in inner:
                    heapq.heappush(waiting, (-self.n_columns[child], child))
        return chosen

    def entries(self) -> tuple[list[Entry], bool]:
        """Return the entries to draw."""
        entries: list[Entry] = []
        ahead = [(node, -1) for node in reversed(self.trees)]  # a stack, as trees can be deeper than recursion
        while ahead:
            node, above = ahead.pop()
            here = len(entries)
            entries.append(self._entry(node, above))
            leaves, inner = self._parts(node)
            if self.folded and self.children[node] and node not in self.open:
                entries.append(Entry(self._counted(self._nearest(node), self._n_strictly_below(node)), NOTE, -1, here))
                continue
            if self.folded and len(leaves) > 1:
                entries.append(Entry(self._counted(leaves, len(leaves)), NOTE, -1, here))
                leaves = []
            ahead += [(child, here) for child in reversed([*leaves, *inner])]
        if self.left_out:
            n_columns = int(self.n_columns[self.left_out].sum())
            words = f"and {counted(len(self.left_out), 'smaller tree')} with {counted(n_columns, 'column')}"
            entries.append(Entry(words, NOTE, -1, -1))
        return [*entries, *self._independent()], self.folded

    def _independent(self) -> list[Entry]:
        """Return the columns that stand alone."""
        if self.folded and self.alone:
            return [Entry(f"independent: {self._counted(self.alone, len(self.alone))}", NOTE, -1, -1)]
        header = [Entry("independent:", NOTE, -1, -1)] if self.alone else []
        return [*header, *(self._entry(node, -1) for node in self.alone)]

    def _entry(self, node: int, above: int) -> Entry:
        hidden, name = bool(self.tree.latent[node]), self.tree.names[node]
        if hidden:
            states = f" ({self.tree.cards[node]})" if isinstance(self.tree, LatentTree) else ""
            return Entry(f"{as_label(name, BOX_LABEL)}{states}", HIDDEN, node, above)
        inner = bool(self.children[node])
        return Entry(as_label(name, BOX_LABEL) if inner else as_label(name), INNER if inner else COLUMN, node, above)

    def _n_strictly_below(self, node: int) -> int:
        return int(self.n_columns[node] - (not self.tree.latent[node]))

    def _counted(self, nodes: list[int], number: int) -> str:
        names = ", ".join(as_label(self.tree.names[node], BOX_LABEL) for node in nodes[:NAMED])
        return f"{counted(number, 'column')}: {names}{', …' if number > NAMED else ''}"

    def _nearest(self, node: int) -> list[int]:
        """Return the first columns below a node, the nearest first."""
        below, walked = [], list(self.children[node])
        for at in walked:  # the list grows while it is walked: breadth first
            if not self.tree.latent[at]:
                below.append(at)
            if len(below) == NAMED:
                break
            walked.extend(self.children[at])
        return below


@dataclass(frozen=True)
class Places:
    """Positions of entries: x in inches, with the width of their text; y in rows, from the top."""

    x: np.ndarray
    y: np.ndarray
    width: np.ndarray
    n_rows: float


def placed(entries: list[Entry], measure: Callable[[Entry], float], space: float) -> Places:
    """Return the place of every entry.

    Leaves get one line each; a parent is centred on its children. Children begin to the right of their parent's text,
    so that neither texts nor edges overlap.

    Parameters
    ----------
    entries : list of Entry
        As :func:`outlined` returns them.
    measure : callable
        The width of an entry's text, in inches.
    space : float
        Inches between an entry's text and its children.

    Examples
    --------
    >>> entries = [Entry("H", HIDDEN, 0, -1), Entry("x", COLUMN, 1, 0), Entry("y", COLUMN, 2, 0)]
    >>> where = placed(entries, lambda entry: 1.0, 0.5)
    >>> where.x.tolist(), where.y.tolist()
    ([0.0, 1.5, 1.5], [0.5, 0.0, 1.0])
    """
    width = np.array([measure(entry) for entry in entries])
    x, y = np.zeros(len(entries)), np.full(len(entries), np.nan)
    has_below = {entry.above for entry in entries}
    row = 0.0
    for at, entry in enumerate(entries):
        if entry.above >= 0:
            x[at] = x[entry.above] + width[entry.above] + space
        elif at and entry.kind != COLUMN:  # columns that stand alone follow each other
            row += BETWEEN_TREES
        if at not in has_below:
            y[at] = row
            row += 1
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for at in range(len(entries) - 1, -1, -1):  # what hangs on an entry comes before it
        if np.isnan(y[at]):
            y[at] = (first[at] + last[at]) / 2
        above = entries[at].above
        first[above] = y[at]
        last.setdefault(above, y[at])
    return Places(x, y, width, row)
