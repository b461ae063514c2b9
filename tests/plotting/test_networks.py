"""Pictures of networks: parents above children, nothing overlaps, and what is new is marked."""

import gzip
from functools import cache
from importlib.resources import files
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import same_color
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.transforms import Affine2D
from pgmpy.readwrite import BIFReader

from pgmpy_latent import Baseline, LatentNetwork, datasets, network_from_pgmpy, to_pgmpy
from pgmpy_latent.diagnostics.layers import BETWEEN_BOXES, BETWEEN_EDGES, _Component, layered
from pgmpy_latent.diagnostics.link_strength import family_probabilities, link_strength
from pgmpy_latent.model.network import as_network, blanket, child_lists
from pgmpy_latent.plotting import plot_network
from pgmpy_latent.plotting.axes import BLUE, VERMILION
from pgmpy_latent.testing import latent_networks
from tests.support.pictures import assert_readable, shapes, words
from tests.support.reference import joint_states
from tests.support.reference_networks import joint_probabilities
from tests.support.samples import small_tree

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@cache
def alarm():
    text = gzip.decompress((files("pgmpy") / "utils/example_models/alarm.bif.gz").read_bytes()).decode()
    return network_from_pgmpy(BIFReader(string=text).get_model())


def hiding(network, names):
    latent = [name in names for name in network.names]
    return LatentNetwork(network.names, network.state_names, network.parents, latent, network.tables)


def without_edges_into(network, children):
    """Return a network in which some nodes have no parents."""
    gone = {network.index(name) for name in children}
    parents = [() if node in gone else above for node, above in enumerate(network.parents)]
    tables = [table[:1] if node in gone else table for node, table in enumerate(network.tables)]
    return LatentNetwork(network.names, network.state_names, parents, network.latent, tables)


def random_network(n_nodes, seed, name="x{}", n_hidden=3):
    """Return a network in which nodes have up to three parents among the 25 before them."""
    rng = np.random.default_rng(seed)
    parents = [
        tuple(
            np.sort(rng.choice(np.arange(max(0, at - 25), at), min(rng.choice(4, p=[0.1, 0.5, 0.3, 0.1]), at), False))
        )
        for at in range(n_nodes)
    ]
    latent = np.zeros(n_nodes, bool)
    latent[rng.choice(n_nodes // 2, min(n_hidden, n_nodes // 2), replace=False)] = True
    names = [f"H{at}" if hidden else name.format(at) for at, hidden in enumerate(latent)]
    tables = [rng.dirichlet([0.7, 0.7], size=2 ** len(above)) for above in parents]
    return LatentNetwork(names, [[0, 1]] * n_nodes, parents, latent, tables)


def hub(n_children):
    tables = [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * n_children]
    parents = [(), *[(0,)] * n_children]
    return LatentNetwork(
        ["H", *(f"x{at}" for at in range(n_children))], [[0, 1]] * (n_children + 1), parents,
        [True] + [False] * n_children, tables,
    )  # fmt: skip


def rectangles(ax):
    """Return left, top, right and bottom of the boxes of the nodes; y grows downwards."""
    found = []
    for patch in shapes(ax, FancyBboxPatch):
        found.append(
            (patch.get_x(), patch.get_y(), patch.get_x() + patch.get_width(), patch.get_y() + patch.get_height())
        )
    return np.array(found)


def explanations(ax):
    """Return what is said below the network."""
    return [text.get_text() for text in ax.texts if text.get_color() == "0.35" and text.get_style() == "normal"]


def assert_clear(ax, network):
    """Assert that boxes are apart, parents above children, and that edges cross no box."""
    boxes = rectangles(ax)[: network.n_nodes]
    left, top, right, bottom = boxes.T
    apart = (left[:, None] >= right) | (top[:, None] >= bottom)
    assert (apart | apart.T | np.eye(len(boxes), dtype=bool)).all()
    for above, node in ((above, node) for node, some in enumerate(network.parents) for above in some):
        assert bottom[above] < top[node]
    arrows = shapes(ax, FancyArrowPatch)
    assert len(arrows) == len(network.edges)
    for arrow in arrows:
        points = arrow._path_original.to_polygons(Affine2D().scale(200), closed_only=False)[0] / 200
        inside = (
            (points[:, :1] > left + 1e-9) & (points[:, :1] < right - 1e-9)
            & (points[:, 1:] > top + 1e-9) & (points[:, 1:] < bottom - 1e-9)
        )  # fmt: skip
        assert not inside.any()
    explained = [text.get_position()[1] for text in ax.texts if text.get_text() in explanations(ax)]
    assert top.min() >= -0.1
    assert bottom.max() < min(explained, default=np.inf)


# Layers -----------------------------------------------------------------------------------------------------


@given(latent_networks(max_nodes=12, max_card=1, max_parents=4), st.integers(0, 2**32 - 1))
def test_parents_are_above_children_and_nothing_overlaps(network, seed):
    widths = np.random.default_rng(seed).gamma(2.0, 0.4, size=network.n_nodes) + 0.1
    found = layered(network.parents, widths, 0.6)
    assert found.layer.min() == 0
    assert found.layer.max() == found.n_layers - 1
    items = [(int(found.layer[node]), found.x[node], widths[node], node) for node in range(network.n_nodes)]
    items += [(at, place, 0.0, node) for (node, at), place in found.bends.items()]
    for at in range(found.n_layers):
        row = sorted((x, width, node) for layer, x, width, node in items if layer == at)
        assert row, "no layer is empty"
        for (one, width, _), (other, further, _) in pairwise(row):
            least = BETWEEN_BOXES if width and further else BETWEEN_EDGES
            assert other - one >= (width + further) / 2 + least - 1e-9
    for node, above in enumerate(network.parents):
        for parent in above:
            assert found.layer[parent] < found.layer[node]
            assert len(found.way(parent, node)) == found.layer[node] - found.layer[parent] - 1
    assert (found.x - widths / 2).min() >= -1e-9
    assert (found.x + widths / 2).max() <= found.width + 1e-9


@given(latent_networks(max_nodes=9, max_card=1, max_parents=3))
def test_the_number_of_crossings_is_that_of_pairs_that_cross(network):
    linked = [node for node in range(network.n_nodes) if network.parents[node] or child_lists(network.parents)[node]]
    if not linked:
        return
    place = {node: at for at, node in enumerate(linked)}
    parents = [[place[above] for above in network.parents[node]] for node in linked]
    component = _Component(parents, range(len(linked)), np.ones(len(linked)), 0.6)
    before = component._n_crossings()
    at = {item: index for row in component.rows for index, item in enumerate(row)}
    ends = [
        (at[other], at[item], component.at_layer[item]) for item in range(len(at)) for other in component.above[item]
    ]
    crossing = [
        (one, other) for one in ends for other in ends if one[2] == other[2] and one[0] < other[0] and one[1] > other[1]
    ]
    assert before == len(crossing)
    component._order()
    assert component._n_crossings() <= before


def test_a_ladder_needs_no_crossing():
    rungs = [(), (), (0,), (1,), (2,), (3,), (4,), (5,)]
    for order in ([0, 1, 3, 2, 4, 5, 7, 6], [1, 0, 2, 3, 5, 4, 6, 7]):
        joined = [*rungs, (6, 7)]
        place = {node: at for at, node in enumerate([*order, 8])}
        parents = [[] for _ in joined]
        for node, above in enumerate(joined):
            parents[place[node]] = [place[parent] for parent in above]
        component = _Component(parents, range(9), np.ones(9), 0.6)
        component._order()
        assert component._n_crossings() == 0


# Pictures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "network",
    [
        hiding(alarm(), ("HR", "INTUBATION")),
        random_network(100, 0, n_hidden=6),
        random_network(30, 1, name="How satisfied are you with number {}, all things considered?"),
        random_network(20, 2, name="Unbrokenwordofmanyletters{}withoutanyspace"),
        hub(60),
        hub(1),
    ],
    ids=["alarm", "hundred", "long names", "long words", "hub", "pair"],
)
def test_everything_can_be_read(network):
    ax = plot_network(network, base=without_edges_into(network, network.names[-3:]))
    assert_readable(ax)
    assert_clear(ax, network)
    shown = [text.replace("\n", " ") for text in words(ax)[: network.n_nodes]]
    for name, text in zip(network.names, shown, strict=True):
        assert text.replace(" ", "").startswith(name.replace(" ", "")[:38])
    assert {f"{name} (2)" for name in network.latent_names} <= set(shown) or network.n_nodes == 37
    assert ax.figure.get_size_inches().max() < 16


@settings(max_examples=25)
@given(latent_networks(max_nodes=10, max_card=3), st.booleans())
def test_any_network_can_be_read(network, with_base):
    import matplotlib.pyplot as plt

    ax = plot_network(network, base=network if with_base else None)
    assert_readable(ax)
    assert_clear(ax, network)
    assert not any(same_color(arrow.get_edgecolor(), VERMILION) for arrow in shapes(ax, FancyArrowPatch))
    plt.close("all")


@pytest.mark.parametrize("dpi", [50, 100, 300])
def test_it_can_be_read_at_any_resolution(dpi):
    with matplotlib.rc_context({"figure.dpi": dpi}):
        assert_readable(plot_network(hiding(alarm(), ("HR",))))


def test_hidden_variables_and_new_edges_are_marked():
    network = hiding(alarm(), ("HR",))
    base = without_edges_into(alarm(), ["CATECHOL", "HR"])
    turned = [(name, parent) for parent, name in base.edges if (parent, name) == ("CO", "BP")]
    ax = plot_network(network, base=base)
    new = [arrow for arrow in shapes(ax, FancyArrowPatch) if same_color(arrow.get_edgecolor(), VERMILION)]
    assert len(new) == len(alarm().parents[alarm().index("CATECHOL")]) + 1
    blue = [box for box in shapes(ax, FancyBboxPatch)[: network.n_nodes] if same_color(box.get_edgecolor(), BLUE)]
    assert len(blue) == 1
    assert explanations(ax) == [
        "mutual information of 0.61 nats, given the other parents",
        "not in the base network",
        "hidden variable, with its number of states",
    ]
    assert turned  # an edge that is turned round is not new
    back = hiding(alarm(), ())
    names = list(back.names)
    one, other = names.index("CVP"), names.index("LVEDVOLUME")
    parents = [list(above) for above in base.parents]
    parents[one].remove(other)
    tables = list(base.tables)
    tables[one] = tables[one][:1]
    fewer = LatentNetwork(names, base.state_names, parents, base.latent, tables)
    assert any("1 edge of the base network is gone" in text for text in words(plot_network(fewer, base=base)))


def test_the_network_that_a_search_began_with_is_the_base():
    class Found:
        network_ = hiding(alarm(), ("HR",))
        base_ = without_edges_into(alarm(), ["HR"])

    arrows = shapes(plot_network(Found()), FancyArrowPatch)
    assert sum(same_color(arrow.get_edgecolor(), VERMILION) for arrow in arrows) == 1


def test_only_the_surroundings_are_drawn():
    network = hiding(alarm(), ("HR",))
    ax = plot_network(network, around=["HR"])
    near = {network.names[node] for node in blanket(network.parents, network.index("HR"))}
    assert {text.split(" ")[0] for text in words(ax)[: len(near) + 1]} == near | {"HR"}
    assert ax.get_title(loc="left").endswith("(of 37 variables)")
    assert_readable(ax)
    with pytest.raises(ValueError, match="around names 'H9', which the network does not have; give some of its"):
        plot_network(network, around=["H9"])
    for around in ("HR", []):
        with pytest.raises(TypeError, match=r"; give a list of variables, as around=\['H'\]"):
            plot_network(network, around=around)


def test_support_stands_on_the_edges_and_in_hidden_variables():
    network = hiding(alarm(), ("HR", "VENTLUNG"))
    edges = [(*edge, (at % 101) / 100) for at, edge in enumerate(network.edges)]
    rows = [("edge", child, parent, share) for parent, child, share in edges]  # written the other way round
    rows += [("hidden variable", "HR", None, 0.97), ("hidden variable", "VENTLUNG", None, 0.5)]
    support = pd.DataFrame(rows, columns=["kind", "parent", "child", "support"])
    ax = plot_network(network, support=support)
    assert_readable(ax)
    assert_clear(ax, network)
    shown = words(ax)
    assert sorted(text for text in shown if text.isdigit()) == sorted(f"{100 * share:.0f}" for *_, share in edges)
    assert {"HR (3) 97%", "VENTLUNG (4) 50%"} <= set(shown)
    assert shown[-1] == "numbers: bootstrap support in percent"
    with pytest.raises(ValueError, match="support has an edge between 'HR' and 'CVP', but the network has none"):
        plot_network(network, support=pd.DataFrame({"parent": ["HR"], "child": ["CVP"], "support": [1.0]}))
    with pytest.raises(ValueError, match="support has 'CVP' as a hidden variable, but the network has none"):
        plot_network(network, support=support[-1:].assign(parent="CVP"))
    with pytest.raises(ValueError, match="support has no column 'child'"):
        plot_network(network, support=support.drop(columns="child"))


def test_texts_shrink_in_small_axes():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(3, 3))
    plot_network(hiding(alarm(), ("HR",)), ax=ax)
    sizes = [text.get_size() for text in ax.texts]
    assert max(sizes) < 5
    assert_apart = np.array([text.get_window_extent(ax.figure.canvas.get_renderer()).extents for text in ax.texts])
    apart = (assert_apart[:, None, 0] >= assert_apart[None, :, 2]) | (
        assert_apart[:, None, 1] >= assert_apart[None, :, 3]
    )
    assert (apart | apart.T | np.eye(len(apart), dtype=bool)).all()


def test_trees_learners_and_networks_of_pgmpy_are_drawn():
    tree = small_tree()
    assert words(plot_network(tree)) == words(plot_network(as_network(tree))) == words(plot_network(to_pgmpy(tree)))
    learner = Baseline("independence").fit(datasets.load_anes96())
    ax = plot_network(learner)
    assert words(ax)[-1] == "independent:"
    assert ax.get_title(loc="left") == "0 hidden variables, 9 columns, 0 edges"
    assert_readable(ax)
    with pytest.raises(TypeError, match="expected a LatentTree, LatentNetwork, pgmpy network or fitted learner"):
        plot_network("alarm.json")


# Strength of edges ------------------------------------------------------------------------------------------


@given(latent_networks(max_nodes=5, zeros=None))
def test_the_strength_of_an_edge_is_the_mutual_information_given_the_other_parents(network):
    joint = joint_probabilities(network, joint_states(network.cards)).reshape(network.cards)
    families = family_probabilities(network)
    for node, found in enumerate(link_strength(network)):
        family = (*network.parents[node], node)
        by_family = np.einsum(joint, range(network.n_nodes), family)
        np.testing.assert_allclose(families[node], by_family, atol=1e-12)
        for at, value in enumerate(found):
            others = tuple(axis for axis in range(len(family)) if axis not in (at, len(family) - 1))
            table = by_family.transpose(*others, at, len(family) - 1)
            given_others = table.reshape(-1, *table.shape[-2:])
            wanted = 0.0
            for part in given_others:
                outer = part.sum(1, keepdims=True) * part.sum(0, keepdims=True)
                known = part > 0
                wanted += (part[known] * np.log(part[known] * part.sum() / outer[known])).sum()
            assert value == pytest.approx(wanted, abs=1e-9)


def test_without_strengths_all_edges_are_thin():
    n, rng = 60, np.random.default_rng(0)
    parents = [tuple(np.sort(rng.choice(at, min(at, 6), replace=False)).tolist()) for at in range(n)]
    tables = [rng.dirichlet(np.ones(3), 3 ** len(above)) for above in parents]
    network = LatentNetwork([f"x{at}" for at in range(n)], [range(3)] * n, parents, [False] * n, tables)
    assert link_strength(network) is None
    ax = plot_network(network)
    assert len({arrow.get_linewidth() for arrow in shapes(ax, FancyArrowPatch)}) == 1
    assert not any("mutual information" in text for text in words(ax))


def test_hidden_variables_of_the_base_are_matched_by_their_neighbours():
    network = as_network(small_tree())
    names = [
        f"{name} as it was called" if hidden else name
        for name, hidden in zip(network.names, network.latent, strict=False)
    ]
    before = LatentNetwork(names, network.state_names, network.parents, network.latent, network.tables)
    found = words(plot_network(network, base=before))
    assert "not in the base network" in found
    assert not any("gone" in text for text in found)
