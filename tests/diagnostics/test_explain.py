"""What is said about a tree agrees with enumeration, and every column has its place in the text."""

import contextlib
import io
import re
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from pgmpy_latent import Baseline, BinG, LatentTree, RandomStarts, sample
from pgmpy_latent.datasets import hlc_model
from pgmpy_latent.diagnostics import explain
from pgmpy_latent.diagnostics.explain import informative_columns, summary_text, tree_text, writable
from pgmpy_latent.operators import root_walk
from pgmpy_latent.testing import latent_trees
from tests.support import reference
from tests.support.samples import awkward_trees, latent_class, leafy_tree, small_tree, two_classes_of_columns


def information(tree, left, right):
    """The mutual information of two groups of nodes, from the joint distribution of all."""
    joint = reference.joint_array(tree)
    axes = [*left, *right]
    table = joint.sum(axis=tuple(at for at in range(tree.n_nodes) if at not in axes)).transpose(
        np.argsort(np.argsort(axes))
    )
    rows = int(np.prod(tree.cards[list(left)]))
    return reference.mutual_information_of_counts(table.reshape(rows, -1))


def exact_coverage(tree, latent, columns):
    """I(Y; the first columns) / I(Y; all columns), for every number of columns."""
    at = tree.index(latent)
    nodes = [tree.index(name) for name in columns]
    whole = information(tree, [at], np.flatnonzero(~tree.latent).tolist())
    return [information(tree, [at], nodes[: number + 1]) / whole for number in range(len(nodes))]


def component_columns(tree, latent):
    """The columns that a hidden variable is connected to."""
    apart = set(reference.branches(tree, latent).get(None, ()))
    return [name for at, name in enumerate(tree.names) if at not in apart and not tree.latent[at]]


def everything(tree, **options):
    return informative_columns(tree, tree.n_nodes, **{"n_rows": 200, **options})


@given(latent_trees(max_nodes=6, max_card=3, zeros=None))
def test_mutual_information_agrees_with_enumeration(tree):
    found = everything(tree)
    assert found.columns.tolist() == ["latent", "column", "mutual_information", "coverage"]
    assert list(dict.fromkeys(found["latent"])) == [name for name in tree.latent_names if component_columns(tree, name)]
    for latent in tree.latent_names:
        part = found[found["latent"] == latent]
        assert sorted(part["column"]) == sorted(component_columns(tree, latent))
        expected = [information(tree, [tree.index(latent)], [tree.index(column)]) for column in part["column"]]
        np.testing.assert_allclose(part["mutual_information"], expected, rtol=0, atol=1e-12)
        assert (np.diff(part["mutual_information"]) <= 1e-11).all()


@given(latent_trees(max_nodes=7, max_card=3, zeros=None), st.integers(1, 3))
def test_coverage_never_falls_and_ends_with_everything(tree, n):
    found = everything(tree)
    first = informative_columns(tree, n, n_rows=200)
    usual = informative_columns(tree, n_rows=200)
    for latent in tree.latent_names:
        part = found[found["latent"] == latent]
        assert part["coverage"].between(0, 1).all()
        assert part["coverage"].is_monotonic_increasing
        if len(part):
            assert part["coverage"].iloc[-1] == 1.0
        # shorter lists are the beginnings of the whole one
        for shorter in (first, usual):
            mine = shorter[shorter["latent"] == latent]
            pd.testing.assert_frame_equal(mine.reset_index(drop=True), part.head(len(mine)).reset_index(drop=True))
        assert (first["latent"] == latent).sum() == min(n, len(part))
        enough = usual.loc[usual["latent"] == latent, "coverage"]
        assert len(enough) >= min(2, len(part))
        assert len(part) == 0 or enough.iloc[-1] >= explain.ENOUGH
        assert (enough.iloc[1:-1] < explain.ENOUGH).all()


@pytest.mark.parametrize(
    "tree",
    [
        two_classes_of_columns(),
        root_walk(two_classes_of_columns(), "b2"),
        latent_class(3, [3, 2, 3, 2, 2]),
        latent_class(2, [2] * 5, seed=3, concentration=30.0),  # whose columns say very little
        leafy_tree(n_columns=6),
    ],
    ids=["two hidden", "rooted at a column", "one hidden", "weak", "three pairs"],
)
def test_coverage_agrees_with_enumeration(tree):
    found = everything(tree, n_rows=5000)
    for latent in tree.latent_names:
        part = found[found["latent"] == latent]
        np.testing.assert_allclose(part["coverage"], exact_coverage(tree, latent, part["column"]), rtol=0, atol=0.03)


@given(latent_trees(max_nodes=6, max_card=3, zeros=None))
def test_coverage_is_what_the_drawn_rows_say(tree):
    found = everything(tree, n_rows=10)
    if not tree.latent.any():
        return
    rows = explain._DrawnRows(tree, np.flatnonzero(tree.latent).tolist(), 10, 0)

    def said(at, nodes):
        seen = [{node: int(row[node]) for node in nodes} for row in rows.codes]
        beliefs = reference.beliefs(tree.parent, tree.tables, seen, at)
        prior = reference.beliefs(tree.parent, tree.tables, [{}], at)
        return sum(
            weight * sum(p * np.log(p / q) for p, q in zip(belief, prior[0], strict=True) if p > 0)
            for weight, belief in zip(rows.weights, beliefs, strict=True)
        )

    for latent in tree.latent_names:
        part, at = found[found["latent"] == latent], tree.index(latent)
        columns = [tree.index(column) for column in part["column"]]
        whole = said(at, columns)
        if whole > 1e-6:
            shares = [said(at, columns[: number + 1]) / whole for number in range(len(columns))]
            expected = np.clip(np.maximum.accumulate(shares), 0, 1)
            np.testing.assert_allclose(part["coverage"], expected, rtol=0, atol=1e-8)


def test_seeds():
    tree = two_classes_of_columns()
    pd.testing.assert_frame_equal(everything(tree), everything(tree))
    assert not everything(tree).equals(everything(tree, random_state=1))


def test_some_hidden_variables_only():
    tree = hlc_model(7, random_state=0)
    everything = informative_columns(tree)
    some = informative_columns(tree, latents=["H3", "H1"])
    expected = everything[everything["latent"].isin(["H1", "H3"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(some, expected)
    assert informative_columns(tree, latents=[]).empty
    with pytest.raises(ValueError, match="latents names 'D4', which is a column; give hidden variables"):
        informative_columns(tree, latents=["D4"])


def test_columns_of_other_components_are_left_out():
    tree = leafy_tree(n_columns=4, alone=2)
    assert set(informative_columns(tree, 10)["column"]) == {"x0", "x1", "x2", "x3"}


def test_a_column_that_repeats_another_adds_nothing():
    copy = np.eye(2)
    near, far = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.6, 0.4], [0.3, 0.7]])
    tree = LatentTree(
        ["H", "x", "copy of x", "z"], [[0, 1]] * 4, [-1, 0, 1, 0], [1, 0, 0, 0], [[[0.5, 0.5]], near, copy, far]
    )
    found = informative_columns(tree, 3)
    assert found["column"].tolist() == ["x", "copy of x", "z"]
    assert found["coverage"][0] == found["coverage"][1] < 1


def test_trees_without_hidden_variables_or_without_columns():
    chain = LatentTree(["x", "y"], ["ab", "ab"], [-1, 0], [False, False], [[[0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
    found = informative_columns(chain)
    assert found.shape == (0, 4)
    assert found["coverage"].dtype == np.float64
    assert summary_text(chain) == "3 parameters, 0 hidden variables, 2 columns\n\nx: y"
    hidden = LatentTree(["P", "Q"], ["ab", "ab"], [-1, 0], [True, True], chain.tables)
    assert informative_columns(hidden).empty
    assert summary_text(hidden).splitlines()[2:4] == ["P (2)", "└ Q (2)"]
    assert summary_text(hidden).endswith("P: the columns say nothing about it\nQ: the columns say nothing about it")


def test_a_hidden_variable_with_one_state():
    tree = LatentTree(
        ["H", "x", "y", "z"], [[0], "ab", "ab", "ab"], [-1, 0, 0, 0], [1, 0, 0, 0], [[[1.0]], *[[[0.3, 0.7]]] * 3]
    )
    found = informative_columns(tree)
    assert found["column"].tolist() == ["x", "y"]
    assert found["mutual_information"].tolist() == [0, 0]
    assert found["coverage"].tolist() == [1, 1]
    assert summary_text(tree).splitlines()[-1] == "H: the columns say nothing about it"


def test_names_that_are_no_strings():
    tree = two_classes_of_columns()
    names = [("A", 1), None, 0, 1.5, True, ("b", 2), "b, 2", ""]
    tree = LatentTree(names, tree.state_names, tree.parent, tree.latent, tree.tables)
    found = informative_columns(tree, 6)
    assert list(dict.fromkeys(found["latent"])) == [("A", 1), None]
    assert set(found["column"]) == {0, 1.5, True, ("b", 2), "b, 2", ""}
    assert tree_text(tree).splitlines() == ["('A', 1) (2): 0, 1.5, True", "└ None (2): ('b', 2), 'b, 2', ''"]


def test_errors():
    tree = small_tree()
    for n in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match=f"n is {n!r}; give a whole number that is at least 1"):
            informative_columns(tree, n)
        with pytest.raises(ValueError, match="n is"):
            summary_text(tree, n)
    with pytest.raises(ValueError, match="n_rows is 0"):
        informative_columns(tree, n_rows=0)
    for question in (informative_columns, tree_text, summary_text):
        with pytest.raises(TypeError, match="expected a LatentTree"):
            question("tree.json")


def test_wide_trees_take_seconds():
    rng = np.random.default_rng(0)
    hidden, columns = 30, 100
    parent = [-1, *((at - 1) // 3 for at in range(1, hidden)), *rng.integers(hidden, size=columns)]
    names = [*(f"H{at}" for at in range(hidden)), *(f"x{at}" for at in range(columns))]
    tables = [rng.dirichlet([0.5] * 3, size=3 if above >= 0 else 1) for above in parent]
    latent = [at < hidden for at in range(len(parent))]
    tree = LatentTree(names, [range(3)] * len(parent), parent, latent, tables)
    informative_columns(small_tree())  # compiles
    start = time.perf_counter()
    found = informative_columns(tree)
    assert time.perf_counter() - start < 20  # a second or so where nothing else runs
    assert found["latent"].nunique() == hidden


def test_a_thousand_columns_do_not_underflow():
    tree = latent_class(2, [2] * 1000, concentration=300.0)
    found = informative_columns(tree, 300, n_rows=50)
    assert found["coverage"].between(0, 1).all()
    assert found["coverage"].iloc[-1] > found["coverage"].iloc[0]


# Text ----------------------------------------------------------------------------------------------


@given(latent_trees(max_nodes=12))
def test_the_tree_names_every_node_once(tree):
    words = re.findall(r"[xH]\d+", tree_text(tree))
    assert sorted(words) == sorted(tree.names)


@given(latent_trees(max_nodes=12))
def test_the_tree_can_be_read_back(tree):
    parents, above = {}, []
    for line in tree_text(tree).splitlines():
        if line.startswith("independent: "):
            parents |= dict.fromkeys(line.removeprefix("independent: ").split(", "), None)
            continue
        depth = (len(line) - len(line.lstrip("├└│ "))) // 2
        node, _, leaves = line[2 * depth :].partition(": ")
        name, _, states = node.partition(" ")
        assert states == (f"({tree.cards[tree.index(name)]})" if tree.latent[tree.index(name)] else "")
        above[depth:] = [name]
        parents[name] = above[depth - 1] if depth else None
        parents |= dict.fromkeys(leaves.split(", ") if leaves else [], name)
    expected = {name: tree.names[at] if at >= 0 else None for name, at in zip(tree.names, tree.parent, strict=True)}
    assert parents == expected


def test_lines_of_a_tree():
    tree = LatentTree(
        ["P", "a", "b", "Q", "m", "c", "R", "d", "z"],
        [[0, 1, 2], *[[0, 1]] * 8],
        [-1, 0, 0, 0, 0, 4, 3, 3, -1],
        [1, 0, 0, 1, 0, 0, 1, 0, 0],
        [[[0.2, 0.3, 0.5]], *[[[0.5, 0.5]] * 3] * 4, *[[[0.5, 0.5]] * 2] * 3, [[0.5, 0.5]]],
    )
    expected = [
        "P (3): a, b",
        "├ Q (2): d",
        "│ └ R (2)",
        "└ m: c",
        "independent: z",
    ]
    assert tree_text(tree).splitlines() == expected


@pytest.mark.parametrize("inner", [False, True])
def test_long_lines_are_wrapped_between_names(inner):
    names = [f"question {at}" for at in range(40)]
    tables = [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * 42]
    parent = [-1, *[0] * 40, 0, 41] if inner else [-1, *[0] * 41, -1]
    if not inner:
        tables[-1] = [[0.5, 0.5]]
    tree = LatentTree(["H", *names, "G", "y"], [[0, 1]] * 43, parent, [1, *[0] * 40, int(inner), 0], tables)
    lines = tree_text(tree).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[1].startswith("│   question" if inner else "    question")
    assert lines[-1] == ("└ G (2): y" if inner else "independent: y")
    assert re.findall(r"question \d+", tree_text(tree)) == names


def test_a_deep_tree():
    n_nodes = 3000
    tables = [[[0.5, 0.5]], *[[[0.9, 0.1], [0.2, 0.8]]] * (n_nodes - 1)]
    tree = LatentTree(range(n_nodes), [[0, 1]] * n_nodes, range(-1, n_nodes - 1), [False] * n_nodes, tables)
    assert len(tree_text(tree).splitlines()) == n_nodes - 1


@pytest.mark.parametrize("size", [7, 12, 18])
def test_summary_of_the_models_of_the_thesis(size):
    tree = hlc_model(size, random_state=0)
    head, middle, tail = summary_text(tree, log_likelihood=-1234.5, bic=-2345.678).split("\n\n")
    assert head.startswith("log-likelihood -1,234.50, BIC -2,345.68 (other programs: 4,691.36), ")
    assert middle == tree_text(tree)
    lines = tail.splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == list(tree.latent_names)
    assert all(re.fullmatch(r"H\d+: (D\d+ \d\.\d\d(, )?){2,6} \(\d+%\)", line) for line in lines[1:])
    assert max(map(len, summary_text(tree).splitlines())) <= 100
    three = summary_text(tree, 3).splitlines()[-len(tree.latent_names) :]
    assert all(line.count("D") == 3 for line in three)


@given(awkward_trees(max_nodes=5))
def test_any_names_can_be_summarised(tree):
    text = summary_text(tree)
    assert text.split("\n\n")[1] == tree_text(tree)


def test_texts_can_be_written_in_any_encoding():
    text = tree_text(leafy_tree(n_columns=4))
    assert writable(text, "utf-8") == text == writable(text, None)
    assert writable(text, "ascii").splitlines() == ["T (2)", "| P0 (2): x0, x1", "` P1 (2): x2, x3"]
    assert writable("├ é", "ascii") == "| ?"


# Learners ------------------------------------------------------------------------------------------


def test_learners_print_their_summary(capsys):
    table = sample(hlc_model(7, random_state=0), 500, random_state=0)
    learner = BinG(random_state=0).fit(table)
    capsys.readouterr()
    assert learner.summary(2) is None
    expected = summary_text(learner.tree_, 2, log_likelihood=learner.log_likelihood_, bic=learner.bic_)
    assert capsys.readouterr().out == expected + "\n"
    pd.testing.assert_frame_equal(learner.informative_columns(2), informative_columns(learner.tree_, 2))
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="cp1252")) as stream:
        learner.summary()
        stream.flush()
        assert b"independent" in stream.buffer.getvalue() or b"`" in stream.buffer.getvalue()


def test_a_learner_without_hidden_variables(capsys):
    table = sample(two_classes_of_columns(), 200, random_state=0)
    learner = Baseline("chow_liu").fit(table)
    assert learner.informative_columns().empty
    capsys.readouterr()
    learner.summary()
    assert "0 hidden variables" in capsys.readouterr().out


def test_unfitted_learners_say_so():
    for question in (RandomStarts().summary, RandomStarts().informative_columns):
        with pytest.raises(NotFittedError, match="not fitted"):
            question()
