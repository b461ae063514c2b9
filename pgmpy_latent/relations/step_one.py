"""Step one: the model of the columns alone, and what it says about the class of every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmpy_latent.diagnostics import information_matrix as fisher
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.resume import check_tables
from pgmpy_latent.exceptions import DataError, ImpossibleRowError
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.queries import network_engine
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.relations.rows import RelatedRows

#: Log-likelihood that step one may leave to gain: later steps take its tables for a maximum.
TOLERANCE = 1e-7
#: Remembers nothing.
NO_MEMO = Memo()
#: A class with a smaller share of the rows is empty.
EMPTY = 1e-9


@dataclass(frozen=True, eq=False)
class StepOne:
    """The tables of step one, and functions of these or of other tables.

    Attributes
    ----------
    engine : RowEngine
        For the distinct rows.
    node : int
        The class.
    tables : array, shape (size,)
        The tables, flat.
    """

    engine: RowEngine
    node: int
    tables: np.ndarray

    @classmethod
    def fitted(cls, rows: RelatedRows, prior: float = 0.0, memo: Memo = NO_MEMO) -> StepOne:
        """Return step one for these rows: EM from the tables of the model, which has little to do if it saw the rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from pgmpy_latent import LatentTree
        >>> from pgmpy_latent.relations.rows import related_rows
        >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
        ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
        >>> table = pd.DataFrame({"x": ["a", "b", "b"], "age": [20, 25, 30]})
        >>> step_one = StepOne.fitted(related_rows(tree, table, "age", None))
        >>> step_one.posteriors(step_one.tables).shape
        (3, 2)
        """
        network = rows.network
        engine = network_engine(network.names, network.parents, network.cards, rows.data)
        start = engine.layout.pack(network.tables)
        if np.isneginf(engine.log_likelihood(start)):
            raise ImpossibleRowError(
                "the model rules out some rows of this table; give the table that it was fitted to, or fit with a "
                "prior, e.g. prior=0.01"
            )
        layout = engine.layout
        tables = memo.recall(
            "step one", lambda: _em(engine, start, prior), check=lambda known: check_tables(known, layout)
        )
        step_one = cls(engine, rows.node, tables)
        sizes = step_one.sizes(tables)
        if (sizes < EMPTY).any():
            empty = rows.states[int(np.argmin(sizes))]
            raise DataError(f"no row that is used is in class {empty!r}; fit a model with fewer classes")
        return step_one

    def sizes(self, tables: np.ndarray) -> np.ndarray:
        """Return the shares of the classes."""
        return self.engine.layout.unpack(tables)[self.node][0]

    def posteriors(self, tables: np.ndarray) -> np.ndarray:
        """Return P(class | row): (n_rows, n_classes)."""
        return self.engine.beliefs(tables, [self.node])[0]

    def class_log_likelihoods(self, tables: np.ndarray) -> np.ndarray:
        """Return log P(row | class): (n_rows, n_classes)."""
        with np.errstate(divide="ignore"):
            joint = np.log(self.posteriors(tables)) + self.engine.row_log_likelihoods(tables)[:, None]
            return joint - np.log(self.sizes(tables))

    @cached_property
    def coordinates(self) -> fisher.Coordinates:
        """The free parameters; entries at the boundary and rows of tables that no row is in are fixed."""
        _, counts = self.engine.expected_counts(self.tables)
        layout = self.engine.layout
        unknown = layout.row_sums(counts) <= EMPTY * self.engine.total_weight
        return fisher.Coordinates(layout, self.tables, fisher.at_the_boundary(layout, self.tables, counts) | unknown)

    @cached_property
    def influence(self) -> np.ndarray:
        """How much a row of weight one moves the parameters: (n_rows, n_parameters)."""
        _, counts = self.engine.expected_counts(self.tables)
        curvature = fisher.information(em.Problem(self.engine), self.coordinates)
        scores = fisher.row_scores(self.engine, self.coordinates)
        return scores @ inverse_information(curvature, self.coordinates.whitening(counts))


def _em(engine: RowEngine, start: np.ndarray, prior: float) -> np.ndarray:
    """Return the tables at the maximum that is next to a start."""
    found = em.fit(engine, start, prior=prior, atol=TOLERANCE)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.tables


def inverse_information(curvature: np.ndarray, whiten: np.ndarray) -> np.ndarray:
    """Return the inverse of an information matrix; directions without information are left out.

    Examples
    --------
    >>> inverse_information(np.diag([4.0, 0.0]), np.eye(2)).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(whiten @ curvature @ whiten.T)
    informed = values > fisher.NOTHING
    half = whiten.T @ vectors[:, informed]
    return (half / values[informed]) @ half.T
