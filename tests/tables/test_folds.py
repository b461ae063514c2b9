"""Folds: every row is held out once, and nothing but rows and the seed decides where."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import encode
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.tables.folds import folds, held_out_share


def seeded(seed=0):
    return np.random.SeedSequence(seed)


def table(seed, n=60):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.integers(0, 3, (n, 3)), columns=list("xyz")).astype("category"), rng


def weights_by_row(part):
    """Return row -> weight, rows as text of column and state, sorted by column."""
    order = sorted(range(len(part.columns)), key=lambda at: part.columns[at])
    return {
        tuple((part.columns[at], part.state_names[at][row[at]]) for at in order): float(weight)
        for row, weight in zip(part.codes, part.weights, strict=True)
    }


@given(st.integers(0, 1000), st.integers(2, 5), st.sampled_from(["none", "frequency", "fractions", "sampling"]))
def test_folds_divide_the_rows(seed, n_folds, kind):
    frame, rng = table(seed)
    weights = {"none": None, "frequency": rng.integers(0, 5, 60) + 1}.get(kind, rng.random(60) * 3 + 0.01)
    weight_kind = None if kind == "none" else "sampling" if kind == "sampling" else "frequency"
    data = encode(frame, sample_weight=weights, weight_kind=weight_kind)
    parts = folds(data, n_folds, seeded(seed))
    whole = weights_by_row(data)
    total = dict.fromkeys(whole, 0.0)
    for part in parts:
        learn, held_out = weights_by_row(part.learn), weights_by_row(part.held_out)
        for row, weight in held_out.items():
            total[row] += weight
        both = {row: learn.get(row, 0.0) + held_out.get(row, 0.0) for row in whole}
        assert both == pytest.approx(whole)
        assert part.learn.state_names == part.held_out.state_names == data.state_names
    assert total == pytest.approx(whole)
    sizes = [part.held_out.total_weight for part in parts]
    assert max(sizes) < data.total_weight


def test_equal_rows_are_divided_one_by_one_and_sizes_are_about_equal():
    data = encode(pd.DataFrame({"x": [0, 1]}), sample_weight=[3000, 6000])
    for part in folds(data, 3, seeded()):
        np.testing.assert_allclose(part.held_out.weights, [1000, 2000], atol=150)
        assert (part.held_out.weights % 1 == 0).all()


def test_a_weight_is_a_repeated_row_and_order_does_not_matter():
    frame, rng = table(3)
    counts = rng.integers(1, 4, 60)
    given_parts = folds(encode(frame, sample_weight=counts), 3, seeded())
    long = frame.loc[frame.index.repeat(counts)]
    shuffled = long.sample(frac=1, random_state=1)[["z", "x", "y"]]
    states = {name: (2, 0, 1) for name in "xyz"}
    for others in (long, shuffled):
        for one, other in zip(given_parts, folds(encode(others), 3, seeded()), strict=True):
            assert weights_by_row(one.held_out) == weights_by_row(other.held_out)
    for one, other in zip(given_parts, folds(encode(shuffled, state_names=states), 3, seeded()), strict=True):
        assert weights_by_row(one.held_out) == weights_by_row(other.held_out)
    other_seed = folds(encode(long), 3, seeded(1))
    assert weights_by_row(other_seed[0].held_out) != weights_by_row(given_parts[0].held_out)


def test_clusters_stay_together():
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 12, 200)
    frame = pd.DataFrame({"of": cluster, "x": rng.integers(0, 4, 200)})  # a column that tells the cluster
    for weights in (None, rng.random(200) + 0.1):
        data = encode(frame, cluster=cluster, sample_weight=weights)
        held = [set(part.held_out.codes[:, 0].tolist()) for part in folds(data, 3, seeded())]
        assert sorted(len(one) for one in held) == [4, 4, 4]
        assert set.union(*held) == set(range(12))
        for part, clusters in zip(folds(data, 3, seeded()), held, strict=True):
            assert clusters.isdisjoint(part.learn.codes[:, 0].tolist())


def test_too_few_rows_are_named():
    with pytest.raises(DataError, match=r"too few rows for 5 folds.*give fewer folds, or a table"):
        folds(encode(pd.DataFrame({"x": [0, 1]})), 5, seeded())
    with pytest.raises(DataError, match="too few clusters for 3 folds"):
        folds(encode(pd.DataFrame({"x": [0, 1, 0, 1]}), cluster=[0, 0, 1, 1]), 3, seeded())


# A share ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.floats(0.001, 0.999), st.sampled_from(["none", "frequency", "fractions", "sampling"]))
def test_a_share_and_the_rest_are_the_table(seed, share, kind):
    frame, rng = table(seed)
    weights = {"none": None, "frequency": rng.integers(0, 5, 60) + 1}.get(kind, rng.random(60) * 3 + 0.01)
    weight_kind = None if kind == "none" else "sampling" if kind == "sampling" else "frequency"
    data = encode(frame, sample_weight=weights, weight_kind=weight_kind)
    part = held_out_share(data, share, seeded(seed))
    whole, total = weights_by_row(data), {}
    for side in part:
        assert side.weights.sum() > 0
        for row, weight in weights_by_row(side).items():
            total[row] = total.get(row, 0.0) + weight
    assert total == pytest.approx(whole)
    if kind in ("none", "frequency"):
        n_rows = data.weights.sum()
        assert part.held_out.weights.sum() == min(max(round(share * n_rows), 1), n_rows - 1)


@given(st.integers(0, 1000))
def test_a_share_does_not_depend_on_the_order_of_rows_and_columns(seed):
    frame, rng = table(seed)
    again = frame.iloc[rng.permutation(len(frame)), rng.permutation(3)]
    first, second = (held_out_share(encode(one), 0.3, seeded(seed)).held_out for one in (frame, again))
    assert weights_by_row(first) == weights_by_row(second)


def test_a_weight_holds_out_as_many_rows_as_repeated_ones():
    frame, rng = table(3)
    weights = rng.integers(1, 4, 60)
    repeated = frame.iloc[np.repeat(np.arange(60), weights)]
    first = held_out_share(encode(frame, sample_weight=weights), 0.2, seeded())
    second = held_out_share(encode(repeated), 0.2, seeded())
    assert weights_by_row(first.held_out) == weights_by_row(second.held_out)


def test_clusters_are_held_out_as_a_whole():
    frame, _ = table(0)
    cluster = np.arange(60) // 6
    frame["row"] = pd.Categorical(np.arange(60))
    part = held_out_share(encode(frame, cluster=cluster), 0.2, seeded())
    rows = [side.state_names[3][code] for side in part for code in side.codes[:, 3]]
    n_held_out = part.held_out.n_distinct
    assert n_held_out == 12
    assert len({cluster[row] for row in rows[-n_held_out:]}) == 2
    with pytest.raises(DataError, match=r"one cluster only.*X_valid"):
        held_out_share(encode(frame, cluster=np.zeros(60)), 0.2, seeded())


def test_both_parts_of_a_fold_are_its_identity():
    part = held_out_share(encode(table(0)[0]), 0.3, seeded())
    text, arrays = part.identity()
    other = part._replace(held_out=part.learn).identity()
    assert part.identity()[0] == text
    assert len(arrays) == 4
    assert other[0] != text or any(not np.array_equal(*pair) for pair in zip(arrays, other[1], strict=True))


def test_more_than_a_billion_rows_can_be_held_out():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("cdcd")}).astype("category")
    weights = np.array([4e9, 1e9, 3, 2e9])
    part = held_out_share(encode(frame, sample_weight=weights), 0.2, seeded())
    assert part.held_out.weights.sum() == pytest.approx(0.2 * weights.sum(), rel=1e-4)
    assert part.learn.weights.sum() + part.held_out.weights.sum() == weights.sum()
    again = held_out_share(encode(frame.iloc[::-1], sample_weight=weights[::-1]), 0.2, seeded())
    assert weights_by_row(part.held_out) == weights_by_row(again.held_out)
