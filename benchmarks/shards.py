"""How EM runs on tables beyond memory, on workers with 2 GB each. Run: python -m benchmarks.shards"""

from __future__ import annotations

from benchmarks import runner  # first: it pins the threads  # isort: skip

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

WORKERS, WORKER_MEMORY = 2, "2GB"
#: Distinct rows that may be held by the process that fits, in bytes.
MEMORY_LIMIT = 1e9
#: Rows that are drawn, written and judged at a time, and rows of a row group.
DRAWN, ROW_GROUP = 500_000, 250_000
#: Case -> rows, hidden children of the root, columns below each, states of a column.
CASES = {
    "100,000,000 rows x 12 ternary columns, which compress": (100_000_000, 3, 4, 3),
    "20,000,000 rows x 60 binary columns, which do not": (20_000_000, 4, 15, 2),
}
PIECES = "10,000,000 rows x 12 binary columns, 2 % of the cells missing"
SETTINGS = {"latent_card": 2, "n_init": 2, "seed": 0, "atol": 1.0, "max_iter": 100, "show_progress": False}


def true_tree(case: str):
    """Return the tree that a case draws from: a hidden root, hidden children, and columns below them."""
    from pgmpy_latent import LatentTree

    _, n_hidden, n_below, card = CASES[case]
    rng = np.random.default_rng(7)
    names, parent = ["R"], [-1]
    for child in range(n_hidden):
        names, parent = [*names, f"H{child}"], [*parent, 0]
    for column in range(n_hidden * n_below):
        names, parent = [*names, f"x{column:02}"], [*parent, 1 + column // n_below]
    cards = [2] * (1 + n_hidden) + [card] * (n_hidden * n_below)
    tables = [np.array([[0.6, 0.4]])]
    tables += [np.array([[0.85, 0.15], [0.2, 0.8]])] * n_hidden
    tables += [rng.dirichlet(np.ones(card), size=2) for _ in range(n_hidden * n_below)]
    latent = [node <= n_hidden for node in range(len(names))]
    return LatentTree(names, [range(own) for own in cards], parent, latent, tables)


def write(case: str, folder: str) -> None:
    """Draw the rows of a case into Parquet files of ten million rows, and print the tree's own log-likelihood."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pgmpy_latent import log_likelihood, sample

    tree, n_rows, total, writer = true_tree(case), CASES[case][0], 0.0, None
    for number in range(n_rows // DRAWN):
        rows = sample(tree, DRAWN, random_state=number)[list(tree.observed_names)].astype(np.int8)
        total += log_likelihood(tree, rows)
        table = pa.Table.from_pandas(rows, preserve_index=False)
        if number % (10_000_000 // DRAWN) == 0:
            if writer is not None:
                writer.close()
            writer = pq.ParquetWriter(Path(folder) / f"{number:04}.parquet", table.schema)
        writer.write_table(table, row_group_size=ROW_GROUP)
    writer.close()
    print(json.dumps({"log_likelihood": total}))


def measure(case: str, folder: str) -> None:
    """Fit the tree's structure to the files of a case on a cluster, and print what it took."""
    from distributed import Client, LocalCluster
    from pgmpy.models import DiscreteBayesianNetwork

    from pgmpy_latent import TreeEM
    from pgmpy_latent.em import step as iteration

    tree = true_tree(case)
    edges = [(tree.names[above], tree.names[node]) for node, above in enumerate(tree.parent) if above >= 0]
    model = DiscreteBayesianNetwork(edges, latents=set(tree.latent_names))
    passes: list[float] = []
    count = iteration.Problem.expected_counts

    def timed(problem, *args):
        begin = time.perf_counter()
        found = count(problem, *args)
        passes.append(time.perf_counter() - begin)
        return found

    iteration.Problem.expected_counts = timed
    options = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": WORKER_MEMORY, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whether it converged is noted
            found = TreeEM(memory_limit=MEMORY_LIMIT, **SETTINGS).fit(model, folder)
        seconds = time.perf_counter() - begin
        workers = client.run(runner.peak_mb)
        lost = len(before - set(client.run(os.getpid).values()))
    print(
        json.dumps(
            {
                "seconds": seconds,
                "em_seconds": sum(passes),
                "passes": len(passes),
                "iterations": found.n_iter_,
                "converged": bool(found.converged_),
                "log_likelihood": found.log_likelihood_,
                "worker_peak_mb": sorted(round(peak) for peak in workers.values()),
                "workers_lost": lost,
                "peak_mb": runner.peak_mb(),
                "disk_mb": sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6,
            }
        )
    )


def pieces(case: str, folder: str, n_rows: int = 10_000_000, n_columns: int = 12) -> None:
    """Count the distinct rows of a table that comes in pieces, and print what it took without drawing it."""
    import pandas as pd

    from pgmpy_latent import encode_chunks

    spent = [0.0]

    def drawn():
        rng = np.random.default_rng(0)
        for _ in range(n_rows // DRAWN):
            began = time.perf_counter()
            cells = rng.integers(0, 2, size=(DRAWN, n_columns)).astype(np.float32)
            cells[rng.random(cells.shape, dtype=np.float32) < 0.02] = np.nan
            frame = pd.DataFrame(cells)
            spent[0] += time.perf_counter() - began
            yield frame

    began = time.perf_counter()
    data = encode_chunks(drawn())
    figures = {"seconds": time.perf_counter() - began - spent[0], "peak_mb": runner.peak_mb()}
    print(json.dumps(figures | {"distinct": data.n_distinct, "weight": data.total_weight, "drawing": spent[0]}))


def in_a_process(function: str, case: str, folder: str) -> dict:
    code = f"from benchmarks import shards; shards.{function}({case!r}, {folder!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=runner.ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    lines = [
        "## Tables beyond memory",
        "",
        f"Written by `python -m benchmarks.shards`. A LocalCluster with {WORKERS} workers of one thread and 2 GB each;",
        f"`TreeEM(memory_limit=1e9)` on a folder of Parquet files, {SETTINGS['n_init']} starts, until no start has",
        f"more than {SETTINGS['atol']:g} nat left to gain, or {SETTINGS['max_iter']} iterations. Rows are drawn from a",
        "tree whose hidden variables have two states, and its structure is fitted. Peaks are what the processes say of",
        "themselves (VmHWM). The machine has two cores, which other work shared; seconds are by the clock.",
        "",
        "| table | files | seconds in all | beside EM | per iteration of all starts | iterations of the best | "
        "peak of the workers | peak of the client | workers lost | log-likelihood per row, above the true tree's |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case, (n_rows, *_) in CASES.items():
        if run.find(case, "ours") is None:
            continue
        figures = json.loads(run.find(case, "ours")["figures"])
        per_row, truth = (figures[name] / n_rows for name in ("log_likelihood", "true_log_likelihood"))
        peaks = ", ".join(f"{peak:,}" for peak in figures["worker_peak_mb"])
        lines.append(
            f"| {case} | {figures['disk_mb']:,.0f} MB | {run.seconds(case, 'ours'):,.0f} | "
            f"{run.seconds(case, 'ours') - figures['em_seconds']:,.0f} | "
            f"{figures['em_seconds'] / figures['passes']:.2f} | "
            f"{figures['iterations']}{'' if figures['converged'] else ' (not converged)'} | {peaks} MB | "
            f"{float(run.find(case, 'ours')['peak_mb']):,.0f} MB | {figures['workers_lost']} | "
            f"{per_row:.6f}, {per_row - truth:+.1e} |"
        )
    return "\n".join([*lines, *pieces_lines(run)])


def pieces_lines(run: runner.Runner) -> list[str]:
    row = run.find(PIECES, "ours")
    if row is None:
        return []
    distinct = run.figure(PIECES, "ours", "distinct")
    return [
        "",
        f"**{PIECES}**, given in frames of {DRAWN:,} rows:",
        f"{run.seconds(PIECES, 'ours'):.1f} s without drawing them, and {float(row['peak_mb']):,.0f} MB at most, with",
        f"Python and what draws; {distinct:,} distinct rows. Allowed are 15 s and 1,000 MB.",
    ]


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("shards", again=options.again, only=options.only)
    for case in CASES:
        if options.render or options.only not in case or run.find(case, "ours"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            truth = in_a_process("write", case, folder)["log_likelihood"]
            figures = in_a_process("measure", case, folder)
        run.note(case, "ours", 0, [figures.pop("seconds")], figures | {"true_log_likelihood": truth})
    if not options.render and options.only in PIECES and not run.find(PIECES, "ours"):
        figures = in_a_process("pieces", PIECES, "")
        run.note(PIECES, "ours", 0, [figures.pop("seconds")], figures)
    runner.render("shards", page(run))


if __name__ == "__main__":
    main()
