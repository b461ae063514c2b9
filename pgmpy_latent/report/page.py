"""The report as one page: its sections in order, with style and script inside, written atomically."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Unpack

from tqdm.auto import tqdm

import pgmpy_latent
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import model_and_data, model_of
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.fitted import unfinished_words, updated_words
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.relations.covariate_result import CovariateRelation
from pgmpy_latent.relations.outcome_result import OutcomeRelation
from pgmpy_latent.report.checklist_section import checklist_section
from pgmpy_latent.report.data_section import data_section
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.fit_section import fit_section
from pgmpy_latent.report.groups_section import groups_section
from pgmpy_latent.report.html import Html, count, decimal, element, paragraph
from pgmpy_latent.report.latents_section import latents_section
from pgmpy_latent.report.mixed_facts import MixedFacts
from pgmpy_latent.report.network_section import network_section
from pgmpy_latent.report.numbers_section import numbers_section
from pgmpy_latent.report.relations_section import relations_section
from pgmpy_latent.report.reproduce_section import reproduce_section
from pgmpy_latent.report.search_section import search_section
from pgmpy_latent.report.tree_section import tree_section
from pgmpy_latent.runtime.files import check_writable, write_whole
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, kind_in_words
from pgmpy_latent.selection.groups import GroupComparison
from pgmpy_latent.tables.columns import listing
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey

#: How the name of a report may end.
ENDINGS = (".html", ".htm", ".xhtml", "")
#: Anchor, title in the table of contents, and function that makes the section; None is left out.
SECTIONS: tuple[tuple[str, str, Callable[[Facts], Html | None]], ...] = (
    ("tree", "Tree", tree_section),
    ("latents", "Hidden variables", latents_section),
    ("numbers", "Numbers", numbers_section),
    ("fit", "Fit", fit_section),
    ("groups", "Groups", groups_section),
    ("relations", "Other columns", relations_section),
    ("search", "Search", search_section),
    ("data", "Data", data_section),
    ("checklist", "Checklist", checklist_section),
    ("reproduce", "Reproduce", reproduce_section),
)


def write_report(
    model,
    path: str | os.PathLike,
    X=None,
    *,
    sample_weight=None,
    groups: GroupComparison | None = None,
    relations=(),
    command: str | None = None,
    **survey: Unpack[Survey],
) -> None:
    """Write a report about a model: one HTML page that works offline.

    Parameters
    ----------
    model : fitted learner, LatentTree or LatentNetwork
        What to report about.
    path : path-like
        The file, as ``"report.html"``. It is replaced if it exists.
    X : DataFrame, array or CategoricalData, optional
        The table to hold the model against; by default the one that the learner learned from.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows of ``X``, or the name of the column that holds them.
    groups : GroupComparison, optional
        What :func:`pgmpy_latent.compare_groups` found; it gets a section.
    relations : CovariateRelation, OutcomeRelation or list of them, optional
        What :func:`pgmpy_latent.relate` found; it gets a section.
    command : str, optional
        What was typed to get the model, where it was not Python; it is what the reader is told to repeat.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Raises
    ------
    DataError
        If there is no table: a model by itself has none. If ``groups`` or ``relations`` are about other columns, or
        other numbers of classes, than the model.
    OSError
        If the file cannot be written, before anything is computed.

    Examples
    --------
    >>> import tempfile
    >>> from pgmpy_latent import RandomStarts, datasets
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(datasets.load_anes96())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(learner, f"{folder}/report.html")
    ...     sorted(os.listdir(folder))
    ['report.html']
    """
    path = check_writable(path)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{str(path)!r}: a report is a page of HTML; name it {path.with_suffix('.html').name!r}")
    if groups is not None and not isinstance(groups, GroupComparison):
        raise TypeError(f"groups is {kind_in_words(groups)}; give what compare_groups(X, group, n_states) returns")
    relations = [relations] if isinstance(relations, (CovariateRelation, OutcomeRelation)) else list(relations)
    for found in relations:
        if not isinstance(found, (CovariateRelation, OutcomeRelation)):
            raise TypeError(f"relations has {kind_in_words(found)}; give what relate(learner, table, z) returns")
    facts = gather(model, X, sample_weight, **survey)
    facts.command, facts.groups, facts.relations = command, groups, relations
    _check_same_model(facts)
    write_whole(path, page(facts).encode("utf-8"))


def gather(model, X=None, sample_weight=None, **survey: Unpack[Survey]) -> Facts:
    """Return model, table and learner, ready for a report."""
    learner = model if isinstance(model, StructureLearner) else None
    network = model_of(model)
    if X is not None:
        network, data = model_and_data(model, X, sample_weight=sample_weight, takes_numbers=True, **survey)
        return _facts(network, data, learner, own_data=False)
    if sample_weight is not None or survey:
        raise ValueError("sample_weight belongs to X; give both, or neither for the table that was learned from")
    learned_from: CategoricalData | None = getattr(learner, "_data", None)
    if learned_from is None:
        what = f"this {type(model).__name__} has no table with it"
        raise DataError(f"{what}; give the one to report about, as report('report.html', X)")
    return _facts(network, learned_from, learner)


def _facts(model: LatentTree | LatentNetwork, data: CategoricalData, learner, own_data: bool = True) -> Facts:
    """Return the facts, with bins in the place of numbers if the table has any."""
    facts = Facts(model, data, learner, own_data)
    return MixedFacts.of(facts) if data.values else facts


def _check_same_model(facts: Facts) -> None:
    """Raise if groups or relations are about other columns or numbers of classes than the model."""
    model = facts.model
    n_states = {model.names[node]: int(model.cards[node]) for node in facts.hidden}
    if facts.groups is not None:
        network = facts.groups.network_
        items = [name for name in network.observed_names if name != facts.groups.group]
        _check_columns("groups", items, model.observed_names, "compare_groups")
        _check_classes("groups", int(network.cards[1]), n_states, "compare_groups")
    for found in facts.relations:
        if isinstance(found, CovariateRelation):
            _check_columns("relations", found.network.observed_names, model.observed_names, "relate")
            known = {name: number for name, number in n_states.items() if name == found.latent}
            _check_classes("relations", len(found.classes), known or n_states, "relate")
        else:
            _check_classes("relations", found.means["class"].nunique(), n_states, "relate")


def _check_columns(argument: str, columns: Sequence[Hashable], known: Sequence[Hashable], call: str) -> None:
    differ = [name for name in columns if name not in known] + [name for name in known if name not in columns]
    if differ:
        raise DataError(
            f"{argument} has the result of {call} for other columns than those of this model: they differ in "
            f"{listing(differ)}; give the result for the same columns"
        )


def _check_classes(argument: str, number: int, n_states: Mapping[Hashable, int], call: str) -> None:
    if number not in n_states.values():
        own = ", ".join(f"{name!r} has {size} states" for name, size in n_states.items()) or "there are none"
        raise DataError(
            f"{argument} has the result of {call} for {number} class{'es' * (number != 1)}, but of the hidden "
            f"variables of this model {own}; give the result for the same number"
        )


def page(facts: Facts) -> str:
    """Return the whole page."""
    script = files(__package__).joinpath("page.js").read_text(encoding="utf-8")
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    sections = _sections(facts)
    contents = [element("a", name, href=f"#{anchor}") for anchor, name, _ in sections]
    title = _title(facts)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"pgmpy_latent {pgmpy_latent.__version__}"),
        element("title", title),
        element("style", Html(style)),
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", element("h1", title), *_opening(facts)),
        element("nav", *contents, aria_label="Contents"),
        element("main", *(content for _, _, content in sections), id="content"),
        element("footer", paragraph(f"Written by pgmpy_latent {pgmpy_latent.__version__}.")),
        element("script", Html(script)),
    )
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def _sections(facts: Facts) -> list[tuple[str, str, Html]]:
    wanted = SECTIONS if facts.is_tree else (("network", "Network", network_section), *SECTIONS[1:])
    shown = bool(getattr(facts.learner, "show_progress", True))
    bar = tqdm(wanted, desc="report", disable=not shown, delay=PROGRESS_DELAY, leave=False)
    made = [(anchor, name, make(facts)) for anchor, name, make in bar]
    return [(anchor, name, content) for anchor, name, content in made if content is not None]


def _title(facts: Facts) -> str:
    if not facts.is_tree:
        return "Network report"
    if facts.is_latent_class:
        n_states = int(facts.model.cards[facts.hidden[0]])
        return f"Latent class model with {n_states} class{'es' * (n_states != 1)}"
    return (
        f"Latent tree with {count(len(facts.hidden), 'hidden variable')}"
        if facts.hidden
        else "Tree without hidden variables"
    )


def _opening(facts: Facts) -> list[Html]:
    """Return the most important figures and notes."""
    data, values = facts.data, facts.scores
    name = "pgmpy-latent" if facts.command else type(facts.learner).__name__
    by = f" by {name}" if facts.learner is not None else ""
    learned = f"Learned{by} from" if facts.own_data else f"Learned{by}; held against"
    words = f"{learned} {count(data.n_rows, 'row')} and {count(len(data.columns), 'column')}."
    figures = [("Rows", count(data.n_rows)), ("Columns", count(len(data.columns)))]
    if data.weight_kind == "sampling":
        figures.insert(1, ("Effective rows", decimal(data.total_weight, 1)))
    figures += [("Hidden variables", count(len(facts.hidden))), ("Parameters", count(values["n_parameters"]))]
    for name, value in (("Log-likelihood", values["log_likelihood"]), ("BIC", values["bic"])):
        figures.append((name, decimal(value, 1 if abs(value) < 1e5 else 0)))
    entropy = values.get("relative_entropy")
    if facts.hidden and entropy is not None:
        figures.append(("Relative entropy", decimal(entropy, 2)))
    cards = [element("div", element("dt", name), element("dd", value)) for name, value in figures]
    parts = [paragraph(words, class_="lead"), element("dl", *cards, class_="figures")]
    if updated := updated_words(facts.learner):
        here = "Figures on this page are of the tables as they are now, except for the section about the search."
        parts.append(paragraph(f"{updated} {here}", class_="warning"))
    unfinished = unfinished_words(facts.learner) if facts.learner is not None else ""
    if unfinished:
        parts.append(paragraph(unfinished, class_="warning"))
    return parts
