"""Warnings that point at the user's line, however deep in the package they are raised."""

from __future__ import annotations

import sys
import warnings

#: Packages whose frames are passed over: this one, and those through which users call it.
PASSED_OVER = frozenset({"pgmpy_latent", "pgmpy", "sklearn", "skbase", "joblib"})


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line outside the package that led here.

    Parameters
    ----------
    message : str
        What the user should know.
    category : type of warning
        Its kind.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("mind the gap", FutureWarning)
    >>> [(str(each.message), each.category.__name__) for each in caught]
    [('mind the gap', 'FutureWarning')]
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_passed_over(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_passed_over(module: str) -> bool:
    return module.partition(".")[0] in PASSED_OVER
