"""A picture of a latent classification model."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.plotting.axes import BLUE, VERMILION, as_label, new_axes


def plot_classifier(classifier, component: int | None = None, *, ax=None):
    """Draw a latent classification model: the class above the latents, and these above the attributes.

    Edges between latents and attributes are as wide as the loading is large, in standard deviations of the attribute;
    blue where it is positive, orange red and dashed where it is negative. Loadings that are zero have no edge.
    Attributes stand below the latents that they go with most strongly, so that few edges cross.

    Parameters
    ----------
    classifier : LatentClassificationModel
        Fitted.
    component : int, optional
        Whose loadings to draw; by default the mean over components, by their shares.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pgmpy_latent import LatentClassificationModel
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = LatentClassificationModel(2, 1, learn_edges=True, random_state=0).fit(X, y)
    >>> plot_classifier(classifier).get_title(loc="left")
    '2 latents, 1 component'
    """
    loadings, edges = _standard_loadings(classifier, component)
    graph = classifier.structure(component)
    label = next(node for node in graph if not graph.get_parents(node) and graph.get_children(node))
    latents = classifier.get_feature_names_out()
    attributes = classifier.to_pgmpy(classifier.classes_[0]).nodes
    attributes = [name for name in attributes if name not in set(latents)]
    width = max(6.0, 0.55 * len(attributes), 0.8 * len(latents))
    ax = new_axes(ax, width, 4.5)
    below, between = _below(loadings * edges), _spread_out(len(latents))
    for j, x in enumerate(between):
        ax.plot([0.5, x], [2, 1], color="0.7", lw=1, zorder=1)
        for i in np.flatnonzero(edges[:, j]):
            size = loadings[i, j]
            style = {"color": BLUE} if size > 0 else {"color": VERMILION, "ls": (0, (3, 1))}
            ax.plot([x, below[i]], [1, 0], lw=0.3 + 4 * abs(size), alpha=0.7, zorder=1, **style)
    _boxes(ax, [0.5], 2, [label])
    _boxes(ax, between, 1, latents)
    for x, name in zip(below, attributes, strict=True):
        ax.annotate(
            as_label(name),
            (x, 0),
            xytext=(0, -6),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="top",
        )
    ax.scatter(below, np.zeros(len(below)), color="0.3", s=14, zorder=3)
    ax.set_ylim(-0.05, 2.25)
    ax.set_xlim(-0.04, 1.04)
    ax.set_axis_off()
    sizes = (classifier.n_latents_, "latent"), (classifier.n_components_, "component")
    ax.set_title(", ".join(f"{number} {word}{'s' * (number != 1)}" for number, word in sizes), loc="left", fontsize=11)
    _explain(ax)
    return ax


def _explain(ax) -> None:
    """Say above the picture what the colours of edges mean."""
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], color=BLUE, lw=3), Line2D([], [], color=VERMILION, lw=3, ls=(0, (3, 1)))]
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
    ax.legend(marks, ["positive loading", "negative"], ncols=2, frameon=False, fontsize=8, **place)


def _standard_loadings(classifier, component: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return loadings in standard deviations of the attributes, and which of them exist."""
    prior = classifier.class_prior_
    shares = prior @ classifier.component_weights_
    if component is not None:
        shares = np.eye(classifier.n_components_)[component]
    loadings = np.einsum("k,kiq->iq", shares, classifier.loadings_)
    explained = np.einsum("k,kiq->i", shares, classifier.loadings_**2) + shares @ classifier.noise_
    return loadings / np.sqrt(explained)[:, None], classifier.edges_[shares > 0].any(axis=0)


def _below(loadings: np.ndarray) -> np.ndarray:
    """Return the places of attributes, by the mean place of the latents, weighted by their squared loadings.

    Examples
    --------
    >>> _below(np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.1]])).round(2)
    array([0.83, 0.5 , 0.17])
    """
    weights = loadings**2
    totals = weights.sum(axis=1)
    means = weights @ _spread_out(loadings.shape[1]) / np.where(totals > 0, totals, 1.0)
    places = np.empty(len(loadings))
    places[np.argsort(np.where(totals > 0, means, 1.0), kind="stable")] = _spread_out(len(loadings))
    return places


def _spread_out(number: int) -> np.ndarray:
    return (np.arange(number) + 0.5) / number


def _boxes(ax, places, height: float, names) -> None:
    for x, name in zip(places, names, strict=True):
        box = {"boxstyle": "round,pad=0.3", "fc": "white", "ec": "0.4"}
        ax.text(x, height, str(name), ha="center", va="center", bbox=box, zorder=4)
