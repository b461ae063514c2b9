"""How fast the E-step of hidden Chow-Liu trees is. Run: python -m benchmarks.e_steps --before CHECKOUT

Every column of a binary table hangs on a hidden variable of its own, and these are linked like the columns in their
Chow-Liu tree. Beside the E-step stand its products of matrices alone, in NumPy's BLAS, and, if there is a checkout of
an earlier version, that version's E-step. Both versions run in new processes, by turns; one thread each.
"""

from __future__ import annotations

from benchmarks import runner  # first: it pins the threads  # isort: skip

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from pgmpy_latent import encode
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import EDGE, Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.column_forest import chow_liu_parents

TABLES = ("plants", "accidents")
CARDS = (2, 4, 8, 16, 32)
#: Rounds, in which methods take turns, and how often each runs in its turn; the fastest counts.
ROUNDS, TURN = 3, 15
IN_A_PROCESS = """
import json, runpy
functions = runpy.run_path({script!r})
engine = functions["engine_of"]({file!r}, {card})
print(json.dumps(functions["in_turn"](functions["e_step"](engine), functions["products_in_blas"](engine))))
"""


def engine_of(file: str, card: int) -> TreeEngine:
    """Return an engine for a hidden Chow-Liu tree."""
    data = encode(pd.read_csv(file, header=None).rename(columns="v{:03}".format))
    n_columns = len(data.columns)
    parents = np.concatenate([chow_liu_parents(data), np.arange(n_columns)])
    evidence = {n_columns + at: Evidence(data.codes[:, at], 2) for at in range(n_columns)}
    return TreeEngine(compile_plan(parents, evidence), [card] * n_columns + [2] * n_columns, data.weights)


def in_turn(e_step: Callable[[], float], products: Callable[[], None]) -> dict:
    """Return the seconds of the fastest E-step, what it found, and the seconds of the fastest products, run in turn."""
    found, fastest, blas = e_step(), np.inf, np.inf
    for _ in range(TURN):
        begin = time.perf_counter()
        e_step()
        between = time.perf_counter()
        products()
        fastest, blas = min(fastest, between - begin), min(blas, time.perf_counter() - between)
    return {"seconds": fastest, "blas": blas, "log_likelihood": found}


def e_step(engine: TreeEngine) -> Callable[[], float]:
    """Return work that runs one E-step and returns its log-likelihood."""
    tables = random_tables(engine.layout, np.random.default_rng(0))
    return lambda: float(engine.expected_counts(tables)[0])


def products_in_blas(engine: TreeEngine) -> Callable[[], None]:
    """Return work that multiplies the matrices of all edges: messages up, their mass down, and counts of pairs."""
    rng, matrices = np.random.default_rng(0), []
    for step in engine.plan.steps:
        if step.kind == EDGE:
            rows, columns = engine.site_card[step.a], engine.site_card[step.site]
            sent, edge = rng.random((step.count, rows)), rng.random((rows, columns))
            results = np.empty((step.count, columns)), np.empty((step.count, rows)), np.empty((rows, columns))
            matrices.append((sent, edge, *results))

    def work() -> None:
        for sent, edge, messages, mass, pairs in matrices:
            np.dot(sent, edge, out=messages)
            np.dot(messages, edge.T, out=mass)
            np.dot(sent.T, messages, out=pairs)

    return work


def case_of(name: str, card: int) -> str:
    return f"{name}, {card} states"


def measure(run: runner.Runner, name: str, card: int, before: Path | None) -> None:
    """Measure one table and number of states."""
    case, file = case_of(name, card), str(runner.DATA / "density" / f"{name}.train.csv.gz")
    code = IN_A_PROCESS.format(script=__file__, file=file, card=card)
    methods = {"ours": lambda: runner.in_a_process(code)}
    if before is not None:
        methods["before"] = lambda: runner.in_a_process(code, before)
    run.compare(case, methods, repeats=ROUNDS)


def page(run: runner.Runner) -> str:
    lines = [
        "## E-steps of wide trees",
        "One E-step of a hidden Chow-Liu tree, in milliseconds, one thread: before edges were products of matrices,",
        f"now, and these products alone in NumPy's BLAS. The fastest of {ROUNDS * TURN}, in {ROUNDS} turns each.",
        "",
        "| table | states | before | now | times faster | products in BLAS | now / BLAS |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        for card in CARDS:
            case = case_of(name, card)
            if run.find(case, "ours"):
                lines.append(_line(run, case, name, card))
    return "\n".join(lines)


def _line(run: runner.Runner, case: str, name: str, card: int) -> str:
    now, blas = 1000 * run.fastest(case, "ours"), 1000 * run.figure(case, "ours", "blas")
    before, faster = "", ""
    if run.find(case, "before"):
        milliseconds = 1000 * run.fastest(case, "before")
        before, faster = f"{milliseconds:.2f}", f"{milliseconds / now:.1f}"
    return f"| {name} | {card} | {before} | {now:.2f} | {faster} | {blas:.2f} | {now / blas:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    own, others = parser.parse_known_args()
    options = runner.arguments(__doc__, others)
    run = runner.Runner("e_steps", again=options.again, only=options.only)
    if not options.render:
        for name in TABLES:
            for card in CARDS:
                if options.only in case_of(name, card):
                    measure(run, name, card, own.before)
    runner.render("e_steps", page(run))


if __name__ == "__main__":
    main()
