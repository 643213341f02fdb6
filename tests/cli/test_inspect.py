import json

import numpy as np
import pytest

import auctor
from auctor.cli.main import main
from auctor.saved import read_saved
from auctor.saved.describe import is_model


def inspect(capsys, *arguments):
    assert main(["inspect", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


# --- models -------------------------------------------------------------------------------


def test_a_trained_model(trained, capsys):
    found = inspect(capsys, trained, "--top", "2")
    saved = read_saved(trained)
    model = saved.model.model_
    assert found["class"] == "MetricClassifierCV"
    assert found["version"] == auctor.__version__
    assert found["metric"] == "auc"
    assert found["params"]["surrogate"] == "auto"
    assert found["surrogate"] == model.surrogate_ != "auto"  # the one that the folds chose
    assert found["params"]["penalty"] == "l1"
    assert found["strength"] == model.strength_
    assert found["gap"] == model.gap_
    assert found["certified"] is model.solution_.certified
    assert found["status"] == model.solution_.status.value
    assert found["solver"] == model.solution_.solver
    assert found["classes"] == ["no", "yes"]
    assert found["threshold"] == pytest.approx(model.threshold_.tolist())
    assert found["n_features"] == 5
    assert found["n_nonzero"] == np.count_nonzero(model.coef_)
    assert found["schema"] == saved.schema
    assert found["command"] == saved.notes["command"]
    assert found["data"] == saved.notes["data"]
    (top,) = found["top"]
    assert top["class"] == "yes"
    names = ["age", "income", "city=Oslo", "city=Rome", "city=Wien"]
    order = np.argsort(-np.abs(model.coef_[0]))[:2]
    assert [f["name"] for f in top["features"]] == [names[k] for k in order]
    assert [f["weight"] for f in top["features"]] == model.coef_[0][order].tolist()


def test_text(trained, capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["inspect", str(trained)]) == 0
    out = capsys.readouterr().out
    for text in ("MetricClassifierCV", "metric", "auc", "l1, strength", "certified gap", "no, yes",
                 "of 5 have a nonzero weight", "3 columns, 2 of kind number, 1 of kind category",
                 "auctor train", "towards yes", "income", "AUC 0."):  # fmt: skip
        assert text in out
    assert "\x1b" not in out
    assert main(["inspect", str(trained), "--top", "0"]) == 0
    assert "towards" not in capsys.readouterr().out


def test_a_model_from_python(plain_model, capsys):
    found = inspect(capsys, plain_model)
    assert found["class"] == "MetricClassifier"
    assert found["schema"] is None
    assert found["command"] is None
    assert {f["name"] for f in found["top"][0]["features"]} == {"column 0", "column 1"}
    assert main(["inspect", str(plain_model)]) == 0


def test_several_classes_regressors_objects_and_learners(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(60, 3))
    path = tmp_path / "m.auctor"
    several = auctor.MetricClassifier(
        "log_loss", penalty=auctor.penalties.L1(0.01), calibrate="sigmoid"
    ).fit(X, np.argmax(X, axis=1))
    models = [
        several,
        auctor.LinearRegressor("huber").fit(X, X[:, 0]),
        auctor.StreamingAUC().partial_fit(X, X[:, 0] > 0),
    ]
    for model in models:
        auctor.save(model, path)
        found = inspect(capsys, path)
        assert found["n_features"] == 3
        assert len(found["top"]) == np.atleast_2d(model.coef_).shape[0]
        assert main(["inspect", str(path)]) == 0
        out = capsys.readouterr().out
        assert type(model).__name__ in out
        if model is several:
            assert [one["class"] for one in found["top"]] == [0, 1, 2]
            assert found["params"]["penalty"].startswith("L1(")
            assert "calibrated, sigmoid" in out
        elif model is models[1]:
            assert found["metric"] == "huber"
            assert found["classes"] is None
        else:
            assert found["rows_seen"] == 60
            assert "60 rows seen" in out


def test_markup_in_names_is_text(tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 1))
    frame = pd.DataFrame(X, columns=["[red]x[/red]"])
    path = tmp_path / "m.auctor"
    auctor.save(auctor.MetricClassifier("auc").fit(frame, X[:, 0] > 0), path)
    assert main(["inspect", str(path)]) == 0
    assert "[red]x[/red]" in capsys.readouterr().out


def test_what_is_a_model(trained, table, tmp_path):
    assert is_model(str(trained))
    unnamed = tmp_path / "unnamed"
    unnamed.write_bytes(trained.read_bytes())
    assert is_model(str(unnamed))
    assert not is_model(str(table))
    np.savez(tmp_path / "x.npz", X=np.eye(2), y=[0, 1])
    assert not is_model(str(tmp_path / "x.npz"))
    assert not is_model(str(tmp_path))
    assert not is_model("-")


def test_bad_models(trained, tmp_path, refused):
    assert "none.auctor" in refused("inspect", tmp_path / "none.auctor")
    (tmp_path / "cut.auctor").write_bytes(trained.read_bytes()[:-9])
    refused("inspect", tmp_path / "cut.auctor")
    (tmp_path / "text.auctor").write_text("hello")
    refused("inspect", tmp_path / "text.auctor")


# --- data ---------------------------------------------------------------------------------


def test_a_table(table, rows, capsys):
    with open(table, "a") as file:
        file.write(",1.5,,yes\n")
    found = inspect(capsys, table, "--label", "bought")
    bought = rows[3]
    assert (found["rows"], found["columns"], found["missing"]) == (241, 3, 2)
    assert found["label"] == "bought"
    assert found["labels"]["counts"] == {"no": int((~bought).sum()), "yes": int(bought.sum()) + 1}
    age, income, city = found["summary"]
    assert (age["name"], age["kind"], age["missing"]) == ("age", "number", 1)
    assert age["mean"] == pytest.approx(rows[0].mean(), abs=1e-4)
    assert income["missing"] == 0
    assert (city["kind"], city["missing"], city["distinct"]) == ("category", 1, 3)


def test_a_table_in_text(table, capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["inspect", str(table), "--label", "bought"]) == 0
    out = capsys.readouterr().out
    for text in ("240 rows, 3 columns (dense)", "Label bought: no: ", "category", "income"):
        assert text in out
    assert "missing values" not in out
    assert main(["inspect", str(table), "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "No label column was found" in out
    assert "and 3 more" in out


def test_svmlight(tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2 9:1\n-1 1:5\n1 3:1\n")
    found = inspect(capsys, path)
    assert (found["rows"], found["columns"], found["sparse"]) == (3, 9, True)
    assert found["density"] == pytest.approx(4 / 27)
    assert found["labels"] == {"distinct": 2, "positive": "1", "counts": {"-1": 1, "1": 2}}
    assert main(["inspect", str(path)]) == 0
    assert "Label: -1: 1 (33.33%), 1: 2 (66.67%)" in capsys.readouterr().out


def test_many_labels(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "".join(f"{k % 7},{k}.5\n" for k in range(50)))
    found = inspect(capsys, path)
    assert found["labels"]["distinct"] == 50
    assert main(["inspect", str(path)]) == 0
    assert "Label y: 50 different values" in capsys.readouterr().out


def test_bad_data(table, tmp_path, refused):
    assert "none.csv" in refused("inspect", tmp_path / "none.csv")
    refused("inspect", tmp_path)
    (tmp_path / "empty.csv").write_text("")
    refused("inspect", tmp_path / "empty.csv")
    (tmp_path / "ragged.csv").write_text("a,y\n1,2\n1\n")
    refused("inspect", tmp_path / "ragged.csv")
    assert "sold" in refused("inspect", table, "--label", "sold")
    assert "header" in refused("inspect", table, "--header", "maybe")


def test_a_checkpoint_is_no_model(tmp_path, capsys, refused):
    (tmp_path / "rows.svm").write_text("1 1:2\n-1 1:1\n1 1:3\n-1 1:0.5\n")
    kept = tmp_path / "kept"
    assert main(["stream", str(tmp_path / "rows.svm"), "--checkpoint", str(kept)]) == 0
    capsys.readouterr()
    assert "kept" in refused("inspect", kept)
