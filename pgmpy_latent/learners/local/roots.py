"""The roots of a growing forest: the evidence about each, and their mutual information."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.queries import tree_evidence
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.learners.skeletons import grown_tree
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.edges import normalised
from pgmpy_latent.runtime.arrays import WIDE
from pgmpy_latent.tables.dependence import DECIMALS, block_information, chance_information
from pgmpy_latent.tables.encode import CategoricalData


@dataclass(frozen=True, eq=False)
class Root:
    """A root of the forest.

    Attributes
    ----------
    node : int
        Its number in the forest: columns first, then hidden nodes as they came.
    evidence : Evidence
        How likely the cells below it are, given each of its states.
    share : array, shape (states,)
        Its distribution.
    has_cells : bool array, shape (rows,), or None
        Rows with a cell below it; None: all of them.
    """

    node: int
    evidence: Evidence
    share: np.ndarray
    has_cells: np.ndarray | None

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.share)

    @property
    def is_wide(self) -> bool:
        """Whether it is a column of many states, whose posterior would hardly hold anything but zeros."""
        return self.evidence.messages is None and self.n_states > WIDE

    def patterns(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior of each pattern of evidence, and the pattern of each row."""
        messages = self.evidence.messages
        if messages is None:  # the states themselves, and ones where a cell is missing
            messages = np.vstack([np.eye(self.n_states), np.ones(self.n_states)])
        joint = messages * self.share
        total = joint.sum(axis=1, keepdims=True)  # zero for a state that no row shows
        return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0), self.evidence.index

    def posterior(self) -> np.ndarray:
        """Return P(state | cells below) of each row, zeros where there is no cell: (states, rows)."""
        if self.evidence.messages is None:  # certain; by way of patterns it would take the states squared
            posterior = np.zeros((self.n_states, len(self.evidence.index)))
            posterior[:, self.evidence.index < 0] = self.share[:, None] / self.share.sum()
            seen = np.flatnonzero(self.evidence.index >= 0)
            posterior[self.evidence.index[seen], seen] = 1.0
        else:
            by_pattern, index = self.patterns()
            posterior = np.ascontiguousarray(by_pattern.T)[:, index]
        if self.has_cells is not None:
            posterior[:, ~self.has_cells] = 0.0
        return posterior

    def counts_with(self, weighted: np.ndarray) -> np.ndarray:
        """Return the joint counts of another node, whose posterior times the weights of the rows is given, and this.

        Parameters
        ----------
        weighted : array, shape (states of the other, rows)

        Returns
        -------
        array, shape (states of the other, states)

        Examples
        --------
        >>> root = Root(0, Evidence(np.array([1, 0, 1]), 2), np.array([1 / 3, 2 / 3]), None)
        >>> root.counts_with(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]))
        array([[0. , 1.5],
               [1. , 0.5]])
        """
        if not self.is_wide:
            return weighted @ self.posterior().T
        seen = np.flatnonzero(self.evidence.index >= 0)
        states = self.evidence.index[seen]
        return np.stack(
            [np.bincount(states, state_weights[seen], minlength=self.n_states) for state_weights in weighted]
        )


def joint_counts(left: Root, right: Root, weights: np.ndarray) -> np.ndarray:
    """Return the expected joint counts of two roots: (states of the left one, states of the right one)."""
    if not left.is_wide:
        return right.counts_with(left.posterior() * weights)
    if not right.is_wide:
        return left.counts_with(right.posterior() * weights).T
    rows, columns = left.evidence.index, right.evidence.index
    seen = np.flatnonzero((rows >= 0) & (columns >= 0))
    cells = rows[seen].astype(np.int64) * right.n_states + columns[seen]
    counts = np.bincount(cells, weights[seen], minlength=left.n_states * right.n_states)
    return counts.reshape(left.n_states, right.n_states)


class Posteriors:
    """The posteriors of several roots below each other, so that one product compares another node with all of them.

    Parameters
    ----------
    roots : dict
        Slot -> root.

    Examples
    --------
    >>> root = Root(0, Evidence(np.array([0, 1]), 2), np.array([0.5, 0.5]), None)
    >>> {slot: round(shared, 4) for slot, shared in Posteriors({7: root}).information(np.eye(2)).items()}
    {7: 0.6931}
    """

    def __init__(self, roots: Mapping[int, Root]):
        self.n_slots = len(roots)
        self.wide = {slot: root for slot, root in roots.items() if root.is_wide}
        narrow = {slot: root.posterior() for slot, root in roots.items() if not root.is_wide}
        ends = np.cumsum([len(one) for one in narrow.values()]).tolist()
        self.first = dict(zip(narrow, [0, *ends[:-1]], strict=False))
        self.narrow = np.concatenate(list(narrow.values())) if narrow else np.empty((0, 0))

    def information(self, weighted: np.ndarray) -> dict[int, float]:
        """Return each slot's mutual information with a node, given its posterior times the weights: (states, rows)."""
        alone = np.zeros(1, np.int64)
        information = {}
        if self.first:
            shared = block_information(weighted @ self.narrow.T, alone, list(self.first.values()))[0]
            information = dict(zip(self.first, shared.tolist(), strict=True))
        for slot, root in self.wide.items():
            information[slot] = float(block_information(root.counts_with(weighted), alone, alone)[0, 0])
        return information

    def write(self, slot: int, posterior: np.ndarray) -> None:
        """Replace a posterior by one with as many states or fewer; the remaining places become zero."""
        begin = self.first[slot]
        after = [other for other in self.first.values() if other > begin]
        end = min(after, default=len(self.narrow))
        self.narrow[begin : begin + len(posterior)] = posterior
        self.narrow[begin + len(posterior) : end] = 0.0

    def drop(self, slot: int) -> None:
        """Set the posterior of a slot to zero, so that it shares no information with any node."""
        if self.wide.pop(slot, None) is None:
            self.write(slot, self.narrow[:0])


@held_by_checkpoints("latent class model of a pair")
@dataclass(frozen=True, eq=False)
class PairModel:
    """A latent class model of two roots.

    Attributes
    ----------
    share : array, shape (states,)
        Distribution of the hidden variable.
    left, right : arrays, shape (states, states of the root)
        The roots given it.
    gain : float
        By how much its log-likelihood exceeds that of two independent roots.
    """

    share: np.ndarray
    left: np.ndarray
    right: np.ndarray
    gain: float

    @property
    def n_parameters(self) -> int:
        """How many parameters it has more than two independent roots."""
        return (len(self.share) - 1) * (self.left.shape[1] + self.right.shape[1] - 1)


def root_above(node: int, below: Sequence[Root], model: PairModel, engine: TreeEngine) -> Root:
    """Return a hidden node above two roots as a root; the engine is that of the three, the hidden node first."""
    evidence = engine.walk(engine.layout.pack([model.share[None], model.left, model.right])).likelihood(0)
    left, right = (root.has_cells for root in below)
    return Root(node, evidence, model.share, None if left is None or right is None else left | right)


class Roots:
    """The working set: roots of a forest, by slot. A hidden root takes the slot of the first column below it.

    Parameters
    ----------
    data : CategoricalData
        The table.
    information : array, shape (columns, columns)
        Mutual information of the columns.
    prior : float
        Dirichlet pseudo-count of every state of a column.
    debias : bool
        Whether to subtract the mutual information that independent variables show by chance.
    """

    def __init__(self, data: CategoricalData, information: np.ndarray, prior: float = 0.0, debias: bool = False):
        self.data = data
        self.prior = prior
        self.parents = [-1] * len(data.columns)
        self.tables: list[np.ndarray] = []
        self.roots: list[Root | None] = []
        self.log_likelihood = 0.0
        self.n_parameters = 0
        for column, evidence in tree_evidence(data, data.columns).items():
            self._add_column(column, evidence)
        self.debias = debias
        self.information = self.adjusted(information, data.cards[:, None], data.cards)
        np.fill_diagonal(self.information, -np.inf)
        self.most = self.information.max(axis=1, initial=-np.inf)
        self.penalty: float | None = None
        self._lay_out()

    def _add_column(self, column: int, evidence: Evidence) -> None:
        has_cells = evidence.index >= 0
        counts = np.bincount(evidence.index[has_cells], self.data.weights[has_cells], minlength=evidence.n_states)
        share = normalised(counts[None] + self.prior)[0]
        self.tables.append(share[None])
        self.roots.append(Root(column, evidence, share, None if has_cells.all() else has_cells))
        seen = counts > 0
        self.log_likelihood += float(counts[seen] @ np.log(share[seen]))
        self.n_parameters += len(share) - 1

    def _lay_out(self) -> None:
        self.posteriors = Posteriors({slot: root for slot, root in enumerate(self.roots) if root is not None})

    def root(self, slot: int) -> Root:
        """Return the root at a slot that has one."""
        root = self.roots[slot]
        if root is None:
            raise ValueError(f"slot {slot} has no root")
        return root

    @property
    def n_roots(self) -> int:
        """Number of roots."""
        return sum(root is not None for root in self.roots)

    @property
    def n_hidden(self) -> int:
        """Number of hidden nodes."""
        return len(self.parents) - len(self.data.columns)

    @property
    def _n_states(self) -> np.ndarray:
        return np.array([0 if root is None else root.n_states for root in self.roots])

    def adjusted(self, information: np.ndarray, n_left, n_right) -> np.ndarray:
        """Return the mutual information by which roots are compared: less its part due to chance, and rounded."""
        if self.debias:
            information = information - chance_information(n_left, n_right, self.data.total_weight)
        return information.round(DECIMALS)

    def closest(self) -> tuple[int, int] | None:
        """Return the slots of the two roots with the highest mutual information, the first by name among equals."""
        left = int(np.argmax(self.most))
        if not np.isfinite(self.most[left]):
            return None
        return left, int(np.argmax(self.information[left]))

    def rule_out(self, left: int, right: int) -> None:
        """Never join these two roots."""
        self.information[left, right] = self.information[right, left] = -np.inf
        for slot in (left, right):
            self.most[slot] = self.information[slot].max()

    def rule_out_weak(self, penalty: float) -> None:
        """From now on, never join pairs whose mutual information is not worth the parameters of a parent."""
        self.penalty = penalty
        for slot, root in enumerate(self.roots):
            if root is not None:
                self.information[slot] = self._strong(self.information[slot], slot)
        self.most = self.information.max(axis=1, initial=-np.inf)

    def _strong(self, information: np.ndarray, slot: int) -> np.ndarray:
        """Return the mutual information of a root with the others; minus infinity where it is too weak."""
        cost = self.penalty * (self._n_states + self.root(slot).n_states - 1)
        return np.where(self.data.total_weight * information > cost, information, -np.inf)

    def related(self, left: int, right: int, n: int) -> list[Root]:
        """Return the roots with the highest mutual information with two others, best first; none with zero."""
        together = self.information[left] + self.information[right]
        together[[left, right]] = -np.inf
        order = np.argsort(-together, kind="stable")[:n]
        return [self.root(slot) for slot in order if together[slot] > 0]

    def join(self, left: int, right: int, model: PairModel) -> None:
        """Put a hidden node above two roots."""
        below = [self.root(left), self.root(right)]
        plan = compile_plan([-1, 0, 0], {1: below[0].evidence, 2: below[1].evidence}, pivots=[0])
        engine = TreeEngine(plan, [len(model.share), below[0].n_states, below[1].n_states], self.data.weights)
        node = len(self.parents)
        self.parents.append(-1)
        self.tables.append(model.share[None])
        for root, table in zip(below, (model.left, model.right), strict=True):
            self.parents[root.node], self.tables[root.node] = node, table
        self.log_likelihood += model.gain
        self.n_parameters += model.n_parameters
        slot, gone = min(left, right), max(left, right)
        self.roots[slot], self.roots[gone] = root_above(node, below, model, engine), None
        self._compare(slot, gone)

    def _compare(self, slot: int, gone: int) -> None:
        """Compute the mutual information of a new root with all others; that of other pairs stays."""
        posterior = self.root(slot).posterior()
        if slot in self.posteriors.wide:
            self._lay_out()
        else:
            self.posteriors.write(slot, posterior)
            self.posteriors.drop(gone)
        fresh = np.full(len(self.roots), -np.inf)
        for other, value in self.posteriors.information(posterior * self.data.weights).items():
            if self.roots[other] is not None and other != slot:
                fresh[other] = value
        fresh = self.adjusted(fresh, len(posterior), self._n_states)
        if self.penalty is not None:
            fresh = self._strong(fresh, slot)
        information = self.information
        # a row that was led by one of the two has to look for its largest entry again
        led = (information[:, slot] >= self.most) | (information[:, gone] >= self.most)
        led[[slot, gone]] = True
        information[gone] = information[:, gone] = -np.inf
        information[slot] = information[:, slot] = fresh
        self.most = np.where(led, -np.inf, np.maximum(self.most, fresh))
        self.most[led] = information[led].max(axis=1)
        if 2 * self.n_roots < self.posteriors.n_slots:
            self._lay_out()

    def tree(self, names: Sequence[Hashable]) -> LatentTree:
        """Return the forest: hidden nodes in the order in which they were added, then the columns."""
        return grown_tree(self.data, self.parents, self.tables, names)
