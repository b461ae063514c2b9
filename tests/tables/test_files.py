"""A new format of table files is one record: commands, help, and tables that are read in parts know it."""

import pandas as pd
import pytest

from pgmpy_latent.cli import main
from pgmpy_latent.tables import files
from pgmpy_latent.tables.chunks import encode_chunks
from pgmpy_latent.tables.files import TableFormat, read_table

FRAME = pd.DataFrame({"x": ["a", "b", "b"], "y": ["c", "c", "d"]})


@pytest.fixture
def arrow(monkeypatch, tmp_path):
    """Make Arrow files known, and write one."""
    feather = pytest.importorskip("pyarrow.feather")
    known = TableFormat((".arrow",), lambda path, texts: feather.read_feather(path), in_parts="feather")
    monkeypatch.setitem(files.BY_ENDING, ".arrow", known)
    feather.write_feather(FRAME, tmp_path / "rows.arrow")
    return str(tmp_path / "rows.arrow")


def test_the_command_line_reads_it(arrow):
    pd.testing.assert_frame_equal(read_table(arrow).frame, FRAME)


@pytest.mark.parametrize("command", ["learn", "compare", "score", "predict"])
def test_the_help_of_commands_names_it(arrow, capsys, command):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert ".csv, .txt, .tsv, .tab (also with .gz), .parquet, .pq, .xlsx, .xlsm, .sav, .zsav, .por, .dta" in words
    assert ", .arrow" in words


def test_large_tables_in_it_are_read_in_parts(arrow):
    data = encode_chunks(arrow)
    assert data.columns == ("x", "y")
    assert data.n_rows == 3
    assert data.state_names == (("a", "b"), ("c", "d"))
