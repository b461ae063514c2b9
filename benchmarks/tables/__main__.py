"""All tables of the papers: measure what is missing, and write the page of evidence.

``python -m benchmarks.tables`` says what processor time it will take, as far as results that are there tell, measures
and writes; it goes on where it was stopped, and prints a line per result. ``--plan`` only says it.
``--only "east + preset"`` measures what has these words in "table | case | method | seed 0"; ``--most 60`` leaves out
what is expected to take more seconds; ``--render`` measures nothing; ``--quick`` does something small of every table,
in seconds, and writes neither results nor the page.
"""

from __future__ import annotations

import argparse
import math
import pkgutil
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks import runner, tables
from benchmarks.tables import page
from benchmarks.tables.results import Job, Results

#: Beginnings of the names of the tables' modules, in the order of the page.
NAMES = ("kark", "east", "langseth_nielsen", "elidan_friedman", "harmeling_williams")
DOCS = runner.PAGE.parent


def modules() -> dict[str, ModuleType]:
    """Return the tables' modules by name: those of the package that have a title."""
    there = sorted(found.name for found in pkgutil.iter_modules(tables.__path__))
    names = [name for start in NAMES for name in there if name.startswith(start)]
    found = {name: import_module(f"{tables.__name__}.{name}") for name in names}
    return {name: module for name, module in found.items() if hasattr(module, "TITLE")}


def runner_of(name: str, folder: str | None = None, again: bool = False) -> runner.Runner:
    """Return the runner of a table; in another folder, one that has no results yet."""
    run = runner.Runner(f"tables_{name}", again=again or folder is not None)
    if folder is not None:
        run.path = Path(folder) / run.path.name
    return run


def stored(module: ModuleType, run: runner.Runner) -> Results:
    """Return where a table's results are: in its own file, and in older ones if it says so."""
    return module.stored(run) if hasattr(module, "stored") else Results(run)


def wanted(name: str, found: Results, only: str = "", most: float = math.inf, again: bool = False) -> list[Job]:
    """Return what is to be measured for a table; again: what is there already as well."""
    words, jobs = [word.strip() for word in only.split("+")], []
    for job in modules()[name].jobs(found.run):
        label = f"{name} | {job[0]} | {job[1]} | seed {job[2]}"
        if all(word in label for word in words) and (again or not found.row(*job[:3])):
            jobs.append(job)
    return [job for job in jobs if (found.expected_seconds(*job[:2]) or 0.0) <= most]


def plan(only: str = "", most: float = math.inf, again: bool = False) -> list[tuple[str, Results, list[Job]]]:
    """Print what is to be measured, table by table, and the processor time expected; return the jobs."""
    kept, seen, total, n_unknown = [], set(), 0.0, 0
    for name, module in modules().items():
        found = stored(module, runner_of(name))
        jobs = [job for job in wanted(name, found, only, most, again) if job[:3] not in seen]
        seen |= {job[:3] for job in jobs}
        expected = [found.expected_seconds(*job[:2]) for job in jobs]
        known, unknown = sum(one for one in expected if one is not None), expected.count(None)
        if jobs:
            words = f", without {unknown} of which nothing is known yet" if unknown else ""
            print(f"{name}: {len(jobs)} runs, {page.seconds_text(known)} of processor time{words}", flush=True)
        kept.append((name, found, jobs))
        total, n_unknown = total + known, n_unknown + unknown
    n = sum(len(jobs) for _, _, jobs in kept)
    words = f", without {n_unknown} of which nothing is known yet" if n_unknown else ""
    print(f"in all {n} runs, {page.seconds_text(total)} of processor time{words}", flush=True)
    return kept


def measure(planned: Iterable[tuple[str, Results, list[Job]]], again: bool = False) -> None:
    for name, found, jobs in planned:
        if jobs:
            print(f"== {modules()[name].TITLE} ({name})", flush=True)
            found.measure(jobs, again)


def quick(names: Iterable[str], folder: str) -> None:
    """Measure the small size of tables, into another folder."""
    for name in names:
        module = modules()[name]
        print(f"== {module.TITLE} ({name})", flush=True)
        run = runner_of(name, folder)
        Results(run).measure(module.quick_jobs(run))


def write(folder: Path) -> None:
    """Write the page and the file of cells, from the results that are there; pictures into the documentation only."""
    for name, module in modules().items():
        if folder == DOCS and hasattr(module, "draw"):
            module.draw(runner_of(name))
    sections = [page.section_of(module, runner_of(name)) for name, module in modules().items()]
    (folder / "evidence.md").write_text(page.page(sections))
    (folder / "evidence.csv").write_text(page.as_csv(cell for section in sections for cell in section.cells))
    print("\n".join(page.headline([cell for section in sections for cell in section.cells])), flush=True)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small size of every table; writes nothing")
    parser.add_argument("--only", default="", help='measure only what has these words, such as "kark_7 + preset"')
    parser.add_argument("--most", type=float, default=math.inf, help="leave out what is expected to take more seconds")
    parser.add_argument("--again", action="store_true", help="measure anew what is in the tables' own files already")
    parser.add_argument("--plan", action="store_true", help="only say what processor time is expected")
    parser.add_argument("--render", action="store_true", help="only write the page, from the results that are there")
    options = parser.parse_args(given)
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            quick(modules(), folder)
            write(Path(folder))
        return
    if not options.render:
        planned = plan(options.only, options.most, options.again)
        if options.plan:
            return
        measure(planned, options.again)
    write(DOCS)


if __name__ == "__main__":
    main()
