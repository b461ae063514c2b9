"""What if: the model itself inside the page, so that answers can be clicked and posteriors move in the browser."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np

from pgmpy_latent.diagnostics.anomalies import unusual_rows
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.elimination import cliques
from pgmpy_latent.inference.queries import index_of, model_and_rows, rows_as_given
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.report.facts import Facts, RowsToShow
from pgmpy_latent.report.html import Html, count, element, embedded_json, label, paragraph, section
from pgmpy_latent.report.mixed_facts import MixedFacts
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.tables.encode import CategoricalData

#: Maximum number of entries of a table that the browser computes with, and of all tables of the model.
MOST_ENTRIES, MOST_PROBABILITIES = 100_000, 400_000


def what_if_section(facts: Facts) -> Html:
    """Return the section in which answers can be chosen."""
    if facts.is_mixture:
        why = "posteriors of a mixture follow from all of its trees together, and this page computes with one"
        return section("what-if", "What if?", paragraph(f"Left out: {why}; ask posterior()."))
    _, widest = elimination_order(facts)
    n_entries = sum(table.size for table in facts.model.tables)
    if widest > MOST_ENTRIES or n_entries > MOST_PROBABILITIES:
        why = (
            f"exact posteriors of this model need tables with {count(widest)} entries"
            if widest > MOST_ENTRIES
            else f"this model has {count(n_entries)} probabilities"
        )
        return section("what-if", "What if?", paragraph(f"Left out: {why}, too many for a page; ask posterior()."))
    intro = (
        "Choose answers: the shares of all hidden variables and of all other columns follow, exactly, in this page. "
        "The name of a variable opens its table. All shares here are by the model: what it expects of a new row"
        + (", and not what is counted in the table." if facts.has_table else ".")
    )
    plain = element("noscript", paragraph("This part of the page needs a browser that runs scripts."))
    data = element("script", embedded_json(what_if_data(facts)), type="application/json", id="what-if-data")
    return section(
        "what-if", "What if?", paragraph(intro), *_about_numbers(facts), plain, element("div", id="asking"), data
    )


def _about_numbers(facts: Facts) -> list[Html]:
    if isinstance(facts, MixedFacts):
        rows = "" if facts.rows is None else ", also where rows are said to be unusual"
        return [paragraph(f"Numbers count here by the range that they are in{rows}.", class_="quiet")]
    numeric = [label(facts.model.names[node]) for node in emissions_of(facts.model)]
    if not numeric:
        return []
    return [paragraph(f"Columns of numbers cannot be chosen here: {', '.join(numeric)}.", class_="quiet")]


def elimination_order(facts: Facts) -> tuple[list[int], int]:
    """Return the order in which nodes are summed out, and the size of the largest table on the way.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> from pgmpy_latent.report.facts import no_rows
    >>> tree = hlc_model(7, random_state=0)
    >>> order, size = elimination_order(Facts(tree, no_rows(tree)))
    >>> order == tree.order[::-1].tolist(), size
    (True, 9)
    """
    cards = [1 if node in emissions_of(facts.model) else int(card) for node, card in enumerate(facts.model.cards)]
    families = [(node, *above) for node, above in enumerate(facts.model.parents)]
    if facts.is_tree:
        return facts.tree.order[::-1].tolist(), max(prod(cards[node] for node in family) for family in families)
    steps = cliques(dict(enumerate(cards)), families)
    return [gone for _, (gone,) in steps], max(prod(cards[node] for node in clique) for clique, _ in steps)


def what_if_data(facts: Facts) -> dict:
    """Return the model in the format of ``messages.js``, with what ``explorer.js`` says about it.

    Returns
    -------
    dict
        ``nodes``: name, whether hidden, states, parents, and the whole table with all digits, flat; ``low`` and
        ``high``, the confidence limits of its entries, where there are some. A numeric column has no states: it is
        never answered, and so changes nothing. ``order``: see :func:`elimination_order`. ``rows``: see
        :func:`rows_data`.
    """
    model, numeric, limits = facts.model, emissions_of(facts.model), _limits(facts)
    nodes = []
    for node, table in enumerate(model.tables):
        entry = {
            "name": label(model.names[node]),
            "hidden": bool(model.latent[node]),
            "states": [] if node in numeric else [label(state) for state in model.state_names[node]],
            "parents": list(map(int, model.parents[node])),
            "table": [1] * len(table) if node in numeric else table.ravel().tolist(),
        }
        if limits is not None:
            entry["low"], entry["high"] = limits[node]
        nodes.append(entry)
    rows = None if facts.rows is None else rows_data(facts)
    return {"nodes": nodes, "order": elimination_order(facts)[0], "rows": rows}


def _limits(facts: Facts) -> list[tuple[list, list]] | None:
    """Return the confidence limits of the tables' entries; None for those that have none."""
    if facts.standard_errors is None:
        return None
    errors = facts.standard_errors[0]
    ends = np.cumsum([0, *(table.size for table in facts.model.tables)])
    low, high = ([None if np.isnan(v) else round(v, 4) for v in errors[side].tolist()] for side in ("lower", "upper"))
    return [(low[start:end], high[start:end]) for start, end in pairwise(ends)]


def rows_data(facts: Facts) -> dict:
    """Return rows that the reader can choose, the least likely first.

    Returns
    -------
    dict
        ``columns``: nodes; ``list``: for every row its ``label``, the ``codes`` of its cells (-1 if missing), ``log``
        (None for a row that the model rules out) and ``share``, as :func:`pgmpy_latent.unusual_rows` says them.
    """
    if facts.rows is None:
        raise ValueError("no rows were asked for")
    data, labels, n = facts.rows
    found = unusual_rows(facts.model, data, n, show_progress=False)
    codes = data.codes[rows_as_given(data)[found.index]].tolist()
    listed = [
        {
            "label": label(labels[at]),
            "codes": cells,
            "log": None if np.isneginf(row.log_likelihood) else row.log_likelihood,
            "share": row.share,
        }
        for at, cells, row in zip(found.index, codes, found.itertuples(), strict=True)
    ]
    return {"columns": [facts.model.index(name) for name in data.columns], "list": listed}


def rows_to_show(rows, model, X, data: CategoricalData | None) -> RowsToShow:
    """Return the table that holds the rows of a page, the names of its rows, and how many rows are wanted.

    Parameters
    ----------
    rows : DataFrame, array, CategoricalData or int
        The rows, or how many of the most unusual ones of the table.
    model : LatentTree, LatentNetwork or fitted learner
        Which reads the rows, with their numbers.
    X, data : the table as it was passed, and encoded; None if there is none

    Examples
    --------
    >>> rows_to_show("all", None, None, None)
    Traceback (most recent call last):
    TypeError: rows is a str; give a table of rows, or how many of the most unusual ones the page shall hold
    """
    if isinstance(rows, (bool, str)):
        what = kind_in_words(rows)
        raise TypeError(
            f"rows is {what}; give a table of rows, or how many of the most unusual ones the page shall hold"
        )
    if not isinstance(rows, (int, np.integer)):
        _, found = model_and_rows(model, rows, takes_numbers=True)
        return found, index_of(rows, found).tolist(), found.n_rows
    if rows < 1:
        raise ValueError(f"rows is {rows}; give at least 1, or leave it out")
    if data is None:
        raise DataError("rows is a number, and there is no table to take them from; give X, or the rows themselves")
    if data.row_index is None:  # of a table in pieces only the distinct rows are known
        every = np.arange(data.n_distinct)
        alone = np.ones(len(every))
        data = CategoricalData(data.columns, data.state_names, data.codes, alone, every, values=data.values)
    return data, index_of(X, data).tolist(), int(rows)
