"""Pictures of classifiers; those of agglomerations are tested with their learner."""

import matplotlib
import pytest
from sklearn.datasets import load_wine

from pgmpy_latent import LatentClassificationModel, plotting

matplotlib.use("Agg")


@pytest.mark.parametrize("component", [None, 1])
def test_a_classifier_is_drawn_with_the_edges_it_has(component):
    X, y = load_wine(return_X_y=True, as_frame=True)
    classifier = LatentClassificationModel(3, 2, learn_edges="separate", random_state=0).fit(X, y)
    ax = plotting.plot_classifier(classifier, component)
    edges = classifier.edges_.any(axis=0) if component is None else classifier.edges_[component]
    assert len(ax.lines) == 3 + edges.sum()
    words = {text.get_text() for text in ax.texts}
    assert {"class", "Z1", "Z2", "Z3", "alcohol", "proline"} <= words
    assert ax.get_title() == "3 latents, 2 components"
