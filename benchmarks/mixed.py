"""Numbers beside categories: latent profiles against scikit-learn, mixed tables against StepMix, and memory.

    python -m benchmarks.mixed profiles    # iris, wine, vehicle and drawn tables; 100 starts of scikit-learn each
    python -m benchmarks.mixed stepmix     # needs stepmix 3.0 in the Python that runs it
    python -m benchmarks.mixed memory      # 1,000,000 rows of 20 columns

Data are those of ``PGMPY_LATENT_DATA`` (see ``benchmarks/tables``) or of ``../shared/data``.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from pgmpy_latent import RandomStarts, compare_classes
from pgmpy_latent.model.emissions import emissions_of

DATA = Path(os.environ.get("PGMPY_LATENT_DATA", Path(__file__).parents[2] / "shared" / "data"))
#: Seeds of drawn tables of latent profiles, and numbers of profiles.
DRAWN, SIZES = range(6), range(2, 6)


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
        table = pd.read_csv(DATA / f"{name}.csv")
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


def profiles(n_starts: int = 64) -> None:
    """Print the log-likelihood of latent profiles, ours less scikit-learn's."""
    for name, table in profile_tables().items():
        kinds = dict.fromkeys(table, "gaussian")
        began = time.process_time()
        compared, models = compare_classes(
            table, SIZES, kinds=kinds, n_starts=n_starts, return_models=True, show_progress=False
        )
        ours, began = time.process_time() - began, time.process_time()
        emissions = emissions_of(models[2])
        floors = np.array(
            [emissions[models[2].index(c)].floor * emissions[models[2].index(c)].scale ** 2 for c in table]
        )
        theirs = {size: best_of_scikit_learn(table, size, floors) for size in SIZES}
        seconds = time.process_time() - began
        gains = {size: compared.loc[size, "log_likelihood"] - value for size, value in theirs.items()}
        words = ", ".join(f"{size}: {gain:+.4f}" for size, gain in gains.items())
        print(f"{name:8s} {words}   CPU seconds {ours:.1f}, scikit-learn {seconds:.1f}", flush=True)


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


def stepmix(n_starts: int = 4) -> None:
    """Print log-likelihoods and CPU seconds of StepMix and of RandomStarts with as many starts."""
    from stepmix.stepmix import StepMix

    for apart in (1.5, 0.7, 0.4):
        table = drawn_mixed(0, apart)
        kinds = {name: "gaussian" if name[0] == "g" else "categorical" for name in table}
        learner = RandomStarts(n_states=4, n_starts=n_starts, random_state=0, show_progress=False)
        learner.fit(table.head(100), kinds=kinds)  # loads the compiled code
        began = time.process_time()
        learner.fit(table, kinds=kinds)
        ours, began = time.process_time() - began, time.process_time()
        measurement = {
            "c": {"model": "categorical", "n_columns": 6},
            "g": {"model": "gaussian_diag", "n_columns": 6},
        }
        model = StepMix(4, n_steps=1, measurement=measurement, n_init=n_starts, max_iter=5000, random_state=0,
                        verbose=0, progress_bar=0)  # fmt: skip
        model.fit(table)
        theirs = time.process_time() - began
        value = model.score(table) * len(table)
        print(
            f"apart {apart}: log-likelihood {learner.log_likelihood_:.4f}, StepMix {value:.4f}; "
            f"CPU seconds {ours:.2f}, StepMix {theirs:.2f}: {theirs / ours:.1f} times as long",
            flush=True,
        )


def memory() -> None:
    """Print the peak of memory while a table of a million rows and 20 mixed columns is fitted."""
    rng, n_rows = np.random.default_rng(0), 1_000_000
    z = rng.integers(4, size=n_rows).astype(np.int8)
    columns = {f"c{at}": rng.binomial(3, rng.random(4)[z]).astype(np.int8) for at in range(10)}
    columns |= {f"g{at}": rng.normal(rng.normal(size=4)[z] * 1.5) for at in range(8)}
    columns |= {f"p{at}": rng.poisson(rng.gamma(2, 2, size=4)[z]) for at in range(2)}
    kinds = {name: {"c": "categorical", "g": "gaussian", "p": "poisson"}[name[0]] for name in columns}
    learner = RandomStarts(n_states=4, n_starts=4, random_state=0, show_progress=False)
    began = time.process_time()
    learner.fit(pd.DataFrame(columns), kinds=kinds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"1,000,000 x 20: {time.process_time() - began:.0f} CPU seconds, at most {peak:.2f} GB")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for task in sys.argv[1:] or ["profiles", "memory"]:
        {"profiles": profiles, "stepmix": stepmix, "memory": memory}[task]()
