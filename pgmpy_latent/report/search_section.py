"""How the search went: a chart of the score against time, and the steps; or the numbers of classes that were tried."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pgmpy_latent.learners.base import StructureLearner
from pgmpy_latent.learners.fitted import prior_words, sampled_words, unfinished_words, updated_words
from pgmpy_latent.learners.sampled_search import of_search
from pgmpy_latent.report.facts import ChoiceOfClasses, Facts
from pgmpy_latent.report.gaussian_facts import GaussianFacts
from pgmpy_latent.report.html import Html, count, decimal, element, folded, label, paragraph, section, table

#: Maximum number of steps listed; of more, the first and the last are.
MOST_STEPS = 200
#: Two scores are at one height if they differ by less than this share.
SAME_HEIGHT = 1e-9
#: Maximum number of points in the chart, and of points with a dot.
MOST_POINTS, MOST_DOTS = 600, 80
#: Size of the chart, and the margins for its numbers.
WIDTH, HEIGHT, LEFT, BELOW, ABOVE, RIGHT = 640, 240, 84, 34, 14, 16
#: Room for a character of a number beside the picture, as large as it is on a phone, and around the number.
DIGIT, GAP = 11, 12


def search_section(facts: Facts | GaussianFacts) -> Html | None:
    """Return the section about the search; None for models without one."""
    learner = facts.learner
    if learner is None:
        return None
    if isinstance(facts, Facts) and facts.choice is not None and isinstance(learner, StructureLearner):
        return _classes_section(facts, learner, facts.choice)
    history = learner.history_
    seconds = float(history["seconds"].max()) if len(history) else 0.0
    score = "the score" if facts.criterion is None else facts.criterion.title
    accepted = count(int((history["operator"] != "start").sum()), "step")
    words = [f"{type(learner).__name__} accepted {accepted} in {decimal(seconds, 1)} seconds"]
    words.append(f" and reached {decimal(learner.score_)} ({score}; larger is better).")
    if with_prior := prior_words(learner):
        words.append(f" {with_prior}")
    parts = [paragraph(*words)]
    if updated_words(learner):
        parts.append(paragraph("This is about the model that fit found, before partial_fit changed its tables."))
    if learner.stopped_ is not None:
        parts.append(paragraph(unfinished_words(learner), class_="warning"))
    else:
        parts.append(paragraph("The search ended by itself: no further move raised the score."))
    if not_needed := getattr(learner, "not_needed_", ()):
        names = ", ".join(label(name) for name in not_needed)
        parts.append(paragraph(f"Hidden variables that turned out not to be needed: {names}."))
    if sampled := sampled_words(learner):
        parts.append(paragraph(sampled))
    if len(history) > 1:
        parts.append(chart(of_search(history)))
    if len(history):
        parts.append(folded("All steps", *_steps(history)))
    return section("search", "How the search went", *parts)


def _classes_section(facts: Facts, learner: StructureLearner, choice: ChoiceOfClasses) -> Html:
    """Return the section about a latent class model that was chosen among several: a table of all of them."""
    chosen = choice.chosen_
    seconds = decimal(float(learner.history_["seconds"].max()) if len(learner.history_) else 0.0, 1)
    starts = f"EM from {count(chosen.n_starts, 'random start')}"
    if len(facts.candidates) > 1:
        sizes = [candidate.n_classes for candidate in facts.candidates]
        words = (
            f"Latent class models with {min(sizes)} to {max(sizes)} classes were fitted in {seconds} seconds, each by "
            f"{starts}. The one with {_classes(chosen.n_classes)} has the largest BIC and was chosen."
        )
    elif choice.n_states is not None:
        words = (
            f"The number of classes was given. The model was fitted in {seconds} seconds, by {starts}; others were not "
            "tried."
        )
    else:
        words = f"Only the model with {_classes(chosen.n_classes)} was fitted, in {seconds} seconds, by {starts}."
    parts = [paragraph(words)]
    if learner.stopped_ is not None:
        parts.append(paragraph(unfinished_words(learner), class_="warning"))
    rows = [
        [
            str(candidate.n_classes),
            decimal(candidate.log_likelihood),
            count(candidate.n_parameters),
            decimal(candidate.bic),
            decimal(-2 * candidate.bic),
            f"{candidate.n_best} of {candidate.n_starts}",
            "yes" if candidate.converged else f"not after {count(candidate.n_iter, 'iteration')}",
            "chosen" if candidate is chosen else "",
        ]
        for candidate in facts.candidates
    ]
    header = [
        "Classes",
        "Log-likelihood",
        "Parameters",
        "BIC",
        "−2 BIC",
        "Starts that reached the best",
        "Converged",
        "Choice",
    ]
    parts.append(table(header, rows, numbers=range(6), caption="Numbers of classes (larger BIC is better)"))
    return section("search", "How the number of classes was chosen", *parts)


def _classes(number: int) -> str:
    return f"{number} class{'es' * (number != 1)}"


def _steps(history: pd.DataFrame) -> list[Html]:
    shown = history
    note = []
    if len(history) > MOST_STEPS:
        half = MOST_STEPS // 2
        shown = pd.concat([history.head(half), history.tail(half)])
        note = [paragraph(f"The first and the last {half} of {count(len(history), 'step')}.")]
    rows = [
        [
            str(row.step),
            label(row.operator),
            "" if row.target is None else label(row.target),
            decimal(row.score),
            decimal(row.log_likelihood),
            count(row.n_parameters),
            decimal(row.seconds, 2),
        ]
        for row in shown.itertuples()
    ]
    header = ["Step", "Operator", "Target", "Score", "Log-likelihood", "Parameters", "Seconds"]
    return [*note, table(header, rows, numbers=(0, 3, 4, 5, 6))]


def chart(history: pd.DataFrame) -> Html:
    """Return a line of the score against seconds, as a picture.

    Examples
    --------
    >>> chart(pd.DataFrame({"seconds": [0.0, 1.0], "score": [-20.0, -10.0], "operator": ["start", "split"]}))[:12]
    '<figure clas'
    """
    keep = np.unique(np.linspace(0, len(history) - 1, min(len(history), MOST_POINTS)).astype(int))
    seconds, scores = history["seconds"].to_numpy()[keep], history["score"].to_numpy()[keep]
    finite = np.isfinite(scores)
    seconds, scores = seconds[finite], scores[finite]
    if len(scores) < 2:
        return Html("")
    across, along = _ticks(0.0, float(seconds.max())), _ticks(float(scores.min()), float(scores.max()))
    heights = [_tick_text(tick, along) for tick in along]
    margin = max(LEFT, GAP + DIGIT * max(map(len, heights)))
    last = max(float(seconds.max()), across[-1])
    low, high = min(float(scores.min()), along[0]), max(float(scores.max()), along[-1])

    def x(value: float) -> float:
        return margin + (WIDTH - margin - RIGHT) * (value / last if last > 0 else 0.0)

    def y(value: float) -> float:
        return HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * ((value - low) / (high - low) if high > low else 0.5)

    parts = []
    for tick, words in zip(along, heights, strict=True):
        parts.append(
            element("line", x1=margin, x2=WIDTH - RIGHT, y1=f"{y(tick):.1f}", y2=f"{y(tick):.1f}", class_="grid")
        )
        parts.append(element("text", words, x=margin - 8, y=f"{y(tick) + 4:.1f}", text_anchor="end"))
    for tick in across:
        words = _tick_text(tick, across)
        middle = min(x(tick), WIDTH - DIGIT * len(words) / 2)  # within the picture, in large letters too
        parts.append(element("text", words, x=f"{middle:.1f}", y=HEIGHT - BELOW + 16, text_anchor="middle"))
    parts.append(element("text", "seconds", x=WIDTH - RIGHT, y=HEIGHT - 4, text_anchor="end"))
    points = [(f"{x(time):.1f}", f"{y(value):.1f}") for time, value in zip(seconds, scores, strict=True)]
    (left, top), *later = points  # the score stays as it is until the next step
    parts.append(
        element("path", d=f"M{left} {top}" + "".join(f"H{right}V{down}" for right, down in later), class_="curve")
    )
    if len(points) <= MOST_DOTS:
        parts += [element("circle", cx=right, cy=down, r=3, class_="dot") for right, down in points]
    words = (
        f"Score against seconds: from {decimal(float(scores[0]))} to {decimal(float(scores[-1]))} "
        f"in {decimal(float(seconds[-1]), 1)} seconds"
    )
    drawing = element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=words, class_="chart")
    return element("figure", drawing, element("figcaption", "The score after every accepted step."), class_="chart-box")


def _ticks(low: float, high: float, n: int = 5) -> list[float]:
    """Return round numbers from about ``low`` to about ``high``.

    Examples
    --------
    >>> _ticks(0.0, 9.0), _ticks(-123.0, -101.0)
    ([0.0, 2.0, 4.0, 6.0, 8.0], [-120.0, -115.0, -110.0, -105.0])
    >>> _ticks(-3377.6, -3377.6 + 1e-12)
    [-3377.6]
    """
    if high - low <= SAME_HEIGHT * max(abs(low), abs(high)):  # ticks in between could not be told apart
        return [low]
    rough = (high - low) / n
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = np.ceil(low / step - 1e-9)
    return [float(k * step) + 0.0 for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


def _tick_text(tick: float, ticks: list[float]) -> str:
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return decimal(tick, max(0, -int(np.floor(np.log10(step)))) if step < 1 else 0)
