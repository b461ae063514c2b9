# %% [markdown]
# # What can pgmpy do with a learned tree, and what survives the way back?
#
# Learners hand back pgmpy networks. So inference, sampling and files are pgmpy's, and a network that was changed there
# can come back to be fitted again. This notebook goes the whole way once, and looks at what each file format keeps.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pgmpy.inference import BeliefPropagation, VariableElimination
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import BIFReader

from pgmpy_latent import (
    EAST,
    TreeEM,
    check_export,
    datasets,
    from_pgmpy,
    load,
    plotting,
    posterior,
    read_model,
    save,
    scores,
    to_pgmpy,
    write_model,
)

SEED = 0
survey = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote", "educ", "income"]]
learner = EAST(random_state=SEED, show_progress=False).fit(survey)
plotting.plot_tree(learner)
plt.show()

# %% [markdown]
# ## Into pgmpy
# `learner.model_` is a `DiscreteBayesianNetwork`. Its hidden variables are its `latents`; everything pgmpy knows to do
# with a network works.

# %%
network = learner.model_
print(type(network).__name__, "valid:", network.check_model(), "hidden:", sorted(network.latents))
inference = VariableElimination(network)
levels = survey["PID"].cat.categories
dole = [
    inference.query(["vote"], evidence={"PID": level}, show_progress=False).get_value(vote="Dole") for level in levels
]
counted = survey.groupby("PID", observed=True)["vote"].apply(lambda votes: (votes == "Dole").mean())
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.bar(np.arange(7) - 0.2, dole, width=0.4, label="the model, by pgmpy")
ax.bar(np.arange(7) + 0.2, counted.reindex(levels), width=0.4, label="counted in the table", color="0.7")
ax.set_xticks(range(7), levels, rotation=25, ha="right")
ax.set(ylabel="P(Dole | PID)", ylim=(0, 1))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Two engines of pgmpy and ours must agree. Ours answers for whole tables at once, gaps included.

# %%
evidence = {"PID": "Weak Republican", "educ": "College degree"}
hidden = learner.latents_[0]
by_elimination = inference.query([hidden], evidence=evidence, show_progress=False).values
propagation = BeliefPropagation(network)
by_propagation = propagation.query([hidden], evidence=evidence, show_progress=False).values
ours = posterior(learner.tree_, pd.DataFrame([evidence]).reindex(columns=survey.columns))[hidden].to_numpy()[0]
assert np.allclose(by_elimination, by_propagation)
assert np.allclose(by_elimination, ours)
print(f"P({hidden} | evidence) = {ours.round(4)}, three times the same")
print(inference.map_query(["vote", "selfLR"], evidence=evidence, show_progress=False))

# %% [markdown]
# ## Into files
# `save` writes JSON and loses nothing. `write_model` writes the formats of other programs, with every digit. What such
# a file cannot say, here which variable is hidden and that its states are numbers, goes into a small file beside it;
# `check_export` says so before.

# %%
save(learner.tree_, "tree.json")
assert load("tree.json") == learner.tree_
print(check_export(learner.tree_, "bif"))
print("written:", *(path.name for path in write_model(learner.tree_, "tree.bif")))

# %% [markdown]
# pgmpy reads the file like any other; `read_model` reads both files, and the tree comes back as it was.

# %%
read = BIFReader("tree.bif").get_model()
print("hidden after reading with pgmpy:", sorted(read.latents), "states:", read.states[hidden])
assert from_pgmpy(read_model("tree.bif")) == learner.tree_
print("hidden after reading with both:", sorted(read_model("tree.bif").latents))

# %% [markdown]
# ## And back, to go on
# A network that was changed in pgmpy can be fitted again. Here somebody takes the view that education should be
# explained by the vote instead of by a hidden variable, and asks whether the data agree. EM starts anew for the changed
# network.

# %%
edges = [edge for edge in network.edges() if edge[1] != "educ"] + [("vote", "educ")]
changed = DiscreteBayesianNetwork(edges, latents=set(learner.latents_))
estimator = TreeEM(latent_card=learner.n_states_, seed=SEED, show_progress=False)
changed.fit(survey, estimator=estimator)
for name, tree in {"as learned": learner.tree_, "changed": estimator.tree_}.items():
    print(f"{name:>10}: BIC {scores.bic(tree, survey):.1f}, {scores.n_parameters(tree)} parameters")

# %% [markdown]
# ## The decision
# The learned tree has the higher BIC: the change is dropped. JSON is the file to keep; a BIF file is for programs that
# read nothing else. From the file to a query takes two lines:

# %%
restored = to_pgmpy(load("tree.json"))
print(VariableElimination(restored).query(["vote"], evidence={"income": "$60k and over"}, show_progress=False))
