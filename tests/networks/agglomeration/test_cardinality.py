"""AgglomerativeCardinality: several hidden variables take turns, EM decides, and everybody may ask the result."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pgmpy_latent import AgglomerativeCardinality, LatentNetwork, RandomStarts, StructuralEM, encode, scores, to_pgmpy
from pgmpy_latent.exceptions import BlanketTooLargeError, DataError
from pgmpy_latent.model.network import as_network, topological_order
from pgmpy_latent.networks.agglomeration import round_robin as _round_robin
from pgmpy_latent.networks.agglomeration.round_robin import RISE, Assignment, round_robin
from pgmpy_latent.networks.agglomeration.sizing import Sizing
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.testing import latent_networks, weights_for
from tests.support import reference_agglomeration as slow
from tests.support.samples import latent_class, press_ctrl_c, tuned

METHODS = ["bde", "mdl"]
both_methods = pytest.mark.parametrize("method", METHODS)
ENOUGH = 2_000


def noisy(values, n_states, rng, noise=0.1):
    """Return a copy in which some values are replaced by draws."""
    return np.where(rng.random(len(values)) < noise, rng.integers(n_states, size=len(values)), values)


def copies(n_states=3, columns="abcd", n_rows=600, seed=0, noise=0.1, gaps=0.0):
    """Return noisy copies of a variable that is not in the table."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(n_states, size=n_rows)
    frame = pd.DataFrame({name: noisy(hidden, n_states, rng, noise) for name in columns})
    return frame.astype("Int64").mask(rng.random(frame.shape) < gaps) if gaps else frame


def star(columns="abcd", hidden="h"):
    return DAG([(hidden, name) for name in columns], latents={hidden})


def fitted(network, frame, hidden=None, sample_weight=None, **options):
    return tuned(AgglomerativeCardinality, network, hidden, show_progress=False, **options).fit(
        frame, None, sample_weight
    )


def chain_of_two(n_rows=400, seed=0):
    """Return g -> h with three columns below each, and a table in which both have three states."""
    rng = np.random.default_rng(seed)
    g = rng.integers(3, size=n_rows)
    h = noisy(g, 3, rng, 0.4)
    below = {**dict.fromkeys("abc", g), **dict.fromkeys("def", h)}
    frame = pd.DataFrame({name: noisy(values, 3, rng, 0.15) for name, values in below.items()})
    edges = [("g", "h"), *(("g", name) for name in "abc"), *(("h", name) for name in "def")]
    return DAG(edges, latents={"g", "h"}), frame


def assert_same_model(one, other, atol):
    """Compare the networks of two learners by the names of their nodes."""
    assert set(one.network_.names) == set(other.network_.names)
    for name in one.network_.names:
        np.testing.assert_allclose(one.network_.table(name), other.network_.table(name), atol=atol, rtol=0)


# taking turns


@st.composite
def assignments(draw):
    """Return the beginning of a round robin: the half of the nodes with most neighbours is hidden."""
    parents = draw(latent_networks(max_nodes=8).filter(lambda network: len(network.edges) > 3)).parents
    nodes = range(len(parents))
    hidden = sorted(sorted(nodes, key=lambda node: -len(slow.blanket(parents, node)))[: len(parents) // 2])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = rng.integers(2, 4, size=len(parents))
    codes = np.zeros((40, len(parents)), dtype=int)
    for node in topological_order(parents):  # mostly a function of the parents
        value = codes[:, list(parents[node])].sum(axis=1) if parents[node] else rng.integers(3, size=len(codes))
        codes[:, node] = noisy(value, cards[node], rng) % cards[node]
    codes[rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.1]))] = -1
    codes[:, hidden], cards[hidden] = 0, 1
    names = [f"n{node}" for node in nodes]
    return Assignment(names, parents, codes, cards, draw(weights_for(len(codes)))), [names[node] for node in hidden]


def total_score(work, hidden, method, prior):
    nodes = [work.names.index(name) for name in hidden]
    return slow.completed_score(work.codes, work.weights, work.cards, work.parents, nodes, method, prior)


@given(assignments(), st.sampled_from(METHODS), st.sampled_from([0.1, 1.0]))
def test_taking_turns_never_lowers_the_score_of_the_completed_table_and_comes_to_an_end(drawn, method, prior):
    work, hidden = drawn
    seen = [total_score(work, hidden, method, prior)]

    def accepted(name, gain):
        seen.append(total_score(work, hidden, method, prior))
        assert gain > RISE
        assert seen[-1] - seen[-2] == pytest.approx(gain, abs=1e-9 * max(1.0, abs(seen[-1])))
        assert set(work.codes[:, work.names.index(name)]) == set(range(work.cards[work.names.index(name)]))

    round_robin(work, hidden, method, prior, ENOUGH, accepted=accepted)
    again = []
    round_robin(work, hidden, method, prior, ENOUGH, accepted=lambda *what: again.append(what))
    assert again == []
    assert set(work.traces) == set(hidden)


def events_of(work, hidden, method, prior=1.0):
    """Run a round robin; return what happened: ("look", node) and ("change", node)."""
    events = []
    look = _round_robin.blanket_states

    def looked(codes, cards, parents, node):
        events.append(("look", work.names[node]))
        return look(codes, cards, parents, node)

    def changed(name, gain):
        events.append(("change", name))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_round_robin, "blanket_states", looked)
        round_robin(work, hidden, method, prior, ENOUGH, accepted=changed)
    return events


@given(assignments(), st.sampled_from(METHODS))
def test_a_variable_is_looked_at_again_exactly_if_its_blanket_has_changed(drawn, method):
    work, hidden = drawn
    around = {name: {work.names[at] for at in slow.blanket(work.parents, work.names.index(name))} for name in hidden}
    stale = dict.fromkeys(hidden, True)
    for what, name in events_of(work, hidden, method):
        if what == "look":
            assert stale[name]
            stale[name] = False
        else:
            stale.update({other: True for other in hidden if name in around[other]})
    assert not any(stale.values())


def beginning(network, frame):
    """Return the first assignment for the latents of a DAG."""
    names = [*sorted(network.latents), *frame.columns]
    parents = [tuple(names.index(above) for above in network.predecessors(name)) for name in names]
    return Assignment.of(names, parents, sorted(network.latents), encode(frame))


@both_methods
def test_hidden_variables_that_are_no_neighbours_are_agglomerated_once_each(method):
    network = DAG([*star("abc", "g").edges, *star("def", "h").edges, ("a", "d")], latents={"g", "h"})
    frame = pd.concat([copies(columns="abc", seed=1), copies(columns="def", seed=2)], axis=1)
    events = events_of(beginning(network, frame), ["g", "h"], method)
    assert events == [("look", "g"), ("change", "g"), ("look", "h"), ("change", "h")]


@both_methods
def test_neighbours_are_agglomerated_anew_after_each_other(method):
    network, frame = chain_of_two()
    work = beginning(network, frame)
    events = events_of(work, ["g", "h"], method)
    assert events[:5] == [("look", "g"), ("change", "g"), ("look", "h"), ("change", "h"), ("look", "g")]
    assert work.cards[:2].tolist() == [3, 3]


def test_a_variable_begins_with_one_state_and_columns_with_theirs():
    frame = pd.DataFrame({"a": ["x", "y", None], "b": [1, 2, 3]})
    work = beginning(star("ab"), frame)
    assert work.cards.tolist() == [1, 2, 3]
    assert sorted(map(tuple, work.codes.tolist())) == [(0, -1, 2), (0, 0, 0), (0, 1, 1)]


@given(assignments(), st.sampled_from(METHODS))
def test_a_variable_has_as_many_states_as_it_must_have_if_its_blanket_shows_as_many(drawn, method):
    work, hidden = drawn
    round_robin(work, hidden, method, 1.0, ENOUGH, fewest=2)
    for name in hidden:
        assert work.cards[work.names.index(name)] >= min(2, work.traces[name].trace.n_first)


# how many states


@both_methods
@pytest.mark.parametrize("n_states", [3, 4])
@pytest.mark.parametrize("columns", ["abc", "abcde"])
def test_copies_of_a_variable_tell_how_many_states_it_had(n_states, columns, method):
    learner = fitted(star(columns), copies(n_states, columns), scoring_method=method)
    assert learner.cardinality_ == learner.agglomerated_ == learner.n_states_ == {"h": n_states}
    assert learner.not_needed_ == []


@both_methods
def test_a_variable_that_is_useless_collapses(method):
    frame = copies(2, noise=1.0)
    learner = fitted(star(), frame, scoring_method=method)
    assert learner.cardinality_ == {"h": 1}
    assert learner.not_needed_ == ["h"]
    shares = [np.log(frame[name].value_counts(normalize=True)[frame[name]]).sum() for name in frame]
    assert learner.log_likelihood_ == pytest.approx(sum(shares), abs=0.1)


@both_methods
def test_parents_count_like_children(method):
    rng = np.random.default_rng(0)
    above = rng.integers(3, size=800)
    hidden = noisy(above, 3, rng, 0.2)
    frame = pd.DataFrame({"a": above} | {name: noisy(hidden, 3, rng) for name in "bcd"})
    learner = fitted(
        DAG([("a", "h"), ("h", "b"), ("h", "c"), ("h", "d"), ("a", "d")], latents={"h"}), frame, scoring_method=method
    )
    assert learner.cardinality_ == {"h": 3}
    assert set(learner.merges().attrs["blanket"][0]) == set("abcd")


@both_methods
def test_missing_cells_do_not_hide_the_number_of_states(method):
    learner = fitted(star(), copies(gaps=0.1, noise=0.15), scoring_method=method)
    assert learner.cardinality_ == {"h": 3}
    assert any(None in kind.values() for kind in learner.merges().attrs["blanket"])


@both_methods
def test_two_neighbours_get_their_numbers_of_states(method):
    learner = fitted(*chain_of_two(), scoring_method=method)
    assert learner.cardinality_ == {"g": 3, "h": 3}


@pytest.mark.parametrize(
    ("noise", "seed", "agglomerated", "start"),
    [(0.5, 11, 2, 2), (0.45, 16, 4, 3)],  # EM begins where the completed table scores highest
)
def test_em_corrects_what_hard_assignments_get_wrong(noise, seed, agglomerated, start):
    frame = copies(n_rows=300, seed=seed, noise=noise)
    learner = fitted(star(), frame)
    assert learner.agglomerated_ == {"h": agglomerated}
    assert learner.cardinality_ == {"h": 3}
    assert ("choose" in learner.history_.operator.tolist()) == (agglomerated != start)
    assert ("decide" in learner.history_.operator.tolist()) == (start != 3)
    alone = fitted(star(), frame, decide="agglomeration")
    assert alone.agglomerated_ == alone.cardinality_ == {"h": agglomerated}
    assert alone.em_scores_.empty
    assert alone.score_ < learner.score_


def a_network_of_two(n_states):
    """Return the chain g -> h with tables, in which g has as many states as given."""
    graph, frame = chain_of_two()
    names = ["g", "h", *frame.columns]
    parents = [tuple(names.index(above) for above in graph.predecessors(name)) for name in names]
    cards = [n_states, 2, *[3] * 6]
    rng = np.random.default_rng(0)
    tables = [
        rng.dirichlet(np.ones(card), size=int(np.prod([cards[at] for at in above], dtype=int)))
        for card, above in zip(cards, parents, strict=True)
    ]
    return LatentNetwork(names, [range(card) for card in cards], parents, [name in "gh" for name in names], tables)


@pytest.mark.parametrize("n_states", [1, 2, 5, 40])  # the blanket of g has fewer than 40 assignments
def test_hidden_variables_that_are_not_asked_about_keep_their_number_of_states(n_states):
    _, frame = chain_of_two()
    learner = fitted(a_network_of_two(n_states), frame, "h")
    assert learner.cardinality_ == {"h": 3}
    assert learner.n_states_ == {"g": n_states, "h": 3}
    assert set(learner.trace_.hidden) == set(learner.em_scores_.hidden) == {"h"}


@both_methods
def test_weights_are_repeated_rows(method):
    frame = copies(n_rows=150, gaps=0.05)
    weights = np.random.default_rng(0).integers(0, 4, size=len(frame))
    one = fitted(star(), frame, sample_weight=weights, scoring_method=method)
    other = fitted(star(), frame.loc[frame.index.repeat(weights)], scoring_method=method)
    assert one.cardinality_ == other.cardinality_
    assert_same_model(one, other, atol=1e-9)
    pd.testing.assert_frame_equal(one.trace_, other.trace_)


@both_methods
def test_the_order_of_columns_and_rows_does_not_matter(method):
    network, frame = chain_of_two(n_rows=250)
    one = fitted(network, frame, scoring_method=method)
    turned = DAG(list(network.edges())[::-1], latents=network.latents)
    other = fitted(turned, frame.iloc[::-1, ::-1], scoring_method=method)
    assert one.cardinality_ == other.cardinality_
    assert one.agglomerated_ == other.agglomerated_
    pd.testing.assert_frame_equal(one.trace_, other.trace_, rtol=1e-9)
    assert_same_model(one, other, atol=1e-6)


# what is kept


def labels_of(frame, merges, n_states):
    """Return the state of every row after merges down to a number of states, by the numbers in the merge tree."""
    kinds = merges.attrs["blanket"]
    cells = [{name: None if pd.isna(row[name]) else row[name] for name in kinds[0]} for _, row in frame.iterrows()]
    labels = np.array([kinds.index(cell) for cell in cells])
    for number, (left, right) in enumerate(zip(merges.left, merges.right, strict=True)):
        if len(kinds) - number > n_states:
            labels[np.isin(labels, [left, right])] = len(kinds) + number
    return np.unique(labels, return_inverse=True)[1]


@both_methods
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_merge_tree_says_which_rows_are_in_a_state_and_what_that_scores(gaps, method):
    frame = copies(n_rows=60, gaps=gaps, columns="abc")
    learner = fitted(star("abc"), frame, scoring_method=method, prior=0.5)
    merges = learner.merges()
    codes = np.insert(frame.fillna(-1).to_numpy(int), 0, 0, axis=1)
    problem = (codes, np.ones(60), np.array([1, 3, 3, 3]), [(), (0,), (0,), (0,)], 0)
    for n_states, score in zip(merges.n_states, merges.score, strict=True):
        states = labels_of(frame, merges, n_states)
        assert states.max() + 1 == n_states
        assert score == pytest.approx(slow.score_of_states(problem, states, n_states, method, 0.5), abs=1e-8)
    assert sorted([*merges.left, *merges.right]) == list(range(2 * len(merges)))
    assert merges.n_states.tolist() == list(range(len(merges), 0, -1))


def test_the_trace_has_every_number_of_states_and_its_gains():
    learner = fitted(*chain_of_two())
    for name, trace in learner.trace_.groupby("hidden"):
        assert trace.n_states.tolist() == list(range(len(trace), 0, -1))
        np.testing.assert_allclose(trace.score.diff()[1:], trace.gain[1:], atol=1e-8)
        merges = learner.merges(name)
        np.testing.assert_array_equal(merges.gain, trace.gain[1:])
        np.testing.assert_array_equal(merges.score, trace.score[1:])
        assert merges.attrs["hidden"] == name


def test_em_tried_the_numbers_next_to_those_found_and_the_best_was_taken():
    learner = fitted(*chain_of_two())
    for name, tried in learner.em_scores_.groupby("hidden"):
        found = learner.agglomerated_[name]
        assert {found - 1, found, found + 1} <= set(tried.n_states)
        assert tried.n_states.is_monotonic_increasing
        assert tried.n_states[tried.score.idxmax()] == learner.cardinality_[name]


@both_methods
def test_the_score_is_that_of_em_at_the_fitted_network(method):
    frame = copies(gaps=0.05)
    learner = fitted(star(), frame, scoring_method=method, prior=2.0)
    expected = {"mdl": learner.bic_, "bde": scores.cheeseman_stutz(learner.network_, frame, prior=2.0)}[method]
    assert learner.score_ == pytest.approx(expected, abs=1e-6)
    assert learner.log_likelihood_ == pytest.approx(scores.log_likelihood(learner.network_, frame), abs=1e-6)
    first, last = learner.history_.iloc[0], learner.history_.iloc[-1]
    assert (first.operator, last.operator, last.n_parameters) == ("agglomerate", "fit", learner.n_parameters_)
    assert last.score == pytest.approx(learner.score_, abs=1e-6)
    assert learner.stopped_ is None


def test_the_result_can_be_asked_all_that_learners_can_be_asked():
    frame = copies(gaps=0.05).assign(unrelated=1)
    learner = fitted(star(), frame)
    assert learner.model_.check_model()
    assert learner.model_.latents == {"h"}
    assert learner.score_samples(frame).sum() == pytest.approx(learner.log_likelihood_, abs=1e-6)
    chances = learner.predict_proba(frame)
    assert chances.shape == (len(frame), 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(learner.transform(frame), chances.to_numpy())
    assert learner.predict(frame)["h"].tolist() == chances["h"].idxmax(axis=1).tolist()
    drawn = learner.sample(50, latents=True, random_state=0)
    assert set(drawn.columns) == {"h", *"abcd"}
    assert set(drawn["h"]) == {0, 1, 2}
    assert not learner.impute(frame)[list("abcd")].isna().any(axis=None)


def test_columns_without_names_are_numbered():
    learner = fitted(DAG([("h", at) for at in range(4)], latents={"h"}), copies().to_numpy())
    assert (learner.cardinality_, learner.network_.names) == ({"h": 3}, ("h", 0, 1, 2, 3))


def test_settings_are_kept_untouched_and_cloned():
    network = star()
    learner = AgglomerativeCardinality(network, ["h"], scoring_method="mdl", prior=0.5, decide="agglomeration")
    assert learner.get_params()["network"] is network
    copied = clone(learner)
    assert copied.set_params(network=network).get_params() == learner.get_params()
    with pytest.raises(NotFittedError):
        copied.merges()
    assert clone(learner.set_params(prior=2.0)).prior == 2.0


# networks of all kinds


TREE = latent_class(2, [3, 3, 3, 3])
NETWORKS = {
    "LatentTree": lambda frame: TREE,
    "LatentNetwork": lambda frame: as_network(TREE),
    "DAG": lambda frame: star(TREE.observed_names, "C"),
    "network with CPDs": lambda frame: to_pgmpy(TREE),
    "RandomStarts": lambda frame: RandomStarts(n_states=2, random_state=0).fit(frame),
    "StructuralEM": lambda frame: StructuralEM(TREE, random_state=0, show_progress=False).fit(frame),
}


@pytest.mark.parametrize("kind", NETWORKS)
def test_networks_of_all_kinds_are_understood(kind):
    frame = copies(columns=TREE.observed_names)
    network = NETWORKS[kind](frame)
    learner = fitted(network, frame)
    assert set(learner.model_.edges) == set(getattr(network, "model_", to_pgmpy(TREE)).edges)
    assert list(learner.cardinality_.values()) == [3]


def test_states_that_a_network_knows_are_states_though_no_row_shows_them():
    network = latent_class(2, [4, 3, 3])
    learner = fitted(network, copies(columns=["x0", "x1", "x2"]))
    assert learner.network_.cards.tolist() == [3, 4, 3, 3]


def test_a_node_that_is_no_column_may_be_hidden_by_name():
    learner = fitted(DAG(star().edges), copies(), "h")
    assert learner.cardinality_ == {"h": 3}
    assert learner.model_.latents == {"h"}


# what is refused


TWO = DAG([*star("ab", "g").edges, *star("cd", "h").edges], latents={"g", "h"})
LONELY = star("abc")
LONELY.add_node("g")
LONELY.latents = {"h", "g"}
BAD = {
    "hidden variable not in the network": ((star(), ["h", "z"]), {}, DataError, r"hidden names \['z'\]"),
    "hidden variable that is a column": ((star(), ["h", "a"]), {}, DataError, r"hides \['a'\], which are columns"),
    "nothing hidden": ((DAG([("a", "b")]),), {}, DataError, "no hidden variables; declare some"),
    "hidden variable without neighbours": ((LONELY,), {}, DataError, "'g' has no neighbours"),
    "node that is nowhere": ((star("abce"),), {}, DataError, r"not columns of the data: \['e'\]"),
    "other hidden variables without tables": ((TWO, "h"), {}, DataError, r"leaves out \['g'\]"),
    "no network": ((), {}, ValueError, "network is None; give the network"),
    "no kind of network": (([("h", "a")],), {}, TypeError, "network is a list; give"),
    "learner that is not fitted": ((RandomStarts(),), {}, TypeError, "a RandomStarts that is not fitted"),
    "scoring_method": ((star(),), {"scoring_method": "bic"}, ValueError, "scoring_method is 'bic'; give"),
    "decide": ((star(),), {"decide": "both"}, ValueError, "decide is 'both'; give"),
    "prior of zero": ((star(),), {"prior": 0}, ValueError, "prior is 0; give a number above 0 and below inf, as 1"),
    "prior below zero": ((star(),), {"prior": -1.0}, ValueError, "prior is -1.0; give"),
    "max_initial": ((star(),), {"max_initial": 0}, ValueError, "max_initial is 0; give"),
    "time_limit": ((star(),), {"time_limit": 0}, ValueError, "time_limit is 0; give a number of seconds above 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_meant_is_refused_and_named(case):
    given, options, error, match = BAD[case]
    with pytest.raises(error, match=match):
        tuned(AgglomerativeCardinality, *given, **options).fit(copies(n_rows=20))


def test_blankets_with_too_many_assignments_are_refused_with_a_remedy():
    frame = copies(n_rows=300, noise=0.5)
    n_kinds = len(frame.drop_duplicates())
    with pytest.raises(BlanketTooLargeError) as caught:
        fitted(star(), frame, max_initial=n_kinds - 1)
    for words in ("'h'", "['a', 'b', 'c', 'd']", f"takes {n_kinds}", f"max_initial={n_kinds - 1}", "Raise it"):
        assert words in str(caught.value)
    assert len(fitted(star(), frame, max_initial=n_kinds, decide="agglomeration").trace_) == n_kinds


def test_a_merge_tree_must_be_named_if_there_are_several():
    learner = fitted(*chain_of_two(), decide="agglomeration")
    with pytest.raises(ValueError, match=r"hidden is None; give one of \['g', 'h'\]"):
        learner.merges()
    with pytest.raises(ValueError, match="hidden is 'a'"):
        learner.merges("a")


# the end before its time


def test_with_no_time_at_all_there_is_a_model_and_a_warning():
    frame = copies()
    with pytest.warns(ConvergenceWarning, match="time limit stopped the search; raise time_limit"):
        learner = fitted(star(), frame, time_limit=1e-9)
    assert learner.stopped_ == "time_limit"
    assert learner.cardinality_ == learner.agglomerated_ == {"h": 1}
    assert learner.model_.check_model()
    assert learner.score_samples(frame).sum() == pytest.approx(learner.log_likelihood_, abs=1e-6)
    assert len(learner.trace_) == len(learner.em_scores_) == 0


def looks_before_em(frame):
    """Return how often a fit looks at the clock before EM begins."""
    looks = 0

    def look(clock):
        nonlocal looks
        looks += 1

    def stop(sizing):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "check", look)
        patch.setattr(Sizing, "_decide", stop)
        with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
            fitted(star(), frame)
    return looks


@pytest.mark.parametrize("moment", [1, 4, 32, 56, 80])
def test_an_interrupt_after_the_agglomeration_leaves_its_numbers_of_states(monkeypatch, moment):
    frame = copies()
    press_ctrl_c(monkeypatch, looks_before_em(frame) + moment)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
        learner = fitted(star(), frame)
    assert learner.stopped_ == "interrupted"
    assert learner.cardinality_ == learner.agglomerated_ == {"h": 3}
    assert learner.score_samples(frame).sum() == pytest.approx(learner.log_likelihood_, abs=1e-6)
    assert len(learner.merges()) == len(learner.trace_) - 1
