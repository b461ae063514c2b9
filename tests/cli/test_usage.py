"""Usage errors name the command, and notes speak of what the command line has."""

import gc

import pandas as pd
import pytest

from pgmpy_latent import LatentTree, save
from pgmpy_latent.cli import COLLECTION_THRESHOLD, main, rare_collections


def test_an_unknown_option_is_an_error_of_its_command(capsys):
    with pytest.raises(SystemExit) as exit:
        main(["learn", "--clases", "3"])
    assert exit.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("usage: pgmpy-latent learn ")
    assert "pgmpy-latent learn has no --clases; pgmpy-latent learn --help lists its options" in err


def test_the_note_about_an_unseen_category_does_not_speak_of_impute(capsys, tmp_path):
    tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    save(tree, tmp_path / "m.json")
    pd.DataFrame({"x": ["a", "b", "new"]}).to_csv(tmp_path / "t.csv", index=False)
    assert main(["score", str(tmp_path / "m.json"), str(tmp_path / "t.csv")]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "It is treated as missing." in err
    assert "impute" not in err


def test_garbage_is_looked_for_as_before_when_a_command_has_ended(tmp_path):
    before = gc.get_threshold()
    main(["demo", str(tmp_path / "demo.csv")])
    assert gc.get_threshold() == before
    with rare_collections():
        assert gc.get_threshold() == (COLLECTION_THRESHOLD, *before[1:])
