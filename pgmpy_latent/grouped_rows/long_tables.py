"""Long tables, a row per unit and occasion, laid out with a row per unit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgmpy_latent.em.restrictions import ordered_columns
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import rows_as_given
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.tables.columns import plain
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.missing_codes import settled_columns
from pgmpy_latent.tables.suitable import warn_of_codes


@dataclass(frozen=True, eq=False)
class LongTable:
    """The items of a long table, with the unit of every row.

    Attributes
    ----------
    units : Index
        The units (people, schools), in the order in which they first occur.
    unit_of_row : int array, shape (n_rows,)
        Number of the unit of every row.
    codes : int array, shape (n_rows, n_items)
        States of the items, -1 where a cell is missing.
    items : list of hashable
        Columns of the items.
    states : list of tuples
        Their states.
    ordered : set of hashable
        Items whose states are in an order that someone has stated.
    """

    units: pd.Index
    unit_of_row: np.ndarray
    codes: np.ndarray
    items: list[Hashable]
    states: list[tuple]
    ordered: set[Hashable]

    def laid_out(self, place_of_row: np.ndarray, names: Sequence[Sequence[Hashable]]) -> pd.DataFrame:
        """Return a table with a row per unit and a Categorical for every item at every place.

        Parameters
        ----------
        place_of_row : int array, shape (n_rows,)
            At which place of its unit a row stands, from 0.
        names : sequence of sequences
            Names of the columns: for every item, one per place.
        """
        columns = {}
        for item, named in enumerate(names):
            wide = np.full((len(self.units), len(named)), -1)
            wide[self.unit_of_row, place_of_row] = self.codes[:, item]
            kind = pd.CategoricalDtype(list(self.states[item]), ordered=self.items[item] in self.ordered)
            for place, name in enumerate(named):
                columns[name] = pd.Categorical.from_codes(wide[:, place], dtype=kind)
        return pd.DataFrame(columns, index=self.units)

    def states_of_empty(self, wide: pd.DataFrame, names: Sequence[Sequence[Hashable]]) -> dict | None:
        """Return the states of columns of the table of ``laid_out`` that are empty, as their cells do not tell them.

        Nobody has an answer at such a place; tables that are equal at all places are learned from the others.
        """
        named = zip(self.states, names, strict=True)
        return {name: list(own) for own, listed in named for name in listed if wide[name].isna().all()} or None

    def ordered_items(self, ordinal: Sequence[Hashable] | bool | None) -> list[Hashable]:
        """Return the items whose order counts: those that are named, or all with a stated order; raise for others."""
        if ordinal is True:
            return [item for item in self.items if item in self.ordered]
        if isinstance(ordinal, str):
            check_list("ordinal", ordinal)
        unknown = [item for item in ordinal or () if item not in self.items]
        if unknown:
            raise DataError(f"ordinal names {unknown}, which items does not; leave them out")
        return list(ordinal or ())

    def drawn(self, table: pd.DataFrame, **given) -> dict[str, np.ndarray | None]:
        """Return weights, strata and clusters, given for every row or in a column, as one value per unit."""
        return {argument: self.of_units(table, argument, value) for argument, value in given.items()}

    def of_units(self, table: pd.DataFrame, argument: str, given) -> np.ndarray | None:
        """Return what is given for every row, or in a column, as one value per unit; raise if a unit has several."""
        if given is None:
            return None
        if isinstance(given, Hashable) and given in table.columns:
            values = table[given].to_numpy()
        else:
            values = np.asarray(given)
            if values.shape != (len(table),):
                what = kind_in_words(given) if values.ndim == 0 else f"of shape {values.shape}"
                raise DataError(
                    f"{argument} is {what}; give the name of a column, or a value for each of {len(table)} rows"
                )
        lost = np.flatnonzero(pd.isna(values))
        if len(lost):
            raise DataError(f"{argument} has no value in row {lost[0]}; leave such rows out, or give them one")
        one = np.empty(len(self.units), values.dtype)
        one[self.unit_of_row] = values
        differs = np.flatnonzero(one[self.unit_of_row] != values)
        if len(differs):
            unit = plain(self.units[self.unit_of_row[differs[0]]])
            raise DataError(f"{argument} differs between the rows of {unit!r}; give all rows of a unit the same")
        return one


def read_long(
    table: pd.DataFrame,
    unit: Hashable,
    items: Sequence[Hashable],
    *,
    state_names: Mapping[Hashable, Sequence[Hashable]] | None = None,
    missing=None,
    call: str = "",
) -> LongTable:
    """Read the items of a long table.

    Parameters
    ----------
    table : DataFrame
        A row per unit and occasion.
    unit : hashable
        Column with the unit of every row.
    items : sequence of hashable
        Columns of the items.
    state_names : dict, optional
        States of items; by default the categories of the table.
    missing
        Values that count as missing cells; see :func:`pgmpy_latent.encode`.
    call : str
        The call to show in warnings.

    Examples
    --------
    >>> long = read_long(pd.DataFrame({"id": ["p", "q", "p"], "x": ["b", "a", "a"]}), "id", ["x"])
    >>> long.units.tolist(), long.codes.tolist(), long.states
    (['p', 'q'], [[1], [0], [0]], [('a', 'b')])
    """
    check_list("items", items)
    check_columns(table, [unit, *items])
    lost = np.flatnonzero(table[unit].isna().to_numpy())
    if len(lost):
        raise DataError(f"column {unit!r} has no value in row {lost[0]}; leave such rows out, or give them one")
    data: CategoricalData = encode(table, columns=list(items), state_names=state_names, missing=missing)
    named = state_names or {}
    warn_of_codes(data, {*settled_columns(missing, data.missing, data.columns), *named}, call=call)
    numbers, units = pd.factorize(table[unit])
    ordered = {*named, *ordered_columns(table)} & set(items)
    codes = data.codes[rows_as_given(data)].astype(np.int64)
    index = pd.Index(units, name=unit)
    return LongTable(index, numbers, codes, list(items), [tuple(states) for states in data.state_names], ordered)


def category_index(items: Sequence[Hashable], states: Sequence[tuple]) -> pd.MultiIndex:
    """Return pairs (item, category); truth values are texts where numbers are there too: pandas takes True for 1.

    Examples
    --------
    >>> category_index(["x", "y"], [(0, 1), (False, True)]).tolist()
    [('x', 0), ('x', 1), ('y', 'False'), ('y', 'True')]
    """
    labels = [(item, state) for item, listed in zip(items, states, strict=True) for state in listed]
    kinds = {type(state) for _, state in labels}
    if bool in kinds and not kinds.isdisjoint({int, float}):
        labels = [(item, str(state) if isinstance(state, bool) else state) for item, state in labels]
    return pd.MultiIndex.from_tuples(labels, names=["item", "category"])


def check_list(argument: str, names) -> None:
    """Raise if names of columns are none, or a single one that is not in a list.

    Examples
    --------
    >>> check_list("items", "health")
    Traceback (most recent call last):
    pgmpy_latent.exceptions.DataError: items is 'health'; give a list of columns, as ['health']
    """
    if isinstance(names, str):
        raise DataError(f"{argument} is {names!r}; give a list of columns, as [{names!r}]")
    if not len(names):
        raise DataError(f"{argument} is {names!r}; give a list of columns")


def check_columns(table, names: Sequence[Hashable]) -> None:
    """Raise if something is no frame, or lacks columns."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table is {kind_in_words(table)}; give a DataFrame with a row per observation")
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise DataError(f"the table has no column {absent[0]!r}; its columns are {list(table.columns)[:20]}")
