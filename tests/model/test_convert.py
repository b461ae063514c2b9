"""Trees to pgmpy and back, and files."""

import json
import math
import os
import stat
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent.exceptions import FileFormatError, InvalidTreeError, NotATreeError
from pgmpy_latent.model.convert import from_pgmpy, load, save, to_cpds, to_pgmpy
from pgmpy_latent.model.tree import LatentTree
from tests.support import samples
from tests.support.samples import assert_same_network, assert_same_tree, awkward_trees, types_of


@pytest.fixture
def small_tree():
    return samples.small_tree()


@pytest.fixture
def diamond():
    return samples.diamond()


slowly = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


# LatentTree and pgmpy ----------------------------------------------------------------------------


@slowly
@given(awkward_trees())
def test_to_pgmpy_and_back_is_exact(tree):
    network = to_pgmpy(tree)
    assert network.check_model()
    assert tuple(network.nodes()) == tree.names
    assert network.latents == set(tree.latent_names)
    assert_same_tree(from_pgmpy(network), tree)
    assert_same_network(to_pgmpy(from_pgmpy(network)), network)


def test_a_network_built_by_hand_keeps_everything():
    network = DiscreteBayesianNetwork([("H", "x")], latents={"H"})
    network.add_node("alone")
    network.add_cpds(  # not in the order of the nodes
        TabularCPD("alone", 1, [[1.0]], state_names={"alone": ["only"]}),
        TabularCPD("x", 3, [[0.1, 0.2], [0.2, 0.3], [0.7, 0.5]], ["H"], [2], {"x": [3, 1, 2], "H": [0, 1]}),
        TabularCPD("H", 2, [[0.6], [0.4]]),
    )
    tree = from_pgmpy(network)
    assert tree.names == ("H", "x", "alone")
    assert tree.latent_names == ("H",)
    assert tree.state_names == ((0, 1), (3, 1, 2), ("only",))
    np.testing.assert_array_equal(tree.table("x"), [[0.1, 0.2, 0.7], [0.2, 0.3, 0.5]])
    assert_same_network(to_pgmpy(tree), network)


def test_the_joint_is_the_product_of_tables(small_tree):
    query = VariableElimination(to_pgmpy(small_tree)).query(["H", "x", "y"], show_progress=False)
    for states in product(range(2), range(2), range(3)):
        named = {n: small_tree.state_names[i][s] for i, (n, s) in enumerate(zip("Hxy", states, strict=True))}
        h, x, y = states
        expected = small_tree.tables[0][0, h] * small_tree.tables[1][h, x] * small_tree.tables[2][h, y]
        assert query.get_value(**named) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_tables_are_aligned_by_the_names_of_the_parents_states():
    network = DiscreteBayesianNetwork([("H", "x")])
    network.cpds = [
        TabularCPD("H", 3, [[0.5], [0.3], [0.2]], state_names={"H": ["a", "b", "c"]}),
        TabularCPD("x", 2, [[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]], ["H"], [3], {"x": [0, 1], "H": ["c", "a", "b"]}),
    ]
    tree = from_pgmpy(network)
    np.testing.assert_array_equal(tree.table("x"), [[0.2, 0.8], [0.3, 0.7], [0.1, 0.9]])
    assert to_pgmpy(tree).check_model()


def test_nothing_is_shared_with_pgmpy(small_tree):
    network = to_pgmpy(small_tree)
    tree = from_pgmpy(network)
    for cpd in network.cpds:
        cpd.values[...] = 0.125
        cpd.state_names[cpd.variable][0] = "changed"
    assert_same_tree(tree, small_tree)
    assert network.get_cpds("x").state_names["H"] == [0, 1]


def test_cpds_come_in_node_order(small_tree):
    cpds = to_cpds(small_tree)
    assert [cpd.variable for cpd in cpds] == ["H", "x", "y"]
    assert all(cpd.is_valid_cpd() for cpd in cpds)
    assert cpds[2].state_names == {"y": ["a", "b", "c"], "H": [0, 1]}


@pytest.mark.parametrize("shape", ["star", "chain", "reversed chain"])
def test_ten_thousand_nodes(shape):
    n_nodes = 10_000
    parent = {
        "star": np.zeros(n_nodes, int),
        "chain": np.arange(n_nodes) - 1,
        "reversed chain": np.arange(n_nodes) + 1,
    }[shape].copy()
    parent[-1 if shape == "reversed chain" else 0] = -1
    tables = [np.eye(2) if above >= 0 else np.array([[0.25, 0.75]]) for above in parent]
    names = [f"x{i}" for i in range(n_nodes)]
    tree = LatentTree(names, [[0, 1]] * n_nodes, parent, parent < 0, tables)
    network = to_pgmpy(tree)
    assert len(network.cpds) == network.number_of_nodes() == n_nodes
    assert from_pgmpy(network) == tree


def test_a_node_with_several_parents_is_named(diamond):
    with pytest.raises(NotATreeError, match=r"node 'y' has parents 'a' and 'b'; a forest allows at most one\. Remove"):
        from_pgmpy(diamond)
    diamond.add_edge("h", "y")
    with pytest.raises(NotATreeError, match="node 'y' has parents 'a', 'b' and 'h'"):
        from_pgmpy(diamond)


def broken_network(change):
    network = DiscreteBayesianNetwork([("H", "x")])
    cpds = {
        "H": TabularCPD("H", 2, [[0.5], [0.5]], state_names={"H": ["a", "b"]}),
        "x": TabularCPD("x", 2, [[0.5, 0.5], [0.5, 0.5]], ["H"], [2], {"x": [0, 1], "H": ["a", "b"]}),
    }
    change(cpds)
    network.cpds = list(cpds.values())
    return network


def put(name, *arguments):
    return lambda cpds: cpds.update({name: TabularCPD(*arguments)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cpds: cpds.pop("x"), "node 'x' has no CPD; fit the network"),
        (put("z", "z", 2, [[0.5], [0.5]]), "CPD of 'z', which is not a node; remove it"),
        (
            put("x", "x", 2, [[0.5], [0.5]]),
            r"the CPD of 'x' has the parents \[\], the graph \['H'\]; make them agree",
        ),
        (
            put("x", "x", 2, [[0.5] * 2] * 2, ["H"], [2], {"x": [0, 1], "H": ["a", "c"]}),
            r"CPD of 'x' gives its parent 'H' the states \['a', 'c'\], but that of 'H' has \['a', 'b'\]",
        ),
        (
            put("x", "x", 2, [[0.5] * 2] * 2, ["H"], [2], {"x": [0, 1]}),
            r"the CPD of 'x' has 2 states of 'H' but names \[\]; name each",
        ),
        (
            put("x", "x", 2, [[0.5] * 3] * 2, ["H"], [3], {"x": [0, 1], "H": ["a", "b", "c"]}),
            r"the states \['a', 'b', 'c'\], but that of 'H' has \['a', 'b'\]",
        ),
        (
            put("H", "H", 2, [[0.5], [0.5]], None, None, {"H": ["a", "b", "c"]}),
            r"the CPD of 'H' has 2 states of 'H' but names \['a', 'b', 'c'\]",
        ),
        (
            put("H", "H", 2, [[0.5], [0.501]], None, None, {"H": ["a", "b"]}),
            r"table of 'H': row 0 sums to 1\.001, not to 1; call normalize\(\) on its CPD",
        ),
        (
            put("H", "H", 2, [[0.5], [math.nan]], None, None, {"H": ["a", "b"]}),
            "table of 'H' holds a negative number, NaN or infinity",
        ),
    ],
)
def test_incomplete_networks_are_refused(change, message):
    with pytest.raises(InvalidTreeError, match=message):
        from_pgmpy(broken_network(change))


def test_wrong_arguments(small_tree, tmp_path):
    with pytest.raises(TypeError, match="expected a pgmpy DiscreteBayesianNetwork, got LatentTree"):
        from_pgmpy(small_tree)
    with pytest.raises(TypeError, match="expected a LatentTree, got DiscreteBayesianNetwork; see from_pgmpy"):
        to_pgmpy(DiscreteBayesianNetwork())
    with pytest.raises(TypeError, match="expected a pgmpy DiscreteBayesianNetwork, got dict"):
        save({}, tmp_path / "model.json")
    with pytest.raises(InvalidTreeError, match="a node is called None"):
        to_pgmpy(LatentTree([None], [["a"]], [-1], [False], [[[1.0]]]))


# Files -------------------------------------------------------------------------------------------


@slowly
@given(tree=awkward_trees())
def test_trees_come_back_from_a_file_bit_by_bit(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("trees") / "model.json"
    save(tree, path)
    assert_same_tree(load(path), tree)
    save(to_pgmpy(tree), path)
    assert_same_network(load(path), to_pgmpy(tree))


def test_extreme_probabilities_and_hidden_nodes_only(tmp_path):
    tables = [[[5e-324, 1.0, 0.0]], [[1e-300, 1.0], [1 / 3, 2 / 3], [1.0, 0.0]]]
    tree = LatentTree(["H", "G"], [[0, 1, 2], [0, 1]], [-1, 0], [True, True], tables)
    assert_same_tree(from_pgmpy(to_pgmpy(tree)), tree)
    save(tree, tmp_path / "model.json")
    assert_same_tree(load(tmp_path / "model.json"), tree)


def test_networks_come_back_from_a_file(diamond, tmp_path):
    diamond.exposures = {"a"}
    save(diamond, tmp_path / "model.json")
    back = load(tmp_path / "model.json")
    assert_same_network(back, diamond)
    assert back.check_model()
    assert back.name == "diamond"
    assert back.exposures == {"a"}
    back.latents = set()  # roles are sets again, not text
    assert back.latents == set()


def test_saving_leaves_the_network_alone(diamond, tmp_path):
    before = [cpd.variable for cpd in diamond.cpds], diamond.copy()
    save(diamond, tmp_path / "model.json")
    assert [cpd.variable for cpd in diamond.cpds] == before[0]
    assert_same_network(diamond, before[1])


def test_a_network_is_saved_with_its_tables_aligned(tmp_path):
    network = DiscreteBayesianNetwork([("H", "x")])
    network.cpds = [
        TabularCPD("H", 2, [[0.5], [0.5]], state_names={"H": ["a", "b"]}),
        TabularCPD("x", 2, [[0.1, 0.2], [0.9, 0.8]], ["H"], [2], {"x": [0, 1], "H": ["b", "a"]}),
    ]
    save(network, tmp_path / "model.json")
    back = load(tmp_path / "model.json")
    assert back.check_model()
    np.testing.assert_array_equal(back.get_cpds("x").values, [[0.2, 0.1], [0.8, 0.9]])


def test_a_row_that_pgmpy_tolerates_survives_in_a_network(tmp_path):
    network = DiscreteBayesianNetwork()
    network.add_node("x")
    network.cpds = [TabularCPD("x", 3, [[0.333], [0.333], [0.333]])]
    save(network, tmp_path / "model.json")
    assert_same_network(load(tmp_path / "model.json"), network)


def test_numpy_scalars_come_back_as_python(tmp_path):
    names = [np.str_("x"), (np.int64(1), "a")]
    states = [[np.int64(1), np.float32(0.5), np.bool_(False)], [np.str_("a")]]
    tree = LatentTree(names, states, [-1, -1], [False, False], [[[0.25, 0.25, 0.5]], [[1.0]]])
    save(tree, tmp_path / "model.json")
    back = load(tmp_path / "model.json")
    assert types_of(back.names) == (str, (int, str))
    assert types_of(back.state_names) == ((int, float, bool), (str,))
    assert back.state_names == tree.state_names


def test_the_file_can_be_read_by_people(small_tree, tmp_path):
    save(small_tree, tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "format": "pgmpy_latent",\n  "version": 1,\n  "kind": "tree",\n')
    assert '\n     "states": ["no", "yes"],\n     "parents": ["H"],\n' in text
    assert "\n        [0.9, 0.1],\n        [0.2, 0.8]\n" in text


@pytest.mark.parametrize(
    "name", [None, math.nan, b"x", 1j, frozenset(), (1, None), "\ud800", np.datetime64("2020-01-01")]
)
def test_names_that_a_file_cannot_keep(name, tmp_path):
    as_name = LatentTree([name], [["a"]], [-1], [False], [[[1.0]]])
    as_state = LatentTree(["x"], [["a", name]], [-1], [False], [[[0.5, 0.5]]])
    with pytest.raises(InvalidTreeError, match=r"the name .* cannot be kept in a file .*nothing was written"):
        save(as_name, tmp_path / "model.json")
    with pytest.raises(InvalidTreeError, match=r"state .* of node 'x' cannot be kept .*Rename it"):
        save(as_state, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_incomplete_networks_are_not_saved(tmp_path):
    with pytest.raises(InvalidTreeError, match="node 'x' has no CPD"):
        save(broken_network(lambda cpds: cpds.pop("x")), tmp_path / "model.json")
    bad = broken_network(put("H", "H", 2, [[0.5], [0.6]], None, None, {"H": ["a", "b"]}))
    with pytest.raises(InvalidTreeError, match=r"node 'H': row 0 of the table sums to 1\.1, not to 1"):
        save(bad, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_the_old_file(small_tree, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    save(small_tree, path)
    before = path.read_bytes()
    other = small_tree.with_tables([[[0.5, 0.5]], *small_tree.tables[1:]])

    def full(*_):
        raise OSError("no space left")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, full)
            with pytest.raises(OSError, match="no space left"):
                save(other, path)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    save(other, path)
    assert load(path) == other


def test_where_a_file_may_go(small_tree, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder '.*nowhere' does not exist; create it first"):
        save(small_tree, tmp_path / "nowhere" / "model.json")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")
    plain = tmp_path / "plain"
    plain.write_text("")
    save(small_tree, str(tmp_path / "model.json"))  # a string will do, and others may read the file
    mode = stat.S_IMODE((tmp_path / "model.json").stat().st_mode)
    assert mode == stat.S_IMODE(plain.stat().st_mode)
    (tmp_path / "link").symlink_to(tmp_path / "model.json")
    save(to_pgmpy(small_tree), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(load(tmp_path / "model.json"), DiscreteBayesianNetwork)


@pytest.fixture
def document(small_tree, tmp_path):
    save(small_tree, tmp_path / "model.json")
    return json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))


def set_at(*path_and_value):
    *path, last, value = path_and_value

    def change(document):
        for step in path:
            document = document[step]
        document[last] = value

    return change


def drop_at(*path):
    def change(document):
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return change


BAD_FILES = [
    (set_at("format", "bif"), '"format" is not "pgmpy_latent"'),
    (set_at("version", 3), "version 3 was written by a newer pgmpy_latent; upgrade"),
    (set_at("version", True), "unknown version True"),
    (set_at("version", 0), "unknown version 0"),
    (set_at("kind", "forest"), '"kind" is \'forest\'; it must be "tree" or "network"'),
    (drop_at("nodes"), r"the file misses \['nodes'\]"),
    (set_at("comment", ""), r"the file has unknown fields \['comment'\]"),
    (set_at("nodes", {}), '"nodes": expected a list'),
    (set_at("nodes", []), "a tree needs at least one node"),
    (set_at("nodes", 0, 1), "node number 0: expected an object, found 1"),
    (drop_at("nodes", 1, "latent"), r"node number 1 misses \['latent'\]"),
    (set_at("nodes", 1, "name", None), "the name of node number 1 is None"),
    (set_at("nodes", 1, "name", 1.5), r"the name of node number 1 is 1\.5"),
    (set_at("nodes", 1, "name", "\ud800"), "the name of node number 1 is '"),
    (set_at("nodes", 1, "name", {"float": "nan"}), "the name of node number 1: 'nan' is not a float"),
    (set_at("nodes", 1, "name", {"float": "x"}), "the name of node number 1: 'x' is not a float"),
    (set_at("nodes", 1, "name", {"tuple": [None]}), "the name of node number 1 is None"),
    (set_at("nodes", 1, "name", "y"), "two nodes are called 'y'"),
    (set_at("nodes", 1, "latent", 1), "node 'x': latent is 1, neither true nor false"),
    (set_at("nodes", 1, "roles", [1]), "node 'x': roles must be text"),
    (set_at("nodes", 1, "states", []), "node 'x' has no states"),
    (set_at("nodes", 1, "states", ["a", "a"]), "node 'x' names a state twice"),
    (set_at("nodes", 0, "states", [1, True]), "node 'H' names a state twice"),
    (set_at("nodes", 1, "states", "ab"), "node 'x': states: expected a list, found 'ab'"),
    (set_at("nodes", 1, "parents", ["G"]), "node 'x' has the parent 'G', which is not a node"),
    (set_at("nodes", 1, "parents", ["H", "H"]), "node 'x' names a parent twice"),
    (set_at("nodes", 1, "states", ["a"]), "node 'x': row 0 of the table has 2 entries for 1 states"),
    (set_at("nodes", 0, "states", [0, 1, 2]), "node 'H': row 0 of the table has 2 entries for 3 states"),
    (set_at("nodes", 1, "table", [[0.5, 0.5]]), "node 'x': the table has 1 rows; .* ask for 2"),
    (set_at("nodes", 1, "table", 0, 0.5), "node 'x': a row of the table: expected a list"),
    (set_at("nodes", 1, "table", 0, 0, -0.1), r"node 'x': -0\.1 in row 0 of the table is not a probability"),
    (set_at("nodes", 1, "table", 0, 0, math.nan), "node 'x': nan in row 0"),
    (set_at("nodes", 1, "table", 0, 0, math.inf), "node 'x': inf in row 0"),
    (set_at("nodes", 1, "table", 0, 0, 10**400), "node 'x': 1000.*000 in row 0"),
    (set_at("nodes", 1, "table", 0, 0, "0.9"), r"node 'x': '0\.9' in row 0"),
    (set_at("nodes", 1, "table", 0, 0, True), "node 'x': True in row 0"),
    (set_at("nodes", 1, "table", 0, 0, 0.5), r"node 'x': row 0 of the table sums to 0\.6, not to 1"),
    (set_at("nodes", 1, "table", 0, 0, 0.90001), r"table of 'x': row 0 sums to 1\.00001, not to 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD_FILES)
def test_a_bad_file_is_named_with_its_fault(change, message, document, tmp_path):
    change(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_cycles_and_several_parents_in_a_file(diamond, tmp_path):
    path = tmp_path / "model.json"
    save(diamond, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["title"] = 1
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match='"title" is 1, not text'):
        load(path)
    del document["title"]
    document["kind"] = "tree"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match="node 'y' has parents 'b' and 'a'; a forest allows"):
        load(path)
    document["nodes"][0].update(parents=["a"], table=[[0.5, 0.5], [0.5, 0.5]])
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"the parents form a cycle: '.' -> '.' -> '.'"):
        load(path)
    document["nodes"][0]["parents"] = ["h"]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match="the parents form a cycle: 'h' -> 'h'"):
        load(path)


def test_sizes_are_compared_before_memory_is_reserved(tmp_path):
    """Forty parents of ten states ask for 10**40 rows: refused by counting, not by trying."""
    node = {"latent": False, "states": list(range(10)), "parents": [], "table": [[0.1] * 10]}
    nodes = [{"name": i, **node} for i in range(70)]
    nodes[-1]["parents"] = list(range(40))
    document = {"format": "pgmpy_latent", "version": 1, "kind": "network", "title": "", "nodes": nodes}
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match="node 69: the table has 1 rows; .* ask for 1" + "0" * 40):
        load(path)
    for other in nodes[:-1]:
        other.update(states=[0], table=[[1.0]])
    nodes[-1]["parents"] = list(range(69))
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileFormatError, match="node 69 has 69 parents; a table allows 63"):
        load(path)
    nodes[-1]["parents"] = list(range(63))
    path.write_text(json.dumps(document), encoding="utf-8")
    assert load(path).get_cpds(69).values.ndim == 64


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": ' + b"1" * 5000 + b"}",
        b'{"format": "pgmpy_latent"',
        b'{"format": "pgmpy_latent", "version": 1, "kind": "tree", "nodes": [{"name": '
        + b'{"tuple": [' * 900 + b"]}" * 900
        + b', "latent": false, "states": [1], "parents": [], "table": [[1]]}]}',
    ],
)  # fmt: skip
def test_what_is_no_model_at_all(content, tmp_path):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"bad\.json: "):
        load(path)


def places(value, path=()):
    """All positions inside a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def load_or_refuse(path):
    """Load a file; anything but a valid model or FileFormatError fails the test."""
    try:
        model = load(path)
    except FileFormatError:
        pass
    else:
        network = to_pgmpy(model) if isinstance(model, LatentTree) else model
        assert network.check_model()


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from("HxyA")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["float", "tuple", "name", "x"]), inner, max_size=2),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_mutation_of_a_file_gets_past_the_checks(document, diamond, tmp_path, data):
    path = tmp_path / "mutated.json"
    if data.draw(st.booleans()):
        save(diamond, path)
        document = json.loads(path.read_text(encoding="utf-8"))
    mutated = json.loads(json.dumps(document))
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from([place for place in places(mutated) if place]))
        inner = mutated
        for step in where[:-1]:
            inner = inner[step]
        action = data.draw(st.sampled_from(["delete", "replace", "copy"]))
        if action == "delete":
            del inner[where[-1]]
        elif action == "replace":
            inner[where[-1]] = data.draw(json_values)
        elif isinstance(inner, list):
            inner.append(inner[where[-1]])
        if not any(place for place in places(mutated)):
            break
    path.write_text(json.dumps(mutated), encoding="utf-8")
    load_or_refuse(path)


def test_no_truncation_gets_past_the_checks(small_tree, tmp_path):
    path = tmp_path / "model.json"
    save(small_tree, path)
    whole = path.read_bytes()
    for length in range(len(whole.rstrip())):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="not JSON, or cut short"):
            load(path)


@slowly
@given(data=st.data())
def test_no_change_of_bytes_gets_past_the_checks(small_tree, tmp_path, data):
    path = tmp_path / "model.json"
    save(small_tree, path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    load_or_refuse(path)
