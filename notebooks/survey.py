# %% [markdown]
# # Which classes of answers does a survey hold, and can they be published?
#
# A latent class analysis from the table to what goes into a paper: how many classes, what they look like, how well rows
# are assigned, and whether other software says the same. The survey is an old one, so that everything can be compared
# with published figures.

# %%
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pgmpy.inference import VariableElimination

from pgmpy_latent import RandomStarts, average_posteriors, compare_classes, plotting, residuals, standard_errors

SEED = 0

# %% [markdown]
# ## The survey
# Stouffer and Toby (1951) asked 216 people what they would do in four situations (A to D) in which a duty to a friend
# conflicts with a duty to everybody. An answer is particularistic (1: the friend comes first) or universalistic (2).
# There are sixteen patterns of answers, and the table has how many people gave each. Rows are weighted by this number:
# a weight of 42 is 42 people.

# %%
VALUES = """A B C D people
1 1 1 1 20
1 1 1 2 2
1 1 2 1 9
1 1 2 2 2
1 2 1 1 6
1 2 1 2 1
1 2 2 1 4
1 2 2 2 1
2 1 1 1 38
2 1 1 2 7
2 1 2 1 24
2 1 2 2 6
2 2 1 1 25
2 2 1 2 6
2 2 2 1 23
2 2 2 2 42
"""


def read(text, names):
    """Return the patterns, with names for the two answers, and how often each occurs."""
    table = pd.read_csv(io.StringIO(text), sep=" ")
    patterns, weights = table.iloc[:, :-1], table.iloc[:, -1]
    return patterns.replace(dict(enumerate(names, start=1))), weights


answers, people = read(VALUES, ["particularistic", "universalistic"])
print(f"{people.sum()} people, {len(answers)} patterns")

# %% [markdown]
# ## How many classes?
# One table for several numbers. BIC is on the scale of the log-likelihood here, and larger is better: -2 times as much
# is what statistical software prints. The bootstrap likelihood-ratio test (`blrt_p`) says whether one class more is
# worth having; `g2_p` is small if the table deviates from the model by more than chance; both draw 100 tables from
# every model.

# %%
comparison = compare_classes(
    answers, range(1, 5), sample_weight=people, n_bootstrap=100, random_state=SEED, show_progress=False
)
plotting.plot_comparison(comparison)
plt.show()
print(comparison.attrs["reason"])
shown = ["best", "log_likelihood", "n_parameters", "bic", "n_best", "n_starts", "identified", "g2", "g2_p", "blrt_p"]
comparison[shown].round(3)

# %% [markdown]
# Two classes, say all scores but ICL, which punishes classes that overlap; and the test: a second class is needed, a
# third is not. Three would not even be identified, as the 15 free cells of the table determine fewer than their 14
# parameters.
#
# ## The model
# Two classes from many starts. Classes are numbered by size. Do they explain how the answers go together? The residuals
# of all pairs say so: chi-squared of the observed against the fitted pair.

# %%
learner = RandomStarts(n_states=2, n_starts=20, random_state=SEED, show_progress=False).fit(
    answers, sample_weight=people
)
pairs = residuals(learner, answers, sample_weight=people)
pairs[["first", "second", "statistic", "df", "p_value"]].round(3)

# %%
print(pairs.attrs["advice"])
plotting.plot_profiles(learner)
plt.show()

# %% [markdown]
# The small class is universalistic throughout. In the large one it depends on the situation: most are in A, few in D.
# How surely are people assigned? The mean posterior of those who are assigned to each class:

# %%
average_posteriors(learner, answers, sample_weight=people).round(2)


# %% [markdown]
# ## Do poLCA and StepMix agree?
# poLCA's figures are published (Linzer and Lewis 2011, and the examples of the package): log-likelihood -504.4677, BIC
# 1057.313, G² 2.720 and X² 2.720 on 6 degrees of freedom.


# %%
def stepmix_fit(patterns, weights, n_classes):
    """Return StepMix' log-likelihood and BIC, or None if it is not installed."""
    try:
        from stepmix.stepmix import StepMix
    except ImportError:
        return None
    codes = patterns.apply(lambda column: column.astype("category").cat.codes).loc[patterns.index.repeat(weights)]
    fit = StepMix(n_classes, measurement="categorical", n_init=10, random_state=SEED, progress_bar=0).fit(codes)
    return [fit.score(codes) * len(codes), fit.bic(codes), np.nan, np.nan]


def beside(ours, patterns, weights, polca):
    """Return our figures, poLCA's as published, and StepMix' as computed here, if it is installed."""
    rows = {
        "pgmpy_latent": [ours["log_likelihood"], -2 * ours["bic"], ours["g2"], ours["x2"]],
        "poLCA, as published": polca,
    }
    stepmix = stepmix_fit(patterns, weights, ours.name)
    if stepmix is not None:
        rows["StepMix"] = stepmix
    return pd.DataFrame.from_dict(rows, orient="index", columns=["log-likelihood", "BIC", "G²", "X²"])


agreement = beside(
    comparison.loc[2],
    answers,
    people,
    polca=[-504.4677, 1057.313, 2.719922, 2.719764],
)
assert np.allclose(agreement.loc["pgmpy_latent"], agreement.loc["poLCA, as published"], atol=1e-3)
assert np.allclose(agreement["log-likelihood"], -504.4677, atol=1e-2)
agreement.round(3)

# %% [markdown]
# ## A second table: seven pathologists
# 118 slides, and seven pathologists (A to G) who say whether there is a carcinoma. poLCA's paper finds three classes.

# %%
CARCINOMA = """A B C D E F G slides
1 1 1 1 1 1 1 34
1 1 1 1 2 1 1 2
1 2 1 1 1 1 1 6
1 2 1 1 1 1 2 1
1 2 1 1 2 1 1 4
1 2 1 1 2 1 2 5
2 1 1 1 1 1 1 2
2 1 2 1 2 1 2 1
2 2 1 1 1 1 1 2
2 2 1 1 1 1 2 1
2 2 1 1 2 1 1 2
2 2 1 1 2 1 2 7
2 2 1 1 2 2 2 1
2 2 1 2 1 1 2 1
2 2 1 2 2 1 2 2
2 2 1 2 2 2 2 3
2 2 2 1 2 1 2 13
2 2 2 1 2 2 2 5
2 2 2 2 2 1 2 10
2 2 2 2 2 2 2 16
"""
diagnoses, slides = read(CARCINOMA, ["no", "yes"])
second_comparison = compare_classes(diagnoses, range(1, 5), sample_weight=slides, random_state=SEED)
second_comparison[["best", "log_likelihood", "n_parameters", "bic", "g2", "x2"]].round(3)

# %%
second = RandomStarts(n_states=3, n_starts=20, random_state=SEED, show_progress=False).fit(
    diagnoses, sample_weight=slides
)
agreement = beside(
    second_comparison.loc[3],
    diagnoses,
    slides,
    polca=[-293.705, 697.1357, 15.26171, 20.50336],
)
assert np.allclose(agreement.loc["pgmpy_latent"], agreement.loc["poLCA, as published"], atol=2e-2)
agreement.round(3)

# %% [markdown]
# ## The tables for the paper
# Sizes of the classes and probabilities of an answer, with standard errors from the curvature of the likelihood.


# %%
def publication_table(errors, answer, classes):
    """Return probabilities of one answer in every class, and the sizes of the classes, as text with standard errors."""
    errors = errors.assign(
        text=[
            f"{row.probability:.2f} ({row.standard_error:.2f})"
            if np.isfinite(row.standard_error)
            else f"{row.probability:.2f}"
            for row in errors.itertuples()
        ]
    )
    sizes = errors[errors["parent_state"].isna()].set_index("state")["text"]
    items = errors[errors["state"] == answer].pivot(index="node", columns="parent_state", values="text")
    table = pd.concat([sizes.rename("size").to_frame().T, items])
    return table.rename(columns=classes).rename_axis(index=None, columns=None)


errors = standard_errors(learner, answers, sample_weight=people)
publication_table(errors, "universalistic", {0: "depends", 1: "universalistic"})

# %% [markdown]
# Among the pathologists some probabilities are 0 or 1, where the curvature means nothing; there the bootstrap is the
# way. poLCA's paper has shares of 44%, 37% and 18%; pathologist A finds a carcinoma in 51% of the slides of the
# smallest class, and C in 86% of those of the largest.

# %%
errors = standard_errors(
    second, diagnoses, sample_weight=slides, method="bootstrap", random_state=SEED, show_progress=False
)
classes = {0: "carcinoma", 1: "no carcinoma", 2: "problematic"}
profile = second.profiles()["H"].rename(columns=classes)
assert np.allclose(profile.loc[("share", "")], [0.4447, 0.3736, 0.1817], atol=1e-3)
assert np.allclose(
    [profile.loc[("A", "yes"), "problematic"], profile.loc[("C", "yes"), "carcinoma"]], [0.5128, 0.8575], atol=1e-3
)
publication_table(errors, "yes", classes)

# %% [markdown]
# ## The decision
# The fits agree on both tables, and sizes and profiles are those that poLCA's authors published: the classes can be
# trusted. The model is a pgmpy network as well. A slide on which B, E and G see a carcinoma and the others have not yet
# looked: which class is it?

# %%
evidence = {"B": "yes", "E": "yes", "G": "yes"}
print(VariableElimination(second.model_).query(["H"], evidence=evidence, show_progress=False))
