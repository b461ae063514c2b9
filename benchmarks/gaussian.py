"""Gaussian latent trees: what is found in rows of drawn trees, and how long an iteration of EM takes.

One thread; about twenty minutes, most of it trees of 200 columns. ``--only`` takes a part of "Drawn", "Iteration" or
"Gaps".
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import time
from functools import partial

import numpy as np

from pgmpy_latent import GaussianBinG, GaussianEAST, GaussianTree, gaussian
from pgmpy_latent.gaussian.criteria import Costs
from pgmpy_latent.gaussian.first_forests import joined_neighbours
from pgmpy_latent.gaussian.fit import fitted, objective_of
from pgmpy_latent.gaussian.forest import Forest, forest_of, rooted, tidy
from pgmpy_latent.gaussian.learner import GaussianLearner
from pgmpy_latent.gaussian.moments import moments_of
from pgmpy_latent.gaussian.objective import RowsWithGaps, TableWithGaps
from pgmpy_latent.runtime.arrays import one_blas_thread

COLUMNS, ROWS, DRAWS = (10, 40, 200), 1_000, 10
#: Numbers of columns whose trees are also searched for in more rows, by the extended BIC.
MORE_COLUMNS, MORE_ROWS = (40, 200), 2_000
#: Correlations of neighbours are drawn between these, with either sign.
LEAST, MOST = 0.6, 0.9
#: Log-likelihood that a learned tree may lack beside that of EM from the truth; draws that may fail; milliseconds.
MAY_LACK, MAY_FAIL, ALLOWED = 1.0, 1, 5.0
MANY_ROWS = (1_000, 10_000, 100_000)
#: A table in which nearly every row lacks other columns: columns, rows, and the share of cells that are missing.
GAP_COLUMNS, GAP_ROWS, GAPS = 40, 2_000, 0.2


def drawn_tree(n_columns: int, seed: int) -> GaussianTree:
    """Draw a tree: three to five columns share a hidden parent, three to five of these the next, and so on."""
    rng = np.random.default_rng(seed)
    level, edges, new = rng.permutation(n_columns).tolist(), {}, n_columns

    def correlation() -> float:
        return float(rng.uniform(LEAST, MOST) * rng.choice([-1, 1]))

    while len(level) > 1:
        above = []
        while level:
            size = int(rng.integers(3, 6))
            size = len(level) if len(level) - size < 3 else size
            edges |= {(node, new): correlation() for node in level[:size]}
            level, above, new = level[size:], [*above, new], new + 1
        level = above
    forest = tidy(Forest.of_edges(n_columns, new, edges))
    return rooted(forest, [f"x{at}" for at in range(n_columns)], np.zeros(n_columns), np.ones(n_columns))


def splits(tree: GaussianTree) -> set[frozenset[int]]:
    """Return how the edges of a tree divide its columns: the sides without the first column."""
    forest, _ = forest_of(tree)
    found = set()
    for left, right in forest.ends.tolist():
        side, queue = {left}, [left]
        for node in queue:  # grows while it is walked
            further = [other for other in forest.neighbours[node] if other not in side | {right}]
            side |= set(further)
            queue += further
        columns = frozenset(node for node in side if node < forest.n_columns)
        found.add(frozenset(range(forest.n_columns)) - columns if 0 in columns else columns)
    return found


def learned(learner: GaussianLearner, n_columns: int, seed: int, n_rows: int = ROWS) -> dict:
    """Learn from rows of a drawn tree; return how the result compares with the tree."""
    truth = drawn_tree(n_columns, seed)
    rows = gaussian.sample(truth, n_rows, random_state=seed)
    forest, _ = forest_of(truth)
    best = fitted(forest, moments_of(rows.to_numpy())).log_likelihood
    began = time.process_time()
    learner.fit(rows)
    seconds = time.process_time() - began
    true, found = splits(truth), splits(learner.tree_)
    costs = Costs.of(getattr(learner, "scoring_method", "bic"), n_rows, n_columns)
    return {
        "seconds": seconds,
        "above": learner.log_likelihood_ - best,
        "score_above": learner.score_ - costs.score(best, forest),
        "lacking": len(true - found),
        "more": len(found - true),
        "edges": len(true),
    }


def iteration_seconds(n_rows: int) -> dict:
    """Return the processor seconds of an iteration on 200 complete columns."""
    truth = drawn_tree(200, 0)
    moments = moments_of(gaussian.sample(truth, n_rows, random_state=0).to_numpy())
    forest = joined_neighbours(moments.correlations, n_rows)
    objective = objective_of(forest, moments)
    point, times = np.arctanh(forest.correlation)[None], []
    with one_blas_thread():
        for _ in range(50):
            began = time.process_time()
            _, _, point = objective.step(point)
            times.append(time.process_time() - began)
    return {"seconds": float(np.median(times)), "nodes": forest.n_nodes}


def gap_seconds(kind: type[TableWithGaps] | None) -> dict:
    """Return the processor seconds of an iteration where nearly every row lacks other columns; None: none lacks any."""
    truth = drawn_tree(GAP_COLUMNS, 0)
    rows = gaussian.sample(truth, GAP_ROWS, random_state=0).to_numpy()
    if kind is not None:
        rows = np.where(np.random.default_rng(0).random(rows.shape) < GAPS, np.nan, rows)
    moments = moments_of(rows)
    forest, _ = forest_of(truth)
    objective = objective_of(forest, moments) if kind is None else kind(forest.ends, forest.n_nodes, moments)
    point = np.concatenate([np.arctanh(forest.correlation), np.zeros(0 if kind is None else 2 * GAP_COLUMNS)])[None]
    times = []
    with one_blas_thread():
        for _ in range(10):
            began = time.process_time()
            _, _, point = objective.step(point)
            times.append(time.process_time() - began)
    return {"seconds": float(np.median(times)), "patterns": len(moments.patterns)}


LEARNERS = {
    "GaussianEAST, columns at leaves": lambda: GaussianEAST(columns="leaves", random_state=0, show_progress=False),
    "GaussianEAST, columns at leaves, extended BIC": lambda: GaussianEAST(
        columns="leaves", scoring_method="ebic", random_state=0, show_progress=False
    ),
    "GaussianEAST": lambda: GaussianEAST(random_state=0, show_progress=False),
    "GaussianBinG, simplified": lambda: GaussianBinG(simplify=True, random_state=0, show_progress=False),
}


EXTENDED = "GaussianEAST, columns at leaves, extended BIC"
GAP_METHODS = {"complete": None, "by pattern": TableWithGaps, "by row": RowsWithGaps}
GAP_CASE = f"Gaps: {GAP_COLUMNS} columns, {GAP_ROWS:,} rows"


def drawn_case(n_columns: int, n_rows: int = ROWS) -> str:
    return f"Drawn: {n_columns} columns, {n_rows:,} rows"


def iteration_case(n_rows: int) -> str:
    return f"Iteration: 200 columns, {n_rows:,} rows"


def measure(run: runner.Runner, only: str) -> None:
    for n_columns in COLUMNS:
        for name, make in LEARNERS.items():
            for seed in range(DRAWS) if only in drawn_case(n_columns) else ():
                work = partial(learned, make(), n_columns, seed)
                run.compare(drawn_case(n_columns), {name: work}, seed=seed, repeats=1)
    for n_columns in MORE_COLUMNS:
        case = drawn_case(n_columns, MORE_ROWS)
        for seed in range(DRAWS) if only in case else ():
            work = partial(learned, LEARNERS[EXTENDED](), n_columns, seed, MORE_ROWS)
            run.compare(case, {EXTENDED: work}, seed=seed, repeats=1)
    if only in GAP_CASE:
        run.compare(GAP_CASE, {name: partial(gap_seconds, kind) for name, kind in GAP_METHODS.items()}, repeats=3)
    for n_rows in MANY_ROWS:
        if only in iteration_case(n_rows):
            run.compare(iteration_case(n_rows), {"EM": partial(iteration_seconds, n_rows)}, repeats=3)


def drawn_table(run: runner.Runner) -> list[str]:
    lines = [
        "| columns | rows | learner | just the true edges | all true edges | of the others, score at least the truth's "
        f"| log-likelihood above the truth's: least, median | at least {-MAY_LACK:g} | processor seconds, median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cases = [(n_columns, ROWS, name) for n_columns in COLUMNS for name in LEARNERS]
    cases += [(n_columns, MORE_ROWS, EXTENDED) for n_columns in MORE_COLUMNS]
    for n_columns, n_rows, name in cases:
        case = drawn_case(n_columns, n_rows)
        seeds = [seed for seed in range(DRAWS) if run.find(case, name, seed)]
        if not seeds:
            continue
        above, score, lacking, more = (
            np.array([run.figure(case, name, figure, seed) for seed in seeds])
            for figure in ("above", "score_above", "lacking", "more")
        )
        seconds = np.median([run.seconds(case, name, seed) for seed in seeds])
        is_true = (lacking == 0) & (more == 0)
        better = int((score[~is_true] >= 0).sum())
        others = f"{better} of {(~is_true).sum()}" if (~is_true).any() else "-"
        enough = int((above >= -MAY_LACK).sum())
        lines.append(
            f"| {n_columns} | {n_rows:,} | {name} | {is_true.sum()} of {len(seeds)} | {(lacking == 0).sum()} of "
            f"{len(seeds)} | {others} | {above.min():.2f}, {np.median(above):.2f} | {enough} of {len(seeds)} "
            f"| {seconds:.1f} |"
        )
    return lines


def gap_table(run: runner.Runner) -> list[str]:
    lines = ["| E-step | milliseconds of an iteration |", "|---|---|"]
    for name in GAP_METHODS:
        if run.find(GAP_CASE, name):
            lines.append(f"| {name} | {1000 * run.fastest(GAP_CASE, name):.2f} |")
    return lines


def iteration_table(run: runner.Runner) -> list[str]:
    lines = ["| rows | milliseconds of an iteration |", "|---|---|"]
    for n_rows in MANY_ROWS:
        if run.find(iteration_case(n_rows), "EM"):
            lines.append(f"| {n_rows:,} | {1000 * run.fastest(iteration_case(n_rows), 'EM'):.2f} |")
    return lines


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    return "\n".join(
        [
            "## Gaussian latent trees",
            "",
            "Written by `python -m benchmarks.gaussian`. One thread; processor seconds.",
            "",
            "**Drawn trees**: three to five columns share a hidden parent, three to five of these the",
            f"next, and so on; correlations of neighbours between {LEAST} and {MOST} in size. The log-likelihood of",
            "the truth is that of EM from the tree the rows were drawn from. Wanted in",
            f"{DRAWS - MAY_FAIL} of {DRAWS} draws: the tree, and a log-likelihood of at least that less {MAY_LACK:g}.",
            "",
            *drawn_table(run),
            "",
            "Where the learned tree is another one, its score is mostly higher than the truth's: no search for the",
            "highest score can find the truth in these rows. BIC adds edges that look useful by chance, the extended",
            "BIC leaves out the weakest of the true ones; in twice as many rows it finds all.",
            "",
            "**An iteration of `GaussianTreeEM`** on 200 complete columns below a binary tree of 198 hidden variables;",
            f"at most {ALLOWED:g} ms are wanted, whatever the number of rows.",
            "",
            *iteration_table(run),
            "",
            f"**The same where cells are missing**: {GAPS:.0%} of those of {GAP_ROWS:,} rows of {GAP_COLUMNS} columns,",
            "at random, so that nearly every row is a pattern of its own. Row by row is what is done, by messages for",
            "all rows at once.",
            "",
            *gap_table(run),
        ]
    )


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("gaussian", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    runner.render("gaussian", page(run))


if __name__ == "__main__":
    main()
