"""How the tables of a model lie in one flat vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from pgmpy_latent.inference.numeric_tables import NumericTables
from pgmpy_latent.model.emissions import Emission


class Layout:
    """Positions of the tables ``[row, state]`` of a model inside one flat vector.

    Flat vectors are what EM works on: adding, normalising and comparing all tables is then one operation
    each. A leading axis, where there is one, counts starts.

    Parameters
    ----------
    shapes : sequence of (rows, states)
        Shape of every table, in node order.
    emissions : dict of int to Emission, optional
        The tables of numeric columns.

    Examples
    --------
    >>> layout = Layout([(1, 2), (2, 3)])
    >>> layout.size
    8
    >>> layout.unpack(np.arange(8.0))[1]
    array([[2., 3., 4.],
           [5., 6., 7.]])
    """

    def __init__(self, shapes: np.ndarray | Sequence[tuple[int, int]], emissions: Mapping[int, Emission] | None = None):
        self.shapes = np.array(shapes, dtype=np.int64).reshape(-1, 2)
        self.sizes = self.shapes.prod(axis=1)
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
        self.size = int(self.sizes.sum())
        self.numeric = NumericTables(emissions, self.shapes, self.offsets) if emissions else None

    @property
    def n_tables(self) -> int:
        """Number of tables."""
        return len(self.shapes)

    @cached_property
    def slices(self) -> list[slice]:
        """Where each table stands in the flat vector."""
        ends = np.cumsum(self.sizes)
        return [slice(begin, end) for begin, end in zip(self.offsets.tolist(), ends.tolist(), strict=True)]

    @cached_property
    def table_of_entry(self) -> np.ndarray:
        """For every entry of the flat vector, the table it belongs to."""
        return np.repeat(np.arange(self.n_tables), self.sizes)

    @cached_property
    def row_lengths(self) -> np.ndarray:
        """Number of entries of every row of every table."""
        return np.repeat(self.shapes[:, 1], self.shapes[:, 0])

    @cached_property
    def row_starts(self) -> np.ndarray:
        """First entry of every row of every table."""
        return np.concatenate([[0], np.cumsum(self.row_lengths)[:-1]]).astype(np.int64)

    def pack(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the tables as one flat vector."""
        for table, shape in zip(tables, self.shapes, strict=True):
            assert table.shape == tuple(shape), (table.shape, tuple(shape))
        return np.concatenate([np.ravel(table) for table in tables]).astype(np.float64)

    def unpack(self, flat: np.ndarray) -> list[np.ndarray]:
        """Return views of the tables inside a flat vector (leading axes are kept)."""
        return [
            flat[..., start : start + rows * states].reshape(*flat.shape[:-1], rows, states)
            for start, (rows, states) in zip(self.offsets, self.shapes, strict=True)
        ]

    def pseudo_counts(self, prior: float | np.ndarray) -> float | np.ndarray:
        """Return the pseudo-counts of all entries: none for those of numeric columns, which have floors instead.

        Examples
        --------
        >>> Layout([(1, 2)]).pseudo_counts(0.5)
        0.5
        """
        if self.numeric is None or not np.any(prior):
            return prior
        spread = np.broadcast_to(np.asarray(prior, np.float64), (self.size,))
        return np.where(self.numeric.entries, 0.0, spread)

    def row_sums(self, flat: np.ndarray) -> np.ndarray:
        """Return, for every entry, the sum of the row it stands in."""
        sums = np.add.reduceat(flat, self.row_starts, axis=-1)
        return np.repeat(sums, self.row_lengths, axis=-1)
