"""EAST against true models, the tables of its paper and other learners; how its steps grow with columns.

Needs the papers' data sets. One thread, CPU seconds; hours, most of which go to ``EAST, rl``. ``--only`` takes any part
of "case | method | seed 0" as it is printed, or several parts with ``+`` between them, all of which must be there:
``"12 variables"``, ``"| EAST |"``, ``"COIL + rl"``, ``"7 variables + seed 0"``, ``"Growth"``.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    EAST,
    Baseline,
    BinG,
    LatentTree,
    datasets,
    presets,
    row_log_likelihoods,
    sample,
    scores,
    smoothed,
)
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.smoothing import PSEUDO_COUNT
from pgmpy_latent.inference.queries import engine_for
from pgmpy_latent.operators import make_regular
from pgmpy_latent.tables.encode import encode

# -- synthetic tables: the true model is known
#: Draws of parameters and rows.
DRAWS = range(10)
#: Variables from which on ``EAST, rl`` gets fewer draws, and which.
LONG_VARIABLES, LONG_DRAWS = 12, range(3)
TEST_ROWS = 5_000
#: Pseudo-count of smoothed figures that were measured before it was stored beside them.
EARLIER_PSEUDO_COUNT = 0.05
#: States of every observed variable; a small table may not show all of them.
STATES = (0, 1, 2)
ORACLE = "Oracle"


@dataclass(frozen=True)
class Goal:
    """What a synthetic case should reach, and what others did.

    Attributes
    ----------
    below : float
        How far below the oracle's the BIC may be.
    draws : int or None
        In how many draws at least; None: on average.
    seconds : float or None
        Mean seconds allowed.
    paper : tuple
        Empirical KL and time of EAST-RL(8, 40), in the paper's Table 1; its models are others of the same sizes.
    java : float or None
        CPU seconds of the public Java implementation of the same search, on one core; roughly.
    """

    below: float
    draws: int | None
    seconds: float | None
    paper: tuple[float, str]
    java: float | None


#: (variables, rows) -> goal.
SYNTHETIC = {
    (7, 5_000): Goal(1, 9, 2, (0.0101, "7.1 min"), 25),
    (12, 10_000): Goal(3, 8, 15, (0.0032, "2.6 h"), 470),
    (18, 1_000): Goal(0, None, None, (0.1865, "0.7 h"), None),
    (18, 5_000): Goal(10, 8, None, (0.0148, "6 h"), 850),
    (18, 10_000): Goal(10, 8, 30, (0.0047, "18.4 h"), None),
}

# -- tables of the papers
COIL, NEWS = "COIL-42", "NEWS20W100"
#: Seconds given to methods other than EAST itself.
COIL_SECONDS, NEWS_SECONDS = 300, 1_800
#: Seconds given to EAST on the newsgroups, and seconds after which the best BIC so far is kept as well.
EAST_NEWS_SECONDS, NEWS_EARLY = 900, 480
#: The paper's Table 1 for COIL: BIC and log score of the test rows, with standard deviations, and time. HSHC is the
#: earlier search whose figure the thesis and Harmeling and Williams quote.
COIL_PAPER = {
    "paper: EAST-RL(4, 10)": ("-52,116 (205)", "-34,943 (203)", "0.9 days"),
    "paper: EAST-RL(8, 20)": ("-51,773 (159)", "-34,577 (195)", "1.1 days"),
    "paper: EAST-RL(16, 40)": ("-51,505 (74)", "-34,198 (41)", "2.3 days"),
    "paper: EAST-DC": ("-52,560 (295)", "-35,103 (226)", "0.7 days"),
    "HSHC": ("-51,465", "", "121 h"),
}
#: Targets: mean and best BIC, most seconds of a fit, and the mean log score, with BIC and with rows held out.
COIL_MEAN, COIL_BEST, COIL_ALLOWED = -50_920, -50_905, 60
COIL_SCORE, COIL_PREDICTIVE_SCORE = -34_290, -34_190

# -- methods
RL, DC, CHOW_LIU, LATENT_CLASS, BING = "EAST, rl", "EAST, dc", "Chow-Liu", "latent class", "BinG, simplified"
BIC_FOREST = "BIC forest"
FROM_BING = "EAST from BinG, simplified"
PREDICTIVE = "EAST, rows held out"
#: Method -> learner and settings.
METHODS = {
    "EAST": (EAST, {}),
    PREDICTIVE: (EAST, {"scoring_method": "heldout"}),
    RL: (EAST, {"tuning": presets.EAST.replace(evaluation="rl", n_starts=8, n_steps=40)}),
    DC: (EAST, {"tuning": presets.EAST.replace(evaluation="dc")}),
    CHOW_LIU: (Baseline, {"model": "chow_liu"}),
    BIC_FOREST: (Baseline, {"model": "forest"}),
    LATENT_CLASS: (Baseline, {"model": "latent_class"}),
    BING: (BinG, {"simplify": True}),
    FROM_BING: (EAST, {"start": BinG(simplify=True)}),
}
COMPARED = ("EAST", RL, DC, CHOW_LIU, BIC_FOREST, LATENT_CLASS, BING)
COIL_SEEDS = {
    "EAST": range(5),
    PREDICTIVE: range(5),
    CHOW_LIU: range(1),
    BIC_FOREST: range(1),
    LATENT_CLASS: range(1),
    BING: range(2),
    DC: range(2),
    RL: range(1),
}
#: Methods that run to their ends on COIL-42.
WITHOUT_LIMIT = ("EAST", PREDICTIVE)
ON_NEWS = ("EAST", CHOW_LIU, BIC_FOREST, BING, FROM_BING, LATENT_CLASS)

GROWTH_COLUMNS, GROWTH_ROWS, GROWTH_SECONDS = (10, 20, 40, 80), 5_000, 300
#: Columns below a hidden variable, states of hidden variables, and what an entry per row of a table has at least.
CLUSTER, HIDDEN_STATES, DOMINANT = 5, 3, 0.7


def learner(method: str, seed: int, limit: float | None = None):
    """Return the learner that this script calls so."""
    kind, settings = METHODS[method]
    return kind(**settings, random_state=seed, time_limit=limit, show_progress=False)


# -- tables ------------------------------------------------------------------------------------------------------------


@cache
def synthetic(n_variables: int, n_rows: int, draw: int) -> tuple[LatentTree, pd.DataFrame, pd.DataFrame]:
    """Return a true model, rows to learn from and rows to test with."""
    true = datasets.hlc_model(n_variables, random_state=draw)
    known = pd.CategoricalDtype(STATES, ordered=True)  # all learners count the parameters of all states
    train, test = sample(true, n_rows, random_state=1000 + draw), sample(true, TEST_ROWS, random_state=2000 + draw)
    return true, train.astype(known), test.astype(known)


@cache
def coil() -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Return the rows to learn from, their weights, and the rows to test with."""
    train = pd.read_csv(runner.DATA / "coil42_train.csv.gz")
    return train, train.pop("count"), pd.read_csv(runner.DATA / "coil42_test.csv.gz")


@cache
def news() -> pd.DataFrame:
    return pd.read_csv(runner.DATA / "news20w100.csv.gz").drop(columns="newsgroup")


def grown_model(n_columns: int, seed: int = 0) -> LatentTree:
    """Return a tree in which every five columns stand under a hidden variable, and these under one more.

    Columns have two states and three in turn. The root's distribution is random; every row of any other table has a
    dominant entry, and what is left is uniform on the simplex.
    """
    rng = np.random.default_rng(seed)
    n_clusters = -(-n_columns // CLUSTER)
    parent = [-1, *[0] * n_clusters, *(1 + at // CLUSTER for at in range(n_columns))]
    cards = [HIDDEN_STATES] * (1 + n_clusters) + [2 + at % 2 for at in range(n_columns)]
    names = ["root", *(f"h{at:02d}" for at in range(n_clusters)), *(f"x{at:02d}" for at in range(n_columns))]
    tables = [rng.dirichlet(np.full(HIDDEN_STATES, 10.0), size=1)]
    for card in cards[1:]:
        dominant = np.eye(card)[rng.permutation(HIDDEN_STATES) % card]
        tables.append(DOMINANT * dominant + (1 - DOMINANT) * rng.dirichlet(np.ones(card), size=HIDDEN_STATES))
    latent = [node <= n_clusters for node in range(len(parent))]
    return LatentTree(names, [range(card) for card in cards], parent, latent, tables)


# -- figures -----------------------------------------------------------------------------------------------------------


def splits(tree: LatentTree) -> set[frozenset[frozenset]]:
    """Return how the edges between hidden variables cut the columns in two, and the columns of each tree.

    Which node is the root makes no difference.
    """
    below = [frozenset() if hidden else frozenset([name]) for name, hidden in zip(tree.names, tree.latent, strict=True)]
    top = np.arange(tree.n_nodes)
    for node in tree.order[::-1]:
        if tree.parent[node] >= 0:
            below[tree.parent[node]] |= below[node]
    for node in tree.order:
        if tree.parent[node] >= 0:
            top[node] = top[tree.parent[node]]
    found = {frozenset([below[root]]) for root in tree.roots}
    for node, above in enumerate(tree.parent):
        if above >= 0 and tree.latent[node] and tree.latent[above]:
            found.add(frozenset([below[node], below[top[node]] - below[node]]))
    return found


def pseudo_counts(rows: list[dict]) -> str:
    """Return in words which pseudo-counts the smoothed figures of stored results were measured with.

    Examples
    --------
    >>> pseudo_counts([{"figures": '{"log_score_smoothed": -5.0}'}, {"figures": '{"bic": -9.0}'}])
    '0.05'
    """
    figures = [json.loads(row["figures"]) for row in rows]
    found = {one.get("pseudo_count", EARLIER_PSEUDO_COUNT) for one in figures if "log_score_smoothed" in one}
    return " or ".join(f"{value:g}" for value in sorted(found or {PSEUDO_COUNT}))


def held_out(tree: LatentTree, smooth_tree: LatentTree, test: pd.DataFrame, true: LatentTree | None = None) -> dict:
    """Return the log scores of test rows, as the tree is and smoothed, and what is lost against the true model.

    Rows that the tree rules out are counted, and left out of what is not smoothed.
    """
    plain = row_log_likelihoods(tree, test, unseen="error").to_numpy()
    smooth = row_log_likelihoods(smooth_tree, test, unseen="error").to_numpy()
    possible = np.isfinite(plain)
    kept = {
        "impossible": int((~possible).sum()),
        "log_score": float(plain[possible].sum()),
        "log_score_smoothed": float(smooth.sum()),
        "pseudo_count": PSEUDO_COUNT,
    }
    if true is not None:
        truth = row_log_likelihoods(true, test).to_numpy()
        kept["kl"] = float((truth - plain)[possible].mean()) if possible.any() else None
        kept["kl_smoothed"] = float((truth - smooth).mean())
    return kept


def figures(found) -> dict:
    """Return what is kept of a learned model."""
    return {
        "bic": found.bic_,
        "log_likelihood": found.log_likelihood_,
        "parameters": found.n_parameters_,
        "latents": len(found.latents_),
        "states": sorted(found.n_states_.values()),
        "stopped": found.stopped_,
    }


def fitted(method: str, seed: int, limit: float | None, *table):
    """Return a fitted learner and the CPU seconds it took."""
    began = time.process_time()
    found = learner(method, seed, limit).fit(table[0], sample_weight=table[1] if len(table) > 1 else None)
    return found, time.process_time() - began


# -- measuring ---------------------------------------------------------------------------------------------------------


@cache
def oracle(n_variables: int, n_rows: int, draw: int) -> dict:
    """Run EM from the true parameters, on the true structure made regular."""
    true, train, test = synthetic(n_variables, n_rows, draw)
    began = time.perf_counter()
    regular = make_regular(true)
    data = encode(train, state_names=dict.fromkeys(train.columns, STATES))
    engine = engine_for(regular, data)
    found = fit(engine, engine.layout.pack(regular.tables), atol=1e-3, max_iter=20_000)
    tree = regular.with_tables(engine.layout.unpack(found.tables))
    seconds = time.perf_counter() - began
    kept = {"bic": scores.bic(tree, data), "log_likelihood": found.log_likelihood, "converged": found.converged}
    kept |= {"parameters": scores.n_parameters(tree), "latents": len(tree.latent_names), "seconds": seconds}
    return kept | held_out(tree, smoothed(tree, train), test, true)


def on_synthetic(n_variables: int, n_rows: int, method: str, draw: int) -> dict:
    """Learn from rows of a true model."""
    true, train, test = synthetic(n_variables, n_rows, draw)
    if method == ORACLE:
        return oracle(n_variables, n_rows, draw)
    best = oracle(n_variables, n_rows, draw)
    found, seconds = fitted(method, draw, None, train)
    return {
        "seconds": seconds,
        **figures(found),
        "oracle_bic": best["bic"],
        "difference": found.bic_ - best["bic"],
        "oracle_kl_smoothed": best["kl_smoothed"],
        "same_tree": splits(found.tree_) == splits(make_regular(true)),
        **held_out(found.tree_, smoothed(found.tree_, train), test, true),
    }


def on_coil(method: str, seed: int) -> dict:
    train, weights, test = coil()
    found, seconds = fitted(method, seed, None if method in WITHOUT_LIMIT else COIL_SECONDS, train, weights)
    smooth = smoothed(found.tree_, train, sample_weight=weights)
    return {"seconds": seconds, **figures(found), **held_out(found.tree_, smooth, test)}


def on_news(method: str, seed: int) -> dict:
    found, seconds = fitted(method, seed, EAST_NEWS_SECONDS if method == "EAST" else NEWS_SECONDS, news())
    early = found.history_.loc[found.history_["seconds"] <= NEWS_EARLY, "score"]
    return {"seconds": seconds, **figures(found), "early": None if early.empty else float(early.max())}


def on_grown(n_columns: int, seed: int) -> dict:
    """Time the accepted steps of a search; what comes after the last one, looking for more, is counted apart."""
    true = grown_model(n_columns)
    found, seconds = fitted("EAST", seed, GROWTH_SECONDS, sample(true, GROWTH_ROWS, random_state=1))
    history = found.history_
    times = history.loc[history["operator"] != "fit", "seconds"].to_numpy()  # the final EM is no step
    steps, regular = np.diff(times), make_regular(true)
    return {
        "seconds": seconds,
        **figures(found),
        "steps": len(steps),
        "step_seconds": float(np.median(steps)) if len(steps) else None,
        "mean_step_seconds": float(np.mean(steps)) if len(steps) else None,
        "seconds_after": float(seconds - times[-1]),
        "true_latents": len(regular.latent_names),
        "same_tree": splits(found.tree_) == splits(regular),
    }


Job = tuple[str, str, int, Callable[[], dict]]


def synthetic_case(n_variables: int, n_rows: int) -> str:
    return f"{n_variables} variables, {n_rows:,} rows"


def grown_case(n_columns: int) -> str:
    return f"Growth: {n_columns} columns"


def synthetic_jobs(*methods: str) -> Iterator[Job]:
    for method in methods:
        for n_variables, n_rows in SYNTHETIC:
            for draw in LONG_DRAWS if method == RL and n_variables >= LONG_VARIABLES else DRAWS:
                work = partial(on_synthetic, n_variables, n_rows, method, draw)
                yield synthetic_case(n_variables, n_rows), method, draw, work


def jobs() -> Iterator[Job]:
    """Return all that is to be measured, case, method, seed and work; what matters most, and is short, first."""
    yield from synthetic_jobs(ORACLE, "EAST")
    for method, seeds in COIL_SEEDS.items():
        yield from ((COIL, method, seed, partial(on_coil, method, seed)) for seed in seeds)
    yield from synthetic_jobs(CHOW_LIU, BIC_FOREST, BING, LATENT_CLASS, DC)
    yield from ((grown_case(n), "EAST", 0, partial(on_grown, n, 0)) for n in GROWTH_COLUMNS)
    yield from ((NEWS, method, 0, partial(on_news, method, 0)) for method in ON_NEWS)
    yield from synthetic_jobs(RL)


def measure(run: runner.Runner, only: str, again: bool) -> None:
    """Run everything that is not there yet, or is to be measured again."""
    parts = [part.strip() for part in only.split("+")]
    for case, method, seed, work in jobs():
        label = f"{case} | {method} | seed {seed}"
        if all(part in label for part in parts) and (again or not run.find(case, method, seed)):
            print(f"{label} ...", flush=True)
            run.forget(case, method, seed)
            run.compare(case, {method: work}, seed=seed, repeats=1)


def main() -> None:
    from benchmarks.east_page import page  # it takes the figures above for its tables

    options = runner.arguments(__doc__)
    run = runner.Runner("east")
    warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is marked in the tables
    if not options.render:
        small = sample(datasets.hlc_model(7, random_state=0), 300, random_state=0)
        for method in METHODS:
            learner(method, 0).fit(small)  # loads the kernels
        measure(run, options.only, options.again)
    runner.render("east", page(run))


if __name__ == "__main__":
    main()
