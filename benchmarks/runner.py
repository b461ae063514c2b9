"""The runner that all benchmark scripts share.

A script measures *cases*; in each, some *methods* do the same work side by side. Repeats of the methods alternate, so
that a busy minute of the machine meets all of them. Every result goes into ``benchmarks/results/<script>.csv`` at once;
a script that is started again leaves out what is there already (delete the file, or give ``--again``, to measure anew).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(
        _variable, "1"
    )  # scripts import this before numpy: one thread, so that methods can be compared

ROOT = Path(__file__).resolve().parents[1]
#: Where results and pages are: in the project, unless ``python -m benchmarks --folder`` says otherwise.
FOLDER = Path(os.environ.get("BENCHMARKS_FOLDER", ROOT))
RESULTS = FOLDER / "benchmarks" / "results"
PAGE = FOLDER / "docs" / "benchmarks.md"
#: The papers' data sets, beside the project unless ``python -m benchmarks --data`` says otherwise; not part of it.
DATA = Path(os.environ.get("BENCHMARKS_DATA", ROOT.parent / "shared" / "data"))
FIELDS = ["case", "method", "seed", "repeats", "seconds", "fastest", "peak_mb", "figures", "versions", "day"]
PACKAGES = ["pgmpy-latent", "pgmpy", "numpy", "numba", "scipy", "stepmix"]


def versions() -> str:
    """Return the versions that a result depends on."""
    found = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def peak_mb() -> float:
    """Return the most memory that this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # a new process inherits the ru_maxrss of the one that started it
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(code: str, folder: Path = ROOT, variables: dict[str, str] | None = None) -> dict:
    """Run code with the package of a folder, which may hold another version; its last line is a JSON object."""
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)} | (variables or {}),
    )  # fmt: skip
    return json.loads(output.stdout.strip().splitlines()[-1])


class Runner:
    """Measures, writes down at once, and remembers."""

    def __init__(self, script: str, again: bool = False, only: str = ""):
        RESULTS.mkdir(parents=True, exist_ok=True)
        self.path = RESULTS / f"{script}.csv"
        self.rows: list[dict] = []
        self._index: tuple[list[dict], int, dict[tuple[str, str, str], dict]] = (self.rows, 0, {})
        if self.path.exists():
            with self.path.open(newline="") as file:
                self.rows = [row for row in csv.DictReader(file) if not (again and only in row["case"])]

    def find(self, case: str, method: str, seed: int = 0) -> dict | None:
        """Return the row of a result that is there already."""
        rows, n_rows, index = self._index
        if rows is not self.rows or n_rows != len(rows):
            index = {(row["case"], row["method"], row["seed"]): row for row in self.rows}
            self._index = (self.rows, len(self.rows), index)
        return index.get((case, method, str(seed)))

    def forget(self, case: str, method: str, seed: int = 0) -> None:
        """Leave a result out of what is there already, so that it is measured anew."""
        known = self.find(case, method, seed)
        self.rows = [row for row in self.rows if row is not known]

    def compare(self, case: str, methods: dict[str, Callable[[], dict | None]], *, seed: int = 0, repeats: int = 5):
        """Time several methods, alternating, in processor seconds; a method may return figures to keep.

        A method may also return ``{"seconds": ...}``, where it knows better what to count.
        """
        if all(self.find(case, method, seed) for method in methods):
            print(f"{case}: already there", flush=True)
            return
        seconds: dict[str, list[float]] = {method: [] for method in methods}
        figures: dict[str, dict] = {method: {} for method in methods}
        for _ in range(repeats):
            for method, work in methods.items():
                begin = time.process_time()  # other work on the machine does not count
                result = dict(work() or {})
                elapsed = time.process_time() - begin
                seconds[method].append(result.pop("seconds", elapsed))
                figures[method] |= result
        for method in methods:
            self.note(case, method, seed, seconds[method], figures[method])

    def note(self, case: str, method: str, seed: int, seconds: list[float], figures: dict) -> None:
        """Write a result down."""
        row = {
            "case": case,
            "method": method,
            "seed": str(seed),
            "repeats": str(len(seconds)),
            "seconds": f"{median(seconds):.6g}",
            "fastest": f"{min(seconds):.6g}",
            "peak_mb": f"{figures.pop('peak_mb', peak_mb()):.0f}",
            "figures": json.dumps(figures),
            "versions": versions(),
            "day": date.today().isoformat(),
        }
        self.rows = [r for r in self.rows if (r["case"], r["method"], r["seed"]) != (case, method, str(seed))]
        self.rows.append(row)
        partial = self.path.with_suffix(".partial")
        with partial.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(self.rows)
        partial.replace(self.path)
        print(f"{case} | {method}: {row['seconds']} s {row['figures']}", flush=True)

    def alone(self, case: str, method: str, code: str, *, repeats: int = 1, seed: int = 0) -> None:
        """Run code in a process of its own, which prints a JSON object with ``seconds`` and figures as last line."""
        if self.find(case, method, seed):
            print(f"{case}: already there", flush=True)
            return
        results = []
        for _ in range(repeats):
            results.append(in_a_process(code))
        seconds = [result.pop("seconds") for result in results]
        self.note(case, method, seed, seconds, results[-1])

    def versions(self) -> str:
        """Return the versions that the results were measured with."""
        return "; ".join(sorted({row["versions"] for row in self.rows}))

    def seconds(self, case: str, method: str, seed: int = 0) -> float:
        """Return the median seconds of a result."""
        return float(self.find(case, method, seed)["seconds"])

    def fastest(self, case: str, method: str, seed: int = 0) -> float:
        """Return the fewest seconds of a result."""
        return float(self.find(case, method, seed)["fastest"])

    def figure(self, case: str, method: str, name: str, seed: int = 0) -> float:
        """Return one of the figures of a result."""
        return json.loads(self.find(case, method, seed)["figures"])[name]


def mark(section: str, where: str) -> str:
    """Return the line of the page where a section begins or ends.

    >>> mark("em", "begin")
    '<!-- em: begin -->'
    """
    return f"<!-- {section}: {where} -->"


def sections(page: str) -> dict[str, str]:
    """Return the text of every section of a page.

    >>> sections("# Benchmarks\\n\\n<!-- em: begin -->\\n## EM\\n<!-- em: end -->\\n")
    {'em': '## EM'}
    """
    found = re.findall(r"^<!-- (\w+): begin -->\n(.*?)\n<!-- \1: end -->$", page, re.DOTALL | re.MULTILINE)
    return dict(found)


def render(section: str, text: str) -> None:
    """Put a section into the page of benchmarks, in place of its older version; an empty line stands between two."""
    begin, end = mark(section, "begin"), mark(section, "end")
    page = PAGE.read_text() if PAGE.exists() else "# Benchmarks\n"
    head, _, rest = page.partition(begin)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    parts = [head, f"{begin}\n{text.strip()}\n{end}", rest.partition(end)[2]]
    PAGE.write_text("\n\n".join(part.strip("\n") for part in parts if part.strip("\n")) + "\n")


def arguments(description: str, given: list[str] | None = None) -> argparse.Namespace:
    """Read the options that all scripts share, from the command line if they are not given."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--again", action="store_true", help="measure anew what is there already")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--render", action="store_true", help="only write the page, from the results that are there")
    return parser.parse_args(given)
