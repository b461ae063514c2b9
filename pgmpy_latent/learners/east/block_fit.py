"""EM on the blocks of a tree that a move has changed; the others keep their tables and their log-likelihood."""

from __future__ import annotations

import numpy as np

from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.east.blocks import Block, BlockMessages
from pgmpy_latent.learners.search import FitOptions, Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators.blocks import rooted_at_columns


def refitted(
    tree: LatentTree, before: BlockMessages, search: Search, target: float = -np.inf
) -> tuple[LatentTree, float]:
    """Run EM on the blocks of a tree that are not blocks of another one.

    Parameters
    ----------
    tree : LatentTree
        The tree that a move leads to.
    before : BlockMessages
        The tree that the move was made in, with the messages in its blocks.
    search : Search
        Runs EM.
    target : float
        EM ends early if the log-likelihood is certain to stay below.

    Returns
    -------
    tree : LatentTree
        The fitted tree, rooted at columns.
    log_likelihood : float
        Of all rows.
    """
    division, standing = before.division, set(before.blocks)
    tree = rooted_at_columns(tree, division.columns)
    blocks = division.blocks(tree, {block.key: block for block in before.blocks})
    changed = [block for block in blocks if block not in standing]
    total = division.log_likelihood_of_roots(tree)
    total += sum(block.log_likelihood for block in blocks if block in standing)
    total -= sum(division.log_likelihood(block.gate) for block in blocks if block.gate is not None)
    tables = {name: division.share(name)[None] for name in division.columns}
    for block in blocks:
        fitted = list(block.tree.tables)
        if block not in standing:
            # what one block must reach depends on the others, which are known if it is the only one that changed
            fitted, value = _fitted(block, search, target - total if len(changed) == 1 else -np.inf)
            total += value
        tables |= block.tables_below_gate(fitted)
    return tree.with_tables([tables[name] for name in tree.names]), total


def _fitted(block: Block, search: Search, target: float) -> tuple[list[np.ndarray], float]:
    """Return the tables of a block after EM, and its log-likelihood. The distribution of its gate is known."""
    free = np.ones(block.tree.n_nodes, dtype=bool)
    if block.gate is not None:
        free[block.tree.index(block.gate)] = False
    if not free.any():
        return list(block.tree.tables), block.log_likelihood
    engine = engine_for(block.tree, block.data)
    options: FitOptions = {"free": free, "target": target}
    fit = search.fit(engine, engine.layout.pack(block.tree.tables), **options)
    return engine.layout.unpack(fit.tables), fit.log_likelihood
