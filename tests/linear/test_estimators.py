"""What the estimators are made of: few frames, few classes, parameters and models written once."""

import inspect
import re
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import auctor
from auctor import hierarchy
from auctor.additive.parameters import AdditiveParameters, AdditiveRegressorParameters
from auctor.fit.parameters import ClassifierParameters, RegressorParameters, SearchParameters
from auctor.fit.train_model import kinds
from auctor.kernel.train import KernelClassifierParameters, KernelRegressorParameters
from auctor.linear.table_parameters import TableParameters

PUBLIC = {name: getattr(room, name) for room in (auctor, hierarchy) for name in room.__all__}
ESTIMATORS = {name: kind for name, kind in PUBLIC.items() if hasattr(kind, "get_params")}

PARAMETERS = {
    "AdditiveClassifier": AdditiveParameters,
    "AdditiveRegressor": AdditiveRegressorParameters,
    "KernelClassifier": KernelClassifierParameters,
    "KernelRegressor": KernelRegressorParameters,
    "LinearRegressor": RegressorParameters,
    "MetricClassifier": ClassifierParameters,
    "MetricClassifierCV": SearchParameters,
    "TableClassifier": TableParameters,
}


def frames_to_minimise(fit):
    """Functions on the stack, from `fit` to `minimise`, when the first solve begins."""
    seen = []

    def profile(frame, event, _):
        if event != "call" or frame.f_code.co_name != "minimise" or seen:
            return
        while frame is not None:
            seen.append(frame.f_code.co_name)
            if frame.f_code.co_name == "fit":
                break
            frame = frame.f_back

    sys.setprofile(profile)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return seen[::-1]


@pytest.mark.parametrize("estimator", [auctor.MetricClassifier(), auctor.LinearRegressor()])
def test_seven_frames_from_fit_to_the_loop(estimator):
    X, y = np.arange(12.0).reshape(-1, 2) % 5, [0, 1, 0, 1, 1, 0]
    frames = frames_to_minimise(lambda: estimator.fit(X, y))
    assert frames[0] == "fit"
    assert frames[-1] == "minimise"
    assert len(frames) <= 7, frames


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_few_base_classes(name):
    rooms = [kind.__module__.partition(".")[0] for kind in ESTIMATORS[name].__mro__]
    assert rooms.count("auctor") + rooms.count("sklearn") <= 8


@pytest.mark.parametrize("name", PARAMETERS)
def test_estimators_have_the_parameters_of_training_functions(name):
    """Written in both: an estimator shows its own, a training function takes no estimator."""
    shown = dict(inspect.signature(ESTIMATORS[name]).parameters)
    shown.pop("device", None)  # where the rows are moved to before they are read
    params = PARAMETERS[name]()
    taken = {one.name: getattr(params, one.name) for one in fields(params) if one.init}
    assert {key: parameter.default for key, parameter in shown.items()} == taken
    positional = [key for key, p in shown.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [key for key, p in inspect.signature(type(params)).parameters.items()
                          if p.kind is p.POSITIONAL_OR_KEYWORD]  # fmt: skip


def test_a_fitted_model_exists_once():
    X, y = np.arange(12.0).reshape(-1, 2) % 5, [0, 1, 0, 1, 1, 0]
    model = auctor.MetricClassifier().fit(X, y)
    assert set(vars(model)) - set(model.get_params()) == {"n_features_in_", "result_"}
    assert model.coef_ is model.model_.coef is model.result_.model.coef
    with pytest.raises(AttributeError, match="cannot be set"):
        model.coef_ = np.zeros((1, 2))


def test_attributes_appear_with_the_fit():
    model = auctor.MetricClassifierCV(n_strengths=2, cv=2, refit=False)
    assert not hasattr(model, "coef_")
    model.fit(np.arange(12.0).reshape(-1, 2) % 5, [0, 1, 0, 1, 1, 0])
    assert not hasattr(model, "coef_")  # there is no model without refit
    assert model.strengths_.size == 2


@pytest.mark.parametrize("name", kinds())
def test_the_name_of_an_estimator_stands_in_two_places(name):
    """Besides its definition and documents: the stub of its room, and the kinds of files."""
    source = Path(auctor.__file__).parent
    listed = re.compile(rf"import {name} as|[\"']{name}[\"'],?\)?$", re.MULTILINE)
    places = {
        path
        for path in (*source.rglob("__init__.py*"), *source.glob("fit/*.py"),
                     *source.glob("saved/*.py"), *source.glob("*/parameters.py"))
        if listed.search(path.read_text(encoding="utf-8"))
    }  # fmt: skip
    assert len(places) <= 2, places
