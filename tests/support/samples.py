"""Trees and networks that several tests use, and comparisons to the last bit."""

import hashlib
import inspect
import json
import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from pgmpy.causal_discovery import _base
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import presets
from pgmpy_latent.learners import search_learner
from pgmpy_latent.model.convert import model_from_document, model_text
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.runtime.checkpoint import HistoryEntry, Saved
from pgmpy_latent.runtime.clock import Clock
from pgmpy_latent.runtime.lossless_json import back, plain
from pgmpy_latent.tables.encode import encode
from pgmpy_latent.testing import latent_trees
from tests.support import reference

scalars = st.one_of(
    st.integers(-3, 10**20),
    st.booleans(),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.sampled_from(["1", "True", "a,b", "<5", "é", '"q"', "\\", "\n", "x y", ""]),
)
labels = st.one_of(scalars, st.tuples(scalars, st.one_of(scalars, st.tuples(scalars))))


class Notes:
    """In place of a checkpoint: remembers every state; ``going_on`` is a state and history to go on from."""

    def __init__(self, going_on=None):
        self.saved = []
        self.going_on = going_on

    def resume(self, entropy, seeded=False):
        if self.going_on is None:
            return None
        state, history = self.going_on
        return Saved(
            through_a_file(state), [HistoryEntry(**json.loads(json.dumps(vars(entry)))) for entry in history], entropy
        )

    def keep(self, state, history, last=False):
        self.saved.append((state, list(history)))

    def tend(self, now=False):
        pass

    def beside(self, purpose):
        return None  # what comes before the search writes nothing

    def checking(self):
        return nullcontext()

    resuming = checking

    def watch(self, monkeypatch):
        """Take the place of every checkpoint that a learner asks for."""

        def made(path, mark):
            self.mark = mark
            return self

        monkeypatch.setattr(search_learner, "Checkpoint", made)


#: The columns of ``history_``.
HISTORY = ["step", "operator", "target", "score", "log_likelihood", "n_parameters", "seconds"]


def through_a_file(state):
    """Return the state as a file would give it back: memory as JSON, the tree as new arrays."""
    memory = back(json.loads(json.dumps(plain(state.memory))))
    assert plain(memory) == plain(state.memory)
    tree = model_from_document(json.loads(model_text(state.tree)))
    assert_same_tree(tree, state.tree)
    return replace(state, tree=tree, memory=memory)


def pgmpys_base():
    """Return the base of pgmpy's structure learners, of whichever version."""
    return getattr(_base, "BaseCausalDiscovery", None) or _base._BaseCausalDiscovery


def sealed(content):
    """Return a file with the digest that fits its content: SHA-256, computed with zeros in the digest's place."""
    written = json.loads(content).get("digest")
    if not isinstance(written, str) or not written:
        return content
    blank = content.replace(written.encode(), b"0" * 64, 1)
    return blank.replace(b"0" * 64, hashlib.sha256(blank).hexdigest().encode(), 1)


def awkward_trees(**options):
    """Forests whose names and states are of any type that a file keeps, with zeros and ones in some tables."""
    return latent_trees(labels=labels, zeros=None, **options)


def small_tree():
    """A hidden node with two observed children."""
    return LatentTree(
        names=["H", "x", "y"],
        state_names=[[0, 1], ["no", "yes"], ["a", "b", "c"]],
        parent=[-1, 0, 0],
        latent=[True, False, False],
        tables=[[[0.7, 0.3]], [[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]],
    )


def diamond():
    """A network that is no forest: y has two parents of different cardinality, listed against node order."""
    network = DiscreteBayesianNetwork([("h", "a"), ("h", "b"), ("a", "y"), ("b", "y")], latents={"h"})
    network.name = "diamond"
    rng = np.random.default_rng(0)
    network.cpds = [
        TabularCPD("h", 2, [[1 / 3], [2 / 3]], state_names={"h": [True, False]}),
        TabularCPD("a", 2, rng.dirichlet([1, 1], 2).T, ["h"], [2], {"a": [1, 2], "h": [True, False]}),
        TabularCPD("b", 3, rng.dirichlet([1] * 3, 2).T, ["h"], [2], {"b": list("pqr"), "h": [True, False]}),
        TabularCPD(
            "y", 2, rng.dirichlet([1, 1], 6).T, ["b", "a"], [3, 2],
            {"y": [0.5, math.inf], "b": list("pqr"), "a": [1, 2]},
        ),
    ]  # fmt: skip
    assert network.check_model()
    return network


def types_of(value):
    """The types inside a name, tuples included, which ``==`` does not see."""
    return tuple(types_of(part) for part in value) if type(value) is tuple else type(value)


def assert_same_tree(left, right):
    assert left == right
    assert types_of(left.names) == types_of(right.names)
    assert types_of(left.state_names) == types_of(right.state_names)
    for a, b in zip(left.tables, right.tables, strict=True):
        assert a.tobytes() == b.tobytes()


def assert_same_network(left, right):
    assert list(left.nodes()) == list(right.nodes())
    assert types_of(tuple(left.nodes())) == types_of(tuple(right.nodes()))
    assert set(left.edges()) == set(right.edges())
    assert left.get_role_dict().keys() == right.get_role_dict().keys()
    assert left.latents == right.latents
    for name in left.nodes():
        a, b = left.get_cpds(name), right.get_cpds(name)
        assert a.variables == b.variables
        for variable in a.variables:
            assert a.state_names[variable] == b.state_names[variable]
            assert types_of(tuple(a.state_names[variable])) == types_of(tuple(b.state_names[variable]))
        assert a.values.shape == b.values.shape
        assert a.values.tobytes() == b.values.tobytes()


def latent_class(n_states, cards, seed=0, concentration=0.3):
    """A hidden variable C above columns x0, x1, ..., whose rows are far apart if the concentration is low."""
    rng = np.random.default_rng([seed, n_states])
    tables = [rng.dirichlet(np.full(n_states, 5.0))[None]]
    tables += [rng.dirichlet(np.full(card, concentration), size=n_states) for card in cards]
    names = ["C", *(f"x{at}" for at in range(len(cards)))]
    parent = [-1] + [0] * len(cards)
    return LatentTree(names, [range(t.shape[1]) for t in tables], parent, [n == "C" for n in names], tables)


def two_classes_of_columns():
    """Two hidden variables, one below the other, above three columns each."""
    rng = np.random.default_rng(5)
    names, parent = ["A", "B", "a1", "a2", "a3", "b1", "b2", "b3"], [-1, 0, 0, 0, 0, 1, 1, 1]
    cards = [2, 2, 3, 2, 2, 3, 2, 2]
    tables = [np.array([[0.6, 0.4]]), np.array([[0.8, 0.2], [0.3, 0.7]])]
    tables += [rng.dirichlet(np.full(card, 0.3), size=2) for card in cards[2:]]
    return LatentTree(names, [range(card) for card in cards], parent, [name in "AB" for name in names], tables)


#: Tables of the thesis -> (file, columns that are no variables, categorical columns, the best BIC of table 6.13).
THESIS_TABLES = {
    "voting": ("voting.csv", ["class"], "all", -3085.6),
    "pima": ("pima.csv", ["class"], [], -3995.6),
    "yeast": ("yeast.csv", ["class"], ["erl"], -6213.5),
    "heart": ("heart_cleveland.csv", ["num"], ["sex"], -2388.1),
    "wisconsin": ("wisconsin.csv", ["Id", "class"], [], -2560.7),
}


def thesis_table(folder, name):
    """Return a table prepared as the thesis had it: numbers become whether they exceed the median, gaps stay."""
    file, dropped, categorical, _ = THESIS_TABLES[name]
    frame = pd.read_csv(folder / file).drop(columns=dropped)
    if categorical == "all":
        return frame
    high = frame.gt(frame.median(numeric_only=True)).astype(float).where(frame.notna())
    return high.assign(**{column: frame[column] for column in categorical})


@st.composite
def small_tables(draw, min_columns=2, max_columns=5, max_rows=10, max_card=4):
    """Encoded tables with weights, gaps, columns of one state, states that no row shows, and empty rows."""
    cards = draw(st.lists(st.integers(1, max_card), min_size=min_columns, max_size=max_columns))
    n_rows = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, cards, size=(n_rows, len(cards)))
    group = rng.integers(0, 4, size=(n_rows, 1))
    codes = np.where(
        rng.random(codes.shape) < 0.6, group % np.array(cards), codes
    )  # so that there is something to find
    codes = np.where(rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.2, 0.7])), -1, codes)
    weights = rng.gamma(1.0, 2.0, size=n_rows) + 0.01 if draw(st.booleans()) else rng.integers(1, 5, size=n_rows)
    names = [f"x{at}" for at in range(len(cards))]
    frame = pd.DataFrame(codes, columns=names).replace(-1, None)
    states = {n: range(c) for n, c in zip(names, cards, strict=True)}
    return encode(frame, sample_weight=weights, weight_kind="frequency", state_names=states)


def columns_below(tree, node):
    """Return the names of the columns below a node, itself included, as a set."""
    return frozenset(
        tree.names[at] for at in reference.below(tree.parent.tolist(), tree.index(node)) if not tree.latent[at]
    )


def clusters(tree):
    """Return the set of columns below each hidden node, as texts like ``"x1 x2"``."""
    return {" ".join(sorted(columns_below(tree, name))) for name in tree.latent_names}


def same_by_name(left, right):
    """Tell whether two trees have the same nodes, edges and tables to the last bit, whatever the order of nodes."""

    def described(tree):
        return {
            name: (None if above < 0 else tree.names[above], states, table.tobytes())
            for name, above, states, table in zip(tree.names, tree.parent, tree.state_names, tree.tables, strict=True)
        }

    return described(left) == described(right)


def leafy_tree(seed=0, n_columns=6, card=2, alone=0):
    """Hidden variables P0, P1, ... with two columns each, below a hidden variable T; and columns that stand alone."""
    rng = np.random.default_rng(seed)
    n_pairs = n_columns // 2
    hidden = ["T", *(f"P{at}" for at in range(n_pairs))]
    names = [*hidden, *(f"x{at}" for at in range(2 * n_pairs)), *(f"z{at}" for at in range(alone))]
    parent = [-1, *[0] * n_pairs, *(1 + at // 2 for at in range(2 * n_pairs)), *[-1] * alone]
    cards = [2, *[2] * n_pairs, *[card] * (2 * n_pairs), *[card] * alone]
    tables = []
    for above, own in zip(parent, cards, strict=True):
        rows = 1 if above < 0 else cards[above]
        near = 0.85 * np.eye(own)[np.arange(rows) % own] if above >= 0 else np.zeros((rows, own))
        tables.append(near + (1 - near.sum(axis=1, keepdims=True)) * rng.dirichlet(np.full(own, 5.0), size=rows))
    return LatentTree(names, [range(own) for own in cards], parent, [name in hidden for name in names], tables)


def press_ctrl_c(monkeypatch, moment):
    """Let the given look at the clock of a search, counted from 1, be interrupted."""
    calls = 0

    def check(clock):
        nonlocal calls
        calls += 1
        if calls == moment:
            raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "check", check)


def run_out_of_time(monkeypatch, moment):
    """Let all time limits be reached at the given look at a clock, counted from 1, whatever they are."""
    calls, check = 0, Clock.check

    def counted(clock):
        nonlocal calls
        calls += 1
        check(clock)

    monkeypatch.setattr(Clock, "check", counted)
    monkeypatch.setattr(Clock, "is_up", property(lambda clock: calls >= moment and np.isfinite(clock.time_limit)))


#: Learner -> its defaults.
PRESETS = {
    "SplitMerge": presets.SPLIT_MERGE,
    "RandomStarts": presets.RANDOM_STARTS,
    "EAST": presets.EAST,
    "BinG": presets.BIN_G,
    "BinA": presets.BIN_A,
    "HLTA": presets.HLTA,
    "HiddenChowLiu": presets.HIDDEN_CHOW_LIU,
    "StructuralEM": presets.STRUCTURAL_EM,
    "AgglomerativeCardinality": presets.AGGLOMERATIVE_CARDINALITY,
    "FindHidden": presets.FIND_HIDDEN,
    "LatentClassificationModel": presets.LATENT_CLASSIFICATION,
}


def tuned(learner, *args, **settings):
    """Return a learner of a class, given keywords of its constructor and settings of its tuning side by side.

    The settings change the learner's preset, or the one given as ``tuning``.
    """
    keywords = inspect.signature(learner).parameters
    own = {name: settings.pop(name) for name in list(settings) if name not in keywords}
    tuning = settings.pop("tuning", None) or PRESETS[learner.__name__]
    return learner(*args, tuning=tuning.replace(**own), **settings)
