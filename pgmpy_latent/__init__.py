"""Learn hidden variables in categorical data, as a plugin to pgmpy."""

from importlib import import_module

__version__ = "0.1.0"

#: Public name -> module that defines it; loaded at first use, so that importing the package stays quick.
_HOME = {
    "CategoricalData": "pgmpy_latent.tables.encode",
    "encode": "pgmpy_latent.tables.encode",
    "encode_chunks": "pgmpy_latent.tables.chunks",
    "LatentTree": "pgmpy_latent.model.tree",
    "TreeMixture": "pgmpy_latent.model.mixture",
    "LatentNetwork": "pgmpy_latent.model.network",
    "GaussianTree": "pgmpy_latent.model.gaussian_tree",
    "TreeEM": "pgmpy_latent.em.estimators",
    "NetworkEM": "pgmpy_latent.em.network_em",
    "GaussianTreeEM": "pgmpy_latent.gaussian.estimator",
    "GaussianEAST": "pgmpy_latent.gaussian.learners",
    "GaussianBinG": "pgmpy_latent.gaussian.learners",
    "GaussianBinA": "pgmpy_latent.gaussian.learners",
    "GaussianBaseline": "pgmpy_latent.gaussian.learners",
    "smoothed": "pgmpy_latent.em.smoothing",
    "AgglomerativeCardinality": "pgmpy_latent.networks.agglomeration.cardinality",
    "FindHidden": "pgmpy_latent.networks.find_hidden.find_hidden",
    "StructuralEM": "pgmpy_latent.networks.structural.structural_em",
    "LatentClassificationModel": "pgmpy_latent.classification.lcm",
    "SplitMerge": "pgmpy_latent.learners.cardinality.split_merge",
    "RandomStarts": "pgmpy_latent.learners.cardinality.random_starts",
    "EAST": "pgmpy_latent.learners.east.east",
    "BinG": "pgmpy_latent.learners.forests.bin_g",
    "BinA": "pgmpy_latent.learners.forests.bin_a",
    "HiddenChowLiu": "pgmpy_latent.learners.density.hidden_chow_liu",
    "HiddenChowLiuMixture": "pgmpy_latent.learners.density.hidden_chow_liu_mixture",
    "refine": "pgmpy_latent.learners.density.refinement",
    "HLTA": "pgmpy_latent.learners.hlta.hlta",
    "Baseline": "pgmpy_latent.learners.baselines",
    "order_test": "pgmpy_latent.selection.order",
    "multilevel_classes": "pgmpy_latent.grouped_rows.levels",
    "MultilevelClasses": "pgmpy_latent.grouped_rows.levels",
    "latent_transition": "pgmpy_latent.grouped_rows.transitions",
    "LatentTransition": "pgmpy_latent.grouped_rows.transitions",
    "compare_classes": "pgmpy_latent.selection.compare",
    "compare_networks": "pgmpy_latent.selection.comparison",
    "NetworkComparison": "pgmpy_latent.selection.comparison",
    "compare_groups": "pgmpy_latent.selection.groups",
    "GroupComparison": "pgmpy_latent.selection.groups",
    "direct_effects": "pgmpy_latent.diagnostics.direct_effects",
    "add_direct_effects": "pgmpy_latent.selection.edge_search",
    "DirectEffects": "pgmpy_latent.selection.edge_search",
    "residuals": "pgmpy_latent.diagnostics.residuals",
    "standard_errors": "pgmpy_latent.diagnostics.uncertainty",
    "classification_table": "pgmpy_latent.diagnostics.assignments",
    "average_posteriors": "pgmpy_latent.diagnostics.assignments",
    "unusual_rows": "pgmpy_latent.diagnostics.anomalies",
    "support": "pgmpy_latent.selection.support",
    "synthesise": "pgmpy_latent.selection.synthetic",
    "SyntheticTable": "pgmpy_latent.selection.synthetic",
    "write_report": "pgmpy_latent.report.page",
    "export_table": "pgmpy_latent.report.export_table",
    "explore": "pgmpy_latent.report.explorer",
    "relate": "pgmpy_latent.relations.relate",
    "CovariateRelation": "pgmpy_latent.relations.covariate_result",
    "OutcomeRelation": "pgmpy_latent.relations.outcome_result",
    "rename": "pgmpy_latent.learners.rename",
    "fitted": "pgmpy_latent.learners.given",
    "from_pgmpy": "pgmpy_latent.model.convert",
    "to_pgmpy": "pgmpy_latent.model.convert",
    "network_from_pgmpy": "pgmpy_latent.model.convert",
    "save": "pgmpy_latent.model.convert",
    "load": "pgmpy_latent.model.convert",
    "check_export": "pgmpy_latent.model.exports",
    "read_model": "pgmpy_latent.model.exports",
    "write_model": "pgmpy_latent.model.exports",
    "mutual_information": "pgmpy_latent.tables.dependence",
    "log_likelihood": "pgmpy_latent.inference.queries",
    "row_log_likelihoods": "pgmpy_latent.inference.queries",
    "posterior": "pgmpy_latent.inference.queries",
    "most_likely": "pgmpy_latent.inference.queries",
    "impute": "pgmpy_latent.inference.queries",
    "sample": "pgmpy_latent.inference.queries",
}
_MODULES = ("datasets", "exceptions", "gaussian", "learners", "operators", "plotting", "presets", "scores", "testing")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _MODULES:
        return import_module(f"pgmpy_latent.{name}")
    raise AttributeError(f"module 'pgmpy_latent' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
