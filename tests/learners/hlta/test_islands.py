"""Islands: topics of any size come out whole, and words of other topics stay outside."""

import numpy as np
import pytest

from pgmpy_latent import HLTA, encode
from pgmpy_latent.learners.hlta.islands import Islands
from pgmpy_latent.learners.hlta.variables import columns_as_variables, log_likelihood_alone, share_of
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.tables.neighbours import nearest_columns


def topics(sizes, n_rows=2000, often=0.5, seldom=0.02, seed=0):
    """Return zeros and ones: words of independent topics, and the topic of each."""
    rng = np.random.default_rng(seed)
    topic_of = np.repeat(np.arange(len(sizes)), sizes)
    about = rng.random((n_rows, len(sizes))) < 0.15
    return (rng.random((n_rows, len(topic_of))) < np.where(about[:, topic_of], often, seldom)).astype(int), topic_of


def words_by_island(learner):
    below = ([child for child in learner.tree_.children(name) if isinstance(child, int)] for name in learner.latents_)
    return {frozenset(words) for words in below if words}


@pytest.mark.parametrize(("often", "seldom"), [(0.5, 0.02), (0.25, 0.03)])
@pytest.mark.parametrize("sizes", [(20,) * 8, (30,) * 5, (5, 12, 18, 25, 33, 8)])
def test_topics_come_out_whole(sizes, often, seldom):
    words, topic_of = topics(sizes, often=often, seldom=seldom)
    learner = HLTA(random_state=0, show_progress=False).fit(words)
    expected = {frozenset(np.flatnonzero(topic_of == topic).tolist()) for topic in range(len(sizes))}
    assert words_by_island(learner) == expected


def test_max_island_cuts_topics():
    words, _ = topics((20,) * 4)
    learner = HLTA(max_island=10, random_state=0, show_progress=False).fit(words)
    assert {len(island) for island in words_by_island(learner)} == {10}


def test_a_word_belongs_only_if_the_edge_is_worth_its_parameters_and_its_choice():
    words, _ = topics((6, 6))
    data = encode(words)
    search = Search(Settings(prior=0.01, search_tol=0.1, search_iter=60), random_state=0)
    islands = Islands(columns_as_variables(data), data.weights, nearest_columns(data, 64), search, 60, 3.0)
    alone = log_likelihood_alone(islands.variables[0], data.weights)
    cost = np.log(2000) / 2 + np.log(12)
    assert islands._belongs(0, alone + cost + 0.01)
    assert not islands._belongs(0, alone + cost - 0.01)


def test_a_variable_alone_has_the_likelihood_of_its_shares_and_missing_cells_say_nothing():
    data = encode([["a"], ["b"], [None], ["a"]])
    [variable] = columns_as_variables(data)
    np.testing.assert_allclose(share_of(variable, data.weights), [[2 / 3, 1 / 3]])
    assert log_likelihood_alone(variable, data.weights) == pytest.approx(2 * np.log(2 / 3) + np.log(1 / 3))
