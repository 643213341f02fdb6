"""Finds all concrete parts of a package, so that new ones are tested without further edits."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import auctor.data
import auctor.kernel
import auctor.lab.maps
import auctor.lab.penalties
import auctor.losses
import auctor.penalties
import auctor.solvers


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """The package and all its submodules, imported."""
    yield package
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield importlib.import_module(info.name)


def public_classes(package: ModuleType, *methods: str) -> list[type[Any]]:
    """Classes with all of ``methods`` that a package defines and exports, by name.

    Classes of modules called ``base`` and abstract classes are left out.
    """
    exported = set(getattr(package, "__all__", ()))
    classes: dict[str, type[Any]] = {}
    for module in modules(package):
        for name, thing in vars(module).items():
            # Each class once, where it is defined, not where it is imported.
            if not inspect.isclass(thing) or thing.__module__ != module.__name__:
                continue
            if name not in exported or module.__name__.rpartition(".")[2] == "base":
                continue
            if not inspect.isabstract(thing) and all(hasattr(thing, m) for m in methods):
                classes[name] = thing
    return [classes[name] for name in sorted(classes)]


def losses(package: ModuleType = auctor.losses) -> list[type[Any]]:
    """All losses.

    Examples
    --------
    >>> [kind.__name__ for kind in losses()][:3]
    ['Absolute', 'AveragePrecision', 'EpsilonInsensitive']
    """
    return public_classes(package, "value_grad", "check_target")


def penalties(*packages: ModuleType) -> list[type[Any]]:
    """All penalties of some packages, by default of those that have any."""
    rooms = packages or (auctor.penalties, auctor.lab.penalties)
    return [kind for room in rooms for kind in public_classes(room, "value", "prox", "violation")]


def solvers(package: ModuleType = auctor.solvers) -> list[type[Any]]:
    """All solvers."""
    return public_classes(package, "init", "step", "needs")


def storages(package: ModuleType = auctor.data) -> list[type[Any]]:
    """All data classes."""
    return public_classes(package, "scores", "gradient")


def maps(package: ModuleType = auctor.lab.maps) -> list[type[Any]]:
    """All score maps.

    Examples
    --------
    >>> [kind.__name__ for kind in maps()]
    ['CallableMap', 'LinearMap', 'Mlp']
    """
    return public_classes(package, "at", "start", "examples")


def features(package: ModuleType = auctor.kernel) -> list[type[Any]]:
    """All feature maps of kernels.

    Examples
    --------
    >>> [kind.__name__ for kind in features()]
    ['Nystroem', 'RandomFeatures']
    """
    return public_classes(package, "transform", "examples")


def examples(kind: type[Any]) -> list[Any]:
    """Instances of a part to test: its ``examples()``, or the one with default parameters."""
    make = getattr(kind, "examples", None)
    return list(make()) if make is not None else [kind()]


def label(part: Any) -> str:
    """A short readable name of an instance, for test ids.

    Examples
    --------
    >>> from auctor.losses import Huber
    >>> label(Huber(0.1))
    'Huber(delta=0.1)'
    """
    text = repr(part)  # the default repr has an address, which changes from run to run
    return type(part).__name__ if " object at " in text else text.replace(" ", "")
