"""EAST reaches EM through few frames of its own: what a reader walks through is what the algorithm needs."""

import sys

from pgmpy_latent import EAST, datasets, sample
from pgmpy_latent.learners.search import Search

#: Learn, advance the race, the search from a start, its policy; a step, its best candidate, a move, its tree, the
#: blocks that differ, one of them. In the phases that follow the race: a step, candidates, a parcel of moves, a move.
MOST_FRAMES = 10


def frames_above(frame):
    """Return the names of the functions of EAST's modules that a frame was called from, the innermost first.

    A learner whose tree EAST begins with is a search of its own.
    """
    names = []
    while (frame := frame.f_back) is not None and frame.f_code.co_name != "learned_for":
        if frame.f_globals.get("__name__", "").startswith("pgmpy_latent.learners.east."):
            names.append(frame.f_code.co_name)
    return names


def test_em_is_reached_through_few_frames_look_ahead_included(monkeypatch):
    fit, stacks = Search.fit, []

    def watched(self, *args, **options):
        stacks.append(frames_above(sys._getframe()))
        return fit(self, *args, **options)

    monkeypatch.setattr(Search, "fit", watched)
    table = sample(datasets.hlc_model(7, random_state=2), 2000, random_state=0)  # which one start does not explain
    EAST(random_state=0, show_progress=False).fit(table)
    assert any("_settled" in stack for stack in stacks)
    deepest = max(stacks, key=len)
    assert len(deepest) <= MOST_FRAMES, deepest
