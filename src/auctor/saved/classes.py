"""The classes that can be saved, by name: each is imported only when a file or a call needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from auctor.training.train_model import KINDS

#: Learners of auctor.online.
LEARNERS = (
    "AdaOam",
    "Fsauc",
    "MiniBatchAuc",
    "Oam",
    "OnlineGaussianAuc",
    "Opauc",
    "PassiveAggressive",
    "RegSolam",
    "Solam",
    "Spam",
    "StreamingAUC",
    "UniExp",
)
#: Estimators of labels with a taxonomy.
HIERARCHICAL = ("HierarchicalMultiLabel", "TopDownClassifier")
#: Kernel machines.
KERNEL = ("KernelClassifier", "KernelRegressor")

#: The module of every class that can be saved.
CLASSES = {
    **dict.fromkeys(KINDS, "auctor.estimators"),
    **dict.fromkeys(LEARNERS, "auctor.online"),
    **dict.fromkeys(HIERARCHICAL, "auctor.hierarchy"),
    **dict.fromkeys(KERNEL, "auctor.estimators"),
}


def class_of(name: str) -> type[Any]:
    """The class of a name in `CLASSES`; imports scikit-learn, on which all of them are based."""
    found: type[Any] = getattr(import_module(CLASSES[name]), name)
    return found
