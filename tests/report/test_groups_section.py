"""The section of the report about groups."""

import pytest

from pgmpy_latent import RandomStarts, compare_groups, datasets
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.report import write_report


@pytest.fixture(scope="module")
def found():
    survey = datasets.load_anes96()[["vote", "PID", "selfLR"]].rename(columns={"vote": "<vote>"})
    return compare_groups(survey, "<vote>", 2, n_starts=2, show_progress=False)


@pytest.fixture(scope="module")
def learner():
    return RandomStarts(n_states=2, random_state=0, n_starts=2).fit(datasets.load_anes96()[["PID", "selfLR"]])


def test_groups_have_a_section(found, learner, tmp_path):
    learner.report(tmp_path / "report.html", groups=found)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'href="#groups"' in page
    section = page.partition('<section id="groups"')[2].partition("</section>")[0]
    assert "Do the groups of &lt;vote&gt; differ? BIC is best where" in section
    assert section.count("(recommended)") == 1
    for words in ("sizes differ", "all differ", "Which items differ?", "selfLR", "Clinton", "class 1"):
        assert words in section


def test_without_groups_there_is_no_section(learner, tmp_path):
    write_report(learner, tmp_path / "report.html")
    assert "What differs between groups" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_it_says_where_bic_counts_fewer_rows(found, learner, tmp_path):
    learner.report(tmp_path / "report.html", groups=found)
    assert "BIC has N = 944 here, the rows with a group and some answer." in (tmp_path / "report.html").read_text(
        "utf-8"
    )
    table = datasets.load_anes96()[["vote", "PID", "selfLR"]].astype(object)
    table.loc[:2, ["PID", "selfLR"]] = None
    fewer = compare_groups(table, "vote", 2, n_starts=2, show_progress=False)
    assert fewer.total_weight == 941
    same = RandomStarts(n_states=2, random_state=0, n_starts=2).fit(table[["PID", "selfLR"]])
    same.report(tmp_path / "fewer.html", groups=fewer)
    page = (tmp_path / "fewer.html").read_text("utf-8")
    assert "BIC has N = 941 here" in page
    assert "that of the model at the top of this page has N = 944, all rows. So do not compare the two." in page


def test_results_for_other_models_are_refused(found, tmp_path):
    survey = datasets.load_anes96()
    other = RandomStarts(n_states=2, random_state=0, n_starts=2).fit(survey[["PID", "educ"]])
    with pytest.raises(DataError, match=r"compare_groups for other columns than .* differ in 'selfLR', 'educ'; give"):
        other.report(tmp_path / "report.html", groups=found)
    more = RandomStarts(n_states=3, random_state=0, n_starts=2).fit(survey[["PID", "selfLR"]])
    with pytest.raises(DataError, match=r"compare_groups for 2 classes, but .* 'H' has 3 states"):
        more.report(tmp_path / "report.html", groups=found)
    assert not (tmp_path / "report.html").exists()


def test_other_things_are_refused(learner, tmp_path):
    with pytest.raises(TypeError, match=r"groups is a str; give what compare_groups\(X, group, n_states\) returns"):
        learner.report(tmp_path / "report.html", groups="vote")
