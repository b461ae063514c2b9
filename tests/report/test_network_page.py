"""Reports of networks that come without a table: what their hidden variables are about follows from the model."""

import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given, settings

from pgmpy_latent import FindHidden, LatentNetwork, fitted, sample, write_report
from pgmpy_latent.report.facts import Facts, no_rows
from pgmpy_latent.report.latents_section import profiles_of
from pgmpy_latent.report.page import gather, page
from pgmpy_latent.testing import latent_networks


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
    for name, shares in zip(network.observed_names, profiles_of(facts, 0), strict=True):
        np.testing.assert_allclose(shares.T, profiles.loc[name], atol=1e-12)
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
    assert "draws parts of it" in text


def picture_of(network, path, **options):
    """Return the picture of a report as a tree of elements, with the identifiers of the page."""
    write_report(network, path, **options)
    text = path.read_text(encoding="utf-8")
    (drawn,) = re.findall(r'<div class="drawing network".*?(<svg.*?</svg>)</div>', text, flags=re.DOTALL)
    return ElementTree.fromstring(drawn), set(re.findall(r' id="([^"]+)"', text))


def boxes_of(picture):
    """Return left, top, right and bottom of every box."""
    sizes = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in picture.iter("rect")]
    return np.array([(left, top, left + width, top + height) for left, top, width, height in sizes])


def test_a_network_is_drawn_with_all_its_boxes_and_edges(tmp_path):
    network = network_of_two_parents()
    picture, known = picture_of(network, tmp_path / "report.html")
    assert sorted(text.text for text in picture.iter("text")) == ["H (2)", "a", "b", "c", "d"]
    lines = [path for path in picture.iter("path") if path.get("class") == "edge"]
    assert len(lines) == len(network.edges)
    assert {link.get("href") for link in picture.iter("a")} == {"#latent-0"} <= {f"#{name}" for name in known}
    named = {group.find("title").text for group in picture.iter("g") if group.find("path") is not None}
    assert named == {f"{above} → {below}" for above, below in network.edges}


@given(latent_networks(max_nodes=12))
@settings(max_examples=25, deadline=None)
def test_boxes_do_not_overlap_and_edges_end_on_their_children(tmp_path_factory, network):
    if not network.edges or all(len(above) <= 1 for above in network.parents):
        return
    picture, _ = picture_of(network, tmp_path_factory.mktemp("page") / "report.html")
    bounds = boxes_of(picture)
    apart = (bounds[:, None, 0] >= bounds[None, :, 2] - 0.2) | (bounds[:, None, 1] >= bounds[None, :, 3] - 0.2)
    assert (apart | apart.T | np.eye(len(bounds), dtype=bool)).all()
    place = {name: at for at, name in enumerate(map(str, network.names))}
    _, _, width, height = map(float, picture.get("viewBox").split())
    assert bounds[:, 2].max() < width
    assert bounds[:, 3].max() < height
    for group in picture.iter("g"):
        head = [path.get("d") for path in group.iter("path") if path.get("class") == "head"]
        if head:
            x, y = map(float, re.search(r"L(\S+) (\S+)Z", head[0]).groups())
            left, top, right, _ = bounds[place[group.find("title").text.split(" → ")[1]]]
            assert left - 0.2 <= x <= right + 0.2
            assert abs(y - top) < 0.2


def test_edges_that_are_new_are_dashed(tmp_path):
    whole = network_of_two_parents()
    table = sample(whole, 400, random_state=0)
    found = FindHidden(random_state=0, show_progress=False).fit(table)
    found.network_, found.base_ = whole, drop_hidden(whole)
    picture, _ = picture_of(found, tmp_path / "report.html", X=table)
    dashed = {
        group.find("title").text
        for group in picture.iter("g")
        for path in group.iter("path")
        if path.get("stroke-dasharray")
    }
    assert dashed == {"H → b", "H → c", "H → d"}


def drop_hidden(network):
    """Return a network over the columns that has the other edges."""
    columns = network.observed_names
    parents = [
        tuple(columns.index(network.names[above]) for above in some if not network.latent[above])
        for name, some in zip(network.names, network.parents, strict=True)
        if name in columns
    ]
    tables = [np.full((2 ** len(some), 2), 0.5) for some in parents]
    return LatentNetwork(columns, [["low", "high"]] * len(columns), parents, [False] * len(columns), tables)
