"""Tables for papers: every cell is there, in the layout of papers, whatever it holds."""

import io
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, compare_classes, datasets, export_table
from pgmpy_latent.report.export_table import flat, laid_out
from tests.report.test_page import HOSTILE

QUIET = {"random_state": 0, "show_progress": False}
TABLE = datasets.load_anes96()[["PID", "vote", "age"]].astype(object)
MIXED = pd.DataFrame(
    {
        "name": ["a & b", "50%", None], "estimate": [0.12345, -1.5, np.nan], "p_value": [0.00001, 0.0421, np.nan],
        "df": [3, 12, 1], "log_likelihood": [-1234.5678, -99.1, np.inf], "identified": [True, False, None],
        "edge": [("x", "y"), None, None],
    }
)  # fmt: skip
CELLS = [
    ["a & b", "0.123", "<0.001", "3", "−1,234.6", "yes", "x – y"],
    ["50%", "−1.500", "0.042", "12", "−99.1", "no", "–"],
    ["–", "–", "–", "1", "∞", "–", "–"],
]


@pytest.fixture(scope="module")
def learner():
    return RandomStarts(n_states=2, n_starts=2, **QUIET).fit(TABLE)


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.rows, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def word(path):
    from docx import Document

    document = Document(io.BytesIO(path.read_bytes()))
    return document, [[cell.text for cell in row.cells] for row in document.tables[0].rows]


def test_numbers_have_the_same_decimals_and_p_values_are_p_values():
    layout = laid_out(MIXED)
    assert layout.rows == CELLS
    assert layout.header == ["Name", "Estimate", "p", "df", "Log-likelihood", "Identified", "Edge"]
    assert layout.numbers == [False, True, True, True, True, False, False]


def test_every_format_has_every_cell(tmp_path):
    for ending in (".html", ".docx", ".tex", ".csv"):
        export_table(MIXED, tmp_path / f"table{ending}", title="Models & more", note="100% made up.")
    found = Cells((tmp_path / "table.html").read_text(encoding="utf-8"))
    assert found.rows[1:] == CELLS
    assert not {"script", "img"} & set(found.tags)
    document, cells = word(tmp_path / "table.docx")
    assert cells[1:] == CELLS
    assert [line.text for line in document.paragraphs] == ["Models & more", "Note. 100% made up."]
    text = (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert r"a \& b & 0.123 & $<$0.001 & 3 & $-$1,234.6 & yes & x -- y \\" in text
    assert r"\caption{Models \& more}" in text
    assert r"100\% made up." in text
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    back = pd.read_csv(tmp_path / "table.csv")
    np.testing.assert_array_equal(back["estimate"], MIXED["estimate"])  # all digits


def test_a_word_table_has_three_lines_and_no_others(tmp_path):
    from docx.oxml.ns import qn

    export_table(MIXED[["name", "df"]], tmp_path / "table.docx")
    document, _ = word(tmp_path / "table.docx")
    lines = [[side.tag.split("}")[1] for side in cell._tc.iter(qn("w:top"), qn("w:bottom"))]
             for row in document.tables[0].rows for cell in row.cells[:1]]  # fmt: skip
    assert [sorted(sides) for sides in lines] == [["bottom", "top"], [], [], ["bottom"]]


def test_profiles_have_headings_over_their_states(learner, tmp_path):
    frame = learner.profiles()
    layout = laid_out(frame)
    assert layout.spans == [("", 1), ("", 1), ("H", 2)]
    assert layout.header == ["Variable", "Category", "0", "1"]
    assert [row[0] for row in layout.rows if row[0]] == ["share", "PID", "vote", "age"]  # each is named once
    export_table(frame, tmp_path / "profiles.tex")
    text = (tmp_path / "profiles.tex").read_text(encoding="utf-8")
    assert r" &  & \multicolumn{2}{c}{H} \\" in text
    assert r"\cmidrule(lr){3-4}" in text
    export_table(frame, tmp_path / "profiles.docx")
    _, cells = word(tmp_path / "profiles.docx")
    assert cells[0] == ["", "", "H", "H"]  # a merged cell, which python-docx tells twice
    export_table(frame, tmp_path / "profiles.html")
    assert 'colspan="2"' in (tmp_path / "profiles.html").read_text(encoding="utf-8")


def test_names_in_files_are_flat(learner, tmp_path):
    export_table(learner.predict_proba(TABLE.head(3)), tmp_path / "posteriors.csv")
    assert pd.read_csv(tmp_path / "posteriors.csv").columns.tolist() == ["P(H=0)", "P(H=1)"]
    export_table(learner.profiles(), tmp_path / "profiles.csv")
    assert pd.read_csv(tmp_path / "profiles.csv").columns.tolist() == ["variable", "category", "H=0", "H=1"]
    assert flat(learner.profiles(errors=False)).shape == (len(learner.profiles()), 4)


def test_a_comparison_has_bic_in_both_signs(tmp_path):
    table = compare_classes(TABLE, range(1, 3), n_starts=2, **QUIET)
    np.testing.assert_allclose(table["minus_2_bic"], -2 * table["bic"])
    layout = laid_out(table)
    assert layout.header[0] == "Classes"
    assert {"BIC", "−2 BIC"} <= set(layout.header)
    export_table(table, tmp_path / "classes.html")


def test_hostile_names_stay_text(tmp_path):
    frame = pd.DataFrame(
        [[name for name in HOSTILE]] * 2, columns=HOSTILE, index=pd.Index(HOSTILE[:2], name=HOSTILE[0])
    )
    for ending in (".html", ".docx", ".tex", ".csv"):
        export_table(frame, tmp_path / f"table{ending}", title=HOSTILE[0], note=HOSTILE[2])
    found = Cells((tmp_path / "table.html").read_text(encoding="utf-8"))
    known = "html head meta title style body table caption thead tbody tr th td p i"
    assert set(found.tags) <= set(known.split())
    text = (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert r"a \& b \&amp;" in text


def test_labels_and_decimals_of_mixed_profiles():
    rows = [("share", ""), ("sex", 0), ("sex", 1), ("pain", 1), ("pain", 2), ("cholesterol", "mean")]
    index = pd.MultiIndex.from_tuples([*rows, ("cholesterol", "sd")], names=["variable", "category"])
    frame = pd.DataFrame({0: [0.4567, 0.25, 0.75, 0.125, 0.875, 245.81, 47.52]}, index=index)
    found = laid_out(frame).rows
    assert [row[:2] for row in found[1:5]] == [["sex", "0"], ["", "1"], ["pain", "1"], ["", "2"]]
    assert [row[2] for row in found] == ["0.457", "0.250", "0.750", "0.125", "0.875", "245.8", "47.5"]


def test_mistakes(tmp_path, monkeypatch):
    with pytest.raises(TypeError, match="expected a DataFrame, got a list; give one of its tables, as compare_groups"):
        export_table([1], tmp_path / "table.tex")
    with pytest.raises(ValueError, match=r"the name of a table ends in .tex, .html, .docx, .csv"):
        export_table(MIXED, tmp_path / "table.xlsx")
    with pytest.raises(ValueError, match="digits"):
        export_table(MIXED, tmp_path / "table.tex", digits=-1)
    monkeypatch.setitem(sys.modules, "docx", None)
    with pytest.raises(ImportError, match=r'need python-docx: pip install "pgmpy-latent\[word\]"'):
        export_table(MIXED, tmp_path / "table.docx")
    assert list(Path(tmp_path).iterdir()) == []
