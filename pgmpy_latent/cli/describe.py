"""Tables and learned models in words, for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from pgmpy_latent.cli.options import as_list
from pgmpy_latent.cli.text import counted, in_blocks, wrapped
from pgmpy_latent.cli.understood import column_lines

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pgmpy_latent.cli.classes import Candidate, LatentClasses
    from pgmpy_latent.model.tree import LatentTree
    from pgmpy_latent.tables.encode import CategoricalData
    from pgmpy_latent.tables.files import Table

#: Maximum number of columns in the profile of a single hidden variable, and of each of several.
PROFILED, PROFILED_EACH = 30, 5
#: Maximum number of hidden variables whose profiles are listed.
MOST_LATENTS = 6
#: Largest number of parameters for which identification is checked; beyond, the check takes too long.
MOST_PARAMETERS = 500
#: Columns with more categories than this get a remark; columns of numbers get it with fewer.
MANY_CATEGORIES, MANY_NUMBERS = 50, 20
#: Maximum number of columns whose suspicious categories are listed.
SUSPECTED = 5
#: Names of columns that often hold weights.
WEIGHT_NAMES = ("w", "wt", "wgt", "weight", "weights", "pweight", "freq", "frequency", "count", "n")


# The table ----------------------------------------------------------------------------------------


def describe_table(table: Table, data: CategoricalData, settled: Collection[Hashable] = ()) -> list[str]:
    """Describe the table that was read, with remarks on oddities; settled columns get none on missing codes."""
    from pgmpy_latent.tables.encode import weight_words

    frame = table.frame
    missing = int(frame.isna().sum().sum())
    lines = [
        table.title,
        f"{counted(len(frame), 'row')} ({data.n_distinct:,} different), "
        f"{counted(len(frame.columns), 'column')}, {counted(missing, 'missing cell')}",
    ]
    if table.weights is not None:
        lines += wrapped(f"{weight_words(data)}; the weights are in column {table.weights.name!r}", "  ")
    elif data.design is not None:
        lines.append(f"no weights{data.design.words}")
    lines += [*column_lines(table, data), *(line for words in table.notes for line in _note(words))]
    return lines + [line for words in table_notes(table, data, settled) for line in _note(words)]


def table_notes(table: Table, data: CategoricalData, settled: Collection[Hashable] = ()) -> list[str]:
    """Return notes on columns that may not be what they seem, one for all columns of a kind."""
    counts, weights, measured, wide = dict(zip(data.columns, data.state_names, strict=True)), [], [], []
    for name, states in counts.items():
        numbers = _all_numbers(states)
        if numbers and table.weights is None and str(name).casefold() in WEIGHT_NAMES:
            weights.append(name)
        elif numbers and len(states) > MANY_NUMBERS:
            measured.append(name)
        elif len(states) > MANY_CATEGORIES:
            wide.append(name)
    notes = [f"column {name!r} is used as a category; if it holds weights, pass --weights {name}" for name in weights]
    if measured:
        are, them = ("it is a measurement", "it") if len(measured) == 1 else ("they are measurements", "them")
        which = _which(measured, counts, MANY_NUMBERS, "different numbers")
        how = f"bin {them} (as 18-29, 30-44, ...), or leave {them} out with --drop {as_list(measured)}"
        notes.append(f"{which}; if {are}, {how}")
    if wide:
        are, them = ("it is a measurement", "it") if len(wide) == 1 else ("they are measurements", "them")
        which = _which(wide, counts, MANY_CATEGORIES, "categories")
        notes.append(f"{which}; if {are}, bin {them}, or leave {them} out with --drop {as_list(wide)}")
    return notes + suspects(data, settled)


def _which(names: Sequence[Hashable], states: Mapping[Hashable, Sequence], least: int, what: str) -> str:
    if len(names) == 1:
        return f"column {names[0]!r} has {len(states[names[0]])} {what}"
    more = f" and {counted(len(names) - SUSPECTED, 'other column')}" if len(names) > SUSPECTED else ""
    return f"columns {', '.join(map(repr, names[:SUSPECTED]))}{more} have more than {least} {what}"


def _note(words: str) -> list[str]:
    return wrapped(f"note: {words}", "  ")


def suspects(data: CategoricalData, settled: Collection[Hashable]) -> list[str]:
    """Return one note on all values that look like codes for missing answers.

    Examples
    --------
    >>> from pgmpy_latent.tables.encode import CategoricalData
    >>> print(*suspects(CategoricalData(["age"], [[1, 2, 99]], [[0], [1], [2]], [1.0, 1.0, 1.0]), []))
    categories that may mean missing: 99 in column 'age'; if they do, pass --missing age=99
    >>> print(*suspects(CategoricalData(["$x"], [[1, 2, 99]], [[0], [1], [2]], [1.0, 1.0, 1.0]), []))
    categories that may mean missing: 99 in column '$x'; if they do, pass --missing '$x=99'
    """
    from pgmpy_latent.tables.suitable import suspected_codes

    return in_options("categories", suspected_codes(data, settled))


def in_options(what: str, suspected: Mapping[Hashable, Sequence[Hashable]]) -> list[str]:
    """Return one note on values that look like codes for missing answers, and the options that make them missing.

    Examples
    --------
    >>> in_options("values", {}), in_options("values", {"age (years)": [99]})[0]
    ([], "values that may mean missing: 99 in column 'age (years)'; if they do, pass --missing 'age (years)=99'")
    """
    from pgmpy_latent.tables.suitable import codes_in_words

    found = list(suspected.items())
    if not found:
        return []
    values = codes_in_words(dict(found[:SUSPECTED]))
    more = f" and more in {counted(len(found) - SUSPECTED, 'other column')}" if len(found) > SUSPECTED else ""
    said = (as_list([f"{name}={first}", *others]) for name, (first, *others) in found[:SUSPECTED])
    say = " ".join(f"--missing {each}" for each in said)
    return [f"{what} that may mean missing: {values}{more}; if they do, pass {say}"]


def _all_numbers(states: Sequence[Hashable]) -> bool:
    """Return whether every category is a number or text that reads as one."""
    try:
        return all(float(str(state)) is not None for state in states)
    except ValueError:
        return False


# Latent class models ------------------------------------------------------------------------------


def describe_classes(learner: LatentClasses, data: CategoricalData) -> list[str]:
    """Return how numbers of classes compare, and the classes of the chosen one: sizes and profile."""
    tree, best = learner.tree_, learner.chosen_
    hidden = tree.latent_names[0]
    lines = [
        *_candidate_lines(learner.candidates_, best),
        f"Chosen: {counted(best.n_classes, 'class', 'es')}, the states of the hidden variable {hidden!r}",
        f"log-likelihood {best.log_likelihood:.4f}, {counted(best.n_parameters, 'parameter')}, BIC {best.bic:.4f} "
        "(larger is better)",
        f"{best.n_best} of {counted(best.n_starts, 'start')} reached the best value",
    ]
    if learner.n_states is None and best.n_classes == learner.max_states:
        words = f"{counted(best.n_classes, 'class', 'es')} is the largest number that was tried, so that more might be"
        lines += wrapped(f"note: {words} better still; try --max-classes {2 * best.n_classes}", "  ")
    if not best.converged:
        lines.append(f"note: EM had not converged after {best.n_iter} iterations")
    lines += [f"note: {words}; fewer classes would fit as well" for words in _superfluous(tree)]
    lines += _identification(tree, best.n_parameters)
    return [*lines, "", *describe_states(tree, data)]


def _candidate_lines(candidates: Sequence[Candidate], best: Candidate) -> list[str]:
    """Return the table of numbers of classes against BIC; nothing if there was no choice."""
    if len(candidates) == 1:
        return []
    lines = [f"  {'classes':>7}  {'log-likelihood':>14}  {'parameters':>10}  {'BIC':>12}  starts that reached the best"]
    for candidate in candidates:
        lines.append(
            f"{'*' if candidate is best else ' '} {candidate.n_classes:>7}  {candidate.log_likelihood:>14.2f}"
            f"  {candidate.n_parameters:>10,}  {candidate.bic:>12.2f}  {candidate.n_best} of {candidate.n_starts}"
        )
    return [*lines, ""]


def _superfluous(tree: LatentTree) -> list[str]:
    from pgmpy_latent.em.estimators import degenerate_states
    from pgmpy_latent.operators import marginals

    return degenerate_states(tree, marginals(tree))


def _identification(tree: LatentTree, n_parameters: int) -> list[str]:
    """Return a note if the parameters are not identified."""
    from pgmpy_latent.scores import effective_dimension

    if n_parameters > MOST_PARAMETERS or tree.is_numeric.any():
        return []
    dimension = effective_dimension(tree)
    if dimension == n_parameters:
        return []
    return wrapped(
        f"note: not identified: the {n_parameters} parameters fill only {dimension} dimensions, so that other "
        "class profiles fit exactly as well; use fewer classes, or more columns",
        "  ",
    )


# Any tree -----------------------------------------------------------------------------------------


def describe_tree(learner, data: CategoricalData) -> list[str]:
    """Describe the fit of a learned tree, the tree itself, and what its hidden variables are about."""
    from pgmpy_latent.diagnostics import explain

    tree = learner.tree_
    text = explain.summary_text(tree, **learner._fit())
    written = explain.writable(text, sys.stdout.encoding).splitlines()
    lines = [part for line in written for part in (wrapped(line, "    ") or [""])]
    return [*lines, "", *describe_states(tree, data)] if tree.latent_names else lines


def describe_network(learner, data: CategoricalData) -> list[str]:
    """Describe the fit of a learned network, its hidden variables with their neighbours, and all other edges."""
    from pgmpy_latent.diagnostics import explain

    text = explain.network_text(learner.network_, **learner._fit()) + learner._words()
    return [part for line in text.splitlines() for part in (wrapped(line, "    ") or [""])]


def describe_states(tree: LatentTree, data: CategoricalData) -> list[str]:
    """Describe the probabilities and profiles of hidden states, of the first hidden variables if there are many."""
    from pgmpy_latent.operators import marginals

    alone = len(tree.latent_names) == 1
    what, most = ("class", PROFILED) if alone else ("state", PROFILED_EACH)
    numbers = "; of numbers mean and standard deviation" if tree.is_numeric.any() else ""
    lines = wrapped(
        f"What marks each {what}: per column one category, its share of the {what}, and (of all rows, by the model)"
        + numbers
    )
    for hidden in tree.latent_names[:MOST_LATENTS]:
        at, listed = tree.index(hidden), marks(tree, hidden)
        counted_rows = data.weight_kind != "sampling"  # whose scale is that of the effective number of rows
        sizes = [
            f"{share:.1%} ({share * data.total_weight:,.0f})" if counted_rows else f"{share:.1%}"
            for share in marginals(tree)[at]
        ]
        rows = [("(size)", sizes), *((str(name), cells) for name, cells in listed[:most])]
        lines += [*([] if alone else [""]), *in_blocks([f"{hidden} = {state}" for state in tree.state_names[at]], rows)]
        if alone and len(listed) > most:
            lines.append(f"... and {counted(len(listed) - most, 'column')} that tell the classes apart less well")
    further = len(tree.latent_names) - MOST_LATENTS
    if further > 0:
        lines += ["", f"... and {counted(further, 'more hidden variable')}; --report shows all"]
    return lines


def marks(tree: LatentTree, hidden: Hashable) -> list[tuple[Hashable, list[str]]]:
    """Return, for each column, its most telling category in every state, or mean and standard deviation of a number.

    The most informative columns come first.
    """
    import numpy as np

    from pgmpy_latent.diagnostics.conditionals import conditionals
    from pgmpy_latent.model.emissions import emissions_of
    from pgmpy_latent.operators import marginals
    from pgmpy_latent.report.html import significant

    lines = []
    emissions, given = emissions_of(tree), conditionals(tree, tree.index(hidden))
    for name, table, contributions in profiled_columns(tree, hidden):
        if tree.index(name) in emissions:
            found = emissions[tree.index(name)].parameters(given[tree.index(name)])
            pairs = zip(found.mean, np.sqrt(found.variance), strict=True)
            lines.append((name, [f"{significant(mean, 4)}\0sd {significant(sd, 3)}" for mean, sd in pairs]))
            continue
        states, overall = tree.state_names[tree.index(name)], marginals(tree)[tree.index(name)]
        chosen = (contributions + 1e-9 * table).argmax(axis=1)
        cells = [f"{states[at]}\0{table[row, at]:.0%} ({overall[at]:.0%})" for row, at in enumerate(chosen)]
        lines.append((name, cells))
    return lines


def profiled_columns(tree: LatentTree, hidden: Hashable) -> list[tuple[Hashable, np.ndarray, np.ndarray]]:
    """Return columns with P(category | state) and p log(p / p overall), how much a category sets a state apart.

    Columns that tell the states apart best come first. Of several hidden variables, each has only the columns that say
    something about it. Categories of a number are its bins.
    """
    import numpy as np

    from pgmpy_latent.diagnostics.conditionals import conditionals
    from pgmpy_latent.operators import marginals
    from pgmpy_latent.operators.bins import in_bins

    tree = in_bins(tree)
    tables, shares = conditionals(tree, tree.index(hidden)), marginals(tree)
    ranked = []
    for name in tree.observed_names:
        table, overall = tables[tree.index(name)], shares[tree.index(name)]
        ratio = np.divide(table, overall, out=np.ones_like(table), where=(table > 0) & (overall > 0))
        contributions = table * np.log(ratio)
        information = round(float(shares[tree.index(hidden)] @ contributions.sum(axis=1)), 9)
        if information > 0 or len(tree.latent_names) == 1:
            ranked.append((information, (name, table, contributions)))
    return [column for _, column in sorted(ranked, key=lambda pair: -pair[0])]


# Comparisons --------------------------------------------------------------------------------------


def aligned(rows: pd.DataFrame) -> list[str]:
    """Return a table of texts with its columns below each other, numbers to the right.

    Examples
    --------
    >>> import pandas as pd
    >>> aligned(pd.DataFrame({"classes": ["1", "12"], "BIC": ["-9.5", "-10.25"]}))
    ['classes     BIC', '      1    -9.5', '     12  -10.25']
    """
    widths = [max(len(name), *(len(text) for text in rows[name])) for name in rows.columns]
    table = [list(rows.columns), *rows.itertuples(index=False)]
    return ["  ".join(text.rjust(room) for text, room in zip(row, widths, strict=True)) for row in table]
