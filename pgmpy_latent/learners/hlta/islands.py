"""Islands: groups of variables that a single hidden variable explains, grown one by one.

An island begins with the two variables that say most about each other. The variable outside that says most about one
inside is tried next: if a model with two hidden variables, of which one is the parent of the newcomer and its closest
relative, is clearly better than one with a single hidden variable, the island ends without these two. A newcomer about
which the hidden variable says too little, although one of the members may seem to say something, stays outside. When
the island is complete, states of the hidden variable are split in two as long as BIC rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, kl_div

from pgmpy_latent import scores
from pgmpy_latent.inference.patterns import distinct_pairs
from pgmpy_latent.inference.plan import compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.hlta.variables import Variable, log_likelihood_alone
from pgmpy_latent.learners.search import Search
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.tables.neighbours import Neighbours

#: States of a hidden variable while its island grows.
STATES = 2
#: Probability with which a second hidden variable begins in the same state as the first.
FOLLOWS = 0.9
#: Shares of what it must gain by joining, and by a hidden variable of its own and a relative's, up to which a newcomer
#: is refused without EM. EM gains up to ten times what can be told beforehand where that is little.
HOPELESS_TO_JOIN, HOPELESS_APART = 0.1, 0.5
#: Pseudo-count that takes the tables which EM begins with away from zero.
SMOOTHING = 0.5


@dataclass(frozen=True, eq=False)
class Group:
    """Some variables and the distinct combinations of codes that rows show of them.

    Attributes
    ----------
    members : tuple of int
        Positions of the variables.
    patterns : int array, shape (n_rows,)
        The combination of each row.
    codes : tuple of int arrays, each of shape (n_patterns,)
        The codes of each variable in every combination.
    masses : array, shape (n_patterns,)
        Weights of the rows that show them.
    """

    members: tuple[int, ...]
    patterns: np.ndarray
    codes: tuple[np.ndarray, ...]
    masses: np.ndarray


@dataclass(frozen=True, eq=False)
class Island:
    """A latent class model of a group.

    Attributes
    ----------
    group : Group
    tables : tuple of arrays
        Of the hidden variable, and of the members given it.
    log_likelihood : float
    posterior : array, shape (n_patterns, n_states)
        Of the hidden variable.
    """

    group: Group
    tables: tuple[np.ndarray, ...]
    log_likelihood: float
    posterior: np.ndarray

    @property
    def n_states(self) -> int:
        """Number of states of the hidden variable."""
        return self.posterior.shape[1]


class Islands:
    """Finds islands among the variables of a level.

    Parameters
    ----------
    variables : sequence of Variable
    weights : array, shape (n_rows,)
    neighbours : Neighbours
        The nearest variables of every variable, by mutual information.
    search : Search
        Runs EM.
    max_size : int
        Most variables of an island.
    threshold : float
        By how much the BIC of two hidden variables must exceed that of one.
    max_states : int, optional
        Most states of a hidden variable.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        weights: np.ndarray,
        neighbours: Neighbours,
        search: Search,
        max_size: int,
        threshold: float,
        max_states: int | None = None,
    ):
        self.variables, self.weights, self.neighbours = variables, weights, neighbours
        self.search = search
        self.max_size = max_size
        self.threshold = threshold
        self.max_states = np.inf if max_states is None else max_states
        self.penalty = scores.penalty_per_parameter(weights.sum())
        self.free = np.ones(len(variables), bool)
        self.tied = self._tied()
        pairs, _ = neighbours.pairs
        self.seeds = iter(pairs.tolist())

    def _tied(self) -> np.ndarray:
        """Return which neighbours share enough information for an edge to be worth its parameters."""
        near = self.neighbours
        freedom = np.array([variable.n_states - 1 for variable in self.variables])
        cost = self.penalty * freedom[:, None] * freedom[near.which]
        return (near.which >= 0) & (self.weights.sum() * near.information > cost)

    def next(self) -> Island | None:
        """Return the next island, or None if no related variables are left."""
        for left, right in self.seeds:
            if self.free[left] and self.free[right] and self._related(left, right):
                island = self._sized(self._grown((left, right)))
                self.free[list(island.group.members)] = False
                return island
        return None

    def recalled(self, members: Sequence[int], tables: Sequence[np.ndarray]) -> Island:
        """Return an island that was found earlier."""
        self.free[list(members)] = False
        group = self.group(members)
        return self._island(group, self._engine(group, [-1] + [0] * len(group.members), tables[0].shape[1]), tables)

    def _related(self, left: int, right: int) -> bool:
        near = self.neighbours.which
        return bool((self.tied[left] & (near[left] == right)).any() or (self.tied[right] & (near[right] == left)).any())

    def _closest(self, members: Sequence[int], refused: Sequence[int] = ()) -> tuple[int, int] | None:
        """Return the variable outside that says most about a member, and this member."""
        inside = list(members)
        which = self.neighbours.which[inside]
        open_ones = self.tied[inside] & self.free[which] & ~np.isin(which, [*inside, *refused])
        values = np.where(open_ones, self.neighbours.information[inside], -np.inf)
        row, place = np.unravel_index(np.argmax(values), values.shape)
        return (int(which[row, place]), inside[row]) if open_ones[row, place] else None

    # Growing

    def _grown(self, seed: tuple[int, int]) -> Island:
        third = self._closest(seed)
        island = self._first(seed if third is None else (*seed, third[0]))
        refused: list[int] = []  # variables that stay outside
        again = False  # whether a variable has joined since
        while len(island.group.members) < self.max_size:
            new = self._closest(island.group.members, refused)
            if new is None and not again:
                break
            if new is None:  # the hidden variable is clearer now than it was when they were refused
                refused, again = [], False
                continue
            added = self._added(island.group, new[0])
            if self._is_hopeless(island, *new, *added):
                refused.append(new[0])
                continue
            wider = self._widened(island, *added)
            apart = self._without(wider, *new)
            if apart is not None:
                return apart
            if self._belongs(new[0], wider.log_likelihood - island.log_likelihood):
                island, again = wider, bool(refused)
            else:
                refused.append(new[0])
        return island

    def _belongs(self, newcomer: int, gain: float) -> bool:
        """Tell whether an edge from the hidden variable to a newcomer is worth its parameters and its choice.

        The newcomer was picked among all variables for what it seems to say about a member, so that BIC alone would let
        chance in: naming one of p variables costs log p, as in the extended BIC.
        """
        variable = self.variables[newcomer]
        gain -= log_likelihood_alone(variable, self.weights)
        return bool(gain > self._cost_of(newcomer))

    def _cost_of(self, newcomer: int) -> float:
        """Return what a newcomer must gain: its parameters, and its choice among all variables."""
        return self.penalty * (STATES - 1) * (self.variables[newcomer].n_states - 1) + np.log(len(self.variables))

    @property
    def _cost_of_another(self) -> float:
        """What a second hidden variable must gain."""
        return self.penalty * STATES * (STATES - 1) + self.threshold

    def _is_hopeless(self, island: Island, newcomer: int, relative: int, group: Group, before: np.ndarray) -> bool:
        """Tell whether a newcomer can be refused without EM, by what the island's hidden variable is taken for now.

        It says next to nothing about that variable, and given it little about its relative in the island, so that the
        two do not have a hidden variable of their own either.
        """
        if self.variables[newcomer].is_wide or self.variables[relative].is_wide:
            return False
        posterior, codes = island.posterior[before], dict(_parts(group))
        counts = np.einsum(
            "p,ph,pr,pn->hrn",
            group.masses,
            posterior,
            self.variables[relative].beliefs[codes[relative]],
            self.variables[newcomer].beliefs[codes[newcomer]],
            optimize=["einsum_path", (0, 1), (0, 2), (0, 1)],
        )
        joins = _information(counts.sum(axis=1)) > HOPELESS_TO_JOIN * self._cost_of(newcomer)
        return not joins and sum(map(_information, counts)) <= HOPELESS_APART * self._cost_of_another

    def group(self, members: Sequence[int]) -> Group:
        """Return the combinations that some variables show."""
        group = Group((), np.zeros(len(self.weights), np.int32), (), np.array([self.weights.sum()]))
        for at in members:
            group, _ = self._added(group, at)
        return group

    def _added(self, group: Group, at: int) -> tuple[Group, np.ndarray]:
        """Return a group with one variable more, and the old combination within each of the new ones."""
        variable = self.variables[at]
        patterns, before, new_codes = distinct_pairs(
            group.patterns, len(group.masses), variable.read(), variable.n_codes
        )
        codes = (*(part[before] for part in group.codes), new_codes)
        masses = np.bincount(patterns, self.weights, minlength=len(before))
        return Group((*group.members, at), patterns, codes, masses), before

    def _first(self, members: Sequence[int]) -> Island:
        """Return the model of the first members: the rows that show the rarer states are apart from the others."""
        group = self.group(members)
        rare = np.mean([_rarity(self.variables[at], codes, group.masses) for at, codes in _parts(group)], axis=0)
        share = 0.1 + 0.8 * np.sqrt(rare)
        memberships = np.stack([1 - share, share], axis=1)
        shares = normalised((group.masses @ memberships)[None] + SMOOTHING)
        return self._fitted(group, [shares, *self._given(group, memberships, _parts(group))])

    def _given(
        self, group: Group, memberships: np.ndarray, parts: Sequence[tuple[int, np.ndarray]]
    ) -> list[np.ndarray]:
        """Return the tables of members, given the state of the hidden variable for each pattern."""
        weighted = (memberships * group.masses[:, None]).T
        tables = []
        for at, codes in parts:
            counts = weighted @ self.variables[at].beliefs[codes]
            tables.append(normalised(counts + SMOOTHING * normalised(counts.sum(axis=0, keepdims=True) + SMOOTHING)))
        return tables

    def _widened(self, island: Island, group: Group, before: np.ndarray) -> Island:
        """Return the model of an island with one member more, for the combinations that all of them show."""
        new = self._given(group, island.posterior[before], _parts(group)[-1:])
        return self._fitted(group, [*island.tables, *new])

    def _fitted(self, group: Group, tables: Sequence[np.ndarray]) -> Island:
        engine = self._engine(group, [-1] + [0] * len(group.members), tables[0].shape[1])
        fit = self.search.fit(engine, engine.layout.pack(tables))
        return self._island(group, engine, engine.layout.unpack(fit.tables))

    @staticmethod
    def _island(group: Group, engine: TreeEngine, tables: Sequence[np.ndarray]) -> Island:
        flat = engine.layout.pack(tables)
        return Island(group, tuple(tables), float(engine.log_likelihood(flat)), engine.beliefs(flat, [0])[0])

    def _engine(self, group: Group, parents: Sequence[int], n_states: int = STATES) -> TreeEngine:
        """Return an engine whose last nodes are the members; those before are hidden."""
        n_hidden = len(parents) - len(group.members)
        members = [self.variables[at] for at in group.members]
        evidence = {
            n_hidden + place: variable.evidence(codes)
            for place, (variable, codes) in enumerate(zip(members, group.codes, strict=True))
        }
        cards = [n_states] * n_hidden + [variable.n_states for variable in members]
        return TreeEngine(compile_plan(parents, evidence), cards, group.masses)

    def _without(self, island: Island, newcomer: int, relative: int) -> Island | None:
        """Return the island without two of its members, if these have a hidden variable of their own; else None."""
        members = island.group.members
        apart = np.array([at in (newcomer, relative) for at in members])
        engine = self._engine(island.group, [-1, 0, *apart.astype(int).tolist()])
        link = np.full((STATES, STATES), 1 - FOLLOWS)
        np.fill_diagonal(link, FOLLOWS)
        share, *others = island.tables
        wanted = island.log_likelihood + self._cost_of_another
        fit = self.search.fit(engine, engine.layout.pack([share, link, *others]), target=wanted)
        if fit.log_likelihood <= wanted:
            return None
        share, _, *tables = engine.layout.unpack(fit.tables)
        left = [place for place, gone in enumerate(apart) if not gone]
        return self._fitted(self.group([members[place] for place in left]), [share, *(tables[at] for at in left)])

    # States

    def _sized(self, island: Island) -> Island:
        """Return the island with a hidden variable of as many states as BIC asks for."""
        cost = self.penalty * (1 + sum(self.variables[at].n_states - 1 for at in island.group.members))
        while island.n_states < self.max_states:
            larger = self._split(island)
            if larger is None or larger.log_likelihood - island.log_likelihood <= cost:
                break
            island = larger
        return island

    def _split(self, island: Island) -> Island | None:
        """Return the island with the most mixed state split along the direction in which its rows differ most."""
        cells = self._cells(island.group)
        spreads = [_spread(cells, island.group.masses * posterior) for posterior in island.posterior.T]
        state = max(range(len(spreads)), key=lambda at: spreads[at][0])
        value, along = spreads[state]
        if value <= 0:
            return None
        share, whole = expit(along), island.posterior[:, state]
        memberships = np.column_stack([island.posterior, whole * share])
        memberships[:, state] = whole * (1 - share)
        shares = normalised((island.group.masses @ memberships)[None] + SMOOTHING)
        return self._fitted(island.group, [shares, *self._given(island.group, memberships, _parts(island.group))])

    def _cells(self, group: Group) -> np.ndarray:
        """Return what each pattern says about the members, as probabilities of states; wide columns are left out."""
        parts = [self.variables[at].beliefs[codes] for at, codes in _parts(group) if not self.variables[at].is_wide]
        return np.concatenate([np.empty((len(group.masses), 0)), *parts], axis=1)


def _information(counts: np.ndarray) -> float:
    """Return the mutual information of the two variables of a table of counts, in nats of all rows together.

    Examples
    --------
    >>> round(_information(np.array([[2.0, 0.0], [0.0, 2.0]])), 6), _information(np.ones((2, 2)))
    (2.772589, 0.0)
    """
    alone = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / max(counts.sum(), np.finfo(float).tiny)
    return float(kl_div(counts, alone).sum())


def _spread(cells: np.ndarray, masses: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest variance of weighted rows along any direction, times their weight, and the rows along it.

    Rows along the direction are in units of their standard deviation.

    Examples
    --------
    >>> value, along = _spread(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0]))
    >>> round(value, 9), np.abs(along).round(9).tolist()
    (1.0, [1.0, 1.0])
    """
    total = masses.sum()
    if cells.shape[1] == 0 or total <= 0:
        return 0.0, np.zeros(len(masses))
    centred = cells - (masses @ cells) / total
    values, vectors = np.linalg.eigh((centred * masses[:, None]).T @ centred)
    along = centred @ (vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1]))
    return float(values[-1]), along / np.sqrt(max(values[-1] / total, np.finfo(float).tiny))


def _parts(group: Group) -> list[tuple[int, np.ndarray]]:
    return list(zip(group.members, group.codes, strict=True))


def _rarity(variable: Variable, codes: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Return the chance that a variable is not in its most frequent state, by pattern."""
    beliefs = variable.beliefs[codes]
    usual = np.zeros(variable.n_states)
    usual[np.argmax(masses @ beliefs)] = 1.0
    return beliefs.sum(axis=1) - beliefs @ usual
