"""Metrics against cases computed by hand, empty sets included (check A11)."""

import numpy as np
import pytest

from auctor.core.errors import AuctorError
from auctor.hierarchy import Taxonomy, metrics

TRUTH = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]])
SAID = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]])


def test_by_example_with_empty_sets():
    found = metrics.set_scores(TRUTH, SAID)
    # Rows: hit 1 of 2; both empty counts 1; right; wrong.
    assert found.precision == pytest.approx((1 + 1 + 1 + 0) / 4)
    assert found.recall == pytest.approx((0.5 + 1 + 1 + 0) / 4)
    assert found.f == pytest.approx((2 / 3 + 1 + 1 + 0) / 4)
    assert metrics.jaccard(TRUTH, SAID) == pytest.approx((0.5 + 1 + 1 + 0) / 4)
    assert metrics.hamming(TRUTH, SAID) == pytest.approx(2 / 12)
    np.testing.assert_allclose(metrics.example_f(TRUTH, SAID), [2 / 3, 1, 1, 0])


def test_micro_and_macro():
    micro = metrics.set_scores(TRUTH, SAID, average="micro")
    assert micro == pytest.approx((3 / 4, 3 / 4, 3 / 4))
    macro = metrics.set_scores(TRUTH, SAID, average="macro")
    assert macro.f == pytest.approx((1 + 0 + 1) / 3)
    assert metrics.set_scores(TRUTH, SAID, average="micro", beta=2.0).f == pytest.approx(3 / 4)
    np.testing.assert_allclose(metrics.label_scores(TRUTH, SAID).f, [1, 0, 1])


def test_beta_weighs_recall():
    found = metrics.set_scores([[1, 1]], [[1, 0]], beta=2.0).f
    assert found == pytest.approx(5 * 1 / (1 + 4 * 2))


def test_weights_count_like_repeated_rows():
    again = [0, 0, 0, 2, 3, 3]
    weight = [3.0, 0.0, 1.0, 2.0]
    for average in metrics.AVERAGES:
        weighted = metrics.set_scores(TRUTH, SAID, average=average, sample_weight=weight)
        repeated = metrics.set_scores(TRUTH[again], SAID[again], average=average)
        assert weighted == pytest.approx(repeated)
    for metric in (metrics.jaccard, metrics.hamming):
        assert metric(TRUTH, SAID, sample_weight=weight) == pytest.approx(
            metric(TRUTH[again], SAID[again])
        )


def test_hierarchical_measures():
    taxonomy = Taxonomy.from_paths(["a/b", "a/c", "d"])  # a, d, a/b, a/c
    truth, said = taxonomy.indicator([["a/b"], []]), taxonomy.indicator([["a/c"], ["d"]])
    found = metrics.hierarchical_scores(truth, said, taxonomy)
    assert found == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert metrics.tree_distance(truth, said, taxonomy) == pytest.approx((2 + 1) / 2)
    levels = metrics.by_level(taxonomy.close(truth), taxonomy.close(said), taxonomy)
    np.testing.assert_allclose(levels, [2 / 3, 0])


def test_pooled_area_is_average_precision_of_all_entries():
    truth = np.array([[1, 0], [1, 0]])
    assert metrics.pooled_auprc(truth, [[0.9, 0.1], [0.4, 0.5]]) == pytest.approx((1 + 2 / 3) / 2)


def test_shapes_and_names_are_checked():
    with pytest.raises(AuctorError, match="one shape"):
        metrics.jaccard([[1]], [[1, 0]])
    with pytest.raises(AuctorError, match="average"):
        metrics.set_scores(TRUTH, SAID, average="all")
