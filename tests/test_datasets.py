"""The tables that the package offers, against the raw numbers that statsmodels ships."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import datasets, encode
from pgmpy_latent.datasets import load_anes96


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
