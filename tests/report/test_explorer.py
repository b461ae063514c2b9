"""The what-if section in a real browser: exact, quick, and usable with pointer, keyboard and screen reader."""

import json
import statistics
import time

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentNetwork, LatentTree, RandomStarts, posterior, sample, unusual_rows, write_report
from pgmpy_latent.datasets import hlc_model, load_anes96
from tests.report.test_browser import browser, check_quiet
from tests.report.test_page import HOSTILE, QUIET, large_tree
from tests.support.browser import installed

__all__ = ["browser"]  # the fixture
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(installed() is None, reason="needs Chromium, as Debian's package chromium"),
]

MODEL = """(() => {
    const data = JSON.parse(document.getElementById("what-if-data").textContent);
    data.nodes.forEach((node) => { node.card = node.states.length || 1; });
    window.network = Messages.network(data);
    return data.nodes.length;
})()"""


def asked(browser, answers):
    """Return log probability, posteriors and what the others expect, as the page computes them."""
    script = f"""(() => {{
        const found = Messages.ask(window.network, new Map({json.dumps(answers)}));
        const plain = (list) => list.map((shares) => [...shares].map((share) => (Number.isNaN(share) ? null : share)));
        const log = found.logProbability === -Infinity ? null : found.logProbability;
        return [log, plain(found.posteriors), plain(found.expected)];
    }})()"""
    return browser.run(script)


def answers_of(model, row):
    known = [(name, state) for name, state in row.items() if not pd.isna(state)]
    return [[model.index(name), model.state_names[model.index(name)].index(state)] for name, state in known]


def network_of_any_shape(rng, n=9):
    """Return a network in which nodes have up to three parents, some of them hidden."""
    cards = rng.integers(2, 4, n)
    parents = [
        tuple(sorted(rng.choice(at, min(at, int(rng.integers(0, 4))), replace=False).tolist())) for at in range(n)
    ]
    tables = [rng.dirichlet(np.ones(cards[at]), int(np.prod(cards[list(parents[at])], dtype=int))) for at in range(n)]
    names = [f"v{at}" for at in range(n)]
    return LatentNetwork(
        names, [list(range(card)) for card in cards], parents, [at % 3 == 0 for at in range(n)], tables
    )


def masked(table, rng):
    """Return a table whose rows lack more and more cells."""
    return table.astype(object).mask(rng.random(table.shape) < np.linspace(0, 1, len(table))[:, None])


@pytest.mark.parametrize("seed", range(5))
def test_random_answers_have_the_posteriors_of_posterior(browser, tmp_path, seed):
    """5 x (10 rows of a tree and 10 rows of a network): 100 sets of answers."""
    rng = np.random.default_rng(seed)
    for model in (hlc_model((7, 12)[seed % 2], random_state=seed), network_of_any_shape(rng)):
        path = tmp_path / "report.html"
        write_report(model, path)
        browser.open(path)
        browser.run(MODEL)
        rows = masked(sample(model, 10, random_state=seed), rng)
        expected = posterior(model, rows, nodes=list(model.names)).to_numpy()
        for at, row in enumerate(rows.to_dict("records")):
            _, posteriors, _ = asked(browser, answers_of(model, row))
            np.testing.assert_allclose(np.concatenate(posteriors).astype(float), expected[at], atol=1e-9, rtol=0)
        check_quiet(browser, path)


def test_what_the_other_answers_expect_is_what_unusual_rows_says(browser, tmp_path):
    tree = hlc_model(7, random_state=3)
    rows = sample(tree, 20, random_state=0)
    found = unusual_rows(tree, rows, 20, show_progress=False)
    write_report(tree, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    browser.run(MODEL)
    for index, row in found.iterrows():
        log, _, expected = asked(browser, answers_of(tree, rows.loc[index]))
        assert log == pytest.approx(row["log_likelihood"], abs=1e-9)
        node = tree.index(row["cell"])
        assert expected[node][tree.state_names[node].index(row["value"])] == pytest.approx(row["probability"], abs=1e-9)


def test_thousands_of_answers_neither_underflow_nor_forget_a_state(browser, tmp_path):
    """Half of 3,000 columns speak for one state and half for the other, at odds of 9 to 1 each: all cancels."""
    n = 3000
    tables = [[[0.3, 0.7]], *[[[0.9, 0.1], [0.1, 0.9]]] * n]
    tree = LatentTree(["H", *range(n)], [[0, 1]] * (n + 1), [-1, *[0] * n], [True, *[False] * n], tables)
    write_report(tree, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    browser.run(MODEL)
    _, posteriors, _ = asked(browser, [[1 + at, int(at >= n // 2)] for at in range(n)])
    np.testing.assert_allclose(posteriors[0], [0.3, 0.7], atol=1e-9)


def test_zeros_are_zeros(browser, tmp_path):
    tree = LatentTree(
        ["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [-1, 0, 0], [True, False, False],
        [[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    )  # fmt: skip
    write_report(tree, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    browser.run(MODEL)
    assert asked(browser, [[1, 0]])[1] == [[1, 0], [1, 0], [1, 0]]
    log, posteriors, expected = asked(browser, [[1, 0], [2, 1]])
    assert (log, posteriors[0], expected[1]) == (None, [None, None], [0, 1])
    browser.click("#asking .asked .card:nth-child(1) .state:nth-child(1)")
    browser.click("#asking .asked .card:nth-child(2) .state:nth-child(2)")
    assert browser.run("document.getElementById('said').textContent") == "The model rules these answers out together."
    assert "–" in browser.run("document.querySelector('.side .share').textContent")


def test_a_thousand_columns_open_in_two_seconds(browser, tmp_path):
    tree = large_tree(20, 1000)
    path = tmp_path / "report.html"
    write_report(tree, path, sample(tree, 60, random_state=0))
    seconds = []
    for _ in range(5):
        before = time.perf_counter()
        browser.open(path)
        assert browser.run("document.querySelectorAll('#asking .card').length") > 30
        seconds.append(time.perf_counter() - before)
    assert statistics.median(seconds) < 2
    browser.run("document.querySelector('#asking .asked .state').click()")
    assert "1 answer" in browser.run("document.getElementById('said').textContent")
    check_quiet(browser, path)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Return the report of a latent class model, with rows."""
    path = tmp_path_factory.mktemp("reports") / "report.html"
    table = load_anes96()[["PID", "vote", "age"]]
    learner = RandomStarts(n_states=2, n_starts=4, **QUIET).fit(table)
    write_report(learner, path, rows=table.head(5))
    return path, learner, table


def shares(browser, kind, card):
    selector = f"#asking .{kind} .card:nth-child({card}) .share"
    return browser.run(f"[...document.querySelectorAll('{selector}')].map((one) => one.textContent)")


def test_a_click_moves_everything_and_another_takes_it_back(browser, survey):
    path, learner, _ = survey
    browser.open(path)
    before = shares(browser, "side", 1)
    browser.click("#asking .asked .card:nth-child(2) .state:nth-child(1)")  # vote = Clinton
    expected = posterior(learner.tree_, pd.DataFrame({"vote": ["Clinton"]}), nodes=["H", "PID"], absent="sum_out")
    texts = [f"{round(100 * share)}%" for share in expected["H"].to_numpy()[0]]
    assert shares(browser, "side", 1) == texts != before
    assert shares(browser, "asked", 2) == ["100%", "0%"]
    assert browser.run("document.querySelector('#asking [aria-pressed=true] .words').textContent") == "Clinton"
    assert browser.run("document.querySelector('.chip').textContent") == "vote = Clinton ×"
    browser.click(".chip")
    assert shares(browser, "side", 1) == before
    assert browser.run("document.getElementById('said').textContent").startswith("No answers yet")
    check_quiet(browser, path)


def test_it_is_used_by_keyboard_and_heard(browser, survey):
    path, _, _ = survey
    browser.open(path)
    browser.run("document.getElementById('sorting').focus()")
    for _ in range(2):
        browser.press("Tab")
    assert browser.run("document.activeElement.dataset.state") == "0"
    browser.press("Enter", "\r")
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert browser.run("document.getElementById('said').getAttribute('role')") == "status"
    unnamed = """[...document.querySelectorAll('#asking button, #asking input, #asking select')].filter((one) =>
        !one.textContent.trim() && !one.labels?.length && !one.getAttribute('aria-label')).length"""
    assert browser.run(unnamed) == 0
    assert browser.run("document.querySelectorAll('#asking [role=group]:not([aria-labelledby])').length") == 0
    check_quiet(browser, path)


def test_a_hidden_variable_tells_its_classes_with_intervals(browser, survey):
    path, learner, _ = survey
    browser.open(path)
    browser.click("#asking .side .name")
    said = browser.run("document.getElementById('about').textContent")
    assert "vote = Clinton" in said
    assert "95% confidence interval" in said
    cells = browser.run("""[...document.querySelectorAll('#about .scroll:last-of-type tr')]
        .map((row) => [...row.children].map((one) => one.firstChild?.textContent ?? ''))""")
    table = learner.profiles()["H"].round(3)
    clinton = next(row for row in cells if row[0] == "vote = Clinton")
    np.testing.assert_allclose([float(cell) for cell in clinton[1:]], table.loc[("vote", "Clinton")], atol=6e-4)
    browser.click("#about .close")
    assert browser.run("document.activeElement.className") == "name"  # back where the reader was
    check_quiet(browser, path)


def test_a_column_and_a_row_tell_about_themselves(browser, survey):
    path, _, table = survey
    browser.open(path)
    browser.click("#asking .asked .card:nth-child(3) .name")
    said = browser.run("document.getElementById('about').textContent")
    assert said.startswith("age")
    assert "H = 1" in said
    browser.run("document.getElementById('about').close()")
    browser.click("#asking .rows .row")
    said = browser.run("document.getElementById('about').textContent")
    label = browser.run("document.querySelector('#asking .rows .row').textContent")
    assert said.startswith(f"Row {label}")
    for name, value in table.loc[int(label)].items():
        assert f"{name} = {value}" in said
    assert browser.run("document.querySelectorAll('.known .chip').length") == 3
    check_quiet(browser, path)


def test_the_tree_and_the_topics_open_the_same_tables(browser, tmp_path):
    path = tmp_path / "report.html"
    write_report(large_tree(9, 90), path)
    browser.open(path)
    browser.click(".topics button")
    assert browser.run("document.getElementById('about-title').textContent").startswith("G")
    browser.run("document.getElementById('about').close()")
    browser.click("#panel [data-node]")
    assert browser.run("document.getElementById('about-title').textContent") == "T"
    check_quiet(browser, path)


def test_names_stay_names(browser, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: np.array(HOSTILE[:3])[rng.integers(0, 3, 60)] for name in HOSTILE}, index=HOSTILE[:1] * 60
    )
    path = tmp_path / "report.html"
    learner = RandomStarts(n_states=2, n_starts=1, **QUIET).fit(frame)
    write_report(learner, path, frame, rows=frame.head(2))
    browser.open(path)
    for selector in ("#asking .asked .state", "#asking .side .name"):
        browser.click(selector)
    browser.run("document.getElementById('about').close()")
    browser.click("#asking .rows .row")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 5
    assert HOSTILE[0] in browser.run("document.getElementById('asking').textContent")
    check_quiet(browser, path)


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_is_wider_than_the_window(browser, survey, width):
    path, _, _ = survey
    browser.open(path, width=width)
    browser.click("#asking .asked .state")
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.click("#asking .rows .row")
    assert browser.run("document.querySelector('.about').scrollWidth <= document.querySelector('.about').clientWidth")


def test_finding_and_sorting(browser, tmp_path):
    path = tmp_path / "report.html"
    write_report(large_tree(3, 60), path)
    browser.open(path)
    names = "[...document.querySelectorAll('#asking .asked .name')].map((one) => one.textContent)"
    assert len(browser.run(names)) == 36
    browser.click("#asking .asked .further")
    assert len(browser.run(names)) == 60
    browser.click("#find-column")
    browser.type("x12")
    assert browser.run(names) == ["x12"]
    browser.click("#asking .asked .state")
    for name, value, event in (("find-column", "", "input"), ("sorting", "moved", "change")):
        found = f"document.getElementById('{name}')"
        browser.run(f"{found}.value = '{value}'; {found}.dispatchEvent(new Event('{event}'))")
    assert browser.run(names)[0] == "x12"
    moved = browser.run(names)[1:]
    assert {(int(name[1:]) - 12) % 3 for name in moved[:10]} == {0}  # columns below the same hidden variable come first
    check_quiet(browser, path)
