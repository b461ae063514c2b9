"""Trees divided at columns: every edge is in one block, and log-likelihoods of blocks add up to that of the tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import log_likelihood, sample
from pgmpy_latent.operators import marginally_equivalent
from pgmpy_latent.operators.blocks import blocks_of, rooted_at_columns, subtree
from pgmpy_latent.testing.strategies import latent_trees


def edges_of(tree, nodes=None):
    inside = set(range(tree.n_nodes) if nodes is None else nodes)
    return {
        frozenset((node, int(above)))
        for node, above in enumerate(tree.parent)
        if above >= 0 and inside >= {node, above}
    }


@settings(deadline=None)
@given(latent_trees(max_nodes=9), st.data())
def test_blocks_share_nothing_but_columns_at_which_they_are_divided(tree, data):
    columns = data.draw(st.lists(st.sampled_from(tree.observed_names), unique=True))
    divides = {tree.index(name) for name in columns}
    blocks = blocks_of(tree, columns)
    inside = [edges_of(tree, nodes) for nodes in blocks]
    assert sum(map(len, inside)) == len(edges_of(tree))  # every edge is in one block
    assert set().union(*inside) == edges_of(tree)
    for at, nodes in enumerate(blocks):
        for other in blocks[:at]:
            assert set(nodes) & set(other) <= divides
        for node in nodes:  # a column at which the tree is divided is an end of all its blocks
            assert node not in divides or len([edge for edge in inside[at] if node in edge]) <= 1
        assert all(int(tree.parent[node]) in nodes for node in nodes[1:])
    assert {node for nodes in blocks for node in nodes} == set(range(tree.n_nodes))


@settings(deadline=None)
@given(latent_trees(max_nodes=9, zeros=None), st.data())
def test_rooting_at_columns_keeps_the_distribution(tree, data):
    columns = data.draw(st.lists(st.sampled_from(tree.observed_names), unique=True))
    rooted = rooted_at_columns(tree, columns)
    assert edges_of(rooted) == edges_of(tree)
    assert marginally_equivalent(rooted, tree)
    first = {}
    for name in columns:
        component = [root for root in rooted.roots if tree.index(name) in below(rooted, int(root))]
        first.setdefault(int(component[0]), name)
    assert all(rooted.names[root] == name for root, name in first.items())


def below(tree, root):
    reached = [root]
    for node in reached:  # the list grows while it is walked
        reached.extend(tree.child_lists[node])
    return set(reached)


@settings(deadline=None, max_examples=40)
@given(latent_trees(max_nodes=9), st.integers(0, 2**32 - 1))
def test_log_likelihoods_of_blocks_add_up(tree, seed):
    """A column between blocks is counted in each of them, so that it is taken out of all but one."""
    columns = tree.observed_names
    tree = rooted_at_columns(tree, columns)
    rows = sample(tree, 20, random_state=seed % 1000)
    marginals = {}
    for node in tree.order:
        above = int(tree.parent[node])
        marginals[node] = tree.tables[node][0] if above < 0 else marginals[above] @ tree.tables[node]
    total = 0.0
    for nodes in blocks_of(tree, columns):
        top = nodes[0]
        block = subtree(tree, nodes, marginals[top] / marginals[top].sum())
        total += log_likelihood(block, rows[list(block.observed_names)]) if block.observed_names else 0.0
        if not tree.latent[top]:
            total -= np.log(marginals[top][rows[tree.names[top]].map(tree.state_names[top].index)]).sum()
    for root in tree.roots:
        if not tree.latent[root]:
            total += np.log(marginals[root][rows[tree.names[root]].map(tree.state_names[root].index)]).sum()
    assert total == pytest.approx(log_likelihood(tree, rows), rel=1e-9)
