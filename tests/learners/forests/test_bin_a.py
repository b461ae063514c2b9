"""BIN-A: the order of joins is that of agglomerative clustering, and a refused pair cuts the tree."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage

from pgmpy_latent import BinA, datasets, encode, mutual_information, sample
from pgmpy_latent.learners.forests.bin_a import AsClustered, merges_of
from pgmpy_latent.learners.local.pairs import Pair
from pgmpy_latent.learners.local.roots import Roots
from tests.support import reference
from tests.support.samples import clusters, columns_below, leafy_tree

QUIET = {"random_state": 0, "show_progress": False}
LINKAGES = ["average", "single", "complete"]
every_linkage = pytest.mark.parametrize("linkage", LINKAGES)
seeds = st.integers(0, 2**32 - 1)


def members_of(merges, n_columns):
    """Return the columns in both clusters of each merge, from SciPy's numbers of clusters."""
    found = [frozenset([column]) for column in range(n_columns)]
    for left, right in merges:
        found.append(found[left] | found[right])
    return [{found[left], found[right]} for left, right in merges]


def random_table(seed, n_columns, n_rows=40):
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, size=n_columns)
    codes = rng.integers(0, cards, size=(n_rows, n_columns))
    codes = np.where(rng.random(codes.shape) < 0.5, rng.integers(0, 3, size=(n_rows, 1)) % cards, codes)
    return encode(pd.DataFrame(codes), sample_weight=rng.gamma(2.0, 1.0, size=n_rows))


def information_of(data):
    return mutual_information(data).to_numpy()


@every_linkage
@given(seed=seeds, n_columns=st.integers(2, 9))
def test_merges_are_those_of_clustering_by_mutual_information(linkage, seed, n_columns):
    information = information_of(random_table(seed, n_columns))
    expected = reference.clustered(information, linkage)
    assert members_of(merges_of(information, linkage), n_columns) == expected


@every_linkage
@given(seed=seeds, n_columns=st.integers(2, 12))
def test_merges_are_scipys(linkage, seed, n_columns):
    similarity = np.random.default_rng(seed).random((n_columns, n_columns))
    similarity = similarity + similarity.T
    distances = (10 - similarity)[np.triu_indices(n_columns, 1)]  # whatever it is taken from
    expected = scipy_linkage(distances, linkage)[:, :2].astype(int)
    found = merges_of(similarity, linkage)
    assert members_of(found, n_columns) == members_of(expected, n_columns)


def test_one_column_is_not_merged():
    assert merges_of(np.ones((1, 1)), "average").shape == (0, 2)


@every_linkage
def test_joins_follow_the_clustering(monkeypatch, linkage):
    table = sample(leafy_tree(n_columns=8, card=3), 500, random_state=0)
    joined, join = [], Roots.join

    def noted(all_roots, left, right, model):
        below = [reference.below(all_roots.parents, all_roots.roots[slot].node) for slot in (left, right)]
        joined.append({frozenset(node for node in nodes if node < 8) for nodes in below})  # the columns come first
        join(all_roots, left, right, model)

    monkeypatch.setattr(Roots, "join", noted)
    BinA(**QUIET, linkage=linkage).fit(table)
    assert joined == reference.clustered(information_of(table), linkage)


def test_linkages_differ():
    orders = [str(merges_of(information_of(random_table(3, 9)), linkage).tolist()) for linkage in LINKAGES]
    assert len(set(orders)) == 3


# a refused pair


@given(seeds, st.integers(2, 9))
def test_a_refused_pair_cuts_everything_above_it(seed, n_columns):
    rng = np.random.default_rng(seed)
    merges = merges_of(information_of(random_table(seed, n_columns)), "average")
    members = members_of(merges, n_columns)
    order, lost = AsClustered(merges), []
    while (pair := order.pair(None)) is not None:
        assert pair == (min(pair), max(pair))
        left, right = next(
            sides for sides in map(tuple, members) if {min(side) for side in sides} == set(pair) and sides not in lost
        )
        assert not any(gone <= left or gone <= right for gone in lost)  # nothing above a refused pair is tried
        members.remove({left, right})
        if rng.random() < 0.3:
            lost.append(left | right)
            order.refused()
        else:
            order.joined(min(pair))
    # and everything else was
    assert all(any(gone <= side for gone in lost for side in sides) for sides in members)
    assert order.pair(None) is None


@pytest.mark.parametrize("refused", range(5))
def test_a_forest_lacks_the_refused_pair_and_what_is_above_it(monkeypatch, refused):
    table = sample(leafy_tree(n_columns=6), 500, random_state=0)
    whole = BinA(**QUIET).fit(table)
    order = sorted(whole.latents_, key=lambda name: int(name[1:]))
    assert len(order) == 5
    best, calls = Pair.best, []

    def stubborn(pair):
        calls.append(pair)
        return None if len(calls) == refused + 1 else best(pair)

    monkeypatch.setattr(Pair, "best", stubborn)
    cut = BinA(**QUIET).fit(table)
    gone = columns_below(whole.tree_, order[refused])
    kept = {
        " ".join(sorted(below)) for below in (columns_below(whole.tree_, name) for name in order) if not gone <= below
    }
    assert clusters(cut.tree_) == kept


def test_pairs_that_say_nothing_do_not_end_it():
    """BIN-G would stop at the first refusal; here it cuts one branch only."""
    table = datasets.coins("binary_forest", random_state=0)
    assert clusters(BinA(**QUIET).fit(table).tree_) == {"x4 x5", "x3 x4 x5", "x1 x2"}


@pytest.mark.parametrize("linkage", ["ward", None, "AVERAGE"])
def test_a_linkage_that_is_not_known(linkage):
    message = f"linkage is {linkage!r}; give 'average', 'single' or 'complete'"
    with pytest.raises(ValueError, match=message):
        BinA(**QUIET, linkage=linkage).fit("no table at all")
