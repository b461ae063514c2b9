"""Hidden variables: what each of them is about, and what its states look like."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.diagnostics.conditionals import conditionals, shares_and_conditionals
from pgmpy_latent.diagnostics.explain import ENOUGH, FEWEST
from pgmpy_latent.learners.density.validated import ValidatedLearner
from pgmpy_latent.learners.fitted_mixture import FOR_PREDICTION
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import (
    Html,
    bar,
    count,
    decimal,
    element,
    folded,
    label,
    paragraph,
    percent,
    safe,
    section,
    table,
)
from pgmpy_latent.report.profile_bars import BY_MODEL, IN_TABLE, MOST_CATEGORIES, profile_bars
from pgmpy_latent.tables.dependence import block_information

#: Maximum number of states of a hidden variable that are drawn.
MOST_CLASSES = 12
#: Maximum number of categories that describe a state, and by how much each must stand out.
DESCRIBED, LEAST_LIFT = 3, 0.02
#: With more hidden variables than this, the bars of each are folded.
MANY_LATENTS = 6
#: Information below this, in nats, counts as none.
NOTHING = 1e-6


def latents_section(facts: Facts) -> Html | None:
    """Return the section about the hidden variables; None if there is none."""
    if not facts.hidden or not facts.tells_states:
        return None
    n_hidden, n_explained = len(facts.hidden), len(facts.explained)
    intro = [
        "For each hidden variable: the columns that say most about it, and how these are distributed in its states. "
        f"{'Numbers' if facts.is_mixture else 'States are numbered from the largest; numbers'} and names of hidden "
        "variables mean nothing by themselves."
    ]
    if isinstance(facts.learner, ValidatedLearner) and not facts.is_mixture:
        intro.append(f" {FOR_PREDICTION}")
    intro.append(f" {_sources(facts)}")
    if n_explained < n_hidden:
        intro.append(
            f" Of {count(n_hidden)} hidden variables, the {n_explained} with the strongest links are shown; the tree "
            "above holds the tables of all."
        )
    return section(
        "latents", "Hidden variables", paragraph(*intro), *(_latent(facts, node) for node in facts.explained)
    )


def _sources(facts: Facts) -> str:
    """Say which figures of the section are the model's, and which are counted in the table."""
    if not facts.has_table:
        return "All figures are by the model."
    if facts.counts_states:
        states = (
            "Shares of states, and of categories within them, are means over the rows of the table, each of which "
            "counts for a state as much as it probably belongs to it"
        )
    else:
        states = "Shares of states, and of categories within them, are by the model"
    return f"{states}; “in the table” are shares of the known cells of a column."


def profiles_of(facts: Facts, node: int) -> list[np.ndarray]:
    """Return P(column | state) for every column of the table, in its order.

    From the tables, where the model is a tree or there are no rows; in other networks from the rows, each of which
    counts for a state as much as it probably belongs to it.
    """
    if facts.is_tree:
        tables = conditionals(facts.tree, node)
        return [tables[facts.tree.index(name)] for name in facts.data.columns]
    if not facts.has_table:
        _, tables = shares_and_conditionals(facts.network, node)
        return [tables[facts.network.index(name)] for name in facts.data.columns]
    weights = np.nan_to_num(facts.beliefs[node]) * facts.data.weights[:, None]
    profiles = []
    for codes, card in zip(facts.data.codes.T, facts.data.cards, strict=True):
        filled = codes >= 0
        counts = np.eye(int(card))[codes[filled]].T @ weights[filled]
        profiles.append((counts / np.maximum(counts.sum(axis=0), np.finfo(float).tiny)).T)
    return profiles


def _latent(facts: Facts, node: int) -> Html:
    model, data = facts.model, facts.data
    name, n_states = label(model.names[node]), int(model.cards[node])
    title = element("h3", name, " ", element("small", count(n_states, "state")))
    profiles = profiles_of(facts, node)
    position = {column: at for at, column in enumerate(data.columns)}
    listed = _listed(facts, node, profiles)
    columns = [position[column] for column, _, _ in listed]
    parts = [title]
    if n_states == 1 or not columns:
        why = "It has a single state and carries nothing." if n_states == 1 else "The columns say nothing about it."
        return element("article", *parts, paragraph(why), id=f"latent-{node}", class_="latent")
    coverage = listed[-1][2]
    words = [
        _joined([label(column) for column, _, _ in listed[:3]]),
        " says most about it." if len(listed) == 1 else " say most about it.",
    ]
    if coverage is not None and len(listed) < len(data.columns):
        words.append(f" The {len(listed)} columns below cover {percent(coverage)} of what all columns say.")
    parts.append(paragraph(*words))
    parts.append(_classes(facts, node, profiles, columns))
    figures = [
        _profile(facts, node, at, profiles[at], information)
        for at, (_, information, _) in zip(columns, listed, strict=True)
    ]
    heading = f"Columns and their categories in each {facts.state.lower()}"
    drawn = element("div", *figures, class_="profiles")
    parts.append(folded(heading, drawn) if len(facts.explained) > MANY_LATENTS else safe(element("h4", heading), drawn))
    parts.append(_numbers(facts, node, columns, profiles))
    return element("article", *parts, id=f"latent-{node}", class_="latent")


def _listed(facts: Facts, node: int, profiles: list[np.ndarray]) -> list[tuple]:
    """Return (column, information, coverage) of the columns that say most; the coverage is known for trees only."""
    if facts.is_tree:
        of_node = [name == facts.model.names[node] for name in facts.informative["latent"]]
        rows = facts.informative[np.array(of_node, dtype=bool)]  # an empty list would choose columns
        listed = list(zip(rows["column"], rows["mutual_information"], rows["coverage"], strict=True))
        listed = [row for row in listed if row[1] > NOTHING]
        enough = next((at for at, row in enumerate(listed, start=1) if row[2] >= ENOUGH), len(listed))
        return listed if facts.is_latent_class else listed[: max(enough, FEWEST)]
    shares = facts.shares[node][:, None]
    information = [float(block_information(shares * given, [0], [0])[0, 0]) for given in profiles]
    best = np.argsort(-np.array(information), kind="stable")[: facts.most_columns]
    return [(facts.data.columns[at], information[at], None) for at in best if information[at] > NOTHING]


def _classes(facts: Facts, node: int, profiles: list[np.ndarray], columns: list[int]) -> Html:
    """Return the states with their shares and the categories that mark them."""
    shares, names = facts.shares[node], facts.states_in_words(node)
    rows = [
        [
            names[state],
            bar(shares[state], percent(shares[state], 1)),
            _marks(facts, profiles, columns, state),
        ]
        for state in range(min(len(shares), MOST_CLASSES))
    ]
    share = "Share, over the rows" if facts.counts_states else "Share, by the model"
    parts = [table([facts.state, share, "Stands out by"], rows, class_="classes")]
    if len(shares) > MOST_CLASSES:
        parts.append(paragraph(f"… and {count(len(shares) - MOST_CLASSES, 'more state')}.", class_="quiet"))
    return Html("".join(parts))


def _marks(facts: Facts, profiles: list[np.ndarray], columns: list[int], state: int) -> Html | str:
    """Return the categories that are more frequent in a state than in general, the most telling first."""
    deviations = []
    for at in columns:
        profile, overall = profiles[at][state], facts.column_shares[at]
        lift = np.where(
            (profile > overall) & (overall > 0),
            profile * np.log(np.maximum(profile, 1e-300) / np.maximum(overall, 1e-300)),
            0.0,
        )
        best = int(lift.argmax())
        if lift[best] > LEAST_LIFT:
            deviations.append((lift[best], at, best))
    deviations.sort(key=lambda entry: -entry[0])
    if not deviations:
        return "nothing in particular"
    marks, whole = [], _whole(facts).lower()
    for _, at, category in deviations[:DESCRIBED]:
        column, value = label(facts.data.columns[at]), label(facts.data.state_names[at][category])
        profile, overall = profiles[at][state][category], facts.column_shares[at][category]
        numbers = element("small", f" {percent(profile)}; {whole}: {percent(overall)}")
        marks.append(element("span", element("b", f"{column} = {value}"), numbers, class_="mark"))
    return Html(" ".join(marks))


def _whole(facts: Facts) -> str:
    return IN_TABLE if facts.counts_columns else BY_MODEL


def _profile(facts: Facts, node: int, at: int, given: np.ndarray, information: float) -> Html:
    """Return how a column is distributed in each state of a hidden node, as stacked bars."""
    lines = list(zip(facts.states_in_words(node), given, strict=True))[:MOST_CLASSES]
    note = f"{decimal(information, 3)} nats"
    overall = facts.column_shares[at]
    return profile_bars(facts.data.columns[at], facts.data.state_names[at], lines, overall, note, _whole(facts))


def _numbers(facts: Facts, node: int, columns: list[int], profiles: list[np.ndarray]) -> Html:
    """Return the same as numbers."""
    shares = facts.shares[node]
    shown = min(len(shares), MOST_CLASSES)
    rows = [["share of the state", "", *(decimal(share, 3) for share in shares[:shown])]]
    for at in columns:
        states = facts.data.state_names[at]
        for category in range(min(len(states), 3 * MOST_CATEGORIES)):
            cells = [decimal(profiles[at][state][category], 3) for state in range(shown)]
            rows.append([label(facts.data.columns[at]) if category == 0 else "", label(states[category]), *cells])
        if len(states) > 3 * MOST_CATEGORIES:
            rows.append(["", f"… and {len(states) - 3 * MOST_CATEGORIES} more", *[""] * shown])
    header = ["Column", "Category", *facts.states_in_words(node)[:shown]]
    return folded("Conditional probabilities as numbers", table(header, rows, numbers=range(2, shown + 2)))


def _joined(names: list[str]) -> Html:
    """Return names as part of a sentence."""
    bold = [element("b", name) for name in names]
    if len(bold) == 1:
        return bold[0]
    return Html(", ".join(bold[:-1]) + " and " + bold[-1])
