"""FindHidden against a yardstick: the network learned with a column that is then hidden.

A column is removed from rows that were drawn from a known network. "Visible" is the network that is learned while the
column is there, whose tables EM then fits without it; "found" is what FindHidden finds without ever seeing it. Both are
compared with the network that is learned without the column and without hidden variables, on held-out rows.

``--only`` takes any part of a case, such as ``"Alarm without HR"`` or ``Child``.
"""

from __future__ import annotations

import gzip
import json
import time
import warnings
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
from pgmpy.readwrite import BIFReader

from benchmarks.networks import drawn, with_hidden
from benchmarks.networks_page import figures, paragraph, row_of, yes
from pgmpy_latent import FindHidden, LatentNetwork, StructuralEM, encode, network_from_pgmpy, row_log_likelihoods
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.networks.fitter import Fitter

N_ROWS, N_TEST = 10_000, 10_000
#: Score of edges, the default of FindHidden, and its pseudo-count.
METHOD, PRIOR = "bde", 0.5
#: Variables of Alarm that leave much behind, and those whose one child can inherit their parents.
LARGE, SMALL = ("HR", "INTUBATION", "VENTLUNG", "VENTTUBE", "ARTCO2"), ("PVSAT", "CO", "CATECHOL")
ALARM_SEEDS = range(3)
#: Thresholds were settled on these; they are no test.
SETTLED_ON = (("Alarm", 0),)
#: Network -> its file in pgmpy, and what is removed.
OTHERS = {
    "Insurance": ("insurance", ("RiskAversion", "SocioEcon", "RuggedAuto")),
    "Child": ("child", ("Disease", "LungParench")),
    "Hailfinder": ("hailfinder", ("ScenRelAMIns", "InsInMt")),
}
FILES = {"Alarm": "alarm", **{name: file for name, (file, _) in OTHERS.items()}}


@cache
def network(name: str) -> LatentNetwork:
    """Return a network that comes with pgmpy."""
    packed = (files("pgmpy") / f"utils/example_models/{FILES[name]}.bif.gz").read_bytes()
    return network_from_pgmpy(BIFReader(string=gzip.decompress(packed).decode()).get_model())


@cache
def rows(name: str, seed: int):
    """Return rows to learn from, and others to test with."""
    return drawn(network(name), N_ROWS, seed), drawn(network(name), N_TEST, 1_000 + seed)


def learned(frame) -> LatentNetwork:
    """Return the network of a hill climb."""
    return StructuralEM(scoring_method=METHOD, show_progress=False).fit(frame).network_


@cache
def with_all(name: str, seed: int) -> LatentNetwork:
    return learned(rows(name, seed)[0])


def gain(model: LatentNetwork, base: LatentNetwork, test) -> tuple[float, float]:
    """Return the mean difference of the log-likelihoods of rows, and its standard error."""
    apart = (row_log_likelihoods(model, test) - row_log_likelihoods(base, test)).to_numpy()
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))


def on_removed(name: str, column: str, seed: int) -> dict:
    """Remove a column; learn with and without hidden variables; test."""
    train, test = (frame.drop(columns=column) for frame in rows(name, seed))
    base = learned(train)
    fitter = Fitter(encode(train), Search(Settings(prior=PRIOR), random_state=0), METHOD)
    visible = fitter.last_fit(with_hidden(with_all(name, seed), (column,))).network
    began = time.process_time()
    found = FindHidden(random_state=0, show_progress=False).fit(train)
    seconds = time.process_time() - began
    kept = dict(zip(("gain", "error"), gain(found.network_, base, test), strict=True))
    return {
        **kept,
        "seconds": seconds,
        "visible": gain(visible, base, test)[0],
        "over_own_base": gain(found.network_, found.base_, test)[0],
        "states": sorted(found.n_states_.values(), reverse=True),
        "children": [[str(child) for above, child in found.network_.edges if above == name] for name in found.latents_],
        "parameters": [found.n_parameters_, base.n_parameters, visible.n_parameters],
    }


def cases() -> Iterator[tuple[str, str, int]]:
    """Return network, removed column and seed of everything that is measured."""
    for column in LARGE:
        for seed in ALARM_SEEDS:
            yield "Alarm", column, seed
    for name, (_, columns) in OTHERS.items():
        for column in columns:
            yield name, column, 0
    for column in SMALL:
        for seed in ALARM_SEEDS:
            yield "Alarm", column, seed


def case_of(name: str, column: str) -> str:
    return f"{name} without {column}"


# -- the page ----------------------------------------------------------------------------------------------------------


def page(run: runner.Runner) -> str:
    """Return the section of the page of benchmarks."""
    measured = [
        (name, column, seed, found)
        for name, column, seed in cases()
        if (found := figures(run, case_of(name, column), "FindHidden", seed)) is not None
    ]
    lines = ["## FindHidden against a column that was there", ""]
    lines += paragraph(
        "A column is removed from 10,000 rows drawn from a network that comes with pgmpy. The yardstick (visible) is",
        "the network learned with the column, then hidden and refitted; both gains are over the network that a",
        "hill climb learns without the column, in nats per row on 10,000 further rows. FindHidden also finds better",
        "edges among columns on its way; its gain over the best network without hidden variables that it met is in",
        "brackets. Default settings, one thread, seconds of processor. Numbers of starts and of proposals were settled",
        "on Alarm with seed 0; the other rows are tests. Written by `python -m benchmarks.hidden_variables`.",
        f"Versions: {run.versions()}.",
    )
    lines += summary(measured)
    lines += [row_of("network", "without", "seed", "visible", "found", "half", "states", "seconds"), "|" + "---|" * 8]
    for name, column, seed, found in sorted(measured, key=lambda item: (item[0] != "Alarm", item[0], item[2])):
        own = f"{found['gain']:+.4f} ± {found['error']:.4f} ({found['over_own_base']:+.4f})"
        states = ", ".join(map(str, found["states"])) or "none"
        seen = f"{found['visible']:+.4f}"
        lines.append(row_of(name, column, seed, seen, own, verdict(found), states, f"{found['seconds']:.0f}"))
    return "\n".join(lines)


def reaches_half(found: dict) -> bool:
    return found["gain"] >= found["visible"] / 2


def is_worse(found: dict) -> bool:
    """Tell whether rows are less likely than without hidden variables, by more than one standard error."""
    return found["gain"] < -found["error"]


def verdict(found: dict) -> str:
    return "**worse**" if is_worse(found) else yes(reaches_half(found))


def summary(measured: list[tuple[str, str, int, dict]]) -> list[str]:
    """Return the table of targets."""

    def chosen(condition) -> list[dict]:
        return [found for name, column, seed, found in measured if condition(name, column, seed)]

    large = chosen(lambda name, column, seed: name == "Alarm" and column in LARGE)
    tests = chosen(lambda name, column, seed: name == "Alarm" and column in LARGE and (name, seed) not in SETTLED_ON)
    small = chosen(lambda name, column, seed: name == "Alarm" and column in SMALL)
    others = chosen(lambda name, column, seed: name != "Alarm")
    lines = [row_of("what", "target", "reached"), "|---|---|---|"]
    for words, target, some in (
        (f"Alarm without {', '.join(LARGE)}: half of the visible gain", "10 of 15", large),
        ("the same, seeds on which nothing was settled", "", tests),
        ("Insurance, Child, Hailfinder: half of the visible gain", "4 of 7", others),
    ):
        lines.append(row_of(words, target, f"{sum(map(reaches_half, some))} of {len(some)}"))
    kept = [found for found in (*large, *others) if found["states"] and reaches_half(found)]
    words = "all of these that reach half with a hidden variable, and not by better edges alone"
    lines.append(row_of(words, "", f"{len(kept)} of {len(large) + len(others)}"))
    words = f"Alarm without {', '.join(SMALL)}: worse by more than a standard error"
    lines.append(row_of(words, f"0 of {3 * len(SMALL)}", f"{sum(map(is_worse, small))} of {len(small)}"))
    lines.append(row_of("all others: worse by more than a standard error", "0", sum(map(is_worse, [*large, *others]))))
    return [*lines, ""]


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("hidden_variables", again=options.again, only=options.only)
    warnings.simplefilter("ignore")  # of empty states, which the yardstick may have
    if not options.render:
        warm_up()
        for name, column, seed in cases():
            if options.only in f"{case_of(name, column)} | seed {seed}":
                work = partial(on_removed, name, column, seed)
                run.compare(case_of(name, column), {"FindHidden": work}, seed=seed, repeats=1)
    runner.render("hidden_variables", page(run))
    print(json.dumps([line for line in page(run).splitlines() if " of " in line], indent=1))


def warm_up() -> None:
    """Load the kernels."""
    FindHidden(show_progress=False).fit(rows("Alarm", 0)[0].iloc[:300, :8])


if __name__ == "__main__":
    main()
