"""The gallery shows the code that draws its pictures."""

import pytest
from matplotlib import pyplot as plt

from benchmarks.gallery import DOCS, PICTURES, draw, file_of, page


def test_the_page_is_what_the_script_writes():
    assert (DOCS / "gallery.md").read_text(encoding="utf-8") == page()
    pictures = {file_of(picture) for picture in PICTURES}
    assert {path.name for path in (DOCS / "images").glob("gallery_*.svg")} == pictures
    assert all((DOCS / picture.page).exists() for picture in PICTURES)


@pytest.mark.parametrize("picture", [each for each in PICTURES if each.name in ("loadings", "residuals")])
def test_the_code_draws_the_picture(picture, tmp_path):
    draw(picture, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert not plt.get_fignums()
