"""Models of numbers by other libraries: latent profiles by scikit-learn and StepMix, trees of numbers by semopy.

Each function fits in the process that it is called in, and returns the fitted model; ``benchmarks.peers`` times it.
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.gaussian import drawn_tree
from benchmarks.mixed import drawn_profiles
from pgmpy_latent import GaussianTree, GaussianTreeEM, RandomStarts, gaussian
from pgmpy_latent.model.emissions import emissions_of
from pgmpy_latent.model.gaussian_convert import to_linear_gaussian


class Profiles(NamedTuple):
    """Latent profiles of a file, or of so many drawn rows."""

    file: str
    n_profiles: int
    n_starts: int
    n_rows: int = 0


PROFILES = {
    "vehicle, 4 profiles, 20 starts": Profiles("vehicle.csv", 4, 20),
    "50,000 drawn rows of 10 numbers, 5 profiles, 5 starts": Profiles("", 5, 5, 50_000),
    "quick: 300 drawn rows of 10 numbers, 2 profiles, 2 starts": Profiles("", 2, 2, 300),
}
#: Case -> number of columns of a drawn tree, or none for the nine tests of Holzinger and Swineford, and rows.
GAUSSIAN_TREES = {
    "nine tests, three factors below a general one, 301 rows": (None, 301),
    "drawn tree of 40 numbers, 1,000 rows": (40, 1_000),
    "quick: drawn tree of 10 numbers, 200 rows": (10, 200),
}
FACTORS = {"visual": ("x1", "x2", "x3"), "text": ("x4", "x5", "x6"), "speed": ("x7", "x8", "x9")}

# -- latent profiles ---------------------------------------------------------------------------------------------------


def profile_rows(case: Profiles) -> pd.DataFrame:
    if not case.file:
        return drawn_profiles(0, case.n_rows, 10, case.n_profiles)
    return pd.read_csv(runner.DATA / case.file).drop(columns="class").astype(float).dropna()


def variance_share(variances: np.ndarray, frame: pd.DataFrame) -> float:
    """Return the least variance of a column in a profile, as a share of the column's.

    >>> variance_share(np.array([[0.5, 1.0], [1.0, 2.0]]), pd.DataFrame({"x": [0.0, 2.0], "y": [0.0, 4.0]}))
    0.25
    """
    return float((variances / frame.var(ddof=0).to_numpy()).min())


def profiles(case: Profiles, frame: pd.DataFrame, enough: float) -> tuple[float, float]:
    """Return the log-likelihood of ours and the least variance; ``enough`` is what its EM leaves by default."""
    learner = RandomStarts(n_states=case.n_profiles, n_starts=case.n_starts, random_state=0, show_progress=False)
    learner.fit(frame, kinds=dict.fromkeys(frame, "gaussian"))
    emissions, tree = emissions_of(learner.tree_), learner.tree_
    found = [emissions[tree.index(name)].parameters(tree.tables[tree.index(name)]).variance for name in frame]
    return learner.log_likelihood_, variance_share(np.column_stack(found), frame)


def scikit_profiles(case: Profiles, frame: pd.DataFrame, enough: float) -> tuple[float, float]:
    """Return the log-likelihood of scikit-learn's mixture and the least variance."""
    from sklearn.mixture import GaussianMixture

    options = {"covariance_type": "diag", "n_init": case.n_starts, "max_iter": 100_000, "random_state": 0}
    model = GaussianMixture(case.n_profiles, tol=enough / len(frame), **options).fit(frame.to_numpy())
    return model.score(frame.to_numpy()) * len(frame), variance_share(model.covariances_, frame)


def stepmix_profiles(case: Profiles, frame: pd.DataFrame, enough: float) -> tuple[float, float]:
    """Return the log-likelihood of StepMix and the least variance."""
    from stepmix import StepMix

    tolerances = {"abs_tol": enough / len(frame), "rel_tol": 0.0, "max_iter": 100_000}
    options = {"measurement": "gaussian_diag", "n_init": case.n_starts, "verbose": 0, "progress_bar": 0}
    model = StepMix(case.n_profiles, random_state=0, **options, **tolerances).fit(frame)
    variances = model.get_parameters()["measurement"]["covariances"]
    return model.score(frame) * len(frame), variance_share(variances, frame)


# -- trees of numbers --------------------------------------------------------------------------------------------------


def tree_of_numbers(case: str) -> tuple[list[tuple[str, str]], pd.DataFrame]:
    """Return the edges of a tree, from its root downwards, and rows; hidden variables are no columns."""
    n_columns, n_rows = GAUSSIAN_TREES[case]
    if n_columns is None:
        rows = pd.read_csv(runner.DATA / "holzinger9.csv")
        edges = [("general", factor) for factor in FACTORS]
        edges += [(factor, column) for factor, columns in FACTORS.items() for column in columns]
        return edges, rows[[column for columns in FACTORS.values() for column in columns]]
    truth: GaussianTree = drawn_tree(n_columns, 0)
    return list(to_linear_gaussian(truth).edges), gaussian.sample(truth, n_rows, random_state=0)


def gaussian_tree(edges: list[tuple[str, str]], frame: pd.DataFrame, enough: float) -> float:
    """Return the log-likelihood of ours."""
    from pgmpy.models import LinearGaussianBayesianNetwork

    hidden = {node for edge in edges for node in edge} - set(frame.columns)
    network = LinearGaussianBayesianNetwork(edges, latents=hidden)
    return GaussianTreeEM(atol=enough, seed=0, show_progress=False).fit(network, frame).log_likelihood_


def semopy_tree(edges: list[tuple[str, str]], frame: pd.DataFrame) -> Any:
    """Return semopy's model of the same tree: every hidden variable is measured by its children."""
    from semopy import Model

    children: dict[str, list[str]] = {}
    for above, node in edges:
        children.setdefault(above, []).append(node)
    if unfit := sorted(set(children) & set(frame.columns)):
        raise ValueError(f"columns {unfit} have children; only hidden variables may be measured by others")
    model = Model("\n".join(f"{above} =~ {' + '.join(below)}" for above, below in children.items()))
    model.fit(frame)
    return model


def implied_log_likelihood(model: Any, frame: pd.DataFrame) -> float:
    """Return the log-likelihood of rows under the covariances that semopy's model implies, and the rows' own means."""
    covariance, n_rows = model.calc_sigma()[0], len(frame)
    seen = np.cov(frame[model.names_lambda[0]].to_numpy(), rowvar=False, bias=True)
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    return -n_rows / 2 * (log_determinant + np.trace(np.linalg.solve(covariance, seen)))
