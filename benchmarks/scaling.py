"""How the seconds of every learner grow with rows, columns, states and hidden variables; a page with a plot for each.

Tables are drawn from models that are known. Every point is one fit in one thread, in processor seconds. ``--only``
takes any part of "case | learner" as it is printed: ``EAST``, ``"30,000 rows"``, ``"first use"``. ``--workers``
measures nothing but what two workers gain, in seconds of clock time: it wants two cores that nothing else uses.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

from benchmarks import runner  # first: it sets the number of threads

# isort: split
from benchmarks.jobs import available
from benchmarks.scaling_learners import LEARNERS, Fit, Learner
from benchmarks.scaling_tables import COLUMNS, ROWS, Sizes

#: Seconds of a fit. Learners look at the clock, which goes on while others have the processor; a limit that stopped
#: them after less than a share of it was too early, and is doubled, but not for ever.
LIMIT, LEAST_SHARE, LONGEST_LIMIT = 60.0, 0.8, 960.0
#: A fit of fewer seconds is repeated so many times, and the fastest counts: what disturbs it can only add.
SHORT, SHORT_REPEATS = 0.5, 4
MIDDLE, MIDDLE_REPEATS = 5.0, 1
WARM_UP_ROWS = 200
#: Cases of the first use in a new process: with nothing compiled before, and with what an earlier process has kept.
COMPILING, LOADING = "first use, nothing compiled before", "first use, compiled before"
#: Learners with workers that their searches or starts are divided among -> what grows for them, and its size.
TWO_WORKERS = {
    "TreeEM, tree": (ROWS, 100_000),
    "SplitMerge": (ROWS, 30_000),
    "EAST": (ROWS, 30_000),
    "EAST, rows with gaps": (ROWS, 30_000),
    "BinG": (ROWS, 10_000),
    "HiddenChowLiuMixture": (ROWS, 10_000),
    "NetworkEM": (ROWS, 30_000),
    "FindHidden": (COLUMNS, 12),
    "latent_transition": (ROWS, 10_000),
}
WORKERS, WORKERS_REPEATS = (1, 2), 3

# -- measuring ---------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    """A fit: how large something was, what it took, and whether the limit stopped it."""

    size: int
    seconds: float
    stopped: bool


def case_of(sizes: Sizes) -> str:
    """Return sizes in words.

    >>> case_of({ROWS: 1_000, COLUMNS: 1})
    '1,000 rows, 1 column'
    """
    return ", ".join(f"{size:,} {what if size > 1 else what.removesuffix('s')}" for what, size in sizes.items())


def kept_of(found: Any) -> dict:
    """Return what explains the seconds of a search: its steps, and how many hidden variables it found."""
    names = {"steps": "history_", "hidden": "latents_"}
    return {name: len(getattr(found, attribute)) for name, attribute in names.items() if hasattr(found, attribute)}


def timed(fit: Fit, limit: float = LIMIT) -> tuple[Any, float]:
    """Fit, and return what was fitted and processor seconds."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of limits, and of states that are empty
        found = fit(limit, 1)
    return found, time.process_time() - began


def measured(learner: Learner, sizes: Sizes) -> dict:
    """Fit once; again if the processor was too busy for the limit to mean anything, or the fit is short."""
    fit, limit = learner.prepare(sizes), LIMIT
    found, seconds = timed(fit, limit)
    while (stopped := was_stopped(found)) and seconds < LEAST_SHARE * LIMIT and limit < LONGEST_LIMIT:
        limit *= 2
        found, seconds = timed(fit, limit)
    for _ in range(0 if stopped else repeats_of(seconds)):
        seconds = min(seconds, timed(fit, limit)[1])
    return {"seconds": seconds, "stopped": stopped} | kept_of(found)


def repeats_of(seconds: float) -> int:
    """Return how often a fit is repeated."""
    return SHORT_REPEATS if seconds < SHORT else MIDDLE_REPEATS if seconds < MIDDLE else 0


def was_stopped(found: Any) -> bool:
    return getattr(found, "stopped_", None) is not None


@cache
def warm_up(name: str) -> None:
    """Fit once without counting, so that what is loaded and compiled once is not counted later."""
    measured(LEARNERS[name], {**LEARNERS[name].base, ROWS: WARM_UP_ROWS})


def cases(name: str) -> Iterator[tuple[str, Sizes]]:
    """Return what is measured of a learner, each once: the base is a point of several axes."""
    learner = LEARNERS[name]
    points = [learner.at(what, size) for what, sizes in learner.growth.items() for size in sizes]
    yield from {case_of(sizes): sizes for sizes in points}.items()


def measure(run: runner.Runner, only: str) -> None:
    """Run everything that is not there yet."""
    for name, learner in LEARNERS.items():
        for case, sizes in cases(name):
            if only in f"{case} | {name}" and not run.find(case, name):
                warm_up(name)
                run.compare(case, {name: partial(measured, learner, sizes)}, repeats=1)


def small_fit(name: str) -> dict:
    """Fit few rows twice; return the seconds of the first fit, which compiles or loads, and of the second."""
    fit = LEARNERS[name].prepare({**LEARNERS[name].base, ROWS: WARM_UP_ROWS})
    return {"seconds": timed(fit)[1], "second": timed(fit)[1]}


def measure_first_use(run: runner.Runner, only: str) -> None:
    """Time the first fit in new processes: one that compiles, and one after it."""
    for name in LEARNERS:
        code = f"import json; from benchmarks.scaling import small_fit; print(json.dumps(small_fit({name!r})))"
        wanted = [case for case in (COMPILING, LOADING) if only in f"{case} | {name}" and not run.find(case, name)]
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for case in (COMPILING, LOADING):
                found = runner.in_a_process(code, variables={"NUMBA_CACHE_DIR": folder})
                run.note(case, name, 0, [found.pop("seconds")], found)


def workers_case(name: str) -> tuple[str, Sizes]:
    """Return what is measured of a learner with two workers."""
    sizes = LEARNERS[name].at(*TWO_WORKERS[name])
    return f"two workers, {case_of(sizes)}", sizes


def measure_workers(run: runner.Runner, only: str) -> None:
    """Time fits with one worker and with two, alternating, in seconds of clock time; note what the machine gave."""
    for name in TWO_WORKERS:
        case, sizes = workers_case(name)
        if only not in f"{case} | {name}" or run.find(case, name):
            continue
        fit, gave = LEARNERS[name].prepare(sizes), [available()]
        seconds: dict[int, list[float]] = {n_jobs: [] for n_jobs in WORKERS}
        for _ in range(1 + WORKERS_REPEATS):  # the first loads what is compiled
            for n_jobs, some in seconds.items():
                began = time.perf_counter()
                fit(LONGEST_LIMIT, n_jobs)
                some.append(time.perf_counter() - began)
            gave.append(available())
        one, two = (seconds[n_jobs][1:] for n_jobs in WORKERS)
        run.note(case, name, 0, one, {"two": min(two), "available": max(gave)})


def points_of(run: runner.Runner, name: str, what: str) -> list[Point]:
    """Return what is there of a learner's growth with something."""
    points = []
    for size in LEARNERS[name].growth.get(what, ()):
        if row := run.find(case_of(LEARNERS[name].at(what, size)), name):
            points.append(Point(size, float(row["seconds"]), json.loads(row["figures"])["stopped"]))
    return points


def main() -> None:
    from benchmarks.scaling_page import write  # it takes the learners above for its sections

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--workers", action="store_true", help="only what two workers gain, on two idle cores")
    own, others = parser.parse_known_args()
    options = runner.arguments(__doc__, others)
    run = runner.Runner("scaling", again=options.again, only=options.only)
    if own.workers and not options.render:
        measure_workers(run, options.only)
    elif not options.render:
        measure(run, options.only)
        measure_first_use(run, options.only)
    write(run, runner.PAGE.parent)


if __name__ == "__main__":
    main()
