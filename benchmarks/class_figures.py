"""Are published figures of latent class analysis met, and in how many seconds? Half a minute.

Run: python -m benchmarks.class_figures
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import re
import time
from collections.abc import Callable
from functools import partial

import pandas as pd

from pgmpy_latent import (
    RandomStarts,
    add_direct_effects,
    compare_classes,
    compare_groups,
    latent_transition,
    multilevel_classes,
    relate,
)

#: Data -> model -> the published figure.
PUBLISHED = {
    "cheating": {
        "grades predict 2 classes, one step": -429.6384,
        "slope, one step": -0.84248,
        "slope, two steps": -0.80989,
        "slope, not corrected": -0.46283,
        "slope, BCH": -0.71436,
        "slope, ML": -0.70314,
        "mean of the larger class, two steps": 2.51602,
        "mean of the larger class, BCH": 2.46255,
        "mean of the larger class, ML": 2.51992,
        "mean of the smaller class, two steps": 1.41145,
        "mean of the smaller class, BCH": 1.62576,
        "mean of the smaller class, ML": 1.35424,
    },
    "balance tasks": {"age predicts 3 classes, one step": -917.533},
    "abortion": {
        "3 classes, groups by degree: nothing differs": -687.4486,
        "3 classes, groups by degree: sizes differ": -672.414,
        "3 classes, groups by degree: all differ": -650.2821,
        "degree and sex predict 3 classes, one step": -666.7097,
        "bootstrap, 300 draws: p of 2 against 3 classes": 0.003,
        "bootstrap, 300 draws: p of 3 against 4 classes": 0.65,
    },
    "health of Russians": {
        "2 states, equal transitions": -13_921.09,
        "3 states, equal transitions": -13_557.2,
        "4 states, equal transitions": -13_392.93,
    },
    "fertility and work": {"2 states, transitions by time": -6_900.447, "2 states, equal transitions": -6_903.646},
    "survey of 1982": {"2 classes and an edge": -2_749.474, "3 classes": -2_754.545},
    "smoking of pupils": {
        "3 classes, 1 cluster of schools": -2_086.86,
        "3 classes, 2 clusters of schools": -1_955.49,
        "3 classes, 3 clusters of schools": -1_938.73,
    },
}
FILES = {
    "cheating": "lca_cheating.csv",
    "balance tasks": "lca_balance.csv",
    "abortion": "lca_gss08.csv",
    "health of Russians": "lca_rlms_long.csv",
    "fertility and work": "lca_psid_long.csv.gz",
    "survey of 1982": "lca_gss82.csv",
    "smoking of pupils": "lca_nyts18.csv",
}
WAYS = {"one step": (1, None), "two steps": (2, None), "not corrected": (3, None), "BCH": (3, "bch"), "ML": (3, "ml")}
ITEMS = ["ECIGT", "ECIGAR", "ESLT", "EELCIGT", "EHOOKAH"]


def classes(table: pd.DataFrame, n: int) -> RandomStarts:
    """Return a latent class model."""
    return RandomStarts(n_states=n, random_state=0, show_progress=False).fit(table)


def cheating(table: pd.DataFrame, model: str) -> float:
    """Return a figure of grades and cheating."""
    learner = classes(table.drop(columns="GPA"), 2)
    what, _, way = model.rpartition(", ")
    if what.startswith("mean"):
        means = relate(learner, table, "GPA", "outcome", *WAYS[way]).means.sort_values("size")["mean"]
        return float(means.iloc[0 if "smaller" in what else 1])
    found = relate(learner, table, "GPA", "covariate", *WAYS[way])
    return found.log_likelihood if what.startswith("grades") else float(found.coefficients["estimate"].iloc[1])


def balance(table: pd.DataFrame, model: str) -> float:
    """Return the log-likelihood of classes that age predicts."""
    return relate(classes(table[["d1", "d2", "d3", "d4"]], 3), table, "age", steps=1).log_likelihood


def abortion(table: pd.DataFrame, model: str) -> float:
    """Return a figure of opinions on abortion."""
    items = list(table.columns[:6])
    if model.startswith("bootstrap"):
        found = compare_classes(table[items], [2, 3, 4], n_bootstrap=300, show_progress=False)
        return float(found.loc[3 if "2 against 3" in model else 4, "blrt_p"])
    if model.startswith("degree"):
        return relate(classes(table[items], 3), table, ["DEGREE", "SEX"], steps=1).log_likelihood
    found = compare_groups(table[[*items, "DEGREE"]], "DEGREE", 3, show_progress=False)
    return float(found.table.loc[model.rpartition(": ")[2], "log_likelihood"])


def transitions(table: pd.DataFrame, model: str, items: list[str]) -> float:
    """Return the log-likelihood of a latent transition model."""
    by_time = model.endswith("by time")
    return latent_transition(table, "id", "time", items, int(model[0]), by_time, show_progress=False).log_likelihood_


def survey(table: pd.DataFrame, model: str) -> float:
    """Return the log-likelihood of two classes and an edge, or of three classes."""
    if model == "3 classes":
        return classes(table, 3).log_likelihood_
    return add_direct_effects(classes(table, 2), table, show_progress=False).log_likelihood_


def schools(table: pd.DataFrame, model: str) -> float:
    """Return the log-likelihood of classes of pupils in clusters of schools."""
    n_clusters = int(model.split()[2])
    return multilevel_classes(table, "SCH_ID", 3, n_clusters, items=ITEMS, show_progress=False).log_likelihood_


FIGURES: dict[str, Callable[[pd.DataFrame, str], float]] = {
    "cheating": cheating,
    "balance tasks": balance,
    "abortion": abortion,
    "health of Russians": partial(transitions, items=["value"]),
    "fertility and work": partial(transitions, items=["Y1Fertility", "Y2Employment"]),
    "survey of 1982": survey,
    "smoking of pupils": schools,
}


def measured(data: str, model: str) -> dict:
    """Return a figure, and the seconds of one processor that it takes."""
    table = pd.read_csv(runner.DATA / FILES[data])
    begin = time.process_time()
    value = FIGURES[data](table, model)
    return {"seconds": time.process_time() - begin, "figure": value}


def measure(run: runner.Runner, only: str) -> None:
    for data, models in PUBLISHED.items():
        if only in data:
            measured(data, next(iter(models)))  # compiles
            run.compare(data, {model: partial(measured, data, model) for model in models}, repeats=1)


def draws_of(model: str) -> int:
    """Return the number of draws of a bootstrap; 0 of what is none.

    >>> draws_of("bootstrap, 300 draws: p of 2 against 3 classes"), draws_of("slope, one step")
    (300, 0)
    """
    found = re.search(r"(\d+) draws", model)
    return int(found[1]) if found else 0


def main() -> None:
    from benchmarks import beyond  # it takes the published figures above

    options = runner.arguments(__doc__)
    run = runner.Runner("class_figures", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    beyond.main([])


if __name__ == "__main__":
    main()
