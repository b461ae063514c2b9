"""The page of scaling: slopes of all learners, and a section with a plot and a table for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import runner
from benchmarks import scaling as work
from benchmarks.networks_page import STYLES, canvas
from benchmarks.scaling import Point
from benchmarks.scaling_learners import LEARNERS
from benchmarks.scaling_tables import (
    ATTRIBUTES,
    AXES,
    COLUMNS,
    COMPONENTS,
    HIDDEN,
    HIDDEN_STATES,
    ITEMS,
    LATENTS,
    ROWS,
    STATES,
    WAVES,
)
from benchmarks.tables.page import DASH, factor, prose, table_of

PAGE = "scaling.md"
HEAD = ("what", "sizes", "seconds", "slope on log-log scales", "of the last step")
#: Sizes of numbers and panels -> the axis in whose column they stand.
LIKE = {ATTRIBUTES: COLUMNS, ITEMS: COLUMNS, LATENTS: HIDDEN, WAVES: HIDDEN, COMPONENTS: HIDDEN_STATES}
#: Axis -> how much more of it is spoken of, and in which words.
SPOKEN = {
    ROWS: (10, "ten times the rows"),
    COLUMNS: (2, "twice the columns"),
    STATES: (2, "twice the states of columns"),
    HIDDEN: (2, "twice the hidden variables"),
    HIDDEN_STATES: (2, "twice the states of hidden variables"),
}
COLOUR = STYLES["agglomeration"][0]
GREY = "#7f7f7f"

# -- figures -----------------------------------------------------------------------------------------------------------


def slopes(points: Sequence[Point]) -> tuple[float, float] | None:
    """Return the slope of log seconds against log size, over all points and of the last step; None for fewer than two.

    Points at which the limit stopped the fit do not count.

    >>> [round(slope, 2) for slope in slopes([Point(1, 1.0, False), Point(2, 4.0, False), Point(4, 8.0, False)])]
    [1.5, 1.0]
    """
    whole = [point for point in points if not point.stopped]
    if len(whole) < 2:
        return None
    size, seconds = np.log([point.size for point in whole]), np.log([point.seconds for point in whole])
    overall = np.polyfit(size, seconds, 1)[0]
    return float(overall), float((seconds[-1] - seconds[-2]) / (size[-1] - size[-2]))


def learners_in(run: runner.Runner) -> list[str]:
    """Return the learners whose growth was measured, with one size at least."""
    return [name for name in LEARNERS if any(work.points_of(run, name, what) for what in LEARNERS[name].growth)]


def slopes_on(run: runner.Runner, axis: str) -> dict[str, tuple[float, float]]:
    """Return the slopes of all learners on an axis, or on what is most like it."""
    found = {}
    for name, learner in LEARNERS.items():
        for what in learner.growth:
            if LIKE.get(what, what) == axis and (both := slopes(work.points_of(run, name, what))):
                found[name] = both
    return found


# -- text --------------------------------------------------------------------------------------------------------------


def file_of(name: str) -> str:
    """Return the file of a learner's plot.

    >>> file_of("Baseline, Chow-Liu")
    'scaling_baseline_chow_liu.svg'
    """
    return f"scaling_{'_'.join(re.findall(r'[a-z]+', name.lower()))}.svg"


def anchor_of(name: str) -> str:
    """Return how the heading of a learner is linked to.

    >>> anchor_of("TreeEM, latent class")
    'treeem-latent-class'
    """
    return re.sub(r"[^\w -]", "", name).lower().replace(" ", "-")


def spoken(run: runner.Runner, axis: str) -> str:
    """Say how many times as long more of something takes, by the slopes over all points."""
    times, words = SPOKEN[axis]
    found = {name: times**overall for name, (overall, _) in slopes_on(run, axis).items()}
    if not found:
        return ""
    most = max(found, key=found.get)
    return f"{words} take {factor(median(found.values()))} times as long, at most {factor(found[most])} ({most})"


def expectation(run: runner.Runner) -> list[str]:
    """Return what a reader should expect, in the median learner."""
    said = {axis: text for axis in SPOKEN if (text := spoken(run, axis))}
    if not said:
        return []
    first = f"In the median learner, {said[ROWS]}; {said[COLUMNS]}." if {ROWS, COLUMNS} <= set(said) else ""
    others = "; ".join(said[axis] for axis in (STATES, HIDDEN, HIDDEN_STATES) if axis in said)
    return prose(
        first,
        f"{others[:1].upper()}{others[1:]}." if others else "",
        "These are fitted slopes, from which single fits of searches may be far, as sections show. One reason why more",
        "rows cost less than in proportion is that rows which are equal, in all columns or in those below a hidden",
        "variable, are computed once.",
    )


def slope_text(both: tuple[float, float] | None) -> str:
    return DASH if both is None else f"{both[0]:.2f} ({both[1]:.2f})"


def summary(run: runner.Runner) -> list[str]:
    """Return the slopes of all learners."""
    found = {axis: slopes_on(run, axis) for axis in AXES}
    rows = []
    for name in learners_in(run):
        base = run.find(work.case_of(LEARNERS[name].base), name)
        seconds = f"{float(base['seconds']):.2g}" if base else DASH
        slopes_of = (slope_text(found[axis].get(name)) for axis in AXES)
        rows.append((f"[{name}](#{anchor_of(name)})", seconds, *slopes_of, days(run, name)))
    return table_of(("learner", "seconds at its base", *AXES, "measured"), rows)


def seconds_of(point: Point) -> str:
    return f"{point.seconds:.2g}" if not point.stopped else f"stopped after {point.seconds:.0f}"


def growth_rows(run: runner.Runner, name: str) -> list[tuple[str, ...]]:
    """Return a row per axis, and one with the reason for each that is left out."""
    rows = []
    for what in LEARNERS[name].growth:
        points = work.points_of(run, name, what)
        sizes, seconds = ", ".join(f"{point.size:,}" for point in points), ", ".join(map(seconds_of, points))
        both = slopes(points)
        rows.append((what, sizes or DASH, seconds or DASH, *(f"{slope:.2f}" for slope in both or ())))
    rows += [(what, DASH, f"{DASH} {reason}") for what, reason in LEARNERS[name].left_out.items()]
    return [(*row, *[DASH] * (len(HEAD) - len(row))) for row in rows]


def changes_beside(name: str) -> str:
    """Say what is not as in the base when something grows."""
    learner, texts = LEARNERS[name], []
    for what, change in learner.beside.items():
        first, last = (change(size) for size in (learner.growth[what][0], learner.growth[what][-1]))
        for other in first:
            sizes = f"{first[other]:,}" if first == last else f"{first[other]:,} to {last[other]:,}"
            texts.append(f"With {what} there are {sizes} {other}.")
    return " ".join(texts)


def section(run: runner.Runner, name: str) -> list[str]:
    """Return what the page says about a learner."""
    learner = LEARNERS[name]
    return [
        f"## {name}",
        "",
        *prose(learner.about, f"Of {work.case_of(learner.base)}, one is changed.", changes_beside(name)),
        f"![Seconds of {name} against sizes](images/{file_of(name)})",
        "",
        *table_of(HEAD, growth_rows(run, name)),
    ]


def days(run: runner.Runner, name: str) -> str:
    """Return the day on which a learner was measured, or the first and the last."""
    found = sorted({row["day"] for row in run.rows if row["method"] == name})
    return " to ".join(dict.fromkeys(found[:1] + found[-1:]))


def older(run: runner.Runner) -> list[str]:
    """Say what was measured before the last day, if anything was."""
    last = max((row["day"] for row in run.rows), default="")
    if all(row["day"] == last for row in run.rows):
        return []
    return prose(
        f"What was measured before {last} is older than the last changes of some searches, and was measured beside",
        "less other work: compare these seconds with others' only roughly.",
    )


def first_use(run: runner.Runner) -> list[str]:
    """Return what a first fit takes in a new process."""
    rows = []
    for name in LEARNERS:
        found = [run.find(case, name) for case in (work.COMPILING, work.LOADING)]
        if all(found):
            second = run.figure(work.LOADING, name, "second")
            rows.append((name, *(f"{float(row['seconds']):.1f}" for row in found), f"{second:.2g}"))
    if not rows:
        return []
    return [
        "## First use",
        "",
        *prose(
            f"Processor seconds of a fit of {work.WARM_UP_ROWS} rows, with the other sizes of each learner's base,",
            "as the first one in a new process: with nothing compiled before, then where an earlier process has kept",
            "what it compiled; and of the same fit again. Importing is not counted.",
        ),
        *table_of(("learner", work.COMPILING, work.LOADING, "again"), rows),
    ]


def two_workers(run: runner.Runner) -> list[str]:
    """Return what a second worker gains, or how to measure it."""
    rows = []
    for name in work.TWO_WORKERS:
        case, _ = work.workers_case(name)
        if run.find(case, name):
            one, two = run.fastest(case, name), run.figure(case, name, "two")
            gave = f"{run.figure(case, name, 'available'):.2f}"
            rows.append((name, case.partition(", ")[2], f"{one:.1f}", f"{two:.1f}", f"{one / two:.2f}", gave))
    told = prose(
        "Seconds of clock time with `n_jobs=1` and `n_jobs=2`, the fastest of",
        f"{work.WORKERS_REPEATS} that alternate, after one that loads what is compiled; and how many times the work of",
        "one process two independent ones got done meanwhile, at best: no workers can do better. Written by",
        "`python -m benchmarks.scaling --workers`, which wants two cores that nothing else uses.",
    )
    head = ("learner", "sizes", "one worker", "two workers", "times as fast", "the machine gave")
    if rows:
        return ["## Two workers", "", *told, *table_of(head, rows)]
    missing = (
        "It has not been measured yet: no such machine was at hand. Figures of other cases are in the",
        "[benchmarks](benchmarks.md#workers-and-checkpoints).",
    )
    return ["## Two workers", "", *told, *prose(*missing)]


def page(run: runner.Runner) -> str:
    """Return the page."""
    lines = [
        "# Scaling",
        "",
        *expectation(run),
        *prose(
            "Written by `python -m benchmarks.scaling`. Rows are drawn from models that are known. Every point is",
            "a fit, in processor seconds of one thread, after a small fit that loads what is compiled; of fits of",
            f"less than {work.SHORT:g} seconds the fastest of {work.SHORT_REPEATS + 1}, of others of less than",
            f"{work.MIDDLE:g} the faster of {work.MIDDLE_REPEATS + 1}. The machine was shared with other work,",
            "which slows processors down, so that seconds are rather too high. A single point may be off, also",
            "because a search may by chance take more steps. Slopes are those of the logarithm of seconds against",
            "the logarithm of a size, over all points and, in brackets, of the last step: 0 is no growth, 1 is",
            "growth in proportion, with 2 twice the size takes four times as long. A fit that the limit of",
            f"{work.LIMIT:.0f} seconds stopped says so and counts for no slope. Attributes of numbers and items of",
            "panels stand under columns, latents and waves under hidden variables, components under their states;",
            f"rows of panels are people. {DASH} is an axis that makes no sense for a learner; its section says",
            f"why. Versions: {run.versions() or DASH}.",
        ),
        *summary(run),
        *older(run),
        *prose("In the plots, dotted lines are growth in proportion, and open triangles are fits that were stopped."),
        *two_workers(run),
        *first_use(run),
    ]
    for name in learners_in(run):
        lines += section(run, name)
    return "\n".join(lines).rstrip("\n") + "\n"


# -- plots -------------------------------------------------------------------------------------------------------------


def draw_panel(panel, what: str, points: Sequence[Point], dotted: str | None = None) -> None:
    """Draw the growth with one size; ``dotted`` is what the legend says about growth in proportion."""
    whole, stopped = ([point for point in points if point.stopped == flag] for flag in (False, True))
    both = slopes(points)
    label = f"slope {both[0]:.2f} (last {both[1]:.2f})" if both else None
    panel.plot([p.size for p in whole], [p.seconds for p in whole], "o-", color=COLOUR, markersize=4, label=label)
    panel.plot([p.size for p in stopped], [p.seconds for p in stopped], "^", color=COLOUR, markerfacecolor="none")
    first, last = points[0], points[-1]
    proportional = first.seconds * last.size / first.size
    panel.plot([first.size, last.size], [first.seconds, proportional], ":", color=GREY, zorder=1, label=dotted)
    panel.set_xscale("log")
    panel.set_xticks([p.size for p in points], [short(p.size) for p in points])
    panel.minorticks_off()
    panel.set_xlabel(what)
    if label or dotted:
        panel.legend(frameon=False, loc="upper left", fontsize=8, handlelength=1.4, borderaxespad=0.1)


def short(size: int) -> str:
    """Return a size in few characters.

    >>> short(800), short(30_000)
    ('800', '30k')
    """
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def draw(run: runner.Runner, name: str, path: Path) -> None:
    """Draw the plot of a learner: a panel per axis, all with the same seconds."""
    grown = {what: points for what in LEARNERS[name].growth if (points := work.points_of(run, name, what))}
    figure, panels = canvas(len(grown), (0.6 + 2.0 * len(grown), 2.5))
    for panel, (what, points) in zip(panels, grown.items(), strict=True):
        draw_panel(panel, what, points, "in proportion" if panel is panels[0] else None)
    seconds = [point.seconds for points in grown.values() for point in points]
    panels[0].set_yscale("log")
    panels[0].set_ylim(min(seconds) / 1.5, max(max(seconds), 10 * min(seconds)) * 5)  # there is room for the legends
    panels[0].set_ylabel("processor seconds")
    panels[0].yaxis.set_major_formatter("{x:g}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None)


def write(run: runner.Runner, folder: Path) -> None:
    """Write the page and its plots into a folder."""
    for name in learners_in(run):
        draw(run, name, folder / "images" / file_of(name))
    (folder / PAGE).write_text(page(run))
