"""Where a model comes from: what learned it, from which rows, with which steps; kept in files beside the model."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from typing import Self

import pandas as pd

from pgmpy_latent.exceptions import FileFormatError
from pgmpy_latent.runtime.lossless_json import back, plain

#: Field -> types that its value in a file may have, besides None.
TYPES: dict[str, tuple[type, ...]] = {
    "written_by": (str,), "learner": (str,), "log_likelihood": (int, float), "score": (int, float), "n_rows": (int,),
    "total_weight": (int, float), "weight_kind": (str,), "design": (dict,), "kinds": (dict,), "stopped": (str,),
    "remaining_gain": (int, float), "history": (list,),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class History:
    """What a fitted learner knows about its table and its search; None where nothing is known.

    Attributes
    ----------
    written_by : str
        The version of this package that wrote the file.
    learner : str
        Name of the learner or estimator.
    log_likelihood, score, n_rows, total_weight, weight_kind, design, kinds, stopped, remaining_gain, history
        The attributes of the learner that end in ``_``.
    """

    written_by: str | None = None
    learner: str | None = None
    log_likelihood: float | None = None
    score: float | None = None
    n_rows: int | None = None
    total_weight: float | None = None
    weight_kind: str | None = None
    design: dict[str, Hashable] | None = None
    kinds: dict[Hashable, str] | None = None
    stopped: str | None = None
    remaining_gain: float | None = None
    history: pd.DataFrame | None = None

    @classmethod
    def of(cls, learner) -> Self:
        """Return what a learner, an estimator or a given model knows; nothing of a model by itself.

        Examples
        --------
        >>> History.of(3).known()
        {}
        """
        known = {declared.name: getattr(learner, f"{declared.name}_", None) for declared in fields(cls)}
        if known["learner"] is None and any(value is not None for value in known.values()):
            known["learner"] = type(learner).__name__
        return cls(**known)

    def known(self) -> dict:
        """Return field -> value of all that is known."""
        found = {declared.name: getattr(self, declared.name) for declared in fields(self)}
        return {name: value for name, value in found.items() if value is not None}

    def in_words(self) -> list[str]:
        """Return what is known about the table and the search, for what becomes of it in files that cannot say it.

        Examples
        --------
        >>> History(n_rows=3, weight_kind="sampling", design={"sample_weight": "w", "cluster": None}).in_words()
        ["weights 'w' (sampling)", 'clusters', 'numbers of rows']
        >>> History(written_by="0.1.0").in_words()
        []
        """
        names = {"sample_weight": "weights", "strata": "strata", "cluster": "clusters"}
        kind = "" if self.weight_kind is None else f" ({self.weight_kind})"
        found = [
            names[what] + ("" if column is None else f" {column!r}") + kind * (what == "sample_weight")
            for what, column in (self.design or {}).items()
        ]
        others = {
            "numbers of rows": (self.n_rows, self.total_weight),
            "log-likelihood and score": (self.log_likelihood, self.score),
            "history of the search": (self.history, self.stopped, self.remaining_gain),
        }
        return found + [what for what, values in others.items() if any(value is not None for value in values)]

    def document(self, version: str) -> dict:
        """Return all that is known as JSON; ``version`` is that of this package.

        Examples
        --------
        >>> History(learner="EAST", n_rows=3).document("0.1.0")
        {'written_by': '0.1.0', 'learner': 'EAST', 'n_rows': 3}
        """
        known = {"written_by": version, **{name: value for name, value in self.known().items() if name != "written_by"}}
        if self.history is not None:
            known["history"] = [list(self.history.columns), *map(list, self.history.itertuples(index=False))]
        if self.kinds is not None:
            known["kinds"] = {"columns": list(self.kinds), "kinds": list(self.kinds.values())}
        return plain(known)

    @classmethod
    def from_document(cls, document) -> Self:
        """Return what :meth:`document` wrote.

        Examples
        --------
        >>> History.from_document({"learner": "EAST", "n_rows": 3}).known()
        {'learner': 'EAST', 'n_rows': 3}
        """
        if not isinstance(document, Mapping):
            raise FileFormatError('"about" is no object')
        known = back(document)
        for name, value in known.items():
            if name not in TYPES:
                raise FileFormatError(f'"about" has the unknown field {name!r}')
            if isinstance(value, bool) or not isinstance(value, TYPES[name]):
                raise FileFormatError(f'"about": {name} is {value!r}')
        try:
            if "kinds" in known:
                known["kinds"] = dict(zip(known["kinds"]["columns"], known["kinds"]["kinds"], strict=True))
            if "history" in known:
                header, *rows = known["history"]
                known["history"] = pd.DataFrame(rows, columns=header)
        except (KeyError, TypeError, ValueError):
            raise FileFormatError('"about": kinds or history are damaged') from None
        return cls(**known)
