"""The effective dimension against the exact rank."""

import numpy as np
import pytest
from hypothesis import given, settings

from pgmpy_latent import scores
from pgmpy_latent.diagnostics import dimension
from pgmpy_latent.testing import latent_trees
from tests.support import reference
from tests.support.scored_tables import latent_class, shaped


@pytest.mark.parametrize(
    ("tree", "parameters", "dimension"),
    [
        (latent_class(3, 2, 2, 2, 2), 14, 13),
        (latent_class(2, 2, 2, 2), 7, 7),
        (latent_class(2, 2, 2), 5, 3),
        (latent_class(2, 2), 3, 1),
        (latent_class(1, 2, 3), 3, 3),
        (latent_class(3, 2, 2, 2), 11, 7),
        (shaped([-1, 0, 1, 0], [2, 3, 2, 4], [False] * 4), 14, 14),  # all seen
        (shaped([-1, 0, 0], [2, 3, 4], [True] * 3), 11, 0),  # nothing seen
        (shaped([-1, -1, 1, 1], [4, 2, 2, 2], [False, True, False, False]), 8, 6),  # a forest: 3 + 3
        (shaped([-1, 0, 1, 1, 1], [2, 1, 2, 2, 2], [True, True, False, False, False]), 4, 3),  # one-state hidden
        (shaped([-1, 0, 0], [3, 2, 4], [False, False, True]), 2 + 3 + 9, 2 + 3),  # hidden leaf
    ],
)
def test_known_dimensions(tree, parameters, dimension):
    assert scores.n_parameters(tree) == parameters
    assert scores.effective_dimension(tree) == dimension


@pytest.mark.parametrize(
    ("items", "classes"), [(3, 2), (4, 2), (5, 4), (5, 5), (5, 6), (6, 5), (6, 9), (7, 15), (7, 16)]
)
def test_binary_latent_class_models_are_otherwise_regular(items, classes):
    """Products of projective lines have no defective secant variety but the third one of four lines."""
    expected = min(2**items - 1, classes * (items + 1) - 1)
    assert scores.effective_dimension(latent_class(classes, *[2] * items)) == expected


def reached_by_elimination(tree):
    return reference.effective_dimension(tree.parent, tree.cards.tolist(), tree.latent, seed=0)


@given(latent_trees(max_nodes=7, max_card=3))
def test_dimension_equals_exact_rank(tree):
    assert scores.effective_dimension(tree) == reached_by_elimination(tree)


@given(latent_trees(min_nodes=6, max_nodes=8, max_card=3, forests=False, latents_are_inner=True))
@settings(max_examples=25)
def test_dimension_of_hidden_inner_nodes_equals_exact_rank(tree):
    assert scores.effective_dimension(tree) == reached_by_elimination(tree)


def test_dimension_from_random_rows_equals_that_from_all_cells(monkeypatch):
    monkeypatch.setattr(dimension, "MOST_CELLS", 0)
    monkeypatch.setattr(dimension, "MORE_ROWS", 3000)  # the cells of small trees must all turn up

    @given(latent_trees(max_nodes=7, max_card=3))
    @settings(max_examples=40)
    def agree(tree):
        assert scores.effective_dimension(tree) == reached_by_elimination(tree)

    agree()


def hierarchy(*leaf_cards, root_card, inner_card):
    """Return a hidden root above hidden nodes, each above three leaves."""
    n_inner = len(leaf_cards) // 3
    parent = [-1] + [0] * n_inner + [1 + at // 3 for at in range(len(leaf_cards))]
    cards = [root_card] + [inner_card] * n_inner + list(leaf_cards)
    return shaped(parent, cards, [True] * (1 + n_inner) + [False] * len(leaf_cards))


def test_dimension_of_a_hierarchy_from_rows_and_from_cells(monkeypatch):
    tree = hierarchy(*[2] * 9, root_card=2, inner_card=3)  # three states are too many next to a binary root
    assert (scores.n_parameters(tree), scores.effective_dimension(tree)) == (40, 37)
    monkeypatch.setattr(dimension, "MOST_CELLS", 0)
    assert scores.effective_dimension(tree) == 37


def test_dimension_of_models_with_too_many_cells():
    assert scores.effective_dimension(hierarchy(*[3] * 9, root_card=3, inner_card=3)) == 74  # regular: all of them
    assert scores.effective_dimension(latent_class(4, *[3] * 20)) == 163
    assert scores.effective_dimension(latent_class(2, *[2] * 100)) == 201


def test_dimension_does_not_depend_on_tables_or_root():
    zeros = latent_class(3, 2, 2, 2, 2).with_tables([[[1.0, 0, 0]], *[[[1.0, 0]] * 3] * 4])
    assert scores.effective_dimension(zeros) == 13
    below = shaped([1, -1, 1, 1, 1], [2, 3, 2, 2, 2], [False, True, False, False, False])
    above = shaped([-1, 0, 1, 1, 1], [2, 3, 2, 2, 2], [False, True, False, False, False])
    assert scores.effective_dimension(below) == scores.effective_dimension(above) == 13


@given(latent_trees(max_nodes=6, max_card=3, forests=False))
def test_gradients_equal_complex_steps(tree):
    """The derivative of ln P(row) is the imaginary part after an imaginary step."""
    columns = np.flatnonzero(~tree.latent)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, tree.cards[columns], size=(4, len(columns)))
    found = dimension._gradients(tree, codes)
    rows = reference.rows_of(codes, columns)
    expected, step = [], 1e-30
    for node, table in enumerate(tree.tables):
        for u in range(table.shape[0]):
            for state in range(table.shape[1] - 1):
                moved = [t.astype(complex) for t in tree.tables]
                moved[node][u, state] += 1j * step
                moved[node][u, -1] -= 1j * step
                logs = [np.log(reference.row_joint(tree.parent, moved, row)[1].sum()) for row in rows]
                expected.append(np.imag(logs) / step)
    np.testing.assert_allclose(found, np.array(expected).reshape(-1, 4).T, rtol=1e-8, atol=1e-8)
