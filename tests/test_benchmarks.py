"""The benchmarks can be started: suites, sections and competitors are as the harness expects."""

import inspect
import itertools
import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks import competitors, run
from benchmarks.__main__ import main
from benchmarks.problems.cells import CELLS
from benchmarks.problems.forms import LOSSES, Form
from benchmarks.run import markdown
from benchmarks.sections import comparison

import auctor.losses
import auctor.penalties
from auctor.core.types import Target

FOLDER = Path(competitors.__file__).parents[1]
SUITES = sorted(p.stem for p in (FOLDER / "suites").glob("*.py") if p.stem != "__init__")


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_a_title_and_sections(name):
    suite = import_module(f"benchmarks.suites.{name}")
    assert suite.name == name
    assert suite.title
    names = [section.name for section in suite.sections]
    assert len(set(names)) == len(names) > 0
    for section in suite.sections:
        assert list(inspect.signature(section.run).parameters)[:1] == ["settings"]
    assert set(getattr(suite, "shares", {})) <= set(names)


@pytest.mark.parametrize("name", [p.stem for p in sorted((FOLDER / "results").glob("*.json"))])
def test_a_results_file_belongs_to_a_suite_and_its_text_follows_from_it(name):
    if name.endswith(".partial"):
        return  # of somebody's run with --quick
    suite = import_module(f"benchmarks.suites.{name}")
    content = json.loads((FOLDER / "results" / f"{name}.json").read_text())
    assert set(content["sections"]) <= {section.name for section in suite.sections}
    assert (FOLDER / "results" / f"{name}.md").read_text() == markdown(content)


def test_a_competitor_file_offers_what_the_race_asks_for():
    found = competitors.discover()
    assert len(found) > 10
    for package in found.values():
        assert set(package.layouts) <= {"csr", "csc", "dense", "fortran"}
        assert list(inspect.signature(package.fit).parameters) == (
            ["X", "y", "form", "tol", "mode", "threads"]
        )
        assert package.available() is None or isinstance(package.available(), str)
    forms = [Form(loss, penalty) for loss in ("logistic", "squared") for penalty in ("l1", "l2")]
    for form in forms:
        assert sum(bool(package.modes(form)) for package in found.values()) > 2


def test_competitors_in_folders_are_listed(capsys, monkeypatch):
    found = competitors.special()
    assert {"river", "vowpalwabbit", "libauc", "spam-l2", "dask-ml", "COBYQA", "TPE"} <= set(found)
    assert not {package.name for package in competitors.discover().values()} & set(found)
    assert found["COBYQA"] is None  # of SciPy
    monkeypatch.setattr("sys.argv", ["benchmarks", "list"])
    main()
    shown = capsys.readouterr().out
    assert all(
        f"competitor {name}: {reason or 'ready'}\n" in shown for name, reason in found.items()
    )


def test_cells_name_parts_of_the_library_once():
    assert len({cell.label for cell in CELLS}) == len(CELLS) >= 40
    for cell in CELLS:
        assert hasattr(auctor.losses, cell.loss)
        assert hasattr(auctor.penalties, cell.penalty)


def answer(value, gap, coef, certified=True):
    return {"value": value, "gap": gap, "certified": certified, "coef": np.asarray(coef)}


def test_cells_of_deleted_heuristics_are_counted_apart(monkeypatch):
    lines = [["a", None, 1.2], ["b", None, 2.4], ["c", None, None]]
    assert comparison.worst(lines)["pass"] is False
    assert comparison.worst(lines)["value"] == 2.4
    monkeypatch.setattr(comparison, "REASONS", {"b": "it gained nothing"})
    found = comparison.worst(lines)
    assert (found["value"], found["pass"]) == (1.2, True)
    assert "2.40" in found["bar"]  # it is still shown
    assert comparison.slower(lines) == ["b takes 2.40 times as long: it gained nothing."]


def test_same_answers():
    one = answer(1.0, 1e-7, [1.0, 2.0])
    assert comparison.agree(one, answer(1.0, 1e-7, [1.0, 2.0 + 1e-9]))
    assert comparison.agree(one, answer(1.0 + 1e-8, 1e-6, [1.0, 2.1]))
    assert not comparison.agree(one, answer(1.0 + 1e-5, 1e-6, [1.0, 2.1]))
    assert not comparison.agree(one, answer(1.0 + 1e-5, 1e-4, [1.0, 2.1], certified=False))


def test_results_say_which_commit_was_measured(monkeypatch, tmp_path):
    assert re.fullmatch("[0-9a-f]{7,}|unknown", run.machine_facts()["commit"])
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert run.machine_facts()["commit"] == "unknown"


def test_objectives_of_forms_are_those_of_the_library():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 6)), rng.normal(size=6)
    y = np.where(rng.random(40) < 0.5, -1.0, 1.0)
    ours = {
        "logistic": auctor.losses.Logistic(),
        "squared_hinge": auctor.losses.SquaredHinge(),
        "hinge": auctor.losses.Hinge(),
        "squared": auctor.losses.Squared(),
    }
    penalties = {
        "l1": auctor.penalties.L1(0.3),
        "l2": auctor.penalties.L2(0.3),
        "elastic_net": auctor.penalties.ElasticNet(0.3, 0.4),
    }
    assert set(ours) == set(LOSSES)
    for loss, penalty in itertools.product(ours, penalties):
        expected = ours[loss].value(X @ w, Target(y)) + penalties[penalty].value(w)
        form = Form(loss, penalty, 0.3, l1_ratio=0.4)
        assert form.value(X, y, w) == pytest.approx(expected, rel=1e-9), (loss, penalty)
