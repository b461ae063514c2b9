"""What must hold for the tables in every step of EM: equal tables, fixed entries, and log-linear tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmpy_latent.em.log_linear import SAME, Family, LogLinear, ordinal_item
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.runtime.arrays import ROUNDING

#: Largest sum of the fixed entries of a row that has others, which share what is left.
FULL = 1.0 - 1e-12
#: Share of its gain that an M-step may leave at a log-linear table: the next one begins where it ended.
LEFT = 0.01


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints on the flat tables of a model.

    Attributes
    ----------
    layout : Layout
        Where the tables lie.
    tied : sequence of sequences of int
        Groups of tables of one shape that are equal. Their counts are summed; pseudo-counts and parameters count once.
    fixed : array, shape (size,), optional
        Values of the entries that are fixed, NaN for the others, which share what is left of their row. What is fixed
        in one of several tied tables is fixed in all. Fixed entries have neither pseudo-counts nor parameters.
    log_linear : mapping of int to Family
        Families of tables. What is said of one of several tied tables holds for all.

    Examples
    --------
    Two tables of two states each are equal:

    >>> layout = Layout([(1, 2), (1, 2)])
    >>> ties = Constraints(layout, tied=[[0, 1]])
    >>> ties.m_step(np.array([1.0, 1.0, 2.0, 0.0]), np.full(4, 0.5)).tolist(), ties.n_parameters
    ([0.75, 0.25, 0.75, 0.25], 1)

    The first of three entries is fixed, and the others share the rest:

    >>> fixed = Constraints(Layout([(1, 3)]), fixed=np.array([0.2, np.nan, np.nan]))
    >>> fixed.m_step(np.array([5.0, 1.0, 3.0]), np.full(3, 1 / 3)).round(9).tolist(), fixed.n_parameters
    ([0.2, 0.2, 0.6], 1)
    """

    layout: Layout
    tied: Sequence[Sequence[int]] = ()
    fixed: np.ndarray | None = None
    log_linear: Mapping[int, Family] | None = None

    def __post_init__(self) -> None:
        tied = tuple(tuple(int(table) for table in group) for group in self.tied if len(group) > 1)
        object.__setattr__(self, "tied", tied)
        self._check_ties()
        object.__setattr__(self, "fixed", self._all_fixed())
        object.__setattr__(self, "log_linear", self._all_families())

    def __bool__(self) -> bool:
        return bool(self.tied or self.log_linear or self.fixed is not None)

    # What is asked for ----------------------------------------------------------------------------

    def _check_ties(self) -> None:
        members = [table for group in self.tied for table in group]
        if len(set(members)) < len(members):
            raise DataError("a table is tied twice; name it in one group of tied tables only")
        for group in self.tied:
            shapes = self.layout.shapes[list(group)]
            if (shapes != shapes[0]).any():
                raise DataError(f"tied tables have the shapes {sorted(map(tuple, shapes.tolist()))}; tie tables of one")

    def _all_fixed(self) -> np.ndarray | None:
        """Return the fixed values; tied tables share theirs, and the only free entry of a row is fixed too."""
        if self.fixed is None:
            return None
        fixed = np.array(self.fixed, dtype=np.float64)
        if fixed.shape != (self.layout.size,):
            raise DataError(
                f"fixed has shape {fixed.shape}; give {self.layout.size} numbers, NaN where entries are free"
            )
        for places in self._places:
            values = fixed[places]
            known = ~np.isnan(values)
            common = np.where(known, values, -np.inf).max(axis=0)
            if (known & (values != common)).any():
                raise DataError("tied tables have different fixed values; fix them in one of the tables only")
            fixed[places] = np.where(known.any(axis=0), common, np.nan)
        if np.isnan(fixed).all():
            return None
        return self._filled(fixed)

    def _filled(self, fixed: np.ndarray) -> np.ndarray:
        """Check the rows of fixed values; an entry that is the only free one of its row is what is left."""
        free = np.isnan(fixed)
        if ((fixed < 0) | (fixed > 1)).any():
            raise DataError("a fixed value is no probability; give values between 0 and 1, NaN where entries are free")
        sums = self.layout.row_sums(np.where(free, 0.0, fixed))
        n_free = self.layout.row_sums(free.astype(np.float64))
        if ((n_free == 0) & (np.abs(sums - 1) > ROUNDING)).any():
            raise DataError("the fixed values of a row do not sum to 1; change them, or leave one of them free (NaN)")
        if ((n_free > 0) & ~free & (sums > 1 + ROUNDING)).any():
            raise DataError("the fixed values of a row sum to more than 1; make them smaller")
        if ((n_free > 1) & (sums > FULL)).any():
            raise DataError("the fixed values of a row leave nothing for its free entries; fix these to 0")
        return np.where(free & (n_free == 1), np.maximum(1.0 - sums, 0.0), fixed)

    def _all_families(self) -> dict[int, Family]:
        families = dict(self.log_linear or {})
        for group in self.tied:
            named = [families[table] for table in group if table in families]
            if named:
                families.update(dict.fromkeys(group, named[0]))
        for table, family in families.items():
            shape = tuple(self.layout.shapes[table].tolist())
            if family.shape != shape:
                raise DataError(f"a log-linear table has shape {shape}, its design {family.shape}; make them equal")
            if self.fixed is not None and not np.isnan(self.fixed[self.layout.slices[table]]).all():
                raise DataError("a log-linear table has fixed entries; leave out one of the two")
        return families

    # What is made of it ---------------------------------------------------------------------------

    @cached_property
    def _places(self) -> list[np.ndarray]:
        """For every group of tied tables, the positions of their entries, one line per table."""
        slices = self.layout.slices
        return [np.stack([np.arange(slices[t].start, slices[t].stop) for t in group]) for group in self.tied]

    @cached_property
    def _free(self) -> np.ndarray | None:
        return None if self.fixed is None else np.isnan(self.fixed)

    @cached_property
    def _fixed_places(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where the fixed entries are, and their values."""
        if self.fixed is None or self._free is None:
            return None
        places = np.flatnonzero(~self._free)
        return places, self.fixed[places]

    @cached_property
    def _left(self) -> np.ndarray:
        """For every entry, what the free entries of its row share."""
        assert self.fixed is not None
        assert self._free is not None
        return 1.0 - self.layout.row_sums(np.where(self._free, 0.0, self.fixed))

    @cached_property
    def _copies(self) -> np.ndarray:
        """Tables that are copies of the first of their group."""
        return np.array([table for group in self.tied for table in group[1:]], dtype=np.int64)

    @cached_property
    def _families(self) -> list[tuple[Family, np.ndarray]]:
        """Every family, and the positions of the entries of its tables: (tables, rows, columns); copies left out."""
        by_family: dict[int, list[int]] = {}
        families = {id(family): family for family in (self.log_linear or {}).values()}
        for table, family in sorted((self.log_linear or {}).items()):
            if table not in self._copies:
                by_family.setdefault(id(family), []).append(table)
        slices = self.layout.slices
        return [
            (families[key], np.stack([np.arange(slices[t].start, slices[t].stop) for t in tables])
             .reshape(len(tables), *families[key].shape))
            for key, tables in by_family.items()
        ]  # fmt: skip

    @cached_property
    def _shared(self) -> tuple[Layout, slice | np.ndarray]:
        """The tables whose free entries get their shares of the counts, and their entries: no log-linear ones."""
        kept = np.ones(self.layout.n_tables, bool)
        kept[list(self.log_linear or {})] = False
        if self._free is not None:
            kept &= np.logical_or.reduceat(self._free, self.layout.offsets)
        if kept.all():
            return self.layout, slice(None)
        return Layout(self.layout.shapes[kept]), np.flatnonzero(kept[self.layout.table_of_entry])

    @cached_property
    def movable(self) -> np.ndarray:
        """For every entry, whether it may be moved on its own, but for copies and the rest of its row."""
        movable = np.ones(self.layout.size, bool) if self._free is None else self._free.copy()
        for table in self.log_linear or ():
            movable[self.layout.slices[table]] = False
        return movable

    @cached_property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        free = np.ones(self.layout.size, bool) if self._free is None else self._free
        by_row = np.maximum(np.add.reduceat(free.astype(np.int64), self.layout.row_starts) - 1, 0)
        row_table = np.repeat(np.arange(self.layout.n_tables), self.layout.shapes[:, 0])
        by_table = np.bincount(row_table, by_row, minlength=self.layout.n_tables)
        for table, family in (self.log_linear or {}).items():
            by_table[table] = family.n_parameters
        if self.layout.numeric is not None:
            for table, emission in self.layout.numeric.by_table.items():
                by_table[table] = emission.n_parameters(int(self.layout.shapes[table, 0]))
        by_table[self._copies] = 0
        return int(by_table.sum())

    def pseudo_counts(self, prior: float | np.ndarray) -> float | np.ndarray:
        """Return the pseudo-counts of all entries: once for tied tables, and none for fixed entries."""
        if not np.any(prior):
            return prior
        spread = np.broadcast_to(np.asarray(prior, np.float64), (self.layout.size,)).copy()
        for places in self._places:
            spread[places[1:]] = 0.0
        if self._free is not None:
            spread[~self._free] = 0.0
        return spread

    def pooled(self, counts: np.ndarray) -> np.ndarray:
        """Return counts in which every one of several tied tables has the counts of all of them."""
        if not self._places:
            return counts
        counts = counts.copy()
        for places in self._places:
            counts[..., places] = counts[..., places].sum(axis=-2, keepdims=True)
        return counts

    def lifted_together(self, moves: np.ndarray) -> np.ndarray:
        """Return moves in which every one of several tied tables makes the largest move of any."""
        moves = moves.copy()
        for places in self._places:
            moves[..., places] = moves[..., places].max(axis=-2, keepdims=True)
        return moves

    def row_weights(self, counts: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return, for every entry, the count of its row per unit of probability that is free in it."""
        if self._free is None:
            return self.layout.row_sums(counts)
        sums = self.layout.row_sums(np.where(self._free, counts, 0.0))
        return sums / np.maximum(self._left, 1e-300)

    def m_step(self, counts: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return the tables that maximise ``sum(counts * log(tables))`` under the constraints.

        Parameters
        ----------
        counts, tables : arrays, shape (..., size)
            Expected counts with pseudo-counts, and the tables they were computed with.
        """
        counts, new = self.pooled(counts), self._with_fixed(tables)
        layout, at = self._shared
        if layout.size and self._free is None:
            sums = layout.row_sums(counts[..., at])
            new[..., at] = np.divide(counts[..., at], sums, out=new[..., at], where=sums > 0)
        elif layout.size and self._free is not None:
            free = self._free[at]
            shares = np.where(free, counts[..., at], 0.0)
            sums = layout.row_sums(shares)
            shares = np.divide(self._left[at] * shares, sums, out=tables[..., at].copy(), where=sums > 0)
            new[..., at] = np.where(free, shares, new[..., at])
        for family, places in self._families:
            _put(new, places, family.fit(_part(counts, places), _part(tables, places), LEFT))
        return self._copied(new)

    def project(self, tables: np.ndarray) -> np.ndarray:
        """Return tables that satisfy the constraints, close to others whose rows sum to one.

        Examples
        --------
        >>> ties = Constraints(Layout([(1, 2), (1, 2)]), tied=[[0, 1]], fixed=np.array([0.2, *[np.nan] * 3]))
        >>> ties.project(np.array([0.5, 0.5, 0.1, 0.9])).tolist()
        [0.2, 0.8, 0.2, 0.8]
        """
        new = self._with_fixed(tables)
        layout, at = self._shared
        if layout.size and self._free is not None:
            free, left, given = self._free[at], self._left[at], tables[..., at]
            shares = np.where(free, given, 0.0)
            sums, n_free = layout.row_sums(shares), layout.row_sums(free.astype(np.float64))
            even = np.broadcast_to(left / np.maximum(n_free, 1.0), shares.shape)
            scaled = np.divide(left * shares, sums, out=even.copy(), where=sums > 0)
            kept = np.abs(sums - left) <= SAME  # such rows stay bit for bit
            new[..., at] = np.where(free, np.where(kept, given, scaled), new[..., at])
        for family, places in self._families:
            _put(new, places, family.project(_part(new, places)))
        return self._copied(new)

    def _with_fixed(self, tables: np.ndarray) -> np.ndarray:
        """Return a copy of tables in which fixed entries have their values."""
        new = tables.copy()
        if self._fixed_places is not None:
            places, values = self._fixed_places
            _put(new, places, np.broadcast_to(values, (*new.shape[:-1], len(values))))
        return new

    def _copied(self, tables: np.ndarray) -> np.ndarray:
        """Make tied tables equal to the first of their group, bit for bit."""
        for places in self._places:
            tables[..., places[1:]] = tables[..., places[:1]]
        return tables


def _part(flat: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the entries at some places, without a copy if these follow each other."""
    run = _run(places)
    return flat[..., places] if run is None else flat[..., run].reshape(*flat.shape[:-1], *places.shape)


def _put(flat: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Set the entries at some places."""
    run = _run(places)
    if run is None:
        flat[..., places] = values
    else:
        flat[..., run] = values.reshape(*flat.shape[:-1], -1)


def _run(places: np.ndarray) -> slice | None:
    """Return the slice of places that ascend by one from each to the next, as those of neighbouring tables do."""
    first, last = int(places.flat[0]), int(places.flat[-1])
    return slice(first, last + 1) if last - first + 1 == places.size else None


def ordinal_families(layout: Layout, tables: Iterable[int]) -> dict[int, Family]:
    """Return the families of tables of items whose categories are ordered; tables of one shape share theirs.

    Examples
    --------
    >>> families = ordinal_families(Layout([(1, 2), (2, 3), (2, 3)]), [1, 2])
    >>> families[1] is families[2], families[1].n_parameters
    (True, 3)
    """
    by_shape: dict[tuple[int, int], LogLinear] = {}
    families: dict[int, Family] = {}
    for table in tables:
        rows, columns = layout.shapes[table].tolist()
        if columns > 1:  # a single category has nothing to order
            if (rows, columns) not in by_shape:
                by_shape[rows, columns] = ordinal_item(rows, columns)
            families[table] = by_shape[rows, columns]
    return families
