"""Pictures of agglomerations: the merges, and the score against the number of states."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from pgmpy_latent.plotting.axes import BLUE, VERMILION, as_label, new_axes


def plot_merges(learner, hidden: Hashable | None = None, *, n_leaves: int = 24, ax=None):
    """Draw how the states of a hidden variable were merged.

    Time runs from left to right. Every merge is a dot at its place in the sequence, with the change of the score that
    it made beside it; diamonds are the states that the merges had when as many were left as were chosen in the end. A
    second look may have moved assignments from one state to another since. On the left stand assignments of the
    variable's Markov blanket.

    Parameters
    ----------
    learner : AgglomerativeCardinality
        Fitted.
    hidden : name, optional
        The hidden variable; needed if there are several.
    n_leaves : int
        Most states to begin with, unless more were chosen: earlier merges are left out, and the label of a state then
        says of how many assignments it consists.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> from pgmpy_latent import AgglomerativeCardinality
    >>> frame = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [0, 1] * 20})
    >>> learner = AgglomerativeCardinality(DAG([("h", name) for name in "abc"], latents={"h"})).fit(frame)
    >>> plot_merges(learner).get_title("left")
    'h: 2 states'
    """
    merges = learner.merges(hidden)
    name = merges.attrs["hidden"]
    leaves = merges.attrs["blanket"]
    n_kept = learner.cardinality_[name]
    tree = _MergeTree(merges, len(leaves), max(n_leaves, n_kept, 2))
    ax = new_axes(ax, 8.0, 1.2 + 0.3 * len(tree.leaves))
    height: dict[int, float] = {node: at for at, node in enumerate(tree.leaves)}
    time = dict.fromkeys(tree.leaves, 0)
    kept = tree.alive_at(n_kept)
    for order, row in enumerate(tree.rows, start=1):
        left, right, new = row.left, row.right, row.new
        time[new], height[new] = order, (height[left] + height[right]) / 2
        for child in (left, right):
            ax.plot([time[child], order, order], [height[child], height[child], height[new]], color="0.55", lw=1)
        ax.annotate(f"{row.gain:+.1f}", (order, height[new]), xytext=(4, 2), textcoords="offset points", fontsize=7)
    merged = [node for node in time if time[node] > 0 and node not in kept]
    for nodes, marker, size in ((merged, "o", 16), (sorted(kept), "D", 40)):
        ax.scatter([time[n] for n in nodes], [height[n] for n in nodes], marker=marker, s=size, color="C0", zorder=3)
    ax.set_yticks(range(len(tree.leaves)), [_leaf_label(tree, node, leaves) for node in tree.leaves], fontsize=8)
    ax.set_xlim(-0.3, len(tree.rows) + 1.5)
    ax.set_xlabel("merge")
    ax.set_ylabel(as_label(", ".join(map(str, leaves[0]))))
    ax.set_title(f"{as_label(name)}: {len(kept)} state{'s' * (len(kept) != 1)}", loc="left", fontsize=11)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


class _MergeTree:
    """The last merges, and the states before them."""

    def __init__(self, merges: pd.DataFrame, n_first: int, n_leaves: int):
        self.parts: dict[int, tuple[int, ...]] = {node: (node,) for node in range(n_first)}
        every = merges.assign(new=n_first + np.arange(len(merges)))
        for row in every.itertuples():
            self.parts[row.new] = self.parts[row.left] + self.parts[row.right]
        skipped = max(0, n_first - n_leaves)
        self.rows = list(every.iloc[skipped:].itertuples())
        self._every, self._n_first = every, n_first
        self.children = {row.new: (row.left, row.right) for row in self.rows}
        self.leaves = self._in_order(self.rows[-1].new) if self.rows else [0]

    def _in_order(self, node: int) -> list[int]:
        leaves, waiting = [], [node]
        while waiting:
            node = waiting.pop()
            if node in self.children:
                waiting += reversed(self.children[node])
            else:
                leaves.append(node)
        return leaves

    def alive_at(self, n_states: int) -> set[int]:
        """Return the nodes that are states when the given number is left."""
        alive = set(range(self._n_first))
        for row in self._every.iloc[: self._n_first - n_states].itertuples():
            alive = alive - {row.left, row.right} | {row.new}
        return alive


def _leaf_label(tree: _MergeTree, node: int, leaves: list[dict]) -> str:
    parts = tree.parts[node]
    if len(parts) > 1:
        return f"{len(parts)} assignments"
    text = ", ".join("?" if state is None else str(state) for state in leaves[parts[0]].values())
    return as_label(text)


def plot_cardinality(learner, hidden: Hashable | None = None, *, ax=None):
    """Draw the score of a hidden variable against its number of states.

    Parameters
    ----------
    learner : AgglomerativeCardinality
        Fitted.
    hidden : name, optional
        The hidden variable; needed if there are several.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Two curves: the score of the agglomeration, and that of EM where it was asked. Each has its highest point
        marked. They are on scales of their own, as one scores a completed table and the other the table itself.

    Examples
    --------
    >>> from pgmpy.base import DAG
    >>> from pgmpy_latent import AgglomerativeCardinality
    >>> frame = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [0, 1] * 20})
    >>> learner = AgglomerativeCardinality(DAG([("h", name) for name in "abc"], latents={"h"})).fit(frame)
    >>> plot_cardinality(learner).get_xlabel()
    'number of states'
    """
    name = learner.merges(hidden).attrs["hidden"]
    ax = new_axes(ax, 6.0, 4.0)
    chosen = learner.cardinality_[name]
    trace = learner.trace_[learner.trace_["hidden"] == name].sort_values("n_states")
    trace = trace[trace["n_states"] <= max(4 * chosen, 12)]
    lines = [_curve(ax, trace, "merges alone", BLUE)]
    ax.set_xlabel("number of states")
    ax.set_ylabel("score of the completed table", color=BLUE)
    scores = learner.em_scores_[learner.em_scores_["hidden"] == name]
    if len(scores):
        other = ax.twinx()
        lines.append(_curve(other, scores, "EM", VERMILION))
        other.set_ylabel("score of EM", color=VERMILION)
        other.spines["top"].set_visible(False)
    ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines["top"].set_visible(False)
    ax.set_title(f"{as_label(name)}: {chosen} state{'s' * (chosen != 1)}", loc="left", fontsize=11)
    return ax


def _curve(ax, points: pd.DataFrame, label: str, color: str):
    (line,) = ax.plot(points["n_states"], points["score"], marker=".", color=color, label=label)
    top = points.loc[points["score"].idxmax()]
    ax.plot(top["n_states"], top["score"], marker="D", color=color)
    return line
