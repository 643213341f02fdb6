"""Decoders: sets obey the taxonomy, the operator is the prox, the corrected toy."""

import numpy as np
import pytest

from auctor.core.errors import DataError
from auctor.hierarchy import (
    ExpectedF,
    Flat,
    HierarchicalOperator,
    LeafReduce,
    MandatoryLeaf,
    RootMap,
    Taxonomy,
    TopK,
)
from auctor.penalties import TreeL2

TOY = Taxonomy.from_parents({"root": None, "left": "root", "right": "root"})
DECODERS = [
    LeafReduce(0.6), RootMap(0.4), HierarchicalOperator(0.5), ExpectedF(), ExpectedF(2.0, 0.7),
    TopK(2), MandatoryLeaf(), MandatoryLeaf(path=False),
]  # fmt: skip


def random_taxonomy(rng, size, several=False):
    edges = []
    for child in range(1, size):
        most = 2 if several and child > 2 else 1
        for parent in rng.choice(child, size=min(child, rng.integers(0, most + 1)), replace=False):
            edges.append((int(parent), child))
    return Taxonomy([f"n{t}" for t in range(size)], edges)


@pytest.mark.parametrize(
    ("scores", "flat", "root_map", "leaf_reduce", "operator"),
    [
        ([0.3, 0.9, 0.8], [0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1]),
        ([0.3, 0.3, 0.8], [0, 0, 1], [0, 0, 0], [1, 0, 1], [0, 0, 0]),
    ],
)
def test_the_corrected_toy(scores, flat, root_map, leaf_reduce, operator):
    wanted = {
        Flat: flat,
        RootMap: root_map,
        LeafReduce: leaf_reduce,
        HierarchicalOperator: operator,
    }
    for kind, sets in wanted.items():
        assert kind(0.5).decode([scores], TOY).astype(int).tolist() == [sets]


@pytest.mark.parametrize("several", [False, True])
def test_a_thousand_taxonomies_without_a_violation(several):
    rng = np.random.default_rng(int(several))
    for _ in range(500):
        taxonomy = random_taxonomy(rng, int(rng.integers(1, 12)), several)
        scores = rng.uniform(size=(3, taxonomy.n_nodes)).round(1)
        for decoder in DECODERS:
            on = decoder.decode(scores, taxonomy)
            assert taxonomy.violations(on).size == 0
        inside = [kind(0.5).decode(scores, taxonomy) for kind in (RootMap, Flat, LeafReduce)]
        assert (inside[0] <= inside[1]).all()
        assert (inside[1] <= inside[2]).all()


def test_the_operator_keeps_the_support_of_the_prox():
    rng = np.random.default_rng(3)
    for _ in range(50):
        taxonomy = random_taxonomy(rng, 9)
        phi, u = rng.uniform(0.1, 1.0, size=9), rng.uniform(0.01, 1.0, size=9)
        prox = TreeL2(1.0, taxonomy.parent, weights=phi).prox(u, 1.0)
        on = HierarchicalOperator(phi).decode([u], taxonomy)[0]
        np.testing.assert_array_equal(on, prox > 0.0)


def test_the_dual_of_overlapping_groups_is_the_tree_pass_on_a_tree():
    from auctor.hierarchy.decoders import DAG_SWEEPS, DAG_TOL, descendants
    from auctor.kernels.hierarchy import decode as kernels

    rng = np.random.default_rng(4)
    for _ in range(50):
        taxonomy = random_taxonomy(rng, 8)
        phi, u = rng.uniform(0.1, 1.0, size=8), rng.uniform(0.05, 1.0, size=(4, 8))
        start, below = descendants(taxonomy)
        on = np.zeros(u.shape, dtype=bool)
        kernels.dag_operator(u, below, start, phi, DAG_SWEEPS, DAG_TOL, on)
        np.testing.assert_array_equal(on, HierarchicalOperator(phi).decode(u, taxonomy))


def expected_f(p, mask):
    return 2 * p[mask].sum() / (mask.sum() + p.sum())


def test_expected_f_is_the_best_closed_prefix():
    rng = np.random.default_rng(5)
    for _ in range(40):
        taxonomy = random_taxonomy(rng, 6)
        p = rng.uniform(size=(1, 6))
        on = ExpectedF().decode(p, taxonomy)[0]
        low = p[0].copy()
        for t in range(6):
            for above in taxonomy.parents.of(t):
                low[t] = min(low[t], low[above])
        best = max(
            expected_f(low, mask)
            for bits in range(1, 64)
            for mask in [np.array([bits >> t & 1 for t in range(6)], dtype=bool)]
            if taxonomy.violations(mask[None]).size == 0
        )
        assert expected_f(low, on) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("decoder", [*DECODERS, Flat()])
def test_bad_scores_are_refused(decoder):
    with pytest.raises(DataError, match="a column for every label"):
        decoder.decode(np.ones((2, 2)), TOY)
    with pytest.raises(DataError, match="got NaN"):
        decoder.decode([[np.nan, 0.0, 0.0]], TOY)


def test_weights_per_level_and_per_label():
    with pytest.raises(DataError, match="one per level or one per label"):
        Flat([0.1, 0.2, 0.3, 0.4]).decode([[0.1, 0.2, 0.3]], TOY)
    on = Flat([0.5, 0.1]).decode([[0.4, 0.2, 0.05]], TOY)
    assert on.astype(int).tolist() == [[0, 1, 0]]
