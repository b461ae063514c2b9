"""How sure is a tree: splits of the columns, and how often bootstrap trees show them."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pgmpy_latent import Baseline, BinG, LatentTree, RandomStarts, SplitMerge, sample, support
from pgmpy_latent.exceptions import DataError, WeightError
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.common_edges import edges_found_again
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.splits import splits
from pgmpy_latent.model.network import as_network
from pgmpy_latent.operators import root_walk
from pgmpy_latent.selection.tree_support import TreeSupport
from pgmpy_latent.testing import latent_trees
from tests.learners.test_splits import COLUMNS, forest, forests
from tests.support import reference
from tests.support.samples import columns_below, leafy_tree, press_ctrl_c

QUIET = {"show_progress": False}


def powers_of_two(tree):
    return {name: 1 << at for at, name in enumerate(tree.observed_names)}


def splits_by_cutting(tree):
    """Return the two sets of columns of every edge: those still connected with one end, or the other, without it."""
    graph = nx.Graph([(tree.names[tree.parent[node]], tree.names[node]) for node in np.flatnonzero(tree.parent >= 0)])
    found = {}
    for edge in graph.edges:
        cut = nx.restricted_view(graph, [], [edge])
        sides = [nx.node_connected_component(cut, end) & set(tree.observed_names) for end in edge]
        found[frozenset(edge)] = frozenset(map(frozenset, sides))
    return found


def named(tree, found):
    """Return splits by edge, with the columns' names in place of sums of powers of two."""
    bits = powers_of_two(tree)
    return {
        frozenset((tree.names[node], tree.names[tree.parent[node]])): frozenset(
            frozenset(name for name, bit in bits.items() if bit & side) for side in both
        )
        for node, both in found.items()
    }


@given(latent_trees(max_nodes=9, max_card=2))
def test_splits_are_what_is_left_when_an_edge_is_cut(tree):
    assert named(tree, splits(tree, powers_of_two(tree))) == splits_by_cutting(tree)


@given(latent_trees(min_nodes=2, max_nodes=9, max_card=2), st.data())
def test_the_root_does_not_matter(tree, data):
    node = data.draw(st.sampled_from(tree.names))
    walked = root_walk(tree, node)
    assert named(walked, splits(walked, powers_of_two(tree))) == named(tree, splits(tree, powers_of_two(tree)))


class Told(LatentTreeLearner):
    """A learner that is told what to find: each of some trees in turn, by its seed."""

    def __init__(self, trees=(), random_state=None, n_jobs=None, show_progress=True, checkpoint=None):
        self.trees = trees
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.show_progress = show_progress
        self.checkpoint = checkpoint

    def _learn(self, data):
        usual, for_draws = (None, True, "f"), (1, False, None)
        assert (self.n_jobs, self.show_progress, self.checkpoint) == (for_draws if self.random_state else usual)
        return Outcome(self.trees[(self.random_state or 0) % len(self.trees)], 0.0, 0.0, [])


def hidden_tree(parents, root="A"):
    """Return a binary tree, given node -> parent; hidden nodes have capital letters."""
    names = [root, *parents]
    above = [-1, *(names.index(parent) for parent in parents.values())]
    tables = [np.full((1 if at < 0 else 2, 2), 0.5) for at in above]
    return LatentTree(names, [[0, 1]] * len(names), above, [name.isupper() for name in names], tables)


CHERRIES = hidden_tree({"B": "A", "C": "A", "p": "B", "q": "B", "r": "C", "s": "C", "t": "A"})
#: B and C are called otherwise here, another node is the root, and r and s are no pair.
ONE_CHERRY = hidden_tree({"B": "A", "p": "A", "q": "A", "r": "B", "s": "B", "t": "B"})
ROWS = pd.DataFrame([list("01010"), list("10101"), list("11000")] * 4, columns=list("pqrst")).astype(int)


def test_support_is_the_share_of_trees_with_the_same_split():
    learner = Told(trees=(CHERRIES, ONE_CHERRY), checkpoint="f").fit(ROWS)
    table = support(learner, ROWS, n_bootstrap=40, **QUIET)
    seeds = [int(np.random.SeedSequence(0, spawn_key=(at,)).generate_state(1)[0]) for at in range(40)]
    share = np.mean([seed % 2 == 0 for seed in seeds])
    assert table["parent"].tolist() == ["A", "A"]
    assert table["child"].tolist() == ["B", "C"]
    assert table["columns"].tolist() == [("p", "q"), ("r", "s")]
    assert table["support"].tolist() == [1.0, share]
    assert 0 < share < 1
    assert table.attrs["n_bootstrap"] == 40


def test_a_column_inside_belongs_to_the_side_it_stands_on():
    inside = hidden_tree({"p": "A", "B": "p", "q": "B", "r": "B", "C": "A", "s": "C", "t": "C"})
    table = support(Told(trees=(inside,), checkpoint="f").fit(ROWS), ROWS, n_bootstrap=2, **QUIET)
    assert sorted(table[["parent", "child", "columns"]].to_numpy().tolist()) == [
        ["A", "C", ("s", "t")],
        ["A", "p", ("p", "q", "r")],
        ["p", "B", ("q", "r")],
    ]
    walked = root_walk(inside, "C")
    table = support(Told(trees=(walked, inside), checkpoint="f").fit(ROWS), ROWS, n_bootstrap=4, **QUIET)
    assert table["support"].tolist() == [1.0] * 3
    hanging = hidden_tree({"D": "A", "p": "D", "B": "D", "q": "B", "r": "B", "C": "A", "s": "C", "t": "C"})
    seen = TreeSupport(inside).table([TreeSupport(inside).seen_in(hanging)])
    assert seen["support"].tolist() == [0.0, 0.0, 1.0]  # the same columns are separated, but p is at no such edge


def shares(table):
    """Return the support of edges by their ends."""
    ends = map(frozenset, zip(table["parent"], table["child"], strict=True))
    return dict(zip(ends, table["support"], strict=True))


@settings(max_examples=200)
@given(forests(), st.lists(forests(), min_size=1, max_size=4))
def test_every_edge_has_the_share_of_trees_with_it(tree, others):
    counted = TreeSupport(tree)
    found = shares(counted.table([counted.seen_in(other) for other in others]))
    slow = [reference.edges_found_again(tree, other) for other in others]
    assert found == {edge: np.mean([other[edge] for other in slow]) for edge in slow[0]}
    assert (len(found) == 0) == bool(counted.why_nothing)


@given(forests(), st.data())
def test_a_tree_has_all_of_its_own_edges_wherever_its_root_is(tree, data):
    walked = root_walk(tree, data.draw(st.sampled_from(tree.names)))
    counted = TreeSupport(tree)
    assert set(counted.table([counted.seen_in(walked)])["support"]) <= {1.0}
    assert shares(TreeSupport(walked).table([])).keys() == shares(counted.table([])).keys()


@st.composite
def trees_of_columns(draw):
    return forest(draw(st.permutations(COLUMNS)), [draw(st.integers(-1, at - 1)) for at in range(len(COLUMNS))])


@given(trees_of_columns(), trees_of_columns())
def test_trees_without_hidden_variables_are_counted_as_networks(tree, other):
    network, theirs = as_network(tree), as_network(other)
    found = edges_found_again(network, theirs)
    counted = TreeSupport(tree)
    linked = {frozenset(edge): abs(kind) for edge, kind in zip(network.edges, found, strict=True)}
    assert shares(counted.table([counted.seen_in(other)])) == linked


def test_edges_of_a_chow_liu_tree_are_counted(drawn):
    learner = Baseline("chow_liu").fit(drawn)
    table = support(learner, drawn, n_bootstrap=8, **QUIET)
    assert len(table) == len(drawn.columns) - 1
    pairs = [frozenset(pair) for pair in (("x0", "x1"), ("x2", "x3"), ("x4", "x5"))]
    assert all(shares(table)[pair] == 1.0 for pair in pairs)  # what joins the pairs is less certain
    assert 0 < table["support"].min() < 1


def test_a_forest_must_have_the_same_tree():
    """Without t, which stands alone, p q | r s is not the split p q | r s t."""
    apart = LatentTree(
        ["A", "B", "p", "q", "r", "s", "t"], [[0, 1]] * 7, [-1, 0, 0, 0, 1, 1, -1], [True, True, *[False] * 5],
        [np.full((1 if at in (0, 6) else 2, 2), 0.5) for at in range(7)],
    )  # fmt: skip
    alone = support(Told(trees=(apart,), checkpoint="f").fit(ROWS), ROWS, n_bootstrap=3, **QUIET)
    assert alone["columns"].tolist() == [("r", "s")]
    assert alone["support"].tolist() == [1.0]
    seeds = [int(np.random.SeedSequence(0, spawn_key=(at,)).generate_state(1)[0]) for at in range(20)]
    mixed = support(Told(trees=(apart, ONE_CHERRY), checkpoint="f").fit(ROWS), ROWS, n_bootstrap=20, **QUIET)
    assert mixed["support"].tolist() == [np.mean([seed % 2 == 0 for seed in seeds])]


APART = LatentTree(
    ["A", "B", "p", "q", "r", "s", "t"],
    [[0, 1]] * 7,
    [-1, -1, 0, 0, 0, 1, 1],
    [True, True, *[False] * 5],
    [np.full((1 if at < 2 else 2, 2), 0.5) for at in range(7)],
)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Baseline("independence"), r"this model has none: its variables are independent of each other\."),
        (RandomStarts(n_states=2, **QUIET), r"a single hidden variable\. compare_classes\(X, n_bootstrap=100\) says"),
        (Told(trees=(APART,), checkpoint="f"), r"this model has none\. standard_errors\(learner, X\) says"),
    ],
    ids=["no edges", "latent class model", "forest"],
)
def test_no_edge_to_support_no_rows(learner, words):
    learner.fit(ROWS)
    with pytest.warns(UserWarning, match=words):
        table = support(learner, ROWS, n_bootstrap=3, **QUIET)
    assert table.columns.tolist() == ["parent", "child", "columns", "support"]
    assert len(table) == 0
    assert table.attrs["n_bootstrap"] == 0  # nothing was drawn


@pytest.fixture(scope="module")
def drawn():
    return sample(leafy_tree(n_columns=6), 400, random_state=0)


@pytest.fixture(scope="module")
def fitted(drawn):
    return BinG(random_state=0, **QUIET).fit(drawn)


def test_pairs_that_belong_together_are_found_again(drawn, fitted):
    before = fitted.tree_
    table = support(fitted, drawn, n_bootstrap=12, **QUIET)
    assert fitted.tree_ is before
    pairs = table[table["columns"].isin([("x0", "x1"), ("x2", "x3"), ("x4", "x5")])]
    assert len(pairs) >= 2
    assert pairs["support"].min() > 0.8
    for _, row in table.iterrows():
        assert set(row["columns"]) == columns_below(fitted.tree_, row["child"])
        assert fitted.tree_.names[fitted.tree_.parent[fitted.tree_.index(row["child"])]] == row["parent"]


def test_support_does_not_depend_on_threads(drawn, fitted):
    one, two = (support(fitted, drawn, n_bootstrap=8, n_jobs=n_jobs, **QUIET) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert one.attrs == two.attrs


def test_weights_arrays_and_further_columns(drawn, fitted):
    usual = support(fitted, drawn, n_bootstrap=6, **QUIET)
    counted = drawn.value_counts(sort=False).reset_index()
    weighted = support(fitted, counted, sample_weight=counted["count"], n_bootstrap=6, **QUIET)
    pd.testing.assert_frame_equal(weighted, usual)
    pd.testing.assert_frame_equal(support(fitted, drawn.assign(more=1), n_bootstrap=6, **QUIET), usual)
    by_position = BinG(random_state=0, **QUIET).fit(drawn.to_numpy())
    array = support(by_position, drawn.to_numpy(), n_bootstrap=6, **QUIET)
    assert array["support"].tolist() == usual["support"].tolist()
    with pytest.warns(UserWarning, match="fitted to rows of total weight 400, and these have 200; give the same table"):
        halves = support(
            fitted, drawn, sample_weight=np.full(400, 0.5), weight_kind="frequency", n_bootstrap=3, **QUIET
        )
    assert halves["support"].between(0, 1).all()


def test_gaps_are_fine(drawn, fitted):
    table = support(fitted, drawn.mask(np.random.default_rng(0).random(drawn.shape) < 0.1), n_bootstrap=3, **QUIET)
    assert table["support"].between(0, 1).all()


def test_ctrl_c_returns_what_is_done(monkeypatch, drawn, fitted):
    calls, fit = [], BinG.fit

    def interrupted(self, *arguments, **options):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return fit(self, *arguments, **options)

    monkeypatch.setattr(BinG, "fit", interrupted)
    with pytest.warns(ConvergenceWarning, match="the support rests on 3 of 9 trees"):
        table = support(fitted, drawn, n_bootstrap=9, **QUIET)
    assert table.attrs["n_bootstrap"] == 3
    calls[:] = [None] * 3  # the next one is the fourth
    with pytest.raises(KeyboardInterrupt):
        support(fitted, drawn, n_bootstrap=9, **QUIET)


def test_ctrl_c_inside_a_search_ends_the_bootstrap(monkeypatch, drawn):
    learner = SplitMerge(leafy_tree(n_columns=6), random_state=0, **QUIET).fit(drawn)
    press_ctrl_c(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        support(learner, drawn, n_bootstrap=3, **QUIET)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"n_bootstrap": 0}, ValueError, "n_bootstrap is 0; give a whole number of at least 1"),
        ({"n_bootstrap": -3}, ValueError, "n_bootstrap is -3"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"random_state": -1}, ValueError, "random_state is -1"),
        (
            {"sample_weight": np.full(400, 1e-3), "weight_kind": "frequency"},
            WeightError,
            "the weights sum to 0.4, which stands for 0 rows",
        ),
        ({"sample_weight": [1.0]}, WeightError, "sample_weight has shape"),
    ],
)
def test_questions_that_cannot_be_meant(drawn, fitted, options, kind, message):
    with pytest.raises(kind, match=message):
        support(fitted, drawn, **{**QUIET, **options})


def test_who_can_be_asked(drawn, fitted):
    with pytest.raises(NotFittedError):
        support(BinG(), drawn, **QUIET)
    with pytest.raises(TypeError, match=r"expected a fitted learner of latent trees .* does not know the settings"):
        support(fitted.tree_, drawn, **QUIET)
    with pytest.raises(DataError, match="x5"):
        support(fitted, drawn.drop(columns="x5"), **QUIET)
