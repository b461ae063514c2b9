"""The search over Gaussian trees: all moves that help and do not get in each other's way, then EM, again and again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pgmpy_latent.gaussian.completion import completed_correlations
from pgmpy_latent.gaussian.criteria import Costs
from pgmpy_latent.gaussian.fit import (
    FitByEM,
    FittedForest,
    fitted,
    objective_of,
    pairwise_correlations,
    point_of,
    random_starts,
)
from pgmpy_latent.gaussian.forest import Forest, rooted, tidy
from pgmpy_latent.gaussian.moments import TableMoments
from pgmpy_latent.gaussian.moves import WORTH, Candidate, Moves, compatible
from pgmpy_latent.gaussian.neighbourhoods import Scores
from pgmpy_latent.learners.memory import check_memory_is, held_by_checkpoints
from pgmpy_latent.learners.resumed import check_over
from pgmpy_latent.learners.search import Search, Step
from pgmpy_latent.model.gaussian_tree import GaussianTree
from pgmpy_latent.runtime.checkpoint import State, check_number_again


@held_by_checkpoints("search for a Gaussian tree")
@dataclass(frozen=True)
class TreeMemory:
    """What a search over Gaussian trees remembers.

    Attributes
    ----------
    found : FittedForest
        The current forest.
    others : tuple of Forest
        Where else the search will begin.
    """

    found: FittedForest
    others: tuple[Forest, ...] = ()


class TreePolicy:
    """Improve a forest by moves as long as its score rises.

    Parameters
    ----------
    columns : sequence of names
    moments : TableMoments
    search : Search
        Runs EM.
    costs : Costs
        What the score takes from the log-likelihood.
    operators : sequence of str
        Moves to try; with none, a forest is only fitted.
    inner_columns : bool
        Whether columns may have several neighbours.
    """

    def __init__(
        self,
        columns: Sequence[Hashable],
        moments: TableMoments,
        search: Search,
        costs: Costs,
        operators: Sequence[str] = (),
        inner_columns: bool = True,
    ):
        self.columns = columns
        self.moments = moments
        self.search = search
        self.costs = costs
        self.moves = Moves(search.fit, costs.edge, operators, inner_columns, search.tick)

    def start(self, forests: Sequence[Forest]) -> State[GaussianTree, TreeMemory]:
        """Return the state in which a search begins with the first of some forests, and has the others left."""
        return self._state(self._fitted_anew(forests[0]), 0, tuple(forests[1:]))

    def _fitted_anew(self, forest: Forest) -> FitByEM:
        """Fit a forest of which only the edges are known."""
        forest = tidy(forest)
        rng = np.random.default_rng(self.search.seed(0))
        starts = random_starts(forest, pairwise_correlations(self.moments), 1, rng)
        return self._fit(forest.with_correlation(starts[0]))

    def _fit(self, forest: Forest, **options) -> FitByEM:
        if not len(forest.ends) and self.moments.is_complete:
            options = {"max_iter": 2, **options}
        return fitted(forest, self.moments, run=self.search.fit, **options)

    def score(self, found: FittedForest) -> float:
        """Return the score of a forest."""
        return self.costs.score(found.log_likelihood, found.forest)

    def _state(
        self, found: FittedForest, step: int, others: tuple[Forest, ...] = (), finished: bool = False
    ) -> State[GaussianTree, TreeMemory]:
        found = found.result if isinstance(found, FitByEM) else found
        tree = rooted(found.forest, self.columns, found.mean, found.std)
        return State(tree, self.score(found), found.log_likelihood, step, TreeMemory(found, others), finished)

    def check(self, state: State[GaussianTree, TreeMemory]) -> None:
        """Raise if the state of a checkpoint is not one of this table, or is not as good as the file says."""
        check_memory_is(state, TreeMemory, "a search for a Gaussian tree")
        found, others = state.memory.found, state.memory.others
        if any(forest.n_columns != len(self.columns) for forest in (found.forest, *others)):
            raise ValueError("its forests have other columns than the table")
        if rooted(found.forest, self.columns, found.mean, found.std) != state.tree:
            raise ValueError("its model is not the one that its memory leads to")
        point = point_of(found, self.moments)
        value = float(objective_of(found.forest, self.moments).step(point[None])[0][0])
        check_number_again("log-likelihood", state.log_likelihood, value)
        check_number_again("log-likelihood", found.log_likelihood, value)
        check_number_again("score", state.score, self.costs.score(value, found.forest))
        check_over(state, nothing_left=not others)

    def advance(self, state: State[GaussianTree, TreeMemory]) -> Step:
        """Take the next step: moves, another beginning, or the last EM."""
        memory = state.memory
        better = self._improved(memory.found)
        if better is not None:
            found, operator, target = better
            return Step(self._state(found, state.step + 1, memory.others), operator, target)
        if memory.others:
            other = self._line(memory.others[0])
            left = memory.others[1:]
            if self.score(other) > state.score + WORTH:
                return Step(self._state(other, state.step + 1, left), "start elsewhere")
            return Step(replace(state, memory=TreeMemory(memory.found, left)))
        return self.finish(state)

    def finish(self, state: State[GaussianTree, TreeMemory]) -> Step:
        """Run the last EM."""
        memory = state.memory
        found = memory.found
        new = self._fit(found.forest, mean=found.mean, std=found.std, **self.search.settings.last_fit)
        better = new if new.log_likelihood >= found.log_likelihood else found
        return Step(self._state(better, state.step + 1, finished=True), "fit")

    def _line(self, forest: Forest) -> FittedForest:
        """Return the end of the search that begins with a forest."""
        found: FittedForest = self._fitted_anew(forest)
        while (better := self._improved(found)) is not None:
            found = better[0]
        return found

    def _improved(self, found: FittedForest) -> tuple[FittedForest, str, Hashable] | None:
        """Return a forest with a higher score, and what led there; None if no move leads to one."""
        if not self.moves.operators:
            return None
        scores = Scores(found.forest, completed_correlations(found, self.moments), self.moments.filled_weight)
        candidates = self.moves.candidates(scores)
        chosen = compatible(candidates)
        tried: list[Sequence[Candidate]] = [chosen, chosen[: len(chosen) // 4], *([one] for one in candidates[:3])]
        for part in tried:
            if not part:
                continue
            self.search.tick()
            new = found.forest
            for candidate in part:
                new = candidate.edit.applied(new)
            fit = self._fit(tidy(new), mean=found.mean, std=found.std)
            if self.score(fit) > self.score(found) + WORTH:
                return fit, self._operators(part), ", ".join(self._words(candidate, found) for candidate in part)
        return None

    def _operators(self, part: Sequence[Candidate]) -> str:
        return " and ".join(sorted({candidate.edit.operator for candidate in part}))

    def _words(self, candidate: Candidate, found: FittedForest) -> str:
        """Return the columns that an edit is about, in a few words."""
        named = [str(self.columns[node]) for node in candidate.edit.nodes if node < found.forest.n_columns]
        return " ".join(named) if named else f"{len(candidate.edit.nodes)} hidden"
