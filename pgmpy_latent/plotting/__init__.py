"""Pictures of learned models. Needs matplotlib: ``pip install "pgmpy-latent[plot]"``."""

from pgmpy_latent.plotting.agglomeration import plot_cardinality, plot_merges
from pgmpy_latent.plotting.classifier import plot_classifier
from pgmpy_latent.plotting.densities import plot_densities
from pgmpy_latent.plotting.fit import plot_anomalies, plot_confusion, plot_residuals
from pgmpy_latent.plotting.groups import plot_groups
from pgmpy_latent.plotting.levels import plot_clusters
from pgmpy_latent.plotting.loadings import plot_loadings
from pgmpy_latent.plotting.networks import plot_network
from pgmpy_latent.plotting.profiles import plot_profiles
from pgmpy_latent.plotting.progress import plot_comparison, plot_history
from pgmpy_latent.plotting.relations import plot_class_sizes, plot_outcome
from pgmpy_latent.plotting.transitions import plot_transitions
from pgmpy_latent.plotting.trees import plot_tree

__all__ = [
    "plot_anomalies",
    "plot_cardinality",
    "plot_class_sizes",
    "plot_classifier",
    "plot_clusters",
    "plot_comparison",
    "plot_confusion",
    "plot_densities",
    "plot_groups",
    "plot_history",
    "plot_loadings",
    "plot_merges",
    "plot_network",
    "plot_outcome",
    "plot_profiles",
    "plot_residuals",
    "plot_transitions",
    "plot_tree",
]
