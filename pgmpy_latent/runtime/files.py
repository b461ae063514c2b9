"""Files that are written completely or not at all, and checks of paths before long work."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

#: Suffix of files that are not complete yet.
ENDING = ".tmp"
#: Longest name, in bytes, to which suffixes are added as it is, since systems allow 143 or more; how much of a longer
#: name remains.
SHORT_NAME, BEGINNING = 100, 60
#: What a path may lead to instead of a file. Opening some of these blocks until another process answers.
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def kind_of(path: str | os.PathLike) -> str | None:
    """Return what a path leads to if it is not a file, without opening it; None for a file, or if nothing is there.

    Raises
    ------
    ValueError
        If the path holds a NUL character, which no path can.
    OSError
        If the system refuses the path, as for names that are too long.

    Examples
    --------
    >>> kind_of("."), kind_of("no such file"), kind_of(os.devnull)
    ('a folder', None, 'a device')
    """
    if "\0" in os.fsdecode(path):
        raise ValueError(f"the path {os.fsdecode(path)!r} holds a NUL character; give the name of a file")
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if stat.S_ISREG(mode) else KINDS.get(stat.S_IFMT(mode), "no file")


def check_readable(path: str | os.PathLike, remedy: str = "give the name of a file") -> Path:
    """Return the path of a file to read; raise if it is anything else, since reading that may block.

    Parameters
    ----------
    path : path-like
    remedy : str
        What to do instead.

    Raises
    ------
    FileNotFoundError, IsADirectoryError or another OSError
        Naming the path, and the remedy.

    Examples
    --------
    >>> check_readable(os.devnull)
    Traceback (most recent call last):
    OSError: ...: is a device; give the name of a file
    """
    kind = kind_of(path)
    if kind is not None:
        error = IsADirectoryError if kind == "a folder" else OSError
        raise error(f"{os.fspath(path)}: is {kind}; {remedy}")
    if not Path(path).exists():
        raise FileNotFoundError(f"{os.fspath(path)}: no such file; {remedy}")
    return Path(path)


def check_writable(path: str | os.PathLike, what: str = "") -> Path:
    """Return the path of a file to write; raise if it cannot be written.

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
    refusal = f"{what}{': ' * bool(what)}cannot write {os.fspath(path)!r}"
    try:
        kind = kind_of(path)
    except OSError as error:
        raise type(error)(f"{refusal}: {error.strerror}; give another name") from None
    if kind is not None:
        error_type = IsADirectoryError if kind == "a folder" else OSError
        raise error_type(f"{refusal}: it is {kind}; give the name of a file")
    target = _target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{refusal}: the folder {str(target.parent)!r} does not exist; create it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise type(error)(f"{refusal}: nothing can be written into {str(target.parent)!r} ({error.strerror})") from None
    return Path(path)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a temporary file, then rename it: readers see the old file or the new one, never a part.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", b"all of it")
    ...     os.listdir(folder)
    ['note.txt']
    """
    kind = kind_of(path)
    if kind is not None:  # renaming would replace it
        raise OSError(f"cannot write {os.fspath(path)!r}: it is {kind}; give the name of a file")
    target = _target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(target.parent)!r} does not exist; create it first")
    beside = target.with_name(f".{_stem(target.name)}.{uuid.uuid4().hex}{ENDING}")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def remove_unfinished(path: str | os.PathLike) -> None:
    """Remove the temporary files that a killed process left for a file.

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
    for file in target.parent.iterdir():
        if re.fullmatch(re.escape(f".{_stem(target.name)}.") + "[0-9a-f]{32}" + re.escape(ENDING), file.name):
            with suppress(OSError):  # it does no harm
                file.unlink()


def name_beside(name: str, ending: str) -> str:
    """Return a file name with a suffix; long names are shortened, so that systems allow the result.

    Examples
    --------
    >>> name_beside("search.json", ".start"), len(name_beside("x" * 255, ".start"))
    ('search.json.start', 83)
    """
    return f"{_stem(name)}{ending}"


def _stem(name: str) -> str:
    """Return a name, or its beginning with a digest if it is too long for suffixes."""
    content = os.fsencode(name)
    if len(content) <= SHORT_NAME:
        return name
    beginning = content[:BEGINNING].decode(errors="ignore")
    return f"{beginning}~{hashlib.sha256(content).hexdigest()[:16]}"


def _target(path: str | os.PathLike) -> Path:
    """Return the file that a path leads to, following links."""
    return Path(os.path.realpath(path))
