"""``pgmpy-latent compare --group``: what differs between groups."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pgmpy_latent.cli.describe import aligned
from pgmpy_latent.cli.files import write_rows
from pgmpy_latent.cli.outputs import written_lines
from pgmpy_latent.cli.text import say, wrapped
from pgmpy_latent.tables.files import BadInputError, Table, check_known

if TYPE_CHECKING:
    import pandas as pd

    from pgmpy_latent.selection.groups import GroupComparison
    from pgmpy_latent.tables.encode import CategoricalData

#: Columns of the table of models -> title and format.
SHOWN = {
    "log_likelihood": ("log-lik.", "{:.2f}"),
    "n_parameters": ("params", "{:,.0f}"),
    "bic": ("BIC", "{:.2f}"),
    "lr": ("LR", "{:.2f}"),
    "lr_df": ("df", "{:.0f}"),
    "lr_p": ("p", "{:.3f}"),
}


def check_group(args: argparse.Namespace, table: Table) -> None:
    """Raise if the column of the group is not there, or several numbers of classes are given.

    Examples
    --------
    >>> check_group(argparse.Namespace(group="g", classes=[2, 3], bootstrap=0, prior=0, ordinal=[], kinds=None), None)
    Traceback (most recent call last):
    pgmpy_latent.tables.files.BadInputError: --group compares groups for one number of classes; give it, as --classes 3
    """
    if len(args.classes) != 1:
        raise BadInputError("--group compares groups for one number of classes; give it, as --classes 3")
    for option in ("bootstrap", "prior", "ordinal", "kinds"):
        if getattr(args, option):
            raise BadInputError(f"--{option} has no meaning with --group; leave it out")
    check_known(table.frame, [args.group], "--group")


def compare_and_say(args: argparse.Namespace, data: CategoricalData, path: Path | None, codes) -> int:
    """Compare groups, print the models, the items and the reason; return the exit code."""
    from pgmpy_latent import compare_groups
    from pgmpy_latent.exceptions import MissingCodeWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingCodeWarning)  # the description of the table says it
        found = compare_groups(
            data,
            args.group,
            args.classes[0],
            n_starts=args.starts,
            random_state=args.seed,
            n_jobs=args.jobs,
            time_limit=args.time_limit,
            checkpoint=args.checkpoint,
            missing=codes,
            allow_many_states=True,
        )
    say([*model_lines(found.table), "", *item_lines(found.items), "", *_reason(found)])
    if path is not None:
        write_rows(found.table.reset_index().drop(columns="differs"), path, "%.10g")
        say(written_lines([path]))
    return 0


def model_lines(models: pd.DataFrame) -> list[str]:
    """Return the models as lines; the recommended one has a star."""
    import pandas as pd

    names = zip(models.index, models["best"], strict=True)
    rows = {"model": [f"{'* ' if best else ''}{name}" for name, best in names]}
    for name, (title, form) in SHOWN.items():
        rows[title] = ["" if pd.isna(value) else form.format(value) for value in models[name]]
    return aligned(pd.DataFrame(rows))


def item_lines(items: pd.DataFrame) -> list[str]:
    """Return the tests of items as lines."""
    import pandas as pd

    if items.empty:
        return []
    rows = {
        "item": [str(name) for name in items["item"]],
        "statistic": [f"{value:.2f}" for value in items["statistic"]],
        "df": [str(value) for value in items["df"]],
        "p": [f"{value:.3f}" for value in items["p_value"]],
        "adjusted": [f"{value:.3f}" for value in items["adjusted_p"]],
        "differs": ["yes" if value else "no" for value in items["differs"]],
    }
    return aligned(pd.DataFrame(rows))


def _reason(found: GroupComparison) -> list[str]:
    return wrapped(f"Recommended: {found.recommended}. {found.reason}".replace("raise n_starts", "raise --starts"))
