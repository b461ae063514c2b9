"""The page about EAST says how the rows behind its figures were smoothed."""

import json

from benchmarks import east
from pgmpy_latent import datasets, sample, smoothed


def stored(**figures):
    return {"figures": json.dumps(figures)}


def test_pages_name_the_pseudo_counts_of_the_figures_that_they_show():
    older, newer = stored(log_score_smoothed=-1.0), stored(log_score_smoothed=-1.0, pseudo_count=0.1)
    assert east.pseudo_counts([older, stored(bic=-2.0)]) == "0.05"
    assert east.pseudo_counts([newer, older]) == "0.05 or 0.1"
    assert east.pseudo_counts([]) == "0.1"


def test_new_figures_have_the_pseudo_count_of_smoothed():
    true = datasets.hlc_model(7, random_state=0)
    rows = sample(true, 100, random_state=0)
    figures = east.held_out(true, smoothed(true, rows), rows)
    assert east.pseudo_counts([stored(**figures)]) == "0.1"
