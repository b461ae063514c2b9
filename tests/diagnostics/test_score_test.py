"""Score tests of edges, against the definition by enumeration."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from pgmpy_latent import LatentNetwork, encode, sample
from pgmpy_latent.diagnostics import score_test
from pgmpy_latent.diagnostics.score_test import ScoreTest, ScoreTests, edge_tests, with_edge
from pgmpy_latent.em.fit import fit
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.inference.queries import encode_for, engine_for
from tests.support import reference


def group_model(n_items=4, n_groups=2, states=2):
    """Return a network group -> class -> columns; the classes are far apart."""
    groups = np.linspace(0.7, 0.3, n_groups)
    item = np.full((2, states), 0.15 / (states - 1))
    item[0, 0] = item[1, -1] = 0.85
    names = [f"x{number}" for number in range(n_items)]
    tables = [np.full((1, n_groups), 1 / n_groups), np.stack([groups, 1 - groups], axis=1), *[item] * n_items]
    return LatentNetwork(
        ["g", "H", *names],
        [range(n_groups), [0, 1], *[range(states)] * n_items],
        [(), (0,), *[(1,)] * n_items],
        [False, True, *[False] * n_items],
        tables,
    )


def fitted(model, table, **options):
    data = encode_for(model, table, **options)
    engine = engine_for(model, data)
    found = fit(engine, engine.layout.pack(model.tables), atol=1e-8)
    return model.with_tables(engine.layout.unpack(found.tables)), data


def with_gaps(table, share, seed=1):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share).astype("Int64")


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("edge", [("g", "x1"), ("x0", "x1"), ("x1", "x0")])
def test_statistics_equal_the_definition(edge, missing, monkeypatch):
    monkeypatch.setattr(score_test, "FEWEST_EXPECTED", 0.0)
    table = with_gaps(sample(group_model(), 150, random_state=3), missing)
    model, data = fitted(group_model(), table)
    test = ScoreTests(model, data).edge(*edge)
    expected = reference.score_statistic(model, with_edge(model, *edge), data.codes, data.weights)
    assert test.df == 2
    assert test.statistic == pytest.approx(expected, rel=2e-4)


def test_an_edge_says_the_same_both_ways():
    model, data = fitted(group_model(states=3), sample(group_model(states=3), 800, random_state=0))
    there, back = edge_tests(model, data, [("x0", "x1"), ("x1", "x0")])
    assert there.df == back.df == 8
    assert there.statistic == pytest.approx(back.statistic, rel=1e-5)


def test_without_hidden_variables_it_is_pearsons_test():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 3, 80), "y": rng.integers(0, 2, 80)})
    counts = pd.crosstab(table["x"], table["y"]).to_numpy()
    shares = [counts.sum(axis=1)[None] / 80, counts.sum(axis=0)[None] / 80]
    model = LatentNetwork(["x", "y"], [[0, 1, 2], [0, 1]], [(), ()], [False] * 2, shares)
    test = ScoreTests(model, encode(table)).edge("x", "y")
    pearson = chi2_contingency(counts, correction=False)
    assert test.statistic == pytest.approx(pearson.statistic)
    assert test.p_value == pytest.approx(pearson.pvalue)


def test_a_weight_is_a_repeated_row():
    table = sample(group_model(), 60, random_state=2)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    model, data = fitted(group_model(), table, sample_weight=weights)
    _, repeated = fitted(group_model(), table.loc[table.index.repeat(weights)])
    once, again = (ScoreTests(model, rows).edge("g", "x0") for rows in (data, repeated))
    assert once.statistic == pytest.approx(again.statistic, rel=1e-9)


def test_probabilities_at_the_boundary_cost_no_degrees_of_freedom():
    tables = list(group_model().tables)
    tables[2] = np.array([[1.0, 0.0], [0.3, 0.7]])
    certain = group_model().with_tables(tables)
    certain, data = fitted(certain, sample(certain, 500, random_state=0))
    assert certain.table("x0")[0, 1] == 0
    assert [test.df for test in edge_tests(certain, data, [("g", "x0"), ("g", "x1")])] == [1, 2]


def test_a_state_that_never_occurs_costs_no_degrees_of_freedom():
    table = sample(group_model(n_groups=3), 300, random_state=0)
    table = table[table["g"] < 2]
    model, data = fitted(group_model(n_groups=3), table)
    assert ScoreTests(model, data).edge("g", "x0").df == 2


def test_an_edge_that_cannot_be_told_from_classes_has_few_degrees_of_freedom():
    model = group_model(n_items=3)
    names = ["H", "x0", "x1", "x2"]
    tree = LatentNetwork(names, [[0, 1]] * 4, [(), (0,), (0,), (0,)], [True, False, False, False],
                         [np.array([[0.5, 0.5]]), *model.tables[2:]])  # fmt: skip
    tree, data = fitted(tree, sample(tree, 500, random_state=0))
    test = ScoreTests(tree, data).edge("x0", "x1")  # three columns of two states: the classes say all there is
    assert test == ScoreTest(0.0, 0)
    assert np.isnan(test.p_value)


def test_rows_drawn_from_the_model_serve_where_there_are_many_cells(monkeypatch):
    model, data = fitted(group_model(), with_gaps(sample(group_model(), 200, random_state=0), 0.05))
    exact = ScoreTests(model, data).edge("x0", "x1")
    monkeypatch.setattr(score_test, "MOST_CELLS", 10)
    drawn = ScoreTests(model, data).edge("x0", "x1")
    assert drawn.df == exact.df
    assert drawn.statistic == pytest.approx(exact.statistic, rel=0.1)


EDGES = [("g", "x0"), ("x0", "x1")]
DESIGNS = {
    "weights": {"sample_weight": "w", "weight_kind": "sampling"},
    "strata": {"sample_weight": "w", "weight_kind": "sampling", "strata": "s"},
    "clusters": {"cluster": "c"},
    "all": {"sample_weight": "w", "weight_kind": "sampling", "strata": "s", "cluster": "c"},
}


def survey(n_rows, seed=3, missing=0.0):
    """Return a table with columns for weights, strata and clusters, of which the second half are alike."""
    table = with_gaps(sample(group_model(), n_rows, random_state=seed), missing)
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, n_rows // 6, n_rows)
    shared = table.iloc[np.unique(clusters, return_index=True)[1][np.unique(clusters, return_inverse=True)[1]]]
    table = table.mask(pd.Series(clusters % 2 == 1), shared.reset_index(drop=True))
    return table.assign(w=rng.gamma(2, size=n_rows), s=clusters % 3, c=clusters)


def columns_of(table, design):
    return {key: table[value].to_numpy() if key != "weight_kind" else value for key, value in design.items()}


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("edge", [("g", "x1"), ("x0", "x1")])
def test_with_a_design_statistics_equal_the_definition(edge, design, missing, monkeypatch):
    monkeypatch.setattr(score_test, "FEWEST_EXPECTED", 0.0)
    table = survey(180, missing=missing)
    drawn = columns_of(table, DESIGNS[design])
    table = table.drop(columns=list("wsc"))
    model, data = fitted(group_model(), table, **drawn)
    test = ScoreTests(model, data).edge(*edge)
    weights = drawn.get("sample_weight", np.ones(180))
    strata = drawn.get("strata", np.zeros(180))
    expected = reference.design_score_statistic(
        model,
        with_edge(model, *edge),
        edge[1],
        table[list(model.observed_names)].fillna(-1).astype(int).to_numpy(),
        weights * weights.sum() / (weights**2).sum() if "sample_weight" in drawn else weights,
        strata,
        drawn.get("cluster", np.arange(180)),
    )
    assert test.df == 2
    assert test.statistic == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_equal_sampling_weights_are_no_weights(seed):
    table = sample(group_model(states=3), 100, random_state=seed)
    model, data = fitted(group_model(states=3), table)
    even = encode_for(model, table, sample_weight=np.full(100, 1.3), weight_kind="sampling")
    for plain, weighted in zip(*(edge_tests(model, rows, EDGES) for rows in (data, even)), strict=True):
        assert weighted.df == plain.df
        assert weighted.statistic == pytest.approx(plain.statistic, rel=1e-9)


@pytest.mark.parametrize("design", ["weights", "all"])
def test_the_scale_of_sampling_weights_means_nothing(design):
    table = survey(200)
    drawn = columns_of(table, DESIGNS[design])
    model, data = fitted(group_model(), table.drop(columns=list("wsc")), **drawn)
    drawn["sample_weight"] = drawn["sample_weight"] * 1e4
    scaled = encode_for(model, table.drop(columns=list("wsc")), **drawn)
    for test, again in zip(*(edge_tests(model, rows, EDGES) for rows in (data, scaled)), strict=True):
        assert again.df == test.df
        assert again.statistic == pytest.approx(test.statistic, rel=1e-9)


def test_rows_that_were_drawn_twice_count_once():
    table = sample(group_model(), 2_000, random_state=1)
    twice = pd.concat([table, table], ignore_index=True)
    model, data = fitted(group_model(), table)
    twins = encode_for(model, twice, cluster=np.tile(np.arange(2_000), 2))
    for once, again in zip(*(edge_tests(model, rows, EDGES) for rows in (data, twins)), strict=True):
        assert again.df == once.df
        assert again.statistic == pytest.approx(once.statistic, rel=1e-3)


def three_answers(n_rows, seed, copied=0.0):
    """Return a table of three unequal classes and five questions of three answers, and weights that differ."""
    rng = np.random.default_rng(seed)
    answers = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    table = sample(three_classes(answers), n_rows, random_state=rng)
    table["x1"] = table["x0"].where(rng.random(n_rows) < copied, table["x1"])
    return table, three_classes(answers), rng.gamma(4, size=n_rows)


def three_classes(answers):
    names = ["H", *[f"x{number}" for number in range(5)]]
    hidden = [True, *[False] * 5]
    return LatentNetwork(
        names, [range(3)] * 6, [(), *[(0,)] * 5], hidden, [np.array([[0.5, 0.3, 0.2]]), *[answers] * 5]
    )


def rejected_with_weights(n_tables, n_rows, copied=0.0):
    found = []
    for seed in range(n_tables):
        table, model, weights = three_answers(n_rows, seed, copied)
        model, data = fitted(model, table, sample_weight=weights, weight_kind="sampling")
        found.append([test.p_value < 0.05 for test in edge_tests(model, data, [("x0", "x1"), ("x2", "x3")])])
    return np.mean(found, axis=0)


def test_with_sampling_weights_and_rare_answers_tests_hold_their_level():
    share = rejected_with_weights(100, 300).mean()
    assert 0.0 < share < 0.12  # of 200 tests; four standard errors above 5 %


def test_with_sampling_weights_a_direct_effect_is_found():
    assert rejected_with_weights(20, 500, copied=0.3)[0] > 0.8


def test_a_model_of_another_table_is_refused():
    model = group_model()
    tables = list(model.tables)
    tables[2] = np.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ImpossibleRowError, match="rules out some rows of this table"):
        ScoreTests(model.with_tables(tables), encode_for(model, sample(model, 50, random_state=0)))


def test_tests_hold_their_level():
    rejected = []
    for seed in range(200):
        model, data = fitted(group_model(), sample(group_model(), 300, random_state=seed))
        rejected.append([test.p_value < 0.05 for test in edge_tests(model, data, [("g", "x0"), ("x0", "x1")])])
    shares = np.mean(rejected, axis=0)
    assert (shares > 0.01).all()
    assert (shares < 0.10).all()  # four standard errors above 5 %
