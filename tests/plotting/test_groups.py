"""The picture of what differs between groups."""

import matplotlib as mpl
import numpy as np
import pytest

from pgmpy_latent import compare_groups, datasets
from pgmpy_latent.plotting import plot_groups

mpl.use("Agg")


@pytest.fixture(scope="module")
def found():
    survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
    return compare_groups(survey, "vote", 2, n_starts=2, show_progress=False)


def test_lines_are_the_sizes_of_the_classes(found):
    ax = plot_groups(found, rung="sizes differ")
    drawn = np.array([line.get_ydata() for line in ax.lines])
    np.testing.assert_allclose(drawn.T, found.sizes("sizes differ"))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Clinton", "Dole"]
    assert (ax.get_xlabel(), ax.get_title(loc="left")) == ("vote", "sizes differ")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class 0", "class 1"]


def test_lines_are_the_probabilities_of_a_category(found):
    ax = plot_groups(found, "selfLR", rung="all differ")
    expected = found.profiles("all differ").loc[("selfLR", "Extremely conservative")].to_numpy().reshape(2, 2)
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines], expected.T)
    assert ax.get_ylabel() == "P(selfLR = Extremely conservative)"
    assert plot_groups(found, ax=ax) is ax


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"item": "age"}, "item is 'age'; give one of 'PID', 'selfLR'"),
        ({"item": "PID", "category": 9}, "category is 9; give one of 'Strong Democrat', 'Weak"),
        ({"rung": "most"}, "rung is 'most'; give one of 'nothing differs'"),
    ],
)
def test_mistakes_are_named(found, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_groups(found, **arguments)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"comparison is an int; give what compare_groups\(X, group, n\) returns"):
        plot_groups(3)
