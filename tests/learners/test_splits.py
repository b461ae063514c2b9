"""How much two trees separate in the same way; what single edges separate is tested with the support of trees."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import LatentTree
from pgmpy_latent.learners.splits import shared_splits
from pgmpy_latent.operators import root_walk
from tests.support import reference

COLUMNS = "pqrstu"


def forest(names, parent):
    """Return a forest whose nodes have one state each; those with names in capitals are hidden."""
    n = len(names)
    return LatentTree(names, [[0]] * n, parent, [name.isupper() for name in names], [[[1.0]]] * n)


@st.composite
def forests(draw):
    """Trees and forests over the same columns, which may be inside, with some hidden variables."""
    names = draw(st.permutations([*COLUMNS, *"ABC"[: draw(st.integers(0, 3))]]))
    return forest(names, [draw(st.integers(-1, at - 1)) for at in range(len(names))])


@settings(max_examples=200)
@given(forests(), forests())
def test_the_share_is_that_of_edges_taken_out_one_by_one(tree, other):
    found = shared_splits(tree, other)
    np.testing.assert_equal(found, reference.agreement_of_edges(tree, other))
    np.testing.assert_equal(shared_splits(other, tree), found)
    assert np.isnan(found) or 0 <= found <= 1


@given(forests(), st.data())
def test_a_tree_agrees_with_itself_wherever_its_root_is(tree, data):
    walked = root_walk(tree, data.draw(st.sampled_from(tree.names)))
    assert np.isnan(shared_splits(tree, walked)) or shared_splits(tree, walked) == 1


def test_what_counts():
    star = forest(["A", *COLUMNS], [-1, *[0] * 6])
    two = forest(["A", "B", *COLUMNS], [-1, 0, 0, 0, 0, 1, 1, 1])
    apart = forest(["A", "B", *COLUMNS], [-1, -1, 0, 0, 0, 1, 1, 1])
    assert np.isnan(shared_splits(star, star))  # a latent class model: nothing could differ
    assert shared_splits(star, two) == 0
    assert shared_splits(two, apart) == 1  # the same columns belong together
    lone = forest(["A", "B", *COLUMNS], [-1, 0, -1, 0, 0, 1, 1, 1])
    assert shared_splits(two, lone) == 1  # both set p apart from the others, and stu
    chain = forest("pqrstu", [-1, 0, 1, 2, 3, 4])
    swapped = forest("prqstu", [-1, 0, 1, 2, 3, 4])
    assert shared_splits(chain, chain) == 1
    assert shared_splits(chain, swapped) == 4 / 6  # pq|rstu is not there, pqr|stu and pqrs|tu are
