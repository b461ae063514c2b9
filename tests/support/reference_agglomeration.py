"""Slow, obvious versions of what the package computes by agglomeration: definitions written out, with full tables."""

from itertools import combinations

import numpy as np
from scipy.special import gammaln


def family_table(codes, weights, cards, parents, node):
    """Return the summed weights of the rows in every entry of a node's table; rows that miss a cell are left out."""
    family = [*parents[node], node]
    counts = np.zeros([int(cards[member]) for member in family])
    for row, weight in zip(codes, weights, strict=True):
        cells = tuple(int(row[member]) for member in family)
        if min(cells) >= 0:
            counts[cells] += weight
    return counts.reshape(-1, int(cards[node]))


def family_score(counts, total, method, prior):
    """Return the score of a table of counts: a row per combination of the parents, a column per state."""
    if method == "bde":
        alpha = np.full(counts.shape, prior)
        rows = gammaln(alpha.sum(axis=1)) - gammaln((alpha + counts).sum(axis=1))
        return rows.sum() + (gammaln(alpha + counts) - gammaln(alpha)).sum()
    sums = counts.sum(axis=1, keepdims=True) * np.ones_like(counts)
    seen = counts > 0
    log_likelihood = (counts[seen] * np.log(counts[seen] / sums[seen])).sum()
    return log_likelihood - counts.shape[0] * (counts.shape[1] - 1) / 2 * np.log(total)


def families_with(parents, nodes):
    """Return the nodes whose families have one of the given nodes in them."""
    return [at for at, above in enumerate(parents) if set(nodes) & {at, *above}]


def completed_score(codes, weights, cards, parents, nodes, method, prior):
    """Return the score of the families of some nodes in a table that says their states."""
    tables = [family_table(codes, weights, cards, parents, at) for at in families_with(parents, nodes)]
    return sum(family_score(counts, sum(weights), method, prior) for counts in tables)


def score_of_states(problem, states, n_states, method, prior):
    """Return the score of the families of a node if it has the given states; problem is (codes, ..., node)."""
    codes, weights, cards, parents, node = problem
    codes, cards = np.array(codes), np.array(cards)
    codes[:, node], cards[node] = states, n_states
    return completed_score(codes, weights, cards, parents, [node], method, prior)


def blanket(parents, node):
    """Return parents, children and other parents of children, in node order."""
    linked = {member for at in families_with(parents, [node]) for member in (at, *parents[at])}
    return sorted(linked - {node})


def first_states(problem):
    """Return, for every row, the position of its assignment of the blanket among the sorted distinct ones; and them."""
    codes, _, _, parents, node = problem
    rows = [tuple(int(row[other]) for other in blanket(parents, node)) for row in codes]
    kinds = sorted(set(rows))
    return np.array([kinds.index(row) for row in rows]), kinds


def merged_scores(problem, labels, method, prior):
    """Return {(lower, higher): score} of every possible merge of the states that labels name, from scratch."""
    present = sorted(set(labels.tolist()))
    scores = {}
    for kept, gone in combinations(present, 2):
        together = np.where(labels == gone, kept, labels)
        states = np.unique(together, return_inverse=True)[1]
        scores[kept, gone] = score_of_states(problem, states, len(present) - 1, method, prior)
    return scores


def agglomerate(problem, method, prior):
    """Return the best merge at every step, the first of equal ones, and all scores; every merge is tried in full."""
    labels, kinds = first_states(problem)
    merges, scores = [], [score_of_states(problem, labels, len(kinds), method, prior)]
    for _ in range(len(kinds) - 1):
        tried = merged_scores(problem, labels, method, prior)
        kept, gone = max(tried, key=tried.get)  # the first of equal ones: they are in lexicographic order
        merges.append((kept, gone))
        scores.append(tried[kept, gone])
        labels = np.where(labels == gone, kept, labels)
    return merges, np.array(scores)


def partitions(n):
    """Return all ways to put n things into groups: for each, the number of the group of every thing."""
    if n == 0:
        return [()]
    return [(*some, group) for some in partitions(n - 1) for group in range(max(some, default=-1) + 2)]


def score_of_partition(problem, groups, method, prior):
    """Return the score if assignments of the blanket in one group are one state."""
    first, _ = first_states(problem)
    return score_of_states(problem, np.asarray(groups)[first], max(groups) + 1, method, prior)


def best_scores(problem, method, prior):
    """Return {number of states: highest score of all partitions of the assignments of the blanket}."""
    best = {}
    for groups in partitions(len(first_states(problem)[1])):
        score = score_of_partition(problem, groups, method, prior)
        best[max(groups) + 1] = max(score, best.get(max(groups) + 1, -np.inf))
    return best
