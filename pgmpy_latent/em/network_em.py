"""NetworkEM: EM for pgmpy networks of any shape, with hidden variables and missing cells."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.em.estimators import EMEstimator, state_shares
from pgmpy_latent.em.inputs import Structure
from pgmpy_latent.inference.protocol import Engine
from pgmpy_latent.model.network import LatentNetwork, reordered_tables
from pgmpy_latent.model.tree import MissingCodes


class NetworkEM(EMEstimator):
    """Fit the parameters of any discrete network by expectation maximisation.

    For networks with hidden variables and missing cells anywhere; inference is exact. The unknown variables of a row
    fall into components that are independent given the row, and each component is summed out once for every distinct
    combination of the known variables around it. Forests get the faster engine of :class:`~pgmpy_latent.TreeEM`.

    Parameters
    ----------
    {shared}

    Attributes
    ----------
    parameters_ : list of TabularCPD
        The fitted tables, in the order of the model's nodes.
    state_names_ : dict
        States of every variable.
    network_ : LatentNetwork
        The fitted model. Hidden states are sorted by their share of the rows, largest first.
    log_likelihood_ : float
        Natural logarithm of the likelihood of the data; larger is better.
    log_likelihoods_ : ndarray
        The same at every iteration of the best start.
    n_iter_, converged_, n_best_, start_objectives_, interrupted_, stopped_, degenerate_states_, n_parameters_, bic_
        As in :class:`~pgmpy_latent.TreeEM`.

    Raises
    ------
    ComponentTooLargeError
        In ``fit``, if summing out the unknown variables of a row takes a table of more than 4,194,304 entries.

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

    network_: LatentNetwork

    def _build_model(
        self,
        structure: Structure,
        state_names: list[tuple],
        tables: np.ndarray,
        engine: Engine,
        missing: MissingCodes,
    ) -> tuple[LatentNetwork, list[np.ndarray]]:
        shares = state_shares(engine, tables)
        orders = self._wanted.orders(structure, shares, self._sortable(structure))
        ordered = reordered_tables(engine.layout.unpack(tables), structure.parents, orders)
        self.network_ = LatentNetwork(
            structure.names, state_names, structure.parents, structure.latent, ordered, missing
        )
        return self.network_, [share[orders[node]] if node in orders else share for node, share in enumerate(shares)]
