"""Slow, obvious versions of what the package computes: definitions written out, by enumeration."""

from itertools import combinations, combinations_with_replacement, product
from math import comb

import networkx as nx
import numpy as np
from scipy.linalg import block_diag


def joint_states(cards):
    """Return every joint state: (n_joint, n_nodes)."""
    return np.array(list(product(*[range(card) for card in cards])), dtype=int).reshape(-1, len(cards))


def joint_probabilities(parent, tables, states):
    """Return the probability of each joint state, as the product of one entry per table."""
    probability = np.ones(len(states))
    for node, table in enumerate(tables):
        row = states[:, parent[node]] if parent[node] >= 0 else 0
        probability = probability * table[row, states[:, node]]
    return probability


def row_joint(parent, tables, evidence):
    """Return joint states and P(joint state, what the row says).

    ``evidence`` maps nodes to a state, or to a vector of likelihoods.
    """
    states = joint_states([table.shape[1] for table in tables])
    probability = joint_probabilities(parent, tables, states)
    for node, seen in evidence.items():
        if np.ndim(seen) == 0:
            probability = probability * (states[:, node] == seen)
        else:
            probability = probability * np.asarray(seen)[states[:, node]]
    return states, probability


def rows_of(codes, columns):
    """Return one dict of evidence per row of codes; a missing cell (-1) says nothing."""
    return [{c: int(v) for c, v in zip(columns, row, strict=True) if v >= 0} for row in codes]


def log_likelihoods(parent, tables, rows):
    """Return the log-likelihood of each row by summing over everything it leaves open."""
    with np.errstate(divide="ignore"):
        return np.array([np.log(row_joint(parent, tables, row)[1].sum()) for row in rows])


def expected_counts(parent, tables, rows, weights):
    """Return the expected count of every table entry."""
    counts = [np.zeros_like(table) for table in tables]
    for row, weight in zip(rows, weights, strict=True):
        states, probability = row_joint(parent, tables, row)
        posterior = weight * probability / probability.sum()
        for node in range(len(tables)):
            above = states[:, parent[node]] if parent[node] >= 0 else np.zeros(len(states), int)
            np.add.at(counts[node], (above, states[:, node]), posterior)
    return counts


def open_joint(parent, tables, evidence):
    """Return what :func:`row_joint` returns, without the joint states that a known state rules out."""
    known = {node: [int(seen)] for node, seen in evidence.items() if np.ndim(seen) == 0}
    grid = np.meshgrid(*[known.get(node, range(table.shape[1])) for node, table in enumerate(tables)], indexing="ij")
    states = np.stack([axis.ravel() for axis in grid], axis=1)
    probability = joint_probabilities(parent, tables, states)
    for node, seen in evidence.items():
        if node not in known:
            probability = probability * np.asarray(seen)[states[:, node]]
    return states, probability


def expected_counts_of_few_hidden(parent, tables, rows, weights):
    """Return log-likelihoods and expected counts where hidden nodes are few, and may have many states."""
    counts, logs = [np.zeros_like(table) for table in tables], np.zeros(len(rows))
    for at, (row, weight) in enumerate(zip(rows, weights, strict=True)):
        states, probability = open_joint(parent, tables, row)
        logs[at] = np.log(probability.sum())
        posterior = weight * probability / probability.sum()
        for node, table in enumerate(tables):
            above = states[:, parent[node]] if parent[node] >= 0 else 0
            entries = above * table.shape[1] + states[:, node]
            counts[node] += np.bincount(entries, posterior, minlength=table.size).reshape(table.shape)
    return logs, counts


def slopes(parent, tables, rows, weights):
    """Return the derivative of the log-likelihood with respect to every table entry, zeros included.

    The probability of a row is linear in each entry, so that one more of the entry says what its derivative is.
    """
    before = np.exp(log_likelihoods(parent, tables, rows))
    found = [np.zeros_like(table) for table in tables]
    for node, table in enumerate(tables):
        for entry in np.ndindex(table.shape):
            more = [other.copy() for other in tables]
            more[node][entry] += 1.0
            found[node][entry] = weights @ (np.exp(log_likelihoods(parent, more, rows)) / before - 1)
    return found


def unmet_conditions(parent, tables, rows, weights):
    """Return by how much slopes exceed the multiplier of their row: at a maximum (Karush, Kuhn, Tucker) none does.

    The multiplier of "the row sums to one" is the sum of entries times slopes. Where the excess is ``v``, no change of
    this row alone gains more than ``v`` nats, since the log-likelihood is concave along a row.
    """
    found = slopes(parent, tables, rows, weights)
    return [own - (table * own).sum(axis=1, keepdims=True) for table, own in zip(tables, found, strict=True)]


def gain_by_lifting(parent, tables, rows, weights, steps=(1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3)):
    """Return the most that lifting one entry of one table, at the cost of the others in its row, gains."""
    before, most = weights @ log_likelihoods(parent, tables, rows), 0.0
    for node, table in enumerate(tables):
        for entry in np.ndindex(table.shape):
            for step in steps:
                lifted = [other.copy() for other in tables]
                lifted[node][entry] += step
                lifted[node][entry[0]] /= 1 + step
                most = max(most, weights @ log_likelihoods(parent, lifted, rows) - before)
    return most


def beliefs(parent, tables, rows, node):
    """Return P(node | row) for each row."""
    found = np.zeros((len(rows), tables[node].shape[1]))
    for at, row in enumerate(rows):
        states, probability = row_joint(parent, tables, row)
        np.add.at(found[at], states[:, node], probability)
    return found / found.sum(axis=1, keepdims=True)


def pair_counts(parent, tables, rows, weights, left, right):
    """Return the expected joint counts of two nodes."""
    counts = np.zeros((tables[left].shape[1], tables[right].shape[1]))
    for row, weight in zip(rows, weights, strict=True):
        states, probability = row_joint(parent, tables, row)
        np.add.at(counts, (states[:, left], states[:, right]), weight * probability / probability.sum())
    return counts


def log_beliefs(parent, tables, codes, columns, node):
    """Return P(node | row) by message passing in log space, for trees too large to enumerate.

    One row at a time; messages are sums of logarithms and every sum is a log-sum-exp.
    """
    from scipy.special import logsumexp

    n_nodes = len(parent)
    depth = np.zeros(n_nodes, int)
    for at in range(n_nodes):
        above = parent[at]
        while above >= 0:
            depth[at] += 1
            above = parent[above]
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in tables]
    found = []
    for row in codes:
        own = [np.zeros(table.shape[1]) for table in tables]
        for column, code in zip(columns, row, strict=True):
            if code >= 0:
                own[column] = np.where(np.arange(len(own[column])) == code, 0.0, -np.inf)
        up = [evidence.copy() for evidence in own]
        message = [None] * n_nodes
        for at in np.argsort(-depth, kind="stable"):
            if parent[at] >= 0:
                message[at] = logsumexp(logs[at] + up[at], axis=1)
                up[parent[at]] += message[at]
        path = [node]
        while parent[path[-1]] >= 0:
            path.append(parent[path[-1]])
        down = logs[path[-1]][0]
        for above, at in zip(path[:0:-1], path[-2::-1], strict=True):
            children = [c for c in range(n_nodes) if parent[c] == above and c != at]
            inside = own[above] + sum(message[c] for c in children) + down
            down = logsumexp(logs[at] + inside[:, None], axis=0)
        total = down + up[node]
        found.append((np.exp(total - logsumexp(total)), logsumexp(total)))
    return np.array([f[0] for f in found]), np.array([f[1] for f in found])


def posterior_entropy(parent, tables, row, nodes):
    """Return the entropy of the joint posterior of some nodes given a row, in nats."""
    states, probability = row_joint(parent, tables, row)
    _, which = np.unique(states[:, nodes], axis=0, return_inverse=True)
    shares = np.bincount(which.ravel(), probability) / probability.sum()
    return -sum(share * np.log(share) for share in shares if share > 0)


def log_marginal_likelihood(counts, prior):
    """Return ln P(complete data) under Dirichlet priors, written out entry by entry."""
    from math import lgamma

    total = 0.0
    for table in counts:
        for row in table:
            total += lgamma(prior * len(row)) - lgamma(prior * len(row) + sum(row))
            total += sum(lgamma(prior + count) - lgamma(prior) for count in row)
    return total


def shares_of_counts(parent, cards, codes, weights, pseudo_count):
    """Return the tables of a tree whose nodes are all known: shares of counts, each raised by a pseudo-count."""
    tables = []
    for node, above in enumerate(parent):
        counts = np.full((1 if above < 0 else cards[above], cards[node]), float(pseudo_count))
        for row, weight in zip(codes, weights, strict=True):
            counts[0 if above < 0 else row[above], row[node]] += weight
        tables.append(counts / counts.sum(axis=1, keepdims=True))
    return tables


def effective_dimension(parent, cards, latent, seed):
    """Return the rank of the Jacobian from free parameters to observed cells, without rounding.

    Parameters are random remainders modulo a large prime, and so is everything else: the rank can be too low only if
    a polynomial vanishes by chance, with probability of about one in a hundred million.
    """
    prime = 2**31 - 1
    rng = np.random.default_rng(seed)
    states = joint_states(cards)
    tables = []
    for node, card in enumerate(cards):
        table = rng.integers(1, prime, size=(cards[parent[node]] if parent[node] >= 0 else 1, card))
        table[:, -1] = (1 - table[:, :-1].sum(axis=1)) % prime
        tables.append(table)
    rows = [states[:, parent[node]] if parent[node] >= 0 else np.zeros(len(states), int) for node in range(len(cards))]
    observed = [node for node in range(len(cards)) if not latent[node]]
    _, cell = np.unique(states[:, observed], axis=0, return_inverse=True)
    columns = []
    for node, table in enumerate(tables):
        others = np.ones(len(states), dtype=np.int64)
        for other in range(len(cards)):
            if other != node:
                others = others * tables[other][rows[other], states[:, other]] % prime
        derivative = np.zeros((cell.max() + 1, *table.shape), dtype=np.int64)
        np.add.at(derivative, (cell.ravel(), rows[node], states[:, node]), others)
        columns.append((derivative[:, :, :-1] - derivative[:, :, -1:]).reshape(len(derivative), -1) % prime)
    return _rank_modulo(np.concatenate(columns, axis=1), prime)


def _rank_modulo(matrix, prime):
    """Return the rank by Gaussian elimination among remainders."""
    matrix, rank = matrix.copy(), 0
    for column in range(matrix.shape[1]):
        candidates = rank + np.flatnonzero(matrix[rank:, column])
        if not len(candidates):
            continue
        matrix[[rank, candidates[0]]] = matrix[[candidates[0], rank]]
        pivot = matrix[rank] * pow(int(matrix[rank, column]), -1, prime) % prime
        below = matrix[rank + 1 :]
        below -= below[:, [column]] * pivot % prime
        below %= prime
        rank += 1
    return rank


def joint_array(tree):
    """Return P(all variables) as an array with one axis per node, in node order."""
    joint = np.ones(tree.cards)
    for node, table in enumerate(tree.tables):
        above, shape = tree.parent[node], [1] * tree.n_nodes
        shape[node] = table.shape[1]
        if above >= 0:
            shape[above] = table.shape[0]
        joint = joint * (table.T if above > node else table).reshape(shape)
    return joint


def distribution(tree, names):
    """Return P(the named variables), one axis per name, with the states of each in the order of their texts.

    Two trees can be compared by it, whatever the order of their nodes and states.
    """
    axes = [tree.index(name) for name in names]
    joint = joint_array(tree).sum(axis=tuple(set(range(tree.n_nodes)) - set(axes)))
    joint = joint.transpose(np.argsort(np.argsort(axes)))
    for axis, node in enumerate(axes):
        states = tree.state_names[node]
        joint = joint.take(sorted(range(len(states)), key=lambda state, states=states: str(states[state])), axis=axis)
    return joint


def observed_distribution(tree):
    """Return P(observed variables), with the variables in the order of their names."""
    return distribution(tree, sorted(tree.observed_names))


def branches(tree, node):
    """Return the other nodes by the neighbour through which they are reached; None for those that are not reached."""
    at = tree.index(node)
    adjacent = {other: set() for other in range(tree.n_nodes)}
    for below, above in enumerate(tree.parent.tolist()):
        if above >= 0:
            adjacent[below].add(above)
            adjacent[above].add(below)
    found, seen = {}, {at}
    for start in sorted(adjacent[at]):
        reached = [start]
        for other in reached:
            reached += [more for more in sorted(adjacent[other]) if more != at and more not in reached]
        found[tree.names[start]] = reached
        seen.update(reached)
    apart = [other for other in range(tree.n_nodes) if other not in seen]
    return {**found, None: apart} if apart else found


def _over(joint, axes):
    """Return the marginal of some axes; the other axes stay, with length one."""
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in axes), keepdims=True)


def merged_joint(tree, node, states):
    """Return the joint after merging states: given the merged state, what each neighbour leads to is independent."""
    at, joint = tree.index(node), joint_array(tree)
    positions = [tree.state_names[at].index(state) for state in states]
    inside = joint.take(positions, axis=at)
    share = inside.sum()
    product = np.full([1] * joint.ndim, share)
    for nodes in branches(tree, node).values():
        product = product * (_over(inside, nodes) / share if share > 0 else 0.0)
    joint = np.moveaxis(joint.copy(), at, 0)
    joint[positions[0]] = np.moveaxis(product, at, 0)[0]
    return np.moveaxis(np.delete(joint, positions[1:], axis=0), 0, at)


def split_joint(tree, node, state, direction):
    """Return the joint after splitting a state by vectors that need no scaling; the second half comes last."""
    at, joint = tree.index(node), joint_array(tree)
    position = tree.state_names[at].index(state)
    inside = joint.take([position], axis=at)
    share = inside.sum()
    halves = []
    for sign in (1, -1):
        half = np.full([1] * joint.ndim, share / 2)
        for neighbour, nodes in branches(tree, node).items():
            row = _over(inside, nodes) / share if share > 0 else _over(inside, nodes)
            if neighbour is not None:
                axis = tree.index(neighbour)
                old = _over(row, [axis])
                shift = np.reshape(direction.get(neighbour, np.zeros(old.size)), old.shape)
                row = row * np.divide(old + sign * shift, old, out=np.zeros_like(old), where=old > 0)
            half = half * row
        halves.append(half)
    kept = np.moveaxis(joint.copy(), at, 0)
    first, second = (np.moveaxis(half, at, 0)[0] for half in halves)
    kept[position] = first
    return np.moveaxis(np.concatenate([kept, second[None]]), 0, at)


def removed_joint(tree, node, state):
    """Return the joint given that a node is in another state."""
    at, joint = tree.index(node), joint_array(tree)
    rest = np.delete(joint, tree.state_names[at].index(state), axis=at)
    return rest / rest.sum()


def root_of(tree, node):
    """Return the name of the root of a node's component."""
    at = tree.index(node)
    while tree.parent[at] >= 0:
        at = tree.parent[at]
    return tree.names[at]


def assert_same_tables(before, after, atol=1e-12):
    """Raise unless two trees agree, except in the rows of states that have probability zero."""
    assert after.names == before.names
    assert after.state_names == before.state_names
    assert after.parent.tolist() == before.parent.tolist()
    assert after.latent.tolist() == before.latent.tolist()
    joint = joint_array(before)
    for node, above in enumerate(before.parent.tolist()):
        rows = _over(joint, [above]).ravel() > 0 if above >= 0 else [True]
        np.testing.assert_allclose(after.tables[node][rows], before.tables[node][rows], rtol=0, atol=atol)


def mutual_information_of_counts(counts):
    """Return the mutual information of a table of joint counts in nats, cell by cell; 0 if it is empty."""
    counts = np.asarray(counts, dtype=float)
    total = counts.sum()
    found = 0.0
    for i, j in product(*map(range, counts.shape)):
        if counts[i, j] > 0:
            found += counts[i, j] / total * np.log(counts[i, j] * total / (counts[i].sum() * counts[:, j].sum()))
    return found


def mutual_information_by_definition(codes, weights):
    """Return the mutual information of all pairs of columns, each from the rows that have both; -1 is missing."""
    n_columns = codes.shape[1]
    found = np.zeros((n_columns, n_columns))
    for left, right in product(range(n_columns), repeat=2):
        counts = np.zeros((codes[:, left].max() + 1, codes[:, right].max() + 1))
        for row, weight in zip(codes, weights, strict=True):
            if row[left] >= 0 and row[right] >= 0:
                counts[row[left], row[right]] += weight
        found[left, right] = mutual_information_of_counts(counts)
    return found


def tree_log_likelihood(codes, weights, edges):
    """Return the largest log-likelihood of a tree over complete columns: P(pairs on edges) / P(nodes) per degree."""
    found = 0.0
    degree = np.zeros(codes.shape[1], dtype=int)
    for edge in edges:
        degree[list(edge)] += 1
        found += _log_frequencies(codes[:, list(edge)], weights)
    for column, links in enumerate(degree):
        found -= (links - 1) * _log_frequencies(codes[:, [column]], weights)
    return found


def _log_frequencies(codes, weights):
    """Return the sum over rows of the log of the row's share."""
    total = 0.0
    for row, weight in zip(codes, weights, strict=True):
        total += weight * np.log(weights[(codes == row).all(axis=1)].sum() / weights.sum())
    return total


def all_trees(n_nodes):
    """Return the edges of every tree on labelled nodes, each once, from Prüfer sequences."""
    import networkx as nx

    if n_nodes == 2:
        return [[(0, 1)]]
    sequences = product(range(n_nodes), repeat=n_nodes - 2)
    return [list(nx.from_prufer_sequence(list(sequence)).edges()) for sequence in sequences]


# Binary latent forests


def below(parent, node):
    """Return a node and everything below it."""
    found = [node]
    for above in found:
        found += [child for child, its_parent in enumerate(parent) if its_parent == above]
    return found


def posteriors_below(tree, codes, root):
    """Return P(root | cells below it) of each row by enumeration; None where no cell below it is filled."""
    nodes = below(tree.parent.tolist(), root)
    place = {node: at for at, node in enumerate(nodes)}
    parent = [place.get(tree.parent[node], -1) for node in nodes]
    tables = [tree.tables[node] for node in nodes]
    columns = [place.get(node) for node in np.flatnonzero(~tree.latent)]
    found = []
    for row in codes:
        evidence = {at: int(code) for at, code in zip(columns, row, strict=True) if at is not None and code >= 0}
        found.append(beliefs(parent, tables, [evidence], 0)[0] if evidence else None)
    return found


def information_between(mine, theirs, weights):
    """Return the mutual information of two roots: their joint is the weighted sum of products of their posteriors.

    Each has a posterior per row, or None, as :func:`posteriors_below` gives it.
    """
    counts = 0.0
    for own, other, weight in zip(mine, theirs, weights, strict=True):
        if own is not None and other is not None:
            counts = counts + weight * np.outer(own, other)
    return mutual_information_of_counts(np.atleast_2d(counts))


def root_information(tree, codes, weights):
    """Return the mutual information of all pairs of roots of a forest, by pairs of names."""
    posteriors = {tree.names[root]: posteriors_below(tree, codes, root) for root in tree.roots}
    return {
        frozenset([left, right]): information_between(posteriors[left], posteriors[right], weights)
        for left, right in combinations(posteriors, 2)
    }


def likelihood_below(node, row):
    """Return P(cells below a node | its state), as equations 9 and 14 of Harmeling and Williams have it.

    A node is a column's position and number of states, or a list of pairs of a child and its table.
    """
    if isinstance(node, tuple):
        column, card = node
        return np.ones(card) if row[column] < 0 else np.eye(card)[row[column]]
    found = 1.0
    for child, table in node:
        found = found * (table @ likelihood_below(child, row))
    return found


def bin_g(codes, weights, cards, models):
    """Follow Algorithm 1 of Harmeling and Williams, but take the models of pairs from a list.

    A model has a distribution of the hidden variable and the tables of both roots, that with the first column first; or
    is None where one state is best. Returns the columns below both roots of each pair, in the order of the joins.
    """
    working, joined = [], []  # a root: the columns below it, the node, its posteriors
    for column, card in enumerate(cards):
        filled = codes[:, column] >= 0
        share = np.bincount(codes[filled, column], weights[filled], minlength=card)
        working.append(_root([column], (column, card), share / max(share.sum(), 1e-300), codes))
    for model in models:
        left, right = max(
            combinations(working, 2), key=lambda pair: information_between(pair[0][2], pair[1][2], weights)
        )
        left, right = sorted([left, right], key=lambda root: min(root[0]))
        if model is None:
            break
        joined.append({frozenset(left[0]), frozenset(right[0])})
        working = [root for root in working if root is not left and root is not right]
        share, *tables = model
        node = list(zip([left[1], right[1]], tables, strict=True))
        working.append(_root([*left[0], *right[0]], node, share, codes))
    return joined


def _root(columns, node, share, codes):
    posteriors = []
    for row in codes:
        joint = share * likelihood_below(node, row)
        posteriors.append(joint / joint.sum() if (row[columns] >= 0).any() else None)
    return columns, node, posteriors


def clustered(similarity, linkage):
    """Return what agglomerative clustering merges: at each step, the two most similar clusters of all.

    Clusters are as similar as the mean (average), the largest (single) or the smallest (complete) of their members'
    similarities. Each merge is a set of two sets of members.
    """
    alike = {"average": np.mean, "single": np.max, "complete": np.min}[linkage]
    clusters, merges = [[member] for member in range(len(similarity))], []
    while len(clusters) > 1:
        left, right = max(combinations(clusters, 2), key=lambda pair: alike(similarity[np.ix_(*pair)]))
        clusters = [one for one in clusters if one is not left and one is not right]
        clusters.append([*left, *right])
        merges.append({frozenset(left), frozenset(right)})
    return merges


def best_grouping_of_two(counts):
    """Return the two rows whose union keeps most mutual information with the columns, and how much that is."""
    found = {}
    for kept, gone in combinations(range(len(counts)), 2):
        union = counts.copy()
        union[kept] += union[gone]
        found[kept, gone] = mutual_information_of_counts(np.delete(union, gone, axis=0))
    return max(found.items(), key=lambda entry: entry[1])


def two_column_fit(counts, n_states, n_starts=30, n_iterations=400, seed=0):
    """Return the highest log-likelihood of a latent class model of two columns that plain EM finds from many starts."""
    rng = np.random.default_rng([seed, n_states])
    share = rng.dirichlet(np.ones(n_states), size=n_starts)
    left, right = (rng.dirichlet(np.ones(card), size=(n_starts, n_states)) for card in counts.shape)
    for _ in range(n_iterations):
        joint = share[:, :, None, None] * left[:, :, :, None] * right[:, :, None, :]
        cells = joint.sum(axis=1)
        expected = joint * (counts / np.maximum(cells, 1e-300))[:, None]
        share = expected.sum(axis=(2, 3)) / counts.sum()
        total = np.maximum(expected.sum(axis=(2, 3)), 1e-300)[:, :, None]
        left, right = expected.sum(axis=3) / total, expected.sum(axis=2) / total
    seen = counts > 0
    return float((counts[seen] * np.log(cells[:, seen])).sum(axis=1).max())


def pair_residual(tree, codes, weights, left, right):
    """Return Pearson's X² of two columns against the model, its degrees of freedom, and the weight of their rows.

    ``codes`` has a column per observed node; ``left`` and ``right`` are positions among them.
    """
    observed = np.flatnonzero(~tree.latent)
    fitted = distribution(tree, [tree.names[observed[left]], tree.names[observed[right]]])
    both = (codes[:, left] >= 0) & (codes[:, right] >= 0)
    total = weights[both].sum()
    statistic = 0.0
    counts = np.zeros(fitted.shape)
    for row in np.flatnonzero(both):
        counts[codes[row, left], codes[row, right]] += weights[row]
    for cell in np.ndindex(fitted.shape):
        expected = total * fitted[cell]
        if expected > 0:
            statistic += (counts[cell] - expected) ** 2 / expected
        elif counts[cell] > 0:
            statistic = np.inf
    there = counts + fitted > 0
    df = max(there.any(axis=1).sum() - 1, 0) * max(there.any(axis=0).sum() - 1, 0)
    return statistic, df, total


def standard_errors(tree, codes, weights, units=None, strata=None):
    """Return the standard errors of all table entries, node by node, from second differences of the log-likelihood.

    The parameters are all entries of a row of a table but the last. Differences are extrapolated to steps of zero. With
    ``units``, a label per row, they are sandwich estimates: by how much summed gradients of units differ in strata.
    """
    observed = np.flatnonzero(~tree.latent)
    rows = [(node, row) for node, table in enumerate(tree.tables) for row in range(len(table))]
    free = [(node, row, state) for node, row in rows for state in range(tree.cards[node] - 1)]
    reach = np.array([min(tree.tables[n][r, s], tree.tables[n][r, -1]) for n, r, s in free])
    selections = [[slice(None)] * tree.n_nodes for _ in codes]
    for selection, row in zip(selections, codes, strict=True):
        for node, code in zip(observed, row, strict=True):
            selection[node] = slice(None) if code < 0 else code

    def row_logs(change):
        tables = [table.copy() for table in tree.tables]
        for (node, row, state), by in zip(free, change, strict=True):
            tables[node][row, state] += by
            tables[node][row, -1] -= by
        joint = joint_array(tree.with_tables(tables))
        return np.log([joint[tuple(selection)].sum() for selection in selections])

    def hessian(scale):
        steps = np.diag(scale * reach)
        found = np.empty((len(free), len(free)))
        for i, j in combinations_with_replacement(range(len(free)), 2):
            total = sum(a * b * weights @ row_logs(a * steps[i] + b * steps[j]) for a in (1, -1) for b in (1, -1))
            found[i, j] = found[j, i] = total / (4 * steps[i, i] * steps[j, j])
        return found

    def gradients(scale):
        steps = np.diag(scale * reach)
        return np.stack([(row_logs(step) - row_logs(-step)) / (2 * step.sum()) for step in steps], axis=1)

    covariance = np.linalg.inv((hessian(0.02) - 4 * hessian(0.01)) / 3)
    if units is not None:
        slopes = weights[:, None] * (4 * gradients(0.01) - gradients(0.02)) / 3
        covariance = covariance @ variance_of_total(slopes, units, strata) @ covariance
    errors = []
    for node, row in rows:
        own = [at for at, place in enumerate(free) if place[:2] == (node, row)]
        block = covariance[np.ix_(own, own)]
        errors += [*np.sqrt(np.diag(block)), np.sqrt(block.sum())]
    return np.array(errors)


def variance_of_total(values, units, strata=None):
    """Return the variance of the sum of all rows, from the sums of units within strata: the textbook's formula."""
    strata = np.zeros(len(values), int) if strata is None else np.asarray(strata)
    total = np.zeros((values.shape[1], values.shape[1]))
    for stratum in np.unique(strata):
        here = strata == stratum
        sums = np.array([values[here & (units == unit)].sum(axis=0) for unit in np.unique(units[here])])
        apart = sums - sums.mean(axis=0)
        total += len(sums) / (len(sums) - 1) * apart.T @ apart
    return total


def sampled_counts(keys, weights, n_rows, seed):
    """Return how many rows with each key two samples have: numbers by key, and binomial distributions added up."""
    salts = np.random.SeedSequence(seed).generate_state(3, np.uint64).tolist()
    total = sum(weights)
    share = min(1.0, 2 * n_rows / total)
    both = []
    for key, weight in zip(keys, weights, strict=True):
        whole = int(weight)
        copies = whole + (scrambled(int(key) ^ salts[1]) < weight - whole)
        drawn = binomial_quantile(scrambled(int(key) ^ salts[0]), copies, share)
        first = binomial_quantile(scrambled(int(key) ^ salts[2]), drawn, 0.5)
        both.append((first, drawn - first))
    return both


def scrambled(number):
    """Return a number between 0 and 1 by the last steps of splitmix64, in Python's own integers."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = ((number ^ (number >> shift)) * factor) % 2**64
    number ^= number >> 31
    return (number >> 11) * 2.0**-53 + 2.0**-54


def binomial_quantile(level, n, share):
    """Return the smallest number of successes that is not exceeded with at least this probability."""
    below = 0.0
    for successes in range(n):
        below += comb(n, successes) * share**successes * (1 - share) ** (n - successes)
        if below >= level:
            return successes
    return n


def edges_found_again(tree, other):
    """Return for the edges of a forest, but those of hidden variables to ends, whether another has them, by cutting."""

    def cut(forest):
        columns, graph = set(forest.observed_names), nx.Graph()
        graph.add_nodes_from(forest.names)
        for node, above in enumerate(forest.parent):
            if above >= 0:
                graph.add_edge(forest.names[node], forest.names[above])
        sides = {}
        for edge in graph.edges:
            rest = nx.restricted_view(graph, [], [edge])
            sides[edge] = {frozenset(nx.node_connected_component(rest, node) & columns) for node in edge}
        return graph, sides, columns

    graph, sides, columns = cut(tree)
    other_graph, other_sides, _ = cut(other)
    found = {}
    for edge, both in sides.items():
        ends = columns & set(edge)
        if len(ends) == 2:
            found[frozenset(edge)] = other_graph.has_edge(*edge)
        elif all(graph.degree[end] > 1 for end in ends):
            found[frozenset(edge)] = any(both == theirs and ends <= {*there} for there, theirs in other_sides.items())
    return found


def agreement_of_edges(tree, other):
    """Return the share of the edges of two forests that agree, by taking each edge out."""
    all_columns = frozenset(tree.observed_names)

    def separations(forest):
        edges = set()
        graph = nx.Graph()
        graph.add_nodes_from(range(forest.n_nodes))
        graph.add_edges_from((node, int(above)) for node, above in enumerate(forest.parent) if above >= 0)

        def columns(nodes):
            return frozenset(forest.names[node] for node in nodes if not forest.latent[node])

        for edge in graph.edges:
            rest = nx.restricted_view(graph, [], [edge])
            edges.add(frozenset(columns(nx.node_connected_component(rest, node)) for node in edge))
        for nodes in nx.connected_components(graph):
            if len(nodes) > 1 and columns(nodes) != all_columns:
                edges.add(frozenset([columns(nodes)]))
        return edges

    agree, counted = 0, 0
    for own, theirs in ((tree, other), (other, tree)):
        known = frozenset().union(*separations(theirs))
        for edge in separations(own):
            common = edge & known
            if any(len(side) < 2 for side in common):
                continue
            counted += 1
            agree += bool(common)
    return agree / counted if counted else float("nan")


def hidden_markov_log_likelihood(codes, begin, move, show):
    """Log-likelihood of sequences (one per row, -1 missing) under a hidden Markov model, by the forward recursion."""
    total = 0.0
    for row in codes:
        message = np.asarray(begin, dtype=float)
        for at, code in enumerate(row):
            message = message if at == 0 else message @ move
            message = message * (show[:, code] if code >= 0 else 1.0)
        total += np.log(message.sum())
    return total


def hidden_markov_em(codes, begin, move, show, n_iter, prior=0.0):
    """Textbook Baum-Welch: begin (K,), move (K, K) and show (K, c) after some iterations."""
    for _ in range(n_iter):
        at_first, moves, shown = np.zeros_like(begin), np.zeros_like(move), np.zeros_like(show)
        likely = np.where(codes[..., None] >= 0, show.T[np.maximum(codes, 0)], 1.0)  # rows, times, states
        n_times = codes.shape[1]
        ahead, back = np.empty_like(likely), np.ones_like(likely)
        ahead[:, 0] = begin * likely[:, 0]
        for at in range(1, n_times):
            ahead[:, at] = (ahead[:, at - 1] @ move) * likely[:, at]
        for at in range(n_times - 2, -1, -1):
            back[:, at] = (likely[:, at + 1] * back[:, at + 1]) @ move.T
        total = ahead[:, -1].sum(axis=1)
        states = ahead * back / total[:, None, None]
        at_first = states[:, 0].sum(axis=0)
        for at in range(n_times):
            for code in range(show.shape[1]):
                shown[:, code] += states[codes[:, at] == code, at].sum(axis=0)
        for at in range(n_times - 1):
            after = likely[:, at + 1] * back[:, at + 1] / total[:, None]
            moves += move * (ahead[:, at].T @ after)
        begin = (at_first + prior) / (at_first + prior).sum()
        move = (moves + prior) / (moves + prior).sum(axis=1, keepdims=True)
        show = (shown + prior) / (shown + prior).sum(axis=1, keepdims=True)
    return begin, move, show


def multilevel_em(codes, groups, sizes, shares, items, n_iter):
    """EM of classes in clusters of groups, group by group.

    Parameters
    ----------
    codes : int array, shape (n_rows, n_items)
        -1 where a cell is missing.
    groups : int array, shape (n_rows,)
    sizes : array (G,); shares : array (G, K); items : list of arrays (K, c)

    Returns
    -------
    log_likelihood : float
        At the given tables.
    sizes, shares, items
        After some iterations.
    """
    first = None
    for _ in range(max(n_iter, 1)):
        total, of_cluster, of_class = 0.0, np.zeros_like(sizes), np.zeros_like(shares)
        of_item = [np.zeros_like(table) for table in items]
        for group in np.unique(groups):
            rows = codes[groups == group]
            row = np.ones((len(rows), shares.shape[1]))
            for at, table in enumerate(items):
                row *= np.where(rows[:, at, None] >= 0, table.T[np.maximum(rows[:, at], 0)], 1.0)
            joint = shares[None] * row[:, None, :]  # rows, clusters, classes
            logs = np.log(sizes) + np.log(joint.sum(axis=2)).sum(axis=0)
            top = logs.max()
            likely = np.exp(logs - top)
            total += top + np.log(likely.sum())
            likely /= likely.sum()
            of_cluster += likely
            by_row = likely[None, :, None] * joint / joint.sum(axis=2, keepdims=True)
            of_class += by_row.sum(axis=0)
            for at in range(len(items)):
                for code in range(items[at].shape[1]):
                    of_item[at][:, code] += by_row[rows[:, at] == code].sum(axis=(0, 1))
        first = total if first is None else first
        if n_iter:
            sizes, shares = of_cluster / of_cluster.sum(), of_class / of_class.sum(axis=1, keepdims=True)
            items = [table / table.sum(axis=1, keepdims=True) for table in of_item]
    return first, sizes, shares, items


# Score tests --------------------------------------------------------------------------------------


def network_rows(network, tables, cells):
    """Return P(cells) of every row of cells, in the order of the observed nodes: all hidden states are summed over."""
    observed = np.flatnonzero(~network.latent).tolist()
    hidden = np.flatnonzero(network.latent).tolist()
    found = []
    for row in cells:
        unknown = [*hidden, *(node for node, code in zip(observed, row, strict=True) if code < 0)]
        total = 0.0
        for states in product(*(range(network.cards[node]) for node in unknown)):
            at = dict(zip(observed, row, strict=True)) | dict(zip(unknown, states, strict=True))
            probability = 1.0
            for node, above in enumerate(network.parents):
                place = 0
                for parent in above:
                    place = place * network.cards[parent] + at[parent]
                probability *= tables[node][place, at[node]]
            total += probability
        found.append(total)
    return np.array(found)


def score_statistic(network, larger, codes, weights):
    """Return the score statistic of a network within a larger one with the same distribution: g' inv(A) g.

    Parameters are all logits of the larger one; derivatives are differences; A is the expected information, over all
    rows that are possible, for the pattern of missing cells of every row.
    """
    gradient = weights @ _slopes_of_rows(larger, codes)
    return gradient @ np.linalg.solve(_expected_information(larger, codes, weights), gradient)


def design_score_statistic(network, larger, child, codes, weights, strata, clusters):
    """Return the score statistic of rows with a design: stretched and moved by the design effects.

    With T the directions in which the network itself can move, it is g' P g with P = inv(A) - T inv(T'AT) T' at first.
    The design effects are the eigenvalues of P B, B being the variance of g: their mean is tr(PB) / df, that of their
    squares tr(PBPB) / df. Both are compared with those of B of as many independent rows as the weights sum to.
    """
    slopes = _slopes_of_rows(larger, codes)
    information = _expected_information(larger, codes, weights)
    node = network.names.index(child)
    moves = []
    for at, (small, large) in enumerate(zip(network.tables, larger.tables, strict=True)):
        rows, states = small.shape
        repeated = np.ones((len(large) // rows, 1)) if at == node else np.ones((1, 1))
        moves.append(np.kron(np.kron(np.eye(rows), repeated), np.eye(states - 1)))
    moves = block_diag(*moves)
    df = moves.shape[0] - moves.shape[1]
    project = np.linalg.inv(information) - moves @ np.linalg.solve(moves.T @ information @ moves, moves.T)

    designed = np.zeros_like(information)
    for stratum in set(strata):
        inside = np.flatnonzero(strata == stratum)
        sums = [weights[rows] @ slopes[rows] for rows in (inside[clusters[inside] == u] for u in set(clusters[inside]))]
        for total in sums:
            apart = total - np.mean(sums, axis=0)
            designed += len(sums) / (len(sums) - 1) * np.outer(apart, apart)
    size = weights.sum()
    usual = np.zeros_like(information)
    for weight, slope in zip(weights, slopes, strict=True):
        apart = slope - weights @ slopes / size
        usual += size / (size - 1) * weight * np.outer(apart, apart)

    means = [np.trace(project @ variance) / df for variance in (designed, usual)]
    squares = [np.trace(project @ variance @ project @ variance) / df for variance in (designed, usual)]
    unequal = max(1.0, squares[0] / means[0] ** 2 / (squares[1] / means[1] ** 2))
    gradient = weights @ slopes
    plain = gradient @ project @ gradient * means[1] / means[0]
    return max(0.0, plain / np.sqrt(unequal) + df - df / np.sqrt(unequal))


def _slopes_of_rows(network, cells):
    """Return the derivatives of the log-likelihood of rows by all logits of a network, from differences."""

    def tables_at(theta):
        tables, at = [], 0
        for table in network.tables:
            rows, states = table.shape
            logits = np.log(table) - np.log(table[:, -1:])
            logits[:, :-1] += theta[at : at + rows * (states - 1)].reshape(rows, states - 1)
            at += rows * (states - 1)
            tables.append(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
        return tables

    step = 1e-4
    columns = []
    for unit in np.eye(network.n_parameters):
        up = network_rows(network, tables_at(step * unit), cells)
        down = network_rows(network, tables_at(-step * unit), cells)
        columns.append((np.log(up) - np.log(down)) / (2 * step))
    return np.stack(columns, axis=1)


def _expected_information(network, codes, weights):
    """Return the information that a network expects, over all rows that are possible with the same missing cells."""
    observed = np.flatnonzero(~network.latent)
    information = np.zeros((network.n_parameters, network.n_parameters))
    for pattern in np.unique(codes < 0, axis=0):
        cells = [
            [-1] if missing else range(network.cards[node]) for node, missing in zip(observed, pattern, strict=True)
        ]
        cells = np.array(list(product(*cells)))
        share = weights[((codes < 0) == pattern).all(axis=1)].sum()
        scores = _slopes_of_rows(network, cells)
        information += share * (scores * network_rows(network, network.tables, cells)[:, None]).T @ scores
    return information
