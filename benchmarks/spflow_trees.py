"""Hidden Chow-Liu trees of SPFlow beside ours: what an iteration over all rows takes, and how likely test rows are.

SPFlow brings torch, so it has an environment of its own; the extra ``bench-spflow`` has the versions. Both libraries
have the same columns, the same number of states, random starts and full EM; validation rows choose the iteration whose
tables are scored. SPFlow runs for a given time. One thread each.

Run: python -m benchmarks.spflow_trees --python ENVIRONMENT/bin/python
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import argparse
import json
import subprocess
from pathlib import Path

#: Table -> number of states, and processor seconds that SPFlow may take.
CASES = {"nltcs": (16, 30), "plants": (32, 20)}
#: Iterations between two looks at the validation rows.
INTERVAL = 5
#: Runs with SPFlow's Python. Its ``init="random"`` gives every message one channel, which makes columns independent;
#: so sums begin as uniform ones, with H channels, and get random weights here.
SPFLOW = """
import gzip, json, time
import numpy as np, torch
from spflow.learn.expectation_maximization import expectation_maximization
from spflow.modules.sums import Sum
from spflow.zoo.hclt.learn import learn_hclt_binary

def rows(part):
    with gzip.open(f"{folder}/{table}.{{part}}.csv.gz") as file:
        return torch.tensor(np.loadtxt(file, delimiter=",", dtype=np.float32))

torch.set_num_threads(1)
torch.manual_seed(0)
train, valid, test = rows("train"), rows("valid"), rows("test")
model = learn_hclt_binary(train, num_hidden_cats={n_states}, init="uniform")
with torch.no_grad():
    for part in model.modules():
        if isinstance(part, Sum):
            drawn = torch.distributions.Gamma(0.3, 1.0).sample(part.logits.shape)
            part.logits.copy_(torch.log(drawn + 1e-4))
best, seconds, n_iter = {{"valid": -float("inf")}}, 0.0, 0
while seconds < {most}:
    began = time.process_time()
    expectation_maximization(model, train, max_steps=1)
    seconds += time.process_time() - began
    n_iter += 1
    if n_iter % {interval} == 0 or seconds >= {most}:
        with torch.no_grad():
            verdict = model.log_likelihood(valid).mean().item()
            if verdict > best["valid"]:
                best = {{"valid": verdict, "test": model.log_likelihood(test).mean().item(), "best_iter": n_iter}}
print(json.dumps({{"seconds": seconds, "n_iter": n_iter, **best}}))
"""
OURS = """
import json, time
from benchmarks import density
from dataclasses import replace
from pgmpy_latent import HiddenChowLiu, presets
tuning = replace(presets.HIDDEN_CHOW_LIU, concentrations=(0.1,), category_starts=0, precision="{precision}")
train, valid = density.rows("{table}", "train"), density.rows("{table}", "valid")
settings = dict(n_states={n_states}, smoothing=1.0, random_state=0, show_progress=False, n_jobs=1)
learner = HiddenChowLiu(**settings, tuning=tuning)
learner.fit(train.iloc[:200, :6])  # what is compiled once is not counted
began = time.process_time()
learner.fit(train, X_valid=valid)
seconds = time.process_time() - began
found = {{"n_iter": int(learner.held_out_["n_iter"].iloc[0]) + {looks}, "valid": learner.score(valid)}}
print(json.dumps({{"seconds": seconds, **found, "test": learner.score(density.rows("{table}", "test"))}}))
"""


def with_spflow(python: Path, table: str) -> dict:
    """Fit one table with SPFlow."""
    n_states, most = CASES[table]
    code = SPFLOW.format(
        folder=runner.DATA / "density", table=table, n_states=n_states, most=most, interval=INTERVAL
    )  # fmt: skip
    output = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(output.stdout.strip().splitlines()[-1])


def measure(run: runner.Runner, python: Path | None, table: str) -> None:
    """Fit one table with both libraries."""
    for precision in ("double", "single"):
        looks = 50  # iterations after the best one, until EM has seen enough: patience times interval
        code = OURS.format(table=table, n_states=CASES[table][0], precision=precision, looks=looks)
        run.alone(table, precision, code)
    if python is not None and not run.find(table, "spflow"):
        found = with_spflow(python, table)
        run.note(table, "spflow", 0, [found.pop("seconds")], found)


def page(run: runner.Runner) -> str:
    lines = [
        "## Hidden Chow-Liu trees of SPFlow",
        "Written by `python -m benchmarks.spflow_trees`.",
        "SPFlow 1.1.0 (torch 2.13.0, single precision) and `HiddenChowLiu(smoothing=1.0)`, both full EM from one",
        "random start, one thread. An iteration looks at every row once; the seconds of ours include the tree, the",
        "plan and the looks at validation rows. Test: mean log-likelihood of test rows, of the tables that validation",
        "rows liked best. Iterations of ours: those of the best tables, and 50 more until validation rows end EM.",
        "",
        "| table | states | method | processor s | iterations | ms of an iteration | test |",
        "|---|---|---|---|---|---|---|",
    ]
    names = {"double": "ours", "single": "ours, single precision", "spflow": "SPFlow"}
    for table, (n_states, _) in CASES.items():
        for method, name in names.items():
            if run.find(table, method):
                seconds = run.seconds(table, method)
                n_iter, test = (run.figure(table, method, key) for key in ("n_iter", "test"))
                each = 1000 * seconds / n_iter
                lines.append(f"| {table} | {n_states} | {name} | {seconds:.1f} | {n_iter} | {each:.1f} | {test:.3f} |")
    lines += [
        "",
        'SPFlow was stopped by the clock, on plants after one iteration. Its `init="random"` gives messages one',
        "channel, so that columns are independent (nltcs: test -9.23 by EM as by Adam); so the benchmark begins with",
        '`init="uniform"` and draws the weights itself. PyJuice 2.6.3 installs, but `TensorCircuit` asks for a GPU:',
        '"Torch not compiled with CUDA enabled".',
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--python", type=Path, help="the Python of an environment with SPFlow")
    own, others = parser.parse_known_args()
    options = runner.arguments(__doc__, others)
    run = runner.Runner("spflow_trees", again=options.again, only=options.only)
    for table in CASES:
        if options.only in table and not options.render:
            measure(run, own.python, table)
    runner.render("spflow_trees", page(run))


if __name__ == "__main__":
    main()
