"""Queries of a model about a table: likelihoods, posteriors, most likely states, missing cells; and new rows."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias, Unpack, overload

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from pgmpy_latent.exceptions import AbsentColumnError, DataError, DesignWarning, UnknownColumnError
from pgmpy_latent.inference.mixture_engine import MixtureEngine
from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.plan import Evidence, Numbers, compile_plan
from pgmpy_latent.inference.protocol import RowEngine
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.model.emissions import emission_of_states, emissions_of
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.settings import word_list
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.tables.columns import as_pandas, in_dtype_of, plain
from pgmpy_latent.tables.encode import CategoricalData, column_names, decode, encode, open_source
from pgmpy_latent.tables.missing_codes import CombinedCodes, without_codes
from pgmpy_latent.tables.survey import Survey, belongs_to, names_column
from pgmpy_latent.tables.unseen import FIT_AGAIN, Unseen, unknown_cells, unseen_remedy

#: How many impossible rows a warning names.
MOST_NAMED = 10

#: What can be asked about rows.
AnyModel: TypeAlias = LatentTree | LatentNetwork | TreeMixture

#: What becomes of columns of a model that a table lacks.
Absent = Literal["error", "sum_out"]


def encode_for(
    tree: AnyModel,
    X,
    *,
    sample_weight=None,
    unseen: Unseen = "missing",
    absent: Absent = "error",
    can_sum_out: bool = True,
    **survey: Unpack[Survey],
) -> CategoricalData:
    """Encode a table with the states of a model, and with the values that count as missing under it.

    Columns that are not nodes of the model are ignored. ``unseen`` says how to treat categories that the model does not
    know: ``"missing"`` or ``"error"``. A column without any known cell is an error in any case, unless a few rows all
    hold the same new category of the right type. ``absent`` says how to treat columns of the model that the table does
    not have: ``"error"``, or ``"sum_out"``, which leaves them out of the data. ``can_sum_out`` says whether the user
    can pass ``absent``, so that error messages may suggest it.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> encode_for(tree, pd.DataFrame({"x": ["b", None, "b"]})).weights.tolist()
    [1.0, 2.0]
    """
    numeric = {tree.names[node]: emission for node, emission in emissions_of(tree).items()}
    states = {name: known for name, known in zip(tree.names, tree.state_names, strict=True) if name not in numeric}
    columns = _columns_to_read(tree, X, absent)
    codes = CombinedCodes(None, dict(tree.missing)) if tree.missing else None
    options = {
        "sample_weight": sample_weight, "state_names": states, "unseen": unseen, "missing": codes, "numeric": numeric,
    }  # fmt: skip
    try:
        with unseen_remedy('ask for unseen="missing"'):
            return encode(X, columns=columns, **options, **survey)
    except AbsentColumnError as error:
        summed_out = ', or say absent="sum_out" to sum out what is absent' if can_sum_out else ""
        raise AbsentColumnError(
            f"{error}. Add what is absent, with empty cells (None) if not known{summed_out}."
        ) from None
    except UnknownColumnError as error:
        left_out = '; or leave it out, and say absent="sum_out"' if can_sum_out else ""
        raise UnknownColumnError(f"{error}{left_out}.") from None


def _columns_to_read(tree: AnyModel, X, absent: Absent) -> list[Hashable]:
    if absent not in ("error", "sum_out"):
        raise ValueError(f"absent is {absent!r}; give 'error' or 'sum_out'")
    columns = list(tree.observed_names)
    if absent == "error":
        return columns
    present = set(column_names(X))
    if present.isdisjoint(columns):
        raise AbsentColumnError(f"X has none of the columns of the model, as {columns[0]!r}; give at least one")
    return [name for name in columns if name in present]


def check_is_tree(tree) -> None:
    """Raise TypeError, with the remedy, if the argument is not a tree.

    Examples
    --------
    >>> check_is_tree("camps.json")
    Traceback (most recent call last):
    TypeError: expected a LatentTree as the first argument, got str; a fitted estimator has one as tree_, and \
from_pgmpy(network) makes one of a pgmpy network
    """
    if not isinstance(tree, LatentTree):
        raise TypeError(
            f"expected a LatentTree as the first argument, got {type(tree).__name__}; a fitted estimator has one as "
            "tree_, and from_pgmpy(network) makes one of a pgmpy network"
        )


def asked(model) -> AnyModel:
    """Return what can be asked about rows: a model of ours, as :func:`model_of` finds it, or a mixture of trees.

    Examples
    --------
    >>> asked("camps.json")
    Traceback (most recent call last):
    TypeError: expected a LatentTree, LatentNetwork, pgmpy network or fitted learner as the first argument, got str; \
fitted(path) reads a model from a file
    """
    mixture = getattr(model, "mixture_", model)
    return mixture if isinstance(mixture, TreeMixture) else model_of(model)


def model_of(model) -> LatentTree | LatentNetwork:
    """Return the tree or network of a fitted learner or estimator, or of a pgmpy network; our own as they are.

    Raises
    ------
    NotFittedError, TypeError
        If the learner is not fitted, or the argument is not a model.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> model_of(tree) is tree
    True
    >>> from pgmpy_latent import RandomStarts
    >>> learner = RandomStarts(n_states=2).fit(pd.DataFrame({"x": [0, 1], "y": [0, 1], "z": [0, 1]}))
    >>> model_of(learner) is learner.tree_
    True
    """
    for candidate in (model, getattr(model, "tree_", None), getattr(model, "network_", None)):
        if isinstance(candidate, (LatentTree, LatentNetwork)):
            return candidate
    if hasattr(model, "get_cpds"):  # pgmpy takes seconds to load, and is not needed for models of ours
        from pgmpy_latent.model.convert import model_from_pgmpy

        return model_from_pgmpy(model)
    if hasattr(model, "fit") and not any(name.endswith("_") for name in vars(model)):
        raise NotFittedError(f"this {type(model).__name__} is not fitted; call fit with a table first")
    if isinstance(model, TreeMixture) or hasattr(model, "mixture_"):
        raise TypeError(
            f"expected one tree or network as the first argument, got {type(model).__name__}, which has several trees; "
            "pass one of the trees of the mixture, as mixture_.trees[0]; log_likelihood, posterior, impute, sample "
            "and write_report take the whole mixture"
        )
    if isinstance(getattr(model, "tree_", model), GaussianTree):
        raise TypeError(
            f"expected a tree or network of categories as the first argument, got {type(model).__name__}, whose "
            "columns are numbers; the functions of pgmpy_latent.gaussian answer questions about it, and "
            "plotting.plot_tree and plot_loadings draw it"
        )
    hint = "; fitted(path) reads a model from a file" if isinstance(model, (str, os.PathLike)) else ""
    raise TypeError(
        "expected a LatentTree, LatentNetwork, pgmpy network or fitted learner as the first argument, got "
        f"{type(model).__name__}{hint}"
    )


@overload
def model_and_data(
    model, X, *, sample_weight=None, takes_numbers: bool = False, **survey: Unpack[Survey]
) -> tuple[LatentTree | LatentNetwork, CategoricalData]: ...
@overload
def model_and_data(
    model, X, *, sample_weight=None, takes_numbers: bool = False, may_be_mixture: bool, **survey: Unpack[Survey]
) -> tuple[AnyModel, CategoricalData]: ...
def model_and_data(
    model, X, *, sample_weight=None, takes_numbers: bool = False, may_be_mixture: bool = False, **survey: Unpack[Survey]
) -> tuple[AnyModel, CategoricalData]:
    """Return the tree or network of a model or fitted learner, and a table encoded for it. See :func:`encode_for`.

    ``may_be_mixture`` says whether the model may also be a mixture of trees.
    A learner reads arrays by position, and treats unknown categories by its own setting. The kind of the weights and
    the design (weights, strata, clusters) are those of its fit unless they are passed: see :func:`drawn_as_fitted`.
    Models with numeric columns are refused unless the caller takes them.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> model_and_data(tree, pd.DataFrame({"x": ["b", None, "b"]}))[1].weights.tolist()
    [1.0, 2.0]
    """
    tree = asked(model) if may_be_mixture else model_of(model)
    if not takes_numbers:
        refuse_numbers(tree, "this function")
    design = {"sample_weight": sample_weight, "strata": survey.get("strata"), "cluster": survey.get("cluster")}
    design = drawn_as_fitted(model, X, design)
    table, design = model._table_and_design(X, design) if hasattr(model, "_table") else (X, design)
    weight_kind = survey.get("weight_kind")
    if weight_kind is None and design["sample_weight"] is not None:
        weight_kind = getattr(model, "weight_kind_", None)
    unseen: Unseen = getattr(model, "_unseen", "missing")
    with unseen_remedy(FIT_AGAIN):
        return tree, encode_for(tree, table, unseen=unseen, can_sum_out=False, weight_kind=weight_kind, **design)


def model_and_rows(model, X, *, takes_numbers: bool = False) -> tuple[AnyModel, CategoricalData]:
    """Return the same as :func:`model_and_data`, but without weights and design; the model may also be a mixture.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> model_and_rows(tree, pd.DataFrame({"x": ["b", None, "b"]}))[1].weights.tolist()
    [1.0, 2.0]
    """
    tree = asked(model)
    if not takes_numbers:
        refuse_numbers(tree, "this function")
    table = model._table(X) if hasattr(model, "_table") else X
    with unseen_remedy(FIT_AGAIN):
        return tree, encode_for(tree, table, unseen=getattr(model, "_unseen", "missing"), can_sum_out=False)


def refuse_numbers(model: AnyModel, what: str) -> None:
    """Raise if a model has numeric columns, for everything that is about categories alone.

    Examples
    --------
    >>> refuse_numbers(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]]), "this")
    """
    numeric = [model.names[node] for node in emissions_of(model)]
    if numeric:
        raise DataError(
            f"{what} is about categories alone, and {numeric[0]!r} is a number; fit a model of the table with its "
            "numbers in bins (as pd.cut makes), or without them"
        )


def drawn_as_fitted(model, X, drawn: dict) -> dict:
    """Return weights, strata and clusters: as passed or, where None, the columns that the learner was fitted with.

    Warns
    -----
    DesignWarning
        If the learner was fitted with weights, strata or clusters that are neither passed nor columns of the table.
    """
    design = getattr(model, "design_", {})
    left = {what: name for what, name in design.items() if drawn[what] is None}
    if not left:
        return drawn
    if isinstance(X, CategoricalData):
        known, lost = {}, [what for what in left if not belongs_to(X, what)]
    else:
        columns = _readable_columns(model, X, [*left.values(), *drawn.values()])
        known = {what: name for what, name in left.items() if name is not None and name in columns}
        lost = [what for what in left if what not in known]
    if lost:
        them, are = ("it", "it is") if len(lost) == 1 else ("them", "they are")
        again = word_list([f"{what}=" for what in lost], "and")
        warn(
            f"this {type(model).__name__} was fitted with {word_list(lost, 'and')}, and nothing here says what {are}: "
            f"rows are read as if there were none. Give {again} as in fit; to leave {them} out on purpose, ask the "
            "model itself, tree_ or network_.",
            DesignWarning,
        )
    return drawn | known


def _readable_columns(model, X, aside: list) -> set:
    """Return the names of the columns of a table; none if it is an array without the columns of the design."""
    columns = set(column_names(X))
    if hasattr(model, "_table") and not hasattr(X, "columns"):  # an array, read by position
        positions = {name for name in aside if names_column(name)}
        if len(columns) != model.n_features_in_ + len(positions):
            return set()
    return columns


def tree_evidence(data: CategoricalData, names: Sequence[Hashable]) -> dict[int, Evidence]:
    """Return the evidence that the rows of a table are about the nodes with these names, by position of the node.

    Examples
    --------
    >>> data = encode(pd.DataFrame({"x": ["a", "b"]}))
    >>> sorted(tree_evidence(data, ["H", "x"]))
    [1]
    """
    column = {name: at for at, name in enumerate(data.columns)}
    return {node: _evidence_of(data, column[name]) for node, name in enumerate(names) if name in column}


def numbers_of(data: CategoricalData, names: Sequence[Hashable]) -> dict[int, Numbers]:
    """Return the values of the numeric columns of a table, by position of the nodes with these names.

    Examples
    --------
    >>> data = encode(pd.DataFrame({"x": [0.5, 1.5, 3.0]}), numeric={"x": "gaussian"})
    >>> numbers_of(data, ["H", "x"])[1].values
    array([0.5, 1.5, 3. ])
    """
    emissions = dict(zip(data.columns, map(emission_of_states, data.state_names), strict=True))
    found = ((node, name, emissions.get(name)) for node, name in enumerate(names))
    return {node: Numbers(data.values[name], emission) for node, name, emission in found if emission is not None}


def _evidence_of(data: CategoricalData, at: int) -> Evidence:
    """Return what the cells of a column say."""
    codes, emission = np.ascontiguousarray(data.codes[:, at]), emission_of_states(data.state_names[at])
    if emission is None:
        return Evidence(codes, int(data.cards[at]))
    return Evidence.of_numbers(codes, data.values[data.columns[at]], emission)


@overload
def engine_for(tree: LatentTree, data: CategoricalData) -> TreeEngine: ...
@overload
def engine_for(tree: TreeMixture, data: CategoricalData) -> MixtureEngine: ...
@overload
def engine_for(tree: LatentTree | LatentNetwork, data: CategoricalData) -> TreeEngine | NetworkEngine: ...
@overload
def engine_for(tree: AnyModel, data: CategoricalData) -> TreeEngine | NetworkEngine | MixtureEngine: ...
def engine_for(tree: AnyModel, data: CategoricalData) -> TreeEngine | NetworkEngine | MixtureEngine:
    """Return an engine for a tree, a network or a mixture of trees and the distinct rows of a table.

    A network in which no node has several parents gets the engine of trees, which is faster.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> engine = engine_for(tree, encode_for(tree, pd.DataFrame({"x": ["b", "b"]})))
    >>> round(float(engine.log_likelihood(engine.layout.pack(tree.tables))), 4)
    -0.5754
    """
    if isinstance(tree, TreeMixture):
        nodes = np.array([[part.index(name) for name in tree.observed_names] for part in tree.trees])
        return MixtureEngine(_engines_of_parts(tree, data), nodes)
    if isinstance(tree, LatentTree):
        return TreeEngine(compile_plan(tree.parent, tree_evidence(data, tree.names)), tree.cards, data.weights)
    return network_engine(tree.names, tree.parents, tree.cards, data)


def _engines_of_parts(mixture: TreeMixture, data: CategoricalData) -> list[TreeEngine]:
    """Return the engine of every part; parts that differ in their probabilities alone share one."""
    engines: dict[tuple, TreeEngine] = {}
    keys = [(part.names, part.parent.tobytes(), part.cards.tobytes()) for part in mixture.trees]
    for key, part in zip(keys, mixture.trees, strict=True):
        if key not in engines:
            engines[key] = engine_for(part, data)
    return [engines[key] for key in keys]


def network_engine(
    names: Sequence[Hashable],
    parents: Sequence[Sequence[int]],
    cards: np.ndarray | Sequence[int],
    data: CategoricalData,
) -> TreeEngine | NetworkEngine:
    """Return an engine for a graph and the distinct rows of a table. See :func:`engine_for`.

    Examples
    --------
    >>> data = encode(pd.DataFrame({"x": ["a", "b"], "y": ["c", "c"]}))
    >>> type(network_engine(["x", "y", "H"], [(2,), (2,), ()], [2, 1, 2], data)).__name__
    'TreeEngine'
    """
    if all(len(above) <= 1 for above in parents):
        parent = np.array([above[0] if above else -1 for above in parents], dtype=np.int64)
        return TreeEngine(compile_plan(parent, tree_evidence(data, names)), cards, data.weights)
    return NetworkEngine(parents, cards, data.codes_of(names), data.weights, names)


def log_likelihood(
    tree,
    X,
    *,
    sample_weight=None,
    unseen: Unseen = "missing",
    absent: Absent = "error",
    **survey: Unpack[Survey],
) -> float:
    """Return the log-likelihood (natural logarithm) of a table, summed over its rows.

    Parameters
    ----------
    tree : LatentTree, LatentNetwork, TreeMixture, pgmpy network or fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The table; missing cells are summed out.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    unseen : {"missing", "error"}
        How to treat categories that the model does not know.
    absent : {"error", "sum_out"}
        How to treat columns of the model that the table does not have: raise, or sum them out like missing cells.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    float
        Larger is better; minus infinity if a row has probability zero.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> round(log_likelihood(tree, pd.DataFrame({"x": ["a", "b", None]})), 4)
    -1.674
    """
    engine, tables, _ = _ask(asked(tree), X, sample_weight, unseen, absent, **survey)
    return float(engine.log_likelihood(tables))


def row_log_likelihoods(tree, X, *, unseen: Unseen = "missing", absent: Absent = "error") -> pd.Series:
    """Return the log-likelihood of each row, under the table's index. See :func:`log_likelihood`.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
    >>> row_log_likelihoods(tree, pd.DataFrame({"x": ["b", None]}, index=["p", "q"])).round(4).tolist()
    [-0.2877, 0.0]
    """
    engine, tables, data = _ask(asked(tree), X, None, unseen, absent)
    values = engine.row_log_likelihoods(tables)[rows_as_given(data)]
    return pd.Series(values, index=index_of(X, data), name="log_likelihood")


def posterior(
    tree,
    X,
    nodes: Sequence[Hashable] | None = None,
    *,
    unseen: Unseen = "missing",
    absent: Absent = "error",
) -> pd.DataFrame:
    """Return the posterior distribution of nodes given each row.

    Parameters
    ----------
    tree : LatentTree, LatentNetwork, TreeMixture, pgmpy network or fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    nodes : sequence of names, optional
        Which nodes; the hidden ones by default. An observed node is certain where its cell is filled, and predicted
        from the rest of the row where it is missing.
    unseen : {"missing", "error"}
        How to treat categories that the model does not know.
    absent : {"error", "sum_out"}
        How to treat columns of the model that the table does not have: raise, or sum them out like missing cells.

    Returns
    -------
    DataFrame
        Columns are pairs (node, state). Rows of probability zero are NaN in all of them, with a warning: also the nodes
        of a forest's other trees, and nodes whose cells are filled.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [[0, 1], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> posterior(tree, pd.DataFrame({"x": ["a", "b"]}))
    node      H
    state     0      1
    0      0.750  0.250
    1      0.125  0.875
    """
    tree = asked(tree)
    engine, tables, data = _ask(tree, X, None, unseen, absent)
    names = list(tree.latent_names if nodes is None else nodes)
    for name in names:
        if tree.index(name) in emissions_of(tree):
            raise DataError(f"posteriors are those of states, and {name!r} is a number; impute fills its missing cells")
    beliefs = engine.beliefs(tables, [tree.index(name) for name in names])
    columns = pd.MultiIndex.from_tuples(
        [(name, state) for name in names for state in tree.state_names[tree.index(name)]], names=["node", "state"]
    )
    values = np.concatenate([*beliefs, np.empty((data.n_distinct, 0))], axis=1)[rows_as_given(data)]
    if names:
        _warn_of_impossible(_impossible(engine, tables, data), X, data, "their posterior is undefined (NaN)")
    return pd.DataFrame(values, index=index_of(X, data), columns=columns)


def most_likely(
    tree,
    X,
    nodes: Sequence[Hashable] | None = None,
    *,
    unseen: Unseen = "missing",
    absent: Absent = "error",
) -> pd.DataFrame:
    """Return the most likely state of each node given each row, each node by itself. See :func:`posterior`.

    A known cell is its own most likely state; a cell whose category the model does not know is predicted from the rest
    of the row. In rows of probability zero, hidden variables and missing cells have none, with a warning.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["low", "high"], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> most_likely(tree, pd.DataFrame({"x": ["a", "b"]}))["H"].tolist()
    ['low', 'high']
    """
    tree = asked(tree)
    names = list(tree.latent_names if nodes is None else nodes)
    codes, impossible, data = _likeliest(tree, X, names, unseen, absent)
    if names:
        _warn_of_impossible(impossible, X, data, "their hidden states and missing cells stay unknown")
    return _frame_of_codes(tree, codes, names, index_of(X, data))


def _likeliest(
    tree: AnyModel, X, names: list[Hashable], unseen: Unseen, absent: Absent
) -> tuple[list[np.ndarray], np.ndarray, CategoricalData]:
    """Return the codes of the most likely states, an array per node, which rows are impossible, and the data."""
    engine, tables, data = _ask(tree, X, None, unseen, absent)
    rows, cells = rows_as_given(data), data.codes_of(names)
    codes = []
    nodes = [tree.index(name) for name in names]
    emissions = emissions_of(tree)
    for node, name, belief, seen in zip(nodes, names, engine.beliefs(tables, nodes), cells.T, strict=True):
        if node in emissions:  # the expected value, where it is missing
            values = np.append(data.values.get(name, np.empty(0)), np.nan)[seen]
            codes.append(np.where(seen >= 0, values, emissions[node].parameters(belief).mean)[rows])
            continue
        best = np.where(np.isnan(belief).any(axis=1), -1, np.argmax(np.nan_to_num(belief), axis=1))
        codes.append(np.where(seen >= 0, seen, best)[rows])
    return codes, _impossible(engine, tables, data), data


def impute(
    tree,
    X,
    *,
    method: str = "most_likely",
    random_state=None,
    unseen: Unseen = "missing",
    absent: Absent = "error",
) -> pd.DataFrame:
    """Return the table with its missing cells filled.

    Parameters
    ----------
    tree : LatentTree, LatentNetwork, TreeMixture, pgmpy network or fitted learner
        The model.
    X : DataFrame, array or CategoricalData
        The table.
    method : {"most_likely", "draw"}
        The most likely state of each missing cell given the row's other cells; or a draw of all missing cells of a row
        from their joint posterior.
    random_state : int or Generator, optional
        For draws.
    unseen : {"missing", "error"}
        How to treat categories that the model does not know: leave them as they are, with a warning, and fill other
        cells of the row as if they were missing; or raise. Values that count as missing under the model
        (``tree.missing``) are filled.
    absent : {"error", "sum_out"}
        How to treat columns of the model that the table does not have: raise, or add them as last columns, with all of
        their cells filled.

    Returns
    -------
    DataFrame
        The table under its index, always as a pandas frame: all columns in their order; those that the model does not
        have are unchanged, and categorical columns stay categorical. For arrays and CategoricalData, the columns of the
        model in its order. Rows of probability zero keep their missing cells, with a warning. Known cells never change.

    Examples
    --------
    >>> tree = LatentTree(["H", "x", "y"], [[0, 1], ["a", "b"], ["c", "d"]], [-1, 0, 0], [True, False, False],
    ...                   [[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> impute(tree, pd.DataFrame({"x": ["a", None], "y": [None, "d"]})).to_numpy().tolist()
    [['a', 'c'], ['b', 'd']]
    """
    if method not in ("most_likely", "draw"):
        raise ValueError(f"method is {method!r}; give 'most_likely' or 'draw'")
    tree = asked(tree)
    if method == "most_likely":
        codes, impossible, data = _likeliest(tree, X, list(tree.observed_names), unseen, absent)
    else:
        codes, impossible, data = _drawn(tree, X, np.random.default_rng(random_state), unseen, absent)
    _warn_of_impossible(impossible, X, data, "their missing cells stay")
    return _filled(tree, X, codes, data)


def _drawn(
    tree: AnyModel, X, rng: np.random.Generator, unseen: Unseen, absent: Absent
) -> tuple[list[np.ndarray], np.ndarray, CategoricalData]:
    """Return the codes of the observed nodes with missing cells drawn, which rows are impossible, and the data."""
    data = encode_for(tree, X, unseen=unseen, absent=absent)
    # every row draws for itself, also where rows are equal
    rows = CategoricalData(
        data.columns, data.state_names, data.codes[rows_as_given(data)], np.ones(data.n_rows), np.arange(data.n_rows),
        values=data.values,
    )  # fmt: skip
    engine = engine_for(tree, rows)
    tables = engine.layout.pack(tree.tables)
    codes = engine.draw(tables, rng)
    drawn = [codes[:, node] for node in np.flatnonzero(~tree.latent)]
    for node, values in _drawn_numbers(tree, codes, rng).items():
        at = tree.observed_names.index(tree.names[node])
        known = rows.codes_of([tree.names[node]])[:, 0]
        given = np.append(rows.values.get(tree.names[node], np.empty(0)), np.nan)[known]
        drawn[at] = np.where(known >= 0, given, values)
    return drawn, _impossible(engine, tables, rows), data


def _drawn_numbers(tree: AnyModel, codes: np.ndarray, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """Draw the values of all numeric columns, given the states of their parents; NaN where these are not known."""
    drawn = {}
    for node, emission in emissions_of(tree).items():
        above = tree.parents[node]
        states = codes[:, above[0]] if above else np.zeros(len(codes), np.int64)
        drawn[node] = np.where(states >= 0, emission.draw(tree.tables[node][states], rng), np.nan)
    return drawn


def _filled(tree: AnyModel, X, codes: list[np.ndarray], data: CategoricalData) -> pd.DataFrame:
    """Return a table with its missing cells filled from codes; categories that the model does not know stay."""
    source, rows, missing = open_source(X), X.row_index if isinstance(X, CategoricalData) else None, dict(tree.missing)
    has_missing = dict(zip(data.columns, data.has_missing, strict=True))
    columns = {}
    for name, filled in zip(tree.observed_names, codes, strict=True):
        states: Sequence[Hashable] = tree.state_names[tree.index(name)]
        if emission_of_states(tuple(states)) is not None:
            columns[name] = pd.Series(filled)
            continue
        if has_missing.get(name, False):
            (column,) = source.read([source.names.index(name)], None)
            column = without_codes(name, column, missing.get(name, ()), states)
            unknown, strangers = unknown_cells(column, states)
            unknown = unknown if rows is None else unknown[rows]
            filled, states = np.where(unknown >= 0, unknown + len(states), filled), [*states, *strangers]
        columns[name] = decode(filled, states)
    return _like(as_pandas(X), columns, index_of(X, data))


def sample(tree, n: int, *, latents: bool = False, random_state=None) -> pd.DataFrame:
    """Draw rows from a tree or another network.

    Parameters
    ----------
    tree : LatentTree, LatentNetwork, TreeMixture, pgmpy network or fitted learner
        The model.
    n : int
        Number of rows.
    latents : bool
        Whether the hidden variables are among the columns.
    random_state : int or Generator, optional
        For repeatable draws.

    Returns
    -------
    DataFrame
        Columns in the order of the model's nodes. They hold states: if ``X`` is the table that the model was learned
        from, ``astype(X.dtypes)`` makes the same columns categorical.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.0, 1.0]]])
    >>> sample(tree, 2, random_state=0)["x"].tolist()
    ['b', 'b']
    """
    tree = asked(tree)
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"n is {n!r}; give a whole number of rows, at least 0")
    rng = np.random.default_rng(random_state)
    codes = sample_codes(tree, n, rng)
    numbers = _drawn_numbers(tree, codes, rng)
    names = tree.names if latents else tree.observed_names
    columns = [numbers.get(node, codes[:, node]) for node in map(tree.index, names)]
    return _frame_of_codes(tree, columns, names, pd.RangeIndex(n))


def sample_codes(tree: AnyModel, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of codes, a column per node. See :func:`sample`.

    Examples
    --------
    >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.0, 1.0]]])
    >>> sample_codes(tree, 2, np.random.default_rng(0)).tolist()
    [[1], [1]]
    """
    if isinstance(tree, TreeMixture):
        return _sample_mixture(tree, n, rng)
    codes = np.zeros((n, tree.n_nodes), dtype=np.int32)
    for node in tree.order:
        bounds = np.cumsum(tree.tables[node], axis=1)
        bounds[:, -1] = np.inf  # rounding must not leave a gap below one
        rows = np.zeros(n, dtype=np.int64)
        for above in tree.parents[node]:
            rows = rows * tree.cards[above] + codes[:, above]
        codes[:, node] = _first_above(bounds, rows, rng.random(n))
    return codes


def _first_above(bounds: np.ndarray, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where each value would be put into its row of ascending bounds, by bisection of all of them at once."""
    low, high = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), bounds.shape[1] - 1)
    for _ in range((bounds.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        is_above = bounds[rows, middle] > values
        low, high = np.where(is_above, low, middle + 1), np.where(is_above, middle, high)
    return high


def _sample_mixture(mixture: TreeMixture, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the part of every row, and the row from the tree of that part."""
    codes = np.empty((n, mixture.n_nodes), dtype=np.int32)
    codes[:, 0] = rng.choice(len(mixture.trees), n, p=mixture.weights)
    for number, tree in enumerate(mixture.trees):
        rows = codes[:, 0] == number
        columns = [tree.index(name) for name in mixture.observed_names]
        codes[rows, 1:] = sample_codes(tree, int(rows.sum()), rng)[:, columns]
    return codes


def _ask(
    tree: AnyModel, X, sample_weight, unseen: Unseen, absent: Absent, **survey: Unpack[Survey]
) -> tuple[RowEngine, np.ndarray, CategoricalData]:
    """Return an engine for a model and a table, the flat tables of the model, and the encoded table."""
    data = encode_for(tree, X, sample_weight=sample_weight, unseen=unseen, absent=absent, **survey)
    engine = engine_for(tree, data)
    return engine, engine.layout.pack(tree.tables), data


def rows_as_given(data: CategoricalData) -> np.ndarray:
    """Return the distinct row of every row; raise if some rows are not in the data, since their weight is zero.

    Examples
    --------
    >>> rows_as_given(encode(pd.DataFrame({"x": ["b", "a", "b"]}))).tolist()
    [1, 0, 1]
    """
    assert data.row_index is not None, "encode says which rows are equal"
    lost = np.flatnonzero(data.row_index < 0)
    if len(lost):
        raise DataError(
            f"rows {lost[:5].tolist()} of this CategoricalData were left out because their weight is zero, so nothing "
            "is known of them; ask with the table itself"
        )
    return data.row_index


def index_of(X, data: CategoricalData) -> pd.Index:
    """Return the index of a table; rows of tables without one are numbered.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": ["a", "b"]}, index=["p", "q"])
    >>> index_of(frame, encode(frame)).tolist(), index_of(frame.to_numpy(), encode(frame)).tolist()
    (['p', 'q'], [0, 1])
    """
    return X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(data.n_rows)


def _frame_of_codes(
    tree: AnyModel, codes: Sequence[np.ndarray], names: Sequence[Hashable], index: pd.Index
) -> pd.DataFrame:
    """Return nodes as columns of their states, given an array of codes per node; of a numeric column its values."""
    columns = {}
    for name, column in zip(names, codes, strict=True):
        states = tree.state_names[tree.index(name)]
        columns[name] = decode(column, states) if emission_of_states(states) is None else pd.Series(column)
    return _frame(columns, index)


def _like(X, filled: dict[Hashable, pd.Series], index: pd.Index) -> pd.DataFrame:
    """Return filled columns in place of those of a frame, in its categorical types; columns that it lacks come last."""
    if not isinstance(X, pd.DataFrame):
        return _frame(filled, index)
    names = [plain(name) for name in X.columns]
    known, columns = set(names), []
    lacking = {name: column for name, column in filled.items() if name not in known}
    for at, name in enumerate(names):
        column = X.iloc[:, at].reset_index(drop=True)
        columns.append(in_dtype_of(filled[name], column.dtype) if name in filled else column)
    return _frame_of_columns([*X.columns, *lacking], [*columns, *lacking.values()], index)


def _frame(columns: dict[Hashable, pd.Series], index: pd.Index) -> pd.DataFrame:
    return _frame_of_columns(list(columns), list(columns.values()), index)


def _frame_of_columns(names: Sequence[Hashable], columns: Sequence[pd.Series], index: pd.Index) -> pd.DataFrame:
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(len(index)))
    frame.columns = pd.Index(list(names), tupleize_cols=False)  # a name may be a tuple
    frame.index = index
    return frame


def _impossible(engine: RowEngine, tables: np.ndarray, data: CategoricalData) -> np.ndarray:
    """Tell which rows, as they were given, have probability zero."""
    return np.isneginf(engine.row_log_likelihoods(tables))[rows_as_given(data)]


def _warn_of_impossible(impossible: np.ndarray, X, data: CategoricalData, consequence: str) -> None:
    if impossible.any():
        first = index_of(X, data)[np.flatnonzero(impossible)[:MOST_NAMED]].tolist()
        warn(
            f"rows of probability zero under the model: {int(impossible.sum())} (the first: {first}); {consequence}. "
            "Fit with a prior, e.g. prior=0.01, to rule nothing out.",
        )
