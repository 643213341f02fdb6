"""What happens to rows and labels before a fit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.core.errors import DataError, DataWarning
from auctor.data.preparation import Scaling, split_rows, standardise
from auctor.fit.parameters import ClassifierParameters
from auctor.fit.prepare import codes_of, hold_out, prepare, tidy_labels
from auctor.fit.targets import Rows, encode
from auctor.fit.train_model import train_model
from auctor.tables.read import Table
from auctor.tables.schema import Column, Schema


def test_hold_out_keeps_the_shares_of_the_classes():
    labels = np.repeat(["a", "b", "c"], [1000, 100, 2])
    train, test = hold_out(labels, 0.2, 0)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(labels.size))
    assert [int((labels[test] == c).sum()) for c in "abc"] == [200, 20, 1]
    assert (np.diff(train) > 0).all()


@pytest.mark.parametrize("strip", [1, 7, 1 << 20])
@pytest.mark.parametrize("kind", ["csr", "csr64", "read", "csc", "read-only", "C", "F"])
def test_split(kind, strip, monkeypatch):
    from scipy.sparse import random_array

    monkeypatch.setattr("auctor.data.preparation.STRIP_ENTRIES", strip)
    X = random_array((40, 6), density=0.3, format="csr", rng=np.random.default_rng(0))
    whole = X.toarray()
    if kind == "csr64":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    elif kind == "csc":
        X = X.tocsc()
    elif kind == "read-only":
        X.data.flags.writeable = False
    elif kind == "read":
        X.data, X.indices = X.data[:], X.indices[:]  # views, as scipy makes them
    elif kind in "CF":
        X = np.array(whole, order=kind)
    index = getattr(X, "indices", np.empty(0)).dtype
    held = np.array([0, 3, 4, 20, 39])
    train, test = split_rows(X, held)
    as_array = np.asarray if isinstance(train, np.ndarray) else lambda M: M.toarray()
    np.testing.assert_array_equal(as_array(test), whole[held])
    np.testing.assert_array_equal(as_array(train), np.delete(whole, held, axis=0))
    if kind.startswith("csr"):
        assert train.indices.dtype == train.indptr.dtype == index
        assert train.has_canonical_format
        assert train.data.size == train.nnz  # the rest was given back


def test_tidy_labels():
    assert tidy_labels(np.array([1.0, 2.0])).dtype == np.int64
    assert tidy_labels(np.array([0.5, 2.0])).dtype == np.float64
    assert tidy_labels(np.array(["a", "b"], dtype=object)).dtype.kind == "U"
    with pytest.raises(DataError, match="numbers and text"):
        tidy_labels(np.array(["a", "2"]))


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        ([1.0, -1.0], [-1, 1], [1, 0]),
        (["1", "-1"], [-1, 1], [1, 0]),
        ([1, 0], ["0", "1"], [1, 0]),
        (["bb", "a"], ["a", "bb"], [1, 0]),
        ([True, False], [False, True], [1, 0]),
    ],
)
def test_codes_of(labels, classes, codes):
    assert codes_of(np.array(labels), np.array(classes)).tolist() == codes


@pytest.mark.parametrize(
    ("labels", "classes"), [([2.0], [-1, 1]), (["abc"], ["abcd", "x"]), (["yes"], [0, 1])]
)
def test_codes_of_unknown_labels(labels, classes):
    with pytest.raises(DataError, match="labels that the model knows"):
        codes_of(np.array(labels), np.array(classes))


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_standardise_dense(centre, order):
    rng = np.random.default_rng(0)
    X = np.array(
        rng.normal(size=(50, 4)) * [1.0, 1e3, 1e-3, 0.0] + [1e6, 0.0, 3.0, 7.0], order=order
    )
    before = X.copy()
    mean, factor = standardise(X, centre=centre)
    np.testing.assert_allclose(X, (before - mean) * factor)
    np.testing.assert_allclose(X[:, :3].std(axis=0), 1.0)
    assert factor[3] == 1.0
    if centre:
        np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
    else:
        assert not mean.any()


def test_standardise_sparse_keeps_zeros(monkeypatch):
    from scipy.sparse import random_array

    monkeypatch.setattr("auctor.data.preparation.STRIP_ENTRIES", 7)
    X = random_array((60, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    before = X.toarray()
    scaling = standardise(X, centre=True)
    assert not scaling.mean.any()
    np.testing.assert_allclose(X.toarray(), before * scaling.factor)
    np.testing.assert_allclose(X.toarray().std(axis=0), 1.0)


def test_a_model_of_scaled_columns_in_data_units():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    X[np.arange(90), y] += 2.0
    mean, factor = X.mean(axis=0), 1.0 / X.std(axis=0)
    scaled = (X - mean) * factor
    given = ClassifierParameters("log_loss", strength=0.1, standardise=False)
    rows = Rows(scaled, *encode(y, None))
    before = train_model(given, rows).model.decision_function(scaled)
    back = train_model(given, replace(rows, scaling=Scaling(mean, factor)))
    np.testing.assert_allclose(back.model.decision_function(X), before)
    np.testing.assert_allclose([s.coef for s in back.solutions], back.model.coef)


def test_copies_of_rows_are_held_out_together_and_said():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(199, 3))
    label = rng.integers(0, 2, 199)
    pick = rng.integers(0, 199, 1200)
    table = Table(rows[pick], label[pick], Schema.of([Column("a", "number")] * 3, None), ())
    with pytest.warns(DataWarning, match=r"1,00\d of 1,200 rows repeat another row") as warned:
        parts = prepare(table)
    assert len(warned) == 1
    seen = {row.tobytes() for row in np.asarray(parts.train)}
    assert not any(row.tobytes() in seen for row in np.asarray(parts.test))
    assert 0.1 < parts.test.shape[0] / 1200 < 0.3
    assert set(parts.test_codes) == {0, 1}


def test_rows_equal_by_chance_are_not_copies():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (600, 4)).astype(float)
    label = (rows[:, 0] + rng.normal(size=600) > 1.0).astype(int)
    table = Table(rows, label, Schema.of([Column("a", "number")] * 4, None), ())
    assert prepare(table).test.shape[0] == 120  # a warning is an error in tests


def test_more_rows_of_the_rare_class_are_copies():
    """Rows of the positive class repeated to balance the classes leak over a split."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3))
    pick = np.concatenate((np.arange(500), np.repeat(np.arange(50), 4)))
    label = (pick < 50).astype(int)
    matrix = csr_array(rows[pick])
    with pytest.warns(DataWarning, match="repeat another row"):
        parts = prepare(Table(matrix, label, Schema.of([Column("a", "number")] * 3, None), ()))
    seen = {row.tobytes() for row in parts.train.toarray()}
    assert not any(row.tobytes() in seen for row in parts.test.toarray())
