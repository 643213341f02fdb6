"""Forecasters are read as they were written; damaged files are refused."""

import json
import zipfile

import numpy as np
import pytest

import auctor
from auctor.core.errors import DataError, ParameterError
from auctor.forecast import LoadForecaster
from tests.forecast.series import HOLIDAYS, make

STAMPS, LOAD, HEAT = make(60)


@pytest.mark.parametrize(
    "params",
    [
        {"holidays": HOLIDAYS},
        {"model": "svr"},
        {"model": "clustered", "n_clusters": 2},
        {"model": "clustered", "n_clusters": 2, "gate": "svm"},
        {"model": "ridge"},
        {"bands": "quantile"},
        pytest.param({"model": "additive"}, marks=pytest.mark.slow),  # the others cover the file
    ],
    ids=str,
)
def test_round_trip(params, tmp_path):
    model = LoadForecaster(**params).fit((STAMPS[:-24], LOAD[:-24]), (STAMPS, HEAT))
    path = tmp_path / "model.auctor"
    auctor.save(model, path)
    again = auctor.load(path)
    for one, two in zip(model.forecast(), again.forecast(), strict=True):
        np.testing.assert_array_equal(one, two)
    model.update((STAMPS[-24:], LOAD[-24:]), refit=True)
    again.update((STAMPS[-24:], LOAD[-24:]), refit=True)
    np.testing.assert_allclose(model.residuals_, again.residuals_, atol=1e-12)
    auctor.save(again, path)


def test_refusals(tmp_path):
    path = tmp_path / "model.auctor"
    with pytest.raises(ParameterError, match="not fitted"):
        auctor.save(LoadForecaster(), path)
    auctor.save(LoadForecaster().fit((STAMPS, LOAD)), path)
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    name = next(name for name in parts if name.endswith(".json"))
    for old, new in (("LoadForecaster", "Other"), ('"unit": ', '"unit": -'), ('"svr"', '"no"')):
        text = parts[name].decode()
        text = text.replace('"kernel_ridge"', '"svr"') if old == '"svr"' else text
        assert old in text
        json.loads(text.replace(old, new))
        with zipfile.ZipFile(path, "w") as file:
            for key, value in parts.items():
                file.writestr(key, text.replace(old, new) if key == name else value)
        with pytest.raises(DataError):
            auctor.load(path)
    assert not list(tmp_path.glob("*.tmp"))
