"""Relations of classes with other columns by their definitions: one likelihood, maximised by a general optimiser.

For latent class models of columns with codes, without missing cells.
"""

import numpy as np
from scipy.optimize import minimize


def class_likelihoods(profiles, codes):
    """Return P(row | class), given a list of tables [class, category] and codes (n_rows, n_columns)."""
    found = np.ones((len(codes), len(profiles[0])))
    for table, column in zip(profiles, codes.T, strict=True):
        found *= table[:, column].T
    return found


def logit_shares(matrix, beta):
    """Return P(class | z) for coefficients (n_classes - 1, n_terms); the first class is the reference."""
    scores = np.concatenate([np.zeros((len(matrix), 1)), matrix @ beta.T], axis=1)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def covariate_objective(likelihoods, matrix, weights):
    """Return the function of flat coefficients that two steps and three steps with ML maximise."""

    def objective(flat):
        shares = logit_shares(matrix, flat.reshape(likelihoods.shape[1] - 1, -1))
        return float(weights @ np.log((shares * likelihoods).sum(axis=1)))

    return objective


def maximum(objective, start):
    """Return where a function is largest."""
    found = minimize(lambda at: -objective(at), start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return minimize(lambda at: -objective(at), found.x, method="Nelder-Mead",
                    options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 8000}).x  # fmt: skip


def one_step_objective(codes, cards, matrix, weights, n_classes):
    """Return the function of coefficients and logits of all tables, flat, that one step maximises."""
    n_terms = matrix.shape[1]

    def objective(flat):
        beta = flat[: (n_classes - 1) * n_terms].reshape(n_classes - 1, n_terms)
        at, profiles = (n_classes - 1) * n_terms, []
        for card in cards:
            size = n_classes * (card - 1)
            scores = np.concatenate([np.zeros((n_classes, 1)), flat[at : at + size].reshape(n_classes, -1)], axis=1)
            odds = np.exp(scores)
            profiles.append(odds / odds.sum(axis=1, keepdims=True))
            at += size
        return float(weights @ np.log((logit_shares(matrix, beta) * class_likelihoods(profiles, codes)).sum(axis=1)))

    return objective


def flat_logits(beta, profiles):
    """Return the parameters of :func:`one_step_objective`."""
    return np.concatenate([beta.ravel(), *[np.log(table[:, 1:] / table[:, :1]).ravel() for table in profiles]])


def hessian(function, at, step=1e-4):
    """Return second derivatives by differences."""
    n = len(at)
    found = np.empty((n, n))
    units = step * np.eye(n)
    for i in range(n):
        for j in range(i + 1):
            four = [function(at + s * units[i] + t * units[j]) for s in (1, -1) for t in (1, -1)]
            found[i, j] = found[j, i] = (four[0] - four[1] - four[2] + four[3]) / (4 * step**2)
    return found
