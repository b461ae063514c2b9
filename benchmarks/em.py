"""How fast EM is: per iteration, to the end, and as tables grow. Run: python -m benchmarks.em"""

from __future__ import annotations

from benchmarks import runner  # first: it pins the threads  # isort: skip

import time
import warnings

import numpy as np
import pandas as pd
from pgmpy.models import DiscreteBayesianNetwork

from pgmpy_latent import TreeEM, encode
from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine

LC = "one iteration, latent class, 20,000 rows x 20 ternary items, 5 classes"
FIT = "fit from 20 random starts, same data"
SMALL = "one iteration, 7 ternary leaves, 3 latents of 3 states, 500 rows"
ROWS = "one iteration, 18 ternary leaves in 3 levels"
WIDE = "one iteration, latent class, binary items, 5,000 rows"
MEMORY = "one iteration, 1,000,000 rows x 50 binary columns, 4 classes"
COLD = "first fit in a new process, kernels cached, outside EM"
IMPORT = "importing pgmpy_latent after pgmpy"
LEAPS = "one random start to the end"
LEAP_TABLES = {"coleman.csv": 3, "hannover8.csv": 4, "voting.csv": 5, "pen_digits.csv.gz": 10, "news20w100.csv.gz": 4}


def draw(parents, cards, n_rows: int, rng: np.random.Generator, concentration: float = 1.0) -> np.ndarray:
    """Draw states of all nodes of a random tree."""
    states = np.zeros((n_rows, len(parents)), dtype=np.int64)
    for node, (above, card) in enumerate(zip(parents, cards, strict=True)):
        table = rng.dirichlet(np.full(card, concentration), size=cards[above] if above >= 0 else 1)
        bounds = np.cumsum(table, axis=1)[states[:, above] if above >= 0 else np.zeros(n_rows, int)]
        states[:, node] = (rng.random(n_rows)[:, None] > bounds).sum(axis=1).clip(0, card - 1)
    return states


def engine_of(parents, cards, states: np.ndarray, observed) -> TreeEngine:
    """Return an engine for the distinct rows of some columns."""
    data = encode(states[:, observed], state_names={at: list(range(cards[c])) for at, c in enumerate(observed)})
    evidence = {c: Evidence(data.codes[:, at], cards[c]) for at, c in enumerate(observed)}
    return TreeEngine(compile_plan(parents, evidence), cards, data.weights)


def iterate(engine: TreeEngine, n_iterations: int):
    """Return work that takes EM iterations from a random start, and counts the seconds of one."""
    start = random_tables(engine.layout, np.random.default_rng(0))[None]
    problem = em.Problem(engine)

    def work() -> dict:
        tables = start
        begin = time.perf_counter()
        for _ in range(n_iterations):
            _, _, tables = em.step(problem, tables)
        return {"seconds": (time.perf_counter() - begin) / n_iterations}

    work()
    return work


def latent_class_table() -> tuple[list, list, np.ndarray]:
    parents, cards = [-1] + [0] * 20, [5] + [3] * 20
    return parents, cards, draw(parents, cards, 20_000, np.random.default_rng(1))


def stepmix(n_iterations: int, n_init: int = 1, **options):
    from stepmix import StepMix

    return StepMix(5, measurement="categorical", max_iter=n_iterations, n_init=n_init, random_state=0, **options)


def against_stepmix(run: runner.Runner) -> None:
    parents, cards, states = latent_class_table()
    engine = engine_of(parents, cards, states, range(1, 21))
    items = states[:, 1:]

    def theirs() -> dict:
        seconds = []
        for n_iterations in (5, 25):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = stepmix(n_iterations, abs_tol=0, rel_tol=0)
                begin = time.perf_counter()
                model.fit(items)
            seconds.append(time.perf_counter() - begin)
        return {"seconds": (seconds[1] - seconds[0]) / 20}

    run.compare(LC, {"ours": iterate(engine, 50), "StepMix": theirs}, repeats=21)
    frame = pd.DataFrame(items, columns=[f"x{at}" for at in range(20)])
    model = DiscreteBayesianNetwork([("H", column) for column in frame], latents={"H"})

    def our_fit() -> dict:
        found = TreeEM(latent_card=5, n_init=20, seed=0, show_progress=False).fit(model, frame)
        return {"log_likelihood": found.log_likelihood_, "n_best": found.n_best_}

    def their_fit() -> dict:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = stepmix(1000, n_init=20, verbose=0, progress_bar=0).fit(items)
        return {"log_likelihood": float(found.score(items) * len(items))}

    run.compare(FIT, {"ours": our_fit}, repeats=5)
    run.compare(FIT, {"StepMix": their_fit}, repeats=1)


def against_pgmpy(run: runner.Runner) -> None:
    from pgmpy.parameter_estimator import DiscreteEM

    edges = [("h0", "h1"), ("h0", "h2"), ("h0", "d4")]
    edges += [("h1", f"d{at}") for at in (1, 2, 3)] + [("h2", f"d{at}") for at in (5, 6, 7)]
    parents, cards = [-1, 0, 0, 0, 1, 1, 1, 2, 2, 2], [3] * 10
    names = ["h0", "h1", "h2", "d4", "d1", "d2", "d3", "d5", "d6", "d7"]
    states = draw(parents, cards, 500, np.random.default_rng(2), 0.5)
    engine = engine_of(parents, cards, states, range(3, 10))
    frame = pd.DataFrame(states[:, 3:], columns=names[3:])
    model = DiscreteBayesianNetwork(edges, latents={"h0", "h1", "h2"})
    card = dict.fromkeys(("h0", "h1", "h2"), 3)

    def theirs() -> dict:
        seconds = []
        for n_iterations in (1, 3):
            begin = time.perf_counter()
            DiscreteEM(latent_card=card, max_iter=n_iterations, seed=0, show_progress=False).fit(model, frame)
            seconds.append(time.perf_counter() - begin)
        return {"seconds": (seconds[1] - seconds[0]) / 2}

    run.compare(SMALL, {"ours": iterate(engine, 500), "pgmpy DiscreteEM": theirs}, repeats=3)


def growth(run: runner.Runner) -> None:
    parents = [-1, 0, 0, 0, 1, 1, 2, 2, 3, 3] + [4 + at // 3 for at in range(18)]
    cards = [2, 2, 2, 2] + [3] * 24
    methods = {}
    for n_rows in (10_000, 100_000):
        states = draw(parents, cards, n_rows, np.random.default_rng(3), 0.5)
        methods[f"{n_rows:,} rows"] = iterate(engine_of(parents, cards, states, range(10, 28)), 100)
    run.compare(ROWS, methods, repeats=15)
    methods = {}
    for n_items in (1_000, 10_000):
        parents, cards = [-1] + [0] * n_items, [2] * (n_items + 1)
        states = draw(parents, cards, 5_000, np.random.default_rng(4))
        methods[f"{n_items:,} items"] = iterate(engine_of(parents, cards, states, range(1, n_items + 1)), 5)
    run.compare(WIDE, methods, repeats=15)


def leaps(run: runner.Runner) -> None:
    """Measure what acceleration brings, from the same start to the same accuracy."""
    if not runner.DATA.is_dir():
        print(f"the papers' data sets are not at {runner.DATA}; leaving out: {LEAPS}")
        return
    for name, n_classes in LEAP_TABLES.items():
        table = pd.read_csv(runner.DATA / name)
        weights = table.pop("count") if "count" in table else None
        table = table.drop(columns=[c for c in ("class", "newsgroup") if c in table])
        if name.startswith("pen"):
            table = (table > table.median()).astype(int)
        data = encode(table, sample_weight=weights)
        cards = [n_classes, *data.cards.tolist()]
        evidence = {at + 1: Evidence(data.codes[:, at], card) for at, card in enumerate(data.cards.tolist())}
        engine = TreeEngine(compile_plan([-1] + [0] * len(data.cards), evidence), cards, data.weights)
        start = random_tables(engine.layout, np.random.default_rng(0))

        def ascend(accelerate: bool, engine=engine, start=start) -> dict:
            found = em.fit(engine, start, accelerate=accelerate, max_iter=100_000)
            return {"iterations": found.n_iter, "log_likelihood": found.log_likelihood}

        methods = {"plain": lambda ascend=ascend: ascend(False), "leaps": lambda ascend=ascend: ascend(True)}
        run.compare(f"{LEAPS}: {name.split('.')[0]}, {n_classes} classes", methods, repeats=3)


IN_A_NEW_PROCESS = {
    MEMORY: """
import json, time
import numpy as np, pandas as pd
from benchmarks import runner
from benchmarks.em import engine_of, iterate
from pgmpy_latent import encode
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.inference.plan import Evidence, compile_plan
rng = np.random.default_rng(5)
group = rng.integers(0, 4, size=1_000_000)
chance = rng.random((4, 50))
frame = pd.DataFrame({f"x{c}": (rng.random(1_000_000) < chance[group, c]).astype("int64") for c in range(50)})
begin = time.perf_counter()
data = encode(frame)
plan = compile_plan([-1] + [0] * 50, {c + 1: Evidence(data.codes[:, c], 2) for c in range(50)})
prepared = time.perf_counter() - begin
engine = TreeEngine(plan, [4] + [2] * 50, data.weights)
figures = iterate(engine, 10)()
print(json.dumps(figures | {"peak_mb": runner.peak_mb(), "prepare_seconds": prepared, "distinct": data.n_distinct}))
""",
    COLD: """
import time
begin = time.perf_counter()
import json
import numpy as np, pandas as pd
from pgmpy.models import DiscreteBayesianNetwork
pgmpy_seconds = time.perf_counter() - begin
from pgmpy_latent import TreeEM, em
frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, size=(1000, 8)), columns=list("abcdefgh"))
inside = []
step = em.step
def timed(*args):
    start = time.perf_counter()
    found = step(*args)
    inside.append(time.perf_counter() - start)
    return found
em.step = timed
model = DiscreteBayesianNetwork([("H", column) for column in frame], latents={"H"})
TreeEM(latent_card=3, seed=0, show_progress=False).fit(model, frame)
total = time.perf_counter() - begin
iterations = sum(inside[1:])  # the first one loads the kernels
print(json.dumps({"seconds": total - iterations, "em_seconds": iterations, "import_pgmpy_seconds": pgmpy_seconds}))
""",
    IMPORT: """
import json, time
import pgmpy, pgmpy.models, pgmpy.parameter_estimator
begin = time.perf_counter()
import pgmpy_latent
bare = time.perf_counter() - begin
pgmpy_latent.TreeEM
print(json.dumps({"seconds": bare, "with_TreeEM": time.perf_counter() - begin}))
""",
}


def page(run: runner.Runner) -> str:
    """Return the results as a page."""

    def ratio(case: str, other: str) -> float:
        return run.seconds(case, other) / run.seconds(case, "ours")

    def row(work: str, other: str, ours: str, theirs: str, result: str, target: str) -> str:
        return f"| {work} | {other} | {ours} | {theirs} | {result} | {target} |"

    def ms(case: str, method: str) -> str:
        return f"{1e3 * run.seconds(case, method):.3g} ms"

    few, many = "10,000 rows", "100,000 rows"
    narrow, wide = "1,000 items", "10,000 items"
    ours, theirs = (run.figure(FIT, method, "log_likelihood") for method in ("ours", "StepMix"))
    lines = [
        "## EM",
        "",
        "Written by `python -m benchmarks.em`. One thread; median of repeats that alternate between the methods.",
        "StepMix's fit is run once, after ours.",
        f"Versions: {run.find(LC, 'ours')['versions']}.",
        "",
        "| work | against | ours | theirs | result | target |",
        "|---|---|---|---|---|---|",
        row(LC, "StepMix", ms(LC, "ours"), ms(LC, "StepMix"), f"{ratio(LC, 'StepMix'):.0f} x faster", "50 x"),
        row(
            FIT, "StepMix, `n_init=20`", f"{run.seconds(FIT, 'ours'):.3g} s", f"{run.seconds(FIT, 'StepMix'):.4g} s",
            f"{ratio(FIT, 'StepMix'):.0f} x faster; log-likelihood {ours:.3f} against {theirs:.3f}", "100 x",
        ),
        row(
            SMALL, "pgmpy `DiscreteEM`", ms(SMALL, "ours"), ms(SMALL, "pgmpy DiscreteEM"),
            f"{ratio(SMALL, 'pgmpy DiscreteEM'):,.0f} x faster", "3,000 x",
        ),
        row(
            f"{ROWS}, from {few} to {many}", "itself", ms(ROWS, few), ms(ROWS, many),
            f"{run.seconds(ROWS, many) / run.seconds(ROWS, few):.1f} x slower", "at most 6 x",
        ),
        row(
            f"{WIDE}, from {narrow} to {wide}", "itself", ms(WIDE, narrow), ms(WIDE, wide),
            f"{run.seconds(WIDE, wide) / run.seconds(WIDE, narrow):.1f} x slower", "at most 12 x",
        ),
        "",
        "| work | result | target |",
        "|---|---|---|",
        f"| {MEMORY} | {ms(MEMORY, 'ours')}, peak {run.find(MEMORY, 'ours')['peak_mb']} MB (with the table itself); "
        f"encoding and plan {run.figure(MEMORY, 'ours', 'prepare_seconds'):.1f} s | under 2 GB |",
        f"| {COLD} | {run.seconds(COLD, 'ours'):.2f} s, of which "
        f"{run.figure(COLD, 'ours', 'import_pgmpy_seconds'):.2f} s are importing pgmpy | under 3 s |",
        f"| {IMPORT} | {run.seconds(IMPORT, 'ours'):.3f} s | under 0.5 s |",
    ]  # fmt: skip
    return "\n".join(lines + leap_rows(run))


def leap_rows(run: runner.Runner) -> list[str]:
    """Return the table of what acceleration brings."""
    lines = [
        "",
        "What leaps (SQUAREM) bring over plain EM, from the same random start to a remaining gain of 0.001 nats:",
        "",
        "| table | plain: iterations, seconds, log-likelihood | with leaps |",
        "|---|---|---|",
    ]
    for row in run.rows:
        case = row["case"]
        if case.startswith(LEAPS) and row["method"] == "plain":
            cells = [
                f"{run.figure(case, method, 'iterations'):,}, {run.seconds(case, method):.3g}, "
                f"{run.figure(case, method, 'log_likelihood'):.3f}"
                for method in ("plain", "leaps")
            ]
            lines.append(f"| {case.removeprefix(LEAPS + ': ')} | {cells[0]} | {cells[1]} |")
    return lines


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("em", again=options.again, only=options.only)
    if not options.render:
        for case, measure in (
            (LC + FIT, against_stepmix), (SMALL, against_pgmpy), (ROWS + WIDE, growth), (LEAPS, leaps)
        ):  # fmt: skip
            if options.only in case:
                measure(run)
        for case, code in IN_A_NEW_PROCESS.items():
            if options.only in case:
                run.alone(case, "ours", code, repeats=1 if case == MEMORY else 5)
    runner.render("em", page(run))


if __name__ == "__main__":
    main()
