"""Binary latent forests: BIN-G follows its algorithm; both learners find what is there and end with a model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    Baseline,
    BinA,
    BinG,
    datasets,
    encode,
    from_pgmpy,
    load,
    log_likelihood,
    presets,
    sample,
    save,
    scores,
)
from pgmpy_latent.exceptions import DataError, FewRowsWarning, NoOverlapWarning
from pgmpy_latent.learners import forests
from pgmpy_latent.learners.local.pairs import Pair
from pgmpy_latent.learners.local.roots import Roots
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.tables.dependence import pairwise_information
from tests.support import reference
from tests.support.samples import (
    Notes,
    assert_same_tree,
    clusters,
    columns_below,
    leafy_tree,
    same_by_name,
    small_tables,
    tuned,
)

QUIET = {"random_state": 0, "show_progress": False}
PAPER = {BinG: presets.HARMELING_WILLIAMS_2011_BIN_G, BinA: presets.HARMELING_WILLIAMS_2011_BIN_A}
seeds = st.integers(0, 2**32 - 1)
both = pytest.mark.parametrize("learner", [BinG(**QUIET), BinA(**QUIET)], ids=["BinG", "BinA"])


def fresh(learner, **settings):
    return tuned(type(learner), **{**learner.get_params(), **settings})


def watched(learner, table, monkeypatch):
    """Fit, and return the models of all pairs that were tried (None: refused) and the forest before each."""
    models, forests = [], []
    best, join = Pair.best, Roots.join

    def noted_best(pair):
        models.append(best(pair))
        return models[-1]

    def noted_join(all_roots, left, right, model):
        forests.append(all_roots.tree([f"H{number}" for number in range(1, all_roots.n_hidden + 1)]))
        join(all_roots, left, right, model)

    monkeypatch.setattr(Pair, "best", noted_best)
    monkeypatch.setattr(Roots, "join", noted_join)
    learner.fit(table)
    monkeypatch.undo()
    return models, forests


def joined_columns(learner):
    """Return the columns below both children of each hidden variable, in the order in which these came."""
    tree = learner.tree_
    names = sorted(tree.latent_names, key=lambda name: int(name.lstrip("H_")))
    return [{columns_below(tree, child) for child in tree.children(name)} for name in names]


def assert_consistent(learner, table, **weights):
    """Raise unless the results of a fit agree with each other and with the model."""
    tree = learner.tree_
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(tree, table, **weights), rel=1e-9, abs=1e-7)
    assert learner.bic_ == pytest.approx(scores.bic(tree, table, **weights), rel=1e-9, abs=1e-7)
    assert learner.score_ == pytest.approx(learner.bic_, rel=1e-9, abs=1e-7)
    assert learner.model_.check_model()
    assert {len(tree.children(name)) for name in tree.latent_names} <= {2}
    assert not tree.latent[[at for at in range(tree.n_nodes) if not tree.child_lists[at]]].any()
    history = learner.history_
    n_hidden = len(learner.latents_)
    assert history["operator"].tolist() == ["start", *["join"] * n_hidden, *["fit"] * (n_hidden > 0)]
    assert history["target"].tolist() == [None, *(f"H{at + 1}" for at in range(n_hidden)), *[None] * (n_hidden > 0)]
    assert history["step"].tolist() == list(range(len(history)))
    assert history["seconds"].is_monotonic_increasing
    for name in ("score", "log_likelihood"):  # the fit at the end included; up to rounding
        assert (history[name].diff().dropna() >= -1e-12 * history[name].abs().max()).all()
    assert history["n_parameters"].iloc[-1] == learner.n_parameters_
    assert history["score"].iloc[-1] == pytest.approx(learner.score_)
    assert learner.stopped_ is None


@pytest.fixture(scope="module")
def forest():
    """Six columns in three pairs below one variable, and two columns that stand alone."""
    return sample(leafy_tree(n_columns=6, alone=2), 600, random_state=0)


@pytest.fixture(scope="module")
def gappy(forest):
    return forest.mask(np.random.default_rng(0).random(forest.shape) < 0.15)


# Algorithm 1


@settings(max_examples=25)
@given(small_tables(min_columns=2, max_columns=6, max_rows=40))
def test_the_first_join_is_the_pair_with_the_highest_mutual_information(data):
    assume(data.n_rows > 1)
    information = np.triu(reference.mutual_information_by_definition(data.codes, data.weights), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoOverlapWarning)
        learner = tuned(BinG, patience=1, debias=False, **QUIET).fit(data)  # else chance is taken off first
    if learner.latents_:
        left, right = (data.columns.index(name) for name in learner.tree_.children("H1"))
        assert information[left, right] == pytest.approx(information.max(), abs=1e-9)
    assert_consistent(learner, data)


@pytest.mark.parametrize("options", [{}, {"tuning": presets.HARMELING_WILLIAMS_2011_BIN_G}], ids=["usual", "paper"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_joins_follow_the_paper_step_by_step(monkeypatch, seed, options):
    table = sample(leafy_tree(seed, n_columns=6, card=2 + seed % 2, alone=seed % 2), 300, random_state=seed)
    rng = np.random.default_rng(seed)
    table = table.mask(rng.random(table.shape) < 0.1 * (seed > 1))
    data = encode(table, sample_weight=rng.gamma(2.0, 1.0, size=300))
    learner = tuned(BinG, **QUIET, **options)
    models, forests = watched(learner, data, monkeypatch)
    # the same, with the models that were found, by the slow version
    plain = [None if model is None else (model.share, model.left, model.right) for model in models]
    expected = reference.bin_g(data.codes, data.weights, data.cards, plain)
    found = [{frozenset(map(data.columns.index, below)) for below in pair} for pair in joined_columns(learner)]
    assert found == expected
    assert len(found) >= 4
    # and each pair was the closest of all roots, by definition
    for before, pair in zip(forests[:3], joined_columns(learner), strict=False):
        information = reference.root_information(before, data.codes, data.weights)
        chosen = frozenset(
            before.names[root] for root in before.roots if columns_below(before, before.names[root]) in pair
        )
        assert information[chosen] == pytest.approx(max(information.values()), abs=1e-9)


def test_it_stops_at_the_first_pair_that_has_no_use_for_a_parent(monkeypatch, forest):
    learner = BinG(**QUIET)
    models, _ = watched(learner, forest, monkeypatch)
    assert [model is None for model in models] == [False] * (len(models) - 1) + [True]
    assert len(learner.latents_) == len(models) - 1
    assert len(learner.tree_.roots) == 8 - len(learner.latents_) > 1


def test_columns_with_very_many_states_do_not_spoil_the_rest():
    rng = np.random.default_rng(0)
    table = sample(leafy_tree(0, n_columns=6), 1000, random_state=0)
    clean = BinG(**QUIET).fit(table)
    noisy = table.assign(n1=rng.integers(0, 50, 1000), n2=rng.integers(0, 50, 1000))
    assert tuned(BinG, patience=1, debias=False, **QUIET).fit(noisy).latents_ == []  # where the paper stops
    found = tuned(BinG, debias=False, **QUIET).fit(noisy)
    assert set(clusters(found.tree_)) >= set(clusters(clean.tree_))
    assert {"n1", "n2"} <= {found.tree_.names[root] for root in found.tree_.roots}


def test_an_identifier_that_is_allowed_does_not_spoil_the_rest():
    table = sample(leafy_tree(0, n_columns=6), 400, random_state=0)
    clean = BinG(**QUIET).fit(table)
    found = BinG(**QUIET).fit(table.assign(id=range(400)), allow_many_states=True)
    assert set(clusters(found.tree_)) >= set(clusters(clean.tree_))


@both
def test_a_column_of_noise_with_many_states_changes_nothing(learner):
    survey = datasets.load_anes96()
    noisy = survey.assign(state=np.random.default_rng(0).integers(0, 50, len(survey)))
    alone = Baseline("independence").fit(noisy[["state"]])
    without, with_noise = (fresh(learner).fit(table) for table in (survey, noisy))
    assert set(clusters(without.tree_)) == set(clusters(with_noise.tree_))
    assert with_noise.bic_ - alone.bic_ == pytest.approx(without.bic_, abs=0.1)


@both
@pytest.mark.parametrize("name", ["simplify", "debias"])
def test_words_are_no_flags(learner, name):
    with pytest.raises(ValueError, match=f"{name} is 'yes'; give True or False"):
        fresh(learner, **{name: "yes"}).fit(datasets.load_anes96())


def test_pairs_that_only_rounding_tells_apart_are_ties():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 500)
    a = np.where(rng.random(500) < 0.6, y, rng.integers(0, 3, 500))
    for _ in range(5):
        table = pd.DataFrame({"a": a, "b": rng.permutation(3)[a] + 5, "y": y})
        data = encode(table)
        information = Roots(data, pairwise_information(data)[0]).information
        assert information[0, 2] == information[1, 2]


def test_with_one_root_left_nothing_is_refused(monkeypatch):
    table = sample(leafy_tree(n_columns=4), 800, random_state=0)
    learner = BinG(**QUIET)
    models, _ = watched(learner, table, monkeypatch)
    assert len(models) == 3
    assert None not in models
    assert len(learner.tree_.roots) == 1


def test_hidden_variables_have_the_states_of_their_models(monkeypatch, forest):
    learner = BinG(**QUIET)
    models, _ = watched(learner, forest, monkeypatch)
    assert list(learner.n_states_.values()) == [len(model.share) for model in models if model is not None]


# what both find


@both
def test_pairs_below_one_variable_and_columns_that_stand_alone(learner, forest):
    learner = fresh(learner).fit(forest)
    assert clusters(learner.tree_) >= {"x0 x1", "x2 x3", "x4 x5", "x0 x1 x2 x3 x4 x5"}
    assert len(learner.latents_) == 5
    roots = [learner.tree_.names[root] for root in learner.tree_.roots]
    assert roots[1:] == ["z0", "z1"]
    assert_consistent(learner, forest)


@both
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "expected", "bits"),
    [
        ("binary_forest", {"x1 x2": 2, "x4 x5": 4, "x3 x4 x5": 2}, 8),
        ("three_level_binary", {"x1 x2": 4, "x3 x4": 4, "x1 x2 x3 x4": 2}, 7),
        ("six_coins", {"x1 x2": 4, "x3 x4": 4}, 8),  # two bits more than a row has: what the pairs share is not seen
    ],
)
def test_coins_give_their_trees(learner, name, expected, bits, seed):
    table = datasets.coins(name, random_state=seed)
    learner = fresh(learner, random_state=seed).fit(table)
    tree = learner.tree_
    states = {" ".join(sorted(columns_below(tree, latent))): count for latent, count in learner.n_states_.items()}
    assert states == expected
    assert learner.log_likelihood_ / 1000 == pytest.approx(-bits * np.log(2), abs=0.03)
    assert_consistent(learner, table)


@both
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_of_three_coins_two_columns_are_joined(learner, seed):
    table = datasets.coins("three_coins", random_state=seed)
    learner = fresh(learner, random_state=seed).fit(table)
    assert learner.n_states_ == {"H1": 2}
    assert len(learner.tree_.roots) == 2
    assert learner.log_likelihood_ / 1000 == pytest.approx(-5 * np.log(2), abs=0.03)
    assert_consistent(learner, table)


@both
def test_independent_columns_stay_alone(learner):
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 3, size=(500, 6)))
    learner = fresh(learner).fit(table)
    assert learner.latents_ == learner.not_needed_ == []
    alone = Baseline("independence").fit(table)
    assert learner.log_likelihood_ == pytest.approx(alone.log_likelihood_, rel=1e-12)
    assert_consistent(learner, table)


@both
@pytest.mark.parametrize("seed", [0, 1])
def test_binary_tables_get_binary_hidden_variables(learner, seed):
    table = sample(leafy_tree(seed, n_columns=8), 500, random_state=seed)
    assert set(fresh(learner).fit(table).n_states_.values()) == {2}


@both
def test_max_states_is_obeyed(learner):
    table = datasets.coins("six_coins", random_state=0)
    limited = fresh(learner, max_states=3).fit(table)
    assert set(limited.n_states_.values()) == {3}
    assert_consistent(limited, table)


@both
def test_the_fit_of_the_whole_forest_gains(learner, gappy):
    history = fresh(learner).fit(gappy).history_
    assert history["log_likelihood"].iloc[-1] > history["log_likelihood"].iloc[-2] + 0.1


@both
def test_a_prior_leaves_nothing_impossible(learner):
    table = sample(leafy_tree(n_columns=4, alone=1), 200, random_state=0)
    table["z0"] = pd.Categorical(table["z0"], categories=[0, 1, 2])  # a state that no row shows
    smooth = fresh(learner, prior=1).fit(table)
    assert smooth.latents_
    assert min(own.min() for own in smooth.tree_.tables) > 0
    assert fresh(learner).fit(table).log_likelihood_ > smooth.log_likelihood_
    alone = fresh(learner, prior=1).fit(table[["x0", "z0"]])
    assert alone.latents_ == []
    np.testing.assert_allclose(
        alone.tree_.table("z0"), [(table["z0"].value_counts().sort_index() + 1) / 203], rtol=1e-9
    )


# tables of all kinds


@both
def test_missing_values_and_empty_rows(learner, gappy):
    one = fresh(learner).fit(gappy)
    assert clusters(one.tree_) >= {"x0 x1", "x2 x3", "x4 x5"}
    assert_consistent(one, gappy)
    empty = pd.concat([gappy, gappy.head(4).assign(**{name: np.nan for name in gappy})], ignore_index=True)
    with_empty = fresh(learner).fit(empty)
    assert clusters(with_empty.tree_) == clusters(one.tree_)
    assert with_empty.log_likelihood_ == pytest.approx(one.log_likelihood_, abs=0.5)
    assert_consistent(with_empty, empty)


@settings(max_examples=25)
@given(small_tables(min_columns=1, max_columns=6, max_rows=30), st.sampled_from([BinG, BinA]))
def test_small_tables_of_any_kind(data, kind):
    assume(data.n_rows > 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner = kind(**QUIET).fit(data)
    said = [type(one.message) for one in caught]
    assert (FewRowsWarning in said) == (learner.n_parameters_ > data.total_weight)
    assert [one for one in said if one is not FewRowsWarning] in ([], [NoOverlapWarning])
    assert_consistent(learner, data)


@both
def test_weights_are_repetitions(learner, gappy):
    table = gappy.head(200)
    weights = np.random.default_rng(0).integers(0, 4, size=200)
    weighted = fresh(learner).fit(table, sample_weight=weights)
    repeated = fresh(learner).fit(table.loc[table.index.repeat(weights)])
    assert_same_tree(weighted.tree_, repeated.tree_)
    assert_consistent(weighted, table, sample_weight=weights)
    without = fresh(learner).fit(table[weights > 0], sample_weight=weights[weights > 0])  # weight zero is absent
    assert_same_tree(weighted.tree_, without.tree_)


@both
def test_the_answer_depends_on_the_seed_alone(learner, gappy):
    one = fresh(learner).fit(gappy)
    rng = np.random.default_rng(0)
    for again in (
        fresh(learner).fit(gappy),
        fresh(learner, n_jobs=2).fit(gappy),
        fresh(learner).fit(encode(gappy)),
        fresh(learner).fit(gappy.sample(frac=1, random_state=0)),
    ):
        assert_same_tree(again.tree_, one.tree_)
        columns = ["operator", "target", "score", "log_likelihood"]
        pd.testing.assert_frame_equal(again.history_[columns], one.history_[columns], check_exact=True)
    shuffled = gappy[rng.permutation(gappy.columns)]
    again = fresh(learner).fit(shuffled)
    assert again.tree_.observed_names == tuple(shuffled.columns)
    assert same_by_name(again.tree_, one.tree_)
    other = fresh(learner, random_state=1).fit(gappy)
    assert not same_by_name(other.tree_, one.tree_)
    assert other.bic_ == pytest.approx(one.bic_, abs=2)


@both
def test_names_of_any_kind(learner, forest):
    one = fresh(learner).fit(forest)
    for names in (range(8), [3, "a", ("b", 1), 2.5, True, "x", "H", b"c"]):
        renamed = forest.set_axis(pd.Index(names, tupleize_cols=False), axis=1)
        found = fresh(learner).fit(renamed)
        assert found.tree_.observed_names == tuple(names)
        assert same_by_name(found.tree_, fresh(learner).fit(renamed.iloc[:, ::-1]).tree_)
        assert found.bic_ == pytest.approx(one.bic_, abs=2)  # other orders draw other numbers
    taken = fresh(learner).fit(forest.rename(columns={"x0": "H1", "x5": "H_3"}))
    assert taken.latents_ == ["H__1", "H__2", "H__3", "H__4", "H__5"]


@both
@pytest.mark.parametrize("column", [["a"] * 6, list("aabbab")])
def test_tables_with_next_to_nothing_in_them(learner, column):
    one = fresh(learner).fit(pd.DataFrame({"x": column}))
    assert one.latents_ == []
    assert one.tree_.table("x").shape == (1, len(set(column)))
    assert_consistent(one, pd.DataFrame({"x": column}))
    three = pd.DataFrame({"x": column, "y": ["c"] * 6, "z": column})
    assert_consistent(fresh(learner).fit(three), three)


@both
def test_two_columns(learner):
    first = np.random.default_rng(0).integers(0, 2, size=300)
    flip = np.random.default_rng(1).random(300) < 0.1
    table = pd.DataFrame({"a": first, "b": np.where(flip, 1 - first, first)})
    learner = fresh(learner).fit(table)
    assert joined_columns(learner) == [{frozenset("a"), frozenset("b")}]
    saturated = Baseline("chow_liu").fit(table).log_likelihood_  # of all models of two columns none is better
    assert learner.log_likelihood_ == pytest.approx(saturated, abs=0.01)
    assert_consistent(learner, table)


@both
def test_a_constant_column_stays_alone(learner, forest):
    learner = fresh(learner).fit(forest.assign(same="s"))
    tree = learner.tree_
    assert tree.parent[tree.index("same")] == -1
    assert len(learner.latents_) == 5


@both
def test_identical_columns_cost_nothing(learner):
    column = np.random.default_rng(0).integers(0, 3, size=200)
    table = pd.DataFrame({"a": column, "b": column})
    learner = fresh(learner).fit(table)
    assert learner.n_states_ == {"H1": 3}
    alone = Baseline("independence").fit(table[["a"]])
    assert learner.log_likelihood_ == pytest.approx(alone.log_likelihood_, abs=0.01)


@both
def test_columns_that_are_never_filled_together(learner, forest):
    table = forest.copy()
    table.loc[:299, "x0"] = np.nan
    table.loc[300:, ["x1", "x2"]] = np.nan
    with pytest.warns(NoOverlapWarning, match="2 pairs of columns are never filled in the same row") as caught:
        learner = fresh(learner).fit(table)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # the line of the user
    assert_consistent(learner, table)
    assert "x4 x5" in clusters(learner.tree_)


@both
@pytest.mark.parametrize("n_states", [2, 3])
def test_a_table_in_which_no_columns_are_filled_together(learner, n_states):
    cells = np.tile(np.arange(n_states), 4).astype(float)
    gap = np.full_like(cells, np.nan)
    table = pd.DataFrame({"a": [*cells, *gap, *gap], "b": [*gap, *cells, *gap], "c": [*gap, *gap, *cells]})
    with pytest.warns(NoOverlapWarning, match="3 pairs"):
        learner = fresh(learner).fit(table)
    assert learner.latents_ == []
    assert_consistent(learner, table)


@both
def test_identifiers_are_refused(learner, forest):
    table = forest.head(101).assign(id=[f"p{at}" for at in range(101)])
    with pytest.raises(DataError, match="column 'id' has a category of its own in every row, as identifiers"):
        fresh(learner).fit(table)
    allowed = fresh(learner).fit(table, allow_many_states=True)
    assert allowed.model_.check_model()
    assert_consistent(allowed, table)
    short = table.head(20)
    assert_consistent(fresh(learner).fit(short), short)
    once_more = pd.concat([table, table.head(1)], ignore_index=True)  # a category of two rows changes nothing
    with pytest.raises(DataError, match="column 'id' has 101 categories in 102 rows, as identifiers"):
        fresh(learner).fit(once_more)
    twice = pd.concat([table, table], ignore_index=True)
    assert_consistent(fresh(learner).fit(twice), twice)
    gaps = pd.concat([table, table.head(5).assign(id=None)], ignore_index=True)
    with pytest.raises(DataError, match="column 'id'"):
        fresh(learner).fit(gaps)


# what can be asked of a forest


@both
def test_questions_to_a_forest_with_columns_that_stand_alone(learner, gappy, tmp_path):
    learner = fresh(learner).fit(gappy)
    tree = learner.tree_
    assert len(tree.roots) >= 3
    drawn = learner.sample(50, random_state=0)
    assert drawn.columns.tolist() == gappy.columns.tolist()
    assert learner.score(gappy) == pytest.approx(learner.log_likelihood_ / len(gappy), rel=1e-9)
    shares = learner.predict_proba(gappy)
    assert shares.shape == learner.transform(gappy).shape == (len(gappy), sum(learner.n_states_.values()))
    np.testing.assert_allclose(shares.T.groupby(level=0).sum(), 1, rtol=1e-9)
    filled = learner.impute(gappy)
    assert filled.notna().all(axis=None)
    assert filled["z0"][gappy["z0"].isna()].nunique() == 1  # nothing else tells about it
    assert filled["x0"][gappy["x0"].isna()].nunique() == 2
    save(tree, tmp_path / "forest.json")
    assert_same_tree(load(tmp_path / "forest.json"), tree)
    save(learner.model_, tmp_path / "network.json")
    assert_same_tree(from_pgmpy(load(tmp_path / "network.json")), tree)


# settings that cannot be meant


@both
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_states": 1}, "max_states is 1; give a whole number of at least 2, or None"),
        ({"max_states": 2.5}, "max_states is 2.5; give a whole number of at least ., or None"),
        ({"context": (0,)}, r"context is \(0,\); give a tuple of whole numbers above 0, or \(\) for none"),
        ({"context": 5}, "context is 5; give a tuple of whole numbers above 0"),
        ({"context": (2.5,)}, r"context is \(2.5,\); give a tuple of whole numbers above 0"),
        ({"context": None}, "context is None; give a tuple"),
        ({"n_starts": 0}, "n_starts is 0; give a whole number of at least 1"),
        ({"narrowing": 1}, "narrowing is 1; give a number above 1, or None"),
        ({"narrowing": 0.5}, "narrowing is 0.5; give a number above 1, or None"),
        ({"tol": -1}, "tol is -1; give a number of at least 0"),
        ({"search_tol": "small"}, "search_tol is 'small'; give a number of at least 0"),
        ({"prior": -0.5}, "prior is -0.5; give a number of at least 0, or None"),
        ({"max_iter": 0}, "max_iter is 0; give a whole number of at least 1"),
        ({"search_iter": 0}, "search_iter is 0; give a whole number of at least 1"),
        ({"time_limit": 0}, "time_limit is 0; give a number of seconds above 0, or None"),
        ({"n_jobs": 0}, "n_jobs is 0; give the number of threads, -1 for all cores, or None for one"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_meant(learner, settings, message):
    with pytest.raises(ValueError, match=message):
        fresh(learner, **settings).fit("no table at all")  # before any work


# the end before the end


def assert_usable(learner, table):
    assert learner.model_.check_model()
    assert np.isfinite(learner.score_samples(table)).all()
    assert learner.log_likelihood_ == pytest.approx(log_likelihood(learner.tree_, table), rel=1e-9)
    assert learner.score_ == pytest.approx(scores.bic(learner.tree_, table), rel=1e-9)
    assert learner.history_["operator"].iloc[0] == "start"
    assert (learner.history_["operator"] == "join").sum() == len(learner.latents_)


@both
@pytest.mark.parametrize("time_limit", [1e-9, 0.05])
def test_a_time_limit_ends_the_search(learner, time_limit):
    table = sample(leafy_tree(n_columns=60, card=4), 3000, random_state=0)
    learner = fresh(learner, time_limit=time_limit)
    with pytest.warns(ConvergenceWarning, match="the time limit stopped the search; raise time_limit"):
        learner.fit(table)
    assert learner.stopped_ == "time_limit"
    assert_usable(learner, table)


@both
@pytest.mark.parametrize("moment", [1, 2, 4])
def test_ctrl_c_keeps_what_was_joined(monkeypatch, learner, forest, moment):
    whole = fresh(learner).fit(forest)
    best, calls = Pair.best, []

    def interrupted(pair):
        calls.append(pair)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return best(pair)

    monkeypatch.setattr(Pair, "best", interrupted)
    learner = fresh(learner)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search; fit again"):
        learner.fit(forest)
    assert learner.stopped_ == "interrupted"
    assert learner.latents_ == whole.latents_[: moment - 1]
    assert joined_columns(learner) == joined_columns(whole)[: moment - 1]
    assert learner.history_["operator"].tolist() == ["start"] + ["join"] * (moment - 1)
    assert learner.history_["score"].tolist() == whole.history_["score"].tolist()[:moment]
    assert_usable(learner, forest)


@both
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_at_any_moment_leaves_a_model(monkeypatch, learner, forest, n_jobs):
    calls, moment = 0, -1

    def check(clock):
        nonlocal calls
        calls += 1
        if calls == moment:
            raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "check", check)
    whole = fresh(learner, n_jobs=n_jobs).fit(forest)
    for chosen in (1, 2, *np.linspace(3, calls, 5).astype(int).tolist()):
        calls, moment, stopped = 0, chosen, fresh(learner, n_jobs=n_jobs)
        with pytest.warns(ConvergenceWarning, match="Ctrl-C stopped the search"):
            stopped.fit(forest)
        assert stopped.stopped_ == "interrupted"
        assert_usable(stopped, forest)
        assert clusters(stopped.tree_) <= clusters(whole.tree_)


# searches taken up again


def without_seconds(history):
    return history.drop(columns="seconds")


def states_of(learner, table, monkeypatch):
    """Fit with a state after every pair, and return all states with the history up to them."""
    notes = Notes()
    with monkeypatch.context() as patched:
        patched.setattr(forests.forest_search, "CHUNK_SECONDS", 1e-4)
        notes.watch(patched)
        learner.set_params(checkpoint="notes").fit(table)
    return notes.saved


def gone_on(learner, table, state, history, monkeypatch):
    """Fit, but begin where a search stood."""
    with monkeypatch.context() as patched:
        Notes((state, history)).watch(patched)
        return learner.set_params(checkpoint="notes").fit(table)


@both
@pytest.mark.parametrize("refused", [{}, {2, 3}], ids=["all joined", "one refused"])
@pytest.mark.parametrize("paper", [False, True], ids=["usual", "paper"])
def test_a_search_goes_on_from_any_state_as_if_it_had_never_stopped(monkeypatch, learner, gappy, paper, refused):
    options = {"tuning": PAPER[type(learner)], "max_states": 2} if paper else {}
    best = Pair.best
    monkeypatch.setattr(
        Pair, "best", lambda pair: None if {root.node for root in pair.roots} == refused else best(pair)
    )
    table = gappy.head(300).iloc[:, ::-1]  # columns against the order of their names
    whole = fresh(learner, **options)
    saved = states_of(whole, table, monkeypatch)
    joins = [sum(entry.operator == "join" for entry in history) for _, history in saved]
    assert set(joins) == set(range(len(whole.latents_) + 1))  # a state after every join
    assert len(whole.latents_) >= (1 if refused and type(learner) is BinG else 2)
    assert ("x2 x3" in clusters(whole.tree_)) == (not refused)
    assert saved[-1][0].finished
    assert_same_tree(fresh(learner, **options).fit(table).tree_, whole.tree_)  # however many states there are
    for state, history in saved:
        again = gone_on(fresh(learner, **options), table, state, history, monkeypatch)
        assert_same_tree(again.tree_, whole.tree_)
        pd.testing.assert_frame_equal(
            without_seconds(again.history_), without_seconds(whole.history_), check_exact=True
        )
        assert again.history_["seconds"].is_monotonic_increasing


@both
def test_an_interrupted_search_can_be_taken_up(monkeypatch, learner, gappy):
    whole = fresh(learner).fit(gappy)
    best, calls = Pair.best, []

    def interrupted(pair):
        calls.append(pair)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return best(pair)

    with monkeypatch.context() as patched:
        patched.setattr(Pair, "best", interrupted)
        with pytest.warns(ConvergenceWarning, match="Ctrl-C"):
            state, history = states_of(fresh(learner), gappy, monkeypatch)[-1]
    assert not state.finished
    again = gone_on(fresh(learner), gappy, state, history, monkeypatch)
    assert again.stopped_ is None
    assert_same_tree(again.tree_, whole.tree_)


# published figures


def test_coil_42(data_folder):
    """The paper counts parameters in bits and the likelihood in nats."""
    table = pd.read_csv(data_folder / "coil42_train.csv.gz")
    for kind in (BinG, BinA):
        learner = kind(**QUIET).fit(table.drop(columns="count"), sample_weight=table["count"])
        mixed = learner.log_likelihood_ - learner.n_parameters_ / 2 * np.log2(table["count"].sum())
        assert mixed > -53533, kind


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [(BinG, -231_764), (BinA, -231_000)])
def test_newsgroups(data_folder, kind, least):
    table = pd.read_csv(data_folder / "news20w100.csv.gz").drop(columns="newsgroup")
    assert kind(**QUIET).fit(table).log_likelihood_ >= least
