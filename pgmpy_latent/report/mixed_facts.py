"""A model with numeric columns as the report shows it: with bins in the place of numbers, wherever shares are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from pgmpy_latent.learners.cardinality.random_starts import RandomStarts
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.bins import shares_between
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.html import significant
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.number_bins import bins_of_column

#: Bins of a numeric column, of about equally many rows.
N_BINS = 5


@dataclass
class MixedFacts(Facts):
    """The facts about a model with numeric columns.

    ``model`` and ``data`` have bins in the place of numbers; what is computed from densities has the fitted model and
    the table themselves.

    Attributes
    ----------
    fitted : LatentTree
        The model with its densities.
    whole : CategoricalData
        The table with its numbers.
    bounds : dict
        Numeric column -> the bounds between its ranges.
    """

    fitted: LatentTree | None = None
    whole: CategoricalData | None = None
    bounds: Mapping[Hashable, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Facts) -> MixedFacts:
        """Return the facts about the same model and table."""
        bounds = range_bounds(facts.data)
        tree, data = tree_in_ranges(facts.tree, bounds), table_in_ranges(facts.data, bounds)
        return cls(tree, data, facts.learner, facts.own_data, fitted=facts.tree, whole=facts.data, bounds=bounds)

    def as_shown(self, rows: CategoricalData) -> CategoricalData:
        """Return rows with the ranges that their numbers are in."""
        return table_in_ranges(rows, self.bounds)

    @property
    def fitted_model(self) -> LatentTree:
        """The model whose likelihood counts."""
        return self.fitted_tree

    @property
    def fitted_tree(self) -> LatentTree:
        """The same."""
        assert self.fitted is not None, "MixedFacts.of sets it"
        return self.fitted

    @property
    def table(self) -> CategoricalData:
        """The table as it was read."""
        assert self.whole is not None, "MixedFacts.of sets it"
        return self.whole

    def _without_dependence(self) -> LatentTree:
        alone = RandomStarts(n_states=1, n_starts=1, random_state=0, show_progress=False)
        return alone._learn(self.table).tree


def range_bounds(data: CategoricalData) -> dict[Hashable, np.ndarray]:
    """Return the bounds between ranges of about equally many rows, for every numeric column of a table."""
    found = {}
    for name, values in data.values.items():
        last = np.flatnonzero(np.diff(bins_of_column(data, data.columns.index(name), N_BINS).of_value))
        found[name] = (values[last] + values[last + 1]) / 2
    return found


def tree_in_ranges(tree: LatentTree, bounds: Mapping[Hashable, np.ndarray]) -> LatentTree:
    """Return a tree with the ranges between some bounds in the place of numbers."""
    states, tables = list(tree.state_names), list(tree.tables)
    for node, emission in emissions_of(tree).items():
        between = bounds[tree.names[node]]
        states[node] = _ranges(between)
        tables[node] = shares_between(emission, tree.tables[node], between)
    return LatentTree(tree.names, states, tree.parent, tree.latent, tables, tree.missing)


def table_in_ranges(data: CategoricalData, bounds: Mapping[Hashable, np.ndarray]) -> CategoricalData:
    """Return a table with the ranges between some bounds in the place of numbers."""
    states, codes = list(data.state_names), data.codes.astype(np.int64)
    for name, values in data.values.items():
        at = data.columns.index(name)
        codes[:, at] = np.append(np.searchsorted(bounds[name], values), -1)[codes[:, at]]
        states[at] = _ranges(bounds[name])
    return replace(data, state_names=tuple(states), codes=codes, values={})


def _ranges(bounds: np.ndarray) -> tuple[str, ...]:
    """Return the names of the ranges between some bounds, with as many digits as tell the bounds apart.

    Examples
    --------
    >>> _ranges(np.array([1.25, 3.0]))
    ('up to 1.25', '1.25 to 3', 'above 3')
    >>> _ranges(np.array([745.0, 1050.0]))
    ('up to 745', '745 to 1050', 'above 1050')
    """
    if not len(bounds):
        return ("any value",)
    written = ([significant(bound, digits) for bound in bounds] for digits in range(3, 18))
    texts = next((texts for texts in written if len(set(texts)) == len(bounds)), list(map(repr, bounds.tolist())))
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return (f"up to {texts[0]}", *between, f"above {texts[-1]}")
