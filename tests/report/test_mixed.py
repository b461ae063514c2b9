"""Reports about models with numbers: parameters of densities, and ranges wherever shares are shown."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, unusual_rows
from pgmpy_latent.report.mixed_facts import N_BINS
from pgmpy_latent.report.page import gather, page


@pytest.fixture(scope="module")
def learner():
    rng = np.random.default_rng(0)
    ill = rng.integers(2, size=120)
    frame = pd.DataFrame(
        {
            "sex": np.where(rng.random(120) < 0.2 + 0.6 * ill, "f", "m"),
            "pressure": rng.normal(120 + 30 * ill, 10),
            "visits": rng.poisson(1 + 8 * ill),
        }
    )
    frame.loc[:4, "pressure"] = np.nan
    learner = RandomStarts(n_states=2, n_starts=2, random_state=0, show_progress=False)
    return learner.fit(frame, kinds={"visits": "poisson"})


def test_figures_are_those_of_densities_and_shares_those_of_ranges(learner):
    facts = gather(learner)
    assert facts.scores["log_likelihood"] == pytest.approx(learner.log_likelihood_)
    assert facts.scores["n_parameters"] == learner.n_parameters_
    assert facts.independence["n_parameters"] == 1 + 2 + 1
    node, at = facts.tree.index("pressure"), facts.data.columns.index("pressure")
    assert facts.tree.cards[node] == facts.data.cards[at] == N_BINS
    assert np.allclose(facts.shares[node], facts.column_shares[at], atol=0.1)
    assert (facts.data.codes[:, at] < 0).sum() == (facts.table.codes[:, at] < 0).sum()
    drawn = learner.sample(20_000, random_state=0, latents=True)
    bound = float(facts.data.state_names[at][0].removeprefix("up to "))
    for state, row in enumerate(facts.tree.tables[node]):
        values = drawn.loc[drawn["H"] == state, "pressure"]
        assert (values <= bound).mean() == pytest.approx(row[0], abs=0.02)


def test_other_rows_may_be_held_against_the_model(learner):
    rows = learner.sample(50, random_state=0)
    facts = gather(learner, rows)
    assert facts.scores["log_likelihood"] == pytest.approx(learner.score_samples(rows).sum())
    assert "held against 50 rows" in page(facts)


def test_the_page_has_a_table_of_parameters_and_the_call_that_reads_numbers_again(learner):
    text = page(gather(learner))
    assert 'id="numbers"' in text
    for _, row in learner.emissions_.iterrows():
        assert f"{row['mean']:.4g}" in text
    assert "kinds={" in text
    assert "poisson" in text
    assert "Dispersion" not in text  # no column has one
    frame = pd.DataFrame({"visits": np.random.default_rng(0).negative_binomial(2, 0.3, 80), "sex": ["f", "m"] * 40})
    other = RandomStarts(n_states=2, n_starts=2, random_state=0, show_progress=False)
    assert "Dispersion" in page(gather(other.fit(frame, kinds={"visits": "negative_binomial"})))


def test_unusual_rows_on_a_page_are_unusual_by_the_ranges_of_their_numbers(learner, tmp_path):
    learner.report(tmp_path / "report.html", rows=3)
    text = (tmp_path / "report.html").read_text()
    assert "Numbers count here by the range that they are in, also where rows are said to be unusual" in text
    found = json.loads(re.search(r'id="what-if-data">(.*?)</script>', text)[1])["rows"]["list"]
    facts = gather(learner, rows=3)
    expected = unusual_rows(facts.model, facts.data, 3, show_progress=False)
    assert [row["label"] for row in found] == [str(label) for label in expected.index]
    assert [row["log"] for row in found] == pytest.approx(expected["log_likelihood"].tolist())


def test_rows_that_are_given_have_the_ranges_of_the_table(learner):
    facts = gather(learner)
    rows = pd.DataFrame({"sex": ["f", "m", "m"], "pressure": [1e3, -1e3, np.nan], "visits": [0, 500, 4]})
    data, labels, n = gather(learner, rows=rows).rows
    at = data.columns.index("pressure")
    assert data.codes[data.row_index, at].tolist() == [N_BINS - 1, 0, -1]
    assert data.state_names == facts.data.state_names
    assert (labels, n) == ([0, 1, 2], 3)
