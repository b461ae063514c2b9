"""Latent classification models as arrays: densities of rows, and posteriors of the hidden variables.

A row of attributes belongs to a class ``y`` and a component ``m``. Hidden Gaussians ``z`` have mean ``μ_y`` and
diagonal variances ``γ_y``; the attributes are ``L_m z + η_m`` plus noise with diagonal variances ``θ_m``. All arrays
have a leading axis of models, which are worked on side by side: restarts, folds, or both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import ModuleType

import numpy as np

from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.runtime import parallel

LOG_2PI = float(np.log(2 * np.pi))
#: Groups of fewer rows than this that miss the same attributes are small; from so many on, they are joined.
FEW_ROWS, MANY_GROUPS = 16, 4
#: Numbers in the matrices of rows that are worked on at a time.
RAGGED_CHUNK = 500_000


@cache
def kernels() -> ModuleType:
    """Return the compiled code; the compiler loads at first use, and would not survive Ctrl-C halfway."""
    with parallel.uninterrupted(heed=True):
        from pgmpy_latent.inference.kernels import factors

        return factors


def own(array: np.ndarray) -> np.ndarray:
    """Return an array as compiled code takes it: in one piece of memory, which may be written to."""
    return np.require(np.asarray(array), requirements=["C", "W"])


@held_by_checkpoints("parameters of classifiers")
@dataclass(frozen=True)
class Parameters:
    """Parameters of several models of equal shape.

    Attributes
    ----------
    log_weights : array, shape (models, classes, components)
        Logarithms of P(component | class).
    means, variances : arrays, shape (models, classes, latents)
        Of the hidden Gaussians in each class.
    loadings : array, shape (models, components, attributes, latents)
    offsets, noise : arrays, shape (models, components, attributes)
        The noise is a variance.
    """

    log_weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    loadings: np.ndarray
    offsets: np.ndarray
    noise: np.ndarray

    def take(self, which) -> Parameters:
        """Return some of the models."""
        return Parameters(*(getattr(self, field.name)[which] for field in fields(self)))

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Numbers of models, classes, components, attributes and latents."""
        return (*self.log_weights.shape, *self.loadings.shape[2:])


def joined(parts: Sequence[Parameters]) -> Parameters:
    """Return the models of several batches as one batch."""
    return Parameters(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Parameters)))


@dataclass(frozen=True)
class Rows:
    """Rows that miss the same attributes.

    Attributes
    ----------
    values : array, shape (n_seen, n_rows)
        The known attributes, attribute by attribute.
    seen, unseen : int arrays
        Which attributes are known, and which are missing.
    at : int array, shape (n_rows,)
        Positions of the rows in the table.
    """

    values: np.ndarray
    seen: np.ndarray
    unseen: np.ndarray
    at: np.ndarray


@dataclass(frozen=True)
class RaggedRows:
    """Rows that miss different attributes, and would make many small groups; they are worked on one by one, at once.

    Attributes
    ----------
    values : array, shape (n_rows, n_attributes)
        The attributes; zero where missing.
    is_known : array, shape (n_rows, n_attributes)
        One where an attribute is known, zero where it is missing.
    at : int array, shape (n_rows,)
        Positions of the rows in the table.
    groups : list of Rows
        The same rows, in groups after all: where there are more latents than attributes that is cheaper.
    """

    values: np.ndarray
    is_known: np.ndarray
    at: np.ndarray
    groups: Sequence[Rows]

    def parts(self, model: Parameters) -> list[np.ndarray]:
        """Return positions of rows that are worked on together, so many that their matrices take little memory."""
        models, _, components, _, latents = model.shape
        size = max(1, int(RAGGED_CHUNK / (models * components * latents**2)))
        return [np.arange(begin, min(begin + size, len(self.at))) for begin in range(0, len(self.at), size)]


def grouped(table: np.ndarray, at: np.ndarray | None = None) -> list[Rows | RaggedRows]:
    """Return the rows of a table (or those at some places of it), in groups that miss the same attributes.

    Where there are many small groups, their rows are kept together as :class:`RaggedRows`.

    Examples
    --------
    >>> [group.at.tolist() for group in grouped(np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, 4.0]]))]
    [[0, 2], [1]]
    """
    groups = _in_groups(table, at)
    small = [group for group in groups if len(group.at) < FEW_ROWS]
    if len(small) < MANY_GROUPS:
        return [*groups]
    together = np.sort(np.concatenate([group.at for group in small]))
    values = table[together]
    is_known = ~np.isnan(values)
    ragged = RaggedRows(np.where(is_known, values, 0.0), is_known.astype(float), together, small)
    return [*(group for group in groups if len(group.at) >= FEW_ROWS), ragged]


def _in_groups(table: np.ndarray, at: np.ndarray | None) -> list[Rows]:
    at = np.arange(len(table)) if at is None else at
    missing = np.isnan(table[at])
    patterns, pattern_of_row = np.unique(missing, axis=0, return_inverse=True)
    groups = []
    for number, pattern in enumerate(patterns):
        here = at[pattern_of_row.ravel() == number]
        values = np.ascontiguousarray(table[here][:, ~pattern].T)
        groups.append(Rows(values, np.flatnonzero(~pattern), np.flatnonzero(pattern), here))
    return groups


def transposed(matrices: np.ndarray) -> np.ndarray:
    """Return matrices transposed, whatever axes come before."""
    return np.swapaxes(matrices, -1, -2)


@dataclass(frozen=True)
class _Lens:
    """What densities and posterior means of rows depend on: arrays that :func:`kernels` have filled in."""

    projection: np.ndarray
    back: np.ndarray
    centre: np.ndarray
    log_normaliser: np.ndarray
    noise: np.ndarray

    @property
    def few_latents(self) -> bool:
        return self.back.shape[-1] < self.centre.shape[-1]


def _lens(model: Parameters, label: int, seen: np.ndarray) -> _Lens:
    """Return how some of the attributes tell of the latents in a class."""
    loadings, offsets, noise = (own(array[:, :, seen]) for array in (model.loadings, model.offsets, model.noise))
    means, variances = (own(array[:, label]) for array in (model.means, model.variances))
    models, components, attributes, latents = loadings.shape
    inner = min(attributes, latents)
    projection = np.empty((models, components, attributes, inner))
    back = np.empty((models, components, inner, latents))
    centre, log_normaliser = np.empty((models, components, attributes)), np.empty((models, components))
    filled = (projection, back, centre, log_normaliser)
    if not kernels().views(loadings, offsets, noise, means, variances, *filled):
        raise np.linalg.LinAlgError("a covariance matrix of the attributes is not positive definite")
    return _Lens(*filled, noise)


def component_log_densities(model: Parameters, label: int, rows: Rows | RaggedRows) -> np.ndarray:
    """Return log P(component, seen attributes | class) of every row: (models, components, rows)."""
    log_weights = model.log_weights[:, label]
    if isinstance(rows, RaggedRows):
        logs = np.concatenate([one.logs for _, one in ragged_posteriors(model, label, rows, covariance=False)], axis=-1)
        return logs + log_weights[..., None]
    return _log_densities_through(_lens(model, label, rows.seen), log_weights, rows)


def _log_densities_through(lens: _Lens, log_weights: np.ndarray, rows: Rows) -> np.ndarray:
    """Return log P(component, seen attributes | class) of every row: (models, components, rows)."""
    logs = np.empty((*log_weights.shape, len(rows.at)))
    constants = log_weights - lens.log_normaliser
    kernels().log_densities(rows.values, lens.projection, lens.centre, lens.noise, constants, lens.few_latents, logs)
    return logs


def shares_and_sums(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(component | row), and the logarithm of the sum over components: (models, rows)."""
    top = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - top)
    sums = shares.sum(axis=1, keepdims=True)
    return shares / sums, (top + np.log(sums))[:, 0]


def log_densities(model: Parameters, groups: Sequence[Rows | RaggedRows], n_rows: int) -> np.ndarray:
    """Return log p(seen attributes | class) of every row: (models, rows, classes)."""
    models, classes = model.shape[:2]
    logs = np.empty((models, n_rows, classes))
    for rows in suitable(groups, model):
        for label in range(classes):
            _, sums = shares_and_sums(component_log_densities(model, label, rows))
            logs[:, rows.at, label] = sums
    return logs


def latent_means(model: Parameters, label: int, rows: Rows | RaggedRows) -> np.ndarray:
    """Return the posterior means of the latents given class and seen attributes: (models, rows, latents)."""
    if isinstance(rows, RaggedRows):
        parts = []
        for _, found in ragged_posteriors(model, label, rows, covariance=False):
            shares, _ = shares_and_sums(found.logs + model.log_weights[:, label, :, None])
            parts.append(np.einsum("bkn,bknq->bnq", shares, found.means))
        return np.concatenate(parts, axis=1)
    lens = _lens(model, label, rows.seen)
    shares, _ = shares_and_sums(_log_densities_through(lens, model.log_weights[:, label], rows))
    white = np.empty((*shares.shape, lens.projection.shape[-1]))
    for at in np.ndindex(*shares.shape[:2]):  # one component at a time: its centred rows are as large as the table
        white[at] = (rows.values.T - lens.centre[at]) @ lens.projection[at]
    return model.means[:, label, None, :] + np.einsum("bkn,bkni,bkij->bnj", shares, white, lens.back, optimize=True)


@dataclass(frozen=True)
class Moments:
    """Expected sums over rows, weighted by each component's share in each row; missing attributes count as expected.

    Attributes
    ----------
    mass : array, shape (models, components)
    latents : array, shape (models, components, latents)
    latent_products : array, shape (models, components, latents, latents)
    attributes, attribute_squares : arrays, shape (models, components, attributes)
    cross_products : array, shape (models, components, attributes, latents)
    """

    mass: np.ndarray
    latents: np.ndarray
    latent_products: np.ndarray
    attributes: np.ndarray
    attribute_squares: np.ndarray
    cross_products: np.ndarray

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __mul__(self, factor: float) -> Moments:
        return Moments(*(getattr(self, field.name) * factor for field in fields(self)))


def moments(model: Parameters, label: int, rows: Rows | RaggedRows, weights: np.ndarray) -> tuple[np.ndarray, Moments]:
    """Return log-likelihoods and expected sums of rows of one class.

    Parameters
    ----------
    model : Parameters
    label : int
        Number of the class.
    rows : Rows or RaggedRows
    weights : array, shape (models or 1, n_rows)
    """
    if isinstance(rows, RaggedRows):
        return _ragged_moments(model, label, rows, weights)
    lens = _lens(model, label, rows.seen)
    means, variances = (own(array[:, label]) for array in (model.means, model.variances))
    models, components, attributes, latents = (*lens.centre.shape, means.shape[-1])
    shapes = [(), (latents,), (latents, latents), (attributes,), (attributes,), (attributes, latents)]
    log_likelihoods, sums = np.empty(models), [np.empty((models, components, *shape)) for shape in shapes]
    kernels().expected_sums(
        rows.values, own(weights), lens.projection, lens.back, lens.centre, lens.noise,
        model.log_weights[:, label] - lens.log_normaliser, lens.few_latents, means, variances, log_likelihoods, *sums,
    )  # fmt: skip
    return log_likelihoods, _completed(model, rows, *sums)


def _completed(model, rows, mass, latents, products, seen_sums, seen_squares, seen_cross) -> Moments:
    """Return the sums, completed by the expectations of missing attributes given the latents."""
    if not len(rows.unseen):
        return Moments(mass, latents, products, seen_sums, seen_squares, seen_cross)
    sums, squares = np.empty_like(model.offsets), np.empty_like(model.offsets)
    cross = np.empty_like(model.loadings)
    sums[..., rows.seen], squares[..., rows.seen], cross[..., rows.seen, :] = seen_sums, seen_squares, seen_cross
    loadings, offsets = model.loadings[..., rows.unseen, :], model.offsets[..., rows.unseen]
    explained = (loadings @ latents[..., None])[..., 0]
    sums[..., rows.unseen] = explained + mass[..., None] * offsets
    cross[..., rows.unseen, :] = loadings @ products + offsets[..., None] * latents[..., None, :]
    squares[..., rows.unseen] = (
        ((loadings @ products) * loadings).sum(axis=-1)
        + 2.0 * offsets * explained
        + mass[..., None] * (offsets * offsets + model.noise[..., rows.unseen])
    )
    return Moments(mass, latents, products, sums, squares, cross)


# Rows that miss different attributes -----------------------------------------------------------------


def suitable(groups: Sequence[Rows | RaggedRows], model: Parameters) -> list[Rows | RaggedRows]:
    """Return groups in the form that is cheaper for a model: rows one by one only where latents are not too many."""
    _, _, _, attributes, latents = model.shape
    if latents <= 2 * attributes:
        return list(groups)
    return [group for rows in groups for group in (rows.groups if isinstance(rows, RaggedRows) else [rows])]


@dataclass(frozen=True)
class _RowPosteriors:
    """Log densities of single rows (models, components, rows), and posterior means and covariances of the latents."""

    logs: np.ndarray
    means: np.ndarray
    covariances: np.ndarray | None


def _log_diagonal(factor: np.ndarray) -> np.ndarray:
    return np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)


def ragged_posteriors(
    model: Parameters, label: int, rows: RaggedRows, *, covariance: bool = True
) -> Iterator[tuple[np.ndarray, _RowPosteriors]]:
    """Yield positions of rows and their posteriors in a class, some rows at a time.

    A missing attribute has precision zero. With ``P`` the precisions of known attributes, the posterior precision of
    the latents is ``A = L' P L + diag(1 / γ)`` and their mean ``A⁻¹ (L' P (x - η) + μ / γ)``.
    """
    precision = 1.0 / model.noise
    scaled = model.loadings * precision[..., None]
    outer = (scaled[..., :, None] * model.loadings[..., None, :]).reshape(*precision.shape, -1)
    prior_precision = 1.0 / model.variances[:, label, None, None, :]
    mean, variances = model.means[:, label], model.variances[:, label]
    pull = mean[:, None, None, :] * prior_precision
    at, latents = np.arange(model.shape[-1]), model.shape[-1]
    constant = np.log(variances).sum(axis=-1) + (mean * mean / variances).sum(axis=-1)
    for part in rows.parts(model):
        is_known, values = rows.is_known[part], rows.values[part]
        system = (is_known @ outer).reshape(*precision.shape[:2], len(part), latents, latents)
        system[..., at, at] += prior_precision
        factor = np.linalg.cholesky(system)
        inverse = np.linalg.inv(factor)
        residual = (values - model.offsets[:, :, None, :]) * is_known
        target = residual @ scaled + pull
        white = (inverse @ target[..., None])[..., 0]
        distance = np.einsum("bkni,bki->bkn", residual * residual, precision) - (white * white).sum(axis=-1)
        log_determinant = np.log(model.noise) @ is_known.T + 2.0 * _log_diagonal(factor)
        logs = -0.5 * (distance + log_determinant + constant[:, None, None] + is_known.sum(axis=1) * LOG_2PI)
        means = (transposed(inverse) @ white[..., None])[..., 0]
        yield part, _RowPosteriors(logs, means, transposed(inverse) @ inverse if covariance else None)


def _ragged_moments(model: Parameters, label: int, rows: RaggedRows, weights: np.ndarray) -> tuple[np.ndarray, Moments]:
    log_likelihood = np.zeros(model.shape[0])
    total: Moments | None = None
    for part, posteriors in ragged_posteriors(model, label, rows):
        shares, sums = shares_and_sums(posteriors.logs + model.log_weights[:, label, :, None])
        shares *= weights[:, None, part]
        log_likelihood += (sums * weights[:, part]).sum(axis=-1)
        of_part = _summed(model, shares, posteriors, rows.values[part], rows.is_known[part])
        total = of_part if total is None else total + of_part
    if total is None:
        raise ValueError(f"class {label} has no rows")
    return log_likelihood, total


def _summed(model: Parameters, shares: np.ndarray, posteriors: _RowPosteriors, values, is_known) -> Moments:
    """Return the expected sums over single rows; missing attributes count as their expectations given the latents."""
    means, latents = posteriors.means, model.shape[-1]
    products = posteriors.covariances + means[..., :, None] * means[..., None, :]
    flat = products.reshape(*products.shape[:3], -1)
    mass = shares.sum(axis=-1)
    weighted = shares[..., None] * means
    absent = 1.0 - is_known
    without = shares @ absent  # by attribute, and so on below: the mass of the rows that miss it
    latents_without = transposed(shares[..., None] * absent) @ means
    products_without = (transposed(shares[..., None] * absent) @ flat).reshape(*without.shape, latents, latents)
    loadings, offsets = model.loadings, model.offsets
    explained = (loadings * latents_without).sum(axis=-1)
    turned = (products_without @ loadings[..., None])[..., 0]
    return Moments(
        mass,
        weighted.sum(axis=2),
        (shares[..., None, :] @ flat)[..., 0, :].reshape(*mass.shape, latents, latents),
        shares @ values + explained + without * offsets,
        shares @ (values * values)
        + (turned * loadings).sum(axis=-1)
        + 2.0 * offsets * explained
        + without * (offsets * offsets + model.noise),
        values.T @ weighted + turned + offsets[..., None] * latents_without,
    )
