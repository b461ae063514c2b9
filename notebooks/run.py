"""Execute the notebooks: ``python -m notebooks.run``, or some of them by name. Needs the extra ``docs``.

Notebooks are Python files in jupytext's percent format, without outputs. Each is executed in a folder and a process of
its own, from top to bottom, and has two minutes. With ``--output FOLDER`` the executed notebooks are written there: in
``notebooks/executed`` they are kept, for all who browse the files; in ``docs/notebooks`` they become pages.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: In the order in which they are best read.
NOTEBOOKS = (
    "survey",
    "latent_tree",
    "topics",
    "hidden_in_networks",
    "classification",
    "into_pgmpy",
    "split_and_merge",
)
#: Seconds that a notebook may take, the start of its process included.
LIMIT = 120
#: What other packages say when they are imported, by how it begins; readers can do nothing about it.
NOT_OURS = ("IProgress not found", "`pgmpy.estimators")


def execute(name: str, output: Path | None = None, limit: float = LIMIT) -> float:
    """Execute one notebook and return its seconds.

    Parameters
    ----------
    name : str
        One of ``NOTEBOOKS``.
    output : Path, optional
        Folder to write the executed notebook to.
    limit : float
        Seconds that it may take.

    Raises
    ------
    TimeoutError
        If it takes longer.
    nbclient.exceptions.CellExecutionError
        If a cell raises.
    """
    import jupytext
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError

    notebook = jupytext.read(HERE / f"{name}.py")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            extra_arguments=["--log-level=ERROR"],
        )
        with client.setup_kernel(env=_environment()):
            for number, cell in enumerate(notebook.cells):
                client.timeout = max(1, int(limit - (time.perf_counter() - began)))
                try:
                    client.execute_cell(cell, number)
                except CellTimeoutError:
                    raise TimeoutError(f"{name} takes more than {limit:g} seconds; a notebook must not") from None
    seconds = time.perf_counter() - began
    if seconds > limit:
        raise TimeoutError(f"{name} took {seconds:.0f} seconds; a notebook must not take more than {limit:g}")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        _drop_progress(notebook)
        _drop_circumstances(notebook)
        jupytext.write(notebook, output / f"{name}.ipynb")
    return seconds


def execute_changed(output: Path) -> None:
    """Execute the notebooks of which the folder has no result, or one that is older than the notebook."""
    for name in NOTEBOOKS:
        result = output / f"{name}.ipynb"
        if not result.exists() or result.stat().st_mtime < (HERE / f"{name}.py").stat().st_mtime:
            print(f"executing {name}", flush=True)
            execute(name, output)


def _environment() -> dict[str, str]:
    """Return the environment of the notebooks' processes, in which the package is found from any folder."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    quiet = ",".join(f"ignore:{begins}" for begins in NOT_OURS)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONHASHSEED": "0",  # pictures that networkx draws depend on the order of sets
        "PYTHONWARNINGS": quiet,
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def _drop_progress(notebook) -> None:
    """Remove what bars leave behind: they are for those who wait."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                one for one in cell.outputs if not (one.get("name") == "stderr" and one["text"].startswith("\r"))
            ]


def _drop_circumstances(notebook) -> None:
    """Remove what differs from run to run: times, random names of cells, and how text was cut while it was written."""
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)


def _joined(outputs: list) -> list:
    """Return outputs of a cell, with texts of one stream that follow each other as one."""
    joined: list = []
    for output in outputs:
        before = joined[-1] if joined else {}
        if output.output_type == "stream" and before.get("name") == output.name:
            before.text += output.text
        else:
            joined.append(output)
    return joined


def sources(text: str) -> list[tuple[str, str]]:
    r"""Return kind and source of the cells of a notebook in the percent format.

    Examples
    --------
    >>> sources("# %% [markdown]\n# A title\n#\n# and text.\n\n# %%\nprint(3)\n")
    [('markdown', 'A title\n\nand text.'), ('code', 'print(3)')]
    """
    cells = []
    for part in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        kind, _, source = part.partition("\n")
        if kind.strip() == "[markdown]":
            lines = [line.removeprefix("#").removeprefix(" ") for line in source.strip().splitlines()]
            cells.append(("markdown", "\n".join(lines)))
        else:
            cells.append(("code", source.strip()))
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute notebooks; return 0 if all ran, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m notebooks.run", description="Execute the notebooks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(NOTEBOOKS)}; all by default")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where to write the executed notebooks")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each (default: %(default)s)")
    asked = parser.parse_args(arguments)
    unknown = sorted(set(asked.names) - set(NOTEBOOKS))
    if unknown:
        parser.error(f"there is no notebook {', '.join(unknown)}; there are {', '.join(NOTEBOOKS)}")
    failed = []
    for name in asked.names or NOTEBOOKS:
        try:
            print(f"{name}: {execute(name, asked.output, asked.limit):.0f} s", flush=True)
        except Exception as error:  # whatever a cell raises; the other notebooks are executed all the same
            failed.append(name)
            print(f"{name}: {type(error).__name__}\n{error}", file=sys.stderr, flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
