"""Data completion: scores are those of a table that was completed row by row, and promise no more than they keep."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove, by_ratio, in_turn
from pgmpy_latent.learners.east.completed_counts import expected_log_likelihood
from pgmpy_latent.learners.east.evaluation import EVALUATIONS
from pgmpy_latent.learners.east.moves import Delete, Grow, Introduce, Relocate, Shrink
from pgmpy_latent.learners.east.settings import EastSettings, Rules
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.scores import n_parameters
from tests.support import reference
from tests.support import reference_east as slow

seeds = st.integers(0, 2**32 - 1)
trees = slow.any_trees(max_columns=5, max_hidden=2, zeros=None).filter(slow.sensible)
problems = slow.problems(trees, max_rows=8)


def completed_for(tree, data, *, n_starts=3, random_state=0, penalty=0.5):
    return evaluation_for(tree, data, "dc", n_starts=n_starts, random_state=random_state, penalty=penalty)


def evaluation_for(tree, data, kind, *, n_starts=3, random_state=0, penalty=0.5):
    search = Search(Settings(), random_state=random_state)
    settings = EastSettings(n_starts=n_starts, n_steps=6)
    return EVALUATIONS[kind](NodeMessages(tree, data), search, settings, penalty)


def log_likelihood(tree, data):
    engine = engine_for(tree, data)
    return float(engine.log_likelihood(engine.layout.pack(tree.tables)))


def at_its_best(tree, data):
    """Return a tree with the tables at which EM ends."""
    engine = engine_for(tree, data)
    found = fit(engine, engine.layout.pack(tree.tables), atol=1e-7, max_iter=3000)
    return tree.with_tables(engine.layout.unpack(found.tables))


def of_kind(tree, *kinds):
    return [move for move in slow.all_moves(tree) if isinstance(move, kinds)]


def close(value, scale):
    return pytest.approx(value, rel=1e-9, abs=1e-10 * max(1.0, abs(scale)))


# counts


@given(problems)
def test_pairs_are_counted_in_the_completed_table(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    for left, right in combinations(range(tree.n_nodes), 2):
        expected = slow.counts(codes, weights, [left, right], tree.cards)
        np.testing.assert_allclose(completed.counts.pair(left, right), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(completed.counts.pair(right, left), completed.counts.pair(left, right).T)


@given(st.integers(1, 4), st.integers(1, 4), seeds)
def test_the_expected_log_likelihood_is_that_of_the_best_table(n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.5, 3.0, size=(n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.8)
    expected = sum(n * np.log(n / row.sum()) for row in counts for n in row if n > 0)
    assert expected_log_likelihood(counts) == pytest.approx(expected, abs=1e-9)


# relocating and deleting nodes


@given(problems)
def test_relocating_and_deleting_are_worth_what_the_completed_table_says(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    before = slow.best_log_likelihood(codes, weights, tree.names, slow.edges_of(tree))
    for move in of_kind(tree, Relocate, Delete):
        names, edges = slow.edges_after(tree, move)
        kept = [at for at, name in enumerate(tree.names) if name in names]
        after = slow.best_log_likelihood(codes[:, kept], weights, [tree.names[at] for at in kept], edges)
        found = move.evaluate_on_counts(completed)
        assert found.gain == close(after - before, before)
        assert found.score == found.gain - completed.penalty * found.n_more


@settings(max_examples=40)
@given(problems)
def test_tables_after_a_move_are_counted_in_the_completed_table(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    for move in of_kind(tree, Relocate, Delete):
        above = getattr(move, "into", getattr(move, "new", None))
        for name, table in move.evaluate_on_counts(completed).changed.tables.items():
            columns = [tree.index(end) for end in (above, name) if end is not None]
            counts = np.atleast_2d(slow.counts(codes, weights, columns, tree.cards))
            total = counts.sum(axis=1, keepdims=True)
            seen = total[:, 0] > 1e-9
            np.testing.assert_allclose(table[seen], counts[seen] / total[seen], rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(table.sum(axis=1), 1.0)


@settings(max_examples=40)
@given(problems)
def test_the_number_of_parameters_is_that_of_the_tree_before_superfluous_nodes_are_left_out(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    for move in of_kind(tree, Relocate, Delete, Shrink):
        found = move.evaluate_on_counts(completed)
        larger = move.apply(tree, found.changed)
        assert found.n_more == n_parameters(larger) - n_parameters(tree)


def assert_kept(tree, data, candidate):
    """Raise unless the log-likelihood rises by as much as a candidate promises."""
    before = log_likelihood(tree, data)
    rise = log_likelihood(slow.applied(tree, candidate.move, candidate.changed), data) - before
    assert rise >= candidate.gain - 1e-6 * max(1.0, abs(before))


@settings(max_examples=25)
@given(slow.problems(slow.sensible_trees(max_columns=5), max_rows=15))
def test_where_em_has_ended_relocating_gains_what_it_promises(problem):
    tree, data = problem
    tree = at_its_best(tree, data)
    completed = completed_for(tree, data)
    for move in of_kind(tree, Relocate):
        assert_kept(tree, data, move.evaluate_on_counts(completed))


@given(problems)
def test_wherever_em_is_relocating_gains_what_it_promises(problem):
    """Old tables that are not the best for the completed table can only be replaced by better ones."""
    tree, data = problem
    completed = completed_for(tree, data)
    for move in of_kind(tree, Relocate):
        assert_kept(tree, data, move.evaluate_on_counts(completed))


# fewer states


def merged_states(codes, node, pair):
    """Return a table with two states of a column made one; the states above move up."""
    codes = codes.copy()
    codes[codes[:, node] == pair[1], node] = pair[0]
    codes[codes[:, node] > pair[1], node] -= 1
    return codes


@given(problems)
def test_a_state_less_is_worth_what_the_best_merge_of_two_states_is_in_the_completed_table(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    edges = slow.edges_of(tree)
    before = slow.best_log_likelihood(codes, weights, tree.names, edges)
    for move in of_kind(tree, Shrink):
        node = tree.index(move.node)
        tables = {pair: merged_states(codes, node, pair) for pair in combinations(range(slow.card(tree, move.node)), 2)}
        values = {
            pair: slow.best_log_likelihood(table, weights, tree.names, edges) - before for pair, table in tables.items()
        }
        found = move.evaluate_on_counts(completed)
        assert found.gain == close(max(values.values()), before)
        best = [pair for pair, value in values.items() if value > max(values.values()) - 1e-6]
        if len(best) == 1:
            assert_star_of_table(tree, node, found.changed.star, tables[best[0]], weights)


def assert_star_of_table(tree, node, star, codes, weights):
    """Raise unless the tables around a node are those that are counted in a table without gaps."""
    cards = np.where(np.arange(tree.n_nodes) == node, star.n_states, tree.cards)
    share = slow.counts(codes, weights, [node], cards)
    np.testing.assert_allclose(star.share, share / share.sum(), rtol=1e-7, atol=1e-9)
    around = [tree.index(name) for name in slow.around(slow.edges_of(tree), tree.names[node])]
    for other, part in zip(sorted(around), star.parts(star.rows), strict=True):
        counts = slow.counts(codes, weights, [node, other], cards)
        seen = counts.sum(axis=1) > 1e-6
        expected = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(part[seen], expected, rtol=1e-6, atol=1e-8)


# new nodes and new states


@given(problems)
def test_neighbours_are_as_dependent_as_g_squared_in_the_completed_table_says(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    for name in tree.latent_names:
        node = tree.index(name)
        found = completed.counts.dependence(node)
        around = completed.messages.around[node]
        np.testing.assert_array_equal(np.diag(found), 0.0)
        for (a, left), (b, right) in combinations(enumerate(around), 2):
            expected = slow.g_squared(codes, weights, tree.cards, node, left, right)
            assert found[a, b] == pytest.approx(expected, rel=1e-7, abs=1e-9 * data.total_weight)
            assert found[b, a] == pytest.approx(found[a, b], rel=1e-9, abs=1e-9 * data.total_weight)


@settings(max_examples=40)
@given(slow.problems(slow.sensible_trees(shuffle=False), max_rows=6), st.booleans())
def test_a_new_node_is_as_needed_as_its_neighbours_are_dependent(problem, units):
    tree, data = problem
    columns = sorted(slow.around(slow.edges_of(tree), "H0") & set(tree.observed_names))[:3]
    rules = Rules(together=(frozenset(columns),) if units and len(columns) > 1 else ())
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    for move in Introduce.in_tree(tree, rules):
        node, *moved = (tree.index(name) for name in (move.node, *move.moved))
        pairs = combinations(moved, 2)
        expected = sum(slow.g_squared(codes, weights, tree.cards, node, *pair) for pair in pairs)
        assert move.need(completed) == pytest.approx(expected, rel=1e-7, abs=1e-8 * data.total_weight)


@given(problems)
def test_a_new_state_is_as_needed_as_pairs_of_neighbours_are_badly_modelled(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    codes, weights = slow.completed(tree, data)
    joint = reference.joint_array(tree)
    for name in tree.latent_names:
        around = completed.messages.around[tree.index(name)]
        found = []
        for pair in combinations(around, 2):
            seen = slow.counts(codes, weights, pair, tree.cards) / data.total_weight
            modelled = joint.sum(axis=tuple(set(range(tree.n_nodes)) - set(pair)))
            found.append(slow.divergence(seen, modelled))
        assert Grow(name).need(completed) == pytest.approx(np.mean(found), rel=1e-9, abs=1e-12)


# new nodes, fitted to the counts

with_room = slow.problems(slow.sensible_trees(zeros=None), max_rows=15)


@settings(max_examples=40)
@given(with_room, seeds)
def test_a_new_node_gains_what_it_promises(problem, seed):
    tree, data = problem
    completed = completed_for(tree, data)
    for move in slow.some_moves(tree, np.random.default_rng(seed), most=4):
        if isinstance(move, Introduce):
            found = move.fit_counts(completed)
            assert 2 <= found.move.n_states <= move.n_states
            assert found.move == replace(move, n_states=found.move.n_states)
            assert found.changed.tables[None].shape[1] == found.move.n_states
            assert_kept(tree, data, found)


@settings(max_examples=30)
@given(with_room)
def test_the_gain_of_a_new_node_is_what_two_neighbours_gain_in_the_completed_table(problem):
    tree, data = problem
    moves = of_kind(tree, Introduce)
    assume(moves)
    move = moves[len(moves) // 2]
    found = move.fit_counts(completed_for(tree, data))
    codes, weights = slow.completed(tree, data)
    between, *below = found.changed.tables.values()
    together = np.einsum("ys,sa,sb->yab", between, *below)
    nodes = [tree.index(name) for name in (move.node, *move.moved)]
    counts = slow.counts(codes, weights, nodes, tree.cards)
    apart = expected_log_likelihood(counts.sum(axis=1)) + expected_log_likelihood(counts.sum(axis=2))
    seen = counts > 0
    expected = (counts[seen] * np.log(together[seen])).sum() - apart
    assert found.gain == pytest.approx(expected, rel=1e-7, abs=1e-7 * data.total_weight)


@pytest.mark.parametrize(("penalty", "n_states"), [(0.0, 3), (1e6, 2)])
def test_what_a_parameter_costs_decides_how_many_states_a_new_node_has(penalty, n_states):
    rng = np.random.default_rng(0)
    tree = slow.tree_from({"H": 3}, {name: 3 for name in "abcd"}, ["Ha", "Hb", "Hc", "Hd"], rng)
    data = slow.table_for(tree, rng.integers(3, size=(60, 4)) // [[1, 1, 2, 3]])
    found = Introduce("H", ("a", "b"), 3).fit_counts(completed_for(tree, data, penalty=penalty, n_starts=8))
    assert found.move.n_states == n_states


def test_more_than_two_columns_that_belong_together_get_local_em():
    rng = np.random.default_rng(1)
    tree = slow.tree_from({"H": 2}, {name: 2 for name in "abcdef"}, [f"H{name}" for name in "abcdef"], rng)
    data = slow.table_for(tree, slow.drawn_codes(tree, 30, rng))
    completed = completed_for(tree, data)
    move = Introduce("H", ("a", "b", "c"), 2)
    found, expected = move.fit_counts(completed), move.evaluate(completed)
    assert (found.move, found.gain, found.n_more) == (expected.move, expected.gain, expected.n_more)


def test_columns_of_one_state_do_no_harm():
    rng = np.random.default_rng(2)
    tree = slow.tree_from({"H": 2}, {"a": 2, "b": 2, "c": 1, "d": 1}, ["Ha", "Hb", "Hc", "Hd"], rng)
    data = slow.table_for(tree, slow.drawn_codes(tree, 30, rng))
    evaluation = evaluation_for(tree, data, "auto")
    assert len(evaluation.candidates(of_kind(tree, Introduce))) > 0


def test_new_nodes_depend_on_the_seed_alone():
    rng = np.random.default_rng(3)
    tree = slow.tree_from({"H": 3}, {name: 3 for name in "abcd"}, ["Ha", "Hb", "Hc", "Hd"], rng)
    data = slow.table_for(tree, slow.drawn_codes(tree, 50, rng))
    move = Introduce("H", ("a", "b"), 3)
    one, same, other = (move.fit_counts(completed_for(tree, data, random_state=seed)) for seed in (0, 0, 1))
    assert one.gain == same.gain
    assert one.gain != other.gain


# which candidates are looked at


@settings(max_examples=15)
@given(with_room)
def test_of_new_nodes_and_new_states_data_completion_leaves_the_best_one_each(problem):
    tree, data = problem
    completed = completed_for(tree, data)
    moves = of_kind(tree, Introduce, Grow, Shrink, Relocate, Delete)
    found = [candidate.move for candidate in completed.candidates(moves)]
    for kind in (Introduce, Grow):
        needs = [move.need(completed) for move in moves if isinstance(move, kind)]
        assert [move.need(completed) for move in found if isinstance(move, kind)] == ([max(needs)] if needs else [])
    others = [move for move in moves if not isinstance(move, (Introduce, Grow))]
    assert [move for move in found if not isinstance(move, (Introduce, Grow))] == others


@settings(max_examples=15)
@given(slow.problems(slow.sensible_trees(), max_rows=12))
def test_candidates_that_are_chosen_by_completion_are_evaluated_by_local_em(problem):
    tree, data = problem
    local_em, combined = (evaluation_for(tree, data, kind) for kind in ("rl", "auto"))
    moves = of_kind(tree, Grow, Shrink, Relocate, Delete)
    whole = {one.move: one.gain for one in local_em.candidates(moves)}
    some = {one.move: one.gain for one in combined.candidates(moves)}
    assert some.items() <= whole.items()
    cut_or_linked = {move for move in moves if isinstance(move, Relocate) and None in (move.old, move.new)}
    assert {move for move in moves if not isinstance(move, Relocate)} | cut_or_linked <= some.keys()
    assert {move.moved for move in moves if isinstance(move, Relocate)} == {
        move.moved for move in some if isinstance(move, Relocate)
    }


def test_candidates_are_ordered_by_their_ratios_and_then_by_their_scores():
    def candidate(score, n_more):
        return EvaluatedMove(Grow("H"), 0.0, n_more, ChangedTables("H"), score)

    values = [(1.0, 2), (4.0, 2), (3.0, 0), (5.0, -2), (-1.0, 3), (-7.0, 1)]
    found = by_ratio([candidate(*value) for value in values])
    assert [(one.score, one.n_more) for one in found] == [
        (5.0, -2), (3.0, 0), (4.0, 2), (1.0, 2), (-1.0, 3), (-7.0, 1),
    ]  # fmt: skip


def test_kinds_of_moves_and_places_take_turns():
    values = [
        (Introduce("H", ("a", "b"), 2), 9.0),
        (Introduce("H", ("a", "c"), 2), 8.0),
        (Introduce("G", ("d", "e"), 2), 1.0),
        (Grow("H"), 2.0),
        (Grow("G"), 7.0),
    ]
    found = in_turn([EvaluatedMove(move, 0.0, 1, ChangedTables("H"), score) for move, score in values])
    assert [one.score for one in found] == [9.0, 7.0, 1.0, 8.0, 2.0]
