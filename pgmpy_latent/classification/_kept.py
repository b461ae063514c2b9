"""What a classifier has learned so far, in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from pgmpy_latent._checkpoint import Checkpoint, fingerprint_of
from pgmpy_latent.classification._input import Given
from pgmpy_latent.classification._learn import Learned
from pgmpy_latent.classification._model import Parameters
from pgmpy_latent.classification._wrapper import Clock
from pgmpy_latent.learners._journal import Journal


def journal_of(learner, given: Given, entropy: int) -> tuple[Journal, int]:
    """Return the journal of a classifier, empty if it has no checkpoint, and the entropy of its seeds.

    Parameters
    ----------
    learner : LatentClassificationModel
        Its settings and its checkpoint count.
    given : Given
        The rows.
    entropy : int
        Of the seeds, should learning begin anew.
    """
    if learner.checkpoint is None:
        return Journal(), entropy
    if isinstance(learner.cv, Iterable) and iter(learner.cv) is learner.cv:
        raise ValueError(
            "checkpoint needs a cv that can be gone through again; give a list of pairs, as cv=list(pairs)"
        )
    names = [str(name) for name in getattr(learner, "feature_names_in_", ())]
    words = repr((given.attributes.shape, learner.classes_.tolist(), names))
    checkpoint = Checkpoint(
        learner.checkpoint, fingerprint_of(learner, words, given.attributes, given.labels, given.weights)
    )
    saved = checkpoint.take_up(entropy)
    return Journal(checkpoint, saved), checkpoint.entropy


def recalled_model(journal: Journal, clock: Clock, compute: Callable[[], Learned]) -> Learned:
    """Return the model that the journal knows, or else learn it, and write it down unless something was cut short."""
    if "model" in journal.entries:
        entry = dict(journal.entries["model"])
        return Learned(**{**entry, "models": Parameters(**entry["models"])})
    found = compute()
    if not found.interrupted and clock.stopped is None:
        nobody_asks = {"log_joint": np.empty(0)}  # as long as the table
        journal.note("model", {**vars(found), "models": dict(vars(found.models)), **nobody_asks})
        journal.finish()
    else:
        journal.tend(now=True)
    return found
