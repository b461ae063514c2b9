"""Hidden Chow-Liu trees by SPFlow and ours: the same columns and number of states, random starts, full EM.

Validation rows choose the iteration whose tables are scored. SPFlow runs for a given time. Each function fits in the
process that it is called in; ``benchmarks.peers`` starts it.
"""

from __future__ import annotations

from benchmarks import runner  # first: it sets the number of threads

# isort: split
import time
from dataclasses import replace

import numpy as np

from benchmarks.density_tables import rows
from pgmpy_latent import HiddenChowLiu, presets

#: Table -> number of states, and processor seconds that SPFlow may take.
TABLES = {"nltcs": (16, 30), "plants": (32, 20)}
#: Iterations between two looks at the validation rows, and of ours after the best one, until EM has seen enough.
INTERVAL, LOOKS = 5, 50


def ours(table: str, precision: str) -> dict:
    """Fit with validation rows; the seconds include the tree, the plan and the looks at validation rows."""
    tuning = replace(presets.HIDDEN_CHOW_LIU, concentrations=(0.1,), category_starts=0, precision=precision)
    settings = {"n_states": TABLES[table][0], "smoothing": 1.0, "random_state": 0, "show_progress": False, "n_jobs": 1}
    learner, train, valid = HiddenChowLiu(**settings, tuning=tuning), rows(table, "train"), rows(table, "valid")
    learner.fit(train.iloc[:200, :6])  # what is compiled once is not counted
    began = time.process_time()
    learner.fit(train, X_valid=valid)
    found = {"seconds": time.process_time() - began, "peak_mb": runner.peak_mb()}
    found |= {"n_iter": int(learner.held_out_["n_iter"].iloc[0]) + LOOKS, "valid": learner.score(valid)}
    return found | {"log_likelihood": float(learner.score(rows(table, "test")))}


def spflow(table: str) -> dict:
    """Fit with SPFlow, for the given time.

    Its ``init="random"`` gives every message one channel, which makes columns independent; so sums begin as uniform
    ones, with channels for all states, and get random weights here.
    """
    import torch
    from spflow.learn.expectation_maximization import expectation_maximization
    from spflow.modules.sums import Sum
    from spflow.zoo.hclt.learn import learn_hclt_binary

    torch.set_num_threads(1)
    torch.manual_seed(0)
    n_states, most = TABLES[table]
    train, valid, test = (torch.tensor(rows(table, part).to_numpy(np.float32)) for part in ("train", "valid", "test"))
    model = learn_hclt_binary(train, num_hidden_cats=n_states, init="uniform")
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, Sum):
                drawn = torch.distributions.Gamma(0.3, 1.0).sample(part.logits.shape)
                part.logits.copy_(torch.log(drawn + 1e-4))
    best, seconds, n_iter = {"valid": -float("inf")}, 0.0, 0
    while seconds < most:
        began = time.process_time()
        expectation_maximization(model, train, max_steps=1)
        seconds += time.process_time() - began
        n_iter += 1
        if n_iter % INTERVAL == 0 or seconds >= most:
            with torch.no_grad():
                verdict = model.log_likelihood(valid).mean().item()
                if verdict > best["valid"]:
                    best = {"valid": verdict, "log_likelihood": model.log_likelihood(test).mean().item()}
    return {"seconds": seconds, "peak_mb": runner.peak_mb(), "n_iter": n_iter, **best}
