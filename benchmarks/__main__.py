"""Everything that the pages show, measured from nothing but the folder of data sets.

``python -m benchmarks`` says what processor time its scripts take, by the results in the project, then runs them one
after the other, and the papers' tables, and writes all pages. What has been measured already is left out, so that it
goes on where it was stopped. ``--folder FOLDER`` starts from nothing, with results and pages in another folder;
``--plan`` only says what it will take; ``--only peers,scaling`` runs some scripts; ``--render`` measures nothing;
``--quick`` measures a little of most scripts anew and writes their pages, in a folder that is thrown away.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import runner, scripts
from benchmarks.tables.page import prose, seconds_text, table_of

#: What is run after the scripts: they write pages from results of several.
TABLES, WRITERS = "tables", ("beyond", "quoted")
SECTION = "costs"


def wanted(only: str) -> list[str]:
    """Return the names of the scripts that are to be run, in order."""
    names = [*(script.name for script in scripts.SCRIPTS), TABLES]
    chosen = [name.strip() for name in only.split(",") if name.strip()]
    if unknown := sorted(set(chosen) - set(names)):
        raise SystemExit(f"there is no script {', '.join(unknown)}; there are {', '.join(names)}")
    return [name for name in names if not chosen or name in chosen]


def done(name: str, folder: Path) -> tuple[int, float]:
    """Return how many of the project's results a folder has, and the processor seconds of the others."""
    there = set()
    for path in (folder / "benchmarks" / "results").glob(f"{scripts.TABLES}*.csv" if name == TABLES else f"{name}.csv"):
        with path.open(newline="") as file:
            there |= {(row["case"], row["method"], row["seed"]) for row in csv.DictReader(file)}
    rows = scripts.rows_of(name)
    missing = [row for row in rows if (row["case"], row["method"], row["seed"]) not in there]
    return len(rows) - len(missing), scripts.cost_of(missing).seconds


def plan(names: list[str], folder: Path) -> None:
    """Say what processor time is left for every script and in all, by the results in the project."""
    left = whole = 0.0
    for name in names:
        n_there, seconds = done(name, folder)
        cost = scripts.cost_of(scripts.rows_of(name))
        print(f"{name}: {seconds_text(cost.seconds)} of processor time; {n_there} of {cost.n_results} results there")
        left, whole = left + seconds, whole + cost.seconds
    print(f"in all {seconds_text(whole)} of processor time, of which {seconds_text(left)} are left", flush=True)
    if TABLES in names:
        print("What the project's tables lack is not counted: python -m benchmarks.tables --plan", flush=True)


def run(module: str, options: tuple[str, ...], folder: Path, data: Path) -> bool:
    """Run a module of this package in a process of its own; say whether it ended well."""
    places = {"BENCHMARKS_FOLDER": str(folder), "BENCHMARKS_DATA": str(data), "PYTHONPATH": str(runner.ROOT)}
    began = time.monotonic()
    print(f"== python -m benchmarks.{module} {' '.join(options)}".rstrip(), flush=True)
    ended = subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *options], env=os.environ | places)
    print(
        f"== {module}: {'done' if not ended.returncode else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True
    )
    return not ended.returncode


def run_all(names: list[str], folder: Path, data: Path, render: bool) -> list[str]:
    """Run scripts, then those that write pages; return the names of those that failed."""
    (folder / "docs" / "images").mkdir(parents=True, exist_ok=True)
    options = ("--render",) if render else ()
    failed = [name for name in names if not run(name, options, folder, data)]
    if folder == runner.ROOT:
        write_costs()
        failed += [name for name in WRITERS if not run(name, ("--write",), folder, data)]
    return failed


def copied(script: scripts.Script, folder: Path) -> int:
    """Copy a script's results into a folder, without those that its quick part measures; return the number of these."""
    words = [word.strip() for option in script.quick[1::2] for word in option.split("+")]
    rows = scripts.rows_of(script.name)
    kept = [row for row in rows if not words or not all(word in label_of(row) for word in words)]
    (folder / "benchmarks" / "results").mkdir(parents=True, exist_ok=True)
    with (folder / "benchmarks" / "results" / f"{script.name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, runner.FIELDS)
        writer.writeheader()
        writer.writerows(kept)
    return len(rows) - len(kept)


def label_of(row: dict) -> str:
    """Return a result as ``--only`` sees it.

    >>> label_of({"case": "voting", "method": "EAST", "seed": "0"})
    'voting | EAST | seed 0'
    """
    return f"{row['case']} | {row['method']} | seed {row['seed']}"


def quick(names: list[str], data: Path) -> list[str]:
    """Measure a little of every script anew, beside copies of its results; return the names of those that failed."""
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(runner.ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("_build"))
        for script in scripts.SCRIPTS:
            copied(script, folder)
        for script in scripts.SCRIPTS:
            if script.name not in names or not script.quick:
                continue
            if not script.is_drawn and not data.exists():
                print(f"== {script.name} is left out: there are no data sets at {data}", flush=True)
            elif not run(script.name, script.quick, folder, data):
                failed.append(script.name)
        if TABLES in names and not run(TABLES, ("--quick",), folder, data):
            failed.append(TABLES)
    return failed


def page() -> str:
    """Return the section on what all results took."""
    about = {script.name: script.about for script in scripts.SCRIPTS} | {TABLES: "the papers' tables"}
    found = scripts.costs()
    whole = sum(cost.seconds for cost in found.values())
    rows = [
        (f"`{name}`", about[name], f"{cost.n_results:,}", seconds_text(cost.seconds), " to ".join(cost.days))
        for name, cost in found.items()
        if cost.n_results
    ]
    return "\n".join(
        [
            "## What measuring took",
            "",
            *prose(
                "`python -m benchmarks` measures all that these pages show, from nothing but the folder",
                "of data sets. It says beforehand what is left to do, and goes on where it was stopped;",
                "`--folder` starts from nothing in another folder. The results that are shown were",
                f"measured in parts, on the days below, and took **{seconds_text(whole)} of processor",
                "time** in all, without preparing data and loading what is compiled; a run of all of it",
                "in one go has not been made. Workers and tables beyond memory count seconds of clock",
                "time.",
            ),
            *table_of(("script", "about", "results", "processor time", "measured"), rows),
        ]
    )


def write_costs() -> None:
    runner.render(SECTION, page())


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("--plan", action="store_true", help="only say what processor time is expected")
    parser.add_argument("--quick", action="store_true", help="measure a little of every script, and throw it away")
    parser.add_argument("--render", action="store_true", help="only write the pages, from the results that are there")
    parser.add_argument("--only", default="", help="only these scripts, separated by commas")
    parser.add_argument("--folder", type=Path, default=runner.ROOT, help="where results and pages go")
    parser.add_argument("--data", type=Path, default=runner.DATA, help="the folder of data sets")
    options = parser.parse_args(given)
    names = wanted(options.only)
    if not options.quick and not options.render:
        plan(names, options.folder)
    if options.plan:
        return
    if options.quick:
        failed = quick(names, options.data)
    else:
        failed = run_all(names, options.folder.resolve(), options.data.resolve(), options.render)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
