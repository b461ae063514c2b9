"""Order against no order: degrees of freedom, drawn tables, and compare_classes with ordered columns."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import TreeEM, compare_classes, order_test
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.log_linear import ordinal_item
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.scores import log_likelihood


def survey(n=500, seed=0, card=4, ordered=True, n_items=4):
    """Answers of two classes; their tables have one effect per class, or any."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.45
    columns = {}
    for at in range(n_items):
        if ordered:
            family = ordinal_item(2, card)
            table = family.tables(np.append(rng.normal(scale=0.5, size=card - 1), 1.3))
        else:
            table = rng.permuted(np.array([[0.6, 0.1, 0.2, 0.1], [0.1, 0.5, 0.1, 0.3]]), axis=1)
        bounds = np.cumsum(table, axis=1)[truth.astype(int)]
        columns[f"q{at}"] = np.minimum((rng.random(n)[:, None] > bounds).sum(axis=1), card - 1) + 1
    return pd.DataFrame(columns)


NAMES = ["q0", "q1", "q2", "q3"]


def test_degrees_of_freedom_and_their_statistic():
    table = survey()
    found = order_test(table, 2, NAMES, n_starts=6)
    assert found.index.tolist() == ["all", *NAMES]
    assert found["df"].tolist() == [8, 2, 2, 2, 2]
    assert (found["statistic"] >= 0).all()
    assert found.loc["all", "statistic"] >= found.loc[NAMES, "statistic"].max() - 1e-2
    np.testing.assert_allclose(found["statistic"], 2 * (found["without_order"] - found["log_likelihood"]), atol=1e-9)
    np.testing.assert_allclose(found["bic_gain"], found["df"] / 2 * np.log(500) - found["statistic"] / 2, atol=1e-6)


def test_order_is_kept_where_it_holds_and_refused_where_it_does_not():
    p_values = [order_test(survey(seed=seed), 2, NAMES[:1], n_starts=4).loc["all", "p"] for seed in range(12)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.25
    assert order_test(survey(ordered=False), 2, NAMES, n_starts=6).loc["all", "p"] < 1e-6


def test_ordered_categoricals_are_found_and_texts_need_an_order():
    table = survey(n=200).astype(str)
    with pytest.raises(DataError, match="make the column an ordered Categorical"):
        order_test(table, 2, ["q0"])
    with pytest.raises(DataError, match="three categories or more"):
        order_test(table, 2)
    table["q0"] = pd.Categorical(table["q0"], list("1234"), ordered=True)
    assert order_test(table, 2, n_starts=3)["df"].tolist() == [2]
    with pytest.raises(DataError, match="no column of the table"):
        order_test(table, 2, ["zzz"])
    with pytest.raises(DataError, match=r"ordinal is 'q0'; give a list of columns, as \['q0'\]"):
        order_test(table, 2, "q0")
    with pytest.raises(ValueError, match="n_classes"):
        order_test(table, 1)


def test_comparisons_count_the_parameters_of_ordered_columns():
    data = survey(n=300, seed=3)
    table, models = compare_classes(data, range(1, 5), ordinal=NAMES, n_starts=4, return_models=True)
    assert table["n_parameters"].tolist() == [(k - 1) + 4 * (3 + k - 1) for k in range(1, 5)]
    assert (table["log_likelihood"].diff().dropna() >= -1e-6).all()
    np.testing.assert_allclose(table["bic"], table["log_likelihood"] - table["n_parameters"] / 2 * np.log(300))
    assert table["effective_dimension"].isna().all()
    assert table["cheeseman_stutz"].isna().all()
    for size, model in models.items():
        assert log_likelihood(model, data) == pytest.approx(table.loc[size, "log_likelihood"], abs=1e-6)
        logits = np.diff(np.log(model.table("q1")), axis=1)
        np.testing.assert_allclose(np.ptp(logits - logits[0], axis=1), 0, atol=1e-7)
    network = TreeEM(latent_card=2, ordinal=NAMES, seed=0).fit(_star(), data)
    assert network.log_likelihood_ == pytest.approx(table.loc[2, "log_likelihood"], abs=2e-3)
    assert table.attrs["recommended"] == 2


def _star():
    from pgmpy.models import DiscreteBayesianNetwork

    return DiscreteBayesianNetwork([("H", name) for name in NAMES], latents={"H"})


def test_the_bootstrap_fits_ordered_columns_too():
    data = survey(n=150, seed=4)
    table = compare_classes(data, [1, 2], ordinal=NAMES, n_starts=3, n_bootstrap=19)
    assert table["blrt_p"].iloc[1] == 0.05
    assert ((table["g2_p"] > 0) & (table["g2_p"] <= 1)).all()


def test_splits_do_not_know_order():
    with pytest.raises(ValueError, match="leave method out"):
        compare_classes(survey(n=50), [2], ordinal=NAMES, method="split")
    with pytest.raises(ValueError, match="give a list of columns"):
        compare_classes(survey(n=50), [2], ordinal="q0")


def test_a_bar_shows_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr("pgmpy_latent.selection.order.PROGRESS_DELAY", 0.0)
    order_test(survey(n=200), 2, NAMES[:2], n_starts=1)
    assert "/4 [" in capsys.readouterr().err
    order_test(survey(n=200), 2, NAMES[:2], n_starts=1, show_progress=False)
    assert capsys.readouterr().err == ""


def test_ctrl_c_gives_no_half_finished_figures(monkeypatch):
    fit = em.fit
    monkeypatch.setattr(em, "fit", lambda *args, **options: replace(fit(*args, **options), interrupted=True))
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="interrupted"):
        order_test(survey(n=200), 2, NAMES[:2], n_starts=1)
