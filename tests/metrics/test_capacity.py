"""The top k of every group, against loops over the groups."""

import itertools

import numpy as np
import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.metrics import precision_at_k, recall_at_k, top_rows


def case(seed, n=60, ties=True):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    y = rng.random(n) < 0.3
    y[:2] = True, False
    return y, np.round(scores) if ties else scores, rng.choice(["mon", "tue", "wed"], n)


@pytest.mark.parametrize("k", [1, 4, 0.25])
def test_top_rows_are_the_first_of_a_stable_sort(k):
    for seed in range(5):
        _, scores, groups = case(seed)
        chosen = top_rows(scores, k, groups=groups)
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            ranked = sorted(rows, key=lambda i: (-scores[i], i))
            count = k if isinstance(k, int) else max(1, int(k * rows.size))
            assert set(np.flatnonzero(chosen & (groups == group))) == set(ranked[:count])
    assert top_rows([3.0, 3.0, 3.0], 2).tolist() == [True, True, False]


@pytest.mark.parametrize("weighted", [False, True])
def test_all_groups_together(weighted):
    for seed in range(5):
        y, scores, groups = case(seed)
        weight = np.random.default_rng(seed).integers(0, 3, y.size) if weighted else None
        k, hits, flagged = 4, 0.0, 0.0
        for group in np.unique(groups):
            own = groups == group
            heavy = None if weight is None else weight[own]
            depth = min(k, own.sum() if weight is None else heavy.sum())
            hits += depth * precision_at_k(y[own], scores[own], int(depth), weight=heavy)
            flagged += depth
        positives = y.sum() if weight is None else weight[y].sum()
        found = [
            f(y, scores, k, groups=groups, weight=weight) for f in (precision_at_k, recall_at_k)
        ]
        assert found == pytest.approx([hits / flagged, hits / positives])


def test_ties_at_a_boundary_are_the_mean_over_orders():
    y, scores, groups = [1, 0, 0, 1, 0], np.array([1.0, 1.0, 1.0, 2.0, 2.0]), list("aaabb")
    broken = [
        precision_at_k(y, scores + np.array([*first, *second]), 1, groups=groups)
        for first in itertools.permutations([0.1, 0.2, 0.3])
        for second in itertools.permutations([0.1, 0.2])
    ]
    assert precision_at_k(y, scores, 1, groups=groups) == pytest.approx(np.mean(broken))


def test_bad_input():
    y, scores, groups = case(0)
    with pytest.raises(DataError, match="a group with at least 61 rows"):
        precision_at_k(y, scores, 61, groups=groups)
    with pytest.raises(DataError, match="one group per row"):
        recall_at_k(y, scores, 2, groups=groups[:-1])
    for k in (0, -1, 1.5, True):
        with pytest.raises(ParameterError):
            top_rows(scores, k)
