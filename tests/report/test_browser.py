"""Reports in a real browser: they are drawn, can be folded, complain of nothing and ask for nothing."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import (
    EAST,
    Baseline,
    GaussianTree,
    LatentNetwork,
    LatentTree,
    RandomStarts,
    gaussian,
    latent_transition,
    multilevel_classes,
    sample,
)
from pgmpy_latent.datasets import hlc_model, load_anes96
from pgmpy_latent.report import write_report
from tests.report.test_page import HOSTILE, QUIET, large_tree
from tests.support.browser import Browser, installed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(installed() is None, reason="needs Chromium, as Debian's package chromium"),
]

SHOWN = "[...document.querySelectorAll('.item')].map((one) => one.querySelector('text').textContent)"
PANEL = "document.getElementById('panel').textContent"
FOCUS = "document.activeElement.querySelector('text')?.textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the report of a small tree: H1 above D4, H2 and H3, and these above three columns each."""
    path = tmp_path_factory.mktemp("reports") / "report.html"
    learner = EAST(**QUIET).fit(sample(hlc_model(7, random_state=2), 2000, random_state=0))
    assert sorted(learner.tree_.children("H2")) == ["D1", "D2", "D3"]
    learner.report(path)
    return path


@pytest.fixture(scope="module")
def survey_report(tmp_path_factory):
    """Return the report of a survey: long names, many categories, a search that gained next to nothing."""
    path = tmp_path_factory.mktemp("reports") / "survey.html"
    names = {"PID": "identification_with_a_party", "selfLR": "Self-placement from left to right"}
    table = load_anes96()[["vote", "PID", "selfLR"]].rename(columns=names).astype(object)
    table.iloc[:40, 1] = None
    RandomStarts(n_states=2, n_starts=4, **QUIET).fit(table).report(path)
    return path


def item(browser, name):
    """Return a selector of the node with that name, as it is drawn now."""
    find = f"[...document.querySelectorAll('.item')].find((one) => one.querySelector('text').textContent === '{name}')"
    key = browser.run(f"{find}.dataset.key")
    return f'[data-key="{key}"] .box'


def check_quiet(browser, path):
    """Nothing was said on the console, and nothing was asked for but the page itself."""
    assert browser.complaints == []
    assert browser.requests == [path.resolve().as_uri()]


def test_it_is_drawn_and_asks_for_nothing(browser, report):
    browser.open(report)
    assert set(browser.run(SHOWN)) == {"H1", "H2", "H3", *(f"D{i}" for i in range(1, 8))}
    assert browser.run("document.title").startswith("Latent tree with 3 hidden variables")
    boxes = browser.run("""[...document.querySelectorAll('.item .box')].map((one) => one.getBoundingClientRect())
                           .map((box) => [box.x, box.y, box.right, box.bottom])""")
    for at, (left, top, right, bottom) in enumerate(boxes):  # and no two nodes overlap
        assert right > left
        assert not any(x < right and left < u and y < bottom and top < v for x, y, u, v in boxes[at + 1 :])
    check_quiet(browser, report)


def test_names_and_numbers_of_states_stand_apart(browser, tmp_path):
    tables = [np.full((1, 120), 1 / 120), *(np.full((120, 2), 0.5) for _ in range(3))]
    tree = LatentTree(["H1", *"xyz"], [range(120), *["ab"] * 3], [-1, 0, 0, 0], [True, *[False] * 3], tables)
    write_report(tree, tmp_path / "report.html")
    browser.open(tmp_path / "report.html")
    name, number = browser.run("""[...document.querySelector('.item').querySelectorAll('text')].slice(0, 2)
                                  .map((one) => one.getBoundingClientRect()).map((box) => [box.x, box.right])""")
    assert name[1] + 2 < number[0]


def test_folding_by_pointer(browser, report):
    browser.open(report)
    everything = browser.run(SHOWN)
    browser.click(item(browser, "H2"))
    assert set(browser.run(SHOWN)) == set(everything) - {"D1", "D2", "D3"}
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "false"
    browser.click(item(browser, "H2"))
    assert browser.run(SHOWN) == everything
    browser.click("#fold")
    assert browser.run(SHOWN) == ["H1"]
    browser.click("#unfold")
    assert browser.run(SHOWN) == everything
    check_quiet(browser, report)


def test_pointing_shows_the_table(browser, report):
    browser.open(report)
    browser.hover(item(browser, "D5"))
    said = browser.run(PANEL)
    assert said.startswith("D5")
    assert "given H3" in said
    cells = browser.run("[...document.querySelectorAll('#panel td')].map((one) => Number(one.textContent))")
    columns = browser.run("document.querySelectorAll('#panel thead th').length") - 1
    np.testing.assert_allclose(np.reshape(cells, (-1, columns)).sum(axis=1), 1, atol=0.003)
    browser.hover(item(browser, "H1"))
    assert browser.run(PANEL).startswith("H1")
    browser.click("#panel a")
    assert browser.run("location.hash").startswith("#latent-")


def test_folding_by_keyboard(browser, report):
    browser.open(report)
    assert browser.run("document.querySelectorAll('.item[tabindex=\"0\"]').length") == 1
    browser.run("document.getElementById('find').focus()")
    browser.press("Tab")
    assert browser.run(FOCUS) == "H1"
    browser.press("ArrowRight")
    assert browser.run(FOCUS) == browser.run(SHOWN)[1]
    while browser.run(FOCUS) != "H2":
        browser.press("ArrowDown")
    assert browser.run(PANEL).startswith("H2")
    browser.press("ArrowLeft")
    assert "D1" not in browser.run(SHOWN)
    assert browser.run(FOCUS) == "H2"
    browser.press("Enter", "\r")
    assert "D1" in browser.run(SHOWN)
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")
    assert browser.run(FOCUS) == "H1"
    browser.press("ArrowUp")  # there is nothing further up
    assert browser.run(FOCUS) == "H1"
    check_quiet(browser, report)


def test_what_is_read_aloud(browser, report):
    browser.open(report)
    assert browser.run("document.querySelector('svg[role=tree]').getAttribute('aria-label')") == "The tree"
    said = "((one) => one.getAttribute('aria-label') + ' at ' + one.getAttribute('aria-level'))"
    assert browser.run(f"{said}(document.querySelector('[role=treeitem]'))") == "H1, hidden variable, 2 states at 1"
    assert (
        browser.run("document.querySelectorAll('svg[role=img]:not([aria-label]), .stack:not([aria-label])').length")
        == 0
    )
    assert browser.run("document.querySelectorAll('h1').length") == 1


def test_finding_a_node_unfolds_the_way_to_it(browser, report):
    browser.open(report)
    browser.click("#fold")
    browser.click("#find")
    browser.type("d6")
    browser.press("Enter", "\r")
    assert browser.run(FOCUS) == "D6"
    assert "D1" not in browser.run(SHOWN)
    check_quiet(browser, report)


def test_code_can_be_copied_and_steps_unfolded(browser, report):
    browser.open(report)
    browser.click("#copy")
    browser.until("document.getElementById('copy').textContent !== 'Copy'")
    browser.click("#search summary")
    assert browser.run("document.querySelector('#search details').open")
    check_quiet(browser, report)


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_nothing_is_wider_than_the_window(browser, report, width):
    browser.open(report, width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [360, 390, 1200])
def test_all_columns_of_scores_are_seen_without_scrolling(browser, report, width):
    browser.open(report, width=width)
    numbers = "document.querySelectorAll('.scores td.number')"
    browser.run(f"{numbers}.forEach((cell) => {{ cell.textContent = '-123,456,789.01'; }})")
    scrolled = "document.querySelector('.scores').parentElement"
    assert browser.run(f"{scrolled}.scrollWidth <= {scrolled}.clientWidth")
    assert browser.run(f"[...{numbers}].every((cell) => cell.scrollWidth <= cell.clientWidth)")
    assert browser.run(f"{numbers}.length") >= 6


@pytest.mark.parametrize("width", [360, 1280])
def test_what_is_written_is_not_cut(browser, survey_report, width):
    browser.open(survey_report, width=width)
    inside = """(element, box) => {
        const range = document.createRange();
        range.selectNodeContents(element);
        const [text, around] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
        return text.top >= around.bottom || (text.left >= around.left - 0.5 && text.right <= around.right + 0.5);
    }"""
    cut = f"""(selector, around) => [...document.querySelectorAll(selector)]
        .filter((one) => one.textContent && one.offsetWidth && !({inside})(one, one.closest(around)))
        .map((one) => one.textContent)"""
    shown = "[...document.querySelectorAll('.stack i')].filter((one) => one.textContent).length"
    assert browser.run(shown) > 20
    assert browser.run(f"({cut})('.stack i', 'i')") == []
    assert browser.run(f"({cut})('.classes td, .classes th', '.scroll')") == []
    assert browser.run(f"({cut})('.columns td, .columns th', '.scroll')") == []
    words = "[...document.querySelectorAll('.state .words')]"
    assert "Conservative" in browser.run(f"{words}.map((one) => one.textContent)")
    broken = f"""{words}.filter((one) => /^[a-zA-Z]{{1,12}}$/.test(one.textContent)).map((one) => {{
        const range = document.createRange();
        range.selectNodeContents(one);
        return [one.textContent, range.getClientRects().length];
    }}).filter(([, lines]) => lines > 1)"""
    assert browser.run(broken) == []  # a short word stays on one line
    assert browser.run("document.querySelectorAll('.chart text').length") > 4
    places = "(one, box) => [one.getBoundingClientRect(), box.getBoundingClientRect()]"
    assert browser.run(f"""[...document.querySelectorAll('.chart text')].every((one) => {{
        const [text, around] = ({places})(one, one.closest('svg'));
        return text.left >= around.left && text.right <= around.right;
    }})""")


@pytest.mark.parametrize("width", [360, 1280])
def test_the_button_that_copies_is_not_over_the_code(browser, report, width):
    browser.open(report, width=width)
    bottom, top = browser.run("""[document.getElementById('copy').getBoundingClientRect().bottom,
                                  document.getElementById('code').closest('pre').getBoundingClientRect().top]""")
    assert bottom <= top


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_told_from_its_ground(browser, report, scheme):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", media="screen", features=features)
    browser.open(report)
    script = """((selector) => {
        const style = getComputedStyle(document.querySelector(selector));
        const light = (colour) => {
            const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
            const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        };
        const [a, b] = [light(style.color), light(getComputedStyle(document.body).backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    })"""
    try:
        for selector in ("body", ".quiet", ".lead", "nav a", "summary", "dt"):
            assert browser.run(f"{script}({selector!r})") >= 4.5, selector
    finally:
        browser.call("Emulation.setEmulatedMedia", media="", features=[])


def test_a_tree_of_numbers_shows_its_correlations(browser, tmp_path):
    path = tmp_path / "report.html"
    correlation = [0.0, 0.81, -0.52, 0.3]
    tree = GaussianTree(["H", "x", "y", "z"], [-1, 0, 0, 0], [True] + [False] * 3, correlation, [0, 3, 4, 5])
    write_report(tree, path, gaussian.sample(tree, 50, random_state=0))
    browser.open(path)
    assert browser.run(SHOWN) == ["H", "x", "y", "z"]
    assert (
        browser.run("((one) => one.getAttribute('aria-label'))(document.querySelector('[role=treeitem]'))")
        == "H, hidden variable"
    )
    browser.hover(item(browser, "y"))
    said = browser.run(PANEL)
    assert "Correlation with H\N{MINUS SIGN}0.520" in said
    assert "Mean4" in said
    check_quiet(browser, path)


def test_names_stay_names(browser, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: np.array(HOSTILE[:3])[rng.integers(0, 3, 60)] for name in HOSTILE})
    path = tmp_path / "report.html"
    RandomStarts(n_states=2, n_starts=1, **QUIET).fit(frame).report(path)
    browser.open(path)
    for selector in [f'[data-key="{key}"] .box' for key in range(len(HOSTILE))]:
        browser.hover(selector)
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 5
    assert HOSTILE[0] in browser.run("document.body.textContent")
    check_quiet(browser, path)


def test_a_thousand_leaves(browser, tmp_path):
    tree = large_tree(20, 1000)
    path = tmp_path / "report.html"
    write_report(tree, path, sample(tree, 60, random_state=0))
    assert path.stat().st_size < 3e6
    browser.open(path)
    assert len(browser.run(SHOWN)) < 60
    browser.click("#unfold")
    shown = browser.run(SHOWN)
    assert shown.count("10 more") == 20  # of 50 columns each
    browser.click(item(browser, "10 more"))
    assert browser.run(SHOWN).count("10 more") == 19
    browser.click("#fold")
    browser.click("#find")
    browser.type("x999")
    browser.press("Enter", "\r")
    assert browser.run(FOCUS) == "x999"
    check_quiet(browser, path)


def test_many_trees_and_no_hidden_variable(browser, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (50, 70)), columns=[f"x{at}" for at in range(70)])
    path = tmp_path / "report.html"
    Baseline("independence").fit(frame).report(path)
    browser.open(path)
    assert len(browser.run(SHOWN)) == 41
    browser.click(item(browser, "30 more"))
    assert len(browser.run(SHOWN)) == 70
    check_quiet(browser, path)


def test_it_can_be_printed(browser, report):
    browser.open(report)
    printed = browser.call("Page.printToPDF", printBackground=True)["data"]
    assert len(printed) > 10_000
    assert browser.run("[...document.querySelectorAll('details')].every((one) => one.open)")
    check_quiet(browser, report)


def test_paper_does_not_scroll(browser, survey_report):
    a4 = 718  # its width in pixels, without margins
    try:
        browser.call("Emulation.setEmulatedMedia", media="print", features=[])
        browser.open(survey_report, width=a4)
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        right = browser.run("document.querySelector('main').getBoundingClientRect().right")
        wide = f"""[...document.querySelectorAll('table, pre, code, svg')]
            .map((one) => [one.tagName, one.getBoundingClientRect().right]).filter(([, end]) => end > {right})"""
        assert browser.run(wide) == []
        assert browser.run("[...document.querySelectorAll('pre')].every((one) => one.scrollWidth <= one.clientWidth)")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="", features=[])


def test_reports_of_transitions_and_levels_ask_for_nothing(browser, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"id": np.repeat(range(20), 3), "wave": [1, 2, 3] * 20, "x": rng.integers(0, 2, 60)})
    options = {"n_starts": 1, "random_state": 0, "show_progress": False}
    moves = latent_transition(rows, "id", "wave", ["x"], 2, **options)
    levels = multilevel_classes(rows, "id", 2, 1, items=["x"], **options)
    for found, title in (
        (moves, "Latent transition model with 2 states"),
        (levels, "2 classes in 1 cluster of groups"),
    ):
        path = tmp_path / "report.html"
        found.report(path)
        browser.open(path)
        assert browser.run("document.title") == title
        assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
        check_quiet(browser, path)


@pytest.mark.parametrize("width", [360, 1280])
def test_a_network_is_drawn_and_leads_to_its_hidden_variables(browser, tmp_path, width):
    """Names are inside of their boxes, whatever letters they have, and the picture does not widen the page."""
    names = ["H", "WWWWWWWWWW", "a column with a rather long name, and then more", "iiii", "所得", "<b>"]
    parents = [(), (0,), (0, 1), (0,), (0, 2), (3, 4)]
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet([0.4] * 2, 2 ** len(above)) for above in parents]
    network = LatentNetwork(names, [["low", "high"]] * 6, parents, [True] + [False] * 5, tables)
    path = tmp_path / "report.html"
    write_report(network, path, sample(network, 60, random_state=0))
    browser.open(path, width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('.network .edge').length") == len(network.edges)
    outside = """[...document.querySelectorAll('.network text')].filter((one) => {
        const [text, box] = [one, one.parentNode.querySelector('rect')].map((each) => each.getBoundingClientRect());
        return text.left < box.left || text.right > box.right;
    }).map((one) => one.textContent)"""
    assert browser.run(outside) == []
    assert browser.run("[...document.querySelectorAll('.network text')].pop().textContent") == "<b>"
    browser.click(".network a")
    assert browser.run("location.hash") == "#latent-0"
    check_quiet(browser, path)
