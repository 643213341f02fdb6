"""The format as documented, older and newer files."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.core.archive import write_archive
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


def test_older_files_say_what_to_do(tmp_path):
    write_archive(tmp_path / "m", {"format": 1, "class": "MetricClassifier"}, {})
    with pytest.raises(DataError, match=r"format 2; got 1 .* Train the model again, or load it"):
        auctor.load(tmp_path / "m")


def part(kind, /, **arguments):
    return {"part": kind, "arguments": arguments}


def test_the_format_as_documented(tmp_path):
    """A file made by hand from docs/model-format.md alone."""
    given = part(
        "fit.ClassifierParameters",
        metric="log_loss",
        strength=0.5,
        penalty=part("penalties.L1", strength=0.1, weights={"array": "w"}),
        class_weight={"dict": [[0, 1.0], [1, {"float": "inf"}]]},
    )
    model = part(
        "fit.LinearModel",
        coef={"sparse": "coef", "shape": [1, 3]},
        intercept={"array": "intercept"},
        feature_names={"tuple": ["a", "b", "c"]},
        classes={"objects": ["no", "yes"]},
        threshold={"array": "threshold"},
        positive=1,
    )
    trace = part(
        "core.Trace",
        iteration={"tuple": [0, 1]},
        value={"tuple": [1.0, 0.25]},
        gap={"tuple": [0.5, 1e-5]},
        seconds={"tuple": [0.0, 0.5]},
        passes={"tuple": [2.0, 12.0]},
        evaluations={"tuple": [1, 9]},
    )
    solution = part(
        "core.Solution",
        coef={"array": "none"},
        intercept=0.5,
        value=0.25,
        gap=1e-5,
        certified=True,
        tol=1e-4,
        status=part("core.Status", name="CONVERGED"),
        n_iter=7,
        passes=12.0,
        evaluations=9,
        seconds=0.5,
        solver="Newton",
        trace=trace,
    )
    fitted = part(
        "fit.FitResult",
        params=given,
        model=model,
        solutions=[solution],
        gap={"float": "nan"},
        n_iter=7,
        calibrators=[part("fit.Sigmoid", slope=2.0, offset=-1.0)],
        search=None,
        strength=None,
        odds_slope=None,
    )
    meta = {
        "format": 2,
        "kind": "model",
        "version": "0.1.0",
        "class": "MetricClassifier",
        "content": part("saved.Content", model=fitted, table=None, named=True, steps=None, last=""),
        "schema": None,
        "notes": {"by": "hand"},
    }
    arrays = {
        "w": np.ones(3),
        "none": np.empty(0),
        "coef.index": np.array([1]),
        "coef.value": np.array([2.0]),
        "intercept": np.array([-1.0]),
        "threshold": np.array([0.25]),
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
