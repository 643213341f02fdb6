"""The record of the five documents is complete, and names tests and results that exist."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers import cameron, ghanbari, natole, record, tang, zhang
from benchmarks.run import RESULTS, Settings

from auctor import metrics

TESTS = Path(__file__).parent
FOLDER = Path(record.__file__).parent
SECTIONS = (zhang, tang, cameron, ghanbari, natole)
#: Tables and figures that each document has.
COUNTS = {"zhang": 34, "tang": 25, "cameron": 18, "ghanbari": 29, "natole": 29}


@pytest.mark.parametrize("stem", COUNTS)
def test_every_table_and_figure_is_listed_once(stem):
    facts = record.read(stem)
    names = [item.name for item in facts.items]
    assert len(set(names)) == len(names) == COUNTS[stem]
    for item in facts.items:
        assert item.outcome.verdict in record.VERDICTS
        if item.outcome.verdict in ("not run", record.NOT, record.PARTLY, "proven by a test"):
            assert item.outcome.why, item.name


@pytest.mark.parametrize("section", SECTIONS, ids=lambda one: one.name)
def test_a_section_can_be_written_from_what_is_measured(section):
    found = section.summary({}, ["a note"])
    assert found["tables"][0]["title"] == "Every table and figure"
    assert len(found["tables"][0]["rows"]) == COUNTS[section.name]
    (bare,) = [bar for bar in found["bars"] if bar["bar"] == "verdicts without a reason"]
    assert bare["pass"]


def test_generated_rows_in_place_of_data(capsys):
    """A quick run of the sections that measure and need no data."""
    for section, item in ((ghanbari, "artificial/tiny"), (zhang, "tiny/AUC/0.0001")):
        found = section.run(Settings(quick=True))
        assert item in found["cells"]
    fits = ghanbari.run(Settings(quick=True))["cells"]["artificial/tiny"]
    assert fits["exact, error"]["accuracy"] > 0.95
    assert fits["exact, AUC"]["auc"] > fits["hinge"]["auc"] - 0.02
    capsys.readouterr()


def named():
    """Tests that the record and its page name."""
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.toml")]
    texts += [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]
    texts.append((TESTS.parent / "docs" / "record.md").read_text(encoding="utf-8"))
    found = re.findall(r"([\w/]+\.py)::(test_\w+)", "\n".join(texts))
    return sorted(set(found))


def test_tests_that_are_named_exist():
    assert len(named()) > 30
    for file, test in named():
        path = TESTS / file
        assert path.exists(), file
        assert f"def {test}(" in path.read_text(encoding="utf-8"), (file, test)


def test_printed_numbers_are_as_long_as_their_tables():
    numbers = tomllib.loads((FOLDER / "ghanbari.toml").read_text(encoding="utf-8"))["numbers"]
    widths = {"steps": 4, "direct": 7, "costs": 2, "artificial": 3, "accuracy": 4, "auc": 3,
              "real_accuracy": 6, "real_auc": 4}  # fmt: skip
    for name, width in widths.items():
        assert {len(row) for row in numbers[name].values()} == {width}, name
    assert set(numbers["real_accuracy"]) == set(numbers["real_auc"])
    assert set(numbers["accuracy"]) == set(numbers["auc"]) == set(numbers["artificial"])


def test_verdicts():
    assert record.judged(0.90, 0.91, 0.02) == record.REPRODUCED
    assert record.judged(0.95, 0.91, 0.02) == record.BETTER
    assert record.judged(0.85, 0.91, 0.02) == record.NOT
    mixed = record.together([record.REPRODUCED, record.NOT], "why")
    assert mixed.verdict == record.PARTLY
    assert record.together([record.BETTER], "why").verdict == record.BETTER
    assert record.together([], "why").verdict == record.OPEN


def test_the_written_record_has_a_verdict_for_all():
    sections = json.loads((RESULTS / "papers.json").read_text(encoding="utf-8"))["sections"]
    assert set(sections) == set(COUNTS)
    for name, section in sections.items():
        for row in section["tables"][0]["rows"]:
            assert row[4] in record.VERDICTS, (name, row[0])
            assert row[4] != record.OPEN, (name, row[0])


def test_the_ten_scores_of_natole():
    """Table 1.5: at the stated threshold of .5 eight of ten rows are predicted positive."""
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    scores = np.array([0.999, 0.999, 0.992, 0.988, 0.974, 0.955, 0.682, 0.531, 0.480, 0.441])
    assert metrics.auc(y, scores) == 1.0
    assert np.mean((scores > 0.5) == (y > 0)) == pytest.approx(0.6)
    assert np.mean((scores > 0.7) == (y > 0)) == pytest.approx(0.8)
