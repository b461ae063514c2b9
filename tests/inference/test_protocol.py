"""One interface of all engines: they implement it, agree on forests, and EM takes any of them."""

import inspect

import numpy as np
import pytest

from pgmpy_latent.em import fit as em
from pgmpy_latent.em.starts import random_tables
from pgmpy_latent.inference.network_engine import NetworkEngine
from pgmpy_latent.inference.plan import Evidence, compile_plan
from pgmpy_latent.inference.protocol import Engine, RowEngine
from pgmpy_latent.inference.sharded_engine import ShardedEngine
from pgmpy_latent.inference.tree_engine import TreeEngine

PARENTS = [-1, 0, 0, 0]
CARDS = [2, 2, 3, 2]


@pytest.fixture(scope="module")
def engines():
    """Return the three engines of one latent class model for the same rows, the sharded one over two shards."""
    rng = np.random.default_rng(0)
    codes = np.stack([np.full(40, -1), *(rng.integers(-1, card, 40) for card in CARDS[1:])], axis=1)
    weights = rng.integers(1, 4, 40).astype(np.float64)

    def tree(rows):
        evidence = {node: Evidence(codes[rows, node].copy(), CARDS[node]) for node in (1, 2, 3)}
        return TreeEngine(compile_plan(PARENTS, evidence), CARDS, weights[rows])

    shards = [tree(slice(0, 25)), tree(slice(25, 40))]

    def each(function, *args):
        return (function(shard, *args) for shard in shards)

    whole = tree(slice(None))
    return {
        "tree": whole,
        "network": NetworkEngine([(), (0,), (0,), (0,)], CARDS, codes, weights),
        "sharded": ShardedEngine(each, whole.layout, [shard.total_weight for shard in shards]),
    }


@pytest.mark.parametrize(
    ("engine", "protocol"), [(TreeEngine, RowEngine), (NetworkEngine, RowEngine), (ShardedEngine, Engine)]
)
def test_every_engine_implements_its_protocol_with_the_same_arguments(engine, protocol):
    assert protocol in engine.__mro__
    assert not inspect.isabstract(engine)
    for name in protocol.__abstractmethods__:
        declared = getattr(protocol, name)
        if inspect.isfunction(declared):
            wanted = [*inspect.signature(declared).parameters.values()]
            defined = [*inspect.signature(getattr(engine, name)).parameters.values()]
            assert [(one.name, one.default) for one in defined[: len(wanted)]] == [
                (one.name, one.default) for one in wanted
            ]
            assert all(one.default is not one.empty for one in defined[len(wanted) :])


def test_an_engine_that_lacks_a_method_cannot_be_made(engines):
    class Half(Engine):
        is_large = False

    with pytest.raises(TypeError, match="abstract"):
        Half()


def test_engines_agree(engines):
    tables = random_tables(engines["tree"].layout, np.random.default_rng(1))
    total, counts = engines["tree"].expected_counts(tables)
    for engine in engines.values():
        assert engine.n_weightings == 1
        assert engine.total_weight == engines["tree"].total_weight
        found = engine.expected_counts(tables)
        np.testing.assert_allclose(found[0], total, rtol=1e-12)
        np.testing.assert_allclose(found[1], counts, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(engine.log_likelihood(tables), total, rtol=1e-12)


@pytest.mark.parametrize("name", ["tree", "network", "sharded"])
def test_em_fits_free_tables_alone_with_any_engine(engines, name):
    engine = engines[name]
    start = random_tables(engine.layout, np.random.default_rng(2))
    free = np.array([True, True, False, False])
    fixed = ~free[engine.layout.table_of_entry]
    result = em.fit(engine, start, free=free, prior=0.5, atol=1e-6)
    expected = em.fit(engines["tree"], start, free=free, prior=0.5, atol=1e-6)
    np.testing.assert_array_equal(result.tables[fixed], start[fixed])
    assert result.objective == pytest.approx(expected.objective, rel=1e-10)
    np.testing.assert_allclose(result.tables, expected.tables, atol=1e-4)
    assert result.objective > engine.log_likelihood(start) + em.log_prior(start, 0.5)
