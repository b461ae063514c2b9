"""The figures of a report: each is computed once, at its first use."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import pandas as pd

from pgmpy_latent import scores
from pgmpy_latent.diagnostics import explain
from pgmpy_latent.diagnostics.link_strength import family_probabilities
from pgmpy_latent.diagnostics.uncertainty import standard_errors
from pgmpy_latent.inference.mixture_engine import MixtureEngine
from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.queries import AnyModel, engine_for
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.baselines import Baseline
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork, as_network, as_tree
from pgmpy_latent.model.tree import DiscreteModel, LatentTree
from pgmpy_latent.operators import marginals
from pgmpy_latent.relations.covariate_result import CovariateRelation
from pgmpy_latent.relations.outcome_result import OutcomeRelation
from pgmpy_latent.report.html import label
from pgmpy_latent.runtime.configured import settings_in_force
from pgmpy_latent.selection.edge_search import DirectEffects
from pgmpy_latent.selection.groups import GroupComparison
from pgmpy_latent.tables.dependence import block_information
from pgmpy_latent.tables.encode import CategoricalData

#: Maximum number of hidden variables that are explained, and of columns for each; the last is for a single one.
MOST_LATENTS, MOST_COLUMNS, MOST_ITEMS = 24, 8, 30
#: Number of parameters from which the effective dimension is left out, since it would take seconds.
MANY_PARAMETERS = 300

#: Rows that a page shall hold: a table of them, the names of its rows, and how many of them are wanted.
RowsToShow: TypeAlias = tuple[CategoricalData, list[Hashable], int]


class ClassCandidate(Protocol):
    """A latent class model that was considered."""

    n_classes: int
    log_likelihood: float
    n_parameters: int
    bic: float
    n_best: int
    n_starts: int
    n_iter: int
    converged: bool


@runtime_checkable
class ChoiceOfClasses(Protocol):
    """A learner that fits latent class models with several numbers of classes, and chooses one."""

    candidates_: Sequence[ClassCandidate]
    chosen_: ClassCandidate
    n_states: int | None


@dataclass(eq=False)
class Facts:
    """A model, the data table to compare it with, and the learner that found it, if any.

    Attributes
    ----------
    model : LatentTree, LatentNetwork or TreeMixture
        The model; a network without a node of several parents is turned into a tree.
    data : CategoricalData
        The table.
    learner : fitted learner or None
        Where the model comes from.
    own_data : bool
        Whether the table is the one that the learner learned from.
    command : str or None
        The command line that the model comes from.
    groups : GroupComparison or None
        What differs between groups.
    relations : sequence of CovariateRelation or OutcomeRelation
        How the classes and other columns are related.
    direct_effects : DirectEffects or None
        Which columns go together beyond the classes.
    has_table : bool
        Whether there is a table; otherwise ``data`` is :func:`no_rows`, and only what the model says by itself is told.
    rows : RowsToShow or None
        Rows that the page shall hold.
    """

    model: AnyModel
    data: CategoricalData
    learner: StructureLearner | None = None
    own_data: bool = True
    command: str | None = None
    groups: GroupComparison | None = None
    relations: Sequence[CovariateRelation | OutcomeRelation] = ()
    direct_effects: DirectEffects | None = None
    has_table: bool = True
    rows: RowsToShow | None = None

    def __post_init__(self):
        if isinstance(self.model, LatentNetwork) and all(len(above) <= 1 for above in self.model.parents):
            self.model = as_tree(self.model)

    def as_shown(self, rows: CategoricalData) -> CategoricalData:
        """Return rows that were read for the model as ``model`` and ``data`` show them."""
        return rows

    @property
    def settings(self) -> dict:
        """The learner's settings, those of its tuning included; empty if there is no learner."""
        return {} if self.learner is None else settings_in_force(self.learner)

    @property
    def criterion(self) -> scores.Criterion | None:
        """What the search maximised, by default BIC; None if that has no name here, such as a function of the user."""
        criteria = scores.SCORERS if self.learner is None else self.learner._criteria
        return scores.criterion_of(self.settings.get("scoring_method", "bic"), criteria)

    @property
    def is_tree(self) -> bool:
        """Whether it is one tree: no node has several parents."""
        return isinstance(self.model, LatentTree)

    @property
    def is_mixture(self) -> bool:
        """Whether it is a mixture of several trees."""
        return isinstance(self.model, TreeMixture)

    @property
    def tree(self) -> LatentTree:
        """The model, if it is a tree."""
        if not isinstance(self.model, LatentTree):
            raise TypeError("the model is not a tree")
        return self.model

    @property
    def network(self) -> LatentNetwork:
        """The model, if it is not a tree."""
        if not isinstance(self.model, LatentNetwork):
            raise TypeError("the model is a tree, or has several")
        return self.model

    @property
    def mixture(self) -> TreeMixture:
        """The model, if it is a mixture of trees."""
        if not isinstance(self.model, TreeMixture):
            raise TypeError("the model is not a mixture of trees")
        return self.model

    @property
    def fitted_model(self) -> AnyModel:
        """The model whose likelihood counts."""
        return self.model

    @property
    def fitted_tree(self) -> LatentTree:
        """The same, if it is a tree."""
        return self.tree

    @property
    def table(self) -> CategoricalData:
        """The table as it was read."""
        return self.data

    @property
    def hidden(self) -> list[int]:
        """The hidden nodes."""
        return np.flatnonzero(self.model.latent).tolist()

    @property
    def is_latent_class(self) -> bool:
        """Whether one hidden variable stands above all columns."""
        hidden = self.hidden
        return self.is_tree and len(hidden) == 1 and bool((np.delete(self.tree.parent, hidden[0]) == hidden[0]).all())

    @property
    def choice(self) -> ChoiceOfClasses | None:
        """The learner, if it chose among latent class models."""
        return self.learner if isinstance(self.learner, ChoiceOfClasses) else None

    @property
    def candidates(self) -> Sequence[ClassCandidate]:
        """The latent class models that the learner chose from, by number of classes, if it did."""
        return () if self.choice is None else self.choice.candidates_

    @cached_property
    def engine(self) -> TreeEngine | NetworkEngine | MixtureEngine:
        """The engine for queries to this model on this table."""
        return engine_for(self.fitted_model, self.table)

    @cached_property
    def scores(self) -> dict[str, float]:
        """The scores of the model by name; those that are not defined for it are left out."""
        if not isinstance(self.fitted_model, LatentTree):
            return scores.network_summary(self.fitted_model, self.table)
        effective = self.fitted_tree.n_parameters < MANY_PARAMETERS
        return _defined(scores.summary(self.fitted_tree, self.table, effective=effective))

    @cached_property
    def independence(self) -> dict[str, float]:
        """The scores of the model without any dependence: the latent class model with one class."""
        return _defined(scores.summary(self._without_dependence(), self.table, effective=False))

    def _without_dependence(self) -> LatentTree:
        return Baseline("independence")._learn(self.data).tree  # fit would refuse a single row

    @cached_property
    def n_impossible(self) -> int:
        """How many distinct rows the model rules out."""
        flat = self.engine.layout.pack(self.fitted_model.tables)
        return int(np.isneginf(self.engine.row_log_likelihoods(flat)).sum())

    @cached_property
    def shares(self) -> list[np.ndarray]:
        """P(state) of every node of a tree; for others with a table the mean posterior of the hidden nodes."""
        if self.is_tree:
            return list(marginals(self.tree))
        if not self.has_table and self.marginals is not None:
            return self.marginals
        shares = [np.empty(0)] * self.model.n_nodes
        for node, belief in self.beliefs.items():
            shares[node] = self.data.weights @ np.nan_to_num(belief) / self.data.total_weight
        return shares

    @cached_property
    def marginals(self) -> list[np.ndarray] | None:
        """P(state) of every node of a network; None if too many nodes depend on each other, and for mixtures."""
        if isinstance(self.model, TreeMixture):
            return None
        families = family_probabilities(as_network(self.model))
        return None if families is None else [joint.reshape(-1, joint.shape[-1]).sum(axis=0) for joint in families]

    @property
    def tells_states(self) -> bool:
        """Whether it is known what the states of hidden variables look like: from a table, or from the model."""
        return self.has_table or self.is_tree or self.marginals is not None

    @cached_property
    def beliefs(self) -> dict[int, np.ndarray]:
        """P(state | distinct row) of the hidden nodes that are explained."""
        flat = self.engine.layout.pack(self.fitted_model.tables)
        return dict(zip(self.explained, self.engine.beliefs(flat, self.explained), strict=True))

    @cached_property
    def links(self) -> np.ndarray:
        """Mutual information of every node of a tree with its parent, in nats; 0 for roots."""
        tree, information = self.tree, np.zeros(self.tree.n_nodes)
        for node in np.flatnonzero(tree.parent >= 0):
            joint = self.shares[tree.parent[node]][:, None] * tree.tables[node]
            information[node] = block_information(joint, [0], [0])[0, 0]
        return information

    @cached_property
    def explained(self) -> list[int]:
        """The hidden nodes that are explained: all, or those of a large tree with the strongest links."""
        hidden = self.hidden
        if len(hidden) <= MOST_LATENTS or not self.is_tree:
            return hidden[:MOST_LATENTS]
        strength, parent = self.links.copy(), self.tree.parent
        children = np.flatnonzero(parent >= 0)
        np.add.at(strength, parent[children], self.links[children])
        return sorted(sorted(hidden, key=lambda node: -strength[node])[:MOST_LATENTS])

    @cached_property
    def informative(self) -> pd.DataFrame:
        """The columns that say most about the explained hidden variables of a tree."""
        names = [self.model.names[node] for node in self.explained]
        return explain.informative_columns(self.tree, self.most_columns, latents=names)

    @property
    def has_standard_errors(self) -> bool:
        """Whether the model is at a maximum of the likelihood of this table, and is small enough."""
        learned = self.learner is not None and self.own_data and not self.settings.get("prior")
        few = 0 < self.scores["n_parameters"] < MANY_PARAMETERS
        is_plain = not self.is_mixture and not self.table.values  # numbers have none
        return learned and few and is_plain and not self.n_impossible

    @cached_property
    def standard_errors(self) -> tuple[pd.DataFrame, list[str]] | None:
        """Standard errors of all probabilities, with remarks about them; None if there are none."""
        if not self.has_standard_errors:
            return None
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            errors = standard_errors(self.model, self.data, show_progress=False)
        return errors, [str(remark.message) for remark in remarks]

    @property
    def most_columns(self) -> int:
        """Maximum number of columns that explain a hidden variable; larger for a latent class model."""
        return MOST_ITEMS if self.is_latent_class else MOST_COLUMNS

    @property
    def state(self) -> str:
        """The word for a state of a hidden variable."""
        return "Class" if self.is_latent_class else "State"

    def states_in_words(self, node: int) -> list[str]:
        """Return what the states of a hidden node are called: by their names or, if these are numbers, as "Class 0"."""
        states = self.model.state_names[node]
        return [f"{self.state} {state}" if isinstance(state, (int, np.integer)) else label(state) for state in states]

    @cached_property
    def column_shares(self) -> list[np.ndarray]:
        """The shares of the states of every column among its known cells; zeros if none is known.

        Without a table they are the model's.
        """
        if not self.has_table and self.tells_states:
            return [self.shares[self.model.index(name)] for name in self.data.columns]
        shares = []
        for codes, card in zip(self.data.codes.T, self.data.cards, strict=True):
            filled = codes >= 0
            counts = np.bincount(codes[filled], self.data.weights[filled], minlength=int(card))
            shares.append(counts / max(counts.sum(), np.finfo(float).tiny))
        return shares

    @property
    def counts_columns(self) -> bool:
        """Whether ``column_shares`` are counted in a table; else they are the model's."""
        return self.has_table or not self.tells_states

    @property
    def counts_states(self) -> bool:
        """Whether ``shares`` of hidden nodes, and what their states look like, are from the rows, not by the model."""
        return self.has_table and not self.is_tree

    @cached_property
    def missing_shares(self) -> np.ndarray:
        """The share of the weight that lacks each column."""
        return self.data.weights @ (self.data.codes < 0) / self.data.total_weight


def no_rows(model: DiscreteModel) -> CategoricalData:
    """Return the table of a model that comes without one: a single row, of which nothing is known.

    Examples
    --------
    >>> no_rows(LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])).codes
    array([[-1]], dtype=int8)
    """
    states = [model.state_names[model.index(name)] for name in model.observed_names]
    values = {model.names[node]: np.array([emission.centre]) for node, emission in emissions_of(model).items()}
    return CategoricalData(model.observed_names, states, np.full((1, len(states)), -1), [1.0], values=values)


def _defined(summary: scores.Summary) -> dict[str, float]:
    """Return the scores of a summary that are defined for its model, by name."""
    return {name: value for name, value in asdict(summary).items() if value is not None}
