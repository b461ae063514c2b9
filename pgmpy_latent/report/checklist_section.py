"""The points of the SMART-LCA checklist: what this page says about them, and what is left to the author.

Standards for More Accuracy in Reporting of different Types of Latent Class Analysis: C. J. Van Lissa,
M. Garnier-Villarreal and D. Anadria (2023). Recommended practices in latent class analysis using the open-source
R-package tidySEM. Structural Equation Modeling. https://doi.org/10.1080/10705511.2023.2250920
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import pgmpy_latent
from pgmpy_latent.report.data_section import is_unweighted, mean_categories, rare_categories
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import Html, count, decimal, element, label, paragraph, percent, safe, section

REFERENCE = (
    "After the SMART-LCA checklist: C. J. Van Lissa, M. Garnier-Villarreal and D. Anadria (2023), Recommended "
    "practices in latent class analysis using the open-source R-package tidySEM, Structural Equation Modeling, "
    "doi:10.1080/10705511.2023.2250920. Points marked “here” are answered by this page; those marked “yours” are for "
    "the text around it."
)
#: A point of the checklist: whether the report answers it, and its text.
Point = tuple[bool, str]

#: Settings that give the number of starts.
STARTS = {
    "n_starts": "random starts",
    "n_restarts": "restarts",
    "n_splits": "splits tried per state",
}


def checklist_section(facts: Facts) -> Html:
    """Return the section with the checklist."""
    groups: list[tuple[str, Sequence[Point]]] = [
        (
            "Before the analysis",
            [(False, "Research question; exploratory or confirmatory; choice of columns; sample size.")],
        ),
        ("Observed data", [(True, _observed(facts))]),
        ("Pre-processing and measurement level", _measurement(facts)),
        ("Missing data", _missing(facts)),
        ("Model specification", [(True, _specification(facts))]),
        ("Number of classes and criteria", _number_of_classes(facts)),
        ("Reasons to discard a model", [(True, _identification(facts))]),
        ("Estimation and convergence", [(True, _estimation(facts)), (True, _convergence(facts))]),
        ("Results", _results(facts)),
        ("Inference", [(True, _inference())]),
        (
            "Visualisation",
            [(True, _pictures(facts))],
        ),
        ("Follow-up analyses", [(True, _follow_up(facts))]),
        ("Transparency and reproducibility", _transparency(facts)),
    ]
    items = []
    for title, points in groups:
        lines = [
            element("li", element("span", mark, class_=mark), " ", element("span", words))
            for mark, words in (("here" if here else "yours", words) for here, words in points)
        ]
        items.append(element("div", element("h3", title), element("ul", *lines), class_="group"))
    listed = element("div", *items, class_="checklist")
    return section("checklist", "Reporting checklist", paragraph(REFERENCE, class_="quiet"), listed)


def _link(anchor: str, words: str) -> Html:
    return element("a", words, href=f"#{anchor}")


def _observed(facts: Facts) -> Html:
    rare = len(rare_categories(facts))
    description = (
        f"{count(rare)} categories with less than 1% of the cells"
        if rare != 1
        else "1 category with less than 1% of the cells"
    )
    return safe("Distribution of every column: ", _link("data", "see the data"), f"; {description}.")


def _measurement(facts: Facts) -> list[tuple[bool, str]]:
    used = "All columns are treated as nominal: the order of categories is not used, and nothing is rescaled"
    if facts.table.values:
        n = count(len(facts.table.values), "column")
        used = f"{n} of numbers, fitted as densities: see Numbers; shown in ranges. All others are treated as nominal"
    return [
        (True, f"{used}. Categories: {mean_categories(facts)}."),
        (False, "How categories were made: bins of measurements, merged answers, recoded or dropped columns."),
    ]


def _missing(facts: Facts) -> list[tuple[bool, str]]:
    shares = facts.missing_shares
    if not shares.any():
        return [(True, "No cell is missing.")]
    words = f"{percent(float(shares.mean()), 1)} of the cells, at most {percent(float(shares.max()), 1)} of a column"
    handled = (
        "Handled by full-information maximum likelihood: EM sums missing cells out, and no row is dropped or filled. "
        "Valid if cells are missing at random."
    )
    return [
        (True, safe(f"{words}; for each ", _link("data", "see the data"), ".")),
        (True, handled),
        (False, "Why cells are missing; a test of whether they are missing completely at random."),
    ]


def _specification(facts: Facts) -> str:
    n = count(facts.scores["n_parameters"], "free parameter")
    if facts.is_mixture:
        shape = f"A mixture of {count(len(facts.mixture.trees), 'latent tree')}, made to predict rows"
    elif not facts.is_tree:
        shape = "A Bayesian network over columns and hidden variables"
    elif facts.is_latent_class:
        shape = "A latent class model: given the class, columns are independent"
    elif facts.hidden:
        shape = "A latent tree: given its neighbours, every variable is independent of the rest"
    else:
        shape = "A forest over the columns themselves, without hidden variables"
    own = "a table, or the density of a number, of its own" if facts.table.values else "a table of its own"
    return f"{shape}. Every conditional distribution is {own} without constraints; {n}."


def _number_of_classes(facts: Facts) -> list[tuple[bool, str]]:
    points = []
    if facts.learner is not None and facts.hidden:
        points.append((True, f"Number of states of the hidden variables: {_how_many(facts)}."))
    if len(facts.candidates) > 1:
        tried = f"{count(len(facts.candidates))} numbers of classes that were considered"
        points.append((True, safe(f"A table of all {tried}: ", _link("search", "see the search"), ".")))
        tests = (
            "Bootstrap likelihood-ratio tests of these numbers, as pgmpy-latent compare --bootstrap 100 or "
            "compare_classes(X, n_bootstrap=100) makes them; why no more classes were considered."
        )
        points.append((False, tests))
    elif facts.is_latent_class:
        table = (
            "A table of all numbers of classes that were considered, with bootstrap likelihood-ratio tests, as "
            "compare_classes(X, n_bootstrap=100) makes it; why no more classes were considered."
        )
        points.append((False, table))
    points.append((False, "Whether the states can be interpreted, and agree with theory."))
    return points


def _how_many(facts: Facts) -> str:
    """Return how the numbers of states were chosen."""
    settings = facts.settings
    fixed, most = settings.get("n_states"), settings.get("max_states")
    if fixed is not None:
        return f"fixed beforehand ({label(fixed)})"
    if facts.criterion is not None:
        criterion = facts.criterion.sentence
    else:
        criterion = getattr(settings["scoring_method"], "__name__", "a score of the user")
    limit = "" if most is None else f"; at most {most}"
    return f"chosen by the search, by {criterion}{limit}"


def _identification(facts: Facts) -> str:
    d, n = facts.scores["n_parameters"], facts.data.total_weight
    words = [f"{decimal(n / max(d, 1), 1)} rows per parameter"]
    if facts.is_latent_class:
        share = float(facts.shares[facts.hidden[0]].min())
        n_of_columns = sum(int(card) - 1 for card in facts.data.cards)
        words.append(f"{decimal(n * share / max(n_of_columns, 1), 1)} in the smallest class")
    effective = facts.scores.get("effective_dimension")
    if effective is not None:
        words.append(
            "locally identified (as many effective parameters as free ones)"
            if effective == d
            else f"not identified: the data can tell only {effective} of {d} parameters apart"
        )
    return "; ".join(words).capitalize() + "."


def _estimation(facts: Facts) -> str:
    settings = facts.settings
    prior = settings.get("prior")
    estimate = "Maximum likelihood" if not prior else f"Maximum a posteriori (Dirichlet pseudo-count {prior})"
    how = " by the EM algorithm" if facts.hidden or facts.missing_shares.any() else ", in closed form"
    if facts.hidden and settings.get("accelerate", True):
        how += " (accelerated by SQUAREM)"
    starts = [
        f"{settings[setting]} {name}"
        for setting, name in STARTS.items()
        if isinstance(settings.get(setting), (int, np.integer))
    ]
    kind = facts.data.weight_kind
    weighted = "" if is_unweighted(facts) else f", with {kind} weights" if kind else ", weighted"
    return f"{estimate}{how}, on all rows{weighted}{'; ' if starts else ''}{', '.join(starts)}."


def _convergence(facts: Facts) -> str:
    learner = facts.learner
    if learner is None:
        return "Not known: this report is about a model without its learner."
    stopped = getattr(learner, "stopped_", None)
    if stopped is not None:
        return "The search was stopped before its end, and this is the best model so far."
    tol = facts.settings.get("tol")
    end = f"; the final EM ends when less than {tol:g} of log-likelihood is left to gain" if tol is not None else ""
    if facts.choice is not None:
        best = facts.choice.chosen_
        done = "EM converged" if best.converged else f"EM had not converged after {count(best.n_iter, 'iteration')}"
        return f"{done}{end}. {best.n_best} of {count(best.n_starts, 'start')} reached the best value."
    return f"The search ended by itself{end}."


def _results(facts: Facts) -> list[tuple[bool, str]]:
    points: list[tuple[bool, str]] = [(True, safe("Fit: ", _link("fit", "see scores and diagnostics"), "."))]
    points.append(_errors(facts))
    several = [node for node in facts.explained if facts.model.cards[node] > 1]
    if several:
        sizes = "; ".join(
            f"{label(facts.model.names[node])}: " + ", ".join(percent(share) for share in facts.shares[node])
            for node in several[:6]
        )
        more = f"; and {len(facts.hidden) - 6} more" if len(facts.hidden) > 6 else ""
        points.append((True, f"Class sizes: {sizes}{more}."))
        entropy = facts.scores.get("relative_entropy")
        if entropy is not None:
            points.append((True, f"Relative entropy {decimal(entropy, 3)}; average posteriors under Fit."))
        points.append((True, safe("Conditional probabilities: ", _link("latents", "see hidden variables"), ".")))
        points.append((False, "Names for the states, as shorthand."))
    return points


def _inference() -> str:
    tested = "P-values of bivariate residuals are adjusted for the number of pairs (Holm)"
    return f"{tested}. Nothing else is tested on this page."


def _errors(facts: Facts) -> tuple[bool, str]:
    if facts.table.values:
        return False, "Standard errors: models with numbers have none yet; draw the table again and fit each draw."
    if facts.has_standard_errors:
        return True, "Standard errors and confidence intervals of all probabilities: under Fit."
    return False, "Standard errors and confidence intervals: standard_errors(learner, X), also by bootstrap."


def _pictures(facts: Facts) -> Html:
    shape = _link("tree", "the tree") if facts.is_tree else _link("network", "the network")
    if facts.is_mixture:
        shape = _link("trees", "the trees")
    return safe("See ", shape, " and the profiles of the hidden variables." if facts.hidden else ".")


def _follow_up(facts: Facts) -> str:
    if not facts.hidden:
        return "Nothing is hidden, so nothing is assigned."
    return (
        "Assigned states carry error. Use predict_proba, or correct for the classification table (three-step methods), "
        "when states are related to other variables."
    )


def _transparency(facts: Facts) -> list[tuple[bool, str]]:
    software = f"Free software: pgmpy_latent {pgmpy_latent.__version__}; code, settings, seed and versions "
    share = "Share data and code. If data cannot be shared, learner.sample(n) draws synthetic rows from the model."
    return [(True, safe(software, _link("reproduce", "below"), ".")), (False, share)]
