"""What a learner is built from: base classes, the driver of a search, and checks of keywords.

The learners themselves are names of the package, as in ``from pgmpy_latent import EAST``.
"""

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.search import Outcome, Search, Settings, State, Step
from pgmpy_latent.learners.search_learner import SearchingLearner
from pgmpy_latent.learners.skeletons import fresh_latent_name, one_state_tree
from pgmpy_latent.runtime.checkpoint import HistoryEntry
from pgmpy_latent.runtime.settings import flag, number, one_of, sequence_of

__all__ = [
    "HistoryEntry",
    "LatentTreeLearner",
    "Outcome",
    "Search",
    "SearchingLearner",
    "Settings",
    "State",
    "Step",
    "engine_for",
    "flag",
    "fresh_latent_name",
    "held_by_checkpoints",
    "number",
    "one_of",
    "one_state_tree",
    "sequence_of",
]
