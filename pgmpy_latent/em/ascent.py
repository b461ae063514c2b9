"""How starts of EM go on to their ends, in step: plain iterations, leaps, and when little is left to gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.curvature import GainLeft, gain_left, uphill
from pgmpy_latent.em.maximum import higher, promised_gains
from pgmpy_latent.em.step import Problem, log_prior, step
from pgmpy_latent.exceptions import ImpossibleRowError

#: Iterations of plain EM before anything is extrapolated: early steps point anywhere.
WARM_UP = 15
#: Cycles of two iterations between two looks at what is left to gain.
CYCLES_PER_LOOK = 4
#: Share of the tolerance to which the best start is polished once all others have ended.
POLISH = 0.05
#: By how much less must be left, by extrapolation, for another look at the curvature after one that led nowhere; and
#: the share of the tolerance from which on extrapolation alone is believed.
LATER, BELIEVED = 0.25, 1e-4
#: How many times the gain that is left, by extrapolation, must fall short of a target for a start to be given up.
HOPE = 10.0
#: Two starts reached the same value if they differ by no more than this, relative to the tolerance.
SAME_VALUE = 10.0


@dataclass(frozen=True)
class Fit:
    """What EM found.

    Attributes
    ----------
    tables : array, shape (size,)
        The best tables.
    log_likelihood, objective : float
        At these tables, without and with the prior.
    log_likelihoods : array
        Log-likelihood at every iteration of the best start.
    n_iter : int
        Iterations of the best start.
    converged : bool
        Whether the best start stopped because little was left to gain.
    remaining_gain : float
        Extrapolated gain that further iterations would bring.
    best_start : int
        Number of the best start.
    final_objectives : array, shape (n_starts,)
        Where every start ended; one that was narrowed out ended where it was left.
    n_best : int
        In how many starts the best value was reached.
    interrupted : bool
        Whether Ctrl-C ended the fit early.
    """

    tables: np.ndarray
    log_likelihood: float
    objective: float
    log_likelihoods: np.ndarray
    n_iter: int
    converged: bool
    remaining_gain: float
    best_start: int
    final_objectives: np.ndarray
    n_best: int
    interrupted: bool = False


def same_value(ends: np.ndarray, best: float, atol: float = 1e-3) -> np.ndarray:
    """Return which starts ended at the best value, as far as a tolerance of EM tells.

    Examples
    --------
    >>> same_value(np.array([-1.0, -1.005, -2.0]), -1.0)
    array([ True,  True, False])
    """
    return ends >= best - (SAME_VALUE * max(atol, 1e-4) + 1e-10 * abs(best))


@dataclass(frozen=True)
class StopRule:
    """How starts go up, when they have arrived, and whether that is checked; see :func:`pgmpy_latent.em.fit.fit`."""

    atol: float
    max_iter: int
    stop: str = "remaining"
    target: float = -np.inf
    accelerate: bool = True
    check: bool = True

    @property
    def by_last_step(self) -> bool:
        """Whether the gain of the last iteration decides."""
        return self.stop == "last_step"


class Ascent:
    """Several starts on their way up, in step: plain EM first, then two EM steps and a leap (SQUAREM).

    ``before -> at`` is the last EM step of each start; ``value`` is the objective at ``before``. Starts of several
    groups have each their group's weighting, and each group has a best start. No start knows of another, so that it
    does not matter which of them go up together.
    """

    PER_START = (
        "numbers", "before", "at", "value", "logs", "longest", "limit", "step_gain", "remaining", "look_value",
        "look_gain", "rested", "trigger",
    )  # fmt: skip
    OTHERS = ("n_iter", "cycles", "highest", "atol", "polished", "best_value", "reached")

    def __init__(
        self,
        problem: Problem,
        starts: np.ndarray,
        route: StopRule,
        report: Callable[[int, float], None] = lambda iteration, value: None,
        groups: np.ndarray | None = None,
    ):
        self.problem = problem
        self._groups = groups
        self.route = route
        self.atol = route.atol
        self.report = report
        self.n_iter = 0
        self.cycles = -1  # since the last look at what is left; -1: plain steps come first
        self.numbers = np.arange(len(starts))
        self.final = np.full(len(starts), -np.inf)
        self.trace: list[tuple[np.ndarray, np.ndarray]] = []  # which starts had which log-likelihoods
        self.highest = -np.inf
        self.best: dict[int, tuple] = {}  # by group
        self.underway = (self.numbers, starts)  # which starts are where: always in order, also after an interrupt
        self.before = starts
        self.polished, self.best_value, self.reached = False, -np.inf, False  # what the best start had before that
        self._evaluate_first(starts)

    @property
    def groups(self) -> np.ndarray | None:
        """The group of every start that goes on; None if there is one group only."""
        return None if self._groups is None else self._groups[self.numbers]

    def _evaluate_first(self, starts: np.ndarray) -> None:
        logs, values, self.at = step(self.problem, starts, self.groups)
        self.n_iter += 1
        if not np.isfinite(values).any():
            raise ImpossibleRowError(
                "some rows have probability zero under the starting tables, so EM cannot begin there. "
                "Replace zeros that the data contradicts, or give a prior."
            )
        self.value = values
        self._forget_history(len(starts))
        self._note(logs)
        if not np.isfinite(values).all():  # an impossible start has nowhere to go
            self.keep(np.flatnonzero(np.isfinite(values)))

    def _forget_history(self, n_starts: int) -> None:
        self.longest = np.ones(n_starts)
        self.limit = np.full(n_starts, 4.0)
        self.step_gain = np.full(n_starts, np.inf)
        self.remaining = np.full(n_starts, np.inf)
        self.look_value = self.value
        self.look_gain = np.full(n_starts, np.inf)
        self.rested = np.full(n_starts, -np.inf)  # the objective where a start was lifted last
        self.trigger = np.full(n_starts, self.route.atol)  # when to look at the curvature; see _confirmed

    @property
    def done_iterating(self) -> bool:
        """Whether no further iteration is allowed."""
        return self.n_iter >= self.route.max_iter

    @property
    def done(self) -> bool:
        """Whether no start goes on."""
        return self.done_iterating or not len(self.numbers)

    def _note(self, logs: np.ndarray) -> None:
        self.logs = logs
        self.trace.append((self.numbers, logs))
        self.final[self.numbers] = self.value
        self.highest = max(self.highest, float(self.value.max()))
        if self.n_iter > 1:  # an interrupt must not keep this object from being made; see fit
            self.report(self.n_iter, self.highest)

    def advance(self) -> np.ndarray:
        """Take one plain EM iteration with every start; return the objectives."""
        logs, values, new = step(self.problem, self.at, self.groups)
        self.n_iter += 1
        self.before, self.at, self.value = self.at, new, values
        self.underway = (self.numbers, self.before)
        self._note(logs)
        return values

    def cycle(self, leap: bool) -> None:
        """Take an EM step; then, if asked to, leap along the direction that two steps show."""
        start, first = self.before, self.at - self.before
        old = self.value
        self.advance()
        bend = (self.at - self.before) - first
        bent = np.sqrt((bend * bend).sum(axis=1))
        length = np.sqrt((first * first).sum(axis=1)) / np.maximum(bent, 1e-300)
        length = np.where(bent == 0, 1.0, np.maximum(length, 1.0))
        # near the end an EM step shrinks errors by the factor 1 - 1/length, and gains by its square
        self.longest = np.maximum(self.longest * 0.9, length)
        self.step_gain = np.maximum(self.value - old, 0)
        if leap and not self.done:
            length = np.minimum(length, self.limit)
            stretch = length[:, None]
            point = self.problem.normalise(start + 2 * stretch * first + stretch**2 * bend, self.at)
            self._try(np.where(stretch > 1, point, self.at), length)

    def _try(self, point: np.ndarray, length: np.ndarray) -> None:
        """Go to a point where it is at least as good as the last known one; adapt the longest leap allowed."""
        logs, values, new = step(self.problem, point, self.groups)
        self.n_iter += 1
        good = values >= self.value
        self.before = np.where(good[:, None], point, self.before)
        self.at = np.where(good[:, None], new, self.at)
        self.value = np.where(good, values, self.value)
        longer = np.where(length >= self.limit, self.limit * 4, self.limit)
        self.limit = np.where(good, longer, np.maximum(4, self.limit / 4))
        self.underway = (self.numbers, self.before)
        self._note(np.where(good, logs, self.logs))

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the starts only."""
        for name in Ascent.PER_START:
            setattr(self, name, getattr(self, name)[which])
        self.underway = (self.numbers, self.before)

    def _estimate_remaining(self) -> None:
        """Extrapolate the gain that is left, from single steps and from one look to the next; keep the larger."""
        if self.route.by_last_step:
            self.remaining = self.step_gain
            return
        gain = self.value - self.look_value
        with np.errstate(invalid="ignore"):
            rate = np.clip(gain / np.maximum(self.look_gain, 1e-300), 0.5, 0.9)
        by_looks = gain * rate / (1 - rate)
        self.remaining = np.maximum(self.step_gain * self.longest / 2, by_looks)
        self.look_value, self.look_gain = self.value, gain

    def retire(self) -> None:
        """Leave out the starts that have little left to gain, remembering the best."""
        self._estimate_remaining()
        converged = self._confirmed() if self._looks_closer else self.remaining <= self.atol
        converged &= self.atol > 0
        hopeless = ~converged & (self.value + HOPE * self.remaining < self.route.target)
        unmet = self._unmet(converged)
        lifted = np.array([bool(unmet[at].any()) and self._lift(at, unmet[at]) for at in range(len(unmet))], bool)
        arrived = (converged | hopeless) & ~lifted
        for at in np.flatnonzero(arrived):
            # one that could still be lifted if there were iterations left is no maximum
            self._remember(int(at), converged=bool(converged[at] and not (unmet[at].any() and self.done_iterating)))
        self.keep(np.flatnonzero(~arrived))

    @property
    def _looks_closer(self) -> bool:
        """Whether the curvature has the last word: where the best start is polished, unless this is textbook EM."""
        return self.polished and self.atol > 0 and self.route.accelerate and not self.route.by_last_step

    def _confirmed(self) -> np.ndarray:
        """Return which starts have little left to gain, by their curvature; let the others go on from a higher point.

        Steps of EM say little about directions in which it crawls, and nothing about saddles.
        """
        converged = np.zeros(len(self.numbers), bool)
        for at in np.flatnonzero(self.remaining <= self.trigger):
            if self.done_iterating:
                break
            if self.remaining[at] <= BELIEVED * self.atol:
                converged[at] = True
                continue
            seen = gain_left(self.problem, self.before[at], self.at[at], self.atol)
            self._count(seen.n_steps)
            converged[at], self.reached = seen.gain <= self.atol, seen.gain <= self.route.atol
            if converged[at]:
                self.remaining[at] = seen.gain
            else:
                self._go_uphill(at, seen)
        return converged

    def _go_uphill(self, at: int, seen: GainLeft) -> None:
        """Let a start go on where the curvature points to; look again later if that is not much higher."""
        found, n_steps = uphill(self.problem, self.before[at], float(self.value[at]), seen.ways)
        self._count(n_steps)
        gained = 0.0 if found is None else found[2] - self.value[at]
        if gained < min(seen.gain, self.route.atol) / 4:
            self.trigger = np.where(np.arange(len(self.trigger)) == at, LATER * self.remaining[at], self.trigger)
        if found is not None:
            self._move(at, found)

    def _count(self, n_steps: int) -> None:
        """Count passes over the rows that led nowhere yet."""
        for _ in range(n_steps):
            self.n_iter += 1
            self._note(self.logs)

    def _unmet(self, converged: np.ndarray) -> np.ndarray:
        """Return by how much to lift each entry of starts that came to rest and are no maxima; see `maximum`."""
        steps = np.zeros_like(self.before)
        which = np.flatnonzero(converged & (self.value > self.rested + self.route.atol))
        if self.route.check and not self.route.by_last_step and len(which):
            groups = None if self.groups is None else self.groups[which]
            gains, promising = promised_gains(self.problem, self.before[which], groups)
            steps[which] = np.where(gains > self.route.atol, promising, 0.0)
        return steps

    def _lift(self, at: int, steps: np.ndarray) -> bool:
        """Let a start go on from a higher point; return whether there is one, and iterations are left."""
        if self.done_iterating:
            return False
        self.report(self.n_iter, self.highest)  # the clock goes on
        group = None if self.groups is None else int(self.groups[at])
        found = higher(self.problem, self.before[at], float(self.value[at]), steps, group)
        if found is None:
            return False
        self._move(at, found, rested=self.value[at])
        return True

    def _move(self, at: int, point: tuple, **fresh: float) -> None:
        """Let a start go on from a higher point, without what its old place said."""
        before, log, value, new = point
        fresh |= {"longest": 1.0, "limit": 4.0, "step_gain": np.inf, "look_gain": np.inf, "remaining": np.inf}
        fresh |= {"before": before, "at": new, "value": value, "logs": log, "look_value": value}
        for name, own in fresh.items():
            array = getattr(self, name).copy()  # others may hold on to what it was
            array[at] = own
            setattr(self, name, array)
        self.underway = (self.numbers, self.before)
        self.final[self.numbers[at]] = value

    def _remember(self, at: int, converged: bool) -> None:
        number, remaining = int(self.numbers[at]), float(self.remaining[at])
        group = 0 if self._groups is None else int(self._groups[number])
        self._suggest(group, (number, float(self.value[at]), self.before[at].copy(), converged, remaining))

    def _suggest(self, group: int, found: tuple) -> None:
        """Remember a start if it is the best of its group; of equally good ones, the last."""
        number, value = found[:2]
        if group not in self.best or (value, number) >= self.best[group][1::-1]:
            self.best[group] = found

    def polish(self) -> None:
        """Take the best start up again, to go on to a finer tolerance."""
        if len(self.numbers):
            self._remember(int(np.argmax(self.value)), converged=False)
        best = self.best[0]
        self.polished, self.best_value, self.reached, self.cycles = True, best[1], best[3], -1
        if self.atol == 0 or self.done_iterating or self.route.by_last_step:
            return
        self.atol *= POLISH
        self.numbers, self.before = np.array([best[0]]), best[2][None]
        self.logs, self.value, self.at = step(self.problem, self.before, self.groups)
        self._forget_history(1)

    def best_of_groups(self, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the best tables of every group, and their objectives."""
        for at in range(len(self.numbers)):
            self._remember(at, converged=False)
        best = [self.best[group] for group in range(n_groups)]
        return np.stack([tables for _, _, tables, _, _ in best]), np.array([value for _, value, _, _, _ in best])

    def snapshot(self, which: np.ndarray | None = None) -> dict:
        """Return all that is needed to go on from here: numbers, and arrays that nobody changes.

        Parameters
        ----------
        which : int array, optional
            Positions of some starts, which are to go on without the others; all, with what was found before, by
            default.
        """
        own = {name: getattr(self, name) for name in (*Ascent.PER_START, *Ascent.OTHERS)}
        own |= {"final": self.final.copy(), "trace": (), "best": {}}
        if which is not None:
            return own | {name: own[name][which] for name in Ascent.PER_START}
        if self.trace:
            own["trace"] = tuple(np.concatenate(parts) for parts in zip(*self.trace, strict=True))
        return own | {"best": dict(self.best)}

    @classmethod
    def of(cls, snapshot: dict, problem: Problem, route: StopRule, report: Callable[[int, float], None]) -> Ascent:
        """Return the climb that a snapshot shows."""
        climb = cls.__new__(cls)
        climb.problem, climb.route, climb.report, climb._groups = problem, route, report, None
        for name in (*Ascent.PER_START, *Ascent.OTHERS):
            setattr(climb, name, snapshot[name])
        climb.final, climb.best = snapshot["final"].copy(), dict(snapshot["best"])
        climb.trace = [snapshot["trace"]] if len(snapshot["trace"]) else []
        climb.underway = (climb.numbers, climb.before)
        return climb

    def join(self, parts: Sequence[tuple[np.ndarray, dict]]) -> None:
        """Take over what became of all starts, which went on in parts: the numbers and the snapshot of each part."""
        for members, part in parts:
            self.final[members] = part["final"][members]
            self.trace += [part["trace"]] if len(part["trace"]) else []
            self.n_iter, self.highest = max(self.n_iter, part["n_iter"]), max(self.highest, part["highest"])
            for group, found in part["best"].items():
                self._suggest(group, found)
        order = np.argsort(np.concatenate([part["numbers"] for _, part in parts]))
        for name in Ascent.PER_START:
            setattr(self, name, np.concatenate([part[name] for _, part in parts])[order])
        self.underway = (self.numbers, self.before)

    def _recover(self) -> None:
        """Return to a consistent state after an interrupt, which may have come in the middle of an update."""
        self.numbers, self.before = self.underway
        if len(self.numbers):
            self.logs, self.value, self.at = step(self.problem, self.before, self.groups)
        self._forget_history(len(self.numbers))

    def finish(self, interrupted: bool) -> Fit:
        """Return the best of all starts, at the tables whose value is known."""
        if interrupted:
            self._recover()
        if len(self.numbers):
            self._remember(int(np.argmax(self.value)), converged=False)
        number, value, tables, converged, remaining = self.best[0]
        numbers, logs = (np.concatenate(parts) for parts in zip(*self.trace, strict=True))
        trace = logs[numbers == number]
        before_polish = min(self.best_value, value) if self.polished else value
        return Fit(
            tables=tables,
            log_likelihood=float(value - log_prior(tables, self.problem.prior)),
            objective=value,
            log_likelihoods=trace,
            n_iter=len(trace),
            converged=converged or self.reached,
            remaining_gain=remaining,
            best_start=number,
            final_objectives=self.final,
            n_best=int(same_value(self.final, before_polish, self.route.atol).sum()),
            interrupted=interrupted,
        )


def ascend(climb: Ascent, pause: Callable[[], bool] = lambda: False) -> bool:
    """Take all starts to their ends: plain steps first, then cycles, with a look at what is left now and then.

    Parameters
    ----------
    climb : Ascent
        The starts.
    pause : callable
        Asked again and again, where nothing is under way. After a pause the climb goes on as if there had been none.

    Returns
    -------
    bool
        Whether all have arrived.
    """
    every_step = climb.route.by_last_step
    while not climb.done:
        if pause():
            return False
        if climb.cycles < 0 and climb.n_iter <= WARM_UP and not every_step:
            climb.advance()
            continue
        if climb.cycles < 0:
            climb.look_value, climb.cycles = climb.value, 0
        climb.cycle(leap=climb.route.accelerate)
        climb.cycles += 1
        if climb.done or every_step or climb.cycles == CYCLES_PER_LOOK:
            climb.retire()
            climb.cycles = 0
    return True
