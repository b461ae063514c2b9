"""What pgmpy's file formats lose, against pgmpy's own writers and readers."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyparsing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent.cli import main
from pgmpy_latent.exceptions import FileFormatError
from pgmpy_latent.model import exports
from pgmpy_latent.model.convert import build_network, from_pgmpy, load, nodes_of, save, to_pgmpy
from pgmpy_latent.model.exports import EXPORT_FORMATS, check_export, read_export
from pgmpy_latent.model.tree import LatentTree
from tests.support import samples
from tests.support.samples import assert_same_network, awkward_trees

AWKWARD = ["a,b", "<5", "a b", "é", "1", "a-b", "a.b", "true", "", "a|b", "a{b", "a}b", '"q"', "a;b", "a_b"]
AWKWARD += ["a(b", "a)b", "a//b", " a", "a\nb", "A", "table", "variable", "probability", "node", "e", "#"]


def comes_back(model, form, folder):
    """Write and read with pgmpy, and compare as a user would: the definition that check_export must meet."""
    network = to_pgmpy(model) if isinstance(model, LatentTree) else model.copy()
    path = str(folder / f"model.{form}")
    try:
        network.save(path, form)
        back = DiscreteBayesianNetwork.load(path, form)
        network = to_pgmpy(model) if isinstance(model, LatentTree) else model  # some writers sort its CPDs
        assert_same_network(back, network)
    except Exception:
        return False
    return True


def chain(name="a", state="u", latent=False, table=((0.25, 0.75),), other="zz"):
    tables = [table, [[0.5, 0.5], [0.125, 0.875]]]
    return LatentTree([name, other], [[state, "w"], ["p", "q"]], [-1, 0], [latent, False], tables)


@pytest.fixture(autouse=True, scope="module")
def quick_parsers():
    """Let pgmpy's BIF reader, which compiles a class of all letters at every call, compile it once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgmpy.readwrite.BIF.Word", functools.cache(pyparsing.Word))
        yield


@pytest.mark.parametrize("form", EXPORT_FORMATS)
@pytest.mark.parametrize("word", AWKWARD)
def test_awkward_names_and_states(word, form, tmp_path):
    for model in (chain(name=word), chain(state=word), chain(other=word)):
        sentences = check_export(model, form)
        assert (sentences == []) == comes_back(model, form, tmp_path), (model.names, sentences)


@pytest.mark.parametrize("form", EXPORT_FORMATS)
@pytest.mark.parametrize(
    "model",
    [
        chain(latent=True),
        chain(name=1),
        chain(name=1, other=2),
        chain(name=(1, "a")),
        chain(state=1),
        chain(state=True),
        chain(state=0.5),
        chain(state=("a", 1)),
        chain(name="zz", other="a"),
        chain(name="x", other="X"),
        chain(table=((1 / 3, 2 / 3),)),
        chain(table=((1e-5, 1 - 1e-5),)),
        chain(table=((1e-30, 1.0),)),
        chain(table=((0.0, 1.0),)),
        LatentTree(["x"], [["only"]], [-1], [False], [[[1.0]]]),
        LatentTree(["var_0", "var_1"], [[0, 1], [0, 1]], [-1, 0], [0, 0], [[[0.5, 0.5]], np.eye(2)]),
    ],
)
def test_other_losses(model, form, tmp_path):
    sentences = check_export(model, form)
    assert (sentences == []) == comes_back(model, form, tmp_path), sentences


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(tree=awkward_trees(max_nodes=4, max_card=3), form=st.sampled_from(["bif", "xmlbif", "net"]))
def test_random_trees_are_judged_as_they_fare(tree, form, tmp_path):
    assert (check_export(tree, form) == []) == comes_back(tree, form, tmp_path)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(
    names=st.lists(st.text("ab_ -.9", min_size=1, max_size=3), min_size=2, max_size=2, unique=True),
    states=st.lists(st.text("ab_ -.9", min_size=1, max_size=3), min_size=2, max_size=2, unique=True),
    form=st.sampled_from(["bif", "xmlbif", "net"]),
)
def test_nearly_plain_trees_are_judged_as_they_fare(names, states, form, tmp_path):
    tree = LatentTree(sorted(names), [states, states], [-1, 0], [0, 0], [[[0.5, 0.5]], np.eye(2)])
    assert (check_export(tree, form) == []) == comes_back(tree, form, tmp_path)


def test_the_sentences_name_the_loss():
    diamond = samples.diamond()
    assert check_export(samples.small_tree(), "BIF") == [
        "hidden nodes come back as observed: 'H'",
        "states change: 0 becomes '0' in 'H', 1 becomes '1' in 'H'",
    ]
    assert check_export(chain(name="zz", other="a"), "xmlbif") == ["nodes come back in another order: 'a', 'zz'"]
    assert check_export(chain(state="<5"), "xmlbif") == ["states change: '<5' becomes '_5' in 'a'"]
    assert check_export(chain(table=((1 / 3, 2 / 3),)), "net") == ["probabilities change: 'a' by up to 3e-09"]
    (failure,) = check_export(chain(state="a,b"), "bif")
    assert failure.startswith("pgmpy cannot read its own BIF file of this model: ValueError: cannot reshape")
    (failure,) = check_export(chain(name=1), "net")
    assert failure.startswith("pgmpy cannot write this model as NET: TypeError: '<' not supported between")
    renamed, states = check_export(chain(), "uai")
    assert renamed == "nodes are renamed: 'a' becomes 'var_0', 'zz' becomes 'var_1'"
    assert states.startswith("states change: 'u' becomes 0 in 'a', 'w' becomes 1 in 'a', 'p' becomes 0 in 'zz', ...")
    diamond.exposures = {"a"}
    lost = check_export(diamond, "uai")
    assert any("tables may be scrambled" in sentence and sentence.endswith(": 'y'") for sentence in lost)
    assert "roles are lost: 'exposures' of 'a'" in lost


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_checking_leaves_the_network_alone(form):
    network = samples.diamond()
    check_export(network, form)
    assert [cpd.variable for cpd in network.cpds] == ["h", "a", "b", "y"]
    assert_same_network(network, samples.diamond())


def test_unknown_formats_are_refused():
    with pytest.raises(ValueError, match="unknown format 'xdsl'; known are bif, xmlbif, net, uai"):
        check_export(samples.small_tree(), "xdsl")


def test_plain_networks_with_several_parents_pass(tmp_path):
    network = DiscreteBayesianNetwork([("a", "c"), ("b", "c")])
    ab = {"a": ["u", "v"], "b": ["p", "q", "r"]}
    network.cpds = [
        TabularCPD("a", 2, [[0.25], [0.75]], state_names={"a": ab["a"]}),
        TabularCPD("b", 3, [[0.25], [0.25], [0.5]], state_names={"b": ab["b"]}),
        TabularCPD("c", 2, np.array([[0, 1, 2, 3, 4, 8], [8, 7, 6, 5, 4, 0]]) / 8, ["b", "a"], [3, 2],
                   {"c": ["s", "t"], **ab}),
    ]  # fmt: skip
    network.add_nodes_from("abc")
    for form in ("bif", "xmlbif", "net"):
        assert (check_export(network, form) == []) == comes_back(network, form, tmp_path)


def forest_of(n_nodes, names=None, states=("u", "v"), latent=False, odd=None):
    """A larger tree of plain nodes, ``odd`` replacing the last leaf's name, states or table."""
    names = list(names or [f"x{i:04}" for i in range(n_nodes)])
    state_names = [list(states)] * n_nodes
    parent = (np.arange(n_nodes) - 1) // 3
    parent[0] = -1
    tables = [np.array([[0.25, 0.75]])] + [np.array([[0.5, 0.5], [0.125, 0.875]])] * (n_nodes - 1)
    for place, value in (odd or {}).items():
        {"names": names, "states": state_names, "tables": tables}[place][-1] = value
    return LatentTree(names, state_names, parent, [latent] + [False] * (n_nodes - 1), tables)


@pytest.mark.parametrize("form", ["bif", "net"])
@pytest.mark.parametrize(
    "model",
    [
        forest_of(30),
        forest_of(30, latent=True),
        forest_of(30, names=[f"x{i}" for i in range(30)]),
        forest_of(30, odd={"names": "z z"}),
        forest_of(30, odd={"names": "X0002"}),
        forest_of(30, odd={"names": 5}),
        forest_of(30, odd={"states": ["u", "v w"]}),
        forest_of(30, odd={"states": ["u", 1]}),
        forest_of(30, odd={"tables": np.array([[1 / 3, 2 / 3], [0.5, 0.5]])}),
    ],
)
def test_representatives_stand_for_a_larger_model(model, form, monkeypatch):
    known = exports.MODEL_FORMATS[form]
    monkeypatch.setitem(exports.MODEL_FORMATS, form, replace(known, n_nodes_checked=1000))
    whole = check_export(model, form)
    monkeypatch.setitem(exports.MODEL_FORMATS, form, replace(known, n_nodes_checked=5))
    part = check_export(model, form)
    assert [sentence.split(":")[0] for sentence in part] == [sentence.split(":")[0] for sentence in whole]


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_large_models_are_checked_too(form):
    sentences = check_export(forest_of(2000, latent=True), form)
    assert "hidden nodes come back as observed: 'x0000'" in sentences
    assert len(sentences) == (1 if form != "uai" else 3)


def test_networks_are_read_in_known_formats_only(tmp_path):
    tree = LatentTree(
        ["x", "y"], [["a", "b"]] * 2, [-1, 0], [False] * 2, [[[0.25, 0.75]], [[0.5, 0.5], [0.125, 0.875]]]
    )
    path = tmp_path / "model.any"
    to_pgmpy(tree).save(str(path), "xmlbif")
    assert from_pgmpy(read_export(path, "XMLBIF")) == tree
    with pytest.raises(ValueError, match="unknown format 'json'; known are bif, xmlbif, net, uai"):
        read_export(path, "json")
    with pytest.raises(FileFormatError, match=r"model\.any: pgmpy .* BIF"):
        read_export(path, "bif")
    with pytest.raises(FileNotFoundError):
        read_export(tmp_path / "nowhere.bif", "bif")


# A new format


def test_a_format_that_pgmpy_lacks_is_one_record(monkeypatch, tmp_path, capsys):
    """It writes JSON and forgets which nodes are hidden."""

    def write(model, path):
        network = model if isinstance(model, DiscreteBayesianNetwork) else to_pgmpy(model)
        save(build_network([replace(node, roles=frozenset()) for node in nodes_of(network)]), path)

    forgetful = exports.ModelFormat("forgetful", (".forgetful",), write, load, program="a test")
    monkeypatch.setitem(exports.MODEL_FORMATS, "forgetful", forgetful)
    monkeypatch.chdir(tmp_path)
    tree = forest_of(3, latent=True)
    save(tree, "model.json")
    assert [loss.partition(":")[0] for loss in check_export(tree, "forgetful")] == [
        "hidden nodes come back as observed"
    ]
    assert main(["convert", "model.json", "model.forgetful"]) != 0
    assert "FORGETFUL would lose something" in capsys.readouterr().err
    assert main(["convert", "model.json", "model.forgetful", "--force"]) == 0
    assert exports.read_model("model.forgetful").latents == set()
    Path("model.forgetful").write_text("{")
    with pytest.raises(FileFormatError, match="a test cannot read it as FORGETFUL"):
        exports.read_model("model.forgetful")


def test_the_help_of_convert_names_every_ending(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["convert", "--help"])
    words = capsys.readouterr().out.partition("Endings:")[2].replace(",", " ").replace(". ", " ").split()
    assert {ending for known in exports.MODEL_FORMATS.values() for ending in known.endings} <= set(words)
