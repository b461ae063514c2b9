# %% [markdown]
# # What do split and merge do?
#
# `SplitMerge` finds the number of states of a hidden variable by splitting states and merging them again. Here both are
# done by hand, on a model that is small enough to draw: six questions with the answers no and yes, and three kinds of
# people behind them.

# %%
import matplotlib.pyplot as plt
import numpy as np
from pgmpy.inference import VariableElimination

from pgmpy_latent import LatentTree, SplitMerge, TreeEM, operators, sample, scores, to_pgmpy

SEED = 0
QUESTIONS = [f"q{number}" for number in range(1, 7)]

# %% [markdown]
# ## The truth, and a table drawn from it
# The first kind says yes to almost everything, the second to the first half, the third to nothing much. Nobody sees the
# kind; we see 1,000 rows of answers.

# %%
YES = np.array([[0.9, 0.9, 0.8, 0.9, 0.8, 0.9], [0.8, 0.9, 0.9, 0.2, 0.1, 0.2], [0.2, 0.1, 0.2, 0.1, 0.2, 0.1]])


def latent_class_model(shares, yes):
    """Return a latent class model over the questions with these shares and probabilities of yes."""
    tables = [[shares], *[np.column_stack([1 - column, column]) for column in np.transpose(yes)]]
    states = [range(len(shares)), *[["no", "yes"]] * len(QUESTIONS)]
    return LatentTree(["kind", *QUESTIONS], states, [-1] + [0] * 6, [True] + [False] * 6, tables)


truth = latent_class_model([0.3, 0.3, 0.4], YES)
answers = sample(truth, 1000, random_state=SEED)
answers.head()


# %%
def draw(models, titles):
    """Draw the probability of yes in every state, the thicker the line the larger the state."""
    figure, axes = plt.subplots(1, len(models), figsize=(3.6 * len(models), 3.2), sharey=True, layout="constrained")
    axes = np.atleast_1d(axes)
    for ax, model, title in zip(axes, models, titles, strict=True):
        yes = np.column_stack([model.table(question)[:, 1] for question in QUESTIONS])
        for state, (row, share) in enumerate(zip(yes, model.table("kind")[0], strict=True)):
            ax.plot(QUESTIONS, row, marker="o", lw=1 + 6 * share, color=f"C{state}", label=f"{share:.0%}")
        ax.set(title=title, ylim=(0, 1))
        ax.legend(title="share", fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("P(yes | state)")
    plt.show()


draw([truth], ["the truth"])


# %% [markdown]
# ## One state
# With one state the questions are independent, and each has its share of yes. EM has nothing to do.


# %%
def fitted(start):
    """Run EM from the tables of a model."""
    network = to_pgmpy(start)
    estimator = TreeEM(init_cpds={cpd.variable: cpd for cpd in network.get_cpds()}, n_init=1, show_progress=False)
    estimator.fit(network, answers)
    return estimator.tree_


one = fitted(latent_class_model([1.0], [[0.5] * 6]))
print(f"BIC with one state: {scores.bic(one, answers):.1f} (larger is better)")

# %% [markdown]
# ## A split
# A split gives each half half of the probability, and the questions P + r in one half, P - r in the other. Here r
# raises yes everywhere in the first half. The share of yes to any single question stays as it was; only together the
# answers have become dependent. EM does the rest.

# %%
direction = {question: [-0.1, 0.1] for question in QUESTIONS}
split = operators.split_state(one, "kind", 0, direction=direction)
two = fitted(split)
draw([one, split, two], ["one state", "just split", "after EM"])
for name, model in {"one state": one, "just split": split, "after EM": two}.items():
    log_likelihood, bic = scores.log_likelihood(model, answers), scores.bic(model, answers)
    print(f"{name:>10}: log-likelihood {log_likelihood:9.1f}, BIC {bic:9.1f}")

# %% [markdown]
# The direction matters less than one might think: EM turns the halves to where the data vary most. A direction of
# zeros, though, makes two equal halves, which EM cannot tell apart, and a split needs data that vary in the state.
#
# ## Which state next?
# Each of the two states can be split. `SplitMerge` takes its directions from the data that belong to a state; here a
# few random ones do.


# %%
def best_split(model, n=8):
    """Return the best model, by BIC, that EM finds from random splits of each state."""
    generator = np.random.default_rng(SEED)
    starts = [
        operators.split_state(model, "kind", state, rng=generator, size=0.5)
        for state in model.state_names[model.index("kind")]
        for _ in range(n)
    ]
    return max(map(fitted, starts), key=lambda found: scores.bic(found, answers))


three = best_split(two)
four = best_split(three)
models = {1: one, 2: two, 3: three, 4: four}
draw([three, four], ["three states", "four states"])
for n_states, model in models.items():
    print(f"{n_states} state{'s' * (n_states > 1)}: BIC {scores.bic(model, answers):9.1f}")

# %% [markdown]
# The second split finds the three kinds. A third describes the sample better, as more states always do, but by less
# than its seven parameters cost: BIC falls.
#
# ## A merge
# Merging is the way back. It adds up the probabilities of two states and averages their rows; no data are needed. Which
# pair of the four states should become one?

# %%
pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
merged = {pair: operators.merge_states(four, "kind", pair) for pair in pairs}
loss = {
    pair: scores.log_likelihood(four, answers) - scores.log_likelihood(model, answers) for pair, model in merged.items()
}
after = {pair: scores.bic(fitted(model), answers) for pair, model in merged.items()}
figure, ax = plt.subplots(figsize=(6, 2.8), layout="constrained")
ax.barh([f"{a} and {b}" for a, b in pairs], [loss[pair] for pair in pairs], color="C0")
ax.set(xlabel="log-likelihood lost by the merge, before EM", ylabel="states merged")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
cheapest = min(loss, key=loss.get)
print(f"cheapest: {cheapest}, BIC after EM {after[cheapest]:.1f}; of three states {scores.bic(three, answers):.1f}")

# %% [markdown]
# One merge costs far less than the others: the two states that the last split made of one. After it EM is back at the
# model of three states: splitting and merging are each other's inverse, and going up and down again is how `SplitMerge`
# leaves a poor optimum.
#
# ## The same by itself

# %%
learner = SplitMerge(random_state=SEED, show_progress=False).fit(answers)
print(learner.history_[["operator", "score", "n_parameters"]].round(1).to_string())
learner.profiles().xs("yes", level="category").round(2)

# %% [markdown]
# ## The decision
# Three kinds. What does pgmpy make of somebody who said yes to the first question and no to the last?

# %%
print(VariableElimination(learner.model_).query(["H"], evidence={"q1": "yes", "q6": "no"}))
