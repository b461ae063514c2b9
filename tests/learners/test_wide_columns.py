"""Columns of thousands of categories: nothing takes the square of their number, or rows times categories."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgmpy_latent import HLTA, BinA, BinG, FindHidden, RandomStarts, StructuralEM, TreeEM, log_likelihood

QUIET = {"random_state": 0, "show_progress": False}


def answers(n_rows, n_towns, seed=0):
    """Return four columns that go together, and one of many categories, each of which tells the group of its rows."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n_rows)
    found = {name: np.where(rng.random(n_rows) < 0.8, group, 1 - group) for name in "abcd"}
    town = rng.permutation(np.arange(n_rows) % n_towns)
    found["town"] = np.char.add("t", (town // 2 * 2 + group).astype(str))
    return pd.DataFrame(found)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cells", ["known", "missing"])
@pytest.mark.parametrize("learner", [RandomStarts, HLTA, BinA, BinG, StructuralEM, FindHidden])
def test_learners_hold_no_square_of_the_categories(learner, cells):
    """4,000 categories squared are 128 MB, and 8,000 rows of them 256 MB."""
    table = answers(8000, 4000)
    if cells == "missing":
        table["town"] = table["town"].mask(np.arange(8000) % 20 == 0)
    tracemalloc.start()
    try:
        learner(time_limit=3, **QUIET).fit(table, allow_many_states=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1e8


@pytest.mark.parametrize("learner", [BinA, BinG, HLTA])
def test_wide_columns_are_joined_by_what_they_say(learner):
    """A column of 300 categories, each of which says which group a row is of, belongs with the columns it goes with."""
    found = learner(**QUIET).fit(answers(6000, 300), allow_many_states=True)
    tree = found.tree_
    assert tree.parent[tree.index("town")] >= 0
    assert found.log_likelihood_ == pytest.approx(log_likelihood(tree, answers(6000, 300)), rel=1e-9)
    alone = BinG(**QUIET).fit(answers(6000, 300)[["town"]], allow_many_states=True)
    rest = learner(**QUIET).fit(answers(6000, 300)[list("abcd")])
    assert found.log_likelihood_ > alone.log_likelihood_ + rest.log_likelihood_ + 1000


@pytest.mark.parametrize("edge", [("a", "town"), ("town", "a")])
def test_an_edge_to_a_wide_column_is_fitted_by_counting(edge):
    table = answers(6000, 2200)[["a", "town"]]
    fitted = TreeEM(seed=0, n_init=1, show_progress=False).fit(DAG([edge]), table)
    above, below = edge
    expected = pd.crosstab(table[below], table[above], normalize="columns")
    [found] = [one for one in fitted.parameters_ if one.variable == below]
    frame = pd.DataFrame(found.get_values(), found.state_names[below], found.state_names[above])
    np.testing.assert_allclose(frame.loc[expected.index, expected.columns], expected, atol=1e-12)


def test_a_wide_column_alone_has_the_shares_of_its_known_cells():
    table = answers(6000, 2200)[["town"]]
    table["town"] = table["town"].mask(np.arange(6000) % 3 == 0)
    network = DAG()
    network.add_nodes_from(["town"])
    fitted = TreeEM(seed=0, n_init=1, show_progress=False).fit(network, table)
    expected = table["town"].value_counts(normalize=True)
    [found] = fitted.parameters_
    shares = pd.Series(found.get_values()[:, 0], found.state_names["town"])
    np.testing.assert_allclose(shares[expected.index], expected, atol=1e-7)
    counts = table["town"].value_counts()
    assert fitted.log_likelihoods_[-1] == pytest.approx(float(counts @ np.log(expected[counts.index])), rel=1e-9)
