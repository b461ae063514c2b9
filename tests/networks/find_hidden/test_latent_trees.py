"""FindHidden beside latent trees: it grows out of one that is better, and says so where it may not; near ties."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import FindHidden, LatentNetwork, StructuralEM, encode, scores
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.networks.find_hidden.proposals import Options, ProposalPolicy
from pgmpy_latent.networks.find_hidden.sources import latent_trees
from pgmpy_latent.networks.fitter import Fitter, ScoredNetwork
from pgmpy_latent.networks.graph import Graph
from tests.support.samples import tuned

QUIET = {"random_state": 0, "show_progress": False}
SENTENCE = "A latent tree describes the table better: its score is "


@pytest.fixture(scope="module")
def table():
    """Return columns of two groupings that go together."""
    rng = np.random.default_rng(0)
    left = rng.integers(3, size=500)
    right = np.where(rng.random(500) < 0.6, left, rng.integers(3, size=500))
    groups = [left] * 4 + [right] * 4
    columns = [np.where(rng.random(500) < 0.8, group, rng.integers(3, size=500)) for group in groups]
    return pd.DataFrame({f"x{at}": column for at, column in enumerate(columns)})


def tree_score(table):
    """Return the score of the best latent tree, fitted with the prior of FindHidden."""
    data = encode(table)
    fitter = Fitter(data, FindHidden(**QUIET)._search(data), "bde")
    found = []
    for tree in latent_trees(data, fitter.search):
        parents = [() if above < 0 else (above,) for above in tree.parent]
        network = LatentNetwork(tree.names, tree.state_names, parents, tree.latent, tree.tables)
        found.append(scores.cheeseman_stutz(fitter.from_tables(network).network, table, prior=0.5))
    return max(found)


def test_where_hidden_variables_are_ruled_out_it_says_that_a_tree_is_better(table, capsys):
    found = FindHidden(max_latents=0, **QUIET).fit(table)
    assert found.latents_ == []
    assert found.latent_tree_score_ == pytest.approx(tree_score(table), rel=1e-9)
    assert found.latent_tree_score_ > found.score_ + 10
    found.summary()
    said = capsys.readouterr().out
    assert f"{SENTENCE}{found.latent_tree_score_:.1f}, that of the network {found.score_:.1f}. Compare" in said


def test_it_is_as_good_as_the_tree_where_it_may_be_and_says_nothing(table, capsys):
    found = FindHidden(**QUIET).fit(table)
    assert found.score_ >= found.latent_tree_score_ - 1e-3
    found.summary()
    assert SENTENCE not in capsys.readouterr().out


def test_it_grows_out_of_the_tree_if_no_proposal_is_as_good(table, monkeypatch):
    monkeypatch.setattr(ProposalPolicy, "_proposals", lambda self, state: [])
    found = FindHidden(**QUIET).fit(table)
    steps = found.history_["operator"].tolist()
    assert steps.count("begin with latent tree") == 1
    assert found.latents_
    assert found.base_.latent_names == ()
    assert found.score_ >= found.latent_tree_score_ - 1e-3
    assert found.candidates_.empty
    assert found.history_["score"].is_monotonic_increasing


@pytest.mark.parametrize("options", [{"n_states": 2}, {"max_latents": 1}, {"base": "network"}])
def test_settings_that_a_tree_would_break_keep_it_from_becoming_the_network(table, monkeypatch, options):
    monkeypatch.setattr(ProposalPolicy, "_proposals", lambda self, state: [])
    if "base" in options:
        options = {"base": StructuralEM(scoring_method="bde", show_progress=False).fit(table).network_}
    found = FindHidden(**options, **QUIET).fit(table)
    assert found.latents_ == []
    assert found.latent_tree_score_ > found.score_


def test_without_trees_there_is_no_score_of_one(table):
    found = tuned(FindHidden, use_tree=False, max_latents=0, **QUIET).fit(table)
    assert np.isnan(found.latent_tree_score_)


def test_a_resumed_search_proposes_what_it_did_before_even_if_it_finds_other_trees(table):
    policy = ProposalPolicy(
        Fitter(encode(table), Search(Settings(prior=0.5), random_state=0), "bde"),
        lambda network, value: value,
        Options(),
    )
    first = policy.fitter.first_fit(Graph({name: () for name in table.columns}, ()), {}, 1)
    state = policy.first(first, learn_edges=False)
    groups = (tuple(table.columns[:3]), tuple(table.columns[1:4]))
    state = replace(state, memory=replace(state.memory, groups=groups))
    assert policy._proposals(state) == list(groups)
    assert policy.advance(state).state.memory.groups == groups


def test_a_resumed_search_knows_the_score_of_the_tree(table, tmp_path):
    first, again = (FindHidden(max_latents=0, checkpoint=tmp_path / "search.json", **QUIET).fit(table) for _ in "ab")
    assert again.latent_tree_score_ == first.latent_tree_score_


# Near ties --------------------------------------------------------------------------------------------------------


class Prefers:
    """Stands in for cross-validation."""

    def __init__(self, answer):
        self.answer, self.asked = answer, 0

    def prefers(self, new, old):
        self.asked += 1
        return self.answer


@pytest.mark.parametrize(
    ("rise", "cross_validation", "is_better", "asked"),
    [
        (3.1, False, True, 0),
        (2.9, False, False, 1),
        (2.9, True, True, 1),
        (0.0, True, False, 0),
        (-1.0, True, False, 0),
        (2.9, None, False, 0),
    ],
)
def test_cross_validation_decides_about_small_rises_only(table, rise, cross_validation, is_better, asked):
    tie_break = None if cross_validation is None else Prefers(cross_validation)
    fitter = Fitter(encode(table), Search(Settings(prior=0.5), random_state=0), "bde")
    policy = ProposalPolicy(fitter, fitter.score, Options(min_gain=3.0), tie_break)
    hidden, without = (LatentNetwork("a", [[0, 1]], [()], [latent], [[[0.5, 0.5]]]) for latent in (True, False))
    old = ScoredNetwork(without, -100, -90)
    assert policy._is_better(ScoredNetwork(hidden, rise - 100, -90), old) == is_better
    assert policy._is_better(ScoredNetwork(without, rise - 100, -90), old) == (rise > 3)
    assert tie_break is None or tie_break.asked == asked


# Progress ---------------------------------------------------------------------------------------------------------


def test_progress_says_which_proposal_is_tried_and_what_the_best_gain_is(monkeypatch, table):
    said = []
    monkeypatch.setattr(Search, "show", lambda self, words, state, n_accepted=0: said.append(words))
    found = FindHidden(max_latents=1, **QUIET).fit(table)
    first = found.candidates_[found.candidates_["step"] == found.candidates_["step"].min()]
    tried = [words for words in said if words.startswith("proposal ")]
    n_first = len(first)
    assert len(tried) >= n_first
    assert tried[0].startswith(f"proposal 1 of {n_first}: ")
    for at, words in enumerate(tried[:n_first], 1):
        assert words.startswith(f"proposal {at} of {n_first}: ")
        named = words.split(": ")[1].split(", best gain")[0].split(" and ")[0].split(", ")
        assert any(named == list(map(str, members[: len(named)])) for members in first["members"])
    gains = [float(words.split("best gain ")[1].replace(",", "")) for words in tried[1:n_first]]
    assert gains == sorted(gains)  # the best so far
    assert any(words.startswith("states above ") and "best gain" in words for words in said)
    assert any(words.startswith("edges around ") for words in said)


def test_missing_cells_are_drawn_in_the_surroundings_only(monkeypatch):
    rng = np.random.default_rng(0)
    hidden = rng.integers(3, size=500)
    table = pd.DataFrame(
        {f"x{at}": np.where(rng.random(500) < 0.85, hidden, rng.integers(3, size=500)) for at in range(5)}
    )
    table = table.mask(rng.random(table.shape) < 0.1)
    seen = []
    local = ProposalPolicy._local

    def watched(self, around):
        seen.append((around.data.has_missing.any(), around.data.total_weight))
        return local(self, around)

    monkeypatch.setattr(ProposalPolicy, "_local", watched)
    found = FindHidden(**QUIET).fit(table)
    assert found.n_states_ == {"H": 3}
    assert {missing for missing, _ in seen} == {False}
    assert [weight for _, weight in seen] == pytest.approx([500] * len(seen))
    assert found.score_ == pytest.approx(scores.cheeseman_stutz(found.network_, table, prior=0.5), rel=1e-9)
