"""The neighbourhood of a hidden node against enumeration of the whole tree; splits and merges of its states."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent import encode, sample
from pgmpy_latent.inference.queries import encode_for
from pgmpy_latent.learners.local.directions import data_directions, random_directions
from pgmpy_latent.learners.local.node_states import NodeStates, Options
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators import star as stars
from pgmpy_latent.operators.star import Star
from pgmpy_latent.testing import latent_trees, weights_for
from tests.support import reference
from tests.support.samples import latent_class, two_classes_of_columns

TOLERANCE = {"rtol": 0, "atol": 1e-8}
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=30)


class Situation:
    """A tree with a hidden node to look at, data that are possible under it, and what enumeration says."""

    def __init__(self, tree, data, node, n_threads=1):
        self.tree, self.data, self.node, self.at = tree, data, node, tree.index(node)
        self.search = Search(Settings(), random_state=1, n_jobs=n_threads)
        self.fitter = TreeFitter(data, tree, self.search)
        self.neighbourhood, self.star = self.fitter.neighbourhood(tree, node)
        self.rows = reference.rows_of(data.codes, [tree.index(name) for name in data.columns])

    def log_likelihood(self, tree=None):
        tree = self.tree if tree is None else tree
        return float(self.data.weights @ reference.log_likelihoods(tree.parent, tree.tables, self.rows))

    def with_star(self, star):
        return stars.with_star(self.tree, self.at, star, range(star.n_states))

    def node_states(self, **options):
        return NodeStates(self.fitter, Options(**options), self.node, self.log_likelihood(), (0, 0), tree=self.tree)


@st.composite
def situations(draw, max_nodes=6, max_card=3, max_rows=10, **options):
    options = {"zeros": None, **options}
    tree = draw(latent_trees(min_nodes=2, max_nodes=max_nodes, max_card=max_card, latents_are_inner=True, **options))
    assume(tree.latent.any())
    rng = np.random.default_rng(draw(seeds))
    frame = sample(tree, draw(st.integers(1, max_rows)), random_state=rng)  # drawn, so that no row is impossible
    if draw(st.booleans()):
        frame = frame.astype(object).mask(rng.random(frame.shape) < 0.3)
    data = encode_for(tree, frame, sample_weight=draw(weights_for(len(frame))), weight_kind="frequency")
    return Situation(tree, data, draw(st.sampled_from(tree.latent_names)))


def random_star(star, n_states, rng):
    """Return a star with any number of states and no zeros."""
    rows = [rng.dirichlet(np.ones(card), size=n_states) for card in star.cards]
    return Star(rng.dirichlet(np.ones(n_states)), np.concatenate(rows, axis=1), star.cards)


# the latent class model around a node


@few
@given(situations())
def test_the_neighbourhood_has_the_likelihood_of_the_whole(here):
    assert here.neighbourhood.log_likelihoods([here.star])[0] == pytest.approx(here.log_likelihood(), abs=1e-8)


@few
@given(situations(), st.integers(1, 5), seeds)
def test_any_star_put_back_has_the_likelihood_that_the_neighbourhood_says(here, n_states, seed):
    rng = np.random.default_rng(seed)
    candidates = [random_star(here.star, n_states, rng) for _ in range(3)]
    expected = [here.log_likelihood(here.with_star(star)) for star in candidates]
    np.testing.assert_allclose(here.neighbourhood.log_likelihoods(candidates), expected, **TOLERANCE)


@few
@given(situations(), seeds)
def test_split_merged_and_duplicated_states_put_back(here, seed):
    rng = np.random.default_rng(seed)
    star = here.star
    state = int(rng.integers(star.n_states))
    split = stars.split(star, state, stars.tilted(star, state, rng.uniform(-1, 1, star.rows.shape[1]), 0.7))
    duplicated = stars.split(star, state, np.zeros(star.rows.shape[1]))
    merged = stars.merge(split, (state, (state + 1) % split.n_states))
    for candidate in (split, duplicated, merged):
        expected = here.log_likelihood(here.with_star(candidate))
        assert here.neighbourhood.log_likelihoods([candidate])[0] == pytest.approx(expected, abs=1e-8)
    assert here.neighbourhood.log_likelihoods([duplicated])[0] == pytest.approx(here.log_likelihood(), abs=1e-8)


@few
@given(situations())
def test_posteriors_are_those_of_the_whole(here):
    expected = reference.beliefs(here.tree.parent, here.tree.tables, here.rows, here.at)
    np.testing.assert_allclose(here.neighbourhood.posterior(here.star), expected, **TOLERANCE)


@few
@given(situations(), st.integers(1, 4), seeds)
def test_stars_survive_the_way_through_flat_tables(here, n_states, seed):
    star = random_star(here.star, n_states, np.random.default_rng(seed))
    flat = here.neighbourhood.flat([star, star])
    assert flat.shape == (2, here.neighbourhood.engine(n_states).layout.size)
    back = here.neighbourhood.star(flat[1], n_states)
    np.testing.assert_array_equal(back.share, star.share)
    np.testing.assert_array_equal(back.rows, star.rows)


@few
@given(situations())
def test_messages_and_star_give_the_likelihood_of_a_row(here):
    """Up to a factor of each row: what is evidence may be scaled at will."""
    star, messages = here.star, here.neighbourhood.messages[:]
    assert messages.shape == (here.data.n_distinct, int(star.cards.sum()))
    products = np.ones((len(messages), star.n_states))
    for rows, message in zip(star.parts(star.rows), star.parts(messages), strict=True):
        products = products * (message @ rows.T)
    posterior = products * star.share
    posterior /= posterior.sum(axis=1, keepdims=True)
    expected = reference.beliefs(here.tree.parent, here.tree.tables, here.rows, here.at)
    np.testing.assert_allclose(posterior, expected, **TOLERANCE)


@settings(max_examples=15)
@given(situations(max_nodes=5), st.integers(1, 3), seeds)
def test_em_around_a_node_is_em_on_the_whole_with_the_rest_frozen(here, n_states, seed):
    start = random_star(here.star, n_states, np.random.default_rng(seed))
    engine = here.neighbourhood.engine(n_states)
    found = here.search.fit(engine, here.neighbourhood.flat([start]), max_iter=30, atol=0.0)
    star = here.neighbourhood.star(found.tables, n_states)
    tree = here.with_star(star)
    assert here.log_likelihood(tree) == pytest.approx(found.log_likelihood, abs=1e-8)
    assert found.log_likelihood >= here.log_likelihood(here.with_star(start)) - 1e-9
    around = {here.at, *(tree.index(name) for name in tree.children(here.node)), int(tree.parent[here.at])}
    for node in set(range(tree.n_nodes)) - around:
        if not _above(tree, node, here.at):
            np.testing.assert_array_equal(tree.tables[node], here.tree.tables[node])


def _above(tree, node, below):
    """Tell whether a node is an ancestor, whose table changes where the tree is rooted elsewhere."""
    while below >= 0:
        if below == node:
            return True
        below = int(tree.parent[below])
    return False


@few
@given(situations(), seeds)
def test_a_part_is_the_same_model_for_some_rows(here, seed):
    rng = np.random.default_rng(seed)
    n_rows = here.data.n_distinct
    rows = np.sort(rng.choice(n_rows, size=rng.integers(1, n_rows + 1), replace=False))
    weights = rng.gamma(1.0, size=len(rows))
    part = here.neighbourhood.part(rows, weights)
    candidates = [here.star, random_star(here.star, here.star.n_states, rng)]
    for star, found in zip(candidates, part.log_likelihoods(candidates), strict=True):
        tree = here.with_star(star)
        own = [here.rows[row] for row in rows]
        expected = weights @ reference.log_likelihoods(tree.parent, tree.tables, own)
        assert found == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(part.messages[:], here.neighbourhood.messages[rows], **TOLERANCE)
    np.testing.assert_array_equal(here.neighbourhood.stored_messages[rows], here.neighbourhood.messages[rows])


def test_messages_of_large_tables_are_not_stored(monkeypatch):
    tree = two_classes_of_columns()
    here = Situation(tree, encode(sample(tree, 60, random_state=0)), "B").neighbourhood
    monkeypatch.setattr("pgmpy_latent.learners.local.neighbourhood.MOST_STORED", 10)
    assert not isinstance(here.stored_messages, np.ndarray)
    rows = np.array([3, 1])
    np.testing.assert_array_equal(here.stored_messages[rows], here.messages[:][rows])


def test_several_weightings_of_a_neighbourhood():
    tree = two_classes_of_columns()
    here = Situation(tree, encode(sample(tree, 60, random_state=0)), "B")
    weights = np.random.default_rng(0).gamma(1.0, size=(3, here.data.n_distinct))
    flat = here.neighbourhood.flat([random_star(here.star, 2, np.random.default_rng(at)) for at in range(3)])
    together = here.neighbourhood.engine(2, weights).log_likelihood(flat, np.array([2, 0, 1]))
    alone = [
        here.neighbourhood.engine(2, weights[at]).log_likelihood(own) for at, own in zip([2, 0, 1], flat, strict=True)
    ]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    # and the engine with the rows' own weights is as it was
    assert here.neighbourhood.log_likelihoods([here.star])[0] == pytest.approx(here.log_likelihood(), abs=1e-8)


# whole models


@few
@given(situations(max_nodes=5))
def test_a_workshop_fits_whole_trees(here):
    tree, found = here.fitter.fit([here.tree], max_iter=20)
    assert found.log_likelihood == pytest.approx(here.log_likelihood(tree), abs=1e-8)
    assert found.log_likelihood >= here.log_likelihood() - 1e-9
    assert (tree.names, tree.state_names) == (here.tree.names, here.tree.state_names)


def test_which_trees_are_stars():
    assert Situation(latent_class(2, [2] * 3), encode(sample(latent_class(2, [2] * 3), 5)), "C").fitter.is_star
    deep = two_classes_of_columns()
    assert not Situation(deep, encode(sample(deep, 5)), "A").fitter.is_star


# candidates


@few
@given(
    situations(max_rows=20), st.sampled_from(["data", "random", "thesis"]), st.booleans(), st.sampled_from([0, 1000])
)
def test_gains_of_splits_are_lower_bounds(here, directions, partial, left_out):
    before = here.log_likelihood()
    node_states = here.node_states(directions=directions, partial=partial)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgmpy_latent.learners.local.node_states.LEFT_OUT", left_out)
        assert node_states.splits is node_states.splits
    gains = [split.gain for split in node_states.splits]
    assert gains == sorted(gains, reverse=True)
    assert len({split.state for split in node_states.splits}) == len(node_states.splits)
    for split in node_states.splits:
        after = here.log_likelihood(here.with_star(stars.substitute(here.star, split.state, split.halves)))
        assert after - before >= split.gain - 1e-8
        assert split.halves.n_states == 2


@few
@given(situations(max_card=4))
def test_losses_of_merges_are_exact(here):
    before = here.log_likelihood()
    merges = here.node_states().merges
    assert len(merges) == here.star.n_states * (here.star.n_states - 1) // 2
    losses = [merge.loss for merge in merges]
    assert losses == sorted(losses)
    for merge in merges:
        after = here.log_likelihood(here.with_star(stars.merge(here.star, merge.states)))
        assert merge.loss == pytest.approx(before - after, abs=1e-8)


def log_likelihoods_given(here, state):
    """Return ln P(row | the node is in a state), by enumeration."""
    found = []
    for row in here.rows:
        states, probability = reference.row_joint(here.tree.parent, here.tree.tables, row)
        found.append(probability[states[:, here.at] == state].sum())
    states, probability = reference.row_joint(here.tree.parent, here.tree.tables, {})
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.array(found) / probability[states[:, here.at] == state].sum())


@few
@given(situations())
def test_surprise_is_the_divergence_of_the_data_of_a_state_from_the_state(here):
    posterior = reference.beliefs(here.tree.parent, here.tree.tables, here.rows, here.at)
    expected = []
    for state in range(here.star.n_states):
        weights = here.data.weights * posterior[:, state]
        logs = log_likelihoods_given(here, state)
        expected.append(
            sum(w * (np.log(w / weights.sum()) - log) for w, log in zip(weights, logs, strict=True) if w > 0)
        )
    np.testing.assert_allclose(here.node_states()._surprise(), expected, **TOLERANCE)


@few
@given(situations(max_nodes=5, max_rows=20), st.booleans(), st.booleans())
def test_grown_and_shrunk_models_are_what_they_claim(here, local, introduce):
    node_states = here.node_states(local=local, introduce=introduce, n_splits=3)
    for found, change in ((node_states.grown, 1), (node_states.shrunk, -1)):
        if found is None:
            continue
        assert found.n_states == node_states.n_states + change
        assert found.tree.cards[here.at] == node_states.n_states + change
        assert found.log_likelihood == pytest.approx(here.log_likelihood(found.tree), abs=1e-7)
        # a step further knows the model it stands on
        assert found.neighbourhood.log_likelihoods([found.star])[0] == pytest.approx(found.log_likelihood, abs=1e-7)


def test_screening_keeps_the_best_states_and_pairs():
    tree = latent_class(6, [3, 3, 3, 3], concentration=1.0)
    here = Situation(tree, encode(sample(tree, 200, random_state=0)), "C")
    everything, some = here.node_states(n_screened=None), here.node_states(n_screened=2)
    assert len(everything.splits) == 6
    surprise = everything._surprise()
    assert {split.state for split in some.splits} == set(np.argsort(-surprise)[:2].tolist())
    loss = stars.merge_losses(here.star, here.star)
    kept = {merge.states for merge in some.merges}
    left_out = {merge.states for merge in everything.merges} - kept
    assert len(kept) == 2
    assert max(loss[pair] for pair in kept) <= min(loss[pair] for pair in left_out)
    exact = {merge.states: merge.loss for merge in everything.merges}
    assert all(merge.loss == pytest.approx(exact[merge.states], rel=1e-12) for merge in some.merges)


def six_classes():
    tree = latent_class(6, [3, 3, 3, 3], concentration=1.0)
    return Situation(tree, encode(sample(tree, 300, random_state=0)), "C")


def test_screening_keeps_the_best_reassignments():
    here = six_classes()
    everything, some = here.node_states(n_screened=None), here.node_states(n_screened=6)  # as many states: all split
    pairs = [(split.state, pair) for split, own in everything._pairs_to_reassign() for pair in own]
    assert len(pairs) == len(set(pairs)) == 6 * 2 * 5
    assert all(state not in pair or pair[1] == state for state, pair in pairs)
    kept = [(split.state, pair) for split, own in some._pairs_to_reassign() for pair in own]
    assert len(kept) == 6
    assert set(kept) < set(pairs)
    found, best = some._reassignments(3), everything._reassignments(3)
    values = here.neighbourhood.log_likelihoods(found)
    assert (np.diff(values) <= 0).all()
    assert values[0] >= here.neighbourhood.log_likelihoods(best)[0] - 5


def test_a_thorough_look_finds_no_worse_splits():
    here = six_classes()
    node_states = here.node_states()
    thorough = node_states.thorough
    assert thorough.tree is node_states.tree
    assert thorough.splits[0].gain > node_states.splits[0].gain
    grown = thorough.grown_to_the_end(0.0)
    assert grown.n_states == 7
    assert grown.log_likelihood == pytest.approx(here.log_likelihood(grown.tree), abs=1e-7)
    assert grown.log_likelihood >= node_states.grown.log_likelihood - 1.0


def test_a_thorough_look_lets_em_run_to_its_end():
    here = six_classes()
    here.fitter.search = Search(Settings(search_iter=3), random_state=1)
    node_states = here.node_states()
    later = node_states.thorough.grown_to_the_end(0.0)
    assert later.log_likelihood > node_states.thorough.grown.log_likelihood + 1
    here.fitter.search = Search(Settings(search_iter=3, max_iter=3), random_state=1)
    assert here.node_states().thorough.grown_to_the_end(0.0).log_likelihood < later.log_likelihood - 1


def test_candidates_that_cannot_gain_enough_are_given_up():
    thorough = six_classes().node_states().thorough
    to_the_end, given_up = thorough.grown_to_the_end(0.0), thorough.grown_to_the_end(1e6)
    assert given_up.log_likelihood < to_the_end.log_likelihood


@pytest.mark.parametrize("n_states", [1, 5, 6, 7])
def test_restarts_have_the_number_of_states_asked_for(n_states):
    here = six_classes()
    restarted = here.node_states().restarted(0, n_states)
    if n_states == 1:
        assert restarted is None
    else:
        assert restarted.n_states == n_states
        assert restarted.log_likelihood == pytest.approx(here.log_likelihood(restarted.tree), abs=1e-7)


def test_threads_do_not_change_candidates():
    tree = latent_class(4, [3, 3, 3, 3], concentration=1.0)
    data = encode(sample(tree, 200, random_state=0))
    one, two = Situation(tree, data, "C").node_states(), Situation(tree, data, "C", n_threads=2).node_states()
    assert [(split.gain, split.state) for split in one.splits] == [(split.gain, split.state) for split in two.splits]
    assert [(merge.loss, merge.states) for merge in one.merges] == [(merge.loss, merge.states) for merge in two.merges]
    np.testing.assert_array_equal(one.grown.star.rows, two.grown.star.rows)


# directions


@few
@given(situations(max_rows=20), st.integers(1, 6), seeds)
def test_directions_from_data_are_shifts(here, n, seed):
    posterior = here.neighbourhood.posterior(here.star)
    for state in range(here.star.n_states):
        weights = here.data.weights * posterior[:, state]
        assume(weights.max() > 0)
        rng = np.random.default_rng(seed)
        found = data_directions(here.star, state, here.neighbourhood.messages, weights, n, rng)
        assert len(found) <= n
        for shift in found:
            assert_shift(here.star, state, shift)


@few
@given(situations(), st.sampled_from([1e-3, 0.5, 1.0]), seeds)
def test_random_directions_are_shifts(here, size, seed):
    for state in range(here.star.n_states):
        found = random_directions(here.star, state, 3, size, np.random.default_rng(seed))
        assert len(found) == 3
        for shift in found:
            assert_shift(here.star, state, shift)
            assert (np.abs(shift) <= size * here.star.rows[state] + 1e-15).all()


def assert_shift(star, state, shift):
    row = star.rows[state]
    assert shift.shape == row.shape
    assert np.isfinite(shift).all()
    for part in star.parts(shift):
        assert part.sum() == pytest.approx(0, abs=1e-15)
    for half in (row + shift, row - shift):
        assert (half >= 0).all()
        assert (half <= 1 + 1e-15).all()
    assert not shift[row == 0].any()


def two_kinds(n_rows=400, n_columns=6, seed=0, flipped=()):
    """Binary columns that go together, some of them the other way round."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n_rows) < 0.4
    cells = rng.random((n_rows, n_columns)) < np.where(kind[:, None], 0.8, 0.25)
    cells[:, list(flipped)] = ~cells[:, list(flipped)]
    return cells.astype(int)


@pytest.mark.parametrize("flipped", [(), (1,), (0, 3, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_for_binary_columns_the_first_direction_is_the_leading_eigenvector(flipped, weighted):
    """Direction 3 of section 4.4.2 of the thesis."""
    cells = two_kinds(flipped=flipped)
    weights = np.random.default_rng(1).gamma(2.0, size=len(cells)) if weighted else np.ones(len(cells))
    mean = np.average(cells, axis=0, weights=weights)
    standardised = (cells - mean) / np.sqrt(mean * (1 - mean))
    leading = np.linalg.eigh((weights[:, None] * standardised).T @ standardised)[1][:, -1]
    star = Star(np.ones(1), np.stack([1 - mean, mean], axis=1).reshape(1, -1), np.full(6, 2))
    messages = np.stack([1 - cells, cells], axis=2).reshape(len(cells), -1).astype(float)
    shift = data_directions(star, 0, messages, weights, 1, np.random.default_rng(0))[0].reshape(6, 2)[:, 1]
    assert np.abs(leading).min() > 0.1  # so that signs mean something
    agreement = np.sign(shift) * np.sign(leading)
    assert abs(agreement.sum()) == 6
    # standardised, shifts are nearly in proportion to the eigenvector: rare states and far rows count a little less
    standardised_shift = shift / np.sqrt(mean * (1 - mean))
    cosine = standardised_shift @ leading / np.linalg.norm(standardised_shift) / np.linalg.norm(leading)
    assert abs(cosine) > 0.99
    greedy, *_ = data_directions(star, 0, messages, weights, 2, np.random.default_rng(0))
    agreement = np.sign(greedy.reshape(6, 2)[:, 1]) * np.sign(leading)
    assert abs(agreement.sum()) == 6


def test_directions_from_many_rows_are_from_a_sample_of_them():
    cells = two_kinds(n_rows=5000, flipped=(2,))
    mean = cells.mean(axis=0)
    star = Star(np.ones(1), np.stack([1 - mean, mean], axis=1).reshape(1, -1), np.full(6, 2))
    messages = np.stack([1 - cells, cells], axis=2).reshape(len(cells), -1).astype(float)
    shift = data_directions(star, 0, messages, np.ones(5000), 1, np.random.default_rng(0))[0].reshape(6, 2)[:, 1]
    expected = np.array([1, 1, -1, 1, 1, 1])
    assert abs((np.sign(shift) * expected).sum()) == 6


def test_a_good_split_is_found_where_there_is_one():
    tree = latent_class(2, [2] * 6)
    data = encode(sample(tree, 500, random_state=0))
    merged = stars.with_star(tree, 0, stars.merge(stars.star_of(tree, 0), (0, 1)), [0])
    here = Situation(merged, data, "C")
    best = here.node_states().splits[0]
    two = Situation(tree, data, "C").log_likelihood()
    assert here.log_likelihood() + best.gain > two - 5
    assert here.node_states(partial=False).splits[0].gain < best.gain
