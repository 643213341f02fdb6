"""Optuna's own conformance tests, and what the sampler learns."""

import pickle
import warnings

import pytest

optuna = pytest.importorskip("optuna")
samplers = pytest.importorskip("optuna.testing.pytest_samplers")

from auctor.core.errors import MissingExtraError  # noqa: E402
from auctor.tune import OptunaDfoTr  # noqa: E402


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class TestOptunaDfoTr(
    samplers.BasicSamplerTestCase,
    samplers.RelativeSamplerTestCase,
    samplers.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return OptunaDfoTr


def test_it_learns():
    def objective(trial):
        x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", 1e-3, 1e3, log=True)
        return -((x - 1.0) ** 2) - (y**0.1 - 1.0) ** 2

    study = optuna.create_study(sampler=OptunaDfoTr(seed=0), direction="maximize")
    study.optimize(objective, n_trials=30)
    assert study.best_value > -1e-3


def test_failed_and_pruned_trials_are_survived():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.6:
            raise optuna.TrialPruned
        if x < 0.2:
            raise RuntimeError
        return (x - 0.4) ** 2

    study = optuna.create_study(sampler=OptunaDfoTr(seed=0))
    study.optimize(objective, n_trials=25, catch=RuntimeError)
    assert study.best_value < 1e-3


def test_it_can_be_pickled():
    study = optuna.create_study(sampler=OptunaDfoTr(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=5)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=5)
    assert study.best_value < 0.1


def test_without_optuna_the_extra_is_named(monkeypatch):
    import auctor.core.optional

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(auctor.core.optional.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"auctor\[tune\]"):
        auctor.core.optional.require("optuna", extra="tune")
