"""Synthetic rows, and how alike they are: against the definitions, written out."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import (
    Baseline,
    HiddenChowLiu,
    LatentTree,
    TreeMixture,
    datasets,
    encode,
    row_log_likelihoods,
    sample,
    synthesise,
)
from pgmpy_latent.diagnostics.alikeness import alikeness
from pgmpy_latent.inference.queries import encode_for
from tests.diagnostics.test_residuals import problems

SURVEY = datasets.load_anes96()[["vote", "PID", "selfLR", "educ"]].apply(lambda column: column.cat.codes.astype(int))


def frame_of(tree, codes):
    """Return rows of codes as a frame of states."""
    nodes = np.flatnonzero(~tree.latent)
    cells = {
        tree.names[node]: [None if code < 0 else tree.state_names[node][code] for code in column]
        for node, column in zip(nodes, codes.T, strict=True)
    }
    return pd.DataFrame(cells, dtype=object)


def pair_shares(table, first, second):
    """Return the joint shares of two columns, a dict."""
    both = table[[first, second]].dropna()
    counts = both.value_counts()
    return (counts / max(counts.sum(), 1)).to_dict()


def slow(tree, table, rows):
    """Return the measures that are not drawn, by their definitions."""
    distances = []
    for first, second in combinations(table.columns, 2):
        one, other = pair_shares(rows, first, second), pair_shares(table, first, second)
        distances.append(sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}) / 2)
    known, drawn = ([tuple(row) for row in frame.to_numpy().tolist()] for frame in (table, rows))
    logs, own = (row_log_likelihoods(tree, frame).to_numpy() for frame in (rows, table))
    logs, own = logs + 1e-9, np.sort(own)  # equal rows may differ by rounding
    bound = own[int(np.ceil(0.01 * len(own) - 1e-9)) - 1]

    def cells(row):  # a value alone is a pair with itself
        filled = [(at, value) for at, value in enumerate(row) if value is not None]
        return {*combinations(filled, 2), *filled}

    def is_new(row, others):
        return not cells(row) <= set().union(*map(cells, others))

    return {
        "pairs_mean": np.mean(distances) if distances else 0.0,
        "pairs_largest": max(distances, default=0.0),
        "new_pairs": np.mean([is_new(row, known) for row in drawn]),
        "below_1_percent": (logs < bound).mean(),
        "below_all": (logs < own[0]).mean(),
        "copied": np.mean([row in known for row in drawn]),
    }, {
        "new_pairs": np.mean([is_new(row, known[:at] + known[at + 1 :] or [()]) for at, row in enumerate(known)]),
        "copied": np.mean([row in known[:at] + known[at + 1 :] for at, row in enumerate(known)]),
    }


@settings(max_examples=30)
@given(problems(max_nodes=5, max_card=3), st.integers(1, 20), st.integers(0, 99))
def test_measures_equal_their_definitions(problem, n, seed):
    tree, codes, _ = problem
    table = frame_of(tree, codes)
    drawn = np.random.default_rng(seed).integers(0, 2, (n, codes.shape[1])) % tree.cards[~tree.latent]
    drawn = np.where(codes[np.arange(n) % len(codes)] < 0, -1, drawn)
    found = alikeness(tree, encode_for(tree, table), drawn, np.random.default_rng(0)).table
    rows, new_rows = slow(tree, table, frame_of(tree, drawn))
    np.testing.assert_allclose(found["rows"], list(rows.values()), atol=1e-12)
    for name, value in new_rows.items():
        assert found.loc[name, "new_rows"] == pytest.approx(value), name


def test_rows_have_the_columns_and_types_of_the_table():
    table = SURVEY.astype({"vote": "category", "educ": "int8", "selfLR": "float32"})
    table["weight"] = 1.0
    found = synthesise(table, 50, model=Baseline("chow_liu").fit(SURVEY), random_state=0)
    assert found.rows.columns.tolist() == SURVEY.columns.tolist()
    assert (found.rows.dtypes == table.dtypes[SURVEY.columns]).all()
    assert len(synthesise(SURVEY, model=Baseline("chow_liu").fit(SURVEY)).rows) == len(SURVEY)


@pytest.mark.parametrize("form", [lambda frame: frame.to_numpy(), encode], ids=["array", "encoded"])
def test_tables_of_any_form(form):
    table = form(SURVEY)
    found = synthesise(table, 50, model=Baseline("chow_liu").fit(table), random_state=0)
    assert found.rows.shape == (50, 4)
    assert set(found.rows.iloc[:, 0]) <= set(SURVEY["vote"])


def test_cells_are_missing_only_if_asked_for():
    rng = np.random.default_rng(0)
    table = SURVEY.where(rng.random(SURVEY.shape) > 0.2)
    model = Baseline("chow_liu", prior=0.1).fit(table)
    full, partial = (synthesise(table, 2000, model=model, missing_cells=some, random_state=0) for some in (False, True))
    assert not full.rows.isna().any().any()
    np.testing.assert_allclose(partial.rows.isna().mean(), 0.2, atol=0.05)
    assert partial.rows.where(partial.rows.notna(), full.rows).equals(full.rows.astype(partial.rows.dtypes))
    pd.testing.assert_frame_equal(full.alikeness, partial.alikeness)  # both are compared with missing cells
    assert set(map(str, partial.rows.dtypes)) == {"float64"}
    coded = table.fillna(-1).astype("int64")
    found = synthesise(coded, 20, model=Baseline("chow_liu", prior=0.1).fit(coded, missing=-1), missing_cells=True)
    assert set(map(str, found.rows.dtypes)) <= {"int64", "Int64"}


def test_same_seed_same_rows_and_the_default_model():
    few = HiddenChowLiu(n_states=2, random_state=0, show_progress=False).fit(SURVEY)
    one, other, third = (synthesise(SURVEY, 200, model=few, random_state=seed) for seed in (1, 1, 2))
    assert one.rows.equals(other.rows)
    assert one.alikeness.equals(other.alikeness)
    assert not one.rows.equals(third.rows)
    assert one.model is few
    found = synthesise(SURVEY[["vote", "PID", "selfLR"]], 10, random_state=0, show_progress=False)
    assert isinstance(found.model, HiddenChowLiu)


def test_a_weight_is_a_repeated_row():
    weights = np.random.default_rng(0).integers(0, 4, len(SURVEY))
    model = Baseline("chow_liu", prior=0.1).fit(SURVEY)
    repeated = SURVEY.loc[SURVEY.index.repeat(weights)]
    one = synthesise(SURVEY, 300, model=model.tree_, sample_weight=weights, random_state=0)
    other = synthesise(repeated, 300, model=model.tree_, random_state=0)
    assert one.rows.equals(other.rows)
    pd.testing.assert_frame_equal(one.alikeness, other.alikeness)


def test_the_true_model_is_as_alike_as_new_rows():
    item = [[0.9, 0.1], [0.2, 0.8]]
    tree = LatentTree(["H", *"abcdef"], [[0, 1]] * 7, [-1, *[0] * 6], [True, *[False] * 6], [[[0.5, 0.5]], *[item] * 6])
    parts = []
    for seed in range(10):
        table = sample(tree, 1000, random_state=seed)
        parts.append(synthesise(table, 500, model=tree, random_state=100 + seed).alikeness.drop(columns="meaning"))
    found = sum(parts) / len(parts)
    assert found.loc["pairs_mean", "synthetic"] == pytest.approx(found.loc["pairs_mean", "new_rows"], rel=0.15)
    assert found.loc["copied", "synthetic"] == pytest.approx(found.loc["copied", "new_rows"], abs=0.02)
    assert found.loc["below_1_percent", "synthetic"] == pytest.approx(0.01, abs=0.01)
    apart = synthesise(table, 1000, model=Baseline("independence").fit(table), random_state=1).alikeness
    assert apart.loc["pairs_mean", "synthetic"] > 3 * apart.loc["pairs_mean", "new_rows"]


def test_a_model_that_repeats_rows_is_found_out():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (40, 12)), columns=[f"c{at}" for at in range(12)])
    states = [list(range(40)), *[[0, 1]] * 12]
    items = [np.stack([table[name] == 0, table[name] == 1], axis=1).astype(float) for name in table]
    parrot = LatentTree(
        ["H", *table], states, [-1, *[0] * 12], [True, *[False] * 12], [np.full((1, 40), 1 / 40), *items]
    )
    found = synthesise(table, 500, model=parrot, random_state=0).alikeness.loc["copied"]
    assert found["synthetic"] == 1
    assert found["new_rows"] < 0.1


def test_one_column():
    found = synthesise(SURVEY[["vote"]], 10, model=Baseline("independence").fit(SURVEY[["vote"]]), random_state=0)
    assert found.furthest_pair == ()
    assert found.alikeness.loc["pairs_mean", "synthetic"] == 0
    assert "differ most" not in repr(found)


def test_numbers_of_rows_are_checked():
    with pytest.raises(ValueError, match="n is 0"):
        synthesise(SURVEY, 0)


def test_copies_are_no_alarm_where_no_row_of_the_table_occurs_twice():
    design = pd.DataFrame(list(product([0, 1, 2], repeat=4)), columns=list("wxyz"))
    options = {"n": 40, "random_state": 0}
    found = synthesise(design, model=Baseline("independence").fit(design), **options)
    assert found.alikeness.loc["copied", ["synthetic", "new_rows"]].tolist() == [1.0, 0.0]
    assert "no row of the table occurs twice" in repr(found)
    again = pd.concat([design, design], ignore_index=True)
    assert "occurs twice" not in repr(synthesise(again, model=Baseline("independence").fit(again), **options))


def test_rows_are_drawn_from_mixtures_as_well():
    trees = [Baseline(method, prior=0.1).fit(SURVEY).tree_ for method in ("chow_liu", "independence")]
    mixture = TreeMixture(trees, [0.7, 0.3])
    found = synthesise(SURVEY, 200, model=mixture, random_state=0)
    assert found.rows.dtypes.equals(SURVEY.dtypes)
    expected, _ = slow(mixture, SURVEY, found.rows)
    for name in ("pairs_mean", "below_1_percent", "copied"):
        assert found.alikeness.loc[name, "synthetic"] == pytest.approx(expected[name], abs=1e-9)
