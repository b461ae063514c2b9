"""Imports point one way: every module imports only modules that stand before it in the list below."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pgmpy_latent

PACKAGE = Path(pgmpy_latent.__file__).parent

#: All modules, low to high; a package stands for the modules inside it. ``docs/architecture.md`` says what each is for.
#: Modules on one line may not import each other.
LAYERS = [
    ["_pgmpy", "exceptions"],
    ["_files"],
    ["_arrays", "_settings", "_sources"],
    ["_work"],
    ["_processes"],
    ["_jobs", "tree"],
    ["network"],
    ["_columns"],
    ["_missing", "_strangers", "survey"],
    ["data"],
    ["_suitable"],
    ["_pool"],
    ["chunks"],
    ["information", "sparse"],
    ["neighbours"],
    ["propagation"],  # the package itself, which holds nothing
    ["propagation.layout"],
    ["propagation.patterns"],
    ["propagation.plan"],
    ["propagation.parts", "propagation.vectors"],
    ["propagation.products"],
    ["propagation.kernels"],
    ["propagation.walk", "propagation.elimination", "propagation.cliques"],
    ["propagation.engine", "propagation.network_engine", "propagation.sharded_engine"],
    ["iteration"],
    ["maximum", "curvature"],
    ["climb"],
    ["shared_climb"],
    ["starts", "em"],
    ["queries", "fisher"],
    ["shards"],
    ["_resampling"],
    ["completion", "dimension", "local_fit", "assignments", "anomalies"],
    ["scores"],
    ["_few_rows"],
    ["operators._edges"],
    ["operators.root"],
    ["operators.star"],
    ["operators.states"],
    ["operators.nodes"],
    ["operators.canonical", "operators.regularity"],
    ["operators"],  # collects the public names of its modules
    ["explain"],
    ["_json"],
    ["convert"],
    ["exports", "_fingerprint", "_plain"],
    ["_checkpoint"],
    ["_kept_em", "_em_input"],
    ["estimator"],
    ["learners"],  # the package itself, which holds nothing
    ["learners._taken_up"],
    ["learners._search", "learners._profiles", "learners._skeleton", "learners._directions", "learners._variables"],
    ["learners._frontier", "learners._islands"],
    ["learners._goodness", "learners._class_choice"],
    ["learners._workshop", "learners._pairs", "learners._moves"],
    ["learners._outlook"],
    ["learners._spot", "learners._simplify"],
    ["learners._restricted"],
    ["learners._completed"],
    ["learners._evaluation"],
    ["learners._east_policy"],
    ["learners._fitted", "learners._updates"],
    ["learners._base", "learners._journal"],
    ["learners._searching"],
    ["learners._cardinality", "learners._forest", "learners._levels"],
    [
        "learners.split_merge",
        "learners.random_starts",
        "learners.bin_g",
        "learners.bin_a",
        "learners.east",
        "learners.hlta",
    ],
    ["learners._class_draws"],
    ["learners.compare", "learners.baselines", "learners.tree_support"],
    ["networks"],  # the package itself, which holds nothing
    [
        "networks.states",
        "networks._graph",
        "networks._counts",
        "networks._families",
        "networks._climb",
        "networks._cliques",
    ],
    ["networks.estimator", "networks._agglomerate", "uncertainty"],
    ["networks._base", "networks._round_robin"],
    ["networks._sizing"],
    ["networks._structural"],
    ["networks._proposals"],
    ["networks.structural"],
    ["networks.agglomeration"],
    ["networks.find_hidden"],
    ["classification"],  # the package itself, which holds nothing
    ["classification._model", "classification._input", "classification._pgmpy"],
    ["classification._em", "classification._rows", "classification._canonical", "classification._edges"],
    ["classification._starts"],
    ["classification._learn"],
    ["classification._wrapper"],
    ["classification._kept"],
    ["classification.lcm"],
    ["_html"],
    ["report._html"],
    ["report._facts"],
    ["report.tree_section", "report.network_section", "report.latents_section", "report.fit_section"],
    ["report.search_section", "report.data_section"],
    ["report.checklist_section", "report.reproduce_section"],
    ["report.page"],
    ["report"],  # collects the public name of its modules
    ["datasets"],
    ["testing"],
    ["plotting._axes", "plotting._models"],
    ["plotting._outline"],
    ["plotting.agglomeration", "plotting.classifier", "plotting.trees", "plotting.profiles"],
    ["plotting.progress", "plotting.fit"],
    ["plotting"],  # collects the public names of its modules
    ["_tables"],
    ["cli._text", "cli._options"],
    ["cli._files", "cli._describe", "cli._outputs"],
    ["cli.classes"],
    ["cli.learn", "cli.ask", "cli.compare", "cli.convert", "cli.demo"],
    ["cli"],  # the parser of all commands, and how errors become exit codes
    ["cli.__main__"],
]
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
#: Who may import what, besides our own modules.
ALLOWED = {
    "pgmpy": {"_pgmpy"},
    "pgmpy_latent._pgmpy": {"convert", "exports", "estimator", "learners._base", "classification._pgmpy"},
    "numba": {"propagation.cliques", "propagation.kernels", "propagation.products", "propagation.vectors"},
    "llvmlite": {"propagation.vectors"},
    "hypothesis": {"testing"},
}
#: Imported inside functions only, except where ``ALLOWED`` names the module.
LATE = ("hypothesis", "matplotlib", "statsmodels")
#: Arrows that point up, inside functions only: what users look for in one place, and what stands above it.
UPWARD = {("tree", "_html"), ("learners._fitted", "_html"), ("learners._fitted", "report")}
#: Module, or package -> what it must never import.
FORBIDDEN = {
    "climb": {"pandas", "pgmpy", "pgmpy_latent.data", "pgmpy_latent.operators", "pgmpy_latent.convert"},
    "em": {"pandas", "pgmpy", "pgmpy_latent.data", "pgmpy_latent.operators", "pgmpy_latent.convert"},
    "operators": {"pandas", "pgmpy", "pgmpy_latent.em", "pgmpy_latent.data"},
    "propagation": {"pandas", "pgmpy", "pgmpy_latent.data"},
    "tree": {"pandas", "pgmpy"},
}


def module_name(path):
    """Return the name of a module inside the package; a package's own file bears the name of the folder."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def all_modules():
    """Return module -> source text; the package's own file, which only looks names up, is left out."""
    return {module_name(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py")) if module_name(path)}


def imports(source, modules):
    """Return (imported module, whether at the top level), each as far as it can be told from the text.

    Public names that are imported from the package count as imports of the module that defines them.
    """
    tree = ast.parse(source)
    inside = {id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
              for node in ast.walk(function)}  # fmt: skip
    typing_only = {id(node) for block in ast.walk(tree) if isinstance(block, ast.If) and is_type_checking(block.test)
                   for node in ast.walk(block)}  # fmt: skip
    found = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are banned"
            names = [resolve(node.module, alias.name, modules) for alias in node.names]
        else:
            continue
        found += [(name, id(node) not in inside) for name in names]
    return found


def is_type_checking(test):
    return "TYPE_CHECKING" in ast.unparse(test)


def resolve(origin, name, modules):
    """Return the module that ``from origin import name`` imports from."""
    if origin == "pgmpy_latent" and name in pgmpy_latent._HOME:
        return pgmpy_latent._HOME[name]
    submodule = f"{origin}.{name}"
    return submodule if submodule.removeprefix("pgmpy_latent.") in modules else origin


def within(name, package):
    return name == package or name.startswith(f"{package}.")


def violations(modules):
    """Return a sentence for each thing that is wrong, given module -> source text."""
    found = [f"{module} is not in LAYERS; say where it belongs" for module in modules if module not in HEIGHT]
    for module, source in modules.items():
        for name, top_level in imports(source, {*modules, *HEIGHT}):
            found += own_violations(module, name, top_level) + foreign_violations(module, name, top_level)
    return found


def own_violations(module, name, top_level):
    if not name.startswith("pgmpy_latent."):
        return []
    target = name.removeprefix("pgmpy_latent.")
    if target not in HEIGHT:
        return [f"{module} imports {target}, which is not in LAYERS"]
    if (module, target) in UPWARD and not top_level:
        return []
    if module in HEIGHT and HEIGHT[target] >= HEIGHT[module]:
        return [f"{module} imports {target}, which does not stand below it"]
    return []


def foreign_violations(module, name, top_level):
    found = []
    for library, users in ALLOWED.items():
        if within(name, library) and module not in users:
            found.append(f"{module} imports {name}; only {', '.join(sorted(users))} may")
    for library in LATE:
        if within(name, library) and top_level and module not in ALLOWED.get(library, ()):
            found.append(f"{module} imports {name} at its top level; import it where it is used")
    for owner, banned in FORBIDDEN.items():
        if within(module, owner) and any(within(name, one) for one in banned):
            found.append(f"{module} imports {name}, which {owner} must not know")
    return found


def test_imports_point_one_way():
    assert violations(all_modules()) == []


def test_every_module_was_read():
    modules = all_modules()
    assert {"exceptions", "tree", "data", "em", "propagation.kernels", "cli"} <= set(modules)
    read = {name for source in modules.values() for name, _ in imports(source, modules)}
    assert {"pgmpy_latent.tree", "pgmpy_latent.propagation.kernels", "numpy", "numba"} <= read


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("tree", "from pgmpy_latent.em import fit", "tree imports em, which does not stand below it"),
        ("tree", "import pgmpy_latent.data", "tree imports data, which does not stand below it"),
        ("tree", "from pgmpy_latent import em", "tree imports em, which does not stand below it"),
        ("tree", "from pgmpy_latent import load", "tree imports convert, which does not stand below it"),
        ("tree", "def f():\n    from pgmpy_latent.cli import main", "tree imports cli, which does not stand below it"),
        ("tree", "from pgmpy_latent.tree import check", "tree imports tree, which does not stand below it"),
        ("em", "from pgmpy_latent.starts import random_tables", "em imports starts, which does not stand below it"),
        ("em", "import pandas as pd", "em imports pandas, which em must not know"),
        ("em", "def f():\n    import pgmpy.models", "em imports pgmpy.models; only _pgmpy may"),
        ("operators.states", "from pgmpy_latent.data import encode", "which operators must not know"),
        ("operators.states", "from pgmpy_latent import encode", "which operators must not know"),
        ("operators.states", "from pgmpy_latent.em import fit", "which operators must not know"),
        ("cli", "from pgmpy.models import DiscreteBayesianNetwork", "cli imports pgmpy.models; only _pgmpy may"),
        (
            "convert",
            "from pgmpy.models import DiscreteBayesianNetwork",
            "convert imports pgmpy.models; only _pgmpy may",
        ),
        (
            "em",
            "from pgmpy_latent._pgmpy import DAG",
            "em imports pgmpy_latent._pgmpy; only classification._pgmpy, conv",
        ),
        (
            "data",
            "def f():\n    import numba",
            "data imports numba; only propagation.cliques, propagation.kernels, propagation.products",
        ),
        ("data", "from llvmlite import ir", "data imports llvmlite; only"),
        ("datasets", "import statsmodels.api", "datasets imports statsmodels.api at its top level"),
        (
            "scores",
            "try:\n    import matplotlib\nexcept ImportError:\n    pass",
            "scores imports matplotlib at its top",
        ),
        ("cli", "import hypothesis", "cli imports hypothesis; only testing may"),
        ("tree", "from pgmpy_latent._html import model_html", "tree imports _html, which does not stand below it"),
        (
            "learners._fitted",
            "from pgmpy_latent.report import write_report",
            "imports report, which does not stand below",
        ),
        ("newcomer", "import numpy", "newcomer is not in LAYERS; say where it belongs"),
        ("cli", "from pgmpy_latent.newcomer import x", "cli imports newcomer, which is not in LAYERS"),
    ],
)
def test_a_planted_violation_is_caught(module, line, complaint):
    modules = {"newcomer": ""} if "newcomer import" in line else {}
    assert any(complaint in found for found in violations({**modules, module: line}))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("estimator", "from pgmpy_latent import em\nfrom pgmpy_latent._pgmpy import DAG"),
        ("cli", "from pgmpy_latent import __version__, load"),
        ("datasets", "def f():\n    from statsmodels.datasets import anes96"),
        ("testing", "try:\n    from hypothesis import strategies\nexcept ImportError:\n    raise"),
        ("tree", "if TYPE_CHECKING:\n    import pandas as pd"),
        ("operators", "from pgmpy_latent.operators.states import marginals"),
        ("tree", "def f():\n    from pgmpy_latent._html import model_html"),
        ("learners._fitted", "def f():\n    from pgmpy_latent.report import write_report"),
    ],
)
def test_what_is_allowed_passes(module, line):
    assert violations({module: line}) == []


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("numba", "pandas", "pgmpy", "numpy", "statsmodels", "sklearn", "hypothesis")
    code = f"import sys, pgmpy_latent; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist():
    for name in pgmpy_latent.__all__:
        assert getattr(pgmpy_latent, name) is not None
    assert dir(pgmpy_latent) == sorted([*pgmpy_latent.__all__, "testing"])  # which a star import leaves out
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pgmpy_latent.nothing


def test_no_module_is_called_like_a_public_function():
    assert not set(pgmpy_latent._HOME) & {name.split(".")[-1] for name in all_modules()}
