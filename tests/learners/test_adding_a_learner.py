"""The learner that docs/adding_a_learner.md shows is a learner like all others, in a package of its own."""

import ast
import html
import importlib
import subprocess
import sys
from types import ModuleType

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks

import pgmpy_latent
from pgmpy_latent.testing import check_learner
from tests.learners import test_base as contract
from tests.test_readme import ROOT, python_blocks

PAGE = ROOT / "docs" / "adding_a_learner.md"


def skeleton():
    """Return the page's learner, from a module of its own, so that pickles find it."""
    module = sys.modules["skeleton_of_a_learner"] = ModuleType("skeleton_of_a_learner")
    for block in python_blocks(PAGE)[:2]:
        exec(block, vars(module))
    return module.GrowingLearner(n_splits=2, random_state=0, show_progress=False)


LEARNER = skeleton()


@contract.unseen_is_fine
@contract.few_columns_are_fine
@estimator_checks.parametrize_with_checks([LEARNER])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "test",
    [
        contract.test_the_results_of_a_fit_agree_with_each_other,
        contract.test_the_model_is_a_pgmpy_network,
        contract.test_history_has_its_columns,
        contract.test_hidden_states_are_numbered_from_the_largest,
        contract.test_weights_count_rows,
    ],
    ids=lambda test: test.__name__,
)
def test_the_contract_of_all_learners(test):
    test(clone(LEARNER))


def test_settings_that_cannot_be_meant():
    with pytest.raises(ValueError, match="n_splits is 0"):
        clone(LEARNER).set_params(n_splits=0).fit(contract.survey())


# In a package of its own --------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a package that holds the page's learner, from a folder outside of the project."""
    folder = tmp_path / "growing_classes"
    folder.mkdir()
    (folder / "__init__.py").write_text("from growing_classes.learner import GrowingLearner\n")
    (folder / "learner.py").write_text("\n\n".join(python_blocks(PAGE)[:2]))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("growing_classes")
    for name in ("growing_classes", "growing_classes.learner"):
        sys.modules.pop(name, None)


def test_a_learner_in_a_package_of_its_own_keeps_the_contract(package, tmp_path):
    learner = package.GrowingLearner(n_splits=2, show_progress=False)
    assert package.__file__.startswith(str(tmp_path))
    assert type(learner).__module__ == "growing_classes.learner"
    check_learner(learner)
    assert "tree_" not in vars(learner)
    assert learner.random_state is None


def test_the_checks_need_no_hypothesis(package, tmp_path):
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        f"sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]\n"
        "from pgmpy_latent import *\n"
        "from growing_classes import GrowingLearner\n"
        "from pgmpy_latent.testing import check_learner\n"
        "check_learner(GrowingLearner(n_splits=1, show_progress=False))\n"
        "try:\n"
        "    from pgmpy_latent.testing import latent_trees\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "need hypothesis; install it with pip install" in done.stdout


def imported_names():
    """Return every name that the page imports, with its module."""
    trees = [ast.parse(block) for block in python_blocks(PAGE)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found = [(node.module, alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    return found + [(alias.name, "") for node in nodes if isinstance(node, ast.Import) for alias in node.names]


def test_the_page_imports_public_names_only():
    names = imported_names()
    assert len(names) > 8
    assert [name for name in names if any(part.startswith("_") for part in ".".join(name).split(".") if part)] == []
    ours = [(module, name) for module, name in names if module.startswith("pgmpy_latent")]
    assert {module for module, _ in ours} == {"pgmpy_latent", "pgmpy_latent.learners", "pgmpy_latent.testing"}
    for module, name in ours:
        assert name in importlib.import_module(module).__all__, f"{module}.{name} is not public"


def test_what_learners_are_built_from_is_public():
    needed = {"LatentTreeLearner", "SearchingLearner", "Search", "Settings", "State", "Step", "Outcome"}
    assert needed <= set(pgmpy_latent.learners.__all__)
    for name in pgmpy_latent.learners.__all__:
        assert "Examples\n" in getattr(pgmpy_latent.learners, name).__doc__, f"{name} has no example"


def test_errors_and_reports_show_python_that_makes_its_tuning(package, tmp_path):
    with pytest.raises(ValueError, match=r"give None, or as presets\.SearchTuning\(\.\.\.\)$"):
        package.GrowingLearner(tuning="quick").fit(contract.survey())
    with pytest.raises(TypeError, match=r"give tuning=presets\.SearchTuning\(search_tol=\.\.\.\)$"):
        package.GrowingLearner(search_tol=0.1)
    tuning = pgmpy_latent.presets.SearchTuning(tol=0.1)
    learner = package.GrowingLearner(n_splits=1, random_state=0, tuning=tuning).fit(contract.survey())
    learner.report(tmp_path / "report.html")
    code = shown_code((tmp_path / "report.html").read_text(encoding="utf-8"))
    imports, made = code.partition("\n\n")[0], next(line for line in code.split("\n") if line.startswith("learner ="))
    names = {}
    exec(f"{imports}\n{made}", names)
    assert repr(names["learner"]) == repr(learner)


def shown_code(page):
    """Return the code that a report shows."""
    return html.unescape(page.partition('id="code">')[2].partition("</code>")[0])
