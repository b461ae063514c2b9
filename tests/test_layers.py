"""Imports point one way: a module imports only what stands before it in the list below, which the docs repeat."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pgmpy_latent

PACKAGE = Path(pgmpy_latent.__file__).parent
PAGE = PACKAGE.parent / "docs" / "architecture.md"

#: Folders and modules of the package, low to high, each with the modules inside it, low to high. A module imports
#: modules of lower folders, and those that stand before it in its own. A folder's own file, which only collects names,
#: stands behind all of its modules.
LAYERS = {
    "exceptions": "",
    "runtime": "warn arrays files clock settings configured lossless_json fingerprint checkpoint parallel",
    "model": (
        "labels pgmpy_api emissions json_format spelling network_texts uai_file tree network mixture gaussian_tree "
        "gaussian_convert history convert exports"
    ),
    "operators": "edges root blocks star states nodes canonical regularity pruning bins classes",
    "datasets": "",
    "testing": "assertions strategies",
    "tables": (
        "likely_codes whole_numbers missing text_layout program_files files large_tables columns missing_codes "
        "unseen survey target numbers encode number_bins suitable distinct_rows chunks row_sample dependence sparse "
        "neighbours folds"
    ),
    "inference": (
        "numeric_tables layout protocol patterns plan kernels/vectors kernels/matrices kernels/products "
        "kernels/numbers kernels/edges kernels/trees kernels/cliques kernels/tables kernels/factors threads walk "
        "tree_engine elimination network_engine mixture_engine sharded_engine queries"
    ),
    "em": (
        "starts log_linear class_logit constraints metric step maximum curvature ascent judged sharing fit resume "
        "shards inputs few_rows restrictions estimators network_em stepwise smoothing"
    ),
    "diagnostics": (
        "completion dimension resampling adjustment pairs pair_draws residuals assignments anomalies alikeness "
        "goodness link_strength conditionals network_information explain mixture_text information_matrix uncertainty "
        "score_test direct_effects"
    ),
    "scores": "information entropy marginal_likelihood held_out scoring_methods all_scores",
    "presets": "",
    "learners": (
        "memory resumed search profiles skeletons memo fitted fitted_mixture given splits common_edges sampled_search "
        "base sparse_learner search_learner rename held_out local/directions local/neighbourhood local/tree_fitter "
        "local/node_states local/node_messages local/roots local/pairs local/simplify east/settings east/candidates "
        "east/completed_counts east/evaluation east/blocks east/block_fit east/move east/node_moves "
        "east/edge_moves east/state_moves east/moves east/block_evaluation east/column_places cardinality/policy "
        "cardinality/split_merge cardinality/random_starts forests/forest_search forests/bin_g forests/bin_a "
        "column_forest density/shape density/begin density/mixture density/trials density/policy density/validated "
        "density/hidden_chow_liu density/mixture_trials density/mixture_search density/hidden_chow_liu_mixture "
        "density/growth density/refinement east/block_states east/memory east/policy east/race east/starts "
        "east/east hlta/variables hlta/islands hlta/levels hlta/column_tree hlta/numbers hlta/hlta baselines"
    ),
    "gaussian": (
        "moments shape messages forest criteria objective fit columns queries estimator completion loadings "
        "goodness uncertainty words fitted given first_forests binary_forests edits neighbourhoods moves policy "
        "learner learners"
    ),
    "selection": (
        "class_choice class_draws added_edges compare order edge_search group_models group_choice groups "
        "tree_support network_support support comparison synthetic"
    ),
    "relations": (
        "covariates rows run step_one evidence logit separation last_step one_step outcomes wald covariate_result "
        "outcome_result relate"
    ),
    "grouped_rows": "long_tables transitions levels",
    "networks": (
        "graph states counts scoring hill_climb knowledge fitter structural/policy structural/structural_em "
        "agglomeration/merging agglomeration/reassignment agglomeration/round_robin agglomeration/sizing "
        "agglomeration/cardinality "
        "find_hidden/semi_cliques find_hidden/memory find_hidden/sources find_hidden/surroundings "
        "find_hidden/filled find_hidden/tie_break find_hidden/local_search find_hidden/proposals "
        "find_hidden/find_hidden"
    ),
    "classification": "gaussian_networks model inputs em rows canonical edges starts learn size_search resume lcm",
    "report": (
        "notebook html export_table document profile_bars facts mixed_facts gaussian_facts tree_section "
        "network_section topics_section what_if_section mixture_section latents_section numbers_section "
        "fit_section effects_section groups_section relations_section search_section data_section "
        "checklist_section reproduce_section gaussian_sections opening grouped_page gaussian_page page explorer"
    ),
    "plotting": (
        "axes models outline layers agglomeration classifier trees networks loadings profiles densities groups "
        "progress fit relations transitions levels"
    ),
    "cli": (
        "text options columns kinds files outputs classes understood describe learn ask groups compare relate "
        "direct_effects long_tables transitions levels convert demo"
    ),
}


def in_order():
    """Return all modules, low to high."""
    found = []
    for folder, inside in LAYERS.items():
        modules = [f"{folder}.{name.replace('/', '.')}" for name in inside.split()]
        packages = {module.rpartition(".")[0] for module in modules} - {folder}
        found += [*sorted(packages), *modules, folder]
    return [*found, "cli.__main__"]


HEIGHT = {name: height for height, name in enumerate(in_order())}
#: Who may import what, besides our own modules.
ALLOWED = {
    "pgmpy": {"model.pgmpy_api"},
    "pgmpy_latent.model.pgmpy_api": {
        "model.convert", "model.gaussian_convert", "model.exports", "em.estimators", "gaussian.estimator",
        "gaussian.learner", "gaussian.fitted", "gaussian.given", "learners.base", "learners.given",
        "learners.fitted_mixture", "classification.gaussian_networks",
    },
    "numba": {"inference.kernels"},
    "llvmlite": {"inference.kernels.vectors", "inference.kernels.matrices"},
    "hypothesis": {"testing.strategies"},
}  # fmt: skip
#: Imported inside functions only, except where ``ALLOWED`` names the module.
LATE = ("hypothesis", "matplotlib", "statsmodels")
#: Arrows that point up, inside functions only: what users look for in one place, and what stands above it.
UPWARD = {
    ("model.tree", "report.notebook"),
    ("learners.fitted", "report.notebook"),
    ("learners.fitted", "report"),
    ("grouped_rows.levels", "report"),
    ("grouped_rows.transitions", "report"),
    ("model.gaussian_tree", "report.notebook"),
    ("gaussian.fitted", "report"),
    ("learners.given", "gaussian.given"),
}
#: Module or folder -> what it must never import.
FORBIDDEN = {
    "em.step": {"pandas", "pgmpy"},
    "em.maximum": {"pandas", "pgmpy"},
    "em.ascent": {"pandas", "pgmpy"},
    "em.fit": {"pandas", "pgmpy", "pgmpy_latent.tables", "pgmpy_latent.operators", "pgmpy_latent.model"},
    "operators": {"pandas", "pgmpy"},
    "inference.tree_engine": {"pandas", "pgmpy_latent.tables"},
    "inference.plan": {"pandas", "pgmpy_latent.tables"},
    "inference.kernels": {"pandas", "pgmpy_latent.tables", "pgmpy_latent.model"},
    "model.tree": {"pandas", "pgmpy"},
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
        if within(name, library) and not any(within(module, user) for user in users):
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


def test_the_list_has_no_module_that_does_not_exist():
    assert sorted(HEIGHT) == sorted(all_modules())


def test_few_modules_stand_at_the_top():
    assert [name for name, inside in LAYERS.items() if not inside] == [
        "exceptions",
        "datasets",
        "presets",
    ]


def test_the_page_has_the_same_list():
    rows = re.findall(r"^\| `(\w+)/?` \| (.*?) \|", PAGE.read_text(), re.MULTILINE)
    said = {folder: re.findall(r"`([\w/]+)`", inside) for folder, inside in rows if folder in LAYERS}
    assert list(said) == list(LAYERS)
    assert said == {folder: inside.split() for folder, inside in LAYERS.items()}


def test_every_module_was_read():
    modules = all_modules()
    read = {name for source in modules.values() for name, _ in imports(source, modules)}
    assert {"pgmpy_latent.model.tree", "pgmpy_latent.inference.kernels.trees", "numpy", "numba"} <= read


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        (
            "model.tree",
            "from pgmpy_latent.em.fit import fit",
            "model.tree imports em.fit, which does not stand below it",
        ),
        ("model.tree", "import pgmpy_latent.tables.encode", "imports tables.encode, which does not stand below it"),
        ("model.tree", "from pgmpy_latent.em import fit", "model.tree imports em.fit, which does not stand below it"),
        ("model.tree", "from pgmpy_latent import load", "imports model.convert, which does not stand below it"),
        ("model.tree", "def f():\n    from pgmpy_latent.cli import main", "imports cli, which does not stand below it"),
        (
            "model.tree",
            "from pgmpy_latent.model.tree import check",
            "imports model.tree, which does not stand below it",
        ),
        ("em.step", "from pgmpy_latent.em.ascent import Ascent", "imports em.ascent, which does not stand below it"),
        ("em.fit", "import pandas as pd", "em.fit imports pandas, which em.fit must not know"),
        ("em.fit", "def f():\n    import pgmpy.models", "em.fit imports pgmpy.models; only model.pgmpy_api may"),
        ("operators.states", "from pgmpy_latent.tables.encode import encode", "which does not stand below it"),
        ("operators.states", "from pgmpy_latent import encode", "which does not stand below it"),
        ("operators.states", "import pandas", "which operators must not know"),
        ("cli", "from pgmpy.models import DiscreteBayesianNetwork", "imports pgmpy.models; only model.pgmpy_api may"),
        ("em.fit", "from pgmpy_latent.model.pgmpy_api import DAG", "only classification.gaussian_networks, em.estim"),
        ("tables.encode", "def f():\n    import numba", "tables.encode imports numba; only inference.kernels may"),
        ("tables.encode", "from llvmlite import ir", "tables.encode imports llvmlite; only"),
        ("datasets", "import statsmodels.api", "datasets imports statsmodels.api at its top level"),
        (
            "scores",
            "try:\n    import matplotlib\nexcept ImportError:\n    pass",
            "scores imports matplotlib at its top",
        ),
        ("cli", "import hypothesis", "cli imports hypothesis; only testing.strategies may"),
        ("model.tree", "from pgmpy_latent.report.notebook import model_html", "which does not stand below it"),
        (
            "learners.fitted",
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
        ("em.estimators", "from pgmpy_latent.em import fit\nfrom pgmpy_latent.model.pgmpy_api import DAG"),
        ("cli", "from pgmpy_latent import __version__, load"),
        ("datasets", "def f():\n    from statsmodels.datasets import anes96"),
        ("testing.strategies", "try:\n    from hypothesis import strategies\nexcept ImportError:\n    raise"),
        ("model.tree", "if TYPE_CHECKING:\n    import pandas as pd"),
        ("operators", "from pgmpy_latent.operators.states import marginals"),
        ("model.tree", "def f():\n    from pgmpy_latent.report.notebook import model_html"),
        ("learners.fitted", "def f():\n    from pgmpy_latent.report import write_report"),
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
    assert dir(pgmpy_latent) == sorted(pgmpy_latent.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pgmpy_latent.nothing


def test_the_stub_gives_every_public_name_from_the_module_that_defines_it():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    origins = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    declared = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert {*origins, *declared} == {*pgmpy_latent.__all__, "__all__"}
    for name, (module, original) in origins.items():
        assert original == name
        assert getattr(importlib.import_module(module), original) is getattr(pgmpy_latent, name)


def test_no_folder_is_called_like_a_public_function():
    assert not set(pgmpy_latent._HOME) & set(LAYERS)
