"""What a page knows for its what-if section, maps of topics, and pages of models that come without a table."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentNetwork, LatentTree, RandomStarts, datasets, explore, sample, unusual_rows, write_report
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.operators import marginals
from pgmpy_latent.report.facts import Facts, no_rows
from pgmpy_latent.report.page import gather
from pgmpy_latent.report.topics_section import squarified
from pgmpy_latent.report.what_if_section import elimination_order, rows_data, what_if_data
from pgmpy_latent.testing import latent_networks, latent_trees, mixed_trees
from tests.report.test_page import HOSTILE, QUIET, large_tree, read

TREE = LatentTree(
    ["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [-1, 0, 0], [True, False, False],
    [[[0.5, 0.5]], [[0.98, 0.02], [0.02, 0.98]], [[0.9, 0.1], [0.1, 0.9]]],
)  # fmt: skip
TABLE = pd.DataFrame({"x": ["a", "b", "a"], "y": ["c", "c", None]}, index=["p", "q", "r"])


def facts_of(model):
    return Facts(model, no_rows(model))


@given(st.one_of(latent_trees(max_nodes=6), latent_networks(max_nodes=5)))
@settings(max_examples=25, deadline=None)
def test_the_page_has_every_digit_of_every_table(model):
    facts = facts_of(model)
    found = json.loads(json.dumps(what_if_data(facts)))["nodes"]
    for node, entry in enumerate(found):
        assert np.reshape(entry["table"], facts.model.tables[node].shape).tolist() == facts.model.tables[node].tolist()
        assert tuple(entry["parents"]) == tuple(facts.model.parents[node])
        assert entry["hidden"] == bool(facts.model.latent[node])


@given(st.one_of(latent_trees(max_nodes=6), latent_networks(max_nodes=6)))
@settings(max_examples=25, deadline=None)
def test_every_node_is_summed_out_once_and_no_table_is_larger_than_told(model):
    facts = facts_of(model)
    order, largest = elimination_order(facts)
    assert sorted(order) == list(range(model.n_nodes))
    families = [{node, *above} for node, above in enumerate(facts.model.parents)]
    cards, sizes = facts.model.cards, []
    for node in order:
        clique = set().union(*(family for family in families if node in family))
        families = [family for family in families if node not in family] + [clique - {node}]
        sizes.append(int(np.prod([cards[one] for one in clique])))
    assert max(sizes) == largest


@given(mixed_trees())
@settings(max_examples=10, deadline=None)
def test_numbers_are_left_unanswered(model):
    facts = facts_of(model)
    entries = what_if_data(facts)["nodes"]
    numeric = [node for node, entry in enumerate(entries) if not entry["states"]]
    assert all(set(entries[node]["table"]) <= {1} for node in numeric)
    assert elimination_order(facts)[1] <= facts.model.cards.max() ** 2


def test_wide_networks_are_said_to_be_too_wide(tmp_path, monkeypatch):
    names, rng = [*"abcdef", "z"], np.random.default_rng(0)
    tables = [np.full((1, 3), 1 / 3)] * 6 + [rng.dirichlet(np.ones(2), 3**6)]
    network = LatentNetwork(
        names, [[0, 1, 2]] * 6 + [[0, 1]], [()] * 6 + [tuple(range(6))], [True] + [False] * 6, tables
    )
    write_report(network, tmp_path / "report.html")
    assert "Choose answers" in read(tmp_path / "report.html").text
    monkeypatch.setattr("pgmpy_latent.report.what_if_section.MOST_ENTRIES", 1000)
    write_report(network, tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    assert "Left out: exact posteriors of this model need tables with 1,458 entries, too many for a page" in text


def test_intervals_are_those_of_standard_errors():
    learner = RandomStarts(n_states=2, n_starts=4, **QUIET).fit(datasets.load_anes96()[["PID", "vote", "age"]])
    facts = gather(learner)
    errors = facts.standard_errors[0].set_index(["node", "parent_state", "state"])
    nodes = what_if_data(facts)["nodes"]
    for node, entry in enumerate(nodes):
        n = len(entry["states"])
        for at, (low, high) in enumerate(zip(entry["low"], entry["high"], strict=True)):
            above = facts.tree.state_names[entry["parents"][0]][at // n] if entry["parents"] else None
            name, state = facts.tree.names[node], facts.tree.state_names[node][at % n]
            row = facts.standard_errors[0]
            row = row[(row["node"] == name) & (row["state"] == state)]
            row = row[row["parent_state"].isna() if above is None else row["parent_state"] == above]
            expected = row[["lower", "upper"]].to_numpy(float)[0]
            np.testing.assert_allclose(np.array([low, high], float), expected, atol=5.1e-5)
    assert len(errors) == sum(len(entry["low"]) for entry in nodes)
    assert "low" not in what_if_data(gather(learner.tree_))["nodes"][0]


def test_rows_are_there_only_if_asked_for(tmp_path):
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(datasets.load_anes96().iloc[:200, :4])
    assert what_if_data(gather(learner))["rows"] is None
    assert len(what_if_data(gather(learner, rows=3))["rows"]["list"]) == 3


@pytest.mark.parametrize("rows", [3, TABLE])
def test_rows_are_those_of_unusual_rows(rows):
    found = rows_data(gather(TREE, TABLE, rows=rows))
    expected = unusual_rows(TREE, TABLE)
    assert [row["label"] for row in found["list"]] == expected.index.tolist()
    np.testing.assert_allclose([row["log"] for row in found["list"]], expected["log_likelihood"])
    np.testing.assert_allclose([row["share"] for row in found["list"]], expected["share"])
    assert [TREE.names[node] for node in found["columns"]] == ["x", "y"]
    assert {row["label"]: row["codes"] for row in found["list"]} == {"p": [0, 0], "q": [1, 0], "r": [0, -1]}


def test_mistakes_about_rows(tmp_path):
    path = tmp_path / "report.html"
    for wrong in (True, "all"):
        with pytest.raises(TypeError, match="give a table of rows, or how many"):
            write_report(TREE, path, TABLE, rows=wrong)
    with pytest.raises(ValueError, match="rows is 0; give at least 1"):
        write_report(TREE, path, TABLE, rows=0)
    with pytest.raises(DataError, match="there is no table to take them from"):
        write_report(TREE, path, rows=2)
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_boxes_of_a_treemap_fill_it_by_their_sizes(sizes, width, height):
    sizes = sorted(sizes, reverse=True)
    boxes = np.array(squarified(sizes, (1.0, 2.0, float(width), float(height))))
    np.testing.assert_allclose(boxes[:, 2] * boxes[:, 3], np.array(sizes) * width * height / sum(sizes), rtol=1e-9)
    left, top, right, bottom = boxes[:, 0], boxes[:, 1], boxes[:, 0] + boxes[:, 2], boxes[:, 1] + boxes[:, 3]
    assert left.min() >= 1 - 1e-9
    assert top.min() >= 2 - 1e-9
    assert right.max() <= 1 + width + 1e-9
    assert bottom.max() <= 2 + height + 1e-9
    for at in range(len(boxes)):  # no two boxes overlap
        apart = (
            (left >= right[at] - 1e-9)
            | (right <= left[at] + 1e-9)
            | (top >= bottom[at] - 1e-9)
            | (bottom <= top[at] + 1e-9)
        )
        assert np.delete(apart, at).all()


def test_a_wide_tree_has_a_map_of_its_topics(tmp_path):
    write_report(large_tree(20, 200), tmp_path / "report.html")
    found = read(tmp_path / "report.html")
    assert "20 hidden variables with columns of their own" in found.text
    assert sum(value.startswith("G") and "10 columns" in value and ": x" in value for value in found.values) == 20
    write_report(large_tree(4, 20), tmp_path / "report.html")
    assert "Topics" not in read(tmp_path / "report.html").text


def test_a_model_without_a_table_says_what_it_knows(tmp_path):
    write_report(TREE, tmp_path / "report.html")
    found = read(tmp_path / "report.html")
    assert "1 hidden variable, 2 columns, 5 parameters. No table came with this model" in found.text
    assert set(found.ids) >= {"tree", "what-if", "latents"}
    assert not {"fit", "data", "search", "checklist"} & set(found.ids)
    assert "By the model" in found.text  # its own shares, as nothing else is known
    assert "In the table" not in found.text


def test_hostile_names_and_rows_stay_text(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: np.array(HOSTILE[:3])[rng.integers(0, 3, 40)] for name in HOSTILE}, index=HOSTILE[:1] * 40
    )
    learner = RandomStarts(n_states=2, n_starts=1, **QUIET).fit(frame)
    write_report(learner, tmp_path / "report.html", frame, rows=frame.head(3))
    read(tmp_path / "report.html")


def test_a_notebook_shows_it_in_a_frame():
    shown = explore(RandomStarts(n_states=2, n_starts=1, **QUIET).fit(datasets.load_anes96().iloc[:100, :3]), rows=2)
    frame = shown._repr_html_()
    assert re.fullmatch(
        r'<iframe srcdoc="[^"<>]*" height="760" title="Model" sandbox="allow-scripts" style="[^"]*"></iframe>', frame
    )
    for anchor in ("tree", "what-if"):
        assert f'id="{anchor}"' in shown.page
    for anchor in ("fit", "data", "latents"):
        assert f'id="{anchor}"' not in shown.page
    with pytest.raises(ValueError, match="height"):
        explore(TREE, height=0)
    assert len(repr(shown)) < 100
    assert explore(TREE, sample(TREE, 5, random_state=0)).page.startswith("<!DOCTYPE html>")


def test_shares_say_whether_they_are_the_models_or_counted(tmp_path):
    """With missing cells the two differ: of the cells that are known, half are yes."""
    rng = np.random.default_rng(0)
    kind = rng.random(300) < 0.5
    frame = pd.DataFrame({name: np.where(rng.random(300) < 0.9, kind, ~kind) for name in "abc"}).astype(object)
    frame.loc[kind & (rng.random(300) < 0.6), "a"] = None
    learner = RandomStarts(n_states=2, n_starts=4, **QUIET).fit(frame)
    learner.report(tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    counted, expected = frame["a"].dropna().astype(bool).mean(), marginals(learner.tree_)[learner.tree_.index("a")][1]
    assert expected - counted > 0.1
    assert "Shares of states, and of categories within them, are by the model; “in the table” are shares" in text
    assert "All shares here are by the model: what it expects of a new row, and not what is counted" in text
    assert "Shares of known cells" in text
    assert f"in the table: {1 - counted:.0%}" in text
    assert "Share, by the model" in text


def test_shares_of_states_of_a_network_are_means_over_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=list("abc"))
    network = LatentNetwork(
        ["H", "a", "b", "c"], [[0, 1]] * 4, [(), (0,), (0, 1), (1, 2)], [True, False, False, False],
        [[[0.5, 0.5]], [[0.8, 0.2], [0.3, 0.7]], [[0.5, 0.5], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]],
         [[0.5, 0.5], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]]],
    )  # fmt: skip
    write_report(network, tmp_path / "report.html", frame)
    text = read(tmp_path / "report.html").text
    assert "Share, over the rows" in text
    assert "are means over the rows of the table, each of which counts for a state as much as it probably" in text
