"""Relations of classes in ten drawn tables against StepMix 3.0, by figures that benchmarks/relate_stepmix.py wrote."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.relate import METHODS, QUESTIONS
from benchmarks.relate_stepmix import FIGURES, N_TABLES, table_of
from pgmpy_latent import RandomStarts, relate

#: What is related, as which column, and which family.
RELATED = {"covariate": ("z", None), "normal": ("y", "normal"), "binary": ("positive", "categorical")}


@pytest.mark.parametrize("seed", range(N_TABLES))
def test_all_ways_give_what_stepmix_gives(seed):
    figures = pd.read_csv(FIGURES).set_index(["seed", "related", "way"])["value"]
    table = table_of(seed)
    learner = RandomStarts(n_states=2, n_starts=8, random_state=0).fit(table[QUESTIONS])
    low = int(np.mean([learner.tree_.table(name)[:, 1] for name in QUESTIONS], axis=0).argmin())
    compared = 0
    for (_, related, way), expected in figures.loc[[seed]].groupby(level=[0, 1, 2]):
        (column, family), (steps, correction) = RELATED[related], METHODS[way]
        if related == "covariate":
            found = relate(learner, table, column, "covariate", steps, correction, reference=low).coefficients
            values = [found["estimate"].iloc[1]]
        else:
            found = relate(learner, table, column, "outcome", steps, correction, family=family).means
            if related == "binary":
                found = found[found["category"] == 1].rename(columns={"share": "mean"})
            by_class = found.set_index("class")["mean"]
            values = [by_class[low], by_class[1 - low]]
        assert values == pytest.approx(expected.to_list(), abs=1e-4)
        compared += len(values)
    assert compared == 21
