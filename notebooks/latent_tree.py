# %% [markdown]
# # Which hidden variables stand behind nine answers of voters?
#
# In 1996, 944 American voters said how often they watch the news, where they place themselves and the two candidates
# between left and right, which party they identify with and whom they will vote for; age, education and income are
# known. One hidden variable for all of that would mix politics with wealth. `EAST` searches for a tree of hidden
# variables instead: which there are, how many states they have, and what hangs on which.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pgmpy.inference import VariableElimination

from pgmpy_latent import EAST, Baseline, datasets, plotting

SEED = 0
survey = datasets.load_anes96()
survey.head()

# %% [markdown]
# ## The search
# It begins with one hidden variable above all columns and adds hidden variables and states, moves columns and takes
# away what is not needed, for as long as BIC rises.

# %%
learner = EAST(random_state=SEED, show_progress=False).fit(survey)
plotting.plot_history(learner)
plt.show()
print(learner.history_["operator"].value_counts().to_string())

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
# BIC of the tree against models that it must beat, and the log-likelihood per row of voters who were left out (five
# folds).

# %%
rivals = {
    "EAST": learner,
    "one latent class variable": Baseline("latent_class", random_state=SEED, show_progress=False),
    "tree over the columns (Chow and Liu)": Baseline("chow_liu"),
    "independent columns": Baseline("independence"),
}
folds = np.random.default_rng(SEED).permutation(len(survey)) % 5


def held_out(rival):
    """Return the mean log-likelihood of rows that were not learned from; a small prior rules nothing out."""
    values = np.empty(len(survey))
    for fold in range(5):
        again = type(rival)(**{**rival.get_params(), "prior": 0.01})
        values[folds == fold] = again.fit(survey[folds != fold]).score_samples(survey[folds == fold])
    return values.mean()


table = pd.DataFrame(
    {
        name: {"BIC": rival.fit(survey).bic_, "parameters": rival.n_parameters_, "held out": held_out(rival)}
        for name, rival in rivals.items()
    }
).T
table.round({"BIC": 1, "parameters": 0, "held out": 3})

# %% [markdown]
# ## The decision
# The tree wins by both measures, and reads well: we keep it. Now it can be asked in pgmpy. How does somebody vote who
# places Bill Clinton far to the left, and what is known about the income of such people?

# %%
inference = VariableElimination(learner.model_)
for clinton in ("Extremely liberal", "Moderate"):
    answer = inference.query(["vote"], evidence={"ClinLR": clinton}, show_progress=False)
    print(f"Clinton is {clinton.lower()}: P(Dole) = {answer.get_value(vote='Dole'):.2f}")
print(inference.query([politics], evidence={"vote": "Dole", "income": "$60k and over"}, show_progress=False))
