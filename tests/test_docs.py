"""The documentation is complete, and its notebooks are in order; tests/benchmarks looks its figures up.

That pages build and notebooks run is tested by ``.ci/slow``, which takes minutes.
"""

import ast
import json
import re

import pytest

import pgmpy_latent
from notebooks.run import NOTEBOOKS, main, sources
from pgmpy_latent.cli import main as command_line
from tests.test_readme import ROOT

DOCS = ROOT / "docs"


def entries(page):
    """Return the names that the page lists, with the module they belong to."""
    module, names = "pgmpy_latent", []
    for line in page.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1]
        elif re.fullmatch(r"   \w+", line):
            names.append(f"{module}.{line.strip()}")
    return names


# The API ------------------------------------------------------------------------------------------


def test_the_api_page_lists_every_public_name_once():
    listed = entries((DOCS / "api.md").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))
    public = {f"pgmpy_latent.{name}" for name in pgmpy_latent._HOME}
    for module in ("scores", "operators", "plotting", "presets", "learners", "gaussian", "testing"):
        public |= {f"pgmpy_latent.{module}.{name}" for name in getattr(pgmpy_latent, module).__all__}
    for module in ("datasets", "exceptions"):
        own = vars(getattr(pgmpy_latent, module))
        public |= {
            f"pgmpy_latent.{module}.{name}"
            for name, value in own.items()
            if not name.startswith("_") and getattr(value, "__module__", None) == f"pgmpy_latent.{module}"
        }
    assert set(listed) == public


# Pages --------------------------------------------------------------------------------------------


def test_every_page_is_in_a_table_of_contents():
    listed = {"index"}
    for page in DOCS.glob("*.md"):
        for block in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            listed.update(line for line in block.splitlines() if line and not line.startswith(":"))
    assert listed == {page.stem for page in DOCS.glob("*.md")} | {f"notebooks/{name}" for name in NOTEBOOKS}


def test_the_command_line_page_lists_every_command(capsys):
    with pytest.raises(SystemExit, match="0"):
        command_line(["--help"])
    commands = re.findall(r"^    ([a-z-]+)(?:  |$)", capsys.readouterr().out, re.MULTILINE)
    listed = re.findall(
        r"^\| `pgmpy-latent ([a-z-]+)", (DOCS / "command_line.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) > 5
    assert sorted(listed) == sorted(commands)


def changes():
    """Return the rows of the table "To change …, open …": what to change, and (file, names in it) for each file."""
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| to change | open |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").rpartition(" | ") for line in table.splitlines()[2:]]
    found = []
    for change, _, places in rows:
        files = []
        for word in re.findall(r"`([^`]+)`", places):
            if word.endswith(".py"):
                files.append((word, []))
            else:
                files[-1][1].append(word)
        found.append((change, files))
    return found


def test_the_page_on_architecture_says_where_likely_changes_belong():
    assert len(changes()) >= 25
    assert all(files for _, files in changes())


@pytest.mark.parametrize(("change", "files"), changes(), ids=[change for change, _ in changes()])
def test_files_to_open_for_a_change_exist_and_have_the_names(change, files):
    for file, names in files:
        text = (ROOT / "pgmpy_latent" / file).read_text(encoding="utf-8")
        assert [name for name in names if not re.search(rf"^\s*(def |class |){name}\b", text, re.MULTILINE)] == []


def test_the_half_lines_on_large_folders_name_every_module():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    half_lines = page.partition("### The modules of the two largest folders")[2].partition("\n### ")[0]
    tables, learners = half_lines.split("`learners/`:")
    for folder, text in (("tables", tables), ("learners", learners), ("learners/local", learners)):
        modules = {path.stem for path in (ROOT / "pgmpy_latent" / folder).glob("*.py")} - {"__init__"}
        assert modules <= set(re.findall(r"`(\w+)`", text))
    named = {name for name in re.findall(r"`([a-z_]+)`", half_lines)} - {"encode_chunks", "fit"}
    assert named <= {path.stem for path in (ROOT / "pgmpy_latent").rglob("*.py")}


# Words --------------------------------------------------------------------------------------------

#: Pages that scripts write, that list code, or that translate the words of other programs.
OTHER_WORDS = {"api", "benchmarks", "changelog", "coming_from", "evidence", "glossary", "scaling"}
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CODE_OF_CONDUCT.md"] + [
    page for page in sorted(DOCS.glob("*.md")) if page.stem not in OTHER_WORDS
]


def glossary():
    """Return the rows of the glossary: term, meaning, and the words that we do not use for it."""
    rows = [line.strip("| ").split(" | ") for line in (DOCS / "glossary.md").read_text(encoding="utf-8").splitlines()]
    return [(term, meaning, words.split(", ")) for term, meaning, words in (row for row in rows if len(row) == 3)][1:]


def prose(page):
    """Return the text of a page without code, formulas, references and the targets of links."""
    text = page.read_text(encoding="utf-8").partition("## References")[0]
    for other in (r"^```.*?^```$", r"\$\$.*?\$\$", r"`[^`]*`", r"\$[^$\n]*\$", r"\]\([^)]*\)"):
        text = re.sub(other, " ", text, flags=re.DOTALL | re.MULTILINE)
    return text


def test_terms_of_the_glossary_are_sorted_and_have_a_meaning():
    terms = [term for term, _, _ in glossary()]
    assert len(terms) > 50
    assert terms == sorted(set(terms), key=str.casefold)
    assert [term for term, meaning, _ in glossary() if not meaning.endswith((".", ").", "`."))] == []


def test_no_term_of_the_glossary_is_a_word_that_it_advises_against():
    terms = {term for term, _, _ in glossary()}
    assert [word for _, _, words in glossary() for word in words if word in terms] == []


def avoided_words(text):
    """Return the words in a text that the glossary advises against."""
    avoided = [word for _, _, words in glossary() for word in words if not word.startswith("*")]
    assert len(avoided) > 20
    return [word for word in avoided if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)]


def docstrings(module):
    """Return the docstrings of a module as one text, without examples, code and references."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = (node for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))) if isinstance(node, documented))
    texts = [(ast.get_docstring(node) or "").partition("References\n---")[0] for node in nodes]
    return re.sub(r"^ *>>> .*?(?=\n\n|\Z)|`[^`]*`", " ", "\n\n".join(texts), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_glossary(page):
    assert avoided_words(prose(page)) == []


def test_docstrings_use_the_words_of_the_glossary():
    modules = sorted((ROOT / "pgmpy_latent").rglob("*.py"))
    assert len(modules) > 100
    words = {str(module.relative_to(ROOT)): avoided_words(docstrings(module)) for module in modules}
    assert {module: avoided for module, avoided in words.items() if avoided} == {}


# Notebooks ----------------------------------------------------------------------------------------


def test_all_notebooks_are_listed():
    files = {path.stem for path in (ROOT / "notebooks").glob("*.py")} - {"run", "__init__"}
    assert files == set(NOTEBOOKS)
    page = (DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert re.findall(r"\.\./notebooks/(\w+)\.py", page) == list(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_asks_a_question_and_has_its_seed_in_the_first_cell(name):
    text = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
    first, *cells = re.split(r"^# %%", text, flags=re.MULTILINE)[1:]
    question = re.match(r" \[markdown\]\n# # (.+\?)\n", first)
    assert question, "the title is no question"
    assert f"[{question[1]}](../notebooks/{name}.py)" in (DOCS / "notebooks.md").read_text(encoding="utf-8")
    assert "\nSEED = " in cells[0]
    assert "## The decision" in text
    ast.parse(text)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_executed_notebook_is_of_the_code_beside_it(name):
    renew = f"renew it: python -m notebooks.run {name} --output notebooks/executed"
    path = ROOT / "notebooks" / "executed" / f"{name}.ipynb"
    assert path.exists(), renew
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    assert found == sources((ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")), renew
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), renew


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_an_executed_notebook_shows_results_and_nothing_of_its_run(name):
    path = ROOT / "notebooks" / "executed" / f"{name}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = notebook["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/png" in shown
    assert {output["output_type"] for output in outputs} <= {"stream", "display_data", "execute_result"}
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    assert path.stat().st_size < 300_000
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert [cell["metadata"] for cell in cells] == [{}] * len(cells)
    plain = [output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs]
    texts = "".join(map("".join, plain))
    assert re.findall(r"/(?:home|root|tmp|usr)/\S*| at 0x[0-9a-f]+", texts) == []


def test_both_pages_lead_to_all_executed_notebooks():
    for page, folder in ((DOCS / "notebooks.md", "../notebooks/"), (ROOT / "notebooks" / "README.md", "")):
        links = re.findall(rf"\({folder}executed/(\w+)\.ipynb\)", page.read_text(encoding="utf-8"))
        assert links == list(NOTEBOOKS)


def test_an_unknown_notebook_is_named(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["surveys"])
    assert "there is no notebook surveys; there are survey, latent_tree" in capsys.readouterr().err
