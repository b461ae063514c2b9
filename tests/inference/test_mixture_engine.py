"""Mixtures: the weighted sum of their parts, by enumeration; one EM for all of them."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import (
    LatentTree,
    TreeMixture,
    encode,
    impute,
    load,
    log_likelihood,
    posterior,
    sample,
    save,
    to_pgmpy,
)
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError
from pgmpy_latent.inference.queries import encode_for, engine_for, row_log_likelihoods
from tests.support.samples import leafy_tree


def renamed(tree, order):
    """Return a tree whose columns are permuted among its leaves, so that edges differ."""
    columns = list(tree.observed_names)
    new = dict(zip(columns, [columns[at] for at in order], strict=True))
    names = [new.get(name, name) for name in tree.names]
    return LatentTree(names, tree.state_names, tree.parent, tree.latent, tree.tables)


@pytest.fixture(scope="module")
def mixture():
    rng, tree = np.random.default_rng(0), leafy_tree(n_columns=4, card=3)
    other = renamed(tree, rng.permutation(4))
    tables = [rng.dirichlet(np.ones(table.shape[1]), len(table)) for table in other.tables]
    return TreeMixture([tree, other.with_tables(tables)], [0.3, 0.7])


@pytest.fixture(scope="module")
def rows(mixture):
    table = sample(mixture, 200, random_state=1).astype(object)
    return table.mask(np.random.default_rng(2).random(table.shape) < 0.2)


def test_a_mixture_is_the_weighted_sum_of_its_parts(mixture, rows):
    parts = [np.exp(row_log_likelihoods(tree, rows)) for tree in mixture.trees]
    expected = 0.3 * parts[0] + 0.7 * parts[1]
    assert np.allclose(np.exp(row_log_likelihoods(mixture, rows)), expected, rtol=1e-12, atol=0)
    grid = pd.DataFrame(
        np.stack(np.meshgrid(*[mixture.state_names[at + 1] for at in range(4)], indexing="ij"), -1).reshape(-1, 4),
        columns=list(mixture.observed_names),
    )
    assert np.exp(row_log_likelihoods(mixture, grid)).sum() == pytest.approx(1, abs=1e-12)


def test_posteriors_are_those_of_enumeration(mixture, rows):
    parts = np.stack([np.exp(row_log_likelihoods(tree, rows)) for tree in mixture.trees]) * [[0.3], [0.7]]
    found = posterior(mixture, rows)
    assert np.allclose(found.to_numpy(), (parts / parts.sum(axis=0)).T, rtol=1e-12)
    column = mixture.observed_names[0]
    gap = rows.assign(**{column: None})
    belief = posterior(mixture, gap, [column]).to_numpy()
    whole = np.exp(row_log_likelihoods(mixture, gap))
    for at, state in enumerate(mixture.state_names[mixture.index(column)]):
        filled = np.exp(row_log_likelihoods(mixture, gap.assign(**{column: state})))
        assert np.allclose(belief[:, at], filled / whole, rtol=1e-10)


def test_counts_are_the_derivatives_of_the_log_likelihood(mixture):
    rows = sample(mixture, 200, random_state=1)  # what is missing is summed out, whatever the tables sum to
    engine = engine_for(mixture, encode_for(mixture, rows))
    tables = engine.layout.pack(mixture.tables)
    value, counts = engine.expected_counts(tables)
    assert value == pytest.approx(log_likelihood(mixture, rows), rel=1e-12)
    assert counts[:2].sum() == pytest.approx(200, rel=1e-12)
    for at in [0, 1, *np.random.default_rng(0).integers(2, engine.layout.size, 10)]:
        moved = np.stack([tables, tables])
        moved[:, at] *= [1 - 1e-5, 1 + 1e-5]
        low, high = engine.log_likelihood(moved)
        assert counts[at] == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-6)


def test_single_precision_rounds_counts_alone(mixture, rows):
    engine = engine_for(mixture, encode_for(mixture, rows))
    tables = engine.layout.pack(mixture.tables)
    exact, rounded = (engine.in_precision(each).expected_counts(tables) for each in ("double", "single"))
    assert rounded[0] == exact[0]
    assert not np.array_equal(rounded[1], exact[1])
    np.testing.assert_allclose(rounded[1], exact[1], atol=1e-4 * exact[1].max())


def test_parts_that_differ_in_probabilities_alone_share_an_engine(mixture, rows):
    tree, other = mixture.trees
    tables = [np.full_like(table, 1 / table.shape[1]) for table in tree.tables]
    three = TreeMixture([tree, other, tree.with_tables(tables)], [0.2, 0.3, 0.5])
    first, second, third = engine_for(three, encode_for(three, rows)).parts
    assert first is third
    assert first is not second
    parts = [
        share * np.exp(row_log_likelihoods(part, rows)) for share, part in zip(three.weights, three.trees, strict=True)
    ]
    np.testing.assert_allclose(np.exp(row_log_likelihoods(three, rows)), np.sum(parts, axis=0), rtol=1e-12)


def test_frozen_tables_have_no_counts(mixture, rows):
    engine = engine_for(mixture, encode_for(mixture, rows))
    free = np.zeros(engine.layout.n_tables, dtype=bool)
    free[[0, 3]] = True
    _, counts = engine.expected_counts(engine.layout.pack(mixture.tables), free)
    _, whole = engine.expected_counts(engine.layout.pack(mixture.tables))
    assert np.array_equal(counts, whole * free[engine.layout.table_of_entry])


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_em_never_falls(mixture, rows, smoothing):
    engine = engine_for(mixture, encode_for(mixture, rows))
    prior = pseudo_counts_of_rows(engine.layout, smoothing) if smoothing else 0.0
    tables = engine.layout.pack(mixture.tables)
    found = fit(engine, tables, prior=prior, max_iter=60, accelerate=False)
    assert found.objective > fit(engine, tables, prior=prior, max_iter=2, accelerate=False).objective
    if not smoothing:
        assert (np.diff(found.log_likelihoods) > -1e-9).all()


def test_weights_are_repeated_rows(mixture, rows):
    times = np.arange(len(rows)) % 3
    weighted = engine_for(mixture, encode_for(mixture, rows, sample_weight=times))
    repeated = engine_for(mixture, encode_for(mixture, rows.loc[rows.index.repeat(times)]))
    tables = weighted.layout.pack(mixture.tables)
    for left, right in zip(weighted.expected_counts(tables), repeated.expected_counts(tables), strict=True):
        assert np.allclose(left, right, rtol=1e-12)
    again = repeated.reweighted(2 * repeated.weights)
    assert np.allclose(again.expected_counts(tables)[1], 2 * repeated.expected_counts(tables)[1], rtol=1e-12)


def test_known_cells_stay_and_draws_follow_the_posterior(mixture, rows):
    for method in ("most_likely", "draw"):
        filled = impute(mixture, rows, method=method, random_state=0)
        assert not filled.isna().to_numpy().any()
        assert (filled.to_numpy() == rows.to_numpy())[rows.notna().to_numpy()].all()
    column = mixture.observed_names[0]
    gap = pd.concat([rows.iloc[[3]].assign(**{column: None})] * 20_000, ignore_index=True)
    drawn = impute(mixture, gap, method="draw", random_state=0)[column]
    expected = posterior(mixture, gap.iloc[[0]], [column]).iloc[0].to_numpy()
    states = mixture.state_names[mixture.index(column)]
    assert np.allclose([(drawn == state).mean() for state in states], expected, atol=0.02)


def test_samples_follow_the_mixture(mixture):
    drawn = sample(mixture, 20_000, latents=True, random_state=0)
    assert abs((drawn["part"] == 1).mean() - 0.7) < 0.02
    assert -log_likelihood(mixture, drawn.drop(columns="part")) / 20_000 < 4 * np.log(3)
    first, second = mixture.observed_names[:2]
    pairs = drawn.groupby([first, second]).size() / len(drawn)
    known = encode(pairs.reset_index()[[first, second]])
    expected = np.exp(row_log_likelihoods(mixture, pairs.reset_index()[[first, second]], absent="sum_out"))
    assert known.n_rows == len(expected)
    assert np.allclose(pairs.to_numpy(), expected, atol=0.02)


def test_rows_that_one_part_rules_out_come_from_the_other():
    trees = [LatentTree(["x"], ["ab"], [-1], [False], [[[share, 1 - share]]]) for share in (1.0, 0.5)]
    mixture = TreeMixture(trees, [0.5, 0.5])
    assert posterior(mixture, pd.DataFrame({"x": ["b"]})).to_numpy().tolist() == [[0.0, 1.0]]
    impossible = TreeMixture([trees[0]], [1.0])
    with pytest.warns(UserWarning, match="probability zero"):
        assert posterior(impossible, pd.DataFrame({"x": ["b"]})).isna().to_numpy().all()


def test_files_and_networks_hold_every_part(mixture, tmp_path):
    save(mixture, tmp_path / "mixture.json")
    assert load(tmp_path / "mixture.json") == mixture
    weights, networks = zip(*to_pgmpy(mixture), strict=True)
    assert weights == (0.3, 0.7)
    assert all(network.check_model() for network in networks)
    text = (tmp_path / "mixture.json").read_text().replace("0.7", "0.8", 1)
    (tmp_path / "mixture.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"the weights.*sums to 1\.1"):
        load(tmp_path / "mixture.json")


def test_parts_must_have_the_same_columns_and_states():
    tree, other, wider = (
        LatentTree([name], [states], [-1], [False], [[[1 / len(states)] * len(states)]])
        for name, states in (("x", "ab"), ("y", "ab"), ("x", "abcd"))
    )
    with pytest.raises(InvalidTreeError, match="at least one tree"):
        TreeMixture([], [])
    with pytest.raises(InvalidTreeError, match="tree 1 of a mixture has other columns"):
        TreeMixture([tree, other], [0.5, 0.5])
    with pytest.raises(InvalidTreeError, match="tree 1 of a mixture has other states"):
        TreeMixture([tree, wider], [0.5, 0.5])
    with pytest.raises(KeyError, match="in each of the trees"):
        TreeMixture([tree], [1.0]).table("x")


def test_work_is_that_of_all_parts_and_grows_with_the_rows(mixture, rows):
    whole, few = (engine_for(mixture, encode_for(mixture, table)) for table in (rows, rows.head(2)))
    assert whole.work == sum(engine_for(tree, encode_for(tree, rows)).work for tree in mixture.trees)
    assert 0 < few.work < whole.work
