"""Numbers beside categories: EAST against bins, latent profiles against scikit-learn, StepMix, and memory.

    python -m benchmarks.mixed             # all; --only profiles, StepMix, classes or memory for a part
    python -m benchmarks.mixed --render    # only the page

StepMix 3.0 must be installed beside the package. Data are those of ``../shared/data``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from pgmpy_latent import EAST, RandomStarts, compare_classes
from pgmpy_latent.model.emissions import emissions_of

#: Seeds of drawn tables of latent profiles, and numbers of profiles.
DRAWN, SIZES = range(6), range(2, 6)
#: How far apart the classes of drawn mixed tables are, and starts of both programs.
APART, STARTS = (1.5, 0.7, 0.4), 4
#: Tables of the classification paper that are compared, folds, and columns with more values than this are numbers.
TABLES = ("iris", "crabs", "wine", "thyroid_new", "tae", "glass2", "glass", "liver_bupa", "heart_statlog", "pima")
FOLDS, FEW_VALUES = 3, 10
#: Pseudo-count of both searches: a category that a state never had in two thirds of the rows is not ruled out.
PRIOR = 0.5


def drawn_profiles(seed: int, n_rows: int = 500, n_columns: int = 6, n_states: int = 4) -> pd.DataFrame:
    """Return a table drawn from latent profiles."""
    rng = np.random.default_rng(seed)
    z = rng.integers(n_states, size=n_rows)
    mean = rng.normal(size=(n_states, n_columns)) * 2
    sd = rng.gamma(2, 0.5, size=(n_states, n_columns)) + 0.1
    numbers = mean[z] + sd[z] * rng.normal(size=(n_rows, n_columns))
    return pd.DataFrame(numbers, columns=[f"x{at}" for at in range(n_columns)])


def profile_tables() -> dict[str, pd.DataFrame]:
    """Return the tables of the comparison with scikit-learn."""
    tables = {}
    for name in ("iris", "wine", "vehicle"):
        table = pd.read_csv(runner.DATA / f"{name}.csv")
        tables[name] = table.drop(columns="class").astype(float).dropna()
    return tables | {f"drawn {seed}": drawn_profiles(seed) for seed in DRAWN}


def best_of_scikit_learn(table: pd.DataFrame, n_states: int, floors: np.ndarray) -> float:
    """Return the best log-likelihood of 100 starts whose variances are all at least the floors."""
    from sklearn.mixture import GaussianMixture

    best = -np.inf
    for seed in range(100):
        mixture = GaussianMixture(
            n_states, covariance_type="diag", reg_covar=1e-6, random_state=seed, max_iter=2000, tol=1e-6
        )
        mixture.fit(table.to_numpy())
        if (mixture.covariances_ >= floors).all():
            best = max(best, mixture.score(table.to_numpy()) * len(table))
    return best


def drawn_mixed(seed: int, apart: float, n_rows: int = 20_000, n_states: int = 4) -> pd.DataFrame:
    """Return a table of six columns of categories and six numbers, whose classes are more or less far apart."""
    rng = np.random.default_rng(seed)
    z = rng.integers(n_states, size=n_rows)
    columns = {}
    for at in range(6):
        shares = rng.dirichlet(np.full(4, 4 / apart), size=n_states)
        columns[f"c{at}"] = (rng.random(n_rows)[:, None] > shares[z].cumsum(axis=1)).sum(axis=1).clip(max=3)
    for at in range(6):
        mean, sd = rng.normal(size=n_states) * apart, rng.gamma(3, 0.3, size=n_states) + 0.2
        columns[f"g{at}"] = mean[z] + sd[z] * rng.normal(size=n_rows)
    return pd.DataFrame(columns)


def measured(work: Callable[[], dict]) -> dict:
    """Return the figures of some work, with the processor seconds that it took."""
    began = time.process_time()
    return {**work(), "seconds": time.process_time() - began}


# Latent profiles


def profiles_case(name: str) -> str:
    return f"profiles, {name}"


def profiles(run: runner.Runner, name: str, table: pd.DataFrame, n_starts: int = 64) -> None:
    """Compare the log-likelihood of latent profiles with scikit-learn's."""
    if run.find(profiles_case(name), "ours"):
        return
    options = {"kinds": dict.fromkeys(table, "gaussian"), "n_starts": n_starts, "show_progress": False}
    began = time.process_time()
    compared, models = compare_classes(table, SIZES, return_models=True, **options)
    seconds = time.process_time() - began
    emissions = emissions_of(models[2])
    units = [emissions[models[2].index(column)] for column in table]
    floors = np.array([one.floor * one.scale**2 for one in units])
    began = time.process_time()
    theirs = {str(size): best_of_scikit_learn(table, size, floors) for size in SIZES}
    ours = {str(size): float(compared.loc[size, "log_likelihood"]) for size in SIZES}
    run.note(profiles_case(name), "scikit-learn", 0, [time.process_time() - began], theirs)
    run.note(profiles_case(name), "ours", 0, [seconds], ours)


def profiles_table(run: runner.Runner) -> list[str]:
    lines = [
        f"| table | {' | '.join(f'{size} profiles' for size in SIZES)} | seconds | scikit-learn's |",
        f"|---{'|---' * len(SIZES)}|---|---|",
    ]
    for name in ("iris", "wine", "vehicle", *(f"drawn {seed}" for seed in DRAWN)):
        case = profiles_case(name)
        if run.find(case, "ours"):
            gains = [
                run.figure(case, "ours", str(size)) - run.figure(case, "scikit-learn", str(size)) for size in SIZES
            ]
            ours, theirs = run.seconds(case, "ours"), run.seconds(case, "scikit-learn")
            lines.append(f"| {name} | {' | '.join(f'{gain:+.4f}' for gain in gains)} | {ours:.1f} | {theirs:.1f} |")
    return lines if len(lines) > 2 else ["Not measured yet."]


# StepMix


def stepmix_case(apart: float) -> str:
    return f"StepMix, classes {apart:g} apart"


def stepmix(run: runner.Runner, apart: float) -> None:
    """Compare log-likelihood and processor seconds with StepMix, from as many starts."""
    if run.find(stepmix_case(apart), "StepMix"):
        return
    from stepmix.stepmix import StepMix

    table = drawn_mixed(0, apart)
    kinds = {name: "gaussian" if name[0] == "g" else "categorical" for name in table}
    learner = RandomStarts(n_states=4, n_starts=STARTS, random_state=0, show_progress=False)
    learner.fit(table.head(100), kinds=kinds)  # loads the compiled code
    times = []
    for _ in range(5):
        began = time.process_time()
        learner.fit(table, kinds=kinds)
        times.append(time.process_time() - began)
    columns = {"c": "categorical", "g": "gaussian_diag"}
    measurement = {letter: {"model": model, "n_columns": 6} for letter, model in columns.items()}
    theirs = StepMix(
        4, n_steps=1, measurement=measurement, n_init=STARTS, max_iter=5000, random_state=0, verbose=0, progress_bar=0
    )
    began = time.process_time()
    theirs.fit(table)
    seconds = time.process_time() - began
    run.note(stepmix_case(apart), "ours", 0, times, {"log_likelihood": learner.log_likelihood_})
    run.note(stepmix_case(apart), "StepMix", 0, [seconds], {"log_likelihood": theirs.score(table) * len(table)})


def stepmix_table(run: runner.Runner) -> list[str]:
    lines = ["| classes apart | log-likelihood | StepMix's | seconds | StepMix's | times as long |", "|---" * 6 + "|"]
    for apart in APART:
        case = stepmix_case(apart)
        if run.find(case, "StepMix"):
            values = [run.figure(case, method, "log_likelihood") for method in ("ours", "StepMix")]
            seconds = [run.seconds(case, method) for method in ("ours", "StepMix")]
            lines.append(
                f"| {apart:g} | {values[0]:,.3f} | {values[1]:,.3f} | {seconds[0]:.2f} | {seconds[1]:.1f} | "
                f"{seconds[1] / seconds[0]:.1f} |"
            )
    return lines


# EAST on numbers and on bins


def folds_of(classes: pd.Series, n_folds: int = FOLDS) -> np.ndarray:
    """Return the fold of every row, so that all folds have the same share of every class."""
    fold, rng = np.empty(len(classes), dtype=int), np.random.default_rng(0)
    for name in sorted(classes.unique()):
        rows = rng.permutation(np.flatnonzero(classes == name))
        fold[rows] = np.arange(len(rows)) % n_folds
    return fold


def held_out(name: str, in_bins: bool) -> dict:
    """Return the log-likelihood of the class of held-out rows given their other columns, by EAST."""
    table = pd.read_csv(runner.DATA / f"{name}.csv").astype({"class": str})
    numbers = [column for column in table if column != "class" and table[column].nunique() > FEW_VALUES]
    table = table.astype(dict.fromkeys(numbers, float))
    kinds = {column: "gaussian" if column in numbers and not in_bins else "categorical" for column in table}
    fold, value, hidden = folds_of(table["class"]), 0.0, []
    for at in range(FOLDS):
        learn, rest = table[fold != at].copy(), table[fold == at].copy()
        if in_bins:
            medians = learn[numbers].median()
            for part in (learn, rest):
                part[numbers] = (part[numbers] > medians).astype(int)
        no_codes = {} if in_bins else dict.fromkeys(numbers, ())  # all of them are measured, also an age of 77
        learner = EAST(random_state=0, prior=PRIOR, show_progress=False).fit(learn, kinds=kinds, missing=no_codes)
        value += float((learner.score_samples(rest) - learner.score_samples(rest.assign(**{"class": None}))).sum())
        hidden.append(len(learner.latents_))
    return {"value": value, "rows": len(table), "numbers": len(numbers), "hidden": hidden}


def classes_case(name: str) -> str:
    return f"classes, {name}"


def classes(run: runner.Runner, name: str) -> None:
    """Compare EAST on numbers with EAST on numbers cut at their medians."""
    for method, in_bins in (("median bins", True), ("mixed leaves", False)):
        if not run.find(classes_case(name), method):
            found = measured(lambda in_bins=in_bins: held_out(name, in_bins))
            run.note(classes_case(name), method, 0, [found.pop("seconds")], found)


def classes_table(run: runner.Runner) -> list[str]:
    lines = [
        "| table | rows | numbers | mixed leaves | median bins | hidden variables | in bins | seconds | in bins |",
        "|---" * 9 + "|",
    ]
    better = several = 0
    for name in TABLES:
        case = classes_case(name)
        if not run.find(case, "mixed leaves"):
            continue
        rows, numbers = (run.figure(case, "mixed leaves", figure) for figure in ("rows", "numbers"))
        values, hidden = (
            [run.figure(case, method, figure) for method in ("mixed leaves", "median bins")]
            for figure in ("value", "hidden")
        )
        seconds = [run.seconds(case, method) for method in ("mixed leaves", "median bins")]
        better, several = better + (values[0] > values[1]), several + 1
        lines.append(
            f"| {name} | {rows} | {numbers} | {values[0] / rows:.3f} | {values[1] / rows:.3f} | "
            f"{', '.join(map(str, hidden[0]))} | {', '.join(map(str, hidden[1]))} | "
            f"{seconds[0]:.1f} | {seconds[1]:.1f} |"
        )
    left = [name for name in TABLES if not run.find(classes_case(name), "mixed leaves")]
    others = f" Not measured yet: {', '.join(left)}." if left else ""
    return [*lines, "", f"Better with mixed leaves: {better} of {several} tables.{others}"]


# Memory

MEMORY = """
import json, time
import numpy as np
import pandas as pd
from benchmarks import runner
from pgmpy_latent import RandomStarts

rng, n_rows = np.random.default_rng(0), 1_000_000
z = rng.integers(4, size=n_rows).astype(np.int8)
columns = {f"c{at}": rng.binomial(3, rng.random(4)[z]).astype(np.int8) for at in range(10)}
columns |= {f"g{at}": rng.normal(rng.normal(size=4)[z] * 1.5) for at in range(8)}
columns |= {f"p{at}": rng.poisson(rng.gamma(2, 2, size=4)[z]) for at in range(2)}
kinds = {name: {"c": "categorical", "g": "gaussian", "p": "poisson"}[name[0]] for name in columns}
learner = RandomStarts(n_states=4, n_starts=4, random_state=0, show_progress=False)
began = time.process_time()
learner.fit(pd.DataFrame(columns), kinds=kinds)
print(json.dumps({"seconds": time.process_time() - began, "peak_mb": runner.peak_mb()}))
"""
MEMORY_CASE = "memory, 1,000,000 x 20"


def memory_words(run: runner.Runner) -> list[str]:
    row = run.find(MEMORY_CASE, "RandomStarts")
    if row is None:
        return []
    peak = float(row["peak_mb"]) / 1000
    return [
        "**Memory**: 1,000,000 rows of ten columns of categories, eight Gaussian and two Poisson ones, four classes: "
        f"{peak:.1f} GB at most and {float(row['seconds']):.0f} seconds for `RandomStarts` with four starts (4 GB are "
        "allowed)."
    ]


def page(run: runner.Runner) -> str:
    """Return the results as a page; what was not measured is left out."""
    return "\n".join(
        [
            "## Numbers beside categories",
            "",
            "Written by `python -m benchmarks.mixed`. One thread; processor seconds.",
            "",
            "**EAST on mixed leaves against EAST on median bins**, tables of the classification paper:",
            "log-likelihood of the class of a held-out row, on average",
            f"({FOLDS} folds, the class one of the columns). Columns of more than {FEW_VALUES} values are Gaussian, or",
            f"cut at their median in the other rows; `prior={PRIOR:g}`. Numbers of hidden variables by fold. Tables of",
            "the paper that are not here: balance-scale and breast, whose columns have ten values at most, diabetes,",
            "which is pima, and sonar and vehicle, which take long.",
            "",
            *classes_table(run),
            "",
            "**Latent profiles**: log-likelihood of `compare_classes` (64 starts) less the best of 100 starts of",
            '`GaussianMixture(covariance_type="diag", reg_covar=1e-6)`, solutions with a variance below our floor left',
            "out; it must never be below -0.01.",
            "",
            *profiles_table(run),
            "",
            "**StepMix 3.0**: 20,000 rows of six columns of categories and six Gaussian ones, four classes,",
            f"{STARTS} starts each. The log-likelihood must be equal to 1e-5, relative, and StepMix is to take",
            "30 times as long.",
            "",
            *stepmix_table(run),
            "",
            *memory_words(run),
        ]
    )


def measure(run: runner.Runner, only: str) -> None:
    """Measure what is not there yet."""
    for name in TABLES:
        if only in classes_case(name):
            classes(run, name)
    for apart in APART:
        if only in stepmix_case(apart):
            stepmix(run, apart)
    if only in MEMORY_CASE:
        run.alone(MEMORY_CASE, "RandomStarts", MEMORY)
    for name, table in profile_tables().items():
        if only in profiles_case(name):
            profiles(run, name, table)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("mixed", again=options.again, only=options.only)
    warnings.simplefilter("ignore")
    if not options.render:
        measure(run, options.only)
    runner.render("mixed", page(run))


if __name__ == "__main__":
    main()
