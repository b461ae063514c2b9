"""How good a tree is for a table: likelihood against complexity. Larger scores are better.

``LL`` is the log-likelihood of the table (natural logarithm), ``d`` the number of free parameters of the tree, and
``N`` the sum of the rows' weights: the number of rows if there are none, Kish's effective number of rows of sampling
weights (see :func:`pgmpy_latent.encode`). BIC and its relatives carry the
sign of the papers on latent trees: -2 times as much is what statistical software prints. Missing cells are summed
out. A row that is impossible under the tree makes every score minus infinity.
"""

from pgmpy_latent.diagnostics.dimension import effective_dimension, n_parameters
from pgmpy_latent.inference.queries import log_likelihood
from pgmpy_latent.scores.all_scores import (  # noqa: F401 - some names are for our own modules only
    SCORES,
    Score,
    ScoreParts,
    Summary,
    compared_scores,
    drawn_scores,
    network_summary,
    summary,
)
from pgmpy_latent.scores.entropy import classification_entropy, icl, relative_entropy
from pgmpy_latent.scores.held_out import HELD_OUT_NAME, HeldOut, held_out_of  # noqa: F401
from pgmpy_latent.scores.information import (  # noqa: F401
    adjusted_bic,
    aic,
    bic,
    bic_from_parts,
    caic,
    effective_bic,
    penalty_per_parameter,
)
from pgmpy_latent.scores.marginal_likelihood import cheeseman_stutz, cheeseman_stutz_from_parts  # noqa: F401
from pgmpy_latent.scores.scoring_methods import (  # noqa: F401
    HELD_OUT,
    PENALTIES,
    PRIOR_OF_ENTRIES,
    SCORERS,
    Criterion,
    TreeScorer,
    check_penalised_method,
    check_scoring_method,
    check_validated_method,
    criterion_of,
    tree_scorer,
)

__all__ = [
    "HeldOut",
    "Summary",
    "adjusted_bic",
    "aic",
    "bic",
    "caic",
    "cheeseman_stutz",
    "classification_entropy",
    "effective_bic",
    "effective_dimension",
    "icl",
    "log_likelihood",
    "n_parameters",
    "relative_entropy",
    "summary",
]

# Pickles and checkpoints name functions and classes by module: always by this one, whichever file defines them.
for _name in __all__:
    if globals()[_name].__module__.startswith(f"{__name__}."):
        globals()[_name].__module__ = __name__
