"""Damaged checkpoints: files of every estimator with bits, bytes, numbers, keys and meanings changed."""

import json
import math
import warnings
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone

from pgmpy_latent import (
    EAST,
    HLTA,
    FindHidden,
    LatentClassificationModel,
    NetworkEM,
    RandomStarts,
    TreeEM,
    TreeMixture,
    log_likelihood,
    presets,
    row_log_likelihoods,
)
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.learners.forests import forest_search
from pgmpy_latent.learners.hlta import levels
from tests.classification import test_resume as classifier
from tests.em import test_resume as kept_em
from tests.runtime.test_checkpoint import QUIET, Killed, killed_after, learners, model_of
from tests.runtime.test_checkpoint import assert_same_fit as assert_same_learner
from tests.support.samples import sealed

#: After which write a process is killed for the file of a search under way.
WRITES = (2, 4, 9)
#: Fields that say whose file it is, or what the model is and how good: damage here must be found, sealed or not.
MEANT = ("model", "score", "log_likelihood", "format", "version", "learner", "data", "settings", "entropy")


def estimators():
    """Return one of every kind that keeps a file, by name."""
    em = kept_em.estimators(n_init=3)
    found = {type(learner).__name__: learner for learner in learners()}
    found |= {
        "EAST, evaluation auto": EAST(**QUIET),
        "FindHidden by rows held out": FindHidden(max_latents=1, criterion="held_out", **QUIET),
        "HLTA in batches": HLTA(top=1, tuning=presets.HLTA.replace(batch_size=40, n_epochs=3), **QUIET),
        "RandomStarts, sizes given": RandomStarts(
            n_states=2, n_starts=2, tuning=presets.RANDOM_STARTS.replace(n_rounds=3), **QUIET
        ),
    }
    found |= {"LatentClassificationModel": classifier.classifier(), "TreeEM": em[0][0], "NetworkEM": em[1][0]}
    return found


def fitted(learner, table, path):
    """Fit a copy of an estimator with a checkpoint, in silence."""
    learner = clone(learner).set_params(checkpoint=path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(learner, LatentClassificationModel):
            return learner.fit(classifier.X, classifier.Y)
        if isinstance(learner, (TreeEM, NetworkEM)):
            network = kept_em.star if type(learner).__name__ == "TreeEM" else kept_em.crossed
            return learner.fit(network(table), table)
        return learner.fit(table)


@dataclass(frozen=True)
class Original:
    """The file of an estimator, whole, and what is fitted with it."""

    name: str
    learner: object
    content: bytes
    result: object


def originals(name, table, path, monkeypatch):
    """Return files of an estimator: of a fit that has come to its end, and of some that were killed on the way."""
    for module in (forest_search, levels):
        # a state after every pair, island or batch: tables on which these take seconds would take the tests hours
        monkeypatch.setattr(module, "CHUNK_SECONDS", 0.0)
    learner = estimators()[name]
    whole = fitted(learner, table, path)
    found = [Original(name, learner, path.read_bytes(), whole)]
    for n_writes in WRITES:
        path.unlink()
        with monkeypatch.context() as patched:
            killed_after(patched, n_writes, path)
            try:
                fitted(learner, table, path)
            except Killed:
                found.append(Original(name, learner, path.read_bytes(), whole))
    path.unlink(missing_ok=True)
    return found


# mutants ------------------------------------------------------------------------------------------


def damaged_bytes(content, rng):
    """Return a file of which some bytes have changed, and what was done."""
    at, kind = rng.randrange(len(content)), rng.choice(["flip", "cut", "delete", "repeat", "zero", "swap"])
    run = rng.choice([1, 1, 2, 8, 64])
    if kind == "flip":
        changed = bytearray(content)
        changed[at] ^= 1 << rng.randrange(8)
        return bytes(changed), f"bit of byte {at}"
    part = content[at : at + run]
    new = {"cut": None, "delete": b"", "repeat": part * 2, "zero": bytes(len(part)), "swap": part[::-1]}[kind]
    return (content[:at] if new is None else content[:at] + new + content[at + run :]), f"{kind} {run} at {at}"


def places(value, path=()):
    """Return the paths to everything in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [one for key, own in inner for one in [(*path, key), *places(own, (*path, key))]]


def other_value(value, rng):
    """Return something else: another number, another type, a number that is too large, or none."""
    strange = [None, True, "x", [], {}, 0, -1, 1e308, math.nan, math.inf, 10**30, [1], {"!": "float", "of": "nan"}]
    if isinstance(value, bool):
        strange += [not value] * 6
    elif isinstance(value, int):
        strange += [value + 1, value - 1, value + 1000, -value - 1, float(value), str(value)]
    elif isinstance(value, float):
        strange += (
            [value + 1, value + 1000, value * 1.5, -value - 1, value / 2, int(value)] if math.isfinite(value) else []
        )
    elif isinstance(value, str):
        strange += [value + "x", value[:-1], value[::-1], value.swapcase()] * 2
    elif isinstance(value, list):
        strange += [value[1:], value[:-1], value[::-1], [*value, *value[-1:]]] * 2
    elif isinstance(value, dict):
        strange += [dict(list(value.items())[1:]), {**value, "more": 1}] * 2
    return rng.choice([one for one in strange if not _is_rounding(one, value)])


def _is_rounding(one, other):
    """Tell whether values are the same, or numbers that no sum over the rows tells apart: 0 and 1e-20."""
    numbers = all(type(value) in (int, float) for value in (one, other))
    return json.dumps(one) == json.dumps(other) or (numbers and abs(one - other) < 1e-6)


def damaged_document(content, rng, field=None):
    """Return a file in which a value or a key of the document is another, and where; ``field`` says in which field."""
    document = json.loads(content)
    for _ in range(100):
        paths = [path for path in places(document) if path[0] != "digest" and (field is None or path[0] == field)]
        *path, last = rng.choice(paths)
        changed = deepcopy(document)
        holder = changed
        for key in path:
            holder = holder[key]
        if isinstance(holder, dict) and rng.random() < 0.2:
            del holder[last]
        else:
            holder[last] = other_value(holder[last], rng)
        if changed != document:
            break
    return json.dumps(changed).encode(), "/".join(map(str, [*path, last]))


def damaged_meaning(content, rng):
    """Return a file whose model or score is another one, in the proper form, and what was done; None if it has none."""
    document = json.loads(content)
    by = rng.choice([-1000.0, 1000.0, 1.0, 0.01])
    kinds = {"score": _score, "log-likelihood": _log_likelihood, "both, and history": _both}
    if document["model"] is not None:
        kinds |= {"states": _states, "column": _column, "name": _renamed, "table": _table, "hidden": _hidden}
    name = rng.choice(sorted(kinds))
    kinds[name](document, by, rng)
    return json.dumps(document).encode(), f"meaning: {name}"


def _score(document, by, rng):
    document["score"] += by


def _log_likelihood(document, by, rng):
    document["log_likelihood"] += by


def _both(document, by, rng):
    _score(document, by, rng)
    _log_likelihood(document, by, rng)
    for entry in document["history"][-1:]:
        entry["score"] += by
        entry["log_likelihood"] += by


def _nodes(document):
    """Return the nodes of the model, or of the first tree of a mixture."""
    model = document["model"]["of"]
    return model["trees"][0]["nodes"] if "trees" in model else model["nodes"]


def _columns(document):
    return [node for node in _nodes(document) if not node["latent"]]


def _states(document, by, rng):
    rng.choice(_columns(document))["states"][-1] = 5


def _column(document, by, rng):
    nodes = _nodes(document)
    above = {str(parent) for node in nodes for parent in node["parents"]}
    leaves = [node for node in _columns(document) if str(node["name"]) not in above]
    nodes.remove(rng.choice(leaves or nodes))


def _renamed(document, by, rng):
    rng.choice(_columns(document))["name"] = "stranger"


def _table(document, by, rng):
    rows = [row for node in _nodes(document) for row in node["table"] if max(row) - min(row) > 0.01]
    rng.choice(rows).reverse()


def _hidden(document, by, rng):
    node = rng.choice(_nodes(document))
    node["latent"] = not node["latent"]


def _is_name_of_hidden(original, words):
    """Tell whether a place is the name of a hidden variable, which may be any."""
    field, *path = words.split("/")
    if field != "model" or path[-1:] != ["name"]:
        return False
    node = json.loads(original.content)["model"]
    for step in path[:-1]:
        node = node[int(step)] if isinstance(node, list) else node[step]
    return node["latent"]


def mutants(original, rng, n):
    """Yield damaged files with what was done to them, and whether all that is wrong with them must be found."""
    while n:
        kind = rng.choice(["bytes", "bytes", "document", "sealed", "sealed", "meaning"])
        if kind == "bytes":
            content, words = damaged_bytes(original.content, rng)
        elif kind == "document":
            content, words = damaged_document(original.content, rng)
        elif kind == "sealed":
            content, words = damaged_document(original.content, rng)
            content = sealed(content)
        else:
            content, words = damaged_meaning(original.content, rng)
            content = sealed(content)
        if content == original.content:
            continue
        n -= 1
        must = kind != "sealed" or (words.partition("/")[0] in MEANT and not _is_name_of_hidden(original, words))
        yield content, f"{kind}: {words}", must


# what becomes of them -----------------------------------------------------------------------------


def verdict(original, content, table, path, must):
    """Say how a fit with a damaged file ends: "refused", "same", "honest" (a file forged so that nobody can tell,
    and a result that is what it says), or what is wrong.
    """
    path.write_bytes(content)
    try:
        found = fitted(original.learner, table, path)
    except CheckpointError as error:
        words = str(error)
        if path.name not in words or "ame another file" not in words:
            return f"names neither file nor remedy: {words}"
        return "refused" if path.read_bytes() == content else "refused, but changed"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for left in Path(path.parent).iterdir():
            left.unlink()
    if _same(found, original.result) or _same_for_all_rows(found, original.result, table):
        return "same"
    if must:
        return "taken for a result"
    return "honest" if _honest(found, table) else "is not what it says"


def _same(found, whole):
    try:
        if isinstance(found, LatentClassificationModel):
            classifier.assert_same(found, whole)
        elif isinstance(found, (TreeEM, NetworkEM)):
            kept_em.assert_same(found, whole)
        else:
            assert_same_learner(found, whole)
    except AssertionError:
        return False
    return True


def _same_for_all_rows(found, whole, table):
    """Tell whether models differ by nothing but what no row of the table asks for, as states that do not occur do."""
    if isinstance(found, LatentClassificationModel):
        return False
    one, other = model_of(found), model_of(whole)
    shape = _shape(one) == _shape(other)
    rows = [row_log_likelihoods(model, table) for model in (one, other)] if shape else [np.nan, np.nan]
    figures = [[one.log_likelihood_, getattr(one, "score_", 0.0)] for one in (found, whole)]
    return np.allclose(*rows, rtol=1e-9) and np.allclose(*figures, rtol=1e-9)


def _shape(model):
    """Return what two models must have in common; of mixtures, of every tree."""
    if isinstance(model, TreeMixture):
        return [_shape(tree) for tree in model.trees]
    return model.names, model.parents, model.state_names


def _honest(found, table):
    """Tell whether a model is as good as its estimator says."""
    if isinstance(found, LatentClassificationModel):
        return math.isfinite(found.log_likelihood_)
    model = model_of(found)
    return np.isclose(found.log_likelihood_, log_likelihood(model, table), rtol=1e-7)
