"""One exception per kind of mistake; each docstring says what to do instead."""


class PgmpyLatentError(ValueError):
    """Base of every error that this package raises about its input."""


class DataError(PgmpyLatentError):
    """The table cannot be read as it is. Correct or leave out the column that is named."""


class AbsentColumnError(DataError):
    """The table lacks a column. Add it; of new rows, ``absent="sum_out"`` sums it out."""


class WeightError(PgmpyLatentError):
    """The weights are not one finite, non-negative number per row. Correct the rows that are named."""


class StateNameError(PgmpyLatentError):
    """The states of a column contradict the data or a number of states. Change one of the two."""


class UnseenCategoryError(PgmpyLatentError):
    """A row holds a category that the model does not know. Map it, empty the cell, or fit with ``unseen="missing"``."""


class MemoryLimitError(PgmpyLatentError):
    """The distinct rows of a table do not fit into memory. Give a Parquet folder to a learner of trees or to TreeEM."""


class ClusterError(PgmpyLatentError):
    """The scheduler of Dask does not answer, or has no workers. Start them, or close the client."""


class NotATreeError(PgmpyLatentError):
    """The network is not a forest. Remove parents until every node has at most one."""


class InvalidTreeError(PgmpyLatentError):
    """A tree breaks one of the invariants listed in :func:`pgmpy_latent.model.tree.check`. Correct that node."""


class ImpossibleRowError(PgmpyLatentError):
    """A row has probability zero under the given tables. Use tables without that zero, or a prior."""


class FileFormatError(PgmpyLatentError):
    """A file is not a model that :func:`pgmpy_latent.save` wrote. Save the model anew."""


class UnsplittableStateError(PgmpyLatentError):
    """Both halves of a state would have to equal it. Split another state, or introduce a new one."""


class SkeletonError(PgmpyLatentError):
    """A skeleton does not fit the table. Its observed nodes must be exactly the columns."""


class ComponentTooLargeError(PgmpyLatentError):
    """Too many hidden variables and missing cells hang together to be summed out. Use fewer states or edges."""


class BlanketTooLargeError(PgmpyLatentError):
    """What surrounds a hidden variable takes too many values. Raise the limit, or leave out parents and children."""


class CheckpointError(PgmpyLatentError):
    """A checkpoint is damaged, or belongs to another search. Remove the file, or name another one."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the search goes on. Make room, or name a file elsewhere."""


class WeightKindWarning(UserWarning):
    """Weights may be counts or sampling weights. State which with ``weight_kind``."""


class DesignWarning(UserWarning):
    """A learner was fitted with weights, strata or clusters that this call lacks. Give them, as in ``fit``."""


class UnusedTargetWarning(UserWarning):
    """A learner was given whole numbers as ``y``, which it does not use. Give weights as ``sample_weight``."""


class UnseenCategoryWarning(UserWarning):
    """Cells held categories that the model does not know and were treated as missing."""


class MissingCodeWarning(UserWarning):
    """Values look like codes for missing answers, or values that ``missing=`` names do not occur.

    Give ``missing=`` if they are codes, and ``missing={}`` if not; correct mistyped values.
    """


class UnknownColumnError(UnseenCategoryError):
    """New rows have a column of which no cell is known: another column by the same name, or one of another type."""


class ManyStatesWarning(UserWarning):
    """A column may hold measurements or identifiers. Bin or drop it, or name it in ``allow_many_states``."""


class CodesAsNumbersWarning(UserWarning):
    """A column of numbers may hold codes of categories or of missing answers. Make the latter missing (NaN)."""


class SampledRowsWarning(UserWarning):
    """A table does not fit into memory, and the search ran on a sample of its rows. Allow more, or drop columns."""


class FewRowsWarning(UserWarning):
    """A fitted model has more parameters than the table has rows. Ask for fewer states, or give a prior."""


class DegenerateStateWarning(UserWarning):
    """A fitted hidden variable has empty or duplicate states. Fewer states would fit as well."""


class RegularityWarning(UserWarning):
    """A hidden variable has more states than its neighbours can tell apart. Ask for fewer."""


class NothingGrewWarning(UserWarning):
    """A tree that was to be refined kept its shape. Hold other rows out, or learn one from scratch."""


class NoOverlapWarning(UserWarning):
    """Two columns are never filled in the same row. Add rows that have both, or drop one of the two."""


class FewColumnsWarning(UserWarning):
    """A table has fewer than three columns, and nothing hidden can be found behind them. Add columns."""
