"""Kernel k-means against brute force, and its symmetric factorisation."""

import numpy as np
import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.forecast import KernelKMeans
from auctor.forecast.clusters import Clusters, filled, indicator, symmetric_factor


def blobs(seed=0, each=30):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    truth = np.repeat(np.arange(3), each)
    return centres[truth] + 0.4 * rng.normal(size=(3 * each, 2)), truth


def same(labels, truth):
    """Whether two labellings are one up to names."""
    pairs = set(zip(labels.tolist(), truth.tolist(), strict=True))
    return len(pairs) == len(set(labels.tolist())) == len(set(truth.tolist()))


def gauss(X, gamma=0.5):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def test_distances_are_those_of_feature_space():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 25))  # the linear kernel, whose features are the rows themselves
    labels = rng.integers(3, size=20)
    centres = Clusters.of(X @ X.T, indicator(labels, 3))
    means = np.stack([X[labels == j].mean(axis=0) for j in range(3)])
    expected = ((X[:, None] - means[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        centres.distances(X @ X.T, np.diagonal(X @ X.T)), expected, rtol=1e-10
    )


def test_objective_is_the_trace_with_normalised_indicators():
    X, _ = blobs()
    K = gauss(X)
    model = KernelKMeans(3, gamma=0.5).fit(X)
    G = indicator(model.labels_, 3)
    G = G / np.sqrt(G.sum(axis=0))
    assert model.objective_ == pytest.approx(np.trace(K) - np.trace(G.T @ K @ G), abs=1e-10)


@pytest.mark.parametrize("algorithm", ["lloyd", "nmf"])
def test_finds_blobs(algorithm):
    good = 0
    for seed in range(5):
        X, truth = blobs(seed)
        model = KernelKMeans(3, algorithm=algorithm, gamma=0.5, random_state=seed).fit(X)
        good += same(model.labels_, truth)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        weights = model.memberships(X)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)
        np.testing.assert_array_equal(weights.argmax(axis=1), model.labels_)
    assert good >= 4


def test_factor_is_nearly_orthogonal_and_starts_apart():
    X, _ = blobs()
    factor = symmetric_factor(gauss(X), 3, np.random.default_rng(0), 500, 1e-4)
    gram = factor.G.T @ factor.G
    off = gram - np.diag(np.diagonal(gram))
    assert factor.violation <= 1e-4
    assert off.max() <= 0.01 * np.diagonal(gram).min()
    # |K - G G'|^2 = |K|^2 - 2 tr(G'KG) + |G'G|^2
    K, G = gauss(X), factor.G
    expected = (K**2).sum() - 2.0 * np.trace(G.T @ K @ G) + (gram**2).sum()
    assert ((K - G @ G.T) ** 2).sum() == pytest.approx(expected)


def test_precomputed_kernel():
    X, truth = blobs()
    K = gauss(X)
    model = KernelKMeans(3, precomputed=True).fit(K)
    assert same(model.labels_, truth)
    np.testing.assert_array_equal(model.predict(K[:5]), model.labels_[:5])


def test_empty_clusters_take_the_farthest_row():
    X, _ = blobs()
    K = gauss(X)
    labels = filled(np.zeros(len(X), int), 3, K)
    assert set(labels) == {0, 1, 2}
    assert set(KernelKMeans(3).fit(np.zeros((5, 2))).labels_) == {0, 1, 2}  # all rows equal


def test_bad_input():
    X, _ = blobs()
    with pytest.raises(DataError, match=r"^KernelKMeans needs at least as many rows as n_clusters"):
        KernelKMeans(91).fit(X)
    with pytest.raises(DataError, match="square kernel"):
        KernelKMeans(2, precomputed=True).fit(X)
    with pytest.raises(ParameterError, match="algorithm"):
        KernelKMeans(algorithm="em").fit(X)
    with pytest.raises(ParameterError, match="n_clusters"):
        KernelKMeans(0).fit(X)
