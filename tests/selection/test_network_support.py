"""How sure is a learned network: shares of bootstrap networks with its edges and hidden variables."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pgmpy_latent import (
    AgglomerativeCardinality,
    FindHidden,
    LatentNetwork,
    NetworkEM,
    StructuralEM,
    fitted,
    sample,
    support,
)
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.networks.fitter import NetworkLearner
from pgmpy_latent.plotting import plot_network
from pgmpy_latent.runtime.clock import TimeLimitReached

matplotlib.use("Agg")
QUIET = {"show_progress": False}


class Told(NetworkLearner):
    """A learner that is told what to find: each of some networks in turn, by its seed."""

    def __init__(self, networks=(), random_state=None, n_jobs=None, time_limit=None, show_progress=True):
        self.networks = networks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.show_progress = show_progress

    def _check_settings(self):
        pass

    def _learn(self, data):
        if isinstance(self.networks, dict):
            raise self.networks["error"]
        return Outcome(self.networks[(self.random_state or 0) % len(self.networks)], 0.0, 0.0, [])


def network_of(edges, hidden=(), columns="abcd"):
    names = [*hidden, *columns]
    parents = [[names.index(above) for above, below in edges if below == name] for name in names]
    tables = [np.full((2 ** len(above), 2), 0.5) for above in parents]
    return LatentNetwork(names, [[0, 1]] * len(names), parents, [name in hidden for name in names], tables)


ROWS = pd.DataFrame([list("0101"), list("1010"), list("1100")] * 4, columns=list("abcd")).astype(int)
CHAIN = network_of([("H", "a"), ("H", "b"), ("H", "c"), ("a", "d")], "H")
#: H is called otherwise, one of its edges has another direction, and one edge is gone.
ALIKE = network_of([("G", "a"), ("b", "G"), ("G", "c"), ("b", "a")], "G")
#: Here is nothing hidden.
PLAIN = network_of([("a", "d"), ("a", "b")])


def shares_by_seed(n, wanted):
    seeds = [int(np.random.SeedSequence(0, spawn_key=(at,)).generate_state(1)[0]) % 3 for at in range(n)]
    return np.mean([seed in wanted for seed in seeds])


def test_support_is_the_share_of_networks_with_the_edge_and_the_hidden_variable():
    learner = Told((CHAIN, ALIKE, PLAIN)).fit(ROWS)
    table = support(learner, ROWS, n_bootstrap=30, **QUIET)
    assert table[["kind", "parent", "child", "columns"]].to_numpy().tolist() == [
        ["hidden variable", "H", None, ("a", "b", "c")],
        ["edge", "H", "a", ()],
        ["edge", "H", "b", ()],
        ["edge", "H", "c", ()],
        ["edge", "a", "d", ()],
    ]
    hidden, turned, plain = shares_by_seed(30, (0, 1)), shares_by_seed(30, (0,)), shares_by_seed(30, (0, 2))
    assert len({hidden, turned, plain, 0.0, 1.0}) == 5
    np.testing.assert_allclose(table["support"], [hidden, hidden, hidden, hidden, plain])
    np.testing.assert_allclose(table["same_direction"], [np.nan, hidden, turned, hidden, plain])
    assert table.attrs == {"n_bootstrap": 30}
    pd.testing.assert_frame_equal(support(learner, ROWS, n_bootstrap=30, n_jobs=2, **QUIET), table)


def test_nothing_to_support():
    learner = Told((network_of([]),)).fit(ROWS)
    with pytest.warns(UserWarning, match="this network has none: all columns are independent"):
        table = support(learner, ROWS, **QUIET)
    assert table.columns.tolist() == ["kind", "parent", "child", "columns", "support", "same_direction"]
    assert len(table) == table.attrs["n_bootstrap"] == 0


NEAR, BOTH = [[0.9, 0.1], [0.1, 0.9]], [[0.95, 0.05], [0.5, 0.5], [0.5, 0.5], [0.05, 0.95]]
TRUTH = LatentNetwork(
    ["H", *"pqrst"], [[0, 1]] * 6, [(), (0,), (0,), (0,), (0,), (1, 2)], [True] + [False] * 5,
    [[[0.5, 0.5]], *[NEAR] * 4, BOTH],
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return sample(TRUTH, 600, random_state=0)


def test_what_is_planted_is_found_again_and_drawn(rows):
    learner = FindHidden(scoring_method="bic", max_latents=1, n_states=2, random_state=0, **QUIET).fit(rows)
    assert len(learner.latents_) == 1
    table = support(learner, rows, n_bootstrap=3, **QUIET)
    assert table["support"][0] == 1.0
    assert table["support"].between(0, 1).all()
    assert (table["same_direction"].dropna() <= table["support"][1:]).all()
    ax = plot_network(learner, support=table)
    assert any(text.get_text().endswith("(2) 100%") for text in ax.texts)


def test_structural_em_and_agglomeration_keep_what_they_are_given(rows):
    learner = StructuralEM(TRUTH, random_state=0, **QUIET).fit(rows)
    table = support(learner, rows, n_bootstrap=2, **QUIET)
    assert len(table) == len(learner.network_.edges) + 1
    given = AgglomerativeCardinality(TRUTH, random_state=0, **QUIET).fit(rows)
    kept = support(given, rows, n_bootstrap=2, **QUIET)
    assert (kept["support"] == 1.0).all()


def test_the_time_limit_returns_what_is_done(monkeypatch, rows):
    learner = Told((CHAIN,)).fit(ROWS)
    calls, fit = [], Told.fit

    def late(self, *arguments, **options):
        calls.append(self.time_limit)
        if len(calls) > 3:
            raise TimeLimitReached
        return fit(self, *arguments, **options)

    monkeypatch.setattr(Told, "fit", late)
    with pytest.warns(ConvergenceWarning, match="stopped the bootstrap; the support rests on 3 of 9 networks"):
        table = support(learner, ROWS, n_bootstrap=9, time_limit=1e6, **QUIET)
    assert table.attrs["n_bootstrap"] == 3
    assert all(0 < limit <= 1e6 for limit in calls)  # searches end with the time of all
    with pytest.warns(ConvergenceWarning, match="The time limit stopped the bootstrap; nothing is known"):
        nothing = support(learner, ROWS, n_bootstrap=9, time_limit=1e-9, **QUIET)
    assert nothing["support"].isna().all()
    with pytest.raises(ValueError, match="time_limit is -1"):
        support(learner, ROWS, time_limit=-1, **QUIET)


def test_a_search_that_was_cut_short_is_no_draw(rows):
    learner = StructuralEM(random_state=0, **QUIET).fit(rows)
    with pytest.warns(ConvergenceWarning, match="The time limit stopped the bootstrap"):
        table = support(learner, rows, n_bootstrap=10**6, time_limit=0.5, **QUIET)
    assert 0 < table.attrs["n_bootstrap"] < 10**6


def test_who_can_be_asked(rows):
    network = network_of([("H", name) for name in "pqrst"], "H", "pqrst")
    with pytest.raises(NotFittedError):
        support(FindHidden(), rows, **QUIET)
    for other in (network, fitted(network), NetworkEM()):
        with pytest.raises(TypeError, match=r"expected a fitted learner of latent trees or networks .* does not know"):
            support(other, rows, **QUIET)
