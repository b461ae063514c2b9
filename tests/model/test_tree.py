"""The model: what must hold, and that it cannot be changed."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given

from pgmpy_latent import LatentTree
from pgmpy_latent.exceptions import InvalidTreeError, NotATreeError
from pgmpy_latent.model.tree import parents_first
from pgmpy_latent.testing import assert_valid, latent_trees


def parts(**changes):
    """Return the parts of a small valid tree, with changes."""
    good = {
        "names": ["H", "x"],
        "state_names": [[0, 1], ["a", "b", "c"]],
        "parent": [-1, 0],
        "latent": [True, False],
        "tables": [[[0.5, 0.5]], [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]],
    }
    return good | changes


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"names": [], "state_names": [], "parent": [], "latent": [], "tables": []}, InvalidTreeError, "at least one"),
        ({"names": ["x", "x"]}, InvalidTreeError, "two nodes are called 'x'"),
        ({"state_names": [[0, 1]]}, InvalidTreeError, "state_names has 1 entries for 2 nodes"),
        ({"latent": [True]}, InvalidTreeError, "latent has 1 entries"),
        ({"state_names": [[], ["a", "b", "c"]]}, InvalidTreeError, "'H' has no states"),
        ({"state_names": [[0, 0], ["a", "b", "c"]]}, InvalidTreeError, "'H' names a state twice"),
        ({"parent": [-1, 5]}, InvalidTreeError, "'x' has parent 5"),
        ({"parent": [-1, 1]}, InvalidTreeError, "'x' has parent 1"),
        ({"parent": [1, 0]}, NotATreeError, r"parents of \['H', 'x'\] runs in a circle"),
        ({"tables": [[[0.5, 0.5]], [[0.2, 0.3, 0.5]]]}, InvalidTreeError, r"shape \(1, 3\).*ask for \(2, 3\)"),
        ({"tables": [[[0.5, 0.4]], [[0.2, 0.3, 0.5]] * 2]}, InvalidTreeError, "'H': row 0 sums to 0.9"),
        ({"tables": [[[1.5, -0.5]], [[0.2, 0.3, 0.5]] * 2]}, InvalidTreeError, "negative number, NaN or inf"),
        ({"tables": [[[np.nan, 0.5]], [[0.2, 0.3, 0.5]] * 2]}, InvalidTreeError, "negative number, NaN or inf"),
    ],
)
def test_each_invariant_is_checked(changes, error, message):
    with pytest.raises(error, match=message):
        LatentTree(**parts(**changes))


def test_nothing_can_be_changed():
    tree = LatentTree(**parts())
    with pytest.raises(AttributeError):
        tree.names = ("a", "b")
    for array in (tree.parent, tree.latent, tree.cards, tree.order, tree.roots, *tree.tables):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_arrays_given_are_copied():
    table = np.array([[0.5, 0.5]])
    tree = LatentTree(**parts(tables=[table, [[0.2, 0.3, 0.5]] * 2]))
    table[0] = [0.1, 0.9]
    assert tree.tables[0].tolist() == [[0.5, 0.5]]


@given(latent_trees(zeros=None))
def test_copies_and_pickles_are_equal_and_read_only(tree):
    for other in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert other == tree
        assert hash(other) == hash(tree)
        assert_valid(other)


@given(latent_trees())
def test_parents_come_first(tree):
    place = np.argsort(tree.order)
    for node, above in enumerate(tree.parent):
        assert above < 0 or place[above] < place[node]
    assert sorted(tree.order) == list(range(tree.n_nodes))
    assert set(tree.roots) == set(np.flatnonzero(tree.parent < 0))


def test_equality_looks_at_types_of_states():
    one = LatentTree(**parts())
    assert one == LatentTree(**parts())
    assert one != LatentTree(**parts(state_names=[[False, True], ["a", "b", "c"]]))
    assert one != LatentTree(**parts(latent=[False, False]))
    assert one != "a tree"


def test_looking_things_up():
    tree = LatentTree(**parts())
    assert tree.index("x") == 1
    assert tree.children("H") == ("x",)
    assert tree.latent_names == ("H",)
    assert tree.observed_names == ("x",)
    assert tree.table("x").shape == (2, 3)
    assert tree.with_tables(tree.tables) == tree
    with pytest.raises(KeyError, match="no node is called 'y'"):
        tree.index("y")


def test_a_long_chain_is_no_problem():
    assert len(parents_first(np.arange(-1, 99_999))) == 100_000
