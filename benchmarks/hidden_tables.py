"""FindHidden on real tables: against the network without hidden variables, and against the latent tree of EAST.

Needs the papers' data sets: those of ``benchmarks.all_tables`` with up to 25 columns. Two thirds of the rows, drawn at
random ten times, are learned from, and the others are tests. ``--only`` takes a part of "table | split 10".
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from functools import cache, partial
from itertools import product

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from benchmarks.all_tables import TABLES, table
from benchmarks.hidden_variables import METHOD, warm_up
from benchmarks.networks_page import listed, paragraph, row_of
from pgmpy_latent import EAST, FindHidden, StructuralEM, row_log_likelihoods, smoothed

MOST_COLUMNS = 25
#: Seeds of the splits. Those of 0 and 1 were looked at while the search was built.
SPLITS = range(10, 20)
#: Number of splits of all tables that are measured before the others.
FIRST = 3
#: Left out for their time: a split takes minutes.
SLOW = ("nltcs", "adult", "mushroom", "pen digits")
#: Of every table entry when rows are tested: the prior of FindHidden, for all models.
PSEUDO_COUNT = 0.5


@cache
def names() -> list[str]:
    """Return the tables with few enough columns, the smallest first."""
    few = [name for name in TABLES if rows(name).shape[1] <= MOST_COLUMNS]
    return sorted(few, key=lambda name: len(rows(name).drop_duplicates()) * rows(name).shape[1] ** 2)


@cache
def rows(name: str) -> pd.DataFrame:
    """Return every row of a table; columns know all their categories."""
    frame, weights = table(name)
    if weights is not None:
        frame = frame.loc[frame.index.repeat(weights.astype(int))]
    return frame.astype("category").reset_index(drop=True)


def divided(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows to learn from, and others to test with."""
    frame = rows(name)
    order = np.random.default_rng(seed).permutation(len(frame))
    n_train = 2 * len(frame) // 3
    return frame.iloc[order[:n_train]], frame.iloc[order[n_train:]]


def on_split(name: str, seed: int) -> dict:
    """Learn with and without hidden variables, and a latent tree; test them with other rows."""
    train, test = divided(name, seed)
    base = StructuralEM(scoring_method=METHOD, show_progress=False).fit(train)
    began = time.process_time()
    found = FindHidden(random_state=seed, show_progress=False).fit(train)
    between = time.process_time()
    tree = EAST(random_state=seed, show_progress=False).fit(train)
    ended = time.process_time()

    def tested(model) -> float:
        return float(row_log_likelihoods(smoothed(model, train, pseudo_count=PSEUDO_COUNT), test).mean())

    return {
        "seconds": between - began,
        "tree_seconds": ended - between,
        "states": sorted(found.n_states_.values(), reverse=True),
        "tree_states": sorted(tree.n_states_.values(), reverse=True),
        "base": tested(base.network_),
        "found": tested(found.network_),
        "own_base": tested(found.base_),
        "tree": tested(tree.tree_),
        "scores": [found.score_, found.latent_tree_score_],
    }


# -- the page ----------------------------------------------------------------------------------------------------------


def measured(run: runner.Runner) -> Iterator[tuple[str, list[dict]]]:
    """Return the figures of all splits of every table that was measured."""
    for name in names():
        known = [run.find(name, "FindHidden", seed) for seed in SPLITS]
        found = [json.loads(row["figures"]) | {"seconds": float(row["seconds"])} for row in known if row is not None]
        if found:
            yield name, found


def gain(found: list[dict], model: str, rival: str) -> tuple[float, float]:
    """Return the mean difference over the splits of a table, and its standard error; NaN of a single split."""
    apart = np.array([one[model] - one[rival] for one in found])
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("nan")


def verdict(found: list[dict], model: str, rival: str) -> str:
    """Say whether a model is better or worse than a rival by more than one standard error, or in a single split."""
    mean, error = gain(found, model, rival)
    least = max(0.0 if np.isnan(error) else error, 1e-9)
    return "better" if mean > least else "**worse**" if mean < -least else "same"


def difference(found: list[dict], model: str, rival: str) -> str:
    """Write a difference with its standard error, if there is one."""
    mean, error = gain(found, model, rival)
    return f"{mean:+.4f}" if np.isnan(error) else f"{mean:+.4f} ± {error:.4f}"


def page(run: runner.Runner) -> str:
    """Return the section of the page of benchmarks."""
    results = dict(measured(run))
    lines = ["## FindHidden on real tables", ""]
    lines += paragraph(
        "Every table of the folder of data sets with up to 25 columns, numbers cut at the median. Two thirds of the",
        "rows, drawn at random ten times, are learned from; the others are tests. Log-likelihood of test rows in nats",
        "per row, larger is better: the mean difference over the splits and its paired standard error; better and",
        "worse are those by more than one. `none` is the network of a hill climb, without hidden variables; FindHidden",
        "also finds better edges, and what it gains over the best network without hidden variables that it met is in",
        f"brackets. All tables are fitted with a pseudo-count of {PSEUDO_COUNT}, the prior of FindHidden. Hidden",
        "variables: how many were kept, on average. Default settings, one thread, seconds of processor for a split.",
        "While the search was built, other splits of the same tables were looked at; but that edges among columns",
        "alone must raise the score by 3 was decided when these had been seen. Where fewer than ten splits are listed,",
        "the others have not been measured yet.",
        f"Left out for their time: {listed(SLOW)}. Written by `python -m benchmarks.hidden_tables`.",
        f"Versions: {run.versions()}.",
    )
    lines += summary(results)
    head = row_of(
        "table", "rows; columns", "splits", "FindHidden - none", "", "hidden", "FindHidden - EAST", "", "seconds",
        "of EAST",
    )  # fmt: skip
    lines += [head, "|" + "---|" * 10]
    for name, found in results.items():
        own = gain(found, "found", "own_base")[0]
        lines.append(
            row_of(
                name,
                "{:,}; {}".format(*rows(name).shape),
                len(found),
                f"{difference(found, 'found', 'base')} ({own:+.4f})",
                verdict(found, "found", "base"),
                f"{np.mean([len(one['states']) for one in found]):.1f}",
                difference(found, "found", "tree"),
                verdict(found, "found", "tree"),
                f"{np.mean([one['seconds'] for one in found]):.1f}",
                f"{np.mean([one['tree_seconds'] for one in found]):.1f}",
            )
        )
    return "\n".join(lines)


def summary(results: dict[str, list[dict]]) -> list[str]:
    """Return the table of targets."""

    def counted(words: str, rival: str, only: dict[str, list[dict]]) -> str:
        verdicts = [verdict(found, "found", rival) for found in only.values()]
        counts = (verdicts.count("better"), verdicts.count("same"), verdicts.count("**worse**"))
        return row_of(words, len(verdicts), *counts)

    several = {name: found for name, found in results.items() if len(found) >= FIRST}
    single = {name: found for name, found in results.items() if len(found) < FIRST}
    splits = [one for found in results.values() for one in found]
    said = [one for one in splits if one["scores"][1] > one["scores"][0]]
    taken = [one for one in splits if one["tree"] > one["found"]]
    return [
        row_of("FindHidden against", "tables", "better", "same", "worse"),
        "|" + "---|" * 5,
        *(
            counted(f"{words}, {what}", rival, some)
            for words, rival in (("none", "base"), ("EAST", "tree"))
            for what, all_of in ((f"at least {FIRST} splits", several), (f"fewer than {FIRST} splits", single))
            for which, some in (("", all_of), (", a hidden variable in some split", with_hidden(all_of)))
            for what in (what + which,)
        ),
        "",
        *paragraph(
            f"Test rows are likelier under EAST's tree in {len(taken)} of {len(splits)} splits; FindHidden says that a",
            f"tree scores higher in {len(said)}.",
        ),
    ]


def with_hidden(results: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """Return the tables in which a hidden variable was kept in some split."""
    return {name: found for name, found in results.items() if any(one["states"] for one in found)}


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("hidden_tables", again=options.again, only=options.only)
    warnings.simplefilter("ignore")  # of few rows, and of states that no training row has
    if not options.render:
        warm_up()
        for some in (SPLITS[:FIRST], SPLITS[FIRST:]):
            for name, seed in product(names(), some):
                if name not in SLOW and options.only in f"{name} | split {seed}":
                    run.compare(name, {"FindHidden": partial(on_split, name, seed)}, seed=seed, repeats=1)
    runner.render("hidden_tables", page(run))


if __name__ == "__main__":
    main()
