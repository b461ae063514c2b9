"""What is refused, in the words of the class that the user wrote."""

from dataclasses import replace

import pandas as pd
import pytest

from pgmpy_latent import EAST, BinG, NetworkEM, RandomStarts, SplitMerge, TreeEM, plotting, scores
from pgmpy_latent.learners import LatentTreeLearner, SearchingLearner, State, Step, number, one_state_tree

FRAME = pd.DataFrame({"x": list("aabb") * 5, "y": list("ccdd") * 5, "z": list("eeff") * 5})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: RandomStarts().fit(FRAME, weights=[1]),
            r"^RandomStarts\.fit\(\) got an unexpected keyword .*'weights'",
        ),
        (lambda: TreeEM().fit(None, FRAME, weights=[1]), r"^TreeEM\.fit\(\) got an unexpected keyword .*'weights'"),
        (lambda: TreeEM(n_starts=3), r"^TreeEM\(\) got an .*'n_starts'; TreeEM calls it n_init, as pgmpy does$"),
        (lambda: NetworkEM(colour=3), r"^NetworkEM\(\) got an unexpected keyword argument 'colour'$"),
        (lambda: EAST(start=BinG).fit(FRAME), r"^start is the class BinG; give a learner, as BinG\(\)$"),
        (lambda: SplitMerge(start=3).fit(FRAME), "^start is an int; give a LatentTree"),
        (lambda: plotting.plot_history(3), "expected fitted learners, got an int"),
        (lambda: plotting.plot_comparison(3), r"table is an int; give the DataFrame that compare_classes\(X\) returns"),
        (lambda: plotting.plot_residuals(RandomStarts()), r"table is a RandomStarts; give .* residuals\(model, X\)"),
    ],
)
def test_type_errors(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"show_progress": "no"}, "^show_progress is 'no'; give True or False$"),
        ({"time_limit": "10s"}, "^time_limit is '10s'; give a number of seconds above 0, or None$"),
    ],
)
def test_settings(settings, words):
    with pytest.raises(ValueError, match=words):
        RandomStarts(**settings).fit(FRAME)


def test_reports_are_html(tmp_path):
    learner = RandomStarts(n_states=2, random_state=0).fit(FRAME)
    with pytest.raises(ValueError, match=r"a report is a page of HTML; name it 'x\.html'"):
        learner.report(tmp_path / "x.pdf")
    assert not list(tmp_path.iterdir())


def test_misspelt_constraints_are_refused():
    with pytest.raises(TypeError, match="_constraints of Own names 'n_split', which is no keyword of its __init__"):

        class Own(SearchingLearner):
            _constraints = {"n_split": number(1, whole=True)}  # noqa: RUF012

            def __init__(self, n_splits=1):
                self.n_splits = n_splits


def test_a_learner_that_returns_nothing():
    class Own(LatentTreeLearner):
        def __init__(self):
            pass

        def _learn(self, data):
            pass

    with pytest.raises(TypeError, match=r"Own\._learn returned None; return an Outcome, as search\.run"):
        Own().fit(FRAME)


def test_short_searches_fill_their_picture():
    learner = SplitMerge(random_state=0).fit(FRAME)
    steps = {"operator": ["start", "split", "fit"], "seconds": [0.50, 0.51, 0.52], "score": [-30.0, -20.0, -10.0]}
    learner.history_ = pd.DataFrame(steps)
    left, right = plotting.plot_history(learner).get_xlim()
    assert 0.49 < left < 0.50
    assert 0.5205 < right < 0.53


def test_a_learner_without_tuning_and_prior_has_the_defaults():
    class Own(SearchingLearner):
        def __init__(self, *, n_jobs=None, random_state=None, time_limit=None, show_progress=False, checkpoint=None):
            self.n_jobs, self.random_state, self.time_limit = n_jobs, random_state, time_limit
            self.show_progress, self.checkpoint = show_progress, checkpoint

        def _learn(self, data):
            return self._search(data).run(lambda: first_state(data), lambda state: Step(replace(state, finished=True)))

    def first_state(data):
        tree = one_state_tree(None, data)
        return State(tree, scores.bic(tree, data), scores.log_likelihood(tree, data), 0)

    assert Own().fit(FRAME).latents_ == ["H"]
