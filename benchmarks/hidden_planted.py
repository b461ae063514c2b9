"""FindHidden on drawn networks: how strong a planted hidden variable must be, how many rows it takes, and seconds."""

from __future__ import annotations

import time
import warnings
from functools import partial

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd

from benchmarks.hidden_variables import METHOD, PRIOR, network, warm_up
from benchmarks.networks import drawn, with_hidden
from benchmarks.networks_page import figures, paragraph, row_of, yes
from pgmpy_latent import FindHidden, LatentNetwork, encode, sample
from pgmpy_latent.learners.search import Search, Settings
from pgmpy_latent.networks.fitter import Fitter

#: Share of its rows in which a child shows the state of the hidden variable; otherwise it shows any state.
STRENGTHS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)
DRAWS, N_ROWS, N_STATES = range(4), 1_000, 3
CHILDREN, OTHERS = ("x1", "x2", "x3", "x4"), ("c0", "c1", "c2", "c3")
#: Columns, rows and draws for seconds; share of the variables that are hidden.
WIDTHS, WIDE_ROWS, WIDE_DRAWS, HIDDEN_SHARE = (25, 50, 100), 5_000, range(1), 0.1
MOST_SECONDS = 120
#: Variable of Alarm that is removed from tables of several numbers of rows.
REMOVED, ALARM_ROWS = "LVEDVOLUME", (1_000, 2_000, 5_000, 10_000)
PLANTED, WIDE, BY_ROWS = "planted, strength {}", "{} columns", "Alarm without " + REMOVED + ", {} rows"


def noisy_copy(share: float) -> np.ndarray:
    """Return the table of a variable that copies its parent in a share of the rows."""
    return share * np.eye(N_STATES) + (1 - share) / N_STATES


def planted(strength: float, draw: int) -> pd.DataFrame:
    """Draw rows: a column affects a hidden variable, which has four children; three more columns are a chain."""
    rng = np.random.default_rng(draw)
    names = ["H", *OTHERS, *CHILDREN]
    parents = [(1,), (), (1,), (2,), (3,), *[(0,)] * len(CHILDREN)]
    chain = [rng.dirichlet(np.ones(N_STATES), size=N_STATES) for _ in OTHERS[1:]]
    tables = [noisy_copy(0.5), np.full((1, N_STATES), 1 / N_STATES), *chain, *[noisy_copy(strength)] * len(CHILDREN)]
    hidden = [name == "H" for name in names]
    network = LatentNetwork(names, [range(N_STATES)] * len(names), parents, hidden, tables)
    return sample(network, N_ROWS, random_state=1_000 + draw)


def on_planted(strength: float, draw: int) -> dict:
    """Tell whether a hidden variable is found that is linked to at least three of the four children, and to no other.

    It may also be linked to its parent.
    """
    found = FindHidden(random_state=draw, show_progress=False).fit(planted(strength, draw))
    model = found.model_
    near = [{*model.predecessors(name), *model.successors(name)} for name in found.latents_]
    right = [len(some & set(CHILDREN)) >= len(CHILDREN) - 1 and some <= {*CHILDREN, "c0"} for some in near]
    return {"found": any(right), "hidden": len(near), "states": sorted(found.n_states_.values())}


def wide(n_columns: int, draw: int) -> pd.DataFrame:
    """Draw rows of a network in which nodes have up to two parents among the five before, and some are hidden."""
    rng = np.random.default_rng(draw)
    n_nodes = round(n_columns / (1 - HIDDEN_SHARE))
    cards = rng.integers(2, 4, size=n_nodes)
    parents = [
        tuple(sorted(rng.choice(range(max(0, at - 5), at), min(at, int(rng.integers(0, 3))), replace=False).tolist()))
        for at in range(n_nodes)
    ]
    tables = [
        rng.dirichlet(np.full(card, 0.5), size=int(np.prod(cards[list(above)], dtype=int)))
        for card, above in zip(cards, parents, strict=True)
    ]
    hidden = np.isin(np.arange(n_nodes), rng.choice(n_nodes, n_nodes - n_columns, replace=False))
    names = [f"v{at:03d}" for at in range(n_nodes)]
    network = LatentNetwork(names, [range(card) for card in cards], parents, hidden, tables)
    return sample(network, WIDE_ROWS, random_state=draw)


def on_wide(n_columns: int, draw: int) -> dict:
    """Return the seconds of processor that a search takes."""
    frame = wide(n_columns, draw)
    began = time.process_time()
    found = FindHidden(random_state=0, show_progress=False).fit(frame)
    return {"seconds": time.process_time() - began, "hidden": len(found.latents_), "tried": len(found.candidates_)}


def on_rows(n_rows: int) -> dict:
    """Look for a variable that was removed from Alarm; score the true network on the same rows."""
    true = network("Alarm")
    frame = drawn(true, n_rows, 0).drop(columns=REMOVED)
    found = FindHidden(random_state=0, show_progress=False).fit(frame)
    model = found.model_
    near = [{*model.predecessors(name), *model.successors(name)} for name in found.latents_]
    own = {end for edge in true.edges if REMOVED in edge for end in edge} - {REMOVED}
    fitter = Fitter(encode(frame), Search(Settings(prior=PRIOR), random_state=0), METHOD)
    truth = fitter.scored(fitter.last_fit(with_hidden(true, (REMOVED,))))
    return {
        "found": any(len(some & own) >= len(own) - 1 for some in near),
        "score": found.score_,
        "true_score": truth.score,
    }


def page(run: runner.Runner) -> str:
    """Return the section of the page of benchmarks."""
    lines = ["## FindHidden on drawn networks", ""]
    lines += paragraph(
        f"A hidden variable of {N_STATES} states has four children among eight columns, and a column is its parent;",
        f"{N_ROWS:,} rows, {len(DRAWS)} draws. A child shows its state in a share of the rows, the strength, and any",
        "state in the others. It is found if a hidden variable is linked to at least three of the four and to no",
        "column but these and its parent. Default settings; no setting was chosen on these draws. Written by",
        f"`python -m benchmarks.hidden_planted`. Versions: {run.versions()}.",
    )
    lines += [row_of("strength", "found", "any hidden variable", "three states, of those found"), "|" + "---|" * 4]
    for strength in STRENGTHS:
        known = [figures(run, PLANTED.format(strength), "FindHidden", draw) for draw in DRAWS]
        some = [one for one in known if one is not None]
        right = [one for one in some if one["found"]]
        sized = sum(one["states"] == [N_STATES] for one in right)
        anything = sum(one["hidden"] > 0 for one in some)
        lines.append(row_of(strength, f"{len(right)} of {len(some)}", anything, f"{sized} of {len(right)}"))
    for part in (rows_part(run), wide_part(run)):
        lines += ["", *part] if part else []
    return "\n".join(lines)


def rows_part(run: runner.Runner) -> list[str]:
    """Return the part about a variable of Alarm in few and in many rows."""
    lines = paragraph(
        f"Alarm without {REMOVED}, which has two parents and two children, in tables of several numbers of rows (seed",
        "0): the scores of what is found and of the true network with the variable hidden, whose edges all are right,",
        "and whether a hidden variable is linked to at least three of the four.",
    )
    lines += [row_of("rows", "score", "of the true network", "found"), "|" + "---|" * 4]
    known = {n_rows: figures(run, BY_ROWS.format(n_rows), "FindHidden", 0) for n_rows in ALARM_ROWS}
    found = {n_rows: one for n_rows, one in known.items() if one is not None}
    for n_rows, one in found.items():
        lines.append(row_of(f"{n_rows:,}", f"{one['score']:,.1f}", f"{one['true_score']:,.1f}", yes(one["found"])))
    return lines if found else []


def wide_part(run: runner.Runner) -> list[str]:
    """Return the part about seconds."""
    lines = paragraph(
        f"Networks in which nodes of 2 or 3 states have up to two parents, {HIDDEN_SHARE:.0%} of them hidden;",
        f"{WIDE_ROWS:,} rows. Seconds of processor, of draw {', '.join(map(str, WIDE_DRAWS))}; the slope is the",
        "power of the number of columns by which their mean grows, from the row before. Target: at most 2, and 100",
        f"columns within {MOST_SECONDS} s.",
    )
    lines += [row_of("columns", "seconds", "slope", "proposals tried", "hidden variables kept"), "|" + "---|" * 5]
    before: tuple[int, float] | None = None
    for n_columns in WIDTHS:
        known = [figures(run, WIDE.format(n_columns), "FindHidden", draw) for draw in WIDE_DRAWS]
        some = [one for one in known if one is not None]
        if not some:
            continue
        mean = float(np.mean([one["seconds"] for one in some]))
        slope = "" if before is None else f"{np.log(mean / before[1]) / np.log(n_columns / before[0]):.2f}"
        seconds, tried, kept = (
            ", ".join(f"{one[name]:.0f}" for one in some) for name in ("seconds", "tried", "hidden")
        )
        lines.append(row_of(n_columns, seconds, slope, tried, kept))
        before = n_columns, mean
    return lines if before else []


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("hidden_planted", again=options.again, only=options.only)
    warnings.simplefilter("ignore")  # of states that no row has
    if not options.render:
        warm_up()
        jobs = [(PLANTED.format(strength), draw, partial(on_planted, strength, draw))
                for strength in STRENGTHS for draw in DRAWS]  # fmt: skip
        jobs += [(BY_ROWS.format(n_rows), 0, partial(on_rows, n_rows)) for n_rows in ALARM_ROWS]
        jobs += [(WIDE.format(width), draw, partial(on_wide, width, draw)) for width in WIDTHS for draw in WIDE_DRAWS]
        for case, draw, work in jobs:
            if options.only in case:
                run.compare(case, {"FindHidden": work}, seed=draw, repeats=1)
    runner.render("hidden_planted", page(run))


if __name__ == "__main__":
    main()
