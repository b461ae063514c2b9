"""One table to choose the number of classes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from pgmpy_latent import scores
from pgmpy_latent._settings import PROGRESS_DELAY
from pgmpy_latent.data import CategoricalData, encode
from pgmpy_latent.exceptions import RegularityWarning
from pgmpy_latent.learners.random_starts import RandomStarts
from pgmpy_latent.learners.split_merge import SplitMerge
from pgmpy_latent.operators import bound_from_cards, marginals, split_state
from pgmpy_latent.tree import LatentTree


def compare_classes(
    X,
    n_classes: Iterable[int] = range(1, 9),
    *,
    sample_weight=None,
    method: str = "both",
    n_init: int = 16,
    prior: float | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    show_progress: bool = True,
    return_models: bool = False,
):
    """Fit latent class models with several numbers of classes and put their scores side by side.

    Parameters
    ----------
    X : DataFrame, array or CategoricalData
        A row per observation; missing cells are fine.
    n_classes : iterable of int
        Numbers of classes to compare.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows.
    method : {"both", "random", "split"}
        EM from random starts for every number (:class:`RandomStarts`), from splits of the classes of the model before
        (:class:`SplitMerge`), or the better of the two, so that more classes never describe the table worse.
    n_init : int
        Number of random starts.
    prior : float, optional
        Dirichlet pseudo-count of every table entry; None is maximum likelihood.
    random_state : int, optional
        Same seed, same table.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    show_progress : bool
        Whether work of more than two seconds shows a bar.
    return_models : bool
        Whether to return the models as well.

    Returns
    -------
    table : DataFrame
        A row per number of classes. ``log_likelihood``, ``bic``, ``aic``, ``caic``, ``adjusted_bic``, ``icl`` and
        ``cheeseman_stutz``: larger is better. ``n_parameters``; ``relative_entropy``: 1 where every row belongs to one
        class; ``smallest_share``: of the smallest class; ``found_by``; ``seconds``. The row with the best BIC is marked
        in ``best``.
    models : dict of int to LatentTree
        Only if asked for.

    Examples
    --------
    >>> from pgmpy_latent import compare_classes, datasets
    >>> survey = datasets.load_anes96().iloc[:, :4]
    >>> table = compare_classes(survey, range(1, 4), n_init=4)
    >>> table.index.tolist(), bool((table["log_likelihood"].diff().dropna() >= 0).all())
    ([1, 2, 3], True)
    """
    sizes = _checked_sizes(n_classes)
    if method not in ("both", "random", "split"):
        raise ValueError(f"method is {method!r}; give 'both', 'random' or 'split'")
    data = encode(X, sample_weight=sample_weight)
    shared = {"prior": prior, "random_state": random_state, "n_jobs": n_jobs, "show_progress": False}
    models: dict[int, LatentTree] = {}
    rows = []
    smaller: LatentTree | None = None
    for size in tqdm(sizes, desc="classes", disable=not show_progress, delay=PROGRESS_DELAY, leave=False):
        began = time.perf_counter()
        try:
            found, interrupted = _fitted(size, smaller, data, method, n_init, shared)
            if not (interrupted and rows):  # a size that was not finished is shown only if there is no other
                values = {name: scores.log_likelihood(tree, data) for name, tree in found.items()}
                chosen = max(values, key=values.get)
                smaller = models[size] = found[chosen]
                rows.append(_row(size, smaller, data, chosen, time.perf_counter() - began))
        except KeyboardInterrupt:
            interrupted = True
            if not rows:
                raise
        if interrupted:
            warnings.warn(
                f"Ctrl-C stopped the comparison at {size} classes; the table holds {', '.join(map(str, models))}",
                ConvergenceWarning,
                stacklevel=2,
            )
            break
    _warn_of_too_many(list(models), data)
    table = pd.DataFrame(rows).set_index("n_classes")
    table.insert(0, "best", table["bic"] == table["bic"].max())
    return (table, models) if return_models else table


def _fitted(size: int, smaller: LatentTree | None, data: CategoricalData, method: str, n_init: int, shared: dict):
    """Return the models of one size by how they were found, and whether somebody pressed Ctrl-C."""
    learners = {}
    if method != "split":
        learners["random starts"] = RandomStarts(n_states=size, n_init=n_init, **shared)
    if method != "random":  # split classes until there are as many as wanted, whatever the penalty would say
        learners["splits"] = SplitMerge(
            start=smaller, max_states=size, scoring_method=scores.log_likelihood, merge=False, regular=False, **shared
        )
    found, interrupted = {}, False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegularityWarning)  # one for all sizes comes at the end
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, learner in learners.items():
            if not interrupted:
                learner.fit(data)
                found[name] = _with_classes(learner.tree_, size)
                interrupted = learner.stopped_ is not None
    return found, interrupted


def _with_classes(tree: LatentTree, size: int) -> LatentTree:
    """Return the tree with as many classes as wanted: where no split helped, a class is there twice."""
    hidden = tree.latent_names[0]
    while tree.cards[tree.index(hidden)] < size:
        tree = split_state(tree, hidden, tree.state_names[tree.index(hidden)][0], direction={})
    return tree


def _warn_of_too_many(sizes: list[int], data: CategoricalData) -> None:
    bound = bound_from_cards(data.cards.tolist())
    if max(sizes) > max(bound, 1):
        warnings.warn(
            f"more than {bound} classes cannot describe these columns any better (the bound of regularity: the product "
            f"of their numbers of states, divided by the largest); compare at most {bound}",
            RegularityWarning,
            stacklevel=3,
        )


def _checked_sizes(n_classes: Iterable[int]) -> list[int]:
    sizes = [n_classes] if isinstance(n_classes, (int, np.integer)) else list(n_classes)
    if not sizes:
        raise ValueError("n_classes is empty; give numbers of classes to compare, as range(1, 9)")
    for size in sizes:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"n_classes holds {size!r}; give whole numbers of at least 1")
    return sorted({int(size) for size in sizes})


def _row(size: int, tree: LatentTree, data: CategoricalData, found_by: str, seconds: float) -> dict:
    summary = asdict(scores.summary(tree, data, effective=False))
    wanted = ("log_likelihood", "n_parameters", "bic", "aic", "caic", "adjusted_bic", "icl", "cheeseman_stutz")
    hidden = int(np.flatnonzero(tree.latent)[0])
    return {
        "n_classes": size,
        **{name: summary[name] for name in wanted},
        "relative_entropy": summary["relative_entropy"],
        "smallest_share": float(marginals(tree)[hidden].min()),
        "found_by": found_by,
        "seconds": seconds,
    }
