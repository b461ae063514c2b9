"""The ascent of EM from several starts at once: plain steps, leaps, and a check of every maximum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias, get_type_hints

import numpy as np

from pgmpy_latent.em.curvature import gain_left, uphill
from pgmpy_latent.em.maximum import higher, promised_gains
from pgmpy_latent.em.step import Objective, Point, Problem, log_prior
from pgmpy_latent.exceptions import ImpossibleRowError
from pgmpy_latent.runtime.clock import Clock

#: Iterations of plain EM before anything is extrapolated: early steps point anywhere.
WARM_UP = 15
#: Cycles of two iterations between two estimates of the gain that is left.
CYCLES_PER_LOOK = 4
#: Share of the tolerance to which the best start is polished once all others have ended.
POLISH = 0.05
#: Factor by which the extrapolated gain must fall before the curvature is computed again, after it led nowhere; and the
#: share of the tolerance below which extrapolation alone decides.
LATER, BELIEVED = 0.25, 1e-4
#: A start is given up if it would miss the target even with this many times the gain that is left, by extrapolation.
HOPE = 10.0
#: Two starts reached the same value if they differ by no more than this, relative to the tolerance.
SAME_VALUE = 10.0


@dataclass(frozen=True)
class Fit:
    """The result of EM.

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
        The objective at which every start ended, or was left out by narrowing.
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


class BestStart(NamedTuple):
    """A start that has ended: its number, and how and where it ended."""

    number: int
    objective: float
    tables: np.ndarray
    converged: bool
    remaining: float


def no_history(value: np.ndarray, atol: float) -> dict[str, Any]:
    """Return the fields of a :class:`Position` that depend on its steps, for starts that have made none."""
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


#: An array with one entry for every running start.
PerStart: TypeAlias = Annotated[np.ndarray, "per start"]


@dataclass
class Position:
    """Where all starts are: everything that an ascent needs to continue as if it had not been stopped.

    Arrays are replaced, never written to, except for ``final``; a copy of this object is therefore a snapshot.

    Attributes
    ----------
    numbers : int array, shape (n,)
        The numbers of the running starts; ``n`` is how many there are.
    before, at : arrays, shape (n, size)
        The tables of each before and after its last EM step.
    value, logs : arrays, shape (n,)
        Objective and log-likelihood at ``before``.
    longest, limit : arrays, shape (n,)
        The longest leap that recent steps suggested, and the longest that is allowed.
    step_gain, remaining : arrays, shape (n,)
        Gain of the last step, and extrapolated gain that is left.
    look_value, look_gain : arrays, shape (n,)
        Objective at the last estimate of the gain that is left, and the gain between the last two estimates.
    lifted_at : array, shape (n,)
        Objective where entries near zero were lifted last.
    trigger : array, shape (n,)
        Extrapolated gain below which the curvature is computed.
    final : array, shape (n_starts,)
        The last objective of every start.
    trace : list of (int array, array)
        Numbers and log-likelihoods of the running starts, iteration by iteration.
    best : dict of int to BestStart
        The best start that has ended, by group.
    n_iter : int
        Evaluations of the expected counts so far, of the running starts.
    most_iter : int
        Most evaluations of a start that other workers took over.
    cycles : int
        Cycles since the last estimate of the gain that is left; -1 during the warm-up.
    highest : float
        The best objective so far.
    atol : float
        Gain that may be left; smaller while the best start is polished.
    polished : bool
        Whether the best start is, or was, polished.
    best_value, reached : float, bool
        Objective of the best start before it was polished, and whether it had converged.
    """

    numbers: PerStart
    before: PerStart
    at: PerStart
    value: PerStart
    logs: PerStart
    longest: PerStart
    limit: PerStart
    step_gain: PerStart
    remaining: PerStart
    look_value: PerStart
    look_gain: PerStart
    lifted_at: PerStart
    trigger: PerStart
    final: np.ndarray
    trace: list[tuple[np.ndarray, np.ndarray]]
    best: dict[int, BestStart]
    n_iter: int
    most_iter: int
    cycles: int
    highest: float
    atol: float
    polished: bool
    best_value: float
    reached: bool

    def snapshot(self) -> Position:
        """Return a copy that later steps do not change, with the trace in one piece."""
        snapshot = copy(self)
        snapshot.final, snapshot.best = self.final.copy(), dict(self.best)
        if self.trace:
            snapshot.trace = [self.whole_trace()]
        return snapshot

    @classmethod
    def from_dict(cls, written: Mapping) -> Position:
        """Return the position whose fields were written to a file."""
        position = cls(**written)
        position.trace = list(position.trace)
        position.best = {group: BestStart(*ended) for group, ended in position.best.items()}
        return position

    def whole_trace(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the trace as two arrays: numbers of starts, and their log-likelihoods."""
        return np.concatenate([numbers for numbers, _ in self.trace]), np.concatenate([logs for _, logs in self.trace])

    def part(self, which: np.ndarray) -> Position:
        """Return the position of some starts, given by index, which will run without the others."""
        part = copy(self)
        part.final, part.best, part.trace = self.final.copy(), {}, []
        part.keep(which)
        return part

    def keep(self, which: np.ndarray) -> None:
        """Run on with some of the starts only, given by index."""
        for name in PER_START:
            setattr(self, name, getattr(self, name)[which])

    def suggest(self, group: int, ended: BestStart) -> None:
        """Remember a start if it is the best of its group; of equally good ones, the last."""
        best = self.best.get(group)
        if best is None or (ended.objective, ended.number) >= (best.objective, best.number):
            self.best[group] = ended

    def take_in(self, members: np.ndarray, part: Position) -> None:
        """Take back starts that another worker ran; those that have not ended run on here.

        Parameters
        ----------
        members : int array
            Numbers of the starts that the part had at first.
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
        """Count the iterations of starts that other workers ran, now that all of them are back."""
        self.n_iter = max(self.n_iter, self.most_iter)


_TYPES = get_type_hints(Position, include_extras=True)
#: The fields of a position that have one entry for every running start.
PER_START = tuple(name for name, kind in _TYPES.items() if kind == PerStart)
#: Its fields that are single numbers, and their types.
NUMBERS = {name: kind for name, kind in _TYPES.items() if kind in (int, float, bool)}


class Ascent:
    """Several starts that rise side by side: plain EM first, then cycles of an EM step and a leap (SQUAREM).

    No start depends on another, so that it does not matter which of them run together. If there are groups, each start
    uses its group's weighting, and each group has a best start.

    Parameters
    ----------
    problem : Objective
        What is maximised.
    rule : StopRule
        When a start has converged.
    position : Position
        Where the starts are.
    report : callable
        Called with iteration and best objective after every iteration.
    clock : Clock, optional
        Stops the ascent after any iteration. Without one it stops only between cycles, where it is paused.
    groups : int array, shape (n_starts,), optional
        The group of every start; all belong to one by default.
    """

    def __init__(
        self,
        problem: Objective,
        rule: StopRule,
        position: Position,
        report: Callable[[int, float], None] | None = None,
        groups: np.ndarray | None = None,
        clock: Clock | None = None,
    ):
        self.problem = problem
        self.rule = rule
        self.position = position
        self.report = report or _no_report
        self.clock = clock
        self._groups = groups
        self._consistent = (position.numbers, position.before)  # an interrupt may come in the middle of an update

    @classmethod
    def begin(
        cls,
        problem: Objective,
        starts: np.ndarray,
        rule: StopRule,
        report: Callable[[int, float], None] | None = None,
        groups: np.ndarray | None = None,
        clock: Clock | None = None,
    ) -> Ascent:
        """Evaluate the starts, and leave out those that are impossible; raise if all of them are."""
        problem.prepare()
        numbers = np.arange(len(starts))
        logs, value, at = problem.step(starts, groups)
        if not np.isfinite(value).any():
            raise ImpossibleRowError(
                "some rows have probability zero under the starting tables, so EM cannot begin there. "
                "Replace zeros that the data contradicts, or give a prior."
            )
        position = Position(
            numbers=numbers, before=starts, at=at, value=value, logs=logs, **no_history(value, rule.atol),
            final=value.copy(), trace=[(numbers, logs)], best={}, n_iter=1, most_iter=0, cycles=-1,
            highest=float(value.max()), atol=rule.atol, polished=False, best_value=-np.inf, reached=False,
        )  # fmt: skip
        if not np.isfinite(value).all():
            position.keep(np.flatnonzero(np.isfinite(value)))
        return cls(problem, rule, position, report, groups, clock)

    @property
    def groups(self) -> np.ndarray | None:
        """The group of every running start; None if there is one group only."""
        return None if self._groups is None else self._groups[self.position.numbers]

    @property
    def out_of_iterations(self) -> bool:
        """Whether no further iteration is allowed."""
        return self.position.n_iter >= self.rule.max_iter

    @property
    def done(self) -> bool:
        """Whether no start runs on."""
        return self.out_of_iterations or not len(self.position.numbers)

    def run(self, pause: Callable[[], bool] = lambda: False) -> bool:
        """Take all starts to their maxima: plain steps first, then cycles, with estimates of the gain that is left.

        Parameters
        ----------
        pause : callable
            Called between cycles, where the position is consistent; True pauses the ascent. Run again, the starts
            continue as if there had been no pause.

        Returns
        -------
        bool
            Whether all starts have ended, rather than paused.
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
        self._arrive(*self.problem.step(self.position.at, self.groups))
        return self.position.value

    def _arrive(self, logs: np.ndarray, value: np.ndarray, new: np.ndarray) -> None:
        """Record a plain step."""
        position = self.position
        position.before, position.at, position.value = position.at, new, value
        self._count(logs)

    def _cycle(self) -> None:
        """Take an EM step and, if the rule allows it, a leap along the direction of the last two steps."""
        position = self.position
        start, first, old = position.before, position.at - position.before, position.value
        self._arrive(*self.problem.step(position.at, self.groups))
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
        self._leap(point, length, *self.problem.step(point, self.groups))

    def _leap(
        self, point: np.ndarray, length: np.ndarray, logs: np.ndarray, value: np.ndarray, new: np.ndarray
    ) -> None:
        """Accept the points that are at least as good as the last ones; adapt the longest leap allowed."""
        position = self.position
        good = value >= position.value
        position.before = np.where(good[:, None], point, position.before)
        position.at = np.where(good[:, None], new, position.at)
        position.value = np.where(good, value, position.value)
        longer = np.where(length >= position.limit, position.limit * 4, position.limit)
        position.limit = np.where(good, longer, np.maximum(4, position.limit / 4))
        self._count(np.where(good, logs, position.logs))

    def _count(self, logs: np.ndarray) -> None:
        """Count an evaluation of the expected counts, and record the log-likelihoods of the starts."""
        position = self.position
        position.n_iter += 1
        position.logs = logs
        position.trace.append((position.numbers, logs))
        position.final[position.numbers] = position.value
        position.highest = max(position.highest, float(position.value.max()))
        self._consistent = (position.numbers, position.before)
        self.tell()

    def tell(self) -> None:
        """Report how far the starts are, and raise if the time is up."""
        self.report(self.position.n_iter, self.position.highest)
        if self.clock is not None:
            self.clock.check()

    def keep(self, which: np.ndarray) -> None:
        """Run on with some of the starts only, given by index."""
        self.position.keep(which)
        self._consistent = (self.position.numbers, self.position.before)

    # The gain that is left ------------------------------------------------------------------------

    def _estimate_remaining(self) -> None:
        """Set the gain that is left: the larger of two extrapolations, from single steps and between estimates."""
        position = self.position
        if self.rule.by_last_step:
            position.remaining = position.step_gain
            return
        gain = position.value - position.look_value
        with np.errstate(invalid="ignore"):
            rate = np.clip(gain / np.maximum(position.look_gain, 1e-300), 0.5, 0.9)
        by_estimates = gain * rate / (1 - rate)
        position.remaining = np.maximum(position.step_gain * position.longest / 2, by_estimates)
        position.look_value, position.look_gain = position.value, gain

    def _converged(self) -> np.ndarray:
        """Return which starts have little left to gain: by extrapolation, or by curvature where the best is polished.

        Steps of EM show little of directions in which it is slow, and nothing of saddles. A start that has more to gain
        by its curvature moves to a higher point, if there is one.
        """
        position, rule = self.position, self.rule
        if position.atol == 0:
            return np.zeros(len(position.numbers), bool)
        if not position.polished or not rule.accelerate or rule.by_last_step or not self.problem.has_metric:
            return position.remaining <= position.atol
        converged = np.zeros(len(position.numbers), bool)
        for at in np.flatnonzero(position.remaining <= position.trigger).tolist():
            if self.out_of_iterations:
                break
            if position.remaining[at] <= BELIEVED * position.atol:
                converged[at] = True
                continue
            left = gain_left(self.problem, position.before[at], position.at[at], position.atol)
            self._count_unchanged(left.n_steps)
            converged[at], position.reached = left.gain <= position.atol, left.gain <= rule.atol
            if converged[at]:
                position.remaining = _replaced(position.remaining, at, left.gain)
                continue
            point, n_steps = uphill(self.problem, position.before[at], float(position.value[at]), left.ways)
            self._count_unchanged(n_steps)
            gained = 0.0 if point is None else point.objective - position.value[at]
            if gained < min(left.gain, rule.atol) / 4:  # compute the curvature again when much less is left
                position.trigger = _replaced(position.trigger, at, LATER * position.remaining[at])
            if point is not None:
                self._move(at, point)
        return converged

    def _count_unchanged(self, n_steps: int) -> None:
        """Count evaluations that have not moved any start."""
        for _ in range(n_steps):
            self._count(self.position.logs)

    def _lift_zeros(self, converged: np.ndarray) -> np.ndarray:
        """Lift entries at or near zero where they keep a converged start from a maximum; see ``em.maximum``.

        Returns
        -------
        int array, shape (n,)
            1 where a start moved to a higher point, -1 where it would if iterations were left, and 0 elsewhere.
        """
        position, rule = self.position, self.rule
        outcome = np.zeros(len(position.numbers), np.int64)
        which = np.flatnonzero(converged & (position.value > position.lifted_at + rule.atol))
        problem = self.problem
        if not isinstance(problem, Problem):  # only tables have zeros
            return outcome
        if not rule.check or rule.by_last_step or not len(which):
            return outcome
        groups = None if self.groups is None else self.groups[which]
        gains, steps = promised_gains(problem, position.before[which], groups)
        steps = np.where(gains > rule.atol, steps, 0.0)
        for at, lifts in zip(which.tolist(), steps, strict=True):
            if not lifts.any():
                continue
            if self.out_of_iterations:
                outcome[at] = -1
                continue
            self.tell()
            group = None if self.groups is None else int(self.groups[at])
            point = higher(problem, position.before[at], float(position.value[at]), lifts, group)
            if point is not None:
                position.lifted_at = _replaced(position.lifted_at, at, position.value[at])
                self._move(at, point)
                outcome[at] = 1
        return outcome

    def _move(self, at: int, point: Point) -> None:
        """Move a start to a higher point, and forget the history of its steps."""
        position = self.position
        position.before = _replaced(position.before, at, point.tables)
        position.at = _replaced(position.at, at, point.new)
        position.value = _replaced(position.value, at, point.objective)
        position.logs = _replaced(position.logs, at, point.log_likelihood)
        position.look_value = _replaced(position.look_value, at, point.objective)
        position.longest = _replaced(position.longest, at, 1.0)
        position.limit = _replaced(position.limit, at, 4.0)
        position.step_gain = _replaced(position.step_gain, at, np.inf)
        position.look_gain = _replaced(position.look_gain, at, np.inf)
        position.remaining = _replaced(position.remaining, at, np.inf)
        self._consistent = (position.numbers, position.before)
        position.final[position.numbers[at]] = point.objective

    def _retire(self, converged: np.ndarray, lifted: np.ndarray) -> None:
        """End the starts that have converged or cannot reach the target, and remember the best."""
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
        objective, tables = float(position.value[at]), position.before[at].copy()
        position.suggest(group, BestStart(number, objective, tables, converged, remaining))

    # Results --------------------------------------------------------------------------------------

    def polish(self) -> None:
        """Continue with the best start alone, to a finer tolerance."""
        position, rule = self.position, self.rule
        if len(position.numbers):
            self._remember(int(np.argmax(position.value)), converged=False)
        best = position.best[0]
        position.polished, position.cycles = True, -1
        position.best_value, position.reached = best.objective, best.converged
        if position.atol == 0 or self.out_of_iterations or rule.by_last_step:
            return
        position.atol *= POLISH
        self._restart(np.array([best.number]), best.tables[None])

    def take_in(self, members: np.ndarray, part: Position) -> None:
        """Take back starts that another worker ran; see :meth:`Position.take_in`."""
        self.position.take_in(members, part)
        self._consistent = (self.position.numbers, self.position.before)

    def _restart(self, numbers: np.ndarray, tables: np.ndarray) -> None:
        """Continue with some starts alone, from given tables, and forget the history of their steps."""
        position = self.position
        position.numbers, position.before = numbers, tables
        if len(numbers):
            position.logs, position.value, position.at = self.problem.step(tables, self.groups)
        for name, array in no_history(position.value[: len(numbers)], self.rule.atol).items():
            setattr(position, name, array)

    def best_of_groups(self, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the best tables of every group, and their objectives."""
        for at in range(len(self.position.numbers)):
            self._remember(at, converged=False)
        best = [self.position.best[group] for group in range(n_groups)]
        return np.stack([start.tables for start in best]), np.array([start.objective for start in best])

    def result(self, interrupted: bool) -> Fit:
        """Return the best of all starts, at the tables whose value is known."""
        position = self.position
        if interrupted:
            self._restart(*self._consistent)
        if len(position.numbers):
            self._remember(int(np.argmax(position.value)), converged=False)
        best = position.best[0]
        numbers, logs = position.whole_trace()
        trace = logs[numbers == best.number]
        before_polish = min(position.best_value, best.objective) if position.polished else best.objective
        return Fit(
            tables=best.tables,
            log_likelihood=float(best.objective - log_prior(best.tables, self.problem.prior)),
            objective=best.objective,
            log_likelihoods=trace,
            n_iter=len(trace),
            converged=best.converged or position.reached,
            remaining_gain=best.remaining,
            best_start=best.number,
            final_objectives=position.final,
            n_best=int(same_value(position.final, before_polish, self.rule.atol).sum()),
            interrupted=interrupted,
        )


def _replaced(array: np.ndarray, at: int, value: float | np.ndarray) -> np.ndarray:
    """Return a copy of an array with one entry, or row, replaced; a snapshot may share the old array."""
    array = array.copy()
    array[at] = value
    return array


def _no_report(iteration: int, value: float) -> None:
    """Report nothing."""
