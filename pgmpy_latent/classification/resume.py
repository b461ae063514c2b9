"""What a classifier has learned so far, in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from pgmpy_latent.classification.inputs import Given
from pgmpy_latent.classification.learn import Learned
from pgmpy_latent.classification.model import Parameters, log_densities
from pgmpy_latent.classification.rows import Training
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.runtime.checkpoint import Checkpoint, check_number_again
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.fingerprint import fingerprint_of


def memo_of(learner, given: Given, entropy: int) -> tuple[Memo, int]:
    """Return the memo of a classifier, empty if it has no checkpoint, and the entropy of its seeds.

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
        return Memo(), entropy
    if isinstance(learner.cv, Iterable) and iter(learner.cv) is learner.cv:
        raise ValueError(
            "checkpoint needs a cv that can be gone through again; give a list of pairs, as cv=list(pairs)"
        )
    names = [str(name) for name in getattr(learner, "feature_names_in_", ())]
    words = repr((given.attributes.shape, learner.classes_.tolist(), names))
    arrays = [given.attributes, given.labels, given.weights]
    if given.clusters is not None:  # folds depend on them
        arrays.append(given.clusters)
    checkpoint = Checkpoint(learner.checkpoint, fingerprint_of(learner, words, *arrays))
    saved = checkpoint.take_up(entropy, learner.random_state is not None)
    return Memo(checkpoint, saved), checkpoint.entropy


def recalled_model(
    memo: Memo, clock: Clock, rows: Training, shape: tuple[int, int], compute: Callable[[], Learned]
) -> Learned:
    """Return the model that the memo knows, or else learn it, and write it down unless something was cut short.

    Parameters
    ----------
    memo : Memo
    clock : Clock
        Knows whether something was cut short.
    rows : Training
        What it is learned from.
    shape : (int, int)
        Numbers of latents and of components.
    compute : callable
        Learns it.
    """
    if "model" in memo.entries:
        with memo.checkpoint.checking():
            entry = dict(memo.entries["model"])
            known = Learned(**{**entry, "models": Parameters(**entry["models"])})
            _check_learned(known, rows, shape)
            return known
    found = compute()
    if not found.interrupted and clock.stopped is None:
        nobody_asks = {"log_joint": np.empty(0)}  # as long as the table
        memo.note("model", {**vars(found), "models": dict(vars(found.models)), **nobody_asks})
        memo.finish()
    else:
        memo.tend(now=True)
    return found


def _check_learned(known: Learned, rows: Training, shape: tuple[int, int]) -> None:
    """Raise if a model of a checkpoint is not of the shape of the rows, or not as good as the file says."""
    latents, components, attributes = *shape, rows.table.shape[1]
    shapes = {
        "log_weights": (1, rows.n_classes, components),
        "means": (1, rows.n_classes, latents),
        "variances": (1, rows.n_classes, latents),
        "loadings": (1, components, attributes, latents),
        "offsets": (1, components, attributes),
        "noise": (1, components, attributes),
    }
    for name, wanted in shapes.items():
        found = getattr(known.models, name)
        if found.shape != wanted or found.dtype != np.float64 or not np.isfinite(found).all():
            raise ValueError(f"its {name!r} are not {wanted} numbers")
    if known.edges is not None and (known.edges.shape != shapes["loadings"] or known.edges.dtype != bool):
        raise ValueError("its edges are not those of a model")
    if known.interrupted is not False or not all(type(value) is float for value in known.traces[0]):
        raise ValueError("how EM ended is not what it writes")
    logs = log_densities(known.models, rows.groups, len(rows.table))[0]
    own = float(rows.weights @ logs[np.arange(len(rows.labels)), rows.labels])
    check_number_again("log-likelihood", float(known.log_likelihoods[0]), own)
