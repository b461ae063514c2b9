"""Learn hidden variables in categorical data, as a plugin to pgmpy."""

from importlib import import_module

__version__ = "0.1.0"

#: Public name -> module that defines it; loaded at first use, so that importing the package stays quick.
_HOME = {
    "CategoricalData": "pgmpy_latent.data",
    "encode": "pgmpy_latent.data",
    "encode_chunks": "pgmpy_latent.chunks",
    "LatentTree": "pgmpy_latent.tree",
    "LatentNetwork": "pgmpy_latent.network",
    "TreeEM": "pgmpy_latent.estimator",
    "NetworkEM": "pgmpy_latent.networks.estimator",
    "AgglomerativeCardinality": "pgmpy_latent.networks.agglomeration",
    "FindHidden": "pgmpy_latent.networks.find_hidden",
    "StructuralEM": "pgmpy_latent.networks.structural",
    "LatentClassificationModel": "pgmpy_latent.classification.lcm",
    "SplitMerge": "pgmpy_latent.learners.split_merge",
    "RandomStarts": "pgmpy_latent.learners.random_starts",
    "EAST": "pgmpy_latent.learners.east",
    "BinG": "pgmpy_latent.learners.bin_g",
    "BinA": "pgmpy_latent.learners.bin_a",
    "HLTA": "pgmpy_latent.learners.hlta",
    "Baseline": "pgmpy_latent.learners.baselines",
    "compare_classes": "pgmpy_latent.learners.compare",
    "residuals": "pgmpy_latent.local_fit",
    "standard_errors": "pgmpy_latent.uncertainty",
    "classification_table": "pgmpy_latent.assignments",
    "average_posteriors": "pgmpy_latent.assignments",
    "unusual_rows": "pgmpy_latent.anomalies",
    "support": "pgmpy_latent.learners.tree_support",
    "from_pgmpy": "pgmpy_latent.convert",
    "to_pgmpy": "pgmpy_latent.convert",
    "network_from_pgmpy": "pgmpy_latent.convert",
    "save": "pgmpy_latent.convert",
    "load": "pgmpy_latent.convert",
    "check_export": "pgmpy_latent.exports",
    "mutual_information": "pgmpy_latent.information",
    "log_likelihood": "pgmpy_latent.queries",
    "row_log_likelihoods": "pgmpy_latent.queries",
    "posterior": "pgmpy_latent.queries",
    "most_likely": "pgmpy_latent.queries",
    "impute": "pgmpy_latent.queries",
    "sample": "pgmpy_latent.queries",
}
_MODULES = ("datasets", "exceptions", "operators", "plotting", "scores", "testing")

#: ``testing`` is left out: a star import must not need hypothesis.
__all__ = ["__version__", *_HOME, *(name for name in _MODULES if name != "testing")]


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"pgmpy_latent.{name}")
    raise AttributeError(f"module 'pgmpy_latent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
