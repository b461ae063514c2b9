"""Introducing, deleting, contracting and relocating nodes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.operators import (
    contract_edge,
    cut_edge,
    delete_node,
    introduce_node,
    link_nodes,
    marginals,
    merge_states,
    permute_states,
    relocate_node,
    root_walk,
)
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support import reference
from tests.support.reference import assert_same_tables

trees = latent_trees(min_nodes=3, max_nodes=6, max_card=3, zeros=None)


def neighbours(tree, node):
    return [name for name in reference.branches(tree, node) if name is not None]


@st.composite
def introductions(draw):
    """Return a tree, a node of it, and one or more of its neighbours."""
    tree = draw(trees)
    linked = [name for name in tree.names if neighbours(tree, name)]
    assume(linked)
    node = draw(st.sampled_from(linked))
    around = draw(st.permutations(neighbours(tree, node)))
    return tree, node, around[: draw(st.integers(1, len(around)))]


@st.composite
def deletions(draw):
    """Return a tree, a hidden node of it, and one of its neighbours."""
    tree = draw(trees)
    linked = [name for name in tree.latent_names if neighbours(tree, name)]
    assume(linked)
    node = draw(st.sampled_from(linked))
    return tree, node, draw(st.sampled_from(neighbours(tree, node)))


@st.composite
def relocations(draw):
    """Return a tree, the two ends of an edge of it, and a node on the side of the second."""
    tree = draw(trees)
    linked = [name for name in tree.names if neighbours(tree, name)]
    assume(linked)
    neighbour = draw(st.sampled_from(linked))
    old = draw(st.sampled_from(neighbours(tree, neighbour)))
    new = draw(st.sampled_from(reference.branches(tree, neighbour)[old]))
    return tree, neighbour, old, tree.names[new]


def a_chain(*tables, latent=None):
    """Return a chain a, b, c, ... whose first node is the root."""
    n_nodes = len(tables)
    return LatentTree(
        "abcdef"[:n_nodes],
        [range(np.shape(table)[1]) for table in tables],
        range(-1, n_nodes - 1),
        latent or [True] * (n_nodes - 1) + [False],
        tables,
    )


def a_star(n_leaves=4):
    """Return a hidden root with binary leaves."""
    leaves = "wxyz"[:n_leaves]
    return LatentTree(
        ["H", *leaves],
        [[0, 1], *["ab"] * n_leaves],
        [-1] + [0] * n_leaves,
        [True] + [False] * n_leaves,
        [[[0.4, 0.6]], *[[[0.9, 0.1], [0.2, 0.8]]] * n_leaves],
    )


# introducing


@given(introductions())
def test_a_new_node_keeps_the_distribution_of_the_old_ones(drawn):
    tree, node, chosen = drawn
    larger = introduce_node(tree, node, chosen, "new")
    assert_valid(larger)
    assert larger.names == (*tree.names, "new")
    assert larger.state_names == (*tree.state_names, tuple(range(tree.cards[tree.index(node)])))
    assert larger.latent[-1]
    assert sorted(neighbours(larger, "new")) == sorted([node, *chosen])
    assert reference.root_of(larger, node) == reference.root_of(tree, node)
    before, after = reference.distribution(tree, tree.names), reference.distribution(larger, tree.names)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)
    marginal = marginals(tree)[tree.index(node)]
    pair = reference.joint_array(larger).sum(axis=tuple(set(range(tree.n_nodes)) - {tree.index(node)}))
    np.testing.assert_allclose(pair, np.diag(marginal), rtol=1e-9, atol=1e-15)  # a copy


@given(introductions())
def test_deleting_undoes_introducing(drawn):
    tree, node, chosen = drawn
    assert_same_tables(tree, delete_node(introduce_node(tree, node, chosen, "new"), "new", node))


def test_a_smaller_new_node_by_merging():
    larger = introduce_node(a_star(), "H", ["w", "x"], "G")
    smaller = merge_states(larger, "G", [0, 1])
    assert smaller.state_names[-1] == (0,)
    assert smaller.children("G") == ("w", "x")


# deleting


@given(deletions())
def test_deleting_keeps_what_its_docstring_says(drawn):
    tree, node, into = drawn
    smaller = delete_node(tree, node, into)
    assert_valid(smaller)
    assert smaller.names == tuple(name for name in tree.names if name != node)
    root = reference.root_of(tree, node)
    assert reference.root_of(smaller, into) == (into if root == node else root)
    assert set(neighbours(smaller, into)) == {*neighbours(tree, into), *neighbours(tree, node)} - {node, into}
    sides = reference.branches(tree, node)
    kept = sides[into]
    for other, nodes in sides.items():
        names = [tree.names[at] for at in (kept if other == into else [*kept, *nodes])]
        before, after = reference.distribution(tree, names), reference.distribution(smaller, names)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)
    if len(neighbours(tree, node)) <= 2:
        before, after = (reference.distribution(one, smaller.names) for one in (tree, smaller))
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)


def test_an_isolated_node_is_dropped():
    tree = LatentTree(
        ["x", "H", "y"], ["ab", [0, 1], "ab"], [-1, -1, 0], [False, True, False],
        [[[0.5, 0.5]], [[0.3, 0.7]], [[1, 0], [0, 1]]],
    )  # fmt: skip
    smaller = delete_node(tree, "H")
    assert smaller.names == ("x", "y")
    assert smaller.parent.tolist() == [-1, 0]


# relocating


@given(relocations())
def test_relocating_keeps_the_pair_and_both_sides(drawn):
    tree, neighbour, old, new = drawn
    moved = relocate_node(tree, neighbour, old, new)
    assert_valid(moved)
    assert new in neighbours(moved, neighbour)
    assert (old in neighbours(moved, neighbour)) == (old == new)
    for root in tree.roots:
        assert moved.parent[root] == -1
    their_side = [tree.names[at] for at in reference.branches(tree, neighbour)[old]]
    own_side = [name for name in tree.names if name not in their_side]
    for names in (their_side, own_side, [neighbour, new]):
        before, after = reference.distribution(tree, names), reference.distribution(moved, names)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)


@given(introductions())
def test_relocating_to_a_copy_keeps_everything(drawn):
    tree, node, chosen = drawn
    larger = introduce_node(tree, node, chosen, "new")
    left = [name for name in neighbours(larger, node) if name != "new"]
    moves = [(chosen[0], "new", node), *((name, node, "new") for name in left[:1])]
    for neighbour, old, new in moves:
        moved = relocate_node(larger, neighbour, old, new)
        before, after = reference.joint_array(larger), reference.joint_array(moved)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)


def test_relocating_to_where_it_is_changes_nothing():
    tree = a_star()
    assert relocate_node(tree, "x", "H", "H") is tree


@pytest.mark.parametrize("change", [lambda tree: relocate_node(tree, "f", "e", "a"), lambda tree: _shrunk(tree)])
def test_row_sums_that_are_slightly_off_do_not_add_up_along_a_path(change):
    off = [[0.5 + 9e-9, 0.5], [0.5, 0.5 + 9e-9]]
    assert_valid(change(a_chain(off[:1], off, off, off, off, off)))


def _shrunk(tree):
    for name in "bcde":
        tree = delete_node(tree, name, "a")
    return tree


# names of states carry the meaning


@given(introductions(), relocations(), deletions(), st.integers(0, 2**32 - 1))
def test_relabelling_commutes_with_operators_on_nodes(introduced, relocated, deleted, seed):
    rng = np.random.default_rng(seed)
    for operator, (tree, *arguments) in (
        (lambda tree, node, chosen: introduce_node(tree, node, chosen, "new"), introduced),
        (relocate_node, relocated),
        (delete_node, deleted),
    ):
        relabelled = tree
        for name in tree.names:
            relabelled = permute_states(relabelled, name, rng.permutation(tree.cards[tree.index(name)]))
        first, second = operator(tree, *arguments), operator(relabelled, *arguments)
        assert first.names == second.names
        names = [name for name in first.names if name != "new"]  # whose states are named by their position
        np.testing.assert_allclose(
            reference.distribution(second, names), reference.distribution(first, names), rtol=1e-9, atol=1e-14
        )


# mistakes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: introduce_node(tree, "H", ["x", "y"], "z"), "a node is called 'z' already; choose another name"),
        (lambda tree: introduce_node(tree, "H", [], "G"), "'G' would stand between 'H' and none of its neighbours"),
        (lambda tree: introduce_node(tree, "H", ["x", "x"], "G"), r"neighbour of 'H' is named twice: \['x', 'x'\]"),
        (lambda tree: introduce_node(tree, "x", ["y", "z"], "G"), "'y' is not a neighbour of 'x'; choose among"),
        (lambda tree: delete_node(tree, "x", "H"), "'x' is observed; only hidden"),
        (lambda tree: delete_node(tree, "H", "H"), "'H' is not a neighbour of 'H'"),
        (lambda tree: delete_node(tree, "H"), "'H' has neighbours; say into which of .* it shall be deleted"),
        (lambda tree: delete_node(LatentTree("H", ["ab"], [-1], [True], [[[1, 0]]]), "H"), "'H' is the only node"),
        (lambda tree: relocate_node(tree, "x", "y", "H"), "'x' is not a neighbour of 'y'"),
        (lambda tree: relocate_node(tree, "x", "H", "x"), "'x' is not on the side of 'H' when the edge to 'x' is cut"),
        (lambda tree: relocate_node(tree, "H", "x", "y"), "'y' is not on the side of 'x' when the edge to 'H' is cut"),
    ],
)
def test_mistakes_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        change(a_star())


def test_a_node_of_another_component_is_not_on_the_side():
    tree = LatentTree(
        ["x", "y", "z"], ["ab"] * 3, [-1, 0, -1], [False] * 3, [[[0.5, 0.5]], [[1, 0], [0, 1]], [[0.5, 0.5]]]
    )
    with pytest.raises(ValueError, match="'z' is not on the side of 'x'"):
        relocate_node(tree, "y", "x", "z")


# contracting


@st.composite
def contractions(draw):
    """Return a tree and two hidden nodes of it that are neighbours."""
    tree = draw(trees)
    pairs = [
        (name, other) for name in tree.latent_names for other in neighbours(tree, name) if other in tree.latent_names
    ]
    assume(pairs)
    return tree, *draw(st.sampled_from(pairs))


@given(contractions())
def test_contracting_keeps_the_distribution_of_all_other_variables(drawn):
    tree, node, neighbour = drawn
    joint = contract_edge(tree, node, neighbour)
    assert_valid(joint)
    others = [name for name in tree.names if name not in (node, neighbour)]
    before, after = reference.distribution(tree, others), reference.distribution(joint, others)
    np.testing.assert_allclose(after, before, atol=1e-12)


@given(contractions())
def test_contracting_gives_one_node_with_all_pairs_of_states_and_all_neighbours(drawn):
    tree, node, neighbour = drawn
    joint = contract_edge(tree, node, neighbour)
    assert joint.names == tuple(name for name in tree.names if name != neighbour)
    n_own, n_other = tree.cards[tree.index(node)], tree.cards[tree.index(neighbour)]
    assert joint.state_names[joint.index(node)] == tuple(range(n_own * n_other))
    around = {*neighbours(tree, node), *neighbours(tree, neighbour)} - {node, neighbour}
    assert set(neighbours(joint, node)) == around
    pairs = reference.distribution(tree, [node, neighbour]).reshape(-1)
    np.testing.assert_allclose(marginals(joint)[joint.index(node)], pairs, atol=1e-12)


@given(contractions())
def test_contracting_leaves_the_root_where_it_is_unless_it_is_the_node_that_goes(drawn):
    tree, node, neighbour = drawn
    joint = contract_edge(tree, node, neighbour)
    root = reference.root_of(tree, node)
    assert reference.root_of(joint, node) == (node if root == neighbour else root)


def test_what_cannot_be_contracted_is_named():
    tree = LatentTree(["H", "G", "x"], [[0], [0], ["a"]], [-1, -1, 0], [True, True, False], [[[1.0]], [[1.0]], [[1.0]]])
    with pytest.raises(ValueError, match="'G' is not a neighbour of 'H'"):
        contract_edge(tree, "H", "G")
    with pytest.raises(ValueError, match="'x' is observed"):
        contract_edge(tree, "H", "x")


# cutting and linking


@st.composite
def edges(draw):
    """Return a tree and the two ends of an edge of it, in any order."""
    tree = draw(trees)
    linked = [name for name in tree.names if neighbours(tree, name)]
    assume(linked)
    node = draw(st.sampled_from(linked))
    return tree, node, draw(st.sampled_from(neighbours(tree, node)))


@st.composite
def strangers(draw):
    """Return a forest and two nodes of different components."""
    tree = draw(trees)
    apart = [name for name in tree.names if None in reference.branches(tree, name)]
    assume(apart)
    node = draw(st.sampled_from(apart))
    return tree, node, tree.names[draw(st.sampled_from(reference.branches(tree, node)[None]))]


def side_of(tree, node, neighbour):
    """Return the names of all nodes but those beyond a neighbour."""
    beyond = [tree.names[at] for at in reference.branches(tree, node)[neighbour]]
    return [name for name in tree.names if name not in beyond], beyond


@given(edges())
def test_cutting_keeps_the_distribution_of_each_side_and_makes_them_independent(drawn):
    tree, node, neighbour = drawn
    cut = cut_edge(tree, node, neighbour)
    assert_valid(cut)
    mine, theirs = side_of(tree, node, neighbour)
    sides = [reference.distribution(tree, names) for names in (mine, theirs)]
    for names, before in zip((mine, theirs), sides, strict=True):
        np.testing.assert_allclose(reference.distribution(cut, names), before, rtol=1e-9, atol=1e-15)
    together = reference.distribution(cut, [*mine, *theirs])
    np.testing.assert_allclose(together, np.multiply.outer(*sides), rtol=1e-9, atol=1e-15)


@given(edges())
def test_cutting_takes_one_edge_away_and_changes_one_table(drawn):
    tree, node, neighbour = drawn
    cut = cut_edge(tree, node, neighbour)
    assert (cut.names, cut.state_names, cut.latent.tolist()) == (tree.names, tree.state_names, tree.latent.tolist())
    (below,) = np.flatnonzero(cut.parent != tree.parent)
    assert {tree.names[below], tree.names[tree.parent[below]]} == {node, neighbour}
    assert cut.parent[below] == -1  # the root of its side; the other side keeps the one it had
    for at, (before, after) in enumerate(zip(tree.tables, cut.tables, strict=True)):
        if at != below:
            assert after.tobytes() == before.tobytes()
    np.testing.assert_allclose(cut.tables[below][0], marginals(tree)[below], rtol=1e-9, atol=1e-15)


@given(edges())
def test_an_edge_is_cut_from_either_end_alike(drawn):
    tree, node, neighbour = drawn
    assert cut_edge(tree, node, neighbour) == cut_edge(tree, neighbour, node)


@given(strangers())
def test_linking_keeps_the_distribution_of_all_variables(drawn):
    tree, node, other = drawn
    linked = link_nodes(tree, node, other)
    assert_valid(linked)
    np.testing.assert_allclose(reference.joint_array(linked), reference.joint_array(tree), rtol=1e-9, atol=1e-15)
    assert (linked.names, linked.state_names) == (tree.names, tree.state_names)
    assert linked.latent.tolist() == tree.latent.tolist()


@given(strangers())
def test_linking_hangs_a_component_below_a_node_whose_root_stays(drawn):
    tree, node, other = drawn
    linked = link_nodes(tree, node, other)
    assert linked.parent[tree.index(node)] == tree.index(other)
    assert reference.root_of(linked, node) == reference.root_of(linked, other) == reference.root_of(tree, other)
    assert len(linked.roots) == len(tree.roots) - 1
    for name in tree.names:
        before, after = ({*neighbours(one, name)} for one in (tree, linked))
        assert after == before | {node: {other}, other: {node}}.get(name, set())
    assert (linked.table(node) == linked.table(node)[0]).all()  # whatever the new parent says


@given(strangers())
def test_cutting_undoes_linking_up_to_the_root(drawn):
    tree, node, other = drawn
    again = cut_edge(link_nodes(tree, node, other), node, other)
    assert reference.root_of(again, node) == node
    assert_same_tables(root_walk(tree, node), again)


@given(edges(), strangers(), st.integers(0, 2**32 - 1))
def test_relabelling_commutes_with_cutting_and_linking(cut, linked, seed):
    rng = np.random.default_rng(seed)
    for operator, (tree, *ends) in ((cut_edge, cut), (link_nodes, linked)):
        relabelled = tree
        for name in tree.names:
            relabelled = permute_states(relabelled, name, rng.permutation(tree.cards[tree.index(name)]))
        first, second = operator(tree, *ends), operator(relabelled, *ends)
        np.testing.assert_allclose(
            reference.distribution(second, tree.names), reference.distribution(first, tree.names), rtol=1e-9, atol=1e-14
        )


def test_row_sums_that_are_slightly_off_do_not_keep_an_edge_from_being_cut():
    off = [[0.5 + 9e-9, 0.5], [0.5, 0.5 + 9e-9]]
    assert_valid(cut_edge(a_chain(off[:1], off, off, off, off, off), "e", "f"))


def test_what_cannot_be_cut_or_linked_is_named():
    tree = a_star()
    with pytest.raises(ValueError, match=r"'y' is not a neighbour of 'x'; choose among its neighbours \['H'\]"):
        cut_edge(tree, "x", "y")
    with pytest.raises(ValueError, match="'x' is not a neighbour of 'x'"):
        cut_edge(tree, "x", "x")
    with pytest.raises(KeyError, match="no node is called 'G'"):
        cut_edge(tree, "G", "x")
    for node, other in (("x", "H"), ("x", "y"), ("x", "x")):
        with pytest.raises(ValueError, match=f"'{node}' and '{other}' are connected already.* would close a circle"):
            link_nodes(tree, node, other)
    with pytest.raises(KeyError, match="no node is called 'G'"):
        link_nodes(tree, "x", "G")
