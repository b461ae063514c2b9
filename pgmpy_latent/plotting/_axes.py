"""What all pictures share: axes to draw on, and labels of bounded length."""

from __future__ import annotations

#: Most characters of a label.
LABEL = 48


def new_axes(ax, width: float, height: float):
    """Return axes to draw on."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib; install it with pip install "pgmpy-latent[plot]"') from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def shortened(text: str) -> str:
    """Return a label that is not longer than allowed."""
    return text if len(text) <= LABEL else text[: LABEL - 1] + "…"
