"""The page about latent classification models: targets, the paper's tables, missing attributes, and seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks import classification as work
from benchmarks import runner
from benchmarks.binary_forests_page import table_of
from benchmarks.networks_page import figures, listed, paragraph, row_of

DASH = "–"
OURS = (work.LINEAR, work.LINEAR_EDGES, work.TIED, work.UNTIED, work.TIED_EDGES)
METHODS = (*OURS, *work.THEIRS)
GAP_METHODS = (work.TIED, *work.GAP_METHODS)
N_SETS, N_SEEDS = len(work.FILES), len(work.SEEDS)
#: Test rows for every training row, which the corrected t-test needs.
RATIO = 1 / (work.N_FOLDS - 1)
#: Level -> mark of what is significantly worse than the best of its row.
MARKS = {0.01: "‡", 0.1: "†"}
#: Targets: mean accuracy over all sets; accuracy of LCM(q,m;T) on one; seconds.
LEAST_MEAN = {work.TIED: 83.3, work.LINEAR: 81.0}
LEAST_ON = {"crabs": 94.0, "glass2": 81.0, "vehicle": 82.0}
STEP_MS, DRAWN_SECONDS, FIT_SECONDS = 10, 60, 120

# -- small parts -------------------------------------------------------------------------------------------------------


def corrected_t_test(differences: Sequence[float], ratio: float) -> float:
    """Return the two-sided p-value of the corrected resampled t-test of Nadeau and Bengio.

    The differences of two methods are given fold by fold, the ratio is that of rows to test with to rows to learn from.

    >>> round(corrected_t_test([1.0, 2.0, 3.0], 0.0), 4), round(corrected_t_test([1.0, 2.0, 3.0], 0.5), 4)
    (0.0742, 0.1598)
    """
    values = np.asarray(differences, float)
    mean, variance = values.mean(), values.var(ddof=1)
    if variance <= 1e-20:
        return 1.0 if abs(mean) <= 1e-10 else 0.0
    t = mean / np.sqrt((1 / len(values) + ratio) * variance)
    return float(2 * stats.t.sf(abs(t), len(values) - 1))


def fewer(n: int, of: int) -> str:
    """Return how many there are, where some are missing."""
    return f" [{n}]" if n < of else ""


def three(numbers: Iterable[float]) -> str:
    """Return the least, the median and the largest."""
    numbers = list(numbers)
    return " - ".join(f"{number:g}" for number in (min(numbers), np.median(numbers), max(numbers))) if numbers else DASH


def verdict(met: bool | None) -> str:
    return DASH if met is None else "met" if met else "**not met**"


# -- what was measured -------------------------------------------------------------------------------------------------

#: Method -> data set -> seed -> figures; only what is there.
Cells = dict[str, dict[str, dict[int, dict]]]


def collected(run: runner.Runner) -> Cells:
    """Return the cells of table 3."""
    cells: Cells = {method: {} for method in METHODS}
    for method in METHODS:
        for name in work.FILES:
            found = {seed: figures(run, work.table_case(name), method, seed) for seed in work.SEEDS}
            if found := {seed: result for seed, result in found.items() if result}:
                cells[method][name] = found
    return cells


def all_folds(cell: dict[int, dict], figure: str, seeds: Iterable[int] | None = None) -> list:
    """Return a figure of every fold, seed after seed."""
    return [value for seed in (sorted(cell) if seeds is None else seeds) for value in cell[seed][figure]]


def accuracy(cell: dict[int, dict]) -> float:
    """Return the mean accuracy of a cell, in percent; so rounded that equal means are equal."""
    return round(100 * float(np.mean(all_folds(cell, "accuracy"))), 6)


def differences(cell: dict[int, dict], other: dict[int, dict]) -> np.ndarray:
    """Return by how much one cell is more accurate than another, in the folds of the seeds that both have."""
    both = sorted({*cell} & {*other})
    return np.subtract(all_folds(cell, "accuracy", both), all_folds(other, "accuracy", both))


def p_value(cell: dict[int, dict], other: dict[int, dict]) -> float:
    found = differences(cell, other)
    return corrected_t_test(found, RATIO) if len(found) > 1 else 1.0


class Standing(NamedTuple):
    """Mean accuracy of a method on a data set, its place among all methods, and how surely the best one is better."""

    mean: float
    place: int
    p: float


def standings(cells: Cells, name: str) -> dict[str, Standing]:
    """Return how the methods stand on a data set."""
    means = {method: accuracy(cells[method][name]) for method in METHODS if name in cells[method]}
    best = max(means, key=means.get, default=None)
    found = {}
    for method, mean in means.items():
        place = 1 + sum(other > mean for other in means.values())
        found[method] = Standing(mean, place, 1.0 if place == 1 else p_value(cells[best][name], cells[method][name]))
    return found


def average(cells: Cells, method: str) -> float | None:
    """Return the mean accuracy over the data sets that are there."""
    return float(np.mean([accuracy(cell) for cell in cells[method].values()])) if cells[method] else None


def by_seed(cells: Cells, method: str) -> list[float | None]:
    """Return the mean over all data sets for every seed; None if one is missing."""
    found = [[cell[seed]["accuracy"] for cell in cells[method].values() if seed in cell] for seed in work.SEEDS]
    return [100 * float(np.mean(some)) if len(some) == N_SETS else None for some in found]


# -- tables 3, 2 and 1; log-loss ---------------------------------------------------------------------------------------


def accuracy_text(cells: Cells, name: str, method: str, found: dict[str, Standing]) -> str:
    """Return a cell of table 3."""
    text = DASH
    if method in found:
        text = f"{found[method].mean:.1f}"
        mark = next((sign for level, sign in MARKS.items() if found[method].p < level), "")
        text = f"**{text}**" if found[method].place == 1 else text + mark
        text += fewer(len(cells[method][name]), N_SEEDS)
    return f"{text} ({work.PAPER[name][OURS.index(method)]:.1f})" if method in OURS else text


def average_text(cells: Cells, method: str) -> str:
    mean = average(cells, method)
    text = DASH if mean is None else f"{mean:.1f}{fewer(len(cells[method]), N_SETS)}"
    return f"{text} ({work.PAPER_AVERAGE[OURS.index(method)]:.1f})" if method in OURS else text


def accuracy_section(cells: Cells, found: dict[str, dict[str, Standing]]) -> list[str]:
    rows = [
        row_of(name, *[accuracy_text(cells, name, method, found[name]) for method in METHODS]) for name in work.FILES
    ]
    return [
        "### Fifteen data sets",
        "",
        *paragraph(
            f"Accuracy in percent, the mean over {N_SEEDS * work.N_FOLDS} folds: {work.N_FOLDS} stratified folds for",
            f"each of {N_SEEDS} seeds, the same for all methods. In brackets the paper's figure, from one draw of",
            "folds. The best of a row is bold; † is significantly worse than it at the 10 % level, ‡ at the 1 % level,",
            "by the two-sided corrected resampled t-test of Nadeau and Bengio. Square brackets: how many seeds, or in",
            "the last row sets, are there, if not all. diabetes and pima are the same rows in different folds; breast",
            "is without the 16 incomplete rows, and has the number of the patient as one of its attributes.",
        ),
        *paragraph(
            "LCM(q) has one component; T and U have several, with tied or untied noise; /S learns edges. Sizes are",
            "found by the default wrapper. All of scikit-learn's methods see standardised attributes. k of k-NN, up to",
            f"{work.LARGEST_K}, is found by leave-one-out; the shrinkage of QDA, C of logistic regression, and C and",
            "gamma of SVM-RBF by five folds within the training part; other settings are default, but forests have",
            f"{work.N_TREES} trees.",
        ),
        *table_of(
            row_of("data set", *METHODS), [*rows, row_of("average", *[average_text(cells, one) for one in METHODS])]
        ),
    ]


def summary_section(cells: Cells, found: dict[str, dict[str, Standing]]) -> list[str]:
    rows = []
    for method in METHODS:
        own = [here[method] for here in found.values() if method in here]
        counts = [sum(one.place <= place for one in own) for place in (1, 3)]
        counts += [sum(one.p < level for one in own) for level in (0.1, 0.01)]
        mean = DASH if not own else f"{average(cells, method):.2f}{fewer(len(own), N_SETS)}"
        seeds = listed(DASH if one is None else f"{one:.1f}" for one in by_seed(cells, method))
        rows.append(row_of(method, mean, seeds, *(counts if own else [DASH] * 4)))
    return [
        "On how many sets a method is the best (or one of the best), among the first three, and significantly worse",
        "than the best:",
        "",
        *table_of("| method | average | by seed | winner | top 3 | poor, p < 10 % | poor, p < 1 % |", rows),
    ]


def sizes_section(cells: Cells) -> list[str]:
    rows = []
    for name in work.FILES:
        sizes = [all_folds(cells[method].get(name, {}), "sizes") for method in (work.LINEAR, work.TIED, work.UNTIED)]
        latents, components = ([three(one[at] for one in own) for own in sizes] for at in (0, 1))
        paper = [three(numbers) for numbers in work.PAPER_SIZES[name]]
        rows.append(row_of(name, latents[0], paper[0], components[1], paper[1], latents[1], latents[2], components[2]))
    return [
        "### Sizes that the wrapper chooses",
        "",
        "The least, the median and the most over all folds; the paper's are over the five folds of its one draw.",
        "",
        *table_of(
            "| data set | LCM(q): q | paper | LCM(q,m;T): components | paper | q | LCM(q,m;U): q | components |", rows
        ),
    ]


def loss_section(cells: Cells) -> list[str]:
    folds = {method: {name: all_folds(cell, "log_loss") for name, cell in cells[method].items()} for method in METHODS}
    found = {
        method: {name: float(np.mean(values)) for name, values in own.items()}
        for method, own in folds.items()
        if own and not any(None in values for values in own.values())
    }
    least = {name: min((own[name] for own in found.values() if name in own), default=None) for name in work.FILES}
    rows = []
    for method, own in sorted(found.items(), key=lambda item: np.mean(list(item[1].values()))):
        values, smallest = list(own.values()), listed(name for name in own if own[name] == least[name])
        mean = f"{np.mean(values):.3f}{fewer(len(own), N_SETS)}"
        rows.append(row_of(method, mean, f"{np.median(values):.3f}", f"{max(values):.3f}", smallest or "none"))
    return [
        "### Probabilities",
        "",
        *paragraph(
            "Log-loss of the test rows in nats, smaller is better: the mean over folds, then average, median and",
            f"largest over the data sets. Probabilities below {work.SMALLEST:g} count as that. SVM-RBF gives none.",
        ),
        *table_of("| method | average | median | largest | smallest of all on |", rows),
    ]


# -- where ours wins and loses -----------------------------------------------------------------------------------------


def against(cells: Cells, method: str, other: str) -> dict[str, tuple[float, float]]:
    """Return by how many points a method is better, and the p-value, on the sets that both have."""
    both = [name for name in cells[method] if {*cells[method][name]} & {*cells[other].get(name, {})}]
    pairs = {name: (cells[method][name], cells[other][name]) for name in both}
    return {name: (round(100 * differences(*pair).mean(), 6), p_value(*pair)) for name, pair in pairs.items()}


def outcome(by_set: dict[str, tuple[float, float]], sign: int, level: float = 2.0) -> list[str]:
    """Return the sets where a method is better (1), the same (0) or worse (-1), if the p-value is below a level."""
    return [name for name, (gain, p) in by_set.items() if np.sign(gain) == sign and p < level]


def against_row(other: str, by_set: dict[str, tuple[float, float]]) -> str:
    if not by_set:
        return row_of(other, *[DASH] * 4)
    counts = listed(len(outcome(by_set, sign)) for sign in (1, 0, -1))
    clear = [listed(outcome(by_set, sign, 0.1)) or "none" for sign in (1, -1)]
    return row_of(other, f"{np.mean([gain for gain, _ in by_set.values()]):+.2f}", counts, *clear)


def rank_sentence(cells: Cells, method: str) -> str:
    """Say where a method stands by average accuracy, among scikit-learn's that have the same data sets."""
    theirs = {one: average(cells, one) for one in work.THEIRS if {*cells[one]} == {*cells[method]}}
    if not theirs:
        return ""
    own, best = average(cells, method), max(theirs, key=theirs.get)
    place = 1 + sum(mean > own for mean in theirs.values())
    return (
        f"By average accuracy {method} ({own:.1f}) is number {place} of {len(theirs) + 1}, the others being "
        f"scikit-learn's: {abs(own - theirs[best]):.1f} points {'above' if own >= theirs[best] else 'below'} the best "
        f"of them, {best}."
    )


def extremes_sentence(cells: Cells, method: str) -> str:
    """Say on which sets a method is ahead of the best of scikit-learn's, and where it is furthest behind."""
    leads = {}
    for name, cell in cells[method].items():
        if theirs := [(accuracy(cells[one][name]), one) for one in work.THEIRS if name in cells[one]]:
            leads[name] = (accuracy(cell) - max(theirs)[0], max(theirs)[1])
    order = sorted(leads, key=leads.get)
    ahead, behind = ([name for name in order if (leads[name][0] >= 0) == good] for good in (True, False))
    told = [listed(f"{name} ({leads[name][0]:+.1f})" for name in some) for some in (ahead[::-1], behind[:5])]
    return (
        f"It is at least as good as the best of scikit-learn's on {len(ahead)} of {len(leads)} sets"
        f"{': ' if ahead else ''}{told[0]}; it is furthest behind on: {told[1] or 'none'}."
    )


def standing_section(cells: Cells, method: str) -> list[str]:
    found = {other: against(cells, method, other) for other in work.THEIRS}
    if not any(found.values()):
        return []
    counts = [sum(len(outcome(one, sign)) for one in found.values()) for sign in (1, 0, -1)]
    clear = [[name for one in found.values() for name in outcome(one, sign, 0.1)] for sign in (1, -1)]
    where = [listed(name for name in work.FILES if name in some) or "nowhere" for some in clear]
    return [
        *paragraph(
            rank_sentence(cells, method),
            f"Of {sum(counts)} comparisons, set by set and method by method, {counts[0]} are won, {counts[2]} lost and",
            f"{counts[1]} level; significantly (10 %) {len(clear[0])} are won ({where[0]}) and {len(clear[1])} lost",
            f"({where[1]}).",
            extremes_sentence(cells, method),
        ),
        *table_of(
            f"| {method} against | mean difference | better, same, worse | significantly better on | worse on |",
            [against_row(other, one) for other, one in found.items()],
        ),
    ]


# -- missing attributes ------------------------------------------------------------------------------------------------


def gap_text(results: list[dict | None], best: float) -> str:
    """Return accuracy, and log-loss if there is one, over some results."""
    if not results or None in results:
        return DASH
    hits = gap_accuracy(results)
    loss = [value for result in results for value in result["log_loss"]]
    text = f"**{hits:.1f}**" if hits == best else f"{hits:.1f}"
    return text if None in loss else f"{text} ({np.mean(loss):.2f})"


def gap_accuracy(results: list[dict | None]) -> float:
    """Return the mean accuracy over some results, in percent; nothing is the worst."""
    return -1.0 if None in results else round(100 * float(np.mean([result["accuracy"] for result in results])), 6)


def gap_row(run: runner.Runner, names: Sequence[str], where: str, share: float) -> str:
    """Return a row of the table: one set, or the average of several."""
    cases = [work.gap_case(name, where, share) for name in names]
    found = [[figures(run, case, method, work.MISSING_SEED) for case in cases] for method in GAP_METHODS]
    best = max(map(gap_accuracy, found))
    place = f"{share:.0%} {where}" if share else "nothing"
    return row_of(names[0] if len(names) == 1 else "average", place, *(gap_text(one, best) for one in found))


def gap_section(run: runner.Runner) -> list[str]:
    shares = [(where, share) for name, where, share in work.gap_cases() if name == work.MISSING_SETS[0]]
    groups = [*([name] for name in work.MISSING_SETS), work.MISSING_SETS]
    return [
        "### Missing attributes",
        "",
        *paragraph(
            "Cells removed at random, in the test part of a fold only or in both parts; accuracy in percent and, in",
            f"brackets, log-loss, over {work.N_FOLDS} folds. LCM(q,m;T) integrates them out; its sizes are those that",
            "the wrapper finds in the complete training part. The others replace them by means before standardising,",
            "or are boosted trees that know what to do with them.",
        ),
        *table_of(
            row_of("data set", "missing", *GAP_METHODS), [gap_row(run, names, *at) for names in groups for at in shares]
        ),
    ]


# -- seconds and targets -----------------------------------------------------------------------------------------------


def default_seconds(run: runner.Runner) -> dict[str, float]:
    """Return the processor seconds of the default fit on the first fold of each set, where they were measured."""
    found = {name: run.find(work.first_fold_case(name), work.TIED) for name in work.FILES}
    return {name: float(row["seconds"]) for name, row in found.items() if row}


def seconds_section(run: runner.Runner) -> list[str]:
    seconds = default_seconds(run)
    rows = [
        row_of(name, *(f"{number:,}" for number in work.table(name)[0].shape), f"{seconds[name]:.1f}")
        for name in sorted(seconds, key=seconds.get)
    ]
    grown = []
    for what in work.GROWTH:
        if found := figures(run, work.growth_case(what), work.STEP):
            times = listed(f"{1000 * seconds:.2f}" for seconds in found["step_seconds"])
            slopes = f"{found['slope']:.2f}", f"{found['slopes'][-1]:.2f}"
            grown.append(row_of(what, listed(f"{size:,}" for size in found["sizes"]), times, *slopes))
    base = listed(f"{size:,} {what}" for what, size in work.BASE.items())
    return [
        "### Seconds",
        "",
        "The default fit on the first fold of each set, with its search for sizes, in seconds of one processor:",
        "",
        *table_of("| set | rows | attributes | seconds |", rows),
        f"One iteration of EM with one model; of {base}, one is changed:",
        "",
        *table_of("| what | sizes | ms | slope on log-log scales | of the last step |", grown),
    ]


def accuracy_targets(cells: Cells) -> list[str]:
    rows = []
    for method, least in LEAST_MEAN.items():
        met = average(cells, method) >= least if None not in by_seed(cells, method) else None
        reached = f"{average(cells, method):.2f}{fewer(len(cells[method]), N_SETS)}" if cells[method] else DASH
        rows.append(row_of(f"{method}: mean over {N_SETS} sets", f"at least {least}", reached, verdict(met)))
    for name, least in LEAST_ON.items():
        cell = cells[work.TIED].get(name, {})
        reached = f"{accuracy(cell):.2f}{fewer(len(cell), N_SEEDS)}" if cell else DASH
        met = accuracy(cell) >= least if len(cell) == N_SEEDS else None
        rows.append(row_of(f"{work.TIED}: {name}", f"at least {least}", reached, verdict(met)))
    return rows


def seconds_targets(run: runner.Runner) -> list[str]:
    one_step = figures(run, work.STEP_CASE, work.STEP)
    fits = [found["seconds"] for seed in work.SEEDS if (found := figures(run, work.FIT_CASE, work.TIED, seed))]
    seconds = default_seconds(run)
    default, whole = max(seconds.values(), default=None), len(seconds) == N_SETS
    rows = [
        (work.STEP_CASE, "ms", STEP_MS, 1000 * one_step["seconds"] if one_step else None, True),
        (f"{work.FIT_CASE}: slowest of {len(fits)}", "s", DRAWN_SECONDS, max(fits, default=None), True),
        (f"Slowest default fit of the {N_SETS} sets", "s", FIT_SECONDS, default, whole),
    ]
    texts = []
    for what, unit, most, value, done in rows:
        reached = DASH if value is None else f"{value:.3g} {unit}{'' if done else ' so far'}"
        met = None if value is None or not done else value < most
        texts.append(row_of(what, f"under {most} {unit}", reached, verdict(met)))
    return texts


def page(run: runner.Runner) -> str:
    """Return the section for the page of benchmarks."""
    cells = collected(run)
    found = {name: standings(cells, name) for name in work.FILES}
    versions = "; ".join(sorted({row["versions"] for row in run.rows}))
    lines = [
        "## Latent classification models",
        "",
        *paragraph(
            "LatentClassificationModel with default settings unless said otherwise; one thread. Langseth and Nielsen,",
            f"Latent classification models. Written by `python -m benchmarks.classification`. Versions: {versions}.",
            "Accuracies were measured beside other work. All of ours is as it is now, but for LCM(q,m;U), which was",
            "measured before sizes were compared on more folds and before models of one component let classes borrow",
            "variances from each other (`shrinkage`, which the paper does not have). Before both, LCM(q) had 80.7 and",
            "LCM(q,m;T) 83.4.",
        ),
        *table_of("| what | target | reached | |", [*accuracy_targets(cells), *seconds_targets(run)]),
        *accuracy_section(cells, found),
        *summary_section(cells, found),
        "### Where ours wins and where it loses",
        "",
        *standing_section(cells, work.TIED),
        *standing_section(cells, work.LINEAR),
        *loss_section(cells),
        *sizes_section(cells),
        *gap_section(run),
        *seconds_section(run),
    ]
    return "\n".join(lines)
