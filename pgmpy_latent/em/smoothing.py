"""Tables that rule nothing out, so that new rows can be scored."""

from __future__ import annotations

from typing import TypeVar, Unpack, cast

import numpy as np

from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.inference.queries import engine_for, model_and_data
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.arrays import one_blas_thread
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.settings import check_number, number
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey

Model = TypeVar("Model", bound=LatentTree | LatentNetwork)

#: Pseudo-count of every table entry by default.
PSEUDO_COUNT = 0.1


def pseudo_counts_of_rows(layout: Layout, smoothing: float, possible: np.ndarray | None = None) -> np.ndarray:
    """Return pseudo-counts that add up to the same in every row of every table, shared evenly by the row's entries.

    Where hidden variables have many states, a fixed pseudo-count of every entry would add up to more than the rows of
    the data table that belong to a state.

    Parameters
    ----------
    layout : Layout
        Where the tables lie.
    smoothing : float
        Sum of the pseudo-counts of a row.
    possible : bool array, shape (size,), optional
        Entries that share it, at least one in every row; the others, which are zero and stay so, get none. All by
        default.

    Examples
    --------
    >>> pseudo_counts_of_rows(Layout([(1, 2), (2, 4)]), 1.0).tolist()
    [0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]
    """
    shared_by = np.ones(layout.size) if possible is None else possible.astype(np.float64)
    return smoothing * shared_by / layout.row_sums(shared_by)


def smoothed(
    model,
    X,
    *,
    pseudo_count: float = PSEUDO_COUNT,
    sample_weight=None,
    tol: float = 1e-2,
    **survey: Unpack[Survey],
) -> LatentTree | LatentNetwork:
    """Return a learned model with tables that rule nothing out, for scoring rows that it was not learned from.

    Maximum likelihood gives probability zero to whatever a table does not show, and a single new row of that kind makes
    the log-likelihood of all of them minus infinity. Here EM continues from the learned tables with a Dirichlet
    pseudo-count, until they maximise ``LL + pseudo_count * sum(log(tables))``. Where nothing is hidden or missing, they
    are the shares of the counts ``N + pseudo_count``. Edges and numbers of states stay.

    Parameters
    ----------
    model : LatentTree, LatentNetwork or fitted learner
        What was learned; it is not changed.
    X : DataFrame, array or CategoricalData
        The table that it was learned from.
    pseudo_count : float
        Added to the count of every table entry. 0.1 predicts new rows well; a whole row per entry can be much worse.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them.
    tol : float
        EM ends when less than this is left to gain, in nats.
    survey : weight_kind, strata, cluster
        What the weights are. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    LatentTree or LatentNetwork
        Give it to :func:`~pgmpy_latent.log_likelihood` or :func:`~pgmpy_latent.row_log_likelihoods` with new rows.

    See Also
    --------
    pgmpy_latent.scores.HeldOut : Learning the model that predicts best.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy_latent import Baseline, log_likelihood
    >>> table, new = pd.DataFrame({"x": list("aaab"), "y": list("cccd")}), pd.DataFrame({"x": ["a"], "y": ["d"]})
    >>> learner = Baseline("chow_liu").fit(table)
    >>> log_likelihood(learner.tree_, new), round(log_likelihood(smoothed(learner, table), new), 2)
    (-inf, -3.77)
    """
    number(above=0)("pseudo_count", pseudo_count)
    check_number("tol", tol, 0)
    found, data = model_and_data(model, X, sample_weight=sample_weight, **survey)
    with one_blas_thread():
        return smoothed_tables(found, data, float(pseudo_count), float(tol))


def smoothed_tables(
    model: Model,
    data: CategoricalData,
    pseudo_count: float = PSEUDO_COUNT,
    tol: float = 1e-2,
    clock: Clock | None = None,
) -> Model:
    """Return the same for a table that was encoded with the states of the model.

    Parameters
    ----------
    model, data, pseudo_count, tol
        See :func:`smoothed`.
    clock : Clock, optional
        Stops EM, which then raises what stopped it.
    """
    engine = engine_for(model, data)
    found = fit(engine, engine.layout.pack(model.tables), prior=pseudo_count, atol=tol, clock=clock)
    if found.interrupted:
        if clock is None:
            raise KeyboardInterrupt
        clock.note_stop()
        raise clock.stop_signal()
    return cast("Model", model.with_tables(engine.layout.unpack(found.tables)))
