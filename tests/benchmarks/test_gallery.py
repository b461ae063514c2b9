"""The gallery shows the code that draws its pictures."""

import pytest
from matplotlib import pyplot as plt

from benchmarks.gallery import DOCS, PICTURES, draw, file_of, page
from pgmpy_latent import plotting


def test_the_page_is_what_the_script_writes():
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == page()
    pictures = {file_of(picture) for picture in PICTURES}
    assert {path.name for path in (DOCS / "images").glob("gallery_*.svg")} == pictures
    assert all((DOCS / picture.page).exists() for picture in PICTURES)


#: Those that are drawn in tests: they take a quarter of a second, and need no code that other tests do not compile.
QUICK = ("loadings", "residuals", "transitions", "clusters", "cardinality", "direct_effects", "confusion")


def test_there_is_a_picture_for_every_function_that_draws_one():
    drawn = {name for name in plotting.__all__ for picture in PICTURES if f"plotting.{name}(" in picture.code}
    assert set(plotting.__all__) - drawn == {"plot_merges"}  # plot_cardinality shows what its merges lead to


def test_questions_are_asked_once():
    assert len({picture.question for picture in PICTURES}) == len(PICTURES)
    assert len({picture.name for picture in PICTURES}) == len(PICTURES)


@pytest.mark.parametrize("picture", [each for each in PICTURES if each.name in QUICK], ids=lambda each: each.name)
def test_the_code_draws_the_picture(picture, tmp_path):
    draw(picture, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert not plt.get_fignums()
