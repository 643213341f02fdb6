"""Decoders: sets obey the taxonomy, the operator is the prox, the corrected toy."""

import numpy as np
import pytest

from auctor.core.errors import ConvergenceWarning, DataError
from auctor.hierarchy import Taxonomy, tune_decoder
from auctor.hierarchy.decoders import (
    DAG_SWEEPS,
    DAG_TOL,
    ExpectedF,
    Flat,
    HierarchicalOperator,
    LeafReduce,
    MandatoryLeaf,
    RootMap,
    TopK,
    descendants,
)
from auctor.hierarchy.subgradients import SetSurrogate
from auctor.hierarchy.tuning import OBJECTIVES
from auctor.penalties import TreeL2

TOY = Taxonomy.from_parents({"root": None, "left": "root", "right": "root"})
DECODERS = [
    LeafReduce(0.6), RootMap(0.4), HierarchicalOperator(0.5), ExpectedF(), ExpectedF(2.0, 0.7),
    ExpectedF(coherence="raise"),
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


@pytest.mark.parametrize(
    ("count", "largest"),
    [(50, 12), pytest.param(500, 60, marks=pytest.mark.slow)],
    ids=["quick", "a thousand"],
)
@pytest.mark.filterwarnings("ignore:HierarchicalOperator needs the proximal operator of every row")
@pytest.mark.parametrize("several", [False, True], ids=["trees", "graphs"])
def test_random_taxonomies_without_a_violation(several, count, largest):
    rng = np.random.default_rng(int(several))
    graphs = 0
    for _ in range(count):
        taxonomy = random_taxonomy(rng, int(rng.integers(1, largest)), several)
        graphs += not taxonomy.is_tree
        scores = rng.uniform(size=(3, taxonomy.n_nodes)).round(1)
        for decoder in DECODERS:
            on = decoder.decode(scores, taxonomy)
            assert taxonomy.violations(on).size == 0
        inside = [kind(0.5).decode(scores, taxonomy) for kind in (RootMap, Flat, LeafReduce)]
        assert (inside[0] <= inside[1]).all()
        assert (inside[1] <= inside[2]).all()
    assert graphs > count // 4 if several else graphs == 0


def test_the_operator_keeps_the_support_of_the_prox():
    rng = np.random.default_rng(3)
    for _ in range(50):
        taxonomy = random_taxonomy(rng, 9)
        phi, u = rng.uniform(0.1, 1.0, size=9), rng.uniform(0.01, 1.0, size=9)
        prox = TreeL2(1.0, taxonomy.parent, weights=phi).prox(u, 1.0)
        shrunk, kept = HierarchicalOperator(phi).prox([u], taxonomy)
        np.testing.assert_allclose(shrunk[0], prox, atol=1e-12)
        np.testing.assert_array_equal(kept[0], prox > 0.0)


def test_the_dual_of_overlapping_groups_is_the_tree_pass_on_a_tree():

    from auctor.kernels.hierarchy import operator

    rng = np.random.default_rng(4)
    for _ in range(50):
        taxonomy = random_taxonomy(rng, 8)
        phi, u = rng.uniform(0.1, 1.0, size=8), rng.uniform(0.05, 1.0, size=(4, 8))
        start, below = descendants(taxonomy)
        on = np.zeros(u.shape, dtype=bool)
        v = np.empty(u.shape)
        operator.dag_operator(u, below, start, phi, DAG_SWEEPS, DAG_TOL, v, on)
        shrunk, kept = HierarchicalOperator(phi).prox(u, taxonomy)
        np.testing.assert_array_equal(on, kept)
        np.testing.assert_allclose(v, shrunk, atol=1e-7)


def test_the_dual_of_overlapping_groups_minimises_the_prox_objective():
    """No set of groups is a tree here: a label with two parents, against a general minimiser."""
    from scipy.optimize import minimize

    graph = Taxonomy.from_parents({"a": None, "b": None, "c": ["a", "b"], "d": ["c"], "e": "b"})
    start, below = descendants(graph)
    groups = [below[start[t] : start[t + 1]] for t in range(graph.n_nodes)]
    rng = np.random.default_rng(6)
    for _ in range(5):
        phi, u = rng.uniform(0.05, 0.4, size=5), rng.uniform(0.3, 1.0, size=5)

        def value(v, u=u, phi=phi):
            norms = [np.sqrt((v[g] ** 2).sum() + 1e-18) for g in groups]
            return 0.5 * ((u - v) ** 2).sum() + phi @ norms

        shrunk, _ = HierarchicalOperator(phi).prox([u], graph)
        found = minimize(value, u, method="BFGS", options={"gtol": 1e-9})
        assert value(shrunk[0]) <= found.fun + 1e-9
        np.testing.assert_allclose(shrunk[0], found.x, atol=1e-4)


@pytest.mark.parametrize("several", [False, True], ids=["tree", "graph"])
@pytest.mark.parametrize("objective", ["f1", "micro_f1", "jaccard", "hamming"])
def test_subgradients_through_the_prox_are_finite_differences(objective, several):
    rng = np.random.default_rng(8)
    for _ in range(10):
        taxonomy = random_taxonomy(rng, 8, several)
        u, phi = rng.uniform(size=(6, 8)), rng.uniform(0.05, 0.5, size=8)
        on = taxonomy.close(rng.random((6, 8)) < 0.3)
        on[0] = False  # a row without labels
        soft = SetSurrogate(objective, u, on, taxonomy, rng.uniform(0.5, 2.0, size=6), half=0.05)
        step = 1e-6 * np.eye(8)
        wanted = [
            (soft.value(HierarchicalOperator(phi + h)) - soft.value(HierarchicalOperator(phi - h)))
            / 2e-6
            for h in step
        ]
        found = soft.phi_gradient(HierarchicalOperator(phi))
        np.testing.assert_allclose(found, wanted, atol=2e-5)
        assert np.abs(wanted).max() > 1e-3


def test_the_soft_objective_is_the_objective_of_decided_sets():
    """Where every entry of the prox is 0 or large, soft sets are the sets."""
    rng = np.random.default_rng(9)
    taxonomy = random_taxonomy(rng, 6)
    on = taxonomy.close(rng.random((30, 6)) < 0.3)
    said = taxonomy.close(rng.random((30, 6)) < 0.3)
    for name, exact in OBJECTIVES.items():
        soft = SetSurrogate(name, 1e9 * said, on, taxonomy, None)
        value = soft.value(HierarchicalOperator(1e-3))
        assert value == pytest.approx(exact(on, said, None), abs=1e-6)


def expected_f(p, mask):
    return 2 * p[mask].sum() / (mask.sum() + p.sum())


@pytest.mark.parametrize("coherence", ["lower", "raise"])
def test_expected_f_is_the_best_closed_prefix(coherence):
    rng = np.random.default_rng(5)
    for _ in range(40):
        taxonomy = random_taxonomy(rng, 6)
        p = rng.uniform(size=(1, 6))
        on = ExpectedF(coherence=coherence).decode(p, taxonomy)[0]
        whole = p[0].copy()
        for t in range(6) if coherence == "lower" else range(5, -1, -1):
            for above in taxonomy.parents.of(t):
                if coherence == "lower":
                    whole[t] = min(whole[t], whole[above])
                else:
                    whole[above] = max(whole[t], whole[above])
        best = max(
            expected_f(whole, mask)
            for bits in range(1, 64)
            for mask in [np.array([bits >> t & 1 for t in range(6)], dtype=bool)]
            if taxonomy.violations(mask[None]).size == 0
        )
        assert expected_f(whole, on) == pytest.approx(best, rel=1e-12)


def test_tuning_chooses_how_scores_become_coherent():
    """Inner labels with random scores: what the leaves say has to go up."""
    rng = np.random.default_rng(2)
    taxonomy = Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f"])
    on = taxonomy.close([[["a/b", "a/c", "d/e", "d/f"][k]] for k in rng.integers(4, size=200)])
    good = np.clip(0.6 * on + 0.3 * rng.random(on.shape), 0.0, 1.0)
    scores = np.where(taxonomy.leaves, good, rng.random(on.shape))
    assert tune_decoder(ExpectedF(), scores, on, taxonomy).decoder.coherence == "raise"
    scores = np.where(taxonomy.leaves, rng.random(on.shape), good)
    assert tune_decoder(ExpectedF(), scores, on, taxonomy).decoder.coherence == "lower"


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


def random_graph(rng, size, parents):
    edges = [
        (int(above), node)
        for node in range(1, size)
        for above in rng.choice(node, min(node, int(rng.integers(1, parents + 1))), replace=False)
    ]
    return Taxonomy([str(node) for node in range(size)], edges)


def test_the_operator_on_a_graph_is_better_than_two_thousand_plain_sweeps():
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 12, 3)
    start, below = descendants(graph)
    groups = [below[start[t] : start[t + 1]] for t in range(12)]
    rows = rng.random((10, 12))
    shrunk, _ = HierarchicalOperator(0.3).prox(rows, graph)
    for u, ours in zip(rows, shrunk, strict=True):
        v, zeta = u.copy(), [np.zeros(group.size) for group in groups]
        for _ in range(2000):
            for t in range(11, -1, -1):
                whole = v[groups[t]] + zeta[t]
                zeta[t] = whole * min(1.0, 0.3 / max(float(np.linalg.norm(whole)), 1e-300))
                v[groups[t]] = whole - zeta[t]

        def value(x, u=u):
            norms = [np.linalg.norm(x[group]) for group in groups]
            return 0.5 * ((u - x) ** 2).sum() + 0.3 * sum(norms)

        assert value(ours) <= value(v) + 1e-12


def test_rows_of_a_graph_that_need_more_sweeps_are_told_with_a_bound():
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 60, 5)
    rows = rng.random((8, 60))
    with pytest.warns(ConvergenceWarning, match=r"errors of at most \de-0\d after 2000 sweeps"):
        HierarchicalOperator(0.3).prox(rows, graph)


@pytest.mark.parametrize("infinite", [[0], [0, 1], [0, 1, 2, 3]])
def test_infinite_scores_select_their_labels(infinite):
    chain = Taxonomy.from_parents({"a": None, "b": "a", "c": "b", "d": "c"})
    scores = np.array([0.9, 0.2, 0.1, 0.05])
    scores[infinite] = np.inf
    on = ExpectedF(empty=False).decode([scores], chain)[0]
    assert on[infinite].all()
    assert ExpectedF(temper=4.0).decode([np.full(4, 1e200)], chain).all()


@pytest.mark.parametrize("worst", [0.0, -1.0, -np.inf])
def test_a_set_that_may_not_be_empty_has_a_root_where_no_label_is_likely(worst):
    chain = Taxonomy.from_parents({"a": None, "b": "a", "c": None})
    scores = np.full((1, 3), worst)
    on = ExpectedF(empty=False).decode(scores, chain)[0]
    assert on.sum() == 1
    assert chain.parents.start[on.argmax()] == chain.parents.start[on.argmax() + 1]
    assert not ExpectedF(empty=True).decode(scores, chain).any()
