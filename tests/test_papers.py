"""The record of the five documents is complete, and names tests and results that exist."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.papers import cameron, ghanbari, natole, record, tang, zhang
from benchmarks.run import RESULTS, Settings
from benchmarks.sections import dfo_wells

from auctor import metrics
from auctor.core.types import Target
from auctor.losses import Huber, Quantile

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


def test_huber_and_the_quantile_loss_are_not_those_of_natole():
    """Table 1.1 prints ``|r| - 1``, which jumps at 1, and the loss of the other quantile."""
    zero = Target(np.zeros(1))
    below, above = (Huber().value(np.array([r]), zero) for r in (1.0 - 1e-9, 1.0 + 1e-9))
    assert above == pytest.approx(below, abs=1e-8)
    assert above != pytest.approx(1.0 - 1.0, abs=0.1)
    y = np.random.default_rng(0).normal(size=2001)
    for tau in (0.1, 0.7):
        grid = np.quantile(y, np.arange(0.05, 1.0, 0.05))
        ours = [Quantile(tau).value(np.full(y.size, q), Target(y)) for q in grid]
        printed = [np.maximum(tau * (q - y), (tau - 1.0) * (q - y)).mean() for q in grid]
        assert grid[np.argmin(ours)] == pytest.approx(np.quantile(y, tau), abs=0.1)
        assert grid[np.argmin(printed)] == pytest.approx(np.quantile(y, 1.0 - tau), abs=0.1)


def test_the_runs_of_ghanbari_do_not_start_at_zero():
    """Tables 3.1 to 3.3 print 15.7057, 2.3631 and 3.1175 for the first evaluation."""
    far = {}
    for name, (function, box, best, *_) in dfo_wells.WELLS.items():
        far[name] = function(np.zeros(len(box))) - best
    assert far["Branin"] == pytest.approx(55.2042, abs=1e-3)
    assert far["Camelback"] == pytest.approx(1.0316, abs=1e-3)
    assert far["Hartmann-6"] == pytest.approx(3.3173, abs=1e-3)


def test_the_ten_scores_of_natole():
    """Table 1.5: at the stated threshold of .5 eight of ten rows are predicted positive."""
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    scores = np.array([0.999, 0.999, 0.992, 0.988, 0.974, 0.955, 0.682, 0.531, 0.480, 0.441])
    assert metrics.auc(y, scores) == 1.0
    assert np.mean((scores > 0.5) == (y > 0)) == pytest.approx(0.6)
    assert np.mean((scores > 0.7) == (y > 0)) == pytest.approx(0.8)
