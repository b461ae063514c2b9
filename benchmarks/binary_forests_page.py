"""The page about BinG and BinA: tables of their targets, of what was measured, and of the words of the newsgroups."""

from __future__ import annotations

import textwrap
from itertools import pairwise

import numpy as np

from benchmarks import runner
from benchmarks.binary_forests import (
    ANYWHERE,
    BASELINES,
    BIC_FOREST,
    COIL42,
    COIL86,
    FOLDED,
    FOLDED_METHODS,
    FORESTS,
    GROWTH_COLUMNS,
    GROWTH_ROWS,
    INCOMPLETE_ROWS,
    INCOMPLETE_TABLES,
    INFORMATION,
    LCM_SECONDS,
    MISSING_SHARES,
    N_FOLDS,
    NEWS,
    PRIOR,
    SEEDS,
    SIMPLIFIED,
    TOPICS,
    WHOLE,
    folded_case,
    grown_case,
    missing_case,
)

#: Differences of BIC up to this are what EM leaves.
SAME_BIC = 0.01

# -- trees as text -----------------------------------------------------------------------------------------------------


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
    for method in (*BASELINES, *FORESTS, *SIMPLIFIED, *ANYWHERE):
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
        f"after {LCM_SECONDS} seconds. Simplified forests (`simplify=True`) are changed for as long as BIC rises. In",
        '"anywhere", their columns then move to any node (`columns="anywhere"`).',
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
        for method in (*BASELINES, *FORESTS, *SIMPLIFIED, *ANYWHERE):
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
        mean, deviation = paper_fold(name, method)
        ours = _mean_of_folds(values(run, folded_case(name), method, "scores"))
        cells += [ours, f"{mean:.2f} ± {deviation:.2f}"]
        if method in FORESTS:
            cells.append(verdict(run, name, method))
    return row_of(name, *cells, _mean_of_folds(values(run, folded_case(name), BIC_FOREST, "scores")))


def _mean_of_folds(scores: list[list[float]]) -> str:
    return f"{np.mean(scores):.2f} ± {np.mean(np.std(scores, axis=1, ddof=1)):.2f}" if scores else ""


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
            "| table | IND | paper | CL | paper | BIN-G | paper | | BIN-A | paper | | BIC forest |",
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


def incomplete(run: runner.Runner) -> list[str]:
    """Return how near the forest over the columns is to the best one if cells are missing."""
    rows = []
    for share in MISSING_SHARES:
        if run.find(missing_case(share), BIC_FOREST):
            below = np.array(run.figure(missing_case(share), BIC_FOREST, "below"))
            equal = f"{(below <= SAME_BIC).sum()} of {len(below)}"
            rows.append(row_of(f"{share:.0%}", equal, f"{below.mean():.3f}", f"{below.max():.3f}"))
    return [
        "### The forest with the highest BIC, if cells are missing",
        "",
        '`Baseline("forest")` against brute force, which is EM for all 38 forests over four columns, in',
        f"{INCOMPLETE_TABLES} tables of {INCOMPLETE_ROWS} rows drawn at random. Equal is a BIC that is at most",
        f"{SAME_BIC} lower. Without missing cells it is always the best one.",
        "",
        *table_of("| missing cells | equal | mean distance | largest distance |", rows),
    ]


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
        "those of Matlab on computers of 2009. IND are independent columns, CL is the Chow-Liu tree, BIC forest is the",
        "forest over the columns with the highest BIC; they draw nothing, and ran once on whole tables.",
        "",
        f"Written by `python -m benchmarks.binary_forests`. Versions: {versions}.",
        "",
    ]
    for part in (summary, news, coil, folded, incomplete, growth, topics):
        lines += part(run)
    return "\n".join(lines)
