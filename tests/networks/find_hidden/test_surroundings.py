"""The part of a network around some nodes against the whole: scores differ by a constant, and no cycle arises."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentNetwork, encode, sample, scores
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.model.network import topological_order
from pgmpy_latent.networks.find_hidden.local_search import LocalOptions, LocalSearch, other_sizes
from pgmpy_latent.networks.find_hidden.sources import dense_sets, groups_of_tree, latent_trees, without_repeats
from pgmpy_latent.networks.find_hidden.surroundings import put_back, surroundings
from pgmpy_latent.networks.fitter import Fitter
from pgmpy_latent.networks.hill_climb import Climber
from pgmpy_latent.testing import latent_trees as random_trees

SEARCH = Search(Settings(prior=0.5), random_state=0)


@st.composite
def networks(draw, hidden=False):
    """Return a random network of seven nodes, the last of which may be hidden, and a table of the others."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_nodes, order = 7, rng.permutation(7)
    parents = [[] for _ in range(n_nodes)]
    for at, node in enumerate(order):
        n_above = min(at, int(rng.integers(0, 3)))
        parents[node] = sorted(rng.choice(order[:at], n_above, replace=False).tolist()) if n_above else []
    cards = rng.integers(2, 4, n_nodes)
    tables = [
        rng.dirichlet(np.full(card, 0.7), size=int(np.prod(cards[above], dtype=int)))
        for card, above in zip(cards, parents, strict=True)
    ]
    latent = [hidden and node == n_nodes - 1 for node in range(n_nodes)]
    network = LatentNetwork("abcdefg", [range(card) for card in cards], parents, latent, tables)
    frame = sample(network, 60, random_state=int(rng.integers(1000)))
    types = {
        name: pd.CategoricalDtype(list(states)) for name, states in zip("abcdefg", network.state_names, strict=True)
    }
    return network, encode(frame.astype({name: types[name] for name in frame}))


@given(networks(), st.sets(st.integers(0, 6), min_size=1, max_size=3))
def test_the_surroundings_have_the_families_of_the_nodes_inside(drawn, nodes):
    network, data = drawn
    around = surroundings(network, data, nodes)
    assert set(around.inside) == {network.names[node] for node in nodes}
    for name in around.inside:
        node, small = network.index(name), around.network.index(name)
        above = [network.names[parent] for parent in network.parents[node]]
        assert [around.network.names[parent] for parent in around.network.parents[small]] == above
        np.testing.assert_array_equal(network.tables[node], around.network.tables[small])
    assert all(not around.network.parents[around.network.index(name)] for name in around.paths)
    assert put_back(network, around, around.network).edges == sorted_edges(network)
    assert around.data.total_weight == data.total_weight


def sorted_edges(network):
    """Return the edges as a network with its nodes in the order of names has them."""
    position = {name: at for at, name in enumerate(sorted(network.names))}
    parents = {child: [] for child in network.names}
    for above, below in network.edges:
        parents[below].append(above)
    return [(above, below) for below in sorted(parents, key=position.get) for above in parents[below]]


def with_tables(network, tables):
    """Return the network with other tables of some nodes, by name."""
    return network.with_tables([tables.get(name, network.table(name)) for name in network.names])


@given(networks(hidden=True), st.sets(st.integers(0, 5), min_size=1, max_size=3))
@settings(max_examples=25)
def test_the_scores_of_the_surroundings_and_of_the_whole_differ_by_a_constant(drawn, nodes):
    """Whatever the tables of the nodes inside are: by Cheeseman and Stutz, with a hidden variable inside or outside."""
    network, data = drawn
    around = surroundings(network, data, nodes)
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(3):
        shapes = {name: network.table(name).shape for name in around.inside}
        tables = {name: rng.dirichlet(np.ones(shape[1]), shape[0]) for name, shape in shapes.items()}
        whole, part = with_tables(network, tables), with_tables(around.network, tables)
        both = [scores.cheeseman_stutz(*pair, prior=0.5) for pair in ((whole, data), (part, around.data))]
        differences.append(both[0] - both[1])
    assert differences == pytest.approx([differences[0]] * 3, rel=1e-9, abs=1e-7)


@given(networks(), st.sets(st.integers(0, 6), min_size=1, max_size=3))
@settings(max_examples=25)
def test_no_cycle_arises_when_changed_surroundings_are_put_back(drawn, nodes):
    network, data = drawn
    around = surroundings(network, data, nodes)
    small = around.network
    names = list(small.names)
    rng = np.random.default_rng(1)
    gains = {}

    def score(node, parents):
        return gains.setdefault((node, parents), float(rng.normal()))

    paths = [[names.index(above) for above in around.paths.get(name, ())] for name in names]
    climber = Climber(score, [names.index(name) for name in around.inside], 3, paths=paths)
    parents = climber.climb(small.parents)
    cards = small.cards
    changed = LatentNetwork(
        names, small.state_names, parents, small.latent,
        [np.full((int(np.prod(cards[list(above)], dtype=int)), card), 1 / card)
         for above, card in zip(parents, cards, strict=True)],
    )  # fmt: skip
    whole = put_back(network, around, changed)  # a LatentNetwork refuses cycles
    assert topological_order(whole.parents)


@given(networks(), st.sets(st.integers(0, 6), min_size=3, max_size=4))
@settings(max_examples=8, deadline=None)
def test_what_a_hidden_variable_gains_in_its_surroundings_it_gains_in_the_whole(drawn, nodes):
    network, data = drawn
    fitter = Fitter(data, SEARCH, "bde")
    before = fitter.scored(fitter.from_tables(network))
    around = surroundings(before.network, data, nodes)
    local = LocalSearch(around, SEARCH, "bde", LocalOptions(begin=((True, 2), (False, 2)), n_starts=2))
    result = local.begun("H", [before.network.names[node] for node in sorted(nodes)], (1,))
    assert local.gain_of(result.network) == pytest.approx(result.gain, abs=1e-6)
    whole = put_back(before.network, around, result.network)
    engine = fitter.engine(whole.names, whole.parents, whole.cards)
    total = float(engine.log_likelihood(engine.layout.pack(whole.tables)))
    assert fitter.score(whole, total) - before.score == pytest.approx(result.gain, abs=1e-6)


@given(networks(hidden=True))
@settings(max_examples=10)
def test_other_sizes_have_a_state_more_or_less(drawn):
    network, _ = drawn
    n_states = int(network.cards[network.index("g")])
    sizes = [int(other.cards[other.index("g")]) for other in other_sizes(network, "g", np.random.default_rng(0))]
    assert set(sizes) <= {n_states - 1, n_states + 1}
    assert (n_states - 1 in sizes) == (n_states > 2)


# Where hidden variables are looked for ------------------------------------------------------------------------------


@given(random_trees(), st.integers(1, 4))
def test_groups_of_a_tree_are_columns_below_a_hidden_variable_and_its_neighbours(tree, smallest):
    groups = groups_of_tree(tree, smallest)
    assert len(set(groups)) == len(groups)
    for group in groups:
        assert len(group) >= smallest
        assert len(set(group)) == len(group)
        assert set(group) <= set(tree.observed_names)
    for node in np.flatnonzero(tree.latent):
        below = {tree.names[child] for child in np.flatnonzero(tree.parent == node) if not tree.latent[child]}
        if len(below) >= smallest:
            assert below in [set(group) for group in groups]


def test_dense_sets_of_several_shares_come_one_after_the_other():
    edges = {"a": (), "b": ("a",), "c": ("b",), "d": ("a", "c"), "e": ("a", "c", "d")}
    names = list(edges)
    parents = [[names.index(above) for above in some] for some in edges.values()]
    tables = [np.full((2 ** len(above), 2), 0.5) for above in parents]
    network = LatentNetwork(names, [[0, 1]] * 5, parents, [False] * 5, tables)
    loose, tight = dense_sets(network, 3, [0.5]), dense_sets(network, 3, [0.66])
    assert dense_sets(network, 3, [0.5, 0.66]) == [*loose, *(found for found in tight if found not in loose)]
    assert without_repeats([*loose, *loose]) == loose


@pytest.mark.parametrize(("n_columns", "n_trees"), [(2, 0), (4, 2), (26, 1)])
def test_small_tables_have_a_tree_of_east_as_well(n_columns, n_trees):
    data = encode(np.random.default_rng(0).integers(2, size=(100, n_columns)))
    trees = latent_trees(data, Search(Settings(), random_state=0))
    assert len(trees) == n_trees
    assert all(set(tree.observed_names) == set(data.columns) for tree in trees)
