"""Other libraries at the same job: the quick size runs, and all that are there find the same maximum."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from benchmarks import peers, peers_numbers, runner
from pgmpy_latent import log_likelihood

QUICK = next(case for case in peers.METHODS if case.startswith("quick"))
NUMBERS = [case for case in (*peers_numbers.PROFILES, *peers_numbers.GAUSSIAN_TREES) if case.startswith("quick")]
EXTRA = {method: "bench" for method in (peers.STEPMIX, peers.PYAGRUM, peers.SEMOPY)}
EXTRA |= {method: "bench-torch" for method in (peers.POMEGRANATE, peers.SPFLOW)}


def skip_without(method):
    if method in peers.NEEDS:
        pytest.importorskip(peers.NEEDS[method], reason=f"{method} comes with the extra {EXTRA[method]}")


def found_by(case, method, capsys):
    peers.alone(case, method)
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize("method", [method for method in peers.METHODS[QUICK] if method != peers.OURS])
def test_latent_classes_are_the_same(method, capsys):
    skip_without(method)
    ours, theirs = (found_by(QUICK, some, capsys) for some in (peers.OURS, method))
    assert theirs["seconds"] > 0
    assert theirs["peak_mb"] > 0
    assert ours["log_likelihood"] == pytest.approx(theirs["log_likelihood"], abs=0.1)


@pytest.mark.parametrize(
    ("case", "method"), [(case, method) for case in NUMBERS for method in peers.METHODS[case] if method != peers.OURS]
)
def test_models_of_numbers_are_the_same(case, method, capsys):
    skip_without(method)
    ours, theirs = (found_by(case, some, capsys) for some in (peers.OURS, method))
    assert ours["log_likelihood"] == pytest.approx(theirs["log_likelihood"], abs=0.01)
    assert ours.get("least_variance", 0) == pytest.approx(theirs.get("least_variance", 0), rel=1e-3)


def test_the_likelihood_of_implied_covariances_is_that_of_the_rows():
    pytest.importorskip("semopy")
    edges, frame = peers_numbers.tree_of_numbers(NUMBERS[-1])
    model = peers_numbers.semopy_tree(edges, frame)
    rows = frame[model.names_lambda[0]]
    normal = multivariate_normal(rows.mean(), model.calc_sigma()[0])
    expected = normal.logpdf(rows).sum()
    assert peers_numbers.implied_log_likelihood(model, frame) == pytest.approx(expected, rel=1e-9)


def test_columns_may_not_be_measured_by_others():
    pytest.importorskip("semopy")
    with pytest.raises(ValueError, match=r"columns \['a'\] have children"):
        peers_numbers.semopy_tree([("H", "a"), ("a", "b")], pd.DataFrame({"a": [1.0], "b": [2.0]}))


def test_iterations_are_compared_where_the_clock_ends_fits(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run, case = runner.Runner("peers"), next(iter(peers.DENSITY))
    run.note(case, peers.OURS, 0, [1.0], {"n_iter": 100, "log_likelihood": -6.0})
    run.note(case, peers.SPFLOW, 0, [30.0], {"n_iter": 60, "log_likelihood": -6.1})
    assert "| 60 | 500 | 30 |" in peers.line(run, case, peers.SPFLOW)
    assert "| 50 | " in peers.line(run, case, peers.SPFLOW)


@pytest.mark.parametrize(
    ("method", "n_iterations"), [(peers.PGMPY, 1), (peers.PYAGRUM, 2)]
)  # pyAgrum wants two or more
def test_iterations_from_the_same_start_are_the_same(method, n_iterations, monkeypatch, capsys):
    skip_without(method)
    case = next(iter(peers.TREES))
    monkeypatch.setattr(peers, "MOST", n_iterations)
    theirs = found_by(case, method, capsys)["log_likelihood"]
    assert found_by(case, peers.OURS, capsys)["log_likelihood"] == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize("method", [peers.POMEGRANATE, peers.PYAGRUM])
def test_iterations_of_latent_classes_are_the_same(method):
    skip_without(method)
    frame = peers.rows_of(peers.LATENT_CLASS[QUICK])
    start = peers.star(frame, 2, 0)
    fit = {peers.POMEGRANATE: peers.with_pomegranate, peers.PYAGRUM: peers.with_pyagrum}[method]
    found, gave_up = fit(start, frame, 2)
    assert not gave_up
    for _ in range(2):
        start = step(start, frame)
    for table, expected in zip(found.tables, start.tables, strict=True):
        assert table == pytest.approx(expected, abs=1e-9)


def test_pyagrum_gives_up_below_the_maximum():
    skip_without(peers.PYAGRUM)
    frame = peers.rows_of(peers.LATENT_CLASS[QUICK])[["A", "B"]]
    start = peers.star(frame, 2, 13)
    with pytest.warns(UserWarning, match="completed prematurely due to a likelihood divergence"):
        found, gave_up = peers.with_pyagrum(start, frame, 1_000)
    assert gave_up
    for _ in range(40):
        start = step(start, frame)
    assert log_likelihood(found, frame) < log_likelihood(start, frame) - 0.5


def step(tree, frame):
    """One iteration of EM for a latent class model, written out."""
    states = [np.searchsorted(tree.state_names[i + 1], frame[column]) for i, column in enumerate(frame)]
    joint = np.prod([tree.tables[i + 1][:, codes] for i, codes in enumerate(states)], axis=0).T * tree.tables[0]
    weights = joint / joint.sum(axis=1, keepdims=True)
    tables = [weights.mean(axis=0, keepdims=True)]
    for codes, n in zip(states, tree.cards[1:], strict=True):
        counts = np.stack([weights[codes == state].sum(axis=0) for state in range(n)], axis=1)
        tables.append(counts / counts.sum(axis=1, keepdims=True))
    return tree.with_tables(tables)


@pytest.mark.filterwarnings("ignore")
def test_networks_of_pomegranate_cannot_hide_a_column():
    skip_without(peers.POMEGRANATE)
    import torch
    from pomegranate.bayesian_network import BayesianNetwork
    from pomegranate.distributions import Categorical, ConditionalCategorical

    rows = torch.tensor([[0, 0], [0, 1], [1, 1]])
    above, below = Categorical([[0.4, 0.6]]), ConditionalCategorical([[[0.4, 0.6], [0.7, 0.3]]])
    model = BayesianNetwork([above, below], edges=[(above, below)])
    model.fit(rows)
    seen = torch.tensor([[False, True]]).expand(3, 2)
    with pytest.raises(ValueError, match="expected a mask tensor"):
        model.fit(torch.masked.MaskedTensor(rows, seen))


def test_scikit_learn_has_no_latent_classes():
    import sklearn.mixture
    from sklearn.naive_bayes import CategoricalNB

    assert all(name.endswith("GaussianMixture") for name in sklearn.mixture.__all__)
    with pytest.raises(ValueError, match="requires y to be passed"):
        CategoricalNB().fit([[0, 1], [1, 0]], None)


def test_library_that_is_not_there_is_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    monkeypatch.setattr(runner, "PACKAGES", [])
    monkeypatch.setattr(peers, "NEEDS", dict.fromkeys(peers.NEEDS, "no_such_library"))
    monkeypatch.setattr(peers, "METHODS", {QUICK: tuple(peers.NEEDS)})
    peers.measure(runner.Runner("peers"), "quick")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{QUICK} | {method}: left out, no_such_library is not installed" for method in peers.NEEDS]


def test_process_of_its_own_sees_torch_only_if_it_needs_it(monkeypatch, tmp_path):
    codes = {}
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    monkeypatch.setattr(runner, "PACKAGES", [])
    monkeypatch.setattr(runner.Runner, "alone", lambda self, case, method, code: codes.update({method: code}))
    monkeypatch.setattr(peers, "find_spec", lambda name: name)
    peers.measure(runner.Runner("peers"), "quick")
    assert [method for method, code in codes.items() if "torch" not in code] == [peers.POMEGRANATE]


def test_page_shows_what_is_there_and_never_the_quick_size(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run, case = runner.Runner("peers"), next(iter(peers.LATENT_CLASS))
    for some in (case, QUICK):
        run.note(some, peers.OURS, 0, [2.0], {"log_likelihood": -10.0, "peak_mb": 100})
        run.note(some, peers.STEPMIX, 0, [6.0], {"log_likelihood": -10.0, "peak_mb": 200})
    text = peers.page(run)
    assert f"| {case} | {peers.STEPMIX} | -10.000 | 6 | 200 | 3 |" in text
    assert "| quick" not in text
    assert next(iter(peers.TREES)) not in text


def test_page_says_what_was_not_done_in_full(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    run = runner.Runner("peers")
    for (case, method), (part, words) in peers.LESS.items():
        run.note(case, peers.OURS, 0, [2.0], {"log_likelihood": -10.0, "peak_mb": 100})
        run.note(case, method, 0, [6.0], {"log_likelihood": -11.0, "peak_mb": 200, "gave_up": 1})
        likelihood = "stopped" if part.n_rows else "-11.000"
        assert f"| {case} | {method}, {words}, gave up at 1 | {likelihood} | 6 | 200 | more than 3 |" in peers.page(run)
