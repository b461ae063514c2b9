# %% [markdown]
# # Which hidden variables stand behind nine answers of voters?
#
# In 1996, 944 American voters said how often they watch the news, where they place themselves and the two candidates
# between left and right, which party they identify with and whom they will vote for; age, education and income are
# known. One hidden variable for all of that would mix politics with wealth. `EAST` searches for a tree of hidden
# variables instead: which there are, how many states they have, and what hangs on which.

# %%
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pgmpy.inference import VariableElimination

from pgmpy_latent import EAST, Baseline, datasets, log_likelihood, plotting, smoothed, support

SEED = 0
survey = datasets.load_anes96()
survey.head()

# %% [markdown]
# ## The search
# It begins with one hidden variable above all columns and adds hidden variables and states, moves columns and takes
# away what is not needed, for as long as BIC rises.

# %%
learner = EAST(random_state=SEED, show_progress=False).fit(survey)
learner.history_[["operator", "target", "score", "log_likelihood", "n_parameters"]].round(1)

# %% [markdown]
# ## The tree

# %%
plotting.plot_tree(learner)
plt.show()
learner.summary()

# %% [markdown]
# Politics and wealth are different hidden variables, and they are linked: that is what the search is for. The columns
# listed below the tree say what each hidden variable is about, and how much of all that can be known about it they
# tell.
#
# ## What do its states look like?
# Profiles give the distribution of each column in each state, the most telling columns first. For the hidden variable
# that `vote` says most about:


# %%
def closest_to(column):
    """Return the hidden variable that a column says most about."""
    every = learner.informative_columns(len(survey.columns))
    return every[every["column"] == column].sort_values("mutual_information")["latent"].iloc[-1]


politics = closest_to("vote")
plotting.plot_profiles(learner, politics, n_columns=5)
plt.show()

# %% [markdown]
# The states are the two camps, without anybody having told the learner about left and right, or even that the answers
# have an order.
#
# ## Is it better than simpler models?
# BIC of the tree against models that it must beat; and the log-likelihood per row of one half of the voters under a
# model of the other half, whose tables are smoothed (a pseudo-count of 0.1 for every entry) and rule nothing out.

# %%
rivals = {
    "EAST": EAST,
    "one latent class variable": partial(Baseline, "latent_class"),
    "tree over the columns (Chow and Liu)": partial(Baseline, "chow_liu"),
    "forest over the columns with the highest BIC": partial(Baseline, "forest"),
    "independent columns": partial(Baseline, "independence"),
}
half = np.random.default_rng(SEED).permutation(len(survey)) % 2 == 0
rows = {}
for name, rival in rivals.items():
    whole = learner if name == "EAST" else rival(random_state=SEED, show_progress=False).fit(survey)
    other = smoothed(rival(random_state=SEED, show_progress=False).fit(survey[half]), survey[half])
    held_out = log_likelihood(other, survey[~half]) / (~half).sum()
    rows[name] = {"BIC": whole.bic_, "parameters": whole.n_parameters_, "held out": held_out}
pd.DataFrame(rows).T.round({"BIC": 1, "parameters": 0, "held out": 3})

# %% [markdown]
# ## How sure is the tree?
# Would other voters have led to the same tree? The search is repeated on tables drawn from the rows of this one, and
# the support of an edge is the share of trees in which some edge separates the columns in the same way. Five draws give
# a rough idea; a hundred are usual.

# %%
found_again = support(learner, survey, n_bootstrap=5, random_state=SEED, n_jobs=-1, show_progress=False)
plotting.plot_tree(learner, support=found_again)
plt.show()

# %% [markdown]
# ## The decision
# The tree wins by both measures, and reads well: we keep it. Now it can be asked in pgmpy. How does somebody vote who
# places Bill Clinton far to the left, or in the middle, and what is known about the income of such people?

# %%
inference = VariableElimination(learner.model_)
answers = {}
for clinton in ("Extremely liberal", "Moderate"):
    evidence = {"ClinLR": clinton}
    vote = inference.query(["vote"], evidence=evidence, show_progress=False)
    income = inference.query(["income"], evidence=evidence, show_progress=False)
    answers[f"Clinton is {clinton.lower()}"] = {"vote for Dole": vote.get_value(vote="Dole")} | {
        level: income.get_value(income=level) for level in survey["income"].cat.categories
    }
pd.DataFrame(answers).round(2)
