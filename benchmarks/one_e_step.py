"""Processor seconds of the fastest of some E-steps, and of their products of matrices in BLAS, with any version.

``benchmarks.e_steps`` starts it in new processes: python one_e_step.py FILE PRECISION N_TURNS, in a version's folder.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

try:
    from pgmpy_latent.inference.plan import EDGE, Evidence, compile_plan
    from pgmpy_latent.inference.tree_engine import TreeEngine
except ModuleNotFoundError:  # their names in earlier versions
    from pgmpy_latent.propagation.engine import TreeEngine
    from pgmpy_latent.propagation.plan import EDGE, Evidence, compile_plan


def engine_of(problem) -> TreeEngine:
    """Return the engine of a hidden Chow-Liu tree: hidden nodes come first, and the columns below them in order."""
    n_columns = problem["codes"].shape[1]
    evidence = {n_columns + at: Evidence(problem["codes"][:, at], 2) for at in range(n_columns)}
    return TreeEngine(compile_plan(problem["parents"], evidence), problem["cards"], problem["weights"])


def products_in_blas(engine: TreeEngine, precision: str):
    """Return work that multiplies the matrices of all edges: messages up, their mass down, and counts of pairs."""
    rng, matrices = np.random.default_rng(0), []
    for step in engine.plan.steps:
        if step.kind == EDGE:
            rows, columns = engine.site_card[step.a], engine.site_card[step.site]
            shapes = (step.count, rows), (rows, columns), (step.count, columns), (step.count, rows), (rows, columns)
            matrices.append([rng.random(shape).astype(precision) for shape in shapes])

    def work() -> None:
        for sent, edge, messages, mass, pairs in matrices:
            np.dot(sent, edge, out=messages)
            np.dot(messages, edge.T, out=mass)
            np.dot(sent.T, messages, out=pairs)

    return work


def measured(file: str, precision: str, n_turns: int) -> dict:
    """Return the seconds of the fastest E-step, what it found, and the seconds of the fastest products, run in turn."""
    problem = np.load(file)
    engine, tables = engine_of(problem), problem["tables"]
    if precision == "single":
        engine = engine.in_precision(precision)
    products = products_in_blas(engine, precision)
    found, fastest, blas = float(engine.expected_counts(tables)[0]), np.inf, np.inf
    for _ in range(n_turns):
        begin = time.thread_time()
        engine.expected_counts(tables)
        between = time.thread_time()
        products()
        fastest, blas = min(fastest, between - begin), min(blas, time.thread_time() - between)
    return {"seconds": fastest, "blas": blas, "log_likelihood": found}


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
