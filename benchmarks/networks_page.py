"""The page about hidden variables in networks: tables of what was measured, and two pictures."""

from __future__ import annotations

import json
import textwrap

import numpy as np

from benchmarks import networks, runner
from benchmarks.binary_forests_page import table_of

IMAGES = runner.PAGE.parent / "images"
BY_ROWS, BY_STATES = "networks_alarm_by_rows.svg", "networks_score_by_states.svg"
#: Targets: variables of Alarm sized exactly without EM, with EM, and within one state; seconds of an agglomeration; and
#: speed against pgmpy.
LEAST_EXACT, LEAST_EXACT_EM, LEAST_NEAR, MOST_SECONDS, LEAST_SPEED = 15, 17, 19, 0.2, 1_000
#: Target: numbers of states of interacting hidden variables that are exact, or where the true one scores lower.
LEAST_INTERACTING = 36
SAME_SCORE = 1.0  # local maxima whose scores differ by no more are taken for the same
KINDS = EXACT, MISSING, SURPLUS, COLLAPSED, OTHER = "exact", "one missing", "one too many", "collapsed to one", "other"
#: Where a number of states is found -> figure of a result.
STAGES = {"agglomeration alone": "agglomerated", "with EM": "found"}

# -- small parts -------------------------------------------------------------------------------------------------------


def figures(run: runner.Runner, case: str, method: str, seed: int = 0) -> dict | None:
    """Return all figures of a result and its seconds; None if it is not there."""
    row = run.find(case, method, seed)
    return None if row is None else {**json.loads(row["figures"]), "seconds": float(row["seconds"])}


def row_of(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def paragraph(*sentences: str) -> list[str]:
    """Return sentences, wrapped, with an empty line after them."""
    text = " ".join(sentence for sentence in sentences if sentence)
    return [*textwrap.wrap(text, 116, break_long_words=False, break_on_hyphens=False), ""]


def listed(items) -> str:
    return ", ".join(map(str, items))


def yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


# -- one variable of Alarm hidden --------------------------------------------------------------------------------------


def kind(found: int, true: int) -> str:
    """Say how a number of states compares with the true one."""
    if found == true:
        return EXACT
    if found == 1:
        return COLLAPSED
    return {true - 1: MISSING, true + 1: SURPLUS}.get(found, OTHER)


def counts(result: dict, stage: str) -> dict[str, int]:
    """Return how many variables are of each kind."""
    kinds = [kind(found, true) for found, true in zip(result[STAGES[stage]], result["true"], strict=True)]
    return {name: kinds.count(name) for name in KINDS}


def near(found: dict[str, int]) -> int:
    """Return how many variables are within one state, without those that are not there at all."""
    return found[EXACT] + found[MISSING] + found[SURPLUS]


def alarm_results(run: runner.Runner, n_rows: int) -> list[dict]:
    found = [figures(run, networks.alarm_case(n_rows), networks.AGGLOMERATION, seed) for seed in networks.ALARM_SEEDS]
    return [result for result in found if result]


def alarm_targets(run: runner.Runner) -> list[str]:
    results = alarm_results(run, networks.ALARM_ROWS[-1])
    if not results:
        return []
    found = [counts(result, "with EM") for result in results]
    alone = [counts(result, "agglomeration alone")[EXACT] for result in results]
    exact, close = [one[EXACT] for one in found], [near(one) for one in found]
    slowest = max(max(result["agglomeration_seconds"]) for result in results)
    n_variables, where = len(results[0]["variables"]), f"Alarm, {networks.ALARM_ROWS[-1]:,} rows"
    rows = [
        ("exact, agglomeration alone", f"{LEAST_EXACT} of {n_variables}", listed(alone), min(alone) >= LEAST_EXACT),
        ("exact, with EM", f"{LEAST_EXACT_EM} of {n_variables}", listed(exact), min(exact) >= LEAST_EXACT_EM),
        ("within one", f"{LEAST_NEAR} of {n_variables}", listed(close), min(close) >= LEAST_NEAR),
        ("slowest agglomeration", f"{MOST_SECONDS} s", f"{slowest:.2f} s", slowest <= MOST_SECONDS),
    ]
    return [row_of(f"{where}: {what}", target, reached, yes(met)) for what, target, reached, met in rows]


def count_rows(run: runner.Runner) -> list[str]:
    rows = []
    for n_rows in networks.ALARM_ROWS:
        results = alarm_results(run, n_rows)
        for stage in STAGES if results else ():
            found = [counts(result, stage) for result in results]
            cells = [listed(one[name] for one in found) for name in found[0]]
            rows.append(row_of(f"{n_rows:,}", stage, *cells, listed(near(one) for one in found)))
    return rows


def true_lead(random: dict, at: int, true: int, other: int) -> float:
    """Return how much higher the true number of states scores than another, by its best start or the true tables."""
    values = dict(zip(random["states"], random["scores"][at], strict=True))
    return max(values[true], random["truth"][at]) - values[other]


def variable_rows(result: dict, random: dict | None) -> list[str]:
    """Return a row per variable."""
    rows = []
    for at, name in enumerate(result["variables"]):
        true, found = result["true"][at], result["found"][at]
        preferred = random["preferred"][at] if random else ""
        lower = f"{-true_lead(random, at, true, preferred):.1f}" if random and true != preferred else ""
        rows.append(
            row_of(
                name, true, result["initial"][at], result["agglomerated"][at], found,
                "" if found == true else kind(found, true), preferred, lower,
                f"{1000 * result['agglomeration_seconds'][at]:.0f}", f"{result['fit_seconds'][at]:.2f}",
            )
        )  # fmt: skip
    return rows


def explanation(result: dict, random: dict | None) -> list[str]:
    """Say what EM from random starts thinks of the variables that are not exact, and where it differs."""
    if not random:
        return []
    wrong = [at for at, true in enumerate(result["true"]) if result["found"][at] != true]
    agreed = [at for at in wrong if random["preferred"][at] == result["found"][at]]
    others = [at for at, found in enumerate(result["found"]) if random["preferred"][at] != found]
    exact = sum(one == true for one, true in zip(random["preferred"], result["true"], strict=True))
    lost = [random["preferred"][at] for at in wrong if result["found"][at] == 1]
    leads = [true_lead(random, at, result["true"][at], result["found"][at]) for at in wrong]
    beaten, names = sum(lead < 0 for lead in leads), result["variables"]
    apart = [(at, result["score"][at] - random["truth"][at]) for at in range(len(names)) if at not in wrong]
    chance = listed(f"{names[at]} (score {lead:+.1f})" for at, lead in apart if abs(lead) > SAME_SCORE)
    differing = listed(
        f"{names[at]} (here {result['found'][at]}, random starts {random['preferred'][at]}, true {result['true'][at]})"
        for at in others
    )
    return paragraph(
        f"{len(wrong)} variables are not exact. For {len(agreed)} of them, EM from {networks.RANDOM_STARTS} random",
        f"starts for each of {networks.RANDOM_STATES[0]} to {networks.RANDOM_STATES[-1]} states prefers the same",
        f"number, by the same score; of the {len(lost)} that collapsed, it prefers one state for {lost.count(1)}.",
        f"Also where EM begins with the true tables, the true number scores lower than the one found for {beaten} of",
        f"the {len(wrong)}: there it is the score that asks for fewer states, not the search that misses some.",
        f"It is exact for {exact} variables in all.",
        f"It differs from the number found here for: {differing}." if others else "It never differs.",
        f"The number is right, but the states are not those that EM finds from the true tables: {chance}."
        * bool(chance),
    )


def lower_numbers(results: list[dict]) -> list[str]:
    """Say for all seeds whether the true number scores lower where it was not found."""
    lower = [value for result in results for value in result.get("lower", []) if value is not None]
    if not lower:
        return []
    return paragraph(
        f"Over the {len(results)} seeds, {len(lower)} numbers are not exact. From the true tables, EM with the true",
        f"number reaches a lower score for {sum(value > 0 for value in lower)} of them, by {min(lower):.1f} to",
        f"{max(lower):.1f}.",
    )


def alarm_section(run: runner.Runner) -> list[str]:
    results = alarm_results(run, networks.ALARM_ROWS[-1])
    if not results:
        return []
    first, random = results[0], figures(run, networks.alarm_case(networks.ALARM_ROWS[-1]), networks.RANDOM)
    draw_by_rows(run)
    return [
        "### One variable of Alarm hidden",
        "",
        *paragraph(
            f"Each of the {len(first['variables'])} variables that are no leaves and have at least two others in their "
            "Markov blankets is hidden in turn; the structure is known. How many states does it have? A variable that "
            "collapsed to one state counts as collapsed only, also if it has two; *within one* leaves it out. Numbers "
            f"of variables, for seeds {listed(networks.ALARM_SEEDS)}; in the picture, *other* includes one too many:"
        ),
        *table_of(f"| rows | | {' | '.join(KINDS)} | within one |", count_rows(run)),
        f"![Variables of Alarm whose number of states was found, against the number of rows](images/{BY_ROWS})",
        "",
        *paragraph(
            f"Seed 0, {networks.ALARM_ROWS[-1]:,} rows. *First* is the number of states that agglomeration begins",
            "with; its milliseconds are for the encoded table, seconds are those of the whole fit; both of processor.",
            f"*Random* is the number that EM from {networks.RANDOM_STARTS} random starts prefers by the",
            "Cheeseman-Stutz score; where that is not the true number, *lower* says by how much the true one scores",
            "lower, with EM begun at the true tables or at random (below zero: it scores higher, from the",
            "true tables).",
        ),
        *table_of(
            "| variable | true | first | agglomeration | with EM | | random | lower | agglomeration, ms | fit, s |",
            variable_rows(first, random),
        ),
        *explanation(first, random),
        *lower_numbers(results),
    ]


# -- score against number of states ------------------------------------------------------------------------------------

CURVES = {
    "agglomeration": "agglomeration",
    "em": "EM from the agglomeration",
    "random": f"EM from {networks.CURVE_STARTS} random starts",
}


def peaks(result: dict) -> dict[str, int]:
    """Return the number of states where each curve is highest."""
    return {name: result["states"][int(np.argmax(result[name]))] for name in CURVES}


def curve_section(run: runner.Runner) -> list[str]:
    result = figures(run, networks.CURVE_CASE, "all")
    if result is None:
        return []
    draw_by_states(result)
    true = result["true"]
    at_true = [CURVES[name] for name, peak in peaks(result).items() if peak == true]
    rows = [
        row_of(CURVES[name], peak, f"{(max(result[name]) - result[name][0]) / networks.CURVE_ROWS:.4f}",
               f"{np.sum(result[f'{name}_seconds']):.2f}")
        for name, peak in peaks(result).items()
    ]  # fmt: skip
    states = f"{result['states'][0]} to {result['states'][-1]}"
    return [
        "### Score against number of states",
        "",
        *paragraph(
            f"{networks.CURVE_VARIABLE} hidden, which has {true} states; {networks.CURVE_ROWS:,} rows, seed 0.",
            "The score of the completed table on the way of the agglomeration, and the Cheeseman-Stutz score of EM",
            "from there and from random starts, for every number of states. With one state all three are the same",
            "marginal likelihood; the picture shows what more states gain, per row.",
            f"{len(at_true)} of the {len(CURVES)} curves are highest at {true}.",
        ),
        f"![Score of {networks.CURVE_VARIABLE} against its number of states](images/{BY_STATES})",
        "",
        *table_of(f"| score | highest at | gain over one state, per row | seconds for {states} states |", rows),
    ]


# -- pictures ----------------------------------------------------------------------------------------------------------

#: Line -> colour and form; colours that most colour-blind readers can tell apart.
STYLES = {
    EXACT: ("#0072b2", "o-"), MISSING: ("#e69f00", "s-"), COLLAPSED: ("#d55e00", "^-"), OTHER: ("#7f7f7f", "D-"),
    "agglomeration": ("#0072b2", "o-"), "em": ("#e69f00", "s-"), "random": ("#000000", "x--"),
}  # fmt: skip


def canvas(n_panels: int, size: tuple[float, float]):
    """Return a figure and its axes, without a window; the same data give the same file."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "pgmpy-latent", "font.size": 10, "axes.spines.top": False})
    matplotlib.rcParams.update({"axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3})
    figure = Figure(size, layout="constrained")
    return figure, figure.subplots(1, n_panels, sharey=True, squeeze=False)[0]


def keep_picture(figure, name: str) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / name, metadata={"Date": None, "Creator": None})


def draw_by_rows(run: runner.Runner) -> None:
    """Draw how many variables are sized exactly, against rows."""
    there = [n_rows for n_rows in networks.ALARM_ROWS if alarm_results(run, n_rows)]
    figure, axes = canvas(len(STAGES), (8, 3.4))
    for panel, stage in zip(axes, STAGES, strict=True):
        found = {n_rows: [counts(result, stage) for result in alarm_results(run, n_rows)] for n_rows in there}
        for name in (EXACT, MISSING, COLLAPSED, OTHER):
            parts = (SURPLUS, OTHER) if name == OTHER else (name,)
            means = [np.mean([sum(one[part] for part in parts) for one in found[n_rows]]) for n_rows in there]
            colour, form = STYLES[name]
            panel.plot(there, means, form, color=colour, markersize=5, label=name)
        panel.set_xscale("log")
        panel.set_xticks(there, [f"{n_rows:,}" for n_rows in there])
        panel.minorticks_off()
        panel.set_title(stage, fontsize=11)
        panel.set_xlabel("rows")
    axes[0].set_ylim(bottom=-0.5)
    axes[0].set_ylabel("variables, mean over seeds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    keep_picture(figure, BY_ROWS)


def draw_by_states(result: dict) -> None:
    """Draw what more states gain over one; the gain of two to one would hide the rest, so one is left out."""
    figure, (panel,) = canvas(1, (6.4, 3.8))
    states = np.array(result["states"][1:])
    for name, label in CURVES.items():
        gains = (np.array(result[name][1:]) - result[name][0]) / networks.CURVE_ROWS
        at, (colour, form) = int(np.argmax(gains)), STYLES[name]
        panel.plot(states, gains, form, color=colour, markersize=6, linewidth=1 if name == "random" else 3, label=label)
        panel.plot(states[at], gains[at], "o", markersize=13, markerfacecolor="none", markeredgecolor=colour)
    panel.set_xticks(states)
    panel.set_xlabel(f"states of {networks.CURVE_VARIABLE} (a ring marks the highest)")
    panel.set_ylabel("gain over one state, nats per row")
    panel.legend(frameon=False, loc="lower right")
    keep_picture(figure, BY_STATES)


# -- interacting hidden variables --------------------------------------------------------------------------------------


def interacting_numbers(run: runner.Runner) -> tuple[int, list[float], int]:
    """Return how many numbers are exact, by how much the true ones of the others score lower, and how many are all."""
    results = [figures(run, networks.INTERACTING_CASE, networks.AGGLOMERATION, draw) for draw in networks.DRAWS]
    every = [value for result in results if result for value in result.get("lower", [])]
    return every.count(None), [value for value in every if value is not None], len(every)


def lower_draws(lower: list[float]) -> list[str]:
    """Say how often the true number scores lower where it was not found."""
    if not lower:
        return []
    return [
        f"Where a number is not exact, the true one scores lower in {sum(value > 0 for value in lower)} of",
        f"{len(lower)} cases, by {min(lower):.1f} to {max(lower):.1f}: EM from the true tables and from",
        f"{networks.DRAW_STARTS} random starts, the other variables with the numbers that were found.",
    ]


def interacting_targets(run: runner.Runner) -> list[str]:
    exact, lower, n_numbers = interacting_numbers(run)
    if not n_numbers:
        return []
    beaten = sum(value > 0 for value in lower)
    reached = f"{exact} exact, {beaten} where the true number scores lower"
    what = "Interacting hidden variables: exact, or the true number scores lower"
    return [row_of(what, f"{LEAST_INTERACTING} of {n_numbers}", reached, yes(exact + beaten >= LEAST_INTERACTING))]


def interacting_section(run: runner.Runner) -> list[str]:
    methods = (networks.AGGLOMERATION, networks.BINARY, networks.TRUE)
    case = networks.INTERACTING_CASE
    found = {draw: [figures(run, case, method, draw) for method in methods] for draw in networks.DRAWS}
    found = {draw: results for draw, results in found.items() if all(results)}
    if not found:
        return []
    rows, wins = [], {}
    for draw, results in found.items():
        losses = [f"{result[name]:.4f}" for result in results for name in ("log_loss", "refined_log_loss")]
        sizes = f"{listed(results[0]['states'])} ({listed(results[0]['agglomerated'])})"
        sizes += " (stopped)" if any(any(result["stopped"]) for result in results) else ""
        seconds = listed(f"{result['seconds']:.1f}" for result in results[:2])
        rows.append(row_of(draw, sizes, *losses, f"{results[0]['true_log_loss']:.4f}", seconds))
    for name in ("log_loss", "refined_log_loss"):
        wins[name] = [results[0][name] < results[1][name] for results in found.values()]
    _, lower, _ = interacting_numbers(run)
    exact = [
        number
        for results in found.values()
        for number in np.equal(results[0]["states"], list(networks.HIDDEN.values()))
    ]
    several = sum(len(above) > 1 for above in networks.COLUMN_PARENTS)
    return [
        "### Several interacting hidden variables",
        "",
        *paragraph(
            f"{len(networks.HIDDEN)} hidden variables with {listed(networks.HIDDEN.values())} states, h0 -> h1,",
            f"h0 -> h2, h1 -> h3 and h2 -> h3, and {len(networks.COLUMN_PARENTS)} binary columns below them, {several}",
            f"of which have two hidden parents; rows of tables are drawn from Dirichlet({networks.CONCENTRATION}).",
            f"{networks.DRAW_ROWS:,} rows to learn from and as many to test with. The structure is known.",
            "AgglomerativeCardinality finds the numbers of states; NetworkEM is given two for each, or the true ones,",
            f"and {networks.DRAW_STARTS} random starts; the pseudo-count is {networks.PRIOR:g} for all. The result is",
            "then refined by StructuralEM (*refined*). Log-loss of test rows in nats per row, smaller is better. A fit",
            f"may take {networks.DRAW_SECONDS} seconds.",
        ),
        *table_of(
            "| draw | states found (by agglomeration alone) | agglomeration | refined | two states | refined |"
            " true numbers | refined | true network | seconds: agglomeration, two states |",
            rows,
        ),
        *paragraph(
            f"Agglomeration has the smaller log-loss against two states in {sum(wins['log_loss'])} of {len(found)} "
            f"draws, after refining in {sum(wins['refined_log_loss'])} of {len(found)}. It finds {sum(exact)} of the "
            f"{len(exact)} numbers of states exactly, and is no worse than EM with the true",
            f"numbers in {sum(one['log_loss'] <= true['log_loss'] for one, _, true in found.values())} draws.",
            *lower_draws(lower),
        ),
    ]


# -- NetworkEM against pgmpy -------------------------------------------------------------------------------------------


def speed_results(run: runner.Runner) -> list[dict]:
    found = [figures(run, networks.SPEED_CASE, method) for method in (networks.OURS, networks.THEIRS)]
    return found if None not in found else []


def speed_targets(run: runner.Runner) -> list[str]:
    if not (results := speed_results(run)):
        return []
    ratio = results[1]["seconds"] / results[0]["seconds"]
    target, reached = f"{LEAST_SPEED:,} x faster", f"{ratio:,.0f} x faster"
    return [row_of("An iteration of EM against pgmpy's DiscreteEM", target, reached, yes(ratio >= LEAST_SPEED))]


def speed_section(run: runner.Runner) -> list[str]:
    if not (results := speed_results(run)):
        return []
    ours, theirs = results
    apart = abs(theirs["log_likelihood"] - theirs["our_log_likelihood"])
    return [
        "### NetworkEM against pgmpy's DiscreteEM",
        "",
        *paragraph(
            f"Alarm, {networks.SPEED_ROWS:,} rows, {listed(networks.SPEED_HIDDEN)} hidden, one iteration from the same",
            f"random tables: {1000 * ours['seconds']:.2f} ms against {theirs['seconds']:.1f} s,",
            f"{theirs['seconds'] / ours['seconds']:,.0f} times faster. After {networks.SPEED_STEPS} plain iterations",
            f"of both, the tables differ by at most {theirs['largest_difference']:.1g}, and the log-likelihood,",
            f"{theirs['our_log_likelihood']:.4f}, by {apart:.1g}. Rows of tables that no row of the data reaches",
            f"({theirs['uncounted_share']:.0%} of all entries) are left out: pgmpy makes them uniform, here they stay.",
        ),
    ]


# -- the page ----------------------------------------------------------------------------------------------------------


def page(run: runner.Runner) -> str:
    """Return the section for the page of benchmarks."""
    versions = "; ".join(sorted({row["versions"] for row in run.rows}))
    targets = [*alarm_targets(run), *interacting_targets(run), *speed_targets(run)]
    lines = [
        "## Hidden variables in any network",
        "",
        *paragraph(
            "AgglomerativeCardinality, StructuralEM and NetworkEM, with default settings unless said otherwise; one "
            "thread. Elidan and Friedman, Learning the dimensionality of hidden variables. FindHidden has sections of "
            "its own below.",
            f"Written by `python -m benchmarks.networks`. Versions: {versions}.",
        ),
        *table_of("| what | target | reached | |", targets),
        *alarm_section(run),
        *curve_section(run),
        *interacting_section(run),
        *speed_section(run),
    ]
    return "\n".join(lines)
