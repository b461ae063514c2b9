"""Small forests around some nodes say what a change of the whole forest gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import gaussian
from pgmpy_latent.em.fit import fit as run_em
from pgmpy_latent.gaussian.completion import completed_correlations
from pgmpy_latent.gaussian.edits import Edit
from pgmpy_latent.gaussian.first_forests import joined_neighbours
from pgmpy_latent.gaussian.fit import fitted
from pgmpy_latent.gaussian.forest import Forest, forest_of, tidy
from pgmpy_latent.gaussian.moments import moments_of
from pgmpy_latent.gaussian.moves import Moves
from pgmpy_latent.gaussian.neighbourhoods import Scores
from pgmpy_latent.gaussian.shape import Inference, Shape, all_correlations
from pgmpy_latent.testing import gaussian_trees
from tests.support.gaussian_samples import THREE, drawn


@given(gaussian_trees(max_nodes=9, latents_are_inner=True), st.integers(0, 100))
def test_scores_are_the_best_predictions_from_behind_an_edge(tree, seed):
    """A score is proportional to the conditional mean of its node given the columns behind the edge."""
    forest, _ = forest_of(tree)
    correlations = all_correlations(forest.ends, forest.n_nodes, forest.correlation)[: forest.n_columns]
    scores = Scores(forest, correlations[:, : forest.n_columns], 100.0)
    for node in range(forest.n_columns, forest.n_nodes):
        for toward in forest.neighbours[node]:
            behind = _behind(forest, node, toward)
            known = np.zeros(forest.n_nodes, bool)
            known[behind] = True
            inference = Inference.at(Shape.of(forest.ends, known), forest.correlation)
            place = inference.shape.unknown.tolist().index(node)
            weights = np.zeros(forest.n_columns)
            weights[behind] = inference.means(np.eye(len(behind)))[place]
            with_columns = weights @ correlations[:, : forest.n_columns]
            size = np.sqrt(weights @ with_columns)
            found = scores.correlations[scores.place(node, toward), : forest.n_columns]
            np.testing.assert_allclose(found, with_columns / size, atol=1e-8)


def _behind(forest, node, toward):
    reached, queue = {node}, [node]
    for at in queue:
        more = [other for other in forest.neighbours[at] if other not in reached and (at, other) != (node, toward)]
        reached.update(more)
        queue.extend(more)
    return sorted(at for at in reached if at < forest.n_columns)


@pytest.mark.parametrize(
    "edit",
    [
        Edit("contract", (9, 10)),
        Edit("contract", (10, 0)),
        Edit("relocate", (0, 10, 9)),
        Edit("relocate", (11, 9, 10)),
        Edit("cut", (9, 12)),
    ],
    ids=lambda edit: f"{edit.operator} {edit.nodes}",
)
def test_what_a_move_gains_around_it_is_what_it_gains_in_all(edit):
    moments = moments_of(drawn(800).to_numpy())
    whole, _ = forest_of(THREE)  # columns 0 to 8, then G, F1, F2, F3
    before = fitted(whole, moments)
    scores = Scores(before.forest, moments.correlations, moments.total_weight)
    hubs = tuple(node for node in edit.nodes if node >= 9) if edit.operator != "cut" else edit.nodes
    hubs = edit.nodes if edit == Edit("contract", (10, 0)) else hubs
    small, small_moments, places = scores.around(hubs)
    moves = Moves(lambda *given, **options: run_em(*given, **{**options, "max_iter": 2000}), 0.0)
    value, fit = moves.local_fit(small, small_moments)
    new = moves.local_fit(tidy(edit.renumbered(places).applied(fit)), small_moments)[0]
    after = fitted(tidy(edit.applied(before.forest)), moments)
    wanted = after.log_likelihood - before.log_likelihood
    assert wanted < -5
    assert new - value == pytest.approx(wanted, rel=0.35)


def test_neighbour_joining_finds_the_tree_of_exact_correlations():
    rng = np.random.default_rng(0)
    pairs, roots, new = {}, list(range(12)), 12
    while len(roots) > 3:
        left, right = sorted(rng.choice(len(roots), 2, replace=False))
        pairs |= {(roots[left], new): rng.uniform(0.5, 0.9), (roots[right], new): -rng.uniform(0.5, 0.9)}
        roots = [root for at, root in enumerate(roots) if at not in (left, right)] + [new]
        new += 1
    pairs |= {(root, new): 0.8 for root in roots}
    true = Forest.of_edges(12, new + 1, pairs)
    correlations = all_correlations(true.ends, true.n_nodes, true.correlation)[:12, :12]
    found = joined_neighbours(correlations, 1e12)
    assert _splits(found) == _splits(true)


def _splits(forest):
    return {frozenset((frozenset(_behind(forest, *pair)), frozenset(_behind(forest, *pair[::-1]))))
            for pair in forest.ends.tolist()}  # fmt: skip


def test_completed_correlations_of_a_saturated_model_are_its_own():
    rows = gaussian.sample(THREE, 200, random_state=0)[["x0", "x1"]]
    rows.iloc[:40, 0] = np.nan
    rows.iloc[150:, 1] = np.nan
    moments = moments_of(rows.to_numpy())
    found = fitted(Forest(2, 2, [[0, 1]], [0.5]), moments, atol=1e-10)
    completed = completed_correlations(found, moments)
    assert completed[0, 1] == pytest.approx(found.forest.correlation[0], abs=1e-5)
    np.testing.assert_allclose(completed, completed.T, atol=1e-12)
