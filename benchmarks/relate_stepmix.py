"""What does StepMix say about relations of classes in ten drawn tables? Written down for the tests, which compare.

Needs StepMix 3.0 and takes a few minutes. Modal assignment; StepMix runs until an iteration gains next to nothing.

Run: python -m benchmarks.relate_stepmix
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import warnings

import pandas as pd

from benchmarks.relate import METHODS, QUESTIONS, SLOPE, drawn

#: Where the figures are kept, and of which tables.
FIGURES = runner.ROOT / "tests" / "relations" / "stepmix.csv"
N_TABLES, N_ROWS, YES = 10, 500, (0.2, 0.75)
#: What z is related as, and what StepMix calls it.
FAMILIES = {"covariate": "covariate", "normal": "gaussian_diag", "binary": "binary"}
NEWTON = {"method": "newton-raphson", "max_iter": 50, "intercept": True}


def table_of(seed: int) -> pd.DataFrame:
    """Return one of the tables: six questions, a number z, a number y, and whether y is positive."""
    table = drawn(seed, YES, SLOPE, N_ROWS)
    return table.assign(positive=(table["y"] > 0).astype(int))


def figures_of(seed: int) -> list[dict]:
    """Return slope, means and shares of a table by all ways; the class that says yes more rarely comes first."""
    from stepmix.stepmix import StepMix

    table, found = table_of(seed), []
    for name, structural in FAMILIES.items():
        column = {"covariate": "z", "normal": "y", "binary": "positive"}[name]
        for way, (steps, correction) in METHODS.items():
            if steps == 1 and name != "covariate":
                continue
            model = StepMix(
                n_components=2, n_steps=steps, correction=correction and correction.upper(), assignment="modal",
                measurement="binary", structural=structural, n_init=1, random_state=0, abs_tol=1e-12, rel_tol=0,
                max_iter=10_000, progress_bar=0, structural_params=NEWTON if name == "covariate" else {},
            ).fit(table[QUESTIONS], table[[column]])  # fmt: skip
            parameters = model.get_parameters()
            low = int(parameters["measurement"]["pis"].mean(axis=1).argmin())
            if name == "covariate":
                slopes = parameters["structural"]["beta"][:, 1]
                values = [slopes[1 - low] - slopes[low]]
            else:
                by_class = parameters["structural"]["means" if name == "normal" else "pis"][:, 0]
                values = [by_class[low], by_class[1 - low]]
            found += [
                {"seed": seed, "related": name, "way": way, "place": place, "value": float(value)}
                for place, value in enumerate(values)
            ]
    return found


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for seed in range(N_TABLES) for row in figures_of(seed)]
    pd.DataFrame(rows).to_csv(FIGURES, index=False, float_format="%.7f")


if __name__ == "__main__":
    main()
