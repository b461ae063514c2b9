"""A picture per question: writes docs/gallery.md and its pictures, from the code that the page shows.

python -m benchmarks.gallery
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib import pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
#: How pictures are written: the same bytes in every run, except where seconds are shown, and text as text, which is
#: small and can be searched.
STYLE = {"svg.hashsalt": "gallery", "svg.fonttype": "none"}
HEAD = """# Gallery

One picture per question, each with the code that draws it. `python -m benchmarks.gallery` runs this code and writes
the page.
"""


class Picture(NamedTuple):
    """A question, what its picture shows, and the code that draws it, which ends with ``ax``."""

    name: str
    question: str
    shows: str
    page: str
    code: str


PICTURES = (
    Picture(
        "tree", "Which hidden variables are there, and how do they connect?",
        "Boxes are hidden variables, with their numbers of states; the wider a line, the more its ends tell about each "
        "other.", "east.md",
        """
from pgmpy_latent import EAST, datasets, plotting

survey = datasets.load_anes96()
ax = plotting.plot_tree(EAST(columns="leaves", random_state=0, show_progress=False).fit(survey))
""",
    ),
    Picture(
        "profiles", "What do the classes look like?", "How large every class is, and how it answers.",
        "split_merge.md",
        """
from pgmpy_latent import RandomStarts, datasets, plotting

answers = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote"]]
classes = RandomStarts(n_states=3, random_state=0, show_progress=False).fit(answers)
ax = plotting.plot_profiles(classes)
""",
    ),
    Picture(
        "comparison", "How many classes are there?",
        "How far every score is below its own best; the recommended number is marked.", "diagnostics.md",
        """
from pgmpy_latent import compare_classes, datasets, plotting

answers = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote"]]
ax = plotting.plot_comparison(compare_classes(answers, range(1, 6), n_starts=2, show_progress=False))
""",
    ),
    Picture(
        "residuals",
        "Which columns depend on each other beyond the classes?",
        "The darker, the less the classes explain how a pair goes together; dots mark significant differences.",
        "diagnostics.md",
        """
from pgmpy_latent import RandomStarts, datasets, plotting, residuals

answers = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote"]]
two = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(answers)
ax = plotting.plot_residuals(residuals(two, answers))
""",
    ),
    Picture(
        "anomalies",
        "Which rows are unusual?",
        "How likely the rows of the table are, beside rows drawn from the model.", "diagnostics.md",
        """
from pgmpy_latent import RandomStarts, datasets, plotting

answers = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote"]]
three = RandomStarts(n_states=3, random_state=0, show_progress=False).fit(answers)
ax = plotting.plot_anomalies(three, answers)
""",
    ),
    Picture(
        "class_sizes", "Does another column predict the class?",
        "The share of every class along the covariate, with 95 % confidence bands.", "relate.md",
        """
from pgmpy_latent import RandomStarts, datasets, plotting, relate

survey = datasets.load_anes96()
camps = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(survey[["PID", "selfLR", "ClinLR", "DoleLR"]])
income = survey["income"].cat.codes.rename("income")
ax = plotting.plot_class_sizes(relate(camps, survey[["PID", "selfLR", "ClinLR", "DoleLR"]], income))
""",
    ),
    Picture(
        "loadings", "Which hidden numbers stand behind columns of numbers?",
        "How strongly every column goes with every hidden variable, and in which direction.", "gaussian.md",
        """
import numpy as np
import pandas as pd
from pgmpy_latent import GaussianBinG, plotting

rng = np.random.default_rng(0)
size, speed = rng.normal(size=(2, 500, 1))
noise = rng.normal(size=(500, 6))
numbers = pd.DataFrame(np.hstack([size] * 3 + [speed] * 3) + 0.6 * noise, columns=list("abcdef"))
ax = plotting.plot_loadings(GaussianBinG(random_state=0, show_progress=False).fit(numbers))
""",
    ),
    Picture(
        "groups", "Do groups differ?",
        "The share of every class in every group, in the model that is recommended; level lines would say that groups "
        "do not differ.", "groups.md",
        """
from pgmpy_latent import compare_groups, datasets, plotting

survey = datasets.load_anes96()
sides = ["left"] * 3 + ["middle"] + ["right"] * 3
schools = ["1 school"] * 3 + ["2 college"] * 2 + ["3 degree"] * 2
answers = survey[["selfLR", "ClinLR", "DoleLR", "PID"]].apply(lambda column: [sides[code] for code in column.cat.codes])
answers["education"] = [schools[code] for code in survey["educ"].cat.codes]
ax = plotting.plot_groups(compare_groups(answers, "education", 3, n_starts=4, show_progress=False))
""",
    ),
    Picture(
        "transitions", "How do people move between states over time?",
        "Bars are the shares of the states at every time, and bands the people who stay or move.", "transitions.md",
        """
import numpy as np
import pandas as pd
from pgmpy_latent import latent_transition, plotting

rng = np.random.default_rng(0)
rows = []
for person in range(200):
    well = rng.random() < 0.8
    for wave in (1, 2, 3, 4):
        shares = [0.8, 0.15, 0.05] if well else [0.05, 0.25, 0.7]
        rows.append((person, wave, rng.choice(["good", "fair", "poor"], p=shares)))
        well = rng.random() < (0.8 if well else 0.1)
panel = pd.DataFrame(rows, columns=["person", "wave", "health"])
ax = plotting.plot_transitions(latent_transition(panel, "person", "wave", ["health"], n_states=2, random_state=0))
""",
    ),
    Picture(
        "clusters", "Which kinds of schools are there, judged by their pupils?",
        "How large the classes of pupils are in every cluster of schools.", "levels.md",
        """
import numpy as np
import pandas as pd
from pgmpy_latent import multilevel_classes, plotting

rng = np.random.default_rng(1)
smokes = np.repeat(rng.choice([0.1, 0.6], 20), 20) > rng.random(400)
pupils = pd.DataFrame(rng.random((400, 3)) < np.where(smokes, 0.7, 0.05)[:, None], columns=["cigars", "pipes", "vapes"])
pupils["school"] = np.repeat(np.arange(20), 20)
ax = plotting.plot_clusters(multilevel_classes(pupils, "school", n_states=2, n_clusters=2, random_state=0))
""",
    ),
    Picture(
        "network", "Does a network over my columns lack a hidden variable?",
        "The blue box is the hidden variable that was found; edges that the network over the columns alone does not "
        "have are orange red.", "networks.md",
        """
import numpy as np
import pandas as pd
from pgmpy_latent import FindHidden, plotting

rng = np.random.default_rng(0)
hidden = rng.integers(0, 3, 1500)
columns = {f"sign {letter}": (hidden + (rng.random(1500) < 0.25) * rng.integers(1, 3, 1500)) % 3 for letter in "abcd"}
table = pd.DataFrame(columns | {"cause": (hidden + (rng.random(1500) < 0.3)) % 3, "coin": rng.integers(0, 2, 1500)})
ax = plotting.plot_network(FindHidden(random_state=0, show_progress=False).fit(table))
""",
    ),
    Picture(
        "support", "How sure is a learned tree?",
        "The numbers on the edges say in how many percent of trees of resampled tables the same edge was found.",
        "diagnostics.md",
        """
from pgmpy_latent import BinG, datasets, plotting, support

survey = datasets.load_anes96()
tree = BinG(random_state=0, show_progress=False).fit(survey)
edges = support(tree, survey, n_bootstrap=20, random_state=0, show_progress=False)
ax = plotting.plot_tree(tree, support=edges)
""",
    ),
    Picture(
        "history", "What does a search do with its time?",
        "The score of two searches over their seconds, with a mark at every step that was accepted.", "split_merge.md",
        """
from pgmpy_latent import EAST, SplitMerge, datasets, plotting

answers = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote"]]
searches = [learner(random_state=0, show_progress=False).fit(answers) for learner in (SplitMerge, EAST)]
ax = plotting.plot_history(*searches)
""",
    ),
    Picture(
        "cardinality", "How many states does a hidden variable of a network have?",
        "The score of the completed table by the number of states, and by EM next to the best.", "networks.md",
        """
import numpy as np
import pandas as pd
from pgmpy.base import DAG
from pgmpy_latent import AgglomerativeCardinality, plotting

rng = np.random.default_rng(0)
hidden = rng.integers(0, 3, 1000)
table = pd.DataFrame({name: np.where(rng.random(1000) < 0.2, rng.integers(0, 3, 1000), hidden) for name in "abcde"})
graph = DAG([("H", name) for name in "abcde"], latents={"H"})
ax = plotting.plot_cardinality(AgglomerativeCardinality(graph, show_progress=False).fit(table))
""",
    ),
    Picture(
        "densities", "What do numbers look like in the classes?",
        "The density of a number in every class, times the share of the class; grey is their sum.", "mixed.md",
        """
import numpy as np
import pandas as pd
from pgmpy_latent import RandomStarts, plotting

rng = np.random.default_rng(0)
ill = rng.random(600) < 0.3
clinic = pd.DataFrame({"smokes": np.where(rng.random(600) < np.where(ill, 0.6, 0.2), "yes", "no")})
clinic["pressure"] = rng.normal(np.where(ill, 160, 125), np.where(ill, 15, 10))
patients = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(clinic, kinds="auto")
ax = plotting.plot_densities(patients, "pressure")
""",
    ),
    Picture(
        "classifier", "What tells the classes of a classifier apart?",
        "The class, the hidden numbers below it, and how strongly each shows in the attributes.", "classification.md",
        """
from sklearn.datasets import load_wine
from pgmpy_latent import LatentClassificationModel, plotting

X, y = load_wine(return_X_y=True, as_frame=True)
ax = plotting.plot_classifier(LatentClassificationModel(2, 1, learn_edges=True, random_state=0).fit(X, y))
""",
    ),
    Picture(
        "confusion", "Do two models sort people alike?",
        "How many people are in every pair of classes, and their share of the first model's class.", "diagnostics.md",
        """
from pgmpy_latent import RandomStarts, datasets, plotting

answers = datasets.load_anes96()[["PID", "selfLR", "ClinLR", "DoleLR", "vote"]]
two, three = (RandomStarts(n_states=n, random_state=0, show_progress=False).fit(answers) for n in (2, 3))
ax = plotting.plot_confusion(two.predict(answers), three.predict(answers))
""",
    ),
    Picture(
        "outcome", "What differs between the classes?",
        "The distribution of an outcome in every class, corrected for wrong assignments, with 95 % intervals.",
        "relate.md",
        """
from pgmpy_latent import RandomStarts, datasets, plotting, relate

survey = datasets.load_anes96()
answers = survey[["selfLR", "ClinLR", "DoleLR"]]
camps = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(answers)
ax = plotting.plot_outcome(relate(camps, answers, survey["vote"], "outcome"))
""",
    ),
    Picture(
        "direct_effects", "What does a model with a direct effect look like?",
        "The orange red edge between two columns says that they go together beyond the classes.", "direct_effects.md",
        """
import numpy as np
import pandas as pd
from pgmpy_latent import RandomStarts, add_direct_effects, plotting

rng = np.random.default_rng(0)
member = rng.random(800) < 0.4
items = {name: np.where(rng.random(800) < 0.2, rng.random(800) < 0.5, member) for name in "abcd"}
table = pd.DataFrame(items | {"d again": np.where(rng.random(800) < 0.5, rng.random(800) < 0.5, items["d"])})
classes = RandomStarts(n_states=2, random_state=0, show_progress=False).fit(table)
ax = plotting.plot_network(add_direct_effects(classes, table), base=classes)
""",
    ),
)  # fmt: skip


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *(line for picture in PICTURES for line in _entry(picture))])


def _entry(picture: Picture) -> Iterator[str]:
    yield f"## {picture.question}"
    yield f"![{picture.question}](images/{file_of(picture)})\n"
    yield f"{picture.shows} See [{picture.page.removesuffix('.md')}]({picture.page}).\n"
    yield f"```python\n{picture.code.strip()}\n```\n"


def file_of(picture: Picture) -> str:
    """Return the name of the file of a picture."""
    return f"gallery_{picture.name}.svg"


def draw(picture: Picture, path: Path) -> None:
    """Run the code of a picture, and write it."""
    with mpl.rc_context(STYLE):
        found: dict = {}
        exec(picture.code, found)
        figure = found["ax"].figure
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Creator": None})
        plt.close(figure)


if __name__ == "__main__":
    mpl.use("Agg")
    for each in PICTURES:
        draw(each, DOCS / "images" / file_of(each))
    (DOCS / "gallery.md").write_text(page(), encoding="utf-8")
