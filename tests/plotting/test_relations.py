"""Pictures of relations show the right numbers."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentTree, plotting, relate, sample

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def found():
    tables = [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * 4]
    tree = LatentTree(["H", *"abcd"], [["low", "high"], *[[0, 1]] * 4], [-1, 0, 0, 0, 0], [True, *[False] * 4], tables)
    rows = sample(tree, 300, latents=True, random_state=0)
    rng = np.random.default_rng(0)
    rows["age"] = 40 + 10 * (rows["H"] == "high") + rng.normal(0, 10, 300)
    rows["sex"] = np.where(rng.random(300) < 0.5, "f", "m")
    rows = rows.drop(columns="H")
    return {
        "covariates": relate(tree, rows, ["age", "sex"], steps=2),
        "mean": relate(tree, rows, "age", "outcome"),
        "share": relate(tree, rows, "sex", "outcome"),
    }


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_class_sizes_against_a_number(found):
    ax = plotting.plot_class_sizes(found["covariates"], "age", [30, 40, 50])
    expected = found["covariates"].class_sizes("age", [30, 40, 50])
    for line, name in zip(ax.get_lines(), ["low", "high"], strict=True):
        assert line.get_ydata() == pytest.approx(expected.loc[expected["class"] == name, "size"].to_numpy())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["low", "high"]


def test_class_sizes_of_categories(found):
    ax = plotting.plot_class_sizes(found["covariates"], "sex")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["f", "m"]
    assert len(ax.containers) == 2


def test_outcomes(found):
    ax = plotting.plot_outcome(found["mean"])
    assert ax.containers[0].lines[0].get_ydata() == pytest.approx(found["mean"].means["mean"].to_numpy())
    ax = plotting.plot_outcome(found["share"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["f", "m"]


def test_other_things_are_refused(found):
    with pytest.raises(TypeError, match=r"relation is an int; give what relate\(learner, table, z\) returns"):
        plotting.plot_class_sizes(3)
    with pytest.raises(TypeError, match='relate\\(learner, table, z, "outcome"\\) returns'):
        plotting.plot_outcome(found["covariates"])
    with pytest.raises(ValueError, match="name one of the covariates"):
        plotting.plot_class_sizes(found["covariates"])


def test_intervals_lie_between_zero_and_one(found):
    sizes = found["covariates"].class_sizes("age")
    assert isinstance(sizes, pd.DataFrame)
    assert ((sizes["lower"] > 0) & (sizes["upper"] < 1) & (sizes["lower"] < sizes["size"])).all()


def test_marks_of_shares_of_nothing_and_all_are_whole(found):
    ax = plotting.plot_outcome(found["share"])
    low, high = ax.get_ylim()
    assert (low, high) == pytest.approx((-0.03, 1.03))
