"""Direct effects: which two columns of a latent class model depend on each other beyond the classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics.adjustment import holm
from pgmpy_latent.diagnostics.score_test import ScoreTests
from pgmpy_latent.em.restrictions import refuse_restricted
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import model_and_data
from pgmpy_latent.model.network import LatentNetwork, as_network
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.settings import PROGRESS_DELAY
from pgmpy_latent.tables.survey import Survey, WeightKind


def direct_effects(
    model,
    X,
    pairs: Iterable[tuple[Hashable, Hashable]] | None = None,
    *,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    show_progress: bool = True,
) -> pd.DataFrame:
    """Test for every two columns of a latent class model whether an edge between them would describe the table better.

    A score test: it says what the edge would gain without fitting it, and its p-values are right where those of
    :func:`residuals` without a bootstrap are too large.

    Parameters
    ----------
    model : LatentTree, LatentNetwork or fitted learner
        A latent class model, fitted to ``X``; some columns may already have edges between them.
    X : DataFrame, array or CategoricalData
        The table.
    pairs : iterable of pairs of names, optional
        Which pairs to test; by default all that have no edge yet.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. By default all are as the
        learner was fitted. Tests account for all of them.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    DataFrame
        A row per pair, the strongest evidence first:

        - ``first``, ``second``: the columns;
        - ``statistic``: about twice what the edge would gain in log-likelihood; with sampling weights, strata or
          clusters corrected for design effects;
        - ``df``: how many parameters it would add, ``(k - 1) (l - 1)`` for columns of k and l categories in each class,
          without those at the boundary and those that cannot be told from other parameters;
        - ``p_value``: of the statistic, in the chi-squared distribution; NaN without degrees of freedom;
        - ``adjusted_p``: the same, adjusted for the number of pairs by Holm's method.

    See Also
    --------
    add_direct_effects : Add the edges that BIC asks for.
    residuals : How far the joint counts of two columns are from those that the model predicts.

    References
    ----------
    Rao, J. N. K. and Scott, A. J. (1984). On chi-squared tests for multiway contingency tables with cell proportions
    estimated from survey data. Annals of Statistics 12, 46-60.
    Oberski, D. L., van Kollenburg, G. H. and Vermunt, J. K. (2013). A Monte Carlo evaluation of three methods to detect
    local dependence in binary data latent class models. Advances in Data Analysis and Classification 7, 267-279.

    Examples
    --------
    Every fourth answer to s is a copy of that to r.

    >>> from pgmpy_latent import RandomStarts, sample
    >>> names, item = list("pqrst"), [[0.9, 0.1], [0.2, 0.8]]
    >>> tree = LatentTree(["H", *names], [[0, 1], *[["no", "yes"]] * 5], [-1, *[0] * 5], [True, *[False] * 5],
    ...                   [[[0.5, 0.5]], *[item] * 5])
    >>> table = sample(tree, 1000, random_state=0)
    >>> table["s"] = table["r"].where(table.index % 4 == 0, table["s"])
    >>> found = direct_effects(RandomStarts(n_states=2, random_state=0).fit(table), table)
    >>> found.loc[0, ["first", "second"]].tolist(), int(found.loc[0, "df"]), bool(found.loc[0, "adjusted_p"] < 0.001)
    (['r', 's'], 2, True)
    """
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    refuse_restricted(model, "direct_effects")
    found, data = model_and_data(model, X, sample_weight=sample_weight, **survey)
    network = class_model(found)
    edges = edges_to_add(network) if pairs is None else [_directed(network, pair) for pair in pairs]
    with one_blas_thread():
        tests = ScoreTests(network, data)
        bar = tqdm(edges, "direct effects", disable=not show_progress, delay=PROGRESS_DELAY, leave=False)
        results = [tests.edge(*edge) for edge in bar]
    order = {name: at for at, name in enumerate(network.observed_names)}
    named = [sorted(edge, key=order.__getitem__) for edge in edges]
    p_value = np.array([test.p_value for test in results], dtype=np.float64)
    table = pd.DataFrame(
        {
            "first": pd.Series([pair[0] for pair in named], dtype=object),
            "second": pd.Series([pair[1] for pair in named], dtype=object),
            "statistic": np.array([test.statistic for test in results], dtype=np.float64),
            "df": np.array([test.df for test in results], dtype=np.int64),
            "p_value": p_value,
            "adjusted_p": holm(p_value),
        }
    )
    return table.sort_values(["p_value", "statistic"], ascending=[True, False], kind="stable").reset_index(drop=True)


def class_model(model: LatentTree | LatentNetwork) -> LatentNetwork:
    """Return a latent class model as a network; raise if it is another model.

    Examples
    --------
    >>> class_model(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]]))
    Traceback (most recent call last):
    pgmpy_latent.exceptions.DataError: the model has 0 hidden variables; direct effects are edges between the columns \
of a latent class model, which has one above all of them. Fit one with RandomStarts or SplitMerge; StructuralEM learns \
the edges of other networks.
    """
    network = as_network(model)
    hidden = np.flatnonzero(network.latent).tolist()
    what = f"the model has {len(hidden)} hidden variables"
    if len(hidden) == 1:
        alone = [name for name in network.observed_names if hidden[0] not in network.parents[network.index(name)]]
        if not alone and not network.parents[hidden[0]]:
            return network
        what = f"{alone[0]!r} has no edge from the hidden variable" if alone else "the hidden variable has a parent"
    raise DataError(
        f"{what}; direct effects are edges between the columns of a latent class model, which has one above all of "
        "them. Fit one with RandomStarts or SplitMerge; StructuralEM learns the edges of other networks."
    )


def edges_to_add(network: LatentNetwork) -> list[tuple[Hashable, Hashable]]:
    """Return the edges (parent, child) between columns that can be added to a latent class model at little cost.

    Every column has at most one other column as a parent, so that no probability table has more than three sides, and
    missing cells cost little to sum out.

    Examples
    --------
    >>> item = [[0.9, 0.1], [0.2, 0.8]]
    >>> edges_to_add(LatentNetwork(["H", "x", "y", "z"], [[0, 1]] * 4, [(), (0,), (0, 1), (0,)], [True] + [False] * 3,
    ...                            [[[0.5, 0.5]], item, [*item, *item], item]))
    [('x', 'z'), ('y', 'z')]
    """
    found = []
    for first, second in combinations(network.observed_names, 2):
        if not _linked(network, first, second):
            found += [edge for edge in ((first, second), (second, first)) if _can_add(network, *edge)][:1]
    return found


def _linked(network: LatentNetwork, first: Hashable, second: Hashable) -> bool:
    return (first, second) in network.edges or (second, first) in network.edges


def _can_add(network: LatentNetwork, parent: Hashable, child: Hashable) -> bool:
    """Tell whether a column has no other column as a parent yet, and is not above the other one."""
    if len(network.parents[network.index(child)]) > 1:
        return False
    node = network.index(parent)
    while True:
        above = [other for other in network.parents[node] if not network.latent[other]]
        if not above:
            return True
        node = above[0]
        if network.names[node] == child:
            return False


def _directed(network: LatentNetwork, pair: tuple[Hashable, Hashable]) -> tuple[Hashable, Hashable]:
    """Return a pair of columns as an edge that can be added; raise if there is none."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise DataError(f"pairs has {pair!r}, which is no pair; give a list of pairs, [(column, column), ...]")
    first, second = pair
    for name in (first, second):
        if name not in network.observed_names:
            raise DataError(f"pairs names {name!r}, which is no column of the model; give columns")
    for edge in ((first, second), (second, first)):
        if first != second and not _linked(network, first, second) and _can_add(network, *edge):
            return edge
    raise DataError(
        f"pairs names {first!r} and {second!r}, between which no edge can be added: it is there already, or both have "
        "a column as a parent; leave the pair out"
    )
