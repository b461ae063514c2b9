"""Types of the lazy names of ``__init__.py``: each comes from the module that defines it."""

from pgmpy_latent import datasets as datasets
from pgmpy_latent import exceptions as exceptions
from pgmpy_latent import learners as learners
from pgmpy_latent import operators as operators
from pgmpy_latent import plotting as plotting
from pgmpy_latent import presets as presets
from pgmpy_latent import scores as scores
from pgmpy_latent import testing as testing
from pgmpy_latent.classification.lcm import LatentClassificationModel as LatentClassificationModel
from pgmpy_latent.diagnostics.anomalies import unusual_rows as unusual_rows
from pgmpy_latent.diagnostics.assignments import average_posteriors as average_posteriors
from pgmpy_latent.diagnostics.assignments import classification_table as classification_table
from pgmpy_latent.diagnostics.residuals import residuals as residuals
from pgmpy_latent.diagnostics.uncertainty import standard_errors as standard_errors
from pgmpy_latent.em.estimators import TreeEM as TreeEM
from pgmpy_latent.em.network_em import NetworkEM as NetworkEM
from pgmpy_latent.em.smoothing import smoothed as smoothed
from pgmpy_latent.inference.queries import impute as impute
from pgmpy_latent.inference.queries import log_likelihood as log_likelihood
from pgmpy_latent.inference.queries import most_likely as most_likely
from pgmpy_latent.inference.queries import posterior as posterior
from pgmpy_latent.inference.queries import row_log_likelihoods as row_log_likelihoods
from pgmpy_latent.inference.queries import sample as sample
from pgmpy_latent.learners.baselines import Baseline as Baseline
from pgmpy_latent.learners.cardinality.random_starts import RandomStarts as RandomStarts
from pgmpy_latent.learners.cardinality.split_merge import SplitMerge as SplitMerge
from pgmpy_latent.learners.density.hidden_chow_liu import HiddenChowLiu as HiddenChowLiu
from pgmpy_latent.learners.east.east import EAST as EAST
from pgmpy_latent.learners.forests.bin_a import BinA as BinA
from pgmpy_latent.learners.forests.bin_g import BinG as BinG
from pgmpy_latent.learners.hlta.hlta import HLTA as HLTA
from pgmpy_latent.model.convert import from_pgmpy as from_pgmpy
from pgmpy_latent.model.convert import load as load
from pgmpy_latent.model.convert import network_from_pgmpy as network_from_pgmpy
from pgmpy_latent.model.convert import save as save
from pgmpy_latent.model.convert import to_pgmpy as to_pgmpy
from pgmpy_latent.model.exports import check_export as check_export
from pgmpy_latent.model.network import LatentNetwork as LatentNetwork
from pgmpy_latent.model.tree import LatentTree as LatentTree
from pgmpy_latent.networks.agglomeration.cardinality import AgglomerativeCardinality as AgglomerativeCardinality
from pgmpy_latent.networks.find_hidden.find_hidden import FindHidden as FindHidden
from pgmpy_latent.networks.structural.structural_em import StructuralEM as StructuralEM
from pgmpy_latent.selection.compare import compare_classes as compare_classes
from pgmpy_latent.selection.tree_support import support as support
from pgmpy_latent.tables.chunks import encode_chunks as encode_chunks
from pgmpy_latent.tables.dependence import mutual_information as mutual_information
from pgmpy_latent.tables.encode import CategoricalData as CategoricalData
from pgmpy_latent.tables.encode import encode as encode

__version__: str
__all__: list[str]
