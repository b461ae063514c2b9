"""Does EAST find the tree that rows were drawn from, and no edges where there are none?

Trees over the columns alone, latent trees, and trees of both kinds of nodes; ten draws of each. One thread; minutes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from scipy.stats import chi2

from pgmpy_latent import EAST, LatentTree, datasets, encode, sample
from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.splits import column_bits, splits
from pgmpy_latent.scores.information import bic_from_parts

SCRIPT = "structures"
DRAWS, ROWS = range(10), 5_000
COLUMNS, STATES = 10, 3
#: Share of rows of a table that follow its dominant entries.
DOMINANT = 0.6
INDEPENDENT = "independent columns"


def random_tables(parent: list[int], cards: list[int], rng: np.random.Generator) -> list[np.ndarray]:
    """Return tables in which every state of a parent has a state of its own that it favours."""
    tables = []
    for up, card in zip(parent, cards, strict=True):
        if up < 0:
            tables.append(rng.dirichlet(np.full(card, 10.0), size=1))
            continue
        favoured = np.eye(card)[np.arange(cards[up]) % card][:, rng.permutation(card)]
        tables.append(DOMINANT * favoured + (1 - DOMINANT) * rng.dirichlet(np.ones(card), size=cards[up]))
    return tables


def tree_of(parent: list[int], latent: list[bool], rng: np.random.Generator) -> LatentTree:
    cards = [STATES] * len(parent)
    names = [f"h{at}" if hidden else f"x{at:02d}" for at, hidden in enumerate(latent)]
    return LatentTree(names, [range(card) for card in cards], parent, latent, random_tables(parent, cards, rng))


def chow_liu_tree(seed: int) -> LatentTree:
    rng = np.random.default_rng(seed)
    parent = [-1, *(int(rng.integers(node)) for node in range(1, COLUMNS))]
    return tree_of(parent, [False] * COLUMNS, rng)


def latent_tree(seed: int) -> LatentTree:
    return datasets.hlc_model(7, random_state=seed)


def mixed_tree(seed: int) -> LatentTree:
    """Return two hidden variables with three columns each, between them two columns, and a column that hangs on one."""
    rng = np.random.default_rng(seed)
    chain = [0, 1, 2, 3]  # hidden, column, column, hidden
    parent = [-1, *(before for before, _ in pairwise(chain)), 0, 0, 0, 3, 3, 3, int(rng.integers(1, 3))]
    latent = [node in (0, 3) for node in range(len(parent))]
    return tree_of(parent, latent, rng)


CASES: dict[str, Callable[[int], LatentTree]] = {
    "trees over the columns": chow_liu_tree,
    "latent trees": latent_tree,
    "trees of both": mixed_tree,
}


def form(tree: LatentTree) -> tuple:
    """Return what two trees with the same nodes and edges have in common, whatever their roots and hidden names."""
    between = {
        frozenset((tree.names[node], tree.names[up]))
        for node, up in enumerate(tree.parent.tolist())
        if up >= 0 and not tree.latent[node] and not tree.latent[up]
    }
    return len(tree.latent_names), between, set(splits(tree, column_bits(tree)).values())


def fitted(table: pd.DataFrame, seed: int) -> tuple[EAST, float]:
    begin = time.process_time()
    learner = EAST(random_state=seed, show_progress=False).fit(table)
    return learner, time.process_time() - begin


def bic_of_truth(true: LatentTree, table: pd.DataFrame) -> float:
    """Return the BIC of the tree that rows were drawn from, with EM from its own tables."""
    data = encode(table)
    engine = engine_for(true, data)
    found = fit(engine, engine.layout.pack(true.tables), retry=True)
    return bic_from_parts(found.log_likelihood, true.n_parameters, data.total_weight)


def recovered(case: str, draw: int) -> dict:
    """Return whether the tree came back, and by how much the BIC of the tree found is higher than that of the truth."""
    true = CASES[case](draw)
    table = sample(true, ROWS, random_state=1_000 + draw)
    learner, seconds = fitted(table, draw)
    return {
        "seconds": seconds,
        "same": form(learner.tree_) == form(true),
        "hidden": len(learner.latents_),
        "above truth": learner.bic_ - bic_of_truth(true, table),
    }


def edges_by_chance(draw: int) -> dict:
    """Return the edges between independent binary columns, and how many chance explains."""
    rng = np.random.default_rng(draw)
    table = pd.DataFrame(rng.integers(0, 2, (ROWS, 2 * COLUMNS))).rename(columns="x{:02d}".format)
    learner, seconds = fitted(table, draw)
    pairs = COLUMNS * (2 * COLUMNS - 1)
    return {
        "seconds": seconds,
        "edges": len(learner.model_.edges()),
        "by chance": float(pairs * chi2.sf(np.log(ROWS), 1)),
        "hidden": len(learner.latents_),
    }


def page(run: runner.Runner) -> str:
    """Return the section of the page."""
    lines = [
        "## Structures that come back",
        "",
        f"Written by `python -m benchmarks.structures`: {ROWS:,} rows from each of {len(DRAWS)} random trees; CPU",
        "seconds.",
        "",
        "| rows drawn from | tree found again | other tree, BIC not below the true one's | mean seconds |",
        "|---|---|---|---|",
    ]
    for case in CASES:
        rows = [row for row in run.rows if row["case"] == case]
        found = [json.loads(row["figures"]) for row in rows]
        same = sum(one["same"] for one in found)
        other = sum(not one["same"] and one["above truth"] >= 0 for one in found)
        mean = np.mean([float(row["seconds"]) for row in rows])
        lines.append(f"| {case} | {same} of {len(rows)} | {other} | {mean:.1f} |")
    chance = [json.loads(row["figures"]) for row in run.rows if row["case"] == INDEPENDENT]
    lines += [
        "",
        f"Between {2 * COLUMNS} independent binary columns EAST draws {np.mean([one['edges'] for one in chance]):.1f}",
        f"edges on average; mutual information pays for an edge by chance in {chance[0]['by chance']:.1f} pairs.",
    ]
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__ or "")
    run = runner.Runner(SCRIPT, options.again, options.only)
    if not options.render:
        fitted(sample(latent_tree(0), 200, random_state=0), 0)  # loads the kernels
        for draw in DRAWS:
            for case in (*CASES, INDEPENDENT):
                if options.only in case and run.find(case, "EAST", draw) is None:
                    figures = edges_by_chance(draw) if case == INDEPENDENT else recovered(case, draw)
                    run.note(case, "EAST", draw, [figures.pop("seconds")], figures)
    runner.render(SCRIPT, page(run))


if __name__ == "__main__":
    main()
