"""Files are written whole, and paths are checked before long work."""

import os
import tempfile

import pytest

from pgmpy_latent._files import check_writable, write_whole


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
