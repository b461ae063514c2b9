"""A model that is there already, with the methods of a learner: from a file, from pgmpy, or from an estimator."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import Self, Unpack

import numpy as np
import pandas as pd

from pgmpy_latent import scores
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.inference.queries import AnyModel, asked, encode_for
from pgmpy_latent.learners.fitted import FittedDiscrete, FittedModel, ShownInNotebooks, checked_array, is_array
from pgmpy_latent.learners.fitted_mixture import FittedMixture
from pgmpy_latent.model.convert import load_with_history, to_pgmpy
from pgmpy_latent.model.emissions import emissions_table
from pgmpy_latent.model.gaussian_convert import from_linear_gaussian
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.model.history import History
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.model.pgmpy_api import (
    BaseCausalDiscovery,
    DiscreteBayesianNetwork,
    LinearGaussianBayesianNetwork,
)
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.tables.numbers import Kind, kinds_in_use
from pgmpy_latent.tables.survey import Survey, WeightKind, design_of_fit
from pgmpy_latent.tables.target import refuse_weights_as_target
from pgmpy_latent.tables.unseen import Unseen


class Given(FittedModel):
    """What given models have in common: they describe themselves, and can be held against a table."""

    kinds_: dict[Hashable, Kind]
    log_likelihood_: float
    bic_: float
    n_rows_: int
    total_weight_: float
    weight_kind_: WeightKind | None
    design_: dict[str, Hashable]
    n_parameters_: int
    history_: pd.DataFrame

    def __init__(self, model) -> None:
        self.model = model
        self._describe(asked(model))

    def _describe(self, model: AnyModel) -> None:
        """Set the attributes that say what the model is."""
        setattr(self, self._holder, model)
        self._keep_network(model)
        self.emissions_ = emissions_table(model)
        kinds = kinds_in_use(model.state_names, model.names)
        self.kinds_ = {name: kinds[name] for name in model.observed_names}
        self.latents_ = list(model.latent_names)
        self.n_states_ = {name: int(model.cards[model.index(name)]) for name in self.latents_}
        self.n_parameters_ = model.n_parameters
        self._columns = model.observed_names
        self.n_features_in_ = len(self._columns)
        if all(isinstance(name, str) for name in self._columns):
            self.feature_names_in_ = np.array(self._columns, dtype=object)

    def _keep_network(self, model) -> None:
        """Set the attributes that hold the model as a network of pgmpy."""
        raise NotImplementedError

    def fit(
        self,
        X=None,
        y=None,
        sample_weight=None,
        *,
        weight_kind: WeightKind | None = None,
        strata=None,
        cluster=None,
        unseen: Unseen = "missing",
    ) -> Self:
        """Hold the model against a table. The model stays as it is: there is nothing to learn.

        Parameters
        ----------
        X : DataFrame, array or CategoricalData, optional
            The table. Without one, nothing happens.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight, weight_kind, strata, cluster
            As in the ``fit`` of learners.
        unseen : {"missing", "error"}
            What becomes of categories that the model does not know, here and in new rows.

        Returns
        -------
        self
            ``log_likelihood_``, ``bic_`` and what is said about the rows are of this table.

        Examples
        --------
        >>> tree = LatentTree(["x"], [["a", "b"]], [-1], [False], [[[0.25, 0.75]]])
        >>> round(fitted(tree).fit(pd.DataFrame({"x": ["a", "b"]})).log_likelihood_, 4)
        -1.674
        """
        refuse_weights_as_target(y, sample_weight)
        if X is None:
            return self
        self._unseen = unseen
        drawn = {"sample_weight": sample_weight, "strata": strata, "cluster": cluster}
        table, design = self._table_and_design(X, drawn)
        data = encode_for(self._learned, table, unseen=unseen, weight_kind=weight_kind, **design)
        self._data = data
        self.weight_kind_, self.n_rows_, self.total_weight_ = data.weight_kind, data.n_rows, data.total_weight
        self.design_ = design_of_fit(checked_array(X) if is_array(X) else X, data, drawn)
        self.log_likelihood_ = scores.log_likelihood(self._learned, data)
        self.bic_ = scores.bic_from_parts(self.log_likelihood_, self.n_parameters_, self.total_weight_)
        return self


class GivenModel(Given, FittedDiscrete, BaseCausalDiscovery):
    """A given network with the methods of a learner; :func:`fitted` makes it.

    Attributes
    ----------
    network_ : LatentNetwork
        The model; of a tree, ``tree_``.
    model_, causal_graph_ : pgmpy.models.DiscreteBayesianNetwork
        The same as a pgmpy network.
    latents_, n_states_, n_parameters_, kinds_, emissions_, n_features_in_, feature_names_in_
        As learners have them.
    log_likelihood_, bic_, n_rows_, total_weight_, weight_kind_, history_, stopped_
        As learners have them, if they are known: of the table that was given, from the estimator, or from the file.
    written_by_, learner_ : str
        Of a file, if it says so: the version that wrote it, and what had learned the model.
    """

    _holder = "network_"
    network_: LatentNetwork
    model_: DiscreteBayesianNetwork

    def _keep_network(self, model: LatentTree | LatentNetwork) -> None:
        self.model_ = self.causal_graph_ = to_pgmpy(model)


class GivenTree(GivenModel):
    """A given tree with the methods of a learner; see :class:`GivenModel`."""

    _holder = "tree_"
    tree_: LatentTree


class GivenMixture(Given, FittedMixture, BaseCausalDiscovery):
    """A given mixture of trees with the methods of a learner; see :class:`GivenModel`.

    In place of ``model_`` it has ``networks_``, the weight and the network of every tree.
    """

    def _keep_network(self, model: TreeMixture) -> None:
        self.networks_ = to_pgmpy(model)


def fitted(model, X=None, *, sample_weight=None, **survey: Unpack[Survey]):
    """Return a model with the methods of a learner, wherever it comes from.

    ``profiles``, ``summary``, ``predict``, ``predict_proba``, ``transform``, ``impute``, ``sample``, ``score``,
    ``score_samples`` and ``report`` then answer as if the model had just been learned, and it can stand where functions
    take a fitted learner.

    Parameters
    ----------
    model : LatentTree, LatentNetwork, TreeMixture, GaussianTree, pgmpy network, fitted estimator, learner, or path
        The model; a path is that of a file that :func:`pgmpy_latent.save` wrote. A fitted learner is returned as it is,
        unless there is a table.
    X : DataFrame, array or CategoricalData, optional
        A table to hold the model against, for ``log_likelihood_``, ``bic_`` and the sections of reports about fit.
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows of ``X``, or the name of the column that holds them.
    survey : weight_kind, strata, cluster
        What the weights are, and how rows were drawn. See :func:`pgmpy_latent.encode`.

    Returns
    -------
    GivenTree, GivenModel, GivenMixture, GivenGaussian or the learner
        A tree, if no node has several parents.

    Examples
    --------
    >>> tree = LatentTree(["H", "x"], [["low", "high"], ["a", "b"]], [-1, 0], [True, False],
    ...                   [[[0.5, 0.5]], [[0.9, 0.1], [0.3, 0.7]]])
    >>> fitted(to_pgmpy(tree)).predict(pd.DataFrame({"x": ["a", "b"]}))["H"].tolist()
    ['low', 'high']
    """
    history: History | None = None
    if isinstance(model, (str, os.PathLike)):
        model, history = load_with_history(model)
    gaussian = gaussian_tree_of(model)
    if isinstance(model, ShownInNotebooks) and not isinstance(model, Given) and X is None:
        if gaussian is None:
            asked(model)  # raises if it is not fitted
        return model
    history = History.of(model) if history is None else history
    if gaussian is not None:
        from pgmpy_latent.gaussian.given import GivenGaussian  # a later layer

        if left := [what for what in ("strata", "cluster") if survey.get(what) is not None]:
            raise DataError(f"nothing that is said of a Gaussian tree depends on {left[0]}; leave it out")
        given = GivenGaussian(gaussian).remember(history)
        return given.fit(X, sample_weight=sample_weight, weight_kind=survey.get("weight_kind"))
    network = asked(model)
    kinds = ((LatentTree, GivenTree), (TreeMixture, GivenMixture), (LatentNetwork, GivenModel))
    found = next(kind for model_kind, kind in kinds if isinstance(network, model_kind))(network)
    _remember(found, history)
    return found.fit(X, sample_weight=sample_weight, **survey)


def gaussian_tree_of(model) -> GaussianTree | None:
    """Return the model if it is a Gaussian tree: ours, pgmpy's, or that of a learner or estimator; None if not."""
    if isinstance(model, LinearGaussianBayesianNetwork):
        return from_linear_gaussian(model)
    tree = getattr(model, "tree_", model)
    return tree if isinstance(tree, GaussianTree) else None


def _remember(given: Given, history: History) -> None:
    """Set what is known about the table and the search that the model comes from."""
    for name, value in history.known().items():
        setattr(given, f"{name}_", value)
    if "log_likelihood_" in vars(given) and "total_weight_" in vars(given):
        given.bic_ = scores.bic_from_parts(given.log_likelihood_, given.n_parameters_, given.total_weight_)
