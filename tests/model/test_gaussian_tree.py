"""GaussianTree: what must hold, copies, pgmpy networks and files."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given

from pgmpy_latent import GaussianTree, from_pgmpy, gaussian, load, save, to_pgmpy
from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError, NotATreeError
from pgmpy_latent.model.gaussian_convert import gaussian_tree_from_document, gaussian_tree_text
from pgmpy_latent.model.json_format import document_of
from pgmpy_latent.testing import gaussian_trees
from tests.support import reference_gaussian as reference


@given(gaussian_trees())
def test_correlations_are_products_along_paths(tree):
    mean, covariance = reference.joint(tree)
    np.testing.assert_allclose(tree.correlations() * np.outer(tree.std, tree.std), covariance, rtol=1e-12, atol=1e-12)
    observed = np.flatnonzero(~tree.latent)
    np.testing.assert_allclose(tree.covariance(), covariance[np.ix_(observed, observed)], rtol=1e-12, atol=1e-12)
    assert len(mean) == tree.n_nodes


@given(gaussian_trees())
def test_copies_and_files_are_equal_bit_for_bit(tree):
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) is tree
    assert hash(pickle.loads(pickle.dumps(tree))) == hash(tree)
    assert gaussian_tree_from_document(document_of(gaussian_tree_text(tree))) == tree
    assert not pickle.loads(pickle.dumps(tree)).correlation.flags.writeable


@given(gaussian_trees())
def test_pgmpy_networks_come_back(tree):
    network = to_pgmpy(tree)
    assert network.check_model()
    assert network.latents == set(tree.latent_names)
    back = gaussian.from_pgmpy(network)
    assert (back.names, back.parent.tolist(), back.latent.tolist()) == (
        tree.names,
        tree.parent.tolist(),
        tree.latent.tolist(),
    )
    for field in ("correlation", "mean", "std"):
        np.testing.assert_allclose(getattr(back, field), getattr(tree, field), rtol=1e-9, atol=1e-9)


def test_a_file_is_read_back(tmp_path):
    tree = GaussianTree(
        ["H", 3, ("x", 1)], [-1, 0, 0], [True, False, False], [0, 0.3, -1 / 3], [0, 1e-300, 5], [1, 2, 3]
    )
    save(tree, tmp_path / "model.json")
    assert load(tmp_path / "model.json") == tree


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["nodes"][1].pop("std"), "node number 1 must have the fields"),
        (lambda d: d["nodes"][1].update(correlation="high"), "node number 1: correlation is 'high', not a number"),
        (lambda d: d["nodes"][1].update(correlation=2.0), "correlation of 'x' with its parent is 2"),
        (lambda d: d["nodes"][1].update(parent=9), "has parent 9"),
        (lambda d: d["nodes"][1].update(latent=0), "latent must be true or false"),
        (lambda d: d["nodes"][1].update(missing=3), "node number 1: missing is 3, not a list"),
        (lambda d: d["nodes"][0].update(missing=[3]), "missing names 'H', which is not an observed node"),
        (lambda d: d.update(version=9), "upgrade it"),
        (lambda d: d.update(nodes=3), '"nodes" is 3, not a list'),
        (lambda d: d.update(more=3), "unknown fields"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, words):
    document = json.loads(gaussian_tree_text(GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.5])))
    change(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=words):
        load(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], [], [], []), "at least one node"),
        ((["x", "x"], [-1, -1], [False, False], [0, 0]), "two nodes are called 'x'"),
        ((["H"], [-1], [True], [0]), "all nodes are hidden"),
        ((["x", "y"], [-1], [False, False], [0, 0]), "parent has shape"),
        ((["x", "y"], [-1, 5], [False, False], [0, 0]), "node 'y' has parent 5"),
        ((["x", "y"], [-1, 0], [False, False], [0.5, 0.5]), "'x' is a root, but has correlation 0.5"),
        ((["x", "y"], [-1, 0], [False, False], [0, np.nan]), "correlation of 'y' with its parent is nan"),
        ((["x"], [-1], [False], [0], [0], [0]), "'x' has mean 0 and standard deviation 0"),
        ((["H", "x"], [-1, 0], [True, False], [0, 0.5], [1, 0]), "hidden node 'H' has mean 1"),
    ],
)
def test_what_must_hold_is_checked(arguments, words):
    with pytest.raises(InvalidTreeError, match=words):
        GaussianTree(*arguments)


def test_a_circle_is_refused():
    with pytest.raises(NotATreeError, match="runs in a circle"):
        GaussianTree(["x", "y"], [1, 0], [False, False], [0.5, 0.5])


def test_the_other_kind_of_network_is_named():
    tree = GaussianTree(["H", "x"], [-1, 0], [True, False], [0.0, 0.5])
    with pytest.raises(TypeError, match=r"got LinearGaussianBayesianNetwork; gaussian.from_pgmpy takes it"):
        from_pgmpy(to_pgmpy(tree))
    assert tree != "tree"
    with pytest.raises(KeyError, match="no node is called 'z'"):
        tree.index("z")
