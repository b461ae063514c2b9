"""The commands of the command line, and all methods of ``learn``: what they write, and what bad input gets."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import (
    LatentNetwork,
    LatentTree,
    SplitMerge,
    TreeEM,
    load,
    log_likelihood,
    network_from_pgmpy,
    posterior,
    report,
    row_log_likelihoods,
    sample,
    save,
    to_pgmpy,
)
from pgmpy_latent.cli import classes, learn, main
from pgmpy_latent.cli.classes import LatentClasses
from pgmpy_latent.cli.learn import LEARNERS
from pgmpy_latent.cli.options import jobs, listed, number, positive, sizes
from pgmpy_latent.cli.text import PlainLines, note, progress_and_notes
from pgmpy_latent.datasets import load_anes96

COMMANDS = (
    "learn", "score", "predict", "sample", "compare", "relate", "direct-effects", "transitions", "levels", "convert",
    "demo",
)  # fmt: skip


def answers_tree():
    leaf = [[0.9, 0.1], [0.1, 0.9]]
    return LatentTree(
        ["class", "a", "b", "c", "d"],
        [[0, 1], ["no", "yes"], [1, 2], ["x", "y"], ["007", "8"]],
        [-1, 0, 0, 0, 0],
        [True, False, False, False, False],
        [[[0.6, 0.4]], leaf, leaf, leaf, leaf],
    )


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tree():
    """Return a model, which is also at model.json."""
    tree = answers_tree()
    save(tree, "model.json")
    return tree


@pytest.fixture
def rows():
    """Return rows with gaps, weights and names, which are also at rows.csv; integers in 'b', text elsewhere."""
    rows = sample(answers_tree(), 200, random_state=1).astype(object)
    rows.iloc[0, 0] = rows.iloc[3, 3] = None
    rows = rows.assign(w=np.linspace(0.5, 2, 200), who=[f"r{at}" for at in range(200)])
    rows.to_csv("rows.csv", index=False)
    return rows


def run(capsys, *argv):
    """Return exit code, stdout and stderr of ``pgmpy-latent``."""
    try:
        code = main(list(argv))
    except SystemExit as exit:
        code = exit.code
    out, err = capsys.readouterr()
    return code, out, err


def interrupted(*_):
    """Stand in for anything during which somebody presses Ctrl-C."""
    raise KeyboardInterrupt


def refused(capsys, *argv):
    """Return the message of a run that must fail with exit code 2, writing nothing."""
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert sorted(Path().iterdir()) == before
    return err


def table(text):
    path = Path("out.csv")
    path.write_text(text, encoding="utf-8")
    return pd.read_csv(path)


# Learning by all methods


@pytest.mark.parametrize("method", sorted(LEARNERS.keys() - {"classes", "find-hidden"}))
def test_every_method_learns_what_it_writes(capsys, rows, method):
    code, out, _ = run(capsys, "learn", "rows.csv", "--drop", "w,who", "--method", method, "--output", "m")
    assert code == 0
    found = load("m.json")
    tree = found if isinstance(found, LatentTree) else network_from_pgmpy(found)
    assert f"log-likelihood {log_likelihood(tree, rows):,.2f}, BIC" in out
    assert tree.observed_names == ("a", "b", "c", "d")
    hidden = method not in ("forest", "chow-liu", "independence", "find-hidden")  # the last keeps none here
    assert bool(tree.latent_names) == hidden
    assert ("What marks each" in out) == hidden
    exec("\n".join(out.splitlines()[-3:]), {})
    assert f"{(tree.latent_names or tree.names)[0]}(" in capsys.readouterr().out


def test_options_reach_the_learner(capsys, rows):
    argv = [
        "learn",
        "rows.csv",
        "--columns",
        "a,b,c,d",
        "--weights",
        "w",
        "--method",
        "random-starts",
        "--classes",
        "2",
    ]
    code, out, _ = run(capsys, *argv, "--starts", "3", "--prior", "0.5", "--seed", "4", "--jobs", "1", "--output", "m")
    tree = load("m.json")
    assert code == 0
    assert tree.cards[0] == 2
    assert min(entries.min() for entries in tree.tables) > 0
    assert "sampling weights, effective number of rows" in out
    assert f"log-likelihood {log_likelihood(tree, rows, sample_weight=rows['w']):,.2f}" in out


def test_the_default_method_is_tree_em(rows):
    columns = ["a", "b", "c", "d"]
    learner = LatentClasses(max_states=3, n_starts=4, random_state=5, show_progress=False).fit(rows[columns])
    chosen = learner.n_states_["H"]
    assert [one.n_classes for one in learner.candidates_] == [1, 2, 3]
    assert learner.chosen_.bic == max(one.bic for one in learner.candidates_)
    network = to_pgmpy(learner.tree_)
    alone = TreeEM(latent_card=chosen, n_init=4, seed=5, show_progress=False).fit(network, rows[columns])
    assert learner.tree_ == alone.tree_
    assert (learner.log_likelihood_, learner.chosen_.n_best) == (alone.log_likelihood_, alone.n_best_)
    assert learner.history_["target"].tolist() == [1, 2, 3]


def test_bif_is_written_where_nothing_is_lost(capsys, rows):
    _, out, _ = run(capsys, "learn", "rows.csv", "--columns", "a,c", "--method", "chow-liu", "--output", "m")
    assert "Written: m.json\nWritten: m.bif\n" in out
    assert "lose" not in out


def test_report(capsys, rows, monkeypatch):
    seen = []
    monkeypatch.setattr(report, "write_report", lambda *asked, **options: seen.append((*asked, options)))
    argv = ["learn", "rows.csv", "--columns", "a,b,c,d", "--starts", "2", "--max-classes", "2"]
    code, out, _ = run(capsys, *argv, "--report", "r.html")
    assert code == 0
    assert "Written: r.html" in out
    ((learner, path, options),) = seen
    assert path == Path("r.html")
    assert options == {"command": "pgmpy-latent " + " ".join([*argv, "--report", "r.html"])}
    assert learner.tree_ == load("pgmpy-latent-model.json")


def test_ctrl_c_between_two_fits_keeps_the_best_model(capsys, rows, monkeypatch):
    drawn = classes.make_start

    def interrupted(kind, inputs, seed):
        if inputs.cards[0] == 3:
            raise KeyboardInterrupt
        return drawn(kind, inputs, seed)

    monkeypatch.setattr(classes, "make_start", interrupted)
    code, _, err = run(capsys, "learn", "rows.csv", "--columns", "a,b,c,d", "--starts", "2", "--output", "kept")
    assert code == 130
    assert "nothing was written" not in err
    assert load("kept.json").cards[0] in (1, 2)


def test_ctrl_c_while_the_export_is_looked_at_says_where_the_model_is(capsys, rows, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(learn, "_exported", interrupted)
    argv = ["learn", "rows.csv", "--columns", "a,b,c,d", "--starts", "2", "--classes", "2", "--output", "kept"]
    code, _, err = run(capsys, *argv)
    assert code == 130
    assert "interrupted; the model is in kept.json" in err
    assert load("kept.json").cards[0] == 2


def test_a_report_says_which_command_to_repeat(capsys, rows):
    argv = ["learn", "rows.csv", "--columns", "a,b,c,d", "--starts", "2", "--classes", "2", "--report", "r.html"]
    assert run(capsys, *argv)[0] == 0
    page = Path("r.html").read_text()
    assert "pgmpy-latent learn rows.csv --columns a,b,c,d" in page
    assert "LatentClasses(" not in page


def test_a_search_goes_on_from_its_checkpoint(capsys, rows, monkeypatch):
    argv = ["learn", "rows.csv", "--drop", "w,who", "--method", "east", "--checkpoint", "search.json"]
    run(capsys, *argv, "--output", "whole")
    Path("search.json").unlink()
    with monkeypatch.context() as patch:
        patch.setattr("pgmpy_latent.learners.east.policy.EastPolicy.advance", interrupted)
        code, out, _ = run(capsys, *argv, "--output", "part")
    assert code == 130
    assert Path("search.json").is_file()
    assert "The same command with --overwrite resumes from the checkpoint." in " ".join(out.split())
    code, out, _ = run(capsys, *argv, "--output", "part", "--overwrite")
    assert code == 0
    assert "Not finished" not in out
    assert load("part.json") == load("whole.json")


@pytest.mark.parametrize("method", ["classes", "east"])
def test_a_time_limit_leaves_a_model(capsys, rows, method):
    argv = ["learn", "rows.csv", "--drop", "w,who", "--time-limit", "1e-9", "--method", method, "--output", "m"]
    code, out, err = run(capsys, *argv)
    assert code == 0
    assert "Not finished: the time limit stopped the search, and this is the best model so far." in out
    assert "note:" not in err  # it is said once
    assert load("m.json").observed_names == ("a", "b", "c", "d")


def test_ctrl_c_keeps_the_classes_that_were_fitted(capsys, rows, monkeypatch):
    monkeypatch.setattr(LatentClasses, "_candidate", interrupted_at_the_third(LatentClasses._candidate))
    code, out, err = run(capsys, "learn", "rows.csv", "--drop", "w,who", "--starts", "1", "--output", "m")
    assert code == 130
    assert "Not finished: Ctrl-C stopped the search" in out
    assert "2 classes: BIC" in err
    assert "3 classes: BIC" not in err
    assert load("m.json").cards[0] == 2


def interrupted_at_the_third(original):
    def candidate(self, data, n_classes, search, bar):
        if n_classes == 3:
            search.clock.stopped = "interrupted"
        return original(self, data, n_classes, search, bar)

    return candidate


def test_ctrl_c_keeps_the_best_tree_of_a_search(capsys, rows, monkeypatch):
    monkeypatch.setattr("pgmpy_latent.learners.east.policy.EastPolicy.advance", interrupted)
    code, out, _ = run(capsys, "learn", "rows.csv", "--drop", "w,who", "--method", "east", "--output", "m")
    assert code == 130
    assert "Not finished: Ctrl-C stopped the search" in out
    assert "Written: m.json" in out
    assert load("m.json").latent_names == ("H1",)


def test_ctrl_c_after_the_model_was_written(capsys, rows, monkeypatch):
    monkeypatch.setattr("pgmpy_latent.cli.learn.describe_classes", interrupted)
    code, _, err = run(capsys, "learn", "rows.csv", "--drop", "w,who", "--classes", "1", "--output", "m")
    assert code == 130
    assert err.endswith("pgmpy-latent: interrupted; the model is in m.json\n")
    assert load("m.json").cards[0] == 1


def test_failing_at_work_is_another_exit_code(capsys, rows, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pgmpy_latent.model.convert.write_whole", full)
    code, _, err = run(capsys, "learn", "rows.csv", "--drop", "w,who", "--classes", "1")
    assert code == 1
    assert err.endswith("pgmpy-latent: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "eest"], "argument --method: invalid choice: 'eest' (choose from"),
        (
            ["--method", "east", "--classes", "3"],
            "--classes does not apply to --method east; leave it out, or use classes, random-starts",
        ),
        (
            ["--method", "east", "--starts", "3"],
            "--starts does not apply to --method east; leave it out, or use classes, random-starts, bin-g, bin-a",
        ),
        (["--method", "classes", "--checkpoint", "c.json"], "--checkpoint does not apply to --method classes; "),
        (["--method", "east", "--max-classes", "1"], "--max-classes is 1; give a whole number of at least 2\n"),
        (["--time-limit", "0"], "argument --time-limit: '0' leaves no time; give a number of seconds above 0"),
        (["--jobs", "0"], "argument --jobs: '0' is not a whole number of at least 1"),
        (["--report", "nowhere/r.html"], "--report: cannot write 'nowhere/r.html': the folder '"),
        (["--report", ""], "--report is ''; give the name of a file"),
        (["--report", "folder.html"], "--report: cannot write 'folder.html': it is a folder; give the name"),
        (["--checkpoint", "nowhere/c"], "--checkpoint: cannot write 'nowhere/c': the folder '"),
        (["--columns", "A,b"], "--columns: there is no column 'A'; did you mean 'a'?"),
        (
            ["--weights", "who", "--columns", "a,b"],
            "--weights: in row 1 of the table, 'who' is 'r0', not a finite number of at least 0",
        ),
    ],
)
def test_options_of_learn_that_cannot_be_meant(capsys, rows, options, message):
    Path("folder.html").mkdir()
    assert message in refused(capsys, "learn", "rows.csv", *options)


@pytest.mark.parametrize("name", ["m.json", "m.bif", "r.html"])
def test_files_that_may_not_be_changed_are_found_before_learning(capsys, rows, monkeypatch, name):
    Path(name).touch()
    monkeypatch.setattr("os.access", lambda path, mode: path.name != name)
    monkeypatch.setattr(LatentClasses, "fit", lambda *_: pytest.fail("it has begun"))
    option = "--report" if name == "r.html" else "--output"
    message = refused(capsys, "learn", "rows.csv", "--output", "m", "--report", "r.html")
    assert f"{option}: '{name}' exists and is read-only; give another name" in message


def test_columns_that_look_like_weights_or_measurements(capsys, rows):
    table = rows[["a", "b"]].assign(weight=[1, 2] * 100, age=np.arange(200) % 30 + 0.5, word=np.arange(200) % 60)
    table["word"] = "w" + table["word"].astype(str)
    table.to_csv("t.csv", index=False)
    _, out, _ = run(capsys, "learn", "t.csv", "--classes", "1")
    words = " ".join(out.split())
    assert "note: column 'weight' is used as a category; if it holds weights, pass --weights weight" in words
    assert "note: column 'age' has 30 different numbers; if it is a measurement, bin it (as 18-29" in words
    assert "or leave it out with --drop age" in words
    assert (
        "note: column 'word' has 60 categories; if it is a measurement, bin it, or leave it out with --drop word"
        in words
    )


# Parquet


def test_parquet_keeps_types_and_gaps(capsys, rows, tree):
    typed = rows.astype({"b": "Int64", "c": "category"})
    typed.to_parquet("rows.parquet")
    run(capsys, "score", "model.json", "rows.csv", "--output", "from_csv.csv")
    run(capsys, "score", "model.json", "rows.parquet", "--output", "from_parquet.csv")
    assert Path("from_csv.csv").read_bytes() == Path("from_parquet.csv").read_bytes()
    code, out, _ = run(capsys, "learn", "rows.parquet", "--drop", "w,who", "--classes", "2", "--starts", "1")
    assert code == 0
    assert "2 missing cells" in out


def test_markers_of_missing_cells_in_parquet(capsys):
    frame = pd.DataFrame({"a": ["x", "NA", "?", "y"], "b": [1, -9, 2, 1], "c": pd.Categorical(["u", "?", "v", "u"])})
    frame.to_parquet("t.parquet")
    _, out, _ = run(capsys, "learn", "t.parquet", "--classes", "1")
    assert "no missing cells" in out
    _, out, _ = run(capsys, "learn", "t.parquet", "--classes", "1", "--missing=?,-9", "--output", "m")
    assert "3 missing cells" in out
    assert load("m.json").state_names[1:] == (("NA", "x", "y"), (1, 2), ("u", "v"))


def test_files_that_are_no_parquet(capsys, monkeypatch):
    Path("t.parquet").write_bytes(b"")
    assert "t.parquet: is empty; export the table anew" in refused(capsys, "learn", "t.parquet")
    Path("t.parquet").write_text("a,b\n1,2\n")
    assert "t.parquet: cannot be read as Parquet (" in refused(capsys, "learn", "t.parquet")
    assert "no.parquet: No such file or directory" in refused(capsys, "learn", "no.parquet")
    pd.DataFrame({"a": []}).to_parquet("t.parquet")
    assert "t.parquet: has columns but no rows" in refused(capsys, "learn", "t.parquet")
    pd.DataFrame({"a": [[1], [2]]}).to_parquet("t.parquet")
    assert "t.parquet: " in refused(capsys, "learn", "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = refused(capsys, "learn", "t.parquet")
    assert "t.parquet: Parquet is read by pyarrow, which is not installed: pip install pyarrow; or export" in message


# Scoring and predicting


def test_scores_are_those_of_the_model(capsys, rows, tree):
    code, out, err = run(capsys, "score", "model.json", "rows.csv")
    values = row_log_likelihoods(tree, rows)
    written = table(out)
    assert code == 0
    assert written["row"].tolist() == list(range(1, 201))
    np.testing.assert_allclose(written["log_likelihood"], values, rtol=1e-11)
    assert err == f"mean log-likelihood {values.mean():.6f} of 200 rows\n"


def test_scores_with_names_and_weights_in_a_file(capsys, rows, tree):
    code, out, err = run(
        capsys, "score", "model.json", "rows.csv", "--id", "who", "--weights", "w", "--output", "s.csv"
    )
    assert (code, out) == (0, "")
    assert pd.read_csv("s.csv")["who"].tolist() == rows["who"].tolist()
    mean = np.average(row_log_likelihoods(tree, rows), weights=rows["w"])
    assert err == f"mean log-likelihood {mean:.6f} of 200 rows, weighted by 'w'\n"


def test_predictions_are_those_of_the_model(capsys, rows, tree):
    code, out, _ = run(capsys, "predict", "model.json", "rows.csv", "--id", "who")
    written = table(out)
    assert code == 0
    assert list(written.columns) == ["who", "class", "P(class=0)", "P(class=1)"]
    shares = posterior(tree, rows).to_numpy()
    np.testing.assert_allclose(written[["P(class=0)", "P(class=1)"]], shares, rtol=1e-5)
    assert written["class"].tolist() == shares.argmax(axis=1).tolist()


def test_a_column_is_predicted_where_it_is_missing(capsys, rows, tree):
    _, out, _ = run(capsys, "predict", "model.json", "rows.csv", "--variables", "a,class,a")
    written = table(out)
    assert list(written.columns) == ["row", "a", "P(a=no)", "P(a=yes)", "class", "P(class=0)", "P(class=1)"]
    np.testing.assert_allclose(written["P(a=yes)"][0], posterior(tree, rows[:1], ["a"]).iloc[0, 1], rtol=1e-5)
    assert written["a"][1:].tolist() == rows["a"][1:].tolist()


def test_cells_are_the_states_that_are_written_alike(capsys, tree):
    """A file in which only "8" occurs holds integers as far as it can tell; the model calls it text."""
    Path("t.csv").write_text("d,c,b,a\n8,x,1,no\n8,y,2,yes\n")
    code, out, err = run(capsys, "score", "model.json", "t.csv")
    assert code == 0
    assert "note" not in err
    expected = row_log_likelihoods(
        tree, pd.DataFrame({"a": ["no", "yes"], "b": [1, 2], "c": ["x", "y"], "d": ["8"] * 2})
    )
    np.testing.assert_allclose(table(out)["log_likelihood"], expected, rtol=1e-11)


@pytest.mark.parametrize("command", ["score", "predict"])
def test_unknown_categories_are_missing_or_refused(capsys, tree, command):
    Path("t.csv").write_text("a,b,c,d\nno,1,x,8\nperhaps,1,x,8\n,1,x,8\n")
    code, out, err = run(capsys, command, "model.json", "t.csv")
    assert code == 0
    assert "note: column 'a' holds 'perhaps' (1 row), not among its states 'no', 'yes'" in err
    assert err.count("perhaps") == 1
    assert out.splitlines()[2].split(",")[1:] == out.splitlines()[3].split(",")[1:]
    message = refused(capsys, command, "model.json", "t.csv", "--unseen", "error")
    assert "column 'a' holds 'perhaps' (1 row)" in message
    assert message.endswith("Correct the cells, or pass --unseen missing.\n")


@pytest.mark.parametrize(("command", "cell"), [("score", "-inf"), ("predict", "")])
def test_rows_that_cannot_happen(capsys, command, cell):
    sure = [[1.0, 0.0], [0.0, 1.0]]
    states = [[0, 1], ["u", "v"], ["u", "v"]]
    tree = LatentTree(["H", "x", "y"], states, [-1, 0, 0], [True, False, False], [[[0.5, 0.5]], sure, sure])
    save(tree, "sure.json")
    Path("t.csv").write_text("x,y,id\nu,u,p\nu,v,q\n")
    code, out, err = run(capsys, command, "sure.json", "t.csv", "--id", "id")
    assert code == 0
    assert out.splitlines()[2].split(",")[1] == cell
    assert "note: 1 row cannot occur under the model (id: q); a model that was learned with --prior 0.01" in err
    assert err.count("note") == 1


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["predict", "nowhere.json", "rows.csv"], "nowhere.json: no such file; give a model that pgmpy-latent learn"),
        (["predict", "rows.csv", "model.json"], "rows.csv: a model file ends in .json, .bif, .xmlbif, .xml, .net"),
        (["predict", "folder.json", "rows.csv"], "folder.json: is a folder; give a model"),
        (["predict", "broken.json", "rows.csv"], "broken.json: not JSON, or cut short"),
        (["predict", "broken.bif", "rows.csv"], "broken.bif: pgmpy"),
        (["predict", "model.json", "rows.csv", "--id", "Who"], "--id: there is no column 'Who'; did you mean 'who'?"),
        (
            ["predict", "model.json", "rows.csv", "--variables", "clas"],
            "the model has no 'clas'; did you mean 'class'?",
        ),
        (
            ["predict", "model.json", "rows.csv", "--id", "a", "--variables", "a"],
            "--id: the model has a variable called",
        ),
        (["predict", "seen.json", "rows.csv"], "the model has no hidden variables; name columns to predict with"),
        (
            ["score", "model.json", "other.csv"],
            "other.csv lacks a column of the model: there is no column 'a'; did you",
        ),
        (["score", "model.json", "rows.csv", "--weights", "v"], "--weights: there is no column 'v'; there are a, b"),
        (["score", "model.json", "rows.csv", "--weights", "who"], "--weights: in row 1 of the table, 'who' is 'r0'"),
        (
            ["score", "model.json", "rows.csv", "--output", "no/s.csv"],
            "--output: cannot write 'no/s.csv': the folder '",
        ),
        (["score", "model.json"], "the following arguments are required: FILE"),
        (["sample", "model.json", "-n", "-1"], "argument -n: '-1' is not a whole number of at least 0"),
        (["sample", "model.json", "--output", ""], "--output is ''; give the name of a file"),
    ],
)
def test_questions_that_cannot_be_answered(capsys, rows, tree, argv, message):
    Path("folder.json").mkdir()
    Path("broken.json").write_text("{")
    Path("broken.bif").write_text("no network")
    Path("other.csv").write_text("A,b,c,d\nno,1,x,8\n")
    save(LatentTree(["a"], [["no", "yes"]], [-1], [False], [[[0.5, 0.5]]]), "seen.json")
    assert message in refused(capsys, *argv)


# Drawing


def test_drawn_rows_are_those_of_the_model(capsys, tree):
    code, out, _ = run(capsys, "sample", "model.json", "-n", "7", "--seed", "3")
    assert code == 0
    drawn = sample(tree, 7, random_state=3)
    assert out == drawn.to_csv(index=False, lineterminator="\n")
    _, out, _ = run(capsys, "sample", "model.json", "-n", "7", "--seed", "3", "--latents", "--output", "s.csv")
    assert out == ""
    assert list(pd.read_csv("s.csv").columns) == ["class", "a", "b", "c", "d"]


def test_networks_are_models_too(capsys):
    given = [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]]
    network = LatentNetwork(
        ["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [(), (), (0, 1)], [True, False, False],
        [[[0.5, 0.5]], [[0.3, 0.7]], given],
    )  # fmt: skip
    save(network, "network.json")
    assert run(capsys, "sample", "network.json", "-n", "20", "--seed", "0", "--output", "t.csv")[0] == 0
    rows = pd.read_csv("t.csv")
    _, out, _ = run(capsys, "score", "network.json", "t.csv")
    np.testing.assert_allclose(table(out)["log_likelihood"], row_log_likelihoods(network, rows), rtol=1e-11)
    code, out, _ = run(capsys, "predict", "network.json", "t.csv")
    assert code == 0
    assert out.startswith("row,H,P(H=0),P(H=1)\n")
    _, out, _ = run(capsys, "convert", "network.json", "copy.json")
    assert Path("copy.json").read_bytes() == Path("network.json").read_bytes()


# Comparing


def test_comparison(capsys, rows):
    argv = ["compare", "rows.csv", "--columns", "a,b,c,d", "--weights", "w", "--classes", "1-3", "--starts", "2"]
    code, out, _ = run(capsys, *argv, "--output", "c.csv")
    assert code == 0
    assert re.search(r"^classes +log-lik\. +params +BIC +AIC +ICL", out, flags=re.MULTILINE)
    assert re.search(r"^ +\* 2 +-", out, flags=re.MULTILINE)
    assert "Recommended: 2 classes. " in out
    assert max(map(len, out.splitlines())) <= 100
    written = pd.read_csv("c.csv")
    assert written["n_classes"].tolist() == [1, 2, 3]
    assert written["best"].tolist() == [False, True, False]
    assert f"{written['bic'][1]:.2f}" in out


def test_ordered_columns_are_compared_and_texts_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    table = pd.DataFrame({name: rng.binomial(3, 0.2 + 0.5 * truth) for name in "abcd"})
    table.assign(e=np.array(["often", "never", "always"])[rng.integers(0, 3, 200)]).to_csv("t.csv", index=False)
    argv = ["compare", "t.csv", "--classes", "1-2", "--starts", "2"]
    code, out, _ = run(capsys, *argv, "--drop", "e", "--ordinal", "a,b,c,d", "--output", "c.csv")
    assert code == 0
    assert pd.read_csv("c.csv")["n_parameters"].tolist() == [12, 17]
    assert "Recommended: 2 classes. " in out
    assert "a file does not say in which order" in refused(capsys, *argv, "--ordinal", "e")
    assert "--ordinal" in refused(capsys, *argv, "--ordinal", "zzz")


def test_all_that_a_comparison_says_is_shown(capsys, rows, monkeypatch):
    def compare(data, sizes, **options):
        asked.append((sizes, options))
        found = pd.DataFrame(
            {
                "best": [True, False], "log_likelihood": [-12345.678, -12000.0], "n_parameters": [9, 1234],
                "bic": [-12400.0, -12500.0], "n_best": [16, 3], "n_starts": [16, 16], "identified": [True, False],
                "g2_p": [0.25, 0.5], "blrt_p": [np.nan, 0.0099],
            },
            index=pd.Index(sizes, name="n_classes"),
        )  # fmt: skip
        found.attrs = {"recommended": 2, "reason": "Three classes gain nothing."}
        return found

    asked = []
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("pgmpy_latent.selection.compare.compare_classes", compare)
    code, out, _ = run(capsys, "compare", "rows.csv", "--drop", "w,who", "--classes", "2,3", "--bootstrap", "50")
    assert code == 0
    ((wanted, options),) = asked
    assert (wanted, options["n_bootstrap"], options["n_starts"]) == ([2, 3], 50, 16)
    lines = out.splitlines()
    assert lines[next(at for at, line in enumerate(lines) if line.startswith("classes")) :] == [
        "classes   log-lik.  params        BIC    starts  identified  p(G2)  p(BLRT)",
        "    * 2  -12345.68       9  -12400.00  16 of 16         yes  0.250         ",
        "      3  -12000.00   1,234  -12500.00   3 of 16          no  0.500    0.010",
        "",
        "Recommended: 2 classes. Three classes gain nothing.",
    ]
    monkeypatch.setenv("COLUMNS", "70")
    _, out, _ = run(capsys, "compare", "rows.csv", "--drop", "w,who", "--classes", "2,3")
    assert "classes   log-lik.  params        BIC    starts  p(G2)  p(BLRT)\n" in out
    assert "(no room for identified; --output writes all columns)\n" in out
    monkeypatch.setattr("pgmpy_latent.selection.compare.compare_classes", lambda *_, **__: compare(None, [2, 3])[:1])
    assert run(capsys, "compare", "rows.csv", "--drop", "w,who", "--classes", "2,3")[0] == 130  # Ctrl-C at three


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "'x' is not a list of numbers of classes, such as 1-8 or 2,3,5"),
        ("3-1", "'3-1' is not a range of numbers of classes, such as 1-8"),
        ("0-2", "'0-2' is not a range of numbers of classes"),
        ("1,", "'1,' is not a list of numbers of classes"),
    ],
)
def test_ranges_that_are_none(capsys, rows, text, message):
    assert message in refused(capsys, "compare", "rows.csv", "--classes", text)


# Converting


def test_what_would_be_lost_is_not_lost_silently(capsys):
    frame = pd.DataFrame({"x": ["u", "v"] * 10, "y": ["u", "v", "v", "v"] * 5, "g": np.arange(20) / 7})
    learner = SplitMerge(max_states=2, show_progress=False).fit(frame, kinds={"g": "gaussian"})
    save(learner.tree_, "model.json")
    message = refused(capsys, "convert", "model.json", "model.bif")
    assert "BIF would lose something; nothing was written. Pass --force to write it anyway.\n" in message
    assert "  numeric columns are left out: 'g'\n" in message
    code, out, _ = run(capsys, "convert", "model.json", "model.bif", "--force")
    assert code == 0
    assert out.startswith("Written: model.bif\nWhat it lost:\n")
    assert "  numeric columns are left out: 'g'\n" in out
    assert Path("model.bif").read_text().startswith("network")


@pytest.mark.parametrize("name", ["m.bif", "m.net", "m.uai", "m.xdsl"])
def test_files_of_names_bring_a_model_back(capsys, tree, name):
    code, out, _ = run(capsys, "convert", "model.json", name)
    assert code == 0
    assert out.startswith(
        f"Written: {name}\nWritten: {name}.names.json\nWhat {name} cannot say, and {name}.names.json "
    )
    assert "  hidden nodes look like others: 'class'\n" in out
    code, _, err = run(capsys, "convert", name, "back.json")
    assert code == 0
    assert f"names, states and hidden variables are those of {name}.names.json" in err
    assert load("back.json") == tree


def test_a_file_of_names_is_an_output_too(capsys, tree):
    Path("m.bif.names.json").write_text("notes")
    assert "'m.bif.names.json' exists already" in refused(capsys, "convert", "model.json", "m.bif")
    assert run(capsys, "convert", "model.json", "m.bif", "--overwrite")[0] == 0


@pytest.mark.parametrize("name", ["m.bif", "m.xmlbif", "m.xml"])
def test_there_and_back(capsys, name):
    leaf = [[0.875, 0.125], [0.25, 0.75]]
    states = [["one", "two"], ["no", "yes"], ["u", "v"]]
    tree = LatentTree(["H", "x", "y"], states, [-1, 0, 0], [True, False, False], [[[0.5, 0.5]], leaf, leaf])
    save(tree, "m.json")
    assert run(capsys, "convert", "m.json", name)[0] == 0
    Path(f"{name}.names.json").unlink()
    code, out, _ = run(capsys, "convert", name, "back.json", "--hidden", "H")
    assert (code, out) == (0, "Written: back.json\n")
    assert load("back.json") == tree
    assert run(capsys, "sample", name, "-n", "2")[0] == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["model.json", "m.foo"], "m.foo: a model file ends in .json, .bif"),
        (["model.json", "no/m.bif"], "OUT: cannot write 'no/m.bif': the folder '"),
        (["model.json", "m.json", "--hidden", "A"], "--hidden: the model has no 'A'; did you mean 'a'?"),
        (["nowhere.bif", "m.json"], "nowhere.bif: no such file"),
    ],
)
def test_conversions_that_cannot_be(capsys, tree, argv, message):
    assert message in refused(capsys, "convert", *argv)


# The demonstration


def test_demonstration_and_what_it_proposes(capsys, monkeypatch):
    reported = []
    monkeypatch.setattr(report, "write_report", lambda learner, path, **options: reported.append(path))
    code, out, _ = run(capsys, "demo")
    assert code == 0
    assert "944 rows, 9 columns" in out
    assert pd.read_csv("demo.csv").shape == load_anes96().shape
    proposed = re.findall(r"^  pgmpy-latent (.*)$", out, flags=re.MULTILINE)
    others = {"demo", "relate", "direct-effects", "transitions", "levels"}  # which the table does not suit
    assert {line.split()[0] for line in proposed} == {*COMMANDS} - others
    for line in proposed:
        code, _, err = run(capsys, *line.split())
        assert code == 0, err
    assert {"camps.json", "camps.bif", "states.csv", "scores.csv"} <= {path.name for path in Path().iterdir()}
    assert reported == [Path("camps.html")]


def test_a_file_is_not_written_over(capsys):
    Path("demo.csv").write_text("mine")
    message = refused(capsys, "demo")
    assert "FILE: 'demo.csv' exists already; give another name, or pass --overwrite to replace it" in message
    assert Path("demo.csv").read_text() == "mine"
    assert run(capsys, "demo", "--force")[0] == 0
    assert run(capsys, "demo", "other.csv")[0] == 0
    assert Path("demo.csv").read_bytes() == Path("other.csv").read_bytes()


# Help, progress and notes


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_fit(capsys, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"examples:\n  pgmpy-latent {command}" in out
    assert max(map(len, out.splitlines())) <= 85


def test_overview_names_all_commands_and_exit_codes(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run(capsys, "--help")
    assert re.findall(r"^    ([a-z-]+)(?: {2,}|$)", out, flags=re.MULTILINE) == list(COMMANDS)
    assert "exit codes: 0 fine, 1 failed at work, 2 bad usage or input, 130 Ctrl-C" in out
    assert max(map(len, out.splitlines())) <= 80


def test_bars_become_a_line_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 11.0, 12.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    stream = PlainLines(sys.stdout, 10.0)
    for text in (
        "\rEM: 10%|█   | 1/10 [00:01]",
        "\rEM: 20%|██  | 2/10 [00:02]",
        "\rEM: 40% 4/10",
        "\r      \r",
        "done\n",
    ):
        stream.write(text)
    assert capsys.readouterr().out == "EM: 10%, 1/10 [00:01]\nEM: 40% 4/10\ndone\n"


def test_warnings_for_users_become_notes(capsys):
    import warnings

    stderr = sys.stderr
    with progress_and_notes():
        for _ in range(2):
            warnings.warn("mind the gap", UserWarning, stacklevel=1)
        warnings.warn("for programmers", FutureWarning, stacklevel=1)
        note("by hand")
    assert sys.stderr is stderr
    assert capsys.readouterr().err == "note: mind the gap\nnote: by hand\n"


def test_values_of_options():
    assert (number(float, 0)("0.5"), positive("2"), jobs("-1"), jobs("3")) == (0.5, 2.0, -1, 3)
    assert listed('q1,"a,b"') == ["q1", "a,b"]
    assert listed("") == []
    assert sizes("2,4-5") == [2, 4, 5]
