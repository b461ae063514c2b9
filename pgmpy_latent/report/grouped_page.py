"""Reports about models of rows that belong together: latent transitions, and classes at two levels."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.grouped_rows.levels import MultilevelClasses
from pgmpy_latent.grouped_rows.long_tables import LongTable
from pgmpy_latent.grouped_rows.transitions import LatentTransition
from pgmpy_latent.report.document import cards, document
from pgmpy_latent.report.html import (
    Html,
    bar,
    count,
    decimal,
    element,
    folded,
    label,
    legend,
    paragraph,
    percent,
    section,
    stacked_bar,
    table,
)
from pgmpy_latent.report.profile_bars import profile_bars
from pgmpy_latent.report.reproduce_section import version_rows
from pgmpy_latent.tables.encode import rows_in_words


def grouped_page(found: LatentTransition | MultilevelClasses) -> str:
    """Return the report of a latent transition model, or of classes at two levels, as a page."""
    if isinstance(found, LatentTransition):
        title, opening = _of_transitions(found)
        own = [
            ("states", "Hidden states", _states(found)),
            ("moves", "Transitions", _moves(found)),
            ("shares", "Over time", _over_time(found)),
        ]
    else:
        title, opening = _of_levels(found)
        own = [("clusters", "Clusters", _clusters(found)), ("classes", "Classes", _classes(found))]
    return document(title, opening, [*own, ("fit", "Fit", _fit(found)), ("reproduce", "Reproduce", _reproduce(found))])


def _opening(words: str, figures: list[tuple[str, str]], found: LatentTransition | MultilevelClasses) -> list[Html]:
    """Return the lead, the most important figures, and a warning if EM was stopped."""
    parts = [paragraph(words, class_="lead"), cards(figures)]
    stopped = found.estimator_.stopped_
    if stopped is not None:
        why = "The time limit" if stopped == "time_limit" else "Ctrl-C"
        parts.append(paragraph(f"{why} stopped EM: this is the best model so far.", class_="warning"))
    return parts


# Transitions --------------------------------------------------------------------------------------


def _of_transitions(found: LatentTransition) -> tuple[str, list[Html]]:
    long, n_states = found._long, len(found.states)
    people, times = len(long.units), len(found.times_)
    words = (
        f"{count(len(long.codes), 'row')} of {count(people)} people at {times} times, "
        f"{count(len(found.items_), 'item')}. Transitions are {'different at each time' if found.by_time else 'equal'}."
    )
    figures = [
        ("People", count(people)),
        ("Times", count(times)),
        ("Hidden states", count(n_states)),
        ("Parameters", count(found.n_parameters_)),
        ("Log-likelihood", decimal(found.log_likelihood_)),
        ("BIC", decimal(found.bic_)),
    ]
    title = f"Latent transition model with {n_states} state{'s' * (n_states != 1)}"
    return title, _opening(words, figures, found)


def _states(found: LatentTransition) -> Html:
    intro = "States are numbered from the largest at the first time, and mean the same at all times."
    return section("states", "Hidden states", paragraph(intro), *_profiles(found, "State"))


def _moves(found: LatentTransition) -> Html:
    moves, states = found.transitions_, found.states
    header = ["from", *(f"to state {label(state)}" for state in states)]
    words = "How likely is a person who is in one state to be in another, or the same, at the next time?"
    if not found.by_time:
        return section("moves", "Transitions", paragraph(words), _move_table(moves.to_numpy(), states, header, None))
    tables = [
        _move_table(moves.loc[time].to_numpy(), states, header, f"From {label(time)} to {label(following)}")
        for time, following in zip(found.times_, found.times_[1:], strict=False)
    ]
    return section("moves", "Transitions", paragraph(words), element("div", *tables, class_="profiles"))


def _move_table(values: np.ndarray, states: list, header: list[str], caption: str | None) -> Html:
    rows = [
        [f"state {label(state)}", *(percent(share, 1) for share in line)]
        for state, line in zip(states, values, strict=True)
    ]
    return table(header, rows, numbers=range(1, len(header)), caption=caption)


def _over_time(found: LatentTransition) -> Html:
    shares, names = found.shares_, [f"State {label(state)}" for state in found.states]
    lines = []
    for time, line in zip(shares.index, shares.to_numpy(), strict=True):
        who = element("span", label(time), class_="who")
        lines.append(element("div", who, stacked_bar(line, names, f"{label(time)}: "), class_="line"))
    figure = element("figure", element("figcaption", legend(names)), *lines, class_="profile even")
    header = [label(shares.index.name), *names]
    rows = [
        [label(time), *(decimal(share, 3) for share in line)]
        for time, line in zip(shares.index, shares.to_numpy(), strict=True)
    ]
    numbers = folded("Shares as numbers", table(header, rows, numbers=range(1, len(header))))
    words = "The shares of all people in each state, by the model, also of those who were not observed at a time."
    return section("shares", "Shares of the states over time", paragraph(words), figure, numbers)


# Levels -------------------------------------------------------------------------------------------


def _of_levels(found: MultilevelClasses) -> tuple[str, list[Html]]:
    n_clusters, n_classes = found.class_shares_.shape
    long = found._long
    words = (
        f"{count(len(long.codes), 'row')} in {count(len(long.units), 'group')}, {count(len(long.items), 'item')}. "
        "Groups belong to clusters, which differ in the sizes of the classes of their rows."
    )
    figures = [
        ("Rows", count(len(long.codes))),
        ("Groups", count(len(long.units))),
        ("Parameters", count(found.n_parameters_)),
        ("Log-likelihood", decimal(found.log_likelihood_)),
        ("BIC by rows", decimal(found.bic_)),
        ("BIC by groups", decimal(found.bic_groups_)),
    ]
    title = f"{count(n_classes, 'class')}" if n_classes == 1 else f"{n_classes} classes"
    return f"{title} in {count(n_clusters, 'cluster')} of groups", _opening(words, figures, found)


def _clusters(found: MultilevelClasses) -> Html:
    shares = found.class_shares_
    groups = found.groups().to_numpy().argmax(axis=1)
    rows = [
        [f"Cluster {label(cluster)}", bar(size, percent(size, 1)), count(int((groups == at).sum())),
         *(percent(share, 1) for share in shares.iloc[at])]
        for at, (cluster, size) in enumerate(found.cluster_shares_.items())
    ]  # fmt: skip
    header = [
        "",
        "Share of groups",
        "Groups, by likeliest cluster",
        *(f"Class {label(name)}" for name in shares.columns),
    ]
    words = "The shares of the classes in each cluster. Classes mean the same in all clusters."
    likely = found.groups()
    listed = [
        [label(group), f"Cluster {label(likely.columns[line.argmax()])}", percent(line.max(), 1)]
        for group, line in zip(likely.index, likely.to_numpy(), strict=True)
    ]
    each = folded(
        "The likeliest cluster of every group", table(["group", "cluster", "probability"], listed, numbers=[2])
    )
    return section(
        "clusters", "Clusters of groups", paragraph(words), table(header, rows, numbers=range(2, len(header))), each
    )


def _classes(found: MultilevelClasses) -> Html:
    intro = "Classes of rows, in all groups together."
    return section("classes", "Classes", paragraph(intro), *_profiles(found, "Class"))


# Both ---------------------------------------------------------------------------------------------


def _profiles(found: LatentTransition | MultilevelClasses, word: str) -> list[Html]:
    """Return the distributions of the items in every state: as bars, and folded as numbers."""
    profiles, long = found.profiles_, found._long
    figures, rows = [], []
    begin = 0
    for at, (item, states) in enumerate(zip(long.items, long.states, strict=True)):
        values = profiles.iloc[begin : begin + len(states)].to_numpy()
        begin += len(states)
        lines = [(f"{word} {label(name)}", values[:, place]) for place, name in enumerate(profiles.columns)]
        figures.append(profile_bars(item, states, lines, _overall(long, at)))
        rows += [
            [label(item) if place == 0 else "", label(state), *(decimal(share, 3) for share in values[place])]
            for place, state in enumerate(states)
        ]
    header = ["Item", "Category", *(f"{word} {label(name)}" for name in profiles.columns)]
    numbers = table(header, rows, numbers=range(2, len(header)))
    return [element("div", *figures, class_="profiles"), folded("Conditional probabilities as numbers", numbers)]


def _overall(long: LongTable, at: int) -> np.ndarray:
    """Return the shares of the categories of an item among the cells that are known."""
    codes = long.codes[:, at]
    counts = np.bincount(codes[codes >= 0], minlength=len(long.states[at]))
    return counts / max(counts.sum(), 1)


def _fit(found: LatentTransition | MultilevelClasses) -> Html:
    estimator = found.estimator_
    unit = "people" if isinstance(found, LatentTransition) else "groups"
    weights = "none"
    if estimator.weight_kind_ is not None:
        weights = f"{estimator.weight_kind_} weights of {unit}, which sum to {decimal(estimator.total_weight_, 1)}"
    long = found._long
    missing = float((long.codes < 0).mean())
    rows = [
        ["Random starts that reached the best value", f"{estimator.n_best_} of {estimator.n_init}"],
        ["EM came to its end", "yes" if estimator.converged_ else "no"],
        ["Weights", weights],
        ["Missing cells, in rows that are there", percent(missing, 1)],
        ["Pseudo-count of every table entry", "none" if not estimator.prior else decimal(estimator.prior, 3)],
    ]
    parts = [table(["", ""], rows, class_="plain"), paragraph(_about_bic(found))]
    if estimator.degenerate_states_:
        parts.append(paragraph("Some hidden states are empty or equal to another one.", class_="warning"))
    if estimator.n_best_ < 2 < estimator.n_init:
        words = "Only one start reached the best value: there may be a better one. Raise n_starts."
        parts.append(paragraph(words, class_="warning"))
    return section("fit", "How it was fitted", *parts)


def _about_bic(found: LatentTransition | MultilevelClasses) -> str:
    """Say which N BIC has."""
    n = rows_in_words(found.estimator_.total_weight_)
    if isinstance(found, LatentTransition):
        return f"BIC has N = {n}, the number of people or the sum of their weights. Larger is better."
    return (
        f"BIC by groups has N = {n}, the number of groups or the sum of their weights, and suits the choice of the "
        "number of clusters; BIC by rows has the number of rows, or their weight. Larger is better."
    )


def _reproduce(found: LatentTransition | MultilevelClasses) -> Html:
    seed = found.estimator_.seed
    words = "The same table, arguments and versions give the same result, whatever the number of threads."
    further = [["random_state", "not set" if seed is None else str(seed)]]
    return section(
        "reproduce", "To reproduce this", paragraph(words), table(["", ""], version_rows(further), class_="plain")
    )
