"""Files that are written whole or not at all, and paths that are checked before long work."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

#: How the names of files end that are not written to their ends yet.
ENDING = ".tmp"


def check_writable(path: str | os.PathLike, what: str = "") -> Path:
    """Return the path of a file that is to be written; raise if nothing can be written there.

    Parameters
    ----------
    path : path-like
    what : str
        What the file is, for the messages.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError or another OSError
        Naming the path, and what would be right.

    Examples
    --------
    >>> check_writable("no/such/folder/report.html")
    Traceback (most recent call last):
    FileNotFoundError: cannot write 'no/such/folder/report.html': the folder ... does not exist; create it first
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path is {path!r}; give the name of a file, as 'report.html'")
    if not os.fspath(path):
        raise ValueError("path is empty; give the name of a file, as 'report.html'")
    target = _target(path)
    refusal = f"{what}{': ' * bool(what)}cannot write {os.fspath(path)!r}"
    if target.is_dir():
        raise IsADirectoryError(f"{refusal}: it is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{refusal}: the folder {str(target.parent)!r} does not exist; create it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise type(error)(f"{refusal}: nothing can be written into {str(target.parent)!r} ({error.strerror})") from None
    return Path(path)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write beside the target, then put it in its place: readers see the old file or the new one.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", b"all of it")
    ...     os.listdir(folder)
    ['note.txt']
    """
    target = _target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(target.parent)!r} does not exist; create it first")
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}{ENDING}")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def remove_unfinished(path: str | os.PathLike) -> None:
    """Remove what a process that was killed had begun to write for a file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(f"{folder}/.note.txt.{'0a' * 16}.tmp").touch()
    ...     Path(f"{folder}/.note.txt.gz.{'0a' * 16}.tmp").touch()
    ...     remove_unfinished(f"{folder}/note.txt")
    ...     len(os.listdir(folder))
    1
    """
    target = _target(path)
    for found in target.parent.iterdir():
        if re.fullmatch(re.escape(f".{target.name}.") + "[0-9a-f]{32}" + re.escape(ENDING), found.name):
            with suppress(OSError):  # rubbish, which harms nobody
                found.unlink()


def _target(path: str | os.PathLike) -> Path:
    """Return where a path leads: through a link, rather than in place of it."""
    return Path(os.path.realpath(path))
