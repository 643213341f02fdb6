"""The classes that can be saved, by name: each is imported only when a file or a call needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from auctor.fit.train_model import kinds
from auctor.streaming.registry import LEARNERS as LEARNER_PATHS

#: Learners of streams.
LEARNERS = tuple(path.rpartition(".")[2] for path in LEARNER_PATHS.values())
#: Estimators of labels with a taxonomy.
HIERARCHICAL = ("HierarchicalMultiLabel", "TopDownClassifier")
#: Kernel machines.
KERNEL = ("KernelClassifier", "KernelRegressor")
#: Forecasters of load.
FORECAST = ("LoadForecaster",)
#: Trees of the lab.
TREES = ("AucTreeClassifier",)
#: The module of every class that can be saved, by its name.
CLASSES = {
    **dict.fromkeys(kinds(), "auctor"),
    **dict.fromkeys(KERNEL, "auctor.kernel"),
    **dict.fromkeys(HIERARCHICAL, "auctor.hierarchy"),
    **dict.fromkeys(FORECAST, "auctor.forecast"),
    **dict.fromkeys(TREES, "auctor.lab.trees"),
    **{path.rpartition(".")[2]: path.rpartition(".")[0] for path in LEARNER_PATHS.values()},
}


def class_of(name: str) -> type[Any]:
    """The class of a name in `CLASSES`; imports scikit-learn, on which all of them are based."""
    kind: type[Any] = getattr(import_module(CLASSES[name]), name)
    return kind
