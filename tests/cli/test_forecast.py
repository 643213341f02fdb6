"""``auctor forecast``: forecasts, the report and refusals."""

import json

import numpy as np
import pytest

from auctor.cli.main import main
from auctor.forecast import LoadForecaster
from tests.forecast.series import make

STAMPS, LOAD, HEAT = make(40)


@pytest.fixture
def path(tmp_path):
    """A file whose last day has temperatures alone."""
    lines = ["time,load,temperature"]
    for k, (stamp, load, heat) in enumerate(zip(STAMPS, LOAD, HEAT, strict=True)):
        text = str(stamp)[:16].replace("T", " ")
        lines.append(f"{text},{float(load)!r},{heat}" if k < 39 * 24 else f"{text},,{heat}")
    file = tmp_path / "load.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def run(*words):
    """The exit code of a command."""
    try:
        return main([str(word) for word in words])
    except SystemExit as stop:
        return stop.code


def test_forecast_is_that_of_python(path, tmp_path, capsys):
    out, report = tmp_path / "day.csv", tmp_path / "out.html"
    words = ("--with", "temperature", "--horizon", 24, "--test-days", 5, "--holiday", "2022-12-01")
    assert not run("forecast", path, *words, "--report", report, "--out", out)
    found = np.genfromtxt(out, delimiter=",", names=True, dtype=None, encoding="utf-8")
    known = STAMPS[: 39 * 24], LOAD[: 39 * 24]
    model = LoadForecaster(horizon=24, holidays=("2022-12-01",)).fit(known, (STAMPS, {"t": HEAT}))
    np.testing.assert_allclose(found["load"], model.predict(), rtol=1e-8)
    assert found["time"][0] == "2022-12-10T00:00"
    page = report.read_text()
    for text in ("persistence", "Errors by weekday", "Errors on holidays", "Errors by temperature"):
        assert text in page
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")
    capsys.readouterr()
    assert not run("forecast", path, *words, "--json")
    assert len(json.loads(capsys.readouterr().out)["upper"]) == 24


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--load", "demand"), "demand"),
        (("--time", "load"), "dates and times"),
        (("--load", "time"), "numbers in 'time'"),
        (("--with", "wind"), "wind"),
        (("--model", "magic"), "model"),
        (("--horizon", "999"), "horizon"),
        (("--coverage", "2"), "coverage"),
        (("--report", "out.pdf"), ".html"),
        (("--holiday", "Easter"), "dates"),
    ],
)
def test_refusals(path, words, said, capsys, monkeypatch):
    monkeypatch.chdir(path.parent)
    assert run("forecast", path, *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert sorted(one.name for one in path.parent.iterdir()) == ["load.csv"]
