"""Slow, obvious versions of what the package computes about networks: definitions written out, by enumeration."""

import numpy as np

from tests.support.reference import joint_states


def joint_probabilities(network, states):
    """Return the probability of each joint state, as the product of one entry per table."""
    probability = np.ones(len(states))
    for node, table in enumerate(network.tables):
        row = np.zeros(len(states), dtype=int)
        for parent in network.parents[node]:
            row = row * network.cards[parent] + states[:, parent]
        probability = probability * table[row, states[:, node]]
    return probability


def row_posterior(network, row):
    """Return joint states, P(joint state | row) and log P(row); -1 in the row says nothing."""
    states = joint_states(network.cards)
    possible = np.all([(value < 0) | (states[:, node] == value) for node, value in enumerate(row)], axis=0)
    probability = joint_probabilities(network, states) * possible
    total = probability.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return states, probability / total, np.log(total)


def family_counts(network, codes, weights, nodes):
    """Return the expected number of rows with each combination of states of some nodes."""
    counts = np.zeros(tuple(network.cards[list(nodes)]))
    for row, weight in zip(codes, weights, strict=True):
        states, posterior, _ = row_posterior(network, row)
        np.add.at(counts, tuple(states[:, list(nodes)].T), weight * posterior)
    return counts


def expected_counts(network, codes, weights):
    """Return the expected count of every entry of every table."""
    return [
        family_counts(network, codes, weights, (*above, node)).reshape(network.tables[node].shape)
        for node, above in enumerate(network.parents)
    ]


def log_likelihoods(network, codes):
    """Return the log-likelihood of each row."""
    return np.array([row_posterior(network, row)[2] for row in codes])


def beliefs(network, codes, node):
    """Return P(node | row) for each row."""
    return np.array([family_counts(network, [row], [1.0], [node]) for row in codes])
