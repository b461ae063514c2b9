"""Model files of other programs: read back by pgmpy, pyAgrum and us, or checked against the format's description."""

import ast
import functools
import json
import re
import runpy
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyparsing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import Baseline, GaussianTree, TreeMixture, sample
from pgmpy_latent.cli import main
from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError
from pgmpy_latent.model import exports
from pgmpy_latent.model.convert import from_pgmpy, nodes_of, save, to_pgmpy
from pgmpy_latent.model.exports import EXPORT_FORMATS, MODEL_FORMATS, check_export, names_path, read_model, write_model
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.testing import latent_trees
from tests.support import samples
from tests.support.netica import read_netica
from tests.support.samples import assert_same_network, assert_same_tree, awkward_trees

AWKWARD = ["a,b", "<5", "a b", "é", "1", "a-b", "a.b", "true", "", "a|b", "a{b", "a}b", '"q"', "a;b", "a_b"]
AWKWARD += [
    "a(b",
    "a)b",
    "a//b",
    " a",
    "a\nb",
    "A",
    "table",
    "variable",
    "probability",
    "node",
    "e",
    "#",
    "&lt;",
    "日本",
]
#: Formats that we read back, and those that pgmpy's own readers understand.
READ = [name for name in EXPORT_FORMATS if MODEL_FORMATS[name].read is not None]
BY_PGMPY = ["bif", "xmlbif", "net", "xdsl"]
#: How pyAgrum calls the formats, and whether it reads them in single precision.
BY_PYAGRUM = {"bif": ("bif", True), "xmlbif": ("bifxml", False), "net": ("net", True), "uai": ("uai", True),
              "xdsl": ("xdsl", False)}  # fmt: skip
#: Formats in which pyAgrum lets the first of several parents run fastest, against their descriptions.
AGAINST_THE_DESCRIPTION = {"uai", "xdsl"}


@pytest.fixture(autouse=True, scope="module")
def quick_parsers():
    """Let pgmpy's readers, which compile a class of all letters at every call, compile it once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgmpy.readwrite.BIF.Word", functools.cache(pyparsing.Word))
        yield


def chain(name="a", state="u", latent=False, table=((0.25, 0.75),), other="zz"):
    tables = [table, [[0.5, 0.5], [0.125, 0.875]]]
    return LatentTree([name, other], [[state, "w"], ["p", "q"]], [-1, 0], [latent, False], tables)


def several_parents(seed=0, eighths=False, most=3):
    """A network with a node of three parents of different sizes, listed against node order, or of fewer."""
    rng = np.random.default_rng(seed)
    names, sizes = ["a", "b", "c", "y", "z"], {"a": 2, "b": 3, "c": 2, "y": 3, "z": 2}
    parents = {"a": [], "b": ["a"], "c": [], "y": ["c", "b", "a"][:most], "z": ["y"]}
    network = DiscreteBayesianNetwork([(above, name) for name in names for above in parents[name]])
    states = {name: [f"{name}{at}" for at in range(size)] for name, size in sizes.items()}
    network.cpds = []
    for name in names:
        rows = int(np.prod([sizes[above] for above in parents[name]]))
        table = rng.multinomial(8, np.full(sizes[name], 1 / sizes[name]), rows) / 8
        table = table if eighths else rng.dirichlet(np.full(sizes[name], 0.5), rows)
        family = {member: states[member] for member in (name, *parents[name])}
        network.cpds.append(
            TabularCPD(name, sizes[name], table.T, parents[name], [sizes[above] for above in parents[name]], family)
        )
    return network


def posteriors(network, rows=6):
    """P(node | evidence on two others), for some evidence, with states by their place."""
    inference, rng, answers = VariableElimination(network), np.random.default_rng(1), []
    nodes = nodes_of(network)
    for _ in range(rows):
        asked, *known = rng.permutation(len(nodes))[:3].tolist()
        places = {at: int(rng.integers(len(nodes[at].states))) for at in known}
        evidence = {nodes[at].name: nodes[at].states[place] for at, place in places.items()}
        shares = inference.query([nodes[asked].name], evidence=evidence, show_progress=False)
        order = [shares.name_to_no[nodes[asked].name][state] for state in nodes[asked].states]
        answers.append((places, asked, shares.values[order]))
    return [answer for answer in answers if np.isfinite(answer[2]).all()]


# Read back by us ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize("word", AWKWARD)
def test_awkward_names_and_states_come_back(word, form, tmp_path):
    for at, model in enumerate((chain(name=word), chain(state=word), chain(other=word), chain(name=word, other="v"))):
        path = tmp_path / f"model{at}.{form}"
        write_model(model, path)
        assert_same_tree(from_pgmpy(read_model(path)), model)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(tree=awkward_trees(max_nodes=4, max_card=3), form=st.sampled_from(READ))
def test_random_trees_come_back_to_the_last_bit(tree, form, tmp_path):
    path = tmp_path / f"model.{form}"
    written = write_model(tree, path)
    assert_same_tree(from_pgmpy(read_model(path)), tree)
    check = check_export(tree, form)
    assert not check
    assert (names_path(path) in written) == bool(check.respelled)


@pytest.mark.parametrize("form", READ)
def test_networks_with_several_parents_and_roles_come_back(form, tmp_path):
    network = several_parents()
    network.latents = {"b"}
    network.with_role("exposures", {"a"}, inplace=True)
    network.graph["missing"] = {"y": (99, "refused")}
    path = tmp_path / f"model.{form}"
    write_model(network, path)
    back = read_model(path)
    assert_same_network(back, network)
    assert back.graph["missing"] == {"y": (99, "refused")}
    for place in range(5):
        assert nodes_of(back)[place].table.tobytes() == nodes_of(network)[place].table.tobytes()


# Read back by pgmpy and pyAgrum alone -------------------------------------------------------------


@pytest.mark.parametrize("form", BY_PGMPY)
@pytest.mark.parametrize("model", [several_parents(), samples.small_tree(), samples.diamond()], ids=str)
def test_pgmpy_reads_what_is_written(model, form, tmp_path):
    path = tmp_path / f"model.{form}"
    write_model(model, path)
    network = to_pgmpy(model) if isinstance(model, LatentTree) else model
    back = DiscreteBayesianNetwork.load(str(path), form)
    written = MODEL_FORMATS[form].spelled(nodes_of(network))
    assert {node.name for node in written} == set(back.nodes())
    inference = VariableElimination(back)
    for places, asked, shares in posteriors(network):
        evidence = {written[at].name: written[at].states[place] for at, place in places.items()}
        found = inference.query([written[asked].name], evidence=evidence, show_progress=False)
        order = [found.name_to_no[written[asked].name][state] for state in written[asked].states]
        np.testing.assert_allclose(found.values[order], shares, rtol=0, atol=1e-9)


def pyagrum_posteriors(model, form, folder, atol):
    pyagrum = pytest.importorskip("pyagrum", reason="pyAgrum is not installed: pip install pyagrum==3.3.1")
    path = folder / f"model.{form}"
    write_model(model, path)
    ending, _ = BY_PYAGRUM[form]
    alias = path.with_suffix(f".{ending}")
    alias.write_bytes(path.read_bytes())
    network = pyagrum.loadBN(str(alias))
    original = to_pgmpy(model) if isinstance(model, LatentTree) else model
    written = MODEL_FORMATS[form].spelled(nodes_of(original))
    names = [str(at) if form == "uai" else node.name for at, node in enumerate(written)]
    assert set(names) == set(network.names())
    for places, asked, shares in posteriors(original):
        inference = pyagrum.LazyPropagation(network)
        inference.setEvidence({names[at]: place for at, place in places.items()})
        inference.makeInference()
        labels = network.variable(names[asked]).labels()
        if form != "uai":
            assert labels == written[asked].states
        found = inference.posterior(names[asked]).toarray()
        np.testing.assert_allclose(found, shares, rtol=0, atol=atol)


@pytest.mark.parametrize("form", BY_PYAGRUM)
def test_pyagrum_reads_what_is_written(form, tmp_path):
    """The probabilities of the first two are eighths, which single precision holds exactly."""
    most = 1 if form in AGAINST_THE_DESCRIPTION else 3
    pyagrum_posteriors(several_parents(eighths=True, most=most), form, tmp_path, 1e-9)
    pyagrum_posteriors(chain(latent=True, state=0), form, tmp_path, 1e-9)
    pyagrum_posteriors(several_parents(most=most), form, tmp_path, 1e-6 if BY_PYAGRUM[form][1] else 1e-9)


@pytest.mark.parametrize("form", BY_PYAGRUM)
def test_pyagrum_reads_awkward_names(form, tmp_path):
    wide = LatentTree(
        AWKWARD, [[f"{word}!", word] for word in AWKWARD], [-1] + [0] * (len(AWKWARD) - 1), [False] * len(AWKWARD),
        [[[0.25, 0.75]], *[[[0.5, 0.5], [0.125, 0.875]]] * (len(AWKWARD) - 1)],
    )  # fmt: skip
    pyagrum_posteriors(wide, form, tmp_path, 1e-9)


# Checked against the description of the format -----------------------------------------------------


def test_netica(tmp_path):
    """Netica's identifiers have a letter first and at most 30 characters; the last parent runs fastest."""
    path = tmp_path / "model.dne"
    network = several_parents()
    write_model(network, path)
    text = path.read_text()
    assert text.startswith("// ~->[DNET-1]->~\n")
    assert text.count("{") == text.count("}")
    assert "parents = (c, b, a);" in text
    block = text.partition("node y {")[2].partition("};")[0]
    nested = np.array(ast.literal_eval(block.partition("probs = ")[2].strip().rstrip(";")))
    assert nested.shape == (2, 3, 2, 3)
    assert (nested.reshape(-1, 3) == nodes_of(network)[3].table).all()
    assert text.index("node a {") < text.index("node b {") < text.index("node y {")
    long = "x" * 40
    write_model(chain(name=long, other=f"{long}y", state="node"), path)
    names = re.findall(r"node (\w+) \{|states = \((\w+), (\w+)\)", path.read_text())
    words = [word for match in names for word in match if word]
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,29}", word) for word in words)
    assert len(set(words)) == len(words)
    assert "node" not in words


def network_of(family):
    """A pgmpy network of (states, parents, table with a row per combination of parents' states) by node."""
    network = DiscreteBayesianNetwork([(above, name) for name, (_, parents, _) in family.items() for above in parents])
    network.add_nodes_from(family)
    sizes = {name: len(states) for name, (states, _, _) in family.items()}
    network.cpds = [
        TabularCPD(
            name, sizes[name], np.transpose(table), list(parents), [sizes[above] for above in parents],
            {member: list(family[member][0]) for member in (name, *parents)},
        )
        for name, (_, parents, table) in family.items()
    ]  # fmt: skip
    return network


NETICAS_OWN = """// ~->[DNET-1]->~
// File created by somebody using Netica 4.16
bnet camps {
AutoCompile = TRUE;
visual V1 { defdispform = BELIEFBARS; drawingbounds = (1080, 720); };
node camp {
\tkind = NATURE;
\tdiscrete = TRUE;
\tchance = CHANCE;
\tstates = (left, right);
\tparents = ();
\tprobs =
\t\t// left         right
\t\t  (0.25,        0.75);
\ttitle = "Camp; of \\"all\\"";
\tvisual V1 { center = (90, 60); height = 1; };
\t};
node vote {
\tkind = NATURE;
\tdiscrete = TRUE;
\tstates = (no, some, yes);
\tparents = (camp);
\tprobs = /* flat, as old versions write */ (@imposs, 0.5, 0.5, 1.25e-1, 0.375, .5);
\t};
};
"""


def test_the_reader_of_netica_reads_what_netica_writes():
    nodes = read_netica(NETICAS_OWN)
    assert nodes["camp"].states == ("left", "right")
    assert nodes["vote"].parents == ("camp",)
    assert nodes["vote"].table.tolist() == [[0, 0.5, 0.5], [0.125, 0.375, 0.5]]
    for good, bad, problem in [
        ("[DNET-1]", "[DNET-2]", "the first line"),
        ("kind = NATURE", "kind = UTILITY", "not a discrete node"),
        ("parents = ()", "parents = (vote)", "stands before"),
        ("left, right)", f"left, {'r' * 31})", "longer than 30"),
        ("states = (no,", "states = (1no,", "could not convert|cannot reshape|required"),
        ("chance = CHANCE;", "chance = CHANCE", "semicolon"),
    ]:
        with pytest.raises((ValueError, TypeError), match=problem):
            read_netica(NETICAS_OWN.replace(good, bad))


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(tree=awkward_trees(max_nodes=4, max_card=3))
def test_netica_files_are_as_the_description_says(tree, tmp_path):
    path = tmp_path / "model.dne"
    write_model(tree, path)
    nodes = read_netica(path.read_text(encoding="ascii"))
    beside = json.loads(names_path(path).read_text(encoding="utf-8"))["nodes"] if names_path(path).exists() else None
    assert len(nodes) == len(tree.names)
    assert all(len(set(node.states)) == len(node.states) for node in nodes.values())
    for node in nodes.values():
        np.testing.assert_allclose(node.table.sum(axis=1), 1, rtol=0, atol=1e-12)
    tables = sorted(np.asarray(table).ravel().tolist() for table in tree.tables)
    assert sorted(node.table.ravel().tolist() for node in nodes.values()) == tables
    assert beside is None or len(beside) == len(nodes)


@pytest.mark.parametrize("seed", range(4))
def test_netica_and_bnlearn_give_the_same_posteriors(seed, tmp_path):
    network = several_parents(seed)
    write_model(network, tmp_path / "model.dne")
    write_model(network, tmp_path / "model.r")
    for read, name in ((read_netica, "model.dne"), (read_bnlearn, "model.r")):
        found = network_of(read((tmp_path / name).read_text()))
        order = [node.name for node in nodes_of(network)]
        again = DiscreteBayesianNetwork()
        again.add_nodes_from(order)
        again.add_edges_from(found.edges())
        again.cpds = [found.get_cpds(node) for node in order]
        for mine, theirs in zip(posteriors(again), posteriors(network), strict=True):
            assert mine[:2] == theirs[:2]
            np.testing.assert_allclose(mine[2], theirs[2], rtol=0, atol=1e-9)


R_TABLE = re.compile(
    r'^  "((?:\\.|[^"\\])*)" = array\(c\((.*)\), dim = c\((.*?)\), dimnames = list\((.*)\)\),?$', re.MULTILINE
)


def r_tables(code):
    """The arrays of bnlearn's code, as R fills them: node -> (names of dimensions and their labels, array)."""
    tables = {}
    for name, values, dims, names in R_TABLE.findall(code):
        shape = [int(size) for size in dims.split(", ")]
        array = np.array([float(value) for value in values.split(", ")]).reshape(shape, order="F")
        labels = re.findall(r'"(\w+)" = c\((.*?)\)', names)
        tables[name] = ({dim: re.findall(r'"(.*?)"', words) for dim, words in labels}, array)
    return tables


def read_bnlearn(code):
    """Nodes of bnlearn's code, checked as ``custom.fit`` checks what it is given: (states, parents, table) by node.

    A table is an array whose first dimension is the node; the names of the others are those of its parents, in the
    graph's arcs, and labels of a variable are the same wherever it occurs. A matrix with one row counts as a vector.
    """
    arcs = re.search(r"arcs\(network\) <- matrix\(c\((.*?)\), ncol = 2, byrow = TRUE", code)
    words = re.findall(r'"(.*?)"', arcs.group(1)) if arcs else []
    edges = set(zip(words[::2], words[1::2], strict=True))
    tables, found = r_tables(code), {}
    assert re.findall(r'"(.*?)"', re.search(r"empty.graph\(c\((.*?)\)\)", code).group(1)) == list(tables)
    for name, (labels, array) in tables.items():
        first, *parents = labels
        assert first == name
        assert {(above, name) for above in parents} == {edge for edge in edges if edge[1] == name}
        assert list(array.shape) == [len(states) for states in labels.values()]
        assert array.ndim != 2 or array.shape[0] > 1, "bnlearn takes a matrix of one row for a vector"
        assert all(labels[above] == tables[above][0][above] for above in parents)
        np.testing.assert_allclose(array.sum(axis=0), 1, rtol=0, atol=1e-12)
        found[name] = (labels[name], parents, np.moveaxis(array, 0, -1).reshape(-1, array.shape[0]))
    return found


def test_a_node_with_one_state_has_no_parents_in_bnlearn(tmp_path):
    tree = LatentTree(["x", "one"], [["u", "v"], ["only"]], [-1, 0], [False, False], [[[0.5, 0.5]], [[1.0], [1.0]]])
    write_model(tree, tmp_path / "model.r")
    assert read_bnlearn((tmp_path / "model.r").read_text())["one"][1] == []


def test_bnlearn(tmp_path):
    """In R's arrays the first dimension, here the node itself, runs fastest, then the first parent."""
    path = tmp_path / "model.R"
    network = several_parents()
    write_model(network, path)
    tables = r_tables(path.read_text())
    for cpd in network.cpds:
        dims, array = tables[cpd.variable]
        assert list(dims) == cpd.variables
        assert (array == cpd.values).all()
    code = path.read_text()
    assert 'arcs(network) <- matrix(c("a", "b", "c", "y", "b", "y", "a", "y", "y", "z"), ncol = 2, byrow = TRUE' in code
    write_model(chain(name='a"\\b'), path)
    assert '"a\\"\\\\b" = array(' in path.read_text()
    write_model(LatentTree(["x"], [["u", "v"]], [-1], [False], [[[0.5, 0.5]]]), path)
    assert "arcs" not in path.read_text()


def test_genie_wants_parents_first_and_identifiers(tmp_path):
    path = tmp_path / "model.xdsl"
    backwards = LatentTree(["x", "H"], [["1", "b b"], ["u", "v"]], [1, -1], [False, True], [np.eye(2), [[0.5, 0.5]]])
    write_model(backwards, path)
    root = ElementTree.parse(path).getroot()
    assert [node.get("id") for node in root.iter("cpt")] == ["H", "x"]
    assert [state.get("id") for state in root.iter("state")] == ["u", "v", "s_1", "b_b"]
    assert [node.get("id") for node in root.find("extensions/genie").iter("node")] == ["x", "H"]


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(tree=awkward_trees(max_nodes=4, max_card=3))
def test_code_for_pgmpy_makes_the_network(tree, tmp_path):
    path = tmp_path / "model.py"
    assert write_model(tree, path) == [path]
    assert_same_tree(from_pgmpy(runpy.run_path(str(path))["network"]), tree)


def test_code_for_pgmpy_keeps_roles(tmp_path):
    network = samples.diamond()
    network.with_role("exposures", {"a"}, inplace=True)
    network.graph["missing"] = {"y": (99,)}
    network.name = ""
    write_model(network, tmp_path / "model.py")
    back = runpy.run_path(str(tmp_path / "model.py"))["network"]
    assert_same_network(back, network)
    assert back.graph["missing"] == {"y": (99,)}


# What check_export says ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["camps.xdsl", Path("a.folder") / "camps.XDSL"])
def test_a_path_says_the_format(path):
    tree = samples.small_tree()
    assert check_export(tree, path) == check_export(tree, "xdsl")


def test_paths_of_other_files_are_refused():
    with pytest.raises(FileFormatError, match=r"camps.txt: a model file ends in .json, .bif"):
        check_export(samples.small_tree(), "camps.txt")
    with pytest.raises(ValueError, match=r"unknown format 'camps\.json'; known are bif, xmlbif"):
        check_export(samples.small_tree(), "camps.json")


def test_the_sentences_name_what_changes():
    check = check_export(samples.small_tree(), "BIF")
    assert check_export(samples.small_tree(), ".bif") == check == check_export(samples.small_tree(), "folder/x.Bif")
    assert check.lost == ()
    assert not check
    assert check.respelled == (
        "states change: 0 becomes '0' in 'H', 1 becomes '1' in 'H'",
        "hidden nodes look like others: 'H'",
    )
    assert check_export(chain(state="<5"), "xmlbif").respelled == ()
    assert check_export(chain(state="<5"), "bif").respelled == ("states change: '<5' becomes 's_5' in 'a'",)
    assert str(check_export(chain(), "bif")) == "everything is kept"
    assert check_export(chain(name="x", other="X"), "net").respelled == ("nodes are renamed: 'X' becomes 'X_2'",)
    renamed, states = check_export(chain(), "uai").respelled
    assert renamed == "nodes are renamed: 'a' becomes 'var_0', 'zz' becomes 'var_1'"
    assert states.startswith(
        "states change: 'u' becomes '0' in 'a', 'w' becomes '1' in 'a', 'p' becomes '0' in 'zz', ..."
    )
    diamond = samples.diamond()
    diamond.with_role("exposures", {"a"}, inplace=True)
    assert "roles are not said: 'exposures' of 'a'" in check_export(diamond, "uai").respelled


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_checking_and_writing_leave_the_network_alone(form, tmp_path):
    network = samples.diamond()
    check_export(network, form)
    write_model(network, tmp_path / f"model.{form}")
    assert [cpd.variable for cpd in network.cpds] == ["h", "a", "b", "y"]
    assert_same_network(network, samples.diamond())


def test_fitted_learners_are_written_as_their_models(tmp_path):
    rows = sample(samples.small_tree(), 100, random_state=0)
    learner = Baseline("chow_liu").fit(rows)
    write_model(learner, tmp_path / "model.bif")
    assert_same_tree(from_pgmpy(read_model(tmp_path / "model.bif")), learner.tree_)
    check, of_tree = check_export(learner, "bif"), check_export(learner.tree_, "bif")
    assert (check.lost, check.respelled) == (of_tree.lost, of_tree.respelled)
    assert check.forgotten == ("numbers of rows", "log-likelihood and score", "history of the search")
    assert of_tree.forgotten == ()
    mixture = TreeMixture([learner.tree_, learner.tree_], [0.5, 0.5])
    numbers = GaussianTree(["x"], [-1], [False], [0.0], [0.0], [1.0])
    for given_model, remedy in ((mixture, "has several trees; pass one of them"), (numbers, "save it as .json")):
        with pytest.raises(TypeError, match=remedy):
            write_model(given_model, tmp_path / "other.bif")
    with pytest.raises(TypeError, match="pgmpy network or fitted learner, got str"):
        check_export("model.json", "bif")
    assert not (tmp_path / "other.bif").exists()


def test_unknown_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown format 'dsl'; known are bif, xmlbif, net, uai, xdsl, dne, r, py"):
        check_export(samples.small_tree(), "dsl")
    with pytest.raises(ValueError, match="unknown format 'json'; known are bif"):
        check_export(samples.small_tree(), "json")
    write_model(chain(), tmp_path / "model.dne")
    with pytest.raises(FileFormatError, match=r"DNE files are only written; those that are read are json, bif, xmlbif"):
        read_model(tmp_path / "model.dne")


def test_names_that_no_file_keeps_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InvalidTreeError, match="cannot be kept in a file"):
        write_model(chain(name=frozenset("a")), tmp_path / "model.bif")
    assert not list(tmp_path.iterdir())


# The file of names --------------------------------------------------------------------------------


def test_a_file_of_names_is_removed_when_it_is_not_needed(tmp_path):
    path = tmp_path / "model.bif"
    assert write_model(chain(state="<5"), path) == [path, names_path(path)]
    assert write_model(chain(), path) == [path]
    assert not names_path(path).exists()
    assert from_pgmpy(read_model(path)) == chain()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda document: document["nodes"].pop(), "it names other nodes than the file has"),
        (lambda document: document["nodes"][0]["states"].pop(), "it names other states of node 'a' than the file has"),
        (lambda document: document.update(version=2), "not a file of names of version 1"),
        (lambda document: document["nodes"][0].pop("name"), "not a file of names .KeyError: 'name'."),
        (lambda document: document.update(nodes=3), "not a file of names .TypeError"),
    ],
)
def test_a_file_of_names_of_something_else_is_refused(damage, words, tmp_path):
    path = tmp_path / "model.bif"
    write_model(chain(state="<5"), path)
    document = json.loads(names_path(path).read_text())
    damage(document)
    names_path(path).write_text(json.dumps(document))
    with pytest.raises(
        FileFormatError, match=rf"model\.bif\.names\.json: {words}.*; remove it if it does not belong to"
    ):
        read_model(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MARKOV 1 2 1 1 0 2 0.5 0.5", "not a Bayesian network"),
        ("BAYES 1 2 1 1 0 2 0.5", "cut short"),
        ("BAYES 1 2 1 1 0 3 0.5 0.5 0", "a table of 3 numbers does not fit the variables"),
        ("BAYES 2 2 2 1 1 0 2 0.5 0.5", "one function for every variable"),
        ("BAYES 1 two", "invalid literal"),
        ("BAYES 1 2 1 1 4 2 0.5 0.5", "out of range"),
    ],
)
def test_damaged_uai_files_say_why(text, words, tmp_path):
    path = tmp_path / "model.uai"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=rf"model\.uai: pgmpy_latent cannot read it as UAI: .*{words}"):
        read_model(path)


def test_damaged_files_of_pgmpys_formats(tmp_path):
    path = tmp_path / "model.bif"
    path.write_text("no network")
    with pytest.raises(FileFormatError, match=r"model\.bif: pgmpy cannot read it as BIF"):
        read_model(path)
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "nowhere.bif")


def write_with_row(row, path):
    """Write a chain whose second node has another last row, without a file of names."""
    nodes, known = nodes_of(chain()), MODEL_FORMATS[path.suffix[1:]]
    nodes[1] = replace(nodes[1], table=np.array([[0.25, 0.75], row]))
    path.write_text(known.text(known.spelled(nodes)))
    return "var_1" if known.spelling.numbered else nodes[1].name


@pytest.mark.parametrize("form", ["bif", "xmlbif", "net", "uai", "xdsl"])
def test_files_whose_tables_are_no_probabilities_are_refused(form, tmp_path):
    path = tmp_path / f"model.{form}"
    write_with_row([0.25, 0.75], path)
    assert len(read_model(path).cpds) == len(chain().names)
    node = write_with_row([0.5, 0.625], path)
    said = rf"model\.{form}: node '{node}': row 1 of the table sums to 1\.125, not to 1; correct its probabilities"
    with pytest.raises(FileFormatError, match=said):
        read_model(path)
    write_with_row([1.5, -0.5], path)  # which pgmpy refuses itself in most formats
    with pytest.raises(FileFormatError, match=rf"model\.{form}: .*negative"):
        read_model(path)


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_large_models_are_quick(form, tmp_path):
    n = 2000
    parent = (np.arange(n) - 1) // 3
    parent[0] = -1
    tables = [np.array([[0.25, 0.75]])] + [np.array([[0.5, 0.5], [0.125, 0.875]])] * (n - 1)
    tree = LatentTree([f"x{at}" for at in range(n)], [["u", "v"]] * n, parent, [True] + [False] * (n - 1), tables)
    assert not check_export(tree, form)
    write_model(tree, tmp_path / f"model.{form}")
    if form == "uai":  # pgmpy's readers take seconds
        assert from_pgmpy(read_model(tmp_path / "model.uai")) == tree


@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(tree=latent_trees(max_nodes=5, max_card=3), form=st.sampled_from(EXPORT_FORMATS))
def test_spelled_names_and_states_are_unique(tree, form):
    long = [
        replace(node, name=f"{'é' * 40}{node.name}", states=tuple(f"{s}%" for s in node.states))
        for node in nodes_of(tree)
    ]
    spelled = MODEL_FORMATS[form].spelled(long)
    assert len({node.name.lower() for node in spelled}) == len(long)
    assert all(len(set(node.states)) == len(node.states) for node in spelled)


# A new format -------------------------------------------------------------------------------------


def test_a_new_format_is_one_record(monkeypatch, tmp_path, capsys):
    known = exports.ModelFormat(
        "list", (".list",), lambda nodes: "\n".join(node.name for node in nodes), program="a test"
    )
    monkeypatch.setitem(exports.MODEL_FORMATS, "list", known)
    monkeypatch.chdir(tmp_path)
    save(chain(latent=True), "model.json")
    assert check_export(chain(latent=True), "list").respelled == ("hidden nodes look like others: 'a'",)
    assert main(["convert", "model.json", "model.list"]) == 0
    assert Path("model.list").read_text() == "a\nzz"
    assert "model.list.names.json keeps" in capsys.readouterr().out


def test_the_help_of_convert_names_every_ending(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["convert", "--help"])
    words = re.split(r"[\s,]+", capsys.readouterr().out.partition("Endings:")[2].replace(". ", " "))
    assert {ending for known in exports.MODEL_FORMATS.values() for ending in known.endings} <= set(words)
