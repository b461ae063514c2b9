"""The section of the report about groups."""

import pytest

from pgmpy_latent import RandomStarts, compare_groups, datasets
from pgmpy_latent.report import write_report


@pytest.fixture(scope="module")
def found():
    survey = datasets.load_anes96()[["vote", "PID", "selfLR"]].rename(columns={"vote": "<vote>"})
    return compare_groups(survey, "<vote>", 2, n_starts=2, show_progress=False)


@pytest.fixture(scope="module")
def learner():
    return RandomStarts(n_states=2, random_state=0, n_starts=2).fit(datasets.load_anes96()[["PID", "selfLR", "educ"]])


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


def test_other_things_are_refused(learner, tmp_path):
    with pytest.raises(TypeError, match=r"groups is a str; give what compare_groups\(X, group, n_states\) returns"):
        learner.report(tmp_path / "report.html", groups="vote")
