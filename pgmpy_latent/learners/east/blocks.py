"""A tree in blocks: messages and tables of the parts between columns that are known in every row."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from zlib import crc32

import numpy as np

from pgmpy_latent.inference.plan import Evidence
from pgmpy_latent.learners.east.evaluation import LeafModel, leaf_model
from pgmpy_latent.learners.local.node_messages import NodeMessages, dense, through
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.blocks import blocks_of, subtree
from pgmpy_latent.runtime.arrays import ROUNDING
from pgmpy_latent.tables.encode import CategoricalData, distinct_rows


class Division:
    """A table and the columns at which trees are divided: those of categories without missing cells.

    Parameters
    ----------
    data : CategoricalData
        The table.
    """

    def __init__(self, data: CategoricalData):
        self.data = data
        pairs = zip(data.columns, data.has_missing, strict=True)
        self.columns = tuple(name for name, has_missing in pairs if not has_missing and name not in data.values)
        self.known = frozenset(self.columns)
        self._place = {name: at for at, name in enumerate(data.columns)}
        self._projections: dict[tuple[Hashable, ...], tuple[CategoricalData, np.ndarray]] = {}
        self._shares: dict[Hashable, np.ndarray] = {}
        self._pairs: dict[tuple[Hashable, Hashable], np.ndarray] = {}

    def projection(self, columns: tuple[Hashable, ...]) -> tuple[CategoricalData, np.ndarray]:
        """Return the distinct rows of some columns, and which of them each row of the table is."""
        if columns not in self._projections:
            places = [self._place[name] for name in columns]
            n_codes = self.data.n_codes
            cards = [n_codes[at] for at in places]
            rows, codes = distinct_rows(np.ascontiguousarray(self.data.codes[:, places].T), cards)
            states = [self.data.state_names[at] for at in places]
            weights = np.bincount(rows, self.data.weights, minlength=len(codes))
            values = {name: self.data.values[name] for name in columns if name in self.data.values}
            self._projections[columns] = CategoricalData(columns, states, codes, weights, values=values), rows
        return self._projections[columns]

    def codes(self, column: Hashable) -> np.ndarray:
        """Return the codes of a column."""
        return self.data.codes[:, self._place[column]]

    def share(self, column: Hashable) -> np.ndarray:
        """Return the distribution of a column."""
        if column not in self._shares:
            at = self._place[column]
            counts = np.bincount(self.data.codes[:, at], self.data.weights, minlength=self.data.cards[at])
            self._shares[column] = counts / counts.sum()
        return self._shares[column]

    def log_likelihood(self, column: Hashable) -> float:
        """Return the log-likelihood of a column by itself."""
        share = self.share(column)
        return float(self.data.weights.sum() * (share[share > 0] @ np.log(share[share > 0])))

    def pair_counts(self, one: Hashable, other: Hashable) -> np.ndarray:
        """Return the joint counts of two columns without missing cells."""
        if (one, other) not in self._pairs:
            n_rows, n_columns = (int(self.data.cards[self._place[name]]) for name in (one, other))
            codes = self.codes(one).astype(np.int64) * n_columns + self.codes(other)
            counts = np.bincount(codes, self.data.weights, minlength=n_rows * n_columns).reshape(n_rows, n_columns)
            self._pairs[one, other], self._pairs[other, one] = counts, counts.T
        return self._pairs[one, other]

    def log_likelihood_of_roots(self, tree: LatentTree) -> float:
        """Return the log-likelihood of the roots of a tree at which it is divided."""
        roots = (tree.names[root] for root in tree.roots)
        return sum(self.log_likelihood(name) for name in roots if name in self.known)

    def blocks(self, tree: LatentTree, known: Mapping[tuple, Block] | None = None) -> list[Block]:
        """Return the blocks of a tree that is rooted at columns.

        Parameters
        ----------
        tree : LatentTree
            The model.
        known : mapping, optional
            Key -> block. A block with the same key and, up to rounding, the same tables is returned as it is.
        """
        found = []
        for nodes in map(sorted, blocks_of(tree, self.columns)):
            block = None if known is None else known.get(block_key(tree, nodes))
            if block is None or not block.has_tables([tree.tables[node] for node in nodes]):
                top = next(node for node in nodes if int(tree.parent[node]) not in nodes)
                share = self.share(tree.names[top]) if tree.names[top] in self.known else None
                block = Block(subtree(tree, nodes, share), self)
            found.append(block)
        return found


def block_key(tree: LatentTree, nodes: Sequence[int]) -> tuple:
    """Return what tells blocks apart, except for their tables: names, parents and numbers of states."""
    place = {node: at for at, node in enumerate(nodes)}
    return tuple((tree.names[node], place.get(int(tree.parent[node]), -1), int(tree.cards[node])) for node in nodes)


class Block:
    """A part of a tree between columns that are known in every row.

    Parameters
    ----------
    tree : LatentTree
        The part.
    division : Division
        The table.
    """

    def __init__(self, tree: LatentTree, division: Division):
        self.tree = tree
        self.data, self.rows = division.projection(tree.observed_names)
        top = tree.names[int(tree.roots[0])]
        #: The column that the block hangs on, if its root is one at which trees are divided.
        self.gate = top if top in division.known else None
        self.cuts: dict[tuple[Hashable, ...], float] = {}
        self.key = block_key(tree, range(tree.n_nodes))

    def __reduce__(self):
        raise TypeError("blocks are made anew by every worker")

    def has_tables(self, tables: Sequence[np.ndarray]) -> bool:
        """Tell whether some tables, in the order of the nodes, are those of the block up to rounding.

        The distribution of the gate does not count, as it is that of the column.
        """
        for name, table, other in zip(self.tree.names, self.tree.tables, tables, strict=True):
            if table is not other and name != self.gate and np.abs(table - other).max() > ROUNDING:
                return False
        return True

    def tables_below_gate(self, tables: Sequence[np.ndarray]) -> dict[Hashable, np.ndarray]:
        """Return tables by name, without that of the gate, which other blocks share."""
        pairs = zip(self.tree.names, tables, strict=True)
        return {name: table for name, table in pairs if name != self.gate}

    @cached_property
    def seed(self) -> int:
        """A number that depends on the block alone."""
        found = crc32(repr(self.key).encode())
        for table in self.tree.tables:
            found = crc32(np.ascontiguousarray(table).tobytes(), found)
        return found

    @cached_property
    def messages(self) -> NodeMessages:
        """The messages in the block."""
        return NodeMessages(self.tree, self.data)

    @cached_property
    def log_likelihood(self) -> float:
        """Of the columns in the block."""
        engine = self.messages.walk.engine
        return float(engine.log_likelihood(engine.layout.pack(self.tree.tables)))


class BlockMessages(NodeMessages):
    """The messages of all nodes, block by block; for every row of the table.

    Parameters
    ----------
    tree : LatentTree
        The model, rooted at columns.
    division : Division
        The table.
    before : BlockMessages, optional
        Of another tree, whose blocks are taken over where they are the same.
    """

    def __init__(self, tree: LatentTree, division: Division, before: BlockMessages | None = None):
        self._set_out(tree, division.data)
        self.division = division
        known = {} if before is None else {block.key: block for block in before.blocks}
        self.blocks: list[Block] = division.blocks(tree, known)
        self._of_edge: dict[frozenset[Hashable], Block] = {}
        self._of_node: dict[Hashable, Block] = {}
        for block in self.blocks:
            names = block.tree.names
            for name, above in zip(names, block.tree.parent.tolist(), strict=True):
                if above >= 0:
                    self._of_edge[frozenset((name, names[above]))] = block
                if name not in division.known:
                    self._of_node[name] = block

    def __reduce__(self):
        return BlockMessages, (self.tree, Division(self.data))

    def of_edge(self, one: Hashable, other: Hashable) -> Block:
        """Return the block of an edge."""
        return self._of_edge[frozenset((one, other))]

    def of_node(self, name: Hashable) -> Block | None:
        """Return the block of a node; None for a column at which the tree is divided."""
        return self._of_node.get(name)

    def _block(self, node: int) -> tuple[Block, int]:
        """Return the block of a node at which the tree is not divided, and its place there."""
        block = self._of_node[self.tree.names[node]]
        return block, block.tree.index(self.tree.names[node])

    def message(self, neighbour: int, node: int) -> Evidence:
        """Return the evidence about a neighbour of a node from everything on the neighbour's side of the edge."""
        if (neighbour, node) not in self._messages:
            name = self.tree.names[neighbour]
            if name in self.division.known:
                found = self._column(name)
            else:
                block = self.of_edge(name, self.tree.names[node])
                own = block.messages.message(block.tree.index(name), block.tree.index(self.tree.names[node]))
                found = replace(own, index=own.index[block.rows])
            self._messages[neighbour, node] = found
        return self._messages[neighbour, node]

    def _column(self, name: Hashable) -> Evidence:
        return Evidence(self.division.codes(name), int(self.tree.cards[self.tree.index(name)]))

    def observed(self, node: int) -> Evidence | None:
        """Return the evidence about a node in its own column; None for a hidden node."""
        return None if self.tree.latent[node] else self._column(self.tree.names[node])

    def likelihood(self, node: int) -> Evidence:
        """Return the likelihood of the rows given each state of a node."""
        name = self.tree.names[node]
        if name in self.division.known:
            return self._column(name)
        block, at = self._block(node)
        own = block.messages.likelihood(at)
        return replace(own, index=own.index[block.rows])

    def rest(self, node: int, without: Collection[int] = ()) -> np.ndarray:
        """Return P(node) times the messages of all neighbours but some: (rows, states); the largest of a row is 1."""
        index, messages = dense(self.rest_evidence(node, without))
        return messages[index]

    def rest_evidence(self, node: int, without: Collection[int] = ()) -> Evidence:
        """Return :meth:`rest` as evidence, of which several rows may share a pattern."""
        name = self.tree.names[node]
        if name in self.division.known:
            return self._column(name)
        block, at = self._block(node)
        others = [block.tree.index(self.tree.names[other]) for other in without]
        return Evidence(block.rows, int(self.tree.cards[node]), block.messages.rest(at, others))

    def posterior(self, node: int) -> np.ndarray:
        """Return P(node | row)."""
        if node not in self._posteriors:
            name = self.tree.names[node]
            if name in self.division.known:
                found = np.eye(self.tree.cards[node])[self.division.codes(name)]
            else:
                block, at = self._block(node)
                found = block.messages.posterior(at)[block.rows]
            self._posteriors[node] = found
        return self._posteriors[node]

    def loss_of_cut(self, old: Hashable, moved: Sequence[Hashable]) -> float:
        """Return the log-likelihood with some edges of a node, less that of the side that they are taken from."""
        block = self.of_edge(old, moved[0])
        if (old, *moved) in block.cuts:
            return block.cuts[old, *moved]
        at, others = block.tree.index(old), [block.tree.index(name) for name in moved]
        rest = block.messages.rest(at, others)
        base = block.messages.log_likelihood(at, rest, others)
        block.cuts[old, *moved] = base - float(block.data.weights @ np.log(rest.sum(axis=1)))
        return block.cuts[old, *moved]


def distinct(parts: Sequence[Evidence], weights: np.ndarray) -> tuple[list[Evidence], np.ndarray]:
    """Return evidence on several nodes for the distinct rows, and their weights."""
    codes = np.stack([part.patterns() for part in parts]).astype(np.int64)
    if codes[0].max() + 1 == len(weights):
        return list(parts), weights
    rows, found = distinct_rows(codes, [int(column.max()) + 1 for column in codes])
    if len(found) == len(weights):
        return list(parts), weights
    merged = [_with_patterns(part, np.ascontiguousarray(column)) for part, column in zip(parts, found.T, strict=True)]
    return merged, np.bincount(rows, weights, minlength=len(found))


def _with_patterns(part: Evidence, patterns: np.ndarray) -> Evidence:
    """Return the evidence of rows that show some patterns of other evidence."""
    if part.numbers is not None:
        return replace(part, index=np.where(patterns < len(part.numbers.values), patterns, -1))
    return Evidence(patterns, part.n_states, dense(part)[1])


def star_log_likelihood(parts: Sequence[Evidence], tables: Sequence[np.ndarray], weights: np.ndarray) -> float:
    """Return the log-likelihood of a node and some neighbours, from evidence on all of them and their tables."""
    index, product = dense(parts[0])
    product, left_out = product[index], 0.0
    for part, table in zip(parts[1:], tables, strict=True):
        index, messages, scales = through(part, table)
        product = product * messages[index]
        left_out += 0.0 if scales is None else float(weights @ scales[index])
    return float(weights @ np.log(product.sum(axis=1))) + left_out


def merged_leaf_model(
    root: Hashable,
    rest: Evidence,
    names: Sequence[Hashable],
    evidence: Sequence[Evidence],
    starts: Sequence[np.ndarray],
    weights: np.ndarray,
) -> tuple[LeafModel, float]:
    """Return the model of a root and some leaves for distinct rows, and the log-likelihood of the root's side alone."""
    parts, merged = distinct([rest, *evidence], weights)
    index, messages = dense(parts[0])
    base = float(merged @ np.log(messages.sum(axis=1)[index]))
    return leaf_model(root, messages[index], names, parts[1:], starts, merged), base
