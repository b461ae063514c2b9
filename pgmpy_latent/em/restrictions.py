"""Constraints in the words of users: names of nodes whose tables are tied, fixed or of ordered categories."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number

import numpy as np
import pandas as pd

from pgmpy_latent.em.constraints import Constraints, ordinal_families
from pgmpy_latent.em.inputs import Structure, table_of_cpd
from pgmpy_latent.exceptions import DataError, StateNameError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.runtime.settings import kind_in_words


@dataclass(frozen=True, eq=False)
class Restrictions:
    """What users want to hold for the tables of a network.

    Attributes
    ----------
    tied : sequence of sequences of node names
        Nodes whose tables are equal.
    fixed : mapping of node name to array or TabularCPD
        Fixed tables; NaN in an array where an entry is free.
    ordinal : sequence of node names
        Observed nodes whose categories are ordered.
    """

    tied: Sequence[Sequence[Hashable]] = ()
    fixed: Mapping[Hashable, object] | None = None
    ordinal: Sequence[Hashable] = ()

    def __bool__(self) -> bool:
        return bool(self.tied or self.fixed or self.ordinal)

    def check_names(self, structure: Structure) -> None:
        """Raise for nodes that the network does not have, or that cannot be what they are said to be."""
        named = {"tied": [name for group in self.tied for name in group], "fixed": [*(self.fixed or ())]}
        for argument, names in {**named, "ordinal": list(self.ordinal)}.items():
            unknown = [name for name in names if name not in structure.names]
            if unknown:
                raise StateNameError(f"{argument} names {unknown}, which the model does not have; leave them out")
        hidden = [name for name in self.ordinal if name in structure.hidden]
        if hidden:
            raise StateNameError(f"ordinal names the hidden variables {hidden}; name columns of the table only")
        if len(set(named["tied"])) < len(named["tied"]):
            twice = next(name for name in named["tied"] if named["tied"].count(name) > 1)
            raise StateNameError(f"tied names {twice!r} twice; name it in one group only")

    def constraints(
        self, structure: Structure, state_names: Sequence[tuple], layout: Layout, known_order: Iterable[Hashable] = ()
    ) -> Constraints:
        """Return the constraints on the flat tables.

        Parameters
        ----------
        structure : Structure
            Nodes and edges.
        state_names : sequence of tuples
            States of every node.
        layout : Layout
            Where the tables lie.
        known_order : iterable of hashable
            Columns whose states are in an order that someone has stated.
        """
        names = structure.names
        groups = [[names.index(name) for name in group] for group in self.tied]
        for group in groups:
            self._check_group(group, structure, state_names, layout)
        fixed = None
        if self.fixed:
            fixed = np.full(layout.size, np.nan)
            for name, table in self.fixed.items():
                node = names.index(name)
                fixed[layout.slices[node]] = self._fixed_table(name, table, structure, state_names, layout).ravel()
        for name in self.ordinal:
            check_order(name, state_names[names.index(name)], known_order)
        families = ordinal_families(layout, [names.index(name) for name in self.ordinal])
        return Constraints(layout, groups, fixed, families)

    def _check_group(self, group: list[int], structure: Structure, state_names, layout: Layout) -> None:
        first = group[0]
        for node in group[1:]:
            pair = f"{structure.names[first]!r} and {structure.names[node]!r}"
            above = [[len(state_names[parent]) for parent in structure.parents[member]] for member in (first, node)]
            if above[0] != above[1]:
                raise StateNameError(
                    f"tied names {pair}, whose parents have {above[0]} and {above[1]} states; tie nodes with parents "
                    "of the same numbers of states"
                )
            if tuple(state_names[first]) != tuple(state_names[node]):
                raise StateNameError(
                    f"tied names {pair}, whose states are {list(state_names[first])} and {list(state_names[node])}; "
                    "give both the same states in the same order by state_names"
                )

    def _fixed_table(self, name, table, structure: Structure, state_names, layout: Layout) -> np.ndarray:
        """Return the fixed values of a node: a row per combination of the parents' states."""
        if hasattr(table, "variables") and hasattr(table, "state_names"):  # a table of pgmpy's
            return table_of_cpd(name, table, structure, state_names, "fixed")
        shape = tuple(layout.shapes[structure.names.index(name)].tolist())
        try:
            values = np.asarray(table, dtype=np.float64)
        except (TypeError, ValueError):
            values = None
        if values is None or (values.shape != shape and values.shape != (shape[1],) * (shape[0] == 1)):
            given = kind_in_words(table) if values is None else f"of shape {values.shape}"
            raise StateNameError(
                f"fixed of {name!r} is {given}; give a TabularCPD, or an array of shape {shape}: a row per state of "
                "the parent and a column per state, NaN where entries are free"
            )
        return values.reshape(shape)

    def untouched(self, structure: Structure) -> set[int]:
        """Return the nodes that no fixed table is about: a fixed table says which state is which."""
        touched = set()
        for name in self.fixed or ():
            node = structure.names.index(name)
            touched |= {node, *structure.parents[node]}
        return set(range(len(structure.names))) - touched

    def moving_together(self, structure: Structure) -> list[list[int]]:
        """Return the nodes in groups, each of which must have its states in one order.

        Nodes with tied tables have their states in the same order, and so have their parents.

        Examples
        --------
        >>> chain = Structure(["A", "B", "x", "y"], [(), (0,), (0,), (1,)], {"A", "B"})
        >>> Restrictions(tied=[["x", "y"]]).moving_together(chain)
        [[0, 1], [2, 3]]
        """
        group_of = list(range(len(structure.names)))
        for names in self.tied:
            first, *others = (structure.names.index(name) for name in names)
            for other in others:
                pairs = zip((first, *structure.parents[first]), (other, *structure.parents[other]), strict=True)
                for left, right in pairs:
                    old, new = sorted((group_of[left], group_of[right]), reverse=True)
                    group_of = [new if group == old else group for group in group_of]
        return [[node for node, of in enumerate(group_of) if of == group] for group in sorted(set(group_of))]

    def orders(
        self, structure: Structure, shares: Sequence[np.ndarray], sortable: Iterable[int]
    ) -> dict[int, np.ndarray]:
        """Return the order of states of every hidden node that may be sorted: by shares of the rows, largest first.

        Nodes that move together are sorted by the sum of their shares.
        """
        allowed = set(sortable) & self.untouched(structure)
        orders = {}
        for group in self.moving_together(structure):
            if allowed.issuperset(group):
                order = np.argsort(-np.sum([shares[node] for node in group], axis=0), kind="stable")
                orders.update(dict.fromkeys(group, order))
        return orders


def check_order(name: Hashable, states: tuple, known_order: Iterable[Hashable]) -> None:
    """Raise if nobody has said in which order the categories of an item are."""
    if len(states) < 3 or name in set(known_order) or all(isinstance(state, Number) for state in states):
        return
    raise DataError(
        f"ordinal names {name!r}, whose categories {list(states)} are texts in alphabetical order; make the "
        "column an ordered Categorical, as pd.Categorical(column, [...], ordered=True), or give their order as "
        f"state_names={{{name!r}: [...]}} where that is a keyword"
    )


def ordered_columns(data) -> list[Hashable]:
    """Return the columns of a frame that are ordered Categoricals.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": pd.Categorical(["low"], ["low", "high"], ordered=True), "b": [1]})
    >>> ordered_columns(frame)
    ['a']
    """
    if not isinstance(data, pd.DataFrame):
        return []
    return [
        name
        for name, kind in zip(data.columns, data.dtypes, strict=True)
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered
    ]


def check_tied(name: str, value) -> None:
    """Raise if ``tied`` is not a list of groups of names."""
    if value is None:
        return
    lists = (list, tuple)
    if not isinstance(value, lists) or not all(isinstance(group, lists) and len(group) > 1 for group in value):
        raise ValueError(f"{name} is {value!r}; give a list of groups of at least two nodes, as [['x1', 'x2']]")


def check_fixed(name: str, value) -> None:
    """Raise if ``fixed`` is not a dict of tables."""
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(f"{name} is {kind_in_words(value)}; give a dict of tables by node, with NaN where free")


def check_ordinal(name: str, value) -> None:
    """Raise if ``ordinal`` is neither a list of columns nor True."""
    if value is not None and not isinstance(value, (list, tuple, bool)):
        raise ValueError(f"{name} is {value!r}; give a list of columns, or True for all ordered Categoricals")


def refuse_restricted(learner, what: str) -> None:
    """Raise if a learner holds tables equal, fixed or ordered, which something that refits its model would not.

    Examples
    --------
    >>> from pgmpy_latent import TreeEM
    >>> refuse_restricted(TreeEM(tied=[["x", "y"]]), "relate")
    Traceback (most recent call last):
    ValueError: the learner was fitted with tied, which relate does not keep when it refits the model; fit it \
without, or give its tree_ or network_ if they may change
    """
    named = [name for name in ("tied", "fixed", "ordinal") if getattr(learner, name, None)]
    if named:
        raise ValueError(
            f"the learner was fitted with {' and '.join(named)}, which {what} does not keep when it refits the model; "
            "fit it without, or give its tree_ or network_ if they may change"
        )
