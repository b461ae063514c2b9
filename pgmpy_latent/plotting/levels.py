"""A picture of clusters of groups: how large the classes are in each of them."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.plotting.axes import as_label, ink_on, legend_beside, new_axes, pyplot
from pgmpy_latent.runtime.settings import kind_in_words

#: Inches per cluster, the space between bars as a share of all bars, and the least share that is written into a bar.
WIDTH, SPACE, WRITTEN = 1.7, 0.03, 0.05


def plot_clusters(found, *, ax=None):
    """Draw the sizes of the classes in every cluster of groups, as stacked bars as wide as the cluster is large.

    Parameters
    ----------
    found : MultilevelClasses
        What :func:`pgmpy_latent.multilevel_classes` returns.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import multilevel_classes
    >>> table = pd.DataFrame({"school": list("aabbcc"), "x": [0, 0, 1, 1, 0, 1], "y": [0, 1, 1, 1, 0, 1]})
    >>> ax = plot_clusters(multilevel_classes(table, "school", n_states=2, n_clusters=1, random_state=0))
    >>> ax.get_title(loc="left")
    '2 classes in 1 cluster of 3 groups'
    """
    if not hasattr(found, "class_shares_") or not hasattr(found, "cluster_shares_"):
        raise TypeError(f"found is {kind_in_words(found)}; give what multilevel_classes returns")
    shares, sizes = found.class_shares_, found.cluster_shares_.to_numpy()
    n_clusters, n_classes = shares.shape
    ax = new_axes(ax, WIDTH * n_clusters + 2.4, 4.2)
    begins = np.cumsum(sizes) - sizes + SPACE * np.arange(n_clusters)
    colormap = pyplot().get_cmap("viridis")
    bottom = np.zeros(n_clusters)
    for at, color in enumerate(map(colormap, np.linspace(0.15, 0.9, n_classes))):
        heights, label = shares.iloc[:, at].to_numpy(), f"class {as_label(shares.columns[at])}"
        ax.bar(begins, heights, sizes, bottom, align="edge", color=color, edgecolor="white", linewidth=0.6, label=label)
        for cluster in np.flatnonzero((heights >= WRITTEN) & (sizes >= WRITTEN)):
            middle = (begins[cluster] + sizes[cluster] / 2, bottom[cluster] + heights[cluster] / 2)
            ax.text(*middle, f"{heights[cluster]:.0%}", ha="center", va="center", size=8, color=ink_on(color))
        bottom += heights
    labels = [f"cluster {as_label(name)}\n{size:.0%}" for name, size in zip(shares.index, sizes, strict=True)]
    ax.set_xticks(begins + sizes / 2, labels)
    ax.set_xlabel("clusters of groups, and their shares")
    ax.set_ylabel("share of rows in each class")
    ax.set_ylim(0, 1)
    ax.spines[["top", "right"]].set_visible(False)
    legend_beside(ax)
    words = f"{n_classes} class{'es' * (n_classes != 1)} in {n_clusters} cluster{'s' * (n_clusters != 1)}"
    ax.set_title(f"{words} of {len(found.groups()):,} groups", loc="left", fontsize=11)
    return ax
