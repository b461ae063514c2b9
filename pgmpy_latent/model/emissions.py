"""Numeric columns in trees: what the table of such a column means, and the densities of its values.

A table of probabilities says how often a column has each of its states, given the state of its parent. A numeric column
has *features* in the place of states: functions of a value that are at least zero and sum to one. Its table holds their
mean given the state of the parent, so that its rows sum to one as well. The features of a Gaussian column are affine in
the value and in its square, so that their means say mean and variance; and as the mean of a mixture is the mixture of
the means, whatever adds up or averages tables (EM, merging states, changing the root) is right for them as it stands.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from scipy.special import gammaln

from pgmpy_latent.runtime.lossless_json import register

if TYPE_CHECKING:
    import pandas as pd

    from pgmpy_latent.model.tree import DiscreteModel

#: Kinds of numeric columns, in the order of the numbers that compiled code knows them by.
NumericKind = Literal["gaussian", "shared_gaussian", "poisson", "negative_binomial"]
NUMERIC_KINDS: tuple[NumericKind, ...] = get_args(NumericKind)
#: Names of the features of every kind: one parameter per state of the parent less than there are features.
FEATURES = {
    "gaussian": ("rest", "mean", "square"),
    "shared_gaussian": ("rest", "mean", "square"),
    "poisson": ("rest", "mean"),
    "negative_binomial": ("rest", "mean", "dispersion"),
}
#: Least variance of a Gaussian column given a state, as a share of the column's variance: for columns of exact values,
#: and at most, where values are rounded so much that their rounding has a larger variance.
FLOOR, LARGEST_FLOOR = 1e-3, 1e-2
#: Least mean of a count given a state, as a share of the largest count: no state rules a count out.
LEAST_RATE = 1e-9
#: Range of the dispersion of a negative binomial column: the least is a Poisson distribution to eight digits.
LEAST_DISPERSION, LARGEST_DISPERSION = 1e-8, 1e4


class Parameters(NamedTuple):
    """Mean and variance of a column given every state, in its own units; and the dispersion of negative binomials.

    A negative binomial with mean ``m`` and dispersion ``a`` has variance ``m + a m**2``.
    """

    mean: np.ndarray
    variance: np.ndarray
    dispersion: np.ndarray | None


@dataclass(frozen=True)
class Emission:
    """How a numeric column depends on its parent, and the units that EM computes in.

    Attributes
    ----------
    kind : {"gaussian", "shared_gaussian", "poisson", "negative_binomial"}
    centre, scale : float
        Of a Gaussian column, its mean and standard deviation: EM sees ``(value - centre) / scale``. 0 and 1 of counts.
    largest : float
        Largest absolute value in these units; the features of values up to here are at least zero.
    floor : float
        Least variance in these units.

    Examples
    --------
    >>> height = Emission("gaussian", 170.0, 10.0, 3.0, 1e-3)
    >>> height.features_of(np.array([180.0])).round(3).tolist()
    [[0.611, 0.333, 0.056]]
    >>> height.parameters(height.table([160.0, 180.0], [25.0, 36.0])).variance.round(9).tolist()
    [25.0, 36.0]
    """

    kind: NumericKind
    centre: float
    scale: float
    largest: float
    floor: float

    @property
    def is_gaussian(self) -> bool:
        """Whether values are Gaussian given the parent."""
        return self.kind in ("gaussian", "shared_gaussian")

    @property
    def is_shared(self) -> bool:
        """Whether the variance is the same in all states of the parent."""
        return self.kind == "shared_gaussian"

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features, in the place of states."""
        return tuple(Feature(self, name) for name in FEATURES[self.kind])

    def n_parameters(self, n_rows: int) -> int:
        """Return the number of free parameters, given the number of states of the parent."""
        return n_rows + 1 if self.is_shared else n_rows * (len(FEATURES[self.kind]) - 1)

    def standardised(self, values: np.ndarray) -> np.ndarray:
        """Return values in the units of EM."""
        return (np.asarray(values, np.float64) - self.centre) / self.scale

    def features_of(self, values: np.ndarray) -> np.ndarray:
        """Return the features of values, (values, features); NaN where a value is missing.

        The dispersion of a negative binomial is no mean of anything: its feature of a value is that of a dispersion of
        one, which only starts of EM make use of.
        """
        numbers = self.standardised(values)
        if self.is_gaussian:
            mean, square = (1 + numbers / self.largest) / 4, numbers**2 / (2 * self.largest**2)
            return np.stack([1 - mean - square, mean, square], axis=-1)
        if self.kind == "poisson":
            mean = numbers / self.largest
            return np.stack([1 - mean, mean], axis=-1)
        mean = numbers / (2 * self.largest)
        return np.stack([0.75 - mean, mean, np.where(np.isnan(mean), np.nan, 0.25)], axis=-1)

    def table(self, mean, variance=None, dispersion=None) -> np.ndarray:
        """Return the table of some parameters, given in the units of the column."""
        mean = self.standardised(np.asarray(mean, np.float64))
        if self.is_gaussian:
            square = mean**2 + np.maximum(np.asarray(variance, np.float64) / self.scale**2, self.floor)
            first, second = (1 + mean / self.largest) / 4, square / (2 * self.largest**2)
            return np.stack([1 - first - second, first, second], axis=-1)
        if self.kind == "poisson":
            return np.stack([1 - mean / self.largest, mean / self.largest], axis=-1)
        dispersion = np.clip(np.asarray(dispersion, np.float64), LEAST_DISPERSION, LARGEST_DISPERSION)
        first, second = mean / (2 * self.largest), dispersion / (1 + dispersion) / 2
        return np.stack([1 - first - second, first, second], axis=-1)

    def _numbers(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean, and variance or dispersion, in the units of EM."""
        if self.is_gaussian:
            mean = self.largest * (4 * table[..., 1] - 1)
            return mean, np.maximum(2 * self.largest**2 * table[..., 2] - mean**2, self.floor)
        least = LEAST_RATE * self.largest
        if self.kind == "poisson":
            mean = np.maximum(self.largest * table[..., 1], least)
            return mean, mean
        twice = np.minimum(2 * table[..., 2], 1 - 1e-12)
        dispersion = np.clip(twice / (1 - twice), LEAST_DISPERSION, LARGEST_DISPERSION)
        return np.maximum(2 * self.largest * table[..., 1], least), dispersion

    def parameters(self, table: np.ndarray) -> Parameters:
        """Return the parameters that a table stands for, in the units of the column."""
        mean, second = self._numbers(np.asarray(table))
        if self.is_gaussian:
            return Parameters(self.centre + self.scale * mean, second * self.scale**2, None)
        if self.kind == "poisson":
            return Parameters(mean, mean, None)
        return Parameters(mean, mean + second * mean**2, second)

    def log_densities(self, values: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return the logarithm of the density, or of the probability of a count: (values, states); 0 where missing.

        Examples
        --------
        >>> height = Emission("gaussian", 170.0, 10.0, 3.0, 1e-3)
        >>> height.log_densities(np.array([170.0, np.nan]), height.table([170.0], [100.0])).round(4).tolist()
        [[-3.2215], [0.0]]
        """
        values = np.asarray(values, np.float64)[:, None]
        mean, second = self._numbers(table)
        with np.errstate(invalid="ignore"):
            if self.is_gaussian:
                numbers = self.standardised(values)
                logs = -np.log(2 * np.pi * second) / 2 - (numbers - mean) ** 2 / (2 * second) - np.log(self.scale)
            elif self.kind == "poisson":
                logs = values * np.log(mean) - mean - gammaln(values + 1)
            else:
                size = 1 / second
                logs = gammaln(values + size) - gammaln(size) - gammaln(values + 1)
                logs = logs - size * np.log1p(mean * second) + values * (np.log(mean) - np.log(size + mean))
        return np.where(np.isnan(values), 0.0, logs)

    def log_constants(self, values: np.ndarray) -> np.ndarray:
        """Return the part of the log-densities of values that no table has an influence on."""
        values = np.asarray(values, np.float64)
        return np.full(len(values), -np.log(self.scale)) if self.is_gaussian else -gammaln(values + 1)

    def draw(self, table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a value from every row of a table."""
        parameters = self.parameters(table)
        if self.is_gaussian:
            return rng.normal(parameters.mean, np.sqrt(parameters.variance))
        if parameters.dispersion is None:
            return rng.poisson(parameters.mean).astype(np.float64)
        size = 1 / parameters.dispersion
        return rng.negative_binomial(size, size / (size + parameters.mean)).astype(np.float64)


@dataclass(frozen=True)
class Feature:
    """A feature of a numeric column, in the place of a state."""

    emission: Emission
    name: str

    def __str__(self) -> str:
        return self.name


def _to_document(feature: Feature) -> list:
    units = feature.emission
    return [feature.name, units.kind, units.centre, units.scale, units.largest, units.floor]


register("feature", (Feature,), _to_document, lambda parts: Feature(Emission(*parts[1:]), parts[0]))


def emission_of_states(states: tuple[Hashable, ...]) -> Emission | None:
    """Return the emission whose features some states are; None if they are states.

    Examples
    --------
    >>> emission_of_states(("a", "b")) is None
    True
    """
    return states[0].emission if states and isinstance(states[0], Feature) else None


def emissions_of(model: DiscreteModel) -> Mapping[int, Emission]:
    """Return the emissions of the numeric nodes of a model, by position of the node.

    Examples
    --------
    >>> from pgmpy_latent.model.tree import LatentTree
    >>> height = Emission("gaussian", 170.0, 10.0, 3.0, 1e-3)
    >>> tree = LatentTree(["x"], [height.features], [-1], [False], [height.table([170.0], [100.0])])
    >>> emissions_of(tree)[0].kind
    'gaussian'
    """
    found = ((node, emission_of_states(states)) for node, states in enumerate(model.state_names))
    return {node: emission for node, emission in found if emission is not None}


def emissions_table(model: DiscreteModel) -> pd.DataFrame:
    """Return mean, standard deviation and dispersion of the numeric columns of a model, given the state of the parent.

    Returns
    -------
    DataFrame
        A row per column and state of its parent, under the names of the columns. ``dispersion`` is that of negative
        binomials: with mean ``m`` and dispersion ``a``, the variance is ``m + a m**2``.

    Examples
    --------
    >>> from pgmpy_latent.model.tree import LatentTree
    >>> height = Emission("gaussian", 170.0, 10.0, 3.0, 1e-3)
    >>> tree = LatentTree(["H", "x"], [[0, 1], height.features], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], height.table([160.0, 180.0], [25.0, 36.0])])
    >>> emissions_table(tree)[["parent", "state", "mean", "sd"]].round(6)
           parent state   mean   sd
    column
    x           H     0  160.0  5.0
    x           H     1  180.0  6.0
    """
    import pandas as pd  # at first use: models are loaded without it

    rows = []
    for node, emission in emissions_of(model).items():
        above = model.parents[node]
        states = model.state_names[above[0]] if above else (None,)
        parent = model.names[above[0]] if above else None
        found = emission.parameters(model.tables[node])
        dispersions = np.full(len(states), np.nan) if found.dispersion is None else found.dispersion
        for state, mean, variance, dispersion in zip(states, found.mean, found.variance, dispersions, strict=True):
            rows.append((model.names[node], emission.kind, parent, state, mean, np.sqrt(variance), dispersion))
    columns = ["column", "kind", "parent", "state", "mean", "sd", "dispersion"]
    table = pd.DataFrame(rows, columns=columns, dtype=object).set_index("column")
    return table.astype(dict.fromkeys(columns[4:], "float64"))
