"""Weights, strata and clusters of the classifier: columns that hold them, and folds that keep clusters together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, cross_val_score

from pgmpy_latent import LatentClassificationModel
from pgmpy_latent.exceptions import CheckpointError, DataError, WeightError, WeightKindWarning
from tests.tables.test_survey import kish

DESIGN = {"sample_weight": "w", "strata": "region", "cluster": "village"}
POSITIONS = {"sample_weight": 3, "strata": 4, "cluster": 5}


def flowers(n=160, seed=0):
    """Return measurements that two classes explain, survey weights, regions and villages; and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None] * [1.5, 0.0, -1.0], columns=["p", "q", "r"])
    frame["w"] = rng.lognormal(0, 0.7, n)
    frame["region"] = rng.integers(0, 2, n)
    frame["village"] = rng.integers(0, 12, n)
    return frame, y


def classifier(**settings):
    return LatentClassificationModel(**{"n_latents": 2, "n_components": 1, "n_starts": 2, "random_state": 0} | settings)


def frames_of(frame):
    """Yield the table as frames of all libraries at hand."""
    yield pytest.importorskip("polars").from_pandas(frame)
    yield pytest.importorskip("polars").from_pandas(frame).lazy()
    yield pytest.importorskip("pyarrow").Table.from_pandas(frame)
    yield pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)


def test_classifiers_name_columns():
    frame, y = flowers()
    attributes = frame[["p", "q", "r"]]
    wanted = classifier().fit(attributes, y, frame["w"], strata=frame["region"], cluster=frame["village"])
    assert wanted.design_ == dict.fromkeys(DESIGN)
    named = classifier().fit(frame, y, **DESIGN)
    assert named.design_ == DESIGN
    assert named.feature_names_in_.tolist() == ["p", "q", "r"]
    assert (named.weight_kind_, named.n_rows_) == ("sampling", 160)
    assert named.total_weight_ == pytest.approx(kish(frame["w"]))
    np.testing.assert_array_equal(named.loadings_, wanted.loadings_)
    # new rows may have the columns or not
    np.testing.assert_array_equal(named.predict_proba(frame), wanted.predict_proba(attributes))
    np.testing.assert_array_equal(named.predict_proba(attributes), wanted.predict_proba(attributes))
    assert named.transform(frame).shape == (160, 2)
    share = np.average(wanted.predict(attributes) == y, weights=frame["w"])
    assert named.score(frame, y, **DESIGN) == pytest.approx(share)
    assert named.score(frame, y, sample_weight="w", weight_kind="frequency") == pytest.approx(share)
    assert named.score(frame, y) == np.mean(wanted.predict(attributes) == y)


def test_classifiers_read_frames_of_any_kind():
    frame, y = flowers()
    wanted = classifier().fit(frame, y, **DESIGN)
    for table in frames_of(frame):
        found = classifier().fit(table, y, **DESIGN)
        assert found.feature_names_in_.tolist() == ["p", "q", "r"]
        np.testing.assert_array_equal(found.loadings_, wanted.loadings_)
        np.testing.assert_array_equal(found.predict_proba(table), wanted.predict_proba(frame))
        assert found.score(table, y, **DESIGN) == wanted.score(frame, y, **DESIGN)


def test_classifiers_read_gaps_and_words_of_other_frames():
    polars = pytest.importorskip("polars")
    frame, y = flowers()
    gaps = frame.assign(p=frame["p"].where(frame.index % 7 > 0), q=frame["q"].round().where(frame.index % 5 > 0))
    table = polars.from_pandas(gaps).with_columns(polars.col("q").cast(polars.Int64))
    np.testing.assert_array_equal(
        classifier().fit(table, y, **DESIGN).loadings_, classifier().fit(gaps, y, **DESIGN).loadings_
    )
    with pytest.raises(DataError, match=r"column 'q'.*does not hold numbers"):
        classifier().fit(table.with_columns(q=polars.lit("many")), y, **DESIGN)


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist])
def test_classifiers_name_columns_of_arrays_by_position(kind):
    frame, y = flowers()
    wanted = classifier().fit(frame, y, **DESIGN)
    table = kind(frame.to_numpy(float))
    found = classifier().fit(table, y, **POSITIONS)
    assert (found.n_features_in_, found.design_) == (3, POSITIONS)
    np.testing.assert_array_equal(found.loadings_, wanted.loadings_)
    np.testing.assert_array_equal(found.predict_proba(table), wanted.predict_proba(frame))
    np.testing.assert_array_equal(found.predict_proba(frame.to_numpy()[:, :3]), wanted.predict_proba(frame))
    assert found.score(table, y, **POSITIONS) == wanted.score(frame, y, **DESIGN)


def test_classifiers_name_columns_by_tuples():
    frame, y = flowers()
    table = frame.set_axis(pd.MultiIndex.from_tuples([("wave 1", name) for name in frame.columns]), axis=1)
    design = {what: ("wave 1", name) for what, name in DESIGN.items()}
    found = classifier().fit(table, y, **design)
    np.testing.assert_array_equal(found.loadings_, classifier().fit(frame, y, **DESIGN).loadings_)
    assert found.score(table, y, **design) == classifier().fit(frame, y, **DESIGN).score(frame, y, **DESIGN)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sample_weight": "weight"}, WeightError, "no column 'weight', which sample_weight names; it has 'p', 'q'"),
        ({"cluster": "house"}, DataError, "no column 'house', which cluster names"),
        ({"strata": [1, 2]}, DataError, r"strata has shape \(2,\); X has 160 rows"),
        ({"cluster": [None] * 160}, DataError, "cluster is missing in row 0"),
    ],
)
def test_what_classifiers_refuse(options, error, message):
    frame, y = flowers()
    with pytest.raises(error, match=message):
        classifier().fit(frame, y, **options)
    with pytest.raises(error, match=message):
        classifier().fit(frame, y).score(frame, y, **options)


def test_classifiers_doubt_counts_of_people_in_clusters():
    frame, y = flowers()
    large = frame.assign(w=np.ceil(frame["w"] * 50))
    with pytest.warns(WeightKindWarning, match='say weight_kind="sampling"'):
        classifier().fit(large, y, **DESIGN)
    assert classifier().fit(large, y, **DESIGN, weight_kind="sampling").weight_kind_ == "sampling"


def test_cross_validation_passes_names_on():
    frame, y = flowers()
    found = cross_val_score(classifier(), frame, y, cv=3, params=DESIGN)
    assert (found > 0.6).all()


class Watched(GroupKFold):
    """Folds that remember the groups that they were told."""

    told = None

    def split(self, X, y=None, groups=None):
        Watched.told = groups
        return super().split(X, y, groups)


def alike_in_villages(n_villages=12, size=8, seed=3):
    """Return rows that copy those of their village, and classes that are those of the village, by chance."""
    rng = np.random.default_rng(seed)
    village = np.repeat(np.arange(n_villages), size)
    places = rng.normal(size=(n_villages, 4)) * 10
    frame = pd.DataFrame(places[village] + rng.normal(size=(len(village), 4)) * 0.1, columns=list("pqrs"))
    return frame.assign(village=village), (rng.permutation(n_villages) % 2)[village]


def test_clusters_stay_in_one_fold():
    frame, y = alike_in_villages()
    settings = {"n_latents": None, "n_components": 12, "cv": 3, "show_progress": False, "time_limit": 60}
    apart = classifier(**settings).fit(frame[list("pqrs")], y).cv_results_["accuracy"].max()
    together = classifier(**settings).fit(frame, y, cluster="village").cv_results_["accuracy"].max()
    assert apart > 0.95  # a village that was seen gives its class away
    assert together < 0.8


def test_splitters_get_clusters_as_groups():
    frame, y = alike_in_villages(6, 6)
    strata = np.arange(len(y)) % 2
    settings = {"n_latents": None, "cv": Watched(3), "show_progress": False}
    classifier(**settings).fit(frame, y, cluster="village", strata=strata)
    assert len(np.unique(Watched.told)) == 12  # the same village in two strata is two clusters
    assert len(np.unique(np.stack([Watched.told, frame["village"], strata]), axis=1).T) == 12


def test_a_class_in_a_single_cluster_needs_other_folds():
    frame, y = flowers()
    village = np.where(y == 1, 0, frame["village"] + 1)
    table = frame[["p", "q", "r"]]
    search = classifier(n_latents=None, show_progress=False)
    with pytest.raises(DataError, match=r"all rows of class 1 are in one cluster.*give both, give folds of your own"):
        search.fit(table, y, cluster=village)
    classifier().fit(table, y, cluster=village)  # nothing is to be found


def test_checkpoints_know_clusters(tmp_path):
    frame, y = flowers()
    table, path = frame[["p", "q", "r"]], tmp_path / "sizes.ckpt"
    settings = {"n_latents": None, "cv": 2, "show_progress": False}
    first = classifier(checkpoint=path, **settings).fit(table, y, cluster=frame["village"])
    again = classifier(checkpoint=path, **settings).fit(table, y, cluster=frame["village"])
    np.testing.assert_array_equal(first.loadings_, again.loadings_)
    with pytest.raises(CheckpointError, match="belongs to another search: another table"):
        classifier(checkpoint=path, **settings).fit(table, y, cluster=frame["village"] % 5)
