"""Where EM begins: tables that know what columns say about each other, and passes over batches of large tables."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import HiddenChowLiu, HiddenChowLiuMixture, encode, log_likelihood, presets, row_log_likelihoods
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.em.stepwise import first_passes
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.learners.column_forest import chow_liu_parents
from pgmpy_latent.learners.density import begin
from pgmpy_latent.learners.density.begin import _states_of_categories, category_tables
from pgmpy_latent.learners.density.shape import hidden_tree
from tests.support.samples import assert_same_tree

QUIET = {"random_state": 0, "show_progress": False}
IN_BATCHES = replace(presets.HIDDEN_CHOW_LIU, batch_size=15, n_epochs=2, max_iter=30)


@pytest.fixture(scope="module")
def chain():
    """Return columns that nearly repeat one another, with rare categories and gaps."""
    rng = np.random.default_rng(0)
    columns = [rng.choice(3, size=600, p=[0.7, 0.25, 0.05])]
    for _ in range(5):
        columns.append(np.where(rng.random(600) < 0.03, rng.integers(0, 3, 600), columns[-1]))
    frame = pd.DataFrame(np.stack(columns, axis=1)).rename(columns="x{}".format).astype(object)
    return frame.mask(rng.random(frame.shape) < 0.1)


@pytest.mark.parametrize("n_states", [2, 3, 8])
def test_what_columns_say_about_each_other_is_known_from_the_start(chain, n_states):
    data = encode(chain)
    parent = chow_liu_parents(data)
    tree = hidden_tree(data, parent, n_states)
    layout = Layout([table.shape for table in tree.tables])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tables = category_tables(tree, data, parent, rng)
        assert all((table > 0).all() and np.allclose(table.sum(axis=1), 1) for table in tables)
        random = layout.unpack(random_tables(layout, rng, 0.1))
        own, other = (log_likelihood(tree.with_tables(each), data) for each in (tables, random))
        assert own > other + 100


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(1, 20))
def test_every_state_has_a_category_and_every_category_a_state_if_there_are_enough(counts, n_states):
    categories = _states_of_categories(np.array(counts), n_states)
    assert len(categories) == n_states
    given_to = np.bincount(categories, minlength=len(counts))
    if n_states >= len(counts):
        assert given_to.min() > 0
    else:  # the most frequent ones
        assert min(np.array(counts)[given_to > 0]) >= max(np.array(counts)[given_to == 0])
    order = np.argsort(counts, kind="stable")
    assert all(given_to[less] <= given_to[more] or counts[less] == counts[more] for less, more in pairwise(order))


@pytest.mark.parametrize("learner", [HiddenChowLiu, HiddenChowLiuMixture])
def test_large_tables_begin_with_batches_whatever_the_threads_and_the_order(chain, learner, monkeypatch):
    settings = {"n_states": 4, "n_groups": 2, "smoothing": 1.0, "tuning": IN_BATCHES, **QUIET}
    settings |= {"n_trials": 2} if learner is HiddenChowLiuMixture else {}
    seen = []

    def noted(tree, data, *args, **options):
        seen.append(data.n_distinct)
        return first_passes(tree, data, *args, **options)

    monkeypatch.setattr(begin, "first_passes", noted)
    learner(**settings).fit(chain)
    assert not seen
    monkeypatch.setattr(begin, "ALL_AT_ONCE", 20)
    first = learner(**settings).fit(chain)
    assert seen
    assert min(seen) > 20
    two = learner(n_jobs=2, **settings).fit(chain)
    shuffled = learner(**settings).fit(chain.iloc[::-1])
    if learner is HiddenChowLiu:
        assert_same_tree(two.tree_, first.tree_)
        np.testing.assert_allclose(
            row_log_likelihoods(shuffled.tree_, chain), row_log_likelihoods(first.tree_, chain), rtol=1e-9
        )
    else:
        assert two.mixture_ == first.mixture_
        np.testing.assert_allclose(shuffled.score_samples(chain), first.score_samples(chain), rtol=1e-9)


def test_a_time_limit_in_the_middle_of_the_batches_leaves_a_model(chain, monkeypatch):
    monkeypatch.setattr(begin, "ALL_AT_ONCE", 50)
    endless = replace(IN_BATCHES, n_epochs=100_000)
    with pytest.warns(UserWarning, match="time"):
        learner = HiddenChowLiu(n_states=4, time_limit=0.3, tuning=endless, **QUIET).fit(chain)
    assert learner.stopped_ == "time_limit"
    assert np.isfinite(learner.score(chain))
