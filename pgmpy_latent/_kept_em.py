"""An EM of an estimator, kept in a file on its way, and how much time it has."""

from __future__ import annotations

import time
from dataclasses import asdict

from pgmpy_latent._checkpoint import Checkpoint, Fingerprint, State
from pgmpy_latent._settings import TimeUp
from pgmpy_latent.climb import Fit


class KeptEM:
    """A keeper (:class:`~pgmpy_latent.shared_climb.Keeper`) with a clock, and a file if there is to be one.

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

    def __init__(self, path, mark: Fingerprint | None, entropy: int, ends: float):
        self.ends, self.entropy = ends, entropy
        self.saved, self.found = None, None
        self._file = None if path is None else Checkpoint(path, mark)
        before = None if self._file is None else self._file.take_up(entropy)
        if before is not None:
            self.entropy = before.entropy
            memory = before.state.memory
            if before.state.finished:
                self.found = Fit(**memory["fit"])
            else:
                self.saved = memory["em"]

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
