"""How to get the same model again: code, settings, versions, and a fingerprint of the table."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Hashable
from datetime import date
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version

import numpy as np

import pgmpy_latent
from pgmpy_latent.learners.fitted import updated_words
from pgmpy_latent.report.data_section import is_unweighted
from pgmpy_latent.report.facts import Facts
from pgmpy_latent.report.gaussian_facts import GaussianFacts
from pgmpy_latent.report.html import Html, element, folded, label, paragraph, section, table
from pgmpy_latent.runtime.configured import PRESETS, Tuning, settings_in_force

#: Packages that results depend on.
LIBRARIES = ("pgmpy", "numpy", "scipy", "pandas", "scikit-learn", "numba")
#: Maximum length of a setting as text.
LONGEST = 120


def reproduce_section(facts: Facts | GaussianFacts) -> Html:
    """Return the section about reproduction."""
    parts = []
    if facts.learner is not None:
        parts += [
            paragraph(_promise(facts)),
            element(
                "div",
                element("button", "Copy", type="button", id="copy", class_="no-print"),
                element("pre", element("code", code(facts), id="code")),
                class_="snippet",
            ),
        ]
        if getattr(facts.learner, "random_state", 0) is None:
            parts.append(
                paragraph(
                    "random_state was not set: another run may find another model. Set it to get the same model again.",
                    class_="warning",
                )
            )
    further = [["Fingerprint of the table", fingerprint(facts)]]
    parts.append(table(["", ""], version_rows(further), class_="plain"))
    note = "The fingerprint is the same for the same columns, states, rows and weights, in any order."
    parts.append(paragraph(note, class_="quiet"))
    if facts.learner is not None:
        parts.append(folded(f"All settings of {type(facts.learner).__name__}", _settings(facts.learner)))
    return section("reproduce", "To reproduce this", *parts)


def version_rows(further: list[list[str]]) -> list[list[str]]:
    """Return versions, system and date as rows of a table, with further rows before the date.

    Examples
    --------
    >>> version_rows([])[0][0]
    'pgmpy_latent'
    """
    rows = [["pgmpy_latent", pgmpy_latent.__version__], ["Python", platform.python_version()]]
    rows += [[name, _version(name)] for name in LIBRARIES]
    return [*rows, ["System", platform.platform(terse=True)], *further, ["Written", date.today().isoformat()]]


def _promise(facts: Facts | GaussianFacts) -> str:
    """Say what leads to the same model."""
    if updated_words(facts.learner):
        return (
            "The same table, settings and versions give the model that fit found, whatever the number of threads; the "
            "same later rows, which this page does not describe, then give this one, in the same batches."
        )
    if getattr(facts.learner, "stopped_", None) is not None:
        return (
            "The search was stopped, and how far it came depends on the speed of the machine. Without a stop, the same "
            "table, settings and versions give the same model, whatever the number of threads."
        )
    return "The same table, settings and versions give the same model, whatever the number of threads."


def code(facts: Facts | GaussianFacts) -> str:
    """Return the command, or the Python, that learns the model again from the same table."""
    if facts.command is not None:
        return facts.command
    name = type(facts.learner).__name__
    changed, given = [], []
    homes = {_home(type(facts.learner)): [name]}
    for setting, value in _changed(facts.learner).items():
        if _is_plain(value):
            changed.append(f"{setting}={value!r}")
        elif isinstance(value, Tuning) and all(map(_is_plain, value.as_dict().values())):
            changed.append(f"{setting}={value.as_code()}")
            home, tuning = type(value).__module__, type(value).__name__
            imported = ("pgmpy_latent", "presets") if home == PRESETS else (home, tuning)
            homes.setdefault(imported[0], []).append(imported[1])
        else:
            changed.append(f"{setting}={setting}")
            given.append(f"{setting} = ...  # {_short(value)}")
    kind = facts.data.weight_kind
    columns = {role: repr(name) for role, name in _design(facts).items()}
    weights = columns.get("sample_weight", "weights")
    weighted = (
        "" if is_unweighted(facts) else f", sample_weight={weights}" + (f", weight_kind={kind!r}" if kind else "")
    )
    design = getattr(facts.data, "design", None)  # tables of numbers have none
    drawn = [] if design is None else ["strata"] * (design.n_strata > 1) + ["cluster"] * (design.cluster is not None)
    weighted += "".join(f", {role}={columns.get(role, role)}" for role in drawn)
    beside = f" and {', '.join(columns.values())}" if columns else ""
    table_line = (
        f"X = pd.read_csv(...)  # the table: {len(facts.data.columns)} columns{beside}, {facts.data.n_rows} rows"
    )
    imports = [f"from {home} import {', '.join(names)}" for home, names in homes.items()]
    lines = ["import pandas as pd", *imports, "", table_line]
    if "sample_weight=weights" in weighted:
        lines.append("weights = ...  # one number per row")
    lines += [f"{role} = ...  # one label per row" for role in drawn if role not in columns]
    lines += [
        *given,
        f"learner = {name}({', '.join(changed)})",
        f"learner.fit(X{weighted}{_missing(facts)}{_kinds(facts)})",
        *_updates(facts),
        'learner.report("report.html")',
    ]
    return "\n".join(lines)


def _design(facts: Facts | GaussianFacts) -> dict[str, Hashable]:
    """Return the columns of the table that say how rows were drawn, by the keywords of ``fit``."""
    given = getattr(facts.learner, "design_", {}) if facts.own_data else {}
    return {role: name for role, name in given.items() if name is not None}


def _updates(facts: Facts | GaussianFacts) -> list[str]:
    """Return the lines that update the tables, if they were updated."""
    running = getattr(facts.learner, "_running", None)
    if running is None:
        return []
    batches = f"{running.n_updates} batch{'es' * (running.n_updates != 1)}"
    return [
        f"for rows in ...:  # the later rows: {batches}, with the same decay and weights",
        "    learner.partial_fit(rows)",
    ]


def _home(learner: type) -> str:
    """Return the module that a learner is imported from."""
    return "pgmpy_latent" if getattr(pgmpy_latent, learner.__name__, None) is learner else learner.__module__


def _missing(facts: Facts | GaussianFacts) -> str:
    """Return the missing codes as an argument of ``fit``."""
    codes = {name: list(values) for name, values in facts.data.missing}
    if not codes:
        return ""
    first = next(iter(codes.values()))
    same = len(codes) == len(facts.data.columns) and all(values == first for values in codes.values())
    return f", missing={first if same else codes!r}"


def _kinds(facts: Facts | GaussianFacts) -> str:
    """Return the kinds of the columns as an argument of ``fit``, if some are numbers under hidden classes."""
    if not isinstance(facts, Facts) or facts.learner is None or not facts.table.values:
        return ""
    return f", kinds={facts.learner.kinds_!r}"


def fingerprint(facts: Facts | GaussianFacts) -> str:
    """Return a short fingerprint of a table, independent of the order of columns, rows and states."""
    data = facts.table if isinstance(facts, Facts) else facts.data
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    order = np.lexsort([weights, data.row_keys])
    digest = blake2b(digest_size=8)
    digest.update(data.row_keys[order].tobytes())
    digest.update(weights[order].round(6).tobytes())
    return digest.hexdigest()


def _changed(learner) -> dict:
    """Return the settings that differ from their defaults."""
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(type(learner).__init__).parameters.items()
    }
    return {
        name: value
        for name, value in learner.get_params(deep=False).items()
        if not (_is_plain(value) and _is_plain(defaults[name]) and value == defaults[name])
        and value is not defaults[name]
    }


def _is_plain(value) -> bool:
    """Return whether the value of a setting can be written as a Python literal."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _settings(learner) -> Html:
    changed = _changed(learner)
    tuning = getattr(learner, "tuning", None)
    changed |= {} if tuning is None else tuning.changes()
    rows = [
        [name, _short(value), "set" if name in changed else ""] for name, value in settings_in_force(learner).items()
    ]
    return table(["Setting", "Value", ""], rows)


def _short(value) -> str:
    text = " ".join(repr(value).split())
    return label(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
