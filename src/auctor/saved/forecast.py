"""Forecasters in files: the series that is known, the model and the errors of its bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from auctor.core.codec import floats
from auctor.core.errors import ParameterError
from auctor.core.types import FloatArray
from auctor.saved.values import need
from auctor.saved.whole import SavedEstimator

#: Attributes of a fitted forecaster that a file has as they are.
KEPT = ("embedding_", "history_", "exogenous_", "unit_", "log_", "residuals_", "outside_",
        "quantiles_")  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedForecaster(SavedEstimator):
    """A forecaster; ``model`` is one of its kernel machines, or what a file has of curves."""

    embedding: Any
    history: Any
    exogenous: Any
    unit: float
    log: bool
    residuals: FloatArray
    outside: float
    quantiles: tuple[Any, ...]
    model: Any

    @classmethod
    def of(cls, forecaster: Any) -> Self:
        """The fitted values of a forecaster."""
        from auctor.linear.from_model import as_result
        from auctor.saved import models
        from auctor.saved.kernel import SavedKernel

        if forecaster.model == "lightgbm":
            raise ParameterError("a model of auctor; got LightGBM. Save that with its own method.")
        model, parameters = forecaster.model_, cls.parameters(forecaster)
        if forecaster.model == "additive":
            model = models.stored(as_result(model.regressor))
        elif getattr(model, "gate_machine", None) is not None:
            model = replace(model, gate_machine=SavedKernel.of(model.gate_machine))
        parameters["params"]["holidays"] = forecaster.embedding_.holidays
        kept = {name[:-1]: getattr(forecaster, name) for name in KEPT}
        return cls(**parameters, **kept, model=model)

    def estimator(self) -> Any:
        """The fitted forecaster, checked by a forecast; imports scikit-learn."""
        from auctor.fit.result import FitResult
        from auctor.forecast.days import Days
        from auctor.forecast.embedding import Embedding
        from auctor.forecast.estimators.other_models import StepModel
        from auctor.saved import models
        from auctor.saved.kernel import SavedKernel

        need(self.name == "LoadForecaster", "a forecaster")
        need(isinstance(self.embedding, Embedding) and isinstance(self.history, Days), "days")
        forecaster, model = self.unfitted(), self.model
        forecaster.check_parameters()
        for name in KEPT:
            setattr(forecaster, name, getattr(self, name[:-1]))
        need(len(self.residuals) > 0 and 0.0 <= self.outside <= 1.0, "errors")
        floats(self.residuals, (len(self.residuals), forecaster.horizon_))
        shape = (self.history.n_days, self.history.per_day)
        for table in self.history.values.values():
            floats(table, shape)
        need(self.unit > 0.0 and (not self.log or self.history.table.min() > 0.0), "its unit")
        options = forecaster.model_options()
        if isinstance(model, FitResult):
            model = StepModel("additive", models.as_estimator(models.checked(model)), options)
        elif isinstance(getattr(model, "gate_machine", None), SavedKernel):
            model = replace(model, gate_machine=model.gate_machine.estimator())
        forecaster.model_ = model
        estimator = forecaster.check_forecast()
        need(bool(np.isfinite(estimator).all()), "finite forecasts")
        return forecaster
