"""What learners have in common whose choices are made by rows that are held out, or by a table to validate with."""

from __future__ import annotations

from typing import Self

from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.held_out import validation_table
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.folds import Fold
from pgmpy_latent.tables.survey import WeightKind
from pgmpy_latent.tables.unseen import Unseen


class ValidatedLearner(StructureLearner):
    """Base of learners whose ``fit`` takes a table to validate with."""

    #: The table to validate with, while ``fit`` runs.
    _validation: object = None

    def fit(
        self,
        X,
        y=None,
        sample_weight=None,
        X_valid=None,
        *,
        weight_kind: WeightKind | None = None,
        strata=None,
        cluster=None,
        missing=None,
        allow_many_states=None,
        unseen: Unseen = "missing",
        kinds=None,
    ) -> Self:
        """Learn a model.

        Parameters
        ----------
        X : DataFrame, array or CategoricalData
            A row per observation; missing cells are fine. See :func:`pgmpy_latent.encode`.
        y : ignored
            For scikit-learn. Weights belong in ``sample_weight``: the name of a column or numbers with fractions raise
            here, and whole numbers warn.
        sample_weight : array, shape (n_rows,), or column name, optional
            Weights of the rows, by position, or the name of the column that holds them.
        X_valid : DataFrame, array or CategoricalData, optional
            Rows to validate with; those of :func:`~pgmpy_latent.encode` may have weights. Tables are fitted to ``X``
            alone. By default a share of the rows of ``X`` is held out, and the final tables are fitted to all of them.
        weight_kind, strata, cluster, missing, allow_many_states, unseen, kinds
            As in ``fit`` of all learners: see ``docs/learners.md``.

        Returns
        -------
        self

        Examples
        --------
        >>> from pgmpy_latent import HiddenChowLiu, datasets
        >>> survey = datasets.load_anes96().iloc[:, :6]
        >>> learner = HiddenChowLiu(max_states=4, random_state=0, show_progress=False)
        >>> learner.fit(survey.iloc[:700], X_valid=survey.iloc[700:]).held_out_["n_states"].max()
        np.int64(4)
        """
        self._validation = X_valid
        try:
            return super().fit(
                X,
                y,
                sample_weight,
                weight_kind=weight_kind,
                strata=strata,
                cluster=cluster,
                missing=missing,
                allow_many_states=allow_many_states,
                unseen=unseen,
                kinds=kinds,
            )
        finally:
            del self._validation

    def _given_fold(self, data: CategoricalData) -> Fold | None:
        """Return the rows to learn from, and those of the table to validate with; None if ``fit`` was given none."""
        return None if self._validation is None else Fold(data, validation_table(data, self._validation))
