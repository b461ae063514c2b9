"""Learners on tables with numbers: what fitted models are asked, and what goes into files and comes back."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import (
    RandomStarts,
    SplitMerge,
    TreeEM,
    check_export,
    compare_classes,
    compare_groups,
    load,
    relate,
    residuals,
    save,
    scores,
)
from pgmpy_latent.exceptions import DataError, ManyStatesWarning
from pgmpy_latent.learners.forests.bin_g import BinG
from pgmpy_latent.operators.bins import in_bins
from tests.em.test_numbers import KINDS, mixed_frame
from tests.support import reference_numbers as slow


@pytest.fixture(scope="module")
def learner():
    return RandomStarts(n_states=2, n_starts=4, random_state=0).fit(mixed_frame(300), kinds=KINDS)


def test_posteriors_and_likelihoods_are_those_of_the_definition(learner):
    frame = mixed_frame(20, seed=1)
    cells = {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    assert np.allclose(learner.score_samples(frame), slow.log_likelihoods(learner.tree_, cells), rtol=1e-7)
    assert np.allclose(learner.predict_proba(frame), slow.posteriors(learner.tree_, cells, "H"), atol=1e-6)
    assert (learner.predict(frame)["H"].to_numpy() == learner.predict_proba(frame).to_numpy().argmax(axis=1)).all()


def test_a_few_new_rows_may_hold_a_few_whole_numbers():
    frame = mixed_frame(300, missing=0.0)
    whole = frame.assign(g=(10 * frame["g"]).round().astype(int), p=frame["p"].astype(int))
    learner = RandomStarts(n_states=2, n_starts=4, random_state=0).fit(whole, kinds=KINDS)
    shares, densities = learner.predict_proba(whole), learner.score_samples(whole)
    states, filled = learner.predict(whole), learner.impute(whole)
    for rows in (slice(1), slice(3)):
        few = whole.iloc[rows]
        assert np.allclose(learner.predict_proba(few), shares.iloc[rows])
        assert np.allclose(learner.score_samples(few), densities[rows])
        pd.testing.assert_frame_equal(learner.predict(few), states.iloc[rows])
        pd.testing.assert_frame_equal(learner.impute(few), filled.iloc[rows])
    constant = whole.assign(g=7)
    assert np.allclose(learner.score_samples(constant.head(2)), learner.score_samples(constant)[:2])
    far = whole.head(3).assign(g=[999, 1, 2])  # no code for a missing answer, as nothing was in the table of the fit
    assert learner.score_samples(far)[0] < learner.score_samples(far.assign(g=np.nan))[0]
    for value in ("tall", np.inf):
        with pytest.raises(DataError, match="column 'g' holds"):
            learner.predict_proba(whole.head(2).astype({"g": object}).assign(g=[1, value]))


def test_missing_numbers_become_their_expectations(learner):
    frame = mixed_frame(50, seed=2)
    filled = learner.impute(frame)
    assert filled.notna().all(axis=None)
    shares = learner.predict_proba(frame).to_numpy()
    for name in KINDS:
        means = learner.emissions_.loc[name, "mean"].to_numpy()
        gone = frame[name].isna()
        assert np.allclose(filled.loc[gone, name], shares[gone] @ means)
        assert (filled.loc[~gone, name] == frame.loc[~gone, name]).all()


def test_drawn_numbers_fill_gaps_and_known_cells_stay(learner):
    frame = mixed_frame(50, seed=3)
    filled = learner.impute(frame, "draw", random_state=0)
    assert filled.notna().all(axis=None)
    for name in KINDS:
        known = frame[name].notna()
        assert (filled.loc[known, name] == frame.loc[known, name]).all()
    assert (filled["p"] == np.round(filled["p"])).all()
    pd.testing.assert_frame_equal(filled, learner.impute(frame, "draw", random_state=0))


def test_samples_have_the_moments_of_the_model(learner):
    drawn = learner.sample(20_000, random_state=0, latents=True)
    profile = learner.profiles()
    for name in KINDS:
        for state in (0, 1):
            values = drawn.loc[drawn["H"] == state, name]
            mean, sd = (profile.loc[(name, what), ("H", state)] for what in ("mean", "sd"))
            assert values.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(len(values)))
            assert values.std() == pytest.approx(sd, rel=0.1)


def test_files_keep_numbers(learner, tmp_path):
    save(learner.tree_, tmp_path / "model.json")
    tree = load(tmp_path / "model.json")
    assert tree == learner.tree_
    assert tree.n_parameters == learner.n_parameters_


def test_summaries_tell_how_much_numbers_say(learner, capsys):
    learner.summary()
    assert "H (2): c, g, s, p, b" in capsys.readouterr().out
    listed = learner.informative_columns().set_index("column")["mutual_information"]
    assert 0 < listed.max() <= np.log(2)
    assert in_bins(learner.tree_).cards[learner.tree_.index("g")] == 64


def test_densities_are_drawn_with_their_shares(learner):
    from pgmpy_latent.plotting import plot_densities

    for name in ("g", "b"):
        ax = plot_densities(learner, name)
        whole, *parts = (line.get_xydata() for line in ax.lines)
        step = whole[1, 0] - whole[0, 0]
        sums = [part[:, 1].sum() * step for part in parts]
        assert sums == pytest.approx(learner.tree_.table("H")[0], abs=0.02)
        assert np.allclose(whole[:, 1], sum(part[:, 1] for part in parts))
    with pytest.raises(DataError, match="column 'c' has categories; plot_profiles draws these"):
        plot_densities(learner, "c")


def test_profiles_draw_means_and_deviations_of_numbers(learner):
    from pgmpy_latent.plotting import plot_profiles
    from pgmpy_latent.plotting.profiles import MARGIN

    ax = plot_profiles(learner)
    texts = [text.get_text() for text in ax.texts]
    assert sum("mean ± standard deviation" in text for text in texts) == len(KINDS)
    assert not {"rest", "mean", "square"} & set(texts)
    profile, places = learner.profiles()["H"], {}
    for name in KINDS:
        for state in (0, 1):
            mean, sd = profile.loc[(name, "mean"), state], profile.loc[(name, "sd"), state]
            digits = 1 if sd >= 1 else 2  # two digits of the standard deviation
            assert f"{mean:.{digits}f} ± {sd:.{digits}f}" in texts
    for bars in ax.containers:
        if hasattr(bars, "lines") and hasattr(bars, "has_xerr"):
            y = bars.lines[0].get_ydata()[0]
            places[round(y)] = bars.lines[0].get_xdata()
    assert len(places) == len(KINDS)
    rows = [text for text in texts if text in learner.kinds_]
    assert rows[0] == learner.informative_columns()["column"].iloc[0]
    for row, (left, right) in places.items():
        name = rows[row]
        means, deviations = learner.emissions_.loc[name, "mean"].to_numpy(), learner.emissions_.loc[name, "sd"]
        scale = (means + deviations).max() - (means - deviations).min()
        bar = ax.get_xlim()[1] / (2 + 0.06)  # two classes with a little space between them
        assert right - left - 1.06 * bar == pytest.approx((means[1] - means[0]) / scale * (1 - 2 * MARGIN) * bar)


def test_lines_of_numbers_lie_within_the_track_of_their_class(learner):
    from matplotlib.collections import LineCollection

    from pgmpy_latent.plotting import plot_profiles

    ax = plot_profiles(learner)
    lines = {}
    for found in ax.collections:
        if isinstance(found, LineCollection):
            for (left, y), (right, _) in found.get_segments():
                lines.setdefault(round(y, 6), []).append((left, right))
    assert len(lines) == len(KINDS)
    for pieces in lines.values():
        tracks, spreads = pieces[:2], pieces[2:]
        assert len(tracks) == len(spreads) == 2
        for (left, right), (low, high) in zip(tracks, spreads, strict=True):
            assert left < low < high < right


def test_notebooks_show_the_model(learner):
    assert "text/html" in learner._repr_mimebundle_()
    assert learner.tree_._repr_html_()


def test_exports_say_what_is_left_out(learner):
    assert check_export(learner.tree_, "bif").lost == ("numeric columns are left out: 'g', 's', 'p', ...",)


def test_what_is_about_categories_alone_says_so(learner):
    for what, ask in {
        "this function": lambda: residuals(learner, mixed_frame(20)),
        "the effective dimension": lambda: scores.effective_dimension(learner.tree_),
    }.items():
        with pytest.raises(DataError, match=f"^{what} is about categories alone, and 'g' is a number"):
            ask()
    with pytest.raises(DataError, match="tables of numbers do not follow new rows"):
        RandomStarts(n_states=2).fit(mixed_frame(50), kinds=KINDS).partial_fit(mixed_frame(20))


@pytest.mark.parametrize("kind", ["covariate", "outcome"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_classes_by_numbers_are_not_related_to_other_columns(learner, kind, missing):
    frame = mixed_frame(30, missing=missing).assign(z=range(30))
    for model in (learner, learner.tree_):
        with pytest.raises(DataError, match="relate is about categories alone, and 'g' is a number; fit a model"):
            relate(model, frame, "z", kind)


def test_posteriors_of_numbers_are_refused(learner):
    from pgmpy_latent import posterior

    with pytest.raises(DataError, match="posteriors are those of states, and 'g' is a number"):
        posterior(learner.tree_, mixed_frame(5), ["g"])


def test_learners_of_categories_refuse_numbers():
    with pytest.raises(DataError, match="BinG learns from categories alone, and 'g' is a number"):
        BinG().fit(mixed_frame(50), kinds=KINDS)


def test_comparisons_of_latent_profiles():
    frame = mixed_frame(200)[["g", "s", "p"]]
    kinds = {"g": "gaussian", "s": "gaussian", "p": "poisson"}
    table, models = compare_classes(frame, [1, 2, 3], kinds=kinds, n_starts=4, return_models=True)
    assert table["log_likelihood"].diff().dropna().min() >= -1e-6
    assert table["n_parameters"].tolist() == [5, 11, 17]
    assert table.attrs["recommended"] == 2
    shares = models[2].table("H")[0]
    assert table.loc[2, "smallest_share"] == pytest.approx(shares.min())
    cells = {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    posterior = slow.posteriors(models[2], cells, "H")
    entropy = -np.sum(posterior * np.log(np.maximum(posterior, 1e-300)))
    assert table.loc[2, "relative_entropy"] == pytest.approx(1 - entropy / (200 * np.log(2)), abs=1e-6)
    with pytest.raises(DataError, match="n_bootstrap draws tables of categories alone, and 'g' is a number"):
        compare_classes(frame, [1, 2], kinds=kinds, n_bootstrap=5)


def test_splits_find_the_classes():
    learner = SplitMerge(random_state=0).fit(mixed_frame(300), kinds=KINDS)
    assert learner.n_states_ == {"H": 2}


def test_checkpoints_know_numbers(tmp_path):
    frame, options = (
        mixed_frame(150),
        {"random_state": 0, "show_progress": False, "checkpoint": tmp_path / "search.json"},
    )
    once = SplitMerge(**options).fit(frame, kinds=KINDS)
    again = SplitMerge(**options).fit(frame, kinds=KINDS)
    assert once.tree_ == again.tree_


def test_rows_held_out_may_choose_the_number_of_states():
    learner = SplitMerge(scoring_method="heldout", random_state=0, show_progress=False)
    assert learner.fit(mixed_frame(300), kinds=KINDS).n_states_ == {"H": 2}


def frame_with_words(words, n_rows=60):
    """Return categories beside whole numbers from 0 to 29, the first few of which are words."""
    rng = np.random.default_rng(0)
    cells = pd.Series(rng.integers(30, size=n_rows), dtype=object)
    cells[: len(words)] = words
    return pd.DataFrame({"c": rng.choice(["no", "yes"], n_rows), "age": cells})


@pytest.mark.parametrize("words", [["refused"], ["refused", "old"]])
def test_text_among_numbers_is_refused_and_named(words):
    frame, verb = frame_with_words(words), "is no number" if len(words) == 1 else "are no numbers"
    model = DiscreteBayesianNetwork([("H", "c"), ("H", "age")], latents={"H"})
    remedies = f"'refused'.* which {verb}; say missing={{'age': .*kinds={{'age': 'categorical'}}"
    for fit in (
        lambda: RandomStarts(n_states=2).fit(frame, kinds="auto"),
        lambda: compare_classes(frame, [1, 2], kinds="auto"),
        lambda: TreeEM().fit(model, frame, kinds="auto"),
    ):
        with pytest.raises(DataError, match=f"column 'age' holds numbers and, among them, {remedies}"):
            fit()
    with pytest.raises(DataError, match=r"'refused', which is no number; say 'categorical' of it, or missing="):
        RandomStarts(n_states=2).fit(frame, kinds={"age": "gaussian"})
    as_category = RandomStarts(n_states=2, n_starts=1, random_state=0)
    kinds = {"age": "categorical"}
    assert as_category.fit(frame, kinds=kinds, missing={}, allow_many_states=["age"]).kinds_["age"] == "categorical"


def test_words_that_stand_for_missing_answers_may_be_among_numbers():
    frame = frame_with_words(["refused", "refused"])
    frame["age"] = frame["age"].map(lambda cell: cell if cell == "refused" else cell / 4)
    without = frame.assign(age=pd.to_numeric(frame["age"], errors="coerce"))
    learner = RandomStarts(n_states=2, random_state=0).fit(frame, kinds="auto", missing={"age": "refused"})
    plain = RandomStarts(n_states=2, random_state=0).fit(without, kinds="auto", missing={})
    assert learner.kinds_ == {"c": "categorical", "age": "gaussian"}
    assert learner.log_likelihood_ == plain.log_likelihood_
    assert np.allclose(learner.score_samples(frame.head(3)), plain.score_samples(without.head(3)))


def test_numbers_written_as_text_with_a_word_among_them_are_refused():
    frame = frame_with_words(["refused"]).astype({"age": str})
    with pytest.raises(DataError, match=r"numbers written as text and, among them, 'refused'.*pd.to_numeric.*'categ"):
        RandomStarts(n_states=2).fit(frame, kinds="auto")
    codes = frame.assign(age=[f"V{code}" if at % 3 else str(code) for at, code in enumerate(range(60))])
    learner = RandomStarts(n_states=2, n_starts=1, random_state=0)
    assert learner.fit(codes, kinds="auto", allow_many_states=True).kinds_["age"] == "categorical"


@pytest.mark.parametrize("value", [3, 3.0, 3.5])
def test_constant_numbers_are_refused_whatever_their_type(value):
    frame = mixed_frame(50).assign(k=value)
    auto = frame.drop(columns=["p", "b"])
    with pytest.raises(DataError, match=f"column 'k' holds nothing but {value:g}, .*; drop it"):
        RandomStarts(n_states=2).fit(auto, kinds="auto")
    with pytest.raises(DataError, match=f"column 'k' holds nothing but {value:g}, .*; drop it"):
        RandomStarts(n_states=2).fit(frame, kinds={**KINDS, "k": "gaussian"})
    learner = RandomStarts(n_states=2, n_starts=1, random_state=0).fit(frame, kinds={**KINDS, "k": "categorical"})
    assert learner.kinds_["k"] == "categorical"


def test_measurements_refused_as_categories_may_be_numbers():
    frame = mixed_frame(300)[["c", "g"]]
    words = "column 'g' has a category of its own in every row.* allow_many_states=.*; kinds='auto' takes numbers"
    for fit in (RandomStarts(n_states=2).fit, SplitMerge().fit, lambda table: compare_classes(table, [1, 2])):
        with pytest.raises(DataError, match=words):
            fit(frame)
    model = DiscreteBayesianNetwork([("H", "c"), ("H", "g")], latents={"H"})
    with pytest.warns(ManyStatesWarning, match=r"or drop them \(kinds='auto' takes numbers as they are"):
        TreeEM().fit(model, frame)


def test_kinds_are_no_remedy_where_nobody_could_state_them():
    frame = mixed_frame(300)[["c", "g"]]
    named = frame.assign(g=[f"row {at}" for at in range(300)])
    for fit in (
        lambda: BinG().fit(frame),
        lambda: compare_groups(frame, "c", 2),
        lambda: RandomStarts(n_states=2).fit(named),
        lambda: RandomStarts(n_states=2).fit(frame, kinds={"g": "categorical"}),
    ):
        with pytest.raises(DataError, match="allow_many_states") as found:
            fit()
        assert "kinds" not in str(found.value)


@pytest.mark.parametrize("options", [{"scoring_method": "cs"}, {"columns": "anywhere"}])
def test_settings_that_numbers_rule_out(options):
    with pytest.raises(DataError, match="for categories alone, and 'g' is a number"):
        SplitMerge(**options).fit(mixed_frame(50), kinds=KINDS)
