"""What fitted learners say about the weights, strata and clusters of their tables."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import Baseline, FindHidden, RandomStarts, SplitMerge, datasets, scores


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 2, (80, 3)), columns=list("abc"))
    return table.assign(w=rng.lognormal(0, 0.5, 80), region=np.arange(80) % 2, village=np.arange(80) // 4)


def printed(learner, capsys):
    learner.summary()
    return capsys.readouterr().out


def test_notebooks_and_summaries_name_kind_effective_rows_strata_and_clusters(survey, capsys):
    learner = RandomStarts(n_states=1).fit(survey, sample_weight="w", strata="region", cluster="village")
    kish = survey["w"].sum() ** 2 / (survey["w"] ** 2).sum()
    units = "Rows were drawn from strata (strata='region') and in clusters (cluster='village'): standard errors"
    page = learner._repr_html_().replace("&#x27;", "'")
    for text in (printed(learner, capsys), page):
        assert f"Sampling weights: 80 rows count as {kish:.4g} in log-likelihood and BIC" in text
        assert units in text
    assert "weight_kind=&quot;sampling&quot;" in page


def test_values_need_no_names_and_nothing_is_said_of_plain_tables(survey, capsys):
    rows = survey[["a", "b", "c"]]
    learner = Baseline("independence").fit(rows, cluster=survey["village"].to_numpy())
    assert "Rows were drawn in clusters: standard errors" in printed(learner, capsys)
    plain = Baseline("independence").fit(rows)
    for text in (printed(plain, capsys), plain._repr_html_()):
        assert "weights:" not in text
        assert "Rows were drawn" not in text


@pytest.mark.parametrize("learner", [FindHidden, SplitMerge], ids=lambda one: one.__name__)
def test_a_summary_has_the_score_of_the_search_where_that_is_not_bic(learner, capsys):
    table = datasets.load_anes96()[["PID", "selfLR", "vote"]]
    other = {} if learner is FindHidden else {"scoring_method": "aic"}
    fitted = learner(random_state=0, show_progress=False, **other).fit(table)
    fitted.summary()
    assert f", score {fitted.score_:,.2f} (what the search maximised), " in capsys.readouterr().out
    learner(random_state=0, show_progress=False, scoring_method="bic").fit(table).summary()
    assert "what the search maximised" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "prior"),
    [
        (lambda: FindHidden(scoring_method="bde"), 0.5),
        (lambda: FindHidden(scoring_method="bde", prior=2.0), 2.0),
        (lambda: SplitMerge(scoring_method="cs"), 1.0),
    ],
    ids=["bde", "bde with a prior", "cs"],
)
def test_a_score_says_its_prior_with_which_cheeseman_stutz_is_the_same(make, prior, capsys):
    table = datasets.load_anes96()[["PID", "selfLR", "vote"]]
    fitted = make().set_params(random_state=0, show_progress=False).fit(table)
    fitted.summary()
    words = " ".join(capsys.readouterr().out.split())
    assert f", with {prior:g} as the prior of every table entry" in words
    assert ("unlike scores.cheeseman_stutz, which has 1" in words) == (prior != 1)
    assert scores.cheeseman_stutz(fitted, table, prior=prior) == pytest.approx(fitted.score_, rel=1e-9)


def test_an_equivalent_sample_size_is_called_so(capsys):
    table = datasets.load_anes96()[["PID", "selfLR", "vote"]]
    FindHidden(scoring_method="bdeu", random_state=0, show_progress=False).fit(table).summary()
    words = " ".join(capsys.readouterr().out.split())
    assert ", with an equivalent sample size of 10 in every table as its prior, unlike scores.cheeseman_stutz" in words
