"""NetworkEM: EM for pgmpy networks of any shape, with hidden variables and missing cells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pgmpy_latent.em.estimators import EMEstimator
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.model.network import LatentNetwork, reordered


class NetworkEM(EMEstimator):
    """Fit the parameters of any discrete network by expectation maximisation.

    For networks with hidden variables and missing cells anywhere; exact. What a row leaves open falls into components
    that do not depend on each other given the row, and each component is summed out once for every distinct state of
    what surrounds it. In a forest this is :class:`~pgmpy_latent.TreeEM`, which is faster there, and is used.

    Parameters
    ----------
    state_names : dict, optional
        Variable -> its states, also such as the data does not show. Otherwise the categories of the data.
    latent_card : dict or int, optional
        Hidden variable -> number of states (2 where it is not named); one number holds for all.
    n_init : int
        Number of random starts.
    max_iter : int
        Most iterations of a start.
    atol : float
        A start ends when the log-likelihood that further iterations would gain, by extrapolation, is below this; 0
        never stops early.
    prior : float, optional
        Dirichlet pseudo-count of every table entry: the estimate is ``(prior + count) / sum(prior + count)`` and the
        objective gains ``prior * log(entry)``. None is maximum likelihood, under which new rows may be impossible.
    init_cpds : dict or {"memberships", "random", "uniform"}, optional
        Where to begin: random class memberships of some rows (the default), random tables, uniform tables (with hidden
        variables a saddle point that EM cannot leave), or CPDs by variable. Variables that the dict leaves out begin
        with memberships; if it names all, there is one start, and the hidden states keep their order.
    seed : int, optional
        Same seed, same answer, whatever ``n_jobs`` is.
    n_jobs : int, optional
        Threads that share the starts; -1 for all cores, None for one. Where joblib was told to use other workers, these
        share the starts of an EM that takes long.
    show_progress : bool
        Whether fits of more than two seconds show a bar.
    memory_limit : float, optional
        Bytes that the distinct rows of a table in pieces may take; with more of them EM runs on shards. See
        :class:`~pgmpy_latent.TreeEM`.
    time_limit : float, optional
        Seconds; the best model so far is then fitted, and ``stopped_`` says so.
    checkpoint : path-like, optional
        File that EM is kept in; see :class:`~pgmpy_latent.TreeEM`.

    Attributes
    ----------
    parameters_ : list of TabularCPD
        The fitted tables, in the order of the model's nodes.
    state_names_ : dict
        States of every variable.
    network_ : LatentNetwork
        The fitted model. Hidden states are in the order of how many rows they account for.
    log_likelihood_ : float
        Natural logarithm of the likelihood of the data; larger is better.
    log_likelihoods_ : ndarray
        The same at every iteration of the best start.
    n_iter_, converged_, n_best_, start_objectives_, interrupted_, stopped_, degenerate_states_
        As in :class:`~pgmpy_latent.TreeEM`.

    Raises
    ------
    ComponentTooLargeError
        When it is fitted, if summing out what a row leaves open takes a table of more than 4,194,304 entries.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> data = pd.DataFrame({"a": [0, 0, 1, 1, None, 0], "b": [0, 0, 1, 1, 1, 1], "c": [0, 0, 1, None, 1, 0]})
    >>> model = DiscreteBayesianNetwork([("H", "a"), ("H", "b"), ("H", "c"), ("a", "c")], latents={"H"})
    >>> fitted = model.fit(data, estimator=NetworkEM(seed=0, show_progress=False))
    >>> fitted.check_model()
    True
    >>> round(NetworkEM(seed=0).fit(model, data).log_likelihood_, 3)
    -6.068
    """

    def _in_order(
        self, network: LatentNetwork, nodes: Sequence[Hashable], engine
    ) -> tuple[LatentNetwork, list[np.ndarray]]:
        shares = state_shares(network, engine)
        for name in nodes:
            node = network.index(name)
            order = np.argsort(-shares[node], kind="stable")
            network, shares[node] = reordered(network, node, order), shares[node][order]
        self.network_ = network
        return network, shares


def state_shares(network: LatentNetwork, engine) -> list[np.ndarray]:
    """Return the share of the rows that every state of every node accounts for, as the network expects it."""
    layout: Layout = engine.layout
    _, counts = engine.expected_counts(layout.pack(network.tables))
    total = engine.weights.sum()
    return [table.sum(axis=0) / total for table in layout.unpack(counts)]
