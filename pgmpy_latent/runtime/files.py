"""Files that are written whole or not at all, and paths that are checked before long work."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

#: How the names of files end that are not written to their ends yet.
ENDING = ".tmp"
#: Bytes of a name that leave room for what is added to it, where a system allows 143 or more; what is kept of others.
SHORT_NAME, BEGINNING = 100, 60
#: What may stand where a file is expected. Opening some of these waits for somebody at the other end.
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def kind_of(path: str | os.PathLike) -> str | None:
    """Say what stands at a path in place of a file, without opening it; None if it is a file, or nothing.

    Raises
    ------
    ValueError
        If the path holds a NUL character, which no path can.
    OSError
        If the system refuses to look, as for names that are too long.

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
    """Return the path of a file that is to be read; raise if something else stands there, which may never answer.

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
    found = kind_of(path)
    if found is not None:
        error = IsADirectoryError if found == "a folder" else OSError
        raise error(f"{os.fspath(path)}: is {found}; {remedy}")
    if not Path(path).exists():
        raise FileNotFoundError(f"{os.fspath(path)}: no such file; {remedy}")
    return Path(path)


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
    refusal = f"{what}{': ' * bool(what)}cannot write {os.fspath(path)!r}"
    try:
        found = kind_of(path)
    except OSError as error:
        raise type(error)(f"{refusal}: {error.strerror}; give another name") from None
    if found is not None:
        kind = IsADirectoryError if found == "a folder" else OSError
        raise kind(f"{refusal}: it is {found}; give the name of a file")
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
    """Write beside the target, then put it in its place: readers see the old file or the new one.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", b"all of it")
    ...     os.listdir(folder)
    ['note.txt']
    """
    found = kind_of(path)
    if found is not None:  # it would be replaced, whatever it is
        raise OSError(f"cannot write {os.fspath(path)!r}: it is {found}; give the name of a file")
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
        if re.fullmatch(re.escape(f".{_stem(target.name)}.") + "[0-9a-f]{32}" + re.escape(ENDING), found.name):
            with suppress(OSError):  # rubbish, which harms nobody
                found.unlink()


def name_beside(name: str, ending: str) -> str:
    """Return the name of a file that belongs to another one: as long as systems allow, however long that name is.

    Examples
    --------
    >>> name_beside("search.json", ".start"), len(name_beside("x" * 255, ".start"))
    ('search.json.start', 83)
    """
    return f"{_stem(name)}{ending}"


def _stem(name: str) -> str:
    """Return a name, or its beginning and what tells it from others if there is no room for anything beside it."""
    content = os.fsencode(name)
    if len(content) <= SHORT_NAME:
        return name
    beginning = content[:BEGINNING].decode(errors="ignore")
    return f"{beginning}~{hashlib.sha256(content).hexdigest()[:16]}"


def _target(path: str | os.PathLike) -> Path:
    """Return where a path leads: through a link, rather than in place of it."""
    return Path(os.path.realpath(path))
