"""Fields of CSV files with line ends in them, in every command that reads tables."""

import json

import numpy as np
import pytest

from auctor.cli.main import main


@pytest.fixture
def notes(tmp_path):
    """120 rows with a category that has a line end in its name."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    positive = x + rng.normal(size=120) > 0
    path = tmp_path / "notes.csv"
    lines = ["x,note,y"]
    for k in range(120):
        note = '"first line\nsecond, line"' if k % 3 else "short"
        lines.append(f"{x[k]:.4f},{note},{int(positive[k])}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_line_end_between_quotes_is_text(notes, tmp_path, capsys):
    model = tmp_path / "model.auctor"
    train = ["train", str(notes), "--label", "y", "--strength", "0.1", "--quiet", "--json"]
    assert main([*train, "--out", str(model)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["n_columns"] == 3
    assert main(["predict", str(model), str(notes), "--out", str(tmp_path / "scores.csv")]) == 0
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 121
    capsys.readouterr()
    assert main(["evaluate", str(model), str(notes), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 120


def test_a_stream_passes_over_line_ends_between_quotes(notes, tmp_path, capsys):
    """`auctor stream` takes numbers only; here the quoted line end is in a column's name."""
    text = notes.read_text().replace('"first line\nsecond, line"', "1").replace("short", "2")
    notes.write_text(text.replace("note", '"a\nnote"', 1))
    assert main(["stream", str(notes), "--label", "y", "--json"]) == 0
    assert "120" in capsys.readouterr().out
