"""Pictures of trees: nothing overlaps, nothing is left out silently, whatever the tree."""

import re
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import Baseline, GaussianBaseline, GaussianTree, LatentNetwork, LatentTree, RandomStarts, datasets
from pgmpy_latent.exceptions import NotATreeError
from pgmpy_latent.model.network import as_network
from pgmpy_latent.plotting import outline, plot_loadings, plot_profiles, plot_tree
from pgmpy_latent.plotting.outline import COLUMN, HIDDEN, INNER, NOTE, outlined, placed
from pgmpy_latent.testing import latent_trees
from tests.support.pictures import assert_readable, boxes, words
from tests.support.samples import leafy_tree, small_tree

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def layered_tree(n_columns, seed=0, fanout=4, name="x{}"):
    """A tree of several layers: groups of two to ``fanout`` nodes get hidden parents until one is left."""
    rng = np.random.default_rng(seed)
    names, parent = [name.format(at) for at in range(n_columns)], [-1] * n_columns
    level = list(range(n_columns))
    while len(level) > 1:
        groups = np.split(np.array(level), np.cumsum(rng.integers(2, fanout + 1, size=len(level))))
        level = []
        for group in groups:
            if len(group) == 1:
                level.append(int(group[0]))
            elif len(group):
                level.append(len(names))
                names.append(f"H{len(names) - n_columns}")
                parent.append(-1)
                for node in group:
                    parent[node] = level[-1]
    tables = [rng.dirichlet([0.7, 0.7], size=1 if above < 0 else 2) for above in parent]
    return LatentTree(names, [[0, 1]] * len(names), parent, np.arange(len(names)) >= n_columns, tables)


@pytest.mark.parametrize("n_columns", [1, 2, 7, 40, 100])
@pytest.mark.parametrize("name", ["x{}", "How satisfied are you with number {}, all things considered?"])
def test_every_column_can_be_read(n_columns, name):
    tree = layered_tree(n_columns, name=name)
    ax = plot_tree(tree)
    assert_readable(ax)
    assert ax.get_title(loc="left").endswith(f"{n_columns} column{'s' * (n_columns > 1)}")
    shown = set(words(ax))
    assert {f"{latent} (2)" for latent in tree.latent_names} <= shown
    if name == "x{}":
        assert set(tree.observed_names) <= shown
    assert len(ax.patches) == (tree.parent >= 0).sum()


@pytest.mark.parametrize("dpi", [50, 72, 100, 300])
def test_it_can_be_read_at_any_resolution(dpi):
    with matplotlib.rc_context({"figure.dpi": dpi}):
        assert_readable(plot_tree(layered_tree(30)))


def test_with_a_thousand_columns_the_largest_parts_are_drawn():
    tree = layered_tree(1000)
    ax = plot_tree(tree)
    assert_readable(ax)
    assert ax.figure.get_size_inches().max() < 20
    assert ax.get_title(loc="left").endswith("1,000 columns (too many to draw: the largest parts)")
    counted = [int(found[1]) for text in words(ax) if (found := re.match(r"(\d+) columns?: ", text))]
    alone = sum(text in tree.observed_names for text in words(ax))
    assert sum(counted) + alone == 1000


@given(latent_trees(max_nodes=12), st.integers(0, 3))
def test_every_node_has_one_entry_behind_that_of_its_parent(tree, seed):
    strength = np.random.default_rng(seed).random(tree.n_nodes)
    entries, folded = outlined(tree, strength)
    assert not folded
    place = {entry.node: at for at, entry in enumerate(entries) if entry.kind != NOTE}
    assert sorted(place) == list(range(tree.n_nodes))
    for node, at in place.items():
        entry = entries[at]
        assert entry.above == (place[tree.parent[node]] if tree.parent[node] >= 0 else -1) < at
        inner = INNER if tree.child_lists[node] else COLUMN
        assert entry.kind == (HIDDEN if tree.latent[node] else inner)
    for below in tree.child_lists:  # columns first, the strongest of both first
        ordered = sorted(below, key=lambda node: place[node])
        keys = [(tree.latent[node] or bool(tree.child_lists[node]), -strength[node]) for node in ordered]
        assert keys == sorted(keys)


@given(latent_trees(max_nodes=14), st.integers(0, 2**32 - 1))
def test_neither_texts_nor_edges_overlap(tree, seed):
    rng = np.random.default_rng(seed)
    entries, _ = outlined(tree, rng.random(tree.n_nodes))
    widths = iter(rng.gamma(1.0, size=len(entries)))
    where = placed(entries, lambda entry: next(widths), 0.5)
    assert 0 <= where.y.min() <= where.y.max() <= where.n_rows - 1
    left, right = where.x, where.x + where.width
    for at in range(len(entries)):
        same_rows = np.abs(where.y - where.y[at]) < 1 - 1e-9
        same_rows[at] = False
        assert not (same_rows & (left < right[at]) & (left[at] < right)).any()
    for at, entry in enumerate(entries):
        if entry.above < 0:
            continue
        assert left[at] == pytest.approx(right[entry.above] + 0.5)
        along = np.linspace(0, 1, 50)[1:-1]  # the curve of the edge
        x = right[entry.above] + 0.5 * (1.5 * along * (1 - along) + along**3)
        y = where.y[entry.above] + (where.y[at] - where.y[entry.above]) * (3 * along**2 - 2 * along**3)
        inside = (x[:, None] > left) & (x[:, None] < right) & (np.abs(y[:, None] - where.y) < 0.4)
        assert not inside.any()


@given(latent_trees(min_nodes=2, max_nodes=14), st.integers(0, 4))
def test_folding_loses_no_column(tree, most_rows):
    entries, folded = outlined(tree, np.zeros(tree.n_nodes), most_rows)
    n_leaves = sum(not below for below in tree.child_lists)
    assert folded == (n_leaves > most_rows)
    shown = sum(entry.kind in (COLUMN, INNER) for entry in entries)
    counted = sum(int(found[1]) for entry in entries if (found := re.search(r"(\d+) columns?: ", entry.text)))
    assert shown + (counted if folded else 0) == len(tree.observed_names)
    assert not any(re.search(r"\b0 columns", entry.text) for entry in entries)
    assert {entry.node for entry in entries} >= set(np.flatnonzero(tree.latent).tolist())  # few enough for all


def test_small_trees_of_a_large_forest_are_counted(monkeypatch):
    monkeypatch.setattr(outline, "FOLDED_ROWS", 3)
    names = [f"{kind}{at}" for at in range(5) for kind in "Hxyz"]
    parent = [-1 if at % 4 == 0 else at - at % 4 for at in range(20)]
    tables = [[[0.5, 0.5]] if above < 0 else [[0.9, 0.1], [0.2, 0.8]] for above in parent]
    tree = LatentTree(names, [[0, 1]] * 20, parent, [name[0] == "H" for name in names], tables)
    entries, _ = outlined(tree, np.zeros(20), 10)
    assert [entry.text for entry in entries] == [
        *(text for at in range(3) for text in (f"H{at} (2)", f"3 columns: x{at}, y{at}, z{at}")),
        "and 2 smaller trees with 6 columns",
    ]


def test_a_subtree_that_does_not_fit_is_counted_with_its_nearest_columns(monkeypatch):
    monkeypatch.setattr(outline, "FOLDED_ROWS", 2)
    tree = leafy_tree(n_columns=12, alone=6)
    entries, _ = outlined(tree, np.zeros(tree.n_nodes), 10)
    assert [entry.text for entry in entries] == [
        "T (2)",
        "12 columns: x0, x1, x2, x3, …",
        "independent: 6 columns: z0, z1, z2, z3, …",
    ]


def test_the_widest_edge_has_the_largest_mutual_information():
    tree = leafy_tree(alone=2)
    ax = plot_tree(tree)
    information = []
    for node, above in enumerate(tree.parent):
        if above >= 0:
            joint = pair_table(tree, above, node)
            product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
            information.append(float((joint * np.log(joint / product)).sum()))
    widths = sorted(patch.get_linewidth() for patch in ax.patches)
    expected = 0.5 + 5.5 * np.sort(information) / max(information)
    np.testing.assert_allclose(widths, expected, rtol=1e-9)
    assert f"mutual information of {max(information):.2g} nats" in words(ax)
    assert words(ax)[-4:-1] == ["independent:", "z0", "z1"]


def pair_table(tree, above, node):
    """P(above, node), where both are below a root or roots themselves."""
    share = tree.tables[above] if tree.parent[above] < 0 else tree.tables[tree.parent[above]] @ tree.tables[above]
    return share[0][:, None] * tree.tables[node]


@pytest.mark.parametrize("turned", [False, True])
def test_support_stands_on_the_edges(turned):
    ends = ["child", "parent"] if turned else ["parent", "child"]
    support = pd.DataFrame([["H1", "H2", 0.994], ["H1", "H3", 0.621]], columns=[*ends, "support"])
    ax = plot_tree(datasets.hlc_model(7, random_state=0), support=support)
    assert {"99", "62"} <= set(words(ax))
    assert words(ax)[-1].endswith("numbers: bootstrap support in percent")
    assert_readable(ax)


def test_support_of_another_tree_is_refused():
    tree = datasets.hlc_model(7, random_state=0)
    support = pd.DataFrame({"parent": ["H2"], "child": ["H3"], "support": [0.5]})
    with pytest.raises(
        ValueError,
        match="an edge between 'H2' and 'H3', but the tree has none; it belongs to another tree, or to this one",
    ):
        plot_tree(tree, support=support)
    with pytest.raises(ValueError, match="support has no column 'child'; give the table"):
        plot_tree(tree, support=support.drop(columns="child"))


def test_a_tree_without_hidden_variables_and_single_nodes_are_drawn():
    chow_liu = Baseline("chow_liu", random_state=0).fit(datasets.load_anes96())
    ax = plot_tree(chow_liu)
    assert_readable(ax)
    assert ax.get_title(loc="left") == "0 hidden variables, 9 columns"
    alone = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    assert words(plot_tree(alone))[:2] == ["independent:", "x"]


def test_texts_shrink_in_small_axes():
    import matplotlib.pyplot as plt

    tree = layered_tree(40)
    _, (left, right) = plt.subplots(1, 2, figsize=(6, 4))
    assert plot_tree(tree, ax=left) is left
    assert max(text.get_size() for text in left.texts) < 8
    found = np.array([box.extents for box in boxes(left)])
    assert found[:, 2].max() < right.get_window_extent().x0


def test_names_mean_nothing_to_matplotlib():
    names = ["$H$", "a$b$c", " \n", "x_1^2"]
    tables = [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * 3]
    tree = LatentTree(names, [[0, 1]] * 4, [-1, 0, 0, 0], [True, False, False, False], tables)
    ax = plot_tree(tree)
    ax.figure.canvas.draw()
    assert {r"\$H\$ (2)", r"a\$b\$c", r"' \n'", "x_1^2"} <= set(words(ax))


def test_trees_of_numbers_have_their_correlations_on_the_edges():
    tree = GaussianTree(["H", "x", "y", "z"], [-1, 0, 0, 0], [True] + [False] * 3, [0.0, 0.81, -0.52, 0.3])
    ax = plot_tree(tree)
    assert {"H", "x", "y", "z", "0.81", "\N{MINUS SIGN}0.52", "0.30", "numbers: correlations"} <= set(words(ax))
    assert sorted(patch.get_linestyle() for patch in ax.patches) == ["-", "-", "--"]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    assert words(plot_tree(GaussianBaseline().fit(table)))
    ax = plot_loadings(tree)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "y", "z"]
    assert "\N{MINUS SIGN}0.52" in words(ax)
    with pytest.raises(ValueError, match="no hidden variables, and so no loadings"):
        plot_loadings(GaussianBaseline().fit(table))
    with pytest.raises(TypeError, match="expected a GaussianTree or a learner of one, got a DataFrame"):
        plot_loadings(table)
    with pytest.raises(TypeError, match=r"whose columns are numbers.*plotting\.plot_tree and plot_loadings"):
        plot_profiles(tree)


def test_learners_and_networks_that_are_trees_are_drawn():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    learner = RandomStarts(n_states=2).fit(frame)
    assert words(plot_tree(learner)) == words(plot_tree(learner.tree_)) == words(plot_tree(as_network(learner.tree_)))
    crossed = LatentNetwork(
        ["x", "y", "z"], [[0, 1]] * 3, [(), (), (0, 1)], [False] * 3, [*[[[0.5, 0.5]]] * 2, [[0.5, 0.5]] * 4]
    )
    with pytest.raises(
        NotATreeError, match=r"'z' has parents 'x' and 'y'; a forest allows at most one, .*plot_network"
    ):
        plot_tree(crossed)
    with pytest.raises(TypeError, match="expected a LatentTree, LatentNetwork, pgmpy network or fitted learner"):
        plot_tree("camps.json")


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'plots need matplotlib; install it with pip install "pgmpy-latent\[plot\]"'):
        plot_tree(small_tree())
