"""Files are written whole, and paths are checked before long work."""

import os
import stat
import tempfile

import pandas as pd
import pytest

from pgmpy_latent import Baseline, load, save
from pgmpy_latent.cli import main
from pgmpy_latent.runtime.files import check_writable, write_whole
from tests.support.samples import small_tree


def test_a_path_that_can_be_written_is_left_alone(tmp_path, monkeypatch):
    assert check_writable(tmp_path / "report.html") == tmp_path / "report.html"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.html").write_text("old")
    check_writable(str(tmp_path / "old.html"))
    assert (tmp_path / "old.html").read_text() == "old"
    monkeypatch.chdir(tmp_path)
    check_writable("here.html")


def test_paths_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"cannot write '.*x.html': the folder '.*nowhere' does not exist"):
        check_writable(tmp_path / "nowhere" / "x.html")
    with pytest.raises(IsADirectoryError, match="it is a folder; give the name of a file"):
        check_writable(tmp_path)
    with pytest.raises(ValueError, match=r"path is empty; give the name of a file, as 'report.html'"):
        check_writable("")
    with pytest.raises(TypeError, match="path is 3; give the name of a file"):
        check_writable(3)

    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(PermissionError, match=r"nothing can be written into '.*' \(Permission denied\)"):
        check_writable(tmp_path / "x.html")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    target, link = tmp_path / "report.html", tmp_path / "latest.html"
    link.symlink_to(target)
    write_whole(link, b"first")
    write_whole(link, b"second")
    assert target.read_bytes() == b"second"
    assert link.is_symlink()

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        write_whole(target, b"third")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest.html", "report.html"]
    assert target.read_bytes() == b"second"


# pipes, devices and folders; names that are long, or none


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_pipes_and_devices_are_told_without_being_opened(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match=rf"cannot write '.*{name}': it is a pipe; give the name of a file"):
            save(small_tree(), tmp_path / name)
        with pytest.raises(OSError, match=f"{name}: is a pipe; give a file that save wrote"):
            load(tmp_path / name)
        assert main(["learn", str(tmp_path / name)]) == 2
        assert f"{name}: is a pipe; give the name of a file" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(OSError, match="cannot write '/dev/null': it is a device"):
        save(small_tree(), os.devnull)
    with pytest.raises(ValueError, match=r"the path 'a\\x00b' holds a NUL character; give the name of a file"):
        save(small_tree(), "a\0b")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "n" * 250 + ".json", "n" * 101, "n" * 100])
def test_names_as_long_as_systems_allow_are_written(tmp_path, name):
    tree = small_tree()
    save(tree, tmp_path / name)
    assert load(tmp_path / name) == tree
    assert os.listdir(tmp_path) == [name]


def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path, capsys):
    path = str(tmp_path / ("n" * 256))
    (tmp_path / "rows.csv").write_text("x,y\n0,1\n1,0\n")
    assert main(["learn", str(tmp_path / "rows.csv"), "--report", path]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert f"report: cannot write {path!r}: File name too long; give another name" in " ".join(said.split())
    learner = Baseline("independence").fit(pd.DataFrame({"x": [0, 1]}))
    with pytest.raises(OSError, match=r"cannot write '.*n': File name too long; give another name"):
        learner.report(path)


def test_what_was_begun_for_a_long_name_is_removed_and_nothing_else(tmp_path, monkeypatch):
    """A search looks for what was begun for its file, and takes it away."""
    mine, other = "n" * 240 + "1", "n" * 240 + "2"

    def full(descriptor):
        raise KeyboardInterrupt

    for name in (mine, other):
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            patched.setattr("pathlib.Path.unlink", lambda *given, **options: None)  # as if killed
            with pytest.raises(KeyboardInterrupt):
                save(small_tree(), tmp_path / name)
    begun = set(os.listdir(tmp_path))
    assert len(begun) == 2
    table = pd.DataFrame({"x": [0, 1] * 5, "y": [0, 1] * 5})
    for n_left, name in ((1, mine), (0, other)):
        Baseline("latent_class", random_state=0, show_progress=False, checkpoint=tmp_path / name).fit(table)
        assert (tmp_path / name).exists()
        assert len(begun & set(os.listdir(tmp_path))) == n_left
    assert sorted(os.listdir(tmp_path)) == [mine, other]
