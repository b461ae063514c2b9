"""Checks of settings that several estimators share, and what seeds and progress bars have in common."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Hashable, Sequence
from math import ceil, isfinite
from numbers import Real
from typing import Any

import numpy as np
from tqdm.auto import tqdm

#: Seconds before a progress bar appears.
PROGRESS_DELAY = 2.0
#: Why a search stopped early, and what to do about it.
STOPPED = {
    "time_limit": ("the time limit stopped the search", "raise time_limit"),
    "interrupted": ("Ctrl-C stopped the search", "fit again to let it run to its end"),
}


def stopped_words(why: str, checkpoint=None, further: str = "", left: float = 0.0) -> str:
    """Return the message for a search that stopped early: why it stopped, and how to continue.

    Parameters
    ----------
    why : {"time_limit", "interrupted"}
        What stopped it.
    checkpoint : path-like, optional
        Its checkpoint.
    further : str
        Another remedy, appended to the first.
    left : float
        Log-likelihood that the EM of the model left to gain; infinite if unknown.

    Examples
    --------
    >>> print(stopped_words("time_limit", "search.json"))
    the time limit stopped the search; fit again to go on from the checkpoint 'search.json'. What is fitted is ...
    """
    reason, remedy = STOPPED[why]
    if checkpoint is not None:
        remedy = f"fit again to go on from the checkpoint {os.fspath(checkpoint)!r}"
    unfinished = ""
    if left > 0:
        much = f"about {left:.3g}" if isfinite(left) else "an unknown number of"
        unfinished = f" Its EM was not finished: {much} nats of log-likelihood are left to gain."
    return f"{reason}; {remedy}{further}. What is fitted is the best model so far.{unfinished}"


def check_number(name: str, value: object, least: float, *, none: bool = False, whole: bool = False) -> None:
    """Raise if a setting is not a number of at least some size.

    Examples
    --------
    >>> check_number("n_init", 0, 1, whole=True)
    Traceback (most recent call last):
    ...
    ValueError: n_init is 0; give a whole number of at least 1
    """
    number(least, whole=whole, optional=none)(name, value)


# Declared constraints: each returns a check of one setting, given its name and value.

Constraint = Callable[[str, object], None]
#: What ``random_state`` may be.
RandomState = int | np.random.RandomState | np.random.Generator | None


def number(
    least: float | None = None,
    *,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    whole: bool = False,
    optional: bool = False,
    example: str = "",
) -> Constraint:
    """Declare a number: at least or above one bound, and at most or below another if there is one.

    Examples
    --------
    >>> number(above=0, most=1)("perturbation", 2)
    Traceback (most recent call last):
    ...
    ValueError: perturbation is 2; give a number above 0 and at most 1
    >>> number(1, whole=True)("n_starts", 3)
    """
    bounds = [] if least is None else [f"of at least {least}"]
    bounds += [f"{word} {bound}" for word, bound in (("above", above), ("at most", most), ("below", below))
               if bound is not None]  # fmt: skip
    words = f"{'a whole number' if whole else 'a number'} {' and '.join(bounds)}{', or None' if optional else ''}"
    kinds = (int, np.integer) if whole else Real

    def check(name: str, value: Any) -> None:
        if value is None and optional:
            return
        within = isinstance(value, kinds) and not isinstance(value, bool)
        within = within and (least is None or value >= least) and (above is None or value > above)
        if not (within and (most is None or value <= most) and (below is None or value < below)):
            raise ValueError(f"{name} is {value!r}; give {words}{example and f', as {example}'}")

    return check


def kind_in_words(value: object) -> str:
    """Return what kind of thing a value is, with its article.

    Examples
    --------
    >>> kind_in_words("camps.json"), kind_in_words(3), kind_in_words(None), kind_in_words(dict)
    ('a str', 'an int', 'None', 'the class dict')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def word_list(words: Sequence[str], conjunction: str) -> str:
    """Return words with commas, and a conjunction before the last.

    Examples
    --------
    >>> word_list(["'auto'", "'rl'", "'dc'"], "or")
    "'auto', 'rl' or 'dc'"
    """
    return f" {conjunction} ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def one_of(*allowed, optional: bool = False) -> Constraint:
    """Declare a choice among a few values.

    Examples
    --------
    >>> one_of("auto", "rl", "dc")("evaluation", "x")
    Traceback (most recent call last):
    ...
    ValueError: evaluation is 'x'; give 'auto', 'rl' or 'dc'
    """
    words = word_list([*map(repr, allowed), *(["None"] if optional else [])], "or")

    def check(name: str, value: Any) -> None:
        if value is None and optional:
            return
        if not isinstance(value, Hashable) or value not in allowed:
            raise ValueError(f"{name} is {value!r}; give {words}")

    return check


def flag(name: str, value: object) -> None:
    """Check a setting that is True or False.

    Examples
    --------
    >>> flag("simplify", "yes")
    Traceback (most recent call last):
    ...
    ValueError: simplify is 'yes'; give True or False
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {value!r}; give True or False")


def sequence_of(each: Constraint, words: str, *, least: int = 0, optional: bool = False) -> Constraint:
    """Declare a sequence of at least some members, which satisfy a constraint; ``words`` say what to give.

    Examples
    --------
    >>> sequence_of(number(1, whole=True), "a tuple of whole numbers above 0, or () for none")("context", 4)
    Traceback (most recent call last):
    ...
    ValueError: context is 4; give a tuple of whole numbers above 0, or () for none
    """

    def check(name: str, value: Any) -> None:
        if value is None and optional:
            return
        complaint = ValueError(f"{name} is {value!r}; give {words}")
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) < least:
            raise complaint
        try:
            for member in value:
                each(name, member)
        except ValueError:
            raise complaint from None

    return check


def evaluations(max_iter: int) -> int:
    """Return how many evaluations EM may make for ``max_iter`` iterations: at least two, so that it makes a step.

    Examples
    --------
    >>> evaluations(1), evaluations(200)
    (2, 200)
    """
    return max(2, int(max_iter))


def check_time_limit(value: object) -> None:
    """Raise if a time limit leaves no time."""
    if value is not None and not (isinstance(value, Real) and float(value) > 0):
        raise ValueError(f"time_limit is {value!r}; give a number of seconds above 0, or None")


def check_n_jobs(value: object) -> None:
    """Raise if joblib does not accept a number of jobs."""
    if value is not None and (not isinstance(value, (int, np.integer)) or value == 0):
        raise ValueError(f"n_jobs is {value!r}; give the number of threads, -1 for all cores, or None for one")


def time_left(seconds: float) -> str:
    """Return the time left as the end of a progress bar's description; empty if there is no limit.

    Examples
    --------
    >>> time_left(64.2), time_left(float("inf"))
    (', at most 01:05 left', '')
    """
    return f", at most {tqdm.format_interval(max(0, ceil(seconds)))} left" if isfinite(seconds) else ""


def entropy_of(random_state) -> int:
    """Return the entropy of all seeds of a computation: the seed of the user, or a random one if there is none.

    Examples
    --------
    >>> entropy_of(7)
    7
    """
    seed = whole_seed(random_state)
    return secrets.randbits(128) if seed is None else seed


def whole_seed(random_state: RandomState) -> int | None:
    """Return a seed for a SeedSequence from any ``random_state`` that scikit-learn accepts."""
    if random_state is None:
        return None
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    raise ValueError(f"random_state is {random_state!r}; give a whole number of at least 0, or None")
