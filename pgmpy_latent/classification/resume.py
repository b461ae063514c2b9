"""Checkpoints of classifiers: trials of sizes and the final model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from pgmpy_latent.classification.inputs import TrainingRows
from pgmpy_latent.classification.learn import Learned
from pgmpy_latent.classification.model import log_densities
from pgmpy_latent.classification.rows import Training
from pgmpy_latent.learners.memo import Memo, memo_at
from pgmpy_latent.runtime.checkpoint import check_number_again
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.fingerprint import fingerprint_of


def memo_of(learner, rows: TrainingRows, entropy: int) -> tuple[Memo, int]:
    """Return the memo of a classifier, empty if it has no checkpoint, and the entropy of its seeds.

    Parameters
    ----------
    learner : LatentClassificationModel
        Its settings and its checkpoint are used.
    rows : TrainingRows
        The rows.
    entropy : int
        Of the seeds, should learning begin anew.
    """
    if learner.checkpoint is None:
        return Memo(), entropy
    if isinstance(learner.cv, Iterable) and iter(learner.cv) is learner.cv:
        raise ValueError(
            "checkpoint needs a cv that can be iterated over again; give a list of pairs, as cv=list(pairs)"
        )
    names = [str(name) for name in getattr(learner, "feature_names_in_", ())]
    description = repr((rows.attributes.shape, learner.classes_.tolist(), names))
    arrays = [rows.attributes, rows.labels, rows.weights]
    if rows.clusters is not None:  # folds depend on them
        arrays.append(rows.clusters)
    mark = partial(fingerprint_of, learner, description, *arrays)
    return memo_at(learner.checkpoint, mark, learner.random_state, entropy)


def recalled_model(
    memo: Memo, clock: Clock, rows: Training, shape: tuple[int, int], compute: Callable[[], Learned]
) -> Learned:
    """Return the model of the memo, or learn it, and store it unless learning was cut short.

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
        with memo.checking():
            known = memo.entries["model"]
            if not isinstance(known, Learned):
                raise ValueError("it holds no model where one should be")
            _check_learned(known, rows, shape)
            return known
    learned = compute()
    if not learned.interrupted and clock.stopped is None:
        memo.note("model", replace(learned, log_joint=np.empty(0)))  # which is as long as the table, and not needed
        memo.finish()
    else:
        memo.tend(now=True)
    return learned


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
    for name, expected in shapes.items():
        values = getattr(known.models, name)
        if values.shape != expected or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError(f"its {name!r} are not {expected} numbers")
    if known.edges is not None and (known.edges.shape != shapes["loadings"] or known.edges.dtype != bool):
        raise ValueError("its edges are not those of a model")
    if known.interrupted or len(known.traces) != 1:
        raise ValueError("its model is not one that EM took to its end")
    logs = log_densities(known.models, rows.groups, len(rows.table))[0]
    log_likelihood = float(rows.weights @ logs[np.arange(len(rows.labels)), rows.labels])
    check_number_again("log-likelihood", float(known.log_likelihoods[0]), log_likelihood)
