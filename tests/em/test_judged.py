"""EM that is judged as it goes: the best tables that the judge has seen come back, and nothing else of EM changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import encode, sample
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.judged import fit_judged
from pgmpy_latent.em.smoothing import pseudo_counts_of_rows
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.runtime.clock import Clock
from tests.support.samples import press_ctrl_c, two_classes_of_columns


@pytest.fixture(scope="module")
def engines():
    """Return engines of rows to learn from and of rows that judge, for a tree with other tables."""
    tree = two_classes_of_columns()
    rows = encode(sample(tree, 120, random_state=0)), encode(sample(tree, 60, random_state=1))
    return [engine_for(tree, data) for data in rows]


def starts(engine, n=1, seed=0):
    return np.stack([random_tables(engine.layout, np.random.default_rng([seed, at])) for at in range(n)])


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 12))
def test_the_best_tables_that_were_judged_come_back(engines, seed, n, interval):
    learn, held_out = engines
    seen = []

    def judge(tables):
        values = held_out.log_likelihood(tables)
        seen.extend(values.tolist())
        return values

    found = fit_judged(learn, starts(learn, n, seed), judge, prior=0.1, interval=interval, race_iter=3, max_iter=60)
    own = seen[n:] if n > 1 else seen  # the first verdicts choose a start
    assert found.verdict == max(own) == pytest.approx(float(held_out.log_likelihood(found.tables)))
    assert not found.interrupted


def test_a_judge_that_likes_the_rows_themselves_gets_the_maximum(engines):
    learn, _ = engines
    prior = pseudo_counts_of_rows(learn.layout, 1.0)
    found = fit_judged(learn, starts(learn), learn.log_likelihood, prior=prior, atol=1e-6, patience=10**6)
    wanted = fit(learn, starts(learn), prior=prior, atol=1e-6, polish=False)
    assert found.verdict >= wanted.log_likelihood - 1e-4


def test_em_ends_when_the_verdict_has_fallen_often_enough(engines):
    learn, _ = engines
    verdicts = iter([1.0, 3.0, 2.0, 2.5, 2.0, 9.0])
    found = fit_judged(
        learn, starts(learn), lambda tables: np.array([next(verdicts)]), interval=2, patience=3, atol=0.0
    )
    assert (found.verdict, next(verdicts)) == (3.0, 9.0)
    assert 2 <= found.n_iter <= 4


def test_tables_to_begin_with_that_nothing_beats_come_back_unless_they_are_not_judged(engines):
    learn, _ = engines
    fitted = fit(learn, starts(learn), polish=False).tables[None]
    prior = pseudo_counts_of_rows(learn.layout, 30.0)
    options = {"prior": prior, "interval": 5, "patience": 2, "atol": 0.0}
    kept = fit_judged(learn, fitted, learn.log_likelihood, **options)
    assert (kept.n_iter, kept.tables.tolist()) == (1, fitted[0].tolist())
    found = fit_judged(learn, fitted, learn.log_likelihood, judges_start=False, **options)
    assert found.n_iter > 5
    assert found.verdict < kept.verdict - 1
    objective = [float(learn.log_likelihood(one.tables[None])[0] + prior @ np.log(one.tables)) for one in (found, kept)]
    assert objective[0] > objective[1]


def test_the_judge_chooses_among_starts(engines):
    learn, held_out = engines
    many, verdicts = starts(learn, 6), []

    def judge(tables):
        verdicts.append(held_out.log_likelihood(tables))
        return verdicts[-1]

    found = fit_judged(learn, many, judge, race_iter=1, interval=1)
    chosen = int(np.argmax(verdicts[0]))
    assert len(verdicts[0]) == 6
    alone = fit_judged(learn, many[[chosen]], held_out.log_likelihood, interval=1)
    assert found.verdict == pytest.approx(alone.verdict, abs=1e-9)


def test_threads_change_nothing(engines):
    learn, held_out = engines
    results = [fit_judged(learn, starts(learn, 3), held_out.log_likelihood, n_jobs=n, race_iter=5) for n in (1, 3)]
    assert np.array_equal(results[0].tables, results[1].tables)


@pytest.mark.parametrize("moment", [1, 5, 40])
@pytest.mark.parametrize("n", [1, 3])
def test_ctrl_c_leaves_the_best_tables_so_far(engines, monkeypatch, moment, n):
    learn, held_out = engines
    press_ctrl_c(monkeypatch, moment)
    found = fit_judged(
        learn, starts(learn, n), held_out.log_likelihood, race_iter=10, atol=0.0, patience=99, clock=Clock()
    )
    assert found.interrupted
    assert found.verdict == pytest.approx(float(held_out.log_likelihood(found.tables)))


@given(st.floats(0.01, 5.0))
def test_pseudo_counts_add_up_to_the_same_in_every_row(engines, smoothing):
    layout = engines[0].layout
    assert np.allclose(layout.row_sums(pseudo_counts_of_rows(layout, smoothing)), smoothing)
