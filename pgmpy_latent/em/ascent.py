"""How starts of EM rise to their maxima, side by side: plain steps, leaps, and a check of every maximum."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.em.curvature import gain_left, uphill
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
    """When a start has converged; see :func:`pgmpy_latent.em.fit.fit` for what the fields mean."""

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


#: The fields of a position that have one entry for every start that goes on.
PER_START = (
    "numbers", "before", "at", "value", "logs", "longest", "limit", "step_gain", "remaining", "look_value",
    "look_gain", "lifted_at", "trigger",
)  # fmt: skip


@dataclass
class Position:
    """Where all starts are: all that is needed to go on from there, as if there had been no stop.

    Arrays are replaced, never written to, except for ``final``; a copy of this object is therefore a snapshot.

    Attributes
    ----------
    numbers : int array, shape (n,)
        Which starts go on.
    before, at : arrays, shape (n, size)
        The last EM step of each: from these tables to those.
    value, logs : arrays, shape (n,)
        Objective and log-likelihood at ``before``.
    longest, limit : arrays, shape (n,)
        The longest leap that steps pointed to lately, and the longest that is allowed.
    step_gain, remaining : arrays, shape (n,)
        Gain of the last step, and extrapolated gain that is left.
    look_value, look_gain : arrays, shape (n,)
        Objective at the last estimate of what is left, and the gain between the last two.
    lifted_at : array, shape (n,)
        Objective where entries near zero were lifted last.
    trigger : array, shape (n,)
        Extrapolated gain below which the curvature is computed.
    final : array, shape (n_starts,)
        The last objective of every start.
    trace : list of (int array, array)
        Which starts had which log-likelihoods, iteration by iteration.
    best : dict of int to tuple
        The best start that has converged, by group: number, objective, tables, whether it converged, remaining gain.
    n_iter : int
        Evaluations of the expected counts so far, of the starts that go on.
    most_iter : int
        Most evaluations that starts took which ended elsewhere.
    cycles : int
        Cycles since the last estimate of what is left; -1 during the warm-up.
    highest : float
        The best objective so far.
    atol : float
        Gain that may be left; smaller while the best start is polished.
    polished : bool
        Whether the best start is, or was, polished.
    best_value, reached : float, bool
        Objective of the best start before it was polished, and whether it had converged.
    """

    numbers: np.ndarray
    before: np.ndarray
    at: np.ndarray
    value: np.ndarray
    logs: np.ndarray
    longest: np.ndarray
    limit: np.ndarray
    step_gain: np.ndarray
    remaining: np.ndarray
    look_value: np.ndarray
    look_gain: np.ndarray
    lifted_at: np.ndarray
    trigger: np.ndarray
    final: np.ndarray
    trace: list[tuple[np.ndarray, np.ndarray]]
    best: dict[int, tuple]
    n_iter: int
    most_iter: int
    cycles: int
    highest: float
    atol: float
    polished: bool
    best_value: float
    reached: bool

    def snapshot(self) -> Position:
        """Return a copy that nobody changes, with the trace in one piece."""
        found = copy(self)
        found.final, found.best = self.final.copy(), dict(self.best)
        found.trace = [tuple(np.concatenate(parts) for parts in zip(*self.trace, strict=True))] if self.trace else []
        return found

    def part(self, which: np.ndarray) -> Position:
        """Return the position of some starts, by their places, which are to go on without the others."""
        found = copy(self)
        found.final, found.best, found.trace = self.final.copy(), {}, []
        found.keep(which)
        return found

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the starts only, by their places."""
        for name in PER_START:
            setattr(self, name, getattr(self, name)[which])

    def suggest(self, group: int, ended: tuple) -> None:
        """Remember a start if it is the best of its group; of equally good ones, the last."""
        number, value = ended[:2]
        if group not in self.best or (value, number) >= self.best[group][1::-1]:
            self.best[group] = ended

    def take_in(self, members: np.ndarray, part: Position) -> None:
        """Take over from starts that went on elsewhere, by their numbers; those of the part that have not ended go on.

        Parameters
        ----------
        members : int array
            Numbers of the starts that the part had.
        part : Position
            Where they are now.
        """
        self.final[members] = part.final[members]
        self.trace = [*self.trace, *part.trace]
        self.highest = max(self.highest, part.highest)
        self.most_iter = max(self.most_iter, part.n_iter)
        for group, ended in part.best.items():
            self.suggest(group, ended)
        self.keep(np.flatnonzero(~np.isin(self.numbers, members)))
        order = np.argsort(np.concatenate([self.numbers, part.numbers]))
        for name in PER_START:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(part, name)])[order])

    def all_back(self) -> None:
        """Count the iterations of starts that went on elsewhere, now that all of them are back."""
        self.n_iter = max(self.n_iter, self.most_iter)


class Ascent:
    """Several starts that rise side by side: plain EM first, then two EM steps and a leap (SQUAREM) in turn.

    No start depends on another, so that it does not matter which of them rise together. Starts of several groups have
    each their group's weighting, and each group has a best start.

    Parameters
    ----------
    problem : Problem
        What EM maximises.
    rule : StopRule
        When a start has converged.
    position : Position
        Where the starts are.
    report : callable
        Called with iteration and best objective after every iteration; may raise to stop.
    groups : int array, shape (n_starts,), optional
        The group of every start; all belong to one by default.
    """

    def __init__(
        self,
        problem: Problem,
        rule: StopRule,
        position: Position,
        report: Callable[[int, float], None] = lambda iteration, value: None,
        groups: np.ndarray | None = None,
    ):
        self.problem = problem
        self.rule = rule
        self.position = position
        self.report = report
        self._groups = groups
        self._consistent = (position.numbers, position.before)  # holds after an interrupt in the middle of an update

    @classmethod
    def begin(cls, problem: Problem, starts: np.ndarray, rule: StopRule, report=None, groups=None) -> Ascent:
        """Evaluate the starts; raise if none of them is possible, and leave out those that are not."""
        _ = problem.engine.is_large  # which plans how threads would share rows, once for all steps
        numbers = np.arange(len(starts))
        logs, value, at = step(problem, starts, groups)
        if not np.isfinite(value).any():
            raise ImpossibleRowError(
                "some rows have probability zero under the starting tables, so EM cannot begin there. "
                "Replace zeros that the data contradicts, or give a prior."
            )
        position = Position(
            numbers, starts, at, value, logs, *_no_history(value, rule.atol).values(), final=value.copy(),
            trace=[(numbers, logs)], best={}, n_iter=1, most_iter=0, cycles=-1, highest=float(value.max()),
            atol=rule.atol, polished=False, best_value=-np.inf, reached=False,
        )  # fmt: skip
        if not np.isfinite(value).all():
            position.keep(np.flatnonzero(np.isfinite(value)))
        options = {} if report is None else {"report": report}
        return cls(problem, rule, position, groups=groups, **options)

    @property
    def groups(self) -> np.ndarray | None:
        """The group of every start that goes on; None if there is one group only."""
        return None if self._groups is None else self._groups[self.position.numbers]

    @property
    def out_of_iterations(self) -> bool:
        """Whether no further iteration is allowed."""
        return self.position.n_iter >= self.rule.max_iter

    @property
    def done(self) -> bool:
        """Whether no start goes on."""
        return self.out_of_iterations or not len(self.position.numbers)

    def run(self, pause: Callable[[], bool] = lambda: False) -> bool:
        """Take all starts to their maxima: plain steps first, then cycles, with an estimate of what is left.

        Parameters
        ----------
        pause : callable
            Asked between cycles, where the position is consistent. After a pause the starts go on as if there had been
            none.

        Returns
        -------
        bool
            Whether all have ended.
        """
        every_step = self.rule.by_last_step
        while not self.done:
            if pause():
                return False
            position = self.position
            if position.cycles < 0 and position.n_iter <= WARM_UP and not every_step:
                self.advance()
                continue
            if position.cycles < 0:
                position.look_value, position.cycles = position.value, 0
            self._cycle()
            position.cycles += 1
            if self.done or every_step or position.cycles == CYCLES_PER_LOOK:
                self._estimate_remaining()
                converged = self._converged()
                self._retire(converged, self._lift_zeros(converged))
                position.cycles = 0
        self.position.all_back()
        return True

    # Steps ----------------------------------------------------------------------------------------

    def advance(self) -> np.ndarray:
        """Take one plain EM iteration with every start; return the objectives."""
        self._arrive(*step(self.problem, self.position.at, self.groups))
        return self.position.value

    def _arrive(self, logs: np.ndarray, value: np.ndarray, new: np.ndarray) -> None:
        """Note where a plain step has led."""
        position = self.position
        position.before, position.at, position.value = position.at, new, value
        self._count(logs)

    def _cycle(self) -> None:
        """Take an EM step, and then a leap along the direction that two steps show, if the rule allows leaps."""
        position = self.position
        start, first, old = position.before, position.at - position.before, position.value
        self._arrive(*step(self.problem, position.at, self.groups))
        bend = (position.at - position.before) - first
        bent = np.sqrt((bend * bend).sum(axis=1))
        length = np.sqrt((first * first).sum(axis=1)) / np.maximum(bent, 1e-300)
        length = np.where(bent == 0, 1.0, np.maximum(length, 1.0))
        # near the maximum an EM step shrinks errors by the factor 1 - 1/length, and gains by its square
        position.longest = np.maximum(position.longest * 0.9, length)
        position.step_gain = np.maximum(position.value - old, 0)
        if not self.rule.accelerate or self.done:
            return
        length = np.minimum(length, position.limit)
        stretch = length[:, None]
        point = self.problem.normalise(start + 2 * stretch * first + stretch**2 * bend, position.at)
        point = np.where(stretch > 1, point, position.at)
        self._leap(point, length, *step(self.problem, point, self.groups))

    def _leap(
        self, point: np.ndarray, length: np.ndarray, logs: np.ndarray, value: np.ndarray, new: np.ndarray
    ) -> None:
        """Go to a point where it is at least as good as the last one; adapt the longest leap allowed."""
        position = self.position
        good = value >= position.value
        position.before = np.where(good[:, None], point, position.before)
        position.at = np.where(good[:, None], new, position.at)
        position.value = np.where(good, value, position.value)
        longer = np.where(length >= position.limit, position.limit * 4, position.limit)
        position.limit = np.where(good, longer, np.maximum(4, position.limit / 4))
        self._count(np.where(good, logs, position.logs))

    def _count(self, logs: np.ndarray) -> None:
        """Count an evaluation of the expected counts, with the log-likelihoods that the starts have now."""
        position = self.position
        position.n_iter += 1
        position.logs = logs
        position.trace.append((position.numbers, logs))
        position.final[position.numbers] = position.value
        position.highest = max(position.highest, float(position.value.max()))
        self._consistent = (position.numbers, position.before)
        self.report(position.n_iter, position.highest)

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the starts only, by their places."""
        self.position.keep(which)
        self._consistent = (self.position.numbers, self.position.before)

    # What is left ---------------------------------------------------------------------------------

    def _estimate_remaining(self) -> None:
        """Extrapolate the gain that is left, from single steps and from one estimate to the next; keep the larger."""
        position = self.position
        if self.rule.by_last_step:
            position.remaining = position.step_gain
            return
        gain = position.value - position.look_value
        with np.errstate(invalid="ignore"):
            rate = np.clip(gain / np.maximum(position.look_gain, 1e-300), 0.5, 0.9)
        by_looks = gain * rate / (1 - rate)
        position.remaining = np.maximum(position.step_gain * position.longest / 2, by_looks)
        position.look_value, position.look_gain = position.value, gain

    def _converged(self) -> np.ndarray:
        """Return which starts have little left to gain: by extrapolation, or by curvature where the best is polished.

        Steps of EM say little about directions in which it crawls, and nothing about saddles. A start that has more
        left by its curvature goes on from a higher point, if there is one.
        """
        position, rule = self.position, self.rule
        if position.atol == 0:
            return np.zeros(len(position.numbers), bool)
        if not position.polished or not rule.accelerate or rule.by_last_step:
            return position.remaining <= position.atol
        converged = np.zeros(len(position.numbers), bool)
        for at in np.flatnonzero(position.remaining <= position.trigger):
            if self.out_of_iterations:
                break
            if position.remaining[at] <= BELIEVED * position.atol:
                converged[at] = True
                continue
            left = gain_left(self.problem, position.before[at], position.at[at], position.atol)
            self._count_unchanged(left.n_steps)
            converged[at], position.reached = left.gain <= position.atol, left.gain <= rule.atol
            if converged[at]:
                position.remaining[at] = left.gain
                continue
            point, n_steps = uphill(self.problem, position.before[at], float(position.value[at]), left.ways)
            self._count_unchanged(n_steps)
            gained = 0.0 if point is None else point[2] - position.value[at]
            if gained < min(left.gain, rule.atol) / 4:  # compute the curvature again when much less is left
                here = np.arange(len(position.trigger)) == at
                position.trigger = np.where(here, LATER * position.remaining[at], position.trigger)
            if point is not None:
                self._move(at, point)
        return converged

    def _count_unchanged(self, n_steps: int) -> None:
        """Count evaluations that have moved no start yet."""
        for _ in range(n_steps):
            self._count(self.position.logs)

    def _lift_zeros(self, converged: np.ndarray) -> np.ndarray:
        """Lift entries at or near zero where they keep a converged start from a maximum; see ``em.maximum``.

        Returns
        -------
        int array, shape (n,)
            1 where a start goes on from a higher point, -1 where it would if there were iterations left, and else 0.
        """
        position, rule = self.position, self.rule
        outcome = np.zeros(len(position.numbers), np.int64)
        which = np.flatnonzero(converged & (position.value > position.lifted_at + rule.atol))
        if not rule.check or rule.by_last_step or not len(which):
            return outcome
        groups = None if self.groups is None else self.groups[which]
        gains, steps = promised_gains(self.problem, position.before[which], groups)
        steps = np.where(gains > rule.atol, steps, 0.0)
        for at, own in zip(which, steps, strict=True):
            if not own.any():
                continue
            if self.out_of_iterations:
                outcome[at] = -1
                continue
            self.report(position.n_iter, position.highest)  # the clock goes on
            group = None if self.groups is None else int(self.groups[at])
            point = higher(self.problem, position.before[at], float(position.value[at]), own, group)
            if point is not None:
                self._move(at, point, lifted_at=position.value[at])
                outcome[at] = 1
        return outcome

    def _move(self, at: int, point: tuple, **fresh: float) -> None:
        """Let a start go on from a higher point, without what its steps so far have shown."""
        position = self.position
        before, log, value, new = point
        fresh |= {"longest": 1.0, "limit": 4.0, "step_gain": np.inf, "look_gain": np.inf, "remaining": np.inf}
        fresh |= {"before": before, "at": new, "value": value, "logs": log, "look_value": value}
        for name, one in fresh.items():
            array = getattr(position, name).copy()  # a snapshot may share the old one
            array[at] = one
            setattr(position, name, array)
        self._consistent = (position.numbers, position.before)
        position.final[position.numbers[at]] = value

    def _retire(self, converged: np.ndarray, lifted: np.ndarray) -> None:
        """Leave out the starts that have converged, or cannot reach the target, remembering the best."""
        position = self.position
        hopeless = ~converged & (position.value + HOPE * position.remaining < self.rule.target)
        ended = (converged | hopeless) & (lifted <= 0)
        for at in np.flatnonzero(ended):
            self._remember(int(at), converged=bool(converged[at] and lifted[at] == 0))
        self.keep(np.flatnonzero(~ended))

    def _remember(self, at: int, converged: bool) -> None:
        position = self.position
        number, remaining = int(position.numbers[at]), float(position.remaining[at])
        group = 0 if self._groups is None else int(self._groups[number])
        position.suggest(group, (number, float(position.value[at]), position.before[at].copy(), converged, remaining))

    # Results --------------------------------------------------------------------------------------

    def polish(self) -> None:
        """Take the best start up again, to go on to a finer tolerance."""
        position, rule = self.position, self.rule
        if len(position.numbers):
            self._remember(int(np.argmax(position.value)), converged=False)
        best = position.best[0]
        position.polished, position.best_value, position.reached, position.cycles = True, best[1], best[3], -1
        if position.atol == 0 or self.out_of_iterations or rule.by_last_step:
            return
        position.atol *= POLISH
        self._restart(np.array([best[0]]), best[2][None])

    def take_in(self, members: np.ndarray, part: Position) -> None:
        """Take over from starts that went on elsewhere; see :meth:`Position.take_in`."""
        self.position.take_in(members, part)
        self._consistent = (self.position.numbers, self.position.before)

    def _restart(self, numbers: np.ndarray, tables: np.ndarray) -> None:
        """Let some starts go on from given tables, without what their steps so far have shown."""
        position = self.position
        position.numbers, position.before = numbers, tables
        if len(numbers):
            position.logs, position.value, position.at = step(self.problem, tables, self.groups)
        for name, array in _no_history(position.value[: len(numbers)], self.rule.atol).items():
            setattr(position, name, array)

    def best_of_groups(self, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the best tables of every group, and their objectives."""
        for at in range(len(self.position.numbers)):
            self._remember(at, converged=False)
        best = [self.position.best[group] for group in range(n_groups)]
        return np.stack([tables for _, _, tables, _, _ in best]), np.array([value for _, value, _, _, _ in best])

    def result(self, interrupted: bool) -> Fit:
        """Return the best of all starts, at the tables whose value is known."""
        position = self.position
        if interrupted:
            self._restart(*self._consistent)
        if len(position.numbers):
            self._remember(int(np.argmax(position.value)), converged=False)
        number, value, tables, converged, remaining = position.best[0]
        numbers, logs = (np.concatenate(parts) for parts in zip(*position.trace, strict=True))
        trace = logs[numbers == number]
        before_polish = min(position.best_value, value) if position.polished else value
        return Fit(
            tables=tables,
            log_likelihood=float(value - log_prior(tables, self.problem.prior)),
            objective=value,
            log_likelihoods=trace,
            n_iter=len(trace),
            converged=converged or position.reached,
            remaining_gain=remaining,
            best_start=number,
            final_objectives=position.final,
            n_best=int(same_value(position.final, before_polish, self.rule.atol).sum()),
            interrupted=interrupted,
        )


def _no_history(value: np.ndarray, atol: float) -> dict[str, np.ndarray]:
    """Return the fields of starts that have shown nothing yet but their objectives."""
    n = len(value)
    return {
        "longest": np.ones(n),
        "limit": np.full(n, 4.0),
        "step_gain": np.full(n, np.inf),
        "remaining": np.full(n, np.inf),
        "look_value": value,
        "look_gain": np.full(n, np.inf),
        "lifted_at": np.full(n, -np.inf),
        "trigger": np.full(n, atol),
    }
