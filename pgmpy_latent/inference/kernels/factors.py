"""Mixtures of factor analysers, compiled: densities of rows, expected sums over them, and regressions.

Matrices here are small and many, one for every model and component, so that NumPy would take longer to begin with each
than to work on it. Rows stand one beside the other: every inner loop is one over rows, or over neighbours in a matrix,
which the compiler turns into vector instructions.
"""

import math

import numpy as np
from numba import njit

from pgmpy_latent.inference.kernels.numbers import exponentials
from pgmpy_latent.inference.kernels.vectors import INNER

_HOW = {**INNER, "fastmath": {"reassoc", "contract"}}


@njit(**_HOW)
def _factorised(matrix, n):
    """Replace the lower half of a symmetric matrix by its Cholesky factor; return whether it is positive definite."""
    for i in range(n):
        for j in range(i):
            total = 0.0
            for a in range(j):
                total += matrix[i, a] * matrix[j, a]
            matrix[i, j] = (matrix[i, j] - total) / matrix[j, j]
        total = 0.0
        for a in range(i):
            total += matrix[i, a] * matrix[i, a]
        pivot = matrix[i, i] - total
        if not pivot > 0.0:
            return False
        matrix[i, i] = math.sqrt(pivot)
    return True


@njit(**_HOW)
def _inverted(factor, n, inverse):
    """Write the inverse of a lower triangular matrix; what is above the diagonal becomes zero."""
    for i in range(n):
        inverse[i, :n] = 0.0
        inverse[i, i] = 1.0
        for j in range(i):
            share = factor[i, j]
            for a in range(j + 1):
                inverse[i, a] -= share * inverse[j, a]
        share = 1.0 / factor[i, i]
        for a in range(i + 1):
            inverse[i, a] *= share


@njit(**_HOW)
def _view(loadings, noise, variances, matrix, inverse, scaled, projection, back):
    """Fill in how the attributes tell of the latents, given one component; return the logarithm of the normaliser.

    The smaller of two systems of equations is solved: one per latent (Woodbury), or one per attribute. It is NaN if
    the system is not positive definite.
    """
    attributes, latents = loadings.shape
    few_latents = latents < attributes
    inner = min(latents, attributes)
    for j in range(attributes):
        for a in range(latents):
            scaled[j, a] = loadings[j, a] / noise[j] if few_latents else loadings[j, a] * variances[a]
    matrix[:inner, :inner] = 0.0
    log_determinant = 0.0
    if few_latents:
        for j in range(attributes):
            log_determinant += math.log(noise[j])
            for a in range(latents):
                for b in range(a + 1):
                    matrix[a, b] += loadings[j, a] * scaled[j, b]
        for a in range(latents):
            log_determinant += math.log(variances[a])
            matrix[a, a] += 1.0 / variances[a]
    else:
        for j in range(attributes):
            for k in range(j + 1):
                total = 0.0
                for a in range(latents):
                    total += scaled[j, a] * loadings[k, a]
                matrix[j, k] = total
            matrix[j, j] += noise[j]
    if not _factorised(matrix, inner):
        return math.nan
    for i in range(inner):
        log_determinant += 2.0 * math.log(matrix[i, i])
    _inverted(matrix, inner, inverse)
    if few_latents:
        for j in range(attributes):
            for i in range(inner):
                total = 0.0
                for a in range(i + 1):
                    total += scaled[j, a] * inverse[i, a]
                projection[j, i] = total
        back[:] = inverse[:inner, :inner]
    else:
        back[:] = 0.0
        for i in range(inner):
            for j in range(i + 1):
                projection[j, i] = inverse[i, j]
                for a in range(latents):
                    back[i, a] += inverse[i, j] * scaled[j, a]
            for j in range(i + 1, attributes):
                projection[j, i] = 0.0
    return 0.5 * (log_determinant + attributes * math.log(2.0 * math.pi))


@njit(
    "boolean(float64[:, :, :, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], "
    "float64[:, :, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], float64[:, ::1])",
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract"},
    cache=True,
)
def views(loadings, offsets, noise, means, variances, projection, back, centre, log_normaliser):
    """Fill in what densities and posterior means of rows depend on, for every model and component, in one class.

    The latents' posterior mean of a row ``x`` is ``mean + (x - centre) @ projection @ back``. Their covariance is the
    variances less ``back.T @ back``, and the squared Mahalanobis distance the square of ``(x - centre) @ projection``;
    with fewer latents than attributes, ``back.T @ back``, and the distance under the noise alone less that square.

    Parameters
    ----------
    loadings : array, shape (models, components, attributes, latents)
    offsets, noise : arrays, shape (models, components, attributes)
    means, variances : arrays, shape (models, latents)
        Of the latents.
    projection : array, shape (models, components, attributes, smaller of attributes and latents)
    back : array, shape (models, components, smaller of attributes and latents, latents)
    centre : array, shape (models, components, attributes)
    log_normaliser : array, shape (models, components)

    Returns
    -------
    bool
        Whether all matrices were positive definite.
    """
    models, components, attributes, latents = loadings.shape
    inner = min(attributes, latents)
    matrix, inverse, scaled = np.empty((inner, inner)), np.empty((inner, inner)), np.empty((attributes, latents))
    for b in range(models):
        for k in range(components):
            log_normaliser[b, k] = _view(
                loadings[b, k], noise[b, k], variances[b], matrix, inverse, scaled,
                projection[b, k], back[b, k],
            )  # fmt: skip
            if math.isnan(log_normaliser[b, k]):
                return False
            for j in range(attributes):
                total = offsets[b, k, j]
                for a in range(latents):
                    total += loadings[b, k, j, a] * means[b, a]
                centre[b, k, j] = total
    return True


@njit(**_HOW)
def _look(values, n, projection, centre, noise, few_latents, log_constant, difference, white, logs):
    """Fill in whitened rows and their log densities in one component."""
    attributes, inner = projection.shape
    for row in range(n):
        logs[row] = 0.0
    for i in range(inner):
        for row in range(n):
            white[i, row] = 0.0
    for j in range(attributes):
        middle, precision = centre[j], 1.0 / noise[j] if few_latents else 0.0
        for row in range(n):
            difference[row] = values[j, row] - middle
            logs[row] += precision * difference[row] * difference[row]
        for i in range(inner if few_latents else 0):
            share = projection[j, i]
            for row in range(n):
                white[i, row] += share * difference[row]
        if not few_latents:  # the projection is triangular
            for i in range(j, inner):
                share = projection[j, i]
                for row in range(n):
                    white[i, row] += share * difference[row]
    sign = -1.0 if few_latents else 1.0
    for i in range(inner):
        for row in range(n):
            logs[row] += sign * white[i, row] * white[i, row]
    for row in range(n):
        logs[row] = log_constant - 0.5 * logs[row]


@njit(
    "void(float64[:, ::1], float64[:, :, :, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], boolean, "
    "float64[:, :, ::1])",
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract"},
    cache=True,
)
def log_densities(values, projection, centre, noise, log_constants, few_latents, logs):
    """Fill in log densities of rows for every model and component.

    Parameters
    ----------
    values : array, shape (attributes, rows)
    projection, centre
        As :func:`views` has them.
    noise : array, shape (models, components, attributes)
    log_constants : array, shape (models, components)
        What is added to all rows.
    few_latents : bool
        Whether there are fewer latents than attributes.
    logs : array, shape (models, components, rows)
    """
    models, components, _, inner = projection.shape
    n = values.shape[1]
    white, difference = np.empty((inner, n)), np.empty(n)
    for b in range(models):
        for k in range(components):
            _look(
                values, n, projection[b, k], centre[b, k], noise[b, k], few_latents, log_constants[b, k],
                difference, white, logs[b, k],
            )  # fmt: skip


@njit(**_HOW)
def _chosen(values, weights, some, some_weights):
    """Copy the rows of positive weight; return how many they are."""
    n = 0
    for row in range(len(weights)):
        if weights[row] > 0.0:
            some_weights[n] = weights[row]
            n += 1
    for j in range(values.shape[0]):
        at = 0
        for row in range(len(weights)):
            some[j, at] = values[j, row]
            at += 1 if weights[row] > 0.0 else 0
    return n


@njit(**_HOW)
def _shares(logs, n, top, sums, powers, factors, weights):
    """Replace log densities by weighted shares of the components; return the sum of log densities of all rows."""
    components = logs.shape[0]
    for row in range(n):
        top[row] = -logs[0, row]
        sums[row] = 0.0
    for k in range(1, components):
        for row in range(n):
            top[row] = min(top[row], -logs[k, row])
    for k in range(components):
        exponentials(logs[k], top, n, powers, factors)
        for row in range(n):
            sums[row] += logs[k, row]
    log_likelihood = 0.0
    for row in range(n):
        log_likelihood += weights[row] * (math.log(sums[row]) - top[row])
        sums[row] = weights[row] / sums[row]
    for k in range(components):
        for row in range(n):
            logs[k, row] *= sums[row]
    return log_likelihood


@njit(**_HOW)
def _add_up(
    values, n, shares, white, back, few_latents, mean, variances, weighted, second, half, moved,
    latents, products, cross,
):  # fmt: skip
    """Fill in expected sums over rows with the latents of one component; return its mass."""
    inner, n_latents = back.shape
    mass = 0.0
    for row in range(n):
        mass += shares[row]
    moved[:] = 0.0
    for i in range(inner):
        total = 0.0
        for row in range(n):
            weighted[i, row] = shares[row] * white[i, row]
            total += weighted[i, row]
        for a in range(n_latents):
            moved[a] += total * back[i, a]
        for h in range(i + 1):
            total = 0.0
            for row in range(n):
                total += weighted[i, row] * white[h, row]
            second[i, h] = total
            second[h, i] = total
        second[i, i] += mass if few_latents else -mass  # the posterior covariance of every row
    half[:inner] = 0.0
    for i in range(inner):
        for h in range(inner):
            share = second[i, h]
            for a in range(n_latents):
                half[i, a] += share * back[h, a]
    for a in range(n_latents):
        latents[a] = mass * mean[a] + moved[a]
        for b in range(a + 1):
            products[a, b] = mass * mean[a] * mean[b] + moved[a] * mean[b] + mean[a] * moved[b]
        if not few_latents:
            products[a, a] += mass * variances[a]
    for i in range(inner):
        for a in range(n_latents):
            share = back[i, a]
            for b in range(a + 1):
                products[a, b] += share * half[i, b]
    for a in range(n_latents):
        for b in range(a):
            products[b, a] = products[a, b]
    for j in range(values.shape[0]):
        first = 0.0
        for row in range(n):
            first += shares[row] * values[j, row]
        for a in range(n_latents):
            cross[j, a] = first * mean[a]
        for i in range(inner):
            total = 0.0
            for row in range(n):
                total += weighted[i, row] * values[j, row]
            for a in range(n_latents):
                cross[j, a] += total * back[i, a]
    return mass


@njit(
    "void(float64[:, ::1], float64[:, ::1], float64[:, :, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], "
    "float64[:, :, ::1], float64[:, ::1], boolean, float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], "
    "float64[:, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, :, :, ::1])",
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract"},
    cache=True,
)
def expected_sums(
    values, weights, projection, back, centre, noise, log_constants, few_latents, means, variances,
    log_likelihoods, masses, latents, products, sums, squares, cross,
):  # fmt: skip
    """Fill in log-likelihoods, and expected sums over the rows of a class, for every model and component.

    Parameters
    ----------
    values : array, shape (attributes, rows)
    weights : array, shape (models or 1, rows)
    projection, back, centre
        As :func:`views` has them.
    noise : array, shape (models, components, attributes)
    log_constants : array, shape (models, components)
        What is added to the log densities of all rows.
    few_latents : bool
        Whether there are fewer latents than attributes.
    means, variances : arrays, shape (models, latents)
        Of the latents.
    log_likelihoods : array, shape (models,)
    masses : array, shape (models, components)
    latents : array, shape (models, components, latents)
    products : array, shape (models, components, latents, latents)
    sums, squares : arrays, shape (models, components, attributes)
    cross : array, shape (models, components, attributes, latents)
    """
    models, components, attributes, inner = projection.shape
    n_rows, n_latents = values.shape[1], means.shape[1]
    some, some_weights = np.empty((attributes, n_rows)), np.empty(n_rows)
    white, weighted = np.empty((components, inner, n_rows)), np.empty((inner, n_rows))
    logs, difference, total = np.empty((components, n_rows)), np.empty(n_rows), np.empty(n_rows)
    powers = np.empty(n_rows, np.int64)
    factors = powers.view(np.float64)
    second, half, moved = np.empty((inner, inner)), np.empty((inner, n_latents)), np.empty(n_latents)
    n = 0
    for b in range(models):
        if b == 0 or len(weights) > 1:
            n = _chosen(values, weights[min(b, len(weights) - 1)], some, some_weights)
        for k in range(components):
            _look(
                some, n, projection[b, k], centre[b, k], noise[b, k], few_latents, log_constants[b, k],
                difference, white[k], logs[k],
            )  # fmt: skip
        log_likelihoods[b] = _shares(logs, n, difference, total, powers, factors, some_weights)
        for k in range(components):
            masses[b, k] = _add_up(
                some, n, logs[k], white[k], back[b, k], few_latents, means[b], variances[b], weighted, second, half,
                moved, latents[b, k], products[b, k], cross[b, k],
            )  # fmt: skip
            for j in range(attributes):
                first, square = 0.0, 0.0
                for row in range(n):
                    first += logs[k, row] * some[j, row]
                    square += logs[k, row] * some[j, row] * some[j, row]
                sums[b, k, j] = first
                squares[b, k, j] = square


#: Pivots of a regression are at least this share of the diagonal: less is rounding.
LEAST_PIVOT = 1e-14


@njit(**_HOW)
def _factorised_anyway(matrix, n):
    """Replace the lower half of a matrix that is positive semidefinite, but for rounding, by its Cholesky factor."""
    for i in range(n):
        for j in range(i):
            total = 0.0
            for a in range(j):
                total += matrix[i, a] * matrix[j, a]
            matrix[i, j] = (matrix[i, j] - total) / matrix[j, j]
        total = 0.0
        for a in range(i):
            total += matrix[i, a] * matrix[i, a]
        matrix[i, i] = math.sqrt(max(matrix[i, i] - total, LEAST_PIVOT * matrix[i, i], 1e-300))


@njit(**_HOW)
def _solve(factor, n, solution):
    """Replace a vector by the solution, given the Cholesky factor of the system."""
    for i in range(n):
        total = 0.0
        for a in range(i):
            total += factor[i, a] * solution[a]
        solution[i] = (solution[i] - total) / factor[i, i]
    for i in range(n - 1, -1, -1):
        solution[i] /= factor[i, i]
        share = solution[i]
        for a in range(i):
            solution[a] -= share * factor[i, a]


@njit(
    "void(float64[:, :, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, :, :, ::1], "
    "boolean[:, :, :, ::1], boolean, float64[:, :, :, ::1], float64[:, :, ::1])",
    nogil=True,
    error_model="numpy",
    fastmath={"reassoc", "contract"},
    cache=True,
)
def regressions(products, cross, squares, inertia, before, free, all_free, coefficients, residuals):
    """Regress attributes on latents in every model and component, held back a little towards old coefficients.

    Parameters
    ----------
    products : array, shape (models, components, size, size)
        Sums of products of the regressors.
    cross : array, shape (models, components, attributes, size)
        Sums of products with the attributes.
    squares : array, shape (models, components, attributes)
        Sums of squares of the attributes.
    inertia : array, shape (models, components, size)
        Weight of the old coefficients.
    before : array like ``cross``
        The old coefficients.
    free : bool array like ``cross``
        Coefficients that may differ from zero; of no concern if all are free.
    all_free : bool
    coefficients : array like ``cross``
        The result.
    residuals : array like ``squares``
        Sums of squares of the residuals.
    """
    models, components, attributes, size = cross.shape
    factor, solution, chosen = np.empty((size, size)), np.empty(size), np.arange(size)
    for b in range(models):
        for k in range(components):
            for j in range(attributes):
                n = size
                if not all_free:
                    n = 0
                    for a in range(size):
                        if free[b, k, j, a]:
                            chosen[n] = a
                            n += 1
                if j == 0 or not all_free:
                    for i in range(n):
                        for h in range(i + 1):
                            factor[i, h] = products[b, k, chosen[i], chosen[h]]
                        factor[i, i] += inertia[b, k, chosen[i]]
                    _factorised_anyway(factor, n)
                for i in range(n):
                    a = chosen[i]
                    solution[i] = cross[b, k, j, a] + inertia[b, k, a] * before[b, k, j, a]
                _solve(factor, n, solution)
                for a in range(size):
                    coefficients[b, k, j, a] = 0.0
                for i in range(n):
                    coefficients[b, k, j, chosen[i]] = solution[i]
                residual = squares[b, k, j]  # the equations that were solved say what the quadratic term is
                for a in range(size):
                    held = inertia[b, k, a] * (before[b, k, j, a] - coefficients[b, k, j, a])
                    residual += coefficients[b, k, j, a] * (held - cross[b, k, j, a])
                residuals[b, k, j] = residual
