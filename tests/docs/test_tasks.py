"""The tutorial and the ten tasks run as they stand: Python and commands, in order."""

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("polars")

DOCS = Path(__file__).parents[2] / "docs"
#: What the ten tasks are about.
TASKS = (
    "Train", "Choose the positive class", "Set a cost", "Compare", "Explain a row", "Save and load",
    "Export", "Stream", "Tune", "Cite the gap",
)  # fmt: skip


def blocks(text):
    return re.findall(r"^```(python|sh)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def run(text, name):
    """Every block of a page, one after the other."""
    from auctor.cli.main import main

    namespace = {"__name__": name}
    for language, block in blocks(text):
        if language == "python":
            exec(compile(block, name, "exec"), namespace)
            continue
        for line in block.splitlines():
            program, *words = shlex.split(line)
            assert program == "auctor"
            assert main(words) == 0, line


@pytest.mark.slow  # `auctor compare` as it stands takes most of the time
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", ["newcomers.md", "tutorial.md"])
def test_every_block_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run((DOCS / page).read_text(encoding="utf-8"), page)


@pytest.mark.filterwarnings("default")
def test_tasks_but_for_the_comparison(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(without_comparison("newcomers.md").partition("## The same from a shell")[0], "tasks")
    assert (tmp_path / "model.sql").read_text().endswith("FROM customers source\n) scored\n")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 401


@pytest.mark.filterwarnings("default")
def test_the_tutorial_but_for_the_comparison(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(without_comparison("tutorial.md"), "tutorial")
    out, err = capsys.readouterr()
    assert "leaves out 'patient'" in err
    assert "positive class: malignant" in out
    assert "Next: auctor predict tumours.auctor" in out
    first = (tmp_path / "predictions.csv").read_text().splitlines()
    assert first[0] == "patient,probability"
    assert len(first) == 70


def without_comparison(page):
    """The page without the command that takes long."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("auctor compare"))


def test_ten_tasks_of_three_lines():
    text = (DOCS / "newcomers.md").read_text(encoding="utf-8")
    text = text.partition("## Ten tasks")[2].partition("\n## ")[0]
    titles = re.findall(r"^\*\*(\d+)\. ([^.*,]+)", text, flags=re.MULTILINE)
    assert [title for _, title in titles] == list(TASKS)
    parts = re.split(r"^\*\*\d+\. ", text, flags=re.MULTILINE)[1:]
    for part in parts:
        found = blocks(part)
        assert len(found) == 1, part
        assert len([line for line in found[0][1].splitlines() if line.strip()]) <= 3, part
