"""The format as documented, older and newer files."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.core.errors import DataError
from auctor.saved.store import FORMAT
from tests.saved.models import MODELS, drop, fitted, forged


def test_newer_files_name_both_versions(tmp_path):
    def newer(meta):
        meta.update(format=FORMAT + 1, version="7.1.0", fitted="all new")

    forged(fitted(MODELS[0]), tmp_path / "m", newer)
    with pytest.raises(DataError, match=rf"got {FORMAT + 1} .* auctor 7\.1\.0, .* auctor 0\.1\.0"):
        auctor.load(tmp_path / "m")


def test_parameters_that_came_later_have_their_default(tmp_path):
    forged(fitted(MODELS[0]), tmp_path / "m", drop("params", "average"))
    assert auctor.load(tmp_path / "m").average == "macro"


def test_the_format_as_documented(tmp_path):
    """A file made by hand from docs/model-format.md alone: format 1 must stay readable."""
    meta = {
        "format": 1,
        "kind": "model",
        "version": "0.1.0",
        "class": "MetricClassifier",
        "params": {
            "metric": "log_loss",
            "strength": 0.5,
            "penalty": {
                "part": "penalties.L1",
                "arguments": {"strength": 0.1, "weights": {"array": "w"}},
            },
            "class_weight": {"dict": [[0, 1.0], [1, {"float": "inf"}]]},
        },
        "n_features_in": 3,
        "feature_names": ["a", "b", "c"],
        "fitted": {
            "classes": {"objects": ["no", "yes"]},
            "coef": {"sparse": "coef", "shape": [1, 3]},
            "intercept": {"array": "intercept"},
            "threshold": {"array": "threshold"},
            "calibrators": [{"kind": "sigmoid", "slope": 2.0, "offset": -1.0}],
            "gap": {"float": "nan"},
            "n_iter": 7,
            "solutions": [
                {
                    "coef": None,
                    "intercept": 0.5,
                    "value": 0.25,
                    "gap": 1e-5,
                    "tol": 1e-4,
                    "passes": 12.0,
                    "seconds": 0.5,
                    "n_iter": 7,
                    "evaluations": 9,
                    "certified": True,
                    "status": "CONVERGED",
                    "solver": "Newton",
                    "steps": 2,
                }
            ],
        },
        "schema": None,
        "notes": {"by": "hand"},
    }
    arrays = {
        "w": np.ones(3),
        "coef.index": np.array([1]),
        "coef.value": np.array([2.0]),
        "intercept": np.array([-1.0]),
        "threshold": np.array([0.25]),
        "trace": np.array([[0, 1.0, 0.5, 0.0, 2, 1], [1, 0.25, 1e-5, 0.5, 12, 9]]),
    }
    meta["arrays"] = {name: [a.dtype.str, list(a.shape)] for name, a in arrays.items()}
    members = {"meta.json": json.dumps(meta).encode()}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        members[f"arrays/{name}.npy"] = file.getvalue()
    digest = hashlib.sha256()
    for name, content in sorted(members.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        for name, content in {**members, "checksum": digest.hexdigest().encode()}.items():
            archive.writestr(name, content)
    model = auctor.load(tmp_path / "m")
    assert model.coef_.tolist() == [[0.0, 2.0, 0.0]]
    assert model.penalty.weights.tolist() == [1.0, 1.0, 1.0]
    assert model.class_weight == {0: 1.0, 1: np.inf}
    assert model.solution_.trace.evaluations == (1, 9)
    assert model.solution_.converged
    table = pd.DataFrame([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], columns=["a", "b", "c"])
    assert model.predict(table).tolist() == ["yes", "no"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
