"""Hidden variables in any network: how many states they have, where they are missing, and how fast EM is.

The Alarm network comes with pgmpy; the tables of "FindHidden", whose figures the page of evidence shows, need the
papers' data sets. One thread. ``--only`` takes any part of "case | method | seed 0" as it is printed, or several joined
by "+": ``Alarm``, ``"10,000 rows"``, ``Score``, ``Interacting``, ``FindHidden``, ``"FindHidden+HR"``, ``DiscreteEM``.
"""

from __future__ import annotations

import gzip
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.resources import files
from statistics import median

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from pgmpy.base import DAG
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import BIFReader
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import (
    AgglomerativeCardinality,
    FindHidden,
    LatentNetwork,
    NetworkEM,
    StructuralEM,
    encode,
    log_likelihood,
    network_from_pgmpy,
    row_log_likelihoods,
    sample,
    scores,
)
from pgmpy_latent.em.fit import Problem, fit, step
from pgmpy_latent.exceptions import DegenerateStateWarning
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.model.convert import to_pgmpy
from pgmpy_latent.model.network import blanket, child_lists
from pgmpy_latent.networks.agglomeration.sizing import Sizing, SizingOptions
from pgmpy_latent.networks.graph import graph_of, nodes_in_order, tables_in_order
from pgmpy_latent.networks.states import with_a_state_less, with_a_state_more
from pgmpy_latent.tables.encode import CategoricalData

AGGLOMERATION, RANDOM = "AgglomerativeCardinality", "EM from random starts"
#: Pseudo-count of AgglomerativeCardinality, and of the EM that it is compared with.
PRIOR = 1.0

# -- one variable of Alarm hidden
ALARM_ROWS = (500, 1_000, 2_000, 5_000, 10_000)
ALARM_SEEDS = range(3)
#: Numbers of states that EM from random starts is asked about, and its starts.
RANDOM_STATES, RANDOM_STARTS = range(1, 6), 10

# -- score against number of states
CURVE_VARIABLE, CURVE_ROWS, CURVE_STATES, CURVE_STARTS = "HR", 10_000, range(1, 9), 5

# -- interacting hidden variables
DRAWS = range(10)
DRAW_ROWS = 5_000
#: Hidden variable -> its states; node -> its parents.
HIDDEN = {"h0": 3, "h1": 2, "h2": 4, "h3": 3}
HIDDEN_PARENTS = {"h0": (), "h1": ("h0",), "h2": ("h0",), "h3": ("h1", "h2")}
COLUMN_PARENTS = (
    *[("h0",)] * 4, *[("h1",)] * 3, *[("h2",)] * 4, *[("h3",)] * 4, ("h0", "h1"), ("h1", "h2"), ("h2", "h3"),
)  # fmt: skip
#: Dirichlet parameter from which the rows of tables are drawn.
CONCENTRATION = 0.3
BINARY, TRUE = "two states", "true numbers"
DRAW_STARTS, DRAW_SECONDS = 8, 240

# -- FindHidden
REMOVED = ("HR", "INTUBATION", "VENTLUNG", "CO", "PVSAT", "CATECHOL")
FIND_ROWS, FIND_TEST, FIND_SECONDS = 3_000, 5_000, 240
NEWS, COIL, HANNOVER = "20 newsgroups", "COIL", "Hannover"
#: Real table -> columns and rows to learn from; what is left is for testing.
REAL = {NEWS: (20, 5_000), COIL: (20, 5_822), HANNOVER: (8, 5_000)}
WITHOUT, ONE_BINARY, ONE, SEVERAL_BINARY, SEVERAL = (
    "without", "one, two states", "one, agglomeration", "several, two states", "several, agglomeration",
)  # fmt: skip
#: Method -> settings of FindHidden.
FIND = {
    WITHOUT: {"max_latents": 0},
    ONE_BINARY: {"n_states": 2, "max_latents": 1},
    ONE: {"max_latents": 1},
    SEVERAL_BINARY: {"n_states": 2},
    SEVERAL: {},
}

# -- NetworkEM against pgmpy
SPEED_ROWS, SPEED_HIDDEN, SPEED_STEPS = 1_000, ("HR", "PVSAT", "TPR"), 3
OURS, THEIRS = "NetworkEM", "pgmpy DiscreteEM"


# -- networks and tables -----------------------------------------------------------------------------------------------


@cache
def alarm() -> LatentNetwork:
    """Return the Alarm network."""
    text = gzip.decompress((files("pgmpy") / "utils/example_models/alarm.bif.gz").read_bytes()).decode()
    return network_from_pgmpy(BIFReader(string=text).get_model())


def with_hidden(network: LatentNetwork, hidden: tuple[str, ...]) -> LatentNetwork:
    """Return a network some of whose variables are hidden; their states are numbers."""
    latent = [name in hidden for name in network.names]
    states = [
        range(len(own)) if unseen else own for own, unseen in zip(network.state_names, latent, strict=True)
    ]  # fmt: skip
    return LatentNetwork(network.names, states, network.parents, latent, network.tables)


def graph_with_hidden(network: LatentNetwork, *hidden: str) -> DAG:
    return DAG(network.edges, latents=set(hidden))


@cache
def hideable() -> tuple[str, ...]:
    """Return the variables of Alarm that are no leaves and have at least two others in their Markov blankets."""
    network = alarm()
    children = child_lists(network.parents)
    kept = [node for node in range(network.n_nodes) if children[node] and len(blanket(network.parents, node)) >= 2]
    return tuple(network.names[node] for node in kept)


def drawn(network: LatentNetwork, n_rows: int, seed: int) -> pd.DataFrame:
    """Draw a table of all variables; every column knows all states."""
    frame = sample(network, n_rows, latents=True, random_state=seed)
    states = zip(network.names, network.state_names, strict=True)
    return frame.astype({name: pd.CategoricalDtype(list(own)) for name, own in states})


@cache
def alarm_rows(n_rows: int, seed: int) -> pd.DataFrame:
    return drawn(alarm(), n_rows, seed)


@cache
def interacting(draw: int) -> tuple[LatentNetwork, pd.DataFrame, pd.DataFrame]:
    """Return a network with interacting hidden variables, rows to learn from and rows to test with."""
    rng = np.random.default_rng(draw)
    columns = {f"x{at:02d}": above for at, above in enumerate(COLUMN_PARENTS)}
    parents = HIDDEN_PARENTS | columns
    names, cards = list(parents), [*HIDDEN.values(), *[2] * len(columns)]
    above = [tuple(names.index(parent) for parent in some) for some in parents.values()]
    tables = [
        rng.dirichlet(np.full(card, CONCENTRATION), size=int(np.prod([cards[node] for node in some], dtype=int)))
        for card, some in zip(cards, above, strict=True)
    ]
    true = LatentNetwork(names, [range(card) for card in cards], above, [name in HIDDEN for name in names], tables)
    train, test = (drawn(true, DRAW_ROWS, 1000 * part + draw).drop(columns=list(HIDDEN)) for part in (1, 2))
    return true, train, test


@cache
def real_table(name: str) -> tuple[pd.DataFrame, pd.Series | None, pd.DataFrame]:
    """Return rows to learn from, their weights, and rows to test with."""
    n_columns, n_train = REAL[name]
    if name == COIL:
        train, test = (pd.read_csv(runner.DATA / f"coil42_{part}.csv.gz") for part in ("train", "test"))
        weights = train.pop("count")
        frame = pd.concat([train, test], ignore_index=True)
        frame = frame[[column for column in frame if column in widest(train, weights, n_columns)]].astype("category")
        return frame[: len(train)], weights, frame[len(train) :]
    if name == NEWS:
        frame = pd.read_csv(runner.DATA / "news20w100.csv.gz").drop(columns="newsgroup")
        frame = frame[list(frame.sum().sort_values(ascending=False, kind="stable").index[:n_columns])]
    else:
        frame = pd.read_csv(runner.DATA / "hannover8.csv")
        frame = frame.loc[frame.index.repeat(frame.pop("count"))]
    frame = frame.astype("category").iloc[np.random.default_rng(0).permutation(len(frame))]
    return frame[:n_train], None, frame[n_train:]


def widest(frame: pd.DataFrame, weights: pd.Series, n_columns: int) -> set[str]:
    """Return the columns of the largest entropy."""

    def entropy(column: str) -> float:
        shares = weights.groupby(frame[column]).sum() / weights.sum()
        return float(-(shares * np.log(shares)).sum())

    return set(sorted(frame, key=entropy, reverse=True)[:n_columns])


def log_loss(network: LatentNetwork, test: pd.DataFrame) -> float:
    """Return the mean of minus the log-likelihood of a row."""
    return -log_likelihood(network, test, unseen="error") / len(test)


# -- one variable hidden -----------------------------------------------------------------------------------------------


def agglomerated(learner: AgglomerativeCardinality, graph: DAG, data: CategoricalData, name: str) -> Sizing:
    """Agglomerate one variable, with the second look at its states and the choice among their numbers, without EM."""
    sizing = Sizing(data, learner._search(data), *nodes_in_order(graph_of(graph), data), [name], None,
                    SizingOptions(prior=PRIOR))  # fmt: skip
    sizing.agglomerate()
    sizing.choose()
    return sizing


def agglomeration_seconds(graph: DAG, frame: pd.DataFrame, name: str) -> float:
    """Return the seconds of the agglomeration alone, on encoded rows; the median of three."""
    data = encode(frame)
    learner = AgglomerativeCardinality(graph, prior=PRIOR, show_progress=False)
    return median(timed(partial(agglomerated, learner, graph, data, name))[1] for _ in range(3))


def timed(work: Callable) -> tuple[object, float]:
    """Return what some work gives, and its seconds of processor: other work on the machine does not count."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def on_alarm(n_rows: int, seed: int) -> dict:
    """Hide one variable after the other, and find its number of states."""
    network, frame = alarm(), alarm_rows(n_rows, seed)
    kept: dict[str, list] = {"variables": list(hideable()), "true": [], "agglomerated": [], "found": [], "initial": []}
    kept |= {"score": [], "lower": [], "fit_seconds": [], "agglomeration_seconds": []}
    for name in hideable():
        graph, seen = graph_with_hidden(network, name), frame.drop(columns=name)
        learner = AgglomerativeCardinality(graph, prior=PRIOR, random_state=0, show_progress=False)
        found, seconds = timed(partial(learner.fit, seen))
        true = int(network.cards[network.index(name)])
        kept["true"].append(true)
        exact = found.cardinality_[name] == true
        lower = None if exact else found.score_ - score_from(with_hidden(network, (name,)), seen)
        kept["lower"].append(lower)
        kept["agglomerated"].append(found.agglomerated_[name])
        kept["found"].append(found.cardinality_[name])
        kept["initial"].append(int(found.trace_["n_states"].max()))
        kept["score"].append(round(found.score_, 3))
        kept["fit_seconds"].append(round(seconds, 4))
        kept["agglomeration_seconds"].append(round(agglomeration_seconds(graph, seen, name), 5))
    return {"seconds": sum(kept["fit_seconds"]), **kept}


def random_score(graph: DAG, frame: pd.DataFrame, n_states: int | dict[str, int], n_starts: int) -> float:
    """Return the Cheeseman-Stutz score that EM from random starts reaches."""
    found = NetworkEM(latent_card=n_states, prior=PRIOR, n_init=n_starts, seed=0, show_progress=False)
    return scores.cheeseman_stutz(found.fit(graph, frame).network_, frame, prior=PRIOR)


def random_on_alarm(n_rows: int, seed: int) -> dict:
    """Let EM from random starts say which number of states it prefers; score the true tables after EM, too."""
    frame = alarm_rows(n_rows, seed)
    kept = {"variables": list(hideable()), "states": list(RANDOM_STATES), "scores": [], "preferred": [], "truth": []}
    for name in hideable():
        graph, seen = graph_with_hidden(alarm(), name), frame.drop(columns=name)
        values = [random_score(graph, seen, n_states, RANDOM_STARTS) for n_states in RANDOM_STATES]
        kept["scores"].append([round(value, 3) for value in values])
        kept["preferred"].append(RANDOM_STATES[int(np.argmax(values))])
        kept["truth"].append(round(score_from(with_hidden(alarm(), (name,)), seen), 3))
    return kept


# -- score against number of states ------------------------------------------------------------------------------------


def curve() -> dict:
    """Score every number of states of one variable: agglomeration, EM from there, EM from random starts."""
    graph = graph_with_hidden(alarm(), CURVE_VARIABLE)
    frame = alarm_rows(CURVE_ROWS, 0).drop(columns=CURVE_VARIABLE)
    learner = AgglomerativeCardinality(graph, prior=PRIOR, random_state=0, show_progress=False).fit(frame)
    trace = learner.trace_.set_index("n_states")["score"]
    kept = {"states": list(CURVE_STATES), "agglomeration": [float(trace[n]) for n in CURVE_STATES]}
    kept |= {"em": [], "em_seconds": [], "random": [], "random_seconds": []}
    kept |= {"true": int(alarm().cards[alarm().index(CURVE_VARIABLE)])}
    kept["agglomeration_seconds"] = agglomeration_seconds(graph, frame, CURVE_VARIABLE)
    data = encode(frame)
    sizing = agglomerated(learner, graph, data, CURVE_VARIABLE)
    for n_states in CURVE_STATES:
        start = sizing.with_states(CURVE_VARIABLE, n_states)
        for name, work in (
            ("em", partial(score_from, start, frame)),
            ("random", partial(random_score, graph, frame, n_states, CURVE_STARTS)),
        ):
            score, seconds = timed(work)
            kept[name].append(score)
            kept[f"{name}_seconds"].append(seconds)
    return kept


def score_from(start: LatentNetwork, frame: pd.DataFrame) -> float:
    """Return the Cheeseman-Stutz score that EM reaches from given tables."""
    engine = engine_for(start, encode_for(start, frame))
    found = fit(engine, engine.layout.pack(start.tables), prior=PRIOR)
    return scores.cheeseman_stutz(start.with_tables(engine.layout.unpack(found.tables)), frame, prior=PRIOR)


# -- interacting hidden variables --------------------------------------------------------------------------------------


def lower_scores(found: AgglomerativeCardinality, true: LatentNetwork, train: pd.DataFrame) -> list[float | None]:
    """Return by how much the true number of each hidden variable scores lower than the one found; None where exact.

    The others have the numbers that were found. EM begins with random tables, and with the true ones.
    """
    cards, lower = found.cardinality_, []
    for name, number in HIDDEN.items():
        wanted = cards | {name: number}
        if wanted == cards:
            lower.append(None)
            continue
        values = [
            random_score(graph_with_hidden(true, *HIDDEN), train, wanted, DRAW_STARTS),
            score_from(with_numbers(true, wanted), train),
        ]
        lower.append(round(found.score_ - max(values), 3))
    return lower


def with_numbers(network: LatentNetwork, cards: dict[str, int]) -> LatentNetwork:
    """Return the network with other numbers of hidden states: the most similar are merged, or the first ones split."""
    rng = np.random.default_rng(0)
    for name, number in cards.items():
        while (now := int(network.cards[network.index(name)])) != number:
            others = with_a_state_less(network, name) if now > number else with_a_state_more(network, name, rng)
            network = next(others)
    return network


def on_interacting(method: str, draw: int) -> dict:
    """Learn numbers of states, or take them as given; then refine the edges."""
    true, train, test = interacting(draw)
    graph = graph_with_hidden(true, *HIDDEN)
    if method == AGGLOMERATION:
        options = {"time_limit": DRAW_SECONDS, "random_state": draw, "show_progress": False}
        learner = AgglomerativeCardinality(graph, prior=PRIOR, **options)
        found, seconds = timed(partial(learner.fit, train))
    else:
        cards = 2 if method == BINARY else HIDDEN
        learner = NetworkEM(latent_card=cards, prior=PRIOR, n_init=DRAW_STARTS, seed=draw, show_progress=False)
        found, seconds = timed(partial(learner.fit, graph, train))
    refining = StructuralEM(found.network_, scoring_method="bde", time_limit=DRAW_SECONDS, show_progress=False)
    refined, refining_seconds = timed(partial(refining.fit, train))
    return {
        "seconds": seconds,
        "refining_seconds": refining_seconds,
        "log_loss": log_loss(found.network_, test),
        "refined_log_loss": log_loss(refined.network_, test),
        "true_log_loss": log_loss(true, test),
        "states": [int(found.network_.cards[found.network_.index(name)]) for name in HIDDEN],
        "agglomerated": [found.agglomerated_[name] for name in HIDDEN] if method == AGGLOMERATION else None,
        "lower": lower_scores(found, true, train) if method == AGGLOMERATION else None,
        "parameters": scores.n_parameters(found.network_),
        "refined_parameters": scores.n_parameters(refined.network_),
        "true_parameters": scores.n_parameters(true),
        "stopped": [getattr(one, "stopped_", None) for one in (found, refined)],
    }


# -- FindHidden --------------------------------------------------------------------------------------------------------


def table_to_find_in(table: str) -> tuple[pd.DataFrame, pd.Series | None, pd.DataFrame]:
    """Return rows to learn from, their weights, and rows to test with; a name that is no real table is removed."""
    if table in REAL:
        return real_table(table)
    train, test = (alarm_rows(n_rows, seed) for n_rows, seed in ((FIND_ROWS, 100), (FIND_TEST, 200)))
    return train.drop(columns=table), None, test.drop(columns=table)


def on_finding(table: str, settings: dict, time_limit: float | None = FIND_SECONDS) -> dict:
    """Learn a network without hidden variables, or with them."""
    train, weights, test = table_to_find_in(table)
    learner = FindHidden(**settings, random_state=0, time_limit=time_limit, show_progress=False)
    found, seconds = timed(partial(learner.fit, train, sample_weight=weights))
    rows, base = (row_log_likelihoods(one, test, unseen="error") for one in (found.network_, found.base_))
    gains = (rows - base).to_numpy()
    kept = {
        "seconds": seconds,
        "log_loss": float(-rows.mean()),
        "base_log_loss": float(-base.mean()),
        "gain": float(gains.mean()),
        "gain_error": float(gains.std(ddof=1) / np.sqrt(len(gains))),
        "states": sorted(found.n_states_.values(), reverse=True),
        "parameters": found.n_parameters_,
        "base_parameters": scores.n_parameters(found.base_),
        "score": found.score_,
        "stopped": found.stopped_,
        "columns": train.shape[1],
        "rows": int(len(train) if weights is None else weights.sum()),
        "test_rows": len(test),
    }
    if table not in REAL:
        kept["true_log_loss"] = log_loss(with_hidden(alarm(), (table,)), test)
        kept["true_states"] = int(alarm().cards[alarm().index(table)])
    return kept


# -- NetworkEM against pgmpy -------------------------------------------------------------------------------------------


@cache
def speed_start() -> tuple[LatentNetwork, pd.DataFrame]:
    """Return random tables for Alarm with three variables hidden, and rows without these."""
    network, rng = with_hidden(alarm(), SPEED_HIDDEN), np.random.default_rng(0)
    tables = [rng.dirichlet(np.ones(table.shape[1]), size=table.shape[0]) for table in network.tables]
    return network.with_tables(tables), alarm_rows(SPEED_ROWS, 0).drop(columns=list(SPEED_HIDDEN))


def our_steps(n_steps: int) -> tuple[LatentNetwork, np.ndarray, float]:
    """Return the network after plain EM iterations, which rows of its tables were counted, and seconds of one."""
    start, frame = speed_start()
    engine = engine_for(start, encode_for(start, frame))
    problem, tables = Problem(engine), engine.layout.pack(start.tables)[None]
    began = time.perf_counter()
    for _ in range(n_steps):
        _, _, tables = step(problem, tables)
    seconds = (time.perf_counter() - began) / n_steps
    _, counts = engine.expected_counts(tables)
    counted = engine.layout.row_sums(counts)[0] > 1e-9
    return start.with_tables(engine.layout.unpack(tables[0])), counted, seconds


def our_speed() -> dict:
    our_steps(5)
    return {"seconds": median(our_steps(50)[2] for _ in range(5))}


def their_steps(n_steps: int) -> tuple[LatentNetwork, float]:
    """Return the network after iterations of pgmpy's EM, and the seconds of all."""
    from pgmpy.parameter_estimator import DiscreteEM

    start, frame = speed_start()
    model = to_pgmpy(start)
    states = {name: list(own) for name, own in zip(start.names, start.state_names, strict=True)}
    card = {name: len(states[name]) for name in SPEED_HIDDEN}
    cpds = {cpd.variable: cpd for cpd in model.cpds}
    graph = DiscreteBayesianNetwork(model.edges(), latents=set(SPEED_HIDDEN))
    options = {"state_names": states, "latent_card": card, "init_cpds": cpds, "show_progress": False, "n_jobs": 1}
    found, seconds = timed(partial(DiscreteEM(max_iter=n_steps, atol=0, **options).fit, graph, frame))
    graph.add_cpds(*found.parameters_)
    return network_from_pgmpy(graph), seconds


def their_speed() -> dict:
    """Time pgmpy's EM, and compare the tables with ours."""
    (_, short), (theirs, long) = their_steps(1), their_steps(SPEED_STEPS)
    ours, counted, _ = our_steps(SPEED_STEPS)
    places = [theirs.index(name) for name in ours.names]
    assert [theirs.state_names[place] for place in places] == list(ours.state_names)
    tables = np.concatenate([table.ravel() for table in tables_in_order(theirs, ours.names, ours.parents)])
    apart = np.abs(tables - np.concatenate([table.ravel() for table in ours.tables]))
    frame = speed_start()[1]
    values = [log_likelihood(network, frame) for network in (theirs, ours)]
    return {
        "seconds": (long - short) / (SPEED_STEPS - 1),
        "largest_difference": float(apart[counted].max()),
        "uncounted_share": float((~counted).mean()),
        "log_likelihood": values[0],
        "our_log_likelihood": values[1],
    }


# -- measuring ---------------------------------------------------------------------------------------------------------

Job = tuple[str, str, int, Callable[[], dict]]
CURVE_CASE = f"Score against number of states: {CURVE_VARIABLE}"
INTERACTING_CASE = "Interacting hidden variables"
SPEED_CASE = f"NetworkEM against DiscreteEM: Alarm, {SPEED_ROWS:,} rows, {', '.join(SPEED_HIDDEN)} hidden"


def alarm_case(n_rows: int) -> str:
    return f"Alarm, one variable hidden: {n_rows:,} rows"


def find_case(table: str) -> str:
    return f"FindHidden: {table if table in REAL else f'Alarm without {table}'}"


def jobs() -> Iterator[Job]:
    """Return all that is to be measured: case, method, seed and work."""
    for n_rows in reversed(ALARM_ROWS):
        for seed in ALARM_SEEDS:
            yield alarm_case(n_rows), AGGLOMERATION, seed, partial(on_alarm, n_rows, seed)
    yield alarm_case(ALARM_ROWS[-1]), RANDOM, 0, partial(random_on_alarm, ALARM_ROWS[-1], 0)
    yield CURVE_CASE, "all", 0, curve
    for draw in DRAWS:
        for method in (AGGLOMERATION, BINARY, TRUE):
            yield INTERACTING_CASE, method, draw, partial(on_interacting, method, draw)
    yield SPEED_CASE, OURS, 0, our_speed
    yield SPEED_CASE, THEIRS, 0, their_speed
    for table in (*REMOVED, *REAL):
        for method, settings in FIND.items():
            yield find_case(table), method, 0, partial(on_finding, table, settings)


def measure(run: runner.Runner, only: str, again: bool) -> None:
    """Run everything that is not there yet, or anew."""
    parts = [part.strip() for part in only.split("+")]
    for case, method, seed, work in jobs():
        label = f"{case} | {method} | seed {seed}"
        if not all(part in label for part in parts):
            continue
        if again:
            run.forget(case, method, seed)
        if not run.find(case, method, seed):
            print(f"{label} ...", flush=True)
            run.compare(case, {method: work}, seed=seed, repeats=1)


def warm_up() -> None:
    """Load the kernels."""
    frame = alarm_rows(200, 0).drop(columns="HR")
    AgglomerativeCardinality(graph_with_hidden(alarm(), "HR"), show_progress=False).fit(frame)
    FindHidden(max_latents=0, show_progress=False).fit(frame.iloc[:, :6])


def main() -> None:
    from benchmarks.networks_page import page  # it takes the figures above for its tables

    options = runner.arguments(__doc__)
    run = runner.Runner("networks")
    warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is marked in the tables
    warnings.simplefilter("ignore", DegenerateStateWarning)  # random starts are asked for states that are not needed
    if not options.render:
        warm_up()
        measure(run, options.only, options.again)
    runner.render("networks", page(run))


if __name__ == "__main__":
    main()
