"""Are relations of classes with other columns right? Bias, intervals and tests where the truth is known; and speed.

Tables are drawn with seeds fixed beforehand, 0 to N - 1. StepMix is timed if it is installed. Twenty minutes.

Run: python -m benchmarks.relate
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import time
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd

from pgmpy_latent import RandomStarts, relate

N_TABLES, N_ROWS = 200, 1000
#: Shares of "yes" to each of six questions in the two classes, by how well they tell the classes apart.
SEPARATIONS = {"15 and 80 % say yes": (0.15, 0.8), "25 and 70 % say yes": (0.25, 0.7)}
#: Slope of the covariate, and means of the outcome.
SLOPE, MEANS = 1.0, (0.0, 1.0)
METHODS = {
    "one step": (1, None),
    "two steps": (2, None),
    "three steps, ML": (3, "ml"),
    "three steps, BCH": (3, "bch"),
    "three steps, not corrected": (3, None),
}
#: Where classes overlap much, more rows show what is due to their number.
OVERLAPPING = f"25 and 70 % say yes, {4 * N_ROWS:,} rows"
QUESTIONS = [f"q{at}" for at in range(6)]
#: Outcomes, and whether that of the second class is skewed, which neither two steps nor ML know.
OUTCOMES = {"outcome": False, "skewed outcome": True}


def drawn(seed: int, yes: tuple[float, float], slope: float, n: int = N_ROWS, skewed: bool = False) -> pd.DataFrame:
    """Return answers of people whose class depends on z and whose y depends on the class."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    members = (rng.random(n) < 1 / (1 + np.exp(0.5 - slope * z))).astype(int)
    table = pd.DataFrame((rng.random((n, len(QUESTIONS))) < np.array(yes)[members][:, None]).astype(int))
    table.columns = QUESTIONS
    second = rng.exponential(MEANS[1], n) if skewed else rng.normal(MEANS[1], 1.5, n)
    return table.assign(z=z, y=np.where(members == 1, second, rng.normal(MEANS[0], 1, n)))


def fitted(table: pd.DataFrame) -> tuple[RandomStarts, int]:
    """Return the classes of a table, and the one whose people say yes more rarely."""
    learner = RandomStarts(n_states=2, n_starts=8, random_state=0, show_progress=False).fit(table[QUESTIONS])
    return learner, int(learner.tree_.table("q0")[:, 1].argmin())


def covariates(yes: tuple[float, float], steps: int, correction: str | None, n_tables: int = N_TABLES) -> dict:
    """Return mean and Monte Carlo error of the slope, how often intervals cover it, and how often zero is rejected."""
    slopes, covered, rejected = [], [], []
    for seed in range(n_tables):
        for slope in (SLOPE, 0.0):
            table = drawn(seed, yes, slope)
            learner, low = fitted(table)
            found = relate(learner, table, "z", "covariate", steps, correction, reference=low)
            line = found.coefficients.iloc[1]
            if slope:
                slopes.append(line["estimate"])
                covered.append(np.log(line["lower"]) <= slope <= np.log(line["upper"]))
            else:
                rejected.append(line["p_value"] < 0.05)
    return _figures(slopes, covered) | {"rejected": float(np.mean(rejected))}


def outcomes(yes: tuple[float, float], steps: int, correction: str | None, skewed: bool, n: int = N_ROWS) -> dict:
    """Return mean and Monte Carlo error of the difference of means, and how often intervals cover the means."""
    differences, covered = [], []
    for seed in range(N_TABLES):
        table = drawn(seed, yes, 0.0, n, skewed)
        learner, low = fitted(table)
        found = relate(learner, table, "y", "outcome", steps, correction).means.set_index("class")
        differences.append(found.loc[1 - low, "mean"] - found.loc[low, "mean"])
        for at, mean in zip((low, 1 - low), MEANS, strict=True):
            covered.append(found.loc[at, "lower"] <= mean <= found.loc[at, "upper"])
    return _figures(differences, covered)


def _figures(values: list, covered: list) -> dict:
    return {
        "tables": len(values),
        "mean": float(np.mean(values)),
        "error": float(np.std(values, ddof=1) / np.sqrt(len(values))),
        "spread": float(np.std(values, ddof=1)),
        "covered": float(np.mean(covered)),
    }


def large(n: int = 20_000) -> pd.DataFrame:
    """Return 20,000 rows of ten columns in four classes that depend on a number."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    odds = np.exp(np.stack([np.ones(n), z], axis=1) @ np.array([[0, 0], [0.3, 1], [-0.2, -0.5], [0.1, 0.5]]).T)
    members = ((odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    yes = rng.uniform(0.1, 0.9, (4, 10))
    return pd.DataFrame((rng.random((n, 10)) < yes[members]).astype(int)).add_prefix("x").assign(z=z)


def ours_on_many_rows(n: int = 20_000) -> dict:
    """Relate in one step from 20 starts, with standard errors and tests; the learner's own fit counts as well."""
    table = large(n)
    begin = time.process_time()
    learner = RandomStarts(n_states=4, random_state=0, show_progress=False).fit(table.drop(columns="z"))
    value = relate(learner, table, "z", steps=1, n_starts=20).log_likelihood
    return {"seconds": time.process_time() - begin, "log_likelihood": value}


def stepmix_on_many_rows(n_starts: int = 20, **settings) -> dict:
    """Fit the same model by StepMix; without standard errors and tests, which it does not have."""
    from stepmix.stepmix import StepMix

    table = large()
    begin = time.process_time()
    newton = {"method": "newton-raphson", "max_iter": 1, "intercept": True}  # its defaults
    model = StepMix(n_components=4, n_steps=1, measurement="binary", structural="covariate", n_init=n_starts,
                    random_state=0, progress_bar=0, structural_params=newton, **settings)  # fmt: skip
    model.fit(table.drop(columns="z"), table[["z"]])
    seconds = time.process_time() - begin
    return {
        "seconds": seconds,
        "log_likelihood": float(model.score(table.drop(columns="z"), table[["z"]]) * len(table)),
    }


SPEED = "one step, 20,000 rows x 10 columns, 4 classes, 20 starts"
#: Until an iteration gains less than 0.001 nats; by default StepMix goes on to 0.000002.
SOONER = {"abs_tol": 1e-3 / 20_000, "rel_tol": 0, "max_iter": 3000}
STEPMIX = {"StepMix": {}, "StepMix, to 0.001 nats per iteration": SOONER}


def measure(run: runner.Runner, only: str) -> None:
    cases = {}
    for words, yes in SEPARATIONS.items():
        cases[f"covariate, {words}"] = {
            name: lambda yes=yes, how=how: covariates(yes, *how) for name, how in METHODS.items()
        }
        for kind, skewed in OUTCOMES.items():
            cases[f"{kind}, {words}"] = {
                name: lambda yes=yes, how=how, skewed=skewed: outcomes(yes, *how, skewed)
                for name, how in METHODS.items()
                if how[0] > 1
            }
    cases[f"outcome, {OVERLAPPING}"] = {
        name: lambda how=how: outcomes((0.25, 0.7), *how, skewed=False, n=4 * N_ROWS)
        for name, how in METHODS.items()
        if how[0] > 1
    }
    timed = {"ours": ours_on_many_rows}
    if find_spec("stepmix"):
        timed |= {
            name: lambda settings=settings: stepmix_on_many_rows(**settings) for name, settings in STEPMIX.items()
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if only in SPEED:
            ours_on_many_rows(500)  # compiles
            run.compare(SPEED, timed, repeats=3)
        for case, methods in cases.items():
            if only in case:
                run.compare(case, methods, repeats=1)


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    lines = [
        "## Relations of classes with other columns: are they right?",
        "",
        f"Written by `python -m benchmarks.relate`; {N_TABLES} tables of {N_ROWS} rows and six questions, two classes,",
        "seeds 0 to N - 1. Beside the mean of the estimates stands its Monte Carlo error. Covered: how often 95 %",
        "intervals hold the truth; rejected: how often a slope of zero is called significant at 5 %. The outcome is",
        "normal with a variance of its own in each class. The skewed outcome is exponential in one class, which",
        "neither two steps nor ML know: they take it for normal, and are off where classes overlap, whatever the size.",
        "BCH is off by more than two Monte Carlo errors where classes overlap and rows are few, since small tables",
        "make classes look clearer than they are: with four times as many rows it is off by about a quarter of that.",
        "",
        "| classes | z | method | truth | mean | spread | covered | rejected |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, truth in (("covariate", SLOPE), *((outcome, MEANS[1] - MEANS[0]) for outcome in OUTCOMES)):
        for words in (*SEPARATIONS, OVERLAPPING):
            for name in METHODS:
                if not run.find(f"{kind}, {words}", name):
                    continue
                mean, error, spread, covered = (
                    run.figure(f"{kind}, {words}", name, figure) for figure in ("mean", "error", "spread", "covered")
                )
                rejected = f"{run.figure(f'{kind}, {words}', name, 'rejected'):.1%}" if kind == "covariate" else ""
                shown = f"{truth:g} | {mean:.3f} ± {error:.3f} | {spread:.3f} | {covered:.1%} | {rejected}"
                lines.append(f"| {words} | {kind} | {name} | {shown} |")
    lines += [
        "",
        f"**Speed.** {SPEED[0].upper()}{SPEED[1:]}, in seconds of one processor. Ours includes the classes without",
        "covariates, standard errors and tests; StepMix is its fit alone, with its defaults and stopped sooner.",
        "",
        "| program | seconds | times ours | log-likelihood |",
        "|---|---|---|---|",
    ]
    for name in ("ours", *STEPMIX):
        if run.find(SPEED, name):
            value, seconds = run.figure(SPEED, name, "log_likelihood"), run.seconds(SPEED, name)
            ratio = seconds / run.seconds(SPEED, "ours")
            lines.append(f"| {name} | {seconds:.2f} | {ratio:.1f} | {value:.4f} |")
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("relate", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    runner.render("relate", page(run))


if __name__ == "__main__":
    main()
