"""``auctor train --model additive``: from a file to predictions, reports and other programs."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.cli.main import main
from auctor.saved import read_saved

CURVES = ["--model", "additive", "--monotone", "income=1", "--interactions", "1", "--bins", "8"]


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with gaps, and a model with a report that was trained on them."""
    made = tmp_path_factory.mktemp("curves")
    rng = np.random.default_rng(0)
    n = 300
    rows = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n).round(),
            "income": rng.normal(size=n).round(3),
            "city": rng.choice(["Oslo", "Rome"], n),
        }
    )
    risk = np.abs(rows["age"] - 45) / 10 + rows["income"] + (rows["city"] == "Rome")
    rows["late"] = np.where(risk + rng.normal(size=n) > 2.5, "yes", "no")
    rows.loc[rng.random(n) < 0.1, "income"] = np.nan
    rows.to_csv(made / "rows.csv", index=False)
    arguments = [
        "train",
        made / "rows.csv",
        "--label",
        "late",
        *CURVES,
        "--strength",
        "0.01",
        "--members",
        "2",
    ]
    arguments += ["--out", made / "model.auctor", "--report", made / "report.html", "--quiet"]
    assert run(*arguments) == 0
    return made


def test_the_model_has_what_was_asked_for(folder):
    model = auctor.load(folder / "model.auctor")
    assert model.model == "additive"
    curves = model.model_
    assert curves.signs_.tolist() == [0, 1, 0]
    assert curves.bins_.columns[2].labels == ("Oslo", "Rome")  # a category is one column
    assert (np.diff(curves.curve(1)[1]) >= 0.0).all()
    assert len(curves.bins_.pairs) == 1
    assert max(column.steps.size for column in curves.bins_.columns[:2]) in (7, 8)
    assert curves.bins_.columns[1].has_missing
    assert set(curves.curve_bands()) == set(range(3))
    assert read_saved(folder / "model.auctor").notes["test"]["auc"]["value"] > 0.8


def test_predictions_are_those_of_the_model(folder, tmp_path):
    out = tmp_path / "predicted.csv"
    assert run("predict", folder / "model.auctor", folder / "rows.csv", "--out", out) == 0
    model, rows = auctor.load(folder / "model.auctor"), pd.read_csv(folder / "rows.csv")
    found = pd.read_csv(out)
    np.testing.assert_allclose(found["score"], model.decision_function(rows), rtol=1e-12)
    assert (found["predicted"] == model.predict(rows)).all()


def test_the_model_is_evaluated_and_inspected(folder, capsys):
    assert run("evaluate", folder / "model.auctor", folder / "rows.csv", "--json") == 0
    model, rows = auctor.load(folder / "model.auctor"), pd.read_csv(folder / "rows.csv")
    found = json.loads(capsys.readouterr().out)
    assert found["auc"]["value"] == pytest.approx(model.score(rows, "late"))
    assert run("inspect", folder / "model.auctor") == 0
    text = capsys.readouterr().out
    assert "AdditiveClassifier" in text
    assert "standard deviation of its part of the score" in text
    first = text[text.index("standard deviation") :].splitlines()[2]
    assert float(first.split()[-1]) == pytest.approx(model.model_.importances_.max(), rel=1e-5)


@pytest.mark.parametrize("made_by", ["train", "report"])
def test_the_report_draws_curves_pairs_and_rows(folder, tmp_path, made_by):
    page = folder / "report.html"
    if made_by == "report":
        page = tmp_path / "again.html"
        assert run("report", folder / "model.auctor", folder / "rows.csv", "--out", page) == 0
    text = page.read_text()
    section = text[text.index('id="additive"') :]
    section = section[: section.index("</section>")]
    assert "income (kept rising)" in section
    own = len(re.findall('aria-label="Own scale of (?:age|income)', section))
    assert section.count('class="band"') == 2 + own  # numbers have a band; bars have a line
    assert section.count("% of the rows</title>") > 4  # densities beside the map
    assert 'class="cell positive"' in section
    assert "age x " in section
    assert re.search(
        r"Rome: [+-][\d.]+, \d+\.\d\d% of the rows", section
    )  # the bar of a level, with its share
    for title in ("The highest score", "The lowest score that is flagged"):
        assert f"<figcaption>{title}</figcaption>" in section
    assert "A missing value adds" in section
    errors = text[text.index('id="errors"') : text.index("</section>", text.index('id="errors"'))]
    assert re.search(r"city = (Oslo|Rome|missing) \(", errors)
    assert " x " not in errors  # a pair counts for its columns
    assert "income = missing (" in errors


def test_the_graph_scores_alike(folder):
    runtime = pytest.importorskip("onnxruntime")
    model, rows = auctor.load(folder / "model.auctor"), pd.read_csv(folder / "rows.csv")
    session = runtime.InferenceSession(auctor.to_onnx(model))
    given = {
        "age": rows[["age"]].to_numpy(np.float64),
        "income": rows[["income"]].to_numpy(np.float64),
        "city": rows[["city"]].to_numpy(dtype=object),
    }
    (scores,) = session.run(["scores"], given)
    np.testing.assert_allclose(scores, model.decision_function(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "linear", "--monotone", "income=1"], "--model additive"),
        (["--model", "additive", "--monotone", "income"], "COLUMN=1"),
        (["--model", "additive", "--monotone", "nobody=1"], "nobody"),
        (["--model", "additive", "--penalty", "l1"], "fused"),
        (["--model", "additive", "--standardise"], "--standardise"),
        (["--model", "curvy"], "additive"),
        (["--model", "linear", "--missing", "keep"], "--model additive"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(folder, tmp_path, capsys, arguments, words):
    out = tmp_path / "no.auctor"
    code = run("train", folder / "rows.csv", "--label", "late", "--out", out, *arguments)
    err = capsys.readouterr().err
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert not out.exists()
