"""What searches for Gaussian trees maximise."""

import numpy as np
import pytest

from pgmpy_latent import GaussianBaseline, GaussianBinA, GaussianBinG, GaussianEAST, GaussianTree, gaussian
from tests.support.gaussian_samples import drawn

SEARCHES = [GaussianEAST, GaussianBinG, GaussianBinA]


@pytest.mark.parametrize("learner", SEARCHES)
@pytest.mark.parametrize("name", ["bic", "aic", "ebic"])
def test_scores_are_what_their_formulas_say(learner, name):
    rows = drawn(150).iloc[:, :6]
    found = learner(scoring_method=name, random_state=0, show_progress=False).fit(rows)
    n_edges = int((found.tree_.parent >= 0).sum())
    parameter = 1.0 if name == "aic" else np.log(150) / 2
    further = np.log(6) if name == "ebic" else 0.0  # 2 * 0.5 * ln(columns)
    wanted = found.log_likelihood_ - parameter * found.n_parameters_ - further * n_edges
    assert found.score_ == pytest.approx(wanted, rel=1e-12)
    assert found.history_["score"].iloc[-1] == pytest.approx(found.score_, rel=1e-12)
    assert found.bic_ == pytest.approx(found.log_likelihood_ - np.log(150) / 2 * found.n_parameters_, rel=1e-12)


def test_the_extended_bic_leaves_out_edges_that_look_useful_by_chance():
    nothing = GaussianTree([f"x{at}" for at in range(20)], [-1] * 20, [False] * 20, [0.0] * 20)
    n_edges = {"bic": 0, "ebic": 0}
    for seed in range(3):
        rows = gaussian.sample(nothing, 100, random_state=seed)
        for name in n_edges:
            found = GaussianBinG(simplify=True, scoring_method=name, show_progress=False).fit(rows)
            n_edges[name] += int((found.tree_.parent >= 0).sum())
    assert n_edges["bic"] >= 5
    assert n_edges["ebic"] <= 1


def test_edges_that_are_there_are_kept():
    two = drawn(1000)[[f"x{at}" for at in range(6)]]  # below two hidden variables
    found = GaussianEAST(columns="leaves", scoring_method="ebic", random_state=0, show_progress=False).fit(two)
    assert [len(found.tree_.neighbours(name)) for name in found.latents_] == [4, 4]


def test_other_scores_are_refused():
    with pytest.raises(ValueError, match="scoring_method is 'cs'; give 'bic', 'aic' or 'ebic'"):
        GaussianEAST(scoring_method="cs").fit(drawn(40))
    with pytest.raises(TypeError):
        GaussianBaseline(scoring_method="ebic")
