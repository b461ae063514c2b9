"""The thesis' Table 5.1: when a component too many can be merged away; and what is known about each structure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np

from benchmarks import merging
from benchmarks.tables.cells import COUNT, NOT_MEASURED, Cell, compared, not_comparable
from benchmarks.tables.results import Job

TITLE = "Karčiauskas, Table 5.1"
BACK, IDENTIFIABLE, FITS = "L by merging", "L' identifiable", "dim(L') at most the free cells"
NOTES = [
    "1 is yes and 0 is no. L by merging, a cell per structure: the share of fitted "
    "models L' that describe L's data perfectly and give L back when the best pair of components is merged. Where the "
    "thesis says yes and some of ours do not give L back, the table states a conjecture which does not hold for all "
    "parameters (see the section on merging components in the page of benchmarks, which has counter-examples in "
    "closed form): a fact about models, not better or worse.",
    "L' identifiable: the Jacobian of the cells with respect to the parameters has full column rank at random "
    "parameters. The last column is a count of parameters.",
]
#: The thesis' rows -> which structures, whether L' is identifiable, whether its parameters are no more than free cells.
ROWS = {
    "2:4x2 -> 3:4x2": (slice(0, 1), 0.0, 1.0),
    "2-4:5x2 -> 3-5:5x2": (slice(1, 4), 1.0, 1.0),
    "2-8:6x2 -> 3-9:6x2": (slice(4, 11), 1.0, 1.0),
    "2:3x2 -> 3:3x2": (slice(11, 12), 0.0, 0.0),
    "3:4x2 -> 4:4x2": (slice(12, 13), 0.0, 0.0),
    "5:5x2 -> 6:5x2": (slice(13, 14), 0.0, 0.0),
    "9:6x2 -> 10:6x2": (slice(14, 15), 0.0, 0.0),
}
#: Random parameters at which ranks are taken, and what a singular value is called zero below.
N_DRAWS, ZERO = 3, 1e-9
QUICK = "quick: "
#: What benchmarks.merging calls its method.
MERGED = "ours"


def structures() -> list[tuple[int, tuple[int, ...], bool]]:
    """Return components of L, states of its variables, and whether the thesis got L back."""
    return list(merging.TABLE)


def n_parameters(n_components: int, cards: tuple[int, ...]) -> int:
    return n_components - 1 + n_components * sum(card - 1 for card in cards)


def jacobian(n_components: int, cards: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return the derivatives of all cells by the free parameters, (parameters, cells), at random parameters."""
    model = merging.random_model(n_components, cards, rng)
    shares, rows = model.tables[0][0], list(model.tables[1:])

    def cells(component: int, replaced: dict[int, np.ndarray]) -> np.ndarray:
        product = np.ones(1)
        for at, table in enumerate(rows):
            product = np.multiply.outer(product, replaced.get(at, table[component])).ravel()
        return product

    whole = [cells(component, {}) for component in range(n_components)]
    found = [one - whole[-1] for one in whole[:-1]]
    for component in range(n_components):
        for at, card in enumerate(cards):
            for state in range(card - 1):
                slope = np.zeros(card)
                slope[state], slope[-1] = 1.0, -1.0
                found.append(shares[component] * cells(component, {at: slope}))
    return np.array(found)


def identifiable(n_components: int, cards: tuple[int, ...]) -> dict:
    """Return the largest rank over a few random parameters, and the number of parameters."""
    rng = np.random.default_rng([n_components, *cards])
    ranks = []
    for _ in range(N_DRAWS):
        matrix = jacobian(n_components, cards, rng)
        values = np.linalg.svd(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), compute_uv=False)
        ranks.append(int((values > ZERO * values[0]).sum()))
    return {"rank": max(ranks), "parameters": n_parameters(n_components, cards)}


def jobs(run: runner.Runner) -> Iterator[Job]:
    """Return the ranks, and the merging that benchmarks.merging has not done."""
    for n_components, cards, _ in structures():
        case = merging.case_of(n_components, cards)
        yield case, IDENTIFIABLE, 0, lambda m=n_components, c=cards: identifiable(m + 1, c)
        if not merged(run, n_components, cards):
            yield case, MERGED, 0, lambda m=n_components, c=cards: merging.one_too_many((m, c))


def quick_jobs(run: runner.Runner) -> Iterator[Job]:
    """Return the rank of the first structure."""
    n_components, cards, _ = structures()[0]
    yield QUICK + merging.case_of(n_components, cards), IDENTIFIABLE, 0, lambda: identifiable(n_components + 1, cards)


def merged(run: runner.Runner, n_components: int, cards: tuple[int, ...]) -> dict | None:
    """Return what merging found for a structure, with seconds: by benchmarks.merging, or by this script."""
    case = merging.case_of(n_components, cards)
    row = runner.Runner("merging").find(case, MERGED) or run.find(case, MERGED)
    return {**json.loads(row["figures"]), "seconds": float(row["seconds"])} if row else None


def merging_cell(run: runner.Runner, n_components: int, cards: tuple[int, ...], possible: bool) -> Cell:
    """Compare how often L is got back with what the thesis says."""
    row, found = merging.case_of(n_components, cards), merged(run, n_components, cards)
    if found is None:
        return Cell(TITLE, row, BACK, float(possible), COUNT)
    n_back, n_perfect = found["back"], found["perfect"]
    share = n_back / n_perfect
    if share == possible:
        return Cell(
            TITLE, row, BACK, float(possible), COUNT, compared(float(possible), share, 0.0, seconds=found["seconds"])
        )
    n_away, n_models = found["models_away"], found["models"]
    reason = (
        f"the thesis' conjecture fails: {n_perfect - n_back} of {n_perfect} perfect L', for {n_away} of {n_models} "
        "models L, do not give L back"
    )
    return Cell(TITLE, row, BACK, float(possible), COUNT, not_comparable(reason, share))


def property_cells(run: runner.Runner, name: str, number: slice, theirs: tuple[float, float]) -> list[Cell]:
    """Compare the last two columns of one of the thesis' rows, which may stand for several structures."""
    here = [(n_components + 1, cards) for n_components, cards, _ in structures()[number]]
    cases = [merging.case_of(n_components - 1, cards) for n_components, cards in here]
    fits = all(n_parameters(*one) <= np.prod(one[1]) - 1 for one in here)
    rank = NOT_MEASURED
    if all(run.find(case, IDENTIFIABLE) for case in cases):
        ranks = [[run.figure(case, IDENTIFIABLE, figure) for figure in ("rank", "parameters")] for case in cases]
        full = float(all(rank == size for rank, size in ranks))
        rank = compared(theirs[0], full, 0.0)
    return [
        Cell(TITLE, name, IDENTIFIABLE, theirs[0], COUNT, rank),
        Cell(TITLE, name, FITS, theirs[1], COUNT, compared(theirs[1], float(fits), 0.0)),
    ]


def cells(run: runner.Runner) -> list[Cell]:
    """Return a cell per structure for merging, and one per row of the thesis for the other columns."""
    found = [merging_cell(run, *structure) for structure in structures()]
    for name, (number, *theirs) in ROWS.items():
        found += property_cells(run, name, number, tuple(theirs))
    return found
