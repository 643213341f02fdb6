"""Trees with splits by AUC: splits, gains and pruning against enumeration; files and drawings."""

import xml.etree.ElementTree as ET
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import auctor
from auctor.core.errors import AuctorError
from auctor.lab.trees import AucTreeClassifier
from auctor.lab.trees.tree import AucTree
from auctor.metrics import auc


def rows(seed, n=60, d=3, missing=0.2):
    """Rows with ties, missing values and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, size=(n, d)).astype(float)
    y = X[:, 0] + X[:, 1] * (X[:, 2] > 3) + rng.normal(size=n) > 6
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.integers(1, 4, size=n).astype(float)


def sides(X):
    """All ways to cut the rows in two by a column, with missing values on either side."""
    for j in range(X.shape[1]):
        for value in np.unique(X[~np.isnan(X[:, j]), j]):
            for lost in (False, True):
                yield np.where(np.isnan(X[:, j]), lost, X[:, j] <= value)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_split_has_the_largest_auc_of_all(seed):
    X, y, weight = rows(seed)
    best = max(
        abs(auc(y, left, weight=weight) - 0.5) for left in sides(X) if 0 < left.sum() < len(y)
    )
    tree = AucTree.grown(X, y, weight, 2, 1e-9)
    assert tree.gain[0] == pytest.approx(best, abs=1e-12)
    found = auc(y, tree.nodes_of(X), weight=weight)
    assert abs(found - 0.5) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_gains_add_up_to_the_auc_of_the_leaves(seed):
    X, y, weight = rows(seed)
    tree = AucTree.grown(X, y, weight, 12, 2.0)
    assert tree.inner.sum() > 5
    # The better part of every split is ranked first, whatever the depth.
    rate = tree.positive / (tree.positive + tree.negative)
    ranked, waiting = {}, [0]
    while waiting:
        node = waiting.pop()
        ranked[node] = -len(ranked)
        if tree.column[node] >= 0:
            children = [tree.child[node], tree.child[node] + 1]
            waiting += sorted(children, key=lambda one: rate[one])
    leaf = tree.nodes_of(X)
    by_tree = auc(y, [ranked[node] for node in leaf], weight=weight)
    assert by_tree == pytest.approx(0.5 + tree.gain.sum(), abs=1e-12)
    # Ranked by their own rates, as the hull of their ROC curve is, they are no worse.
    assert auc(y, rate[leaf], weight=weight) >= by_tree - 1e-12
    for k, total in enumerate((tree.positive, tree.negative)):
        reached = np.bincount(leaf, weight * (y == (k == 0)), minlength=tree.column.size)
        np.testing.assert_allclose(reached[~tree.inner], total[~tree.inner])


def prunings(tree, node=0):
    """Leaves and gain of every subtree with the same root."""
    yield 1, 0.0
    if tree.column[node] >= 0:
        for a, gain in prunings(tree, tree.child[node]):
            for b, other in prunings(tree, tree.child[node] + 1):
                yield a + b, tree.gain[node] + gain + other


@pytest.mark.parametrize("seed", range(6))
def test_pruning_is_the_best_of_all_subtrees(seed):
    X, y, weight = rows(seed)
    tree = AucTree.grown(X, y, weight, 10, 2.0)
    every = list(prunings(tree))
    assert len(every) > 30
    for strength in (*tree.strengths, 1e-3, 0.02, 1.0):
        kept = tree.pruned(strength)
        kept.check(X.shape[1])
        value = kept.gain.sum() - strength * (~kept.inner).sum()
        assert value == pytest.approx(max(gain - strength * k for k, gain in every), abs=1e-12)
        whole = tree.nodes_of(X, strength)
        np.testing.assert_allclose(tree.positive[whole], kept.positive[kept.nodes_of(X)])


def test_the_strength_is_chosen_on_rows_held_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    noise = AucTreeClassifier().fit(X, rng.random(600) < 0.3)
    assert noise.n_leaves_ < AucTreeClassifier(strength=0.0).fit(X, X[:, 0] > 0).n_leaves_ + 60
    y = X[:, 0] + X[:, 1] > rng.normal(size=600)
    model, free = AucTreeClassifier().fit(X, y), AucTreeClassifier(strength=0.0).fit(X, y)
    assert model.n_leaves_ < free.n_leaves_
    assert model.scores_.max() == model.scores_[model.strengths_ == model.strength_][0]
    new = rng.normal(size=(5000, 6))
    truth = new[:, 0] + new[:, 1] > rng.normal(size=5000)
    areas = [auc(truth, one.predict_proba(new)[:, 1]) for one in (model, free)]
    assert areas[0] > areas[1] - 0.01
    assert abs(areas[0] - model.scores_.max()) < 0.06
    assert np.array_equal(model.predict(new), model.predict_proba(new)[:, 1] > 0.5)


def test_weights_are_repeated_rows_and_zero_weights_no_rows():
    X, y, weight = rows(3, missing=0.1)
    again = np.repeat(np.arange(60), weight.astype(int))
    one = AucTreeClassifier(strength=1e-3).fit(X, y, sample_weight=weight)
    two = AucTreeClassifier(strength=1e-3).fit(X[again], y[again])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X))
    weight[::3] = 0.0
    three = AucTreeClassifier(strength=1e-3).fit(X, y, sample_weight=weight)
    used = weight > 0.0
    four = AucTreeClassifier(strength=1e-3).fit(X[used], y[used], sample_weight=weight[used])
    np.testing.assert_allclose(three.predict_proba(X), four.predict_proba(X))


def test_missing_values_are_a_part_of_their_own_or_join_one():
    x = np.array([[1.0], [2.0], [np.nan], [np.nan], [3.0], [4.0]] * 5)
    lost = AucTreeClassifier(strength=0.0, min_leaf=1.0).fit(x, np.isnan(x[:, 0]))
    assert "x0 is missing: " in lost.text()
    assert lost.n_leaves_ == 2
    joined = AucTreeClassifier(strength=0.0, min_leaf=1.0).fit(x, ~(x[:, 0] <= 2.0))
    assert "x0 > 2.5 or missing: " in joined.text()
    assert joined.n_leaves_ == 2
    # A column without missing values: new ones go where most rows went.
    skewed = np.array([[0.0]] * 8 + [[1.0]] * 2)
    model = AucTreeClassifier(strength=0.0, min_leaf=1.0).fit(skewed, skewed[:, 0] > 0)
    assert "missing" not in model.text()
    assert not model.predict([[np.nan]])[0]


def test_files_and_drawings(tmp_path):
    X, y, _ = rows(1, n=200)
    model = AucTreeClassifier(strength=0.005).fit(X, np.where(y, "yes", "no"))
    auctor.save(model, tmp_path / "tree.auctor")
    again = auctor.load(tmp_path / "tree.auctor")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.get_params() == model.get_params()
    assert again.strength_ == 0.005
    names = ["a<b", "age", "zip"]
    assert again.text(names) == model.text(names)
    assert len(model.text().splitlines()) == model.tree_.column.size
    drawing = ET.fromstring(model.svg(names))
    kinds = [one.tag.rpartition("}")[2] for one in drawing]
    assert kinds.count("rect") == model.tree_.column.size == 1 + kinds.count("line")
    with pytest.raises(AuctorError, match="3 names of columns; got 1"):
        model.text(["a"])


def test_nodes_that_are_no_tree_are_refused():
    X, y, weight = rows(0)
    tree = AucTree.grown(X, y, weight, 6, 1.0)
    tree.check(3)
    wrong = {
        "column": tree.column + 3,
        "cut": np.full_like(tree.cut, np.nan),
        "child": np.zeros_like(tree.child),
        "positive": -1.0 - tree.positive,
        "strength": tree.strength[:-1],
    }
    assert wrong.keys() <= {one.name for one in fields(AucTree)}
    for name, values in wrong.items():
        with pytest.raises(ValueError, match="nodes of a tree"):
            replace(tree, **{name: values}).check(3)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"strength": -1.0}, "strength"),
        ({"strength": "best"}, "strength"),
        ({"max_leaves": 1}, "max_leaves"),
        ({"min_leaf": 0.0}, "min_leaf"),
        ({"cv": 1}, "cv"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_parameters_are_refused(params, words):
    X, y, _ = rows(0)
    with pytest.raises(AuctorError, match=f"AucTreeClassifier needs .*{words}"):
        AucTreeClassifier(**params).fit(X, y)


def test_rows_that_cannot_be_used_are_refused():
    X, y, _ = rows(0)
    for bad, words in ((np.full_like(X, np.inf), "infinity"), (X.astype(str), "numeric")):
        with pytest.raises(AuctorError, match=words):
            AucTreeClassifier().fit(bad, y)
    with pytest.raises(AuctorError, match="two rows of each class"):
        AucTreeClassifier().fit(X, np.arange(60) == 0)
    with pytest.raises(AuctorError, match="two classes"):
        AucTreeClassifier().fit(X, np.arange(60) % 3)


@pytest.mark.slow  # the tests above cover missing values, weights, refusals and files
@pytest.mark.parametrize("strength", ["auto", 0.0])
def test_scikit_learn_checks(strength):
    results = check_estimator(AucTreeClassifier(strength), on_skip=None, on_fail=None)
    assert len(results) > 50
    failed = {r["check_name"] for r in results if r["status"] != "passed"}
    assert failed <= {"check_array_api_input"}
