"""Do the tests of latent class analysis hold their level? How often each rejects at 5 % what is true.

Tests of groups, direct effects, covariates, outcomes and order. Tables are drawn with seeds fixed beforehand, 0 to
N - 1. Twenty minutes.
"""

from __future__ import annotations

import warnings

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from scipy.stats import chi2

from pgmpy_latent import LatentNetwork, compare_groups, order_test, relate, residuals, sample
from pgmpy_latent.diagnostics.score_test import edge_tests
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.log_linear import ordinal_item
from pgmpy_latent.inference.queries import encode_for, engine_for
from pgmpy_latent.selection.added_edges import fitted_with_edge

N_TABLES = 1_000
N_BOOTSTRAP = 99
LEVEL = 0.05
N_ITEMS = 6
#: What is drawn: rows, and the share of missing cells.
SMALL, LARGE, GAPS = "300 rows", "1,000 rows", "300 rows, a tenth of the cells missing"
DESIGNS = {SMALL: (300, 0.0), LARGE: (1_000, 0.0), GAPS: (300, 0.1)}


def network() -> LatentNetwork:
    """Return three groups whose classes have other sizes, and six questions that do not differ between them."""
    yes = np.array([[0.85, 0.2], [0.75, 0.15], [0.8, 0.3], [0.7, 0.25], [0.9, 0.2], [0.8, 0.35]])
    items = [np.stack([1 - chance, chance], axis=1) for chance in yes]
    names = [f"q{at}" for at in range(N_ITEMS)]
    return LatentNetwork(
        ["group", "class", *names],
        [["a", "b", "c"], [0, 1], *[[0, 1]] * N_ITEMS],
        [(), (0,), *[(1,)] * N_ITEMS],
        [False, True, *[False] * N_ITEMS],
        [np.array([[0.4, 0.35, 0.25]]), np.array([[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]]), *items],
    )


def drawn(design: str, seed: int) -> pd.DataFrame:
    """Return a table in which sizes differ, and nothing else."""
    n_rows, share = DESIGNS[design]
    rng = np.random.default_rng(seed)
    table = sample(network(), n_rows, random_state=rng)
    items = table.columns[1:]
    if share:
        table[items] = table[items].astype("Int64").mask(rng.random((n_rows, N_ITEMS)) < share)
    return table


def three_classes() -> LatentNetwork:
    """Return three classes of unequal size, and five questions of three answers, some of them rare."""
    item = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    names = ["class", *[f"q{at}" for at in range(5)]]
    sizes = np.array([[0.5, 0.3, 0.2]])
    return LatentNetwork(names, [[0, 1, 2]] * 6, [(), *[(0,)] * 5], [True, *[False] * 5], [sizes, *[item] * 5])


def fitted(model: LatentNetwork, table: pd.DataFrame, **survey):
    """Return the model fitted to a table, its log-likelihood, and the encoded table."""
    data = encode_for(model, table, **survey)
    engine = engine_for(model, data)
    found = fit(engine, engine.layout.pack(model.tables))
    return model.with_tables(engine.layout.unpack(found.tables)), found.log_likelihood, data


def without_group(model: LatentNetwork) -> LatentNetwork:
    """Return the latent class model of all groups together."""
    shares = model.tables[0] @ model.tables[1]
    parents = [(), *[(0,)] * N_ITEMS]
    tables = [shares, *model.tables[2:]]
    return LatentNetwork(model.names[1:], model.state_names[1:], parents, model.latent[1:], tables)


# --- What is measured -----------------------------------------------------------------------------


def items_by_score(design: str, n_tables: int = N_TABLES) -> dict:
    """Return how often the score test says that one item differs between groups."""
    rejected = 0
    for seed in range(n_tables):
        model, _, data = fitted(network(), drawn(design, seed))
        rejected += edge_tests(model, data, [("group", "q0")])[0].p_value <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def items_by_refit(design: str, n_tables: int = N_TABLES) -> dict:
    """Return the same of the likelihood-ratio test."""
    rejected = 0
    for seed in range(n_tables):
        model, value, data = fitted(network(), drawn(design, seed))
        larger = fitted_with_edge(model, data, ("group", "q0"))
        df = larger.network.n_parameters - model.n_parameters
        rejected += chi2.sf(2 * (larger.log_likelihood - value), df) <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def any_item(design: str, n_tables: int = N_TABLES) -> dict:
    """Return how often any item is said to differ, adjusted for their number."""
    rejected = 0
    for seed in range(n_tables):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare_groups(drawn(design, seed), "group", 2, n_starts=1, show_progress=False)
        rejected += found.items["differs"].any()
    return {"tables": n_tables, "rejected": int(rejected)}


def edges_by_score(design: str, n_tables: int = N_TABLES) -> dict:
    """Return how often the score test finds an edge between two columns."""
    rejected = 0
    for seed in range(n_tables):
        model, _, data = fitted(without_group(network()), drawn(design, seed))
        rejected += edge_tests(model, data, [("q0", "q1")])[0].p_value <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def edges_by_weighted_score(design: str, weighted: bool, n_tables: int = N_TABLES) -> dict:
    """Return how often the score test finds an edge where answers are rare, without or with sampling weights."""
    n_rows, share = DESIGNS[design]
    rejected = 0
    for seed in range(n_tables):
        rng = np.random.default_rng([seed, 4])
        table = sample(three_classes(), n_rows, random_state=rng).astype("Int64")
        table = table.mask(rng.random(table.shape) < share)
        survey = {"sample_weight": rng.gamma(4, size=n_rows), "weight_kind": "sampling"} if weighted else {}
        model, _, data = fitted(three_classes(), table, **survey)
        rejected += edge_tests(model, data, [("q0", "q1")])[0].p_value <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def edges_by_residual(design: str, n_bootstrap: int, n_tables: int = N_TABLES) -> dict:
    """Return how often the residual of these two columns stands out."""
    rejected = 0
    for seed in range(n_tables):
        table = drawn(design, seed).drop(columns="group")
        model, _, _ = fitted(without_group(network()), table)
        found = residuals(model, table, n_bootstrap=n_bootstrap, random_state=seed, show_progress=False)
        pair = (found["first"] == "q0") & (found["second"] == "q1")
        rejected += float(found.loc[pair, "p_value"].iloc[0]) <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def sizes_by_ratio(design: str, n_tables: int = N_TABLES) -> dict:
    """Return how often the likelihood-ratio test says that sizes differ between groups that are drawn by lot."""
    rejected = 0
    for seed in range(n_tables):
        table = drawn(design, seed)
        table["group"] = np.random.default_rng([seed, 1]).permutation(table["group"])
        _, value, data = fitted(network(), table)
        _, without, _ = fitted(without_group(network()), table.drop(columns="group"))
        shares = table["group"].value_counts().to_numpy()
        given = value - (shares * np.log(shares / data.n_rows)).sum()
        rejected += chi2.sf(2 * (given - without), 2) <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def by_wald(design: str, kind: str, steps: int, correction: str | None, n_tables: int = N_TABLES) -> dict:
    """Return how often the Wald test says that a number drawn by lot predicts the class, or differs between classes."""
    rejected = 0
    for seed in range(n_tables):
        table = drawn(design, seed).drop(columns="group")
        model, _, _ = fitted(without_group(network()), table)
        table["z"] = np.random.default_rng([seed, 2]).normal(size=len(table))
        found = relate(model, table, "z", kind, steps, correction, show_progress=False)
        rejected += found.tests["p_value"].iloc[0] <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


def order_by_ratio(design: str, n_tables: int = N_TABLES) -> dict:
    """Return how often the likelihood-ratio test refuses the order of the first of four ordered questions."""
    family, rejected = ordinal_item(2, 4), 0
    for seed in range(n_tables):
        rng = np.random.default_rng([seed, 3])
        members = (rng.random(DESIGNS[design][0]) < 0.45).astype(int)
        columns = {}
        for at, slope in enumerate((1.3, 1.1, 1.5, 1.2)):
            bounds = family.tables(np.array([0.3, -0.2, -0.9, slope])).cumsum(axis=1)[members, :-1]
            columns[f"q{at}"] = (rng.random(len(members))[:, None] > bounds).sum(axis=1) + 1
        found = order_test(pd.DataFrame(columns), 2, ["q0"], n_starts=2, random_state=seed, show_progress=False)
        rejected += found["p"].iloc[0] <= LEVEL
    return {"tables": n_tables, "rejected": int(rejected)}


# --- The page -------------------------------------------------------------------------------------

METHODS = {
    "an item differs between groups: score test": items_by_score,
    "an item differs between groups: refit": items_by_refit,
    "an edge between two columns: score test": edges_by_score,
    "an edge, rare answers: score test": lambda design: edges_by_weighted_score(design, False),
    "an edge, rare answers, sampling weights: score test": lambda design: edges_by_weighted_score(design, True),
    "an edge between two columns: residual, chi-squared": lambda design: edges_by_residual(design, 0),
    "an edge between two columns: residual, bootstrap": lambda design: edges_by_residual(design, N_BOOTSTRAP),
    "any item differs: score tests, Holm": any_item,
    "sizes differ between groups: likelihood ratio": sizes_by_ratio,
    "z predicts the class: Wald, one step": lambda design: by_wald(design, "covariate", 1, None),
    "z predicts the class: Wald, two steps": lambda design: by_wald(design, "covariate", 2, None),
    "z predicts the class: Wald, three steps, ML": lambda design: by_wald(design, "covariate", 3, "ml"),
    "z predicts the class: Wald, three steps, BCH": lambda design: by_wald(design, "covariate", 3, "bch"),
    "z differs between classes: Wald, two steps": lambda design: by_wald(design, "outcome", 2, None),
    "z differs between classes: Wald, three steps, ML": lambda design: by_wald(design, "outcome", 3, "ml"),
    "z differs between classes: Wald, three steps, BCH": lambda design: by_wald(design, "outcome", 3, "bch"),
    "answers have no order: likelihood ratio": order_by_ratio,
}


def measure(run: runner.Runner, only: str) -> None:
    for design in DESIGNS:
        if only in design:
            for name, test in METHODS.items():
                run.compare(design, {name: lambda test=test, design=design: test(design)}, repeats=1)


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    designs = [design for design in DESIGNS if any(run.find(design, name) for name in METHODS)]
    lines = [
        "## Tests of latent class analysis: do they hold their level?",
        "",
        "Written by `python -m benchmarks.class_tests`; seeds 0 to N - 1, fixed beforehand. Three groups, two classes",
        "and six questions; only the sizes of the classes differ between the groups, and not even they where sizes are",
        "tested; z is drawn by lot; four questions of four ordered categories where order is tested. Where answers are",
        "rare, three classes and five questions of three answers, and weights, if any, from a gamma distribution of",
        f"shape 4. How often each test rejects at 5 % what is true; the bootstrap draws {N_BOOTSTRAP} tables.",
        f"Versions: {run.find(SMALL, list(METHODS)[1])['versions']}.",
        "",
        "| test | tables | " + " | ".join(designs) + " |",
        "|---|---|" + "---|" * len(designs),
    ]
    for name in METHODS:
        known = {run.figure(design, name, "tables") for design in designs if run.find(design, name)}
        if known:
            shares = [_share(run, design, name) for design in designs]
            lines.append(f"| {name} | {' and '.join(f'{n:,}' for n in sorted(known))} | " + " | ".join(shares) + " |")
    return "\n".join(lines)


def _share(run: runner.Runner, design: str, name: str) -> str:
    if not run.find(design, name):
        return "–"
    return f"{run.figure(design, name, 'rejected') / run.figure(design, name, 'tables'):.1%}"


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("class_tests", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    runner.render("class_tests", page(run))


if __name__ == "__main__":
    main()
