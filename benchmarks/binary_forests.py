"""BinG and BinA against the tables of their paper; how they grow with columns; the words of the newsgroups.

Needs the papers' data sets. One thread; about half an hour without simplified forests, which take longer. ``--only``
takes any part of "case | method" as it is printed: ``Table 2``, ``Growth``, ``NEWS20W100``, ``COIL``,
``COIL-42 | BIN-G``, ``simplified``, ``Missing``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, combinations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import networkx as nx
import numpy as np
import pandas as pd
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import Baseline, BinA, BinG, LatentTree, TreeEM, datasets, log_likelihood, mutual_information, scores

SEEDS = range(5)
FORESTS = ("BIN-G", "BIN-A")
SIMPLIFIED = ("BIN-G, simplified", "BIN-A, simplified")
ANYWHERE = ("BIN-G, simplified, anywhere", "BIN-A, simplified, anywhere")
BIC_FOREST = "BIC forest"
BASELINES = {"IND": "independence", "CL": "chow_liu", BIC_FOREST: "forest", "LCM": "latent_class"}
#: Seconds for the latent class model of the newsgroups, which would take long.
LCM_SECONDS = 30

#: Tables of four columns with missing cells, for which the BIC forest is compared with all forests.
INCOMPLETE_TABLES, INCOMPLETE_ROWS, MISSING_SHARES = 40, 150, (0.1, 0.25, 0.5)

NEWS, COIL42, COIL86 = "NEWS20W100", "COIL-42", "COIL-86"
#: Name -> file, and for each method the paper's figure (log-likelihood for the newsgroups, else BIC) and seconds.
WHOLE = {
    NEWS: (
        "news20w100.csv.gz",
        {
            "IND": (-255_614, 0.1), "CL": (-238_713, 9), "LCM": (-223_046, 42_298),
            "BIN-G": (-231_764, 4_008), "BIN-A": (-232_166, 884),
        },
    ),
    COIL42: (
        "coil42_train.csv.gz",
        {
            "IND": (-79_844, 0.04), "CL": (-52_183, 1), "LCM": (-67_145, 13_155),
            "BIN-G": (-53_533, 506), "BIN-A": (-53_783, 88),
        },
    ),
    COIL86: (
        "coil86_train.csv.gz",
        {
            "IND": (-483_256, 0.05), "CL": (-395_703, 19), "LCM": (-456_900, 13_255),
            "BIN-G": (-375_597, 23_589), "BIN-A": (-390_597, 9_799),
        },
    ),
}  # fmt: skip

#: Pseudo-count of every table entry in the cross-validation.
PRIOR = 0.01
N_FOLDS = 10
#: Name -> file or coins; the paper's mean and standard deviation over folds of IND, CL, BIN-G, BIN-A (its table 2), and
#: its seconds of BIN-G and BIN-A (table 3).
FOLDED = {
    "BINARY-FOREST": (
        "binary_forest", ((-832.84, 1.72), (-556.57, 1.78), (-555.16, 1.46), (-555.16, 1.46)), (3.70, 2.78),
    ),
    "THREE-LEVEL-BINARY": (
        "three_level_binary", ((-833.32, 2.44), (-488.56, 2.50), (-486.36, 1.61), (-486.36, 1.61)), (2.81, 2.82),
    ),
    "THREE-COINS": (
        "three_coins", ((-416.65, 1.20), (-278.17, 0.88), (-347.29, 1.23), (-347.29, 1.23)), (1.19, 1.13),
    ),
    "SIX-COINS": (
        "six_coins", ((-834.24, 2.08), (-488.80, 2.86), (-556.45, 1.55), (-556.45, 1.55)), (3.36, 2.73),
    ),
    "COLEMAN": (
        "coleman.csv", ((-460.79, 9.12), (-426.26, 4.71), (-425.15, 4.66), (-425.15, 4.66)), (8.07, 7.32),
    ),
    "HIV-TEST": (
        "hiv_test.csv", ((-57.89, 4.02), (-32.99, 5.44), (-32.77, 5.39), (-32.77, 5.39)), (0.42, 0.28),
    ),
    "HOUSE-BUILDING": (
        "house_building.csv", ((-162.62, 2.55), (-147.96, 4.67), (-145.51, 5.15), (-145.51, 5.15)), (1.55, 1.03),
    ),
    "HANNOVER-5": (
        "hannover5.csv", ((-878.00, 42.55), (-777.98, 40.23), (-764.63, 41.10), (-764.65, 41.11)), (25.13, 22.05),
    ),
    "HANNOVER-8": (
        "hannover8.csv", ((-1417.52, 68.93), (-1162.82, 60.46), (-1129.16, 55.61), (-1129.15, 55.63)), (32.97, 30.96),
    ),
    "CAR-EVALUATION": (
        "car.csv", ((-717.56, 13.30), (-679.24, 10.03), (-689.73, 10.21), (-689.73, 10.21)), (3.60, 2.90),
    ),
}  # fmt: skip
FOLDED_METHODS = ("IND", "CL", *FORESTS)

GROWTH_COLUMNS, GROWTH_ROWS = (100, 400, 1_600), 5_000
INFORMATION = "mutual information"

#: Section 3.1 of the paper.
TOPICS = {
    "medicine": "doctor medicine disease patients cancer studies aids health insurance",
    "sports": "puck hit won win fans league nhl games baseball hockey players season team",
    "politics/religion": "children human president gun state law government rights israel jews war world religion "
    "christian bible god jesus evidence fact",
    "computer": "email phone help problem technology computer science data system mac scsi disk drive memory graphics "
    "card video pc software driver ftp version program files dos windows format image display server",
    "spaceflight": "mars satellite lunar moon launch shuttle nasa space earth orbit mission solar",
    "car": "oil bmw honda dealer car engine",
}


# -- tables and learners -----------------------------------------------------------------------------------------------


@cache
def whole_table(name: str) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return a table and the weights of its rows."""
    frame = pd.read_csv(runner.DATA / WHOLE[name][0]).drop(columns="newsgroup", errors="ignore")
    weights = frame.pop("count") if "count" in frame else None
    return frame, weights


def folded_table(name: str, seed: int) -> pd.DataFrame:
    """Return the rows that are cut into folds, in random order: all of the coins, half of any other table."""
    source = FOLDED[name][0]
    rng = np.random.default_rng(seed)
    if not source.endswith(".csv"):
        return datasets.coins(source, random_state=rng)
    frame = pd.read_csv(runner.DATA / source)
    if "count" in frame:
        frame = frame.loc[frame.index.repeat(frame.pop("count"))]
    frame = frame.astype("category")  # the states of the whole table, whichever half is drawn
    half = rng.permutation(len(frame))[: (len(frame) + 1) // 2]
    return frame.iloc[half].reset_index(drop=True)


def folds(n_rows: int) -> list[np.ndarray]:
    """Return the held-out rows of each fold; the last one takes the remainder."""
    size = n_rows // N_FOLDS
    return np.split(np.arange(n_rows), [size * number for number in range(1, N_FOLDS)])


def grown_table(n_columns: int, seed: int = 0) -> tuple[pd.DataFrame, int, int]:
    """Draw from a random forest; return the table and how many hidden variables and trees there are.

    About eight columns stand under a hidden variable, and about eight of these under another, which is a fair coin. A
    variable differs from the one above it with a probability between 0.05 and 0.3.
    """
    rng = np.random.default_rng(seed)
    above = _owners(n_columns, rng)
    top = _owners(above[-1] + 1, rng)
    tops = rng.integers(0, 2, size=(GROWTH_ROWS, top[-1] + 1), dtype=np.int8)
    states = _noisy(_noisy(tops[:, top], rng)[:, above], rng)
    frame = pd.DataFrame(states, columns=[f"x{at:04d}" for at in range(n_columns)])
    return frame, len(top) + tops.shape[1], tops.shape[1]


def _owners(n: int, rng: np.random.Generator) -> np.ndarray:
    """Put n variables into groups of six to ten; return the group of each."""
    return np.repeat(np.arange(n), rng.integers(6, 11, size=n))[:n]


def _noisy(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.uniform(0.05, 0.3, size=states.shape[1])
    return states ^ (rng.random(states.shape) < noise)


def learner(method: str, seed: int, prior: float | None = None):
    """Return the learner that the paper, or this script, calls so."""
    if method in BASELINES:
        limit = LCM_SECONDS if method == "LCM" else None
        options = {"prior": prior, "random_state": seed, "time_limit": limit, "show_progress": False}
        return Baseline(BASELINES[method], **options)
    kind = BinG if method.startswith("BIN-G") else BinA
    columns = "anywhere" if method in ANYWHERE else "leaves"
    simplify = method in (*SIMPLIFIED, *ANYWHERE)
    return kind(simplify=simplify, columns=columns, prior=prior, random_state=seed, show_progress=False)


# -- measuring ---------------------------------------------------------------------------------------------------------


def nested(tree: LatentTree) -> list:
    """Return a list per tree: names of columns, and a list for every hidden variable below."""

    def below(node: int):
        parts = [below(child) for child in tree.child_lists[node]]
        if tree.latent[node]:
            return parts
        return [tree.names[node], *parts] if parts else tree.names[node]

    return [below(root) for root in tree.roots]


def on_whole(name: str, method: str, seed: int) -> dict:
    """Learn from a whole table."""
    frame, weights = whole_table(name)
    began = time.process_time()  # one thread: what it takes on a machine that does nothing else
    found = learner(method, seed).fit(frame, sample_weight=weights)
    seconds = time.process_time() - began
    n_rows = len(frame) if weights is None else weights.sum()
    mixed = found.log_likelihood_ - found.n_parameters_ / 2 * np.log2(n_rows)
    kept = {"mixed": float(mixed), "stopped": found.stopped_, "seconds": seconds, **figures(found)}
    if name == NEWS and seed == 0 and method.startswith("BIN-"):
        kept["forest"] = nested(found.tree_)
    return kept


def figures(found) -> dict:
    """Return what is kept of a learned model."""
    return {
        "log_likelihood": found.log_likelihood_,
        "bic": found.bic_,
        "parameters": found.n_parameters_,
        "hidden": len(found.latents_),
        "roots": len(found.tree_.roots),
    }


def on_folds(name: str, method: str, seed: int, prior: float | None) -> dict:
    """Return the log-likelihood of each held-out fold, and the mean seconds of a fit."""
    frame = folded_table(name, seed)
    scores, seconds = [], []
    for held_out in folds(len(frame)):
        began = time.perf_counter()
        found = learner(method, seed, prior).fit(frame.drop(index=held_out))
        seconds.append(time.perf_counter() - began)
        scores.append(round(log_likelihood(found.tree_, frame.iloc[held_out], unseen="error"), 4))
    return {"scores": scores, "seconds": float(np.mean(seconds))}


def on_grown(n_columns: int) -> dict:
    """Learn from a table of many columns."""
    frame, hidden, trees = grown_table(n_columns)
    began = time.perf_counter()
    found = learner("BIN-G", 0).fit(frame)
    return {"seconds": time.perf_counter() - began, "true_hidden": hidden, "true_trees": trees, **figures(found)}


def information_of_grown(n_columns: int) -> dict:
    """Time the mutual information of all pairs of columns alone; the fastest of three."""
    frame = grown_table(n_columns)[0]
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        mutual_information(frame)
        seconds.append(time.perf_counter() - began)
    return {"seconds": min(seconds)}


def folded_case(name: str, prior: float | None = PRIOR) -> str:
    return f"Table 2: {name}" if prior else f"Table 2 without prior: {name}"


def grown_case(n_columns: int) -> str:
    return f"Growth: {n_columns:,} columns"


def incomplete_table(seed: int, share: float) -> pd.DataFrame:
    """Draw four columns of two to four states, each of which may depend on an earlier one, with missing cells."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, 4)
    codes = rng.integers(0, cards, size=(INCOMPLETE_ROWS, 4))
    for at in range(1, 4):
        linked = rng.random(INCOMPLETE_ROWS) < rng.choice([0.0, 0.2, 0.6])
        codes[:, at] = np.where(linked, codes[:, rng.integers(at)] % cards[at], codes[:, at])
    return pd.DataFrame(codes, columns=list("abcd")).mask(rng.random(codes.shape) < share)


def forests_over(names: Sequence[str]) -> Iterator[nx.Graph]:
    """Yield every forest over some columns.

    >>> len(list(forests_over("abcd")))
    38
    """
    pairs = list(combinations(names, 2))
    for edges in chain.from_iterable(combinations(pairs, n) for n in range(len(names))):
        graph = nx.Graph(edges)
        graph.add_nodes_from(names)
        if nx.is_forest(graph):
            yield graph


def bic_of_forest(graph: nx.Graph, frame: pd.DataFrame) -> float:
    """Return the BIC of a forest after EM."""
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(frame.columns)
    for part in nx.connected_components(graph):
        model.add_edges_from(nx.bfs_edges(graph, min(part)))
    found = TreeEM(n_init=1, atol=1e-6, seed=0, show_progress=False).fit(model, frame)
    return scores.bic(found.tree_, frame)


def on_missing(share: float) -> dict:
    """Return how far the BIC of Baseline("forest") is below that of the best of all forests, for every table."""
    below = []
    for seed in range(INCOMPLETE_TABLES):
        frame = incomplete_table(seed, share)
        best = max(bic_of_forest(graph, frame) for graph in forests_over(list(frame.columns)))
        below.append(round(best - Baseline("forest").fit(frame).bic_, 4))
    return {"below": below}


def missing_case(share: float) -> str:
    return f"Missing cells: {share:.0%}"


Job = tuple[str, str, int, Callable[[], dict]]


def missing_jobs() -> Iterator[Job]:
    for share in MISSING_SHARES:
        yield missing_case(share), BIC_FOREST, 0, partial(on_missing, share)


def seeds_of(name: str, method: str) -> range:
    """Return the seeds: one for baselines, which draw nothing or take long, and for the longest fits."""
    long = method in SIMPLIFIED and (name == COIL86 or (name == NEWS and method == "BIN-A, simplified"))
    return range(1) if method in BASELINES or long or (method in ANYWHERE and name != COIL42) else SEEDS


def whole_jobs(*methods: str) -> Iterator[Job]:
    for method in methods:
        for name in WHOLE if method != "LCM" else (NEWS,):
            for seed in seeds_of(name, method):
                yield name, method, seed, partial(on_whole, name, method, seed)


def folded_jobs(prior: float | None) -> Iterator[Job]:
    for name in FOLDED:
        for method in (*FOLDED_METHODS, BIC_FOREST):
            for seed in SEEDS:
                yield folded_case(name, prior), method, seed, partial(on_folds, name, method, seed, prior)


def grown_jobs() -> Iterator[Job]:
    for n_columns in GROWTH_COLUMNS:
        yield grown_case(n_columns), INFORMATION, 0, partial(information_of_grown, n_columns)
        yield grown_case(n_columns), "BIN-G", 0, partial(on_grown, n_columns)


def jobs() -> Iterator[Job]:
    """Return all that is to be measured: case, method, seed and work."""
    yield from whole_jobs(*BASELINES, *FORESTS)
    yield from missing_jobs()
    yield from grown_jobs()
    yield from folded_jobs(PRIOR)
    yield from folded_jobs(None)
    yield from whole_jobs(*SIMPLIFIED, *ANYWHERE)


def measure(run: runner.Runner, only: str) -> None:
    """Run everything that is not there yet."""
    for case, method, seed, work in jobs():
        if only in f"{case} | {method}" and not run.find(case, method, seed):
            run.compare(case, {method: work}, seed=seed, repeats=1)


def main() -> None:
    from benchmarks.binary_forests_page import page  # it takes the figures above for its tables

    options = runner.arguments(__doc__)
    run = runner.Runner("binary_forests", again=options.again, only=options.only)
    warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is marked in the table
    if not options.render:
        for method in FORESTS:
            learner(method, 0).fit(datasets.coins("six_coins", random_state=0))  # loads the kernels
        measure(run, options.only)
    runner.render("binary_forests", page(run))


if __name__ == "__main__":
    main()
