"""Tied, fixed and ordinal tables of TreeEM and NetworkEM, against hidden Markov models written by hand."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import NetworkEM, TreeEM
from pgmpy_latent.exceptions import DataError, StateNameError
from pgmpy_latent.operators import marginals
from tests.support.reference import hidden_markov_em, hidden_markov_log_likelihood

T = 4
STATES = ["H1", "H2", "H3", "H4"]
ITEMS = ["x1", "x2", "x3", "x4"]
CHAIN = DiscreteBayesianNetwork([*pairwise(STATES), *zip(STATES, ITEMS, strict=True)], latents=set(STATES))
TIED = [STATES[1:], ITEMS]


def sequences(n=200, seed=0, n_states=2, card=3):
    rng = np.random.default_rng(seed)
    begin = rng.dirichlet(np.ones(n_states))
    move = 0.7 * np.eye(n_states) + 0.3 * rng.dirichlet(np.ones(n_states), size=n_states)
    show = rng.dirichlet(np.full(card, 0.4), size=n_states)
    codes = np.empty((n, T), int)
    for row in codes:
        state = rng.choice(n_states, p=begin)
        for at in range(T):
            row[at] = rng.choice(card, p=show[state])
            state = rng.choice(n_states, p=move[state])
    return codes


def frame_of(codes):
    return pd.DataFrame(codes, columns=ITEMS).astype("category")


def tables_by_name(model, names):
    return [model.table(name) for name in names]


@pytest.mark.parametrize("estimator", [TreeEM, NetworkEM])
@pytest.mark.parametrize("seed", range(2))
def test_a_chain_with_ties_is_a_hidden_markov_model(estimator, seed):
    codes = sequences(seed=seed)
    fitted = estimator(tied=TIED, seed=0, n_init=8, atol=1e-5, show_progress=False).fit(CHAIN, frame_of(codes))
    model = fitted.tree_ if estimator is TreeEM else fitted.network_
    begin, move, show = model.table("H1")[0], model.table("H2"), model.table("x1")
    for names in TIED:
        for table in tables_by_name(model, names[1:]):
            np.testing.assert_array_equal(table, model.table(names[0]))
    assert fitted.n_parameters_ == 1 + 2 + 2 * 2
    assert fitted.bic_ == pytest.approx(fitted.log_likelihood_ - 7 / 2 * np.log(200))
    assert hidden_markov_log_likelihood(codes, begin, move, show) == pytest.approx(fitted.log_likelihood_, abs=1e-8)
    by_hand = hidden_markov_em(codes, begin + 0.02 * np.array([1, -1]), move, show, n_iter=2000)
    assert hidden_markov_log_likelihood(codes, *by_hand) == pytest.approx(fitted.log_likelihood_, abs=1e-3)


def test_tied_hidden_states_are_sorted_together():
    fitted = TreeEM(tied=TIED, seed=1, n_init=4, show_progress=False).fit(CHAIN, frame_of(sequences(seed=3)))
    tree = fitted.tree_
    shares = sum(marginal for marginal, hidden in zip(marginals(tree), tree.latent, strict=True) if hidden)
    assert shares[0] > shares[1]
    np.testing.assert_array_equal(fitted.tree_.table("x4"), fitted.tree_.table("x1"))
    np.testing.assert_array_equal(fitted.tree_.table("H4"), fitted.tree_.table("H2"))


def test_pseudo_counts_of_tied_tables_count_once():
    codes = sequences(seed=4)
    ends = TreeEM(tied=TIED, seed=1, n_init=4, prior=1.0, atol=1e-7, show_progress=False).fit(CHAIN, frame_of(codes))
    tree = ends.tree_
    again = hidden_markov_em(codes, tree.table("H1")[0], tree.table("H2"), tree.table("x1"), n_iter=1, prior=1.0)
    for new, old in zip(again, (tree.table("H1")[0], tree.table("H2"), tree.table("x1")), strict=True):
        np.testing.assert_allclose(new, old, atol=2e-3)


def two_class_survey(n=400, seed=0, card=4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    values = {f"q{at}": np.clip(rng.binomial(card - 1, 0.25 + 0.45 * truth), 0, card - 1) + 1 for at in range(4)}
    return pd.DataFrame(values)


SURVEY = DiscreteBayesianNetwork([("H", f"q{at}") for at in range(4)], latents={"H"})


@pytest.mark.parametrize("estimator", [TreeEM, NetworkEM])
def test_fixed_entries_stay_bit_for_bit(estimator):
    data = two_class_survey()
    fixed = {"H": [0.35, np.nan], "q0": [[0.0, np.nan, np.nan, 0.1], [np.nan] * 4]}
    fitted = estimator(fixed=fixed, seed=0, n_init=4, prior=0.5, show_progress=False).fit(SURVEY, data)
    model = fitted.tree_ if estimator is TreeEM else fitted.network_
    assert model.table("H").tolist() == [[0.35, 0.65]]
    assert (model.table("q0")[0, 0], model.table("q0")[0, 3]) == (0.0, 0.1)
    assert fitted.n_parameters_ == 0 + (1 + 3) + 3 * 2 * 3


def test_a_cpd_may_be_fixed_and_says_which_state_is_which():
    data = two_class_survey(seed=2)
    states = {"q0": [4, 3, 2, 1], "H": ["low", "high"]}
    values = np.array([[0.1, 0.4], [0.2, 0.3], [0.3, 0.2], [0.4, 0.1]])
    cpd = TabularCPD("q0", 4, values, ["H"], [2], state_names=states)
    fitted = TreeEM(fixed={"q0": cpd}, state_names={"H": ["low", "high"]}, seed=0, show_progress=False).fit(
        SURVEY, data
    )
    np.testing.assert_array_equal(fitted.tree_.table("q0"), values[::-1].T)
    assert fitted.tree_.table("q1")[0, 0] > fitted.tree_.table("q1")[1, 0]


def test_ordinal_items_have_one_effect_per_class():
    data = two_class_survey(seed=1)
    names = [f"q{at}" for at in range(4)]
    ordinal = TreeEM(ordinal=names, seed=0, n_init=8, show_progress=False).fit(SURVEY, data)
    nominal = TreeEM(seed=0, n_init=8, show_progress=False).fit(SURVEY, data)
    assert ordinal.n_parameters_ == 1 + 4 * (3 + 1)
    assert nominal.n_parameters_ == 1 + 4 * 2 * 3
    assert ordinal.log_likelihood_ <= nominal.log_likelihood_
    for name in names:
        logits = np.diff(np.log(ordinal.tree_.table(name)), axis=1)
        np.testing.assert_allclose(np.ptp(logits[1] - logits[0]), 0, atol=1e-8)
    as_categoricals = data.apply(lambda column: pd.Categorical(column, [1, 2, 3, 4], ordered=True))
    again = TreeEM(ordinal=True, seed=0, n_init=8, show_progress=False).fit(SURVEY, as_categoricals)
    assert again.log_likelihood_ == pytest.approx(ordinal.log_likelihood_, abs=1e-6)
    assert NetworkEM(ordinal=names, seed=0, n_init=8).fit(SURVEY, data).n_parameters_ == ordinal.n_parameters_


def test_a_fit_with_constraints_resumes(tmp_path):
    data = two_class_survey(seed=5)
    options = {"tied": [["q0", "q1"]], "ordinal": ["q0", "q2"], "fixed": {"q3": [[0.1, *[np.nan] * 3], [np.nan] * 4]},
               "seed": 0, "n_init": 3, "prior": 0.1, "show_progress": False}  # fmt: skip
    plain = TreeEM(**options).fit(SURVEY, data)
    path = tmp_path / "em.json"
    with pytest.warns(UserWarning, match="time_limit"):
        TreeEM(**options, checkpoint=path, time_limit=1e-9).fit(SURVEY, data)
    resumed = TreeEM(**options, checkpoint=path).fit(SURVEY, data)
    np.testing.assert_array_equal(resumed.tree_.table("q2"), plain.tree_.table("q2"))
    finished = TreeEM(**options, checkpoint=path).fit(SURVEY, data)
    assert finished.log_likelihood_ == plain.log_likelihood_


TEXTS = {"q0": np.resize(["never", "often", "always"], 6), "q1": np.resize([1, 2], 6), "q2": [1, 2, 3, 1, 2, 3],
         "q3": [1, 1, 2, 2, 1, 1]}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tied": ["q0", "q1"]}, ValueError, "groups of at least two nodes"),
        ({"tied": [["q0", "zzz"]]}, StateNameError, "tied names .'zzz'.*leave them out"),
        ({"tied": [["q1", "q1"]]}, StateNameError, "one group only"),
        ({"tied": [["q1", "q2"]]}, StateNameError, "same states in the same order by state_names"),
        ({"tied": [["H", "q1"]], "state_names": {"H": [1, 2]}}, StateNameError, "same numbers of states"),
        ({"fixed": [1]}, ValueError, "give a dict of tables"),
        ({"fixed": {"q1": [[0.5, 0.5]]}}, StateNameError, r"array of shape \(2, 2\)"),
        ({"fixed": {"q1": "half"}}, StateNameError, "give a TabularCPD"),
        ({"fixed": {"q1": [[0.5, 0.6], [0.5, 0.5]]}}, DataError, "do not sum to 1"),
        ({"fixed": {"q9": [[0.5, 0.6]]}}, StateNameError, "leave them out"),
        ({"ordinal": "q1"}, ValueError, "give a list of columns"),
        ({"ordinal": ["H"]}, StateNameError, "columns of the table only"),
        ({"ordinal": ["q0"]}, DataError, "ordered Categorical"),
    ],
)
def test_mistakes_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        TreeEM(**options, seed=0).fit(SURVEY, pd.DataFrame(TEXTS))


def test_texts_in_a_stated_order_are_fine():
    options = {"state_names": {"q0": ["never", "often", "always"]}, "seed": 0, "n_init": 2, "prior": 1.0}
    assert TreeEM(ordinal=["q0"], **options).fit(SURVEY, pd.DataFrame(TEXTS)).n_parameters_ == 1 + 3 + 2 + 4 + 2


def test_constraints_hold_on_shards_too(tmp_path):
    data = two_class_survey(n=600, seed=8)
    fixed = {"q3": np.array([[0.1, *[np.nan] * 3], [np.nan] * 4])}
    options = {"tied": [["q0", "q1"]], "ordinal": ["q2"], "fixed": fixed, "seed": 0, "n_init": 3}
    whole = TreeEM(**options, show_progress=False).fit(SURVEY, data)
    data.to_parquet(tmp_path / "rows.parquet")
    shards = TreeEM(**options, show_progress=False, memory_limit=1000).fit(SURVEY, str(tmp_path / "rows.parquet"))
    assert shards.log_likelihood_ == pytest.approx(whole.log_likelihood_, abs=1e-6)
    assert shards.n_parameters_ == whole.n_parameters_
    np.testing.assert_array_equal(shards.tree_.table("q0"), shards.tree_.table("q1"))
    assert TreeEM(**options).clone().fit(SURVEY, data).log_likelihood_ == whole.log_likelihood_
