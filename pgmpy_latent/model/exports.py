"""Files of models: our JSON, which keeps everything, and the formats of other programs.

A new format is a :class:`ModelFormat` in :data:`MODEL_FORMATS`: a function that returns its text, and what names and
states may look like in it (:mod:`pgmpy_latent.model.spelling`). Endings, help, messages and :func:`check_export`
follow. What such a file cannot say, a file of names beside it keeps, and :func:`read_model` puts it back.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pgmpy_latent.exceptions import FileFormatError, PgmpyLatentError
from pgmpy_latent.model import network_texts as texts
from pgmpy_latent.model.convert import build_network, load, nodes_of, save, without_numbers
from pgmpy_latent.model.history import History
from pgmpy_latent.model.json_format import LATENT, Node, table_problem
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.pgmpy_api import DiscreteBayesianNetwork
from pgmpy_latent.model.spelling import (
    IDENTIFIER,
    IDENTIFIER_OR_NUMBER,
    QUOTED,
    Spelling,
    names_document,
    renamed,
    respelled,
)
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.model.uai_file import read_uai
from pgmpy_latent.runtime.files import check_readable, name_beside, write_whole

#: Words of the grammars, which readers of pgmpy, pyAgrum or Netica take for something else than names.
_BIF = frozenset(["data", "default", "discrete", "network", "probability", "property", "table", "type", "variable"])
_NET = frozenset(["data", "net", "node", "potential", "states"])
_DNE = frozenset(
    ["bnet", "discrete", "false", "kind", "nature", "node", "parents", "probs", "states", "true", "visual"]
)
#: Ending of the files that keep what a file of another format cannot say.
NAMES = ".names.json"

#: What is written to files.
AnyModel: TypeAlias = LatentTree | LatentNetwork | DiscreteBayesianNetwork


@dataclass(frozen=True)
class ModelFormat:
    """A format of model files.

    Attributes
    ----------
    name : str
        Its name in lower case.
    endings : tuple of str
        How its files end, in lower case.
    text : callable, optional
        Returns the content of a file, given nodes that are spelled as the format asks. None for our own JSON.
    spelling : Spelling
        What names and states may look like, and whether the format knows roles.
    read : callable, optional
        Returns the nodes in a file, given its path; it may raise anything if the file is damaged. None if files of the
        format are written only.
    program : str
        Whose format it is, for messages.
    """

    name: str
    endings: tuple[str, ...]
    text: Callable[[Sequence], str] | None
    spelling: Spelling = field(default_factory=Spelling)
    read: Callable[[str | os.PathLike], list[Node]] | None = None
    program: str = "pgmpy"

    def spelled(self, nodes: Sequence[Node]) -> list:
        """Return the nodes as a file of this format shows them."""
        return list(nodes) if self.spelling.exact else respelled(nodes, self.spelling)


def _read_by_pgmpy(name: str) -> Callable[[str | os.PathLike], list[Node]]:
    def read(path: str | os.PathLike) -> list[Node]:
        network = DiscreteBayesianNetwork.load(str(path), name)
        if not isinstance(network, DiscreteBayesianNetwork) or not network.nodes():
            raise FileFormatError("there are no nodes in it")
        return nodes_of(network)

    return read


#: Name -> format.
MODEL_FORMATS = {
    known.name: known
    for known in (
        ModelFormat("json", (".json",), None, Spelling(exact=True), program="pgmpy_latent"),
        ModelFormat(
            "bif", (".bif",), texts.bif, Spelling(IDENTIFIER, IDENTIFIER_OR_NUMBER, _BIF), _read_by_pgmpy("bif")
        ),
        ModelFormat("xmlbif", (".xmlbif", ".xml"), texts.xmlbif, Spelling(), _read_by_pgmpy("xmlbif")),
        ModelFormat("net", (".net",), texts.net, Spelling(IDENTIFIER, QUOTED, _NET), _read_by_pgmpy("net")),
        ModelFormat("uai", (".uai",), texts.uai, Spelling(numbered=True), read_uai, "pgmpy_latent"),
        ModelFormat("xdsl", (".xdsl",), texts.xdsl, Spelling(IDENTIFIER, IDENTIFIER), _read_by_pgmpy("xdsl")),
        ModelFormat("dne", (".dne",), texts.dne, Spelling(IDENTIFIER, IDENTIFIER, _DNE, longest=30), program="Netica"),
        ModelFormat("r", (".r",), texts.r_code, Spelling(), program="bnlearn"),
        ModelFormat("py", (".py",), texts.python_code, Spelling(exact=True)),
    )
}
#: The formats of other programs, which :func:`check_export` knows.
EXPORT_FORMATS = tuple(name for name, known in MODEL_FORMATS.items() if known.text is not None)


def format_of(path: str | os.PathLike) -> ModelFormat:
    """Return the format of a model file by its ending.

    Examples
    --------
    >>> format_of("camps.XML").name
    'xmlbif'
    >>> format_of("camps.txt")
    Traceback (most recent call last):
    pgmpy_latent.exceptions.FileFormatError: camps.txt: a model file ends in .json, .bif, .xmlbif, .xml, .net, .uai, ...
    """
    by_ending = {ending: known for known in MODEL_FORMATS.values() for ending in known.endings}
    ending = Path(path).suffix.lower()
    if ending not in by_ending:
        raise FileFormatError(f"{path}: a model file ends in {', '.join(by_ending)}")
    return by_ending[ending]


# Writing ------------------------------------------------------------------------------------------


def names_path(path: str | os.PathLike) -> Path:
    """Return the path of the file of names beside a model file.

    Examples
    --------
    >>> names_path("camps.bif").name
    'camps.bif.names.json'
    """
    return Path(path).with_name(name_beside(Path(path).name, NAMES))


def write_model(model, path: str | os.PathLike) -> list[Path]:
    """Write a model to a file in the format of another program, which the ending of the path says.

    Probabilities are written to the last bit. Names and states that the format does not allow are respelled, and a file
    of names beside it, with the ending ``.names.json``, says how, and which nodes are hidden; :func:`read_model` puts
    both together. Numeric columns are left out; :func:`check_export` says so before. Files that are there are replaced.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, pgmpy.models.DiscreteBayesianNetwork or fitted learner
    path : path-like
        Ends in .bif, .xmlbif or .xml, .net (Hugin), .uai, .xdsl (GeNIe), .dne (Netica), .r (code in R for bnlearn),
        .py (code in Python for pgmpy), or .json for our own format, which :func:`save` writes.

    Returns
    -------
    list of Path
        What was written. A file of names that is there, but not needed, is removed: it belonged to an earlier model.

    Examples
    --------
    >>> import tempfile
    >>> tree = LatentTree(["age group"], [["18-29", "30+"]], [-1], [False], [[[0.25, 0.75]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print([path.name for path in write_model(tree, f"{folder}/model.dne")])
    ...     print(Path(folder, "model.dne").read_text())
    ['model.dne', 'model.dne.names.json']
    // ~->[DNET-1]->~
    ...
    node age_group {
      kind = NATURE;
      discrete = TRUE;
      states = (s_18_29, s_30);
      parents = ();
      probs = (0.25, 0.75);
      };
    };
    """
    known = format_of(path)
    if known.text is None:
        save(model, path)
        return [Path(path)]
    nodes = without_numbers(nodes_of(model))
    written = known.spelled(nodes)
    content = known.text(written)
    beside = names_path(path)
    if not _needs_names(nodes, written, known):
        write_whole(path, content.encode())
        beside.unlink(missing_ok=True)
        return [Path(path)]
    document = json.dumps(names_document(nodes, written), ensure_ascii=False, indent=1)
    write_whole(beside, f"{document}\n".encode())
    write_whole(path, content.encode())
    return [Path(path), beside]


def _needs_names(nodes: Sequence[Node], written: Sequence[Node], known: ModelFormat) -> bool:
    return any(_respelled(nodes, written, known).values())


@dataclass(frozen=True)
class ExportCheck:
    """What becomes of a model in a file of another format; true if something is lost.

    Attributes
    ----------
    lost : tuple of str
        A sentence per kind of loss, with examples.
    respelled : tuple of str
        A sentence per kind of thing that the file does not say, or spells differently, and that the file of names
        beside it keeps: the model that :func:`write_model` writes and :func:`read_model` reads is the same.
    forgotten : tuple of str
        What a fitted learner knows besides its model, and neither file keeps: columns of weights and their kind, and
        how the search went. Only our JSON does.
    """

    lost: tuple[str, ...]
    respelled: tuple[str, ...]
    forgotten: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lost)

    def __str__(self) -> str:
        lines = [*(f"lost: {words}" for words in self.lost), *(f"kept beside: {words}" for words in self.respelled)]
        lines += [f"forgotten: {', '.join(self.forgotten)}"] if self.forgotten else []
        return "\n".join(lines or ["everything is kept"])


def check_export(model, format: str | os.PathLike) -> ExportCheck:
    """Return what a model would lose in a file of another format, and what would only be spelled differently.

    Probabilities are written to the last bit. Which nodes are hidden, and names and states that a format does not
    allow, are kept in a file of names beside the model's. Some programs read fewer digits than a file has: pyAgrum
    reads XMLBIF and XDSL in double precision, but BIF, NET and UAI in single precision.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, pgmpy.models.DiscreteBayesianNetwork or fitted learner
    format : {"bif", "xmlbif", "net", "uai", "xdsl", "dne", "r", "py"}
        In any case. "r" is code that makes a network of bnlearn, "py" code that makes one of pgmpy. Or the path of the
        file, by whose ending the format is known, or this ending, as ".bif".

    Returns
    -------
    ExportCheck
        With ``lost``, ``respelled`` and ``forgotten``.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["a", "b"], ["no", "<5"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> print(check_export(tree, "bif"))
    kept beside: states change: '<5' becomes 's_5' in 'x'
    kept beside: hidden nodes look like others: 'H'
    >>> print(check_export(tree, "folder/camps.py"))
    everything is kept
    """
    known = _export_format(format)
    nodes = nodes_of(model)
    kept = without_numbers(nodes)
    names = {node.name for node in kept}
    numeric = [repr(node.name) for node in nodes if node.name not in names]
    lost = {"numeric columns are left out": numeric}
    respelled = _sentences(_respelled(kept, known.spelled(kept), known))
    return ExportCheck(_sentences(lost), respelled, tuple(History.of(model).in_words()))


def _export_format(name: str | os.PathLike) -> ModelFormat:
    """Return one of the formats of other programs, by its name in any case, or by the ending of a path."""
    known = MODEL_FORMATS.get(str(name).lower())
    if known is None:
        path = Path(f"model{name}" if str(name).startswith(".") and not Path(name).suffix else name)
        known = format_of(path) if path.suffix else None
    if known is None or known.text is None:
        raise ValueError(f"unknown format {str(name)!r}; known are {', '.join(EXPORT_FORMATS)}")
    return known


def _respelled(nodes: Sequence[Node], written: Sequence[Node], known: ModelFormat) -> dict[str, list[str]]:
    pairs = list(zip(nodes, written, strict=True))
    changes = {
        "nodes are renamed": [_change(a.name, b.name) for a, b in pairs if not _same(a.name, b.name)],
        "states change": [
            f"{_change(before, after)} in {a.name!r}"
            for a, b in pairs
            for before, after in zip(a.states, b.states, strict=True)
            if not _same(before, after)
        ],
    }
    if known.spelling.exact:
        return changes
    return changes | {
        "hidden nodes look like others": [repr(node.name) for node in nodes if node.latent],
        "roles are not said": [
            f"{role!r} of {node.name!r}" for node in nodes for role in sorted(node.roles - {LATENT})
        ],
        "values that count as missing are not said": [repr(node.name) for node in nodes if node.missing],
    }


def _sentences(findings: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(f"{what}: {_some(culprits)}" for what, culprits in findings.items() if culprits)


def _some(culprits: list[str]) -> str:
    return ", ".join(culprits[:3]) + (", ..." if len(culprits) > 3 else "")


def _change(before, after) -> str:
    return f"{before!r} becomes {after!r}"


def _same(before: Hashable, after: Hashable) -> bool:
    text = isinstance(before, str) and isinstance(after, str)  # NumPy has a class of its own
    return before == after and (text or type(before) is type(after))


# Reading ------------------------------------------------------------------------------------------


def read_model(path: str | os.PathLike) -> AnyModel:
    """Read a model from a file whose ending says the format, and from the file of names beside it if there is one.

    Parameters
    ----------
    path : path-like
        Ends in .json, .bif, .xmlbif or .xml, .net, .uai or .xdsl.

    Returns
    -------
    LatentTree, TreeMixture, GaussianTree or pgmpy.models.DiscreteBayesianNetwork
        Formats of other programs give pgmpy networks. Without a file of names, nothing says which of their nodes are
        hidden; assign ``latents``.

    Raises
    ------
    FileFormatError
        If the file is damaged, or the file of names belongs to another one.

    Examples
    --------
    >>> import tempfile
    >>> from pgmpy_latent import from_pgmpy
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["no", "<5"]], [-1, 0], [True, False],
    ...                   [[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_model(tree, f"{folder}/model.net")
    ...     from_pgmpy(read_model(f"{folder}/model.net")) == tree
    True
    """
    known = format_of(path)
    return load(path) if known.text is None else read_export(path, known.name)


def read_export(path: str | os.PathLike, format: str) -> DiscreteBayesianNetwork:
    """Read a network from a file in a format of another program, and from the file of names beside it if there is one.

    Parameters
    ----------
    path : path-like
        The file.
    format : {"bif", "xmlbif", "net", "uai", "xdsl"}
        In any case.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        Without a file of names, no format says which nodes are hidden; assign ``latents``.

    Raises
    ------
    FileFormatError
        If no network can be made of it, a row of a table is no distribution (within 0.01, as in pgmpy), or the file of
        names belongs to another one.

    Examples
    --------
    >>> import tempfile
    >>> tree = LatentTree(["one node"], [["no", 2]], [-1], [True], [[[0.25, 0.75]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [written.name for written in write_model(tree, f"{folder}/model.bif")]
    ...     network = read_export(f"{folder}/model.bif", "bif")
    ['model.bif', 'model.bif.names.json']
    >>> network.latents, network.get_cpds("one node").state_names
    ({'one node'}, {'one node': ['no', 2]})
    """
    known = _export_format(format)
    if known.read is None:
        readable = ", ".join(name for name, other in MODEL_FORMATS.items() if other.read or other.text is None)
        raise FileFormatError(
            f"{path}: {known.name.upper()} files are only written; those that are read are {readable}"
        )
    check_readable(path)
    try:
        with _quiet_pgmpy():
            nodes = known.read(path)
    except OSError:
        raise
    except Exception as error:  # pgmpy's readers raise many kinds
        raise FileFormatError(
            f"{path}: {known.program} cannot read it as {known.name.upper()}: {_words(error)}"
        ) from None
    for node in nodes:
        problem = table_problem(node.table)
        if problem is not None:
            raise FileFormatError(f"{path}: node {node.name!r}: {problem}; correct its probabilities in the file")
    return build_network(_with_names(nodes, path))


def _with_names(nodes: list[Node], path: str | os.PathLike) -> list[Node]:
    beside = names_path(path)
    if not beside.exists():
        return nodes
    try:
        return renamed(nodes, json.loads(beside.read_bytes().decode("utf-8-sig")))
    except (ValueError, FileFormatError) as error:
        raise FileFormatError(f"{beside}: {error}; remove it if it does not belong to {path}") from None


@contextmanager
def _quiet_pgmpy() -> Iterator[None]:
    """Silence pgmpy's log, which warns about what would be raised anyway."""
    logger = logging.getLogger("pgmpy")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _words(error: Exception) -> str:
    if isinstance(error, PgmpyLatentError):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip() or 'no message'}".splitlines()[0]
