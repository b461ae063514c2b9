"""How fast the E-step of hidden Chow-Liu trees is. Run: python -m benchmarks.e_steps --before CHECKOUT

Every column of a binary table hangs on a hidden variable of its own, and these are linked like the columns in their
Chow-Liu tree. Beside the E-step, in double and in single precision, stand its products of matrices alone, in NumPy's
BLAS, and, if there is a checkout of an earlier version, that version's E-step. All run in new processes, by turns; one
thread each. Then the cost against the number of states, of rows and of columns.
"""

from __future__ import annotations

from benchmarks import runner  # first: it pins the threads

# isort: split
import argparse
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from benchmarks import one_e_step, scaling_page
from benchmarks.scaling import Point
from pgmpy_latent import encode
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.learners.column_forest import chow_liu_parents

TABLES = ("plants", "accidents")
CARDS = (2, 4, 8, 16, 32)
#: Shares of the rows and of the columns, with this number of states.
SHARES, GROWN_CARD = (1 / 4, 1 / 2, 1.0), 32
#: Rounds, in which methods take turns, and how often each runs in its turn; the fastest counts.
ROUNDS, TURN = 1, 40
BEFORE, DOUBLE, SINGLE = "before", "ours", "single"


@cache
def table_of(name: str) -> pd.DataFrame:
    return pd.read_csv(runner.DATA / "density" / f"{name}.train.csv.gz", header=None).rename(columns="v{:03}".format)


def write_problem(file: Path, frame: pd.DataFrame, card: int) -> None:
    """Write down rows, tree and random tables."""
    data = encode(frame)
    n_columns = len(data.columns)
    parents = np.concatenate([chow_liu_parents(data), np.arange(n_columns)])
    cards = np.array([card] * n_columns + [2] * n_columns)
    layout = Layout(np.stack([np.where(parents < 0, 1, cards[parents]), cards], axis=1))
    tables = random_tables(layout, np.random.default_rng(0))
    np.savez(file, codes=data.codes, weights=data.weights, parents=parents, cards=cards, tables=tables)


def run_in(folder: Path, file: Path, precision: str) -> dict:
    """Measure the version of the package that a folder holds."""
    command = [sys.executable, one_e_step.__file__, str(file), precision, str(TURN)]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=environment)
    return json.loads(output.stdout.strip().splitlines()[-1])


def cases() -> dict[str, tuple[str, int, float, float]]:
    """Return the cases: their table, the number of states, and the shares of rows and columns."""
    found = {case_of(name, card): (name, card, 1.0, 1.0) for name in TABLES for card in CARDS}
    for name in TABLES:
        for share in SHARES[:-1]:
            found[f"{name}, {share:g} of the rows"] = (name, GROWN_CARD, share, 1.0)
            found[f"{name}, {share:g} of the columns"] = (name, GROWN_CARD, 1.0, share)
    return found


def case_of(name: str, card: int) -> str:
    return f"{name}, {card} states"


def part_of(name: str, rows: float, columns: float) -> pd.DataFrame:
    """Return a share of the rows and of the columns of a table, drawn at random; always the same."""
    frame = table_of(name)
    frame = frame.sample(frac=columns, axis=1, random_state=0) if columns < 1 else frame
    return frame.sample(frac=rows, random_state=0) if rows < 1 else frame


def measure(run: runner.Runner, case: str, before: Path | None) -> None:
    """Measure one case; earlier versions on whole tables only."""
    name, card, rows, columns = cases()[case]
    with TemporaryDirectory() as folder:
        file, frame = Path(folder) / "problem.npz", part_of(name, rows, columns)
        write_problem(file, frame, card)

        def method(version: Path, precision: str):
            return lambda: run_in(version, file, precision) | {"rows": len(frame), "columns": frame.shape[1]}

        methods = {DOUBLE: method(runner.ROOT, "double"), SINGLE: method(runner.ROOT, "single")}
        if before is not None and rows == columns == 1:
            methods[BEFORE] = method(before, "double")
        run.compare(case, methods, repeats=ROUNDS)


# -- the page ----------------------------------------------------------------------------------------------------------


def page(run: runner.Runner) -> str:
    lines = [
        "## E-steps of wide trees",
        "Written by `python -m benchmarks.e_steps`.",
        "One E-step of a hidden Chow-Liu tree, in milliseconds of one processor: before edges were products of",
        "matrices (9640ee5), now, in double and in single precision, and these products alone in NumPy's BLAS.",
        f"The fastest of {ROUNDS * TURN}. In brackets: how many times faster than before.",
        "",
        "| table | states | before | double | single | BLAS, double | BLAS, single | double / BLAS | single / BLAS |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in TABLES:
        for card in CARDS:
            if run.find(case_of(name, card), DOUBLE):
                lines.append(_line(run, case_of(name, card), name, card))
    lines += ["", *_growth_lines(run)]
    return "\n".join(lines)


def _line(run: runner.Runner, case: str, name: str, card: int) -> str:
    own = {method: 1000 * run.fastest(case, method) for method in (DOUBLE, SINGLE)}
    blas = {method: 1000 * run.figure(case, method, "blas") for method in own}
    cells = [f"{own[method]:.2f}" for method in own]
    before = ""
    if run.find(case, BEFORE):
        milliseconds = 1000 * run.fastest(case, BEFORE)
        before = f"{milliseconds:.2f}"
        cells = [f"{own[method]:.2f} ({milliseconds / own[method]:.1f})" for method in own]
    cells += [f"{blas[method]:.2f}" for method in own] + [f"{own[method] / blas[method]:.1f}" for method in own]
    return f"| {name} | {card} | {before} | " + " | ".join(cells) + " |"


def points(run: runner.Runner, name: str, axis: str, method: str) -> list[Point]:
    """Return the cost against the number of states, rows or columns of a table."""
    shape = {"rows": len(table_of(name)), "columns": table_of(name).shape[1]}
    found = []
    for case, (table, card, rows, columns) in cases().items():
        share = {"rows": rows, "columns": columns}.get(axis)
        is_whole = {"rows": columns, "columns": rows}.get(axis, rows * columns) == 1
        if table == name and is_whole and (axis == "states" or card == GROWN_CARD) and run.find(case, method):
            size = card if share is None else round(share * shape[axis])
            found.append(Point(size, run.fastest(case, method), False))
    return sorted(found)


def _growth_lines(run: runner.Runner) -> list[str]:
    lines = [
        "How the cost grows: slopes of its logarithm against the logarithm of the number of states, rows or columns,",
        f"over all points and, in brackets, of the last step. Rows and columns, with {GROWN_CARD} states, are drawn at",
        "random from the table. 1 is growth in proportion, 2 that of products of matrices with the number of states.",
        "Fewer columns also have fewer patterns, so that the cost grows faster than their number.",
        "",
        "| table | precision | states | rows | columns |",
        "|---|---|---|---|---|",
    ]
    for name in TABLES:
        for method, precision in ((DOUBLE, "double"), (SINGLE, "single")):
            both = [scaling_page.slopes(points(run, name, axis, method)) for axis in ("states", "rows", "columns")]
            cells = [f"{slope[0]:.2f} ({slope[1]:.2f})" if slope else "" for slope in both]
            lines.append(f"| {name} | {precision} | " + " | ".join(cells) + " |")
    pictures = [f"![Seconds of an E-step on {name} against sizes](images/{picture(name)})" for name in TABLES]
    return [*lines, "", *pictures]


def picture(name: str) -> str:
    return f"e_steps_{name}.svg"


def draw(run: runner.Runner, name: str) -> None:
    """Draw the cost in double precision, a panel for every size."""
    figure, panels = scaling_page.canvas(3, (6.6, 2.5))
    for panel, axis in zip(panels, ("states", "rows", "columns"), strict=True):
        dotted = "in proportion" if axis == "states" else None
        scaling_page.draw_panel(panel, axis, points(run, name, axis, DOUBLE), dotted)
    panels[0].set_yscale("log")
    panels[0].set_ylabel(f"seconds of an E-step, {name}")
    figure.savefig(runner.PAGE.parent / "images" / picture(name), metadata={"Date": None, "Creator": None})


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version")
    own, others = parser.parse_known_args()
    options = runner.arguments(__doc__, others)
    run = runner.Runner("e_steps", again=options.again, only=options.only)
    if not options.render:
        for case in cases():
            if options.only in case:
                measure(run, case, own.before)
    runner.render("e_steps", page(run))
    for name in TABLES:
        draw(run, name)


if __name__ == "__main__":
    main()
