# %% [markdown]
# # Which topics are these documents about?
#
# Words that occur in the same documents share a topic. `BinG` builds a tree of hidden variables over the words, from
# the bottom up, in seconds. Here the documents are made, with topics that we know, so that we can see what is found:
# four topics in two areas, ten words each, and ten words that belong to nothing.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from pgmpy.inference import VariableElimination

from pgmpy_latent import Baseline, BinG, mutual_information, plotting

SEED = 0
N_DOCUMENTS = 4000
TOPICS = {
    "spaceflight": "orbit shuttle moon launch nasa satellite mission rocket lunar solar",
    "computers": "windows disk driver memory server graphics software files format printer",
    "medicine": "doctor patients disease vitamin cancer health studies drug hospital symptoms",
    "hockey": "team season puck players league goal coach fans playoffs rink",
}
TOPICS = {topic: words.split() for topic, words in TOPICS.items()}
AREAS = {"science": ("spaceflight", "computers"), "life": ("medicine", "hockey")}
COMMON = ["monday", "people", "question", "number", "course", "problem", "world", "fact", "case", "reason"]

# %% [markdown]
# ## Documents
# A document is about science or about life, mostly about one topic of that area, sometimes about two or none. A word
# occurs often if the document has its topic, and now and then otherwise.

# %%
rng = np.random.default_rng(SEED)
area = rng.choice(list(AREAS), size=N_DOCUMENTS)
about = pd.DataFrame(
    {topic: rng.random(N_DOCUMENTS) < np.where(area == name, 0.5, 0.05) for name, own in AREAS.items() for topic in own}
)
columns = {}
for topic, own in TOPICS.items():
    for word in own:
        often, seldom = rng.uniform(0.2, 0.6), rng.uniform(0.01, 0.06)
        columns[word] = rng.random(N_DOCUMENTS) < np.where(about[topic], often, seldom)
for word in COMMON:
    columns[word] = rng.random(N_DOCUMENTS) < rng.uniform(0.05, 0.3)
words = pd.DataFrame(columns)[sorted(columns)]  # in alphabetical order, which says nothing about topics
print(
    f"{len(words)} documents, {words.shape[1]} words; a document has {words.to_numpy().sum(axis=1).mean():.1f} of them"
)

# %% [markdown]
# ## What words say about each other
# Sorted by topic, the mutual information of all pairs shows the blocks; the areas are hardly to be seen. The table
# itself is in alphabetical order.

# %%
in_order = [word for own in TOPICS.values() for word in own] + COMMON
information = mutual_information(words).mask(np.eye(words.shape[1], dtype=bool))  # without the diagonal
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, order, title in zip(axes, (words.columns, in_order), ("as the table has it", "sorted by topic"), strict=True):
    image = ax.imshow(information.loc[order, order], cmap="viridis", vmax=0.06)
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(image, ax=axes, label="mutual information (nats)", shrink=0.8)
plt.show()

# %% [markdown]
# ## A forest of hidden variables
# `BinG` joins the two roots that say most about each other below a hidden parent, again and again. With `simplify=True`
# the binary forest is then contracted wherever BIC rises, so that a topic is one hidden variable with many words.

# %%
learner = BinG(simplify=True, random_state=SEED, show_progress=False).fit(words)
print(f"{len(learner.latents_)} hidden variables: {learner.n_states_}")
learner.summary()

# %%
plotting.plot_tree(learner)
plt.show()

# %% [markdown]
# Every topic is a hidden variable over its own words, and none is in the wrong place; names of hidden variables count
# the steps in which they were made. Above the four topics stands a fifth hidden variable: the area. Words of no topic
# stand alone.
#
# ## Are documents found as well?
# Each hidden variable has a state in which its words are frequent. Its posterior, given the words of a document, should
# say whether the document is about the topic; nobody told the learner. The area is harder to see, as words tell of it
# only through topics.

# %%
topic_of = {}
for topic, own in TOPICS.items():
    parents = learner.model_.get_parents(own[0]) + learner.model_.get_children(own[0])
    topic_of[topic] = next(name for name in parents if name in learner.latents_)
found = learner.predict(words)
for topic, hidden in topic_of.items():
    table = pd.crosstab(about[topic], found[hidden])
    right = table.max(axis=0).sum() / table.to_numpy().sum()
    print(f"{topic:>12} is {hidden}: right for {right:.1%} of the documents")
(root,) = set(learner.latents_) - set(topic_of.values())
pd.crosstab(pd.Series(area, name="area"), found[root])

# %% [markdown]
# ## Is the tree worth it?
# Models that any tree of hidden variables must beat: words that are independent, and trees over the words themselves.

# %%
rivals = {"BinG, simplified": learner}
for name in ("independence", "chow_liu", "forest"):
    rivals[name] = Baseline(name).fit(words)
pd.DataFrame({name: {"BIC": one.bic_, "parameters": one.n_parameters_} for name, one in rivals.items()}).T.round(0)

# %% [markdown]
# ## The decision
# The forest has four topics, and it is the best of the four by far. A new message has the words *orbit* and
# *software*. What else will it be about? pgmpy answers from the learned network.

# %%
inference = VariableElimination(learner.model_)
evidence = {"orbit": True, "software": True, "team": False}
for word in ("launch", "disk", "coach"):
    before = inference.query([word], show_progress=False).get_value(**{word: True})
    after = inference.query([word], evidence=evidence, show_progress=False).get_value(**{word: True})
    print(f"P({word}): {before:.2f} before, {after:.2f} after")
