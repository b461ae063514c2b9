"""Tables for papers and slides: a DataFrame as LaTeX, HTML, a Word document or flat text, in the layout of papers."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pgmpy_latent.report.html import Html, decimal, element, label, p_value, paragraph
from pgmpy_latent.runtime.files import check_writable, write_whole
from pgmpy_latent.runtime.settings import check_number, kind_in_words

#: What columns of this package are called in papers; others are written as they are, without underscores.
HEADINGS = {
    "bic": "BIC", "aic": "AIC", "caic": "CAIC", "icl": "ICL", "minus_2_bic": "−2 BIC", "adjusted_bic": "Adjusted BIC",
    "log_likelihood": "Log-likelihood", "n_parameters": "Parameters", "n_classes": "Classes", "standard_error": "SE",
    "p_value": "p", "adjusted_p": "p, adjusted", "blrt_p": "p, BLRT", "lr_p": "p, LR", "g2_p": "p, G²", "x2_p": "p, X²",
    "g2": "G²", "x2": "X²", "df": "df", "odds_ratio": "Odds ratio", "lr": "LR", "lr_df": "df, LR", "blrt": "BLRT",
    "per_df": "X² / df", "z": "z", "n": "N",
}  # fmt: skip
#: From this absolute value on, the numbers of a column have two decimals fewer.
LARGE = 100.0
#: Characters that mean something to LaTeX, and how they are written as themselves.
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": r"$-$", "²": r"\textsuperscript{2}", "–": "--",
    "<": r"$<$", ">": r"$>$", "∞": r"$\infty$", "|": r"\textbar{}",
}  # fmt: skip
STYLE = (
    "body{font:11pt/1.4 'Times New Roman',serif;margin:2em}table{border-collapse:collapse;border-top:2px solid;"
    "border-bottom:2px solid}th,td{padding:.15em .8em;text-align:left;font-weight:400}thead tr:last-child th{"
    "border-bottom:1px solid}th.span{border-bottom:1px solid;text-align:center}.number{text-align:right;"
    "font-variant-numeric:tabular-nums}caption{text-align:left;font-style:italic;padding-bottom:.4em}p{max-width:40em}"
)


@dataclass(frozen=True)
class Layout:
    """A table as text: cells, what stands above them, and which columns are numbers.

    Attributes
    ----------
    spans : list of (str, int)
        What stands above several columns, and how many; empty if there is a single line of headings.
    header : list of str
    rows : list of list of str
    numbers : list of bool
        Which columns are flush right.
    title, note : str
    """

    spans: list[tuple[str, int]]
    header: list[str]
    rows: list[list[str]]
    numbers: list[bool]
    title: str
    note: str


def export_table(
    frame: pd.DataFrame, path: str | os.PathLike, *, title: str = "", note: str = "", digits: int = 3
) -> None:
    r"""Write a table to a file that can be pasted into a paper: LaTeX, HTML, Word or CSV, by the ending of the name.

    LaTeX, HTML and Word get the layout that papers have: lines above, below the headings and below the table
    alone, numbers flush right with the same decimals in a column, p-values below 0.001 as such, and a dash for what is
    not known. CSV gets all digits, and flat names of columns: the posterior of state 0 of ``H`` is ``P(H=0)``.

    Parameters
    ----------
    frame : DataFrame
        Such as the result of ``profiles()``, ``compare_classes``, ``relate(...).coefficients`` or ``residuals``.
    path : path-like
        Ends in ``.tex``, ``.html``, ``.docx`` or ``.csv``; a file that is there is replaced. Word needs python-docx, as
        ``pip install "pgmpy-latent[word]"`` installs it; LaTeX needs the package booktabs.
    title, note : str
        Stand above and below the table.
    digits : int
        Decimals of numbers; two fewer in columns with values of 100 and more.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> frame = pd.DataFrame({"n_classes": [1, 2], "bic": [-14.17, -20.5], "p_value": [0.0001, 0.2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_table(frame, f"{folder}/classes.tex", title="Models")
    ...     print(Path(folder, "classes.tex").read_text())
    \begin{table}
    \caption{Models}
    \begin{tabular}{rrr}
    \toprule
    Classes & BIC & p \\
    \midrule
    1 & $-$14.170 & $<$0.001 \\
    2 & $-$20.500 & 0.200 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    if isinstance(frame, pd.Series):
        frame = frame.to_frame()
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(
            f"expected a DataFrame, got {kind_in_words(frame)}; give one of its tables, as compare_groups(...).table, "
            "relate(...).coefficients or learner.profiles()"
        )
    check_number("digits", digits, 0, whole=True)
    path = check_writable(path)
    ending = path.suffix.lower()
    if ending == ".csv":
        write_whole(path, flat(frame).to_csv(index=False, lineterminator="\n").encode())
    elif ending in WRITERS:
        write_whole(path, WRITERS[ending](laid_out(frame, title, note, int(digits))))
    else:
        raise ValueError(f"{path.name!r}: the name of a table ends in {', '.join([*WRITERS, '.csv'])}")


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose index is columns, and whose names of columns are text.

    Examples
    --------
    >>> columns = pd.MultiIndex.from_tuples([("H", 0), ("H", 1)], names=["node", "state"])
    >>> flat(pd.DataFrame([[0.25, 0.75]], columns=columns)).columns.tolist()
    ['P(H=0)', 'P(H=1)']
    """
    labels, names = _labels(frame), [_flat_name(name, frame.columns) for name in frame.columns]
    found = pd.DataFrame({at: frame.iloc[:, at].to_numpy() for at in range(len(names))})
    for at, (_, values) in enumerate(labels):
        found.insert(at, f"label {at}", pd.Series(values, dtype=object))
    found.columns = pd.Index([*(name for name, _ in labels), *names])
    return found


def _flat_name(name: Hashable, columns: pd.Index) -> str:
    if not isinstance(columns, pd.MultiIndex):
        return str(name)
    parts = list(map(str, name)) if isinstance(name, tuple) else [str(name)]
    if len(parts) == 2 and columns.names[-1] == "state":
        return f"P({parts[0]}={parts[1]})" if columns.names[0] == "node" else f"{parts[0]}={parts[1]}"
    return " ".join(parts)


def _labels(frame: pd.DataFrame) -> list[tuple[str, list]]:
    """Return the columns that the index becomes; none if rows are merely numbered."""
    index = frame.index
    if isinstance(index, pd.RangeIndex) and index.name is None:
        return []
    return [
        (str(name) if name is not None else "", index.get_level_values(level).tolist())
        for level, name in enumerate(index.names)
    ]


# Layout -------------------------------------------------------------------------------------------


def laid_out(frame: pd.DataFrame, title: str = "", note: str = "", digits: int = 3) -> Layout:
    """Return a table as text.

    Examples
    --------
    >>> laid_out(pd.DataFrame({"estimate": [0.12345, float("nan")], "df": [3, 12]})).rows
    [['0.123', '3'], ['–', '12']]
    """
    labels = _labels(frame)
    columns = _labels_in_words([values for _, values in labels])
    parts = labels[0][1] if labels and len(set(labels[0][1])) < len(frame) else [None] * len(frame)
    numbers = [all(isinstance(value, (int, np.integer)) for value in values) for _, values in labels]
    for at, name in enumerate(frame.columns):
        cells, is_number = _in_words(frame.iloc[:, at], name, digits, parts)
        columns.append(cells)
        numbers.append(is_number)
    header, spans = [_heading(name) for name, _ in labels], []
    if isinstance(frame.columns, pd.MultiIndex):
        above = [" ".join(map(label, name[:-1])) for name in frame.columns]
        spans = [("", 1)] * len(labels)
        for words in above:
            if len(spans) > len(labels) and spans[-1][0] == words:
                spans[-1] = (words, spans[-1][1] + 1)
            else:
                spans.append((words, 1))
        header += [label(name[-1]) for name in frame.columns]
    else:
        header += [_heading(name) for name in frame.columns]
    rows = [list(row) for row in zip(*columns, strict=True)] if columns else []
    return Layout(spans, header, rows, numbers, title, note)


def _heading(name: Hashable) -> str:
    if not isinstance(name, str):
        return label(name)
    words = name.replace("_", " ")
    return HEADINGS.get(name) or (label(words[:1].upper() + words[1:]) if name else "")


def _labels_in_words(levels: Sequence[Sequence]) -> list[list[str]]:
    """Return labels of rows as text; one that is the same as above it, as those to its left are, is left out.

    Examples
    --------
    >>> _labels_in_words([["sex", "sex", "pain", "pain"], [0, 1, 1, 2]])
    [['sex', '', 'pain', ''], ['0', '1', '1', '2']]
    """
    columns, same = [], None
    for values in levels:
        words = ["" if value is None or value == "" else label(value) for value in values]
        alike = [at > 0 and word == words[at - 1] for at, word in enumerate(words)]
        same = alike if same is None else [left and here for left, here in zip(same, alike, strict=True)]
        columns.append(["" if repeated else word for word, repeated in zip(words, same, strict=True)])
    return columns


def _places(values: Sequence, digits: int) -> int:
    """Return how many decimals some numbers have: fewer if one of them is large."""
    finite = [abs(float(value)) for value in values if not _is_absent(value) and np.isfinite(value)]
    return max(digits - 2, 0) if finite and max(finite) >= LARGE else digits


def _in_words(column: pd.Series, name: Hashable, digits: int, parts: Sequence) -> tuple[list[str], bool]:
    """Return the cells of a column as text, and whether they are numbers; every part of it has decimals of its own."""
    values = column.tolist()
    known = [value for value in values if not _is_absent(value)]
    if known and all(isinstance(value, (bool, np.bool_)) for value in known):
        return ["–" if _is_absent(value) else "yes" if value else "no" for value in values], False
    if known and all(isinstance(value, (int, float, np.number)) for value in known):
        if str(name) == "p" or str(name).endswith(("_p", "p_value")):
            return [p_value(None if _is_absent(value) else float(value)) for value in values], True
        places = dict.fromkeys(parts, 0)
        if not all(isinstance(value, (int, np.integer)) for value in known):
            in_parts: dict[Hashable, list] = {}
            for part, value in zip(parts, values, strict=True):
                in_parts.setdefault(part, []).append(value)
            places = {part: _places(some, digits) for part, some in in_parts.items()}
        numbers = [None if _is_absent(value) else float(value) for value in values]
        return [decimal(number, places[part]) for number, part in zip(numbers, parts, strict=True)], True
    return ["–" if _is_absent(value) else "" if value == "" else _words(value) for value in values], False


def _words(value) -> str:
    return " – ".join(map(label, value)) if isinstance(value, tuple) else label(value)


def _is_absent(value) -> bool:
    return value is None or value is pd.NA or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))


# Formats ------------------------------------------------------------------------------------------


def _latex_text(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def _to_latex(layout: Layout) -> bytes:
    """Return the table for LaTeX with booktabs."""
    lines = [r"\begin{table}"]
    lines += [rf"\caption{{{_latex_text(layout.title)}}}"] if layout.title else []
    lines += [rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in layout.numbers)}}}", r"\toprule"]
    if layout.spans:
        cells, rules, at = [], [], 1
        for words, width in layout.spans:
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_latex_text(words)}}}" if words else "")
            rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if words else []
            at += width
        lines += [" & ".join(cells) + r" \\", " ".join(rules)]
    lines += [" & ".join(map(_latex_text, layout.header)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_latex_text, row)) + r" \\" for row in layout.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += ["", rf"\footnotesize {_latex_text(layout.note)}"] if layout.note else []
    return ("\n".join([*lines, r"\end{table}"]) + "\n").encode()


def _to_html(layout: Layout) -> bytes:
    """Return a page with the table."""
    right = ["number" if number else None for number in layout.numbers]
    head = [element("th", words, scope="col", class_=kind) for words, kind in zip(layout.header, right, strict=True)]
    heads = [element("tr", *head)]
    if layout.spans:
        spans = [
            element("th", words, colspan=width, scope="colgroup", class_="span" if words else None)
            for words, width in layout.spans
        ]
        heads.insert(0, element("tr", *spans))
    body = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, right, strict=True)))
        for row in layout.rows
    ]
    caption = [element("caption", layout.title)] if layout.title else []
    table = element("table", *caption, element("thead", *heads), element("tbody", *body))
    note = [paragraph(element("i", "Note. "), layout.note)] if layout.note else []
    title = element("title", layout.title or "Table")
    page = element(
        "html",
        element("head", element("meta", charset="utf-8"), title, element("style", Html(STYLE))),
        element("body", table, *note),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n".encode()


def _to_word(layout: Layout) -> bytes:
    """Return a Word document with the table."""
    try:
        from docx import Document
        from docx.enum.text import WD_ALIGN_PARAGRAPH
    except ImportError:
        raise ImportError('tables for Word need python-docx: pip install "pgmpy-latent[word]"') from None
    document = Document()
    if layout.title:
        document.add_paragraph().add_run(layout.title).italic = True
    heads = 2 if layout.spans else 1
    table = document.add_table(heads + len(layout.rows), len(layout.header))
    if layout.spans:
        at = 0
        for words, width in layout.spans:
            cell = table.cell(0, at).merge(table.cell(0, at + width - 1))
            cell.text = words
            cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.CENTER
            _draw_lines(cell, bottom=bool(words))
            at += width
    for number, row in enumerate([layout.header, *layout.rows], start=heads - 1):
        for at, (cell, text) in enumerate(zip(table.rows[number].cells, row, strict=True)):
            cell.text = text
            if layout.numbers[at]:
                cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.RIGHT
            _draw_lines(cell, bottom=number in (heads - 1, heads + len(layout.rows) - 1))
    for cell in table.rows[0].cells:
        _draw_lines(cell, top=True)
    if layout.note:
        line = document.add_paragraph()
        line.add_run("Note. ").italic = True
        line.add_run(layout.note)
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _draw_lines(cell, *, top: bool = False, bottom: bool = False) -> None:
    """Draw lines at a cell of a Word table."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    properties = cell._tc.get_or_add_tcPr()
    borders = properties.find(qn("w:tcBorders"))
    if borders is None:
        borders = OxmlElement("w:tcBorders")
        properties.append(borders)
    for side, wanted in (("top", top), ("bottom", bottom)):
        if wanted:
            line = OxmlElement(f"w:{side}")
            for attribute, value in (("val", "single"), ("sz", "8"), ("color", "000000")):
                line.set(qn(f"w:{attribute}"), value)
            borders.append(line)


#: How names end -> function that writes the table.
WRITERS: dict[str, Callable[[Layout], bytes]] = {".tex": _to_latex, ".html": _to_html, ".docx": _to_word}
