"""Do all learners still find what they found? Run: python -m benchmarks.same_results [--write]

Fits every learner with fixed seeds to small tables, with its defaults and without time limits, and compares what comes
out with ``benchmarks/results/same_results.json``: structure, states, numbers of iterations and steps must be equal,
numbers must agree to ``TOLERANCE``. ``--write`` keeps today's results instead, which is right only where results were
meant to change. Only public names are used, so that the script survives any move of modules. A minute or two.
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from reprlib import repr as shorten

import numpy as np
import pandas as pd
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    LatentClassificationModel,
    NetworkEM,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    TreeEM,
    compare_classes,
    datasets,
    residuals,
    sample,
    standard_errors,
    support,
)

KEPT = runner.RESULTS / "same_results.json"
#: Relative difference that the order of a sum may make.
TOLERANCE = 1e-12
QUIET = {"show_progress": False}
SEARCH = {"random_state": 0, **QUIET}


# --- Tables ---------------------------------------------------------------------------------------


def tables() -> dict[str, tuple[pd.DataFrame, np.ndarray | None]]:
    """Return tables with their weights: of the package, drawn, with gaps, and weighted."""
    drawn = sample(datasets.hlc_model(7, random_state=2), 600, random_state=0)
    anes = datasets.load_anes96()
    found = {"drawn": (drawn, None), "anes": (anes.iloc[:, :6], None), "gaps": (with_gaps(drawn), None)}
    path = runner.DATA / "coleman.csv"
    if path.exists():
        coleman = pd.read_csv(path)
        found["coleman"] = (coleman.drop(columns="count"), coleman["count"].to_numpy())
    return found


def with_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of which every tenth cell is missing."""
    return table.mask(np.random.default_rng(1).random(table.shape) < 0.1)


def star(table: pd.DataFrame) -> DiscreteBayesianNetwork:
    """Return the structure of a latent class model."""
    return DiscreteBayesianNetwork([("H", column) for column in table.columns], latents={"H"})


# --- Results --------------------------------------------------------------------------------------


def model_facts(model) -> dict:
    """Return all that a tree or network is, in plain values."""
    above = model.parents if hasattr(model, "parents") else model.parent
    tables = [model.table(name) for name in model.names]
    return {
        "names": [str(name) for name in model.names],
        "parents": [np.atleast_1d(own).tolist() for own in above],
        "states": [len(states) for states in model.state_names],
        "tables": [np.asarray(own).ravel().tolist() for own in tables],
    }


def learner_facts(learner) -> dict:
    """Return what a fitted learner found."""
    model = learner.tree_ if hasattr(learner, "tree_") else learner.network_
    history = learner.history_.drop(columns="seconds")
    return model_facts(model) | {
        "log_likelihood": learner.log_likelihood_,
        "bic": learner.bic_,
        "score": learner.score_,
        "history": json.loads(history.to_json(orient="records", default_handler=str, double_precision=15)),
    }


def em_facts(estimator) -> dict:
    """Return what an EM estimator found."""
    model = estimator.tree_ if hasattr(estimator, "tree_") else estimator.network_
    return model_facts(model) | {
        "log_likelihoods": list(map(float, estimator.log_likelihoods_)),
        "n_iter": estimator.n_iter_,
    }


def frame_facts(frame: pd.DataFrame) -> dict:
    """Return a table of numbers and words."""
    plain = frame.reset_index().map(
        lambda value: float(value) if isinstance(value, (float, np.floating)) else str(value)
    )
    return {"columns": list(map(str, plain.columns)), "rows": plain.to_numpy().tolist()}


def cases() -> Iterator[tuple[str, Callable[[], dict]]]:
    """Yield what is fitted: its name, and how."""
    learners = {
        "SplitMerge": SplitMerge(**SEARCH),
        "RandomStarts": RandomStarts(**SEARCH),
        "EAST": EAST(**SEARCH),
        "BinG": BinG(**SEARCH),
        "BinG simplified": BinG(simplify=True, **SEARCH),
        "BinA": BinA(**SEARCH),
        "HLTA": HLTA(**SEARCH),
        "Chow-Liu": Baseline("chow_liu", **SEARCH),
        "independence": Baseline("independence", **SEARCH),
        "StructuralEM": StructuralEM(**SEARCH),
        "FindHidden": FindHidden(**SEARCH),
    }
    for name, (table, weights) in tables().items():
        for title, learner in learners.items():
            yield (
                f"{title}, {name}",
                lambda learner=learner, own=table, w=weights: learner_facts(learner.fit(own, sample_weight=w)),
            )
        for kind, options in {
            "TreeEM": {"latent_card": 3},
            "TreeEM with a prior": {"latent_card": 2, "prior": 0.5},
        }.items():
            yield (
                f"{kind}, {name}",
                lambda own=table, w=weights, options=options: em_facts(
                    TreeEM(seed=0, **options, **QUIET).fit(star(own), own, sample_weight=w)
                ),
            )
    table = tables()["drawn"][0]
    yield "NetworkEM, drawn", lambda: em_facts(NetworkEM(latent_card=2, seed=0, **QUIET).fit(double(table), table))
    yield "AgglomerativeCardinality, drawn", lambda: sizes(star(table), table)
    yield (
        "compare_classes, drawn",
        lambda: frame_facts(
            compare_classes(table, range(1, 4), n_bootstrap=10, random_state=0, **QUIET).drop(
                columns="seconds", errors="ignore"
            )
        ),
    )
    yield "residuals, drawn", lambda: frame_facts(residuals(RandomStarts(n_states=2, **SEARCH).fit(table), table))
    yield (
        "standard_errors, drawn",
        lambda: frame_facts(standard_errors(RandomStarts(n_states=2, **SEARCH).fit(table), table)),
    )
    yield (
        "support, drawn",
        lambda: frame_facts(support(BinG(**SEARCH).fit(table), table, n_bootstrap=5, random_state=0, **QUIET)),
    )
    yield "LatentClassificationModel, iris", classifier


def double(table: pd.DataFrame) -> DiscreteBayesianNetwork:
    """Return a network in which two hidden variables share a column."""
    first, *others = table.columns
    edges = [("A", first), ("B", first)]
    edges += [("A" if at % 2 else "B", column) for at, column in enumerate(others)]
    return DiscreteBayesianNetwork(edges, latents={"A", "B"})


def sizes(network: DiscreteBayesianNetwork, table: pd.DataFrame) -> dict:
    """Return the sizes that agglomeration finds."""
    found = AgglomerativeCardinality(network, hidden=["H"], **SEARCH).fit(table)
    return learner_facts(found) | {"cardinality": found.cardinality_}


def classifier() -> dict:
    """Return what the classifier says of rows it has not seen."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    found = LatentClassificationModel(n_latents=2, n_components=2, **SEARCH).fit(X[::2], y[::2])
    return {"proba": found.predict_proba(X[1::2]).ravel().tolist()}


# --- Comparison -----------------------------------------------------------------------------------


def differences(before, now, where: str = "") -> list[str]:
    """Return where two results differ by more than the order of a sum explains."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now}, key=str)
        return [line for key in keys for line in differences(before.get(key), now.get(key), f"{where}/{key}")]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [line for at in range(len(now)) for line in differences(before[at], now[at], f"{where}/{at}")]
    if isinstance(before, float) and isinstance(now, float):
        same = before == now or (before != before and now != now)
        same = same or abs(before - now) <= TOLERANCE * max(1.0, abs(before))
        return [] if same else [f"{where}: {before!r} is now {now!r}"]
    return [] if before == now else [f"{where}: {shorten(before)} is now {shorten(now)}"]


def measured(work: Callable[[], dict]) -> dict:
    """Return what a case gives, as it comes back from a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(json.dumps(work(), default=str))


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep today's results")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    changed, seen = 0, 0
    for name, work in cases():
        if options.only not in name:
            continue
        now = measured(work)
        seen += 1
        lines = differences(kept[name], now, name) if name in kept else [f"{name}: not kept yet"]
        if options.write:
            kept[name] = now
        elif lines:
            changed += 1
            print("\n".join(lines[:5]), flush=True)
    if options.write:
        KEPT.write_text(json.dumps(kept, indent=0) + "\n")
    print(f"{seen} cases, {changed} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
