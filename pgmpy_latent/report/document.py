"""A page of HTML that needs no network: head, style, script, contents and sections."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TypeAlias

from tqdm.auto import tqdm

import pgmpy_latent
from pgmpy_latent.report.html import Html, element, paragraph
from pgmpy_latent.runtime.settings import PROGRESS_DELAY

#: Anchor of a section, its title in the table of contents, and the function that makes it from the facts, or None.
Section: TypeAlias = tuple[str, str, Callable[..., Html | None]]
#: Style and scripts of the page, in the order in which they run; the policy of the page allows these scripts alone.
STYLES, SCRIPTS = ("page.css", "explorer.css"), ("page.js", "messages.js", "explorer.js")


def document(title: str, opening: Sequence[Html], sections: Sequence[tuple[str, str, Html]]) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Of the page.
    opening : sequence of Html
        What stands below the title.
    sections : sequence of (anchor, title in the table of contents, content)
        The sections.

    Examples
    --------
    >>> document("A report", [], []).startswith("<!DOCTYPE html>")
    True
    """
    scripts, style = [_beside(name) for name in SCRIPTS], "".join(map(_beside, STYLES))
    allowed = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    contents = [element("a", name, href=f"#{anchor}") for anchor, name, _ in sections]
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
        element("header", element("h1", title), *opening),
        element("nav", *contents, aria_label="Contents"),
        element("main", *(content for _, _, content in sections), id="content"),
        element("footer", paragraph(f"Written by pgmpy_latent {pgmpy_latent.__version__}.")),
        *(element("script", Html(script)) for script in scripts),
    )
    return "<!DOCTYPE html>\n" + element("html", head, body, lang="en") + "\n"


def _beside(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def sections_of(facts, wanted: Sequence[Section]) -> list[tuple[str, str, Html]]:
    """Return the sections that have something to say, for :func:`document`; a bar shows how far they are.

    Examples
    --------
    >>> sections_of(None, [("a", "A", lambda facts: paragraph("It is so.")), ("b", "B", lambda facts: None)])
    [('a', 'A', '<p>It is so.</p>')]
    """
    shown = bool(getattr(getattr(facts, "learner", None), "show_progress", True))
    bar = tqdm(wanted, desc="report", disable=not shown, delay=PROGRESS_DELAY, leave=False)
    made = [(anchor, name, make(facts)) for anchor, name, make in bar]
    return [(anchor, name, content) for anchor, name, content in made if content is not None]


def cards(figures: Sequence[tuple[str, str]]) -> Html:
    """Return the most important figures, with their names.

    Examples
    --------
    >>> "<dd>7</dd>" in cards([("Rows", "7")])
    True
    """
    each = [element("div", element("dt", name), element("dd", value)) for name, value in figures]
    return element("dl", *each, class_="figures")
