"""Cross-validation, which decides between two networks whose scores are too close to tell which one is better."""

from __future__ import annotations

from functools import cached_property

from pgmpy_latent.em.smoothing import smoothed_tables
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.search import Search
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.fitter import Fitter
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import Fold, folds

#: Number of folds; pseudo-count of every table entry, and the log-likelihood that EM may leave to gain in each.
N_FOLDS, PSEUDO_COUNT, TOL = 5, 0.5, 0.1
#: Key of the seed of the folds.
FOLDS = (0, 3)
#: Random starts of networks with hidden variables in each fold, and the key of their seeds.
N_STARTS, STARTS = 8, (0, 4)


class TieBreak:
    """Compares networks by rows that their tables were not fitted to.

    Parameters
    ----------
    data : CategoricalData
        The table. It is divided once, so that all networks are compared by the same folds.
    search : Search
        Has the seed of the folds, and the clock that may end EM.
    """

    def __init__(self, data: CategoricalData, search: Search):
        self.data = data
        self.search = search
        self._known: tuple[LatentNetwork, float] | None = None

    def prefers(self, new: LatentNetwork, old: LatentNetwork) -> bool:
        """Tell whether held-out rows are likelier under the new network; no, if there are too few rows for folds.

        Edges and numbers of states stay; the tables are fitted to the other rows, from the beginning: tables that had
        seen the rows of the fold would remember them.
        """
        if not self._folds:
            return False
        if self._known is None or self._known[0] is not old:
            self._known = old, self.held_out_log_likelihood(old)
        return self.held_out_log_likelihood(new) > self._known[1]

    def held_out_log_likelihood(self, network: LatentNetwork) -> float:
        """Return the log-likelihood of all rows, each under the tables that the rows of other folds give."""
        return sum(self._of_fold(network, fold) for fold in self._folds)

    def _of_fold(self, network: LatentNetwork, fold: Fold) -> float:
        network = self._begun_anew(network, fold.learn)
        fitted = smoothed_tables(network, fold.learn, PSEUDO_COUNT, TOL, self.search.clock)
        engine = engine_for(fitted, fold.held_out)
        return float(engine.log_likelihood(engine.layout.pack(fitted.tables)))

    def _begun_anew(self, network: LatentNetwork, data: CategoricalData) -> LatentNetwork:
        """Return the network with tables from random starts, if variables are hidden; EM needs no start otherwise."""
        if not network.latent.any():
            return network
        cards = {name: int(network.cards[network.index(name)]) for name in network.latent_names}
        fitter = Fitter(data, self.search)
        fit = fitter.from_scratch(network.names, network.parents, cards, N_STARTS, STARTS, narrowing=2.0)
        return fit.network

    @cached_property
    def _folds(self) -> list[Fold]:
        try:
            return folds(self.data, N_FOLDS, self.search.seed(*FOLDS))
        except DataError:
            return []
