"""All scripts that measure: what each is about, which module writes its section, and a part that takes seconds.

A script is a module of this package with a file of results and a section of the page of benchmarks, all by one name.
"""

from __future__ import annotations

import csv
from importlib import import_module
from typing import NamedTuple

from benchmarks import runner  # first: it sets the number of threads


class Script(NamedTuple):
    """A script: what it is about, and options with which it measures a little, or why there are none.

    ``page`` is the module that writes its section, if that is another; ``is_section`` says whether it has one, and
    ``is_drawn`` whether the quick part does without the folder of data sets.
    """

    name: str
    about: str
    quick: tuple[str, ...] = ()
    page: str = ""
    is_section: bool = True
    is_drawn: bool = False


SCRIPTS = (
    Script("em", "EM: iterations and fits, beside StepMix and pgmpy"),
    Script("merging", "merging components: chapter 5 of the thesis", ("--only", "closed form"), is_drawn=True),
    Script("split_merge", "SplitMerge on the thesis' tables", ("--only", "Voting")),
    Script(
        "binary_forests", "BinG and BinA on their tables", ("--only", "THREE-COINS | BIN-G"), "binary_forests_page"
    ),
    Script("east", "EAST on the paper's tables", ("--only", "Growth: 10 columns + EAST |"), "east_page", is_drawn=True),
    Script(
        "networks", "hidden variables in any network", ("--only", "hidden: 500 rows + seed 0"),
        "networks_page",
    ),
    Script("surface", "the bootstrap likelihood-ratio test"),
    Script(
        "classification", "latent classification models", ("--only", "Iteration: 1,000 rows"), "classification_page"
    ),
    Script("shards", "tables beyond memory"),
    Script("jobs", "workers and checkpoints"),
    Script("wide", "HLTA on wide tables"),
    Script("peers", "other libraries at the same job", ("--only", "quick"), is_drawn=True),
    Script("maxima", "whether learned trees are at maxima"),
    Script("survey_weights", "survey weights"),
    Script("all_tables", "EAST on all tables", ("--only", "iris")),
    Script("density", "likelihood of new rows", ("--only", "nltcs", "--method", "Chow-Liu")),
    Script("structures", "structures that come back", ("--only", "independent columns"), is_drawn=True),
    Script("e_steps", "E-steps of wide trees", ("--only", "plants, 2 states")),
    Script("relate", "relations of classes with other columns"),
    Script("class_tests", "tests of latent class analysis"),
    Script("class_figures", "published latent class analyses", ("--only", "balance tasks"), is_section=False),
    Script("gaussian", "trees of numbers", ("--only", "Iteration: 200 columns, 1,000 rows"), is_drawn=True),
    Script("mixed", "numbers beside categories", ("--only", "StepMix, classes 1.5"), is_drawn=True),
    Script("hidden_variables", "FindHidden against a column that was there"),
    Script("hidden_tables", "FindHidden on real tables"),
    Script("hidden_planted", "FindHidden on drawn networks"),
    Script("worked", "worked examples of the pages", ("--only", "constraints"), is_section=False, is_drawn=True),
    Script("scaling", "growth of all learners", ("--only", "Baseline, BIC forest"), is_section=False, is_drawn=True),
)  # fmt: skip
#: Beginning of the names of files of results of the papers' tables, which a package of their own measures.
TABLES = "tables_"


def named(name: str) -> Script:
    return next(script for script in SCRIPTS if script.name == name)


def section_of(script: Script) -> str:
    """Return what stands in a script's section of the page, from its results."""
    module = import_module(f"benchmarks.{script.page or script.name}")
    return module.page(runner.Runner(script.name)).strip()


class Cost(NamedTuple):
    """What results took: their number, processor seconds, and the days of the first and the last of them."""

    n_results: int
    seconds: float
    days: tuple[str, ...]


def cost_of(rows: list[dict]) -> Cost:
    """Return what results took, with all their repeats.

    >>> cost_of([{"seconds": "1.5", "repeats": "2", "day": "2026-11-19"}])
    Cost(n_results=1, seconds=3.0, days=('2026-11-19',))
    """
    days = sorted({row["day"] for row in rows})
    seconds = sum(float(row["seconds"]) * int(row["repeats"]) for row in rows)
    return Cost(len(rows), seconds, tuple(dict.fromkeys(days[:1] + days[-1:])))


def rows_of(name: str) -> list[dict]:
    """Return the results in the file of a script; in those of all tables for ``tables``."""
    results = runner.ROOT / "benchmarks" / "results"
    rows = []
    for path in sorted(results.glob(f"{TABLES}*.csv")) if name == "tables" else [results / f"{name}.csv"]:
        if path.exists():
            with path.open(newline="") as file:
                rows += csv.DictReader(file)
    return rows


def costs() -> dict[str, Cost]:
    """Return what the results in the project took, by script; the papers' tables are ``tables``."""
    return {name: cost_of(rows_of(name)) for name in [*(script.name for script in SCRIPTS), "tables"]}
