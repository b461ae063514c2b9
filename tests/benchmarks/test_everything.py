"""One command for everything: it says what is left beforehand, runs scripts in order, and goes on after a failure."""

import csv
import subprocess
import sys

import pytest

from benchmarks import __main__ as everything
from benchmarks import runner, scripts


@pytest.fixture
def calls(monkeypatch):
    """Note what is run in place of running it; scripts that are named in ``fails`` fail."""
    seen, fails = [], set()

    def run(module, options, folder, data):
        seen.append((module, *options))
        return module not in fails

    monkeypatch.setattr(everything, "run", run)
    monkeypatch.setattr(everything, "write_costs", lambda: seen.append(("costs",)))
    return seen, fails


def test_all_scripts_run_and_then_the_tables_and_pages(calls, tmp_path):
    everything.main(["--folder", str(tmp_path)])
    assert (tmp_path / "docs" / "images").is_dir()
    assert [call[0] for call in calls[0]] == [*(script.name for script in scripts.SCRIPTS), "tables"]
    calls[0].clear()
    everything.main(["--only", "peers", "--render"])
    assert calls[0] == [("peers", "--render"), ("costs",), ("beyond", "--write"), ("quoted", "--write")]


def test_a_script_that_fails_is_named_and_the_others_run(calls, tmp_path):
    calls[1].add("em")
    with pytest.raises(SystemExit, match="failed: em"):
        everything.main(["--folder", str(tmp_path), "--only", "em,merging"])
    assert [call[0] for call in calls[0]] == ["em", "merging"]


def test_a_script_that_nobody_knows_is_refused():
    with pytest.raises(SystemExit, match="there is no script peer; there are em, "):
        everything.main(["--only", "peer"])


def test_the_plan_says_what_is_left_and_runs_nothing(calls, tmp_path, capsys):
    everything.main(["--plan", "--folder", str(tmp_path), "--only", "merging,maxima"])
    assert calls[0] == []
    out = capsys.readouterr().out
    whole = sum(scripts.cost_of(scripts.rows_of(name)).seconds for name in ("merging", "maxima"))
    assert (
        f"in all {everything.seconds_text(whole)} of processor time, of which {everything.seconds_text(whole)} are left"
        in out
    )
    everything.main(["--plan", "--only", "merging,maxima"])
    assert "of which 0 s are left" in capsys.readouterr().out


def test_results_in_the_folder_are_not_left_to_do(tmp_path):
    rows = scripts.rows_of("merging")
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    with (folder / "merging.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, runner.FIELDS)
        writer.writeheader()
        writer.writerows(rows[:2])
    n_there, seconds = everything.done("merging", tmp_path)
    assert n_there == 2
    assert seconds == pytest.approx(scripts.cost_of(rows[2:]).seconds)


def test_a_quick_run_measures_what_it_leaves_out_of_the_copies(calls, tmp_path):
    for script in scripts.SCRIPTS:
        left_out = everything.copied(script, tmp_path)
        with (tmp_path / "benchmarks" / "results" / f"{script.name}.csv").open(newline="") as file:
            assert len(list(csv.DictReader(file))) == len(scripts.rows_of(script.name)) - left_out
        # the quick cases of peers are never kept
        assert (left_out > 0) == (bool(script.quick) and script.name != "peers")
    everything.main(["--quick"])
    expected = [(script.name, *script.quick) for script in scripts.SCRIPTS if script.quick]
    assert calls[0] == [*expected, ("tables", "--quick")]


def test_the_section_on_costs_is_on_the_page():
    assert runner.sections(runner.PAGE.read_text(encoding="utf-8"))["costs"] == everything.page().strip()


def test_results_and_data_may_be_elsewhere(tmp_path):
    code = "from benchmarks import runner; print(runner.RESULTS, runner.PAGE, runner.DATA, sep='|')"
    places = {
        "BENCHMARKS_FOLDER": str(tmp_path),
        "BENCHMARKS_DATA": "/data",
        "PATH": "",
        "PYTHONPATH": str(runner.ROOT),
    }
    out = subprocess.run([sys.executable, "-c", code], env=places, check=True, capture_output=True, text=True).stdout
    results, page, data = out.strip().split("|")
    assert (results, page) == (str(tmp_path / "benchmarks" / "results"), str(tmp_path / "docs" / "benchmarks.md"))
    assert data == "/data"


def test_a_quick_run_without_data_sets_leaves_out_what_needs_them(calls, tmp_path, capsys):
    everything.main(["--quick", "--data", str(tmp_path / "nothing")])
    names = [call[0] for call in calls[0]]
    assert names == [*(script.name for script in scripts.SCRIPTS if script.is_drawn), "tables"]
    assert "== class_figures is left out: there are no data sets at" in capsys.readouterr().out
