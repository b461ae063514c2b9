"""What was measured for a table: by its own script, or before it by an older one under the same protocol."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
from sklearn.exceptions import ConvergenceWarning

#: Two figures are equal if they differ by at most so many standard errors.
STANDARD_ERRORS = 2
#: Case, method, seed and work.
Job = tuple[str, str, int, Callable[[], dict]]


def method_of(column: str, to_the_letter: bool) -> str:
    """Return the name of a method's results: with its default settings, or with the preset that follows the paper."""
    return f"{column}, preset" if to_the_letter else column


class Results:
    """Results of a table's own file and, where that has none, of files of older scripts, which are only read.

    Parameters
    ----------
    run : runner.Runner
    *older : str
        Names of the older scripts.
    n_fits : int
        How many fits a result is of, if its seconds are those of one.
    roughly : dict, optional
        How many times as long as by default a method takes with what stands after the comma in its name ("preset"),
        for as long as nothing of the kind is measured: a guess. A whole name counts until that method is measured.
    default : str, optional
        The method whose seconds stand in where one has none by default.
    """

    def __init__(
        self,
        run: runner.Runner,
        *older: str,
        n_fits: int = 1,
        roughly: dict[str, float] | None = None,
        default: str | None = None,
    ):
        self.run = run
        self.runs = [run, *(runner.Runner(script) for script in older)]
        self.n_fits, self.roughly, self.default = n_fits, roughly or {}, default

    def row(self, case: str, method: str, seed: int = 0) -> dict | None:
        """Return the row of a result, or None."""
        return next((row for run in self.runs if (row := run.find(case, method, seed))), None)

    def values(self, case: str, method: str, name: str, seeds: Iterable[int]) -> list:
        """Return a figure, or the seconds, for all seeds that are there."""
        rows = [row for seed in seeds if (row := self.row(case, method, seed))]
        if name == "seconds":
            return [float(row["seconds"]) for row in rows]
        return [json.loads(row["figures"])[name] for row in rows]

    @cached_property
    def known_seconds(self) -> dict[tuple[str, str], float]:
        """The mean seconds of results of a case and method."""
        found: dict[tuple[str, str], list[float]] = {}
        for run in self.runs:
            for row in run.rows:
                found.setdefault((row["case"], row["method"]), []).append(self.n_fits * float(row["seconds"]))
        return {key: float(np.mean(seconds)) for key, seconds in found.items()}

    def by_default(self, case: str, method: str) -> float | None:
        """Return the mean seconds of what a variant of a method is named after, on a case."""
        base = method.rpartition(", ")[0]
        return self.known_seconds.get((case, base), self.known_seconds.get((case, self.default or base)))

    def factor(self, method: str) -> float | None:
        """Return how many times as long a variant of a method takes, over the cases of which both are known.

        If this method has none, what was said to be so roughly for it; then the cases of all methods with the variant,
        and what was said of the variant.
        """
        variant = method.rpartition(", ")[2]
        pairs = [
            (other, seconds, base)
            for (case, other), seconds in self.known_seconds.items()
            if other.endswith(f", {variant}") and (base := self.by_default(case, other))
        ]
        both = [(seconds, base) for other, seconds, base in pairs if other == method]
        if not both and method in self.roughly:
            return self.roughly[method]
        both = both or [(seconds, base) for _, seconds, base in pairs]
        if not both:
            return self.roughly.get(variant)
        return sum(seconds for seconds, _ in both) / sum(base for _, base in both)

    def expected_seconds(self, case: str, method: str) -> float | None:
        """Return the processor time that a result will take, from others of its kind; None if there are none."""
        if (case, method) in self.known_seconds:
            return self.known_seconds[case, method]
        base, factor = self.by_default(case, method), self.factor(method)
        return None if base is None or factor is None else factor * base

    def measure(self, jobs: Iterable[Job], again: bool = False) -> None:
        """Run what is not there yet, or all of it again; every result is written down at once."""
        for case, method, seed, work in jobs:
            if again:
                self.run.forget(case, method, seed)
            if again or not self.row(case, method, seed):
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
