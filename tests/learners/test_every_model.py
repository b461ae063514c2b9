"""Every form of a model answers every question that makes sense for it, and refuses the others with a remedy."""

import re

import numpy as np
import pandas as pd
import pytest

from pgmpy_latent import (
    GaussianBinG,
    GaussianTreeEM,
    HiddenChowLiuMixture,
    NetworkEM,
    RandomStarts,
    TreeEM,
    check_export,
    datasets,
    fitted,
    gaussian,
    impute,
    log_likelihood,
    most_likely,
    plotting,
    posterior,
    rename,
    residuals,
    row_log_likelihoods,
    sample,
    save,
    scores,
    smoothed,
    standard_errors,
    synthesise,
    unusual_rows,
    write_model,
    write_report,
)
from pgmpy_latent.exceptions import PgmpyLatentError

pytestmark = [
    pytest.mark.filterwarnings("ignore::pgmpy_latent.exceptions.CodesAsNumbersWarning"),
    pytest.mark.filterwarnings("ignore:.*probabilities are at the boundary"),
]

TREES = ("file", "tree", "pgmpy", "TreeEM", "learner")
MIXTURES = ("mixture file", "mixture", "mixture learner")
NUMBERS = ("Gaussian file", "Gaussian tree", "Gaussian pgmpy", "GaussianTreeEM", "Gaussian learner")
FORMS = (*TREES, "NetworkEM", *MIXTURES, *NUMBERS)


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Return every form of a model, and a table for it."""
    folder = tmp_path_factory.mktemp("models")
    answers = datasets.load_anes96().iloc[:150, [0, 3, 5, 6]]
    learner = RandomStarts(n_states=2, n_starts=2, random_state=0, show_progress=False).fit(answers)
    mixture = HiddenChowLiuMixture(n_groups=2, n_states=2, n_trials=1, random_state=0, show_progress=False).fit(answers)
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(120, 1)) + 0.7 * rng.normal(size=(120, 4)), columns=list("abcd"))
    factor = GaussianBinG().fit(numbers)
    for name, model in (("tree", learner), ("mixture", mixture), ("numbers", factor)):
        save(model, folder / f"{name}.json")
    em = {"latent_card": {"H": 2}, "seed": 0, "show_progress": False}
    found = {
        "file": folder / "tree.json",
        "tree": learner.tree_,
        "pgmpy": learner.model_,
        "TreeEM": TreeEM(**em).fit(learner.model_, answers),
        "NetworkEM": NetworkEM(**em).fit(learner.model_, answers),
        "learner": learner,
        "mixture file": folder / "mixture.json",
        "mixture": mixture.mixture_,
        "mixture learner": mixture,
        "Gaussian file": folder / "numbers.json",
        "Gaussian tree": factor.tree_,
        "Gaussian pgmpy": factor.model_,
        "GaussianTreeEM": GaussianTreeEM(seed=0, show_progress=False).fit(factor.model_, numbers),
        "Gaussian learner": factor,
    }
    assert tuple(found) == FORMS or {*found} == {*FORMS}
    return {name: (model, numbers if name in NUMBERS else answers) for name, model in found.items()}


#: What a fitted model is asked -> how, and which forms answer.
QUESTIONS = {
    "summary": (lambda model, table, folder: model.summary(), FORMS),
    "predict": (lambda model, table, folder: model.predict(table), FORMS),
    "transform": (lambda model, table, folder: model.transform(table), FORMS),
    "impute": (lambda model, table, folder: model.impute(table), FORMS),
    "sample": (lambda model, table, folder: model.sample(3, random_state=0), FORMS),
    "score": (lambda model, table, folder: model.score(table), FORMS),
    "score_samples": (lambda model, table, folder: model.score_samples(table), FORMS),
    "notebook": (lambda model, table, folder: model._repr_html_(), FORMS),
    "rename": (lambda model, table, folder: rename(model, nodes={hidden(model): "renamed"}), FORMS),
    "save": (lambda model, table, folder: save(model, folder / "saved.json"), FORMS),
    "predict_proba": (lambda model, table, folder: model.predict_proba(table), (*TREES, "NetworkEM", *MIXTURES)),
    "profiles": (lambda model, table, folder: model.profiles(), (*TREES, "NetworkEM", *MIXTURES)),
    "informative_columns": (lambda model, table, folder: model.informative_columns(), (*TREES, "NetworkEM")),
    "loadings": (lambda model, table, folder: model.loadings(), NUMBERS),
    "residuals": (lambda model, table, folder: residuals(model, table), (*TREES, "NetworkEM", *MIXTURES)),
    "bic": (lambda model, table, folder: scores.bic(model, table), (*TREES, "NetworkEM", *MIXTURES)),
    "log_likelihood": (lambda model, table, folder: log_likelihood(model, table), (*TREES, "NetworkEM", *MIXTURES)),
    "posterior": (lambda model, table, folder: posterior(model, table), (*TREES, "NetworkEM", *MIXTURES)),
    "most_likely": (lambda model, table, folder: most_likely(model, table), (*TREES, "NetworkEM", *MIXTURES)),
    "unusual_rows": (lambda model, table, folder: unusual_rows(model, table, 3), (*TREES, "NetworkEM", *MIXTURES)),
    "draws": (lambda model, table, folder: sample(model, 3, random_state=0), (*TREES, "NetworkEM", *MIXTURES)),
    "filled": (lambda model, table, folder: impute(model, table), (*TREES, "NetworkEM", *MIXTURES)),
    "synthesise": (lambda model, table, folder: synthesise(table, 9, model=model), (*TREES, "NetworkEM", *MIXTURES)),
    "smoothed": (lambda model, table, folder: smoothed(model, table), (*TREES, "NetworkEM")),
    "standard_errors": (lambda model, table, folder: standard_errors(model, table), (*TREES, "NetworkEM")),
    "write_model": (lambda model, table, folder: write_model(model, folder / "model.bif"), (*TREES, "NetworkEM")),
    "check_export": (lambda model, table, folder: check_export(model, "bif"), (*TREES, "NetworkEM")),
    "plot_tree": (lambda model, table, folder: plotting.plot_tree(model), (*TREES, "NetworkEM", *NUMBERS)),
    "plot_profiles": (lambda model, table, folder: plotting.plot_profiles(model), (*TREES, "NetworkEM")),
}
#: Which a model of another kind cannot answer, and what the refusal tells instead.
REMEDY = re.compile(
    r"mixture_\.trees\[0\]|save .* as \.json|pgmpy_latent\.gaussian|loadings\(\)|posterior\(X\)|profiles\(\)|"
    r"several edges|has no attribute 'loadings'|has no attribute 'informative_columns'"
)


def hidden(model):
    """Return the name of a hidden variable."""
    trees = (
        model.mixture_.trees
        if hasattr(model, "mixture_")
        else [model._learned if hasattr(model, "_learned") else model.tree_]
    )
    return next(tree.latent_names[0] for tree in trees if tree.latent_names)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_answered_or_refused_with_a_remedy(forms, form, question, tmp_path):
    model, table = forms[form]
    ask, answering = QUESTIONS[question]
    model = fitted(model)
    if form in answering:
        ask(model, table, tmp_path)
    else:
        with pytest.raises((TypeError, AttributeError, PgmpyLatentError), match=REMEDY):
            ask(model, table, tmp_path)


@pytest.mark.parametrize("kind", ["mixture", "Gaussian"])
def test_files_of_learners_keep_what_learned_them_and_files_of_models_do_not(forms, kind, tmp_path):
    learner, table = forms[f"{kind} learner"]
    from_file = fitted(forms[f"{kind} file"][0])
    assert from_file.learner_ == type(learner).__name__
    for name in ("log_likelihood_", "bic_", "score_", "n_rows_", "total_weight_", "weight_kind_", "stopped_"):
        assert getattr(from_file, name, None) == getattr(learner, name)
    pd.testing.assert_frame_equal(from_file.history_, learner.history_, check_dtype=False)
    save(learner._learned if kind == "mixture" else learner.tree_, tmp_path / "model.json")
    by_itself = fitted(tmp_path / "model.json")
    assert not hasattr(by_itself, "learner_")
    assert not hasattr(by_itself, "log_likelihood_")
    held = by_itself.fit(table)
    assert held.log_likelihood_ == pytest.approx(learner.log_likelihood_, rel=1e-12)
    assert held.bic_ == pytest.approx(learner.bic_, rel=1e-12)


@pytest.mark.parametrize("form", ["mixture file", "mixture", "Gaussian file", "Gaussian pgmpy", "GaussianTreeEM"])
def test_given_models_have_reports_of_a_table(forms, form, tmp_path):
    model, table = forms[form]
    write_report(fitted(model, table), tmp_path / "report.html")
    assert "Fit" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_renamed_mixture_and_a_renamed_gaussian_tree_are_the_same_distribution(forms):
    mixture, answers = forms["mixture"]
    column = answers.columns[0]
    renamed = rename(
        mixture, nodes={column: "first"}, states={column: [f"s{at}" for at in range(answers[column].nunique())]}
    )
    codes = {state: f"s{at}" for at, state in enumerate(mixture.state_names[mixture.index(column)])}
    rows = answers.assign(first=answers[column].map(codes)).drop(columns=column)
    np.testing.assert_array_equal(row_log_likelihoods(renamed, rows), row_log_likelihoods(mixture, answers))
    tree, numbers = forms["Gaussian tree"]
    renamed = rename(tree, nodes={"a": "first"})
    found = gaussian.row_log_likelihoods(renamed, numbers.rename(columns={"a": "first"}))
    np.testing.assert_array_equal(found, gaussian.row_log_likelihoods(tree, numbers))
    learner, _ = forms["Gaussian learner"]
    named = rename(learner, nodes={learner.latents_[0]: "size"})
    assert named.predict(numbers).columns.tolist()[0] == "size"
    assert learner.latents_[0] != "size"


def test_what_cannot_be_renamed_is_named(forms):
    tree, _ = forms["Gaussian tree"]
    with pytest.raises(PgmpyLatentError, match="all variables of a Gaussian tree are numbers"):
        rename(tree, states={"a": [1, 2]})
    with pytest.raises(PgmpyLatentError, match="nodes names 'nowhere', but the nodes are"):
        rename(forms["mixture"][0], nodes={"nowhere": "x"})
    with pytest.raises(PgmpyLatentError, match="a learner has the columns of its table"):
        rename(forms["Gaussian learner"][0], nodes={"a": "x"})


def test_models_that_are_not_categories_name_what_they_have_instead(forms):
    with pytest.raises(AttributeError, match=r"posterior\(X\) has means and deviations"):
        forms["Gaussian learner"][0].predict_proba(None)
    tree, numbers = forms["Gaussian tree"]
    with pytest.raises(PgmpyLatentError, match="depends on cluster; leave it out"):
        fitted(tree, numbers, cluster="a")
    with pytest.raises(PgmpyLatentError, match="no standard errors of a mixture"):
        forms["mixture learner"][0].profiles(errors=True)
