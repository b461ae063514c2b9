"""What all pictures share: axes to draw on, and labels of bounded length."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pgmpy_latent.runtime.settings import kind_in_words

#: Maximum length of a label in characters.
LABEL = 48
#: Factor by which rendered text may be wider than its font metrics, because of hinting.
HINTING = 1.05
#: Perceived brightness of red, green and blue.
LUMINANCE = (0.299, 0.587, 0.114)
#: Colours for all kinds of colour vision (Okabe and Ito); the first is for hidden variables.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, BLACK = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#000000"


def pyplot():
    """Import and return matplotlib's pyplot; raise with the remedy if it is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib; install it with pip install "pgmpy-latent[plot]"') from error
    return plt


def new_axes(ax, width: float, height: float):
    """Return axes to draw on."""
    plt = pyplot()
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def check_is_frame(table, call: str) -> None:
    """Raise if a function was not given the DataFrame that a call returns.

    Examples
    --------
    >>> check_is_frame(3, "residuals(model, X)")
    Traceback (most recent call last):
    TypeError: table is an int; give the DataFrame that residuals(model, X) returns
    """
    if not hasattr(table, "columns"):
        raise TypeError(f"table is {kind_in_words(table)}; give the DataFrame that {call} returns")


def as_label(name: Hashable, longest: int = LABEL) -> str:
    r"""Return a name as a label: not longer than allowed, on one line, and without meaning to matplotlib.

    Examples
    --------
    >>> as_label("a name of many words", 8), as_label("5\n$"), as_label(("x", 1))
    ('a name …', '5 \\$', "('x', 1)")
    """
    text = " ".join(str(name).split()) or repr(name)
    text = "".join(character if character.isprintable() else "?" for character in text)
    return (text if len(text) <= longest else text[: longest - 1] + "…").replace("$", r"\$")


def text_width(text: str, size: float) -> float:
    """Return the width of a label in inches.

    Examples
    --------
    >>> 0.2 < text_width("wide", 10.0) < 0.6
    True
    """
    pyplot()
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text.replace(r"\$", "$"), FontProperties(size=size), False)
    return HINTING * width / 72


def axes_size(ax) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def ink_on(color) -> str:
    """Return the colour in which text can be read on another one, given as red, green and blue from 0 to 1.

    Examples
    --------
    >>> ink_on((0.99, 0.91, 0.14)), ink_on((0.27, 0.0, 0.33))
    ('black', 'white')
    """
    return "black" if np.dot(color[:3], LUMINANCE) > 0.5 else "white"


def lighten(ax) -> None:
    """Hide the frame above and on the right, and draw a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.92", lw=0.8)
    ax.set_axisbelow(True)


def legend_beside(ax, *args, **options) -> None:
    """Draw a legend to the right of the data, where it covers none; inside, if other axes are beside these."""
    if len(ax.figure.axes) == 1:
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    ax.legend(*args, frameon=False, **options)
