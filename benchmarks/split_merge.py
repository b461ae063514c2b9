"""SplitMerge against the thesis' tables and against RandomStarts given the same seconds; hierarchical models.

Needs the papers' data sets. One thread; about forty minutes.
"""

from __future__ import annotations

import time
import warnings

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from pgmpy_latent import RandomStarts, SplitMerge, datasets, sample, scores
from pgmpy_latent.learners.local.tree_fitter import TreeFitter
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.operators import make_regular
from pgmpy_latent.tables.encode import encode

CREDIT = ["A1", "A4", "A5", "A6", "A7", "A9", "A10", "A12", "A13"]
#: Name -> file, columns left as they are (None: all that are no numbers), thesis' mean BIC of SplitMerge, Standard3 and
#: StandardFixed, its minutes, our target, seconds allowed, seconds given.
TABLES = {
    "Mushroom": ("mushroom.csv.gz", "all", (-82935.1, -94155.0, -83648.2), 300, -81950, 60, 30),
    "Pen digits": ("pen_digits.csv.gz", [], (-81454.4, -82411.6, -81402.1), 300, -81380, 60, 30),
    "Satimage": ("satimage.csv.gz", [], (-64598.4, -66602.9, -64419.4), 300, -64419, 90, 30),
    "Shuttle": ("shuttle.csv.gz", [], (-256027.6, -256561.5, -256073.4), 16, -256028, 10, 10),
    "Thyroid": ("thyroid_ann.csv.gz", "binary", (-44542.9, -44562.9, -44534.6), 21, -44516, 12, 12),
    "Page blocks": ("page_blocks.csv.gz", [], (-22766.6, -22768.1, -22735.1), 5, -22735, 5, 5),
    "Adult": ("adult.csv.gz", [], (-520908.5, -532344.7, -520907.8), 300, -520908, 120, 30),
    "Image": ("image.csv.gz", [], (-15516.5, -15514.5, -15503.6), 28, -15503.6, 15, 15),
    "Vehicle": ("vehicle.csv", [], (-6471.1, -6471.5, -6467.1), 9, -6467.5, 8, 8),
    "Audiology": ("audiology.csv", "all", (-3403.2, -3403.0, -3403.1), 2, -3403.2, 5, 5),
    "Voting": ("voting.csv", "all", (-3085.6, -3085.6, -3085.6), 2, -3085.8, 5, 5),
    "Pima": ("pima.csv", [], (-3995.7, -3995.6, -3995.6), 0, -3995.8, 5, 5),
    "Wisconsin": ("wisconsin.csv", [], (-2560.9, -2560.7, -2560.7), 0, -2560.9, 5, 5),
    "Yeast": ("yeast.csv", ["erl"], (-6213.7, -6213.5, -6213.5), 0, -6213.7, 5, 5),
    "Abalone": ("abalone.csv", [], (-12389.5, -12389.4, -12389.4), 1, -12389.6, 5, 5),
    "Heart": ("heart_cleveland.csv", ["sex"], (-2388.1, -2388.1, -2388.1), 0, -2388.3, 5, 5),
    "Housing": ("housing.csv", ["CHAS"], (-3198.3, -3192.6, -3190.8), 1, -3191.0, 5, 5),
    "Credit": ("credit.csv", CREDIT, (-7591.3, -7564.7, -7568.3), 3, -7564.9, 5, 5),
}
SEEDS = range(5)
#: Seeds of the control group: fewer where a run is long.
CONTROL_SEEDS = {name: range(1) if given == 30 else SEEDS for name, (*_, given) in TABLES.items()}
#: Tables on which SplitMerge also runs to its end: its mean BIC after 30 seconds, before its present default.
TO_THE_END = {"Pen digits": -81330.4, "Satimage": -63996.2, "Adult": -518716.2, "Mushroom": -81832.1, "Image": -15489.0}
#: Seconds after which the best BIC so far is kept, and seconds allowed.
EARLY, ALLOWED = 10, 60
#: Variables, rows, strong parameters; seconds allowed.
MODELS = {
    (7, 10_000, True): 10,
    (7, 10_000, False): 10,
    (7, 100_000, True): 10,
    (7, 100_000, False): 10,
    (12, 10_000, True): 60,
    (18, 10_000, True): 60,
}


def table(name: str) -> pd.DataFrame:
    """Return a table as the thesis had it: numbers become whether they exceed the median, gaps stay."""
    file, kept, *_ = TABLES[name]
    frame = pd.read_csv(runner.DATA / file)
    frame = frame.drop(columns=["Id"], errors="ignore").iloc[:, :-1]
    columns = {}
    for column in frame.columns:
        values = frame[column]
        numeric = pd.api.types.is_numeric_dtype(values)
        binary = kept == "binary" and values.nunique() <= 2
        if kept == "all" or column in kept or binary or not numeric:
            columns[column] = values
        else:
            columns[column] = (values > values.median()).astype(object).where(values.notna(), None)
    return pd.DataFrame(columns)


def figures(learner) -> dict:
    """Return what is kept of a run."""
    states = learner.tree_.cards[learner.tree_.latent].tolist()
    return {"bic": learner.bic_, "states": states, "stopped": learner.stopped_}


def split_merge(name: str, seed: int) -> dict:
    """Run SplitMerge on a table."""
    return figures(SplitMerge(random_state=seed, time_limit=TABLES[name][-1], show_progress=False).fit(table(name)))


def to_the_end(name: str, seed: int) -> dict:
    """Run SplitMerge on a table without a time limit; keep what it had found early."""
    began = time.process_time()
    learner = SplitMerge(random_state=seed, show_progress=False).fit(table(name))
    seconds = time.process_time() - began
    early = learner.history_.loc[learner.history_["seconds"] <= EARLY, "score"]
    return {**figures(learner), "seconds": seconds, "early": None if early.empty else float(early.max())}


def random_starts(name: str, seed: int, seconds: float) -> dict:
    """Run RandomStarts on a table, again and again with new seeds until the same seconds are used up."""
    frame = table(name)
    began, best, rounds = time.perf_counter(), None, 0
    while (left := seconds - (time.perf_counter() - began)) > 0.01 or best is None:
        limit = max(left, 0.05)
        learner = RandomStarts(random_state=seed + 1000 * rounds, time_limit=limit, show_progress=False).fit(frame)
        rounds += 1
        if best is None or learner.bic_ > best["bic"]:
            best = figures(learner)
    return {**best, "rounds": rounds}


def hierarchical(n_variables: int, n_rows: int, strong: bool, seed: int) -> dict:
    """Run SplitMerge on a sample of a hierarchical model, and EM from the true parameters."""
    true = datasets.hlc_model(n_variables, random_state=seed, strong=strong)
    rows = sample(true, n_rows, random_state=100 + seed)
    regular = make_regular(true)
    data = encode(rows, state_names={name: true.state_names[true.index(name)] for name in true.observed_names})
    oracle, _ = TreeFitter(data, regular, Search(Settings())).fit([regular], atol=1e-3, max_iter=20_000, polish=True)
    began = time.perf_counter()
    learner = SplitMerge(true, random_state=seed, show_progress=False).fit(rows)
    seconds = time.perf_counter() - began
    return {**figures(learner), "oracle": scores.bic(oracle, data), "seconds": seconds}


def model_case(n_variables: int, n_rows: int, strong: bool) -> str:
    return f"{n_variables} variables, {n_rows:,} rows, {'strong' if strong else 'any'} parameters"


def end_case(name: str) -> str:
    return f"{name}, to the end"


def measure(run: runner.Runner, only: str) -> None:
    """Run everything that is not there yet; what matters most first."""
    for name in TABLES:
        for seed in SEEDS if only in name else ():
            run.compare(name, {"SplitMerge": lambda n=name, s=seed: split_merge(n, s)}, seed=seed, repeats=1)
    for name in TO_THE_END:
        if only in end_case(name):
            run.compare(end_case(name), {"SplitMerge": lambda n=name: to_the_end(n, 0)}, seed=0, repeats=1)
    for model in MODELS:
        for seed in SEEDS if only in model_case(*model) else ():
            work = {"SplitMerge": lambda m=model, s=seed: hierarchical(*m, s)}
            run.compare(model_case(*model), work, seed=seed, repeats=1)
    for name in TABLES:
        for seed in CONTROL_SEEDS[name] if only in name else ():
            seconds = run.seconds(name, "SplitMerge", seed)
            work = {"RandomStarts": lambda n=name, s=seed, t=seconds: random_starts(n, s, t)}
            run.compare(name, work, seed=seed, repeats=1)


def _bics(run: runner.Runner, case: str, method: str) -> list[float]:
    return [run.figure(case, method, "bic", seed) for seed in SEEDS if run.find(case, method, seed)]


def _seconds(run: runner.Runner, case: str) -> list[float]:
    return [run.seconds(case, "SplitMerge", seed) for seed in SEEDS if run.find(case, "SplitMerge", seed)]


def _to_the_end_lines(run: runner.Runner) -> list[str]:
    """Return the section about runs without a time limit."""
    measured = [name for name in TO_THE_END if run.find(end_case(name), "SplitMerge")]
    if not measured:
        return []
    lines = [
        "### Without a time limit",
        "",
        f"Seed 0; the BIC after {EARLY} seconds is compared with the mean above, after 30 seconds, when partial EM",
        f"was the default; CPU seconds until the search ends by itself ({ALLOWED} are allowed).",
        "",
        f"| table | after 30 s, before | after {EARLY} s | at the end | states | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name in measured:
        early, bic, states = (run.figure(end_case(name), "SplitMerge", figure) for figure in ("early", "bic", "states"))
        cells = (name, TO_THE_END[name], early and round(early, 1), round(bic, 1), ", ".join(map(str, states)))
        lines.append(f"| {' | '.join(map(str, cells))} | {run.seconds(end_case(name), 'SplitMerge'):.1f} |")
    return [*lines, ""]


def page(run: runner.Runner) -> str:
    """Return the section for the page of benchmarks."""
    lines = [
        "## SplitMerge: the thesis' tables",
        "",
        "BIC (natural logarithm, larger is better), mean over seeds 0 to 4, one thread, default settings with a time",
        "limit. The thesis' figures are means of five runs on a processor of 2005. Times are means; in brackets the",
        "target, and how many of the runs the limit stopped. RandomStarts got the seconds of SplitMerge for the same",
        "seed and began anew until they were used up; its best BIC is compared with SplitMerge's for the same seed:",
        "won, tied (within 0.1) and lost by SplitMerge. RandomStarts ran with one seed only for tables with a limit",
        "of 30 seconds.",
        "",
        f"Written by `python -m benchmarks.split_merge`. Versions: {run.versions()}.",
        "",
        "| table | thesis: SplitMerge / Standard3 / StandardFixed | minutes | ours: mean | worst to best | target |"
        " states | seconds | RandomStarts, mean | won / tied / lost |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    totals = np.zeros(3, dtype=int)
    for name, (_, _, thesis, minutes, target, allowed, _) in TABLES.items():
        ours = _bics(run, name, "SplitMerge")
        if not ours:
            continue
        stopped = sum(run.figure(name, "SplitMerge", "stopped", seed) is not None for seed in range(len(ours)))
        states = sorted({run.figure(name, "SplitMerge", "states", seed)[0] for seed in range(len(ours))})
        control = _bics(run, name, "RandomStarts")
        gains = np.array([ours[seed] - other for seed, other in enumerate(control)])
        counts = [int((gains > 0.1).sum()), int((np.abs(gains) <= 0.1).sum()), int((gains < -0.1).sum())]
        totals += counts
        seconds = f"{np.mean(_seconds(run, name)):.1f} ({allowed}; {stopped})"
        lines.append(
            f"| {name} | {thesis[0]:.1f} / {thesis[1]:.1f} / {thesis[2]:.1f} | {minutes} | {np.mean(ours):.1f} | "
            f"{min(ours):.1f} to {max(ours):.1f} | {target} | {', '.join(map(str, states))} | {seconds} | "
            f"{f'{np.mean(control):.1f}' if control else ''} | {' / '.join(map(str, counts)) if control else ''} |"
        )
    lines += [
        "",
        f"SplitMerge against RandomStarts over all runs: {totals[0]} won, {totals[1]} tied, {totals[2]} lost.",
        "",
        *_to_the_end_lines(run),
        "### Hierarchical models on their true skeletons",
        "",
        "Five parameter draws each. The oracle is EM from the true parameters, on the regularised structure.",
        "",
        "| model | BIC less the oracle's: worst, mean, best | seconds: mean, most (allowed) |",
        "|---|---|---|",
    ]
    for model, allowed in MODELS.items():
        case = model_case(*model)
        there = [seed for seed in SEEDS if run.find(case, "SplitMerge", seed)]
        if there:
            gaps = [
                run.figure(case, "SplitMerge", "bic", seed) - run.figure(case, "SplitMerge", "oracle", seed)
                for seed in there
            ]
            seconds = _seconds(run, case)
            lines.append(
                f"| {case} | {min(gaps):.2f}, {np.mean(gaps):.2f}, {max(gaps):.2f} | "
                f"{np.mean(seconds):.1f}, {max(seconds):.1f} ({allowed}) |"
            )
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("split_merge", again=options.again, only=options.only)
    warnings.simplefilter("ignore", ConvergenceWarning)  # what a time limit stopped is counted in the table
    if not options.render:
        SplitMerge(random_state=0, show_progress=False).fit(table("Heart"))  # loads the kernels
        measure(run, options.only)
    runner.render("split_merge", page(run))


if __name__ == "__main__":
    main()
