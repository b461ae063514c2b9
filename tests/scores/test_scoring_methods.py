"""What searches for trees maximise: one registry, from which settings, documentation and reports take names."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, SplitMerge, presets, scores
from pgmpy_latent.tables.encode import encode

QUIET = {"random_state": 0, "show_progress": False}


def survey(n=200):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n) > 0
    return pd.DataFrame({name: group ^ (rng.random(n) < 0.1) for name in "xyz"})


@pytest.fixture
def twice_aic(monkeypatch):
    """A score of its own, for the time of a test: parameters cost twice as much as in AIC."""
    own = scores.TreeScorer(
        "AIC twice", "a criterion of our own", lambda data: lambda tree, total: total - 2 * tree.n_parameters
    )
    monkeypatch.setitem(scores.SCORERS, "aic2", own)


@pytest.mark.usefixtures("twice_aic")
@pytest.mark.parametrize(
    "learner",
    [
        SplitMerge(scoring_method="aic2", **QUIET),
        RandomStarts(scoring_method="aic2", n_starts=4, **QUIET),
    ],
    ids=repr,
)
def test_a_new_score_is_maximised_and_named_in_the_report(learner, tmp_path):
    learner.fit(survey())
    assert learner.score_ == pytest.approx(learner.log_likelihood_ - 2 * learner.n_parameters_)
    learner.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "(AIC twice; larger is better)" in text
    assert "chosen by the search, by a criterion of our own" in text


@pytest.mark.usefixtures("twice_aic")
def test_tunings_take_a_new_score():
    tuning = presets.SPLIT_MERGE.replace(scoring_method="aic2")
    learner = SplitMerge(tuning=tuning, **QUIET).fit(survey())
    assert learner.score_ == pytest.approx(learner.log_likelihood_ - 2 * learner.n_parameters_)


@pytest.mark.usefixtures("twice_aic")
def test_messages_name_a_new_score():
    with pytest.raises(ValueError, match="is 'best'; give 'bic', 'aic', 'cs', 'aic2' or a function of tree and data"):
        RandomStarts(scoring_method="best").fit(survey())
    with pytest.raises(ValueError, match=r"'cs', 'aic2', 'heldout', HeldOut\(...\) or a function of tree and data"):
        SplitMerge(scoring_method="best").fit(survey())


def test_unknown_scores_are_refused_and_not_replaced_by_another():
    with pytest.raises(ValueError, match="scoring_method is 'best'; give 'bic', 'aic', 'cs' or a function"):
        scores.tree_scorer("best", encode(survey()))


def test_documentation_names_all_scores():
    assert 'scoring_method : {"bic", "aic", "cs"} or callable' in RandomStarts.__doc__
    for documented in (SplitMerge, presets.SplitMergeTuning):
        assert 'scoring_method : {"bic", "aic", "cs", "heldout"}, HeldOut or callable' in documented.__doc__
