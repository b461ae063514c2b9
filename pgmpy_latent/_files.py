"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write beside the target, then put it in its place: readers see the old file or the new one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/a.txt", b"words")
    ...     os.listdir(folder), Path(folder, "a.txt").read_bytes()
    (['a.txt'], b'words')
    """
    target = Path(os.path.realpath(path))  # through a link, rather than in place of it
    _check_folder(target)
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike, what: str) -> None:
    """Raise, before any work, if a file could not be written in the end.

    Parameters
    ----------
    path : path-like
    what : str
        What the file is, for the message.

    Examples
    --------
    >>> check_writable("no such folder/report.html", "report")
    Traceback (most recent call last):
    ...
    FileNotFoundError: report: the folder '...no such folder' does not exist; create it first
    """
    target = Path(os.path.realpath(path))
    _check_folder(target, f"{what}: ")
    if target.is_dir():
        raise IsADirectoryError(f"{what}: {str(path)!r} is a folder; name a file in it")
    probe = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        probe.touch(exist_ok=False)
    except OSError as error:
        reason = error.strerror or error
        raise type(error)(f"{what}: {str(path)!r} cannot be written ({reason}); name another file") from None
    finally:
        probe.unlink(missing_ok=True)


def _check_folder(target: Path, what: str = "") -> None:
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{what}the folder {str(target.parent)!r} does not exist; create it first")
