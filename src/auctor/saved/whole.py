"""What files have of estimators that are no linear models: parameters, and fitted values."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.codec import whole
from auctor.fit.parameters import MOST_THREADS
from auctor.saved.classes import class_of
from auctor.saved.values import check_names, need


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedEstimator:
    """An estimator as arrays and plain values; classes that are based on it add what was fitted.

    Parameters
    ----------
    name : str
        Of its class, see `auctor.saved.classes`.
    """

    name: str
    params: dict[str, Any]
    n_features: int
    feature_names: tuple[str, ...] | None

    @staticmethod
    def parameters(estimator: Any) -> dict[str, Any]:
        """The arguments of this class."""
        names = getattr(estimator, "feature_names_in_", None)
        return {
            "name": type(estimator).__name__,
            "params": estimator.get_params(deep=False),
            "n_features": int(estimator.n_features_in_),
            "feature_names": None if names is None else tuple(map(str, names)),
        }

    def unfitted(self) -> Any:
        """The estimator with its parameters; imports scikit-learn."""
        check_names(self.feature_names, whole(self.n_features, low=1))
        kind = class_of(self.name)
        known = set(inspect.signature(kind).parameters)
        need(self.params.keys() <= known, "parameters of this version")
        threads = self.params.get("n_threads")
        if threads is not None:
            need(1 <= whole(threads) <= MOST_THREADS, "a number of threads")
        estimator = kind(**self.params)
        estimator.n_features_in_ = self.n_features
        if self.feature_names is not None:
            estimator.feature_names_in_ = np.array(self.feature_names, dtype=object)
        return estimator

    def estimator(self) -> Any:
        """The fitted estimator, checked."""
        raise NotImplementedError
