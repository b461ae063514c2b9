"""What tests ask of pictures."""

import numpy as np


def words(ax):
    return [text.get_text() for text in ax.texts]


def boxes(ax):
    """Return the places of all texts, in pixels, once the picture is drawn."""
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts]


def assert_readable(ax):
    """Assert that no two texts touch, none leaves the figure, and none is smaller than can be read."""
    found = boxes(ax)
    bounds = np.array([box.extents for box in found])
    apart = (bounds[:, None, 0] >= bounds[None, :, 2]) | (bounds[:, None, 1] >= bounds[None, :, 3])
    touching = np.argwhere(~(apart | apart.T | np.eye(len(found), dtype=bool)))
    assert [(words(ax)[i], words(ax)[j]) for i, j in touching] == []
    assert bounds[:, :2].min() >= 0
    assert (bounds[:, 2:] <= ax.figure.bbox.max).all()
    assert min(text.get_size() for text in ax.texts) >= 7


def shapes(ax, kind):
    """Return the patches of a picture that are of a kind, in the order in which they were drawn."""
    return [patch for patch in ax.patches if isinstance(patch, kind)]
