"""Local EM: gains are those of whole trees, what is frozen stays, and nothing depends on threads or on the order."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmpy_latent import sample
from pgmpy_latent.em.fit import fit
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.learners.east.candidates import ChangedTables, EvaluatedMove
from pgmpy_latent.learners.east.evaluation import Evaluation
from pgmpy_latent.learners.east.moves import Contract, Grow, Introduce, Relocate, Shrink
from pgmpy_latent.learners.east.settings import EastSettings
from pgmpy_latent.learners.local.node_messages import NodeMessages
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators import is_regular, marginals, merge_states, remove_state, root_walk
from pgmpy_latent.operators.star import star_of
from pgmpy_latent.runtime.clock import TimeLimitReached
from pgmpy_latent.scores import n_parameters
from tests.support import reference_east as slow
from tests.support.samples import latent_class, two_classes_of_columns

seeds = st.integers(0, 2**32 - 1)
trees = slow.any_trees(zeros=None).filter(slow.sensible)
problems = slow.problems(trees, max_rows=12)


def evaluator(tree, data, *, n_starts=4, n_steps=6, n_threads=1, random_state=0, step=0, prior=0.0, **options):
    """Return what evaluates candidates, as a search would have it."""
    search = Search(Settings(prior=prior), random_state=random_state, n_jobs=n_threads)
    penalty = float(np.log(data.total_weight + 1) / 2)
    options = EastSettings(n_starts=n_starts, n_steps=n_steps, **options)
    return Evaluation(NodeMessages(tree, data), search, options, penalty, step)


def log_likelihood(tree, data):
    engine = engine_for(tree, data)
    return float(engine.log_likelihood(engine.layout.pack(tree.tables)))


def unreduced(tree, candidate):
    """Return the tree after a move, with nodes that became superfluous."""
    return candidate.move.apply(tree, candidate.changed)


def tables_of(changed):
    """Return the tables that a move changes, as plain numbers."""
    if changed.star is not None:
        return changed.root, changed.star.share.tolist(), changed.star.rows.tolist()
    return changed.root, {name: table.tolist() for name, table in changed.tables.items()}


def described(candidates):
    """Return candidates by their moves, to the last bit."""
    return {one.move: (one.gain, one.n_more, one.score, tables_of(one.changed)) for one in candidates}


# gains


def assert_gains(tree, data, moves, **options):
    """Raise unless every gain is by how much the log-likelihood of the whole tree rises."""
    evaluation = evaluator(tree, data, **options)
    before = log_likelihood(tree, data)
    for move in moves:
        found = evaluation.candidate(move)
        after = log_likelihood(slow.applied(tree, move, found.changed), data)
        assert found.gain == pytest.approx(after - before, rel=1e-6, abs=1e-6 * max(1.0, abs(before)))


@given(problems, seeds)
def test_the_gain_is_the_difference_of_log_likelihoods_of_whole_trees(problem, seed):
    tree, data = problem
    assert_gains(tree, data, slow.some_moves(tree, np.random.default_rng(seed), most=2))


@settings(max_examples=20)
@given(slow.problems(slow.sensible_trees(), max_rows=12), seeds)  # with a prior there are no zeros
def test_with_a_prior_the_gain_is_still_that_of_the_likelihood_alone(problem, seed):
    tree, data = problem
    moves = slow.some_moves(tree, np.random.default_rng(seed), most=1)
    assert_gains(tree, data, moves, prior=0.5)


@given(slow.problems(slow.sensible_trees(), max_rows=12))
def test_the_gain_of_a_link_is_the_difference_of_log_likelihoods_of_whole_trees(problem):
    tree, data = problem
    assert_gains(tree, data, [move for move in slow.all_moves(tree) if slow.key(move)[0] == "link"])


@settings(max_examples=40)
@given(problems, seeds)
def test_the_number_of_parameters_is_that_of_the_tree_before_superfluous_nodes_are_left_out(problem, seed):
    tree, data = problem
    evaluation = evaluator(tree, data, n_steps=1, n_starts=1)
    for move in slow.some_moves(tree, np.random.default_rng(seed), most=2):
        found = evaluation.candidate(move)
        larger, new = unreduced(tree, found), slow.applied(tree, move, found.changed)
        assert found.n_more == n_parameters(larger) - n_parameters(tree)
        assert found.n_more >= n_parameters(new) - n_parameters(tree)
        assert (found.n_more == n_parameters(new) - n_parameters(tree)) or not is_regular(larger)
        assert found.score == found.gain - evaluation.penalty * found.n_more


def test_the_improvement_ratio_is_the_rise_of_the_score_per_parameter():
    def ratio(score, n_more):
        return EvaluatedMove(Grow("H"), 0.0, n_more, ChangedTables("H"), score).ratio

    assert ratio(6.0, 3) == 2.0
    assert ratio(6.0, 0) == ratio(6.0, -3) == np.inf
    assert ratio(-6.0, 3) == ratio(-6.0, -3) == -6.0
    assert ratio(0.0, 0) == 0.0


# local EM


@settings(max_examples=25)
@given(problems, seeds)
def test_more_iterations_never_gain_less(problem, seed):
    tree, data = problem
    # iterations of joining two nodes are not asked for
    for move in slow.some_moves(tree, np.random.default_rng(seed), most=1, without=["join"]):
        gains = [
            evaluator(tree, data, n_starts=1, n_steps=n, tolerance=0.0).candidate(move).gain
            for n in (1, 2, 3, 5, 9, 20)
        ]
        assert (np.diff(gains) >= -1e-9 * max(1.0, abs(log_likelihood(tree, data)))).all()


@settings(max_examples=25)
@given(problems, seeds)
def test_em_on_all_tables_goes_on_from_there(problem, seed):
    tree, data = problem
    evaluation = evaluator(tree, data)
    before = log_likelihood(tree, data)
    for move in slow.some_moves(tree, np.random.default_rng(seed), most=1):
        found = evaluation.candidate(move)
        new = slow.applied(tree, move, found.changed)
        engine = engine_for(new, data)
        full = fit(engine, engine.layout.pack(new.tables), max_iter=20)
        assert full.log_likelihood >= before + found.gain - 1e-9 * max(1.0, abs(before))


@settings(max_examples=25)
@given(slow.problems(slow.sensible_trees(max_columns=7), max_rows=12), seeds)
def test_tables_that_a_move_does_not_change_stay_as_they_were(problem, seed):
    tree, data = problem
    evaluation = evaluator(tree, data)
    for move in slow.some_moves(tree, np.random.default_rng(seed), most=2):
        found = evaluation.candidate(move)
        new = unreduced(tree, found)
        changed = changed_tables(tree, new, found)
        before, after = tree, new
        for root in roots_of(move):
            before, after = (root_walk(one, root) for one in (before, after))
        for name in set(tree.names) & set(new.names) - changed:
            possible = rows_that_occur(after, name)
            np.testing.assert_allclose(after.table(name)[possible], before.table(name)[possible], rtol=0, atol=1e-12)


def rows_that_occur(tree, name):
    """Tell which rows of a table belong to possible states; walking to another root keeps no others."""
    above = tree.parent[tree.index(name)]
    return np.array([True]) if above < 0 else marginals(tree)[above] > 1e-12


def roots_of(move):
    """Return the nodes from which both trees, before and after a move, look alike but for what it changes."""
    if isinstance(move, Relocate):
        return [end for end in (move.moved[0] if None in (move.old, move.new) else None, move.old, move.new) if end]
    return [getattr(move, "into", move.node)]


def changed_tables(tree, new, candidate):
    """Return the names of the nodes whose tables a move changes, seen from the root it names."""
    move, edges = candidate.move, slow.edges_of(tree) | slow.edges_of(new)
    if isinstance(move, (Grow, Shrink, Contract)):
        nodes = {move.node, getattr(move, "swallowed", move.node)}
        return nodes.union(*(slow.around(edges, node) for node in nodes))
    return set(candidate.changed.tables)


# what results do not depend on


@pytest.fixture(scope="module")
def problem():
    """A forest with every kind of move, and a table with gaps."""
    rng = np.random.default_rng(4)
    hidden = {"H": 3, "G": 2, "F": 2}
    columns = {name: 3 if name in "ac" else 2 for name in "abcdefghix"}
    links = ["HG", "Ha", "Hb", "Hc", "Gd", "Ge", "Gf", "Fg", "Fh", "Fi"]
    tree = slow.tree_from(hidden, columns, links, rng)
    codes = slow.drawn_codes(tree, 150, rng)
    return tree, slow.table_for(tree, np.where(rng.random(codes.shape) < 0.1, -1, codes))


def test_the_example_has_every_kind_of_move(problem):
    kinds = {slow.key(move)[0] for move in slow.all_moves(problem[0])}
    assert kinds == {"introduce", "Grow", "relocate", "cut", "link", "Shrink", "Delete", "join"}


def test_threads_change_nothing(problem):
    moves = slow.all_moves(problem[0])
    one, two = (evaluator(*problem, n_threads=n).candidates(moves) for n in (1, 2))
    assert [candidate.move for candidate in one] == [candidate.move for candidate in two]
    assert described(one) == described(two)
    assert set(described(one)) == set(moves)


def test_neither_the_other_moves_nor_their_order_matter(problem):
    moves = slow.all_moves(problem[0])
    together = described(evaluator(*problem).candidates(moves))
    evaluation = evaluator(*problem)
    for move in moves[::-7]:
        assert described([evaluation.candidate(move)]) == described([evaluator(*problem).candidate(move)])
        assert described([evaluation.candidate(move)])[move] == together[move]


def test_random_starts_depend_on_the_seed_and_on_the_step(problem):
    move = next(move for move in slow.all_moves(problem[0]) if isinstance(move, Introduce))
    first = described([evaluator(*problem).candidate(move)])
    assert described([evaluator(*problem).candidate(move)]) == first
    assert described([evaluator(*problem, random_state=1).candidate(move)]) != first
    assert described([evaluator(*problem, step=1).candidate(move)]) != first


def test_nothing_is_evaluated_when_the_time_is_up(problem):
    evaluation = evaluator(*problem)
    evaluation.search.clock.time_limit = 0.0
    for move in slow.some_moves(problem[0], np.random.default_rng(0), most=1):
        with pytest.raises(TimeLimitReached):
            evaluation.candidate(move)


# where local EM starts


def starts_of(evaluation, move):
    """Return the tables that EM begins with, one row each."""
    with mock.patch.object(evaluation.search, "fit", side_effect=evaluation.search.fit) as fit:
        evaluation.candidate(move)
    return fit.call_args.args[1]


def flat(tree, node):
    star = star_of(tree, tree.index(node))
    return np.concatenate([star.share, *(part.ravel() for part in star.parts(star.rows))])


@pytest.mark.parametrize("n_states", [2, 3, 4, 6])
def test_a_state_less_starts_with_merges_of_the_nearest_and_with_all_removals(n_states):
    tree = latent_class(n_states, [2, 3, 2, 3])
    data = encode_for(tree, sample(tree, 200, random_state=0))
    found = starts_of(evaluator(tree, data), Shrink("C"))
    states = tree.state_names[0]
    pairs = [[one, other] for one in states for other in states if one < other]
    merges = [flat(merge_states(tree, "C", pair), "C") for pair in pairs]
    removals = [flat(remove_state(tree, "C", state), "C") for state in states] if n_states > 2 else []
    n_merges = min(12, len(merges))
    assert len(found) == n_merges + len(removals)
    for start in found[:n_merges]:
        assert np.abs(merges - start).max(axis=1).min() < 1e-12
    assert len(np.unique(found[:n_merges].round(12), axis=0)) == n_merges
    if removals:
        np.testing.assert_allclose(found[n_merges:], removals, atol=1e-12)


def test_a_state_is_removed_where_every_merge_would_spoil_another():
    """No row belongs to the third state, though the model thinks much of it: merged, it blurs a state that is clear."""
    tree = latent_class(3, [3] * 6, seed=2, concentration=0.2)
    tables = [np.array([[0.3, 0.3, 0.4]]), *tree.tables[1:]]
    tree = tree.with_tables(tables)
    data = encode_for(tree, sample(tree.with_tables([[[0.5, 0.5, 0.0]], *tables[1:]]), 300, random_state=0))
    removed = log_likelihood(remove_state(tree, "C", 2), data)
    merged = [log_likelihood(merge_states(tree, "C", pair), data) for pair in ([0, 1], [0, 2], [1, 2])]
    assert removed > max(merged) + 10
    found = evaluator(tree, data, n_steps=1).candidate(Shrink("C"))
    assert found.gain == pytest.approx(removed - log_likelihood(tree, data), rel=1e-9)
    np.testing.assert_allclose(found.changed.star.rows, star_of(tree, 0).rows[:2])


def test_a_state_more_starts_with_splits_of_every_state(problem):
    tree, data = problem
    found = starts_of(evaluator(tree, data, n_starts=6), Grow("H"))
    star = star_of(tree, tree.index("H"))
    assert len(found) == 6
    assert len(np.unique(found.round(9), axis=0)) == 6
    split = set()
    for start in found:
        changed = np.flatnonzero(~np.isclose(start[:3], star.share))
        assert len(changed) == 1
        (state,) = changed
        assert start[state] == start[3] == star.share[state] / 2
        split.add(int(state))
    assert split == {0, 1, 2}


def test_a_copy_of_the_old_node_is_a_start_that_loses_nothing(problem):
    tree, data = problem
    messages = NodeMessages(tree, data)
    node = tree.index("H")
    moved = ("a", "b")
    copy = [np.eye(3), *(messages.given(node, tree.index(name)) for name in moved)]
    move = Introduce("H", moved, 3)
    counted = EvaluatedMove(move, 0.0, 0, ChangedTables("H", dict(zip((None, *moved), copy, strict=True))), 0.0)
    gains = [move.refine(evaluator(tree, data, n_starts=1, n_steps=n), counted).gain for n in (1, 30)]
    assert gains[0] == pytest.approx(0.0, abs=1e-9)
    assert gains[1] > 0.0


# what is found


def test_a_column_that_hangs_on_the_wrong_node_gains_most_where_it_belongs():
    truth = two_classes_of_columns()
    data = encode_for(truth, sample(truth, 2000, random_state=1))
    move = Relocate(("a1",), "A", "B")
    evaluation = evaluator(truth, data)
    wrong = slow.applied(truth, move, evaluation.candidate(move).changed)
    evaluation = evaluator(wrong, data, n_steps=40)
    found = evaluation.candidates([one for one in slow.all_moves(wrong) if isinstance(one, Relocate)])
    best = max(found, key=lambda candidate: candidate.score)
    assert best.move == Relocate(("a1",), "B", "A")
    assert best.gain > 10


def test_two_classes_of_columns_are_found_in_one():
    truth = two_classes_of_columns()
    data = encode_for(truth, sample(truth, 2000, random_state=1))
    one = latent_class(2, [3, 2, 2, 3, 2, 2], seed=1)
    names = ["C", "a1", "a2", "a3", "b1", "b2", "b3"]
    one = type(one)(names, one.state_names, one.parent, one.latent, one.tables)
    engine = engine_for(one, data)
    one = one.with_tables(engine.layout.unpack(fit(engine, engine.layout.pack(one.tables)).tables))
    moves = [move for move in slow.all_moves(one) if isinstance(move, Introduce)]
    found = evaluator(one, data, n_starts=8, n_steps=20).candidates(moves)
    best = max(found, key=lambda candidate: candidate.score)
    assert {name[0] for name in best.move.moved} in ({"a"}, {"b"})
    assert best.score > 0
