"""BinG and BinA against the tables of their paper; how they grow with columns; the words of the newsgroups.

Needs the papers' data sets. One thread; about half an hour without simplified forests, which take longer. ``--only``
takes any part of "case | method" as it is printed: ``Table 2``, ``Growth``, ``NEWS20W100``, ``COIL``,
``COIL-42 | BIN-G``, ``simplified``.
"""

from __future__ import annotations

import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import Baseline, BinA, BinG, LatentTree, datasets, log_likelihood, mutual_information

SEEDS = range(5)
FORESTS = ("BIN-G", "BIN-A")
SIMPLIFIED = ("BIN-G, simplified", "BIN-A, simplified")
BASELINES = {"IND": "independence", "CL": "chow_liu", "LCM": "latent_class"}
#: Seconds for the latent class model of the newsgroups, which would take long.
LCM_SECONDS = 30

NEWS, COIL42, COIL86 = "NEWS20W100", "COIL-42", "COIL-86"
#: Name -> file, and for each method the paper's figure (log-likelihood for the newsgroups, else BIC) and seconds.
WHOLE = {
    NEWS: (
        "news20w100.csv.gz",
        {
            "IND": (-255_614, 0.1), "CL": (-238_713, 9), "LCM": (-223_046, 42_298),
            "BIN-G": (-231_764, 4_008), "BIN-A": (-232_166, 884),
        },
    ),
    COIL42: (
        "coil42_train.csv.gz",
        {
            "IND": (-79_844, 0.04), "CL": (-52_183, 1), "LCM": (-67_145, 13_155),
            "BIN-G": (-53_533, 506), "BIN-A": (-53_783, 88),
        },
    ),
    COIL86: (
        "coil86_train.csv.gz",
        {
            "IND": (-483_256, 0.05), "CL": (-395_703, 19), "LCM": (-456_900, 13_255),
            "BIN-G": (-375_597, 23_589), "BIN-A": (-390_597, 9_799),
        },
    ),
}  # fmt: skip

#: Pseudo-count of every table entry in the cross-validation.
PRIOR = 0.01
N_FOLDS = 10
#: Name -> file or coins; the paper's mean and standard deviation over folds of IND, CL, BIN-G, BIN-A (its table 2), and
#: its seconds of BIN-G and BIN-A (table 3).
FOLDED = {
    "BINARY-FOREST": (
        "binary_forest", ((-832.84, 1.72), (-556.57, 1.78), (-555.16, 1.46), (-555.16, 1.46)), (3.70, 2.78),
    ),
    "THREE-LEVEL-BINARY": (
        "three_level_binary", ((-833.32, 2.44), (-488.56, 2.50), (-486.36, 1.61), (-486.36, 1.61)), (2.81, 2.82),
    ),
    "THREE-COINS": (
        "three_coins", ((-416.65, 1.20), (-278.17, 0.88), (-347.29, 1.23), (-347.29, 1.23)), (1.19, 1.13),
    ),
    "SIX-COINS": (
        "six_coins", ((-834.24, 2.08), (-488.80, 2.86), (-556.45, 1.55), (-556.45, 1.55)), (3.36, 2.73),
    ),
    "COLEMAN": (
        "coleman.csv", ((-460.79, 9.12), (-426.26, 4.71), (-425.15, 4.66), (-425.15, 4.66)), (8.07, 7.32),
    ),
    "HIV-TEST": (
        "hiv_test.csv", ((-57.89, 4.02), (-32.99, 5.44), (-32.77, 5.39), (-32.77, 5.39)), (0.42, 0.28),
    ),
    "HOUSE-BUILDING": (
        "house_building.csv", ((-162.62, 2.55), (-147.96, 4.67), (-145.51, 5.15), (-145.51, 5.15)), (1.55, 1.03),
    ),
    "HANNOVER-5": (
        "hannover5.csv", ((-878.00, 42.55), (-777.98, 40.23), (-764.63, 41.10), (-764.65, 41.11)), (25.13, 22.05),
    ),
    "HANNOVER-8": (
        "hannover8.csv", ((-1417.52, 68.93), (-1162.82, 60.46), (-1129.16, 55.61), (-1129.15, 55.63)), (32.97, 30.96),
    ),
    "CAR-EVALUATION": (
        "car.csv", ((-717.56, 13.30), (-679.24, 10.03), (-689.73, 10.21), (-689.73, 10.21)), (3.60, 2.90),
    ),
}  # fmt: skip
FOLDED_METHODS = ("IND", "CL", *FORESTS)

GROWTH_COLUMNS, GROWTH_ROWS = (100, 400, 1_600), 5_000
INFORMATION = "mutual information"

#: Section 3.1 of the paper.
TOPICS = {
    "medicine": "doctor medicine disease patients cancer studies aids health insurance",
    "sports": "puck hit won win fans league nhl games baseball hockey players season team",
    "politics/religion": "children human president gun state law government rights israel jews war world religion "
    "christian bible god jesus evidence fact",
    "computer": "email phone help problem technology computer science data system mac scsi disk drive memory graphics "
    "card video pc software driver ftp version program files dos windows format image display server",
    "spaceflight": "mars satellite lunar moon launch shuttle nasa space earth orbit mission solar",
    "car": "oil bmw honda dealer car engine",
}


# -- tables and learners -----------------------------------------------------------------------------------------------


@cache
def whole_table(name: str) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return a table and the weights of its rows."""
    frame = pd.read_csv(runner.DATA / WHOLE[name][0]).drop(columns="newsgroup", errors="ignore")
    weights = frame.pop("count") if "count" in frame else None
    return frame, weights


def folded_table(name: str, seed: int) -> pd.DataFrame:
    """Return the rows that are cut into folds, in random order: all of the coins, half of any other table."""
    source = FOLDED[name][0]
    rng = np.random.default_rng(seed)
    if not source.endswith(".csv"):
        return datasets.coins(source, random_state=rng)
    frame = pd.read_csv(runner.DATA / source)
    if "count" in frame:
        frame = frame.loc[frame.index.repeat(frame.pop("count"))]
    frame = frame.astype("category")  # the states of the whole table, whichever half is drawn
    half = rng.permutation(len(frame))[: (len(frame) + 1) // 2]
    return frame.iloc[half].reset_index(drop=True)


def folds(n_rows: int) -> list[np.ndarray]:
    """Return the held-out rows of each fold; the last one takes the remainder."""
    size = n_rows // N_FOLDS
    return np.split(np.arange(n_rows), [size * number for number in range(1, N_FOLDS)])


def grown_table(n_columns: int, seed: int = 0) -> tuple[pd.DataFrame, int, int]:
    """Draw from a random forest; return the table and how many hidden variables and trees there are.

    About eight columns stand under a hidden variable, and about eight of these under another, which is a fair coin. A
    variable differs from the one above it with a probability between 0.05 and 0.3.
    """
    rng = np.random.default_rng(seed)
    above = _owners(n_columns, rng)
    top = _owners(above[-1] + 1, rng)
    tops = rng.integers(0, 2, size=(GROWTH_ROWS, top[-1] + 1), dtype=np.int8)
    states = _noisy(_noisy(tops[:, top], rng)[:, above], rng)
    frame = pd.DataFrame(states, columns=[f"x{at:04d}" for at in range(n_columns)])
    return frame, len(top) + tops.shape[1], tops.shape[1]


def _owners(n: int, rng: np.random.Generator) -> np.ndarray:
    """Put n variables into groups of six to ten; return the group of each."""
    return np.repeat(np.arange(n), rng.integers(6, 11, size=n))[:n]


def _noisy(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.uniform(0.05, 0.3, size=states.shape[1])
    return states ^ (rng.random(states.shape) < noise)


def learner(method: str, seed: int, prior: float | None = None):
    """Return the learner that the paper, or this script, calls so."""
    if method in BASELINES:
        limit = LCM_SECONDS if method == "LCM" else None
        options = {"prior": prior, "random_state": seed, "time_limit": limit, "show_progress": False}
        return Baseline(BASELINES[method], **options)
    kind = BinG if method.startswith("BIN-G") else BinA
    return kind(simplify=method in SIMPLIFIED, prior=prior, random_state=seed, show_progress=False)


# -- measuring ---------------------------------------------------------------------------------------------------------


def on_whole(name: str, method: str, seed: int) -> dict:
    """Learn from a whole table."""
    frame, weights = whole_table(name)
    began = time.perf_counter()
    found = learner(method, seed).fit(frame, sample_weight=weights)
    seconds = time.perf_counter() - began
    n_rows = len(frame) if weights is None else weights.sum()
    mixed = found.log_likelihood_ - found.n_parameters_ / 2 * np.log2(n_rows)
    kept = {"mixed": float(mixed), "stopped": found.stopped_, "seconds": seconds, **figures(found)}
    if name == NEWS and seed == 0 and method.startswith("BIN-"):
        kept["forest"] = nested(found.tree_)
    return kept


def figures(found) -> dict:
    """Return what is kept of a learned model."""
    return {
        "log_likelihood": found.log_likelihood_,
        "bic": found.bic_,
        "parameters": found.n_parameters_,
        "hidden": len(found.latents_),
        "roots": len(found.tree_.roots),
    }


def on_folds(name: str, method: str, seed: int, prior: float | None) -> dict:
    """Return the log-likelihood of each held-out fold, and the mean seconds of a fit."""
    frame = folded_table(name, seed)
    scores, seconds = [], []
    for held_out in folds(len(frame)):
        began = time.perf_counter()
        found = learner(method, seed, prior).fit(frame.drop(index=held_out))
        seconds.append(time.perf_counter() - began)
        scores.append(round(log_likelihood(found.tree_, frame.iloc[held_out], unseen="error"), 4))
    return {"scores": scores, "seconds": float(np.mean(seconds))}


def on_grown(n_columns: int) -> dict:
    """Learn from a table of many columns."""
    frame, hidden, trees = grown_table(n_columns)
    began = time.perf_counter()
    found = learner("BIN-G", 0).fit(frame)
    return {"seconds": time.perf_counter() - began, "true_hidden": hidden, "true_trees": trees, **figures(found)}


def information_of_grown(n_columns: int) -> dict:
    """Time the mutual information of all pairs of columns alone; the fastest of three."""
    frame = grown_table(n_columns)[0]
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        mutual_information(frame)
        seconds.append(time.perf_counter() - began)
    return {"seconds": min(seconds)}


def folded_case(name: str, prior: float | None = PRIOR) -> str:
    return f"Table 2: {name}" if prior else f"Table 2 without prior: {name}"


def grown_case(n_columns: int) -> str:
    return f"Growth: {n_columns:,} columns"


Job = tuple[str, str, int, Callable[[], dict]]


def seeds_of(name: str, method: str) -> range:
    """Return the seeds: one for baselines, which draw nothing or take long, and for the longest fits."""
    return range(1) if method in BASELINES or (name == COIL86 and method in SIMPLIFIED) else SEEDS


def whole_jobs(*methods: str) -> Iterator[Job]:
    for method in methods:
        for name in WHOLE if method != "LCM" else (NEWS,):
            for seed in seeds_of(name, method):
                yield name, method, seed, partial(on_whole, name, method, seed)


def folded_jobs(prior: float | None) -> Iterator[Job]:
    for name in FOLDED:
        for method in FOLDED_METHODS:
            for seed in SEEDS:
                yield folded_case(name, prior), method, seed, partial(on_folds, name, method, seed, prior)


def grown_jobs() -> Iterator[Job]:
    for n_columns in GROWTH_COLUMNS:
        yield grown_case(n_columns), INFORMATION, 0, partial(information_of_grown, n_columns)
        yield grown_case(n_columns), "BIN-G", 0, partial(on_grown, n_columns)


def jobs() -> Iterator[Job]:
    """Return all that is to be measured: case, method, seed and work."""
    yield from whole_jobs(*BASELINES, *FORESTS)
    yield from grown_jobs()
    yield from folded_jobs(PRIOR)
    yield from folded_jobs(None)
    yield from whole_jobs(*SIMPLIFIED)


def measure(run: runner.Runner, only: str) -> None:
    """Run everything that is not there yet."""
    for case, method, seed, work in jobs():
        if only in f"{case} | {method}" and not run.find(case, method, seed):
            run.compare(case, {method: work}, seed=seed, repeats=1)


# -- trees as text -----------------------------------------------------------------------------------------------------


def nested(tree: LatentTree) -> list:
    """Return a list per tree: names of columns, and a list for every hidden variable below."""

    def below(node: int):
        parts = [below(child) for child in tree.child_lists[node]]
        if tree.latent[node]:
            return parts
        return [tree.names[node], *parts] if parts else tree.names[node]

    return [below(root) for root in tree.roots]


def brackets(part) -> str:
    """Return a tree as text.

    >>> brackets(["a", ["b", "c"]])
    '(a (b c))'
    """
    return part if isinstance(part, str) else f"({' '.join(map(brackets, part))})"


def words(part) -> frozenset[str]:
    """Return the columns of a tree."""
    return frozenset([part]) if isinstance(part, str) else frozenset().union(*map(words, part))


def sides(forest: list) -> set[frozenset[str]]:
    """Return the columns on either side of every edge, and those of every tree."""
    found = set()

    def visit(part, whole: frozenset[str]) -> None:
        own = words(part)
        found.update({own, whole - own} - {frozenset()})
        if not isinstance(part, str):
            for child in part:
                visit(child, whole)

    for tree in forest:
        visit(tree, words(tree))
    return found


def closest(forest: list, topic: frozenset[str]) -> tuple[float, frozenset[str]]:
    """Return the largest share of common words among all words, and the smallest side that has it."""

    def overlap(side: frozenset[str]) -> float:
        return len(side & topic) / len(side | topic)

    best = min(sides(forest), key=lambda side: (-overlap(side), len(side), sorted(side)))
    return overlap(best), best


# -- the page ----------------------------------------------------------------------------------------------------------


def values(run: runner.Runner, case: str, method: str, name: str) -> list:
    """Return a figure, or the seconds, for all seeds that are there."""
    there = [seed for seed in SEEDS if run.find(case, method, seed)]
    if name == "seconds":
        return [run.seconds(case, method, seed) for seed in there]
    return [run.figure(case, method, name, seed) for seed in there]


def spread(numbers: list, form: str = ",.0f") -> str:
    """Return the least and the largest of some numbers, or the one that they are."""
    low, high = format(min(numbers), form), format(max(numbers), form)
    return low if low == high else f"{low} to {high}"


def table_of(head: str, rows: list[str]) -> list[str]:
    """Return a table, with an empty line after it."""
    return [head, "|---" * (head.count("|") - 1) + "|", *rows, ""]


def row_of(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def bounds(run: runner.Runner) -> list[tuple[str, str, str, float, float]]:
    """Return the targets for whole tables: case, method, figure, least value, most seconds."""
    found = [
        (NEWS, "BIN-G", "log_likelihood", -231_764, 20),
        (NEWS, "BIN-A", "log_likelihood", -231_000, 10),
        (NEWS, "BIN-G, simplified", "bic", -232_300, np.inf),
        *((COIL42, method, "mixed", -53_533, 10) for method in FORESTS),
    ]
    if chow_liu := values(run, COIL86, "CL", "bic"):
        found += [(COIL86, method, "bic", chow_liu[0] + 2_000, 120) for method in FORESTS]
    return found


UNITS = {"log_likelihood": "log-likelihood", "bic": "BIC", "mixed": "BIC in the toolbox's unit"}
WHY = {
    COIL42: " (the better one of the paper's two)",
    COIL86: " (2,000 above our Chow-Liu tree)",
}


def summary_of_whole(run: runner.Runner) -> list[str]:
    rows = []
    for case, method, figure, least, most in bounds(run):
        ours = values(run, case, method, figure)
        if not ours:
            continue
        seconds = np.mean(values(run, case, method, "seconds"))
        target = f"{UNITS[figure]} at least {least:,.0f}{WHY.get(case, '')}"
        target += f", within {most} s" if np.isfinite(most) else ""
        reached = f"{np.mean(ours):,.0f} ({spread(ours)}), {seconds:.1f} s"
        rows.append(row_of(f"{case}: {method}", target, reached, _yes(np.mean(ours) >= least and seconds <= most)))
    return rows


def _yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


def summary(run: runner.Runner) -> list[str]:
    """Return the table of targets."""
    rows = summary_of_whole(run)
    verdicts = [found for name in FOLDED for method in FORESTS if (found := verdict(run, name, method))]
    if verdicts:
        counts = ", ".join(f"{verdicts.count(word)} {word}" for word in ("better", "equal", "worse"))
        target = "no cell worse than the paper's"
        rows.append(row_of("Table 2: BIN-G and BIN-A", target, counts, _yes("worse" not in verdicts)))
    for method in ("BIN-G", INFORMATION):
        factors = growth_factors(run, method)
        if factors:
            what, reached = f"Four times the columns: {method}", ", ".join(f"{factor:.1f}" for factor in factors)
            rows.append(row_of(what, "at most 20 times as long", reached, _yes(max(factors) <= 20)))
    return table_of("| what | target | reached | |", rows)


def news(run: runner.Runner) -> list[str]:
    """Return the newsgroups' table."""
    goals = {method: f"{UNITS[figure]} {least:,}" for case, method, figure, least, _ in bounds(run) if case == NEWS}
    rows = []
    for method in ("IND", "CL", "LCM", *FORESTS, *SIMPLIFIED):
        ours = values(run, NEWS, method, "log_likelihood")
        if ours:
            stopped = any(values(run, NEWS, method, "stopped"))
            rows.append(
                row_of(
                    method,
                    *paper_cells(NEWS, method),
                    f"{np.mean(ours):,.0f}",
                    spread(ours),
                    f"{np.mean(values(run, NEWS, method, 'bic')):,.0f}",
                    spread(values(run, NEWS, method, "hidden")),
                    spread(values(run, NEWS, method, "roots")),
                    f"{np.mean(values(run, NEWS, method, 'seconds')):.1f}{' (stopped)' if stopped else ''}",
                    goals.get(method, ""),
                )
            )
    return [
        "### 20 newsgroups",
        "",
        "16,242 messages, 100 words that occur or not (table 1 of the paper). LCM is the latent class model, stopped",
        f"after {LCM_SECONDS} seconds. Simplified forests (`simplify=True`) are changed for as long as BIC rises.",
        "",
        *table_of(
            "| method | paper: log-likelihood | seconds | ours: mean | worst to best | mean BIC | hidden variables |"
            " roots | seconds | target |",
            rows,
        ),
    ]


def paper_cells(name: str, method: str) -> tuple[str, str]:
    """Return the paper's figure and seconds."""
    figure, seconds = WHOLE[name][1].get(method, (None, None))
    return ("", "") if figure is None else (f"{figure:,}", f"{seconds:,}")


def coil(run: runner.Runner) -> list[str]:
    """Return the table of both insurance data sets."""
    rows = []
    for name in (COIL42, COIL86):
        for method in ("IND", "CL", "LCM", *FORESTS, *SIMPLIFIED):
            bics, mixed = values(run, name, method, "bic"), values(run, name, method, "mixed")
            figure, paper_seconds = paper_cells(name, method)
            cells = ["", "", "", "", "", ""]
            if bics:
                cells = [
                    f"{np.mean(mixed):,.0f}",
                    f"{np.mean(bics):,.0f}",
                    spread(bics),
                    spread(values(run, name, method, "parameters")),
                    spread(values(run, name, method, "hidden")),
                    f"{np.mean(values(run, name, method, 'seconds')):.1f}",
                ]
            if bics or figure:
                rows.append(row_of(name, method, figure, paper_seconds, *cells))
    return [
        "### Insurance: COIL-42 and COIL-86",
        "",
        "Table 4 of the paper prints what its toolbox computes, log-likelihood - parameters / 2 * log2(rows): nats",
        "less bits. Ours is given in this unit, to compare, and as BIC with natural logarithms. For COIL-86 the",
        "figures cannot be compared as they stand, not even in this unit: the toolbox listed more states than occur",
        f"for some columns, and counts 608 parameters for IND and 10,613 for CL{_own_parameters(run)}.",
        "",
        *table_of(
            "| table | method | paper | seconds | ours, paper's unit | BIC, mean | worst to best | parameters |"
            " hidden variables | seconds |",
            rows,
        ),
    ]


def _own_parameters(run: runner.Runner) -> str:
    ours = [values(run, COIL86, method, "parameters") for method in ("IND", "CL")]
    return f", where we count {ours[0][0]:,} and {ours[1][0]:,}" if all(ours) else ""


def fold_means(run: runner.Runner, name: str, method: str, prior: float | None = PRIOR) -> np.ndarray:
    """Return the mean over folds for every seed."""
    return np.array([np.mean(scores) for scores in values(run, folded_case(name, prior), method, "scores")])


def paper_fold(name: str, method: str) -> tuple[float, float]:
    return FOLDED[name][1][FOLDED_METHODS.index(method)]


def verdict(run: runner.Runner, name: str, method: str) -> str:
    """Compare with the paper; empty if nothing was measured."""
    ours = fold_means(run, name, method)
    if not len(ours):
        return ""
    mean, deviation = paper_fold(name, method)
    if ours.mean() > mean:
        return "better"
    return "equal" if ours.mean() >= mean - 2 * deviation / np.sqrt(N_FOLDS) else "worse"


def score_row(run: runner.Runner, name: str) -> str:
    """Return a row of the table of held-out log-likelihoods."""
    cells = []
    for method in FOLDED_METHODS:
        scores = values(run, folded_case(name), method, "scores")
        mean, deviation = paper_fold(name, method)
        ours = f"{np.mean(scores):.2f} ± {np.mean(np.std(scores, axis=1, ddof=1)):.2f}" if scores else ""
        cells += [ours, f"{mean:.2f} ± {deviation:.2f}"]
        if method in FORESTS:
            cells.append(verdict(run, name, method))
    return row_of(name, *cells)


def gain_row(run: runner.Runner, name: str) -> str:
    """Return a row of the table of gains over independence."""
    cells = []
    for at, method in enumerate(FORESTS):
        ours, alone = fold_means(run, name, method), fold_means(run, name, "IND")
        if len(ours) < 2 or len(ours) != len(alone):
            return row_of(name, *[""] * 8)
        gains = ours - alone
        paper = paper_fold(name, method)[0] - paper_fold(name, "IND")[0]
        seconds = np.mean(values(run, folded_case(name), method, "seconds"))
        cells += [f"{gains.mean():.2f} ± {gains.std(ddof=1):.2f}", f"{paper:.2f}"]
        cells += [f"{gains.mean() - paper:+.2f}", f"{seconds:.2f} ({FOLDED[name][2][at]:.2f})"]
    return row_of(name, *cells)


def prior_rows(run: runner.Runner) -> list[str]:
    """Return what maximum likelihood changes."""
    rows = []
    for name in FOLDED:
        cells = []
        for method in FOLDED_METHODS:
            plain, ours = fold_means(run, name, method, None), fold_means(run, name, method)
            scores = values(run, folded_case(name, None), method, "scores")
            if not len(plain) or len(plain) != len(ours):
                continue
            impossible = int(np.isneginf(scores).sum())
            cells.append(f"{impossible} of {np.size(scores)}; {plain.mean() - ours.mean():+.2f}")
        if len(cells) == len(FOLDED_METHODS):
            rows.append(row_of(name, *cells))
    return rows


def folded(run: runner.Runner) -> list[str]:
    """Return what belongs to the paper's table 2."""
    return [
        "### Ten data sets, ten folds",
        "",
        "Table 2 of the paper, done as its toolbox does it. Coins: 1,000 rows. Other tables: a random half (rounded",
        "up) of all rows. Ten folds, the last one with the remainder; a model of nine of them is scored by the sum of",
        "the log-likelihoods of the rows of the tenth. The seed draws the coins or the half, the folds, and starts",
        "the learner. Ours is the mean over folds, then over five seeds, ± the standard deviation over folds (its",
        f"mean over seeds). All our models have a Dirichlet pseudo-count of {PRIOR} in every entry of a table, so that",
        "no held-out row gets probability zero.",
        "",
        "*Better* is a higher mean than the paper's; *equal* is at most two of the paper's standard errors lower (its",
        f"standard deviation / √{N_FOLDS}); anything else is *worse*. The paper drew one half, ours are five others,",
        "so part of each difference is which rows were drawn, not which learner was used.",
        "",
        *table_of(
            "| table | IND | paper | CL | paper | BIN-G | paper | | BIN-A | paper | |",
            [score_row(run, name) for name in FOLDED],
        ),
        "The gain over IND on the same rows removes most of what the draw does: here ± is the standard deviation over",
        "seeds, and shows how much of it is left. Seconds are those of a fit, in brackets the paper's.",
        "",
        *table_of(
            "| table | BIN-G less IND | paper | difference | seconds | BIN-A less IND | paper | difference | seconds |",
            [gain_row(run, name) for name in FOLDED],
        ),
        "Without the pseudo-count (`prior=None`): how many folds have a row of probability zero, and what the mean",
        "changes by. EM comes close to zero without getting there, so that such rows may cost forests hundreds of",
        "nats instead.",
        "",
        *table_of("| table | IND | CL | BIN-G | BIN-A |", prior_rows(run)),
    ]


def growth_factors(run: runner.Runner, method: str) -> list[float]:
    """Return how much longer each table takes than the one before it; empty if one was not measured."""
    seconds = [values(run, grown_case(n_columns), method, "seconds") for n_columns in GROWTH_COLUMNS]
    return [after[0] / before[0] for before, after in pairwise(seconds) if before and after]


def growth(run: runner.Runner) -> list[str]:
    """Return how the seconds grow."""
    rows, before = [], {}
    for n_columns in GROWTH_COLUMNS:
        case, cells = grown_case(n_columns), []
        for method in (INFORMATION, "BIN-G"):
            seconds = values(run, case, method, "seconds")
            known = seconds and before.get(method)
            cells += [f"{seconds[0]:.3g}" if seconds else "", f"{seconds[0] / known[0]:.1f}" if known else ""]
            before[method] = seconds
        for name in ("hidden", "roots"):
            ours = values(run, case, "BIN-G", name)
            truth = values(run, case, "BIN-G", {"hidden": "true_hidden", "roots": "true_trees"}[name])
            cells.append(f"{ours[0]:,} ({truth[0]:,})" if ours else "")
        rows.append(row_of(f"{n_columns:,}", *cells))
    return [
        "### More and more columns",
        "",
        f"{GROWTH_ROWS:,} rows of binary columns, drawn from a random forest: six to ten columns under a hidden",
        "variable, six to ten of these under another one, each differing from the one above with a probability",
        "between 0.05 and 0.3. One seed. In brackets what the true forest has; a binary forest needs several hidden",
        "variables for one that has many children.",
        "",
        *table_of(
            "| columns | mutual information of all pairs: seconds | factor | BIN-G: seconds | factor |"
            " hidden variables | trees |",
            rows,
        ),
    ]


def topics(run: runner.Runner) -> list[str]:
    """Return how well the paper's topics are found, and the forests themselves."""
    forests = {}
    for method in (*FORESTS, *SIMPLIFIED):
        if run.find(NEWS, method, 0):
            forests[method] = run.figure(NEWS, method, "forest")
    rows = []
    for method, forest in forests.items():
        for topic, text in TOPICS.items():
            wanted = frozenset(text.split())
            share, side = closest(forest, wanted)
            rows.append(
                row_of(method, topic, f"{share:.2f}", " ".join(sorted(wanted - side)), " ".join(sorted(side - wanted)))
            )
    lines = [
        "### The words of the newsgroups",
        "",
        "The topics that the paper reads off its BIN-G forest, and the closest that an edge of ours cuts off (either",
        "side of it; or a whole tree): common words / all words of the two. Simplified forests have fewer edges.",
        "Seed 0.",
        "",
        *table_of("| method | topic | overlap | missing | extra |", rows),
    ]
    for method in ("BIN-G", "BIN-G, simplified"):
        if method in forests:
            lines += forest_block(method, forests[method])
    return lines


def forest_block(method: str, forest: list) -> list[str]:
    """Return a forest to unfold, largest tree first."""
    title = f"The forest of {method}: a pair of brackets is a hidden variable"
    wrap = textwrap.TextWrapper(116, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    lines = [f"<details><summary>{title}</summary>", "", "```text"]
    for tree in sorted(forest, key=lambda tree: (-len(words(tree)), brackets(tree))):
        lines += wrap.wrap(brackets(tree))
    return [*lines, "```", "", "</details>", ""]


def page(run: runner.Runner) -> str:
    """Return the section for the page of benchmarks."""
    versions = "; ".join(sorted({row["versions"] for row in run.rows}))
    lines = [
        "## BinG and BinA: the paper's tables",
        "",
        "Harmeling and Williams, Greedy learning of binary latent trees. Natural logarithms, larger is better; means",
        "over seeds 0 to 4 and, in brackets, worst to best; one thread, default settings. The paper's seconds are",
        "those of Matlab on computers of 2009. IND are independent columns, CL is the Chow-Liu tree; they draw",
        "nothing, and ran once on whole tables.",
        "",
        f"Written by `python -m benchmarks.binary_forests`. Versions: {versions}.",
        "",
    ]
    for part in (summary, news, coil, folded, growth, topics):
        lines += part(run)
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("binary_forests", again=options.again)
    warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is marked in the table
    if not options.render:
        for method in FORESTS:
            learner(method, 0).fit(datasets.coins("six_coins", random_state=0))  # loads the kernels
        measure(run, options.only)
    runner.render("binary_forests", page(run))


if __name__ == "__main__":
    main()
