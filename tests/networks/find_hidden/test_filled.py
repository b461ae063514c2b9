"""Missing cells that are drawn: known cells stay, and shares are those of posteriors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmpy_latent import LatentNetwork, encode, sample
from pgmpy_latent.networks.find_hidden.filled import MOST_DRAWS, filled
from pgmpy_latent.testing import latent_networks


@given(latent_networks(), st.integers(0, 2**32 - 1))
def test_known_cells_and_the_weight_of_every_combination_of_them_stay(network, seed):
    rng = np.random.default_rng(seed)
    columns = list(network.observed_names)
    frame = sample(network, 12, random_state=seed % 1000).astype("category")
    data = encode(frame.mask(rng.random(frame.shape) < 0.3))
    full = filled(network_like(network, data), data, rng)
    assert full.total_weight == pytest.approx(data.total_weight)
    assert not (full.codes < 0).any()
    assert full.columns == data.columns == tuple(columns)
    complete = (data.codes >= 0).all(axis=1)
    drawn = {tuple(row): weight for row, weight in zip(full.codes.tolist(), full.weights, strict=True)}
    for row, weight in zip(data.codes[complete].tolist(), data.weights[complete], strict=True):
        assert drawn[tuple(row)] >= weight - 1e-9
    if complete.all():
        assert full is data


def network_like(network, data):
    """Return a network with edges of another one, and uniform tables over the states of a table."""
    states = dict(zip(data.columns, data.state_names, strict=True))
    names = [states.get(name, own) for name, own in zip(network.names, network.state_names, strict=True)]
    cards = [len(own) for own in names]
    tables = [
        np.full((int(np.prod([cards[node] for node in above], dtype=int)), card), 1 / card)
        for card, above in zip(cards, network.parents, strict=True)
    ]
    return LatentNetwork(network.names, names, network.parents, network.latent, tables)


def test_a_row_that_stands_for_many_is_drawn_many_times_by_its_posterior():
    network = LatentNetwork("ab", [[0, 1]] * 2, [(), (0,)], [False] * 2, [[[0.5, 0.5]], [[0.7, 0.3], [0.1, 0.9]]])
    rows = pd.DataFrame({"a": [0, 1, None], "b": [0, 1, 0]}, dtype="object")
    data = encode(rows, sample_weight=[1, 1, 1000])
    share = 0.7 / (0.7 + 0.1)
    weights = []
    for seed in range(300):
        full = filled(network, data, np.random.default_rng(seed))
        own = {tuple(row): weight for row, weight in zip(full.codes.tolist(), full.weights, strict=True)}
        weights.append(own.get((0, 0), 1) - 1)
        assert weights[-1] / (1000 / MOST_DRAWS) == pytest.approx(round(weights[-1] / (1000 / MOST_DRAWS)))
    error = 1000 * np.sqrt(share * (1 - share) / MOST_DRAWS / 300)
    assert np.mean(weights) == pytest.approx(1000 * share, abs=4 * error)


@given(latent_networks(), st.integers(0, 2**32 - 1))
def test_the_order_of_columns_and_nodes_does_not_matter(network, seed):
    rng = np.random.default_rng(seed)
    frame = sample(network, 12, random_state=seed % 1000).astype("category")
    frame = frame.mask(rng.random(frame.shape) < 0.3)
    data = encode(frame)
    known = network_like(network, data)
    first = filled(known, data, np.random.default_rng(seed))
    backwards = range(known.n_nodes)[::-1]
    place = {node: at for at, node in enumerate(backwards)}
    turned = LatentNetwork(
        [known.names[node] for node in backwards],
        [known.state_names[node] for node in backwards],
        [tuple(place[above] for above in known.parents[node]) for node in backwards],
        known.latent[::-1],
        [known.tables[node] for node in backwards],
    )
    second = filled(turned, encode(frame[list(frame.columns)[::-1]]), np.random.default_rng(seed))
    both = [one.select(data.columns) for one in (first, second)]
    rows, others = (dict(zip(map(tuple, one.codes.tolist()), one.weights, strict=True)) for one in both)
    assert rows.keys() == others.keys()
    assert rows == pytest.approx(others)
