"""Numeric columns in the engine of trees, against densities of SciPy and enumeration of the hidden states."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent.inference import queries
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.model.emissions import Emission, emissions_of
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.testing import cells_for, mixed_trees
from tests.support import reference_numbers as slow


@st.composite
def problems(draw, **options):
    """Return a tree, a table as a dict of lists, and the encoded table."""
    tree = draw(mixed_trees(**options))
    cells = draw(cells_for(tree))
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    return tree, cells, encode_for(tree, frame)


def close(found, expected, rtol=1e-9):
    return np.allclose(found, expected, rtol=rtol, atol=1e-8)


@given(problems())
def test_densities_of_rows_are_those_of_the_definition(problem):
    tree, cells, data = problem
    engine = engine_for(tree, data)
    found = engine.row_log_likelihoods(engine.layout.pack(tree.tables))[data.row_index]
    assert close(found, slow.log_likelihoods(tree, cells))


@given(problems(kinds=("gaussian", "poisson")))
def test_counts_are_expected_features(problem):
    tree, cells, data = problem
    engine = engine_for(tree, data)
    _, counts = engine.expected_counts(engine.layout.pack(tree.tables))
    found = engine.layout.unpack(counts)
    for node, emission in emissions_of(tree).items():
        shares = slow.posteriors(tree, cells, tree.names[tree.parent[node]])
        values = np.array([np.nan if cell is None else cell for cell in cells[tree.names[node]]], float)
        seen, expected = ~np.isnan(values), shares[np.isnan(values)].sum(axis=0)[:, None] * tree.tables[node]
        if seen.any():
            expected = expected + shares[seen].T @ emission.features_of(values[seen])
        assert np.allclose(found[node], expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@given(problems())
def test_posteriors_are_those_of_the_definition(problem):
    tree, cells, data = problem
    for name in tree.latent_names:
        found = queries.posterior(tree, data, [name]).to_numpy()
        assert np.allclose(found, slow.posteriors(tree, cells, name), atol=1e-8)


@given(problems(max_nodes=6), st.data())
def test_a_part_of_a_tree_has_the_likelihood_of_the_whole(problem, drawn):
    tree, _, data = problem
    engine = engine_for(tree, data)
    flat = engine.layout.pack(tree.tables)
    free = np.zeros(tree.n_nodes, bool)
    free[drawn.draw(st.lists(st.integers(0, tree.n_nodes - 1), min_size=1))] = True
    frozen = engine.freeze(flat, free)
    part, counts = frozen.engine.expected_counts(frozen.narrow(flat))
    whole, all_counts = engine.expected_counts(flat)
    assert close(part, whole)
    assert np.allclose(
        frozen.widen(counts, all_counts)[free[engine.layout.table_of_entry]],
        all_counts[free[engine.layout.table_of_entry]],
        rtol=1e-7, atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("exponent", [-100, -10, 10, 100])
def test_densities_may_be_tiny_or_huge(exponent):
    scale = 10.0**-exponent
    columns = [Emission("gaussian", 0.0, scale, 3.0, 1e-3) for _ in range(40)]
    tree = LatentTree(
        ["H", *range(40)],
        [[0, 1], *(one.features for one in columns)],
        [-1] + [0] * 40,
        [True] + [False] * 40,
        [[[0.3, 0.7]], *(one.table([-scale, scale], [0.01 * scale**2, scale**2]) for one in columns)],
    )
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(7, 40)) * scale)
    frame.iloc[1] *= 1e4  # far from everything: e ** -1e9
    cells = {name: frame[name].tolist() for name in frame}
    expected = slow.log_likelihoods(tree, cells)
    assert np.isfinite(expected).all()
    assert np.allclose(queries.row_log_likelihoods(tree, frame), expected, rtol=1e-12)


def test_columns_that_contradict_each_other_beyond_the_range_of_numbers():
    one = Emission("gaussian", 0.0, 1.0, 3.0, 1e-3)
    table = one.table([-1.0, 1.0], [1e-3, 1e-3])
    tree = LatentTree(
        ["H", "x", "y"], [[0, 1], one.features, one.features], [-1, 0, 0], [True, False, False],
        [[[0.5, 0.5]], table, table],
    )  # fmt: skip
    frame = pd.DataFrame({"x": [-1.0, -1.0], "y": [1.0, -1.0]})
    expected = slow.log_likelihoods(tree, {name: frame[name].tolist() for name in frame})
    assert expected[0] < -1000
    assert np.allclose(queries.row_log_likelihoods(tree, frame), expected, rtol=1e-13)


def test_many_rows_share_patterns_of_counts():
    rng = np.random.default_rng(0)
    one = Emission("poisson", 0.0, 1.0, 9.0, 0.0)
    tree = LatentTree(
        ["H", "x", "y"], [[0, 1], one.features, one.features], [-1, 0, 0], [True, False, False],
        [[[0.5, 0.5]], one.table([1.0, 5.0]), one.table([2.0, 4.0])],
    )  # fmt: skip
    frame = pd.DataFrame(rng.poisson(3, (5000, 2)).astype(float), columns=["x", "y"])
    data = encode_for(tree, frame)
    assert data.n_distinct < 200
    assert np.allclose(
        queries.row_log_likelihoods(tree, frame).head(20),
        slow.log_likelihoods(tree, {name: frame[name].head(20).tolist() for name in frame}),
    )
