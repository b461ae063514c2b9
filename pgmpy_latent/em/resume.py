"""EM and its checkpoint file: the position of an unfinished EM or the result of a finished one, checked when read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from pgmpy_latent.em.ascent import NUMBERS, PER_START, Fit, Position
from pgmpy_latent.em.step import Problem, log_prior, step
from pgmpy_latent.inference.layout import Layout
from pgmpy_latent.runtime.arrays import ROUNDING
from pgmpy_latent.runtime.checkpoint import Checkpoint, State, check_number_again
from pgmpy_latent.runtime.fingerprint import Fingerprint
from pgmpy_latent.runtime.lossless_json import back, plain, register


def _document_of(value: Position | Fit) -> dict:
    """Return the fields of a position or a result, as JSON."""
    return {name: plain(field) for name, field in vars(value).items()}


register("EM position", (Position,), _document_of, lambda fields: Position.from_dict(back(fields)))
register("EM result", (Fit,), _document_of, lambda fields: Fit(**back(fields)))


class EMCheckpoint:
    """The checkpoint file of one EM; without a path, nothing is read or written.

    Parameters
    ----------
    path : path-like, optional
        The file.
    mark : Fingerprint, optional
        Which EM it belongs to; needed with a path.
    entropy : int
        Of the seeds of a new EM.
    seeded : bool
        Whether the user set the seed.

    Attributes
    ----------
    entropy : int
        Of the seeds: those of the file, if it holds an EM.
    position : Position or None
        Where to resume an unfinished EM, once :meth:`check` has passed.
    fit : Fit or None
        The result of a finished EM; likewise.

    Examples
    --------
    >>> checkpoint = EMCheckpoint(None, None, 0)
    >>> checkpoint.position is None, checkpoint.fit is None
    (True, True)
    """

    def __init__(self, path, mark: Fingerprint | None, entropy: int, seeded: bool = False):
        self.entropy = entropy
        self.position: Position | None = None
        self.fit: Fit | None = None
        self._file: Checkpoint | None = None
        self._state: State | None = None  # as the file holds it
        if path is None:
            return
        assert mark is not None, "a file needs to know its EM"
        self._file = Checkpoint(path, mark)
        saved = self._file.resume(entropy, seeded)
        if saved is None:
            return
        self.entropy, self._state = saved.entropy, saved.state
        with self._file.checking():
            memory = saved.state.memory
            if not isinstance(memory, Fit if saved.state.finished else Position):
                raise ValueError("its memory is not that of EM")
            if isinstance(memory, Fit):
                self.fit = memory
            else:
                self.position = memory
                for name in ("score", "log_likelihood"):
                    check_number_again(name, getattr(saved.state, name), self.position.highest)

    @property
    def resuming(self) -> AbstractContextManager:
        """Context in which a resumed EM runs: errors name the file."""
        return nullcontext() if self._file is None or self._state is None else self._file.resuming()

    def check(self, problem: Problem, n_starts: int) -> None:
        """Raise if the file contradicts the table.

        Parameters
        ----------
        problem : Problem
            The objective of EM.
        n_starts : int
            Number of starts.
        """
        if self._file is None or self._state is None:
            return
        with self._file.checking():
            if self.position is not None:
                _check_position(self.position, n_starts, problem)
            if self.fit is not None:
                _check_fit(self.fit, self._state, problem)

    def save(self, position: Position, last: bool) -> None:
        """Write the position of EM if enough time has passed since the last time; the last position in any case."""
        if self._file is None or not (last or self._file.due):
            return
        memory = position.snapshot()
        self._file.keep(State(None, position.highest, position.highest, position.n_iter, memory), [], last=last)

    def finish(self, fit: Fit) -> None:
        """Write the result, unless EM was stopped."""
        if self._file is not None and self.fit is None and not fit.interrupted:
            self._file.keep(State(None, fit.objective, fit.log_likelihood, fit.n_iter, fit, True), [], True)


# Checks -------------------------------------------------------------------------------------------


def check_tables(tables, layout: Layout) -> None:
    """Raise if flat tables are not of the size of a layout, or their rows are no probabilities.

    Examples
    --------
    >>> check_tables(np.array([0.5, 0.6]), Layout([(1, 2)]))
    Traceback (most recent call last):
    ValueError: its tables hold no probabilities
    """
    if not isinstance(tables, np.ndarray) or tables.dtype != np.float64 or tables.shape[-1:] != (layout.size,):
        raise ValueError(f"its tables are not of {layout.size} numbers")
    if not (tables >= 0).all() or not (np.abs(layout.row_sums(tables) - 1) <= ROUNDING).all():
        raise ValueError("its tables hold no probabilities")


def _check_position(position: Position, n_starts: int, problem: Problem) -> None:
    """Raise if a position is not what one step from its tables gives, or contradicts itself."""
    numbers, final = position.numbers, position.final
    n_here = len(numbers)
    for name in PER_START:
        kind, array = "i" if name == "numbers" else "f", getattr(position, name)
        if array.dtype.kind != kind or len(array) != n_here:
            raise ValueError(f"its {name!r} is not an array of numbers for {n_here} starts")
    for name, number_type in NUMBERS.items():
        if type(getattr(position, name)) is not number_type:
            raise ValueError(f"its {name!r} is {getattr(position, name)!r}")
    if final.shape != (n_starts,) or final.dtype != np.float64 or not set(numbers.tolist()) <= set(range(n_starts)):
        raise ValueError(f"it does not know where {n_starts} starts are")
    if not position.n_iter >= 1 or len(set(numbers.tolist())) < n_here or not {*position.best} <= {0}:
        raise ValueError("it has starts twice, or before their beginning")
    _check_trace(position, n_starts)
    if n_here:
        _check_step(problem, position.before, {name: getattr(position, name) for name in ("logs", "value", "at")})
    for best in position.best.values():
        if best.number not in range(n_starts) or type(best.converged) is not bool or type(best.remaining) is not float:
            raise ValueError("its best start has a wrong number, or values of a wrong type")
        _check_step(problem, best.tables[None], {"value": np.array([best.objective])})


def _check_trace(position: Position, n_starts: int) -> None:
    """Raise if the log-likelihoods along the way do not belong to the starts and their iterations."""
    if len(position.trace) != 1 or not isinstance(position.trace[0], tuple) or len(position.trace[0]) != 2:
        raise ValueError("its 'trace' is not what EM writes")
    for numbers, logs in position.trace:
        good = isinstance(logs, np.ndarray) and logs.dtype == np.float64 and not np.isnan(logs).any()
        if not good or not _are_starts(numbers, n_starts) or numbers.shape != logs.shape:
            raise ValueError("its 'trace' is not what EM writes")
        if np.bincount(numbers).max() > max(position.n_iter, position.most_iter):
            raise ValueError("its 'trace' has more iterations than there were")


def _are_starts(numbers, n_starts: int) -> bool:
    """Tell whether an object is an array of numbers of starts."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind != "i" or numbers.ndim != 1 or not len(numbers):
        return False
    return set(numbers.tolist()) <= set(range(n_starts))


def _check_step(problem: Problem, before: np.ndarray, known: Mapping[str, np.ndarray]) -> None:
    """Raise if a step from some tables gives other results than the known ones."""
    check_tables(before, problem.engine.layout)
    logs, values, at = step(problem, before, None)
    for name, computed in {"logs": logs, "value": values, "at": at}.items():
        if name in known and not np.allclose(known[name], computed, rtol=ROUNDING, atol=ROUNDING):
            raise ValueError(f"its {name!r} is not what a step from its tables gives")


def _check_fit(fit: Fit, state: State, problem: Problem) -> None:
    """Raise if a result is not that of its tables, or contradicts itself."""
    check_tables(fit.tables, problem.engine.layout)
    log_likelihood = float(problem.engine.log_likelihood(fit.tables))
    objective = log_likelihood + float(log_prior(fit.tables, problem.prior))
    for name, written, computed in (
        ("log-likelihood", fit.log_likelihood, log_likelihood),
        ("log-likelihood", state.log_likelihood, log_likelihood),
        ("objective", fit.objective, objective),
        ("score", state.score, objective),
    ):
        check_number_again(name, written, computed)
    ends, logs = fit.final_objectives, fit.log_likelihoods
    for values in (ends, logs):
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
            raise ValueError("its ends of starts, or their log-likelihoods, are no numbers")
    good = type(fit.converged) is bool is type(fit.interrupted) and type(fit.remaining_gain) is float
    if not good or fit.interrupted or fit.n_iter != len(logs):
        raise ValueError("how EM ended is not what it writes")
    if fit.best_start not in range(len(ends)) or fit.n_best not in range(len(ends) + 1):
        raise ValueError(f"its best start is {fit.best_start!r} of {len(ends)}, reached by {fit.n_best!r}")
    check_number_again("last log-likelihood", float(logs[-1]), fit.log_likelihood)
