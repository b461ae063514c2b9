# %% [markdown]
# # Does this network lack a variable?
#
# In a Bayesian network a variable that nobody measured leaves a trace: its children become linked with each other. Here
# we take a network that is known, hide one of its variables, and see whether the trace leads back to it: how many
# states it had, and where it stood.

# %%
import gzip
from importlib import resources

import matplotlib.pyplot as plt
import pandas as pd
from pgmpy.base import DAG
from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader

from pgmpy_latent import (
    AgglomerativeCardinality,
    FindHidden,
    network_from_pgmpy,
    plotting,
    row_log_likelihoods,
    sample,
    scores,
)

SEED = 0

# %% [markdown]
# ## The network
# `alarm` is about patients under anaesthesia. pgmpy ships it. We look at the heart rate, `HR`, and all that stands next
# to it: three instruments show it, and it acts on the cardiac output.

# %%
packed = (resources.files("pgmpy") / "utils" / "example_models" / "alarm.bif.gz").read_bytes()
alarm = BIFReader(string=gzip.decompress(packed).decode()).get_model()
HIDDEN = "HR"
around = sorted(alarm.get_markov_blanket(HIDDEN))
part = alarm.subgraph([HIDDEN, *around])
print(f"{HIDDEN} has {alarm.get_cardinality(HIDDEN)} states: {alarm.states[HIDDEN]}")


# %%
plotting.plot_network(network_from_pgmpy(alarm), around=[HIDDEN])
plt.show()

# %% [markdown]
# ## A table
# 5,000 patients drawn from the whole network, of whom we keep the columns around `HR`, but not `HR` itself.

# %%
table = sample(network_from_pgmpy(alarm), 5000, random_state=SEED)[around]
table.head()

# %% [markdown]
# ## How many states did it have?
# Suppose first that the structure is known. `AgglomerativeCardinality` begins with a state for every distinct
# combination of what stands around the variable, and merges the two that cost least, until one is left. The score of
# the table completed in this way says how many there should be, and EM has the last word.

# %%
graph = DAG(part.edges(), latents={HIDDEN})
sized = AgglomerativeCardinality(graph, show_progress=False).fit(table)
plotting.plot_cardinality(sized)
plt.show()
print(f"states found: {sized.cardinality_[HIDDEN]}")

# %%
plotting.plot_merges(sized, n_leaves=10)
plt.show()

# %% [markdown]
# Three, as it was. Merges run from left to right, with what each changes the score by; the diamonds are the three
# states that are left when the score is highest. Merging two of them would cost more than a hundred, and the last merge
# thousands.
#
# ## Where did it stand?
# Now the structure is unknown too. `FindHidden` learns a network over the columns, looks for sets of columns that are
# densely linked, and tries a hidden parent for each.

# %%
found = FindHidden(random_state=SEED, show_progress=False).fit(table)
found.candidates_[["members", "n_states", "gain", "kept"]].round(1)

# %%
(hidden,) = found.latents_
plotting.plot_network(found.base_)
plt.show()
plotting.plot_network(found)
plt.show()
found.summary()

# %% [markdown]
# One proposal is kept. With columns only, what `HR` caused is a tangle of edges between the columns. With the hidden
# variable, most of the tangle is gone; edges that were not there before are orange red. Which of the edges of `HR` does
# the hidden variable have, and how many states?

# %%
known = {edge: "yes" for edge in part.edges()}
learned = {tuple(HIDDEN if end == hidden else end for end in edge): "yes" for edge in found.model_.edges()}
print(f"{HIDDEN}: {alarm.get_cardinality(HIDDEN)} states, {hidden}: {found.model_.get_cardinality(hidden)} states")
pd.DataFrame({"alarm": known, "found": learned}).fillna("").sort_index()

# %% [markdown]
# It has three states, as `HR` had, and stands between `CATECHOL`, the instruments and the cardiac output, where `HR`
# was. All links of `alarm` are found, and no others. The one to `CATECHOL` points the other way, which no table could
# tell: nothing else acts on the heart rate here, and with either direction the network can hold the same distributions.
# `ERRCAUTER`, which disturbs two of the instruments, still points at these two.
#
# ## Is it really the heart rate?
# We know what we hid, so we can look.

# %%
everything = sample(network_from_pgmpy(alarm), 5000, random_state=SEED)
state = found.predict(table)[hidden]
pd.crosstab(everything[HIDDEN], state)

# %% [markdown]
# Is the network better for rows that it has not seen? Mean log-likelihood of 5,000 new patients, larger is better:

# %%
new = sample(network_from_pgmpy(alarm), 5000, random_state=SEED + 1)[around]
print(
    f"columns only: {row_log_likelihoods(found.base_, new).mean():.4f}, {scores.n_parameters(found.base_)} parameters"
)
print(f"with {hidden}:       {found.score(new):.4f}, {found.n_parameters_} parameters")

# %% [markdown]
# ## The decision
# With fewer parameters it predicts better: the network lacked a variable. pgmpy can now say what instruments together
# mean. Two of them show a high rate; what does the third one show, and the cardiac output?

# %%
inference = VariableElimination(found.model_)
evidence = {"HREKG": "HIGH", "HRSAT": "HIGH"}
for column in ("HRBP", "CO"):
    print(inference.query([column], evidence=evidence, show_progress=False))
