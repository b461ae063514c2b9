"""Which number of classes to choose, and why: one or two sentences about a table of models."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from pgmpy_latent.tables.encode import CategoricalData

#: A test speaks against a model if its p-value is at most this.
SIGNIFICANT = 0.05
#: A class that holds less than this share of the rows is called small.
SMALL_CLASS = 0.05
#: Bootstrap tables with which a p-value of 0.05 can hardly be told from smaller ones.
FEW_DRAWS = 39


def recommended(table: pd.DataFrame) -> tuple[int, str]:
    """Return the number of classes with the best BIC, and the reason, with all that speaks against it.

    Parameters
    ----------
    table : DataFrame
        As :func:`~pgmpy_latent.compare_classes` makes it, a row per number of classes.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"bic": [-120.0, -112.5], "n_parameters": [4, 9], "effective_dimension": [4, 9], "identified": True,
    ...      "smallest_share": [1.0, 0.02], "n_best": 4, "n_starts": 4, "g2_p": float("nan"), "blrt_p": float("nan")},
    ...     index=[1, 2])
    >>> recommended(table)[1]
    'BIC is best with 2 classes, by 7.5 over 1 class. But its smallest class holds only 2.0 % of the rows; and it is \
the largest number compared, so that more might be better still.'
    """
    size = int(table["bic"].idxmax())
    others = table["bic"].drop(size)
    if others.empty:
        reason = f"No other number than {_classes(size)} was compared."
    else:
        second = int(others.idxmax())
        reason = f"BIC is best with {_classes(size)}, by {table.loc[size, 'bic'] - others[second]:.1f} over "
        reason += f"{_classes(second)}."
    doubts = [doubt for doubt in _doubts(table, size) if doubt]
    if not doubts:
        return size, reason
    *first, last = doubts
    return size, f"{reason} But {'; '.join([*first, f'and {last}' if first else last])}."


def worth_of_edge(table: pd.DataFrame) -> list[str]:
    """Return a sentence if an edge between two columns is worth more than classes are; nothing otherwise.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"bic": [-120.0, -112.5], "edge": [("x", "y"), ("x", "z")], "edge_bic": [-110.0, -115.0]}, index=[1, 2])
    >>> print(*worth_of_edge(table))
    One edge is worth more than one class: with an edge between 'x' and 'y', 1 class has a BIC of -110.0, by 2.5 over \
2 classes without; add_direct_effects adds it.
    """
    if "edge_bic" not in table or table["edge_bic"].isna().all():
        return []
    size, best = int(table["edge_bic"].idxmax()), int(table["bic"].idxmax())
    gain = table.loc[size, "edge_bic"] - table.loc[best, "bic"]
    if gain <= 0:
        return []
    first, second = table.loc[size, "edge"]
    worth = "One edge is worth more than one class" if size < best else "An edge would raise BIC further"
    has = "has" if size == 1 else "have"
    return [
        f"{worth}: with an edge between {first!r} and {second!r}, {_classes(size)} {has} a BIC of "
        f"{table.loc[size, 'edge_bic']:.1f}, by {gain:.1f} over {_classes(best)} without; add_direct_effects adds it."
    ]


def caveats(data: CategoricalData, n_bootstrap: int) -> list[str]:
    """Return what a reader should know about weights and draws before believing any of this.

    Examples
    --------
    >>> from pgmpy_latent import encode
    >>> data = encode(pd.DataFrame({"x": ["a", "b"]}), sample_weight=[0.5, 1.0], cluster=[1, 2])
    >>> for words in caveats(data, 20):
    ...     print(words)
    With sampling weights, the 2 rows count as 1.8 in all criteria.
    Criteria and tests do not know that rows of a cluster are alike; they ask for too many classes where they are.
    With 20 bootstrap tables no p-value can be below 0.048; 100 tell more.
    """
    notes = []
    if data.weight_kind == "sampling":
        notes.append(f"With sampling weights, the {data.n_rows} rows count as {data.total_weight:.6g} in all criteria.")
    if data.design is not None and data.design.cluster is not None:
        notes.append(
            "Criteria and tests do not know that rows of a cluster are alike; they ask for too many classes where "
            "they are."
        )
    if 0 < n_bootstrap < FEW_DRAWS:
        least = 1 / (n_bootstrap + 1)
        notes.append(f"With {n_bootstrap} bootstrap tables no p-value can be below {least:.3f}; 100 tell more.")
    return notes


def _classes(size: int) -> str:
    return "1 class" if size == 1 else f"{size} classes"


def _doubts(table: pd.DataFrame, size: int) -> list[str]:
    """Return what speaks against a number of classes, as parts of a sentence; empty where nothing does."""
    row = table.loc[size]
    doubts = [_by_ratio(table, size)]
    if row["g2_p"] <= SIGNIFICANT:
        doubts.append(f"the table deviates from it by more than chance would (G², p = {row['g2_p']:.3f})")
    if pd.notna(row["identified"]) and not row["identified"]:
        doubts.append(
            f"it is not identified: its {row['n_parameters']} parameters reach only {row['effective_dimension']} "
            "dimensions"
        )
    if row["smallest_share"] < SMALL_CLASS:
        doubts.append(f"its smallest class holds only {row['smallest_share']:.1%} of the rows".replace("%", " %"))
    if row["n_starts"] > 1 and row["n_best"] <= 1:
        reached = "only one" if row["n_best"] else "none"
        doubts.append(f"{reached} of {row['n_starts']} random starts reached its best value, so raise n_starts")
    if len(table) > 1 and size == table.index.max():
        doubts.append("it is the largest number compared, so that more might be better still")
    return doubts


def _by_ratio(table: pd.DataFrame, size: int) -> str:
    """Return what the bootstrap likelihood-ratio test says instead, going up until a class more no longer helps."""
    tested = table["blrt_p"].dropna()
    sizes = table.index.tolist()
    for smaller, larger in pairwise(sizes):
        if larger not in tested.index:
            return ""
        value = f"{larger} against {smaller}, p = {tested[larger]:.3f}"
        if smaller < size and tested[larger] > SIGNIFICANT:
            return f"the bootstrap likelihood-ratio test stops at {_classes(smaller)} ({value})"
        if smaller >= size:
            further = tested[larger] <= SIGNIFICANT
            return f"the bootstrap likelihood-ratio test asks for more ({value})" if further else ""
    return ""
