import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from auctor.fit.folds import stratified_folds


def same_folds(ours, theirs):
    ours, theirs = list(ours), list(theirs)
    assert len(ours) == len(theirs)
    for (train, test), (other_train, other_test) in zip(ours, theirs, strict=True):
        assert np.array_equal(train, other_train)
        assert np.array_equal(test, other_test)


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 1])
@pytest.mark.parametrize(("classes", "count"), [(2, 5), (3, 2), (6, 3)])
def test_they_are_those_of_scikit_learn(classes, count, seed):
    codes = np.random.default_rng(seed).integers(0, classes, 101)
    theirs = StratifiedKFold(count, shuffle=True, random_state=seed).split(codes, codes)
    same_folds(stratified_folds(codes, count, seed), theirs)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(("classes", "count", "groups"), [(2, 5, 30), (3, 2, 5), (2, 3, 100)])
def test_with_groups_they_are_those_of_scikit_learn(classes, count, groups, seed):
    rng = np.random.default_rng(seed)
    codes, group = rng.integers(0, classes, 200), rng.integers(0, groups, 200)
    folds = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    ours = list(stratified_folds(codes, count, seed, group))
    same_folds(ours, folds.split(codes, codes, group))
    for train, test in ours:
        assert not set(group[train]) & set(group[test])
