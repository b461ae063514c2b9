"""Agglomeration alone chooses among its numbers of states by the likelihood of the table that it was given."""

import numpy as np
import pytest

from pgmpy_latent import AgglomerativeCardinality, encode
from pgmpy_latent.networks.agglomeration.reassignment import RISE
from pgmpy_latent.networks.agglomeration.sizing import SMOOTHING, Sizing, SizingOptions
from pgmpy_latent.networks.graph import graph_of, nodes_in_order
from tests.networks.agglomeration.test_cardinality import both_methods, chain_of_two, copies, star, tuned
from tests.support import reference_agglomeration as slow
from tests.support import reference_networks


def agglomerated(graph, frame, method="bde", prior=1.0, decide="agglomeration"):
    """Return a network whose hidden variables have been agglomerated, before the choice."""
    data = encode(frame)
    learner = tuned(AgglomerativeCardinality, graph, show_progress=False)
    options = SizingOptions(method, prior, decide)
    names, parents = nodes_in_order(graph_of(graph), data)
    sizing = Sizing(data, learner._search(data), names, parents, sorted(graph.latents), None, options)
    sizing.agglomerate()
    return sizing


def by_enumeration(sizing, method, prior):
    """Return the score of the network at tables estimated from the completed table, by its definition."""
    work = sizing.assignment
    network = sizing.network()
    alpha = prior if method == "bde" else SMOOTHING
    counts = [
        slow.family_table(work.codes, work.weights, work.cards, work.parents, node) + alpha
        for node in range(len(work.names))
    ]
    network = network.with_tables([table / table.sum(axis=1, keepdims=True) for table in counts])
    seen = np.where(network.latent, -1, work.codes)
    given = work.weights @ reference_networks.log_likelihoods(network, seen)
    if method == "mdl":
        return given - network.n_parameters / 2 * np.log(work.weights.sum())
    complete = work.weights @ reference_networks.log_likelihoods(network, work.codes)
    nodes = range(len(work.names))
    marginal = slow.completed_score(work.codes, work.weights, work.cards, work.parents, nodes, method, prior)
    return given - complete + marginal


@both_methods
@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_the_score_with_known_states_is_that_of_its_definition(method, prior):
    graph, frame = chain_of_two(n_rows=60)
    graph.remove_nodes_from(["c", "f"])
    sizing = agglomerated(graph, frame.drop(columns=["c", "f"]), method, prior)
    assert sizing.hard_score() == pytest.approx(by_enumeration(sizing, method, prior), abs=1e-8)
    sizing._assign("g", 4)
    assert sizing.hard_score() == pytest.approx(by_enumeration(sizing, method, prior), abs=1e-8)


@both_methods
@pytest.mark.parametrize("seed", range(3))
def test_no_number_of_states_next_to_the_chosen_one_scores_higher(seed, method):
    sizing = agglomerated(star(), copies(n_rows=300, seed=seed, noise=0.5), method)
    sizing.choose()
    chosen, best = sizing._n_states("h"), sizing.hard_score()
    assert sizing.agglomerated == {"h": chosen}
    levels = sizing.assignment.traces["h"].levels
    for near in {chosen - 1, chosen + 1} & set(levels):
        sizing._assign("h", near)
        assert sizing.hard_score() <= best + RISE


def test_em_begins_with_the_states_that_agglomeration_found_whatever_is_chosen():
    frame = copies(n_rows=300, seed=7, noise=0.45)
    alone, with_em = (agglomerated(star(), frame, decide=decide) for decide in ("agglomeration", "em"))
    before = with_em.assignment.codes.copy()
    for sizing in (alone, with_em):
        sizing.choose()
        assert [entry.operator for entry in sizing.history] == ["agglomerate", "choose"]
    assert alone.agglomerated == with_em.agglomerated == {"h": alone._n_states("h")} != {"h": with_em._n_states("h")}
    np.testing.assert_array_equal(with_em.assignment.codes, before)
