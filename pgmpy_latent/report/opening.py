"""What stands at the top of a report about a model and its table: the most important figures, and notes."""

from __future__ import annotations

from collections.abc import Mapping

from pgmpy_latent.learners.fitted import unfinished_words, updated_words
from pgmpy_latent.report.document import cards
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.gaussian_facts import GaussianFacts
from pgmpy_latent.report.html import Html, count, decimal, paragraph


def opening(facts: Facts | GaussianFacts, values: Mapping[str, float]) -> list[Html]:
    """Return the most important figures, given what is measured of the model, and notes.

    Examples
    --------
    >>> from pgmpy_latent import RandomStarts, datasets
    >>> learner = RandomStarts(n_states=2, random_state=0).fit(datasets.load_anes96())
    >>> facts = Facts(learner.tree_, learner._data, learner)
    >>> "Learned by RandomStarts from 944 rows and 9 columns." in opening(facts, facts.scores)[0]
    True
    """
    data = facts.data
    name = "pgmpy-latent" if facts.command else type(facts.learner).__name__
    if facts.learner is None:
        learned = "A given model, held against"
    else:
        learned = f"Learned by {name} from" if facts.own_data else f"Learned by {name}; held against"
    words = f"{learned} {count(data.n_rows, 'row')} and {count(len(data.columns), 'column')}."
    figures = [("Rows", count(data.n_rows)), ("Columns", count(len(data.columns)))]
    if data.weight_kind == "sampling":
        figures.insert(1, ("Effective rows", decimal(data.total_weight, 1)))
    elif data.total_weight != data.n_rows:
        figures.insert(1, ("Total weight", f"{data.total_weight:,.10g}"))
    figures += [("Hidden variables", count(len(facts.hidden))), ("Parameters", count(int(values["n_parameters"])))]
    for name, value in (("Log-likelihood", values["log_likelihood"]), ("BIC", values["bic"])):
        figures.append((name, decimal(value, 1 if abs(value) < 1e5 else 0)))
    entropy = values.get("relative_entropy")
    if facts.hidden and entropy is not None:
        figures.append(("Relative entropy", decimal(entropy, 2)))
    parts = [paragraph(words, class_="lead"), cards(figures)]
    if updated := updated_words(facts.learner):
        here = "Figures on this page are of the tables as they are now, except for the section about the search."
        parts.append(paragraph(f"{updated} {here}", class_="warning"))
    unfinished = unfinished_words(facts.learner) if facts.learner is not None else ""
    if unfinished:
        parts.append(paragraph(unfinished, class_="warning"))
    return parts
