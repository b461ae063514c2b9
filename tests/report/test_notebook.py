"""How models and learners look in a notebook: well-formed, complete, and deaf to HTML in names."""

import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn import config_context

from pgmpy_latent import EAST, AgglomerativeCardinality, Baseline, LatentTree, RandomStarts, datasets
from pgmpy_latent.model.network import as_network
from pgmpy_latent.testing import latent_networks
from tests.support.samples import awkward_trees, leafy_tree, small_tree

#: Elements that have no end.
VOID = {"br", "meta", "link", "img", "input", "hr"}
TABLE = {"table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Reads HTML, and fails where an element ends that is not the last one to have begun."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words, self.depth = [], [], [], 0

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
            self.depth = max(self.depth, self.open.count("details"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_a_small_tree_is_shown_with_its_hidden_variables():
    tree = small_tree()
    reader = read(tree._repr_html_())
    assert reader.words == [
        *("LatentTree", ": 1 hidden variable, 2 columns, 7 parameters"),
        *("hidden variable", "states", "shares", "H", "2", "70%, 30%"),
        *("H", " (2)", "x, y"),
    ]
    assert "<details open>" in tree._repr_html_()
    assert repr(tree) == "LatentTree(3 nodes, 1 latent, 7 parameters)"


@given(awkward_trees(max_nodes=9))
def test_any_tree_is_well_formed(tree):
    reader = read(tree._repr_html_())
    assert set(reader.tags) <= {
        "div",
        "b",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "ul",
        "li",
    }
    n_inner = sum(bool(tree.latent[node] or tree.child_lists[node]) for node in range(tree.n_nodes))
    assert reader.tags.count("details") == n_inner


@given(latent_networks())
def test_any_network_is_well_formed(network):
    reader = read(network._repr_html_())
    assert reader.tags.count("tr") == 1 + network.n_nodes
    assert reader.words[0] == "LatentNetwork"


@pytest.mark.parametrize("form", [lambda tree: tree, as_network])
def test_names_are_escaped(form):
    names = ["<script>alert(1)</script>", 'x" onload="alert(2)', "&amp;"]
    tree = LatentTree(
        names, [[0, 1]] * 3, [-1, 0, 0], [True, False, False], small_tree().tables[:2] + small_tree().tables[1:2]
    )
    text = form(tree)._repr_html_()
    assert "<script" not in text
    assert 'x" onload' not in text
    assert "&amp;amp;" in text
    assert "<script>alert(1)</script>" in read(text).words


def test_large_trees_are_folded_and_huge_ones_only_counted():
    large = leafy_tree(n_columns=60, alone=50)
    text = large._repr_html_()
    assert "<details>" in text
    assert "<details open>" not in text
    assert "hidden variable</th>" not in text
    assert "independent: z0, z1" in text
    assert "z39 and 10 more" in text
    huge = leafy_tree(n_columns=1002)
    assert "details" not in huge._repr_html_()
    assert "too large to be listed here" in huge._repr_html_()
    assert read(as_network(huge)._repr_html_()).words[-1] == "and 1,484 further nodes"


def test_a_deep_tree_is_shown():
    n_nodes = 400
    tables = [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * (n_nodes - 1)]
    tree = LatentTree(range(n_nodes), [[0, 1]] * n_nodes, range(-1, n_nodes - 1), [False] * n_nodes, tables)
    assert read(tree._repr_html_()).depth == n_nodes - 1


def test_many_states_are_not_all_listed():
    tree = LatentTree(
        ["H", "x"], [range(20), [0, 1]], [-1, 0], [True, False], [np.full((1, 20), 0.05), [[0.5, 0.5]] * 20]
    )
    assert "5%, 5%, …" in tree._repr_html_()


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame({"x<y": list("aabb"), "y": list("ccdd"), "z": list("eeff")})


def test_a_fitted_learner_says_what_it_found(frame):
    learner = RandomStarts(n_states=2)
    before = learner._repr_html_()
    assert "Found" not in before
    learner.fit(frame, sample_weight=[1, 2, 3, 4])
    after = learner._repr_html_()
    assert "<b>Found</b>: BIC -14.17, log-likelihood -6.11, 1 hidden variable, 3 columns, 7 parameters" in after
    assert "x&lt;y, y, z" in after
    assert "n_states" in after  # scikit-learn's own part is still there
    bundle = learner._repr_mimebundle_()
    assert "<b>Found</b>" in bundle["text/html"]
    assert bundle["text/plain"] == repr(learner) == "RandomStarts(n_states=2)"


def test_scikit_learn_can_be_told_to_show_text(frame):
    learner = RandomStarts(n_states=2).fit(frame)
    with config_context(display="text"):
        assert not hasattr(learner, "_repr_html_")
        assert set(learner._repr_mimebundle_()) == {"text/plain"}


def test_learners_of_networks_and_stopped_ones_say_so_too(frame):
    from pgmpy.base import DAG

    sized = AgglomerativeCardinality(DAG([("h", name) for name in frame.columns], latents={"h"})).fit(frame)
    assert "<b>h</b>" in sized._repr_html_().split("Found")[1]
    assert "independent" in Baseline("independence").fit(frame)._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = EAST(time_limit=1e-9, show_progress=False).fit(datasets.load_anes96())
    assert "Not finished: the time limit stopped the search" in stopped._repr_html_()
