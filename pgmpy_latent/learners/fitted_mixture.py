"""Methods of fitted learners and given models that are mixtures of trees."""

from __future__ import annotations

import sys
from typing import NoReturn

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from pgmpy_latent.diagnostics.explain import writable
from pgmpy_latent.diagnostics.mixture_text import mixture_text, size_text
from pgmpy_latent.exceptions import DataError
from pgmpy_latent.learners.fitted import FittedModel, remarks_on
from pgmpy_latent.learners.profiles import profiles
from pgmpy_latent.model.mixture import TreeMixture
from pgmpy_latent.model.pgmpy_api import DiscreteBayesianNetwork
from pgmpy_latent.operators.classes import classes_of

#: Last line of a summary.
FOR_PREDICTION = "These hidden variables are there to predict rows; they are not meant to be interpreted."


class FittedMixture(FittedModel):
    """Methods of everything that has a mixture of trees as its model."""

    _holder = "mixture_"
    mixture_: TreeMixture
    networks_: list[tuple[float, DiscreteBayesianNetwork]]

    @property
    def model_(self) -> NoReturn:
        """Raise: every tree has a network of its own."""
        raise AttributeError("a mixture has no single network; networks_ has the weight and the network of every tree")

    @property
    def causal_graph_(self) -> NoReturn:
        """Raise: every tree has a graph of its own."""
        raise AttributeError("a mixture has no single graph; networks_ has the weight and the network of every tree")

    def informative_columns(self, n: int | None = None) -> NoReturn:
        """Raise: every tree has hidden variables of its own."""
        raise DataError(
            "a mixture has several trees, each with hidden variables of its own; ask one of them: "
            "fitted(learner.mixture_.trees[0]).informative_columns()"
        )

    def profiles(self, *, errors: bool = False) -> pd.DataFrame:
        """Return the weights of the trees, and the probabilities of the categories in each of them.

        Parameters
        ----------
        errors : bool
            Not for mixtures: whether to return standard errors.

        Returns
        -------
        DataFrame
            As of learners of trees, for one hidden variable that says which tree a row comes from: columns are pairs
            (latent, state). The first row, ``("share", "")``, holds the weights. The others are pairs (variable,
            category), with P(variable = category | tree).

        Examples
        --------
        >>> from pgmpy_latent import HiddenChowLiuMixture, datasets
        >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
        >>> learner = HiddenChowLiuMixture(n_groups=2, n_states=2, n_trials=1, random_state=0, show_progress=False)
        >>> float(learner.fit(survey).profiles().loc["vote"].sum().min().round(9))
        1.0
        """
        check_is_fitted(self)
        if errors:
            raise DataError("there are no standard errors of a mixture of trees; ask for profiles() without errors")
        return profiles(classes_of(self.mixture_))

    def summary(self, n: int | None = None) -> None:
        """Print how well the mixture fits, how large it is, and its trees.

        Parameters
        ----------
        n : int, optional
            How many trees to list, the heaviest first; twenty by default.

        Examples
        --------
        >>> from pgmpy_latent import HiddenChowLiuMixture, datasets
        >>> survey = datasets.load_anes96()[["vote", "PID", "selfLR"]]
        >>> learner = HiddenChowLiuMixture(n_groups=2, n_states=2, n_trials=1, random_state=0, show_progress=False)
        >>> learner.fit(survey).summary()  # doctest: +ELLIPSIS
        log-likelihood -3,..., held-out rows -1,..., 2 trees, 3 columns
        <BLANKLINE>
        tree ...
        <BLANKLINE>
        These hidden variables are there to predict rows; they are not meant to be interpreted.
        """
        check_is_fitted(self)
        known = {"log-likelihood": "log_likelihood_", "BIC": "bic_", "held-out rows": "score_"}
        figures = [f"{words} {getattr(self, name):,.2f}" for words, name in known.items() if hasattr(self, name)]
        if hasattr(self, "score_"):
            figures[-1] += " (what the search maximised)"
        parts = [", ".join([*figures, size_text(self.mixture_)]), mixture_text(self.mixture_, n)]
        print(writable("\n\n".join([*parts, *remarks_on(self), FOR_PREDICTION]), sys.stdout.encoding))
