"""The tree and the what-if section of a report inside a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from pgmpy_latent.report.page import gather, page
from pgmpy_latent.runtime.settings import check_number

#: Sections of the page in the notebook.
SECTIONS = ("tree", "trees", "network", "topics", "what-if")


@dataclass(frozen=True)
class Explorer:
    """A page that a notebook shows in a frame of its own; see :func:`explore`."""

    page: str
    height: int

    def _repr_html_(self) -> str:
        frame = 'sandbox="allow-scripts" style="width:100%;border:1px solid #8888;border-radius:8px;background:#fff"'
        return f'<iframe srcdoc="{escape(self.page)}" height="{self.height}" title="Model" {frame}></iframe>'

    def __repr__(self) -> str:
        return f"Explorer({len(self.page):,} characters; a notebook shows it, and write_report writes a page)"


def explore(model, X=None, *, rows=None, height: int = 760) -> Explorer:
    """Show a model in a notebook: its tree, and what follows from answers that are clicked.

    Everything is computed in the browser, exactly; no server and no network are needed, so that it also works in a
    notebook that was saved as a page. :func:`pgmpy_latent.write_report` writes the same into a file, with the rest of
    a report.

    Parameters
    ----------
    model : fitted learner, LatentTree, LatentNetwork or pgmpy network
        The model.
    X : DataFrame, array or CategoricalData, optional
        A table, for ``rows``; by default the one that the learner learned from.
    rows : DataFrame, array, CategoricalData or int, optional
        Rows that can be chosen to see why they are unusual, or how many of the least likely ones. None by default:
        whoever has the notebook can read them.
    height : int
        Height of the frame in pixels.

    Returns
    -------
    Explorer
        Leave it as the last line of a cell.

    Examples
    --------
    >>> from pgmpy_latent.datasets import hlc_model
    >>> shown = explore(hlc_model(7, random_state=0))
    >>> shown._repr_html_()[:30]
    '<iframe srcdoc="&lt;!DOCTYPE h'
    """
    check_number("height", height, 1, whole=True)
    return Explorer(page(gather(model, X, rows=rows), SECTIONS), height)
