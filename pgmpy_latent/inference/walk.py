"""Queries of single rows along the messages of a plan: posteriors, pairs of nodes, draws, evidence around a region.

Expected counts never need this: they are summed over patterns. Here every row has numbers of its own.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain

import numpy as np

from pgmpy_latent.inference.plan import EDGE, LEAF_ABOVE, LEAF_BELOW, NUMBERS, PIVOT, PRODUCT, Evidence
from pgmpy_latent.model.tree import parents_first
from pgmpy_latent.runtime.arrays import largest_in_rows

#: Natural logarithm of the factor that one exponent stands for.
LOG_OF_EXPONENT = -512 * np.log(2.0)
#: Products are multiplied as they are as long as no entry is smaller, and none larger than its inverse.
SMALLEST = 1e-150


def region_of(parents: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return the nodes of the smallest connected parts that contain some tables, parents first.

    Examples
    --------
    >>> region_of(np.array([-1, 0, 1, 0, 3]), np.array([2])).tolist()
    [1, 2]
    """
    order = parents_first(parents)
    inside = np.zeros(len(parents), dtype=np.bool_)
    inside[tables] = True
    inside[parents[tables][parents[tables] >= 0]] = True
    if inside.all():
        return order
    root = np.arange(len(parents))
    for node in order:
        if parents[node] >= 0:
            root[node] = root[parents[node]]
    below = inside.astype(np.int64)
    for node in order[::-1]:
        if parents[node] >= 0:
            below[parents[node]] += below[node]
    total = below[root]
    # an edge belongs to the region if it has members on both sides
    for node in order:
        if parents[node] >= 0 and 0 < below[node] < total[node]:
            inside[node] = inside[parents[node]] = True
    return order[inside[order]]


class RowWalk:
    """The messages of one run of an engine, read row by row.

    Parameters
    ----------
    engine : TreeEngine
        The engine that ran.
    tables : array, shape (size,)
        Probability tables of that run.
    values, exponents : arrays
        Messages and their exponents, as the kernel left them.
    cut : set of int
        Nodes whose edge to their parent carries no message.
    impossible : bool array, shape (n_rows,)
        Rows of probability zero.
    """

    def __init__(
        self,
        engine,
        tables: np.ndarray,
        values: np.ndarray,
        exponents: np.ndarray,
        cut: set[int],
        impossible: np.ndarray,
    ):
        self.engine = engine
        self.plan = engine.plan
        self.tables = engine.layout.unpack(np.asarray(tables, dtype=np.float64))
        self.values = values
        self.exponents = exponents
        self.cut = cut
        self.impossible = impossible
        self._row_slots: dict[tuple[int, int], np.ndarray] = {}
        self._outside: dict[tuple[int, int], np.ndarray] = {}

    # The structure of the plan

    @cached_property
    def _maker(self) -> dict[tuple[int, int], int]:
        """(site, slot) -> the step that fills the slots from there on; a pivot is at slot -1."""
        return {(s.site, -1 if s.kind == PIVOT else s.slot): at for at, s in enumerate(self.plan.steps)}

    @cached_property
    def _user(self) -> dict[tuple[int, int], int]:
        """(site, slot) -> the step that uses the slots from there on."""
        users = {}
        for at, step in enumerate(self.plan.steps):
            if step.kind in (PRODUCT, PIVOT):
                users.update({(step.site, factor): at for factor in step.factors})
            elif step.kind == EDGE:
                users[(step.a, step.b)] = at
        return users

    @cached_property
    def _final(self) -> dict[int, tuple[int, int]]:
        """Node -> (site, slot) of the product of all messages to the node's site."""
        final = {}
        for step in self.plan.steps:
            if step.kind == PIVOT and not self.plan.sites[step.site].single:
                final[self.plan.sites[step.site].node] = (step.site, -1)
            elif step.kind == EDGE:
                final[self.plan.sites[step.a].node] = (step.a, step.b)
        return final

    @cached_property
    def _leaf_step(self) -> dict[int, int]:
        """Observed node -> a leaf step through which it is seen by its parent (or else by a child)."""
        steps = {}
        for at, step in enumerate(self.plan.steps):
            if step.kind == LEAF_BELOW or (step.kind == LEAF_ABOVE and step.leaf not in steps):
                steps[step.leaf] = at
            steps.update(dict.fromkeys(step.members, at))
        return steps

    @cached_property
    def _component(self) -> dict[int, int]:
        """Site -> number of its component."""
        numbers, component = {}, 0
        for step in self.plan.steps:
            numbers[step.site] = component
            if step.kind == EDGE:
                numbers[step.a] = component
            component += step.kind == PIVOT
        return numbers

    # Values by row

    def _slots(self, site: int, first: int, count: int) -> np.ndarray:
        card, step = self.engine.site_card[site], self.engine.site_step[site]
        begin = self.engine.site_base[site] + first * step
        return self.values[begin : begin + count * step].reshape(count, step)[:, :card]

    def _all_slots(self, site: int) -> np.ndarray:
        return self._slots(site, 0, self.plan.site_slots[site + 1] - self.plan.site_slots[site])

    def _factor_patterns(self, at: int) -> np.ndarray:
        """Return the slots of the factors of a product: (factors, patterns)."""
        step = self.plan.steps[at]
        return self.plan.patterns_of_factors(step) + np.array(step.factors, dtype=np.int64)[:, None]

    def _above(self, place: tuple[int, int]) -> tuple[int, tuple[int, int]]:
        """Return the step that uses a place, and the place that it fills."""
        at = self._user[place]
        step = self.plan.steps[at]
        return at, (step.site, -1 if step.kind == PIVOT else step.slot)

    def _way_down(self, place: tuple[int, int], known: dict) -> list[tuple[int, int]]:
        """Return the places from the pivot, or from the last one that is known, down to a place."""
        way = []
        while place not in known:
            way.append(place)
            if place[1] == -1:
                break
            _, place = self._above(place)
        return way[::-1]

    def _pattern_of_rows(self, place: tuple[int, int]) -> np.ndarray:
        """Return the pattern that each row has at a place, counted from the first slot of the place."""
        for here in self._way_down(place, self._row_slots):  # not by recursion: trees can be deep
            if here[1] == -1:
                self._row_slots[here] = self.plan.row_patterns[self._component[here[0]]]
                continue
            at, above = self._above(here)
            step, patterns = self.plan.steps[at], self._row_slots[above]
            if step.kind != EDGE:
                patterns = self._factor_patterns(at)[step.factors.index(here[1])][patterns] - here[1]
            self._row_slots[here] = patterns
        return self._row_slots[place]

    def _edge(self, step) -> np.ndarray:
        """Return the factor of an edge [state of sender, state of receiver], the sender's prior included."""
        if not step.above:
            return self.tables[step.table].T
        sender = self.plan.sites[step.a]
        prior = self.tables[sender.node][0] if sender.has_prior else 1.0
        return self.tables[step.table] * np.reshape(prior, (-1, 1))

    def _from_outside(self, place: tuple[int, int]) -> np.ndarray:
        """Return the message from outside to a place: (rows, states), each row scaled to a largest entry of one."""
        for here in self._way_down(place, self._outside):
            if here[1] == -1:
                site, card = self.plan.sites[here[0]], self.engine.site_card[here[0]]
                prior = self.tables[site.node][0] if site.has_prior else np.ones(card)
                message = np.broadcast_to(prior, (self.plan.n_rows, card))
            else:
                at, _ = self._above(here)
                step = self.plan.steps[at]
                message = self._through(step) if step.kind == EDGE else self._other_factors(at, here[1])
            self._outside[here] = _scaled_to_one(message)
        return self._outside[place]

    def _through(self, step) -> np.ndarray:
        edge = self._edge(step)
        if step.table in self.cut:
            sender = self.plan.sites[step.a]
            prior = self.tables[sender.node][0] if sender.has_prior else np.ones(len(edge))
            return np.broadcast_to(prior, (self.plan.n_rows, len(edge)))
        return self._from_outside((step.site, step.slot)) @ edge.T

    def _other_factors(self, at: int, slot: int) -> np.ndarray:
        """Return the message to one factor of a product: from outside the product, times the other factors."""
        step = self.plan.steps[at]
        above = (step.site, -1 if step.kind == PIVOT else step.slot)
        outside = self._from_outside(above)
        patterns = self._pattern_of_rows(above)
        factors = self._factor_patterns(at)
        messages = self._all_slots(step.site)
        left_out = step.factors.index(slot)
        others = [row for number, row in enumerate(factors) if number != left_out]
        return multiply_scaled(outside, (messages[row[patterns]] for row in others))

    # Queries

    def belief(self, node: int) -> np.ndarray:
        """Return P(node | row): (rows, states), by the evidence in the node's component."""
        if node in self._final:
            site, slot = self._final[node]
            belief = self._site_belief(site, slot)
        else:
            belief = self._leaf_belief(node)
        with np.errstate(invalid="ignore", divide="ignore"):
            return belief / belief.sum(axis=1, keepdims=True)

    def _site_belief(self, site: int, slot: int) -> np.ndarray:
        if slot == -1:
            at = self._maker[(site, -1)]
            patterns = self._pattern_of_rows((site, -1))
            messages = self._all_slots(site)
            factors = self._factor_patterns(at)
            return multiply_scaled(self._from_outside((site, -1)), (messages[row[patterns]] for row in factors))
        count = self.plan.steps[self._maker[(site, slot)]].count
        inside = self._slots(site, slot, count)[self._pattern_of_rows((site, slot))]
        return multiply_scaled(self._from_outside((site, slot)), [inside])

    def _leaf_belief(self, node: int) -> np.ndarray:
        """Return P(node | row) of a leaf; of a numeric column the features of its value, or their mean."""
        piece = self.plan.evidence[node][0]
        codes, seen = piece.index, piece.index >= 0
        belief = piece.shown(slice(None))
        belief[~seen] = 0.0
        if piece.numbers is not None:  # what is outside its operation lacks the other numbers
            above = int(self.plan.parents[node])
            given = self.belief(above) if above >= 0 else np.ones((len(codes), 1))
            belief[~seen] = given[~seen] @ self.tables[node]
        elif (
            not seen.all()
        ):  # then it is not cut, and hangs below its parent, or below the single state of a root alone
            step = self.plan.steps[self._leaf_step[node]]
            if node in self.cut:
                belief[~seen] = 1.0
            else:
                outside = self._from_outside((step.site, step.slot))
                belief[~seen] = outside[~seen] @ self.tables[node]
        return belief

    def _path_up(self, node: int) -> list[int]:
        """Return the steps that carry the node's message to the pivot."""
        if node in self._final:
            place = self._final[node]
            path = []
        elif self.plan.parents[node] < 0:  # alone
            return []
        else:
            at = self._leaf_step[node]
            step = self.plan.steps[at]
            path = [at]
            place = self._final[self.plan.sites[step.site].node]
        while place[1] != -1:
            at = self._user[place]
            path.append(at)
            place = self._final[self.plan.sites[self.plan.steps[at].site].node]
        return path

    def _transition(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Return P(sender | receiver, pattern) of a step, and the pattern of each row."""
        step = self.plan.steps[at]
        patterns = self._pattern_of_rows((step.site, step.slot))
        if step.kind == EDGE:
            sent = self._slots(step.a, step.b, step.count)
            joint = sent[:, None, :] * self._edge(step).T[None]
        else:
            assert step.kind != NUMBERS, "numeric columns have no pairs of states"
            states = step.a
            card = self.engine.site_card[step.site]
            joint = np.zeros((step.count, card, states))
            joint[np.arange(states), :, np.arange(states)] = 1.0
            joint[states:] = self.tables[step.table]
        total = joint.sum(axis=2, keepdims=True)
        return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0), patterns

    def pair_count(self, left: int, right: int, weights: np.ndarray) -> np.ndarray:
        """Return the expected joint counts of two nodes, summed over rows."""
        if left == right:
            return np.diag(self._weighed(self.belief(left), weights).sum(axis=0))
        left_path, right_path = self._path_up(left), self._path_up(right)
        if not self._same_component(left_path, right_path, left, right):
            return self._weighed(self.belief(left), weights).T @ np.nan_to_num(self.belief(right))
        while left_path and right_path and left_path[-1] == right_path[-1]:
            left_path.pop()
            right_path.pop()
        meeting = self._meeting_node(left, left_path)
        shares = self._weighed(self.belief(meeting), weights)
        to_left = self._transitions(left_path, len(shares), shares.shape[1])
        to_right = self._transitions(right_path, len(shares), shares.shape[1])
        return np.einsum("nm,nml,nmr->lr", shares, to_left, to_right, optimize=True)

    @staticmethod
    def _weighed(belief: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.nan_to_num(belief) * weights[:, None]

    def _same_component(self, left_path, right_path, left: int, right: int) -> bool:
        components = []
        for path, node in ((left_path, left), (right_path, right)):
            if path:
                components.append(self._component[self.plan.steps[path[-1]].site])
            elif node in self._final:
                components.append(self._component[self._final[node][0]])
            else:
                return False
        return components[0] == components[1]

    def _meeting_node(self, node: int, path: list[int]) -> int:
        return self.plan.sites[self.plan.steps[path[-1]].site].node if path else node

    def _transitions(self, path: list[int], n_rows: int, n_states: int) -> np.ndarray:
        """Return P(end of the path | its beginning at the top, row)."""
        product = np.broadcast_to(np.eye(n_states), (n_rows, n_states, n_states))
        for at in reversed(path):
            transition, patterns = self._transition(at)
            product = np.matmul(product, transition[patterns])
        return product

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Draw all nodes' states from the joint posterior: (rows, nodes); -1 where an impossible row has none."""
        drawn = np.full((self.plan.n_rows, len(self.plan.parents)), -1, dtype=np.int32)
        for node, pieces in self.plan.evidence.items():
            if len(pieces) == 1 and pieces[0].messages is None:
                drawn[:, node] = pieces[0].index
        stays_open = self.impossible[:, None] & (drawn < 0)
        for at in range(len(self.plan.steps) - 1, -1, -1):
            step = self.plan.steps[at]
            receiver = self.plan.sites[step.site].node
            if step.kind == PIVOT:
                self._draw_missing(drawn, receiver, self.belief(receiver), rng)
            elif step.kind == EDGE:
                transition, patterns = self._transition(at)
                sender = self.plan.sites[step.a].node
                self._draw_missing(drawn, sender, transition[patterns, drawn[:, receiver]], rng)
            elif step.kind == LEAF_BELOW and (drawn[:, step.leaf] < 0).any():
                self._draw_missing(drawn, step.leaf, self.tables[step.table][drawn[:, receiver]], rng)
        drawn[stays_open] = -1
        return drawn

    @staticmethod
    def _draw_missing(drawn: np.ndarray, node: int, probabilities: np.ndarray, rng) -> None:
        uniform = rng.random(len(drawn))  # the same number of draws, whatever is missing
        bounds = np.cumsum(np.nan_to_num(probabilities), axis=1)
        states = (uniform[:, None] * bounds[:, -1:] >= bounds).sum(axis=1)
        states = np.minimum(states, probabilities.shape[1] - 1)
        unknown = drawn[:, node] < 0
        drawn[unknown, node] = states[unknown]

    # Evidence around a node or a region

    def likelihood(self, node: int, away_from: int | None = None) -> Evidence:
        """Return the likelihood of the rows given each state of a node: the messages of all its neighbours but one.

        Only the ratios within a row are meaningful: each row lacks some factor.

        Parameters
        ----------
        node : int
            The node.
        away_from : int, optional
            A neighbour whose side of the tree is ignored.

        Returns
        -------
        Evidence
            On the node. For a node that is known in every row, its own state.
        """
        pieces = self.plan.evidence.get(node, ())
        assert len(pieces) <= 1, "several pieces of evidence would have to be multiplied"
        if any(piece.complete for piece in pieces):
            return pieces[0]
        if away_from is None:
            return self._everything_received(node)
        if node not in self._final:  # a leaf, all of whose messages come from this neighbour
            return pieces[0]
        site, slot = self._final[node]
        if slot != -1 and self.plan.sites[self.plan.steps[self._user[(site, slot)]].site].node == away_from:
            count = self.plan.steps[self._maker[(site, slot)]].count
            index, messages = self._pattern_of_rows((site, slot)), self._slots(site, slot, count)
            has_prior = self.plan.parents[away_from] == node and self.plan.parents[node] >= 0
        else:
            index, messages = np.arange(self.plan.n_rows), self._from_outside(self._arrival(site, away_from))
            has_prior = self.plan.parents[away_from] == node
        return self._without_prior(node, index, messages, has_prior)

    def _everything_received(self, node: int) -> Evidence:
        site, slot = self._final.get(node, (-1, 0))
        if slot != -1:
            return self._without_prior(node, np.arange(self.plan.n_rows), self.belief(node), True)
        messages = self._all_slots(site)
        factors = self._factor_patterns(self._maker[(site, -1)])
        product = multiply_scaled(messages[factors[0]], (messages[row] for row in factors[1:]))
        return self._without_prior(node, self._pattern_of_rows((site, -1)), product, self.plan.parents[node] >= 0)

    def _arrival(self, site: int, sender: int) -> tuple[int, int]:
        """Return the place where a site receives the message of a neighbour."""
        senders = {
            self.plan.sites[step.a].node if step.kind == EDGE else step.leaf: step.slot
            for step in self.plan.steps
            if step.site == site and step.kind in (EDGE, LEAF_ABOVE, LEAF_BELOW)
        }
        return site, senders[sender]

    def _without_prior(self, node: int, index: np.ndarray, messages: np.ndarray, has_prior: bool) -> Evidence:
        if has_prior:  # for an impossible state any value will do
            prior = self.marginals[node]
            messages = np.divide(messages, prior, out=np.zeros_like(messages), where=prior > 0)
        return Evidence(index, messages.shape[1], _scaled_to_one(messages))

    @cached_property
    def marginals(self) -> list[np.ndarray]:
        """P(node) for every node."""
        marginals: list[np.ndarray] = [np.empty(0)] * len(self.plan.parents)
        for node in parents_first(self.plan.parents):
            above = self.plan.parents[node]
            marginals[node] = self.tables[node][0] if above < 0 else marginals[above] @ self.tables[node]
        return marginals

    def surroundings(self, nodes: np.ndarray) -> tuple[dict[int, tuple[Evidence, ...]], np.ndarray]:
        """Return evidence that replaces everything outside a connected region that contains the pivot.

        Returns
        -------
        evidence : dict
            Node of the region -> its own evidence and the messages from outside.
        row_constants : array
            The part of each row's log-likelihood that does not depend on the region.
        """
        inside = set(nodes.tolist())
        evidence = {node: list(self.plan.evidence.get(node, ())) for node in inside}
        constants = np.zeros(self.plan.n_rows)
        if self.plan.given_constants is not None:
            constants += self.plan.given_constants
        for node, pieces in self.plan.evidence.items():
            if node not in inside:  # the messages below lack the scales of this evidence
                constants += sum(p.log_scales[p.index] for p in pieces if p.log_scales is not None)
        for step in self.plan.steps:
            receiver = self._node_of_component(step.site)
            if step.kind in (EDGE, LEAF_ABOVE, LEAF_BELOW) and receiver in inside:
                sender = self.plan.sites[step.a].node if step.kind == EDGE else step.leaf
                if sender not in inside:
                    evidence[receiver].append(self._as_evidence(step))
            elif step.kind == NUMBERS and receiver in inside:
                evidence[receiver].extend(self._numbers_as_evidence(step, inside))
            elif step.kind == PIVOT and receiver not in inside:
                constants += self._component_log_likelihoods(step)
        return {node: tuple(pieces) for node, pieces in evidence.items() if pieces}, constants

    def _node_of_component(self, site: int) -> int:
        """Return the node of a site; if it is the copy of a known parent, the child, whose table is used there."""
        this = self.plan.sites[site]
        return self.plan.sites[this.links[0][0]].node if not this.whole and this.links[0][2] else this.node

    def _as_evidence(self, step) -> Evidence:
        messages = self._slots(step.site, step.slot, step.count).copy()
        begin = self.plan.site_slots[step.site] + step.slot
        logs = self.exponents[begin : begin + step.count] * LOG_OF_EXPONENT
        patterns = self._pattern_of_rows((step.site, step.slot))
        return Evidence(patterns, messages.shape[1], messages, logs)

    def _numbers_as_evidence(self, step, inside: set[int]) -> list[Evidence]:
        """Return the messages of those of some numeric columns that are not in a region."""
        outside = [node for node in step.members if node not in inside]
        if not outside:
            return []
        if len(outside) == len(step.members):
            return [self._as_evidence(step)]
        logs = np.zeros((self.plan.n_rows, self.engine.site_card[step.site]))
        for node in outside:
            piece = self.plan.evidence[node][0]
            assert piece.numbers is not None
            values, emission = piece.numbers.values, piece.numbers.emission
            constants = emission.log_constants(values)[:, None]  # which are among the constants of the rows already
            by_value = emission.log_densities(values, self.tables[node]) - constants
            logs += np.append(by_value, np.zeros((1, logs.shape[1])), axis=0)[piece.index]
        largest = largest_in_rows(logs)
        return [Evidence(np.arange(self.plan.n_rows), logs.shape[1], np.exp(logs - largest), largest[:, 0])]

    def _component_log_likelihoods(self, step) -> np.ndarray:
        site = step.site
        patterns = self._pattern_of_rows((site, -1))
        factors = self._factor_patterns(self._maker[(site, -1)])
        messages = self._all_slots(site)
        powers = self.exponents[self.plan.site_slots[site] :]
        product, logs = np.asarray(self._from_outside((site, -1))), np.zeros(self.plan.n_rows)
        with np.errstate(divide="ignore"):
            logs += np.log(self.tables[self.plan.sites[site].node][0].max()) if self.plan.sites[site].has_prior else 0
            for row in factors:
                product = product * messages[row[patterns]]
                largest = largest_in_rows(product)
                product = np.divide(product, largest, out=np.zeros_like(product), where=largest > 0)
                logs += np.log(largest[:, 0]) + powers[row[patterns]] * LOG_OF_EXPONENT
            return logs + np.log(product.sum(axis=1))


def _scaled_to_one(array: np.ndarray) -> np.ndarray:
    largest = largest_in_rows(array)
    return np.divide(array, largest, out=np.zeros_like(array), where=largest > 0)


def multiply_scaled(first: np.ndarray, others) -> np.ndarray:
    """Multiply any number of arrays [row, state]; only the ratios within a row are meaningful.

    Once products become small, each state has an exponent of its own, so that a product of thousands of factors neither
    vanishes nor loses a state that a later factor makes likely again.

    Examples
    --------
    >>> tiny = np.full((1, 2), 1e-200)
    >>> product = multiply_scaled(np.array([[1.0, 3.0]]), [tiny] * 5)
    >>> product / product.sum()
    array([[0.25, 0.75]])
    """
    others, product = iter(others), first
    for other in others:
        larger = product * other
        if not (larger.size and larger.min() >= SMALLEST and larger.max() <= 1 / SMALLEST):
            break
        product = larger
    else:
        return np.ldexp(product, -np.frexp(largest_in_rows(product))[1])
    mantissa, exponent = np.frexp(product)
    for factor in chain([other], others):
        fraction, power = np.frexp(factor)
        mantissa, carry = np.frexp(mantissa * fraction)
        exponent = exponent + power + carry
    # a zero must not decide which power is the largest
    largest = largest_in_rows(np.where(mantissa > 0, exponent, np.iinfo(np.int32).min))
    return np.ldexp(mantissa, np.maximum(exponent - largest, -2000))
