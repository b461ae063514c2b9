"""HTML that cannot be broken by what it shows: every text is escaped unless it is HTML already."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

#: Maximum length of a name in characters; longer ones are cut.
LONGEST_NAME = 200
#: Elements without content, of HTML and of pictures.
EMPTY = frozenset({"meta", "input", "line", "circle", "path"})


#: Larger numbers are written with an exponent.
LARGEST_IN_FULL = 1e15


class Html(str):
    """Text that is HTML already. Only this module creates it from other text, which it escapes."""

    __slots__ = ()


def label(name: Hashable) -> str:
    r"""Return the name of a column or state as text; quoted if it is empty, not printable or has outer spaces.

    Examples
    --------
    >>> label("age"), label(3), label(" x"), label("a\nb"), label("")
    ('age', '3', "' x'", "'a\\nb'", "''")
    """
    text = str(name)
    if not text.isprintable() or text.strip() != text or not text:
        text = repr(name)
        if not text.isprintable():  # a repr of somebody else's
            text = ascii(text)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def safe(*parts) -> Html:
    """Return parts as one piece of HTML; whatever is not HTML yet is escaped.

    Examples
    --------
    >>> safe("a < b ", element("b", "&"))
    'a &lt; b <b>&amp;</b>'
    """
    return Html("".join(part if isinstance(part, Html) else html.escape(str(part)) for part in parts))


def element(tag: str, *children, **attributes) -> Html:
    """Return an element. Underscores in names of attributes become hyphens; None and False leave an attribute out.

    Examples
    --------
    >>> element("td", "x > 1", class_="number", aria_label='say "x"', hidden=False)
    '<td class="number" aria-label="say &quot;x&quot;">x &gt; 1</td>'
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in EMPTY:
        return Html(f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{safe(*children)}</{tag}>")


def _attribute(name: str, value) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def table(
    header: Sequence, rows: Iterable[Sequence], *, numbers: Iterable[int] = (), caption=None, **attributes
) -> Html:
    """Return a table that can be scrolled sideways; the first cell of a row is its header.

    Parameters
    ----------
    header : sequence
        One cell per column.
    rows : iterable of sequences
        The cells.
    numbers : iterable of int
        Which columns are set flush right.
    caption : text or HTML, optional
        What the table shows.
    attributes
        Of the table.

    Examples
    --------
    >>> table(["x", "p"], [["a", 1]], numbers=[1])
    '<div class="scroll"><table><thead><tr><th scope="col">x</th><th scope="col" class="number">p</th></tr></thead>\
<tbody><tr><th scope="row">a</th><td class="number">1</td></tr></tbody></table></div>'
    """
    right = {at: "number" for at in numbers}
    head = [element("th", cell, scope="col", class_=right.get(at)) for at, cell in enumerate(header)]
    body = []
    for first, *others in rows:
        cells = [element("td", cell, class_=right.get(at)) for at, cell in enumerate(others, start=1)]
        body.append(element("tr", element("th", first, scope="row", class_=right.get(0)), *cells))
    parts = [element("thead", element("tr", *head)), element("tbody", *body)]
    if caption is not None:
        parts.insert(0, element("caption", caption))
    return element("div", element("table", *parts, **attributes), class_="scroll")


def folded(summary, *children) -> Html:
    """Return content that is hidden until the reader unfolds it."""
    return element("details", element("summary", summary), *children)


def section(anchor: str, title: str, *children) -> Html:
    """Return a section of the page, to which others can link."""
    heading = element("h2", title, id=f"{anchor}-title")
    return element("section", heading, *children, id=anchor, aria_labelledby=f"{anchor}-title")


def paragraph(*children, **attributes) -> Html:
    """Return a paragraph."""
    return element("p", *children, **attributes)


def embedded_json(value) -> Html:
    r"""Return a value as JSON that may stand inside a script element: nothing in it can end that element.

    Examples
    --------
    >>> embedded_json({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII only
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


# --- Numbers ----------------------------------------------------------------------------------------------


def count(number: float, what: str = "") -> str:
    """Return a count as text; whole numbers without a fraction.

    Examples
    --------
    >>> count(1200, "row"), count(1, "row"), count(10.5)
    ('1,200 rows', '1 row', '10.5')
    """
    text = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}".rstrip("0").rstrip(".")
    return f"{text} {what}{'' if number == 1 else 's'}" if what else text


def decimal(number: float | None, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals; a dash for NaN.

    Examples
    --------
    >>> decimal(-1234.567), decimal(None), decimal(float("nan")), decimal(-0.0001)
    ('−1,234.57', '–', '–', '0.00')
    """
    if number is None or math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    text = f"{number:,.{digits}f}"
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else f"−{text[1:]}"
    return text


def significant(number: float, digits: int) -> str:
    """Return a number with some significant digits, and all those of its whole part.

    Examples
    --------
    >>> significant(1.23456, 3), significant(1050.4, 3), significant(-0.5, 3), significant(2e-9, 3)
    ('1.23', '1050', '-0.5', '2e-09')
    """
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if "e+" in text and abs(number) < LARGEST_IN_FULL else text


def percent(share: float, digits: int = 0) -> str:
    """Return a share in percent; small shares never look like 0.

    Examples
    --------
    >>> percent(0.256), percent(0.0004), percent(0.0), percent(0.9996), percent(1.0), percent(0.123, 1)
    ('26%', '<1%', '0%', '>99%', '100%', '12.3%')
    """
    least = 10.0**-digits
    if 0 < share * 100 < least / 2:
        return f"<{least:.{digits}f}%"
    if 100 - least / 2 <= share * 100 < 100 - 1e-9:
        return f">{100 - least:.{digits}f}%"
    return f"{100 * share:.{digits}f}%"


def p_value(value: float | None) -> str:
    """Return a p-value.

    Examples
    --------
    >>> p_value(0.0421), p_value(1e-9), p_value(float("nan"))
    ('0.042', '<0.001', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


# --- Bars -------------------------------------------------------------------------------------------------

#: Colours of the categories of a stacked bar, from the first to the last; those between are mixed.
RAMP = ((250, 225, 150), (134, 203, 160), (50, 152, 163), (52, 100, 160), (62, 47, 112))
#: Colours of two categories: no and yes.
PAIR = ((206, 214, 224), (41, 105, 176))


def colours(n: int) -> list[str]:
    """Return the given number of colours, from light to dark.

    Examples
    --------
    >>> colours(2), colours(3)
    (['#ced6e0', '#2969b0'], ['#fae196', '#3298a3', '#3e2f70'])
    """
    if n <= 2:
        return [_hex(colour) for colour in PAIR][2 - n :]
    parts = []
    for at in range(n):
        place = at / (n - 1) * (len(RAMP) - 1)
        low = min(int(place), len(RAMP) - 2)
        parts.append(_hex(tuple(a + (b - a) * (place - low) for a, b in zip(RAMP[low], RAMP[low + 1], strict=True))))
    return parts


def _hex(colour: Sequence[float]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in colour)


def _is_light(colour: str) -> bool:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue > 140


def stacked_bar(shares: Sequence[float] | np.ndarray, names: Sequence[str], words: str = "") -> Html:
    """Return a bar divided by shares, with percentages where they fit.

    Examples
    --------
    >>> "25%" in stacked_bar([0.25, 0.75], ["no", "yes"])
    True
    """
    pieces = []
    for share, name, colour in zip(shares, names, colours(len(shares)), strict=True):
        if share < 0.0005:
            continue
        pieces.append(
            element(
                "i",
                percent(share) if share >= 0.09 else "",
                class_="dark-text" if _is_light(colour) else None,
                style=f"width:{100 * share:.2f}%;background:{colour}",
                title=f"{name}: {percent(share, 1)}",
            )
        )
    spoken = words + ", ".join(f"{name} {percent(share)}" for share, name in zip(shares, names, strict=True))
    return element("span", *pieces, class_="stack", role="img", aria_label=spoken)


def legend(names: Sequence[str]) -> Html:
    """Return the legend of a stacked bar."""
    keys = [
        element("span", element("i", style=f"background:{colour}"), name, class_="key")
        for name, colour in zip(names, colours(len(names)), strict=True)
    ]
    return element("span", *keys, class_="legend", aria_hidden="true")


def bar(share: float, words: str) -> Html:
    """Return a bar of a length between 0 and 1, with a label."""
    filled = element("i", style=f"width:{100 * min(max(share, 0.0), 1.0):.1f}%")
    return element("span", element("span", filled, class_="bar", aria_hidden="true"), words, class_="measured")
