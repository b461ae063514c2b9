"""HLTA on tables with numbers: the tree is found in bins, and fitted to the numbers themselves."""

from __future__ import annotations

from dataclasses import replace

from pgmpy_latent import scores
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.learners.search import Outcome, Search
from pgmpy_latent.model.tree import LatentTree
from pgmpy_latent.operators import make_regular
from pgmpy_latent.tables.encode import CategoricalData
from pgmpy_latent.tables.number_bins import BinnedTable


def fitted_to_numbers(
    outcome: Outcome[LatentTree], binned: BinnedTable, data: CategoricalData, search: Search
) -> Outcome[LatentTree]:
    """Return what was learned from a table in bins with numbers as leaves, after EM on the table itself.

    Parameters
    ----------
    outcome : Outcome
        What was learned from the bins. Its history is kept: its scores are those of the bins, but for the last one.
    binned : BinnedTable
        The table in bins.
    data : CategoricalData
        The table itself.
    search : Search
        Runs EM.
    """
    tree = make_regular(binned.with_numbers(outcome.tree))
    engine = engine_for(tree, data)
    fit = search.fit(engine, engine.layout.pack(tree.tables), **search.settings.last_fit)
    if fit.interrupted:
        search.note_interrupt()
    tree = tree.with_tables(engine.layout.unpack(fit.tables))
    score = scores.bic_from_parts(fit.log_likelihood, tree.n_parameters, data.total_weight)
    last = outcome.history[-1]
    entry = replace(
        last, step=last.step + 1, operator="fit to numbers", target=None, score=score,
        log_likelihood=fit.log_likelihood, n_parameters=tree.n_parameters,
        seconds=last.seconds + search.clock.elapsed,
    )  # fmt: skip
    return replace(
        outcome, tree=tree, score=score, log_likelihood=fit.log_likelihood, history=[*outcome.history, entry],
        stopped=outcome.stopped or search.stopped, remaining_gain=search.remaining_gain,
    )  # fmt: skip
