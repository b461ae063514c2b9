"""Structural EM: the hill climb against a slow, obvious one, and the learner as its users meet it."""

import pickle
from itertools import combinations, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.structure_score import BIC, K2
from scipy.special import betaln, gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks

from pgmpy_latent import (
    EAST,
    LatentNetwork,
    NetworkEM,
    StructuralEM,
    encode,
    log_likelihood,
    presets,
    sample,
    scores,
    to_pgmpy,
)
from pgmpy_latent.exceptions import DataError, StateNameError
from pgmpy_latent.model.network import as_network, topological_order
from pgmpy_latent.networks.hill_climb import RISE, Climber
from pgmpy_latent.networks.scoring import bde_score, bdeu_score, bic_score
from tests.support.samples import HISTORY, latent_class, press_ctrl_c, two_classes_of_columns

# Scores of families -----------------------------------------------------------------------------------------------


@st.composite
def family_counts(draw):
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = rng.gamma(1.0, 5.0, size=shape) if draw(st.booleans()) else rng.integers(0, 9, size=shape).astype(float)
    return counts * (rng.random(shape) < draw(st.sampled_from([0.5, 1.0])))


@given(family_counts(), st.sampled_from([0.1, 0.5, 1.0, 3.0]))
def test_the_marginal_likelihood_of_a_family_is_its_definition(counts, prior):
    expected = 0.0
    for row in counts:
        expected += gammaln(prior * len(row)) - gammaln(prior * len(row) + row.sum())
        expected += sum(gammaln(prior + entry) - gammaln(prior) for entry in row)
    assert bde_score(counts, counts.sum(), prior) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(family_counts().filter(lambda counts: counts.shape[1] == 2), st.sampled_from([0.5, 1.0]))
@settings(max_examples=20)
def test_the_marginal_likelihood_of_two_states_is_a_ratio_of_beta_functions(counts, prior):
    expected = sum(betaln(prior + left, prior + right) - betaln(prior, prior) for left, right in counts)
    assert bde_score(counts, counts.sum(), prior) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(family_counts(), st.sampled_from([0.5, 1.0, 10.0]))
def test_with_an_equivalent_sample_size_the_entries_share_the_prior(counts, size):
    assert bdeu_score(counts, counts.sum(), size) == pytest.approx(
        bde_score(counts, counts.sum(), size / counts.size), rel=1e-12, abs=1e-9
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 10.0]))
def test_an_equivalent_sample_size_gives_equivalent_networks_the_same_score(seed, size):
    """An edge whose ends have the same other parents may be turned; an edge into a common child may not."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, 4)
    codes = rng.integers(0, cards, size=(50, 4))

    def total(graph):
        counts = [counted(codes, cards, node, above) for node, above in graph.items()]
        return sum(bdeu_score(table, len(codes), size) for table in counts)

    chain, turned = {0: (), 1: (0,), 2: (1,), 3: (0, 1)}, {1: (), 0: (1,), 2: (1,), 3: (0, 1)}
    assert total(chain) == pytest.approx(total(turned), rel=1e-10)
    collider = {0: (), 2: (), 1: (0, 2), 3: (0, 1)}
    assert total(collider) != pytest.approx(total(chain), rel=1e-10)


@given(family_counts())
def test_the_bic_of_a_family_is_its_definition(counts):
    total = counts.sum() + 1
    expected = -counts.shape[0] * (counts.shape[1] - 1) / 2 * np.log(total)
    for row in counts:
        expected += sum(entry * np.log(entry / row.sum()) for entry in row if entry > 0)
    assert bic_score(counts, total) == pytest.approx(expected, rel=1e-12, abs=1e-9)


# The hill climb ---------------------------------------------------------------------------------------------------


def counted(codes, cards, node, parents):
    """Return the counts of a family: a row per combination of the parents' states."""
    table = np.zeros([cards[member] for member in (*parents, node)])
    np.add.at(table, tuple(codes[:, [*parents, node]].T), 1.0)
    return table.reshape(-1, cards[node])


@st.composite
def tables(draw):
    """Return what scores the families of a random complete table, and its number of columns."""
    cards = draw(st.lists(st.integers(2, 3), min_size=3, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, cards, size=(draw(st.integers(5, 120)), len(cards)))
    for left, right in combinations(range(len(cards)), 2):
        same = rng.random(len(codes)) < draw(st.sampled_from([0.0, 0.3, 0.8]))
        codes[same, right] = codes[same, left] % cards[right]
    scoring_method = draw(st.sampled_from(["bic", "bde"]))

    def score(node, parents):
        counts = counted(codes, cards, node, parents)
        return bic_score(counts, len(codes)) if scoring_method == "bic" else bde_score(counts, len(codes), 0.5)

    return score, len(cards)


def graphs_nearby(parents, free):
    """Return the graphs that a single change of an edge leads to: by parent, then child; removing before turning."""
    for parent, child in product(range(len(parents)), sorted(free)):
        new = [set(above) for above in parents]
        if parent == child:
            continue
        if parent in parents[child]:
            new[child].remove(parent)
            yield [tuple(sorted(above)) for above in new]
            if parent in free:
                new[parent].add(child)
                yield [tuple(sorted(above)) for above in new]
        else:
            new[child].add(parent)
            yield [tuple(sorted(above)) for above in new]


def is_allowed(parents, max_parents):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((above, node) for node, some in enumerate(parents) for above in some)
    few = all(len(above) <= max_parents for above in parents)
    return few and nx.is_directed_acyclic_graph(graph)


def slow_climb(score, parents, free, max_parents):
    """Ascent by the scores of whole graphs; of changes that help equally, to rounding, the first is made."""

    def total(graph):
        return sum(score(node, above) for node, above in enumerate(graph))

    while True:
        best, rise, now = None, RISE, total(parents)
        for graph in graphs_nearby(parents, free):
            if is_allowed(graph, max_parents) and total(graph) - now > rise + RISE:
                best, rise = graph, total(graph) - now
        if best is None:
            return parents
        parents = best


@given(tables(), st.integers(1, 3))
def test_the_climb_ends_where_no_change_of_an_edge_helps(table, max_parents):
    score, n_nodes = table
    found = Climber(score, range(n_nodes), max_parents).climb([()] * n_nodes)
    assert is_allowed(found, max_parents)
    best = sum(score(node, above) for node, above in enumerate(found))
    for graph in graphs_nearby(found, range(n_nodes)):
        if is_allowed(graph, max_parents):
            assert sum(score(node, above) for node, above in enumerate(graph)) <= best + 2 * RISE + 1e-9


@given(tables(), st.integers(1, 3), st.data())
def test_the_climb_takes_the_steps_of_an_obvious_one(table, max_parents, data):
    score, n_nodes = table
    free = sorted(data.draw(st.sets(st.integers(0, n_nodes - 1), min_size=1)))
    start = [tuple(range(max(0, node - 1), node)) for node in range(n_nodes)]
    if data.draw(st.booleans()) or not is_allowed(start, max_parents):
        start = [()] * n_nodes
    found = Climber(score, free, max_parents).climb(start)
    assert found == slow_climb(score, start, free, max_parents)
    assert is_allowed(found, max_parents)
    assert all(found[node] == start[node] for node in range(n_nodes) if node not in free)


def test_of_equal_changes_the_first_is_made():
    climber = Climber(lambda node, parents: float(len(parents)), range(3), 1)
    assert climber.climb([()] * 3) == [(), (0,), (0,)]  # by parent, then child
    nearly = Climber(lambda node, parents: (1.0 + 1e-9 * node) * len(parents), range(3), 1)
    assert nearly.climb([()] * 3) == [(), (0,), (0,)]


def test_every_family_is_scored_once_and_the_clock_is_looked_at_for_each():
    asked, ticks = [], []

    def score(node, parents):
        asked.append((node, parents))
        return float(len(parents))

    Climber(score, range(4), 2, tick=lambda: ticks.append(None)).climb([()] * 4)
    assert len(asked) == len(set(asked)) == len(ticks)
    assert all(parents == tuple(sorted(parents)) for _, parents in asked)


@given(tables(), st.data())
def test_the_climb_keeps_to_what_it_may_change(table, data):
    """Edges that may not be added, families that may not be had, edges that stay, and paths outside the graph."""
    score, n_nodes = table
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    may_link, may_lose = rng.random((2, n_nodes, n_nodes)) < 0.7
    start = [tuple(range(max(0, node - 1), node)) for node in range(n_nodes)]
    paths = [(0,) if node == n_nodes - 1 else () for node in range(n_nodes)]
    found = Climber(
        score,
        range(n_nodes),
        3,
        may_have=lambda node, parents: len(parents) < 3,
        may_lose=lambda parent, child: bool(may_lose[parent, child]),
        may_link=may_link,
        paths=paths,
    ).climb(start)
    before = {(above, node) for node, some in enumerate(start) for above in some}
    after = {(above, node) for node, some in enumerate(found) for above in some}
    assert all(may_link[edge] for edge in after - before)
    assert all(may_lose[edge] for edge in before - after)
    assert all(len(above) < 3 for above in found)
    assert nx.is_directed_acyclic_graph(nx.DiGraph([*after, (0, n_nodes - 1)]))


# Nothing hidden ---------------------------------------------------------------------------------------------------


def learner(start=None, **options):
    return StructuralEM(start, **{"random_state": 0, "show_progress": False, **options})


def known(n=1500, seed=0, gaps=0.0):
    """Return a table from a network a -> c <- b, c -> d, with e alone."""
    rng = np.random.default_rng(seed)
    a, b, e = rng.integers(2, size=n), rng.integers(3, size=n), rng.integers(2, size=n)
    c = np.where(rng.random(n) < 0.9, (a == 1) & (b > 0), rng.random(n) < 0.5).astype(int)
    d = np.where(rng.random(n) < 0.85, c, 1 - c)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})
    return frame.mask(rng.random(frame.shape) < gaps)


def skeleton(model):
    return {frozenset(edge) for edge in model.edges()}


def test_without_anything_hidden_or_missing_it_is_the_hill_climb():
    rng = np.random.default_rng(3)
    for scoring_method, max_parents in product(["bic", "bde"], [1, 2, 5]):
        frame = known(60, seed=int(rng.integers(100)))
        codes, cards = frame.to_numpy(), [frame[name].nunique() for name in frame]
        family = {"bic": bic_score, "bde": lambda counts, total: bde_score(counts, total, 0.5)}[scoring_method]

        def score(node, parents, codes=codes, cards=cards, family=family):
            return family(counted(codes, cards, node, parents), len(codes))

        expected = slow_climb(score, [()] * 5, range(5), max_parents)
        found = learner(scoring_method=scoring_method, max_parents=max_parents).fit(frame)
        edges = {(frame.columns[above], frame.columns[node]) for node, some in enumerate(expected) for above in some}
        assert set(found.model_.edges()) == edges
        assert found.score_ == pytest.approx(sum(score(node, above) for node, above in enumerate(expected)), abs=1e-6)


def test_its_scores_are_those_of_pgmpy():
    frame = known()
    found = learner().fit(frame)
    assert found.score_ == pytest.approx(BIC(frame).score(found.model_), abs=1e-6)
    found = learner(scoring_method="bde", prior=1).fit(frame)
    assert found.score_ == pytest.approx(K2(frame).score(found.model_), abs=1e-6)


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_it_recovers_a_small_network_from_plenty_of_data(gaps):
    found = learner().fit(known(3000, gaps=gaps))
    assert skeleton(found.model_) == {frozenset("ac"), frozenset("bc"), frozenset("cd")}
    assert {("a", "c"), ("b", "c")} <= set(found.model_.edges())  # a collider has one direction


@pytest.mark.parametrize("scoring_method", ["bic", "bde"])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_it_recovers_the_skeleton_of_a_tree_from_plenty_of_data(scoring_method, gaps):
    rng = np.random.default_rng(1)
    columns = {"a": rng.integers(3, size=2000), "z": rng.integers(2, size=2000)}
    for above, name in ("ab", "bc", "bd", "de"):
        columns[name] = np.where(rng.random(2000) < 0.7, columns[above], rng.integers(3, size=2000))
    frame = pd.DataFrame(columns).mask(rng.random((2000, 6)) < gaps)
    found = learner(scoring_method=scoring_method).fit(frame)
    assert skeleton(found.model_) == {frozenset("ab"), frozenset("bc"), frozenset("bd"), frozenset("de")}
    assert found.latents_ == []
    assert found.history_["score"].is_monotonic_increasing
    assert found.history_["score"].iloc[-1] == found.score_
    assert len(found.history_) > 1


@pytest.mark.parametrize("scoring_method", ["bic", "bde"])
def test_the_order_of_columns_and_rows_does_not_matter(scoring_method):
    frame = known(400, gaps=0.05)
    expected = learner(scoring_method=scoring_method).fit(frame)
    for seed in range(3):
        mixed = frame.sample(frac=1, random_state=seed).sample(frac=1, axis=1, random_state=seed)
        found = learner(scoring_method=scoring_method).fit(mixed)
        assert set(found.model_.edges()) == set(expected.model_.edges())
        assert found.score_ == pytest.approx(expected.score_, rel=1e-9)
        assert found.network_.observed_names == tuple(mixed.columns)


# Something hidden -------------------------------------------------------------------------------------------------

TRUTH = two_classes_of_columns()


def observed(n=600, seed=0, gaps=0.0):
    frame = sample(TRUTH, n, random_state=seed)
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < gaps)


def star(latents=("H",), columns=TRUTH.observed_names):
    return DAG([(hidden, column) for hidden in latents for column in columns], latents=set(latents))


STARTS = {
    "dag": star,
    "pgmpy network without tables": lambda: DiscreteBayesianNetwork(star().edges(), latents={"H"}),
    "pgmpy network": lambda: to_pgmpy(TRUTH),
    "tree": lambda: TRUTH,
    "network": lambda: as_network(TRUTH),
    "learner of trees": lambda: EAST(
        tuning=presets.EAST.replace(excursions=(), look_ahead=0), random_state=0, show_progress=False
    ).fit(observed()),
    "learner of networks": lambda: learner(TRUTH, tuning=presets.STRUCTURAL_EM.replace(search_iter=5)).fit(observed()),
    "estimator": lambda: NetworkEM(seed=0, n_init=2, show_progress=False).fit(star(), observed()),
}
#: How many states the hidden variables of these have.
SIZES = {
    "pgmpy network": [2, 2],
    "tree": [2, 2],
    "network": [2, 2],
    "learner of trees": [2, 2],
    "learner of networks": [2, 2],
}


@pytest.mark.parametrize("scoring_method", ["bic", "bde"])
@pytest.mark.parametrize("kind", STARTS)
def test_hidden_variables_of_a_start_stay_with_their_states(kind, scoring_method):
    frame = observed(gaps=0.05)
    found = learner(STARTS[kind](), scoring_method=scoring_method).fit(frame)
    assert list(found.n_states_.values()) == SIZES.get(kind, [2])
    assert found.history_["score"].is_monotonic_increasing
    assert found.history_["operator"].iloc[0] == "start"
    assert found.history_["score"].iloc[-1] == found.score_
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, frame), rel=1e-10)
    assert found.n_parameters_ == scores.n_parameters(found.network_)
    assert found.bic_ == pytest.approx(found.log_likelihood_ - found.n_parameters_ / 2 * np.log(len(frame)), rel=1e-10)
    cheeseman_stutz = scores.cheeseman_stutz(found.network_, frame, prior=0.5)
    assert found.score_ == pytest.approx(found.bic_ if scoring_method == "bic" else cheeseman_stutz, rel=1e-9)


def test_n_states_says_how_many_states_there_are():
    assert learner(star(), n_states=3).fit(observed()).n_states_ == {"H": 3}
    assert learner(TRUTH, n_states={"A": 3}).fit(observed()).n_states_ == {"A": 3, "B": 2}
    assert learner(star(["G", "H"]), n_states={"G": 1}).fit(observed()).n_states_ == {"G": 1, "H": 2}


def test_a_start_with_tables_is_where_it_begins():
    frame = observed()
    found = learner(TRUTH).fit(frame)
    assert found.history_["log_likelihood"].iloc[0] >= log_likelihood(TRUTH, frame)
    assert set(found.model_.edges()) == set(to_pgmpy(TRUTH).edges())
    again = learner(found).fit(frame)
    assert set(again.model_.edges()) == set(found.model_.edges())
    assert again.score_ >= found.score_ - 1e-6


def test_a_start_may_list_nodes_parents_and_states_in_any_order():
    names = ["y", "B", "x", "A", "z"]
    states = [["no", "yes"], [0, 1], ["q", "p"], [0, 1, 2], [3, 1, 2]]
    parents = [(3, 1), (2,), (), (1, 2), (1, 0, 3)]
    cards = [len(own) for own in states]
    rng = np.random.default_rng(0)
    sizes = [int(np.prod([cards[above] for above in some], dtype=int)) for some in parents]
    drawn = [rng.dirichlet(np.ones(card), size=size) for card, size in zip(cards, sizes, strict=True)]
    network = LatentNetwork(names, states, parents, [name in "AB" for name in names], drawn)
    frame = sample(network, 300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        found = learner(network, time_limit=1e-9).fit(frame)  # it ends where it begins
    assert found.log_likelihood_ == pytest.approx(log_likelihood(network, frame), rel=1e-12)
    assert found.network_.latent_names == ("A", "B")
    assert {frozenset(edge) for edge in found.network_.edges} == {frozenset(edge) for edge in network.edges}


@pytest.mark.parametrize("scoring_method", ["bic", "bde"])
def test_a_weight_is_a_repeated_row(scoring_method):
    frame = observed(300, gaps=0.05)
    weights = np.random.default_rng(0).integers(0, 4, size=300)
    weighted = learner(star(), scoring_method=scoring_method).fit(frame, sample_weight=weights)
    repeated = learner(star(), scoring_method=scoring_method).fit(frame.loc[frame.index.repeat(weights)])
    assert weighted.score_ == pytest.approx(repeated.score_, rel=1e-9)
    assert weighted.network_.edges == repeated.network_.edges
    for mine, theirs in zip(weighted.network_.tables, repeated.network_.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)


def assert_same_network(left, right):
    assert left.names == right.names
    assert left.parents == right.parents
    for mine, theirs in zip(left.tables, right.tables, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_same_seed_same_answer_whatever_the_number_of_jobs():
    frame, options = observed(300, gaps=0.05), {"n_states": 3, "random_state": 5}
    first = learner(star(), **options).fit(frame)
    for n_jobs in (None, 2):
        assert_same_network(first.network_, learner(star(), **options, n_jobs=n_jobs).fit(frame).network_)


# What every learner leaves behind ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return learner(star(), n_states=3, prior=0.1).fit(observed(gaps=0.05))


def test_what_is_learned_agrees_with_itself(found):
    assert isinstance(found.network_, LatentNetwork)
    assert found.network_.names == ("H", *TRUTH.observed_names)
    assert found.latents_ == ["H"]
    assert found.not_needed_ == []
    assert found.stopped_ is None
    assert found.n_features_in_ == 6
    assert found.feature_names_in_.tolist() == list(TRUTH.observed_names)
    assert found.history_.columns.tolist() == HISTORY
    assert found.model_ is found.causal_graph_
    assert isinstance(found.model_, DiscreteBayesianNetwork)
    assert found.model_.check_model()
    assert found.model_.latents == {"H"}
    assert set(found.model_.edges()) == set(found.network_.edges)
    assert found.adjacency_matrix_.to_numpy().sum() == len(found.network_.edges)
    assert topological_order(found.network_.parents)


def test_hidden_states_are_numbered_from_the_largest(found):
    data = encode(observed(gaps=0.05))
    shares = found.predict_proba(data)["H"].mean().to_numpy()
    assert found.network_.state_names[0] == (0, 1, 2)
    assert (np.diff(shares) <= 1e-9).all()


def test_answers_about_rows_are_those_of_pgmpy(found):
    rows = observed(6, seed=9, gaps=0.2).set_axis(list("uvwxyz"))
    shares, states = found.predict_proba(rows), found.predict(rows)
    inference = VariableElimination(found.model_)
    for at, row in rows.iterrows():
        evidence = {name: int(value) for name, value in row.dropna().items()}
        expected = inference.query(["H"], evidence=evidence, show_progress=False).values
        np.testing.assert_allclose(shares.loc[at, "H"], expected, atol=1e-9)
        assert states.loc[at, "H"] == np.argmax(expected)
        joint = inference.query(list(evidence), show_progress=False).get_value(**evidence)
        assert found.score_samples(rows)[list(rows.index).index(at)] == pytest.approx(np.log(joint), abs=1e-9)
    np.testing.assert_array_equal(found.transform(rows), shares.to_numpy())
    assert found.get_feature_names_out().tolist() == ["H=0", "H=1", "H=2"]
    assert found.score(rows) == pytest.approx(found.score_samples(rows).mean(), rel=1e-12)


def test_gaps_are_filled_and_rows_drawn(found):
    rows = observed(50, seed=9, gaps=0.2)
    for options in ({}, {"method": "draw", "random_state": 0}):
        filled = found.impute(rows, **options)
        assert filled.columns.tolist() == list(rows.columns)
        assert not filled.isna().any(axis=None)
        there = rows.notna().to_numpy()
        assert (filled.to_numpy(dtype=float)[there] == rows.to_numpy(dtype=float)[there]).all()
    drawn = found.sample(5, random_state=0)
    assert drawn.columns.tolist() == list(TRUTH.observed_names)
    pd.testing.assert_frame_equal(drawn, found.sample(5, random_state=0))
    assert set(found.sample(2, latents=True)) == {"H", *drawn}


def test_settings_are_stored_as_given_and_copies_answer_alike(found):
    options = {"scoring_method": "bde", "max_parents": 2, "n_states": {"A": 3}}
    one = learner(TRUTH, **options)
    assert {name: one.get_params()[name] for name in options} == options
    assert one.get_params()["start"] is TRUTH
    assert clone(one).get_params() == one.get_params()
    rows = observed(20)
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.score_samples(rows), found.score_samples(rows))


@pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.UnseenCategoryWarning")
@estimator_checks.parametrize_with_checks([learner()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# What ends it early, and what bad input gets ----------------------------------------------------------------------


@pytest.mark.parametrize("start", [None, star()])
def test_when_time_is_up_the_best_so_far_is_returned(start):
    with pytest.warns(ConvergenceWarning, match="time limit stopped the search.*best model so far"):
        found = learner(start, time_limit=1e-9).fit(observed())
    assert found.stopped_ == "time_limit"
    assert found.model_.check_model()
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, observed()), rel=1e-10)


@pytest.mark.parametrize("moment", [1, 15, 60, 120])
def test_ctrl_c_gives_the_best_so_far(monkeypatch, moment):
    press_ctrl_c(monkeypatch, moment)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search.*best model so far"):
        found = learner(star(), n_starts=2).fit(observed())
    assert found.stopped_ == "interrupted"
    assert found.history_["score"].iloc[-1] == found.score_
    assert found.log_likelihood_ == pytest.approx(log_likelihood(found.network_, observed()), rel=1e-10)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scoring_method": "aic"}, ValueError, r"scoring_method is 'aic'; give 'bde', 'bdeu' or 'bic'"),
        ({"scoring_method": "bde", "prior": 0}, ValueError, "prior is 0, with which 'bde' is not defined"),
        ({"n_states": 3}, ValueError, "n_states needs a start"),
        ({"start": star(), "n_states": {"J": 3}}, StateNameError, r"n_states names \['J'\]; .* are \['H'\]"),
        ({"start": star(), "n_states": {"H": 0}}, StateNameError, "n_states of 'H' is 0"),
        ({"start": star(columns=["a1", "q"])}, DataError, r"start has nodes that are not columns .*\['q'\]"),
        ({"start": star(columns=["a1"])}, DataError, r"start lacks the columns \['a2', 'a3', 'b1', 'b2', 'b3'\]"),
        ({"start": latent_class(2, [2, 2])}, DataError, r"start has nodes that are not columns .*\['x0', 'x1'\]"),
        ({"start": star(["a1"], ["a2", "b1"])}, DataError, r"start hides \['a1'\], which are columns"),
        ({"start": StructuralEM()}, TypeError, "start is a StructuralEM that is not fitted"),
        ({"start": "network"}, TypeError, "start is a str; give a pgmpy network"),
        ({"max_parents": 0}, ValueError, "max_parents is 0"),
        ({"n_starts": 0}, ValueError, "n_starts is 0"),
        ({"prior": -1}, ValueError, "prior is -1"),
        ({"time_limit": 0}, ValueError, "time_limit is 0; give a number of seconds above 0"),
    ],
)
def test_settings_that_cannot_be_meant(options, error, message):
    with pytest.raises(error, match=message):
        learner(**options).fit(observed(50))


def test_with_an_equivalent_sample_size_nothing_depends_on_directions_that_the_data_cannot_tell():
    table = known(600)[["b", "c"]]
    scored = [
        StructuralEM(DAG([tuple(edge)]), scoring_method="bdeu", show_progress=False).fit(table) for edge in ("bc", "cb")
    ]
    assert [len(learner.network_.edges) for learner in scored] == [1, 1]
    assert scored[0].score_ == pytest.approx(scored[1].score_, rel=1e-9)
    network = scored[0].network_
    codes = encode(table).codes_of(network.names)
    weights = encode(table).weights
    rows = codes.repeat(weights.astype(int), axis=0)
    total = sum(
        bdeu_score(counted(rows, network.cards, node, above), len(rows), 10.0)
        for node, above in enumerate(network.parents)
    )
    assert scored[0].score_ == pytest.approx(total, rel=1e-9)


def test_families_whose_tables_exceed_the_rows_are_not_proposed():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=(150, 4))
    codes[:, 3] = codes[:, :3].sum(axis=1) % 6
    found = StructuralEM(scoring_method="bde", prior=1e-6, show_progress=False).fit(
        pd.DataFrame(codes, columns=list("wxyz"))
    )
    assert all(table.size <= 150 for table in found.network_.tables)
    assert scores.n_parameters(found.network_) < 4 * 150
