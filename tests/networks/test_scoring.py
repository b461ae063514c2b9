"""What learners of networks maximise: one registry each, from which settings, documentation and reports take names."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgmpy_latent import AgglomerativeCardinality, FindHidden, StructuralEM
from pgmpy_latent.networks import scoring
from pgmpy_latent.networks.agglomeration import merging

QUIET = {"random_state": 0, "show_progress": False}
ABOVE_ALL = DAG([("H", name) for name in "xyz"], latents={"H"})


def survey(n=200):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n) > 0
    return pd.DataFrame({name: group ^ (rng.random(n) < 0.1) for name in "xyz"})


@pytest.fixture
def dear(monkeypatch):
    """A score of its own for all learners of networks, for the time of a test: a parameter costs 100."""
    own = scoring.NetworkScorer(
        "the dear score",
        "a criterion of our own",
        lambda prior: lambda counts, total: scoring.bic_score(counts, total) - 100 * counts[:, 1:].size,
        lambda network, data, total, prior, engine: total - 100 * network.n_parameters,
        pseudo_count=0.25,
    )
    monkeypatch.setitem(scoring.SCORERS, "dear", own)
    merge = replace(merging.SCORERS["mdl"], title=own.title, sentence=own.sentence, network="dear")
    monkeypatch.setitem(merging.SCORERS, "dear", merge)


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize(
    "learner",
    [
        StructuralEM(scoring_method="dear", **QUIET),
        FindHidden(scoring_method="dear", **QUIET),
        AgglomerativeCardinality(ABOVE_ALL, scoring_method="dear", **QUIET),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_new_score_is_maximised_and_named_in_the_report(learner, tmp_path):
    learner.fit(survey())
    assert learner.score_ == pytest.approx(learner.log_likelihood_ - 100 * learner.n_parameters_)
    assert learner.n_parameters_ == 3  # columns that do not depend on each other
    learner.report(tmp_path / "report.html")
    assert "(the dear score; larger is better)" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("dear")
def test_a_new_score_brings_its_pseudo_count():
    table = pd.DataFrame({"x": [0] * 9 + [1], "y": [0, 1] * 5})
    network = StructuralEM(scoring_method="dear", **QUIET).fit(table).network_
    np.testing.assert_allclose(network.tables[network.index("x")], [[9.25 / 10.5, 1.25 / 10.5]])


@pytest.mark.usefixtures("dear")
def test_messages_name_a_new_score():
    with pytest.raises(ValueError, match="scoring_method is 'best'; give 'bde', 'bdeu', 'bic' or 'dear'"):
        StructuralEM(scoring_method="best").fit(survey())
    with pytest.raises(ValueError, match="scoring_method is 'best'; give 'bde', 'mdl' or 'dear'"):
        AgglomerativeCardinality(ABOVE_ALL, scoring_method="best").fit(survey())


def test_unknown_scores_are_refused_and_not_replaced_by_another():
    with pytest.raises(ValueError, match="scoring_method is 'mdl'; give 'bde', 'bdeu' or 'bic'"):
        scoring.family_score("mdl", 1.0)
    with pytest.raises(ValueError, match="scoring_method is 'mdl'; give 'bde', 'bdeu' or 'bic'"):
        scoring.network_score(None, None, 0.0, "mdl", 1.0)
    with pytest.raises(ValueError, match="method is 'bic'; give 'bde' or 'mdl'"):
        merging.Scoring(None, "bic", 1.0)


def test_the_report_names_the_score_of_agglomeration(tmp_path):
    learner = AgglomerativeCardinality(ABOVE_ALL, scoring_method="mdl", **QUIET).fit(survey())
    learner.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(BIC; larger is better)" in text
    assert "by the description length of the completed table (MDL) and the BIC of the fitted network" in text


@pytest.mark.parametrize(
    ("learner", "names"),
    [
        (StructuralEM, '{"bic", "bde", "bdeu"}'),
        (FindHidden, '{"bde", "bdeu", "bic"}'),
        (AgglomerativeCardinality, '{"bde", "mdl"}'),
    ],
)
def test_documentation_names_all_scores(learner, names):
    assert f"scoring_method : {names}\n" in learner.__doc__
