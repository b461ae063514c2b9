"""The section of the report about covariates and outcomes."""

import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, datasets, relate
from pgmpy_latent.exceptions import DataError


@pytest.fixture(scope="module")
def survey():
    table = datasets.load_anes96()
    return table.assign(**{"<income>": table["income"].cat.codes, "educ": table["educ"].astype(str)})


@pytest.fixture(scope="module")
def learner(survey):
    return RandomStarts(n_states=2, n_starts=2, random_state=0).fit(survey[["vote", "PID", "selfLR"]])


def written(learner, tmp_path, relations):
    learner.report(tmp_path / "report.html", relations=relations)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_covariates_and_outcomes_have_a_section(learner, survey, tmp_path):
    found = [
        relate(learner, survey, ["<income>", "educ"]),
        relate(learner, survey, "<income>", "outcome", correction="bch"),
        relate(learner, survey, "educ", "outcome"),
    ]
    page = written(learner, tmp_path, found)
    assert 'href="#relations"' in page
    section = page.partition('<section id="relations"')[2].partition("</section>")[0]
    assert "Does the class depend on &lt;income&gt;, educ? Three steps, modal assignment, ML; 944 rows" in section
    assert "Does &lt;income&gt; differ between the classes? Three steps, modal assignment, BCH" in section
    row = found[0].coefficients.iloc[1]
    assert f"{row['odds_ratio']:.3f}" in section
    assert f"{found[1].means['mean'].iloc[0]:.2f}" in section
    assert section.count("<table") == 6


def test_what_came_out_negative_is_said(learner, survey, tmp_path):
    likely = learner.predict_proba(survey[["vote", "PID", "selfLR"]]).to_numpy()
    table = survey.assign(rare=pd.Series(likely[:, 0] > 0.995).map({True: "yes", False: "no"}))
    with pytest.warns(UserWarning, match="negative"):
        found = relate(learner, table, "rare", "outcome", correction="bch")
    assert "came out as -" in written(learner, tmp_path, found)


def test_without_relations_there_is_no_section_and_other_things_are_refused(learner, tmp_path):
    assert "The classes and other columns" not in written(learner, tmp_path, ())
    with pytest.raises(TypeError, match=r"relations has a str; give what relate\(learner, table, z\) returns"):
        written(learner, tmp_path, ["income"])


def test_huge_odds_ratios_are_powers_of_ten(learner, survey, tmp_path):
    likely = learner.predict_proba(survey[["vote", "PID", "selfLR"]]).to_numpy().argmax(axis=1)
    with pytest.warns(UserWarning, match="tells some class apart without error"):
        found = relate(learner, survey, pd.Series(likely, name="likely"))
    ratio = found.coefficients["odds_ratio"].iloc[1]
    assert ratio > 1e6
    assert f"{ratio:.0e}" in written(learner, tmp_path, found)


def test_relations_of_other_models_are_refused(learner, survey, tmp_path):
    columns = ["vote", "PID", "selfLR"]
    more = RandomStarts(n_states=3, n_starts=2, random_state=0).fit(survey[columns])
    for kind in ("covariate", "outcome"):
        with pytest.raises(DataError, match=r"relate for 3 classes, but .* 'H' has 2 states"):
            written(learner, tmp_path, relate(more, survey, "<income>", kind))
    other = RandomStarts(n_states=2, n_starts=2, random_state=0).fit(survey[[*columns[:2], "ClinLR"]])
    with pytest.raises(DataError, match=r"relate for other columns than .* differ in 'ClinLR', 'selfLR'; give"):
        written(learner, tmp_path, relate(other, survey, "<income>"))
