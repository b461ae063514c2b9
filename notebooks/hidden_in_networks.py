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
import networkx as nx
import numpy as np
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
    to_pgmpy,
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
def draw(networks, titles, hidden):
    """Draw networks over the same columns beside each other, hidden variables in blue."""
    figure, axes = plt.subplots(1, len(networks), figsize=(5.2 * len(networks), 4), layout="constrained")
    for ax, network, title in zip(np.atleast_1d(axes), networks, titles, strict=True):
        graph = nx.DiGraph(network.edges())
        graph.add_nodes_from(around)
        columns = [name for name in around if name in graph]
        position = nx.circular_layout(columns)
        position |= {name: np.array([0.25, 0.1]) for name in graph if name not in position}
        nx.draw_networkx_edges(graph, position, ax=ax, edge_color="0.6", node_size=1100, arrowsize=14)
        for name, (x, y) in position.items():
            style = {"boxstyle": "round", "fc": "lightblue" if name in hidden else "white", "ec": "0.6"}
            ax.text(x, y, name, ha="center", va="center", fontsize=8, bbox=style)
        ax.set(title=title, xlim=(-1.35, 1.35), ylim=(-1.25, 1.25))
        ax.axis("off")
    plt.show()


draw([part], [f"{HIDDEN} and what stands around it"], {HIDDEN})

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
draw([to_pgmpy(found.base_), found.model_], ["columns only", f"with a hidden variable, {hidden}"], {hidden})
found.summary()

# %% [markdown]
# One proposal is kept. On the left, what `HR` caused is a tangle of edges between the columns. On the right a hidden
# variable stands below `CATECHOL` and above the instruments and the cardiac output, where `HR` was; it has more states
# than `HR` had, because it took over `ERRCAUTER`, which disturbs two of the instruments at once.
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
