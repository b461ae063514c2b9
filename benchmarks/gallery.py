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
#: How pictures are written: the same bytes in every run, and text as text, which is small and can be searched.
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
ax = plotting.plot_comparison(compare_classes(answers, range(1, 7), n_starts=4, show_progress=False))
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
ax = plotting.plot_loadings(GaussianBinG(show_progress=False).fit(numbers))
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
