"""Files of kernel machines."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import auctor
from auctor.core.errors import DataError, ParameterError
from tests.saved.models import NUMBERS, THREE, TWO, X, forged, put, same


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (auctor.KernelClassifier(C=2.0), TWO),
        (auctor.KernelClassifier("poly", multiclass="ovr", calibrate="sigmoid"), THREE),
        (auctor.KernelClassifier(calibrate="isotonic"), THREE),
        (auctor.KernelClassifier("precomputed"), THREE),
        (auctor.KernelRegressor(gamma=0.3, shift=0.1), NUMBERS),
        (auctor.KernelRegressor("linear", loss="squared"), NUMBERS),
    ],
    ids=str,
)
@pytest.mark.parametrize("compressed", [False, True], ids=["dense", "compressed"])
def test_kernel_machines_come_back(model, y, compressed, tmp_path):
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    rows = rows @ rows.T if model.kernel == "precomputed" else rows
    rows = csr_array(rows) if compressed else rows
    model = clone(model).fit(rows, y)
    auctor.save(model, tmp_path / "model")
    again = auctor.load(tmp_path / "model")
    assert type(again) is type(model)
    same(again.get_params(), model.get_params())
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    for name in ("support_", "dual_coef_", "intercept_", "gap_", "n_iter_", "gamma_"):
        same(getattr(again, name), getattr(model, name))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    if getattr(model, "calibrate", None):
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    auctor.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_kernel_machines_that_cannot_be_saved(tmp_path):
    model = auctor.KernelClassifier(lambda a, b: a @ b.T).fit(X, TWO)
    with pytest.raises(ParameterError, match="kernel"):
        auctor.save(model, tmp_path / "model")
    with pytest.raises(ParameterError, match="fitted"):
        auctor.save(auctor.KernelClassifier(), tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [
        {"support": {"array": "nothing"}},
        {"gamma": -1.0},
        {"rows": None},
        {"rows": {"array": "coef"}},
        {"double": 1},
        {"calibrators": []},
        {"classes": {"objects": ["a"]}},
        {"extra": 1},
    ],
    ids=str,
)
def test_kernel_machines_that_make_no_sense(change, tmp_path):
    ((name, value),) = change.items()
    forged(
        auctor.KernelClassifier().fit(X, TWO), tmp_path / "bad", put("fitted", name, value=value)
    )
    with pytest.raises(DataError):
        auctor.load(tmp_path / "bad")
