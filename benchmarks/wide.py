"""HLTA on wide tables: the words of papers beside other learners, how seconds grow with columns, and 10,000 words.

The first part needs the papers' data sets. One thread; about half an hour, most of it 10,000 columns. Every fit runs
in a process of its own, so that its memory is its own. ``--only`` takes a part of "papers500", "Growth", "Words".
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import numpy as np
import pandas as pd
from scipy import sparse

TRAIN, TEST = (runner.DATA / f"papers500_{part}.csv.gz" for part in ("train", "test"))
PAPERS = "papers500: 6,000 documents, 500 words"
#: Method -> the learner, as code.
LEARNERS = {
    "HLTA": "HLTA(random_state=0, show_progress=False)",
    "HLTA, one level": "HLTA(top=500, random_state=0, show_progress=False)",
    "BinA": "BinA(random_state=0, show_progress=False)",
    "Chow-Liu": 'Baseline("chow_liu")',
    "BIC forest": 'Baseline("forest")',
    "independence": 'Baseline("independence")',
}
#: What the data's source says about the public Java program: processor seconds, held-out, BIC, hidden variables.
JAVA = (214, -158.91, -957_585, 293)

GROWTH_ROWS, GROWTH = 2_000, (1_000, 3_000, 10_000)
WORDS, DOCUMENTS = 10_000, 100_000

#: Runs in a process of its own; prints what was found.
CODE = """
import json, time
from benchmarks import wide
from pgmpy_latent import HLTA, Baseline, BinA, encode
from pgmpy_latent.learners import hlta
print(json.dumps(wide.{call}))
"""


# -- tables ------------------------------------------------------------------------------------------------------------


def planted(n_rows: int, n_columns: int, seed: int = 0, size: int = 8) -> np.ndarray:
    """Draw zeros and ones whose columns hang together in groups of eight, these in groups of eight, and so on."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((n_rows, max(1, n_columns // size**3))) < 0.4
    while hidden.shape[1] < n_columns:
        above = np.repeat(np.arange(hidden.shape[1]), size)[: max(n_columns, 0)]
        seldom, often = rng.uniform(0.05, 0.3, len(above)), rng.uniform(0.5, 0.9, len(above))
        hidden = rng.random((n_rows, len(above))) < np.where(hidden[:, above], often, seldom)
    return hidden[:, :n_columns].astype(np.int8)


def documents(n_rows: int, n_columns: int, seed: int = 0, block: int = 10_000) -> sparse.csr_array:
    """Draw words in documents: topics of eight words, in areas of thirty topics; frequencies of words vary a lot."""
    rng = np.random.default_rng(seed)
    topic_of = np.arange(n_columns) // 8
    n_topics = int(topic_of[-1]) + 1
    area_of = np.arange(n_topics) % max(2, n_topics // 30)
    seldom = np.minimum(rng.pareto(1.2, n_columns) * 0.002 + 0.0005, 0.05)
    often = np.minimum(seldom * rng.uniform(8, 40, n_columns) + 0.05, 0.7)
    parts = []
    for first in range(0, n_rows, block):
        n = min(block, n_rows - first)
        area = rng.random((n, area_of.max() + 1)) < 0.06
        topic = rng.random((n, n_topics)) < np.where(area[:, area_of], 0.25, 0.005)
        columns = [slice(at, at + 1_000) for at in range(0, n_columns, 1_000)]
        drawn = (
            rng.random((n, len(topic_of[some]))) < np.where(topic[:, topic_of[some]], often[some], seldom[some])
            for some in columns
        )
        parts.append(sparse.hstack([sparse.csr_array(one) for one in drawn], format="csr"))
    return sparse.vstack(parts, format="csr")


# -- one fit, in a process of its own ----------------------------------------------------------------------------------


def fitted(learner, table) -> dict:
    """Fit, and return processor seconds, memory and what was found."""
    import time

    before, began = runner.peak_mb(), time.process_time()
    learner.fit(table)
    return {
        "seconds": time.process_time() - began,
        "peak_mb": runner.peak_mb(),
        "before_mb": round(before),
        "bic": learner.bic_,
        "latents": len(learner.latents_),
        "levels": max(getattr(learner, "levels_", {None: 0}).values(), default=0),
    }


def on_papers(learner) -> dict:
    """Fit the words of papers, and score those held out."""
    found = fitted(learner, pd.read_csv(TRAIN))
    return found | {"held_out": learner.score(pd.read_csv(TEST))}


def on_planted(learner, n_columns: int) -> dict:
    """Fit drawn columns, and time the mutual information of all pairs by itself."""
    import time

    from pgmpy_latent import encode
    from pgmpy_latent.learners.hlta.levels import NEAREST
    from pgmpy_latent.tables.neighbours import nearest_columns

    learner.fit(planted(100, 50))  # what is loaded and compiled once is not counted
    data = encode(planted(GROWTH_ROWS, n_columns))
    began = time.process_time()
    nearest_columns(data, NEAREST)
    pairs = time.process_time() - began
    return fitted(learner, data) | {"pair_seconds": pairs}


def on_documents(learner) -> dict:
    """Fit a sparse table of words."""
    table = documents(DOCUMENTS, WORDS)
    found = fitted(learner, table)
    topics = {frozenset(learner.tree_.children(name)) for name in learner.latents_}
    whole = sum(frozenset(range(first, first + 8)) in topics for first in range(0, WORDS, 8))
    return found | {"ones": int(table.nnz), "whole_topics": whole, "per_document": learner.score(table)}


# -- measuring and the page --------------------------------------------------------------------------------------------


def growth_case(n_columns: int) -> str:
    return f"Growth: {n_columns:,} columns, {GROWTH_ROWS:,} rows"


WORDS_CASE = f"Words: {WORDS:,} in {DOCUMENTS:,} documents"


def measure(run: runner.Runner, only: str) -> None:
    if only in PAPERS and TRAIN.exists():
        for method, learner in LEARNERS.items():
            run.alone(PAPERS, method, CODE.format(call=f"on_papers({learner})"))
    for n_columns in GROWTH:
        if only in growth_case(n_columns):
            call = f"on_planted({LEARNERS['HLTA']}, {n_columns})"
            run.alone(growth_case(n_columns), "HLTA", CODE.format(call=call))
    if only in WORDS_CASE:
        run.alone(WORDS_CASE, "HLTA", CODE.format(call=f"on_documents({LEARNERS['HLTA']})"))


def papers_table(run: runner.Runner) -> list[str]:
    lines = ["| learner | held-out log-likelihood per document | BIC | hidden variables | processor seconds |"]
    lines += ["|---|---|---|---|---|"]
    for method in LEARNERS:
        if run.find(PAPERS, method):
            held_out, bic, latents = (run.figure(PAPERS, method, name) for name in ("held_out", "bic", "latents"))
            seconds = run.seconds(PAPERS, method)
            lines.append(f"| {method} | {held_out:.2f} | {bic:,.0f} | {latents} | {seconds:.1f} |")
    return lines


def growth_table(run: runner.Runner) -> list[str]:
    lines = [
        "| columns | seconds | of these for all pairs | the rest, times that of the row above | MB | hidden variables |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    rest = None
    for n_columns in GROWTH:
        case = growth_case(n_columns)
        if not run.find(case, "HLTA"):
            continue
        seconds, pairs = run.seconds(case, "HLTA"), run.figure(case, "HLTA", "pair_seconds")
        before, rest = rest, seconds - pairs
        times = "" if before is None else f"{rest / before:.1f}"
        memory, latents = run.find(case, "HLTA")["peak_mb"], run.figure(case, "HLTA", "latents")
        lines.append(f"| {n_columns:,} | {seconds:.1f} | {pairs:.1f} | {times} | {memory} | {latents} |")
    return lines


def words_lines(run: runner.Runner) -> list[str]:
    row = run.find(WORDS_CASE, "HLTA")
    if row is None:
        return []
    ones, whole, latents, levels, before = (
        run.figure(WORDS_CASE, "HLTA", name) for name in ("ones", "whole_topics", "latents", "levels", "before_mb")
    )
    return [
        "",
        f"**{WORDS:,} words in {DOCUMENTS:,} documents**, drawn, {ones / DOCUMENTS:.0f} words each, as a SciPy matrix:",
        f"{run.seconds(WORDS_CASE, 'HLTA') / 60:.1f} minutes of processor, {float(row['peak_mb']) / 1000:.1f} GB",
        f"in all ({before / 1000:.1f} GB before the fit), {latents:,} hidden variables in {levels} levels.",
        f"Of the {WORDS // 8:,} topics of eight words that the documents",
        f"were drawn from, {whole:,} came out as one hidden variable above just these words.",
    ]


def page(run: runner.Runner) -> str:
    """Return the results as a page."""
    return "\n".join(
        [
            "## HLTA: wide tables",
            "",
            "Written by `python -m benchmarks.wide`. One thread; processor seconds, without those for loading Python.",
            "",
            f"**{PAPERS}**, 1,718 documents held out. What the authors' program reaches is on the page",
            "[beyond the papers](beyond.md#wide-tables).",
            "",
            *papers_table(run),
            "",
            f"**Growth with columns**: drawn zeros and ones, {GROWTH_ROWS:,} rows, groups of eight columns. Beside all",
            "pairs, at most 4 times as long for three times as many columns is wanted.",
            "",
            *growth_table(run),
            *words_lines(run),
        ]
    )


def main() -> None:
    options = runner.arguments(__doc__)
    run = runner.Runner("wide", again=options.again, only=options.only)
    if not options.render:
        measure(run, options.only)
    runner.render("wide", page(run))


if __name__ == "__main__":
    main()
