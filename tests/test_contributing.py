"""The recipes of CONTRIBUTING work as written: a loss, a solver, a metric, a command."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import auctor.cli
import auctor.metrics
from auctor import MetricClassifier, losses
from auctor.data import as_data
from auctor.fit import metric as metric_module
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Newton
from auctor.testing import LossSuite, SolverSuite, discover

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
LOSS, TRIAL, SOLVER, METRIC, ENTRY, COMMAND = BLOCKS
#: Files that the recipes make.
NEW = {
    "src/auctor/cli/count.py",
    "src/auctor/losses/log_cosh.py",
    "src/auctor/metrics/accuracy_gain.py",
    "src/auctor/solvers/smooth/two_point.py",
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=120) > 0.3, 1.0, -1.0)


@pytest.fixture
def make_package(tmp_path, monkeypatch):
    """Build a package like those of auctor from a recipe's file and its export line."""
    made = []

    def make(package, module, text, name):
        folder = tmp_path / package
        folder.mkdir()
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
        export = f'from {package}.{module} import {name}\n\n__all__ = ["{name}"]\n'
        (folder / "__init__.py").write_text(export, encoding="utf-8")
        made.append(package)
        return importlib.import_module(package)

    monkeypatch.syspath_prepend(tmp_path)
    yield make
    for name in [name for name in sys.modules if name.split(".")[0] in made]:
        del sys.modules[name]


@pytest.fixture
def add_module(tmp_path, monkeypatch):
    """Put a recipe's file into a package of auctor, in a folder of its own."""
    made = []

    def add(package, module, text):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        made.append(f"{package.__name__}.{module}")
        return importlib.import_module(made[-1])

    yield add
    for name in made:
        del sys.modules[name]


@pytest.fixture
def package(make_package):
    return make_package("recipe_losses", "log_cosh", LOSS, "LogCosh")


def test_the_kit_finds_and_passes_the_loss(package):
    assert discover.losses(package) == [package.LogCosh]
    examples = discover.examples(package.LogCosh)
    assert any(loss.scale != 1.0 for loss in examples)
    for loss in examples:
        ran = LossSuite(loss).run()
        assert {"check_gradient", "check_curvature"} <= set(ran)


def test_the_kit_is_not_fooled(package):
    class Wrong(package.LogCosh):
        def value_grad(self, scores, target):
            value, grad = super().value_grad(scores, target)
            return value, 1.001 * grad

    with pytest.raises(AssertionError, match="gradient"):
        LossSuite(Wrong()).check_gradient()


def test_the_trial_runs(package, capsys):
    namespace = {"LogCosh": package.LogCosh}
    exec(compile(TRIAL, "CONTRIBUTING.md", "exec"), namespace)
    model = namespace["model"]
    assert model.solution_.converged
    assert abs(model.coef_ - [1.0, -2.0, 0.5]).max() < 0.01
    assert model.solution_.solver in capsys.readouterr().out


def test_the_kit_finds_and_passes_the_solver(make_package):
    package = make_package("recipe_solvers", "two_point", SOLVER, "TwoPoint")
    assert discover.solvers(package) == [package.TwoPoint]
    assert {"check_optimum", "check_gap_is_honest"} <= set(SolverSuite(package.TwoPoint()).run())
    problem = Problem(Logistic(), L2(0.01), as_data(X, Y))
    found, wanted = (minimise(problem, s, tol=1e-9) for s in (package.TwoPoint(), Newton()))
    np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-4)
    model = MetricClassifier("log_loss", solver=package.TwoPoint()).fit(X, Y)
    assert model.solution_.solver == "TwoPoint"


def test_the_metric_can_be_trained_and_listed(add_module, monkeypatch):
    from auctor.cli.listing import PartKind, parts

    module = add_module(auctor.metrics, "accuracy_gain", METRIC)
    monkeypatch.setattr(metric_module, "METRICS", dict(metric_module.METRICS))
    names = vars(metric_module) | vars(losses) | vars(module)
    exec(compile(ENTRY, "CONTRIBUTING.md", "exec"), names)
    model = MetricClassifier("accuracy_gain").fit(X, Y)
    right = np.mean(model.predict(X) == Y)
    assert model.score(X, Y) == pytest.approx(right - np.mean(Y < 0))
    assert right > np.mean(Y < 0) + 0.1
    assert "accuracy_gain" in {part.name.split("(")[0] for part in parts(PartKind.METRICS)}
    monkeypatch.syspath_prepend(ROOT / "docs" / "tools")
    import result_pages

    for table in ("metrics", "metric_guide"):
        assert '| `"accuracy_gain"` | `hinge`, `logistic` |' in result_pages.TABLES[table]()


def test_the_command_runs(add_module, monkeypatch, tmp_path):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from auctor.cli import app

    add_module(auctor.cli, "count", COMMAND)
    monkeypatch.setattr(app, "COMMANDS", app.COMMANDS | {"count": "count.count"})
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\nc\n")
    found = CliRunner().invoke(app.make_app(app.COMMANDS), ["count", str(file)])
    assert (found.exit_code, found.output) == (0, "3\n")
    assert "count" in CliRunner().invoke(app.make_app(app.COMMANDS), ["--help"]).output


def test_files_and_names_it_mentions_exist():
    mentioned = set(re.findall(r"`((?:src|benchmarks|tests)/[\w/.]+)`", TEXT))
    assert mentioned >= NEW
    for path in mentioned - NEW:
        assert (ROOT / path).exists(), path
