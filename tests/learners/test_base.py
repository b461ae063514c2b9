"""The surface of learners: what every learner leaves behind after ``fit``, and what can be asked of it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pgmpy.base import DAG
from pgmpy.inference import VariableElimination
from pgmpy.metrics import SHD, StructureScore
from pgmpy.models import DiscreteBayesianNetwork
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

import pgmpy_latent
from pgmpy_latent import (
    EAST,
    HLTA,
    Baseline,
    BinA,
    BinG,
    HiddenChowLiu,
    RandomStarts,
    SplitMerge,
    datasets,
    encode,
    presets,
    scores,
)
from pgmpy_latent.diagnostics.conditionals import conditionals
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.starts import random_memberships
from pgmpy_latent.exceptions import (
    DataError,
    PgmpyLatentError,
    UnseenCategoryError,
    UnseenCategoryWarning,
    WeightError,
)
from pgmpy_latent.inference import queries
from pgmpy_latent.inference.plan import compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.base import LatentTreeLearner
from pgmpy_latent.learners.profiles import profiles
from pgmpy_latent.learners.search import Outcome
from pgmpy_latent.learners.skeletons import fresh_latent_name
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.runtime.checkpoint import HistoryEntry
from pgmpy_latent.testing import check_learner
from tests.support import reference
from tests.support.samples import HISTORY, pgmpys_base


class LatentClass(LatentTreeLearner):
    """One hidden variable, parent of all columns: the smallest real learner."""

    def __init__(self, n_states=2, n_init=3, scoring_method="bic", random_state=0):
        self.n_states = n_states
        self.n_init = n_init
        self.scoring_method = scoring_method
        self.random_state = random_state

    def _learn(self, data):
        hidden = fresh_latent_name(data.columns)
        names = (hidden, *data.columns)
        states = [range(self.n_states), *data.state_names]
        cards = np.array([len(own) for own in states])
        parents = np.array([-1] + [0] * len(data.columns))
        engine = TreeEngine(compile_plan(parents, queries.tree_evidence(data, names)), cards, data.weights)
        codes = np.insert(data.codes, 0, -1, axis=1)
        seed = np.random.SeedSequence(self.random_state).entropy
        starts = [
            random_memberships(
                [(), *[(0,)] * len(data.columns)],
                cards,
                codes,
                data.weights,
                data.row_keys,
                np.random.SeedSequence(seed, spawn_key=(start,)),
            )
            for start in range(self.n_init)
        ]
        found = fit(engine, np.stack(starts))
        tree = LatentTree(
            names, states, parents, [True] + [False] * len(data.columns), engine.layout.unpack(found.tables)
        )
        score = getattr(scores, self.scoring_method)(tree, data)
        n_parameters = scores.n_parameters(tree)
        history = [HistoryEntry(0, "start", hidden, score, found.log_likelihood, n_parameters, seconds=0.0)]
        return Outcome(tree, score, found.log_likelihood, history)


class TrainingRows(LatentTreeLearner):
    """Finds what it was given."""

    def __init__(self, tree=None, stopped=None):
        self.tree = tree
        self.stopped = stopped

    def _learn(self, data):
        total = scores.log_likelihood(self.tree, data)
        return Outcome(self.tree, total, total, history=[], stopped=self.stopped)


#: Every learner goes through the contract below; quick settings, please.
LEARNERS = [
    LatentClass(),
    LatentClass(n_states=1),
    SplitMerge(tuning=presets.SPLIT_MERGE.replace(adjust=False), random_state=0, show_progress=False),
    RandomStarts(n_states=2, n_starts=4, random_state=0, show_progress=False),
    EAST(tuning=presets.EAST.replace(excursions=(), look_ahead=0), random_state=0, show_progress=False),
    EAST(tuning=presets.EAST.replace(evaluation="dc"), random_state=0, show_progress=False),
    BinG(random_state=0, show_progress=False),
    BinA(random_state=0, show_progress=False),
    HLTA(show_progress=False),
    HiddenChowLiu(n_states=3, validation_share=0.1, random_state=0, show_progress=False),
    Baseline("independence"),
    Baseline("chow_liu"),
    Baseline("latent_class", random_state=0, show_progress=False),
]
every_learner = pytest.mark.parametrize("learner", [clone(one) for one in LEARNERS], ids=repr)


def survey(n=150, seed=0, gaps=0.1):
    """Columns of several kinds, with missing cells, a level that does not occur, and an index of its own."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, size=n)

    def draw(first, second):
        return (rng.random(n) < np.where(group, first, second)).astype(int)

    frame = pd.DataFrame(
        {
            "smokes": np.array(["no", "yes"])[draw(0.8, 0.2)],
            "visits": draw(0.9, 0.3) + draw(0.7, 0.1),
            "owns": draw(0.7, 0.2).astype(bool),
            "colour": pd.Categorical(np.array(["red", "blue"])[draw(0.8, 0.3)], categories=["red", "green", "blue"]),
        },
        index=pd.Index([f"p{i}" for i in range(n)], name="person"),
    )
    return frame.astype({"smokes": object, "owns": object}).mask(rng.random(frame.shape) < gaps)


def two_levels():
    """Three hidden variables in two levels, an observed one inside, and a tree of its own beside."""
    rng = np.random.default_rng(1)
    names = ["T", "A", "B", "a1", "a2", "b1", "b2", "m", "lone"]
    parent = np.array([-1, 0, 0, 1, 1, 2, 7, 2, -1])
    cards = [2, 3, 2, 2, 3, 2, 2, 2, 3]
    tables = [rng.dirichlet(np.ones(c), 1 if p < 0 else cards[p]) for p, c in zip(parent, cards, strict=True)]
    states = [list(range(c)) if name in "TAB" else [f"{name}{i}" for i in range(c)]
              for name, c in zip(names, cards, strict=True)]  # fmt: skip
    return LatentTree(names, states, parent, [name in "TAB" for name in names], tables)


def fitted_given(tree, n=30):
    return TrainingRows(tree).fit(queries.sample(tree, n, random_state=0))


# scikit-learn -------------------------------------------------------------------------------------

# tables of random real numbers: every cell is a category of its own, so that new rows hold unseen ones
unseen_is_fine = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.UnseenCategoryWarning")
few_columns_are_fine = pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.FewColumnsWarning")


def checks_that_ask_too_much(learner):
    if not isinstance(learner, HLTA):
        return {}
    reason = "sparse tables of zeros and ones are welcome, but not of other numbers"
    sparse_checks = ("estimator_sparse_array", "estimator_sparse_matrix", "sample_weight_equivalence_on_sparse_data")
    return {f"check_{name}": reason for name in sparse_checks}


@unseen_is_fine
@few_columns_are_fine
@estimator_checks.parametrize_with_checks(LEARNERS, expected_failed_checks=checks_that_ask_too_much)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@unseen_is_fine
@few_columns_are_fine
@every_learner
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
        estimator_checks.check_set_output_transform,
        estimator_checks.check_n_features_in,
    ],
)
def test_further_scikit_learn_checks(learner, check):
    check(type(learner).__name__, clone(learner))


# What every learner leaves behind -----------------------------------------------------------------


@every_learner
def test_the_contract_that_is_shipped(learner):
    check_learner(learner)


@every_learner
def test_the_results_of_a_fit_agree_with_each_other(learner):
    frame = survey()
    learner = clone(learner)
    assert isinstance(learner, pgmpys_base())
    assert learner.fit(frame) is learner
    check_is_fitted(learner)
    tree, data = learner.tree_, encode(frame)
    assert isinstance(tree, LatentTree)
    assert tree.observed_names == tuple(frame.columns)  # in their order, so that sample() and impute() keep it
    assert learner.latents_ == list(tree.latent_names)
    assert learner.not_needed_ == [name for name in tree.latent_names if tree.table(name).shape[1] == 1]
    assert learner.log_likelihood_ == pytest.approx(scores.log_likelihood(tree, data), abs=1e-8)
    assert learner.n_parameters_ == scores.n_parameters(tree)
    assert learner.bic_ == pytest.approx(learner.log_likelihood_ - learner.n_parameters_ / 2 * np.log(150), abs=1e-8)
    if not isinstance(learner, HiddenChowLiu):  # whose score is that of held-out rows
        score = getattr(scores, getattr(learner, "scoring_method", None) or "bic")
        assert learner.score_ == pytest.approx(score(tree, data), abs=1e-8)
    assert learner.stopped_ is None
    assert learner.n_features_in_ == 4
    assert learner.feature_names_in_.tolist() == list(frame.columns)


@every_learner
def test_the_model_is_a_pgmpy_network(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    model = learner.model_
    assert isinstance(model, DiscreteBayesianNetwork)
    assert model is learner.causal_graph_
    assert model.check_model()
    assert model.latents == set(learner.latents_)
    assert pgmpy_latent.from_pgmpy(model) == learner.tree_
    assert {name: model.states[name] for name in frame} == {
        "smokes": ["no", "yes"],
        "visits": [0, 1, 2],
        "owns": [False, True],
        "colour": ["red", "green", "blue"],  # the categories in their order, also one that no row shows
    }
    edges = learner.adjacency_matrix_
    assert edges.index.tolist() == edges.columns.tolist() == list(model.nodes())
    assert {(a, b) for a in edges.index for b in edges.columns if edges.loc[a, b]} == set(model.edges())
    assert edges.to_numpy().sum() == len(model.edges())


@every_learner
def test_history_has_its_columns(learner):
    history = clone(learner).fit(survey()).history_
    assert history.columns.tolist() == HISTORY
    assert history[["score", "log_likelihood", "seconds"]].dtypes.eq("float64").all()
    assert history["score"].is_monotonic_increasing


@every_learner
def test_hidden_states_are_numbered_from_the_largest(learner):
    tree = clone(learner).fit(survey()).tree_
    shares = marginals(tree)
    for name in tree.latent_names:
        share = shares[tree.index(name)]
        assert tree.state_names[tree.index(name)] == tuple(range(len(share)))
        assert (np.diff(share) <= 1e-6).all()


@every_learner
def test_weights_count_rows(learner):
    frame = survey(60)
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = clone(learner).fit(frame, sample_weight=weights)
    repeated = clone(learner).fit(frame.loc[frame.index.repeat(weights)])
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-9)
    assert weighted.bic_ == pytest.approx(repeated.bic_, rel=1e-9)
    assert weighted.latents_ == repeated.latents_
    for mine, theirs in zip(weighted.tree_.tables, repeated.tree_.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6)
    doubled = clone(learner).fit(frame, sample_weight=np.full(60, 2.0))
    expected = doubled.log_likelihood_ - doubled.n_parameters_ / 2 * np.log(120)
    assert doubled.bic_ == pytest.approx(expected, rel=1e-9)


@every_learner
def test_every_kind_of_table_gives_the_same_answer(learner):
    frame = survey().astype({"colour": object})
    expected = clone(learner).fit(frame)
    encoded = clone(learner).fit(encode(frame))
    assert encoded.tree_ == expected.tree_
    assert encoded.feature_names_in_.tolist() == list(frame.columns)
    polars = pl.DataFrame({name: [None if pd.isna(v) else v for v in frame[name]] for name in frame}, strict=False)
    assert clone(learner).fit(polars).log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-9)
    array = clone(learner).fit(frame.to_numpy(dtype=object))
    assert array.score(frame.to_numpy(dtype=object)) == pytest.approx(array.log_likelihood_ / 150, rel=1e-9)
    assert array.tree_.observed_names == (0, 1, 2, 3)
    assert not hasattr(array, "feature_names_in_")
    assert array.n_features_in_ == 4
    np.testing.assert_array_equal(expected.score_samples(encode(frame)), expected.score_samples(frame))
    np.testing.assert_array_equal(expected.score_samples(polars), expected.score_samples(frame))
    np.testing.assert_array_equal(
        expected.score_samples(frame.to_numpy(dtype=object).tolist()), expected.score_samples(frame)
    )


@every_learner
def test_the_same_seed_gives_the_same_model(learner):
    frame = survey()
    first, second = clone(learner).set_params(random_state=5), clone(learner).set_params(random_state=5)
    assert first.fit(frame).tree_ == second.fit(frame).tree_
    assert first.fit(frame).tree_ == second.tree_  # a fit forgets the one before


@every_learner
def test_score_is_the_mean_of_score_samples(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    rows = learner.score_samples(frame)
    assert isinstance(rows, np.ndarray)
    assert rows.shape == (150,)
    assert learner.score(frame) == pytest.approx(rows.mean(), rel=1e-12)
    assert learner.score(frame) == pytest.approx(learner.log_likelihood_ / 150, rel=1e-9)
    weights = np.arange(150.0)
    assert learner.score(frame, sample_weight=weights) == pytest.approx(np.average(rows, weights=weights), rel=1e-12)
    weighted = encode(frame, sample_weight=weights + 1, weight_kind="frequency")
    assert learner.score(weighted) == pytest.approx(np.average(rows, weights=weights + 1), rel=1e-12)


@every_learner
def test_answers_about_rows_keep_the_index(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    some = frame.iloc[[7, 3, 3]].assign(unrelated=1)[["colour", "unrelated", "owns", "visits", "smokes"]]
    shares, states = learner.predict_proba(some), learner.predict(some)
    for answer in (shares, states, learner.impute(some)):
        assert isinstance(answer, pd.DataFrame)
        pd.testing.assert_index_equal(answer.index, some.index)
    assert shares.columns.tolist() == [(n, s) for n in learner.latents_ for s in learner.model_.states[n]]
    assert states.columns.tolist() == learner.latents_
    for name in learner.latents_:
        np.testing.assert_allclose(shares[name].sum(axis=1), 1, rtol=1e-12)
        assert states[name].tolist() == shares[name].idxmax(axis=1).tolist()
    by_position = some[frame.columns].to_numpy(dtype=object)
    np.testing.assert_array_equal(learner.predict_proba(by_position), shares)
    assert learner.predict(by_position).index.tolist() == [0, 1, 2]


@every_learner
def test_impute_fills_gaps_and_nothing_else(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    for options in ({}, {"method": "draw", "random_state": 0}):
        filled = learner.impute(frame, **options)
        assert filled.columns.tolist() == list(frame.columns)
        assert not filled.isna().any(axis=None)
        there = frame.notna().to_numpy()
        assert (filled.to_numpy(dtype=object)[there] == frame.to_numpy(dtype=object)[there]).all()
    draws = [learner.impute(frame, "draw", random_state=1) for _ in range(2)]
    pd.testing.assert_frame_equal(*draws)
    with pytest.raises(ValueError, match="'most_likely' or 'draw'"):
        learner.impute(frame, "mean")


@every_learner
def test_transform_gives_the_posteriors(learner):
    frame = survey()
    learner = clone(learner)
    features = learner.fit_transform(frame, sample_weight=np.ones(150))
    np.testing.assert_array_equal(features, learner.predict_proba(frame))
    names = [f"{name}={state}" for name in learner.latents_ for state in learner.model_.states[name]]
    assert learner.get_feature_names_out().tolist() == names
    for features in (learner.set_output(transform="pandas").transform(frame), learner.fit_transform(frame)):
        assert isinstance(features, pd.DataFrame)
        assert features.columns.tolist() == names
        pd.testing.assert_index_equal(features.index, frame.index)
    assert learner.transform(encode(frame)).shape == features.shape
    features = learner.set_output(transform="polars").transform(frame)
    assert isinstance(features, pl.DataFrame)
    assert features.columns == names


@every_learner
def test_samples(learner):
    learner = clone(learner).fit(survey())
    drawn = learner.sample(5, random_state=0)
    assert drawn.columns.tolist() == ["smokes", "visits", "owns", "colour"]
    assert len(learner.sample()) == 1
    pd.testing.assert_frame_equal(drawn, learner.sample(5, random_state=0))
    assert set(learner.sample(5, latents=True)) == {*drawn, *learner.latents_}


@every_learner
def test_copies_ask_and_answer_alike(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(copy._data.codes, encode(frame).codes)  # for report(), also of a copy
    np.testing.assert_array_equal(copy.score_samples(frame), learner.score_samples(frame))
    with pytest.raises(NotFittedError):
        clone(learner).score(frame)
    assert clone(learner).get_params() == learner.get_params()


@every_learner
@pytest.mark.parametrize(
    "question",
    [
        lambda one: one.score_samples(survey()),
        lambda one: one.score(survey()),
        lambda one: one.score(true_graph=DAG()),
        lambda one: one.predict(survey()),
        lambda one: one.predict_proba(survey()),
        lambda one: one.transform(survey()),
        lambda one: one.get_feature_names_out(),
        lambda one: one.impute(survey()),
        lambda one: one.sample(),
        lambda one: one.profiles(),
        lambda one: one.adjacency_matrix_,
    ],
)
def test_an_unfitted_learner_says_so(learner, question):
    with pytest.raises(NotFittedError, match="not fitted"):
        question(clone(learner))


@every_learner
def test_it_works_inside_scikit_learn(learner):
    frame = survey()
    values = cross_val_score(clone(learner), frame, cv=3)
    assert np.isfinite(values).all()
    values = cross_val_score(make_pipeline(FunctionTransformer(), clone(learner)), frame, cv=3)
    assert np.isfinite(values).all()
    if clone(learner).fit(frame).latents_:  # or there are no features
        answer = (frame["smokes"] == "yes").astype(int)
        pipeline = make_pipeline(clone(learner), LogisticRegression())
        assert cross_val_score(pipeline, frame, answer, cv=3).shape == (3,)
    many = survey(600)  # so many rows that each fold finds the same hidden variables
    shares = cross_val_predict(clone(learner), many, cv=3, method="predict_proba")
    assert len(shares) == 600
    # weights reach a learner at the end of a pipeline
    weights = np.arange(150.0) % 5 + 1
    piped = make_pipeline(FunctionTransformer(), clone(learner))
    step = piped.steps[-1][0]
    piped.fit(frame, **{f"{step}__sample_weight": weights})
    assert piped[-1].tree_ == clone(learner).fit(frame, sample_weight=weights).tree_


@every_learner
@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (pd.DataFrame(index=range(3)), DataError, r"0 feature\(s\)"),
        (pd.DataFrame({"x": []}), DataError, r"0 sample\(s\)"),
        (pd.DataFrame({"x": ["a"]}), DataError, "n_samples = 1, at least 2"),
        (np.zeros(3), DataError, "Expected 2D array, got 1D array instead. Reshape your data"),
        (sparse.csr_array([[1, 2], [3, 4]]), (TypeError, DataError), "sparse"),
        (np.array([[1j], [2j]]), DataError, "Complex data not supported"),
        (pd.DataFrame({"x": [["a"], ["b"]]}), TypeError, "argument must be a string, number"),
        (pd.DataFrame({None: ["a", "b"]}), DataError, "called None"),
        (pd.DataFrame({"x": [None, None]}), DataError, "all missing"),
        ({"x": ["a", "b"]}, TypeError, "pass a DataFrame"),
        (None, TypeError, "pass a DataFrame"),
    ],
)
def test_bad_tables_are_refused(learner, table, error, message):
    learner = clone(learner)
    with pytest.raises(error, match=message):
        learner.fit(table)
    with pytest.raises(NotFittedError):
        check_is_fitted(learner)


@every_learner
def test_bad_weights_and_settings_are_refused(learner):
    with pytest.raises(WeightError, match="nan in row 0"):
        clone(learner).fit(survey(3), sample_weight=[np.nan, 1, 1])
    with pytest.raises(ValueError, match="unseen is 'ignore'; give 'missing' or 'error'"):
        clone(learner).fit("no table at all", unseen="ignore")


@every_learner
def test_new_rows_with_other_columns_or_categories(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    with pytest.raises(DataError, match="X lacks the column 'owns'"):
        learner.predict(frame.drop(columns="owns"))
    with pytest.raises(PgmpyLatentError, match=r"X has 3 features, but \w+ is expecting 4 features as input"):
        learner.score_samples(frame.to_numpy(dtype=object)[:, :3])
    strange = frame.head(2).assign(smokes="sometimes")
    with pytest.warns(UnseenCategoryWarning, match="'sometimes'"):
        values = learner.score_samples(strange)
    np.testing.assert_array_equal(values, learner.score_samples(strange.assign(smokes=None)))
    learner = clone(learner).fit(frame, unseen="error")
    for question in (learner.score_samples, learner.predict, learner.predict_proba, learner.impute, learner.score):
        with pytest.raises(UnseenCategoryError, match="'sometimes'"):
            question(strange)


@every_learner
def test_profiles_of_what_was_learned(learner):
    frame = survey()
    learner = clone(learner).fit(frame)
    table = learner.profiles()
    assert table.columns.tolist() == learner.predict_proba(frame.head(1)).columns.tolist()
    assert table.index[0] == ("share", "")
    variables = table.index.get_level_values("variable")
    assert variables.unique().tolist() == ["share", *frame.columns]
    assert table.loc["colour"].index.tolist() == ["red", "green", "blue"]
    np.testing.assert_allclose(table.iloc[1:].groupby(variables[1:]).sum(), 1, rtol=1e-9)
    # truth values beside numbers are text
    assert table.loc["owns"].index.tolist() == ["False", "True"]
    assert [type(category) for category in table.loc["visits"].index] == [int, int, int]


# Details that need a certain tree ------------------------------------------------------------------


def test_posteriors_agree_with_pgmpy():
    learner = fitted_given(two_levels())
    rows = learner.sample(6, random_state=3)
    rows.loc[1, "a1"] = rows.loc[2, "m"] = None
    rows.loc[3] = None
    shares = learner.predict_proba(rows)
    inference = VariableElimination(learner.model_)
    for at, row in rows.iterrows():
        evidence = row.dropna().to_dict()
        for name in learner.latents_:
            expected = inference.query([name], evidence=evidence, show_progress=False)
            assert expected.state_names[name] == list(learner.tree_.state_names[learner.tree_.index(name)])
            np.testing.assert_allclose(shares.loc[at, name], expected.values, rtol=1e-9)
    with np.errstate(divide="ignore"):
        log_likelihoods = reference.log_likelihoods(
            learner.tree_.parent,
            learner.tree_.tables,
            [
                {
                    learner.tree_.index(name): learner.tree_.state_names[learner.tree_.index(name)].index(value)
                    for name, value in row.dropna().items()
                }
                for _, row in rows.iterrows()
            ],
        )
    np.testing.assert_allclose(learner.score_samples(rows), log_likelihoods, rtol=1e-9, atol=1e-12)


def test_profiles_agree_with_pgmpy():
    learner = fitted_given(two_levels())
    table = learner.profiles()
    inference = VariableElimination(learner.model_)
    assert len(table) == 1 + sum(len(learner.model_.states[name]) for name in learner.tree_.observed_names)
    for latent, state in table.columns:
        share = inference.query([latent], show_progress=False).get_value(**{latent: state})
        assert table.loc[("share", ""), (latent, state)] == pytest.approx(share, rel=1e-9)
        for name, category in table.index[1:]:
            given = inference.query([name], evidence={latent: state}, show_progress=False)
            expected = given.get_value(**{name: category})
            assert table.loc[(name, category), (latent, state)] == pytest.approx(expected, rel=1e-9)


def test_conditionals_agree_with_enumeration():
    tree = two_levels()
    states = reference.joint_states(tree.cards)
    probability = reference.joint_probabilities(tree.parent, tree.tables, states)
    for node in range(tree.n_nodes):
        for other, found in enumerate(conditionals(tree, node)):
            joint = np.zeros((tree.cards[node], tree.cards[other]))
            np.add.at(joint, (states[:, node], states[:, other]), probability)
            np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)


def test_profiles_of_impossible_states_are_numbers():
    tree = LatentTree(
        ["T", "H", "x", "y"],
        [[0, 1], [0, 1, 2], ["a", "b"], ["c", "d"]],
        [-1, 0, 1, 0],
        [True, True, False, False],
        [[[0.4, 0.6]], [[0.5, 0.5, 0], [1, 0, 0]], [[0.1, 0.9], [1, 0], [0.3, 0.7]], [[0.8, 0.2], [0.1, 0.9]]],
    )
    table = profiles(tree)
    assert table.notna().all(axis=None)
    impossible = table[("H", 2)]
    assert impossible["share", ""] == 0
    assert impossible["x"].tolist() == [0.3, 0.7]  # what the table below says
    assert impossible["y"].tolist() == pytest.approx([0.38, 0.62])  # nothing is known about what is above


def test_profiles_without_latents_or_with_tuples_as_names():
    alone = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.5, 0.5]]])
    assert profiles(alone).shape == (3, 0)
    assert list(profiles(alone).columns.names) == ["latent", "state"]
    pair = LatentTree(["H", ("x", 1)], [[0], ["a", "b"]], [-1, 0], [True, False], [[[1.0]], [[0.5, 0.5]]])
    assert profiles(pair).index[1] == (("x", 1), "a")


def test_without_latents():
    alone = LatentTree(["x", "y"], [["a", "b"], [0, 1]], [-1, 0], [False] * 2, [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
    learner = fitted_given(alone)
    frame = learner.sample(4, random_state=0)
    assert learner.latents_ == learner.not_needed_ == []
    assert learner.transform(frame).shape == (4, 0)
    assert learner.predict(frame).shape == learner.predict_proba(frame).shape == (4, 0)
    assert learner.get_feature_names_out().shape == (0,)
    assert learner.set_output(transform="pandas").transform(frame).index.tolist() == [0, 1, 2, 3]
    assert learner.model_.latents == set()
    assert learner.history_.empty
    assert learner.history_.columns.tolist() == HISTORY
    assert learner.history_["step"].dtype == "int64"


def test_hidden_states_are_put_in_order_and_renamed():
    tree = LatentTree(
        ["H", "K", "x"],
        [["low", "high"], ["only"], ["a", "b"]],
        [-1, 0, 0],
        [True, True, False],
        [[[0.2, 0.8]], [[1.0], [1.0]], [[0.9, 0.1], [0.3, 0.7]]],
    )
    learner = fitted_given(tree)
    assert learner.tree_.state_names == ((0, 1), (0,), ("a", "b"))
    assert learner.tree_.table("H").tolist() == [[0.8, 0.2]]
    assert learner.tree_.table("x").tolist() == [[0.3, 0.7], [0.9, 0.1]]
    assert learner.not_needed_ == ["K"]
    assert learner.get_feature_names_out().tolist() == ["H=0", "H=1", "K=0"]


@pytest.mark.parametrize(
    ("stopped", "message"),
    [("time_limit", "time limit stopped the search; raise time_limit"), ("interrupted", "Ctrl-C .* fit again")],
)
def test_a_search_that_was_stopped_says_so(stopped, message):
    tree = two_levels()
    learner = TrainingRows(tree, stopped=stopped)
    with pytest.warns(ConvergenceWarning, match=f"{message}.*best model so far") as caught:
        learner.fit(queries.sample(tree, 10, random_state=0))
    assert caught[0].filename == __file__  # the line of the user
    assert learner.stopped_ == stopped
    assert learner.model_.check_model()


def test_comparison_with_a_true_graph():
    tree = two_levels()
    learner = fitted_given(tree)
    truth = DAG(list(learner.model_.edges()))
    truth.add_nodes_from(learner.model_.nodes())
    assert learner.score(true_graph=truth) == 0
    truth.remove_edge("T", "A")
    assert learner.score(true_graph=truth) == learner.score(true_graph=truth, metric=SHD()) == 1
    assert learner.score(true_graph=truth, metric="SHD") == 1
    frame = learner.sample(5)
    complete = learner.sample(50, latents=True, random_state=0)
    assert learner.score(complete, metric=StructureScore()) == StructureScore().evaluate(complete, learner.model_)
    with pytest.raises(ValueError, match="Missing columns in data"):
        learner.score(frame, metric=StructureScore())
    with pytest.raises(ValueError, match="No scoring method found with name: ours"):
        learner.score(true_graph=truth, metric="ours")
    with pytest.raises(ValueError, match=r"either X, .* or true_graph"):
        learner.score()
    with pytest.raises(ValueError, match=r"either X, .* or true_graph"):
        learner.score(frame, true_graph=truth)
    with pytest.raises(ValueError, match="no weights"):
        learner.score(true_graph=truth, sample_weight=np.ones(5))


def test_masked_arrays_keep_their_gaps():
    learner = LatentClass().fit(survey())
    cells = survey(20, seed=1)
    masked = np.ma.masked_array(cells.astype(object).fillna("hidden").to_numpy(), cells.isna())
    np.testing.assert_array_equal(learner.score_samples(masked), learner.score_samples(cells))


def test_a_second_fit_forgets_the_names_of_the_first():
    learner = LatentClass().fit(survey())
    assert learner.fit(survey().to_numpy(dtype=object)).n_features_in_ == 4
    assert not hasattr(learner, "feature_names_in_")


def test_a_failed_fit_leaves_the_last_one_alone():
    learner = LatentClass().fit(survey())
    tree = learner.tree_
    with pytest.raises(DataError):
        learner.fit(pd.DataFrame({"x": ["a"]}))
    assert learner.tree_ is tree
    assert learner.feature_names_in_.tolist() == list(survey().columns)


def test_a_column_may_be_called_like_the_hidden_variable():
    frame = survey().rename(columns={"smokes": "H", "owns": "H_1"})
    assert LatentClass().fit(frame).latents_ == ["H_2"]


def test_fresh_latent_names():
    assert fresh_latent_name(["x", "y"]) == "H"
    assert fresh_latent_name([0, ("H",), None, "H"]) == "H_1"
    assert fresh_latent_name(["H", "H_1", "H_3"]) == "H_2"
    assert fresh_latent_name(iter(["class"]), wanted="class") == "class_1"


def test_a_learner_without_a_way_to_learn_says_so():
    with pytest.raises(NotImplementedError, match="LatentTreeLearner does not say how it learns"):
        LatentTreeLearner().fit(survey())


def test_pgmpys_own_checks_are_not_run(monkeypatch):
    """They look at every cell in Python, refuse missing values and rename columns."""

    def refuse(*args, **kwargs):
        raise AssertionError("pgmpy's own check was called")

    monkeypatch.setattr(pgmpys_base(), "fit", refuse)
    monkeypatch.setattr(pgmpys_base(), "_check_fit_data", refuse)
    monkeypatch.setattr(pgmpys_base(), "score", refuse)
    assert np.isfinite(LatentClass().fit(survey()).score(survey()))


# On the way out


@pytest.mark.parametrize(
    "learner",
    [EAST(), BinG(), BinA(), HLTA(), SplitMerge(), RandomStarts(n_states=2), HiddenChowLiu(max_states=4)],
    ids=str,
)
def test_one_tree_is_built_after_the_search(monkeypatch, learner):
    frame = datasets.load_anes96().iloc[:300, [4, 1, 3, 0]]
    built = []
    build, learn = LatentTree.__init__, type(learner)._learn

    def counted(self, *args, **options):
        build(self, *args, **options)
        built.append(self)

    def learned(self, data):
        outcome = learn(self, data)
        built.clear()
        return outcome

    monkeypatch.setattr(LatentTree, "__init__", counted)
    monkeypatch.setattr(type(learner), "_learn", learned)
    learner.set_params(random_state=0, show_progress=False).fit(frame)
    assert len(built) == 1
    assert built[0] is learner.tree_
    assert learner.tree_.observed_names == tuple(frame.columns)


@pytest.mark.parametrize(
    "learner",
    [
        EAST(),
        BinG(simplify=True),
        BinA(),
        HLTA(),
        HiddenChowLiu(max_states=4),
        SplitMerge(scoring_method="aic"),
        SplitMerge(tuning=presets.KARCIAUSKAS_2005_CHAPTER_6),
        RandomStarts(prior=0.5),
        Baseline("chow_liu"),
    ],
    ids=str,
)
@pytest.mark.parametrize("weights", [None, np.arange(1, 201) % 3 + 1, 0.5 + np.arange(200) % 3])
def test_bic_is_that_of_the_model(learner, weights):
    frame = datasets.load_anes96().iloc[:200, :4].astype(object)
    frame.iloc[::7, 1] = None
    learner = clone(learner).set_params(**{"show_progress": False} if hasattr(learner, "show_progress") else {})
    learner.fit(frame, sample_weight=weights)
    assert learner.bic_ == pytest.approx(scores.bic(learner.tree_, frame, sample_weight=weights), rel=1e-12)
