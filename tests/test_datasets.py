"""What there is to try: tables, against the raw numbers that statsmodels ships; models, by their rules."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import datasets, encode
from pgmpy_latent.datasets import _n_coins, _table_of_coins, coins, hlc_model, load_anes96
from pgmpy_latent.operators import is_regular
from tests.support import reference


@pytest.fixture(scope="module")
def raw():
    from statsmodels.datasets import anes96

    return anes96.load_pandas().data


@pytest.fixture(scope="module")
def table():
    return load_anes96()


def test_shape_and_types(table):
    assert table.shape == (944, 9)
    assert list(table.columns) == ["TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income", "vote"]
    for name in table:
        assert isinstance(table[name].dtype, pd.CategoricalDtype)
        assert table[name].cat.ordered
        assert all(isinstance(label, str) for label in table[name].cat.categories)
    assert not table.isna().any().any()


def test_every_category_occurs(table):
    for name in table:
        assert (table[name].value_counts() > 0).all()


@pytest.mark.parametrize(
    ("name", "number", "label"),
    [
        ("TVnews", 0, "Never"),
        ("TVnews", 7, "7 days"),
        ("selfLR", 1, "Extremely liberal"),
        ("ClinLR", 4, "Moderate"),
        ("DoleLR", 7, "Extremely conservative"),
        ("PID", 0, "Strong Democrat"),
        ("PID", 3, "Independent-Independent"),
        ("PID", 6, "Strong Republican"),
        ("educ", 1, "1-8 grades"),
        ("educ", 7, "PhD"),
        ("vote", 0, "Clinton"),
        ("vote", 1, "Dole"),
    ],
)
def test_labels_are_those_of_the_codebook(raw, table, name, number, label):
    np.testing.assert_array_equal((table[name] == label).to_numpy(), (raw[name] == number).to_numpy())


@pytest.mark.parametrize(
    ("name", "low", "high", "label"),
    [
        ("age", 19, 29, "18-29"),
        ("age", 30, 44, "30-44"),
        ("age", 45, 59, "45-59"),
        ("age", 60, 91, "60 and over"),
        ("income", 1, 10, "Below $15k"),
        ("income", 11, 14, "$15k-$25k"),
        ("income", 15, 17, "$25k-$40k"),
        ("income", 18, 20, "$40k-$60k"),
        ("income", 21, 24, "$60k and over"),
    ],
)
def test_bands_hold_what_they_say(raw, table, name, low, high, label):
    np.testing.assert_array_equal((table[name] == label).to_numpy(), raw[name].between(low, high).to_numpy())


def test_order_of_the_categories_is_that_of_the_numbers(raw, table):
    for name in table:
        codes = table[name].cat.codes.to_numpy()
        order = np.argsort(raw[name].to_numpy(), kind="stable")
        assert (np.diff(codes[order]) >= 0).all()


def test_it_can_be_encoded(table):
    data = encode(table)
    assert data.cards.tolist() == [8, 7, 7, 7, 7, 4, 7, 5, 2]
    assert data.total_weight == 944


def test_each_call_returns_a_table_of_its_own(table):
    other = load_anes96()
    del other["vote"]
    other.iloc[0, 0] = "Never"
    pd.testing.assert_frame_equal(table, load_anes96())


def test_statsmodels_loads_at_first_use():
    code = "import sys, pgmpy_latent.datasets; assert 'statsmodels' not in sys.modules and 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_name():
    assert datasets.load_anes96 is load_anes96
    assert datasets.hlc_model is hlc_model
    assert datasets.coins is coins


#: Number of observed variables -> children of every hidden variable, as in the figures 7.1 to 7.3 of the thesis.
FIGURES = {
    7: {"H1": "H2 H3 D4", "H2": "D1 D2 D3", "H3": "D5 D6 D7"},
    12: {
        "H1": "H2 H3", "H2": "H4 H5", "H3": "H6 H7",
        "H4": "D1 D2 D3", "H5": "D4 D5 D6", "H6": "D7 D8 D9", "H7": "D10 D11 D12",
    },
    18: {
        "H1": "H2 H3 H4", "H2": "H5 H6", "H3": "H7 H8", "H4": "H9 H10",
        "H5": "D1 D2 D3", "H6": "D4 D5 D6", "H7": "D7 D8 D9",
        "H8": "D10 D11 D12", "H9": "D13 D14 D15", "H10": "D16 D17 D18",
    },
}  # fmt: skip
HIDDEN_CARDS = {7: [3] * 3, 12: [2] * 3 + [3] * 4, 18: [2] * 4 + [3] * 6}


@pytest.mark.parametrize("n_variables", [7, 12, 18])
@pytest.mark.parametrize("strong", [False, True])
def test_structure_of_the_models(n_variables, strong):
    tree = hlc_model(n_variables, random_state=0, strong=strong)
    assert tree.latent_names == tuple(FIGURES[n_variables])
    assert tree.observed_names == tuple(f"D{at}" for at in range(1, n_variables + 1))
    assert {name: " ".join(tree.children(name)) for name in tree.latent_names} == FIGURES[n_variables]
    assert [tree.names[root] for root in tree.roots] == ["H1"]
    assert tree.cards.tolist() == HIDDEN_CARDS[n_variables] + [3] * n_variables
    assert all(states == tuple(range(len(states))) for states in tree.state_names)
    assert is_regular(tree) == (n_variables != 12)  # two binary neighbours leave a binary root nothing to do


def conditional_tables(tree):
    return [table for table, above in zip(tree.tables, tree.parent, strict=True) if above >= 0]


@pytest.mark.parametrize("n_variables", [7, 12, 18])
@pytest.mark.parametrize("seed", range(50))
def test_strong_models_keep_both_rules(n_variables, seed):
    for table in conditional_tables(hlc_model(n_variables, random_state=seed)):
        assert table.max(axis=1).min() >= 0.6
        assert len(set(table.argmax(axis=1))) > 1
        assert len(set(table.argmax(axis=0))) > 1  # what the thesis says by the letter, which follows


def test_weak_models_keep_neither_rule():
    tables = [
        table for seed in range(50) for table in conditional_tables(hlc_model(7, random_state=seed, strong=False))
    ]
    rows = np.concatenate(tables)
    assert len(rows) == 50 * 9 * 3
    # of the rows that are uniform on the simplex, 3 * 0.4² = 48 % have an entry of at least 0.6; by symmetry, a ninth
    # of the tables have all maxima in one column
    assert (rows.max(axis=1) >= 0.6).mean() == pytest.approx(0.48, abs=4 * np.sqrt(0.48 * 0.52 / len(rows)))
    together = np.mean([len(set(table.argmax(axis=1))) == 1 for table in tables])
    assert together == pytest.approx(1 / 9, abs=4 * np.sqrt(8 / 81 / len(tables)))
    assert all(len(set(table.argmax(axis=0))) > 1 for table in tables)  # the letter holds for any table


def test_roots_are_drawn_without_rules():
    largest = [hlc_model(7, random_state=seed).table("H1").max() for seed in range(200)]
    assert np.mean(np.array(largest) >= 0.6) == pytest.approx(0.48, abs=4 * np.sqrt(0.48 * 0.52 / 200))


def test_strong_rows_are_uniform_where_they_may_be():
    rows = np.concatenate([hlc_model(7, random_state=seed).table("D1") for seed in range(200)])
    assert (rows.argmax(axis=1)[:, None] == np.arange(3)).mean(axis=0) == pytest.approx(1 / 3, abs=0.08)
    # uniform on the corner where the largest entry is at least 0.6: the mass beyond has the density 2x / 0.4²
    assert (1 - rows.max(axis=1)).mean() == pytest.approx(2 / 3 * 0.4, abs=4 * 0.4 / np.sqrt(18 * len(rows)))


def test_seeds_fix_the_model():
    for strong in (False, True):
        assert hlc_model(12, random_state=3, strong=strong) == hlc_model(12, random_state=3, strong=strong)
        assert hlc_model(12, random_state=3, strong=strong) != hlc_model(12, random_state=4, strong=strong)
    rng = np.random.default_rng(3)
    assert hlc_model(12, random_state=rng) == hlc_model(12, random_state=3)
    assert hlc_model(12, random_state=rng) != hlc_model(12, random_state=3)  # the generator has moved on
    assert hlc_model(7) != hlc_model(7)


@pytest.mark.parametrize("n_variables", [0, 8, "7", None])
def test_other_numbers_of_variables_are_refused(n_variables):
    with pytest.raises(
        ValueError, match=f"no model with {n_variables!r} observed variables; n_variables is 7, 12 or 18"
    ):
        hlc_model(n_variables)


#: Name -> (number of coins, bits of every column, bits that pairs of columns share).
COINS = {
    "binary_forest": (8, [2, 2, 2, 3, 3], {"x1 x2": 1, "x3 x4": 1, "x3 x5": 1, "x4 x5": 2}),
    "three_level_binary": (
        7,
        [3, 3, 3, 3],
        {"x1 x2": 2, "x3 x4": 2, "x1 x3": 1, "x1 x4": 1, "x2 x3": 1, "x2 x4": 1},
    ),
    "three_coins": (3, [2, 2, 2], {"x1 x2": 1, "x2 x3": 1, "x1 x3": 1}),
    "six_coins": (6, [3, 3, 3, 3], {"x1 x2": 2, "x3 x4": 2, "x1 x3": 1, "x2 x4": 1}),
}


def bits(table):
    """Return the entropy of equally likely rows."""
    shares = table.value_counts(normalize=True).to_numpy()
    shares = shares[shares > 0]
    return -(shares * np.log2(shares)).sum()


@pytest.mark.parametrize("name", COINS)
def test_bits_of_all_flips_of_the_coins(name):
    n_coins, of_columns, shared = COINS[name]
    assert _n_coins(name) == n_coins
    table = _table_of_coins(name, reference.joint_states([2] * n_coins))
    assert len(table) == 2**n_coins
    assert bits(table) == pytest.approx(n_coins)  # every flip can be told from the columns
    assert [bits(table[[column]]) for column in table] == pytest.approx(of_columns)
    for column in table:
        assert (table[column].value_counts() == len(table) / len(table[column].cat.categories)).all()
    for i, left in enumerate(table):
        for right in list(table)[i + 1 :]:
            common = bits(table[[left]]) + bits(table[[right]]) - bits(table[[left, right]])
            assert common == pytest.approx(shared.get(f"{left} {right}", 0), abs=1e-12), (left, right)


def test_six_coins_follow_their_formulas():
    a = reference.joint_states([2] * 6)
    a1, a2, a3, a4, a5, a6 = a.T
    table = _table_of_coins("six_coins", a).astype(int)
    np.testing.assert_array_equal(table["x1"], a1 + 2 * a3 + 4 * a5)
    np.testing.assert_array_equal(table["x2"], a2 + 2 * a3 + 4 * a5)
    np.testing.assert_array_equal(table["x3"], a1 + 2 * a4 + 4 * a6)
    np.testing.assert_array_equal(table["x4"], a2 + 2 * a4 + 4 * a6)


def test_leaves_carry_the_coins_on_their_path():
    table = _table_of_coins("binary_forest", reference.joint_states([2] * 8)).astype(int)
    assert (table["x1"] // 2 == table["x2"] // 2).all()  # the root's coin comes first
    assert (table["x4"] // 2 == table["x5"] // 2).all()
    assert (table["x3"] // 2 == table["x4"] // 4).all()
    table = _table_of_coins("three_level_binary", reference.joint_states([2] * 7)).astype(int)
    assert (table["x1"] // 2 == table["x2"] // 2).all()
    assert (table["x3"] // 2 == table["x4"] // 2).all()
    assert (table["x1"] // 4 == table["x3"] // 4).all()


@pytest.mark.parametrize("name", COINS)
def test_tables_of_coins(name):
    _, of_columns, _ = COINS[name]
    table = coins(name, 40, random_state=0)
    assert table.shape == (40, len(of_columns))
    assert list(table) == [f"x{at}" for at in range(1, len(of_columns) + 1)]
    assert all(table[column].cat.ordered for column in table)
    # all states are known, also of a table with few rows or none
    for few in (coins(name, 2), coins(name, 0)):
        assert [few[column].cat.categories.tolist() for column in few] == [list(range(2**bits)) for bits in of_columns]
    assert encode(coins(name, 2)).cards.tolist() == [2**bits for bits in of_columns]
    assert len(coins(name)) == 1000


def test_coins_are_fair():
    table = coins("three_coins", 40_000, random_state=1)
    for column in table:
        np.testing.assert_allclose(table[column].value_counts(normalize=True), 0.25, atol=0.01)
    assert bits(table) == pytest.approx(3, abs=0.01)


def test_seeds_fix_the_coins():
    first = coins("six_coins", 30, random_state=5)
    pd.testing.assert_frame_equal(first, coins("six_coins", 30, random_state=5))
    pd.testing.assert_frame_equal(first, coins("six_coins", 30, random_state=np.random.default_rng(5)))
    assert not first.equals(coins("six_coins", 30, random_state=6))


def test_other_coins_are_refused():
    with pytest.raises(ValueError, match="no coins called 'ten_coins'; name is one of 'binary_forest', 'three_level"):
        coins("ten_coins")
    for n in (-1, 2.0, True):
        with pytest.raises(ValueError, match=f"n is {n!r}; give a whole number of rows"):
            coins("six_coins", n)
