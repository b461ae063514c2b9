"""All scores at once, and where each of them is shown."""

import re
from dataclasses import asdict, make_dataclass
from dataclasses import fields as dataclass_fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from pgmpy_latent import RandomStarts, compare_classes, plotting, scores
from pgmpy_latent.cli.compare import comparison_lines
from pgmpy_latent.em import fit as em
from pgmpy_latent.em import starts
from pgmpy_latent.inference.queries import encode_for, engine_for, posterior, sample
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.fit_section import fit_section
from pgmpy_latent.report.html import decimal
from pgmpy_latent.scores import all_scores
from tests.support.scored_tables import TOLERANCE, frame_of, latent_class, scored_tables


def test_impossible_rows():
    tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False], [[[0.5, 0.5]], [[1.0, 0], [1.0, 0]]])
    table = pd.DataFrame({"x": ["a", "b"]})
    found = scores.summary(tree, table)
    for name in ("log_likelihood", "bic", "aic", "caic", "adjusted_bic", "icl", "cheeseman_stutz", "effective_bic"):
        assert getattr(found, name) == -np.inf, name
    assert scores.icl(tree, table) == -np.inf
    assert np.isnan(found.relative_entropy)
    assert np.isnan(found.classification_entropy)


@given(scored_tables())
def test_a_weight_equals_a_repeated_row(problem):
    tree, codes, _, weights = problem
    weights = np.ceil(weights).astype(int)
    table = frame_of(tree, codes)
    weighted = asdict(scores.summary(tree, table, sample_weight=weights, weight_kind="frequency", effective=False))
    repeated = asdict(scores.summary(tree, table.loc[np.repeat(table.index, weights)], effective=False))
    assert weighted.keys() == repeated.keys()
    for name, value in weighted.items():
        if value is not None:
            np.testing.assert_allclose(value, repeated[name], **TOLERANCE, err_msg=name)


@given(scored_tables())
def test_summary_agrees_with_the_single_scores(problem):
    tree, codes, _, weights = problem
    data = encode_for(tree, frame_of(tree, codes), sample_weight=weights, weight_kind="frequency")
    found = asdict(scores.summary(tree, data, prior=2.0, random_state=3))
    assert found.pop("total_weight") == pytest.approx(weights.sum())
    assert found.pop("n_parameters") == scores.n_parameters(tree)
    assert found.pop("effective_dimension") == scores.effective_dimension(tree, random_state=3)
    assert found.pop("cheeseman_stutz") == scores.cheeseman_stutz(tree, data, prior=2.0)
    for name, value in found.items():
        np.testing.assert_allclose(value, getattr(scores, name)(tree, data), **TOLERANCE, err_msg=name)


# A published example


def test_survey_of_values(data_folder):
    """Goodman's four questions on role conflict, two classes: numbers that poLCA prints too."""
    table = pd.read_csv(data_folder / "polca_values.csv")
    items, weights = table.drop(columns="count"), table["count"].to_numpy()
    shape = latent_class(2, 2, 2, 2, 2)
    names = ["class", *items.columns]
    tree = LatentTree(names, [[0, 1], *[[1, 2]] * 4], shape.parent, shape.latent, shape.tables)
    engine = engine_for(tree, encode_for(tree, items, sample_weight=weights, weight_kind="frequency"))
    rng = np.random.default_rng(0)
    fitted = em.fit(engine, np.array([starts.random_tables(engine.layout, rng) for _ in range(5)]), atol=1e-6)
    tree = tree.with_tables(engine.layout.unpack(fitted.tables))
    found = scores.summary(tree, items, sample_weight=weights, weight_kind="frequency")
    assert found.total_weight == 216
    assert (found.n_parameters, found.effective_dimension) == (9, 9)
    assert found.log_likelihood == pytest.approx(-504.4677, abs=1e-4)
    assert found.bic == pytest.approx(-528.656, abs=1e-3)
    assert -2 * found.aic == pytest.approx(1026.935, abs=1e-3)
    classes = posterior(tree, items).to_numpy()
    entropy = -(weights[:, None] * classes * np.log(classes)).sum()
    assert found.relative_entropy == pytest.approx(1 - entropy / (216 * np.log(2)))
    assert found.icl == pytest.approx(found.bic - entropy)


# A score is added in one place


@pytest.fixture
def half_of_aic(monkeypatch):
    """A score of its own, for the time of a test: an entry of SCORES and a field of Summary."""
    own = scores.Score(
        "half of AIC", "LL − d/2", lambda parts: parts.total - parts.d / 2, for_networks=True, in_terminal=True, drawn=9
    )
    monkeypatch.setitem(scores.SCORES, "half_of_aic", own)
    longer = make_dataclass("Summary", [("half_of_aic", float)], bases=(scores.Summary,), frozen=True)
    monkeypatch.setattr(all_scores, "Summary", longer)


@pytest.mark.usefixtures("half_of_aic")
def test_a_new_score_is_in_the_summary_and_the_report_of_a_tree():
    tree = latent_class(2, 2, 2, 2)
    table = sample(tree, 50, random_state=0)
    expected = scores.log_likelihood(tree, table) - tree.n_parameters / 2
    assert scores.summary(tree, table).half_of_aic == pytest.approx(expected)
    assert row_of_report(tree, table, "Half of AIC")[:3] == ["LL − d/2", decimal(expected), decimal(-2 * expected)]


@pytest.mark.usefixtures("half_of_aic")
def test_a_new_score_is_in_the_report_of_a_network():
    rng = np.random.default_rng(1)
    tables = [[[0.5, 0.5]], [[0.5, 0.5]], rng.dirichlet(np.ones(2), 4)]
    network = LatentNetwork(["x", "y", "z"], [[0, 1]] * 3, [(), (), (0, 1)], [False] * 3, tables)
    table = sample(network, 50, random_state=0)
    expected = scores.log_likelihood(network, table) - network.n_parameters / 2
    assert row_of_report(network, table, "Half of AIC")[1] == decimal(expected)


@pytest.mark.usefixtures("half_of_aic")
def test_a_new_score_is_in_a_comparison_in_the_terminal_and_in_pictures(monkeypatch):
    table = sample(latent_class(2, 2, 2, 2), 50, random_state=0)
    compared = compare_classes(table, [1, 2], n_starts=2, show_progress=False)
    expected = compared["log_likelihood"] - compared["n_parameters"] / 2
    np.testing.assert_allclose(compared["half_of_aic"], expected)
    monkeypatch.setenv("COLUMNS", "200")
    assert "half of AIC" in comparison_lines(compared)[0]
    monkeypatch.setenv("COLUMNS", "60")
    assert any("no room for" in line and "half of AIC" in line for line in comparison_lines(compared))
    drawn = [text.get_text() for text in plotting.plot_comparison(compared).get_legend().get_texts()]
    assert drawn == ["BIC", "adjusted BIC", "CAIC", "AIC", "ICL", "half of AIC"]


def row_of_report(model, table, title):
    """Return the cells of a row of the report's table of scores, after the first."""
    rows = re.findall("<tr>(.*?)</tr>", fit_section(Facts(model, encode_for(model, table))), re.DOTALL)
    cells = [[re.sub("<[^>]+>", "", cell) for cell in re.findall("<t[dh].*?</t[dh]>", row, re.DOTALL)] for row in rows]
    return next(row[1:] for row in cells if row[0] == title)


def test_every_score_has_a_function_of_its_name_and_a_field_of_the_summary():
    fields = {field.name for field in dataclass_fields(scores.Summary)}
    assert {*scores.SCORES} <= fields & {*scores.__all__}


def test_documentation_names_all_scores():
    assert all(f"``{name}``" in compare_classes.__doc__ for name in scores.compared_scores())
    assert "by default ``bic``, ``adjusted_bic``, ``caic``, ``aic`` and ``icl``." in plotting.plot_comparison.__doc__


def test_learners_are_scored_like_their_models():
    table = sample(latent_class(2, 2, 3, 2, 2), 50, random_state=0)
    learner = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table)
    assert scores.n_parameters(learner) == learner.n_parameters_
    for score in (scores.cheeseman_stutz, scores.icl, scores.relative_entropy, scores.classification_entropy):
        assert score(learner, table) == score(learner.tree_, table)
    assert scores.summary(learner, table, effective=False) == scores.summary(learner.tree_, table, effective=False)
