"""When merging undoes a component too many: chapter 5 of the thesis. Run: python -m benchmarks.merging

A latent class model L, drawn at random, is turned into data that it describes perfectly: every cell of the joint,
weighted by its probability. A model L' with more components is fitted until it describes them perfectly as well. Can
L be got back by merging components of L'?

Precision is half of chi-squared, ``Σ (q - p)² / 2p``. Where q is close to p this is the Kullback-Leibler divergence,
but without its cancellation: it can be told from zero far below 1e-16.
"""

from __future__ import annotations

from benchmarks import runner  # first: it pins the threads  # isort: skip

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import combinations, product

import numpy as np

from pgmpy_latent import LatentTree
from pgmpy_latent.em.fit import fit
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.tree_engine import TreeEngine
from pgmpy_latent.operators import merge_states

#: EM iterations from each random start, leaps included.
EM_ITERATIONS = 2_000
#: What EM alone is said to have reached.
EM_PRECISION = 1e-10
#: A model describes the data perfectly if its precision is at least this. Most come out below 1e-25. Short of it, a
#: model that can be merged back once it is finished may seem not to be.
PERFECT = 1e-19
#: Levenberg-Marquardt steps after EM; given up when the last PATIENCE of them have not even halved what is left.
NEWTON_STEPS, PATIENCE = 2_000, 200
#: Two distributions count as equal if no cell differs by more than this times the square root of the precision, which
#: rounding keeps from falling below ROUNDING squared.
TOLERANCE, ROUNDING = 1000.0, 1e-13
#: Random models L per structure; models L' that are wanted for each, and starts that may be tried for them.
N_MODELS, N_WANTED, N_STARTS = 5, 4, 12

#: Structures of L in the order of table 5.1: components, states of the observed variables, whether L can be got back.
TABLE = [(2, (2,) * 4, True)]
TABLE += [(m, (2,) * 5, True) for m in (2, 3, 4)] + [(m, (2,) * 6, True) for m in range(2, 9)]
TABLE += [(m, (2,) * k, False) for m, k in ((2, 3), (3, 4), (5, 5), (9, 6))]
COUNTER = (2, (3, 3, 2))
TWO_TOO_MANY = (2, (2,) * 5)
#: Numbers of variables for which two models are known in closed form.
CLOSED = (5, 6, 7)


def structure(n_components: int, cards: Sequence[int]) -> str:
    """Return a structure as the thesis writes it: 2:5x2, or 2:3,3,2."""
    same = len(set(cards)) == 1
    return f"{n_components}:{len(cards)}x{cards[0]}" if same else f"{n_components}:{','.join(map(str, cards))}"


def case_of(n_components: int, cards: Sequence[int], extra: int = 1) -> str:
    return f"{structure(n_components, cards)} -> {structure(n_components + extra, cards)}"


def latent_class(shares: np.ndarray, rows: Iterable[np.ndarray]) -> LatentTree:
    """Return the model with these shares of components and these tables of observed variables."""
    tables = [np.atleast_2d(shares), *rows]
    names = ["H", *(f"D{at}" for at in range(1, len(tables)))]
    parent = [-1] + [0] * (len(tables) - 1)
    return LatentTree(names, [range(t.shape[1]) for t in tables], parent, [name == "H" for name in names], tables)


def random_model(n_components: int, cards: Sequence[int], rng: np.random.Generator) -> LatentTree:
    """Draw every row uniformly from the simplex."""
    shares = rng.dirichlet(np.ones(n_components))
    return latent_class(shares, [rng.dirichlet(np.ones(card), size=n_components) for card in cards])


def distribution(model: LatentTree) -> np.ndarray:
    """Return the probability of every cell of the joint of the observed variables, the last one running fastest."""
    shares, *rows = model.tables
    joint = reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), rows)
    return shares[0] @ joint


def precision(target: np.ndarray, found: np.ndarray) -> float:
    return float(((found - target) ** 2 / target).sum() / 2)


def engine_for(n_components: int, cards: Sequence[int], weights: np.ndarray) -> TreeEngine:
    """Return an engine whose data are all cells of the joint."""
    cells = np.array(list(product(*map(range, cards))))
    evidence = {at + 1: Evidence(cells[:, at], card) for at, card in enumerate(cards)}
    return TreeEngine(compile_plan([-1] + [0] * len(cards), evidence), [n_components, *cards], weights)


def finish(model: LatentTree, target: np.ndarray) -> LatentTree:
    """Take Levenberg-Marquardt steps to a model that describes the target perfectly, if there is one nearby.

    EM crawls near the end; this does not. A component is a product of one vector per variable, which need not sum to
    one, so that the share is part of the vectors. The unknowns are the roots of their entries: nothing turns negative.
    """
    shares, *rows = model.tables
    cards = [row.shape[1] for row in rows]
    cells = np.array(list(product(*map(range, cards))))
    owner = np.repeat(np.arange(len(cards)), cards)  # a state of a variable -> the variable
    places = cells + np.concatenate([[0], np.cumsum(cards)[:-1]])  # a cell -> the states it consists of
    belongs = (places[:, :, None] == np.arange(len(owner))).any(axis=1)
    scale = 1 / np.sqrt(target)

    def evaluate(roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual of every cell and its derivatives (component and state, cell)."""
        factors = np.moveaxis((roots**2)[:, places], 2, 0)  # variable, component, cell
        ones = np.ones_like(factors[:1])
        before = np.cumprod(np.concatenate([ones, factors[:-1]]), axis=0)
        after = np.cumprod(np.concatenate([ones, factors[:0:-1]]), axis=0)[::-1]
        found = (before[-1] * factors[-1]).sum(axis=0)
        slopes = (before * after)[owner].swapaxes(0, 1) * belongs.T * (2 * roots)[:, :, None]
        return (found - target) * scale, slopes.reshape(-1, len(target)) * scale

    roots = np.sqrt(np.concatenate(rows, axis=1) * shares.T ** (1 / len(cards)) + 1e-12)
    residual, slopes = evaluate(roots)
    damping, trace = 1e-3, [residual @ residual]
    while len(trace) <= NEWTON_STEPS and trace[-1] > 1e-28 and (
        len(trace) <= PATIENCE or trace[-1] < trace[-PATIENCE] / 2
    ):  # fmt: skip
        square = slopes.T @ slopes
        while damping < 1e6:
            step = slopes @ np.linalg.solve(square + damping * np.eye(len(target)), residual)
            moved = roots - step.reshape(roots.shape)
            new = evaluate(moved)
            if new[0] @ new[0] < trace[-1]:
                break
            damping *= 4
        else:
            break
        roots, (residual, slopes), damping = moved, new, max(damping / 5, 1e-14)
        trace.append(residual @ residual)
    vectors = np.split(roots**2, np.cumsum(cards)[:-1], axis=1)
    sums = [vector.sum(axis=1, keepdims=True) for vector in vectors]
    shares = np.prod(sums, axis=0).ravel()
    return latent_class(shares / shares.sum(), [v / s for v, s in zip(vectors, sums, strict=True)])


def ascend(engine: TreeEngine, target: np.ndarray, rng: np.random.Generator) -> tuple[LatentTree, float]:
    """Fit from one random start; return the model and the precision that EM alone reached."""
    start = random_tables(engine.layout, rng)
    tables = engine.layout.unpack(fit(engine, start, max_iter=EM_ITERATIONS, atol=1e-15).tables)
    model = latent_class(tables[0], tables[1:])
    reached = precision(target, distribution(model))
    return finish(model, target), reached


def perfect_models(case: tuple, extra: int) -> tuple[list[list[tuple[LatentTree, np.ndarray, float]]], dict]:
    """Return, for each random L, the perfect models L' with the distribution and the tolerance; and what it took."""
    n_components, cards = case
    found, n_starts, n_by_em = [], 0, 0
    for number in range(N_MODELS):
        rng = np.random.default_rng([number, n_components, extra, *cards])
        target = distribution(random_model(n_components, cards, rng))
        engine = engine_for(n_components + extra, cards, target)
        mine = []
        for _ in range(N_STARTS):
            model, by_em = ascend(engine, target, rng)
            reached = precision(target, distribution(model))
            n_starts += 1
            n_by_em += by_em <= EM_PRECISION
            if reached <= PERFECT:
                mine.append((model, target, TOLERANCE * max(np.sqrt(reached), ROUNDING)))
            if len(mine) == N_WANTED:
                break
        found.append(mine)
    return found, {"starts": n_starts, "by_em": n_by_em, "perfect": sum(map(len, found))}


def merged(model: LatentTree, *groups: Sequence[int]) -> LatentTree:
    """Merge each of some groups of components; the groups have nothing in common."""
    for group in groups:
        model = merge_states(model, "H", group)
    return model


def distance(model: LatentTree, target: np.ndarray) -> float:
    """Return the largest difference of the probability of a cell."""
    return float(abs(distribution(model) - target).max())


def nearest_pair(model: LatentTree, target: np.ndarray) -> float:
    """Return how close merging the best pair of components comes to a distribution."""
    return min(distance(merged(model, pair), target) for pair in combinations(model.state_names[0], 2))


def one_too_many(case: tuple) -> dict:
    """Count how often a pair of components can be merged without changing the distribution."""
    found, figures = perfect_models(case, 1)
    gaps = [[(nearest_pair(model, target), tolerance) for model, target, tolerance in mine] for mine in found]
    back = [each for mine in gaps for each in mine if each[0] <= each[1]]
    away = [each for mine in gaps for each in mine if each[0] > each[1]]
    return figures | {
        "models": sum(map(bool, found)),
        "models_away": sum(any(gap > tolerance for gap, tolerance in mine) for mine in gaps),
        "back": len(back),
        "away": len(away),
        "largest_back": max((gap for gap, _ in back), default=None),
        "smallest_away": min((gap for gap, _ in away), default=None),
        "worst_back": max((gap / tolerance for gap, tolerance in back), default=None),
        "worst_away": min((gap / tolerance for gap, tolerance in away), default=None),
    }


def ways_back(model: LatentTree, target: np.ndarray, tolerance: float) -> str:
    """Tell how four components become two: in which steps that each keep the distribution."""

    def keeps(*groups: Sequence[int]) -> bool:
        return distance(merged(model, *groups), target) <= tolerance

    pairs = [(0, at, *(set(range(1, 4)) - {at})) for at in range(1, 4)]
    if any(keeps((a, b), (c, d)) for a, b, c, d in pairs):
        return "disjoint"  # then either pair alone keeps it, too
    triples = [triple for triple in combinations(range(4), 3) if keeps(triple)]
    if not triples:
        return "none"
    chain = any(keeps(pair) for triple in triples for pair in combinations(triple, 2))
    return "chain" if chain else "at_once"


def two_too_many(case: tuple) -> dict:
    """Count in which ways two superfluous components can be merged away."""
    found, figures = perfect_models(case, 2)
    ways = [ways_back(*each) for mine in found for each in mine]
    return figures | {way: ways.count(way) for way in ("disjoint", "chain", "at_once", "none")}


def quadrature_models(n_variables: int) -> tuple[LatentTree, LatentTree]:
    """Return two models with the same distribution, the second with one component more, none of them mergeable.

    If P(Dᵢ = 1 | t) = (1 + cᵢ t) / 2, the probability of each cell is a polynomial of degree n in t. Two rules of
    quadrature that are exact up to this degree, taken as two distributions of t, give the same mean: Gauss' and
    Lobatto's, which needs a node more, two of them being -1 and 1.
    """
    n_nodes = n_variables // 2 + 1
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    legendre = np.polynomial.legendre.Legendre.basis(n_nodes)
    ends = np.concatenate([[-1.0], legendre.deriv().roots(), [1.0]])
    lobatto = 2 / (n_nodes * (n_nodes + 1) * legendre(ends) ** 2)
    slopes = np.linspace(0.5, 0.9, n_variables)
    return tuple(
        latent_class(w / w.sum(), [np.stack([1 - c * t, 1 + c * t], axis=1) / 2 for c in slopes])
        for t, w in ((nodes, weights), (ends, lobatto))
    )


def closed_form(n_variables: int) -> dict:
    small, large = quadrature_models(n_variables)
    target = distribution(small)
    return {"apart": distance(large, target), "nearest": nearest_pair(large, target)}


def closed_case(n_variables: int) -> str:
    return f"closed form, {case_of(n_variables // 2 + 1, (2,) * n_variables)}"


def small(value: float | None) -> str:
    return "" if value is None else f"{value:.0e}"


def worst(run: runner.Runner, figure: str, choose) -> float:
    """Return the least clear judgement of all."""
    values = [run.figure(case_of(*case), "ours", figure) for *case, _ in [*TABLE, (*COUNTER, None)]]
    return choose(value for value in values if value is not None)


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    lines = [
        "## Merging components",
        "",
        "Written by `python -m benchmarks.merging`: chapter 5 of the thesis. A random latent class model L is turned",
        "into data that it describes perfectly, the cells of the joint weighted by their probabilities. L', with a",
        "component more, is fitted from random starts until it describes them perfectly, too. Then each pair of its",
        "components is merged.",
        "",
        f"There are {N_MODELS} models L per structure and, for each, at most {N_STARTS} starts, until {N_WANTED}",
        f"perfect L' are found. A fit takes {EM_ITERATIONS:,} EM iterations with leaps, which alone reach a divergence",
        f"(Kullback-Leibler) of {EM_PRECISION:.0e} from some starts only, and then Levenberg-Marquardt steps.",
        f"*Perfect* is a divergence below {PERFECT:.0e}; other starts end at local maxima or crawl. *Merged back*",
        f"means that no cell differs from L's by more than {TOLERANCE:,.0f} √divergence. The distance is the largest",
        "difference of a cell, for the best pair of components. Judgements are clear: this distance is at most",
        f"{worst(run, 'worst_back', max):.2f} times what is allowed where L is got back, and at least",
        f"{worst(run, 'worst_away', min):,.0f} times what is allowed elsewhere.",
        f"Versions: {run.find(case_of(*COUNTER), 'ours')['versions']}.",
        "",
        "| L -> L' | thesis: L can be got back | starts: all, to the end by EM alone, perfect | L with a perfect L' "
        "| L' merged back | largest distance of these | smallest distance of the others | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    differs = []
    for *case, possible in [*TABLE, (*COUNTER, None)]:
        name = case_of(*case)
        names = ("starts", "by_em", "perfect", "back", "away", "models", "models_away", "largest_back", "smallest_away")
        n = {figure: run.figure(name, "ours", figure) for figure in names}
        thesis = {True: "yes", False: "no", None: "not always"}[possible]
        lines.append(
            f"| {name} | {thesis} | {n['starts']}, {n['by_em']}, {n['perfect']} | {n['models']} of {N_MODELS} "
            f"| {n['back']} of {n['perfect']} | {small(n['largest_back'])} "
            f"| {small(n['smallest_away'])} | {run.seconds(name, 'ours'):.0f} |"
        )
        if possible is None:
            lines += ["", f"{name}: not always for {n['models_away']} of {n['models']} models L."]
        elif n["away" if possible else "back"]:
            differs.append(f"{name} (not always for {n['models_away']} of {n['models']} models L)")
    lines += ["", f"Rows that differ from the thesis: {', '.join(differs) or 'none'}."]
    return "\n".join(lines + two_too_many_lines(run) + closed_form_lines(run))


def two_too_many_lines(run: runner.Runner) -> list[str]:
    name = case_of(*TWO_TOO_MANY, 2)
    n = {figure: run.figure(name, "ours", figure) for figure in ("perfect", "disjoint", "chain", "at_once", "none")}
    return [
        "",
        f"{name}, of {n['perfect']} perfect L': {n['disjoint']} are merged back by two disjoint pairs, {n['chain']} by",
        f"a pair and then its result with a third component, {n['at_once']} only by three components at once,",
        f"{n['none']} not at all. Three at once are the same as one pair after the other; the question is whether the",
        "model in between still describes the data, which is all that a search would see.",
    ]


def closed_form_lines(run: runner.Runner) -> list[str]:
    lines = [
        "",
        "Conjecture 5.2 of the thesis, that L can be got back if variables are binary and L' has no more parameters",
        "than the joint has free cells, fails in closed form. Let P(Dᵢ = 1 | t) = (1 + cᵢ t) / 2. Each cell is then a",
        "polynomial in t, and rules of quadrature that are exact up to its degree are models with one and the same",
        "distribution: L has Gauss' nodes as components, L' has Lobatto's, one more. With five variables this is no",
        "special case: any three components lie on such a curve if each variable is transformed by a Möbius map of its",
        "own, which is why random L show it.",
        "",
        "| L -> L' | distance of L' from L | smallest distance after merging a pair |",
        "|---|---|---|",
    ]
    for n_variables in CLOSED:
        name = closed_case(n_variables)
        apart, nearest = (run.figure(name, "ours", figure) for figure in ("apart", "nearest"))
        lines.append(f"| {name.removeprefix('closed form, ')} | {small(apart)} | {small(nearest)} |")
    return lines


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("merging", again=options.again, only=options.only)
    if not options.render:
        ascend(engine_for(2, (2, 2), np.full(4, 0.25)), np.full(4, 0.25), np.random.default_rng(0))  # loads the kernels
        work = {case_of(*case): lambda case=case: one_too_many(case) for *case, _ in [*TABLE, (*COUNTER, None)]}
        work[case_of(*TWO_TOO_MANY, 2)] = lambda: two_too_many(TWO_TOO_MANY)
        work |= {closed_case(n): lambda n=n: closed_form(n) for n in CLOSED}
        for case, measure in work.items():
            if options.only in case:
                run.compare(case, {"ours": measure}, repeats=1)
    runner.render("merging", page(run))


if __name__ == "__main__":
    main()
