"""Pictures of learned models. Needs matplotlib: ``pip install "pgmpy-latent[plot]"``."""

from pgmpy_latent.plotting.agglomeration import plot_cardinality, plot_merges
from pgmpy_latent.plotting.classifier import plot_classifier
from pgmpy_latent.plotting.trees import plot_tree

__all__ = ["plot_cardinality", "plot_classifier", "plot_merges", "plot_tree"]
