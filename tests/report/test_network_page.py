"""Reports of networks that come without a table: what their hidden variables are about follows from the model."""

import re

import numpy as np

from pgmpy_latent import LatentNetwork, fitted, write_report
from pgmpy_latent.report.facts import Facts, no_rows
from pgmpy_latent.report.latents_section import profiles_of
from pgmpy_latent.report.page import gather, page


def network_of_two_parents():
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet([0.4] * 2, 2**n) for n in (0, 0, 2, 1, 2)]
    parents = [(), (), (0, 1), (0,), (0, 2)]
    return LatentNetwork(["H", *"abcd"], [["low", "high"]] * 5, parents, [True] + [False] * 4, tables)


def wide_network():
    """Return a network in which too many nodes depend on each other."""
    n, rng = 60, np.random.default_rng(0)
    parents = [tuple(np.sort(rng.choice(at, min(at, 6), replace=False)).tolist()) for at in range(n)]
    tables = [rng.dirichlet(np.ones(3), 3 ** len(above)) for above in parents]
    return LatentNetwork([f"x{at}" for at in range(n)], [range(3)] * n, parents, np.arange(n) == 3, tables)


def test_hidden_variables_of_a_network_without_a_table_are_explained(tmp_path):
    network = network_of_two_parents()
    write_report(network, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="latent-0"' in text
    assert "says nothing about it" not in text
    facts = gather(network)
    profiles = fitted(network).profiles()
    np.testing.assert_allclose(facts.shares[0], profiles.loc[("share", "")], atol=1e-12)
    for name, given in zip(network.observed_names, profiles_of(facts, 0), strict=True):
        np.testing.assert_allclose(given.T, profiles.loc[name], atol=1e-12)
    wanted = [facts.shares[network.index(name)] for name in network.observed_names]
    assert all(np.array_equal(*pair) for pair in zip(facts.column_shares, wanted, strict=True))
    best = fitted(network).informative_columns(4)
    listed = re.findall(r"<figcaption><span><b>(\w)</b>", text)
    assert listed == best["column"].tolist()


def test_where_too_many_nodes_depend_on_each_other_the_page_goes_on():
    model = wide_network()
    facts = Facts(model, no_rows(model))
    facts.has_table = False
    text = page(facts)
    assert not facts.tells_states
    assert "latent-3" not in text
    assert "too many for a page; ask posterior()" in text
    assert "plotting.plot_network draws it" in text
