"""Reports: one page of HTML that holds what it should, and nothing that a name could smuggle in."""

import json
import re
import warnings
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    HiddenChowLiu,
    LatentNetwork,
    LatentTree,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    datasets,
    encode,
    presets,
    residuals,
    sample,
    scores,
    standard_errors,
)
from pgmpy_latent.cli import main
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.report import html as _html
from pgmpy_latent.report import write_report
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.latents_section import profiles_of
from pgmpy_latent.report.page import gather, page
from pgmpy_latent.report.reproduce_section import code, fingerprint
from pgmpy_latent.report.search_section import DIGIT, WIDTH, chart
from pgmpy_latent.report.tree_section import tree_data
from pgmpy_latent.testing import latent_trees
from tests.support import reference


class Page(HTMLParser):
    """A page taken apart; raises where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.ids, self.links, self.values = [], [], [], [], []
        self.texts, self.data, self.attributes, self.styles = [], {}, [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attributes = dict(attrs)
        self.attributes += attributes
        self.styles.append(attributes.get("style", ""))
        self.values += [value for value in attributes.values() if value]
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        assert not any(name.startswith("on") for name in attributes), attributes
        if tag not in _html.EMPTY:
            self.open.append((tag, attributes.get("id")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _html.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open[-1][0] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        where = self.open[-1] if self.open else ("", None)
        if where == ("script", "tree-data"):
            self.data = json.loads(data)
        elif where[0] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


def read(path):
    """Return a page taken apart, after looking whether it is sound."""
    text = Path(path).read_text(encoding="utf-8")
    found = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert len(found.ids) == len(set(found.ids))
    for link in found.links:
        assert link.startswith("#"), link
        assert link[1:] in found.ids, link
    assert found.tags.count("script") == 3 + bool(found.data) + ("what-if-data" in found.ids)
    assert not {"img", "iframe", "object", "embed", "link", "form", "base", "audio", "video"} & set(found.tags)
    assert not {"src", "srcset", "action", "xlink:href", "poster"} & set(found.attributes)
    assert not any("url(" in style for style in found.styles)
    assert any(value.startswith("default-src 'none'") for value in found.values)
    return found


def survey(n=200, seed=0, gaps=0.05):
    return datasets.load_anes96().iloc[:n, :5].astype(object).mask(
        np.random.default_rng(seed).random((n, 5)) < gaps
    )  # fmt: skip


QUIET = {"random_state": 0, "show_progress": False}
TREES = [
    SplitMerge(tuning=presets.SPLIT_MERGE.replace(adjust=False), **QUIET),
    RandomStarts(n_states=2, n_starts=2, **QUIET),
    RandomStarts(n_states=1, **QUIET),
    EAST(tuning=presets.EAST.replace(excursions=(), look_ahead=0), **QUIET),
    BinG(**QUIET),
    BinA(**QUIET),
    HLTA(**QUIET),
    HiddenChowLiu(n_states=3, **QUIET),
    Baseline("independence"),
    Baseline("chow_liu"),
]


# What stands on the page --------------------------------------------------------------------------


@pytest.mark.parametrize("learner", TREES, ids=repr)
def test_every_learner_of_trees_has_a_report(learner, tmp_path):
    frame = survey()
    learner.fit(frame)
    learner.report(tmp_path / "report.html")
    found = read(tmp_path / "report.html")
    text = found.text
    assert {"tree", "fit", "search", "data", "checklist", "reproduce"} <= set(found.ids)
    assert ("latents" in found.ids) == bool(learner.latents_)
    for column in frame:
        assert column in text
    for value in (learner.log_likelihood_, learner.bic_, scores.aic(learner.tree_, frame)):
        assert _html.decimal(value) in text
    assert f"Learned by {type(learner).__name__} from 200 rows and 5 columns." in text
    assert "The search ended by itself" in text
    assert _html.percent(frame.isna().to_numpy().mean(), 1) in text
    assert "full-information maximum likelihood" in text
    names = [node["name"] for node in found.data["nodes"]]
    assert names == [str(name) for name in learner.tree_.names]
    assert sorted(walked(found.data)) == list(range(len(names)))


def walked(data):
    """Return all nodes that can be reached from the roots."""
    order = list(data["roots"])
    for node in order:
        order += data["nodes"][node]["children"]
    return order


def test_a_latent_class_model_shows_all_that_is_asked_of_one(tmp_path):
    frame = survey(gaps=0.0)
    learner = RandomStarts(n_states=2, n_starts=4, **QUIET).fit(
        frame, sample_weight=np.full(200, 1.5), weight_kind="frequency"
    )
    learner.report(tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    assert "Latent class model with 2 classes" in text
    assert "No cell is missing." in text
    assert "sum to 300" in text
    assert "fixed beforehand (2)" in text
    assert "4 random starts" in text
    assert "Average posterior" in text
    assert "bivariate residuals" in text
    assert "learner.fit(X, sample_weight=weights, weight_kind='frequency')" in text
    assert "doi:10.1080/10705511.2023.2250920" in text
    for share in learner.profiles().loc[("share", "")]:
        assert _html.percent(share, 1) in text
    table = learner.profiles().round(3)
    assert _html.decimal(table.loc[("selfLR", "Liberal"), ("H", 0)], 3) in text


def test_probabilities_have_standard_errors(tmp_path):
    frame = survey(400, gaps=0.0)[["selfLR", "ClinLR", "DoleLR"]].replace({"Extremely liberal": "Liberal"})
    learner = RandomStarts(n_states=2, n_starts=4, **QUIET).fit(frame)
    learner.report(tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = standard_errors(learner, frame)
    assert f"All {len(errors)} probabilities" in text
    row = errors.dropna().iloc[-1]
    interval = f"{_html.decimal(row['lower'], 3)} to {_html.decimal(row['upper'], 3)}"
    assert f"{_html.decimal(row['standard_error'], 3)} {interval}" in text
    learner.set_params(prior=0.5).fit(frame).report(tmp_path / "prior.html")  # not at a maximum of the likelihood
    text = read(tmp_path / "prior.html").text
    assert "Uncertainty of the probabilities" not in text
    assert "also by bootstrap" in text


def test_a_search_that_was_stopped_says_so(tmp_path):
    frame = sample(datasets.hlc_model(7, random_state=0), 300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the search"):
        learner = EAST(time_limit=0.01, **QUIET).fit(frame)
    learner.report(tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    assert text.count("Not finished: the time limit stopped the search") == 2  # at the top, and where it belongs
    assert "The search was stopped before its end" in text


def test_another_table_than_the_one_learned_from(tmp_path):
    frame = survey()
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(frame)
    learner.report(tmp_path / "new.html", frame.head(50), sample_weight=np.full(50, 2.0))
    text = read(tmp_path / "new.html").text
    assert "held against 50 rows" in text
    assert "sum to 100" in text
    learner.report(tmp_path / "array.html", frame.head(50).to_numpy(dtype=object))
    assert "held against 50 rows" in read(tmp_path / "array.html").text


def test_rows_that_the_model_rules_out_are_reported(tmp_path):
    tree = LatentTree(["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [-1, 0, 0], [True, False, False],
                      [[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])  # fmt: skip
    write_report(tree, tmp_path / "report.html", pd.DataFrame({"x": list("aab"), "y": list("cdd")}))
    text = read(tmp_path / "report.html").text
    assert "1 distinct row of this table cannot occur under the model" in text
    assert "−∞" in text


def test_columns_that_never_meet_and_columns_of_one_state(tmp_path):
    frame = pd.DataFrame({"x": ["a", "b"] * 10 + [None] * 20, "y": [None] * 20 + ["c", "d"] * 10, "z": ["e"] * 40})
    RandomStarts(n_states=2, n_starts=2, **QUIET).fit(frame).report(tmp_path / "report.html")
    assert "1 pair of columns never filled in the same row" in read(tmp_path / "report.html").text


def test_a_single_row_and_columns_without_a_filled_cell(tmp_path):
    frame = survey()
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(frame)
    row = frame.head(1).copy()
    row["selfLR"] = None
    learner.report(tmp_path / "report.html", row)
    text = read(tmp_path / "report.html").text
    assert "held against 1 row and 5 columns" in text
    assert "100.0%" in text


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Baseline("independence"), "Maximum likelihood, in closed form, on all rows."),
        (RandomStarts(n_states={"H": 2}, n_starts=3, **QUIET), "fixed beforehand ({'H': 2})"),
        (
            RandomStarts(n_starts=3, max_states=2, scoring_method="aic", **QUIET),
            "chosen by the search, by Akaike's information criterion (AIC); at most 2.",
        ),
        (RandomStarts(n_states=2, n_starts=3, prior=1.0, **QUIET), "Maximum a posteriori (Dirichlet pseudo-count 1.0)"),
        (RandomStarts(n_states=2, n_starts=3, **QUIET), "accelerated by SQUAREM), on all rows; 3 random starts"),
    ],
    ids=str,
)
def test_the_checklist_says_how_it_was_done(learner, words):
    assert words in Page(page(gather(learner.fit(survey(gaps=0.0))))).text


def marked(text, words):
    """Return whether the line of the checklist that begins with these words is answered "here" or "yours"."""
    return re.search(rf"(here|yours) {re.escape(words)}", text)[1]


def rows_of_section(path, section, table=0):
    """Return the cells of a table of a section, row by row."""
    text = re.search(rf'<section id="{section}".*?</section>', Path(path).read_text(encoding="utf-8"), re.S)[0]
    body = re.findall(r"<table.*?</table>", text, re.S)[table]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    return [[re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.S)] for row in rows]


def test_the_command_line_reports_the_numbers_of_classes_it_has_tried(tmp_path, capsys):
    survey(gaps=0.0).to_csv(tmp_path / "answers.csv", index=False)
    paths = [
        str(tmp_path / "answers.csv"),
        "--output",
        str(tmp_path / "model"),
        "--report",
        str(tmp_path / "page.html"),
    ]
    assert main(["learn", *paths, "--max-classes", "4", "--starts", "3", "--seed", "0"]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    table = [line for line in printed if line[-2:-1] == ["of"] and len(line) > 6]
    assert len(table) == 4
    rows = rows_of_section(tmp_path / "page.html", "search")
    assert rows[0][:5] == ["Classes", "Log-likelihood", "Parameters", "BIC", "−2 BIC"]
    assert len(rows) == 5
    for shown, said in zip(rows[1:], table, strict=True):
        chosen, said = said[0] == "*", [word for word in said if word != "*"]
        numbers = [cell.replace("−", "-").replace(",", "") for cell in shown[:4]]
        assert numbers == [said[0], said[1], said[2], said[3]]
        assert float(shown[4].replace(",", "")) == pytest.approx(-2 * float(said[3]), abs=0.011)
        assert shown[5] == " ".join(said[4:])
        assert (shown[7] == "chosen") == chosen
    text = read(tmp_path / "page.html").text
    assert "Latent class models with 1 to 4 classes were fitted" in text
    assert "LatentClasses accepted" not in text
    assert "nothing that it tried raised the score" not in text
    assert marked(text, "A table of all 4 numbers of classes that were considered: see the search") == "here"
    assert marked(text, "Bootstrap likelihood-ratio tests of these numbers") == "yours"
    assert "3 starts reached the best value" in text


def test_the_command_line_reports_a_number_of_classes_that_was_given(tmp_path, capsys):
    survey(gaps=0.0).to_csv(tmp_path / "answers.csv", index=False)
    paths = [
        str(tmp_path / "answers.csv"),
        "--output",
        str(tmp_path / "model"),
        "--report",
        str(tmp_path / "page.html"),
    ]
    assert main(["learn", *paths, "--classes", "2", "--starts", "2", "--seed", "0"]) == 0
    capsys.readouterr()
    text = read(tmp_path / "page.html").text
    assert "The number of classes was given." in text
    assert len(rows_of_section(tmp_path / "page.html", "search")) == 2
    assert marked(text, "A table of all numbers of classes that were considered") == "yours"


def test_a_full_bar_of_a_share_is_all_rows(tmp_path):
    learner = RandomStarts(n_states=3, n_starts=2, **QUIET).fit(survey())
    learner.report(tmp_path / "report.html")
    text = Path(tmp_path / "report.html").read_text(encoding="utf-8")
    classes = re.search(r'<table class="classes".*?</table>', text, re.S)[0]
    widths = re.findall(r'style="width:([\d.]+)%"></i></span>([\d.]+)%', classes)
    assert [float(width) for width, _ in widths] == [float(share) for _, share in widths]
    assert [float(share) for _, share in widths] == pytest.approx(100 * learner.tree_.table("H")[0], abs=0.06)


def test_the_residuals_of_the_report_begin_with_the_pair_that_the_advice_names(tmp_path):
    learner = RandomStarts(n_states=1, **QUIET).fit(datasets.load_anes96())
    found = residuals(learner, datasets.load_anes96())
    learner.report(tmp_path / "report.html")
    first = found.iloc[0]
    text = read(tmp_path / "report.html").text
    assert found.attrs["advice"] in text
    assert f"(X²/df in brackets): {first['first']!r} and {first['second']!r} (" in text
    tables = Path(tmp_path / "report.html").read_text(encoding="utf-8")
    pairs = re.findall(r"<t[hd][^>]*>([^<>]*) – ([^<>]*)</t[hd]>", tables)
    assert pairs[:12] == list(zip(found["first"][:12], found["second"][:12], strict=True))


@pytest.mark.parametrize(("copies", "words"), [(1, "The pair that stands out"), (2, "The 2 that stand out")])
def test_all_pairs_that_stand_out_are_not_called_the_first(copies, words, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{at}": rng.choice(["a", "b"], 200) for at in range(copies)})
    frame = pd.concat([frame, frame.add_prefix("again ")], axis=1)
    RandomStarts(n_states=1, **QUIET).fit(frame).report(tmp_path / "report.html")
    assert words in read(tmp_path / "report.html").text


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
def test_small_tables(columns, tmp_path):
    frame = pd.DataFrame({"x": list("aabb"), "y": list("cdcd")})[columns]
    Baseline("chow_liu").fit(frame).report(tmp_path / "report.html")
    text = read(tmp_path / "report.html").text
    assert ("There is no pair of columns." in text) == (len(columns) == 1)


# Networks -----------------------------------------------------------------------------------------


def network_table():
    rng = np.random.default_rng(0)
    hidden = rng.integers(3, size=400)
    return pd.DataFrame({name: (hidden + (rng.random(400) < 0.2)) % 3 for name in "abcd"})


@pytest.mark.parametrize(
    "learner",
    [
        FindHidden(n_states=2, max_latents=1, tuning=presets.FIND_HIDDEN.replace(max_candidates=1), **QUIET),
        StructuralEM(**QUIET),
        AgglomerativeCardinality(DAG([("h", name) for name in "abcd"], latents={"h"}), **QUIET),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_networks_have_a_smaller_report(learner, tmp_path):
    learner.fit(network_table())
    learner.report(tmp_path / "report.html")
    found = read(tmp_path / "report.html")
    assert _html.decimal(learner.log_likelihood_) in found.text
    is_tree = all(len(above) <= 1 for above in learner.network_.parents)
    assert ("tree" in found.ids, "network" in found.ids) == (is_tree, not is_tree)
    assert ("latents" in found.ids) == bool(learner.latents_)


def test_a_network_that_is_no_tree(tmp_path):
    rng = np.random.default_rng(1)
    network = LatentNetwork(
        ["H", "w", "x", "y", "z"], [[0, 1]] * 5, [(), (), (0, 1), (0,), (0,)], [True, *[False] * 4],
        [[[0.6, 0.4]], [[0.5, 0.5]], rng.dirichlet(np.ones(2), 4), [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]]],
    )  # fmt: skip
    table = sample(network, 100, random_state=0)
    table.iloc[:5, 1] = None
    write_report(network, tmp_path / "report.html", table)
    found = read(tmp_path / "report.html")
    assert "Network report" in found.text
    assert "4 edges between 5 variables, of which 1 is hidden" in found.text
    facts = gather(network, table)
    given = profiles_of(facts, 0)
    belief = facts.beliefs[0]
    for at in range(4):
        for state in range(2):
            there = facts.data.codes[:, at] == state
            filled = facts.data.codes[:, at] >= 0
            weights = facts.data.weights[:, None] * belief
            np.testing.assert_allclose(given[at][:, state], weights[there].sum(axis=0) / weights[filled].sum(axis=0))


# Numbers ------------------------------------------------------------------------------------------


@given(tree=latent_trees())
@settings(max_examples=20)
def test_links_are_the_mutual_information_of_neighbours(tree):
    table = sample(tree, 3, random_state=0)
    facts = Facts(tree, encode(table, state_names=dict(zip(tree.names, tree.state_names, strict=True))))
    joint = reference.joint_array(tree)
    for node, above in enumerate(tree.parent):
        if above < 0:
            assert facts.links[node] == 0
            continue
        axes = tuple(at for at in range(tree.n_nodes) if at not in (node, above))
        pair = joint.sum(axis=axes)
        product = pair.sum(axis=0, keepdims=True) * pair.sum(axis=1, keepdims=True)
        terms = np.where(pair > 0, pair * np.log(np.where(pair > 0, pair, 1) / np.where(pair > 0, product, 1)), 0)
        assert facts.links[node] == pytest.approx(terms.sum(), abs=1e-9)


@given(tree=latent_trees())
@settings(max_examples=8)
def test_any_tree_can_be_reported(tree):
    if not (~tree.latent).any():
        return
    Page(page(gather(tree, sample(tree, 5, random_state=0))))


def test_hidden_variables_that_no_column_says_anything_about_can_be_reported(tmp_path):
    tree = LatentTree(["x", "H"], [["a", "b"], [0, 1]], [-1, -1], [False, True], [[[0.5, 0.5]], [[0.5, 0.5]]])
    write_report(tree, tmp_path / "report.html", sample(tree, 5, random_state=0))
    assert "The columns say nothing about it." in read(tmp_path / "report.html").text


def test_the_fingerprint_knows_the_table_and_not_its_order():
    frame = survey()
    learner = Baseline("independence")

    def of(table, **options):
        return fingerprint(gather(learner.fit(table, **options)))

    assert of(frame) == of(frame.sample(frac=1, random_state=0)) == of(frame[frame.columns[::-1]])
    assert of(frame, sample_weight=np.full(200, 2.0)) == of(pd.concat([frame, frame]))
    assert of(frame) != of(frame.iloc[:-1])
    assert of(frame) != of(frame.rename(columns={"PID": "party"}))


def test_the_code_on_the_page_learns_the_same_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = survey()
    frame.to_csv("survey.csv", index=False)
    learner = RandomStarts(n_states=3, n_starts=2, prior=0.5, **QUIET).fit(frame)
    text = code(gather(learner))
    assert "RandomStarts(n_starts=2, n_states=3, prior=0.5, random_state=0, show_progress=False)" in text
    namespace = {}
    exec(text.replace("...", "'survey.csv'"), namespace)
    assert namespace["learner"].tree_ == learner.tree_
    assert Path("report.html").is_file()


def test_settings_that_cannot_be_typed_in_are_named():
    frame = network_table()
    learner = SplitMerge(
        start=RandomStarts(n_states=2, **QUIET).fit(frame),
        tuning=presets.SPLIT_MERGE.replace(adjust=False),
        show_progress=False,
    ).fit(frame)
    text = code(gather(learner))
    assert "start = ...  # RandomStarts(" in text
    assert "start=start" in text
    assert "random_state was not set" in Page(page(gather(learner))).text


# Hostile names ------------------------------------------------------------------------------------

HOSTILE = [
    "</script><script>alert(1)</script>", "<!--<script>", '"><img src=x onerror=alert(1)>', "' onclick='alert(1)",
    "a & b &amp;", "line\nbreak", "", " ", "\u202eright to left", "\x00", "]]>", "javascript:alert(1)", "漢字",
]  # fmt: skip


def test_names_cannot_become_html(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        name: pd.Categorical.from_codes(rng.integers(0, 3, 60), [HOSTILE[at], HOSTILE[at - 1], HOSTILE[at - 2]])
        for at, name in enumerate(HOSTILE)
    }
    frame = pd.DataFrame(columns)
    learner = RandomStarts(n_states=2, n_starts=1, **QUIET).fit(frame, missing={})
    learner.report(tmp_path / "report.html")
    found = read(tmp_path / "report.html")
    assert "</script><script>alert(1)</script>" in found.text
    assert '"><img src=x onerror=alert(1)>' in found.text
    assert found.data["nodes"][1]["name"] == HOSTILE[0]
    assert r"'line\nbreak'" in found.text


@given(st.text())
def test_no_text_gets_out_of_an_element(text):
    found = Page(_html.element("p", text, title=text))
    assert found.tags == ["p"]
    assert "".join(found.texts) == text.replace("\r\n", "\n").replace("\r", "\n") or "\r" in text
    assert found.values in ([text], []) or "\r" in text


@given(st.text())
def test_no_text_gets_out_of_embedded_json(text):
    written = _html.embedded_json([text])
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == [text]


@given(st.one_of(st.text(), st.integers(), st.tuples(st.text(), st.booleans()), st.binary()))
def test_labels_can_be_seen_and_written(name):
    found = _html.label(name)
    assert found
    assert found.isprintable()
    assert found.encode("utf-8")


# Large trees --------------------------------------------------------------------------------------


def large_tree(n_groups, n_columns):
    """A hidden root above hidden variables with many columns each."""
    rng = np.random.default_rng(0)
    names = ["T", *(f"G{g}" for g in range(n_groups)), *(f"x{c}" for c in range(n_columns))]
    parent = [-1, *[0] * n_groups, *(1 + c % n_groups for c in range(n_columns))]
    tables = [rng.dirichlet(np.ones(2), 1 if above < 0 else 2) for above in parent]
    return LatentTree(names, [[0, 1]] * len(names), parent, [not name.startswith("x") for name in names], tables)


def test_limits_of_large_trees_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("pgmpy_latent.report.facts.MOST_LATENTS", 5)
    monkeypatch.setattr("pgmpy_latent.report.data_section.MOST_COLUMNS", 40)
    monkeypatch.setattr("pgmpy_latent.report.fit_section.MANY_COLUMNS", 40)
    tree = large_tree(9, 60)
    write_report(tree, tmp_path / "report.html", sample(tree, 60, random_state=0))
    found = read(tmp_path / "report.html")
    assert "Of 10 hidden variables, the 5 with the strongest links are shown" in found.text
    assert "The first 40 of 60 columns are listed." in found.text
    assert "Left out for 60 columns." in found.text
    assert sum(name.startswith("latent-") for name in found.ids) == 5
    assert sum(node["anchor"] is not None for node in found.data["nodes"]) == 5
    assert len(found.data["nodes"]) == 70


def test_tables_of_many_states_are_cut_and_say_so(tmp_path):
    frame = pd.DataFrame({"x": [f"s{i}" for i in range(40)] * 2, "y": [i % 20 for i in range(80)], "z": [0, 1] * 40})
    learner = Baseline("chow_liu").fit(frame)
    data = tree_data(gather(learner))
    node = data["nodes"][0]
    assert node["card"] == 40
    assert len(node["states"]) == 12
    assert node["cut"]
    learner.report(tmp_path / "report.html")
    assert "33 others" in read(tmp_path / "report.html").text


def test_a_chart_of_odd_histories():
    def of(seconds, values):
        return chart(pd.DataFrame({"seconds": seconds, "score": values}))

    assert of([0.0, 0.0], [-3.0, -3.0]).count("<circle") == 2
    assert of([0.0, 1.0], [-np.inf, -3.0]) == ""
    assert of(np.arange(5000.0), np.arange(5000.0)).count("V") < 700


@pytest.mark.parametrize("seconds", [1e-5, 0.0004, 0.03, 7.0, 4321.0, 123456.0])
def test_numbers_below_a_chart_are_within_it(seconds):
    drawn = chart(pd.DataFrame({"seconds": [0.0, seconds], "score": [-2.0, -1.0]}))
    below = re.findall(r'<text x="([\d.]+)" y="222" text-anchor="middle">([^<]+)<', drawn)
    assert len(below) > 2
    assert all(float(x) + DIGIT * len(words) / 2 <= WIDTH for x, words in below)


# What bad input gets ------------------------------------------------------------------------------


def test_paths_are_checked_before_any_work(tmp_path, monkeypatch):
    learner = Baseline("independence").fit(survey())
    monkeypatch.setattr("pgmpy_latent.report.page.page", lambda facts: pytest.fail("worked before it looked"))
    with pytest.raises(FileNotFoundError, match=r"cannot write '.*report.html': the folder '.*nowhere' does not exist"):
        learner.report(tmp_path / "nowhere" / "report.html")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        learner.report(tmp_path)


def test_a_model_without_data(tmp_path):
    learner = Baseline("independence").fit(survey())
    write_report(learner.tree_, tmp_path / "report.html")
    assert "No table came with this model" in read(tmp_path / "report.html").text
    del learner._data
    learner.report(tmp_path / "report.html")
    assert "No table came with this model" in read(tmp_path / "report.html").text
    with pytest.raises(ValueError, match="sample_weight belongs to X; give both, or neither"):
        learner.report(tmp_path / "report.html", sample_weight=np.ones(200))
    learner.report(tmp_path / "report.html", survey())
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_is_no_fitted_model(tmp_path):
    with pytest.raises(NotFittedError):
        Baseline().report(tmp_path / "report.html")
    with pytest.raises(TypeError, match="expected a LatentTree, LatentNetwork, pgmpy network or fitted learner"):
        write_report("camps.json", tmp_path / "report.html", survey())
    with pytest.raises(DataError, match="PID"):
        Baseline().fit(survey()).report(tmp_path / "report.html", survey().drop(columns="PID"))
    assert list(tmp_path.iterdir()) == []


def test_a_report_after_partial_fit_says_what_is_about_which_model(tmp_path, capsys):
    table = datasets.load_anes96()[["PID", "selfLR", "vote"]]
    learner = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table.head(500))
    bic = learner.bic_
    learner.report(tmp_path / "before.html")
    learner.partial_fit(table.tail(300)).partial_fit(table.tail(100))
    learner.report(tmp_path / "after.html")
    learner.summary()
    words = "The tables have followed later rows (2 updates by partial_fit)."
    assert learner.bic_ == bic
    said = f"{words} log_likelihood_, bic_, score_ and history_ are of the model that fit found"
    assert said in capsys.readouterr().out
    assert words in learner._repr_html_()
    before, after = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("before", "after"))
    search = "This is about the model that fit found, before partial_fit changed its tables."
    promise = "The same table, settings and versions give the same model"
    updates = "for rows in ...:  # the later rows: 2 batches, with the same decay and weights\n    learner.partial_fit("
    assert [each in before for each in (words, search, promise, updates)] == [False, False, True, False]
    assert [each in after for each in (words, search, promise, updates)] == [True, True, False, True]


def test_the_start_is_not_a_step_of_the_search():
    learner = SplitMerge(random_state=0, show_progress=False).fit(datasets.load_anes96()[["PID", "selfLR", "vote"]])
    assert learner.history_["operator"].tolist().count("start") == 1
    n = len(learner.history_) - 1
    assert f"SplitMerge accepted {n} step{'s' * (n != 1)} in" in page(gather(learner))


def test_a_weighted_table_and_a_search_that_was_stopped(tmp_path, monkeypatch):
    table = datasets.load_anes96()[["PID", "selfLR", "vote"]].head(200).assign(count=[1, 2] * 100)
    learner = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table, sample_weight="count")
    learner.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.search(r"Total weight</?[^<]*<[^>]*>300<", text)
    assert "# the table: 3 columns and 'count', 200 rows" in unescape(text)
    assert "learner.fit(X, sample_weight='count', weight_kind='frequency')" in unescape(text)
    assert "weights = ..." not in text
    assert "Without a stop, the same table" not in text
    monkeypatch.setattr(learner, "stopped_", "time_limit")
    assert "Without a stop, the same table, settings and versions give the same model" in page(gather(learner))
    plain = learner.fit(table.drop(columns="count"))
    assert "Total weight" not in page(gather(plain))
