"""Files are written whole, and paths are checked before long work."""

import os
import stat
import tempfile

import pytest

from pgmpy_latent import load, save
from pgmpy_latent._files import check_readable, check_writable, kind_of, remove_unfinished, write_whole
from tests.samples import small_tree


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
def test_pipes_and_devices_are_told_without_being_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    assert [kind_of(tmp_path / name) for name in ("pipe", "link", "nothing")] == ["a pipe", "a pipe", None]
    with pytest.raises(OSError, match=r"cannot write '.*link': it is a pipe; give the name of a file"):
        check_writable(tmp_path / "link")
    with pytest.raises(OSError, match="cannot write '/dev/null': it is a device"):
        write_whole(os.devnull, b"something")
    with pytest.raises(OSError, match="pipe: is a pipe; give the name of a file"):
        check_readable(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"the path 'a\\x00b' holds a NUL character; give the name of a file"):
        check_writable("a\0b")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "n" * 250 + ".json", "n" * 101, "n" * 100])
def test_names_as_long_as_systems_allow_are_written(tmp_path, name):
    tree = small_tree()
    save(tree, tmp_path / name)
    assert load(tmp_path / name) == tree
    assert os.listdir(tmp_path) == [name]


def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path):
    with pytest.raises(OSError, match=r"report: cannot write '.*n': File name too long; give another name"):
        check_writable(tmp_path / ("n" * 256), "report")


def test_what_was_begun_for_a_long_name_is_removed_and_nothing_else(tmp_path, monkeypatch):
    mine, other = "n" * 240 + "1", "n" * 240 + "2"

    def full(descriptor):
        raise KeyboardInterrupt

    for name in (mine, other):
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            patched.setattr("pathlib.Path.unlink", lambda *given, **options: None)  # as if killed
            with pytest.raises(KeyboardInterrupt):
                write_whole(tmp_path / name, b"half")
    assert len(os.listdir(tmp_path)) == 2
    remove_unfinished(tmp_path / mine)
    assert len(os.listdir(tmp_path)) == 1
    remove_unfinished(tmp_path / other)
    assert os.listdir(tmp_path) == []
