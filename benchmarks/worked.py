"""Worked examples of the documentation: their code is run, and what the pages quote of it is written down.

The expressions are those in ``benchmarks.quoted``. A case is a page, a method an expression; ``--only`` takes a part of
a page's name. A minute.
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import io
import re
import sys
import tempfile
import time
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType

import matplotlib as mpl

from benchmarks import quoted

DOCS = runner.ROOT / "docs"


def blocks(page: Path) -> list[str]:
    """Return the Python of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run_page(name: str) -> dict:
    """Run the code of a page in an empty folder, without its output; return the names that it defines."""
    module = ModuleType(f"page_{Path(name).stem}")  # so that pickles find the classes of the page
    quiet = io.StringIO()
    sys.modules[module.__name__] = module
    with (
        tempfile.TemporaryDirectory() as folder,
        chdir(folder),
        redirect_stdout(quiet),
        redirect_stderr(quiet),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for block in blocks(DOCS / name):
            exec(compile(block, name, "exec"), vars(module))
    return vars(module)


def measure(run: runner.Runner, only: str) -> None:
    """Run the pages of which something is missing; what no page quotes any more is left out."""
    run.rows = [row for row in run.rows if row["method"] in quoted.expressions(row["case"])]
    for name in quoted.WORKED:
        expressions = quoted.expressions(name)
        if only not in name or all(run.find(name, one) for one in expressions):
            continue
        began = time.process_time()
        defined = run_page(name)
        seconds = time.process_time() - began
        for at, one in enumerate(expressions):
            value = eval(one, defined)
            value = value if isinstance(value, str) else float(value)
            run.note(name, one, 0, [0.0 if at else seconds], {"value": value})


def main() -> None:
    options = runner.arguments(__doc__)
    mpl.use("Agg")
    run = runner.Runner("worked", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)


if __name__ == "__main__":
    main()
