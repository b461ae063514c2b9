"""Latent class models of two roots: how many states, which tables, and what no number of states can exceed."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent import encode, sample
from pgmpy_latent.learners.local.pairs import Options, Pair, groupings
from pgmpy_latent.learners.local.roots import Roots
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.runtime.lossless_json import plain
from pgmpy_latent.tables.dependence import pairwise_information
from tests.support import reference
from tests.support.samples import latent_class, leafy_tree, small_tables

seeds = st.integers(0, 2**32 - 1)


def pair_in(all_roots, left=0, right=1, *, key=(0,), random_state=0, n_threads=1, **options):
    """Return a pair of roots as a search would have it; without company unless options say otherwise."""
    settings = {"max_states": None, "n_starts": 4, "narrowing": None, "context": ()}
    penalty = float(np.log(all_roots.data.total_weight) / 2)
    options = Options(**{**settings, "penalty": penalty, **options})
    related = all_roots.related(left, right, max(options.context, default=0))
    search = Search(Settings(), random_state=random_state, n_jobs=n_threads)
    return Pair(all_roots.roots[left], all_roots.roots[right], related, all_roots.data.weights, search, key, options)


def begin(data):
    return Roots(data, pairwise_information(data)[0])


def grown(data, rng, **options):
    """Return a all_roots in which random pairs were joined, and two slots of it."""
    all_roots = begin(data)
    for _ in range(int(rng.integers(0, len(data.columns) - 1))):
        left, right = rng.choice(alive(all_roots), size=2, replace=False).tolist()
        pair = pair_in(all_roots, left, right, **options)
        all_roots.join(left, right, pair.fitted(max(1, int(rng.integers(1, pair.most_states + 1)))))
    return all_roots, rng.choice(alive(all_roots), size=2, replace=False).tolist()


def alive(all_roots):
    return [slot for slot, root in enumerate(all_roots.roots) if root is not None]


def table_of_counts(counts):
    """Return the table of two columns that has these joint counts."""
    counts = np.asarray(counts)
    codes = np.argwhere(np.ones_like(counts))
    columns = {name: pd.Categorical(codes[:, at], range(counts.shape[at])) for at, name in enumerate("ab")}
    return encode(pd.DataFrame(columns), sample_weight=counts.ravel(), weight_kind="frequency")


def log_likelihood(all_roots):
    tree = all_roots.tree([f"H{number}" for number in range(all_roots.n_hidden)])
    rows = reference.rows_of(all_roots.data.codes, np.flatnonzero(~tree.latent))
    return all_roots.data.weights @ reference.log_likelihoods(tree.parent, tree.tables, rows)


# what a pair gains


@settings(max_examples=20)
@given(small_tables(min_columns=3, max_columns=4, max_rows=6, max_card=3), seeds, st.sampled_from([(), (1, 2)]))
def test_the_gain_is_a_difference_of_log_likelihoods(data, seed, context):
    rng = np.random.default_rng(seed)
    all_roots, (left, right) = grown(data, rng, context=context)
    pair = pair_in(all_roots, left, right, context=context)
    before = log_likelihood(all_roots)
    model = pair.fitted(int(rng.integers(1, pair.most_states + 1)))
    all_roots.join(left, right, model)
    assert model.gain == pytest.approx(log_likelihood(all_roots) - before, abs=1e-8)


@settings(max_examples=30)
@given(small_tables(min_columns=3, max_rows=30), seeds, st.sampled_from([(), (2,)]))
def test_no_number_of_states_gains_more_than_any_joint_distribution(data, seed, context):
    all_roots, (left, right) = grown(data, np.random.default_rng(seed), context=context)
    pair = pair_in(all_roots, left, right, context=context)
    for n_states in range(1, pair.most_states + 1):
        assert (
            pair.fitted(n_states).gain <= pair._saturated + 0.01
        )  # EM stops when 0.1 is left, and adds what it expects


@settings(max_examples=30)
@given(small_tables(max_columns=2, max_rows=30))
def test_as_many_states_as_the_smaller_column_has_are_enough(data):
    assume(not data.has_missing.any())
    pair = pair_in(begin(data))
    assert pair.fitted(pair.most_states).gain == pytest.approx(pair._saturated, abs=0.15)  # EM stops at 0.1
    joint = np.zeros(data.cards)
    np.add.at(joint, tuple(data.codes.T), data.weights)
    expected = data.total_weight * reference.mutual_information_of_counts(joint)
    assert pair._saturated == pytest.approx(expected, abs=1e-9 * data.total_weight)


# how many states


@given(small_tables(min_columns=3, max_rows=40), seeds, st.sampled_from([None, 2, 3]))
@settings(max_examples=30)
def test_a_pair_has_no_more_states_than_its_smaller_root(data, seed, max_states):
    all_roots, (left, right) = grown(data, np.random.default_rng(seed))
    pair = pair_in(all_roots, left, right, max_states=max_states, penalty=0.0)  # more would cost nothing
    smaller = min(all_roots.roots[slot].n_states for slot in (left, right))
    assert pair.most_states == min(smaller, max_states or 99)
    model = pair.best()
    if model is None:
        assert pair._saturated <= 0.1 or smaller == 1  # nothing to gain
    else:
        assert 2 <= len(model.share) <= pair.most_states


def bic_best(counts, penalty):
    """Return the number of states with the highest BIC, and by how much it leads, from many starts of each."""
    n_rows, n_columns = counts.shape
    values = [
        reference.two_column_fit(counts, n_states) - penalty * (n_states * (n_rows + n_columns - 1) - 1)
        for n_states in range(1, min(counts.shape) + 1)
    ]
    best = int(np.argmax(values))
    return best + 1, values[best] - max(value for at, value in enumerate(values) if at != best)


EXAMPLES = {
    "independent": np.outer([30, 20, 10, 40], [2, 3, 4]),
    "all states matter": 20 + 180 * np.eye(4, dtype=int),
    "two groups of two": np.kron([[90, 10], [20, 80]], np.ones((2, 2), int)),
    "three of four": np.array([[90, 5, 5, 5], [5, 90, 5, 5], [5, 5, 45, 45], [5, 5, 46, 44]]),
    "few rows": np.array([[3, 1, 0], [1, 2, 1], [0, 1, 4]]),
    "three by five": np.array([[60, 5, 5, 30, 2], [4, 70, 6, 2, 30], [6, 4, 50, 3, 3]]),
}
#: As the learners are set by default, and as the paper does it.
WAYS = [{"n_starts": 4, "narrowing": 2.0}, {"n_starts": 10, "narrowing": None}]


@pytest.mark.parametrize("way", WAYS, ids=["usual", "paper"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_number_of_states_has_the_best_bic(name, way):
    counts = EXAMPLES[name]
    expected, lead = bic_best(counts, np.log(counts.sum()) / 2)
    assert lead > 0.5  # or the example says nothing
    model = pair_in(begin(table_of_counts(counts)), **way).best()
    assert (1 if model is None else len(model.share)) == expected


def test_the_examples_need_all_numbers_of_states():
    assert {bic_best(counts, np.log(counts.sum()) / 2)[0] for counts in EXAMPLES.values()} == {1, 2, 3, 4}


@settings(max_examples=25)
@given(st.integers(2, 4), st.integers(2, 4), seeds, st.sampled_from(WAYS))
def test_the_number_of_states_has_the_best_bic_whatever_the_table(n_rows, n_columns, seed, way):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    shares = [rng.dirichlet(np.full(n, 0.4), size=rank) for n in (n_rows, n_columns)]
    cells = np.einsum("k,kr,kc->rc", rng.dirichlet(np.full(rank, 3.0)), *shares)
    counts = rng.multinomial(int(rng.integers(20, 600)), cells.ravel() / cells.sum()).reshape(cells.shape)
    expected, lead = bic_best(counts, np.log(counts.sum()) / 2)
    assume(lead > 0.3)
    model = pair_in(begin(table_of_counts(counts)), **way).best()
    assert (1 if model is None else len(model.share)) == expected


def test_independent_columns_get_no_parent():
    rng = np.random.default_rng(0)
    data = encode(pd.DataFrame(rng.integers(0, 3, size=(400, 6))))
    for left, right in combinations(range(6), 2):
        assert pair_in(begin(data), left, right, context=(4,)).best() is None


# company


def test_company_shows_what_the_pair_alone_leaves_open():
    """Two binary columns fit two classes in many ways; six columns of the same classes fit them in one."""
    tree = latent_class(2, [2] * 6, seed=1, concentration=1.0)
    data = encode(sample(tree, 5000, random_state=0))
    all_roots = begin(data)
    columns = [tree.table(name) for name in data.columns]
    true = np.hstack([tree.table("C").T, columns[0], columns[1]])

    def distance(context):
        model = pair_in(all_roots, context=context).fitted(2)
        found = np.hstack([model.share[:, None], model.left, model.right])
        return min(np.abs(found[order] - true).max() for order in ([0, 1], [1, 0]))

    assert distance((4,)) < 0.1
    assert distance(()) > 0.2


@settings(max_examples=20)
@given(small_tables(min_columns=3, max_columns=5, max_rows=40), st.sampled_from([(1,), (3,), (1, 3), (2, 50)]))
def test_company_costs_the_pair_no_more_than_a_parameter(data, context):
    all_roots = begin(data)
    pair, alone = pair_in(all_roots, context=context, penalty=1.0), pair_in(all_roots)
    for n_states in range(2, pair.most_states + 1):
        assert pair.fitted(n_states).gain >= alone.fitted(n_states).gain - 1.0 - 1e-9


def test_of_several_models_the_most_promising_is_chosen():
    """It gains most together with a link to the root that it says most about."""
    data = encode(sample(leafy_tree(n_columns=8, card=3), 300, random_state=0))
    all_roots, sizes = begin(data), (3, 6)
    indicators = [np.eye(3)[codes] for codes in data.codes.T]

    def promise(left, right, related, model):
        joint = model.share * model.left.T[data.codes[:, left]] * model.right.T[data.codes[:, right]]
        own = joint / joint.sum(axis=1, keepdims=True)
        links = [reference.information_between(own, indicators[root.node], data.weights) for root in related]
        return model.gain + data.total_weight * max(links)

    chosen = set()
    for left, right in combinations(range(5), 2):
        pair = pair_in(all_roots, left, right, context=sizes, penalty=1e9)  # whatever explains the pair worse is fine
        models = [pair._fitted_beside(2, size) for size in sizes]
        best = int(np.argmax([promise(left, right, pair.related, model) for model in models]))
        assert plain(pair.fitted(2)) == plain(models[best])
        chosen.add(best)
    assert chosen == {0, 1}


def test_models_depend_on_seed_and_key_but_not_on_threads():
    data = encode(sample(latent_class(3, [4] * 5), 300, random_state=0))
    all_roots = begin(data)
    options = {"context": (2, 3), "narrowing": 2.0}
    one = pair_in(all_roots, **options).fitted(3)
    for again in (pair_in(all_roots, **options).fitted(3), pair_in(all_roots, n_threads=2, **options).fitted(3)):
        assert plain(again) == plain(one)
    assert plain(pair_in(all_roots, random_state=1, **options).fitted(3)) != plain(one)
    assert plain(pair_in(all_roots, key=(1,), **options).fitted(3)) != plain(one)


# groups of states, from which EM starts


@given(st.integers(2, 6), st.integers(1, 5), seeds)
def test_groups_lose_as_little_information_as_one_union_can(n_rows, n_columns, seed):
    counts = np.random.default_rng(seed).gamma(0.5, 5.0, size=(n_rows, n_columns))
    found = groupings(counts)
    assert sorted(found) == list(range(1, n_rows + 1))
    assert found[n_rows].tolist() == list(range(n_rows))
    for n_groups in range(n_rows, 1, -1):
        labels, fewer = found[n_groups], found[n_groups - 1]
        assert sorted(set(fewer.tolist())) == list(range(n_groups - 1))
        rows = np.array([counts[labels == group].sum(axis=0) for group in range(n_groups)])
        united = np.array([counts[fewer == group].sum(axis=0) for group in range(n_groups - 1)])
        assert len({*zip(labels.tolist(), fewer.tolist(), strict=True)}) == n_groups  # groups stay together
        _, most = reference.best_grouping_of_two(rows)
        assert reference.mutual_information_of_counts(united) == pytest.approx(most, abs=1e-9)


def test_equal_rows_are_united_first():
    counts = np.array([[8.0, 1.0, 1.0], [1.0, 8.0, 1.0], [4.0, 0.5, 0.5], [1.0, 1.0, 8.0]])
    assert groupings(counts)[3].tolist() == [0, 1, 0, 2]
    counts[1] = 0.0  # a state that no row shows
    assert groupings(counts)[3].tolist() in ([0, 0, 1, 2], [0, 1, 0, 2], [0, 1, 1, 2])
