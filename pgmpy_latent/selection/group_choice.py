"""What differs between groups, and why: a few sentences about a ladder of models."""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd

from pgmpy_latent.runtime.settings import word_list
from pgmpy_latent.selection.class_choice import SIGNIFICANT, caveats
from pgmpy_latent.tables.encode import CategoricalData

#: Groups with fewer rows than this for each of their class sizes and probabilities are called small.
ROWS_PER_PARAMETER = 2.0
#: How many items a sentence names.
NAMED = 5

#: The rungs in words: as the end of "BIC is best where", and as what a test asks for.
WORDS = {
    "nothing differs": "nothing differs between the groups",
    "sizes differ": "the sizes of the classes differ between the groups",
    "some items differ": "the sizes of the classes and some items differ between the groups",
    "all differ": "the sizes of the classes and all items differ between the groups",
}
NOUNS = {
    "nothing differs": "nothing that differs",
    "sizes differ": "different sizes alone",
    "some items differ": "different sizes and some different items",
    "all differ": "all that differs",
}


def recommended_rung(table: pd.DataFrame, items: pd.DataFrame) -> tuple[str, str]:
    """Return the rung of the ladder with the best BIC, and the reason, with all that speaks against it.

    Parameters
    ----------
    table : DataFrame
        A row per rung, as :func:`~pgmpy_latent.compare_groups` makes it.
    items : DataFrame
        A row per item.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"bic": [-120.0, -112.5], "lr_p": [float("nan"), 0.001], "lr_df": [0, 2], "n_best": 4, "n_starts": 4},
    ...     index=["nothing differs", "sizes differ"])
    >>> items = pd.DataFrame({"item": ["x"], "adjusted_p": [0.01], "differs": [True]})
    >>> print(recommended_rung(table, items)[1])
    BIC is best where the sizes of the classes differ between the groups, by 7.5 over nothing that differs. But taken \
one by one, 'x' differs between the groups (adjusted p = 0.01).
    """
    best = str(table["bic"].idxmax())
    if len(table) == 1:
        return best, f"Only the model in which {WORDS[best]} was fitted, so nothing can be said about what differs."
    others = table["bic"].drop(best)
    reason = f"BIC is best where {WORDS[best]}"
    if len(others):
        second = str(others.idxmax())
        reason += f", by {table.loc[best, 'bic'] - others[second]:.1f} over {NOUNS[second]}"
    doubts = [doubt for doubt in (_by_ratio(table, best), _by_item(items, best), _by_starts(table, best)) if doubt]
    if not doubts:
        return best, f"{reason}."
    *first, last = doubts
    return best, f"{reason}. But {'; '.join([*first, f'and {last}' if first else last])}."


def notes(data: CategoricalData, group: Hashable, left_out: dict[str, float]) -> list[str]:
    """Return what a reader should know about rows that were left out, small groups and weights.

    Examples
    --------
    >>> data = CategoricalData(["g", "x"], [["a", "b"], [0, 1]], [[0, 0], [1, 1]], [90.0, 3.0])
    >>> for words in notes(data, "g", {"the group": 2, "any answer": 0}):
    ...     print(words)
    2 rows without the group are left out.
    Group 'b' (3 rows) is small, so its own probabilities are rough.
    """
    said = [f"{_rows(number)} without {what} {'are' if number != 1 else 'is'} left out."
            for what, number in left_out.items() if number]  # fmt: skip
    at = data.columns.index(group)
    sizes = pd.Series(data.weights).groupby(data.codes[:, at]).sum()
    n_cells = sum(int(card) - 1 for place, card in enumerate(data.cards) if place != at) + 1
    small = sizes[sizes < max(ROWS_PER_PARAMETER * n_cells, 10)]
    named = [f"{data.state_names[at][int(code)]!r} ({_rows(size)})" for code, size in small.items()]
    if len(named) == 1:
        said.append(f"Group {named[0]} is small, so its own probabilities are rough.")
    elif named:
        few = named if len(named) <= NAMED else [*named[:NAMED], f"{len(named) - NAMED} more"]
        said.append(f"Groups {word_list(few, 'and')} are small, so their own probabilities are rough.")
    return [*said, *caveats(data, 0)]


def _rows(number: float) -> str:
    return f"{one_decimal(number)} row{'s' * (number != 1)}"


def one_decimal(number: float) -> str:
    """Return a number of rows, which with sampling weights need not be whole, in words.

    Examples
    --------
    >>> one_decimal(1234.0), one_decimal(8.85128), one_decimal(9.96)
    ('1,234', '8.9', '10')
    """
    return f"{number:,.1f}".removesuffix(".0")


def _by_ratio(table: pd.DataFrame, best: str) -> str:
    """Return what the likelihood-ratio tests say instead, going up until a rung no longer helps."""
    names = list(table.index)
    at = names.index(best)
    for name in names[1 : at + 1]:
        if table.loc[name, "lr_df"] and table.loc[name, "lr_p"] > SIGNIFICANT:
            return f"the likelihood-ratio test sees no need for {NOUNS[name]} (p = {table.loc[name, 'lr_p']:.3f})"
    if at + 1 < len(names) and table.loc[names[at + 1], "lr_p"] <= SIGNIFICANT:
        above = names[at + 1]
        return f"the likelihood-ratio test asks for {NOUNS[above]} (p = {table.loc[above, 'lr_p']:.2g})"
    return ""


def _by_item(items: pd.DataFrame, best: str) -> str:
    """Return which items differ by themselves although the recommended model holds all of them equal."""
    found = items[items["differs"]]
    if best in ("some items differ", "all differ") or found.empty:
        return ""
    named = word_list([repr(name) for name in found["item"][:NAMED]], "and")
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    one = len(found) == 1
    least = found["adjusted_p"].min()
    return f"taken one by one, {named}{more} differ{'s' * one} between the groups (adjusted p = {least:.2g})"


def _by_starts(table: pd.DataFrame, best: str) -> str:
    row = table.loc[best]
    if row["n_starts"] > 1 and row["n_best"] <= 1:
        reached = "only one" if row["n_best"] else "none"
        return f"{reached} of {row['n_starts']} random starts reached its best value, so raise n_starts"
    return ""
