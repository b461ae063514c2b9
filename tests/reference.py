"""Slow, obvious versions of what the package computes: definitions written out, by enumeration."""

from itertools import product

import numpy as np


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
