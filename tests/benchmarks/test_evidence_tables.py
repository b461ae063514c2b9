"""The papers' tables that EAST, latent classification models and binary forests have: every cell is there."""

import csv
import math

import pytest

from benchmarks import binary_forests, runner
from benchmarks.tables import (
    __main__ as driver,
)
from benchmarks.tables import (
    east_1,
    harmeling_williams,
    harmeling_williams_2,
    langseth_nielsen,
    langseth_nielsen_2,
    langseth_nielsen_3,
)
from benchmarks.tables._tried_classifiers import TRIED, why_worse
from benchmarks.tables.cells import (
    BASELINE,
    BETTER,
    COMPARED,
    COUNT,
    DECIDED,
    EQUAL,
    LIBRARY,
    MISSING,
    NO_PRESET,
    NOT_COMPARABLE,
    OWN,
    SECONDS,
    UNDECIDED,
    VERDICTS,
    WORSE,
    with_limits,
)
from benchmarks.tables.results import Results, error_of_difference, method_of
from tests.test_readme import ROOT

#: Module -> cells, how many of them cannot be compared, and how many there are of each kind.
SIZES = {
    "east_1": (25 + 24, 16, {OWN: 49}),
    "langseth_nielsen_2": (16 * 5, 16 * 4, {OWN: 5, LIBRARY: 2, BASELINE: 9, COUNT: 64}),
    "langseth_nielsen_3": (15 * 9, 0, {OWN: 75, LIBRARY: 30, BASELINE: 30}),
    "harmeling_williams_1": (10, 5, {OWN: 4, BASELINE: 6}),
    "harmeling_williams_2": (60, 0, {OWN: 20, BASELINE: 40}),
    "harmeling_williams_3": (60, 0, {SECONDS: 60}),
    "harmeling_williams_4": (11, 0, {OWN: 4, BASELINE: 7}),
}


def cells_of(name):
    return with_limits(driver.modules()[name].cells(driver.runner_of(name)))


@pytest.mark.parametrize("name", SIZES)
def test_every_cell_is_there(name):
    found = cells_of(name)
    n_cells, n_lost, kinds = SIZES[name]
    assert len(found) == len({(cell.table, cell.row, cell.column) for cell in found}) == n_cells
    assert sum(cell.default.verdict == NOT_COMPARABLE for cell in found) == n_lost
    assert {kind: sum(cell.kind == kind for cell in found) for kind in kinds} == kinds
    for cell in found:
        assert cell.table == driver.modules()[name].TITLE
        assert math.isfinite(cell.theirs)
        for one in cell.findings.values():
            assert one.verdict in VERDICTS
            assert bool(one.reason) or one.verdict != NOT_COMPARABLE
            if one.verdict in COMPARED:
                assert math.isfinite(one.ours)
                assert one.error > 0


@pytest.mark.parametrize("name", SIZES)
def test_own_methods_have_a_preset_and_others_none(name):
    if name != "harmeling_williams_3":  # seconds of both
        for cell in cells_of(name):
            assert (cell.preset.verdict == NO_PRESET) == (cell.kind != OWN and cell.default.verdict != NOT_COMPARABLE)


@pytest.mark.parametrize("name", SIZES)
def test_nothing_is_made_up_where_nothing_was_measured(name, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    found = cells_of(name)
    assert len(found) == SIZES[name][0]
    for cell in found:
        assert {one.verdict for one in cell.findings.values()} <= {MISSING, NOT_COMPARABLE, NO_PRESET}
        assert all(one.ours is None for one in cell.findings.values())


def test_quick_size_runs_and_writes_nothing(tmp_path, capsys):
    driver.quick(SIZES, str(tmp_path))  # other tables have tests of their own
    assert {path.name for path in tmp_path.iterdir()} == {f"tables_{name}.csv" for name in SIZES}
    assert capsys.readouterr().out.count("quick: ") >= 2 * len(SIZES)
    for path in runner.RESULTS.glob("*.csv"):
        assert "quick: " not in path.read_text()


def test_render_writes_page_and_cells(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(driver, "DOCS", tmp_path)
    driver.main(["--render"])
    text = (tmp_path / "evidence.md").read_text()
    for name in SIZES:
        assert f"## {driver.modules()[name].TITLE}\n" in text
    lines = (tmp_path / "evidence.csv").read_text().splitlines()
    assert {"preset_verdict", "default_verdict", "own_method"} <= set(lines[0].split(","))
    assert len(lines) - 1 >= sum(n for n, *_ in SIZES.values())
    assert "cells of" in capsys.readouterr().out
    # what is kept is what results and code give now
    assert text == (ROOT / "docs" / "evidence.md").read_text()
    assert lines == (ROOT / "docs" / "evidence.csv").read_text().splitlines()


def test_the_plan_says_what_is_missing_and_measures_nothing(capsys):
    driver.main(["--plan", "--only", "harmeling_williams_1 + preset"])
    said = capsys.readouterr().out
    assert "in all " in said
    assert " of processor time" in said
    assert "==" not in said


def test_only_and_most_leave_jobs_out(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("tables_east_1")
    case = east_1.east.synthetic_case(7, 5_000)
    run.note(case, "EAST-DC, preset", 0, [100.0], {})
    found = driver.stored(east_1, driver.runner_of("east_1"))
    labels = [job[:3] for job in driver.wanted("east_1", found, f"EAST-DC, preset + {case}")]
    assert labels == [(case, "EAST-DC, preset", draw) for draw in range(1, 10)]
    assert driver.wanted("east_1", found, f"EAST-DC, preset + {case}", most=99.0) == []


def test_expected_seconds_are_those_of_the_same_kind(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("new")
    for case, method, seed, seconds in (("a", "m", 0, 1.0), ("a", "m", 1, 3.0), ("a", "m, preset", 0, 8.0),
                                        ("b", "m", 0, 5.0)):  # fmt: skip
        run.note(case, method, seed, [seconds], {})
    found = Results(run, n_fits=10, roughly={"to its end": 3.0})
    assert found.expected_seconds("a", "m") == 20.0
    assert found.expected_seconds("b", method_of("m", True)) == 50 * 80 / 20
    assert found.expected_seconds("b", "m, to its end") == 150.0
    assert found.expected_seconds("c", method_of("m", True)) is None
    assert found.expected_seconds("b", "other, preset") is None
    run.note("b", "other", 0, [2.0], {})
    assert Results(run).expected_seconds("b", "other, preset") == 2 * 8 / 2
    guessing = Results(run, roughly={"other, preset": 7.0, "m, preset": 9.0, "preset": 5.0})
    assert guessing.expected_seconds("b", "other, preset") == 14.0
    assert guessing.expected_seconds("b", "m, preset") == 5 * 8 / 2


def test_own_results_come_first_and_older_files_are_only_read(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    old = runner.Runner("old")
    old.note("case", "method", 0, [1.0], {"bic": -1.0})
    before = old.path.read_bytes()
    found = Results(runner.Runner("new"), "old")
    found.measure([("case", "method", seed, lambda seed=seed: {"bic": -2.0 - seed}) for seed in (0, 1)])
    assert found.values("case", "method", "bic", range(3)) == [-1.0, -3.0]
    assert old.path.read_bytes() == before
    found.run.note("case", "method", 0, [1.0], {"bic": -9.0})
    assert found.values("case", "method", "bic", range(1)) == [-9.0]


def test_error_grows_with_spread_and_shrinks_with_runs():
    assert error_of_difference([1.0, 3.0], 1.0) > error_of_difference([1.0, 2.0], 1.0)
    assert error_of_difference([1.0, 2.0], 1.0, 10) < error_of_difference([1.0, 2.0], 1.0, 5)
    assert error_of_difference([1.0], None, rounding=0.5) == 0.5


def test_averages_of_the_paper_agree_with_its_table():
    for at, column in enumerate(langseth_nielsen_3.COLUMNS):
        values = [figures[at][0] for figures in langseth_nielsen_3.FIGURES.values()]
        assert sum(values) / len(values) == pytest.approx(langseth_nielsen_2.FIGURES[column][0], abs=0.11)
    assert list(langseth_nielsen_3.FIGURES) == list(langseth_nielsen.ROWS)


def test_deviations_of_the_paper_are_kohavis():
    for name, figures in langseth_nielsen_3.FIGURES.items():
        for accuracy, deviation in figures:
            kohavi = math.sqrt(accuracy * (100 - accuracy) / langseth_nielsen.ROWS[name])
            assert kohavi == pytest.approx(deviation, abs=0.45)


def test_the_deviation_over_draws_is_that_of_all_classifiers_together(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run, case = runner.Runner("tables_langseth_nielsen_2"), langseth_nielsen.work.table_case("iris")
    for method, accuracies in (("NB/M", (0.90, 0.92, 0.94)), ("k-NN", (0.80, 0.84)), ("TAN/D", (0.5,))):
        for seed, accuracy in enumerate(accuracies):
            run.note(case, method, seed, [1.0], {"accuracy": [accuracy] * 5})
    found = Results(run)
    assert langseth_nielsen.draw_deviation(found, "iris") == pytest.approx(math.sqrt((4 + 4 + 8) / 3))


def test_variation_over_draws_is_that_above_another_method_on_the_same_folds(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run, case = runner.Runner("tables_langseth_nielsen_2"), langseth_nielsen.work.table_case("iris")
    for method, accuracies in (("LCM(q)", (0.90, 0.92, 0.94)), ("LCM(q,m;T)", (0.5, 0.58)), ("k-NN", (0.70, 0.72))):
        for seed, accuracy in enumerate(accuracies):
            run.note(case, method, seed, [1.0], {"accuracy": [accuracy] * 5})
    found = Results(run)
    assert langseth_nielsen.variation(found) == pytest.approx(math.sqrt((4 + 32) / 2))
    assert langseth_nielsen.variation(found, "k-NN") == pytest.approx(math.sqrt((0 + 18) / 2))
    assert math.isnan(langseth_nielsen.variation(found, "GaussianNB"))
    assert langseth_nielsen_3.anchors(found) == []


def test_sets_that_no_draws_of_ours_can_decide_are_named(monkeypatch, tmp_path):
    """Two methods of the paper differ by 1.4 points on iris, and by 3.0 on balance-scale."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("tables_langseth_nielsen_2")
    for name in ("iris", "balance-scale"):
        for seed, accuracy in enumerate((0.90, 0.92)):  # a standard deviation of the square root of 2
            run.note(langseth_nielsen.work.table_case(name), "LCM(q)", seed, [1.0], {"accuracy": [accuracy] * 5})
    (said,) = langseth_nielsen_3.one_draw(Results(run))
    assert said.endswith("on iris (2.9 against 1.4).")


def test_what_is_left_of_the_presets_is_said_in_hours(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("tables_langseth_nielsen_2")
    for name, seconds in (("iris", 720.0), ("wine", 1440.0)):  # of each of five folds
        run.note(langseth_nielsen.work.table_case(name), "LCM(q)", 0, [seconds], {})
    assert langseth_nielsen_3.left(Results(run)) == []
    found = Results(run, n_fits=5, roughly={"preset": 2.0})
    (said,) = langseth_nielsen_3.left(found)
    assert "about 6 h" in said
    assert said.endswith("on wine (4.0 h), iris (2.0 h).")
    run.note(langseth_nielsen.work.table_case("iris"), "LCM(q), preset", 0, [720.0], {})
    (said,) = langseth_nielsen_3.left(Results(run, n_fits=5, roughly={"preset": 2.0}))
    assert said.endswith("on wine (2.0 h).")


def test_one_draw_of_the_folds_of_everything_comes_before_the_second_of_anything():
    jobs = [job[:3] for job in langseth_nielsen_3.jobs(None)]
    assert len(set(jobs)) == len(jobs)
    seeds = [seed for *_, seed in jobs]
    assert seeds == sorted(seeds)
    presets_asked = {(case, method) for case, method, seed in jobs if method.endswith(", preset")}
    assert len(presets_asked) == 15 * 5


def test_causes_are_given_once_they_are_measured():
    tried = {(one.name, one.method): one for one in TRIED}
    assert len(tried) == len(TRIED)
    for (_, method), one in tried.items():
        found = langseth_nielsen.estimator(method)
        assert (found.n_latents, found.n_components) == (one.latents, one.components)
        assert found.tied == (one.column != "LCM(q,m;U)")
        assert found.tuning == one.tuning
    for name, column in (("vehicle", "LCM(q)"), ("tae", "LCM(q,m;T)")):
        said = why_worse(lambda name, method: 81.26 if (name, method) in tried else None, name, column)
        assert "81.3" in said
        assert why_worse(lambda name, method: None, name, column) == ""
    assert why_worse(lambda name, method: 81.26, "iris", "LCM(q)") == ""


def test_folds_are_compared_by_what_is_above_the_reference_that_varies_least(monkeypatch, tmp_path):
    """Rows that are harder for all methods alike change no verdict."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    theirs, reference = (harmeling_williams.fold_score("COLEMAN", column)[0] for column in ("BIN-G", "CL"))
    run, case = runner.Runner("tables_harmeling_williams_2"), binary_forests.folded_case("COLEMAN")
    for seed, harder in enumerate((0.0, -50.0, 30.0)):
        run.note(case, "CL", seed, [1.0], {"scores": [reference + harder] * 10})
        run.note(case, "BIN-G", seed, [1.0], {"scores": [theirs + harder + 0.1 * seed] * 10})
    found = harmeling_williams_2.finding(harmeling_williams.folded_results(run), "COLEMAN", "BIN-G")
    assert found.difference == pytest.approx(0.1)
    assert found.error == pytest.approx(2 * 0.1 * math.sqrt(4 / 3) + 0.01)
    for seed, other in enumerate((7.0, 7.0, 8.0)):  # IND goes with it less than CL does
        run.note(case, "IND", seed, [1.0], {"scores": [theirs + other] * 10})
    assert harmeling_williams_2.finding(harmeling_williams.folded_results(run), "COLEMAN", "BIN-G") == found
    run.note(case, "BIN-G", 3, [1.0], {"scores": [theirs] * 10})  # without a reference
    missing = harmeling_williams_2.finding(harmeling_williams.folded_results(run), "COLEMAN", "BIN-G")
    assert missing.verdict == MISSING


def test_tables_that_left_much_open_are_drawn_more_often():
    jobs = [job[:3] for job in harmeling_williams.folded_jobs()]
    assert len(jobs) == len(set(jobs))
    n = {}
    for case, method, _ in jobs:
        n[case, method] = n.get((case, method), 0) + 1
    case = binary_forests.folded_case("HOUSE-BUILDING")
    assert n[case, "BIN-G"] == n[case, "BIN-G, preset"] == n[case, "CL"] == n[case, "IND"] == 30
    assert n[case, "LCM"] == n[binary_forests.folded_case("COLEMAN"), "BIN-G"] == 5


def test_figures_of_the_paper_agree_with_those_of_older_scripts():
    for name, (_, _, seconds) in binary_forests.FOLDED.items():
        table = harmeling_williams.FOLD_SECONDS[name]
        assert (table[3][0], table[4][0]) == seconds
    for model, (figure, _) in ((model, goal.paper) for model, goal in east_1.east.SYNTHETIC.items()):
        assert east_1.SYNTHETIC[model][1][2][0] == figure


def test_what_is_worse_in_seconds_says_why():
    for cell in cells_of("harmeling_williams_3"):
        assert cell.default.verdict != WORSE or cell.theirs > 0.1 or cell.default.reason


@pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")
def test_states_of_coil86_are_those_that_the_paper_counts():
    found = harmeling_williams.on_whole(binary_forests.COIL86, "IND", 0)
    assert found["parameters"] == 608
    assert found["mixed"] == pytest.approx(-483_256, abs=0.5)


@pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")
def test_rows_are_as_many_as_the_paper_says():
    for name, n_rows in langseth_nielsen.ROWS.items():
        assert len(langseth_nielsen.work.table(name)[1]) == n_rows


def test_page_and_cells_in_the_repository_belong_together():
    """The headline of the page, and what other pages say of it, follows from the file of cells."""
    with (driver.DOCS / "evidence.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    own = [row for row in rows if row["own_method"] == "True"]
    texts = {page: " ".join((ROOT / page).read_text().split()) for page in ("docs/evidence.md", *QUOTING)}
    for setting in ("preset", "default"):
        verdicts = [row[f"{setting}_verdict"] for row in own]
        n = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
        said = f"**{n['better']} better, {n['equal']} equal, {n['worse']} worse**, {n['undecided']} undecided"
        decided = sum(n[verdict] for verdict in DECIDED)
        share = f"{100 * (n['better'] + n['equal']) / decided:.0f} %"
        assert f"{said}; " in texts["docs/evidence.md"]
        assert f"Of {decided} decided, {share} are equal or better" in texts["docs/evidence.md"]
        for page in QUOTING:
            assert f"{share} of {decided}" in texts[page]


#: Pages that quote the headline of the page of evidence.
QUOTING = ("README.md",)


def with_presets_of_east(models):
    """Results in which the KL of the first preset is least, and that of every other one larger by 0.001."""
    run = runner.Runner("tables_east_1")
    for model, factor in models:
        for at, row in enumerate(east_1.SYNTHETIC_ROWS):
            for draw in range(3):
                figures = {"kl_smoothed": factor * (0.01 * draw + 0.001 * at), "difference": 1.0, "bic": -100.0 - at}
                run.note(east_1.east.synthetic_case(*model), method_of(row, True), draw, [1.0], figures)
    return run


def test_both_settings_of_east_lose_what_the_papers_figures_lose(monkeypatch, tmp_path):
    """The best preset for the most rows is at 0, and another's difference to it is taken draw by draw."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = with_presets_of_east([((18, 10_000), 1), ((18, 5_000), 2)])
    first, second, *_ = (method_of(row, True) for row in east_1.SYNTHETIC_ROWS)
    found = east_1.results(run)
    assert east_1.excess(found, (18, 10_000), first) == pytest.approx([0.0] * 3)
    assert east_1.excess(found, (18, 10_000), second) == pytest.approx([0.001] * 3)
    assert east_1.excess(found, (18, 5_000), second) == pytest.approx([0.002] * 3)
    assert len(east_1.excess(found, (12, 10_000), first)) == 0
    for draw in (0, 2, 5):  # only draws of all are compared
        figures = {"kl_smoothed": 0.01 * draw - 0.003, "oracle_kl_smoothed": 0.0}
        run.note(east_1.east.synthetic_case(18, 10_000), "EAST", draw, [1.0], figures)
        run.note(east_1.east.synthetic_case(12, 10_000), "EAST", draw, [1.0], figures)
    found = east_1.results(run)
    assert east_1.excess(found, (18, 10_000), "EAST") == pytest.approx([-0.003] * 2)
    assert east_1.excess(found, (12, 10_000), "EAST") == pytest.approx([-0.003, 0.017, 0.047])  # less the truth's


def test_the_papers_one_table_counts_with_our_spread_over_draws(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    model, row = (18, 10_000), "EAST-DC"
    run, case = with_presets_of_east([(model, 1)]), east_1.east.synthetic_case(18, 10_000)
    preset = method_of(row, True)
    for draw, more in enumerate((0.0, 0.002, 0.004)):
        figures = {"kl_smoothed": 0.01 * draw + more, "difference": 1.0, "bic": -100.0}
        run.note(case, preset, draw, [1.0], figures)
        run.note(case, "EAST", draw, [1.0], figures | {"kl_smoothed": 0.01 * draw + 0.5})
    found = east_1.results(run)
    default = east_1.synthetic_finding(found, model, row, "EAST", 0.0, 0.0)
    assert default.error == pytest.approx(2 * 0.002 + 5e-5)  # ours does not vary, the preset for the row does
    assert "larger than that of the preset in 3 of 3 draws, and its BIC higher in 0" in default.reason
    same = east_1.synthetic_finding(found, model, row, preset, 0.0, 0.0)
    assert same.error == pytest.approx(2 * 0.002 * math.sqrt(4 / 3) + 5e-5)


@pytest.mark.parametrize(("theirs", "verdict"), [(0.5, UNDECIDED), (0.102, UNDECIDED), (0.0, WORSE)])
def test_a_row_whose_preset_is_not_measured_is_never_better_nor_equal(monkeypatch, tmp_path, theirs, verdict):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    model = (18, 10_000)
    run = runner.Runner("tables_east_1")
    for draw, ours in enumerate((0.1, 0.101, 0.102)):
        figures = {"kl_smoothed": ours, "oracle_kl_smoothed": 0.0, "difference": 1.0, "bic": -100.0}
        run.note(east_1.east.synthetic_case(*model), "EAST", draw, [1.0], figures)
    found = east_1.results(run)
    one = east_1.synthetic_finding(found, model, "EAST-DC", "EAST", theirs, 0.0)
    assert one.verdict == verdict
    assert ("is not measured in 3 draws" in one.reason) == (verdict == UNDECIDED)
    assert one.error == pytest.approx(2 * 0.001 / math.sqrt(3) + 5e-5)


def test_the_best_row_is_zero_on_any_table(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    model = (18, 10_000)
    run = with_presets_of_east([(model, 1), ((18, 5_000), 1)])
    best, others = east_1.best_row(model), [row for row in east_1.SYNTHETIC_ROWS if row != "EAST-RL(8, 40)"]
    for draw, more in enumerate((0.0, 0.002, 0.004)):
        for rows in (10_000, 5_000):
            figures = {"kl_smoothed": 0.01 * draw + more, "difference": 1.0, "bic": -100.0}
            run.note(east_1.east.synthetic_case(18, rows), method_of(best, True), draw, [1.0], figures)
    found = east_1.results(run)
    assert east_1.spread_of_theirs(found, model, best) == 0.0
    assert east_1.spread_of_theirs(found, (18, 5_000), best) > 0.001  # its reference is another table's
    assert all(east_1.spread_of_theirs(found, model, row) == pytest.approx(0.0, abs=1e-9) for row in others)
    own = east_1.synthetic_finding(found, model, best, method_of(best, True), 0.0, 0.001)
    assert own.error == pytest.approx(2 * math.hypot(0.002 / math.sqrt(3), 0.001 / math.sqrt(10)) + 5e-5)


def test_log_scores_are_compared_as_smoothed_and_say_what_goes_with_a_low_one(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("tables_east_1")
    figures = {"log_score": -80.0, "impossible": 6, "parameters": 300}
    for seed in range(2):
        run.note(east_1.east.COIL, "m", seed, [1.0], {"log_score_smoothed": -120.0 - seed, **figures})
    found = east_1.results(run)
    every = [east_1.coil_finding(found, "m", "log score", theirs, 1.0) for theirs in (-100.0, -120.0, -130.0)]
    assert [one.verdict for one in every] == [WORSE, EQUAL, BETTER]
    assert every[0].reason == "without the rows that are impossible before smoothing, 6 of 4,000, it is -80"
    held_out = {"log_score_smoothed": -90.0, **figures, "parameters": 500}
    run.note(east_1.east.COIL, east_1.east.PREDICTIVE, 0, [1.0], held_out)
    reason = east_1.coil_finding(east_1.results(run), "m", "log score", -100.0, 1.0).reason
    assert "ends the search at 300 parameters" in reason
    assert reason.endswith("there are 500, and it is -90 (mean of 1)")


def test_fresh_draws_stand_beside_those_of_the_cells_and_not_in_them(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run, case = runner.Runner("tables_east_1"), east_1.east.synthetic_case(7, 5_000)
    assert east_1.fresh_draws(east_1.results(run)) == []
    for draw, gap in ((10, -2.0), (11, 4.0)):
        figures = {"kl_smoothed": 0.01 * draw, "oracle_kl_smoothed": 0.1, "difference": gap, "bic": -100.0}
        run.note(case, "EAST", draw, [1.0], figures)
    found = east_1.results(run)
    (words,) = east_1.fresh_draws(found)
    assert "2 draws: BIC +1.0 on average (-2.0 to +4.0, below by more than 1 in 1)" in words
    assert words.endswith("emp-KL +0.0050 (+0.0000 to +0.0100).")
    assert len(east_1.excess(found, (7, 5_000), "EAST")) == 0


def test_again_measures_what_is_there(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("new")
    run.note("case", "method", 0, [1.0], {"bic": -1.0})
    jobs = [("case", "method", 0, lambda: {"bic": -2.0})]
    Results(run).measure(jobs)
    assert run.figure("case", "method", "bic") == -1.0
    Results(run).measure(jobs, again=True)
    assert run.figure("case", "method", "bic") == -2.0
    assert len(runner.Runner("new").rows) == 1
