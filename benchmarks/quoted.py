"""Figures that hand-written pages quote, and where each is looked up.

A fragment below stands in its page as it is, with braces for every figure that was measured:

- ``{split_merge | Voting | ours: mean}`` is a cell of a table of the page of benchmarks, whose sections are rendered
  from result files: the section, or another page that a script writes, with ``> heading`` the part of it below that
  heading; what cells of the row are, joined by ``&``, where ``*`` stands for anything; and the column's head, with
  ``#2`` the second of that name. A number at the end takes that number of the cell, and a format after it writes it so.
- ``{split_merge ~ over all runs: (\\d+) won}`` is what a pattern finds in a section, whose line breaks are blanks.
- ``{=free.bic_:.2f}`` is an expression in names that the code of the page defines, as ``benchmarks.worked`` has
  measured it.

``python -m benchmarks.quoted`` says which fragments are not what was measured, and ``--write`` puts these right. Tests
ask that every fragment stands in its page, and that no other figure does unless it is listed as no measurement.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from benchmarks import runner

#: Pages that scripts write, besides the page of benchmarks.
WRITTEN = ("beyond", "evidence")
PLACE = re.compile(r"\{([^{}]+)\}")
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")


def cells(table: str, key: str, *columns: str) -> str:
    """Return the places of some cells of a row, as they stand in a table.

    >>> cells("split_merge", "Voting", "states", "seconds | 1")
    '{split_merge | Voting | states} | {split_merge | Voting | seconds | 1}'
    """
    return " | ".join("{" + f"{table} | {key} | {column}" + "}" for column in columns)


def column(table: str, keys: tuple[str, ...], head: str) -> str:
    """Return the places of some cells of a column, as they stand in a row of a table."""
    return " | ".join(cells(table, key, head) for key in keys)


SPLIT_MERGE = ("states", "ours: mean", "RandomStarts, mean", "seconds | 1")
SAME_DRAWS = "east > Other methods on the same draws"
DRAWS = ("BIC less the oracle's: mean, worst | 1", "log score per row", "seconds")
COIL42 = ("BIC: mean", "log score: mean", "seconds: mean, most | 1")
FORESTS = ("mean BIC", "hidden variables", "seconds#2")
WORDS = ("BIC", "hidden variables", "seconds")
BASELINES = {
    '`Baseline("latent_class")`': "latent class",
    '`Baseline("chow_liu")`': "Chow-Liu",
    '`Baseline("forest")`': "BIC forest",
}
TREES = {"`EAST()`": "EAST", "`BinG(simplify=True)`": "BinG, simplified", **BASELINES}
EVALUATIONS = {'`EAST`, `evaluation="rl"`': "EAST, rl", '`EAST`, `evaluation="dc"`': "EAST, dc"}
BINARY = {
    "`BinA()`": "BIN-A",
    "`BinG()`": "BIN-G",
    "`BinA(simplify=True)`": "BIN-A, simplified",
    "`BinG(simplify=True)`": "BIN-G, simplified",
}
SKEWED = "25 and 70 % say yes & skewed outcome & three steps, "
OUTCOME = "& outcome & three steps, BCH | mean | 1 | .2f"
MORE = "More and more columns"
LEAVES, EXTENDED = "GaussianEAST, columns at leaves", "GaussianEAST, columns at leaves, extended BIC"


def true_trees(n_columns: int, n_rows: str, learner: str) -> str:
    """Return the place of the number of drawn trees of numbers that were found."""
    return cells("gaussian", f"{n_columns} & {n_rows} & {learner}", "just the true edges | 1")


def alarm(n_rows: str) -> str:
    """Return the places of the numbers of variables of Alarm whose number of states was found, for three seeds."""
    first, second, third = (
        cells("networks > One variable of Alarm hidden", f"{n_rows} & with EM", f"exact | {at}") for at in (1, 2, 3)
    )
    return f"{first}, {second} and {third}"


#: Page -> fragments with figures of the page of benchmarks.
MEASURED: dict[str, list[str]] = {
    "README.md": [
        "equal or better: {evidence ~ default settings .*? decided, (\\d+ %) are} of "
        "{evidence ~ default settings .*? Of (\\d+) decided} by default, "
        "{evidence ~ preset settings .*? decided, (\\d+ %) are} of "
        "{evidence ~ preset settings .*? Of (\\d+) decided} with presets)",
    ],
    "which_learner.md": [
        "`SplitMerge` won {split_merge ~ over all runs: (\\d+) won} runs, tied {split_merge ~ (\\d+) tied, \\d+ lost} "
        "and lost {split_merge ~ tied, (\\d+) lost} against `RandomStarts`",
        *(
            f"| {name} | {cells('split_merge', name, *SPLIT_MERGE)} |"
            for name in ("Voting", "Pima", "Housing", "Shuttle", "Pen digits", "Adult")
        ),
        *(
            f"| {words} | {cells(SAME_DRAWS, f'18 variables, 10,000 rows* & {method}', *DRAWS)} |"
            for words, method in (TREES | EVALUATIONS).items()
        ),
        *(f"| {words} | {cells('east > COIL-42', method, *COIL42)} |" for words, method in TREES.items()),
        *(
            f"| {words} | {cells('binary_forests > 20 newsgroups', method, *FORESTS)} |"
            for words, method in BINARY.items()
        ),
        f"| `EAST()` | {cells('east > 20 newsgroups', 'EAST', *WORDS)} |",
        *(
            f"| {words} | {cells('east > 20 newsgroups', BASELINES[words], 'BIC')} | 0 | "
            f"{cells('east > 20 newsgroups', BASELINES[words], 'seconds')} |"
            for words in ('`Baseline("chow_liu")`', '`Baseline("forest")`')
        ),
        f"the number of states of {alarm('10,000')} exactly",
        f"With 500 rows it found {alarm('500')}: finding",
        f"| `EAST()` | {column(f'east > {MORE}', ('10', '20', '40', '80'), 'fit: seconds')} | | | |",
        f"| `BinG()` | | | | | {column(f'binary_forests > {MORE}', ('100', '400', '1,600'), 'BIN-G: seconds')} |",
    ],
    "gaussian.md": [
        f"true tree in {true_trees(10, '1,000', EXTENDED)} of 10 draws of 10 columns "
        f"(BIC: {true_trees(10, '1,000', LEAVES)}), {true_trees(40, '1,000', EXTENDED)} of 10 of 40 columns "
        f"(BIC: {true_trees(40, '1,000', LEAVES)}) and {true_trees(200, '1,000', EXTENDED)} of 10 of 200 columns "
        f"(BIC: {true_trees(200, '1,000', LEAVES)})",
        f"takes {cells('gaussian', 'by row', 'milliseconds of an iteration | 1 | .0f')} ms, where one pattern after "
        f"the other took {cells('gaussian', 'by pattern', 'milliseconds of an iteration | 1 | .0f')}",
    ],
    "relate.md": [
        f"({{relate | {SKEWED}ML | mean | 1 | .2f}} for a difference of 1 in the [benchmarks](benchmarks.md), "
        f"BCH {{relate | {SKEWED}BCH | mean | 1 | .2f}}; all are",
        "with 20 starts of one step took {relate | ours | seconds} seconds",
        f"BCH gives {{relate | 25 and 70 % say yes {OUTCOME}}} for a difference of 1, and "
        f"{{relate | 25 and 70 % say yes, 4,000 rows {OUTCOME}}} with 4,000 rows",
        "| {beyond > Latent class analysis | cheating & slope, one step | ours | 1 | .3f} "
        "| {beyond > Latent class analysis | cheating & slope, two steps | ours | 1 | .3f} "
        "| {beyond > Latent class analysis | cheating & slope, not corrected | ours | 1 | .3f} "
        "| {beyond > Latent class analysis | cheating & slope, BCH | ours | 1 | .3f} "
        "| {beyond > Latent class analysis | cheating & slope, ML | ours | 1 | .3f} |",
    ],
    "binary_forests.md": [
        "in 40 tables of four columns with 25% of their cells missing it is the best forest every time, and with half "
        "of them missing in {binary_forests | 50% & * of 40 | equal | 1} of 40, where it is at most "
        "{binary_forests | 50% & * of 40 | largest distance} below",
    ],
}
#: Expressions in names of the pages.
TEST = "order_test(survey, 3, list(survey))"
PANEL = "latent_transition(panel, 'person', 'wave', ['health'], {}, random_state=0).bic_"
BICS = [PANEL.format(n_states) for n_states in (1, 2, 3)]
INCOME = "found.coefficients.query(\"`class` == 1 and covariate == 'income_group'\").iloc[0]"

#: Page -> fragments with figures of its own example.
WORKED: dict[str, list[str]] = {
    "constraints.md": [
        "| free | {=free.log_likelihood_:.2f} | {=free.n_parameters_:.0f} | {=free.bic_:.2f} |",
        "| both candidates placed alike | {=tied.log_likelihood_:.2f} | {=tied.n_parameters_:.0f} | {=tied.bic_:.2f} |",
        "| camps equal, the first votes for one candidate | {=known.log_likelihood_:.2f} | "
        "{=known.n_parameters_:.0f} | {=known.bic_:.2f} |",
        "saved {=free.n_parameters_ - tied.n_parameters_:.0f} parameters and lowered the log-likelihood by "
        "{=free.log_likelihood_ - tied.log_likelihood_:.1f}; BIC fell from > {=free.bic_:.1f} to {=tied.bic_:.1f}",
    ],
    "direct_effects.md": [
        "with three classes ({=comparison.loc[3, 'bic']:.1f}; {=comparison.loc[3, 'n_parameters']:.0f} parameters)",
        "cooperation, {=found.network_.n_parameters:.0f} parameters, reach {=found.bic_:.1f}, and a log-likelihood of "
        "{=found.log_likelihood_:.2f} against {=comparison.loc[3, 'log_likelihood']:.2f}:",
        "(score test > {=direct_effects(learner, table, sample_weight=count)['statistic'].max():.1f}, df = 4",
        "(log-likelihood {=found.log_likelihood_:,.1f}, {=found.network_.n_parameters:.0f} > parameters, "
        "BIC {=found.bic_:,.1f}, larger is better) was preferred to three classes "
        "({=comparison.loc[3, 'log_likelihood']:,.1f}, "
        "{=comparison.loc[3, 'n_parameters']:.0f} parameters, BIC {=comparison.loc[3, 'bic']:,.1f})",
    ],
    "groups.md": [
        *(
            f"{mark}{model}{mark} | {{=found.table.loc['{model}', 'log_likelihood']:.2f}} | "
            f"{{=found.table.loc['{model}', 'n_parameters']:.0f}} | "
            f"{mark}{{=found.table.loc['{model}', 'bic']:.2f}}{mark} |"
            for model, mark in {"nothing differs": "", "sizes differ": "**", "all differ": ""}.items()
        ),
        "** | {=found.table.loc['sizes differ', 'lr']:.2f} | {=found.table.loc['sizes differ', 'lr_df']:.0f} | "
        "{=found.table.loc['sizes differ', 'lr_p']:p} |",
        "| {=found.table.loc['all differ', 'lr']:.2f} | {=found.table.loc['all differ', 'lr_df']:.0f} | "
        "{=found.table.loc['all differ', 'lr_p']:.2f} |",
        "has {=100 * found.sizes().loc['school', 2]:.0f} % of those with school only, "
        "{=100 * found.sizes().loc['some college', 2]:.0f} % of those with some college, and "
        "{=100 * found.sizes().loc['degree', 2]:.0f} % of those with a degree",
        "the best BIC ({=found.table.loc['sizes differ', 'bic']:.1f}, larger is better; "
        "{=-2 * found.table.loc['sizes differ', 'bic']:,.1f} as -2 BIC) against equal > sizes "
        "({=found.table.loc['nothing differs', 'bic']:.1f}) and unrestricted groups "
        "({=found.table.loc['all differ', 'bic']:.1f}). Class sizes differed between groups (likelihood ratio "
        "{=found.table.loc['sizes differ', 'lr']:.1f}, df = {=found.table.loc['sizes differ', 'lr_df']:.0f}, > p < ",
        "did ({=found.table.loc['all differ', 'lr']:.1f}, df = {=found.table.loc['all differ', 'lr_df']:.0f}, "
        "p = {=found.table.loc['all differ', 'lr_p']:bare}; score tests",
        "Holm-adjusted p > {=int(100 * found.items['adjusted_p'].min()) / 100:bare})",
        "needed (p = {=found.table.loc['all differ', 'lr_p']:.2f})",
    ],
    "levels.md": [
        *(
            f"| **schools of cluster {at}** | {{=fits[2].class_shares_.iloc[{at}, 0]:.2f}} | "
            f"{{=fits[2].class_shares_.iloc[{at}, 1]:.2f}} |"
            for at in (0, 1)
        ),
        "in one, {=100 * fits[2].class_shares_.iloc[0, 1]:.0f} % of the pupils smoke, in the other "
        "{=100 * fits[2].class_shares_.iloc[1, 1]:.0f} %. With one cluster the log-likelihood is "
        "{=fits[1].log_likelihood_:.1f}, with two {=fits[2].log_likelihood_:.1f};",
        "rises from {=fits[1].bic_groups_:.1f} to {=fits[2].bic_groups_:.1f}.",
        "({=fits[2].bic_groups_:.1f} against {=fits[1].bic_groups_:.1f}; larger is better). In the first cluster "
        "{=100 * fits[2].class_shares_.iloc[0, 1]:.0f} % of > the pupils were in the smoking class, in the second "
        "{=100 * fits[2].class_shares_.iloc[1, 1]:.0f} %.",
    ],
    "transitions.md": [
        *(
            f"(state {at}) | {{=equal.transitions_.iloc[{at}, 0]:.2f}} | {{=equal.transitions_.iloc[{at}, 1]:.2f}} |"
            for at in (0, 1)
        ),
        "who were well, {=100 * equal.transitions_.iloc[0, 0]:.0f} % stay so",
        "in state 0, {=100 * equal.profiles_.loc[('health', 'good'), 0]:.0f} % say",
        f"BIC is {{={BICS[0]}:.1f}}, {{={BICS[1]}:.1f}} and {{={BICS[2]}:.1f}} with one, two and three states",
        "(statistic {=statistic:.2f}, {=df:.0f} degrees of freedom, p = {=chi2.sf(statistic, df):.2f})",
        "{=equal.estimator_.n_best_:.0f} of 16 random starts reached",
        f"({{={BICS[1]}:.1f}}, larger is better, against {{={BICS[0]}:.1f}} and {{={BICS[2]}:.1f}}). "
        "Transitions did not differ between waves (likelihood ratio {=statistic:.2f}, df = {=df:.0f}, "
        "p = {=chi2.sf(statistic, df):bare}). From one > wave to the next, "
        "{=100 * equal.transitions_.iloc[0, 0]:.0f} % of those in good health stayed so, and "
        "{=100 * equal.transitions_.iloc[1, 0]:.0f} % of the others recovered",
    ],
    "ordinal.md": [
        *(
            f"| {name} | {{={TEST}.loc['{name}', 'statistic']:.1f}} | {{={TEST}.loc['{name}', 'df']:.0f}} | "
            f"{{={TEST}.loc['{name}', 'p']:p}} | {{={TEST}.loc['{name}', 'bic_gain']:.1f}} |"
            for name in ("all", "PID", "selfLR", "ClinLR", "DoleLR")
        ),
        f"by {{={TEST}.loc['all', 'bic_gain']:.1f}}, since it saves {{={TEST}.loc['all', 'df']:.0f}} parameters",
        "favoured four ({=with_order.loc[4, 'bic']:.1f}; larger",
        f"(likelihood ratio {{={TEST}.loc['all', 'statistic']:.1f}}, df = {{={TEST}.loc['all', 'df']:.0f}}, p < .001)",
        f"(BIC lower by {{={TEST}.loc['all', 'bic_gain']:.1f}})",
    ],
    "relate.md": [
        f"goes with {{={INCOME}['odds_ratio']:.2f}} times the odds of class 1",
        "(Wald > χ²(2) = {=found.tests.loc['income_group', 'wald']:.1f}, p < .001), and so did education "
        f"(χ²(12) = {{=found.tests.loc['educ', 'wald']:.1f}}, p < .001). One income group more went with "
        f"{{={INCOME}['odds_ratio']:.2f}} times the odds",
        f"(95 % interval {{={INCOME}['lower']:.2f}} to {{={INCOME}['upper']:.2f}}). All {{=found.n_rows:.0f}} rows",
        "> Mean income group was {=by_camp.means['mean'][0]:.2f} (standard error "
        "{=by_camp.means['standard_error'][0]:.2f}) in class 0, {=by_camp.means['mean'][1]:.2f} "
        "({=by_camp.means['standard_error'][1]:.2f}) in class 1 and {=by_camp.means['mean'][2]:.2f} "
        "({=by_camp.means['standard_error'][2]:.2f}) in class 2; the classes differed > (three steps, BCH, "
        "Wald χ²(2) = {=by_camp.tests['wald'][0]:.1f}, p < .001)",
    ],
}

# -- looking up --------------------------------------------------------------------------------------------------------


@cache
def section(name: str) -> str:
    """Return a section of the page of benchmarks, or the part of it below a heading."""
    name, _, heading = name.partition(" > ")
    if name in WRITTEN:
        text = (runner.PAGE.parent / f"{name}.md").read_text(encoding="utf-8")
    else:
        text = runner.sections(runner.PAGE.read_text(encoding="utf-8"))[name]
    if not heading:
        return text
    _, found, rest = text.partition(f"# {heading}\n")
    if not found:
        raise LookupError(f"section {name} has no heading {heading!r}")
    return rest.partition("\n#")[0]


def tables(text: str) -> Iterator[list[list[str]]]:
    """Return the tables of a text, as rows of cells; the first is the head.

    >>> list(tables("| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\nend"))
    [[['a', 'b'], ['1', '2']]]
    """
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield [line for line in lines if not set("".join(line)) <= set("-")]


def cell(table: str, key: str, head: str) -> str:
    """Return the cell of a table in a section; the first table that has the column and the row counts."""
    head, _, nth = head.partition("#")
    wanted = [part.strip() for part in key.split("&")]
    for first, *rest in tables(section(table)):
        at = [i for i, name in enumerate(first) if name == head]
        for line in rest if at else ():
            if all(any(fnmatchcase(own, part) for own in line) for part in wanted):
                return line[at[int(nth or 1) - 1]]
    raise LookupError(f"no table of {table} has a row {key!r} and a column {head!r}")


def written(value: float | str, form: str) -> str:
    """Write a figure in a format; ``p`` is that of p-values, ``bare`` has two decimals and nothing before.

    >>> written(0.04627, "p"), written(0.0002, "p"), written(0.96, "bare"), written(-3476.4, ",.1f")
    ('0.046', '< 0.001', '.96', '-3,476.4')
    """
    if form == "p":
        return "< 0.001" if float(value) < 0.001 else f"{float(value):.3f}"
    if form == "bare":
        return f"{float(value):.2f}".removeprefix("0")
    return format(float(value), form)


@cache
def worked() -> runner.Runner:
    return runner.Runner("worked")


def figure(page: str, place: str) -> str:
    """Return what belongs into a place of a fragment."""
    if place.startswith("="):
        expression, _, form = place[1:].rpartition(":")
        return written(worked().figure(page, expression, "value"), form)
    name, tilde, pattern = place.partition(" ~ ")
    if tilde:
        return re.search(pattern, " ".join(section(name).split()))[1]
    table, key, head, *more = (part.strip() for part in place.split("|"))
    found = cell(table, key, head)
    if more:
        found = NUMBER.findall(found)[int(more[0]) - 1]
    return written(found.replace(",", ""), more[1]) if len(more) > 1 else found


def expressions(page: str) -> list[str]:
    """Return the expressions in the fragments of a page, each once."""
    places = PLACE.findall("\n".join(WORKED.get(page, [])))
    return list(dict.fromkeys(place[1:].rpartition(":")[0] for place in places if place.startswith("=")))


def fragments(page: str) -> list[str]:
    return [*MEASURED.get(page, []), *WORKED.get(page, [])]


def filled(page: str, fragment: str) -> str:
    """Return a fragment with its figures."""
    return PLACE.sub(lambda found: figure(page, found[1]), fragment)


def path_of(page: str) -> Path:
    return runner.ROOT / page if page == "README.md" else runner.ROOT / "docs" / page


def pages() -> list[str]:
    return list(dict.fromkeys([*MEASURED, *WORKED]))


def pattern_of(text: str) -> str:
    """Return a pattern for a text whose blanks may be line breaks on a page."""
    return r"\s+".join(re.escape(word) for word in text.split())


def stale(page: str) -> list[str]:
    """Return the fragments of a page that do not stand there."""
    text = path_of(page).read_text(encoding="utf-8")
    return [one for one in fragments(page) if not re.search(pattern_of(filled(page, one)), text)]


def loose_pattern(fragment: str) -> str:
    """Return a pattern for a fragment with any figures; a row of a table does not go on in the next line."""
    blank = r"[ ]+" if " | " in PLACE.sub("", fragment) else r"\s+"
    parts = []
    for at, part in enumerate(PLACE.split(fragment)):
        parts.append(r"[^|\n]{0,40}?" if at % 2 else re.sub(r"(?:\\ |\\\n|\n)+", lambda _: blank, re.escape(part)))
    return "".join(parts)


def is_right(text: str, right: set[str]) -> bool:
    """Return whether a text of a page is a fragment that is right, or begins one."""
    return any(one.startswith(" ".join(text.split())) for one in right)


def put_right(page: str) -> list[str]:
    """Write the figures of stale fragments into a page; return those whose place there cannot be told."""
    path, lost = path_of(page), []
    right = {" ".join(filled(page, one).split()) for one in fragments(page)}
    for one in stale(page):
        text = path.read_text(encoding="utf-8")
        found = [at for at in re.finditer(loose_pattern(one), text) if not is_right(at[0], right)]
        if len(found) != 1:
            lost.append(one)
            continue
        ((first, last),) = (at.span() for at in found)
        path.write_text(text[:first] + filled(page, one) + text[last:], encoding="utf-8")
    return lost


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quoted", description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the figures of pages right")
    options = parser.parse_args()
    for page in pages():
        for one in put_right(page) if options.write else stale(page):
            print(f"{page}: {filled(page, one)}")


if __name__ == "__main__":
    main()
