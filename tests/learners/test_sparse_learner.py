"""Any learner can take sparse tables: it derives from ``SparseLearner``, and its ``_learn`` gets sparse rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from pgmpy_latent import LatentTree, log_likelihood
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners import Outcome
from pgmpy_latent.learners.sparse_learner import SparseLearner
from pgmpy_latent.tables.sparse import SparseRows

CELLS = np.random.default_rng(0).random((40, 3)) < 0.3


class IndependentColumns(SparseLearner):
    """Learns no edges: every column has its own share of ones."""

    def _learn(self, data):
        self.was_sparse = isinstance(data, SparseRows)
        ones = np.array([data.column(at).mean() if self.was_sparse else data.codes[:, at] @ data.weights / data.n_rows
                         for at in range(len(data.columns))])  # fmt: skip
        tables = [[[1 - one, one]] for one in ones]
        n = len(ones)
        tree = LatentTree(data.columns, data.state_names, [-1] * n, [False] * n, tables)
        found = float(data.n_rows * (ones * np.log(ones) + (1 - ones) * np.log(1 - ones)).sum())
        return Outcome(tree, found, found, [])


def test_a_sparse_table_gives_the_model_of_the_dense_one():
    rows = sparse.csr_array(CELLS.astype(np.int8))
    learner = IndependentColumns().fit(rows)
    dense = IndependentColumns().fit(CELLS.astype(np.int8))
    assert learner.was_sparse
    assert not dense.was_sparse
    np.testing.assert_allclose(np.concatenate(learner.tree_.tables), np.concatenate(dense.tree_.tables))
    assert learner.score(rows) == pytest.approx(log_likelihood(dense.tree_, pd.DataFrame(CELLS.astype(int))) / 40)
    assert learner.partial_fit(rows) is learner


def test_a_sparse_table_has_no_missing_cells_and_no_other_number_of_columns():
    rows = sparse.csr_array(CELLS.astype(np.int8))
    with pytest.raises(DataError, match="none of them is missing; leave missing out"):
        IndependentColumns().fit(rows, missing=1)
    with pytest.raises(DataError, match="X has 2 features, but IndependentColumns is expecting 3"):
        IndependentColumns().fit(rows).score(rows[:, :2])
