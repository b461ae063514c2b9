"""Other libraries at the same job: the same data, as strict a stopping rule, final likelihood, seconds and memory.

StepMix and pomegranate fit latent class models, pgmpy's DiscreteEM and pyAgrum any network with hidden variables,
scikit-learn and StepMix latent profiles of numbers, semopy trees of numbers, SPFlow trees that predict. Every fit runs
in a process of its own, with one thread. What the others cannot do, as tried by the tests:

- pomegranate's networks have no EM: fitting one whose hidden column is masked ends in "expected a mask tensor".
- scikit-learn has no model of categorical columns with hidden variables: its mixtures are Gaussian, and its
  CategoricalNB wants the class of every row. Its classifiers stand beside ours in ``benchmarks.classification``.

Versions are pinned in the extra ``bench``, and for pomegranate and SPFlow, which bring torch, in ``bench-torch``. A
library that is not there is left out, and a line says so. ``--most 300`` keeps the results of runs that took more
seconds, and measures the others anew if ``--again`` says so.

Run: python -m benchmarks.peers
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from benchmarks import peers_numbers as numbers
from benchmarks import spflow_trees
from pgmpy_latent import LatentTree, TreeEM, datasets, log_likelihood, sample
from pgmpy_latent.model.convert import from_pgmpy, to_pgmpy

OURS, STEPMIX, POMEGRANATE, PGMPY, PYAGRUM = "ours", "StepMix", "pomegranate", "pgmpy DiscreteEM", "pyAgrum"
SCIKIT, SEMOPY, SPFLOW, SINGLE = "scikit-learn", "semopy", "SPFlow", "ours, single precision"
#: Method -> what must be importable for it.
NEEDS = {STEPMIX: "stepmix", POMEGRANATE: "pomegranate", PYAGRUM: "pyagrum", SEMOPY: "semopy", SPFLOW: "spflow"}
#: Nats that are left to gain when ours stops, and that an iteration gains when the others do: ours goes on for longer.
ENOUGH = 1e-3
#: Change of any entry of a table with which pgmpy stops, and the most iterations for trees.
CHANGE, MOST = 1e-4, 2_000
#: pgmpy imports torch wherever it is installed. Few need it, so the others' memory is without.
WITHOUT_TORCH = """
import sys
class Hidden:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("hidden", name=name)
sys.meta_path.insert(0, Hidden)
"""


class LatentClass(NamedTuple):
    """A latent class model of a file, or of drawn rows if there is none; of the first rows, if so many are given."""

    file: str
    n_classes: int
    n_starts: int
    n_rows: int | None = None
    most: int = 100_000


LATENT_CLASS = {
    "hannover8, 4 classes, 20 starts": LatentClass("hannover8.csv", 4, 20),
    "news20w100, 4 classes, 5 starts": LatentClass("news20w100.csv.gz", 4, 5),
    "quick: drawn rows, 2 classes, 2 starts": LatentClass("", 2, 2),
}
#: Case and method -> the part of it that is done within minutes, and how the page names that.
LESS = {
    ("hannover8, 4 classes, 20 starts", PYAGRUM): (LatentClass("hannover8.csv", 4, 1), "one start"),
    ("news20w100, 4 classes, 5 starts", PYAGRUM): (
        LatentClass("news20w100.csv.gz", 4, 1, n_rows=100, most=2),
        "two iterations over the first 100 rows",
    ),
}
#: Case -> rows drawn from a tree of seven columns and three hidden variables; one start, the same for all.
TREES = {"tree of 7 columns and 3 hidden variables, 200 rows, one start": 200}
#: Case -> table of the density benchmark.
DENSITY = {
    f"{name}, hidden Chow-Liu tree of {spflow_trees.TABLES[name][0]} states": name for name in spflow_trees.TABLES
}
METHODS = {
    **dict.fromkeys(LATENT_CLASS, (OURS, STEPMIX, POMEGRANATE, PYAGRUM)),
    **dict.fromkeys(TREES, (OURS, PGMPY, PYAGRUM)),
    **dict.fromkeys(numbers.PROFILES, (OURS, SCIKIT, STEPMIX)),
    **dict.fromkeys(numbers.GAUSSIAN_TREES, (OURS, SEMOPY)),
    **dict.fromkeys(DENSITY, (OURS, SINGLE, SPFLOW)),
}


def star(frame: pd.DataFrame, n_classes: int, seed: int) -> LatentTree:
    """Return a latent class model with random tables."""
    rng = np.random.default_rng(seed)
    states = [list(range(n_classes)), *(np.unique(frame[column]).tolist() for column in frame)]
    parent = [-1] + [0] * frame.shape[1]
    tables = [rng.dirichlet(np.ones(n_classes), size=1)]
    tables += [rng.dirichlet(np.ones(len(of_column)), size=n_classes) for of_column in states[1:]]
    return LatentTree(["H", *frame], states, parent, [up < 0 for up in parent], tables)


def rows_of(case: LatentClass) -> pd.DataFrame:
    """Return the rows as they are, repeated as often as they count: all but pyAgrum see the same."""
    if not case.file:
        clear = [[0.9, 0.1], [0.2, 0.8]]
        tables = [[[0.4, 0.6]], *[clear] * 4, [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]]]
        names, states = ["H", *"ABCDE"], [range(len(table[0])) for table in tables]
        return sample(LatentTree(names, states, [-1] + [0] * 5, [True] + [False] * 5, tables), 300, random_state=0)
    frame = pd.read_csv(runner.DATA / case.file).drop(columns=["newsgroup"], errors="ignore")
    frame = frame.loc[frame.index.repeat(frame.pop("count"))].reset_index(drop=True) if "count" in frame else frame
    return frame.head(case.n_rows) if case.n_rows else frame


def timed(work: Callable, judge: Callable = float) -> dict:
    """Return the seconds of the processor, the log-likelihood that judge sees in the result, and the peak of memory."""
    began = time.process_time()
    result = work()
    found = {"seconds": time.process_time() - began, "peak_mb": runner.peak_mb()}
    return found | {"log_likelihood": float(judge(result))}


def with_pomegranate(start: LatentTree, frame: pd.DataFrame, most: int) -> tuple[LatentTree, bool]:
    """Fit a mixture of categorical columns, in double precision: single ends where its rounding does.

    It never gives up.
    """
    import torch
    from pomegranate.distributions import Categorical
    from pomegranate.gmm import GeneralMixtureModel

    columns = zip(start.names[1:], start.state_names[1:], strict=True)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        widest = max(start.cards[1:])  # columns of fewer states are filled up with zeros, as its documentation asks
        padded = [np.pad(table, ((0, 0), (0, widest - table.shape[1]))) for table in start.tables[1:]]
        classes = [Categorical(torch.tensor(np.stack([table[k] for table in padded]))) for k in range(start.cards[0])]
        codes = [np.searchsorted(states, frame[name]) for name, states in columns]
        model = GeneralMixtureModel(classes, torch.tensor(start.tables[0][0]), max_iter=most, tol=ENOUGH)
        model.fit(torch.tensor(np.column_stack(codes)))
        probs = np.stack([one.probs.numpy() for one in model.distributions])
        tables = [model.priors.numpy()[None], *(probs[:, i, :n] for i, n in enumerate(start.cards[1:]))]
    finally:
        torch.set_default_dtype(torch.float32)
    return start.with_tables(tables), False


def with_pyagrum(start: LatentTree, frame: pd.DataFrame, most: int) -> tuple[LatentTree, bool]:
    """Fit with hidden columns that are missing in every row; rows that are the same become one that weighs more.

    The second that is returned says whether it gave up, which it does when what it watches falls for some iterations.
    """
    import pyagrum

    model = pyagrum.BayesNet()
    for name, states in zip(start.names, start.state_names, strict=True):
        model.add(pyagrum.LabelizedVariable(name, name, [str(state) for state in states]))
    for name, up, table in zip(start.names, start.parent, start.tables, strict=True):
        if up >= 0:
            model.addArc(start.names[up], name)
        model.cpt(name).fillWith(table.ravel().tolist())
    rows = frame.groupby(list(frame)).size().rename("weight").reset_index()
    weights = rows.pop("weight")
    learner = pyagrum.BNLearner(rows.astype(str).assign(**dict.fromkeys(start.latent_names, "?")), model, ["?"])
    for row, weight in enumerate(weights):
        learner.setRecordWeight(row, float(weight))
    learner.setNumberOfThreads(1)
    learner.useNoPrior()
    counts = [frame[column].value_counts().to_numpy() for column in frame]
    independent = sum((count * np.log(count / len(frame))).sum() for count in counts)
    learner.useEMWithRateCriterion(-ENOUGH / independent, 0.0)  # its rule is relative; no noise: from these tables
    learner.EMsetMaxIter(most)
    found = learner.learnParameters(model, False)
    tables = [found.cpt(name).toarray() for name in start.names]
    gave_up = learner.EMStateMessage() == "stopped on request"
    return start.with_tables([table.reshape(-1, table.shape[-1]) for table in tables]), gave_up


def from_starts(starts: list[LatentTree], frame: pd.DataFrame, most: int, method: str) -> dict:
    """Fit from every start; the best counts, and its likelihood is computed by ours."""
    fit = {POMEGRANATE: with_pomegranate, PYAGRUM: with_pyagrum}[method]
    import_module("pomegranate.gmm" if method == POMEGRANATE else "pyagrum")  # before the clock runs
    fitted = []
    found = timed(
        lambda: fitted.extend(fit(start, frame, most) for start in starts),
        lambda _: max(log_likelihood(tree, frame) for tree, _ in fitted),
    )
    return found | {"gave_up": sum(gave_up for _, gave_up in fitted)}


def latent_class(case: LatentClass, method: str) -> dict:
    frame = rows_of(case)
    if method in (POMEGRANATE, PYAGRUM):
        return from_starts([star(frame, case.n_classes, i) for i in range(case.n_starts)], frame, case.most, method)
    if method == STEPMIX:
        from stepmix import StepMix

        tolerances = {"abs_tol": ENOUGH / len(frame), "rel_tol": 0.0, "max_iter": case.most}
        options = {"measurement": "categorical", "n_init": case.n_starts, "verbose": 0, "progress_bar": 0}
        model = StepMix(case.n_classes, random_state=0, **options, **tolerances)
        return timed(lambda: model.fit(frame).score(frame) * len(frame))
    network = DiscreteBayesianNetwork([("H", column) for column in frame], latents={"H"})
    options = {"latent_card": case.n_classes, "n_init": case.n_starts, "atol": ENOUGH, "seed": 0}
    learner = TreeEM(**options, show_progress=False)
    return timed(lambda: learner.fit(network, frame).log_likelihood_)


def start_of(network: DiscreteBayesianNetwork) -> dict[str, TabularCPD]:
    """Return random tables, the same for all."""
    rng, start = np.random.default_rng(1), {}
    for cpd in network.cpds:
        values = rng.dirichlet(np.ones(cpd.variable_card), size=cpd.get_values().shape[1]).T
        cards = list(cpd.cardinality[1:])
        start[cpd.variable] = TabularCPD(
            cpd.variable, cpd.variable_card, values, cpd.variables[1:], cards, state_names=cpd.state_names
        )
    return start


def tree(n_rows: int, method: str) -> dict:
    true = datasets.hlc_model(7, random_state=0)
    frame, network = sample(true, n_rows, random_state=0), to_pgmpy(true)
    states = {cpd.variable: cpd.state_names[cpd.variable] for cpd in network.cpds}
    bare = DiscreteBayesianNetwork(network.edges(), latents=set(true.latent_names))
    start = start_of(network)
    if method == PYAGRUM:
        bare.add_cpds(*start.values())
        return from_starts([from_pgmpy(bare)], frame, MOST, method)
    options = {"state_names": states, "init_cpds": start, "show_progress": False, "max_iter": MOST}
    options["latent_card"] = {name: len(states[name]) for name in true.latent_names}
    if method == OURS:
        learner = TreeEM(**options, atol=ENOUGH)
        return timed(lambda: learner.fit(bare, frame).log_likelihood_)
    from pgmpy.parameter_estimator import DiscreteEM

    learner = DiscreteEM(**options, atol=CHANGE, seed=0)

    def judge(fitted) -> float:
        bare.add_cpds(*fitted.parameters_)
        return log_likelihood(from_pgmpy(bare), frame)

    return timed(lambda: learner.fit(bare, frame), judge)


def profiles(case: str, method: str) -> dict:
    frame, about = numbers.profile_rows(numbers.PROFILES[case]), numbers.PROFILES[case]
    fit = {OURS: numbers.profiles, SCIKIT: numbers.scikit_profiles, STEPMIX: numbers.stepmix_profiles}[method]
    least = []

    def judge(found: tuple[float, float]) -> float:
        least.append(found[1])
        return found[0]

    import_module({SCIKIT: "sklearn.mixture", STEPMIX: "stepmix"}.get(method, "pgmpy_latent"))
    return timed(partial(fit, about, frame, ENOUGH), judge) | {"least_variance": least[0]}


def tree_of_numbers(case: str, method: str) -> dict:
    edges, frame = numbers.tree_of_numbers(case)
    if method == OURS:
        return timed(partial(numbers.gaussian_tree, edges, frame, ENOUGH))
    import_module("semopy")
    return timed(partial(numbers.semopy_tree, edges, frame), partial(numbers.implied_log_likelihood, frame=frame))


def predicting(case: str, method: str) -> dict:
    if method == SPFLOW:
        return spflow_trees.spflow(DENSITY[case])
    return spflow_trees.ours(DENSITY[case], "single" if method == SINGLE else "double")


def alone(case: str, method: str) -> None:
    """Fit, and print what was found, as the last line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case in TREES:
            found = tree(TREES[case], method)
        elif case in numbers.PROFILES:
            found = profiles(case, method)
        elif case in numbers.GAUSSIAN_TREES:
            found = tree_of_numbers(case, method)
        elif case in DENSITY:
            found = predicting(case, method)
        else:
            part, _ = LESS.get((case, method), (LATENT_CLASS[case], ""))
            found = latent_class(part, method)
    print(json.dumps(found))


def measure(run: runner.Runner, only: str) -> None:
    """Measure what is not there yet."""
    runner.PACKAGES.extend(["scikit-learn", "pyagrum", "semopy", "pomegranate", "spflow", "torch"])
    for case, methods in METHODS.items():
        for method in methods:
            if not (only in case if only else not case.startswith("quick")):
                continue
            if method in NEEDS and find_spec(NEEDS[method]) is None:
                print(f"{case} | {method}: left out, {NEEDS[method]} is not installed", flush=True)
                continue
            hide = "" if method in (POMEGRANATE, SPFLOW) else WITHOUT_TORCH
            run.alone(case, method, f"{hide}from benchmarks.peers import alone; alone({case!r}, {method!r})")


def seconds_text(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"


def factor_text(factor: float) -> str:
    """Return how many times as long something takes.

    >>> factor_text(0.3578), factor_text(41.7)
    ('0.36', '42')
    """
    return f"{factor:.2g}" if factor < 10 else f"{factor:,.0f}"


def work_of(run: runner.Runner, case: str, method: str) -> float:
    """Return the seconds that count in a comparison: those of an iteration, where fits are ended by the clock."""
    return run.seconds(case, method) / (run.figure(case, method, "n_iter") if case in DENSITY else 1)


def line(run: runner.Runner, case: str, method: str) -> str:
    """Return a line of a table."""
    found, row = json.loads(run.find(case, method)["figures"]), run.find(case, method)
    part, words = LESS.get((case, method), (LATENT_CLASS.get(case), ""))
    stopped = part is not None and part.n_rows is not None
    likelihood = "stopped" if stopped else f"{found['log_likelihood']:,.3f}"
    name = f"{method}, {words}" if words else method
    name += f", gave up at {found['gave_up']}" if found.get("gave_up") else ""
    factor = ("more than " if words else "") + factor_text(work_of(run, case, method) / work_of(run, case, OURS))
    cells = [case, name, likelihood]
    if case in numbers.PROFILES:
        cells.append(f"{found['least_variance']:.2g}")
    if case in DENSITY:
        cells += [str(found["n_iter"]), f"{1000 * work_of(run, case, method):,.3g}"]
    cells += [seconds_text(run.seconds(case, method)), row["peak_mb"], factor, row["day"]]
    return f"| {' | '.join(cells)} |"


def table(run: runner.Runner, cases: Iterable[str], *figures: str) -> str:
    """Return the table of some cases, with figures of their own."""
    head = ["job", "method", *(figures or ("log-likelihood",)), "seconds", "MB", "times as long as ours", "measured"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for case in cases:
        if not case.startswith("quick") and run.find(case, OURS):
            lines += [line(run, case, method) for method in METHODS[case] if run.find(case, method)]
    return "\n".join(lines)


def versions(run: runner.Runner) -> str:
    """Return the versions of all libraries, each once."""
    found = dict.fromkeys(one for row in reversed(run.rows) for one in row["versions"].split(", "))
    return ", ".join(found)


def page(run: runner.Runner) -> str:
    """Return the section for the page of benchmarks."""
    return f"""
## Other libraries at the same job

Written by `python -m benchmarks.peers`. Each fit in a process of its own; seconds of one processor, without imports;
memory with them. Runs of an earlier day than the others were not measured again, since they take long. When they stop:

- ours when extrapolation leaves less than {ENOUGH} nats to gain;
- StepMix and scikit-learn when an iteration gains less than that;
- pomegranate likewise, in double precision (`torch.set_default_dtype`), since single cannot tell so little apart;
- pgmpy when no entry of a table changes by more than {CHANGE};
- pyAgrum when the likelihood that it watches changes by less than {ENOUGH} nats, given to it as a share of the
  likelihood of independent columns. It watches the likelihood of completed rows, which may fall while that of the rows
  rises; its rule of differences takes a fall for the end, so its rule of rates is used. With either it gives up
  ("completed prematurely due to a likelihood divergence") when what it watches falls for some iterations in a row;
- semopy when its optimiser does, with its defaults.

Where starts are several they are not the same, and the best of them counts; pomegranate and pyAgrum begin with the same
random tables. Where it is one, it is the same for all. The likelihoods of pomegranate's, pgmpy's and pyAgrum's tables
are computed by our `log_likelihood`. pyAgrum gets equal rows as one row that weighs more. The latent class models would
still take it more than five minutes: it has one start for hannover8, and for news20w100 it is stopped after two
iterations over 100 rows. A first fit of ours loads compiled code, which is in its seconds.

Not here: pomegranate's networks, which have no EM (`BayesianNetwork.fit` with a hidden column masked ends in "expected
a mask tensor"); scikit-learn for categories, since its mixtures are Gaussian and its `CategoricalNB` wants the class of
every row; and PyJuice 2.6.3, which installs and builds a hidden Chow-Liu tree, but whose `TensorCircuit` asks for a GPU
("Torch not compiled with CUDA enabled").
Versions: {versions(run)}.

{table(run, [*LATENT_CLASS, *TREES])}

### Latent profiles of numbers

Diagonal covariances, `n_init` starts for all, scikit-learn's by k-means. The least variance of a column in a profile,
as a share of the column's, stands beside the log-likelihood: where a variance tends to zero, the likelihood has no
maximum. Ours keeps variances above a thousandth, or what rounding of the values asks for; the others add 1e-6, in the
units of the columns.

{table(run, numbers.PROFILES, "log-likelihood", "least variance")}

### Trees of numbers

The tree is given; semopy gets every hidden variable as measured by its children, and its likelihood is that of the
covariances that it implies.

{table(run, numbers.GAUSSIAN_TREES)}

### Hidden Chow-Liu trees of SPFlow

`HiddenChowLiu(smoothing=1.0)` and SPFlow (single precision), both full EM from one random start. An iteration looks at
every row once; the seconds of ours include the tree, the plan and the looks at validation rows. Test: mean
log-likelihood of test rows, of the tables that validation rows liked best. Iterations of ours: those of the best
tables, and {spflow_trees.LOOKS} more until validation rows end EM. SPFlow is stopped by the clock, on plants after one
iteration, so that iterations are compared. Its `init="random"` gives messages one channel, so that columns are
independent; so the benchmark begins with `init="uniform"` and draws the weights itself.

{table(run, DENSITY, "test", "iterations", "ms of an iteration")}
""".strip()


def forget(run: runner.Runner, only: str, most: float) -> None:
    """Leave out what is to be measured anew."""
    run.rows = [row for row in run.rows if only not in row["case"] or float(row["seconds"]) > most]


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--most", type=float, default=math.inf, help="with --again: keep results of more seconds")
    own, others = parser.parse_known_args()
    options = runner.arguments(__doc__, others)
    run = runner.Runner("peers")
    if not options.render:
        if options.again:
            forget(run, options.only, own.most)
        measure(run, options.only)
    runner.render("peers", page(run))


if __name__ == "__main__":
    main()
