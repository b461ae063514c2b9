"""Elidan and Friedman's Figures 3 to 6: numbers of states of hidden variables by agglomeration.

The figures themselves are not in the text of the paper; where the text gives numbers, or says which is better, ours are
compared with them. Everything was measured by ``benchmarks.networks``, whose measurements this goes on with.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks import networks, networks_page
from benchmarks.tables.cells import (
    BASELINE,
    COUNT,
    NOT_MEASURED,
    OWN,
    WITHOUT_PRESET,
    Cell,
    Finding,
    compared,
    lost,
    not_comparable,
)
from benchmarks.tables.results import Job, Results, method_of
from pgmpy_latent import presets

TITLE = "Elidan and Friedman, Figures 3 to 6"
PAPER = "Elidan and Friedman, Figure"
#: Seconds of an EM run for one number of states, and of an agglomeration, as the text has them.
EM_SECONDS, AGGLOMERATION_SECONDS = 250, 1
#: Figure 4's text, of 24 variables and 10,000 rows: kind -> variables.
COUNTS = {
    networks_page.EXACT: 15, networks_page.MISSING: 2, networks_page.SURPLUS: 2, networks_page.COLLAPSED: 5,
}  # fmt: skip
WITHIN_ONE = 19
GAPS, GAINS = "evidence_interacting.svg", "evidence_find_hidden.svg"
NO_NUMBERS = "the text has no numbers, and the figure is lost"
NOT_HERE = "the table is not in the folder of data sets"
QUICK = "quick: "


def older_results() -> runner.Runner:
    return runner.Runner("networks")


#: FindHidden with the preset of the paper, whose hidden variables agglomeration gives their states, or that have two.
PRESETS = {
    method_of(name, True): {**networks.FIND[name], "tuning": presets.ELIDAN_FRIEDMAN_2001}
    for name in (networks.SEVERAL, networks.SEVERAL_BINARY)
}


def stored(run: runner.Runner) -> Results:
    """Return the results, with the older script's, from which processor time is guessed."""
    return Results(run, "networks", roughly={"preset": 20.0})


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return what benchmarks.networks has not measured, under the same names, and FindHidden with the preset."""
    older = older_results()
    for case, method, seed, work in networks.jobs():
        if case != networks.SPEED_CASE and not older.find(case, method, seed):
            yield case, method, seed, work
    for table in networks.REMOVED:
        for method, settings in PRESETS.items():
            yield networks.find_case(table), method, 0, partial(networks.on_finding, table, settings, None)


def quick_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return one variable, few rows."""
    yield f"{QUICK}HR, 500 rows", networks.AGGLOMERATION, 0, quick_size


def quick_size() -> dict:
    """Find the number of states of one variable of Alarm."""
    graph = networks.graph_with_hidden(networks.alarm(), "HR")
    learner = networks.AgglomerativeCardinality(graph, prior=networks.PRIOR, show_progress=False)
    return {"states": learner.fit(networks.alarm_rows(500, 0).drop(columns="HR")).cardinality_["HR"]}


def found_in(run: runner.Runner, older: runner.Runner, case: str, method: str, seed: int = 0) -> dict | None:
    return networks_page.figures(older, case, method, seed) or networks_page.figures(run, case, method, seed)


# -- Figure 3 ----------------------------------------------------------------------------------------------------------


def curve_cells(result: dict | None) -> Iterator[Cell]:
    """Return whether each score is highest at the true number of states, which is 3 here as in the paper.

    Agglomeration has no settings: ours is the paper's procedure, and the learner's as it comes.
    """
    table, column = f"{PAPER} 3", "states where the score is highest, less the true ones"
    for name, label in networks_page.CURVES.items():
        own, found, theirs = name == "agglomeration", NOT_MEASURED, EM_SECONDS
        if result is not None:
            at, away = result["states"].index(result["true"]), networks_page.peaks(result)[name] - result["true"]
            seconds = {"agglomeration": result["agglomeration_seconds"], "em": result["em_seconds"][at],
                       "random": result["random_seconds"][at] / networks.CURVE_STARTS}[name]  # fmt: skip
            found = compared(0.0, float(abs(away)), 0.0, larger_is_better=False, seconds=seconds)
        details = {"preset": found if own else WITHOUT_PRESET, "larger_is_better": False, "same": 1.0}
        details["their_seconds"] = AGGLOMERATION_SECONDS if own else theirs
        yield Cell(table, label, column, 0.0, OWN if own else BASELINE, found, **details)
    if result is not None:
        apart = float(np.max(np.abs(np.subtract(result["em"], result["random"]))))
        yield lost(table, "the two kinds of EM", "largest difference of scores", None, BASELINE, NO_NUMBERS, apart)


# -- Figure 4 ----------------------------------------------------------------------------------------------------------

#: The paper's procedure, and the learner as it comes, in which EM decides among neighbouring numbers of states.
STAGE_OF = {"preset": "agglomeration alone", "default": "with EM"}
PART = "a part of the count within one state, neither better nor worse by itself"
WHY_ALONE = (
    "the same five variables collapse to one state as with EM, for which the true number scores lower, and KINKEDTUBE "
    "in some samples, which EM mends. The paper's 24 variables, prior and sample are not known"
)


def count_finding(results: list[dict], kind: str, stage: str, theirs: float, more: bool) -> Finding:
    """Compare a count of variables, the mean over samples, with the paper's; equal is within the spread of samples."""
    if not results:
        return NOT_MEASURED
    found = [networks_page.counts(result, stage) for result in results]
    key = {"exact": networks_page.EXACT, "collapsed to one": networks_page.COLLAPSED}.get(kind)
    ours = [networks_page.near(one) if key is None else one[key] for one in found]
    seconds = float(np.mean([np.sum(result["agglomeration_seconds"]) for result in results]))
    error = max(0.5, float(np.ptp(ours)))
    return compared(theirs, float(np.mean(ours)), error, larger_is_better=more, seconds=seconds, why_worse=WHY_ALONE)


def count_cells(results: list[dict]) -> Iterator[Cell]:
    """Compare how many of the 24 variables of Alarm are sized right, for 10,000 rows."""
    table, row = f"{PAPER} 4", "24 variables of Alarm"
    kinds = {"exact": (COUNTS[networks_page.EXACT], True), "within one state": (WITHIN_ONE, True),
             "collapsed to one": (COUNTS[networks_page.COLLAPSED], False)}  # fmt: skip
    for kind, (theirs, more) in kinds.items():
        both = {name: count_finding(results, kind, stage, theirs, more) for name, stage in STAGE_OF.items()}
        yield Cell(table, row, kind, theirs, OWN, **both, group=kind, same=1.0, larger_is_better=more)
    for kind in (networks_page.MISSING, networks_page.SURPLUS):
        found = [networks_page.counts(result, STAGE_OF["default"])[kind] for result in results]
        yield lost(table, row, kind, COUNTS[kind], COUNT, PART, float(np.mean(found)) if found else None)


# -- Figure 5 ----------------------------------------------------------------------------------------------------------

BY_CHANCE = (
    "the model that made the table has the smallest expected log-loss; that a learned one is below it, as in the "
    "paper, is chance of the test table, which is lost"
)


def interacting(run: runner.Runner, older: runner.Runner) -> dict[str, np.ndarray]:
    """Return log-losses of test rows above the true model's after refining, by method, a value per draw."""
    methods = (networks.AGGLOMERATION, networks.BINARY, networks.TRUE)
    case = networks.INTERACTING_CASE
    found = [[found_in(run, older, case, method, draw) for method in methods] for draw in networks.DRAWS]
    whole = [results for results in found if all(results)]
    losses = [[result["refined_log_loss"] - result["true_log_loss"] for result in results] for results in whole]
    return dict(zip(methods, np.array(losses).T, strict=True)) if whole else {}


def interacting_cells(losses: dict[str, np.ndarray]) -> Iterator[Cell]:
    """Compare how often agglomeration beats two states; the paper's procedure is the learner as it comes here."""
    table, column = f"{PAPER} 5", "share of draws with the smaller log-loss"
    row, found = "agglomeration against two states", NOT_MEASURED
    if losses:
        ours, binary = losses[networks.AGGLOMERATION], losses[networks.BINARY]
        found = compared(1.0, float((ours < binary).mean()), 0.0)
        row_of_truth = "agglomeration against the true model"
        yield lost(table, row_of_truth, column, 1.0, COUNT, BY_CHANCE, float((ours < 0).mean()))
    yield Cell(table, row, column, 1.0, OWN, found)


# -- Figure 6 ----------------------------------------------------------------------------------------------------------


def find_results(
    run: runner.Runner, older: runner.Runner, tables: tuple[str, ...], methods: tuple[str, ...] = tuple(networks.FIND)
) -> dict[str, dict[str, dict]]:
    """Return results of FindHidden: table -> method -> figures, where all methods are there."""
    found = {
        table: {method: found_in(run, older, networks.find_case(table), method) for method in methods}
        for table in tables
    }
    return {table: results for table, results in found.items() if all(results.values())}


HELPS, BEATS = "share with a gain, of those with a hidden variable", "share where agglomeration is no worse"


def find_findings(alarm: dict[str, dict[str, dict]], to_the_letter: bool) -> dict[str, Finding]:
    """Compare what the text says: a hidden variable helps, and agglomeration is no worse than two states."""
    if not alarm:
        return dict.fromkeys((HELPS, BEATS), NOT_MEASURED)
    several, binary = (method_of(name, to_the_letter) for name in (networks.SEVERAL, networks.SEVERAL_BINARY))
    gains = [found[several]["gain"] > 0 for found in alarm.values() if found[several]["states"]]
    better = [found[several]["gain"] >= found[binary]["gain"] - 1e-6 for found in alarm.values()]
    helps = compared(1.0, float(np.mean(gains)), 0.0) if gains else not_comparable("nothing was found")
    return {HELPS: helps, BEATS: compared(1.0, float(np.mean(better)), 0.0)}


def find_cells(run: runner.Runner, older: runner.Runner) -> Iterator[Cell]:
    """Return the cells of Figure 6, from what was measured by default and with the preset."""
    table, several = f"{PAPER} 6", "Alarm without one of its variables"
    removed = tuple(networks.REMOVED)
    default = find_results(run, older, removed)
    both = (
        find_findings(default, to_the_letter=False),
        find_findings(find_results(run, older, removed, tuple(PRESETS)), to_the_letter=True),
    )
    for column in (HELPS, BEATS):
        yield Cell(table, several, column, 1.0, OWN, both[0][column], preset=both[1][column], group=column)
    if default:
        reason = "the paper does not say which variables were taken out, nor for how many nothing was found"
        ours = [found[networks.SEVERAL]["states"] for found in default.values()]
        share = float(np.mean([not states for states in ours]))
        yield lost(table, several, "share of variables that are missed", None, OWN, reason, share)
    yield lost(table, "Stock", "log-loss", None, OWN, NOT_HERE)
    yield lost(table, "TB", "log-loss", None, OWN, NOT_HERE)
    news = find_results(run, older, (networks.NEWS,)).get(networks.NEWS)
    reason = "another choice of words, without the newsgroup; and the figure's numbers are lost; ours is the gain"
    yield lost(table, "News", "log-loss", None, OWN, reason, news and news[networks.SEVERAL]["gain"])


def cells(run: runner.Runner) -> list[Cell]:
    """Return the cells of the four figures."""
    older = older_results()
    largest = networks.alarm_case(networks.ALARM_ROWS[-1])
    alarm = [found_in(run, older, largest, networks.AGGLOMERATION, seed) for seed in networks.ALARM_SEEDS]
    return [
        *curve_cells(found_in(run, older, networks.CURVE_CASE, "all")),
        *count_cells([result for result in alarm if result]),
        *interacting_cells(interacting(run, older)),
        *find_cells(run, older),
    ]


# -- pictures and notes ------------------------------------------------------------------------------------------------


def draw_interacting(losses: dict[str, np.ndarray]) -> None:
    """Draw log-losses above the true model's, a point per draw and method."""
    figure, (panel,) = networks_page.canvas(1, (6.4, 3.0))
    forms = {
        networks.AGGLOMERATION: ("o", "#0072b2"),
        networks.BINARY: ("^", "#d55e00"),
        networks.TRUE: ("x", "#000000"),
    }
    for name, values in losses.items():
        marker, colour = forms[name]
        panel.plot(np.arange(len(values)), values, marker, color=colour, label=name, linestyle="none")
    panel.set_ylim(bottom=0)
    panel.set_xlabel("draw")
    panel.set_ylabel("log-loss above the\ntrue model, nats per row")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    networks_page.keep_picture(figure, GAPS)


def draw_gains(results: dict[str, dict[str, dict]]) -> None:
    """Draw what hidden variables gain on test rows, against the network without."""
    figure, (panel,) = networks_page.canvas(1, (6.4, 3.2))
    at = np.arange(len(results))
    methods = {networks.SEVERAL_BINARY: "#d55e00", networks.SEVERAL: "#0072b2"}
    for number, (method, colour) in enumerate(methods.items()):
        gains = [found[method]["gain"] for found in results.values()]
        panel.bar(at + 0.4 * number - 0.2, gains, 0.38, color=colour, label=method)
    panel.set_xticks(at, list(results), rotation=30, ha="right")
    panel.set_ylabel("gain, nats per row")
    panel.legend(frameon=False, fontsize=8)
    networks_page.keep_picture(figure, GAINS)


def draw(run: runner.Runner) -> None:
    """Draw the figures that there are results for."""
    older = older_results()
    if curve := found_in(run, older, networks.CURVE_CASE, "all"):
        networks_page.draw_by_states(curve)
    networks_page.draw_by_rows(run if alarm_in(run) else older)
    if losses := interacting(run, older):
        draw_interacting(losses)
    if results := find_results(run, older, (*networks.REMOVED, *networks.REAL)):
        draw_gains(results)


def picture(text: str, name: str) -> str:
    return f"![{text}](images/{name})"


def NOTES(run: runner.Runner) -> list[str]:  # noqa: N802 - the page asks for this name
    """Return what is said about the figures."""
    return [
        "The figures are pictures that the text of the paper does not hold; they are redrawn from our results, and "
        "compared by what the text says about them.",
        "Figure 3: one variable of Alarm (ours HR; the paper does not name its own) has three states, is hidden, and "
        "is given one number of states after the other. Seconds are those of one EM run, or of the agglomeration (15 "
        "states to begin with in the paper, 277 here).",
        picture("Score against number of states", networks_page.BY_STATES),
        f"Figure 4: {shape_of_alarm(run)}",
        picture("Variables of Alarm whose number of states was found", networks_page.BY_ROWS),
        "Counts are of 24 variables, with 10,000 rows, means over three samples, and seconds those of all 24; equal is "
        "within the spread of the samples, at least half a variable. The preset is agglomeration alone: the paper's "
        "procedure, a second look at the merged states and a choice among their numbers, without EM; "
        "in the learner as it comes, EM decides among neighbouring numbers of states.",
        "Figure 5: four hidden variables that interact, with the paper's numbers of states; the structure is made up, "
        "as the paper's is lost, and parameters are drawn ten times.",
        picture("Log-loss above the true model's", GAPS),
        "Figure 6: what FindHidden's variables gain on test rows, with two states and with agglomeration; where no bar "
        "stands, it proposes none.",
        picture("Gain of hidden variables on test rows", GAINS),
    ]


def alarm_in(run: runner.Runner) -> bool:
    """Tell whether the sizes of Alarm's variables were measured by this script, not by the older one."""
    return any(networks_page.alarm_results(run, n_rows) for n_rows in networks.ALARM_ROWS)


def shape_of_alarm(run: runner.Runner) -> str:
    """Say how counts change with rows: few rows ask for fewer states, as the paper finds."""
    where, said = run if alarm_in(run) else older_results(), []
    for n_rows in networks.ALARM_ROWS:
        found = [networks_page.counts(one, "with EM") for one in networks_page.alarm_results(where, n_rows)]
        if found:
            kinds = (networks_page.EXACT, networks_page.MISSING, networks_page.COLLAPSED)
            means = [np.mean([one[kind] for one in found]) for kind in kinds]
            said.append(f"{n_rows:,} rows {means[0]:.1f}, {means[1]:.1f}, {means[2]:.1f}")
    return (
        "the paper finds that with few rows most variables are still exact or have one state too few. Ours with EM: "
        f"variables that are exact, have one state too few, and collapse to one: {'; '.join(said)}."
    )
