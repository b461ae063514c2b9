"""From a fit to the compiled code in few steps: the way is counted, and the page that describes it is checked."""

import re
import sys
from pathlib import Path

import pytest
from pgmpy.models import DiscreteBayesianNetwork

import pgmpy_latent
from pgmpy_latent import EAST, TreeEM, datasets, presets, sample

PACKAGE = Path(pgmpy_latent.__file__).parent
PAGE = PACKAGE.parent / "docs" / "architecture.md"
#: The last function before the compiled code.
KERNEL = "inference.tree_engine._run"


def ways_through(function, last=None):
    """Return the stacks of our own frames, outermost first, that a call goes through, or those that end in ``last``."""
    stack, found = [], set()

    def look(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("pgmpy_latent"):
            return
        if event == "call":
            stack.append(f"{module.removeprefix('pgmpy_latent.')}.{frame.f_code.co_name}")
            if last is None or stack[-1] == last:
                found.add(tuple(stack))
        elif event == "return" and stack:
            stack.pop()

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def ways_to_the_kernel(function):
    """Return the stacks with which the kernel was reached."""
    return ways_through(function, last=KERNEL)


@pytest.fixture(scope="module")
def table():
    return sample(datasets.hlc_model(7, random_state=2), 300, random_state=0)


def fit_tree(table):
    network = DiscreteBayesianNetwork([("H", column) for column in table.columns], latents={"H"})
    TreeEM(latent_card=2, n_init=2, seed=0, show_progress=False).fit(network, table)


def fit_east(table):
    """Fit with moves that cost less for a while, and with a few that pay off only together."""
    tuning = presets.EAST.replace(excursions=(0.25,), look_ahead=4)
    EAST(random_state=0, show_progress=False, tuning=tuning).fit(table)


def test_few_frames_lie_between_a_fit_of_a_tree_and_the_kernel(table):
    fit_tree(table)  # compiles, and imports
    ways = ways_to_the_kernel(lambda: fit_tree(table))
    deepest = max(ways, key=len)
    assert len(deepest) <= 8, "\n".join(deepest)


#: Functions in which a search of EAST hands over to another search, and how deep the way through them may be.
ELSEWHERE = {"learners.search_learner.learned_for": 30, "learners.east.block_states.split_and_merged": 24}


def test_few_frames_lie_between_a_search_and_the_kernel():
    table = sample(datasets.hlc_model(7, random_state=2), 2000, random_state=0)  # which one start does not explain
    fit_east(table.head(100))  # compiles, and imports
    ways = ways_to_the_kernel(lambda: fit_east(table))
    for hop, most in ELSEWHERE.items():
        through = {way for way in ways if hop in way}
        deepest = max(through, key=len)
        assert len(deepest) <= most, "\n".join(deepest)
        ways -= through
    deepest = max(ways, key=len)
    assert len(deepest) <= 23, "\n".join(deepest)
    for part in ("_excursion", "_settled"):
        assert any(f"learners.east.policy.{part}" in way for way in ways)


def test_the_page_says_how_deep_a_search_is():
    text = " ".join(PAGE.read_text().split())
    assert "A search of `EAST` reaches the same compiled code through 23 calls at most" in text
    assert f"{ELSEWHERE['learners.east.block_states.split_and_merged']} where it splits and merges states" in text
    assert (
        f"{ELSEWHERE['learners.search_learner.learned_for']} where another learner finds a tree to begin with" in text
    )


def test_the_page_walks_the_way_that_a_fit_goes(table):
    text = " ".join(PAGE.read_text().split())
    walk = text[text.index("follow six calls down:") :].split(". ")[0]
    hops = re.findall(r"`([\w.]+)` \(`([\w/]+)`\)", walk)
    assert len(hops) == 6
    for name, module in hops:
        source = (PACKAGE / f"{module}.py").read_text()
        assert re.search(rf"def {name.split('.')[-1]}\(", source), (name, module)
    reached = {frame for way in ways_to_the_kernel(lambda: fit_tree(table)) for frame in way}
    for name, module in hops[1:5]:  # the first is a method of a subclass, the last is compiled
        assert f"{module.replace('/', '.')}.{name.split('.')[-1]}" in reached


def test_a_whole_fit_is_nowhere_deeper_and_enters_as_many_modules_as_the_page_says(table):
    fit_tree(table)
    ways = ways_through(lambda: fit_tree(table))
    deepest = max(ways, key=len)
    assert len(deepest) <= 8, "\n".join(deepest)
    modules = {frame.rpartition(".")[0] for way in ways for frame in way}
    text = " ".join(PAGE.read_text().split())
    assert f"enters {len(modules)} modules, and no call in it is more than eight deep" in text
