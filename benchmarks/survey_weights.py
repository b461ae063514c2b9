"""Are answers about weighted tables right? Tests, criteria and intervals on tables whose truth is known.

Tables are drawn with seeds fixed beforehand, 0 to N - 1. A quarter of an hour.
"""

from __future__ import annotations

import warnings

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from pgmpy_latent import Baseline, RandomStarts, compare_classes, standard_errors

N_TABLES = 200
N_BOOTSTRAP = 39
#: A class is chosen in proportion to these in the population, answers to six questions by these chances of "yes".
SHARES = np.array([0.35, 0.65])
YES = np.array([[0.85, 0.8, 0.75, 0.7, 0.85, 0.8], [0.2, 0.15, 0.3, 0.25, 0.1, 0.3]])
LEVEL = 0.95
#: How tables are drawn.
ROWS, CLUSTERS, STRATA = "rows drawn one by one", "60 clusters of 15 rows", "two clusters from each of 40 strata"
SAMPLING, FREQUENCY, NONE = "as sampling weights", "as frequencies (mean 1)", "no weights"


# --- Tables ---------------------------------------------------------------------------------------


def independent(seed: int, n: int = 600) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns that have nothing to do with each other, and uneven weights."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 3, size=(n, 5)), columns=list("abcde"))
    weights = rng.lognormal(0, 1, n)
    return table, weights / weights.mean()


def answers(members: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Return answers of people in the given classes."""
    names = [f"q{at}" for at in range(YES.shape[1])]
    return pd.DataFrame((rng.random((len(members), len(names))) < YES[members]).astype(int), columns=names)


def people(kind: str, seed: int) -> tuple[pd.DataFrame, dict]:
    """Return a survey of a population with two classes, and how it was drawn."""
    rng = np.random.default_rng(seed)
    if kind == ROWS:  # people of the second class are asked three times as rarely, and weights make up for it
        members = (rng.random(6_000) >= SHARES[0]).astype(int)
        chance = np.where(members == 0, 0.3, 0.1) * rng.lognormal(0, 0.4, len(members))
        asked = rng.random(len(members)) < np.minimum(chance, 1)
        return answers(members[asked], rng), {"sample_weight": 1 / np.minimum(chance, 1)[asked]}
    size = 15
    n_clusters = 60 if kind == CLUSTERS else 80
    unit = np.repeat(np.arange(n_clusters), size)
    share = rng.beta(6 * SHARES[0], 6 * SHARES[1], n_clusters)  # clusters differ in how many are of the first class
    members = (rng.random(len(unit)) >= share[unit]).astype(int)
    weights = rng.lognormal(0, 0.5, n_clusters)[unit] * rng.lognormal(0, 0.3, len(unit))
    drawn = {"sample_weight": weights, "cluster": unit}
    if kind == STRATA:
        drawn["strata"] = unit // 2
    return answers(members, rng), drawn


# --- What is measured -----------------------------------------------------------------------------


def null_tables(kind: str | None, n_tables: int = N_TABLES, n_bootstrap: int = N_BOOTSTRAP) -> dict:
    """Return how often a test at 5 % rejects one class, and how often BIC asks for a second."""
    rejected = chosen = 0
    for seed in range(n_tables):
        table, weights = independent(seed)
        weighted = {} if kind is None else {"sample_weight": weights, "weight_kind": kind}
        found = compare_classes(table, [1, 2], n_starts=8, n_bootstrap=n_bootstrap, random_state=seed,
                                show_progress=False, **weighted)  # fmt: skip
        rejected += found.loc[2, "blrt_p"] <= 0.05
        chosen += found.attrs["recommended"] == 2
    return {"tables": n_tables, "rejected": int(rejected), "second_class": int(chosen)}


def coverage(kind: str, weight_kind: str, n_tables: int = N_TABLES) -> dict:
    """Return how often intervals of fitted probabilities cover those of the population."""
    truth = np.concatenate([SHARES, np.stack([1 - YES, YES], axis=2).transpose(1, 0, 2).ravel()])
    hits = []
    for seed in range(n_tables):
        table, drawn = people(kind, seed)
        if weight_kind == "frequency":
            weights = drawn["sample_weight"]
            drawn = {"sample_weight": weights / weights.mean()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is in doubt here is known
            model = RandomStarts(n_states=2, n_starts=8, random_state=seed, show_progress=False)
            model.fit(table, weight_kind=weight_kind, **drawn)
            found = standard_errors(model, table, weight_kind=weight_kind, level=LEVEL, **drawn)
        found = _first_class_first(found)
        hits.append((found["lower"].to_numpy() <= truth) & (truth <= found["upper"].to_numpy()))
    covered = np.mean(hits, axis=0)
    return {"tables": n_tables, "shares": float(covered[:2].mean()), "answers": float(covered[2:].mean()),
            "worst": float(covered.min())}  # fmt: skip


def _first_class_first(found: pd.DataFrame) -> pd.DataFrame:
    """Return the probabilities with the class that says yes more often in front."""
    yes = found[(found["node"] == "q0") & (found["state"] == 1)].set_index("parent_state")["probability"]
    first = yes.idxmax()
    items = found[found["node"] != "H"].assign(other=lambda part: part["parent_state"] != first)
    items = items.assign(at=items["node"].str[1:].astype(int)).sort_values(["at", "other", "state"])
    shares = found[found["node"] == "H"].assign(other=lambda part: part["state"] != first).sort_values("other")
    return pd.concat([shares, items])


def by_hand(n_tables: int = N_TABLES) -> dict:
    """Return by how much errors of weighted shares differ from linearisation by hand, at most, and the bootstrap's."""
    worst, drawn_ratios = 0.0, []
    for seed in range(n_tables):
        table, weights = independent(seed)
        model = Baseline("independence").fit(table, sample_weight=weights)
        found = standard_errors(model, table, sample_weight=weights)["standard_error"].to_numpy()
        hand = np.concatenate([_linearised(table[name].to_numpy(), weights) for name in table])
        worst = max(worst, float(np.abs(found / hand - 1).max()))
        if seed < 20:
            drawn = standard_errors(model, table, sample_weight=weights, method="bootstrap", random_state=seed,
                                    show_progress=False)["standard_error"].to_numpy()  # fmt: skip
            drawn_ratios.append(drawn / hand)
    return {"tables": n_tables, "worst": worst, "bootstrap": float(np.mean(drawn_ratios))}


def _linearised(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    n, total = len(values), weights.sum()
    errors = []
    for state in np.unique(values):
        there = values == state
        share = weights @ there / total
        errors.append(np.sqrt(n / (n - 1) * ((weights / total * (there - share)) ** 2).sum()))
    return np.array(errors)


# --- The page -------------------------------------------------------------------------------------


def measure(run: runner.Runner, only: str) -> None:
    cases = {
        "tests": {
            SAMPLING: lambda: null_tables("sampling"),
            NONE: lambda: null_tables(None),
            FREQUENCY: lambda: null_tables("frequency", 12),
        }
    }
    for kind in (ROWS, CLUSTERS, STRATA):
        cases[kind] = {
            SAMPLING: lambda kind=kind: coverage(kind, "sampling"),
            FREQUENCY: lambda kind=kind: coverage(kind, "frequency"),
        }
    cases["errors of shares"] = {SAMPLING: by_hand}
    for case, methods in cases.items():
        if only in case:
            run.compare(case, methods, repeats=1)


def page(run: runner.Runner) -> str:
    """Return the results as a page."""

    def figures(case: str, method: str, *names: str) -> list:
        return [run.figure(case, method, name) for name in names]

    lines = [
        "## Survey weights: are the answers right?",
        "",
        "Written by `python -m benchmarks.survey_weights`; seeds 0 to N - 1, fixed beforehand. Beside sampling weights",
        "stands what comes out when the same weights, divided by their mean, are taken for numbers of rows.",
        f"Versions: {run.find('tests', SAMPLING)['versions']}.",
        "",
        "**Nothing to find.** 600 rows × 5 independent columns of three states, weights lognormal(0, 1).",
        f"The bootstrap likelihood-ratio test ({N_BOOTSTRAP} draws) at 5 %, and BIC:",
        "",
        "| weights | tables | test rejects one class | BIC asks for a second |",
        "|---|---|---|---|",
    ]
    for method in (SAMPLING, NONE, FREQUENCY):
        n, rejected, chosen = figures("tests", method, "tables", "rejected", "second_class")
        lines.append(f"| {method} | {n} | {rejected} ({rejected / n:.1%}) | {chosen} |")
    lines += [
        "",
        "**Two classes, six questions.** How often 95 % intervals cover the probabilities of the population: of the",
        "two classes, of answers given the class, and of whichever probability is covered most rarely.",
        "",
        "| design | weights | tables | classes | answers | worst |",
        "|---|---|---|---|---|---|",
    ]
    for kind in (ROWS, CLUSTERS, STRATA):
        for method in (SAMPLING, FREQUENCY):
            n, shares, items, worst = figures(kind, method, "tables", "shares", "answers", "worst")
            lines.append(f"| {kind} | {method} | {n} | {shares:.1%} | {items:.1%} | {worst:.1%} |")
    worst, drawn = figures("errors of shares", SAMPLING, "worst", "bootstrap")
    lines += [
        "",
        f"**Errors of weighted shares** differ from linearisation by hand by at most {worst:.0e} of their size",
        f"in {N_TABLES} tables; those of the bootstrap are {drawn:.3f} times as large, on average over 20 tables.",
    ]
    return "\n".join(lines)


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("survey_weights", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    runner.render("survey_weights", page(run))


if __name__ == "__main__":
    main()
