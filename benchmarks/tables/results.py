"""What was measured for a table: by its own script, or before it by an older one under the same protocol."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Sequence

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
from sklearn.exceptions import ConvergenceWarning

#: Two figures are equal if they differ by at most so many standard errors.
STANDARD_ERRORS = 2
#: Case, method, seed and work.
Job = tuple[str, str, int, Callable[[], dict]]


class Results:
    """Results of a table's own file and, where that has none, of files of older scripts, which are only read."""

    def __init__(self, run: runner.Runner, *older: str):
        self.run = run
        self.runs = [run, *(runner.Runner(script) for script in older)]

    def row(self, case: str, method: str, seed: int = 0) -> dict | None:
        """Return the row of a result, or None."""
        return next((row for run in self.runs if (row := run.find(case, method, seed))), None)

    def values(self, case: str, method: str, name: str, seeds: Iterable[int]) -> list:
        """Return a figure, or the seconds, for all seeds that are there."""
        rows = [row for seed in seeds if (row := self.row(case, method, seed))]
        if name == "seconds":
            return [float(row["seconds"]) for row in rows]
        return [json.loads(row["figures"])[name] for row in rows]

    def measure(self, jobs: Iterable[Job]) -> None:
        """Run what is not there yet; every result is written down at once."""
        for case, method, seed, work in jobs:
            if not self.row(case, method, seed):
                print(f"{case} | {method} | seed {seed} ...", flush=True)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # "stopped" says so
                    self.run.compare(case, {method: work}, seed=seed, repeats=1)


def seconds_of(found: Sequence[float]) -> float | None:
    """Return the mean seconds, or None if there are none."""
    return float(np.mean(found)) if len(found) else None


def error_of_difference(
    ours: Sequence[float], deviation: float | None, n_theirs: int = 1, rounding: float = 0.0, worse: bool = False
) -> float:
    """Return by how much two means may differ and still be equal: two standard errors, and what rounding explains.

    Parameters
    ----------
    ours : sequence of float
        Our runs.
    deviation : float, optional
        The standard deviation of the paper's runs. None: the paper has one run and does not say; ours stands in.
    n_theirs : int
        How many runs the paper's mean is of.
    rounding : float
        Half a unit of the paper's last digit.
    worse : bool
        Whether ours is the worse one: then our standard error counts no more than the paper's, if that is known.

    Examples
    --------
    >>> round(error_of_difference([1.0, 2.0, 3.0], None), 4), round(error_of_difference([5.0], 0.5, 4, 0.1), 4)
    (2.3094, 1.218)
    >>> error_of_difference([7.0, 7.0], None, rounding=0.5)
    0.5
    >>> round(error_of_difference([1.0, 9.0], 2.0, 4, worse=True), 4)
    2.8284
    """
    own = float(np.std(ours, ddof=1)) if len(ours) > 1 else (deviation or 0.0)
    theirs = own if deviation is None else deviation
    of_ours, of_theirs = own**2 / len(ours), theirs**2 / n_theirs
    if worse and deviation is not None:
        of_ours = min(of_ours, of_theirs)
    return STANDARD_ERRORS * math.sqrt(of_ours + of_theirs) + rounding
