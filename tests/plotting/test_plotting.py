"""Pictures of classifiers, and those that pgmpy and networkx make; agglomerations are tested with their learner."""

import matplotlib
import networkx as nx
import numpy as np
import pytest
from sklearn.datasets import load_wine

from pgmpy_latent import LatentClassificationModel, datasets, load, plotting, save, to_pgmpy
from pgmpy_latent.plotting.axes import VERMILION

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def network():
    return to_pgmpy(datasets.hlc_model(7, random_state=0))


@pytest.mark.parametrize("component", [None, 1])
def test_a_classifier_is_drawn_with_the_edges_it_has(component):
    X, y = load_wine(return_X_y=True, as_frame=True)
    classifier = LatentClassificationModel(3, 2, learn_edges="separate", random_state=0).fit(X, y)
    ax = plotting.plot_classifier(classifier, component)
    edges = classifier.edges_.any(axis=0) if component is None else classifier.edges_[component]
    assert len(ax.lines) == 3 + edges.sum()
    words = {text.get_text() for text in ax.texts}
    assert {"class", "Z1", "Z2", "Z3", "alcohol", "proline"} <= words
    assert ax.get_title(loc="left") == "3 latents, 2 components"
    dashed = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert len(dashed) == sum(line.get_color() == VERMILION for line in ax.lines) > 0
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["positive loading", "negative"]


@pytest.mark.parametrize("layout", ["spring", "circular", "kamada_kawai", "shell", "bfs"])
def test_networkx_draws_networks_with_any_layout(layout):
    options = {"start": "H1"} if layout == "bfs" else {}
    places = getattr(nx, f"{layout}_layout")(network(), **options)
    assert np.isfinite(list(places.values())).all()
    import matplotlib.pyplot as plt

    nx.draw_networkx(network(), places)
    assert {text.get_text() for text in plt.gca().texts} == set(network().nodes)


def test_networkx_draws_networks_without_being_told_how(tmp_path):
    nx.draw_networkx(network())  # pgmpy's own networks fail here, as their edges weigh None
    nx.draw(network())
    save(network(), tmp_path / "network.json")
    nx.draw_networkx(load(tmp_path / "network.json"))


def test_pgmpy_draws_networks_with_graphviz():
    pytest.importorskip("pygraphviz")
    drawn = network().to_graphviz()
    assert {str(node) for node in drawn.nodes()} == set(network().nodes)
    assert len(drawn.edges()) == 9


def test_pydot_reads_networks():
    pytest.importorskip("pydot")
    drawn = nx.nx_pydot.to_pydot(network())
    assert len(drawn.get_nodes()) == 10
    assert len(drawn.get_edges()) == 9


def test_pgmpy_draws_networks_with_daft():
    pytest.importorskip("daft")
    drawn = network().to_daft(node_pos="circular")
    assert set(drawn._nodes) == set(network().nodes)
    assert len(drawn._edges) == 9


def test_pgmpy_writes_the_text_of_other_programs():
    assert "H2 ~ H1" in network().to_lavaan().splitlines()
    assert network().to_dagitty().startswith("dag {")
