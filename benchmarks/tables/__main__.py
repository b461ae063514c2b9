"""All tables of the papers: measure what is missing, and write the page of evidence.

``python -m benchmarks.tables`` measures and writes; it may take hours, goes on where it was stopped, and prints a line
per result. ``--only east`` measures tables whose name contains this; ``--render`` measures nothing; ``--quick`` does
something small of every table, in seconds, and writes neither results nor the page.
"""

from __future__ import annotations

import argparse
import pkgutil
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks import runner, tables
from benchmarks.tables import page

#: Beginnings of the names of the tables' modules, in the order of the page.
NAMES = ("kark", "east", "langseth_nielsen", "elidan_friedman", "harmeling_williams")
DOCS = runner.ROOT / "docs"


def modules(only: str = "") -> dict[str, ModuleType]:
    """Return the tables' modules by name: those of the package that have a title."""
    there = sorted(found.name for found in pkgutil.iter_modules(tables.__path__))
    names = [name for start in NAMES for name in there if name.startswith(start) and only in name]
    found = {name: import_module(f"{tables.__name__}.{name}") for name in names}
    return {name: module for name, module in found.items() if hasattr(module, "TITLE")}


def runner_of(name: str, folder: str | None = None, again: bool = False) -> runner.Runner:
    """Return the runner of a table; in another folder, one that has no results yet."""
    run = runner.Runner(f"tables_{name}", again=again or folder is not None)
    if folder is not None:
        run.path = Path(folder) / run.path.name
    return run


def measure(names: Iterable[str], quick: bool, folder: str | None = None, again: bool = False) -> None:
    for name in names:
        module = import_module(f"{tables.__name__}.{name}")
        print(f"== {module.TITLE} ({name})", flush=True)
        module.measure(runner_of(name, folder, again), quick)


def write(folder: Path) -> None:
    """Write the page and the file of cells, from the results that are there; pictures into the documentation only."""
    for name, module in modules().items():
        if folder == DOCS and hasattr(module, "draw"):
            module.draw(runner_of(name))
    sections = [page.section_of(module, runner_of(name)) for name, module in modules().items()]
    (folder / "evidence.md").write_text(page.page(sections))
    (folder / "evidence.csv").write_text(page.as_csv(cell for section in sections for cell in section.cells))
    print(page.summary(sections)[0], flush=True)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small size of every table; writes nothing")
    parser.add_argument("--only", default="", help="measure only tables whose name contains this")
    parser.add_argument("--again", action="store_true", help="measure anew what is in the tables' own files already")
    parser.add_argument("--render", action="store_true", help="only write the page, from the results that are there")
    options = parser.parse_args(given)
    names = list(modules(options.only))
    if not names:
        parser.error(f"--only {options.only}: no such table; there are {', '.join(modules())}")
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            measure(names, quick=True, folder=folder)
            write(Path(folder))
        return
    if not options.render:
        measure(names, quick=False, again=options.again)
    write(DOCS)


if __name__ == "__main__":
    main()
