"""Slow, obvious versions of what trees with numeric columns mean: densities of SciPy, hidden states enumerated."""

import numpy as np
from scipy import stats

from pgmpy_latent.model.emissions import emissions_of
from tests.support import reference


def log_density(emission, table, value):
    """Return the logarithm of the density of one value given every state of the parent."""
    if value is None:
        return np.zeros(len(table))
    found = emission.parameters(table)
    if emission.is_gaussian:
        return stats.norm.logpdf(value, found.mean, np.sqrt(found.variance))
    if found.dispersion is None:
        return stats.poisson.logpmf(value, found.mean)
    size = 1 / found.dispersion
    return stats.nbinom.logpmf(value, size, size / (size + found.mean))


def without_numbers(tree):
    """Return parents and tables of the nodes that have states, and the old positions of these nodes."""
    numeric = emissions_of(tree)
    kept = [node for node in range(tree.n_nodes) if node not in numeric]
    parent = [kept.index(tree.parent[node]) if tree.parent[node] >= 0 else -1 for node in kept]
    return parent, [tree.tables[node] for node in kept], kept


def log_joints(tree, cells):
    """Return, for every row, the joint states of all nodes with states and the logarithms of their densities."""
    parent, tables, kept = without_numbers(tree)
    states = reference.joint_states([table.shape[1] for table in tables])
    n_rows = len(next(iter(cells.values())))
    rows = []
    for at in range(n_rows):
        with np.errstate(divide="ignore"):
            logs = np.log(reference.joint_probabilities(parent, tables, states))
        for place, node in enumerate(kept):
            cell = cells[tree.names[node]][at] if not tree.latent[node] else None
            if cell is not None:
                code = tree.state_names[node].index(cell)
                logs = np.where(states[:, place] == code, logs, -np.inf)
        for node, emission in emissions_of(tree).items():
            own = log_density(emission, tree.tables[node], cells[tree.names[node]][at])
            logs = logs + own[states[:, kept.index(tree.parent[node])]]
        rows.append(logs)
    return states, kept, rows


def log_likelihoods(tree, cells):
    """Return the logarithm of the density of every row."""
    _, _, rows = log_joints(tree, cells)
    return np.array([np.logaddexp.reduce(logs) for logs in rows])


def posteriors(tree, cells, name):
    """Return P(node | row) of a node with states."""
    states, kept, rows = log_joints(tree, cells)
    place = kept.index(tree.index(name))
    shares = []
    for logs in rows:
        weights = np.exp(logs - np.logaddexp.reduce(logs))
        shares.append(np.bincount(states[:, place], weights, minlength=int(tree.cards[tree.index(name)])))
    return np.array(shares)
