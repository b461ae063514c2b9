"""The command line: what it learns and prints, and what bad input gets."""

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import LatentNetwork, LatentTree, fitted, load, log_likelihood, sample, scores
from pgmpy_latent.cli import learn, main
from pgmpy_latent.cli.text import WIDTH, PlainLines
from pgmpy_latent.em.fit import Problem
from pgmpy_latent.runtime.clock import clock_line
from pgmpy_latent.tables.files import read_table

QUICK = ["--starts", "2", "--max-classes", "3"]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def answers():
    """Return rows of two clear classes; integers in 'b', text elsewhere."""
    leaf = [[0.9, 0.1], [0.1, 0.9]]
    tree = LatentTree(
        ["class", "a", "b", "c", "d"],
        [[0, 1], ["no", "yes"], [1, 2], ["x", "y"], ["007", "8"]],
        [-1, 0, 0, 0, 0],
        [True, False, False, False, False],
        [[[0.6, 0.4]], leaf, leaf, leaf, leaf],
    )
    return sample(tree, 200, random_state=1)


@pytest.fixture
def answers_csv(answers):
    answers.to_csv("answers.csv", index=False)
    return "answers.csv"


def write(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


def run(capsys, *argv):
    """Return exit code, stdout and stderr of ``pgmpy-latent learn``."""
    try:
        code = main(["learn", *argv])
    except SystemExit as exit:
        code = exit.code
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys, *argv):
    """Return the message of a run that must fail with exit code 2, in one line, writing nothing."""
    before = sorted(Path().iterdir())
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err
    assert sorted(Path().iterdir()) == before
    return err


# What it learns


def test_demonstration(capsys):
    code, out, _ = run(capsys, *QUICK)
    assert code == 0
    assert "944 rows (933 different), 9 columns, no missing cells" in out
    assert max(map(len, out.splitlines()[:-1])) <= WIDTH
    assert "*       3" in out
    assert "Chosen: 3 classes, the states of the hidden variable 'H'" in out
    assert re.search(r"^vote +Dole 9\d% \(42%\)", out, flags=re.MULTILINE)
    tree = load("pgmpy-latent-model.json")
    assert tree.latent_names == ("H",)
    assert tree.cards[0] == 3


def test_summary_tells_the_model_that_was_written(capsys, answers, answers_csv):
    code, out, err = run(capsys, answers_csv, *QUICK, "--output", "model")
    tree = load("model.json")
    assert code == 0
    assert tree.cards.tolist() == [2, 2, 2, 2, 2]  # two classes are the truth
    assert f"log-likelihood {log_likelihood(tree, answers):.4f}" in out
    assert f"{scores.n_parameters(tree)} parameters, BIC {scores.bic(tree, answers):.4f}" in out
    assert "2 of 2 starts reached the best value" in out
    assert "Written: model.json" in out
    assert re.search(r"^Took \d+\.\d seconds", out, flags=re.MULTILINE)
    assert re.findall(r"^(\d class(?:es)?): BIC -\d+\.\d\d$", err, flags=re.MULTILINE) == [
        "1 class", "2 classes", "3 classes",
    ]  # fmt: skip


def test_the_last_three_lines_run(capsys, answers_csv):
    _, out, _ = run(capsys, answers_csv, "--classes", "2")
    snippet = out.splitlines()[-3:]
    exec("\n".join(snippet), {})
    assert "H(0)" in capsys.readouterr().out


def test_fixed_number_of_classes_seed_and_prior(capsys, answers_csv):
    run(capsys, answers_csv, "--classes", "3", "--starts", "2", "--seed", "7", "--prior", "0.5", "--output", "one")
    run(capsys, answers_csv, "--classes", "3", "--starts", "2", "--seed", "7", "--prior", "0.5", "--output", "two")
    one, two = load("one.json"), load("two.json")
    assert one == two
    assert one.cards[0] == 3
    assert min(table.min() for table in one.tables) > 0


def test_one_class(capsys, answers_csv):
    code, out, _ = run(capsys, answers_csv, "--classes", "1")
    assert code == 0
    assert "Chosen: 1 class, the states of the hidden variable 'H'" in out


def test_columns_keep_their_order_and_weights_count(capsys, answers):
    table = answers.assign(w=np.where(answers["a"] == "yes", 2.0, 0.5))
    table.to_csv("t.csv", index=False)
    code, out, _ = run(capsys, "t.csv", "--columns", "c,a,b", "--weights", "w", "--classes", "2", "--output", "m")
    tree = load("m.json")
    assert code == 0
    assert tree.names == ("H", "c", "a", "b")
    effective = table["w"].sum() ** 2 / (table["w"] ** 2).sum()
    assert f"sampling weights, effective number of rows {effective:.4g}; the weights are in column 'w'" in out
    assert f"log-likelihood {log_likelihood(tree, answers, sample_weight=table['w']):.4f}" in out


def test_dropped_columns_are_left_out(capsys, answers_csv):
    run(capsys, answers_csv, "--drop", "a,d", "--classes", "2")
    assert load("pgmpy-latent-model.json").names == ("H", "b", "c")


def test_a_column_called_h(capsys, answers):
    answers.rename(columns={"a": "H", "b": "H_1"}).to_csv("t.csv", index=False)
    code, out, _ = run(capsys, "t.csv", "--classes", "2")
    assert code == 0
    assert "the hidden variable 'H_2'" in out


def test_missing_cells_are_counted_and_kept(capsys, answers):
    table = answers.astype(object)
    table.iloc[0, 0], table.iloc[1, 0], table.iloc[2, 1], table.iloc[3, 2] = None, "NA", None, "?"
    table.to_csv("t.csv", index=False)
    _, out, _ = run(capsys, "t.csv", "--classes", "2")
    assert "200 rows" in out
    assert "3 missing cells" in out
    assert "note: categories that may mean missing: '?' in column 'c'; if they do, pass --missing 'c=?'" in " ".join(
        out.split()
    )
    _, out, _ = run(capsys, "t.csv", "--classes", "2", "--missing", "NA,?", "--output", "m")
    assert "4 missing cells" in out
    assert "note:" not in out
    tree = load("m.json")
    assert tree.state_names[2] == (1, 2)


def test_many_classes_are_laid_out_in_blocks(capsys, answers_csv):
    code, out, _ = run(capsys, answers_csv, "--classes", "7", "--starts", "1")
    assert code == 0
    assert max(map(len, out.splitlines()[:-1])) <= WIDTH
    assert all(f"H = {state}" in out for state in range(7))


def test_long_names_and_many_columns_fit(capsys, answers):
    long = {"a": "q" * 300, "c": "c" * 40}
    wide = pd.concat([answers.rename(columns=long), *(answers[["b"]].add_suffix(str(i)) for i in range(40))], axis=1)
    wide["c" * 40] = wide["c" * 40].map({"x": "x" * 200, "y": "y" * 200})
    wide.to_csv("t.csv", index=False)
    code, out, _ = run(capsys, "t.csv", "--classes", "2", "--starts", "1")
    assert code == 0
    assert max(map(len, out.splitlines()[:-1])) <= WIDTH
    assert "... and 14 columns that tell the classes apart less well" in out


def test_superfluous_classes_are_reported(capsys):
    write("t.csv", "a,b\n" + "x,y\n" * 20 + "u,v\n" * 20)
    _, out, _ = run(capsys, "t.csv", "--classes", "4")
    assert "fewer classes would fit as well" in out


def test_a_column_of_many_categories_is_remarked(capsys, answers):
    answers.assign(e=[row // 5 for row in range(200)]).to_csv("t.csv", index=False)
    _, out, _ = run(capsys, "t.csv", "--classes", "2", "--starts", "1")
    assert "note: column 'e' has 40 different numbers; if it is a measurement, bin it" in out


def test_measurements_are_refused_unless_they_are_meant(capsys, answers):
    answers.assign(e=[row // 2 / 10 for row in range(200)]).to_csv("t.csv", index=False)  # text for the reader
    message = refused(capsys, "t.csv")
    assert (
        "column 'e' holds 100 different numbers in 200 rows, as measurements do; leave it out with --drop e" in message
    )
    assert message.rstrip().endswith("if you mean it; --kinds auto takes numbers as they are, without bins")
    code, out, _ = run(capsys, "t.csv", "--classes", "2", "--starts", "1", "--allow-many-states", "e")
    assert code == 0
    assert "note: column 'e' has 100 different numbers; if it is a measurement, bin it" in out
    assert "--allow-many-states: there is no column 'z'" in refused(capsys, "t.csv", "--allow-many-states", "z")


def test_a_model_that_is_not_identified_says_so(capsys, answers_csv):
    _, out, _ = run(capsys, answers_csv, "--classes", "2", "--columns", "a,b", "--output", "m")
    assert "not identified: the 5 parameters fill only 3 dimensions" in " ".join(out.split())
    _, out, _ = run(capsys, answers_csv, "--classes", "2", "--output", "m")
    assert "not identified" not in out


def test_bif_on_request(capsys, answers_csv):
    _, out, _ = run(capsys, answers_csv, "--classes", "2", "--output", "m")
    assert "BIF" not in out
    assert not Path("m.bif").exists()
    _, out, _ = run(capsys, answers_csv, "--classes", "2", "--output", "m", "--bif", "--overwrite")
    assert "Written: m.bif" in out
    assert "Written: m.bif.names.json" in out
    assert Path("m.bif").read_text().startswith("network")


def test_output_may_end_in_json_and_hold_dots(capsys, answers_csv):
    run(capsys, answers_csv, "--classes", "2", "--output", "v1.2.json", "--bif")
    assert sorted(path.name for path in Path().iterdir()) == [
        "answers.csv", "v1.2.bif", "v1.2.bif.names.json", "v1.2.json",
    ]  # fmt: skip


# How files are read


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "20", "-3"], [1, 20, -3]),
        (["1", "", "NA"], [1, None, None]),
        (["007", "8"], ["007", "8"]),
        (["1.0", "2"], [1, 2]),
        (["1.0", "2.5"], ["1.0", "2.5"]),
        (["1.0", "x"], ["1.0", "x"]),
        (["+1", "2"], ["+1", "2"]),
        (["-0", "2"], ["-0", "2"]),
        (["1e3", "2"], ["1e3", "2"]),
        (["1_0", "2"], ["1_0", "2"]),
        (["\u0661", "2"], ["\u0661", "2"]),
        (["9" * 30, "2"], ["9" * 30, "2"]),
        (["True", "no"], ["True", "no"]),
        ([" a", "a "], [" a", "a "]),
        (["null", "nan", "None"], ["null", "nan", "None"]),
        (["2020-01-01", "1/2"], ["2020-01-01", "1/2"]),
        (['"a,b"', '"c\nd"', '"e""f"'], ["a,b", "c\nd", 'e"f']),
        (["Zürich", "日本"], ["Zürich", "日本"]),
    ],
)
def test_nothing_is_guessed(cells, values):
    path = write("t.csv", "".join(f"{cell},z\n" for cell in ["name", *cells]))
    column = read_table(path, missing=["NA", "NaN"]).frame["name"]
    read = [None if pd.isna(value) else value for value in column.tolist()]
    assert read == values
    assert [type(value) for value in read if value is not None] == [type(v) for v in values if v is not None]


def test_endings_and_separators(answers):
    answers.to_csv("t.csv.gz", index=False)
    answers.to_csv("t.tsv", index=False, sep="\t")
    answers.to_csv("t.TSV.GZ", index=False, sep="\t", compression="gzip")
    answers.to_csv("t.txt", index=False, sep=";")
    frames = [read_table(path).frame for path in ("t.csv.gz", "t.tsv", "t.TSV.GZ")]
    frames.append(read_table("t.txt", ";").frame)
    for frame in frames:
        assert frame.astype(object).to_numpy().tolist() == answers.astype(object).to_numpy().tolist()


def test_byte_order_mark_windows_lines_and_empty_lines():
    Path("t.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n1,x\r\n\r\n2,y\r\n\r\n")
    assert read_table("t.csv").frame.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


# What bad input gets


def test_no_such_file(capsys):
    assert "nowhere.csv: No such file or directory" in refused(capsys, "nowhere.csv")


def test_a_folder_in_place_of_a_file(capsys):
    Path("t.csv").mkdir()
    assert "t.csv: Is a directory" in refused(capsys, "t.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv: is empty; the first line should name the columns"),
        (b"\n\n", "t.csv: is empty"),
        (b"a,b\n", "t.csv: has a line of column names but no rows"),
        (b"PK\x03\x04\x00\x00\x00", "t.csv: is a binary file, not text; export the table as CSV in UTF-8"),
        (b"a,b\n\x81,1\n", "t.csv: not text in UTF-8 (invalid start byte at byte 4), nor in Windows-1252; save it as"),
        (b"a,b\n1,2\n1,2,3\n", "t.csv: line 3 has 3 cells, the line of column names has 2"),
        (b"a,b\n1\n", "t.csv: line 2 has 1 cells, the line of column names has 2"),
        (b"a,b,a\n1,2,3\n", "t.csv: two columns are called 'a'; give every column a name of its own"),
        (b"a,,c\n1,2,3\n", "t.csv: column 2 has no name; name every column"),
        (b"a;b\n1\n", "t.csv: one column, called 'a;b'; separated by semicolons? Say --separator"),
        (b'a,b\n"x"y,1\n', "t.csv: line 2 cannot be read"),
        (b'a,b\n"x,1\n', "t.csv: line 2 cannot be read (unexpected end of data); mind the quotes"),
        (b"a,b\nx,\ny,NA\n", "column 'b' is all missing"),
    ],
)
def test_files_that_are_no_tables(capsys, content, message):
    Path("t.csv").write_bytes(content)
    assert message in refused(capsys, "t.csv")


def test_files_that_cannot_be_unpacked(capsys):
    Path("t.csv.gz").write_text("a,b\n1,2\n")
    assert "t.csv.gz: cannot be unpacked" in refused(capsys, "t.csv.gz")
    Path("t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + os.urandom(9000).hex().encode())[:-2000])
    assert "t.csv.gz: cannot be unpacked" in refused(capsys, "t.csv.gz")


def test_unknown_ending(capsys):
    write("t.ods", "a,b\n")
    assert "t.ods: the ending is none of .csv, .txt, .tsv, .tab (also with .gz), .parquet, .pq, .xlsx" in refused(
        capsys, "t.ods"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "a,bb"], "--columns: there is no column 'bb'; did you mean 'b'?"),
        (["--columns", "a,zzz"], "--columns: there is no column 'zzz'; there are a, b, c, d"),
        (["--columns", "a,a"], "--columns names a column twice; name each once"),
        (["--drop", "Q"], "--drop: there is no column 'Q'"),
        (["--drop", "a,b,c,d"], "no column is left; drop fewer"),
        (["--weights", "w"], "--weights: there is no column 'w'"),
        (["--weights", "a"], "--weights: in row 1 of the table, 'a' is 'no', not a finite number of at least 0"),
        (["--weights", "b", "--columns", "a,b"], "column 'b' is among --columns and also --weights"),
        (["--columns", "a", "--drop", "b"], "argument --drop: not allowed with argument --columns"),
        (["--classes", "0"], "argument --classes: '0' is not a whole number of at least 1"),
        (["--classes", "two"], "argument --classes: 'two' is not a whole number of at least 1"),
        (["--classes", "2", "--max-classes", "3"], "argument --max-classes: not allowed with argument --classes"),
        (["--max-classes", "-1"], "argument --max-classes: '-1' is not a whole number of at least 1"),
        (["--starts", "1.5"], "argument --starts: '1.5' is not a whole number of at least 1"),
        (["--prior", "-1"], "argument --prior: '-1' is not a number of at least 0"),
        (["--prior", "nan"], "argument --prior: 'nan' is not a number of at least 0"),
        (["--score", "heldout"], "--score does not apply to --method classes; leave it out, or use split-merge"),
        (["--score", "heldout", "--method", "random-starts"], "--score is 'heldout'; give 'bic', 'aic', 'cs'"),
        (["--score", "best"], "argument --score: invalid choice: 'best'"),
        (["--separator", "ab"], "--separator is 'ab'; give one character"),
        (["--output", "nowhere/m"], "nowhere' does not exist; create it first"),
        (["--output", ""], "--output is ''; give the beginning of a file name"),
        (["--output", "./"], "--output is './'; give the beginning of a file name"),
        (["--output", "answers.csv/m"], "answers.csv' does not exist; create it first"),
        (["--frobnicate"], "pgmpy-latent learn has no --frobnicate; pgmpy-latent learn --help lists its options"),
    ],
)
def test_options_that_cannot_be_meant(capsys, answers_csv, options, message):
    assert message in refused(capsys, answers_csv, *options)


def test_the_query_of_a_network_knows_a_column():
    tables = [[[0.5, 0.5]], [[0.5, 0.5]], [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.2, 0.8]]]
    network = LatentNetwork(["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [(), (), (0, 1)], [1, 0, 0], tables)
    assert "query(['H'], evidence={'y': 'c'})" in "\n".join(learn._snippet(network, Path("m.json")))


def test_a_model_for_prediction(capsys, answers_csv):
    code, out, _ = run(capsys, answers_csv, "--method", "split-merge", "--score", "heldout", "--report", "m.html")
    assert code == 0
    assert "BIC" in out
    score = fitted("pgmpy-latent-model.json").score_
    assert f"score {score:,.2f} (what the search maximised)" in " ".join(out.split())
    assert "log-likelihood of held-out rows" in Path("m.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["1", ""], "--weights: in row 2 of the table, 'w' is missing"),
        (["1", "-2"], "--weights: in row 2 of the table, 'w' is '-2', not a finite number"),
        (["1", "inf"], "--weights: in row 2 of the table, 'w' is 'inf', not a finite number"),
        (["0", "0"], "--weights: all weights in 'w' are zero"),
    ],
)
def test_weights_that_are_none(capsys, weights, message):
    write("t.csv", "a,w\n" + "".join(f"x,{weight}\n" for weight in weights))
    assert message in refused(capsys, "t.csv", "--weights", "w")


def test_identifiers_are_refused(capsys, answers):
    answers.assign(id=range(len(answers))).to_csv("t.csv", index=False)
    message = refused(capsys, "t.csv")
    assert "column 'id' has a category of its own in every row" in message
    assert "leave it out with --drop id, bin it, or pass --allow-many-states id if you mean it" in message
    assert run(capsys, "t.csv", "--drop", "id", "--classes", "2", "--starts", "1")[0] == 0


def test_output_that_is_a_folder(capsys, answers_csv):
    Path("m.json").mkdir()
    assert "--output: cannot write 'm.json': it is a folder; give the name of a file" in refused(
        capsys, answers_csv, "--output", "m"
    )


def test_output_that_cannot_be_written(capsys, answers_csv, monkeypatch):
    def no_space(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", no_space)
    message = refused(capsys, answers_csv)
    assert "--output: cannot write 'pgmpy-latent-model.bif': nothing can be written into" in message
    assert "(Permission denied)" in message


# The program


def program(*argv, **options):
    return subprocess.run(
        [sys.executable, "-m", "pgmpy_latent.cli", *argv], capture_output=True, text=True, timeout=120, **options
    )


def test_version_help_and_no_command():
    assert re.fullmatch(r"pgmpy-latent \d+\.\d+\.\d+\n", program("--version").stdout)
    done = program("learn", "--help")
    assert done.returncode == 0
    assert "pgmpy-latent learn answers.csv --drop id --classes 3" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 105
    done = program()
    assert done.returncode == 2
    assert "the following arguments are required: COMMAND" in done.stderr


def test_what_takes_a_while_has_a_line_that_moves(monkeypatch):
    for stream, shown in ((io.StringIO(), r"(\rwork: \d s)+\rwork: took \d s\n"), (PlainLines(io.StringIO()), None)):
        monkeypatch.setattr("sys.stderr", stream)
        with clock_line("work", patience=0.02):
            time.sleep(0.1)
        if shown:
            assert re.fullmatch(shown, stream.getvalue())
        else:
            assert re.fullmatch(r"(work: \d s\n)work: took \d s\n", stream.getvalue())
        before = stream.getvalue()
        with clock_line("quick", patience=5.0):
            pass
        assert stream.getvalue() == before


def test_compiling_is_said_and_what_is_compiled(capsys, answers_csv, monkeypatch):
    monkeypatch.setattr("pgmpy_latent.cli.text.clock_line", lambda words: nullcontext(print(words, file=sys.stderr)))
    _, _, err = run(capsys, answers_csv, "--classes", "1")
    assert "compiling, in the first run only" in err
    pd.read_csv(answers_csv).assign(age=np.arange(200) / 7).to_csv("ages.csv", index=False)
    _, _, err = run(capsys, "ages.csv", "--classes", "1", "--kinds", "age=gaussian", "--overwrite")
    assert "compiling what numeric columns need, in the first run with such columns only" in err


def test_bad_input_ends_with_two_and_no_traceback():
    done = program("learn", "nowhere.csv", stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pgmpy-latent: nowhere.csv: No such file or directory\n"


def test_a_terminal_that_lacks_letters(answers):
    answers.rename(columns={"a": "日本"}).to_csv("t.csv", index=False)
    done = program("learn", "t.csv", "--classes", "2", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "??" in done.stdout


def test_interruption_inside_em(capsys, answers_csv, monkeypatch):
    """EM itself returns the best model so far after Ctrl-C; the command shall not go on with it."""
    calls = []

    def step(*args):
        calls.append(args)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(*args)

    original = Problem.step
    monkeypatch.setattr(Problem, "step", step)
    code, _, err = run(capsys, answers_csv)
    assert len(calls) >= 5
    assert code == 130
    assert "interrupted; nothing was written" in err
    assert not Path("pgmpy-latent-model.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_interruption():
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.integers(0, 4, (3000, 20))).to_csv("t.csv", index=False)
    argv = [sys.executable, "-m", "pgmpy_latent.cli", "learn", "t.csv", "--classes", "40", "--starts", "100"]
    running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    guard = threading.Timer(100, running.kill)
    guard.start()
    try:
        assert running.stdout.readline() == "t.csv\n"  # it has begun
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    finally:
        guard.cancel()
    assert running.returncode == 130
    assert "interrupted; nothing was written" in err
    assert "Traceback" not in err
    assert sorted(path.name for path in Path().iterdir()) == ["t.csv"]
