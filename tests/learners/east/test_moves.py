"""The operators of EAST: candidates are all there are, moves can be told to be possible, and trees stay trees."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent.learners.east.candidates import ChangedTables
from pgmpy_latent.learners.east.moves import (
    Contract,
    Delete,
    Grow,
    Interpose,
    Introduce,
    Relocate,
    Shrink,
)
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.operators import contract_edge, is_regular, make_regular
from pgmpy_latent.operators.star import Star, star_of
from pgmpy_latent.runtime.lossless_json import back, plain
from pgmpy_latent.testing import assert_valid
from tests.support import reference
from tests.support import reference_east as slow

seeds = st.integers(0, 2**32 - 1)
#: Hidden nodes stand before columns, as they do in the first tree of a search.
hidden_first = slow.bushy_trees(shuffle=False)


def keys(moves):
    """Return moves in comparable form; none may be there twice."""
    found = [slow.key(move) for move in moves]
    assert len(set(found)) == len(found)
    return set(found)


def a_tree(hidden, columns, links, seed=0):
    """Return a tree with random tables: nodes as "H 2" for a name and its number of states, links as "H x"."""
    sizes = [dict(map(str.split, nodes.split(", "))) if nodes else {} for nodes in (hidden, columns)]
    sizes = [{name: int(card) for name, card in some.items()} for some in sizes]
    pairs = [link.split() for link in links.split(", ")] if links else []
    return slow.tree_from(*sizes, pairs, np.random.default_rng(seed), shuffle=False)


HAND_MADE = {
    "latent class": a_tree("H 2", "a 2, b 2, c 2, d 2, e 3", "H a, H b, H c, H d, H e"),
    "two hidden": a_tree("H 2, G 3", "a 2, b 2, c 2, d 2, e 3", "H G, H a, H b, G c, G d, G e"),
    "two components": a_tree("H 2, G 2", "a 2, b 2, c 2, d 2, e 3, f 2", "H a, H b, H c, G d, G e, G f"),
    "columns alone": a_tree("H 2", "a 2, b 2, c 2, d 2, e 3", "H a, H b, H c, d e"),
    "observed in the middle": a_tree("H 2, G 2", "a 3, b 2, c 2, d 2, e 2", "H a, a G, H b, H c, G d, G e"),
    "no hidden node": a_tree("", "a 2, b 2, c 2", "a b"),
}


@pytest.fixture(params=HAND_MADE)
def tree(request):
    return HAND_MADE[request.param]


# which candidates there are


def assert_all_found(tree, rules):
    assert keys(Introduce.in_tree(tree, rules)) == slow.introductions(tree, rules)
    assert keys(Grow.in_tree(tree, rules)) == slow.growths(tree, rules)
    assert keys(Relocate.in_tree(tree, rules)) == slow.relocations(tree, rules)
    assert keys(Shrink.in_tree(tree, rules)) == slow.shrinkages(tree, rules)
    assert keys(Delete.in_tree(tree, Rules())) == slow.deletions(tree)
    assert keys(Contract.in_tree(tree, Rules())) == slow.contractions(tree)


@given(slow.any_trees())
def test_candidates_are_all_that_the_operators_allow(tree):
    assume(all(slow.card(tree, name) > 1 for name in tree.latent_names))
    assert_all_found(tree, Rules())


@given(slow.with_rules(hidden_first))
def test_candidates_keep_the_rules(drawn):
    assert_all_found(*drawn)


def test_candidates_of_trees_made_by_hand(tree):
    assert_all_found(tree, Rules())


def test_a_latent_class_model_has_these_candidates():
    tree = HAND_MADE["latent class"]
    assert len(Introduce.in_tree(tree, Rules())) == 10  # pairs of five columns
    assert {move.n_states for move in Introduce.in_tree(tree, Rules())} == {2}
    assert Grow.in_tree(tree, Rules()) == [Grow("H")]
    assert [(move.moved, move.new) for move in Relocate.in_tree(tree, Rules())] == [((name,), None) for name in "abcde"]
    assert Shrink.in_tree(tree, Rules()) == [Shrink("H")]
    assert Delete.in_tree(tree, Rules()) == Contract.in_tree(tree, Rules()) == []


def test_between_components_hidden_nodes_are_linked_once_and_columns_without_any_to_all_and_to_each_other():
    links = [move for move in Relocate.in_tree(HAND_MADE["two components"], Rules()) if move.old is None]
    assert links == [Relocate(("H",), None, "G")]
    links = [move for move in Relocate.in_tree(HAND_MADE["columns alone"], Rules()) if move.old is None]
    assert links == [Relocate(("d",), None, "H"), Relocate(("e",), None, "H")]
    alone = a_tree("", "a 2, b 2, c 2", "b c")
    links = [move for move in Relocate.in_tree(alone, Rules()) if move.old is None]
    assert links == [Relocate(("a",), None, "b"), Relocate(("a",), None, "c")]


def test_a_hidden_node_can_stand_on_an_edge_whose_ends_have_three_states_or_more():
    tree = a_tree("H 4", "a 3, b 5, c 4, d 2, e 3", "H a, H b, H c, c d, c e")
    anywhere = Rules(columns="anywhere")
    moves = {move.names: move.n_states for move in Interpose.in_tree(tree, anywhere)}
    edges = {frozenset(edge): 1 for edge in ("Ha", "Hb", "Hc", "ce")}
    assert moves == {**edges, frozenset("Ha"): 2, frozenset("Hb"): 3, frozenset("Hc"): 3, frozenset("ce"): 2}
    assert {move.n_states for move in Interpose.in_tree(tree, replace(anywhere, max_states=2))} == {2}
    assert Interpose.in_tree(tree, Rules()) == []  # in the paper there is no such move
    assert Interpose.in_tree(tree, replace(anywhere, max_latents=1)) == []
    bound = replace(anywhere, together=(frozenset("ab"),))
    assert {move.names for move in Interpose.in_tree(tree, bound)} == {frozenset("Hc"), frozenset("ce")}


def test_a_node_on_an_edge_can_be_introduced_from_either_end():
    tree, rules = a_tree("", "a 3, b 5, c 4", "a b, b c"), Rules(columns="anywhere")
    assert all(Interpose(*ends, 2).is_possible(tree, rules) for ends in (("a", ("b",)), ("b", ("a",))))
    assert not Interpose("a", ("c",), 2).is_possible(tree, rules)
    for node, moved in ("ab", "ba"):
        tables = {None: np.full((slow.card(tree, node), 2), 0.5), moved: np.full((2, slow.card(tree, moved)), 0.2)}
        tables = {name: table / table.sum(axis=1, keepdims=True) for name, table in tables.items()}
        new = Interpose(node, (moved,), 2).apply(tree, ChangedTables(node, tables))
        assert slow.edges_of(new) == {frozenset(("a", "H1")), frozenset(("H1", "b")), frozenset("bc")}


def test_no_more_hidden_nodes_than_allowed():
    tree = HAND_MADE["two hidden"]
    assert Introduce.in_tree(tree, Rules(max_latents=2)) == []
    assert Introduce.in_tree(tree, Rules(max_latents=3)) != []


def test_no_more_states_than_allowed():
    tree = a_tree("H 3, G 3", "a 3, b 3, c 3, d 3, e 3, f 3", "H G, H a, H b, H c, G d, G e, G f")
    assert Grow.in_tree(tree, Rules(max_states=3)) == []
    assert Grow.in_tree(tree, Rules(max_states=4)) == [Grow("H"), Grow("G")]
    assert {move.n_states for move in Introduce.in_tree(tree, Rules())} == {3}
    assert {move.n_states for move in Introduce.in_tree(tree, Rules(max_states=2))} == {2}


def test_a_new_node_has_no_more_states_than_a_regular_tree_allows():
    tree = a_tree("H 6", "a 2, b 2, c 2, d 4", "H a, H b, H c, H d")
    found = {move.moved: move.n_states for move in Introduce.in_tree(tree, Rules())}
    assert (found["a", "b"], found["a", "d"]) == (4, 6)


def test_columns_that_belong_together_move_as_one():
    tree = HAND_MADE["two hidden"]
    rules = Rules(together=(frozenset("ab"), frozenset("cd")))
    moves = Relocate.in_tree(tree, rules)
    assert Relocate(("a", "b"), "H", "G") in moves
    assert Relocate(("c", "d"), "G", "H") in moves
    assert all(not ({*move.moved} & {*"abcd"}) or len(move.moved) == 2 for move in moves)
    assert [move.moved for move in Introduce.in_tree(tree, rules)] == [("c", "d"), ("H", "e")]
    assert Shrink.in_tree(tree, rules) == [Shrink("G")]  # H would be left with one state, and hold nothing together


@given(slow.with_rules(slow.bushy_trees()))
def test_candidates_keep_the_rules_whatever_the_order_of_nodes(drawn):
    assert_all_found(*drawn)


#: The column b holds H and G together, and belongs to a.
HOLDING = a_tree("H 2, G 2", "a 2, b 3, c 2, d 2, e 2", "H a, H b, H c, b G, G d, G e")


def test_columns_that_move_together_do_not_move_to_their_own_side():
    rules = Rules(together=(frozenset("ab"),))
    assert Relocate(("a", "b"), "H", "G") not in Relocate.in_tree(HOLDING, rules)
    assert all(move.is_possible(HOLDING, rules) for move in Relocate.in_tree(HOLDING, rules))


def test_columns_that_hold_other_nodes_are_not_parted_from_those_they_belong_to():
    rules = Rules(together=(frozenset("ab"),))
    moves = [*Relocate.in_tree(HOLDING, rules), *Introduce.in_tree(HOLDING, rules)]
    parted = [move for move in moves if not slow.keeps_together(HOLDING, slow.edges_after(HOLDING, move)[1], rules)]
    assert parted == []  # b: H to G; and a node between b and its neighbours H and G


def test_a_single_state_is_not_taken_away():
    assert Shrink.in_tree(a_tree("H 1", "a 2, b 2", "H a, H b"), Rules()) == []


def test_a_new_node_has_two_states_or_more():
    tree = a_tree("H 2", "a 2, b 2, c 1, d 1", "H a, H b, H c, H d")
    assert min(move.n_states for move in Introduce.in_tree(tree, Rules())) > 1
    assert ("c", "d") not in [move.moved for move in Introduce.in_tree(tree, Rules())]


# which moves are still possible


def comparable(move):
    """Return the key of a move but for the states of a new node, which may be fewer or more by now."""
    found = slow.key(move)
    return found[:3] if found[0] == "introduce" else found


def listed(tree, rules):
    """Return all candidates of a tree in comparable form, by trying everything."""
    found = [slow.introductions, slow.growths, slow.relocations, slow.shrinkages]
    some = set().union(*(operator(tree, rules) for operator in found))
    some |= slow.deletions(tree) | slow.contractions(tree)
    return {entry[:3] if entry[0] == "introduce" else entry for entry in some}


@given(slow.with_rules(hidden_first))
def test_every_candidate_is_possible(drawn):
    tree, rules = drawn
    assert all(move.is_possible(tree, rules) for move in slow.all_moves(tree, rules))


@given(hidden_first, hidden_first, st.sampled_from([Rules(), Rules(2, 3), Rules(np.inf, 2)]))
def test_a_move_of_another_tree_is_possible_if_it_is_a_candidate_here(tree, other, rules):
    here = listed(tree, rules)
    for move in slow.all_moves(other, rules):
        if getattr(move, "old", "") is not None:
            assert move.is_possible(tree, rules) == (comparable(move) in here)


@settings(max_examples=30)
@given(slow.with_rules(hidden_first.filter(slow.sensible)), seeds)
def test_a_move_is_possible_after_another_one_if_it_is_a_candidate_then(drawn, seed):
    tree, rules = drawn
    rng = np.random.default_rng(seed)
    moves = slow.all_moves(tree, rules)
    assume(moves)
    made = moves[rng.integers(len(moves))]
    new = slow.applied(tree, made, random_tables(tree, made, rng))
    assume(rules.broken(new) is None)
    then = listed(new, rules)
    for move in moves:
        if getattr(move, "old", "") is not None:
            assert move.is_possible(new, rules) == (comparable(move) in then)


def test_a_column_that_was_linked_is_not_linked_again():
    tree = a_tree("H 2, G 2", "a 2, b 2, c 2, d 2, e 2, f 2, x 3", "H a, H b, H c, G d, G e, G f")
    first, second = Relocate(("x",), None, "H"), Relocate(("x",), None, "G")
    assert first.is_possible(tree, Rules())
    assert second.is_possible(tree, Rules())
    linked = slow.applied(tree, first, random_tables(tree, first, np.random.default_rng(0)))
    assert second not in Relocate.in_tree(linked, Rules())
    assert not second.is_possible(linked, Rules())


@pytest.mark.parametrize(
    "move",
    [
        Introduce("H", ("a", "gone"), 2),
        Introduce("gone", ("a", "b"), 2),
        Grow("gone"),
        Relocate(("gone",), "H", "G"),
        Relocate(("a",), "gone", "G"),
        Relocate(("a",), "H", "gone"),
        Relocate(("gone",), None, "H"),
        Relocate(("gone",), "H", None),
        Shrink("gone"),
        Delete("gone", "H"),
        Delete("H", "gone"),
        Contract("gone", "H"),
        Contract("H", "gone"),
    ],
    ids=str,
)
def test_nothing_is_possible_with_nodes_that_are_gone(move):
    assert not move.is_possible(HAND_MADE["two hidden"], Rules())


def test_moves_that_rules_forbid_are_not_possible():
    tree = HAND_MADE["two hidden"]
    move = next(iter(Introduce.in_tree(tree, Rules())))
    assert move.is_possible(tree, Rules(max_latents=3))
    assert not move.is_possible(tree, Rules(max_latents=2))
    assert not Grow("H").is_possible(tree, Rules(max_states=2))
    assert not Shrink("H").is_possible(tree, Rules(together=(frozenset("ab"),)))


# moves as plain words


@given(slow.with_rules(slow.any_trees()))
def test_a_move_survives_being_written_down(drawn):
    for move in slow.all_moves(*drawn):
        assert back(plain(move)) == move
        assert back(json.loads(json.dumps(plain(move)))) == move


def test_names_of_any_type_survive_being_written_down():
    for move in (Introduce(("H", 1), ((2, "a"), 3.5), 2), Relocate((True,), ("H", 1), None), Delete(1, ("H", 1))):
        again = back(plain(move))
        assert again == move
        assert type(again) is type(move)


def test_moves_say_what_they_do():
    assert str(Introduce("H", ("a", "b"), 2)) == "H: a, b"
    assert str(Relocate(("a", "b"), "H", "G")) == "a, b: H to G"
    assert str(Relocate(("a",), "H", None)) == "a: H to nowhere"
    assert str(Relocate(("a",), None, "H")) == "a: nowhere to H"
    assert str(Delete("H", "G")) == "H into G"
    assert str(Contract("H", "G")) == "H and G"
    assert [str(Grow("H")), str(Shrink("G"))] == ["H", "G"]


# what becomes of the tree


def random_tables(tree, move, rng):
    """Return random tables of the shapes that a move asks for."""

    def table(above, *names):
        return {name: slow.random_table(rng, above, slow.card(tree, name)) for name in names}

    if isinstance(move, (Grow, Shrink, Contract)):
        joint = contract_edge(tree, move.node, move.swallowed) if isinstance(move, Contract) else tree
        star = star_of(joint, joint.index(move.node))
        n_states = {Grow: star.n_states + 1, Shrink: star.n_states - 1}.get(type(move), 2)
        rows = [slow.random_table(rng, n_states, card) for card in star.cards]
        return ChangedTables(
            move.node, star=Star(rng.dirichlet(np.ones(n_states)), np.concatenate(rows, axis=1), star.cards)
        )
    if isinstance(move, Introduce):
        between = {None: slow.random_table(rng, slow.card(tree, move.node), move.n_states)}
        return ChangedTables(move.node, between | table(move.n_states, *move.moved))
    if isinstance(move, Delete):
        others = slow.around(slow.edges_of(tree), move.node) - {move.into}
        return ChangedTables(move.into, table(slow.card(tree, move.into), *sorted(others)))
    if move.new is None:
        return ChangedTables(move.moved[0], table(1, *move.moved))
    return ChangedTables(move.new, table(slow.card(tree, move.new), *move.moved))


def assert_good(tree, new):
    """Raise unless a tree is valid and regular, and has the same columns as another."""
    assert_valid(new)
    assert is_regular(new)
    assert new.observed_names == tree.observed_names
    for name in tree.observed_names:
        assert new.state_names[new.index(name)] == tree.state_names[tree.index(name)]


@given(slow.any_trees(zeros=None).filter(slow.sensible), seeds)
def test_every_move_gives_a_regular_tree_with_all_columns(tree, seed):
    rng = np.random.default_rng(seed)
    for move in slow.some_moves(tree, rng):
        assert_good(tree, slow.applied(tree, move, random_tables(tree, move, rng)))


@given(slow.bushy_trees().map(make_regular), seeds)
def test_a_move_changes_the_edges_that_it_names_and_puts_the_tables_in_place(tree, seed):
    rng = np.random.default_rng(seed)
    for move in slow.some_moves(tree, rng):
        local = random_tables(tree, move, rng)
        new = slow.applied(tree, move, local)
        names, edges = slow.edges_after(tree, move)
        (added,) = set(new.names) - set(tree.names) or {None}
        if {None if name == added else name for name in new.names} - {None} != names - {None}:
            continue  # a node became superfluous
        assert {frozenset(None if name == added else name for name in edge) for edge in slow.edges_of(new)} == edges
        if local.star is None:
            for name, table in local.tables.items():
                expected = pair_under(new, added if name is None else name)
                np.testing.assert_allclose(expected, table, atol=1e-12)
        else:
            star = star_of(new, new.index(move.node))
            np.testing.assert_allclose(star.rows, local.star.rows, atol=1e-12)
            np.testing.assert_allclose(star.share, local.star.share, atol=1e-12)


def pair_under(tree, name):
    """Return P(node | parent) by enumeration."""
    above = tree.parent[tree.index(name)]
    joint = reference.joint_array(tree)
    nodes = [tree.index(name)] if above < 0 else [above, tree.index(name)]
    joint = joint.sum(axis=tuple(set(range(tree.n_nodes)) - set(nodes)))
    joint = joint[None] if above < 0 else joint if above < tree.index(name) else joint.T
    return joint / joint.sum(axis=1, keepdims=True)


def test_a_new_node_gets_a_name_that_is_free():
    tree = a_tree("H1 2", "H2 2, b 2, c 2, d 2", "H1 H2, H1 b, H1 c, H1 d")
    move = Introduce("H1", ("b", "c"), 2)
    new = slow.applied(tree, move, random_tables(tree, move, np.random.default_rng(0)))
    assert new.latent_names == ("H1", "H3")
    assert new.state_names[new.index("H3")] == (0, 1)


def test_a_node_that_is_left_with_one_state_is_removed():
    tree = HAND_MADE["latent class"]
    new = slow.applied(tree, Shrink("H"), random_tables(tree, Shrink("H"), np.random.default_rng(0)))
    assert new.names == tuple("abcde")
    assert (new.parent == -1).all()


# rules


def test_a_tree_that_keeps_the_rules_breaks_none():
    tree = HAND_MADE["two hidden"]
    assert Rules().broken(tree) is None
    assert Rules(2, 3, (frozenset("ab"), frozenset("cde"))).broken(tree) is None


@given(slow.with_rules(slow.bushy_trees()))
def test_rules_made_for_a_tree_are_kept_by_it(drawn):
    tree, rules = drawn
    assert rules.broken(tree) is None


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Rules(max_latents=1), "has 2 hidden variables, more than max_latents=1"),
        (Rules(max_states=2), "has 3 states of 'G', more than max_states=2"),
        (Rules(together=(frozenset("ac"),)), "has no hidden variable that the columns ['a', 'c'] share"),
        (
            Rules(together=(frozenset("ab"), frozenset("bcd"))),
            "has no hidden variable that the columns ['b', 'c', 'd']",
        ),
    ],
)
def test_what_is_broken_is_named(rules, message):
    assert rules.broken(HAND_MADE["two hidden"]).startswith(message)


def test_a_common_neighbour_that_is_observed_holds_nothing_together():
    tree = a_tree("", "a 2, b 2, c 2", "c a, c b")
    assert "share" in Rules(together=(frozenset("ab"),)).broken(tree)


def test_units_are_the_neighbours_with_those_that_belong_together_as_one():
    rules = Rules(together=(frozenset("ad"), frozenset("xyz")))
    tree = HAND_MADE["latent class"]
    assert rules.units(tree, tree.index("H")) == [("a", "d"), ("b",), ("c",), ("e",)]
    assert rules.unit("a") == frozenset("ad")
    assert rules.unit("b") == frozenset("b")


# what a move touches


def test_a_move_touches_the_hidden_nodes_that_it_names():
    tree = HAND_MADE["observed in the middle"]
    assert Introduce("H", ("b", "c"), 2).touched(tree) == {"H"}
    assert Relocate(("b",), "H", "G").touched(tree) == {"H", "G"}
    assert Relocate(("H",), "a", None).touched(tree) == set()
    assert Delete("H", "G").touched(tree) == Contract("H", "G").touched(tree) == {"H", "G"}
    assert Grow("G").touched(tree) == {"G"}


def test_a_signature_changes_with_the_surroundings_of_a_move():
    tree = a_tree("H 2, G 2", "a 2, b 2, c 2, d 2, e 3, f 2, g 2", "H a, H b, H c, H g, G d, G e, G f")
    signatures = [move.signature(tree) for move in slow.all_moves(tree)]
    assert len(set(signatures)) == len(signatures)
    move = Relocate(("a",), "H", None)
    rng = np.random.default_rng(0)
    for made, changes in [(Grow("H"), True), (Relocate(("b",), "H", None), True), (Relocate(("e",), "G", None), False)]:
        new = slow.applied(tree, made, random_tables(tree, made, rng))
        assert (move.signature(new) != move.signature(tree)) == changes


@pytest.mark.parametrize(
    ("before", "move", "taken_back"),
    [
        (Relocate(("a",), "H", "G"), Relocate(("a",), "G", "H"), True),
        (Relocate(("a", "b"), "H", "G"), Relocate(("b",), "G", None), True),
        (Relocate(("a",), "H", "G"), Relocate(("b",), "G", "H"), False),
        (Relocate(("a",), "H", "G"), Shrink("G"), False),
        (Grow("H"), Shrink("H"), True),
        (Shrink("H"), Grow("H"), True),
        (Grow("H"), Shrink("G"), False),
        (Introduce("H", ("a", "b"), 2), Delete("new", "H"), True),
        (Introduce("H", ("a", "b"), 2), Delete("H", "new"), True),
        (Introduce("H", ("a", "b"), 2), Contract("H", "new"), True),
        (Introduce("H", ("a", "b"), 2), Relocate(("a",), "new", "H"), True),
        (Introduce("H", ("a", "b"), 2), Relocate(("c",), "H", "new"), False),
        (Introduce("H", ("a", "b"), 2), Delete("H", "G"), False),
        (Introduce("H", ("a", "b"), 2), Grow("new"), False),
    ],
    ids=str,
)
def test_moves_that_take_back_the_one_before_are_known(before, move, taken_back):
    fresh = ["new"] if isinstance(before, Introduce) else []
    assert before.is_undone_by(move, fresh) == taken_back
