"""The page beyond the papers: what others have published of the same data, what was found here, and which is better.

Written from results of other scripts: ``class_figures``, ``all_tables``, ``east``, ``wide`` and ``density``.

Run: python -m benchmarks.beyond
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import argparse
import json
from collections import Counter
from collections.abc import Iterable
from math import sqrt
from typing import NamedTuple

import numpy as np

from benchmarks import class_figures, density, east, split_merge, wide
from benchmarks.tables import _thesis, kark_6_13
from benchmarks.tables.cells import BETTER, EQUAL, WORSE
from benchmarks.tables.page import DASH, prose, table_of

PAGE = "beyond.md"
DIFFERS, MET, MISSED = "differs", "met", "missed"
VERDICTS = (BETTER, EQUAL, WORSE, DIFFERS, MET, MISSED)
HEAD = ("data", "figure", "verdict", "published", "ours", "difference", "error", "processor seconds")
#: COIL-42: BIC and log score of the test rows in Chen, Zhang and Wang's Table 1, EAST-RL(16, 40), with deviations over
#: five runs; the BIC of Zhang's search in Harmeling and Williams' Table 4.
COIL42 = {
    "BIC, EAST-RL(16, 40)": ("bic", -51_505.0, 74 / sqrt(5)),
    "BIC, Zhang's search, 121 h": ("bic", -51_465.0, 0.0),
    "log score of 4,000 test rows, EAST-RL(16, 40), 2.3 days": ("log_score_smoothed", -34_198.0, 41 / sqrt(5)),
}
#: News20w100: log-likelihoods in Harmeling and Williams' Table 1.
NEWS = {"log-likelihood, BIN-G, 67 min": -231_764.0, "log-likelihood, LCM with 11.7 h, no tree": -223_046.0}


class Line(NamedTuple):
    """A line of a table: a figure of others, ours, by how much they may differ and be equal, and seconds of ours."""

    data: str
    figure: str
    published: float
    ours: float
    error: float
    seconds: float
    digits: int
    larger_is_better: bool | None = True

    @property
    def verdict(self) -> str:
        """Say which is better, or whether figures that are to be reproduced are the same.

        >>> Line("voting", "BIC", -10.0, -9.0, 0.5, 1.0, 1).verdict
        'better'
        >>> Line("cheating", "slope", -0.84248, -0.84249, 1e-5, 1.0, 5, None).verdict
        'equal'
        """
        difference = self.ours - self.published
        if abs(difference) <= self.error * (1 + 1e-9):
            return EQUAL
        if self.larger_is_better is None:
            return DIFFERS
        return BETTER if (difference > 0) == self.larger_is_better else WORSE

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the line."""
        form = f",.{self.digits}f"
        figures = (format(value, form) for value in (self.published, self.ours))
        difference = f"{self.ours - self.published:+,.{self.digits}f}"
        error = f"{self.error:,.{max(self.digits, 1)}f}"
        seconds = f"{self.seconds:.2g}" if self.seconds < 100 else f"{self.seconds:.0f}"
        return (self.data, self.figure, self.verdict, *figures, difference, error, seconds)


def error_of(values: Iterable[float], published: float, digits: int) -> float:
    """Return twice the standard error of a mean less a published one, and half a unit of the published last digit.

    >>> error_of([1.0, 1.0], 0.3, 0), round(error_of([1.0, 3.0], 0.0, 0), 1)
    (1.1, 2.5)
    """
    values = list(values)
    own = np.std(values, ddof=1) / sqrt(len(values)) if len(values) > 1 else 0.0
    return float(2 * sqrt(own**2 + published**2) + 0.5 * 10.0**-digits)


def seeds_of(run: runner.Runner, case: str, method: str) -> list[dict]:
    """Return the figures of all seeds of a method, with their seconds."""
    rows = [row for row in run.rows if (row["case"], row["method"]) == (case, method)]
    return [json.loads(row["figures"]) | {"seconds": float(row["seconds"])} for row in rows]


# -- the parts ---------------------------------------------------------------------------------------------------------


def class_lines(run: runner.Runner) -> list[Line]:
    """Return published figures of latent class analysis; what is no likelihood is to be reproduced."""
    lines = []
    for data, models in class_figures.PUBLISHED.items():
        for model, published in models.items():
            if row := run.find(data, model):
                digits = len(str(published).partition(".")[2])
                ours, draws = run.figure(data, model, "figure"), class_figures.draws_of(model)
                error = (
                    10.0**-digits if not draws else 2 * sqrt(2 * max(published * (1 - published), 1 / draws) / draws)
                )
                is_likelihood = not draws and not model.startswith(("slope", "mean"))
                larger = True if is_likelihood else None
                lines.append(Line(data, model, published, ours, error, float(row["seconds"]), digits, larger))
    return lines


def thesis_figure(name: str, mean: float) -> _thesis.Figure:
    """Return the thesis' figure of a real table with a mean, with its interval.

    >>> thesis_figure("Pen digits", -81402.1).interval
    16.3
    """
    row = {ours: theirs for theirs, ours in kark_6_13.NAMES.items()}.get(name, name)
    return next(figure for figure in _thesis.figures("6.13")[row].values() if figure.mean == mean)


def column_lines(run: runner.Runner, of_papers: runner.Runner) -> list[Line]:
    """Return trees whose columns may stand anywhere, against the best mean that is published of the same table."""
    lines = []
    for name, (_, _, theses, *_) in split_merge.TABLES.items():
        if found := seeds_of(run, name.lower(), "EAST"):
            values, seconds = zip(*((one["bic"], one["seconds"]) for one in found), strict=True)
            words, best = f"BIC, mean of {len(found)}", thesis_figure(name, max(theses))
            gain, width = np.mean(values) - best.mean, _thesis.half_width(values, best.interval)
            error = _thesis.allowed(best.interval, width, gain)
            lines.append(Line(name, words, best.mean, np.mean(values), error, np.mean(seconds), 1))
    found = seeds_of(of_papers, "COIL-42", "EAST")
    for words, (figure, published, deviation) in COIL42.items() if found else ():
        values, seconds = zip(*((one[figure], one["seconds"]) for one in found), strict=True)
        error = error_of(values, deviation, 0)
        lines.append(Line("COIL-42", words, published, np.mean(values), error, np.mean(seconds), 0))
    found = seeds_of(of_papers, "COIL-42", east.PREDICTIVE)
    if found:
        values, seconds = zip(*((one["log_score_smoothed"], one["seconds"]) for one in found), strict=True)
        error = error_of(values, 41 / sqrt(5), 0)
        words = f"the same; ours by rows held out, mean of {len(found)}"
        lines.append(Line("COIL-42", words, -34_198.0, np.mean(values), error, np.mean(seconds), 0))
    found = seeds_of(of_papers, "NEWS20W100", "EAST")
    for words, published in NEWS.items() if found else ():
        (ours,) = found
        lines.append(Line("News20w100", words, published, ours["log_likelihood"], 0.5, ours["seconds"], 0))
    return lines


def wide_lines(run: runner.Runner) -> list[Line]:
    """Return the words of papers, against the public program for the same learner."""
    seconds, held_out, bic, _ = wide.JAVA
    lines = []
    if run.find(wide.PAPERS, "HLTA"):
        own, took = (lambda name: run.figure(wide.PAPERS, "HLTA", name)), run.seconds(wide.PAPERS, "HLTA")
        lines += [
            Line("papers500", "held-out log-likelihood per document", held_out, own("held_out"), 0.005, took, 2),
            Line("papers500", "BIC", bic, own("bic"), 0.5, took, 0),
            Line("papers500", "processor seconds, on another computer", seconds, took, 0.5, took, 0, False),
        ]
    return lines


def density_rows(run: runner.Runner) -> list[tuple[str, ...]]:
    """Return the aims on the density benchmark: what was wanted, and what was reached within which seconds."""
    rows = []
    for table in density.WANTED:
        for method in density.aims(table):
            if run.find(table, method):
                wanted, allowed = (density.WANTED_OF_MIXTURES if method == density.MIXTURE else density.WANTED)[table]
                test, seconds = run.figure(table, method, "test"), run.seconds(table, method)
                verdict = MET if test >= wanted and seconds <= allowed else MISSED
                figures = f"{wanted:.5g}", f"{test:.3f}", f"{test - wanted:+.3f}"
                rows.append((table, method, *figures, verdict, f"{seconds:.1f}", str(allowed)))
    return rows


# -- the page ----------------------------------------------------------------------------------------------------------


def counts(verdicts: Iterable[str]) -> str:
    """Return how often there is which verdict.

    >>> counts(["equal", "better", "equal"])
    '1 better, 2 equal'
    """
    found = Counter(verdicts)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])


def last_digits(lines: Iterable[Line]) -> str:
    """Say by how much figures differ that were to be reproduced.

    >>> last_digits([Line("cheating", "slope", -0.8, -0.5, 0.1, 1.0, 1, None)])
    'What differs does so by at most 3 units of the last printed digit.'
    """
    units = [round(abs(line.ours - line.published) * 10**line.digits) for line in lines if line.verdict == DIFFERS]
    return f"What differs does so by at most {max(units)} units of the last printed digit." if units else ""


def parts() -> dict[str, list[Line]]:
    """Return the lines of all parts with published figures."""
    runs = {name: runner.Runner(name) for name in ("class_figures", "all_tables", "east", "wide")}
    return {
        "Latent class analysis": class_lines(runs["class_figures"]),
        "Columns anywhere": column_lines(runs["all_tables"], runs["east"]),
        "Wide tables": wide_lines(runs["wide"]),
    }


TOLD = {
    "Latent class analysis": (
        "Figures that packages and articles print of data that everybody has, with the same model:",
        "log-likelihoods, and in relations slopes and means. They are equal within a unit of the last",
        "digit that is printed, and p-values of a bootstrap within twice the Monte Carlo error of the",
        "difference. Seconds are from the table to the figure: 16 random starts, standard errors and",
        "tests included. Measured by `python -m benchmarks.class_figures`.",
    ),
    "Columns anywhere": (
        "`EAST()` lets columns stand anywhere in a tree. The tables are those of the thesis, numbers cut",
        "at the median as there, and its figure is the best of the three means that it prints, of models",
        "with one hidden variable: ours are other models of the same data. With the thesis the",
        "error is that of the [page of evidence](evidence.md), by the 95 % intervals of both means, and",
        "at least 1; elsewhere it is twice the standard error of the difference of means, as far as",
        "deviations are at hand. A log-likelihood",
        "of News20w100 is that of the rows that were learned from: it favours models of many parameters,",
        "as that of the paper's latent class model. Where the log score of COIL-42 is lower, the search",
        "by BIC is the cause: it stops at fewer parameters than test rows would reward, and with",
        "`scoring_method=\"heldout\"`, which goes on for as long as held-out rows become likelier, it is",
        "level ([benchmarks](benchmarks.md#coil-42)). Measured",
        "by `python -m benchmarks.all_tables` and `python -m benchmarks.east`.",
    ),
    "Wide tables": (
        "6,000 documents, 500 words, and 1,718 documents held out. Published is what the source of the data says about",
        "the authors' own Java program for the same learner. One run of each, so that the error is that of rounding.",
        "Measured by `python -m benchmarks.wide`.",
    ),
}  # fmt: skip


def page() -> str:
    """Return the page."""
    found, aims = parts(), density_rows(runner.Runner("density"))
    reached = counts(row[5] for row in aims)
    rows = [(f"[{name}](#{name.lower().replace(' ', '-')})", str(len(lines)), counts(line.verdict for line in lines))
            for name, lines in found.items()]  # fmt: skip
    lines = [
        "# Beyond the papers",
        "",
        *prose(
            "What others have published of data that everybody has, beside what was found here on the",
            "same data. The papers that the learners come from have a [page of their own](evidence.md),",
            "and other libraries are timed side by side on",
            "[another](benchmarks.md#other-libraries-at-the-same-job). Larger is better, unless a figure",
            "is only to be reproduced, which then is equal or differs.",
        ),
        *table_of(
            ("part", "figures", "verdicts"),
            [*rows, ("[Trees that predict](#trees-that-predict), aims", str(len(aims)), reached)],
        ),
    ]
    for name, some in found.items():
        told = prose(*TOLD[name], last_digits(some))
        lines += [f"## {name}", "", *told, *table_of(HEAD, [line.cells() for line in some])]
    lines += [
        "## Trees that predict",
        "",
        *prose(
            "The density benchmark and COIL-42: mean log-likelihood of a test row. What is wanted was set",
            "before anything was measured, of one tree and of a mixture of trees; the publications behind",
            "it are not at hand, so it is called an aim and not a published figure. One run of each; test",
            "rows were scored once. Measured by `python -m benchmarks.density`, whose section has [all",
            "methods](benchmarks.md#hiddenchowliu-likelihood-of-new-rows).",
        ),
        *table_of(
            ("table", "method", "aim", "ours", "difference", "verdict", "processor seconds", "allowed"),
            aims or [(DASH,) * 8],
        ),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beyond", description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page, which is what happens anyway")
    parser.parse_args(given)
    (runner.PAGE.parent / PAGE).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
