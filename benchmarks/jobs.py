"""Workers and checkpoints: how much faster two workers are than one, and what keeping a search in a file costs.

Minutes; two cores that nothing else uses. Repeats of the ways to work alternate; seconds are those of the fastest
repeat, since what else runs on a machine only ever adds to them. Processes are warm: their start is measured by itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from unittest.mock import patch

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from joblib import parallel_config
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.exceptions import ConvergenceWarning

from benchmarks.east import synthetic
from pgmpy_latent import EAST, BinG, SplitMerge, TreeEM, datasets, encode, presets, sample, standard_errors, support
from pgmpy_latent.model.convert import model_text
from pgmpy_latent.runtime.checkpoint import Checkpoint

ONE, THREADS, PROCESSES, COLD = "one worker", "two threads", "two processes", "two processes, with their start"
WAYS = {ONE: (1, "threading"), THREADS: (2, "threading"), PROCESSES: (2, "loky")}
REPEATS = 4
#: What two workers should reach.
FASTER = 1.6
#: What a checkpoint may cost, as a share of a search.
ALLOWED = 0.02
KEPT = "with a checkpoint"
QUIET = {"random_state": 0, "show_progress": False}

ONE_START = "TreeEM, one start, 393,473 distinct rows x 20 columns"
EIGHT_STARTS = "TreeEM, eight starts, 393,473 distinct rows x 20 columns"
EAST_CASE = "EAST, 18 variables, 10,000 rows"
SUPPORT_CASE = "support of a BinG tree, 18 variables, 16 draws"
ERRORS_CASE = "standard errors by bootstrap, 18 variables, 60 draws"
SEARCHES = {
    "EAST, 12 variables, 10,000 rows": lambda path: EAST(checkpoint=path, **QUIET),
    "split and merge, 12 variables, 10,000 rows": lambda path: SplitMerge(
        checkpoint=path, tuning=presets.SPLIT_MERGE.replace(depth=1), **QUIET
    ),
}


def table(n_variables: int = 18, n_rows: int = 10_000):
    return synthetic(n_variables, n_rows, 0)[1]


@cache
def tree_learner(n_rows: int):
    return BinG(**QUIET).fit(table(18, n_rows))


def east(n_jobs: int) -> str:
    return model_text(EAST(n_jobs=n_jobs, **QUIET).fit(table()).tree_)


def supported(n_jobs: int) -> str:
    found = support(
        tree_learner(2_000), table(18, 2_000), n_bootstrap=16, n_jobs=n_jobs, random_state=0, show_progress=False
    )
    return found.to_csv()


def errors(n_jobs: int) -> str:
    model = tree_learner(10_000).tree_
    return standard_errors(
        model, table(), method="bootstrap", n_bootstrap=60, n_jobs=n_jobs, random_state=0, show_progress=False
    ).to_csv()


@cache
def answers():
    """Draw a table of which hardly any two rows are equal: 20 columns with three categories, five classes."""
    rng = np.random.default_rng(0)
    n_rows, classes = 400_000, rng.integers(0, 5, 400_000)
    shares = rng.dirichlet(np.ones(3), size=(20, 5)).cumsum(axis=2)
    return encode(
        pd.DataFrame(
            {f"q{at}": (rng.random((n_rows, 1)) > own[classes]).sum(axis=1).clip(0, 2) for at, own in enumerate(shares)}
        )
    )


def many_rows(n_init: int, n_jobs: int) -> str:
    """Fit a latent class model with five classes, for so many iterations that all ways do the same."""
    data = answers()
    network = DiscreteBayesianNetwork([("class", column) for column in data.columns], latents={"class"})
    estimator = TreeEM(latent_card=5, n_init=n_init, max_iter=150, atol=0, seed=0, n_jobs=n_jobs, show_progress=False)
    return model_text(estimator.fit(network, data).tree_)


CASES: dict[str, Callable[[int], str]] = {
    EAST_CASE: east,
    SUPPORT_CASE: supported,
    ERRORS_CASE: errors,
    ONE_START: partial(many_rows, 1),
    EIGHT_STARTS: partial(many_rows, 8),
}


def worked(case: str, way: str) -> dict:
    """Do the work of a case in one way; return seconds, and what was found."""
    n_jobs, backend = WAYS[way]
    with parallel_config(backend=backend):
        began = time.perf_counter()
        found = CASES[case](n_jobs)
        return {"seconds": time.perf_counter() - began, "found": found}


#: Work of one process, for about a second.
BURN = "import time; t = time.perf_counter(); sum(i * i for i in range(10_000_000)); print(time.perf_counter() - t)"


def available() -> float:
    """Return how many times the work of one process two independent ones get done, beside all else that runs here."""

    def seconds(n: int) -> float:
        some = [subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE, text=True) for _ in range(n)]
        return max(float(one.communicate()[0]) for one in some)

    return 2 * seconds(1) / seconds(2)


def compared(run: runner.Runner, case: str) -> None:
    """Time a case in all ways; say whether they found the same."""
    if all(run.find(case, way) for way in WAYS):
        print(f"{case}: already there", flush=True)
        return
    small = sample(datasets.hlc_model(7, random_state=0), 300, random_state=0)
    for n_jobs, backend in WAYS.values():
        with parallel_config(backend=backend):  # loads the kernels, here and there
            learner = EAST(n_jobs=n_jobs, **QUIET).fit(small)
            support(learner, small, n_bootstrap=4, n_jobs=n_jobs, show_progress=False)
    results: dict[str, list[dict]] = {way: [] for way in WAYS}
    gave = [available()]
    for _ in range(REPEATS):
        for way in WAYS:
            results[way].append(worked(case, way))
        gave.append(available())
    for way, some in results.items():
        same = all(one["found"] == results[ONE][0]["found"] for one in some)
        run.note(case, way, 0, [one["seconds"] for one in some], {"same": same, "available": max(gave)})


START = """
import json, time
from joblib import Parallel, delayed, parallel_config
from benchmarks import jobs
with parallel_config(backend="loky"):
    began = time.perf_counter()
    jobs.EAST(n_jobs=2, **jobs.QUIET).fit(jobs.table(7, 5_000).head(300))
print(json.dumps({"seconds": time.perf_counter() - began}))
"""


def start(run: runner.Runner) -> None:
    """Time a search so short that the start of two processes is most of it."""
    run.alone("Start", COLD, START, repeats=REPEATS)


@contextmanager
def time_in_checkpoints() -> Iterator[list[float]]:
    """Collect the seconds that searches spend in their checkpoints, writing and asking whether it is time to."""
    spent: list[float] = []
    patches = []
    originals = {name: getattr(Checkpoint, name) for name in ("keep", "tend", "resume")}
    for name, method in originals.items():

        def timed(*args, original=method, **kwargs):
            began, before = time.perf_counter(), len(spent)
            try:
                return original(*args, **kwargs)
            finally:
                inner = sum(spent[before:])  # keep calls tend
                spent.append(time.perf_counter() - began - inner)

        patches.append(patch.object(Checkpoint, name, timed))
    with patches[0], patches[1], patches[2]:
        yield spent


def kept(run: runner.Runner, case: str) -> None:
    """Time a search with a checkpoint, and what it spends in the checkpoint: two runs differ by more than that."""
    if run.find(case, KEPT):
        print(f"{case}: already there", flush=True)
        return
    SEARCHES[case](None).fit(sample(datasets.hlc_model(7, random_state=0), 300, random_state=0))
    seconds, shares = [], []
    for _ in range(REPEATS + 1):
        with tempfile.TemporaryDirectory() as folder, time_in_checkpoints() as spent:
            path = Path(folder) / "search.json"
            began = time.perf_counter()
            learner = SEARCHES[case](path).fit(table(12))
            seconds.append(time.perf_counter() - began)
            shares.append(sum(spent) / seconds[-1])
            size = path.stat().st_size
    run.note(case, KEPT, 0, seconds, {"bytes": size, "steps": len(learner.history_), "shares": shares})


# -- the page ----------------------------------------------------------------------------------------------------------


def fastest(run: runner.Runner, case: str, way: str) -> float:
    return float(run.find(case, way)["fastest"])


def page(run: runner.Runner) -> str:
    """Write the section of the page."""
    lines = [
        "## Workers and checkpoints",
        "",
        f"Two cores. Seconds of the fastest of {REPEATS} runs that alternate, with worker processes that run already; "
        "results of all ways are compared to the last bit. What the machine gave is how much more two independent "
        "processes of pure Python got done than one, at best, while this was measured: no workers can do better.",
        "",
        f"| | {' | '.join(WAYS)} | threads | processes | the machine gave | target | same results |",
        "|---" * (len(WAYS) + 6) + "|",
    ]
    for case in CASES:
        if not all(run.find(case, way) for way in WAYS):
            continue
        times = [fastest(run, case, way) for way in WAYS]
        same = all(json.loads(run.find(case, way)["figures"])["same"] for way in WAYS)
        cells = [f"{value:.1f}" for value in times] + [f"{times[0] / value:.2f} x" for value in times[1:]]
        gave = json.loads(run.find(case, ONE)["figures"]).get("available")
        cells.append("not measured" if gave is None else f"{gave:.2f} x")
        lines.append(f"| {case} | {' | '.join(cells)} | {FASTER} x | {'yes' if same else 'no'} |")
    lines += [
        "",
        'Two processes are chosen by `joblib.parallel_config(backend="loky")`; threads gain less where much of the '
        "work is Python's, and as much in EM on large tables, whose rows they share if there is one start. EAST takes "
        "hundreds of short steps. What keeps it from twice the speed is that every task computes for itself what rows "
        "say at the nodes of a new tree, and what is done by one process between the steps.",
    ]
    if run.find("Start", COLD):
        lines.append(
            f"Their start, once in a session, takes {fastest(run, 'Start', COLD):.1f} s (with a search of a few "
            "candidates)."
        )
    lines += ["", f"What a search spends in its checkpoint, of all its time, at most of {REPEATS + 1} runs:", ""]
    lines += ["| search | steps | file, KB | seconds | share | allowed |", "|---" * 6 + "|"]
    for case in SEARCHES:
        if run.find(case, KEPT):
            size, steps, shares = (run.figure(case, KEPT, name) for name in ("bytes", "steps", "shares"))
            cells = [case, steps, f"{size / 1e3:.0f}", f"{run.seconds(case, KEPT):.1f}", f"{100 * max(shares):.2f} %"]
            lines.append(f"| {' | '.join(map(str, cells))} | {100 * ALLOWED:.0f} % |")
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("jobs", again=options.again, only=options.only)
    warnings.simplefilter("ignore", ConvergenceWarning)
    jobs = {"Start": partial(start, run)}
    jobs |= {case: partial(compared, run, case) for case in CASES} | {
        case: partial(kept, run, case) for case in SEARCHES
    }
    for case, work in jobs.items():
        if options.only in case and not options.render:
            work()
    runner.render("jobs", page(run))


if __name__ == "__main__":
    main()
