"""What the rows say at every place of a tree: against enumeration, with gaps, zeros, weights and forests."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent.inference.plan import Evidence
from pgmpy_latent.learners.local.node_messages import NodeMessages, dense
from pgmpy_latent.operators.edges import neighbours_of
from tests.support import reference
from tests.support import reference_east as slow

seeds = st.integers(0, 2**32 - 1)
problems = slow.problems(slow.any_trees(max_columns=5, max_hidden=2, zeros=None), max_rows=5)


def edges(tree):
    """Return every edge in both directions, as pairs of positions."""
    return [(other, node) for node in range(tree.n_nodes) for other in neighbours_of(tree, node)]


def beyond(tree, neighbour, node):
    """Return the nodes on a neighbour's side of an edge."""
    return reference.branches(tree, tree.names[node])[tree.names[neighbour]]


def assert_proportional(found, expected):
    """Raise unless two vectors differ by a factor only; NaN stands for anything. Return the factor."""
    known = ~np.isnan(expected)
    factor = found[known].sum() / expected[known].sum()
    np.testing.assert_allclose(found[known], factor * expected[known], rtol=1e-9, atol=1e-13 * factor)
    return factor


def values_of(factor):
    """Return what a neighbour says, for each row and state, zeros included."""
    index, logs, zero = factor
    if zero is None:
        return np.exp(logs)[index]
    assert set(np.unique(zero)) == {0, 1}
    assert (logs[zero == 1] == 0).all()
    return np.where(zero, 0.0, np.exp(logs))[index]


def remaining(tree, row, node, without):
    """Return P(node, what a row says about all nodes but those beyond some neighbours)."""
    nodes = set(range(tree.n_nodes)).difference(*(beyond(tree, other, node) for other in without))
    states, joint = reference.row_joint(tree.parent, tree.tables, {at: row[at] for at in row if at in nodes})
    return np.bincount(states[:, node], joint, tree.cards[node])


def some_neighbours(tree, node, rng):
    around = neighbours_of(tree, node)
    return [other for other in around if rng.random() < 0.5]


# messages


@settings(max_examples=40)
@given(problems)
def test_a_message_is_how_likely_the_rows_are_on_the_side_of_a_neighbour(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    for neighbour, node in edges(tree):
        index, messages = dense(outlook.message(neighbour, node))
        for at, row in enumerate(slow.evidence(tree, data)):
            expected = slow.likelihoods(tree, row, neighbour, beyond(tree, neighbour, node))
            assert_proportional(messages[index[at]], expected)


@settings(max_examples=40)
@given(problems)
def test_a_factor_is_how_likely_the_rows_beyond_a_neighbour_are_given_the_node(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    for neighbour, node in edges(tree):
        values = values_of(outlook.factor(neighbour, node))
        for at, row in enumerate(slow.evidence(tree, data)):
            assert_proportional(values[at], slow.likelihoods(tree, row, node, beyond(tree, neighbour, node)))


@given(problems)
def test_tables_are_those_of_neighbours_given_the_node(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    for neighbour, node in edges(tree):
        joint = reference.joint_array(tree).sum(axis=tuple(set(range(tree.n_nodes)) - {node, neighbour}))
        joint = joint if node < neighbour else joint.T
        possible = joint.sum(axis=1) > 0
        expected = joint[possible] / joint[possible].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(outlook.given(node, neighbour)[possible], expected, rtol=1e-9, atol=1e-13)


def test_states_that_were_seen_are_messages_too():
    index, messages = dense(Evidence(np.array([1, -1, 0]), 2))
    np.testing.assert_array_equal(messages[index], [[0, 1], [1, 1], [1, 0]])
    soft = np.array([[0.2, 0.4], [1.0, 0.0]])
    index, messages = dense(Evidence(np.array([1, 1, 0]), 2, soft))
    np.testing.assert_array_equal(messages[index], soft[[1, 1, 0]])


# products


@given(problems, seeds)
def test_the_rest_is_what_all_other_neighbours_and_the_node_itself_say(problem, seed):
    tree, data = problem
    rng = np.random.default_rng(seed)
    outlook = NodeMessages(tree, data)
    for node in range(tree.n_nodes):
        without = some_neighbours(tree, node, rng)
        found = outlook.rest(node, without)
        np.testing.assert_array_equal(found.max(axis=1), 1.0)
        for at, row in enumerate(slow.evidence(tree, data)):
            assert_proportional(found[at], remaining(tree, row, node, without))


@given(problems)
def test_posteriors_are_those_of_enumeration(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    rows = slow.evidence(tree, data)
    for node in range(tree.n_nodes):
        expected = reference.beliefs(tree.parent, tree.tables, rows, node)
        np.testing.assert_allclose(outlook.posterior(node), expected, rtol=1e-9, atol=1e-13)


@given(problems, seeds)
def test_the_log_likelihood_is_that_of_the_tree_up_to_the_factors_that_were_left_out(problem, seed):
    tree, data = problem
    rng = np.random.default_rng(seed)
    outlook = NodeMessages(tree, data)
    rows = slow.evidence(tree, data)
    whole = slow.log_likelihood(tree, data)
    for node in range(tree.n_nodes):
        without = some_neighbours(tree, node, rng)
        rest = outlook.rest(node, without)
        said = [(other, values_of(outlook.factor(other, node))) for other in without]
        left_out = 0.0
        for at, row in enumerate(rows):
            scales = [assert_proportional(rest[at], remaining(tree, row, node, without))]
            for other, values in said:
                expected = slow.likelihoods(tree, row, node, beyond(tree, other, node))
                scales.append(assert_proportional(values[at], expected))
            left_out += data.weights[at] * np.log(scales).sum()
        found = outlook.log_likelihood(node, rest, without)
        assert found - left_out == pytest.approx(whole, rel=1e-9, abs=1e-9)


def test_a_neighbour_that_rules_a_state_out_can_be_left_out_again():
    """Zeros are counted, not divided by."""
    rng = np.random.default_rng(0)
    tree = slow.tree_from({"H": 2}, {"x": 2, "y": 2}, ["Hx", "Hy"], rng, shuffle=False)
    tree = tree.with_tables([tree.table("H"), np.eye(2), tree.table("y")])
    data = slow.table_for(tree, np.array([[0, 0], [1, 1]]))
    outlook = NodeMessages(tree, data)
    np.testing.assert_array_equal(outlook.posterior(0), np.eye(2))
    for at, row in enumerate(slow.evidence(tree, data)):
        assert_proportional(outlook.rest(0, without=[1])[at], remaining(tree, row, 0, [1]))


# completed counts


@given(problems)
def test_completed_counts_are_those_of_the_completed_table(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    codes, weights = slow.completed(tree, data)
    for node in range(tree.n_nodes):
        around = neighbours_of(tree, node)
        if not around:
            continue
        found, parts = outlook.completed(node), columns(tree, around)
        for left, right in combinations(around, 2):
            expected = slow.counts(codes, weights, [node, left, right], tree.cards)
            block = found[:, parts[left], parts[right]]
            np.testing.assert_allclose(block, expected, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(found[:, parts[right], parts[left]], block.transpose(0, 2, 1), rtol=1e-12)


def columns(tree, around):
    """Return where each neighbour stands in the star of a node."""
    ends = np.cumsum(tree.cards[around])
    return {other: slice(end - tree.cards[other], end) for other, end in zip(around, ends, strict=True)}


@given(problems)
def test_within_one_neighbour_completed_counts_are_those_of_two_draws(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    rows = slow.evidence(tree, data)
    for node in range(tree.n_nodes):
        around = neighbours_of(tree, node)
        for other, own in columns(tree, around).items():
            expected = 0.0
            for row, weight in zip(rows, data.weights, strict=True):
                joint = slow.posterior(tree, row, [node, other])
                total = np.where(joint.sum(axis=1) > 0, joint.sum(axis=1), 1.0)
                expected = expected + weight * joint[:, :, None] * joint[:, None] / total[:, None, None]
            np.testing.assert_allclose(outlook.completed(node)[:, own, own], expected, rtol=1e-9, atol=1e-10)


# from one node to another


def reachable(tree, node):
    """Return the other nodes of a node's component, with the neighbour through which each is reached."""
    branches = reference.branches(tree, tree.names[node])
    return {other: tree.index(name) for name, nodes in branches.items() if name is not None for other in nodes}


@given(problems)
def test_transitions_are_conditional_posteriors(problem):
    tree, data = problem
    outlook = NodeMessages(tree, data)
    rows = slow.evidence(tree, data)
    for node in range(tree.n_nodes):
        for target, shares in outlook.transitions(node, reachable(tree, node)):
            assert shares.shape == (len(rows), tree.cards[node], tree.cards[target])
            for at, row in enumerate(rows):
                joint = slow.posterior(tree, row, [node, target])
                possible = joint.sum(axis=1) > 0
                expected = joint[possible] / joint[possible].sum(axis=1, keepdims=True)
                np.testing.assert_allclose(shares[at][possible], expected, rtol=1e-8, atol=1e-12)


@given(problems, seeds)
def test_transitions_lead_to_all_nodes_asked_for_that_can_be_reached(problem, seed):
    tree, data = problem
    rng = np.random.default_rng(seed)
    outlook = NodeMessages(tree, data)
    for node in range(tree.n_nodes):
        asked = {other for other in range(tree.n_nodes) if other != node and rng.random() < 0.5}
        found = [target for target, _ in outlook.transitions(node, asked)]
        assert sorted(found) == sorted(asked & set(reachable(tree, node)))


@settings(max_examples=30)
@given(problems)
def test_transitions_carry_what_is_left_after_a_neighbour_is_taken_away(problem):
    """They hold whatever the other neighbours say: what relocating one of them relies on."""
    tree, data = problem
    outlook = NodeMessages(tree, data)
    rows = slow.evidence(tree, data)
    for node in range(tree.n_nodes):
        through = reachable(tree, node)
        for target, shares in outlook.transitions(node, through):
            for moved in set(neighbours_of(tree, node)) - {through[target]}:
                found = np.einsum("ny,nyt->nt", outlook.rest(node, [moved]), shares)
                left = set(range(tree.n_nodes)) - set(beyond(tree, moved, node))
                for at, row in enumerate(rows):
                    told = {other: state for other, state in row.items() if other in left}
                    assert_proportional(found[at], slow.posterior(tree, told, [target]))
