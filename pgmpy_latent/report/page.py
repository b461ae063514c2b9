"""The report as one page: its sections in order, with style and script inside, written atomically."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Unpack

import numpy as np

from pgmpy_latent.exceptions import DataError
from pgmpy_latent.grouped_rows.levels import MultilevelClasses
from pgmpy_latent.grouped_rows.transitions import LatentTransition
from pgmpy_latent.inference.queries import asked, model_and_data
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.relations.covariate_result import CovariateRelation
from pgmpy_latent.relations.outcome_result import OutcomeRelation
from pgmpy_latent.report.checklist_section import checklist_section
from pgmpy_latent.report.data_section import data_section
from pgmpy_latent.report.document import Section, document, sections_of
from pgmpy_latent.report.effects_section import effects_section
from pgmpy_latent.report.facts import Facts, no_rows
from pgmpy_latent.report.fit_section import fit_section
from pgmpy_latent.report.gaussian_facts import gaussian_facts
from pgmpy_latent.report.gaussian_page import gaussian_page
from pgmpy_latent.report.grouped_page import grouped_page
from pgmpy_latent.report.groups_section import groups_section
from pgmpy_latent.report.html import Html, count, paragraph
from pgmpy_latent.report.latents_section import latents_section
from pgmpy_latent.report.mixed_facts import MixedFacts
from pgmpy_latent.report.mixture_section import mixture_section
from pgmpy_latent.report.network_section import network_section
from pgmpy_latent.report.numbers_section import numbers_section
from pgmpy_latent.report.opening import opening
from pgmpy_latent.report.relations_section import relations_section
from pgmpy_latent.report.reproduce_section import reproduce_section
from pgmpy_latent.report.search_section import search_section
from pgmpy_latent.report.topics_section import topics_section
from pgmpy_latent.report.tree_section import tree_section
from pgmpy_latent.report.what_if_section import rows_to_show, what_if_section
from pgmpy_latent.runtime.files import check_writable, write_whole
from pgmpy_latent.runtime.settings import kind_in_words
from pgmpy_latent.selection.edge_search import DirectEffects
from pgmpy_latent.selection.groups import GroupComparison
from pgmpy_latent.tables.columns import listing
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey

#: How the name of a report may end.
ENDINGS = (".html", ".htm", ".xhtml", "")
#: Anchor, title in the table of contents, and function that makes the section; None is left out.
SECTIONS: tuple[Section, ...] = (
    ("tree", "Tree", tree_section),
    ("topics", "Topics", topics_section),
    ("what-if", "What if?", what_if_section),
    ("latents", "Hidden variables", latents_section),
    ("numbers", "Numbers", numbers_section),
    ("fit", "Fit", fit_section),
    ("effects", "Direct effects", effects_section),
    ("groups", "Groups", groups_section),
    ("relations", "Other columns", relations_section),
    ("search", "Search", search_section),
    ("data", "Data", data_section),
    ("checklist", "Checklist", checklist_section),
    ("reproduce", "Reproduce", reproduce_section),
)
#: Those of a model that comes without a table.
WITHOUT_TABLE = ("tree", "trees", "network", "topics", "what-if", "latents")


def write_report(
    model,
    path: str | os.PathLike,
    X=None,
    *,
    sample_weight=None,
    groups: GroupComparison | None = None,
    relations=(),
    direct_effects: DirectEffects | None = None,
    rows=None,
    command: str | None = None,
    **survey: Unpack[Survey],
) -> None:
    """Write a report about a model: one HTML page that works offline.

    Parameters
    ----------
    model : fitted learner, LatentTree, LatentNetwork, TreeMixture, GaussianTree, LatentTransition or MultilevelClasses
        What to report about. The last two have their table with them, and take no other argument than the path.
    path : path-like
        The file, as ``"report.html"``. It is replaced if it exists.
    X : DataFrame, array or CategoricalData, optional
        The table to hold the model against; by default the one that the learner learned from. Without any, the page has
        what the model says by itself: the tree, its hidden variables, and what follows from answers.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows of ``X``, or the name of the column that holds them.
    groups : GroupComparison, optional
        What :func:`pgmpy_latent.compare_groups` found; it gets a section.
    relations : CovariateRelation, OutcomeRelation or list of them, optional
        What :func:`pgmpy_latent.relate` found; it gets a section.
    direct_effects : DirectEffects, optional
        What :func:`pgmpy_latent.add_direct_effects` found; it gets a section.
    rows : DataFrame, array, CategoricalData or int, optional
        Rows that the reader can choose to see why they are unusual, or how many of the least likely ones of the table
        (:func:`pgmpy_latent.unusual_rows`). None by default: whoever has the page can read them.
    command : str, optional
        What was typed to get the model, where it was not Python; it is what the reader is told to repeat.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Raises
    ------
    DataError
        If ``groups``, ``relations`` or ``direct_effects`` are about other columns, or other numbers of classes, than
        the model; if ``rows`` is a number, and there is no table.
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
    if isinstance(model, (LatentTransition, MultilevelClasses)):
        given = {"X": X, "sample_weight": sample_weight, "groups": groups, "relations": relations or None, "rows": rows,
                 "direct_effects": direct_effects, "command": command, **survey}  # fmt: skip
        _refuse_all(given, f"{type(model).__name__}, which has its table with it")
        write_whole(path, grouped_page(model).encode("utf-8"))
        return
    if groups is not None and not isinstance(groups, GroupComparison):
        raise TypeError(f"groups is {kind_in_words(groups)}; give what compare_groups(X, group, n_states) returns")
    if direct_effects is not None and not isinstance(direct_effects, DirectEffects):
        what = kind_in_words(direct_effects)
        raise TypeError(f"direct_effects is {what}; give what add_direct_effects(learner, X) returns")
    relations = [relations] if isinstance(relations, (CovariateRelation, OutcomeRelation)) else list(relations)
    for found in relations:
        if not isinstance(found, (CovariateRelation, OutcomeRelation)):
            raise TypeError(f"relations has {kind_in_words(found)}; give what relate(learner, table, z) returns")
    if isinstance(getattr(model, "tree_", model), GaussianTree):
        given = {"groups": groups, "relations": relations or None, "direct_effects": direct_effects, "rows": rows}
        _refuse_all(given, "Gaussian tree, which has no classes")
        numbers = gaussian_facts(model, X, sample_weight, **survey)
        numbers.command = command
        write_whole(path, gaussian_page(numbers).encode("utf-8"))
        return
    facts = gather(model, X, sample_weight, rows, **survey)
    facts.command, facts.groups, facts.relations, facts.direct_effects = command, groups, relations, direct_effects
    _check_same_model(facts)
    write_whole(path, page(facts).encode("utf-8"))


def _refuse_all(given: Mapping[str, object], what: str) -> None:
    """Raise if a report is given what does not go with its model."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ValueError(f"{named[0]} is not for a {what}; leave it out")


def gather(model, X=None, sample_weight=None, rows=None, **survey: Unpack[Survey]) -> Facts:
    """Return model, table and learner, ready for a report."""
    learner = model if isinstance(model, StructureLearner) else None
    network = asked(model)
    data: CategoricalData | None
    if X is not None:
        given = {"sample_weight": sample_weight, "takes_numbers": True, "may_be_mixture": True}
        network, data = model_and_data(model, X, **given, **survey)
    elif sample_weight is not None or survey:
        raise ValueError("sample_weight belongs to X; give both, or neither for the table that was learned from")
    else:
        kept = getattr(model, "_data", None)
        data = kept if isinstance(kept, CategoricalData) else None  # sparse rows, and tables in pieces, are not at hand
    if data is None and emissions_of(network):
        raise DataError(
            "this model has columns of numbers, and no table with it; give one, as report('report.html', X)"
        )
    own = X is None and data is not None and learner is not None
    facts = Facts(network, no_rows(network) if data is None else data, learner, own_data=own)
    facts = MixedFacts.of(facts) if facts.data.values else facts
    facts.has_table = data is not None
    if rows is not None:
        read, labels, n = rows_to_show(rows, model, X, data)
        facts.rows = facts.as_shown(read), labels, n
    return facts


def _check_same_model(facts: Facts) -> None:
    """Raise if groups or relations are about other columns or numbers of classes than the model."""
    model = facts.model
    n_states = {model.names[node]: int(model.cards[node]) for node in facts.hidden}
    if facts.groups is not None:
        network = facts.groups.network_
        items = [name for name in network.observed_names if name != facts.groups.group]
        _check_columns("groups", items, model.observed_names, "compare_groups")
        _check_classes("groups", int(network.cards[1]), n_states, "compare_groups")
    if facts.direct_effects is not None:
        network = facts.direct_effects.network_
        _check_columns("direct_effects", network.observed_names, model.observed_names, "add_direct_effects")
        size = int(network.cards[int(np.flatnonzero(network.latent)[0])])
        _check_classes("direct_effects", size, n_states, "add_direct_effects")
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
        own = ", ".join(f"{name!r} has {size} states" for name, size in n_states.items()) or "nothing is hidden"
        raise DataError(
            f"{argument} has the result of {call} for {number} class{'es' * (number != 1)}, but in this model {own}; "
            "give the result for the same number"
        )


def page(facts: Facts, only: Collection[str] | None = None) -> str:
    """Return the whole page, or one with some sections only, given by their anchors."""
    top = opening(facts, facts.scores) if facts.has_table else [_size(facts)]
    return document(_title(facts), top, sections_of(facts, _wanted(facts, only)))


def _wanted(facts: Facts, only: Collection[str] | None) -> Sequence[Section]:
    wanted: Sequence[Section] = SECTIONS
    if facts.is_mixture:
        wanted = (("trees", "Trees", mixture_section), *SECTIONS[1:])
    elif not facts.is_tree:
        wanted = (("network", "Network", network_section), *SECTIONS[1:])
    allowed = [anchor for anchor, _, _ in wanted] if facts.has_table else WITHOUT_TABLE
    return [one for one in wanted if one[0] in allowed and (only is None or one[0] in only)]


def _title(facts: Facts) -> str:
    if facts.is_mixture:
        return f"Mixture of {count(len(facts.mixture.trees), 'tree')}"
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


def _size(facts: Facts) -> Html:
    """Return what is said at the top of the page about a model that comes without a table."""
    model = facts.model
    sizes = (len(facts.hidden), "hidden variable"), (len(model.observed_names), "column")
    words = ", ".join(count(*size) for size in (*sizes, (model.n_parameters, "parameter")))
    return paragraph(f"{words}. No table came with this model, so nothing is said about its fit.", class_="lead")
