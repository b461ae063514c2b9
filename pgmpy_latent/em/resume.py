"""An EM of an estimator, kept in a file on its way, and how much time it has."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict

import numpy as np

from pgmpy_latent.em.ascent import Fit
from pgmpy_latent.em.sharing import check_tables
from pgmpy_latent.em.step import log_prior
from pgmpy_latent.runtime.checkpoint import Checkpoint, State, check_number_again
from pgmpy_latent.runtime.fingerprint import Fingerprint
from pgmpy_latent.runtime.settings import TimeUp


class KeptEM:
    """A keeper (:class:`~pgmpy_latent.em.sharing.Keeper`) with a clock, and a file if there is to be one.

    Parameters
    ----------
    path : path-like, optional
        The file.
    mark : Fingerprint, optional
        Whose EM it is; needed with a path.
    entropy : int
        Of the seeds, should EM begin anew.
    ends : float
        When the time is up, by ``time.monotonic``.
    seeded : bool
        Whether somebody gave the seed.

    Attributes
    ----------
    entropy : int
        Of the seeds: those of the file, if it holds an EM.
    saved : dict or None
        Where EM was.
    found : Fit or None
        What it found, if it had come to its end.

    Examples
    --------
    >>> kept = KeptEM(None, None, 0, ends=float("-inf"))
    >>> kept.due
    True
    >>> try:
    ...     kept.keep({})
    ... except TimeUp:
    ...     print("too late")
    too late
    """

    def __init__(self, path, mark: Fingerprint | None, entropy: int, ends: float, seeded: bool = False):
        self.ends, self.entropy = ends, entropy
        self.saved, self.found = None, None
        self._file = None if path is None else Checkpoint(path, mark)
        self._before = None if self._file is None else self._file.take_up(entropy, seeded)
        if self._before is not None:
            self.entropy = self._before.entropy
            state = self._before.state
            with self._file.checking():
                if state.finished:
                    self.found = Fit(**state.memory["fit"])
                else:
                    self.saved = dict(state.memory["em"])
                    for name in ("score", "log_likelihood"):
                        check_number_again(name, getattr(state, name), self.saved["climb"]["highest"])

    @property
    def going_on(self) -> AbstractContextManager:
        """In which an EM that was taken up goes on: what it stumbles on is said to come from its file."""
        return nullcontext() if self._before is None else self._file.taken_up()

    def check_found(self, engine, prior: float) -> None:
        """Raise if what the file says was found is not what the table says.

        Parameters
        ----------
        engine : engine
            Of the table.
        prior : float
            Pseudo-count of every table entry.
        """
        with self._file.checking():
            found, state = self.found, self._before.state
            check_tables(found.tables, engine.layout)
            log_likelihood = float(engine.log_likelihood(found.tables))
            objective = log_likelihood + float(log_prior(found.tables, prior))
            for name, one, other in (
                ("log-likelihood", found.log_likelihood, log_likelihood),
                ("log-likelihood", state.log_likelihood, log_likelihood),
                ("objective", found.objective, objective),
                ("score", state.score, objective),
            ):
                check_number_again(name, one, other)
            _check_way(found)

    @property
    def seconds_left(self) -> float:
        """Until the time is up."""
        return self.ends - time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write, or to stop."""
        return self.seconds_left <= 0 or (self._file is not None and self._file.due)

    def keep(self, state: dict) -> None:
        """Write where EM is; raise if its time is up."""
        up = self.seconds_left <= 0
        if self._file is not None:
            highest = float(state["climb"]["highest"])
            self._file.keep(State(None, highest, highest, state["climb"]["n_iter"], {"em": state}), [], last=up)
        if up:
            raise TimeUp

    def finish(self, found: Fit) -> None:
        """Write what was found, unless EM was cut short."""
        if self._file is not None and not found.interrupted:
            memory = {"fit": asdict(found)}
            self._file.keep(State(None, found.objective, found.log_likelihood, found.n_iter, memory, True), [], True)


def _check_way(found: Fit) -> None:
    """Raise if what is said about the way to the best tables contradicts itself."""
    ends, logs = found.final_objectives, found.log_likelihoods
    for values in (ends, logs):
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
            raise ValueError("its ends of starts, or their log-likelihoods, are no numbers")
    good = type(found.converged) is bool is type(found.interrupted) and type(found.remaining_gain) is float
    if not good or found.interrupted or found.n_iter != len(logs):
        raise ValueError("how EM ended is not what it writes")
    if found.best_start not in range(len(ends)) or found.n_best not in range(len(ends) + 1):
        raise ValueError(f"its best start is {found.best_start!r} of {len(ends)}, reached by {found.n_best!r}")
    check_number_again("last log-likelihood", float(logs[-1]), found.log_likelihood)
