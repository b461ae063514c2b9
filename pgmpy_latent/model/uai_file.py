"""Reading the UAI format, in whose tables the last variable runs fastest.

pgmpy's reader lets the first one run fastest, and takes several parents in no fixed order.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pgmpy_latent.exceptions import FileFormatError
from pgmpy_latent.model.json_format import Node

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


def read_uai(path: str | os.PathLike) -> list[Node]:
    """Return the nodes of a Bayesian network in the UAI format; they are called ``var_0``, ``var_1``, ... in order."""
    text = re.sub("#.*", "", Path(path).read_text(encoding="utf-8-sig"))
    words = iter(text.split())
    try:
        if next(words) != "BAYES":
            raise FileFormatError("not a Bayesian network; the first word should be BAYES")
        sizes = [int(next(words)) for _ in range(int(next(words)))]
        scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
        tables = [_table(words, scope, sizes) for scope in scopes]
    except StopIteration:
        raise FileFormatError("cut short") from None
    except (ValueError, IndexError) as error:
        raise FileFormatError(str(error)) from None
    if sorted(scope[-1] for scope in scopes) != list(range(len(sizes))):
        raise FileFormatError("a Bayesian network has one function for every variable, which comes last in it")
    of_child = {scope[-1]: (scope, table) for scope, table in zip(scopes, tables, strict=True)}
    return [
        Node(f"var_{at}", tuple(map(str, range(size))), tuple(of_child[at][0][:-1]), of_child[at][1])
        for at, size in enumerate(sizes)
    ]


def _table(words: Iterator[str], scope: list[int], sizes: list[int]) -> np.ndarray:
    count = int(next(words))
    shape = [sizes[variable] for variable in scope]
    if not scope or min(scope) < 0 or count != np.prod(shape):
        raise FileFormatError(f"a table of {count} numbers does not fit the variables {scope}")
    return np.array([float(next(words)) for _ in range(count)]).reshape(-1, shape[-1])
