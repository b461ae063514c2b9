"""Stepwise EM: tables follow new rows, and end about where EM on all rows ends."""

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import RandomStarts, encode, log_likelihood, sample
from pgmpy_latent.em.stepwise import Running, batches, first_passes, running_counts, updated
from pgmpy_latent.exceptions import UnseenCategoryError, UnseenCategoryWarning
from tests.support.samples import assert_same_tree, latent_class

SETTINGS = {"n_states": 3, "n_starts": 8, "random_state": 0, "tol": 1e-6}


@pytest.fixture(scope="module")
def rows():
    return sample(latent_class(3, [3, 2, 3, 2, 3, 2]), 12_000, random_state=2)


def test_batches_end_where_em_on_all_rows_ends(rows):
    whole = RandomStarts(**SETTINGS).fit(rows)
    learner = RandomStarts(**SETTINGS).fit(rows.head(1_000))
    before = log_likelihood(learner.tree_, rows)
    for begin in range(1_000, 12_000, 500):
        learner.partial_fit(rows.iloc[begin : begin + 500])
    after = log_likelihood(learner.tree_, rows)
    assert whole.log_likelihood_ - before > 10  # there was something to learn
    assert whole.log_likelihood_ - after < 0.01 * (whole.log_likelihood_ - before)
    assert learner.model_.check_model()
    assert learner.predict(rows.head(3)).shape == (3, 1)


def test_complete_rows_are_averaged(rows):
    """Without anything hidden, a decay of one gives every batch the same share."""
    tree = latent_class(3, [3, 2, 3, 2, 3, 2])
    batches = [encode(sample(tree, 400, latents=True, random_state=seed)) for seed in range(3)]
    seen = tree.__class__(tree.names, tree.state_names, tree.parent, np.zeros(7, bool), tree.tables)
    running = running_counts(seen, batches[0])
    for batch in batches[1:]:
        _, running = updated(seen, running, batch, 1.0, 0.0)
    counts = np.mean([running_counts(seen, batch).counts for batch in batches], axis=0)
    np.testing.assert_allclose(running.counts, counts, atol=1e-12)
    assert (running.weight, running.n_updates) == (1_200, 2)


def test_a_step_that_takes_everything_is_a_step_of_em(rows):
    tree = latent_class(3, [3, 2, 3, 2, 3, 2], seed=3)
    data = encode(rows)
    size = sum(table.size for table in tree.tables)
    found, _ = updated(tree, Running(np.zeros(size), 0.0, -1), data, 1.0, 0.0)
    assert log_likelihood(found, data) > log_likelihood(tree, data)
    again = running_counts(tree, data).counts
    np.testing.assert_allclose(found.tables[0], again[: found.tables[0].size].reshape(1, -1), atol=1e-12)


def test_a_learner_that_was_not_fitted_is_fitted(rows):
    first = RandomStarts(**SETTINGS).partial_fit(rows.head(500))
    assert_same_tree(first.tree_, RandomStarts(**SETTINGS).fit(rows.head(500)).tree_)


def test_a_new_fit_forgets(rows):
    learner = RandomStarts(**SETTINGS).fit(rows.head(500)).partial_fit(rows.iloc[500:900])
    again = RandomStarts(**SETTINGS).fit(rows.head(500))
    assert_same_tree(learner.fit(rows.head(500)).tree_, again.tree_)
    new = rows.iloc[900:1200]
    assert_same_tree(learner.partial_fit(new).tree_, again.partial_fit(new).tree_)


def test_weights_gaps_strangers_and_pieces(rows):
    learner = RandomStarts(**SETTINGS, prior=0.1).fit(rows.head(500))
    new = rows.iloc[500:700].astype(object)
    new.iloc[::5, 0] = None
    one = RandomStarts(**SETTINGS, prior=0.1).fit(rows.head(500)).partial_fit(new, sample_weight=np.full(200, 2.0))
    two = RandomStarts(**SETTINGS, prior=0.1).fit(rows.head(500)).partial_fit(iter([new, new]))
    for left, right in zip(one.tree_.tables, two.tree_.tables, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-12)
    new.iloc[0, 1] = 99
    with pytest.warns(UnseenCategoryWarning, match="99"):
        learner.partial_fit(new)
    strict = RandomStarts(**SETTINGS, prior=0.1).fit(rows.head(500), unseen="error")
    with pytest.raises(UnseenCategoryError, match="99"):
        strict.partial_fit(new)


@pytest.mark.parametrize("decay", [0.5, 1.1, 0])
def test_decays_that_make_no_sense(rows, decay):
    with pytest.raises(ValueError, match=f"decay is {decay}; give a number above 0.5 and at most 1"):
        RandomStarts(**SETTINGS).partial_fit(rows, decay=decay)


def test_rows_that_the_model_rules_out_change_nothing():
    frame = pd.DataFrame({"x": list("aabb"), "y": list("ccdd"), "z": list("eeff")})
    learner = RandomStarts(n_states=2, random_state=0).fit(frame)
    tree = learner.tree_
    impossible = pd.DataFrame({"x": ["a"], "y": ["d"], "z": ["e"]})
    with pytest.warns(UserWarning, match="rows of weight 1 have probability zero under the model") as caught:
        learner.partial_fit(impossible)
    assert [one.filename for one in caught] == [__file__]  # the line of the user
    assert learner.tree_ == tree
    with pytest.warns(UserWarning, match="rows of weight 1 have"):
        learner.partial_fit(pd.concat([impossible, frame.head(2)]), decay=1.0)
    np.testing.assert_allclose(learner.tree_.table("H"), [[0.75, 0.25]])


def test_a_pass_over_batches_leads_further_than_an_iteration_over_all_rows(rows):
    tree, data = latent_class(3, [3, 2, 3, 2, 3, 2], seed=3), encode(rows)
    starts = np.concatenate([table.ravel() for table in tree.tables])[None]
    options = {"prior": 0.01, "seed": np.random.SeedSequence(0), "n_passes": 1}

    def value(**changes):
        flat = first_passes(tree, data, starts, **options | changes)[0]
        cuts = np.cumsum([table.size for table in tree.tables])[:-1]
        tables = [part.reshape(old.shape) for part, old in zip(np.split(flat, cuts), tree.tables, strict=True)]
        return log_likelihood(tree.with_tables(tables), data)

    assert value(size=30) > value(size=data.n_distinct) > log_likelihood(tree, data)


def test_threads_and_the_order_of_rows_change_no_pass(rows):
    tree, data = latent_class(3, [3, 2, 3, 2, 3, 2], seed=3), encode(rows)
    flat = np.concatenate([table.ravel() for table in tree.tables])
    starts = np.stack([flat, running_counts(tree, data).counts + 0.1, flat])
    options = {"prior": 0.01, "size": 30, "n_passes": 2, "seed": np.random.SeedSequence(0)}
    one = first_passes(tree, data, starts, **options)
    np.testing.assert_array_equal(first_passes(tree, data, starts, n_jobs=2, **options), one)
    turned = data.take(np.arange(data.n_distinct)[::-1])
    np.testing.assert_allclose(first_passes(tree, turned, starts, **options), one, rtol=1e-9)


def test_batches_are_alike():
    weights = np.array([1.0] * 50 + [40.0])
    dealt = batches(weights, 10, np.random.SeedSequence(1))
    assert all(50 in rows for rows, _ in dealt)
    totals = [own.sum() for _, own in dealt]
    assert max(totals) <= min(totals) + 2
