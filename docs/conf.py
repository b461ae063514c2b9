"""How Sphinx builds the pages of this folder: ``python -m sphinx -W --keep-going -n docs docs/_build/html``.

Nothing is fetched from anywhere. Pages are Markdown that a code host shows as well, so that links lead to files:
those to files outside this folder are redirected to the pages made of them.
"""

import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # the package beside this folder, and the notebooks

import pgmpy_latent  # noqa: E402
from notebooks import run as notebooks  # noqa: E402

project = "pgmpy_latent"
author = "The pgmpy_latent developers"
copyright = author
version = release = pgmpy_latent.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "_templates", "Thumbs.db", ".DS_Store"]
templates_path = ["_templates"]

# Markdown
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks.run executes them, under its time limit
nb_merge_streams = True

# The API. Public names are looked up in the package when they are first asked for, and autodoc asks.
#: Folders of the package whose modules have no pages.
INTERNAL = [
    "runtime",
    "model",
    "tables",
    "inference",
    "em",
    "diagnostics",
    "learners",
    "selection",
    "networks",
    "classification",
    "report",
    "cli",
]
autosummary_generate = True
autosummary_ignore_module_all = False
suppress_warnings = ["config.cache"]  # the function in autosummary_context cannot be pickled, and need not be
autodoc_typehints = "none"  # docstrings say more
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
nitpick_ignore_regex = [
    (r"py:.*", r"(pgmpy|sklearn|numpy|pandas|matplotlib|networkx|scipy|skbase)\..*"),  # other projects' pages
    (r"py:.*", rf"pgmpy_latent\.({'|'.join(INTERNAL)})(\..*)?"),  # named for readers of the code
    (r"py:func", r"check"),
]

# The look
html_theme = "pydata_sphinx_theme"
html_title = "pgmpy_latent"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "start": [], "changelog": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

#: Page -> the file outside this folder that it shows.
SHOWN = {"start": "README.md", "contributing": "CONTRIBUTING.md", "conduct": "CODE_OF_CONDUCT.md"}
#: File outside this folder -> the page that shows it.
ELSEWHERE = {
    r"\.\./README\.md": "start.md",
    r"\.\./CHANGELOG\.md": "changelog.md",
    r"\.\./CONTRIBUTING\.md": "contributing.md",
    r"\.\./CODE_OF_CONDUCT\.md": "conduct.md",
    r"\.\./notebooks/README\.md": "notebooks.md",
    r"\.\./notebooks/(\w+)\.py": r"notebooks/\1.ipynb",
}


def redirect_links(app, name, source):
    """Let links to files outside this folder lead to the pages made of them."""
    if name in SHOWN:
        source[0] = shown(SHOWN[name])
    if name == "notebooks":  # the executed notebook itself, to be opened in Jupyter
        source[0] = re.sub(
            r"\[notebook\]\(\.\./notebooks/executed/(\w+)\.ipynb\)",
            r"{download}`notebook <notebooks/\1.ipynb>`",
            source[0],
        )
    for target, page in ELSEWHERE.items():
        source[0] = re.sub(rf"\]\({target}", f"]({page}", source[0])


def shown(file):
    """Return a file outside this folder as a page of this folder."""
    text = (HERE.parent / file).read_text(encoding="utf-8")
    if file == "README.md":
        text = re.sub(r"\A# .*", "# Getting started", text)
    text = re.sub(r"\[([^]]*)\]\((LICENSE|CITATION\.cff)\)", r"\1", re.sub(r"\]\(docs/", "](", text))
    return re.sub(r"\]\((README|CHANGELOG|CONTRIBUTING|CODE_OF_CONDUCT|notebooks/)", r"](../\1", text)


def skip_member(app, what, name, member, skip, options):
    """Leave out what scikit-learn puts into every estimator."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def public_members(full_name, kind):
    """Return the methods or properties of a class that are ours: those whose code stands in this package."""
    module, _, name = full_name.rpartition(".")
    owner = getattr(sys.modules[module], name)
    found = []
    for member in dir(owner):
        value = inspect.getattr_static(owner, member)
        code = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        ours = (getattr(code, "__module__", None) or "").startswith("pgmpy_latent")
        fits = isinstance(value, property) == (kind == "properties") and inspect.isfunction(code)
        if ours and fits and not member.startswith("_"):
            found.append(member)
    return found


def setup(app):
    """Execute notebooks that changed, and connect what stands above."""
    notebooks.execute_changed(HERE / "notebooks")
    app.connect("source-read", redirect_links)
    app.connect("autodoc-skip-member", skip_member)


autosummary_context = {"public_members": public_members}
