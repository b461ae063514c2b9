"""Reports about Gaussian trees."""

from __future__ import annotations

from pgmpy_latent.report.document import Section, document, sections_of
from pgmpy_latent.report.gaussian_facts import GaussianFacts
from pgmpy_latent.report.gaussian_sections import (
    gaussian_fit_section,
    gaussian_tree_section,
    loadings_section,
    numbers_section,
)
from pgmpy_latent.report.html import count
from pgmpy_latent.report.opening import opening
from pgmpy_latent.report.reproduce_section import reproduce_section
from pgmpy_latent.report.search_section import search_section

#: Anchor, title in the table of contents, and function that makes the section; None is left out.
SECTIONS: tuple[Section, ...] = (
    ("tree", "Tree", gaussian_tree_section),
    ("latents", "Hidden variables", loadings_section),
    ("fit", "Fit", gaussian_fit_section),
    ("search", "Search", search_section),
    ("data", "Data", numbers_section),
    ("reproduce", "Reproduce", reproduce_section),
)


def gaussian_page(facts: GaussianFacts) -> str:
    """Return the report about a Gaussian tree, as a page."""
    hidden = count(len(facts.hidden), "hidden variable")
    title = f"Gaussian latent tree with {hidden}" if facts.hidden else "Gaussian tree without hidden variables"
    return document(title, opening(facts, vars(facts.measures)), sections_of(facts, SECTIONS))
