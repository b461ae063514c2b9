"""What a search for hidden variables remembers from one step to the next, and what a checkpoint holds of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal

from pgmpy_latent.learners.memory import held_by_checkpoints
from pgmpy_latent.model.network import LatentNetwork
from pgmpy_latent.networks.fitter import ScoredNetwork


@held_by_checkpoints("candidate of FindHidden")
@dataclass(frozen=True)
class Candidate:
    """A hidden variable that was proposed: a row of ``candidates_``.

    Attributes
    ----------
    step : int
        Number of models accepted before.
    hidden : hashable
        Name of the hidden variable.
    members : tuple of names
        The columns that it was proposed for.
    n_states : int
        Number of its states.
    children : tuple of names
        Its children after structural EM.
    local_gain : float
        What it gains in its surroundings, by the score of the search.
    score : float
        Score of the whole network with it; NaN if it was not among the best.
    gain : float
        That score less the score of the network without it.
    kept : bool
        Whether it was accepted, and not removed later.
    """

    step: int
    hidden: Hashable
    members: tuple[Hashable, ...]
    n_states: int
    children: tuple[Hashable, ...]
    local_gain: float
    score: float = float("nan")
    gain: float = float("nan")
    kept: bool = False


@held_by_checkpoints("hidden variable in its surroundings")
@dataclass(frozen=True)
class LocalResult:
    """The best network of some surroundings with a new hidden variable.

    Attributes
    ----------
    hidden : hashable
        Name of the hidden variable.
    members : tuple of names
        The columns that it was proposed for.
    network : LatentNetwork
        The surroundings with it.
    gain : float
        Score of the surroundings with it, less their score without it.
    first_gain : float
        The same, before its states were split and merged.
    is_resized : bool
        Whether they were.
    """

    hidden: Hashable
    members: tuple[Hashable, ...]
    network: LatentNetwork
    gain: float
    first_gain: float
    is_resized: bool = False


@held_by_checkpoints("round of FindHidden")
@dataclass(frozen=True)
class Round:
    """A round of proposals that is under way.

    Attributes
    ----------
    n_tried : int
        Number of proposals that were tried in their surroundings.
    results : tuple of LocalResult
        Those of them that could be fitted.
    n_placed : int
        Number of results, the best first, with which the whole network was fitted.
    best : ScoredNetwork or None
        The best of these networks.
    best_at : int
        Its position among the results, the best first.
    """

    n_tried: int = 0
    results: tuple[LocalResult, ...] = ()
    n_placed: int = 0
    best: ScoredNetwork | None = None
    best_at: int = 0


@held_by_checkpoints("networks fitted to all rows")
@dataclass(frozen=True)
class FinalNetworks:
    """The networks with and without hidden variables, fitted to all rows after some were held out of the search.

    Attributes
    ----------
    base : LatentNetwork
        The network without new hidden variables.
    network : LatentNetwork
        The network that the search ended with.
    log_likelihood : float
        Log-likelihood of ``network``.
    """

    base: LatentNetwork
    network: LatentNetwork
    log_likelihood: float


@held_by_checkpoints("memory of FindHidden")
@dataclass(frozen=True)
class FindHiddenMemory:
    """The memory of a search for hidden variables.

    Attributes
    ----------
    phase : {"edges", "propose"}
        Whether the next step changes edges among the columns, or proposes a hidden variable.
    n_removals : int
        Number of times that a hidden variable was removed again.
    base : LatentNetwork or None
        The network without new hidden variables, as soon as it is known.
    candidates : tuple of Candidate
        All hidden variables that were proposed, in their order.
    round : Round or None
        The round of proposals that is under way.
    groups : tuple of tuple or None
        Columns around the hidden variables of latent trees, as soon as these are known: a search that is resumed may
        have other trees, if there was little time for them.
    tree_score : float or None
        Score of the best latent tree, NaN if there is none; None before it is known.
    is_tree : bool
        Whether the network grew out of that tree.
    final : FinalNetworks or None
        Networks that were fitted to all rows after the search.
    """

    phase: Literal["edges", "propose"]
    n_removals: int = 0
    base: LatentNetwork | None = None
    candidates: tuple[Candidate, ...] = ()
    round: Round | None = None
    groups: tuple[tuple[Hashable, ...], ...] | None = None
    tree_score: float | None = None
    is_tree: bool = False
    final: FinalNetworks | None = None
