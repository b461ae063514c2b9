"""Which rows are related to what: rows with a known z, as distinct rows of the model's columns and of z."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd

from pgmpy_latent.diagnostics.assignments import hidden_node
from pgmpy_latent.exceptions import DataError, MissingCodeWarning
from pgmpy_latent.inference.queries import drawn_as_fitted, model_of, refuse_numbers, rows_as_given
from pgmpy_latent.model.network import LatentNetwork, as_network
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.root import root_walk
from pgmpy_latent.relations.covariates import categories_of, is_numeric
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import as_pandas
from pgmpy_latent.tables.encode import CategoricalData, encode
from pgmpy_latent.tables.likely_codes import likely_codes
from pgmpy_latent.tables.missing_codes import CombinedCodes
from pgmpy_latent.tables.suitable import codes_among_numbers, codes_in_words
from pgmpy_latent.tables.survey import Design, Survey, index_of_frame, names_column, refuse_other_order
from pgmpy_latent.tables.unseen import FIT_AGAIN, unseen_remedy


@dataclass(frozen=True, eq=False)
class RelatedRows:
    """A model whose class is a root, and the rows that are used, as distinct rows of its columns and of z.

    Attributes
    ----------
    network : LatentNetwork
        The model.
    node : int
        The class: a hidden variable without parents.
    data : CategoricalData
        The distinct rows. The last column, ``pattern_name``, numbers the distinct rows of z.
    z : DataFrame
        The distinct rows of z, without missing cells.
    n_rows, n_left_out : int
        Numbers of rows of the table that are used, and that are left out.
    """

    network: LatentNetwork
    node: int
    data: CategoricalData
    z: pd.DataFrame
    n_rows: int
    n_left_out: int

    @property
    def pattern_name(self) -> Hashable:
        """Name of the column that numbers the distinct rows of z."""
        return self.data.columns[-1]

    @property
    def pattern(self) -> np.ndarray:
        """For every distinct row, the row of z."""
        return self.data.codes[:, -1].astype(np.int64)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the distinct rows."""
        return self.data.weights

    @property
    def states(self) -> tuple[Hashable, ...]:
        """Names of the classes."""
        return self.network.state_names[self.node]

    @property
    def design(self) -> Design:
        """How rows were drawn; rows without weights, strata and clusters were drawn one by one."""
        return self.data.design or Design.of_counts(self.data.weights)

    @property
    def degrees_of_freedom(self) -> float:
        """Number of units less number of strata; infinite if all rows were drawn one by one and count alike."""
        return np.inf if self.data.design is None else self.data.design.degrees_of_freedom


def related_rows(
    learner, table, z, latent: Hashable | None, *, sample_weight=None, **survey: Unpack[Survey]
) -> RelatedRows:
    """Return the rows of a table with a weight that have a known z and at least one known column of the model.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> rows = related_rows(tree, pd.DataFrame({"x": ["a", "b", "b"], "age": [20, None, 30]}), "age", None)
    >>> rows.n_rows, rows.n_left_out, rows.z["age"].tolist()
    (2, 1, [20.0, 30.0])
    """
    model = model_of(learner)
    refuse_numbers(model, "relate")
    network, node = rooted_at_class(model, latent)
    index = index_of_frame(as_pandas(table))
    table = _frame(table, network)
    z = _z_frame(z, table, network)
    _warn_of_codes(z)
    drawn = {"sample_weight": sample_weight, "strata": survey.get("strata"), "cluster": survey.get("cluster")}
    drawn = drawn_as_fitted(learner, table, drawn)
    for what, value in drawn.items():
        refuse_other_order(value, index, what)
    drawn = {what: _values(table, value, what) for what, value in drawn.items()}
    weight_kind = survey.get("weight_kind")
    if weight_kind is None and drawn["sample_weight"] is not None:
        weight_kind = getattr(learner, "weight_kind_", None)
    columns = list(network.observed_names)
    read: dict[str, Any] = {
        "unseen": getattr(learner, "_unseen", "missing"),
        "missing": CombinedCodes(None, dict(network.missing)) if network.missing else None,
    }
    states = dict(zip(network.names, network.state_names, strict=True))
    used = z.notna().all(axis=1).to_numpy() & _known(table[columns], columns, states, read)
    if drawn["sample_weight"] is not None:
        used &= drawn["sample_weight"] != 0  # encode refuses what is no weight
    if not used.any():
        raise DataError("no row has both a value of z and of a column of the model; give rows that do")
    number, patterns = _patterns(z[used])
    weights, strata, cluster = (
        None if drawn[what] is None else drawn[what][used] for what in ("sample_weight", "strata", "cluster")
    )
    name = _free_name(columns)
    rows = pd.DataFrame({at: table[column].to_numpy()[used] for at, column in enumerate(columns)})
    rows[len(columns)] = pd.Categorical.from_codes(number, range(len(patterns)))
    rows.columns = pd.Index([*columns, name], tupleize_cols=False)
    with unseen_remedy(FIT_AGAIN):
        data = encode(
            rows, columns=[*columns, name], state_names=states, sample_weight=weights, weight_kind=weight_kind,
            strata=strata, cluster=cluster, **read,
        )  # fmt: skip
    return RelatedRows(network, node, data, patterns, int(used.sum()), int((~used).sum()))


def _known(table: pd.DataFrame, columns: list[Hashable], states: Mapping, read: Mapping[str, Any]) -> np.ndarray:
    """Return which rows have at least one known column of the model; codes of missing cells are none."""
    with unseen_remedy(FIT_AGAIN):
        data = encode(table, columns=columns, state_names={name: states[name] for name in columns}, **read)
    known: np.ndarray = np.asarray((data.codes >= 0).any(axis=1))
    return known[rows_as_given(data)]


def rooted_at_class(model, latent: Hashable | None) -> tuple[LatentNetwork, int]:
    """Return a model as a network in which the class, a hidden variable, has no parents, and its position.

    Examples
    --------
    >>> tree = LatentTree(["x", "H"], [["a", "b"], [0, 1]], [-1, 0], [False, True],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> network, node = rooted_at_class(tree, None)
    >>> network.parents, node
    (((1,), ()), 1)
    """
    node = hidden_node(model, latent)
    name = model.names[node]
    if isinstance(model, LatentTree):
        model = root_walk(model, name)
    elif model.parents[node]:
        above = [model.names[parent] for parent in model.parents[node]]
        raise ValueError(
            f"the class {name!r} has the parents {above}; relate sets its probabilities by z, so it must have none. "
            "Fit a model in which nothing points to it, and give its parents as z."
        )
    network = as_network(model)
    if len(network.state_names[node]) < 2:
        raise ValueError(f"the class {name!r} has a single state, which nothing can relate to; fit two or more")
    return network, node


def _frame(table, network: LatentNetwork) -> pd.DataFrame:
    frame = as_pandas(table)
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"table is of type {type(table).__name__}; give a DataFrame with the columns of the model")
    absent = [name for name in network.observed_names if name not in frame.columns]
    if absent:
        raise DataError(f"table lacks columns of the model: {absent}; add them, with empty cells if not known")
    return frame.reset_index(drop=True)


def _z_frame(z, table: pd.DataFrame, network: LatentNetwork) -> pd.DataFrame:
    """Return z as a frame, row by row as in the table."""
    if isinstance(z, (pd.DataFrame, pd.Series)):
        frame = z.to_frame("z" if z.name is None else z.name) if isinstance(z, pd.Series) else z
    else:
        named = [z] if isinstance(z, (str, int, tuple)) else list(z)
        absent = [name for name in named if name not in table.columns]
        if absent:
            raise DataError(f"z names {absent}, which the table lacks; give names of its columns, a Series or a frame")
        frame = table[named]
    if len(frame) != len(table):
        raise DataError(f"z has {len(frame)} rows and the table {len(table)}; give a value of z for every row")
    if not frame.shape[1]:
        raise DataError("z has no columns; name at least one")
    used = [name for name in frame.columns if name in network.observed_names]
    if used:
        raise DataError(
            f"z has {used}, which the classes are made from; name other columns, or fit the classes without these"
        )
    return frame.reset_index(drop=True)


def suspected_values(z: pd.DataFrame) -> dict[Hashable, list]:
    """Return the values of covariates or outcomes that look like codes for missing answers, by column.

    Examples
    --------
    >>> suspected_values(pd.DataFrame({"age": [20, 40, 99, None], "vote": ["yes", "no", "yes", "refused"]}))
    {'age': [99], 'vote': ['refused']}
    """
    found = {}
    for name, column in z.items():
        if is_numeric(column):
            values = np.unique(column.dropna().to_numpy(np.float64))
            codes: list = codes_among_numbers(values[np.isfinite(values)])
        else:
            codes = likely_codes(categories_of(column))
        if codes:
            found[name] = codes
    return found


def _warn_of_codes(z: pd.DataFrame) -> None:
    """Warn once, for all columns, of values that look like codes for missing answers."""
    suspected = suspected_values(z)
    if suspected:
        name, codes = next(iter(suspected.items()))
        warn(
            f"values of z that look like codes for missing answers are taken as they are: {codes_in_words(suspected)}. "
            f"If they are codes, make them missing before, as x.mask(x.isin({codes!r})) does with x = table[{name!r}].",
            MissingCodeWarning,
        )


def _values(table: pd.DataFrame, value, what: str) -> np.ndarray | None:
    """Return weights, strata or clusters of all rows, given as such or as the name of a column."""
    if value is None:
        return None
    if names_column(value):
        if value not in table.columns:
            raise DataError(f"{what} is {value!r}, which is no column of the table; name one, or give the values")
        return table[value].to_numpy()
    value = np.asarray(value)
    if len(value) != len(table):
        raise DataError(f"{what} has {len(value)} values and the table {len(table)} rows; give one for every row")
    return value


def _patterns(z: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the number of the distinct row of z of every row, and the distinct rows in the order of their values."""
    columns = [z.iloc[:, at] for at in range(z.shape[1])]
    codes = np.stack([_places(column) for column in columns], axis=1)
    _, first, number = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    return number.reshape(-1), z.iloc[first].reset_index(drop=True)


def _places(column: pd.Series) -> np.ndarray:
    """Return the place of every value among the values that occur, in their order."""
    if is_numeric(column):
        return np.unique(column.to_numpy(), return_inverse=True)[1]
    return np.asarray(pd.Categorical(column, categories_of(column)).codes)


def _free_name(taken: list) -> str:
    name = "row of z"
    while name in taken:
        name += "_"
    return name
