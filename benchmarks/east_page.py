"""The page about EAST: its targets, true models, other methods, the papers' tables, and how steps grow with columns."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from benchmarks import east, runner
from benchmarks.binary_forests_page import row_of, spread, table_of

#: The day from which on EAST searches trees in which columns may stand anywhere, from several starts.
ANYWHERE_SINCE = "2026-11-17"
#: Methods that are EAST, with its settings of the day, all but where it begins or what it maximises.
PRESENT = ("EAST", east.PREDICTIVE, east.FROM_BING)

# -- what was measured -------------------------------------------------------------------------------------------------


def there(run: runner.Runner, case: str, method: str) -> list[int]:
    """Return the seeds that were measured."""
    return [seed for seed in east.DRAWS if run.find(case, method, seed)]


def values(run: runner.Runner, case: str, method: str, name: str, seeds: Iterable[int] | None = None) -> np.ndarray:
    """Return a figure, or the seconds, for some seeds, or for all that were measured."""
    seeds = there(run, case, method) if seeds is None else seeds
    if name == "seconds":
        return np.array([run.seconds(case, method, seed) for seed in seeds])
    return np.array([run.figure(case, method, name, seed) for seed in seeds])


def n_stopped(run: runner.Runner, case: str, method: str) -> int:
    return sum(word is not None for word in values(run, case, method, "stopped"))


def measured(run: runner.Runner) -> list[tuple[int, int]]:
    """Return the synthetic cases for which EAST was run."""
    return [model for model in east.SYNTHETIC if there(run, east.synthetic_case(*model), "EAST")]


# -- words -------------------------------------------------------------------------------------------------------------


def prose(*sentences: str) -> list[str]:
    """Return sentences as lines, with an empty one after them."""
    return [*textwrap.wrap(" ".join(sentence for sentence in sentences if sentence), 116), ""]


def met(reached: bool, complete: bool) -> str:
    return ("met" if reached else "**missed**") if complete else "not all measured"


def than(difference: float, form: str = ",.0f") -> str:
    """Return how two figures compare.

    >>> than(-12.3), than(0.01)
    ('12 lower than', 'the same as')
    """
    size = format(abs(difference), form)
    same = float(size.replace(",", "")) == 0
    return "the same as" if same else f"{size} {'higher' if difference > 0 else 'lower'} than"


# -- targets -----------------------------------------------------------------------------------------------------------


def synthetic_goals(run: runner.Runner) -> list[tuple[str, str, str, str]]:
    """Return what true models should reach: what, target, reached, and whether it was."""
    found = []
    for model in measured(run):
        case, goal = east.synthetic_case(*model), east.SYNTHETIC[model]
        gaps, seconds = values(run, case, "EAST", "difference"), values(run, case, "EAST", "seconds")
        complete = len(gaps) == len(east.DRAWS)
        if goal.draws is None:
            target, reached = "mean BIC at least the oracle's", f"{gaps.mean():+.1f}"
            good = gaps.mean() >= -goal.below
        else:
            count = int((gaps >= -goal.below).sum())
            target = f"BIC at most {goal.below:g} below the oracle's in {goal.draws} of {len(east.DRAWS)} draws"
            reached, good = f"{count} of {len(gaps)}", count >= goal.draws
        found.append((case, target, reached, met(good, complete)))
        if goal.seconds is not None:
            good = seconds.mean() <= goal.seconds
            found.append((case, f"mean {goal.seconds:g} s", f"{seconds.mean():.1f} s", met(good, complete)))
    return found


def coil_goals(run: runner.Runner) -> list[tuple[str, str, str, str]]:
    """Return what COIL-42 should reach."""
    names = ("bic", "seconds", "log_score_smoothed", "log_score")
    bics, seconds, smooth, plain = (values(run, east.COIL, "EAST", name) for name in names)
    if not len(bics):
        return []
    mean, best, score, slowest = bics.mean(), bics.max(), smooth.mean(), seconds.max()
    goals = [
        (f"mean BIC at least {east.COIL_MEAN:,}", f"{mean:,.0f}", mean >= east.COIL_MEAN),
        (f"best BIC at least {east.COIL_BEST:,}", f"{best:,.0f}", best >= east.COIL_BEST),
        (
            f"mean log score at least {east.COIL_SCORE:,}",
            f"{score:,.0f} (not smoothed, possible rows only: {plain.mean():,.0f})",
            score >= east.COIL_SCORE,
        ),
        (f"each fit within {east.COIL_ALLOWED} s", f"at most {slowest:.0f} s", slowest <= east.COIL_ALLOWED),
    ]
    complete = len(bics) == len(east.COIL_SEEDS["EAST"])
    found = [(east.COIL, target, reached, met(good, complete)) for target, reached, good in goals]
    predictive = values(run, east.COIL, east.PREDICTIVE, "log_score_smoothed")
    if len(predictive):
        target = f"rows held out: mean log score at least {east.COIL_PREDICTIVE_SCORE:,}"
        reached = predictive.mean() >= east.COIL_PREDICTIVE_SCORE
        complete = len(predictive) == len(east.COIL_SEEDS[east.PREDICTIVE])
        found.append((east.COIL, target, f"{predictive.mean():,.0f}", met(reached, complete)))
    return found


def targets(run: runner.Runner) -> list[str]:
    """Return the table of targets."""
    goals = [*synthetic_goals(run), *coil_goals(run)]
    if not goals:
        return []
    n_met = sum(word == "met" for *_, word in goals)
    missed = "; ".join(f"{what}: {target}" for what, target, _, word in goals if "missed" in word)
    return [
        *table_of("| what | target | reached | |", [row_of(*goal) for goal in goals]),
        *prose(f"{n_met} of {len(goals)} targets are met.", f"Missed: {missed}." if missed else ""),
    ]


# -- true models -------------------------------------------------------------------------------------------------------


def synthetic_row(run: runner.Runner, model: tuple[int, int]) -> str:
    case, goal = east.synthetic_case(*model), east.SYNTHETIC[model]
    names = ("difference", "seconds", "kl_smoothed", "oracle_kl_smoothed", "impossible", "same_tree")
    gaps, seconds, ours, oracles, impossible, same = (values(run, case, "EAST", name) for name in names)
    within = f"{int((gaps >= -goal.below).sum())} of {len(gaps)} (at most {goal.below:g} below)"
    cells = [f"{seconds.mean():.1f}, {seconds.max():.1f}", within, f"{gaps.mean():+.2f}, {gaps.min():+.2f}"]
    cells += [f"{ours.mean():.4f}", f"{oracles.mean():.4f}", f"{impossible.sum()}", f"{same.sum()} of {len(gaps)}"]
    return row_of(case, *cells, f"{goal.paper[0]}, {goal.paper[1]}", "" if goal.java is None else f"{goal.java}")


def synthetic(run: runner.Runner) -> list[str]:
    """Return how close EAST comes to true models."""
    models = measured(run)
    if not models:
        return []
    cases = [east.synthetic_case(*model) for model in models]
    gaps = np.concatenate([values(run, case, "EAST", "difference") for case in cases])
    same = np.concatenate([values(run, case, "EAST", "same_tree") for case in cases])
    ours, oracles = (
        [values(run, case, "EAST", name).mean() for case in cases] for name in ("kl_smoothed", "oracle_kl_smoothed")
    )
    closer = [case for case, mine, best in zip(cases, ours, oracles, strict=True) if mine <= best]
    return [
        "### True models",
        "",
        *prose(
            f"`hlc_model`, whose observed variables have three states; {len(east.DRAWS)} draws of parameters and",
            "rows each. The oracle is EM from the true parameters, on the true structure made regular; its BIC can be",
            "surpassed, as few rows may not be worth all states of the true model. Empirical KL is the mean of",
            f"log p(row) - log q(row) over {east.TEST_ROWS:,} new rows, in nats, p the true and q the learned model.",
            "For it, EM goes on from the learned tables with a pseudo-count of",
            f"{east.pseudo_counts(run.rows)} per entry, so that no row is impossible; how many would be",
            "without, over all draws, is given. *True tree*: edges",
            "between hidden variables split the columns as those of the true structure do, whatever the numbers of",
            "states. The paper's figures are those of EAST-RL(8, 40) on other models of the same sizes, on a Core 2 at",
            "2.4 GHz, so that they show orders of magnitude only. The last column is about what the public Java",
            "implementation of the same search takes on one core.",
        ),
        *table_of(
            "| model | seconds: mean, most | draws within the target | BIC less the oracle's: mean, worst | emp-KL |"
            " oracle's | impossible rows | true tree | paper: emp-KL, time | Java: CPU seconds |",
            [synthetic_row(run, model) for model in models],
        ),
        *prose(
            f"BIC is at least the oracle's (within 0.1) in {(gaps >= -0.1).sum()} of {len(gaps)} draws; the worst",
            f"difference is {gaps.min():+.1f}. The true tree is found in {same.sum()} of {len(same)}.",
            f"Mean emp-KL is at most the oracle's in {len(closer)} of {len(cases)} cases; the largest difference,",
            f"ours less the oracle's, is {max(np.subtract(ours, oracles)):+.4f}.",
        ),
    ]


# -- other methods -----------------------------------------------------------------------------------------------------


def shared(run: runner.Runner) -> list[tuple[str, list[str], list[int]]]:
    """Return the cases in which learners can be compared, those that were run, and the draws they have in common."""
    found = []
    for case in (east.synthetic_case(*model) for model in measured(run)):
        methods = [method for method in east.COMPARED if there(run, case, method)]
        draws = set.intersection(*(set(there(run, case, method)) for method in (east.ORACLE, *methods)))
        if draws and len(methods) > 1:
            found.append((case, methods, sorted(draws)))
    return found


def compared_row(run: runner.Runner, case: str, method: str, draws: list[int]) -> str:
    def mean(name: str) -> float:
        return float(values(run, case, method, name, draws).mean())

    gap = trees = ""
    if method != east.ORACLE:
        gaps = values(run, case, method, "difference", draws)
        gap = f"{gaps.mean():+,.1f}, {gaps.min():+,.1f}"
        trees = f"{values(run, case, method, 'same_tree', draws).sum()} of {len(draws)}"
    score, seconds = f"{mean('log_score_smoothed') / east.TEST_ROWS:.4f}", f"{mean('seconds'):.2f}"
    return row_of(f"{case}: {_span(draws)}", method, gap, score, seconds, f"{mean('latents'):.1f}", trees)


def n_won(run: runner.Runner, name: str) -> int:
    """Return in how many cases EAST has the highest mean of a figure, or one that is less than 0.1 lower."""
    means = [
        {method: values(run, case, method, name, draws).mean() for method in methods}
        for case, methods, draws in shared(run)
    ]
    return sum(bool(mean["EAST"] > max(mean.values()) - 0.1) for mean in means)


def comparison(run: runner.Runner) -> list[str]:
    """Return EAST beside other methods."""
    cases = shared(run)
    if not cases:
        return []
    rows = [
        compared_row(run, case, method, draws) for case, methods, draws in cases for method in (east.ORACLE, *methods)
    ]
    return [
        "### Other methods on the same draws",
        "",
        *prose(
            "Means over the draws that all methods have in common, which the first column names. `EAST` is as it",
            'comes, `EAST, rl` has `evaluation="rl"`, `n_starts=8` and `n_steps=40`, a setting of the paper, and',
            f'`EAST, dc` has `evaluation="dc"`. From {east.LONG_VARIABLES} variables on, `{east.RL}` ran for draws',
            f"{_span(east.LONG_DRAWS)} only. Log scores are means over test rows, in nats, smoothed as above.",
        ),
        *table_of(
            "| model: draws | method | BIC less the oracle's: mean, worst | log score per row | seconds |"
            " hidden variables | true tree |",
            rows,
        ),
        *prose(
            f"EAST has the highest mean BIC of the learners in {n_won(run, 'bic')} of {len(cases)} cases, and the",
            f"highest held-out log score in {n_won(run, 'log_score_smoothed')} of {len(cases)}; a sum over all rows",
            "that is less than 0.1 lower counts as the same.",
        ),
    ]


def _span(draws: Iterable[int]) -> str:
    draws = list(draws)
    whole = len(draws) > 1 and draws == list(range(draws[0], draws[-1] + 1))
    return f"{draws[0]} to {draws[-1]}" if whole else ", ".join(map(str, draws))


# -- tables of the papers ----------------------------------------------------------------------------------------------


def coil_row(run: runner.Runner, method: str) -> str:
    names = ("bic", "seconds", "log_score_smoothed", "log_score", "impossible", "latents")
    bics, seconds, smooth, plain, impossible, latents = (values(run, east.COIL, method, name) for name in names)
    stopped = n_stopped(run, east.COIL, method)
    cells = [f"{len(bics)}", f"{bics.mean():,.0f}", spread(bics), f"{smooth.mean():,.0f}", f"{plain.mean():,.0f}"]
    cells += [spread(impossible), spread(latents), f"{seconds.mean():.1f}, {seconds.max():.1f}"]
    return row_of(method, *cells, f"{stopped} of {len(bics)}" if stopped else "")


def coil(run: runner.Runner) -> list[str]:
    """Return the table of COIL-42."""
    methods = [method for method in east.COIL_SEEDS if there(run, east.COIL, method)]
    if not methods:
        return []
    rows = [coil_row(run, method) for method in methods]
    rows += [row_of(name, "", bic, "", score, "", "", "", t, "") for name, (bic, score, t) in east.COIL_PAPER.items()]
    means = {method: values(run, east.COIL, method, "bic").mean() for method in methods}
    best = max(means, key=means.get)
    text = f"The highest mean BIC is that of `{best}`, {than(means[best] - east.COIL_MEAN)} the paper's best mean."
    if "EAST" in means and len(means) > 1:
        other = max((method for method in means if method != "EAST"), key=means.get)
        text += f" That of `EAST` is {than(means['EAST'] - means[other])} that of `{other}`, the best of the others."
    return [
        "### COIL-42",
        "",
        *prose(
            "5,822 customers of an insurance company, 42 columns, and 4,000 further customers to test with. The log",
            "score is the sum over all test rows of log p, after EM with a pseudo-count of",
            f"{east.pseudo_counts(run.rows)} per table entry; the next column has it without, for the rows that",
            "are then possible. The paper does not say",
            "what it did about impossible rows, if there were any. In brackets its standard deviations over five runs.",
            f"All methods but EAST itself had a time limit of {east.COIL_SECONDS} seconds; the last column says how",
            "many fits it ended.",
        ),
        *table_of(
            "| method | seeds | BIC: mean | worst to best | log score: mean | of possible rows | impossible rows |"
            " hidden variables | seconds: mean, most | stopped |",
            rows,
        ),
        *prose(text),
    ]


def news(run: runner.Runner) -> list[str]:
    """Return the newsgroups' table."""
    methods = [method for method in east.ON_NEWS if there(run, east.NEWS, method)]
    if not methods:
        return []
    bics = {method: run.figure(east.NEWS, method, "bic") for method in methods}
    rows = []
    for method in sorted(methods, key=bics.get, reverse=True):
        seconds = f"{run.seconds(east.NEWS, method):.1f}{' (stopped)' if n_stopped(run, east.NEWS, method) else ''}"
        figures = json.loads(run.find(east.NEWS, method)["figures"])
        early = f"{figures['early']:,.0f}" if figures.get("early") is not None else ""
        rows.append(row_of(method, f"{bics[method]:,.0f}", f"{figures['latents']}", seconds, early))
    text = [f"The highest BIC is that of `{max(bics, key=bics.get)}`."]
    for left, right in ((east.FROM_BING, east.BING), (east.FROM_BING, "EAST")):
        if left in bics and right in bics:
            text.append(f"The BIC of `{left}` is {than(bics[left] - bics[right])} that of `{right}`.")
    return [
        "### 20 newsgroups",
        "",
        *prose(
            "16,242 messages, 100 words that occur or not. Seed 0,",
            f"a time limit of {east.NEWS_SECONDS:,} seconds, and of",
            f"{east.EAST_NEWS_SECONDS:,} for `EAST`.",
        ),
        *table_of(f"| method | BIC | hidden variables | seconds | BIC after {east.NEWS_EARLY} seconds |", rows),
        *prose(*text),
    ]


# -- more columns ------------------------------------------------------------------------------------------------------


GROWING = ("step_seconds", "mean_step_seconds", "seconds")


def powers(run: runner.Runner, name: str) -> dict[int, float]:
    """Return the power of the number of columns with which a figure grows, up to each number of columns."""
    known = {}
    for n_columns in east.GROWTH_COLUMNS:
        case = east.grown_case(n_columns)
        seconds = values(run, case, "EAST", name)
        if len(seconds) and seconds[0] and not (name == "seconds" and n_stopped(run, case, "EAST")):
            known[n_columns] = seconds[0]
    return {
        after: float(np.log(known[after] / known[before]) / np.log(after / before)) for before, after in pairwise(known)
    }


def growth_row(run: runner.Runner, n_columns: int) -> str:
    case = east.grown_case(n_columns)
    names = (*GROWING, "steps", "seconds_after", "latents", "true_latents", "same_tree")
    shown = {name: values(run, case, "EAST", name)[0] for name in names}
    cells = []
    for name in GROWING:
        power = powers(run, name).get(n_columns)
        cells += ["" if shown[name] is None else f"{shown[name]:.3g}", "" if power is None else f"{power:.1f}"]
    cells[-2] += " (stopped)" if n_stopped(run, case, "EAST") else ""
    hidden, same = f"{shown['latents']} ({shown['true_latents']})", "yes" if shown["same_tree"] else "no"
    return row_of(f"{n_columns}", f"{shown['steps']}", *cells, f"{shown['seconds_after']:.3g}", hidden, same)


def growth(run: runner.Runner) -> list[str]:
    """Return how steps grow."""
    sizes = [n_columns for n_columns in east.GROWTH_COLUMNS if there(run, east.grown_case(n_columns), "EAST")]
    if not sizes:
        return []
    rows = [growth_row(run, n_columns) for n_columns in sizes]
    words = dict(zip(GROWING, ("those of the median step", "of the mean step", "of the whole fit"), strict=True))
    grown = {word: list(powers(run, name).values()) for name, word in words.items()}
    text = ", ".join(f"{word} to the power of {spread(found, '.1f')}" for word, found in grown.items() if found)
    text = f"Seconds grow with the number of columns, {text}." if text else ""
    return [
        "### More and more columns",
        "",
        *prose(
            f"{east.GROWTH_ROWS:,} rows of columns with two and three states, five below each hidden variable of three",
            "states, and these below one more. Seconds are those of an accepted step, then of the whole fit, the last",
            "part of which looks in vain for another step; powers are those of the number of columns, from the row",
            f"above. Time limit {east.GROWTH_SECONDS} seconds: a fit that it stopped has no power. In brackets the",
            "hidden variables of the true structure.",
        ),
        *table_of(
            "| columns | steps | median step: seconds | power | mean step: seconds | power | fit: seconds | power |"
            " after the last step: seconds | hidden variables | true tree |",
            rows,
        ),
        *prose(text),
    ]


def measured_before(run: runner.Runner) -> str:
    """Say which figures are of EAST as it was before columns could stand anywhere."""
    old = [row for row in run.rows if row["method"] in PRESENT and row["day"] < ANYWHERE_SINCE]
    cases = sorted({f"{row['case']} ({row['method']})" for row in old})
    return f"Measured with columns as leaves, before this was the default: {', '.join(cases)}." if cases else ""


def page(run: runner.Runner) -> str:
    """Return the section for the page of benchmarks."""
    versions = "; ".join(sorted({row["versions"] for row in run.rows}))
    lines = [
        "## EAST",
        "",
        *prose(
            "Chen, Zhang and Wang, Efficient model evaluation in the search-based approach to latent structure",
            "discovery. Natural logarithms, larger BIC and log scores are better; one thread, default settings unless",
            "said otherwise; CPU seconds, of rows that are new since columns may stand anywhere on a machine that was",
            "also doing other work.",
            measured_before(run),
        ),
        f"Written by `python -m benchmarks.east`. Versions: {versions}.",
        "",
    ]
    for part in (targets, synthetic, comparison, coil, news, growth):
        lines += part(run)
    return "\n".join(lines)
