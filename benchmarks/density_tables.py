"""The tables on which learners are compared by the likelihood of new rows, and their parts.

The density benchmark has rows to learn from, to validate with and to test. COIL-42 has rows to test; every tenth of its
other rows, in a random order, validates. Of the other tables a tenth is for the test, and learners hold out what they
need from the rest.
"""

from __future__ import annotations

from functools import cache

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from benchmarks.all_tables import table as whole_table

FOLDER = runner.DATA / "density"
#: Tables of the density benchmark: zeros and ones.
BINARY = ("nltcs", "plants", "baudio", "accidents", "dna")
#: Table -> its name in ``all_tables``.
WITHOUT_PARTS = {"mushroom": "mushroom", "adult": "adult", "pen_digits": "pen digits", "news20w100": ""}
SHARE = 0.1


def rows(name: str, part: str) -> pd.DataFrame:
    """Return the rows to learn from (``train``), to validate with (``valid``) or to ``test``.

    A column may lack one of its categories in a part. Tables without parts of their own have no rows to validate with.
    """
    if name in BINARY:
        frame = pd.read_csv(FOLDER / f"{name}.{part}.csv.gz", header=None)
        return frame.astype(pd.CategoricalDtype([0, 1]))
    return (_coil42() if name == "coil42" else _divided(name))[part]


@cache
def _coil42() -> dict[str, pd.DataFrame]:
    train, test = (pd.read_csv(runner.DATA / f"coil42_{part}.csv.gz") for part in ("train", "test"))
    train = train.loc[train.index.repeat(train["count"])].drop(columns="count")
    return dict(zip(("train", "valid", "test"), (*_cut(_typed(train, test)), _typed(test, train)), strict=True))


@cache
def _divided(name: str) -> dict[str, pd.DataFrame]:
    if name == "news20w100":
        frame = pd.read_csv(runner.DATA / "news20w100.csv.gz").drop(columns="newsgroup")
    else:
        frame = whole_table(WITHOUT_PARTS[name])[0]
    return dict(zip(("train", "test"), _cut(_typed(frame, frame)), strict=True))


def _typed(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns know all categories, also those that only another table has."""
    types = {
        name: pd.CategoricalDtype(sorted(pd.concat([frame[name], other[name]]).dropna().unique())) for name in frame
    }
    return frame.astype(types)


def _cut(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return most rows, and a tenth of them by a fixed seed."""
    order = np.random.default_rng(0).permutation(len(frame))
    n_rows = round(SHARE * len(frame))
    return frame.iloc[np.sort(order[n_rows:])], frame.iloc[np.sort(order[:n_rows])]
