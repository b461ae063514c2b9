"""HLTA on tables with numbers: islands are those of bins, and tables are fitted to the numbers themselves."""

import pytest

from pgmpy_latent import EAST, HLTA
from pgmpy_latent.operators.edges import neighbours_of
from tests.learners.east.test_mixed import KINDS, two_factors


@pytest.mark.parametrize("columns", ["leaves", "anywhere"])
def test_planted_islands_are_found_and_fitted_to_numbers(columns, tmp_path):
    frame = two_factors(300, missing=0.05)
    options = {"columns": columns, "random_state": 0, "show_progress": False}
    learner = HLTA(checkpoint=tmp_path / "hlta.json", **options).fit(frame, kinds=KINDS)
    tree = learner.tree_
    around = [{tree.names[at] for at in neighbours_of(tree, tree.index(name))} for name in tree.latent_names]
    assert sorted(sorted(names - set(tree.latent_names)) for names in around) == [["a", "g1", "p1"], ["b", "g2", "g3"]]
    assert learner.log_likelihood_ == pytest.approx(learner.score_samples(frame).sum(), rel=1e-9)
    assert learner.score_ == learner.bic_
    assert learner.history_["operator"].iloc[-1] == "fit to numbers"
    assert set(learner.levels_) == set(learner.latents_)
    again = HLTA(checkpoint=tmp_path / "hlta.json", **options).fit(frame, kinds=KINDS)
    assert again.tree_ == tree


def test_a_tree_found_in_bins_may_be_searched_further_on_numbers():
    frame = two_factors(100)
    start = HLTA(random_state=0, show_progress=False)
    learner = EAST(start=start, random_state=0, show_progress=False).fit(frame, kinds=KINDS)
    assert learner.bic_ >= start.fit(frame, kinds=KINDS).bic_ - 0.5
