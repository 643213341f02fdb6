"""The classes that can be saved, by name: each is imported only when a file or a call needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from auctor.fit.train_model import KINDS
from auctor.streaming.registry import LEARNERS as LEARNER_PATHS

#: The dotted path of every class that can be saved, by its name.
CLASSES = {
    path.rpartition(".")[2]: path
    for path in (
        *(path for _, path in KINDS.values()),
        "auctor.kernel.classifier.KernelClassifier",
        "auctor.kernel.regressor.KernelRegressor",
        "auctor.hierarchy.multi_label.HierarchicalMultiLabel",
        "auctor.hierarchy.top_down.TopDownClassifier",
        *LEARNER_PATHS.values(),
    )
}
#: Learners of streams.
LEARNERS = tuple(path.rpartition(".")[2] for path in LEARNER_PATHS.values())
#: Estimators of labels with a taxonomy.
HIERARCHICAL = ("HierarchicalMultiLabel", "TopDownClassifier")
#: Kernel machines.
KERNEL = ("KernelClassifier", "KernelRegressor")


def class_of(name: str) -> type[Any]:
    """The class of a name in `CLASSES`; imports scikit-learn, on which all of them are based."""
    found: type[Any] = getattr(import_module(CLASSES[name].rpartition(".")[0]), name)
    return found
