"""Classes in clusters of groups: published figures, a direct EM, and posteriors."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import runner
from pgmpy_latent import TreeEM, multilevel_classes
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.model.convert import to_pgmpy
from tests.support.reference import multilevel_em

needs_data = pytest.mark.skipif(not runner.DATA.exists(), reason="needs the papers' data sets")
SMOKING = ["ECIGT", "ECIGAR", "ESLT", "EELCIGT", "EHOOKAH"]


def schools(n=40, size=20, seed=0, gaps=0.1):
    rng = np.random.default_rng(seed)
    shares = np.array([[0.8, 0.2], [0.25, 0.75]])
    show = np.stack([rng.permutation([[0.8, 0.15, 0.05], [0.1, 0.2, 0.7]]) for _ in range(4)])
    rows = []
    for school in range(n):
        share = shares[rng.integers(2)]
        for _ in range(rng.integers(1, size + 1)):
            state = rng.choice(2, p=share)
            cells = [float(rng.choice(3, p=show[item, state])) for item in range(4)]
            rows.append([f"s{school}", *[np.nan if rng.random() < gaps else cell for cell in cells]])
    return pd.DataFrame(rows, columns=["school", "a", "b", "c", "d"])


def fitted(table, n_clusters=2, **options):
    return multilevel_classes(table, "school", 2, n_clusters, n_starts=8, show_progress=False, **options)


@needs_data
@pytest.mark.parametrize(("n_clusters", "value"), [(1, -2_086.86), (2, -1_955.49), (3, -1_938.73)])
def test_smoking_of_pupils_meets_the_published_figures(n_clusters, value):
    table = pd.read_csv(runner.DATA / "lca_nyts18.csv")
    found = multilevel_classes(table, "SCH_ID", 3, n_clusters, items=SMOKING, show_progress=False)
    assert round(found.log_likelihood_, 2) == value
    assert found.n_parameters_ == (n_clusters - 1) + 2 * n_clusters + 15
    assert found.bic_ == pytest.approx(found.log_likelihood_ - found.n_parameters_ / 2 * np.log(1734))
    assert found.bic_groups_ == pytest.approx(found.log_likelihood_ - found.n_parameters_ / 2 * np.log(45))


def parts(found):
    return found.tree_.tables[0][0], found.tree_.tables[1], list(found.tree_.tables[2:])


@pytest.mark.parametrize("seed", range(3))
def test_a_direct_em_has_the_same_likelihood_and_finds_nothing_better(seed):
    table = schools(seed=seed)
    found = fitted(table)
    codes = table[list("abcd")].fillna(-1).to_numpy(int)
    groups = pd.factorize(table["school"])[0]
    value, *after = multilevel_em(codes, groups, *parts(found), n_iter=50)
    assert value == pytest.approx(found.log_likelihood_, abs=1e-8)
    assert multilevel_em(codes, groups, *after, n_iter=0)[0] == pytest.approx(found.log_likelihood_, abs=1e-3)


def test_one_cluster_is_a_latent_class_model():
    table = schools(seed=4)
    found = fitted(table, 1)
    model = to_pgmpy(found.tree_)
    model.remove_node("cluster")
    plain = TreeEM(seed=0, n_init=8).fit(model, table)
    assert found.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=2e-3)
    assert found.n_parameters_ == plain.n_parameters_
    assert found.bic_ == pytest.approx(plain.bic_, abs=2e-3)


def test_posteriors_of_groups_and_rows_follow_from_bayes_rule():
    table = schools(n=12, size=5, seed=5)
    found = fitted(table)
    sizes, shares, items = parts(found)
    groups, rows = found.groups(), found.posterior()
    assert found.model_.check_model()
    for school, members in table.groupby("school"):
        codes = members[list("abcd")].fillna(-1).to_numpy(int)
        row = np.ones((len(codes), 2))
        for at, shown in enumerate(items):
            row *= np.where(codes[:, at, None] >= 0, shown.T[codes[:, at]], 1.0)
        joint = sizes * np.prod(row @ shares.T, axis=0)
        np.testing.assert_allclose(groups.loc[school], joint / joint.sum(), rtol=1e-9)
        by_cluster = shares[None] * row[:, None] / (row @ shares.T)[..., None]
        expected = np.einsum("c,rck->rk", joint / joint.sum(), by_cluster)
        np.testing.assert_allclose(rows.loc[members.index], expected, rtol=1e-9)


def test_weights_of_groups_count_groups_and_those_of_rows_are_refused():
    table = schools(n=15, size=6, seed=6)
    twice = pd.concat([table, table.assign(school=table["school"] + "again")])
    weighted = fitted(table.assign(w=2), sample_weight="w")
    assert weighted.log_likelihood_ == pytest.approx(fitted(twice).log_likelihood_, abs=2e-3)
    assert weighted.bic_ == pytest.approx(fitted(twice).bic_, abs=2e-3)
    with pytest.raises(DataError, match="sample_weight differs between the rows of"):
        fitted(table, sample_weight=np.arange(len(table)) + 1.0)


def test_ordinal_items_and_mistakes():
    table = schools(seed=7)
    assert fitted(table, ordinal=["a"]).n_parameters_ == fitted(table).n_parameters_ - 1
    for options, words in [({"ordinal": ["zzz"]}, "ordinal names"), ({"items": "a"}, "give a list of columns")]:
        with pytest.raises(DataError, match=words):
            fitted(table, **options)
    with pytest.raises(DataError, match="no column 'zzz'"):
        multilevel_classes(table, "zzz", 2, 2)
    with pytest.raises(ValueError, match="n_clusters"):
        fitted(table, 0)


def test_a_single_item_needs_a_list():
    table = pd.DataFrame({"school": list("aabb"), "smokes": [0, 1, 1, 1], "drinks": [0, 0, 1, 1]})
    with pytest.raises(DataError, match=r"items is 'smokes'; give a list of columns, as \['smokes'\]"):
        multilevel_classes(table, "school", 2, 2, items="smokes")
    with pytest.raises(DataError, match=r"ordinal is 'smokes'; give a list of columns, as \['smokes'\]"):
        multilevel_classes(table, "school", 2, 2, ordinal="smokes")


@pytest.mark.parametrize("n_blank", [1, 3])
@pytest.mark.parametrize("ordinal", [None, ["b"]])
def test_rows_without_answers_are_summed_out(n_blank, ordinal):
    table = schools(n=6, size=8, seed=8)
    blank = pd.DataFrame({"school": np.repeat(table["school"].unique(), n_blank)})
    found = fitted(pd.concat([blank, table], ignore_index=True), ordinal=ordinal)
    alone = fitted(table, ordinal=ordinal)
    assert found.log_likelihood_ == pytest.approx(alone.log_likelihood_, abs=2e-3)
    assert found.n_parameters_ == alone.n_parameters_
    shares = found.posterior().to_numpy()[: len(blank)]
    expected = found.groups().loc[blank["school"]].to_numpy() @ found.class_shares_.to_numpy()
    np.testing.assert_allclose(shares, expected)


def test_true_stands_for_all_items_with_a_stated_order():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"school": np.repeat(range(12), 5), "x": rng.integers(1, 5, 60), "y": rng.integers(0, 2, 60)})
    table["x"] = pd.Categorical(table["x"], [1, 2, 3, 4], ordered=True)
    options = {"n_starts": 1, "random_state": 0, "show_progress": False}
    by_name = multilevel_classes(table, "school", 2, 1, ordinal=["x"], **options)
    assert multilevel_classes(table, "school", 2, 1, ordinal=True, **options).n_parameters_ == by_name.n_parameters_
    assert multilevel_classes(table, "school", 2, 1, **options).n_parameters_ == by_name.n_parameters_ + 2
