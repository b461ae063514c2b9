"""Constructors that people can read, tunings and presets: what moved where, what is refused, and what papers say."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

import pgmpy_latent
from pgmpy_latent import (
    EAST,
    HLTA,
    AgglomerativeCardinality,
    Baseline,
    BinA,
    BinG,
    FindHidden,
    HiddenChowLiu,
    LatentClassificationModel,
    RandomStarts,
    SplitMerge,
    StructuralEM,
    datasets,
    presets,
)
from pgmpy_latent.exceptions import CheckpointError, UnseenCategoryError
from pgmpy_latent.learners import search
from pgmpy_latent.runtime.configured import setting
from pgmpy_latent.runtime.settings import number
from tests.support.samples import PRESETS

QUIET = {"random_state": 0, "show_progress": False}
LEARNERS = [
    SplitMerge, RandomStarts, EAST, BinG, BinA, HLTA, HiddenChowLiu, Baseline, AgglomerativeCardinality, StructuralEM,
    FindHidden, LatentClassificationModel,
]  # fmt: skip
MOST = {SplitMerge: 14, RandomStarts: 14, EAST: 15}
PAPERS = [name for name in vars(presets) if name[0].isupper() and "_20" in name]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.__name__)
every_paper = pytest.mark.parametrize("name", PAPERS)


@pytest.fixture
def table():
    return datasets.load_anes96().iloc[:, :4]


# Constructors ---------------------------------------------------------------------------------------------------------


@every_learner
def test_constructors_stay_short_and_every_keyword_is_described(learner):
    keywords = inspect.signature(learner).parameters
    assert len(keywords) <= MOST.get(learner, 16)
    described = inspect.getdoc(learner)
    assert "{shared}" not in described
    section = described.split("Parameters\n")[1].split("\nAttributes\n")[0]
    heads = [line.split(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    names = [name for head in heads for name in head.split(", ")]
    assert sorted(name for name in names if name in keywords) == sorted(keywords)  # each of them once


def test_no_word_for_a_thing_but_one():
    for learner in LEARNERS:
        words = {*inspect.signature(learner).parameters}
        words |= {one.name for one in fields(PRESETS.get(learner.__name__, presets.SearchTuning()))}
        assert not words & {"seed", "n_init", "latent_card", "atol", "unseen", "allow_many_states"}


@pytest.mark.parametrize(
    ("learner", "name", "preset"),
    [
        (SplitMerge, "THESIS", "KARCIAUSKAS_2005_CHAPTER_6"),
        (SplitMerge, "SPLITTING", "KARCIAUSKAS_2005_CHAPTER_4"),
        (RandomStarts, "THESIS", "KARCIAUSKAS_2005_STANDARD3"),
        (EAST, "PAPER", "CHEN_2008"),
        (BinG, "PAPER", "HARMELING_WILLIAMS_2011_BIN_G"),
        (BinA, "PAPER", "HARMELING_WILLIAMS_2011_BIN_A"),
    ],
)
def test_presets_that_were_attributes_of_learners_say_where_they_are_now(learner, name, preset):
    assert hasattr(presets, preset)
    for owner in (learner, learner()):
        with pytest.raises(AttributeError, match=rf"{learner.__name__} has no {name} any more; .*presets\.{preset}\b"):
            getattr(owner, name)


@pytest.mark.parametrize(
    ("learner", "keyword", "instead"),
    [
        (EAST, "n_steps", "give tuning=presets.EAST.replace(n_steps=...)"),
        (SplitMerge, "merge", "give tuning=presets.SPLIT_MERGE.replace(merge=...)"),
        (SplitMerge, "search_tol", "give tuning=presets.SPLIT_MERGE.replace(search_tol=...)"),
        (RandomStarts, "n_init", "give n_starts=..."),
        (FindHidden, "n_init", "give tuning=presets.FIND_HIDDEN.replace(n_starts=...)"),
        (LatentClassificationModel, "n_init", "give n_starts=..."),
        (LatentClassificationModel, "shrinkage", "give tuning=presets.LATENT_CLASSIFICATION.replace(shrinkage=...)"),
        (StructuralEM, "latent_card", "give n_states=..."),
        (BinG, "unseen", "give fit(..., unseen=...)"),
        (HLTA, "allow_many_states", "give fit(..., allow_many_states=...)"),
    ],
)
def test_a_keyword_that_moved_names_the_new_one(learner, keyword, instead):
    words = f"{learner.__name__} has no keyword {keyword!r} any more; {instead}"
    with pytest.raises(TypeError) as caught:
        learner(**{keyword: 1})
    assert str(caught.value) == words
    with pytest.raises(TypeError) as caught:
        learner().set_params(**{keyword: 1})
    assert str(caught.value) == words


def test_a_keyword_that_never_was_gets_pythons_own_words():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        EAST(colour="red")


def test_what_becomes_of_unknown_categories_is_said_to_fit(table):
    strange = table.head(2).assign(**{table.columns[0]: -7})
    learner = RandomStarts(n_states=2, n_starts=2, **QUIET).fit(table, unseen="error")
    with pytest.raises(UnseenCategoryError, match="-7"):
        learner.predict(strange)
    with pytest.raises(ValueError, match="unseen is 'drop'; give 'missing' or 'error'"):
        clone(learner).fit("no table at all", unseen="drop")


# Tunings --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("default", PRESETS.values(), ids=PRESETS)
def test_a_tuning_is_a_value(default):
    assert default == type(default)() == pickle.loads(pickle.dumps(default))
    assert hash(default) == hash(type(default)())
    assert default.changes() == {}
    first = fields(default)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(default, first, 1)
    other = default.replace(tol=0.5)
    assert (other.tol, other == default, other.replace(tol=default.tol) == default) == (0.5, False, True)
    assert eval(repr(other), vars(presets)) == other
    assert eval(other.as_code()) == other
    with pytest.raises(TypeError, match=f"{type(default).__name__} has no field 'colour'; it has {first}"):
        default.replace(colour="red")
    described = inspect.getdoc(type(default))
    assert all(one.name in described for one in fields(default))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_splits": 0}, "n_splits is 0; give a whole number of at least 1"),
        ({"n_splits": True}, "n_splits is True; give a whole number of at least 1"),
        ({"n_screened": 0.5}, "n_screened is 0.5; give a whole number of at least 1, or None"),
        ({"perturbation": 0}, "perturbation is 0; give a number above 0 and at most 1"),
        ({"narrowing": 1}, "narrowing is 1; give a number above 1, as 2"),
        ({"directions": ["data"]}, "directions is ['data']; give 'data', 'random', 'thesis' or 'clipped'"),
        ({"merge": 1}, "merge is 1; give True or False"),
        ({"tol": float("nan")}, "tol is nan; give a number of at least 0"),
    ],
)
def test_a_tuning_checks_itself(change, words):
    with pytest.raises(ValueError) as caught:
        presets.SPLIT_MERGE.replace(**change)
    assert str(caught.value) == words


def test_another_learners_tuning_is_refused():
    with pytest.raises(ValueError, match=r"tuning is EASTTuning\(\); give None, or as presets.BIN_G.replace"):
        BinG(tuning=presets.EAST).fit("no table at all")
    with pytest.raises(ValueError, match=r"tuning is 'quick'; give None, or as presets\.EAST"):
        EAST(tuning="quick").fit("no table at all")


def test_learners_with_a_tuning_can_be_cloned_and_set():
    learner = EAST(tuning=presets.CHEN_2008, max_states=3)
    again = clone(learner)
    assert again.tuning == presets.CHEN_2008
    assert again.get_params() == learner.get_params()
    assert again.set_params(tuning=presets.EAST).tuning is presets.EAST


def test_keywords_override_the_tuning(table):
    few = presets.RANDOM_STARTS.replace(n_starts=2, max_iter=3, search_iter=3)
    one, two = (
        RandomStarts(n_states=2, tuning=tuning, **keywords, **QUIET).fit(table)
        for tuning, keywords in ((few, {}), (few.replace(n_starts=9, max_iter=50), {"n_starts": 2, "max_iter": 3}))
    )
    assert one.log_likelihood_ == two.log_likelihood_
    with pytest.raises(ValueError, match="tol is -1; give a number of at least 0"):
        RandomStarts(tol=-1).fit("no table at all")


def test_a_checkpoint_knows_the_tuning_by_its_fields(table, tmp_path):
    path = tmp_path / "search.json"
    quick = presets.RANDOM_STARTS.replace(n_starts=2)
    found = RandomStarts(n_states=2, tuning=quick, checkpoint=path, **QUIET).fit(table)
    again = RandomStarts(n_states=2, n_starts=2, checkpoint=path, **QUIET).fit(table)  # says the same
    assert again.log_likelihood_ == found.log_likelihood_
    with pytest.raises(CheckpointError, match="n_starts=2, not 3"):
        RandomStarts(n_states=2, tuning=quick.replace(n_starts=3), checkpoint=path, **QUIET).fit(table)


# Presets --------------------------------------------------------------------------------------------------------------


@every_paper
def test_a_preset_says_what_it_follows_and_where_it_cannot(name):
    preset = getattr(presets, name)
    assert preset.__doc__ != type(preset).__doc__
    assert "Departures:" in preset.__doc__


@every_paper
def test_a_preset_learns(name, table):
    preset = getattr(presets, name)
    learner = next(getattr(pgmpy_latent, one) for one, own in PRESETS.items() if type(own) is type(preset))
    if learner is LatentClassificationModel:
        X, y = load_iris(return_X_y=True)
        found = learner(3, 1, n_starts=3, tuning=preset, **QUIET).fit(X, y)
        assert found.score(X, y) > 0.8
        return
    endless = getattr(preset, "patience", 1) is None or getattr(preset, "n_rounds", 1) is None
    changes = {one: 1 for one in ("patience", "n_rounds") if getattr(preset, one, 1) is None}
    keywords = {"n_states": 2} if "FIXED" in name else {}
    if endless:
        with pytest.raises(ValueError, match="goes on until the time is up; give a time_limit as well"):
            learner(tuning=preset, **keywords).fit(table)
    found = learner(tuning=preset.replace(**changes), **keywords, **QUIET).fit(table)
    assert found.model_.check_model()


def test_the_search_of_chapter_4_has_the_score_and_the_prior_of_chapter_4(table):
    preset = presets.KARCIAUSKAS_2005_CHAPTER_4.replace(patience=1)
    found = SplitMerge(tuning=preset, **QUIET).fit(table)
    expected = pgmpy_latent.scores.cheeseman_stutz(found.tree_, table)
    assert found.score_ == pytest.approx(expected, abs=1e-6)
    assert all((node > 0).all() for node in found.tree_.tables)


@pytest.mark.parametrize(("tuning", "expected"), [(None, {True}), (presets.CHEN_2008, {False})])
def test_the_paper_knows_no_acceleration(table, monkeypatch, tuning, expected):
    fit, seen = search.fit, set()

    def watched(*args, **options):
        seen.add(options["accelerate"])
        return fit(*args, **options)

    monkeypatch.setattr(search, "fit", watched)
    EAST(tuning=tuning, **QUIET).fit(table)
    assert seen == expected


def test_starts_from_groupings_can_be_left_out(table, monkeypatch):
    fit, starts = search.fit, []

    def watched(engine, flat, **options):
        starts.append(np.atleast_2d(flat).shape[0])
        return fit(engine, flat, **options)

    monkeypatch.setattr(search, "fit", watched)
    BinG(tuning=presets.HARMELING_WILLIAMS_2011_BIN_G, **QUIET).fit(table)
    assert set(starts) == {1, 10}  # final fits and bounds, and the ten restarts of the paper
    starts.clear()
    BinG(tuning=presets.HARMELING_WILLIAMS_2011_BIN_G.replace(grouped_starts=True), **QUIET).fit(table)
    assert max(starts) == 12


def test_every_number_of_latents_is_compared():
    X, y = load_iris(return_X_y=True)
    tuning = presets.LANGSETH_NIELSEN_2005.replace(n_starts=2, max_iter=5)
    found = LatentClassificationModel(n_components=1, cv=2, tuning=tuning, **QUIET).fit(X[:, :2], y)
    assert sorted(found.cv_results_["n_latents"]) == [1, 2, 3, 4, 5, 6]
    assert (found.cv_results_["n_trials"] == 1).all()


def test_edges_are_learned_without_offsets():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    tuning = presets.LANGSETH_NIELSEN_2005.replace(n_starts=3, tol=1e-6)
    found = LatentClassificationModel(3, 1, learn_edges=True, tuning=tuning, **QUIET).fit(X, y)
    assert (found.offsets_ == 0).all()
    assert 0.3 < found.edges_.mean() < 1
    assert (found.loadings_[~found.edges_] == 0).all()
    assert found.score(X, y) > 0.9


def test_without_offsets_a_shift_of_the_attributes_is_evidence_for_edges():
    """The score takes means of zero for known: what is far from zero must be explained by latents."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.column_stack([y + 0.1 * rng.normal(size=300), 3 + rng.normal(size=300), rng.normal(size=300)])
    edges = {}
    for offset in (False, True):
        tuning = presets.LANGSETH_NIELSEN_2005.replace(n_starts=3, offset=offset, tol=1e-6)
        found = LatentClassificationModel(1, 1, learn_edges=True, tuning=tuning, **QUIET).fit(X, y)
        edges[offset] = found.edges_[0, :, 0].tolist()
    assert edges[False][1]
    assert not edges[True][1]


def test_the_stopping_rule_of_the_paper_is_relative_and_no_restart_is_given_up(monkeypatch):
    X, y = load_iris(return_X_y=True)
    short, long = (
        LatentClassificationModel(2, 1, tol=tol, tuning=presets.LANGSETH_NIELSEN_2005.replace(n_starts=2), **QUIET)
        .fit(X, y)
        .n_iter_
        for tol in (0.5, 1e-6)
    )
    assert short < long
    from pgmpy_latent.classification import learn

    run_em, stages = learn.run_em, []
    monkeypatch.setattr(learn, "run_em", lambda *a, **o: stages.append(o.get("stages")) or run_em(*a, **o))
    for tuning in (None, presets.LANGSETH_NIELSEN_2005):
        LatentClassificationModel(2, 1, n_starts=20, tuning=tuning, **QUIET).fit(X, y)
    assert stages == [[(10, 10), (10, 5)], []]


@dataclass(frozen=True, repr=False)
class OwnTuning(presets.EASTTuning):
    """A tuning of another package, whose defaults are not those of EAST."""

    n_steps: int = setting(7, number(1, whole=True))


def test_tunings_without_a_preset_are_written_as_their_class():
    assert presets.SearchTuning().as_code() == "presets.SearchTuning()"
    assert eval(presets.SearchTuning(tol=0.1).as_code()) == presets.SearchTuning(tol=0.1)
    assert eval(OwnTuning(n_starts=3).as_code()) == OwnTuning(n_starts=3)
