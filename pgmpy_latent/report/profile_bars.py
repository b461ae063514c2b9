"""How a column is distributed in each state of a hidden variable, as stacked bars."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmpy_latent.report.html import Html, count, element, label, legend, stacked_bar

#: Maximum number of categories of a column that are drawn.
MOST_CATEGORIES = 12
#: Where the shares of a column are from: counted among its known cells, or what the model expects.
IN_TABLE, BY_MODEL = "In the table", "By the model"


def profile_bars(
    column: Hashable,
    states: Sequence[Hashable],
    lines: Sequence[tuple[str, np.ndarray]],
    overall: np.ndarray,
    note: str = "",
    whole: str = IN_TABLE,
) -> Html:
    """Return a figure with a stacked bar per line, the last of them of the column as such.

    Parameters
    ----------
    column : hashable
        The column.
    states : sequence
        Its categories.
    lines : sequence of (words, shares)
        The distributions.
    overall : array
        The shares without regard to the hidden variable.
    note : str
        Written behind the name of the column.
    whole : str
        Where ``overall`` is from: ``IN_TABLE`` or ``BY_MODEL``.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> "In the table" in profile_bars("x", ["no", "yes"], [("Class 0", half)], half)
    True
    """
    names = [label(state) for state in states]
    categories = list(range(len(names)))
    if len(names) > MOST_CATEGORIES:  # the most frequent by themselves, the rest together
        categories = sorted(np.argsort(-overall, kind="stable")[: MOST_CATEGORIES - 1].tolist())
        names = [*(names[k] for k in categories), f"{count(len(names) - len(categories))} others"]
    title = label(column)
    bars = []
    for words, shares in [*lines, (whole, overall)]:
        shown = shares[categories]
        if len(categories) < len(shares):
            shown = np.append(shown, max(0.0, 1.0 - shown.sum()))
        line = element("span", words, class_="who")
        bars.append(element("div", line, stacked_bar(shown, names, f"{title}, {words}: "), class_="line"))
    small = [element("small", f" {note}")] if note else []
    head = element("figcaption", element("span", element("b", title), *small), legend(names))
    return element("figure", head, *bars, class_="profile")
