"""The recipe "add a loss in one file" works as written."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from auctor.testing import LossSuite, discover

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE, TRIAL = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package like ``auctor.losses`` that holds the recipe's file and its export line."""
    folder = tmp_path / "recipe_losses"
    folder.mkdir()
    (folder / "log_cosh.py").write_text(RECIPE, encoding="utf-8")
    export = 'from recipe_losses.log_cosh import LogCosh\n\n__all__ = ["LogCosh"]\n'
    (folder / "__init__.py").write_text(export, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("recipe_losses")
    for name in [name for name in sys.modules if name.startswith("recipe_losses")]:
        del sys.modules[name]


def test_the_kit_finds_and_passes_it(package):
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


def test_files_and_names_it_mentions_exist():
    root = Path(__file__).parents[1]
    for path in re.findall(r"`((?:src|benchmarks|tests)/[\w/.]+)`", TEXT):
        if path != "src/auctor/losses/log_cosh.py":
            assert (root / path).exists(), path
