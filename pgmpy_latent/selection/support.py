"""How sure is a learned tree or network? The share of bootstrap models that have its edges."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from pgmpy_latent.diagnostics.resampling import drawn_from_rows, n_rows_of
from pgmpy_latent.inference.queries import model_and_data
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime import parallel
from pgmpy_latent.runtime.clock import Clock, TimeLimitReached
from pgmpy_latent.runtime.settings import PROGRESS_DELAY, check_n_jobs, check_number, check_time_limit, entropy_of
from pgmpy_latent.runtime.warn import warn
from pgmpy_latent.selection.network_support import NetworkSupport
from pgmpy_latent.selection.tree_support import TreeSupport
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.survey import Survey, WeightKind

#: What a learner is set to for a drawn table, where it has such a setting: threads share the tables, and a checkpoint
#: is that of the given table.
FOR_DRAWS = {"show_progress": False, "n_jobs": 1, "checkpoint": None}
#: Least time limit of a search, in seconds, where the time is nearly up.
SHORTEST = 1e-3


def support(
    learner: StructureLearner,
    X,
    *,
    n_bootstrap: int = 100,
    sample_weight=None,
    weight_kind: WeightKind | None = None,
    strata=None,
    cluster=None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    show_progress: bool = True,
) -> pd.DataFrame:
    """Return how often the edges of a learned tree or network are found again in tables drawn anew.

    ``n_bootstrap`` tables are drawn from the rows of the given one (nonparametric bootstrap), and the learner learns
    from each of them.

    The support of an edge between two columns of a tree is the share of the trees found in which the two are linked.
    Any other edge is known by the columns that it separates, those on one side of it from those on the other, as hidden
    variables have no names of their own: its support is the share of the trees in which some edge separates the columns
    in the same way and, if a column is at one end of it, ends at this column, too. Between hidden variables, this is
    what phylogenetics writes on the branches of a tree.

    The support of an edge of a network is the share of the networks found in which its two variables are linked, and
    that of a hidden variable the share of those that have it as well, by whatever name: at least half of all its
    neighbours, there or here, are its neighbours in both.

    Parameters
    ----------
    learner : learner of latent trees or networks, fitted
        As :class:`~pgmpy_latent.EAST`, :class:`~pgmpy_latent.BinG` or :class:`~pgmpy_latent.FindHidden`. Clones of it
        learn from the drawn tables, with its settings but another seed, one thread and no checkpoint; it is not
        changed.
    X : DataFrame, array or CategoricalData
        The table it has learned from.
    n_bootstrap : int
        Number of tables to draw.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows, or the name of the column that holds them. Where they count rows, a table of as many rows
        as they sum to, rounded, is drawn, each of its rows with a probability in proportion to its weight.
    weight_kind, strata, cluster
        What the weights are, and how rows were drawn; see :func:`pgmpy_latent.encode`. By default all are as the
        learner was fitted: it remembers the kind and the columns (``design_``). Rows with sampling weights are drawn
        with equal chances and keep their weights; clusters are drawn as a whole, within strata.
    random_state : int, optional
        Same seed, same support.
    n_jobs : int, optional
        Threads, which share the tables; the result does not depend on it.
    time_limit : float, optional
        Seconds, after which the support by the searches that are finished is returned, with a warning. Ctrl-C does the
        same.
    show_progress : bool
        Whether work of more than two seconds shows a bar.

    Returns
    -------
    DataFrame
        Of a tree, a row for every edge of ``learner.tree_``, but for those that lead from a hidden variable to a column
        at the end of the tree: ``parent``, ``child``, ``columns``, a tuple of the columns on the child's side, and
        ``support``, from 0 to 1. Of a network, a row for every hidden variable (``kind`` is ``"hidden variable"``,
        ``parent`` its name, ``columns`` those next to it) and for every edge (``kind`` is ``"edge"``): ``support``, and
        ``same_direction``, the share of the networks with the edge in this direction. ``attrs["n_bootstrap"]`` is the
        number of models behind it.

    Warns
    -----
    UserWarning
        If the tree has no such edge, as a latent class model has none, or the network no edge at all. The table is
        empty then, and nothing is drawn.

    Notes
    -----
    The place of the root and the direction of edges do not matter, nor do names and numbers of states of hidden
    variables. A column inside the tree belongs to the side it stands on. In a forest an edge separates the columns of
    its own tree; a bootstrap forest agrees if it has a tree of the same columns, separated in the same way.

    A bootstrap tree sees fewer distinct rows and is noisier than the given one, so that support below 1 does not mean
    that an edge is wrong. It says how much of a tree another sample of this size would show. Directions of edges that
    data cannot tell apart differ from draw to draw.

    References
    ----------
    Felsenstein, J. (1985). Confidence limits on phylogenies: an approach using the bootstrap. Evolution, 39(4),
    783-791.

    Examples
    --------
    The hidden variables above three columns each are found again; which two of the three a binary tree joins first is
    less certain.

    >>> from pgmpy_latent import BinG, LatentTree, sample, support
    >>> near = [[0.9, 0.1], [0.1, 0.9]]
    >>> truth = LatentTree("ABpqrstu", [[0, 1]] * 8, [-1, 0, 0, 0, 0, 1, 1, 1], [True] * 2 + [False] * 6,
    ...                    [[[0.5, 0.5]], [[0.7, 0.3], [0.3, 0.7]], *[near] * 6])
    >>> table = sample(truth, 500, random_state=0)
    >>> learner = BinG(random_state=0, show_progress=False).fit(table)
    >>> support(learner, table, n_bootstrap=10, show_progress=False)
      parent child    columns  support
    0     H2    H1     (t, u)      0.9
    1     H5    H2  (s, t, u)      1.0
    2     H4    H3     (q, r)      0.7
    3     H5    H4  (p, q, r)      1.0
    """
    check_number("n_bootstrap", n_bootstrap, 1, whole=True)
    check_n_jobs(n_jobs)
    entropy = entropy_of(random_state)
    check_time_limit(time_limit)
    counted = _counted_of(learner)
    survey: Survey = {"weight_kind": weight_kind, "strata": strata, "cluster": cluster}
    _, data = model_and_data(learner, X, sample_weight=sample_weight, **survey)
    n_rows_of(data)  # raises
    _warn_of_other_weights(learner, data)
    if counted.why_nothing:
        warn(counted.why_nothing)
        return _with_number(counted.table([]), 0)
    unit = f" {counted.what}"
    with warnings.catch_warnings(), tqdm(
        total=n_bootstrap, desc="bootstrap", unit=unit, disable=not show_progress, delay=PROGRESS_DELAY, leave=False
    ) as bar:  # fmt: skip
        warnings.simplefilter("ignore")  # what there is to say about the table was said when the learner was fitted
        clock = Clock(time_limit)
        work = partial(_seen_in_draw, clone(learner), counted, data, entropy, clock)
        draws, interrupted = parallel.work_through(work, range(n_bootstrap), n_jobs, lambda _: bar.update(), clock)
    is_late = clock.stopped == "time_limit"
    if interrupted and not draws and not is_late:
        raise KeyboardInterrupt
    if interrupted:
        why = "The time limit" if is_late else "Ctrl-C"
        words = f"the support rests on {len(draws)} of {n_bootstrap} {counted.what}" if draws else "nothing is known"
        warn(f"{why} stopped the bootstrap; {words}", ConvergenceWarning)
    return _with_number(counted.table(draws), len(draws))


def _with_number(table: pd.DataFrame, n_bootstrap: int) -> pd.DataFrame:
    table.attrs["n_bootstrap"] = n_bootstrap
    return table


def _counted_of(learner) -> TreeSupport | NetworkSupport:
    """Return what is to be supported of the model of a learner."""
    if not isinstance(learner, StructureLearner) or learner._holder not in ("tree_", "network_"):
        raise TypeError(
            f"expected a fitted learner of latent trees or networks as the first argument, as EAST().fit(X) or "
            f"FindHidden().fit(X), got {type(learner).__name__}, which cannot learn from the tables that are drawn; a "
            "model by itself, or one that fitted() read from a file, does not know the settings of its search"
        )
    check_is_fitted(learner)
    model = learner._learned
    return TreeSupport(model) if isinstance(model, LatentTree) else NetworkSupport(model)


def _seen_in_draw(
    learner: StructureLearner,
    counted: TreeSupport | NetworkSupport,
    data: CategoricalData,
    entropy: int,
    clock: Clock,
    draw: int,
):
    """Return what the model has of the given one that is learned from a drawn table."""
    clock.check()
    seed = np.random.SeedSequence(entropy, spawn_key=(draw,))
    return counted.seen_in(_learned(learner, data, seed, clock))


def _learned(learner: StructureLearner, data: CategoricalData, seed: np.random.SeedSequence, clock: Clock):
    """Return what a clone of the learner finds in a table drawn from the rows of another, unless it is stopped."""
    drawn = drawn_from_rows(data, np.random.default_rng(seed))
    again = clone(learner)
    again._outer_clock = clock
    settings: dict[str, object] = {**FOR_DRAWS, "random_state": int(seed.generate_state(1)[0])}
    own = getattr(again, "time_limit", None)
    is_late_first = own is None or own > clock.seconds_left
    if is_late_first and np.isfinite(clock.seconds_left):
        settings["time_limit"] = max(clock.seconds_left, SHORTEST)
    again.set_params(**{name: value for name, value in settings.items() if name in again.get_params(deep=False)})
    again.fit(drawn, missing={}, allow_many_states=True)  # what there is to say was said when the learner was fitted
    if again.stopped_ == "interrupted":  # learners return their best so far, which is no draw like the others
        raise KeyboardInterrupt
    if again.stopped_ == "time_limit" and is_late_first:
        raise TimeLimitReached
    return again._learned


def _warn_of_other_weights(learner, data: CategoricalData) -> None:
    """Warn if the learner was fitted to another table, or with other weights."""
    fitted = getattr(learner, "_data", None)
    if fitted is None or (data.weight_kind is None and fitted.weight_kind is not None):  # weights are missed elsewhere
        return
    if not np.isclose(fitted.total_weight, data.total_weight):
        warn(
            f"the learner was fitted to rows of total weight {fitted.total_weight:g}, and these have "
            f"{data.total_weight:g}; give the same table and sample_weight to learn how sure that tree is",
            UserWarning,
        )
