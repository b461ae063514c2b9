"""Chapter 5 of the thesis in small: can a superfluous component be merged away? (All of it: benchmarks/merging.py)."""

from itertools import combinations

import numpy as np
import pytest

from pgmpy_latent import LatentTree
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.operators import marginally_equivalent, merge_states
from tests.support import reference


def latent_class(shares, rows):
    tables = [np.atleast_2d(shares), *rows]
    names = ["H", *(f"D{at}" for at in range(1, len(tables)))]
    parent = [-1] + [0] * (len(tables) - 1)
    return LatentTree(names, [range(t.shape[1]) for t in tables], parent, [name == "H" for name in names], tables)


def distribution(model):
    """Return the probability of every cell of the observed variables, by enumeration."""
    states = reference.joint_states(model.cards)
    joint = reference.joint_probabilities(model.parent, model.tables, states)
    return joint.reshape(model.cards[0], -1).sum(axis=0)


def perfect_fit(model, rng):
    """Fit a component more to a model's own distribution; return it with the square root of its divergence."""
    target, cards = distribution(model), model.cards[1:]
    cells = reference.joint_states(cards)
    evidence = {at + 1: Evidence(cells[:, at], int(card)) for at, card in enumerate(cards)}
    engine = TreeEngine(compile_plan(model.parent, evidence), [model.cards[0] + 1, *cards], target)
    starts = np.stack([random_tables(engine.layout, rng) for _ in range(6)])
    tables = engine.layout.unpack(fit(engine, starts, max_iter=4000, atol=1e-16).tables)
    found = latent_class(tables[0], tables[1:])
    return found, np.sqrt(((distribution(found) - target) ** 2 / target).sum() / 2)


def nearest_pair(model, target):
    """Return how close merging the best pair of components comes to a distribution."""
    pairs = combinations(model.state_names[0], 2)
    return min(abs(distribution(merge_states(model, "H", pair)) - target).max() for pair in pairs)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_variables", "possible"), [(5, True), (3, False)])
def test_a_third_component_for_two(n_variables, possible, seed):
    rng = np.random.default_rng([seed, n_variables])
    model = latent_class(rng.dirichlet([1, 1]), [rng.dirichlet([1, 1], size=2) for _ in range(n_variables)])
    found, rest = perfect_fit(model, rng)
    assert rest < 1e-6  # a Kullback-Leibler divergence below 1e-12
    gap = nearest_pair(found, distribution(model))
    if possible:
        assert gap < 10 * rest + 1e-13
    else:
        assert gap > 1e3 * rest + 1e-5


def test_counter_example_to_conjecture_5_2():
    """Three components and four, none of them mergeable, with one distribution over five binary variables.

    Cells are polynomials of degree five in t; Gauss' rule with three nodes and Lobatto's with four integrate them
    exactly, and so give the same means.
    """
    gauss = [-np.sqrt(3 / 5), 0, np.sqrt(3 / 5)], [5 / 18, 8 / 18, 5 / 18]
    lobatto = [-1, -1 / np.sqrt(5), 1 / np.sqrt(5), 1], [1 / 12, 5 / 12, 5 / 12, 1 / 12]
    slopes = [0.5, 0.6, 0.7, 0.8, 0.9]
    small, large = (
        latent_class(weights, [np.array([[(1 - c * t) / 2, (1 + c * t) / 2] for t in nodes]) for c in slopes])
        for nodes, weights in (gauss, lobatto)
    )
    assert marginally_equivalent(small, large)
    assert distribution(large) == pytest.approx(distribution(small), abs=1e-15)
    assert nearest_pair(large, distribution(small)) > 0.009
