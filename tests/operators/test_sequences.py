"""Operators in any order: the tree stays valid, and each operator keeps what it promises."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pgmpy_latent.operators import (
    can_split,
    canonical_states,
    delete_node,
    introduce_node,
    introduce_state,
    is_regular,
    make_regular,
    marginally_equivalent,
    merge_states,
    permute_states,
    relocate_node,
    remove_state,
    root_walk,
    split_state,
)
from pgmpy_latent.testing import assert_valid, latent_trees
from tests.support import reference

MAX_NODES, MAX_STATES = 7, 5


def neighbours(tree, node):
    return [name for name in reference.branches(tree, node) if name is not None]


class Operators(RuleBasedStateMachine):
    """A tree that is changed by one operator after the other."""

    @initialize(
        tree=latent_trees(min_nodes=4, max_nodes=6, max_card=3, zeros=None).filter(lambda tree: tree.latent.any())
    )
    def start(self, tree):
        self.tree = tree
        self.observed = tree.observed_names
        self.n_introduced = 0

    @invariant()
    def the_tree_is_valid(self):
        if hasattr(self, "tree"):
            assert_valid(self.tree)
            assert self.tree.observed_names == self.observed

    def hidden(self, min_states=1, max_states=MAX_STATES, min_neighbours=0):
        return [
            name
            for name in self.tree.latent_names
            if min_states <= self.tree.cards[self.tree.index(name)] <= max_states
            and len(neighbours(self.tree, name)) >= min_neighbours
        ]

    def states(self, node):
        return self.tree.state_names[self.tree.index(node)]

    def assert_kept(self, tree, *groups):
        """Raise unless a tree has kept the distribution of each of the groups of variables."""
        for names in groups:
            before, after = reference.distribution(self.tree, names), reference.distribution(tree, names)
            np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-12)

    def becomes(self, tree, keeps):
        self.assert_kept(tree, *keeps)
        self.tree = tree

    def behind_one_neighbour(self, node):
        return [[self.tree.names[at] for at in nodes] for nodes in reference.branches(self.tree, node).values()]

    @rule(data=st.data())
    def walk(self, data):
        walked = root_walk(self.tree, data.draw(st.sampled_from(self.tree.names)))
        self.becomes(walked, [self.tree.names])

    @rule(data=st.data())
    def permute(self, data):
        node = data.draw(st.sampled_from(self.tree.names))
        order = data.draw(st.permutations(range(int(self.tree.cards[self.tree.index(node)]))))
        self.becomes(permute_states(self.tree, node, order), [self.tree.names])

    @rule()
    def sort(self):
        self.becomes(canonical_states(self.tree), [self.observed])

    @precondition(lambda self: self.hidden(max_states=MAX_STATES - 1))
    @rule(data=st.data(), seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-3, 0.3, 1.0]))
    def split(self, data, seed, size):
        node = data.draw(st.sampled_from(self.hidden(max_states=MAX_STATES - 1)))
        state = data.draw(st.sampled_from(self.states(node)))
        if can_split(self.tree, node, state):
            split = split_state(self.tree, node, state, rng=np.random.default_rng(seed), size=size)
            self.becomes(split, self.behind_one_neighbour(node))
        else:
            self.becomes(split_state(self.tree, node, state, direction={}), [self.observed])

    @precondition(lambda self: self.hidden(min_states=2))
    @rule(data=st.data())
    def merge(self, data):
        node = data.draw(st.sampled_from(self.hidden(min_states=2)))
        states = data.draw(st.permutations(self.states(node)))
        merged = merge_states(self.tree, node, states[: data.draw(st.integers(2, len(states)))])
        self.becomes(merged, self.behind_one_neighbour(node))

    @precondition(lambda self: self.hidden(max_states=MAX_STATES - 1))
    @rule(data=st.data(), share=st.sampled_from([1e-6, 0.2, 0.9]))
    def introduce(self, data, share):
        node = data.draw(st.sampled_from(self.hidden(max_states=MAX_STATES - 1)))
        larger = introduce_state(self.tree, node, share=share)
        new = larger.state_names[self.tree.index(node)][-1]
        back = remove_state(larger, node, new)
        np.testing.assert_allclose(reference.joint_array(back), reference.joint_array(self.tree), atol=1e-12)
        self.becomes(larger, [])

    @precondition(lambda self: self.hidden(min_states=2))
    @rule(data=st.data())
    def remove(self, data):
        node = data.draw(st.sampled_from(self.hidden(min_states=2)))
        self.becomes(remove_state(self.tree, node, data.draw(st.sampled_from(self.states(node)))), [])

    @precondition(lambda self: self.tree.n_nodes < MAX_NODES)
    @rule(data=st.data())
    def introduce_a_node(self, data):
        inner = [name for name in self.tree.names if len(neighbours(self.tree, name)) > 1]
        if inner:
            node = data.draw(st.sampled_from(inner))
            chosen = data.draw(st.permutations(neighbours(self.tree, node)))
            chosen = chosen[: data.draw(st.integers(2, len(chosen)))]
            self.n_introduced += 1
            self.becomes(introduce_node(self.tree, node, chosen, f"new{self.n_introduced}"), [self.tree.names])

    @precondition(lambda self: self.hidden(min_neighbours=1))
    @rule(data=st.data())
    def delete_a_node(self, data):
        node = data.draw(st.sampled_from(self.hidden(min_neighbours=1)))
        into = data.draw(st.sampled_from(neighbours(self.tree, node)))
        kept = [self.tree.names[at] for at in reference.branches(self.tree, node)[into]]
        groups = [[*kept, *group] for group in self.behind_one_neighbour(node) if group[0] not in kept]
        self.becomes(delete_node(self.tree, node, into), groups)

    @precondition(lambda self: (self.tree.parent >= 0).any())
    @rule(data=st.data())
    def relocate_a_node(self, data):
        linked = [name for name in self.tree.names if neighbours(self.tree, name)]
        neighbour = data.draw(st.sampled_from(linked))
        old = data.draw(st.sampled_from(neighbours(self.tree, neighbour)))
        their_side = [self.tree.names[at] for at in reference.branches(self.tree, neighbour)[old]]
        new = data.draw(st.sampled_from(their_side))
        own_side = [name for name in self.tree.names if name not in their_side]
        self.becomes(relocate_node(self.tree, neighbour, old, new), [their_side, own_side, [neighbour, new]])

    @rule()
    def look_at_the_regular_tree(self):  # and go on with the other, since little is left of most trees
        regular = make_regular(self.tree)
        assert_valid(regular)
        assert is_regular(regular)
        assert marginally_equivalent(self.tree, regular)
        self.assert_kept(regular, self.observed)


TestOperators = Operators.TestCase
TestOperators.settings = settings(stateful_step_count=25)
