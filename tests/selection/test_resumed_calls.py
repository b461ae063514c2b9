"""Functions that fit many models: killed at any moment and called again, they end where they would have ended."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    LatentTree,
    add_direct_effects,
    compare_classes,
    compare_groups,
    order_test,
    relate,
    sample,
)
from pgmpy_latent.exceptions import CheckpointError
from pgmpy_latent.learners.memo import Memo
from pgmpy_latent.runtime import checkpoint as files

ITEM = [[0.85, 0.15], [0.2, 0.8]]
ORDERED = [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]
MODEL = LatentTree(
    ["H", *"abcd", "o", "p"], [[0, 1], *[[0, 1]] * 4, [1, 2, 3], [1, 2, 3]], [-1, *[0] * 6], [True, *[False] * 6],
    [[[0.55, 0.45]], *[ITEM] * 4, ORDERED, ORDERED],
)  # fmt: skip
QUIET = {"show_progress": False, "random_state": 0}


def table() -> pd.DataFrame:
    """Return answers in which d copies c now and then, with a group and a number."""
    rows = sample(MODEL, 300, random_state=0)
    rows["d"] = rows["c"].where(rows.index % 3 == 0, rows["d"])
    rng = np.random.default_rng(1)
    return rows.assign(g=rng.choice(["k", "l"], len(rows)), z=rng.normal(size=len(rows)) + rows["a"])


TABLE = table()
ITEMS = list("abcd")


def groups(rows=TABLE, **options):
    found = compare_groups(rows[[*ITEMS, "g"]], "g", 2, n_starts=1, **QUIET, **options)
    return [found.table.drop(columns="seconds"), found.items]


def classes(rows=TABLE, **options):
    found = compare_classes(rows[ITEMS], [1, 2], n_starts=2, n_bootstrap=26, **QUIET, **options)
    return [found.drop(columns="seconds")]


def edges(rows=TABLE, **options):
    found = add_direct_effects(
        MODEL.with_tables(MODEL.tables), rows[[*ITEMS, "o", "p"]], n_starts=2, **QUIET, **options
    )
    return [found.history_.drop(columns="seconds")]


def order(rows=TABLE, **options):
    return [order_test(rows[[*ITEMS, "o", "p"]], 2, ["o", "p"], n_starts=2, **QUIET, **options)]


def covariate_in_one_step(rows=TABLE, **options):
    found = relate(MODEL, rows, ["z", "g"], steps=1, n_starts=3, **QUIET, **options)
    return [found.coefficients, found.tests]


def covariate_in_three_steps(rows=TABLE, **options):
    found = relate(MODEL, rows, ["z", "g"], **QUIET, **options)
    return [found.coefficients, found.tests]


def outcome(rows=TABLE, **options):
    found = relate(MODEL, rows, "z", "outcome", **QUIET, **options)
    return [found.means, found.tests]


CALLS = [groups, classes, edges, order, covariate_in_one_step, covariate_in_three_steps, outcome]


def assert_same(found, expected) -> None:
    for left, right in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(left, right, check_exact=True)


@pytest.mark.parametrize("call", CALLS)
def test_a_killed_call_ends_where_it_would_have_ended(call, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SHARE", 1e9)  # every result is written at once
    note, expected = Memo.note, call()
    n_notes = 0

    def counted(self, name, value):
        nonlocal n_notes
        n_notes += 1
        note(self, name, value)

    monkeypatch.setattr(Memo, "note", counted)
    assert_same(call(checkpoint=tmp_path / "whole.json"), expected)
    assert n_notes >= 2
    for last in range(1, n_notes, max(1, n_notes // 2)):
        path = tmp_path / f"{last}.json"

        def killed(self, name, value, last=last):
            note(self, name, value)
            if len(self.entries) == last:
                raise MemoryError("killed")

        monkeypatch.setattr(Memo, "note", killed)
        with pytest.raises(MemoryError, match="killed"):
            call(checkpoint=path)
        monkeypatch.setattr(Memo, "note", note)
        assert_same(call(checkpoint=path), expected)
        assert_same(call(checkpoint=path), expected)  # from a file that is finished


@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_computed_again(call, tmp_path, monkeypatch):
    path = tmp_path / "all.json"
    expected = call(checkpoint=path)
    monkeypatch.setattr(Memo, "note", lambda self, name, value: pytest.fail(f"{name} was computed again"))
    assert_same(call(checkpoint=path), expected)


@pytest.mark.parametrize("call", CALLS)
def test_a_file_of_another_table_is_refused(call, tmp_path):
    path = tmp_path / "all.json"
    call(checkpoint=path)
    with pytest.raises(CheckpointError, match="belongs to another search: another table"):
        call(TABLE.iloc[:-20], checkpoint=path)
    content = path.read_bytes()
    path.write_bytes(content[:-300] + bytes([content[-300] ^ 1]) + content[-299:])
    with pytest.raises(CheckpointError, match=r"is damaged|not JSON|unknown version|not the file"):
        call(checkpoint=path)


def test_a_file_of_another_call_is_refused(tmp_path):
    path = tmp_path / "groups.json"
    groups(checkpoint=path)
    with pytest.raises(CheckpointError, match="learner compare_groups, not order_test"):
        order(checkpoint=path)
    with pytest.raises(CheckpointError, match="items='score', not 'refit'"):
        groups(checkpoint=path, items="refit")


# Time limits --------------------------------------------------------------------------------------


def stopped(call, match, **options):
    """Return what a call gives when its time is up at once, or nearly so."""
    with pytest.warns(ConvergenceWarning, match=match):
        return call(time_limit=1e-6, **options)


def test_without_time_the_smallest_number_of_classes_is_there():
    (found,) = stopped(classes, "the time limit stopped the comparison at 1 class; the table holds 1")
    assert found.index.tolist() == [1]
    assert np.isfinite(found["log_likelihood"]).all()


def test_without_time_order_is_tested_for_all_columns_together(tmp_path):
    path = tmp_path / "order.json"
    (found,) = stopped(order, "the time limit stopped the tests of order; the table holds all orders", checkpoint=path)
    assert_same([found], [order()[0].loc[["all"]]])
    assert_same(order(checkpoint=path), order())  # the other rows are added


@pytest.mark.parametrize("call", [covariate_in_three_steps, outcome])
def test_without_time_estimates_have_no_errors(call):
    whole, (estimates, tests) = call(), stopped(call, "the time limit stopped relate; not finished: standard errors")
    column = "estimate" if "estimate" in estimates else "mean"
    np.testing.assert_array_equal(estimates[column], whole[0][column])
    assert estimates["standard_error"].isna().all()
    assert tests["p_value"].isna().all()


def test_without_time_one_step_returns_its_estimates_so_far(tmp_path):
    path = tmp_path / "one.json"
    estimates, tests = stopped(
        covariate_in_one_step, r"stopped relate; not finished: estimates \(those so far are returned\)", checkpoint=path
    )
    assert np.isfinite(estimates["estimate"]).all()
    assert estimates["standard_error"].isna().all()
    assert tests[["p_value", "lr_p_value"]].isna().all(axis=None)
    assert_same(covariate_in_one_step(checkpoint=path), covariate_in_one_step())


@pytest.mark.parametrize("call", CALLS)
def test_time_limits_and_checkpoints_are_checked(call, tmp_path):
    with pytest.raises(ValueError, match="time_limit is 0; give a number of seconds above 0"):
        call(time_limit=0)
    with pytest.raises(CheckpointError, match="is a folder, not a file"):
        call(checkpoint=tmp_path)
