"""Reports of latent transition models, and of classes at two levels."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import latent_transition, multilevel_classes, plotting
from pgmpy_latent.report import write_report

matplotlib.use("Agg")
QUIET = {"show_progress": False, "random_state": 0, "n_starts": 2}


def panel() -> pd.DataFrame:
    """Return answers of 60 people at three times, some of which are missing."""
    rng = np.random.default_rng(0)
    state = (rng.random(60) < 0.4).astype(int)
    rows = []
    for wave in (1, 2, 3):
        state = np.where(rng.random(60) < 0.2, 1 - state, state)
        for person in range(60):
            answers = rng.random(2) < (0.9 if state[person] else 0.1)
            rows.append((person, wave, *np.where(answers, "<yes>", "no")))
    table = pd.DataFrame(rows, columns=["id", "wave", "x", "y"])
    table.loc[::7, "x"] = None
    return table


@pytest.fixture(scope="module")
def transitions():
    return {by_time: latent_transition(panel(), "id", "wave", ["x", "y"], 2, by_time, **QUIET) for by_time in (0, 1)}


@pytest.fixture(scope="module")
def levels():
    return multilevel_classes(panel(), "id", 2, 2, items=["x", "y"], **QUIET)


def sections(found, tmp_path) -> dict[str, str]:
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "script-src" in page
    assert "src=" not in page
    assert "nan" not in page.partition("<body>")[2].partition("<script>")[0]
    parts = page.split('<section id="')[1:]
    found = {part.partition('"')[0]: part.partition("</section>")[0] for part in parts}
    assert all(f'href="#{anchor}"' in page for anchor in found)
    return found | {"top": page.partition('<section id="')[0].partition("<body>")[2]}


@pytest.mark.parametrize("by_time", [0, 1])
def test_transitions(transitions, by_time, tmp_path):
    found = transitions[by_time]
    parts = sections(found, tmp_path)
    assert set(parts) == {"top", "states", "moves", "shares", "fit", "reproduce"}
    assert (
        f"180 rows of 60 people at 3 times, 2 items. Transitions are {['equal', 'different'][by_time]}" in parts["top"]
    )
    assert f"{found.log_likelihood_:,.2f}".replace("-", "−") in parts["top"]
    for share in found.transitions_.to_numpy().ravel():
        assert f"{share:.1%}" in parts["moves"] or share < 0.001 or share > 0.999
    assert parts["moves"].count("<table>") == (2 if by_time else 1)
    assert ("From 2 to 3" in parts["moves"]) == bool(by_time)
    for share in found.shares_.to_numpy().ravel():
        assert f"{share:.3f}" in parts["shares"]
    for share in found.profiles_.to_numpy().ravel():
        assert f"{share:.3f}" in parts["states"]
    assert "&lt;yes&gt;" in parts["states"]
    assert "BIC has N = 60, the number of people" in parts["fit"]
    assert f"{found.estimator_.n_best_} of 2" in parts["fit"]
    missing = panel()[["x", "y"]].isna().mean(axis=None)
    assert f"{missing:.1%}" in parts["fit"]


def test_levels(levels, tmp_path):
    parts = sections(levels, tmp_path)
    assert set(parts) == {"top", "clusters", "classes", "fit", "reproduce"}
    assert "2 classes in 2 clusters of groups" in parts["top"]
    assert f"{levels.bic_groups_:,.2f}".replace("-", "−") in parts["top"]
    for share in [*levels.cluster_shares_, *levels.class_shares_.to_numpy().ravel()]:
        assert f"{share:.1%}" in parts["clusters"] or share < 0.001 or share > 0.999
    likeliest = levels.groups().idxmax(axis=1)
    for cluster in (0, 1):
        assert f">{(likeliest == cluster).sum()}</td>" in parts["clusters"]
    for share in levels.profiles_.to_numpy().ravel():
        assert f"{share:.3f}" in parts["classes"]
    assert "BIC by groups has N = 60" in parts["fit"]


def test_weights_are_said(tmp_path):
    table = panel().assign(w=lambda rows: rows["id"] % 2 + 1)
    found = latent_transition(table, "id", "wave", ["x", "y"], 2, sample_weight="w", weight_kind="frequency", **QUIET)
    parts = sections(found, tmp_path)
    assert "frequency weights of people, which sum to 90" in parts["fit"]
    assert "BIC has N = 90" in parts["fit"]


def test_a_stopped_fit_is_said(tmp_path):
    with pytest.warns(UserWarning, match="time_limit"):
        found = latent_transition(panel(), "id", "wave", ["x", "y"], 2, time_limit=1e-9, **QUIET)
    assert "The time limit stopped EM: this is the best model so far." in sections(found, tmp_path)["top"]


def test_other_arguments_are_refused(levels, tmp_path):
    for name, value in {"X": panel(), "sample_weight": [1.0], "relations": [3], "strata": "s"}.items():
        with pytest.raises(ValueError, match=f"{name} is not for a MultilevelClasses, which has its table with it"):
            write_report(levels, tmp_path / "report.html", **{name: value})


def test_the_picture_of_clusters(levels):
    ax = plotting.plot_clusters(levels)
    heights = np.array([[bar.get_height() for bar in group] for group in ax.containers]).T
    assert heights == pytest.approx(levels.class_shares_.to_numpy())
    assert [bar.get_width() for bar in ax.containers[0]] == pytest.approx(levels.cluster_shares_.tolist())
    plt.close("all")
    with pytest.raises(TypeError, match="found is an int; give what multilevel_classes returns"):
        plotting.plot_clusters(3)
