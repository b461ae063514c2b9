"""Slow, obvious versions of what EAST computes: candidates by trying everything, scores by completing the table.

At the end stand the trees and tables that they are tried on.
"""

from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from pgmpy_latent import LatentTree, encode
from pgmpy_latent.learners.east.moves import Contract, Delete, Introduce, Relocate, moves_of
from pgmpy_latent.learners.east.settings import Rules
from pgmpy_latent.operators import make_regular
from pgmpy_latent.testing import latent_trees, weights_for
from tests.support import reference

# Edges: sets of two names


def edges_of(tree):
    """Return the undirected edges of a tree."""
    return {frozenset([tree.names[below], tree.names[above]]) for below, above in enumerate(tree.parent) if above >= 0}


def around(edges, name):
    """Return the neighbours of a node."""
    return {other for edge in edges if name in edge for other in edge - {name}}


def parts(names, edges):
    """Return the components of a graph: a set of sets of names."""
    found = {frozenset([name]) for name in names}
    for edge in edges:
        touched = {part for part in found if part & edge}
        found = (found - touched) | {frozenset().union(*touched)}
    return found


def is_forest(names, edges):
    """Tell whether a graph has no circle."""
    return len(edges) == len(names) - len(parts(names, edges))


def keeps_together(tree, edges, rules):
    """Tell whether every group of columns has a hidden node that all of them are neighbours of."""
    hidden = set().union(*edges) - set(tree.observed_names)
    return all(any(group <= around(edges, name) for name in hidden) for group in rules.together)


def most_states(cards):
    """Return how many states a hidden node can make use of, from those of its neighbours."""
    if len(cards) < 2:
        return 0
    return min(cards) - 1 if len(cards) == 2 else prod(cards) // max(cards)


def card(tree, name):
    return len(tree.state_names[tree.index(name)])


# Candidates: everything is tried, and what may not be is left out


def key(move):
    """Return a move in a form that tells apart what differs, and nothing else: an edge has no first end."""
    if isinstance(move, Introduce):
        return "introduce", move.node, frozenset(move.moved), move.n_states
    if isinstance(move, Relocate) and move.new is None:
        return "cut", frozenset([*move.moved, move.old])
    if isinstance(move, Relocate) and move.old is None:
        return "link", frozenset([*move.moved, move.new])
    if isinstance(move, Relocate):
        return "relocate", frozenset(move.moved), move.old, move.new
    if isinstance(move, Contract):
        return "join", frozenset([move.node, move.swallowed])
    return (type(move).__name__, *vars(move).values())


def units_around(tree, node, rules):
    """Return the neighbours of a node as sets of those that must stay together."""
    neighbours = around(edges_of(tree), node)
    groups = [group & neighbours for group in rules.together if group & neighbours]
    return [*groups, *(frozenset([name]) for name in neighbours - frozenset().union(*groups))]


def introductions(tree, rules):
    """Return the keys of all new nodes between a node and two of its units, or one of several columns."""
    found, edges = set(), edges_of(tree)
    for node in tree.names:
        units = units_around(tree, node, rules)
        for size in range(2, len(around(edges, node)) + 1):
            for moved in map(frozenset, combinations(around(edges, node), size)):
                whole = [unit for unit in units if unit <= moved]
                if moved != frozenset().union(*whole) or len(whole) > 2:
                    continue
                new = {frozenset(["new", name]) for name in (node, *moved)}
                new |= edges - {frozenset([node, name]) for name in moved}
                if node in tree.latent_names and len(around(new, node)) < 3:
                    continue
                needed = most_states([card(tree, name) for name in (node, *moved)])
                n_states = min(card(tree, node), needed, rules.max_states)
                if n_states > 1 and keeps_together(tree, new, rules):
                    found.add(("introduce", node, moved, n_states))
    return found if len(tree.latent_names) + 1 <= rules.max_latents else set()


def growths(tree, rules):
    """Return the keys of all hidden nodes that a state more leaves regular."""
    found = set()
    for node in tree.latent_names:
        needed = most_states([card(tree, name) for name in around(edges_of(tree), node)])
        if card(tree, node) + 1 <= min(needed, rules.max_states):
            found.add(("Grow", node))
    return found


def relocations(tree, rules):
    """Return the keys of all other trees with the same components, of all cuts, and of all links.

    A link joins two nodes that are hidden, or columns without any hidden node in their component.
    """
    return _moved_edges(tree, rules) | _cut_edges(tree, rules) | _linked_nodes(tree)


def _moved_edges(tree, rules):
    found, edges = set(), edges_of(tree)
    for old in tree.names:
        for unit in units_around(tree, old, rules):
            for new in tree.latent_names:
                if new == old or new in unit:
                    continue
                changed = edges - {frozenset([old, name]) for name in unit} | {frozenset([new, name]) for name in unit}
                same = parts(tree.names, changed) == parts(tree.names, edges)
                if is_forest(tree.names, changed) and same and keeps_together(tree, changed, rules):
                    found.add(("relocate", unit, old, new))
    return found


def _cut_edges(tree, rules):
    edges = edges_of(tree)
    return {("cut", edge) for edge in edges if keeps_together(tree, edges - {edge}, rules)}


def _linked_nodes(tree):
    found, components = set(), parts(tree.names, edges_of(tree))
    for left, right in combinations(components, 2):
        for edge in (frozenset([one, other]) for one in left for other in right):
            hidden = edge & set(tree.latent_names)
            columns = edge - hidden
            alone = all(not component & set(tree.latent_names) for component in components if component & columns)
            if alone:
                found.add(("link", edge))
    return found


def shrinkages(tree, rules):
    """Return the keys of all hidden nodes with a state to spare; one with a single state is cut off."""
    found, edges = set(), edges_of(tree)
    for node in tree.latent_names:
        left = {edge for edge in edges if node not in edge}
        if card(tree, node) > 2 or (card(tree, node) == 2 and keeps_together(tree, left, rules)):
            found.add(("Shrink", node))
    return found


def deletions(tree):
    """Return the keys of all hidden nodes with hidden neighbours."""
    edges = edges_of(tree)
    return {("Delete", one, other) for one in tree.latent_names for other in tree.latent_names if {one, other} in edges}


def contractions(tree):
    """Return the keys of all pairs of hidden neighbours, each once."""
    return {("join", edge) for edge in edges_of(tree) if edge <= set(tree.latent_names)}


def edges_after(tree, move):
    """Return the names and the edges of a tree after a move; a new node is called None."""
    edges, names = edges_of(tree), set(tree.names)
    moved = getattr(move, "moved", ())
    if isinstance(move, Introduce):
        gone = {frozenset([move.node, name]) for name in moved}
        return names | {None}, edges - gone | {frozenset([None, name]) for name in (move.node, *moved)}
    if isinstance(move, Relocate):
        gone = {frozenset([move.old, name]) for name in moved}
        new = set() if move.new is None else {frozenset([move.new, name]) for name in moved}
        return names, edges - gone | new
    if isinstance(move, (Delete, Contract)):
        gone, into = (move.node, move.into) if isinstance(move, Delete) else (move.swallowed, move.node)
        passed_on = {frozenset([name, into]) for name in around(edges, gone) - {into}}
        return names - {gone}, {edge for edge in edges if gone not in edge} | passed_on
    return names, edges


# What rows say


def evidence(tree, data):
    """Return what each distinct row says: node -> state."""
    return reference.rows_of(data.codes, [tree.index(name) for name in data.columns])


def log_likelihood(tree, data):
    """Return the log-likelihood of a table."""
    return float(data.weights @ reference.log_likelihoods(tree.parent, tree.tables, evidence(tree, data)))


def likelihoods(tree, row, node, nodes):
    """Return P(what a row says about some nodes | node), one number per state; NaN where the state is impossible."""
    told = {at: state for at, state in row.items() if at in nodes}
    states, joint = reference.row_joint(tree.parent, tree.tables, told)
    prior = reference.joint_probabilities(tree.parent, tree.tables, states)
    seen, total = (np.bincount(states[:, node], values, tree.cards[node]) for values in (joint, prior))
    return np.divide(seen, total, out=np.full(len(total), np.nan), where=total > 0)


def posterior(tree, row, nodes):
    """Return P(nodes | row), one axis per node."""
    states, joint = reference.row_joint(tree.parent, tree.tables, row)
    found = np.zeros(tree.cards[list(nodes)])
    np.add.at(found, tuple(states[:, node] for node in nodes), joint)
    return found / found.sum()


# Completed tables


def completed(tree, data):
    """Return a table without gaps and its weights: every row once for each joint state of all nodes, if likely at all.

    A column per node, in node order.
    """
    tables, weights = [], []
    for row, weight in zip(evidence(tree, data), data.weights, strict=True):
        states, joint = reference.row_joint(tree.parent, tree.tables, row)
        tables.append(states[joint > 0])
        weights.append(weight * joint[joint > 0] / joint.sum())
    return np.concatenate(tables), np.concatenate(weights)


def counts(codes, weights, columns, cards):
    """Return the weighted counts of the joint states of some columns."""
    found = np.zeros([cards[column] for column in columns])
    np.add.at(found, tuple(codes[:, column] for column in columns), weights)
    return found


def best_log_likelihood(codes, weights, names, edges):
    """Return the highest log-likelihood of a table without gaps under a forest: tables are counted, then looked up."""
    parent = _parents(list(names), edges)
    cards = codes.max(axis=0) + 1
    total = 0.0
    for column, above in enumerate(parent):
        alone = counts(codes, weights, [column] if above < 0 else [above, column], cards)
        table = alone / np.maximum(alone.sum(axis=-1, keepdims=True), 1e-300)
        cells = (codes[:, column],) if above < 0 else (codes[:, above], codes[:, column])
        total += float(weights @ np.log(table[cells]))
    return total


def _parents(names, edges):
    """Return a parent for every name, or -1, so that the edges are those of the forest."""
    parent, seen = [-1] * len(names), set()
    for root in names:
        ahead = [] if root in seen else [root]
        for name in ahead:  # the list grows while it is walked
            seen.add(name)
            for other in sorted(around(edges, name) - seen, key=names.index):
                parent[names.index(other)] = names.index(name)
                ahead.append(other)
    return parent


def g_squared(codes, weights, cards, node, left, right):
    """Return G² of the hypothesis that two columns are independent given a third."""
    total = 0.0
    for table in counts(codes, weights, [node, left, right], cards):
        for i, j in np.ndindex(*table.shape):
            if table[i, j] > 0:
                total += 2 * table[i, j] * np.log(table[i, j] * table.sum() / (table[i].sum() * table[:, j].sum()))
    return total


def divergence(seen, modelled):
    """Return the Kullback-Leibler divergence of a distribution from another, cell by cell."""
    return sum(p * np.log(p / q) for p, q in zip(np.ravel(seen), np.ravel(modelled), strict=True) if p > 0)


# Trees and tables to try it on


def random_table(rng, rows, states, zeros=False):
    """Return conditional distributions; a third of the entries may be zero."""
    table = rng.dirichlet(np.ones(states), size=rows)
    if zeros:
        keep = rng.random(table.shape) > 0.3
        keep[np.arange(rows), rng.integers(states, size=rows)] = True
        table = np.where(keep, table + 1e-3, 0.0)
    return table / table.sum(axis=1, keepdims=True)


def tree_from(hidden, columns, links, rng, *, zeros=False, shuffle=True):
    """Return a tree of hidden nodes and columns, given as name -> number of states, and of links as pairs of names."""
    cards = {**hidden, **columns}
    names = list(rng.permutation(list(cards))) if shuffle else list(cards)
    names = [str(name) for name in names]
    parent = _parents(names, {frozenset(link) for link in links})
    tables = [
        random_table(rng, cards[names[above]] if above >= 0 else 1, cards[name], zeros)
        for name, above in zip(names, parent, strict=True)
    ]
    states = [range(cards[name]) if name in hidden else "abcdef"[: cards[name]] for name in names]
    return LatentTree(names, states, parent, [name in hidden for name in names], tables)


@st.composite
def bushy_trees(draw, max_columns=6, max_hidden=3, max_card=3, zeros=False, shuffle=True):
    """Trees and forests in which hidden nodes have many neighbours; some columns hang on others, or alone."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_hidden, n_columns = min(max_hidden, int(rng.integers(1, 5))), int(rng.integers(4, max_columns + 1))
    odd = rng.choice([0.0, 0.3])
    hidden = {f"H{at}": int(rng.integers(2, max_card + 1)) for at in range(n_hidden)}
    columns = {f"x{at}": int(rng.integers(2, max_card + 1)) for at in range(n_columns)}
    links = [(f"H{at}", f"H{rng.integers(at)}") for at in range(1, n_hidden) if rng.random() > odd / 2]
    for at in range(n_columns):
        above = f"x{rng.integers(at)}" if at and rng.random() < odd else f"H{rng.integers(n_hidden)}"
        if rng.random() > odd / 3:
            links.append((f"x{at}", above))
    zeros = rng.random() < 0.5 if zeros is None else zeros
    return tree_from(hidden, columns, links, rng, zeros=zeros, shuffle=shuffle)


def any_trees(**options):
    """Trees of all shapes: bushy ones, and those that the package makes for tests."""
    return st.one_of(
        bushy_trees(**options),
        bushy_trees(**options),
        latent_trees(min_nodes=2, max_nodes=6, max_card=3, zeros=options.get("zeros", False)),
    )


def sensible_trees(**options):
    """Bushy trees without hidden nodes that no search would keep."""
    return bushy_trees(**options).filter(sensible)


def sensible(tree):
    """Tell whether every hidden node has two states and two neighbours, or more."""
    edges = edges_of(tree)
    return all(card(tree, name) > 1 and len(around(edges, name)) > 1 for name in tree.latent_names)


@st.composite
def with_rules(draw, trees):
    """Return a tree, and rules that it keeps; groups are columns that hang on one hidden node and on nothing else."""
    tree = draw(trees)
    edges, groups = edges_of(tree), []
    for name in tree.latent_names:
        leaves = sorted(other for other in around(edges, name) if around(edges, other) == {name})
        columns = [leaf for leaf in leaves if leaf in tree.observed_names]
        size = draw(st.integers(0, len(columns)))
        if size > 1:
            groups.append(frozenset(columns[:size]))
    most = max([card(tree, name) for name in tree.latent_names], default=2)
    max_latents = draw(st.sampled_from([np.inf, len(tree.latent_names), len(tree.latent_names) + 1]))
    max_states = draw(st.sampled_from([np.inf, max(most, 2), max(most, 2) + 1]))
    return tree, Rules(max_latents, max_states, tuple(groups))


def table_for(tree, codes, weights=None):
    """Return codes of the observed nodes, -1 where a cell is missing, as an encoded table."""
    frame = {
        name: [None if code < 0 else tree.state_names[tree.index(name)][code] for code in codes[:, at]]
        for at, name in enumerate(tree.observed_names)
    }
    states = {name: tree.state_names[tree.index(name)] for name in tree.observed_names}
    kind = None if weights is None else "frequency"
    return encode(pd.DataFrame(frame, dtype=object), sample_weight=weights, weight_kind=kind, state_names=states)


def drawn_codes(tree, n_rows, rng):
    """Return rows that a tree makes."""
    states = reference.joint_states(tree.cards)
    likely = reference.joint_probabilities(tree.parent, tree.tables, states)
    rows = rng.choice(len(states), size=n_rows, p=likely / likely.sum())
    return states[rows][:, ~tree.latent]


@st.composite
def problems(draw, trees, max_rows=8):
    """A tree, and a weighted table that it does not rule out, with gaps."""
    tree = draw(trees)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = drawn_codes(tree, draw(st.integers(1, max_rows)), rng)
    gaps = rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.2, 0.6]))
    codes = np.where(gaps & (rng.random(codes.shape[1]) < 0.7), -1, codes)  # some columns stay complete
    return tree, table_for(tree, codes, draw(weights_for(len(codes))))


def all_moves(tree, rules=None):
    """Return the moves of all kinds, as the package finds them."""
    return moves_of(tree, Rules() if rules is None else rules)


def applied(tree, move, changed):
    """Return the tree that the search goes on with after a move: superfluous nodes and states are left out."""
    return make_regular(move.apply(tree, changed))


def some_moves(tree, rng, most=3, without=()):
    """Return a few moves of each kind but some; cutting and linking are kinds of their own."""
    by_kind = {}
    for move in all_moves(tree):
        if key(move)[0] not in without:
            by_kind.setdefault(key(move)[0], []).append(move)
    return [some[at] for some in by_kind.values() for at in rng.permutation(len(some))[:most]]
