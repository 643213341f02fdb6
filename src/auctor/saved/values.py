"""The codec of model files, and checks of their contents."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from auctor import losses, penalties, solvers
from auctor.core.codec import KINDS, Arrays, Codec, Json, floats, whole
from auctor.core.types import Array
from auctor.penalties import Separable
from auctor.tables.options import ReadOptions

__all__ = ["CODEC", "Arrays", "Json", "floats", "whole"]


@cache
def parts() -> dict[str, type[Any]]:
    """The classes of losses, penalties, solvers and options of reading, by their names in files."""
    found = {}
    for module, method in ((losses, "value_grad"), (penalties, "prox"), (solvers, "step")):
        for name in module.__all__:
            part = getattr(module, name)
            if inspect.isclass(part) and hasattr(part, method):
                found[f"{module.__name__.removeprefix('auctor.')}.{name}"] = part
    return found | {"tables.ReadOptions": ReadOptions}


@cache
def hierarchy_parts() -> dict[str, type[Any]]:
    """The classes of decoders and taxonomies, by their names in files; needs scikit-learn."""
    from auctor import hierarchy

    found = (getattr(hierarchy, name) for name in hierarchy.__all__)
    kept = (part for part in found if inspect.isclass(part))
    return {
        f"hierarchy.{part.__name__}": part
        for part in kept
        if part is hierarchy.Taxonomy or part in hierarchy.decoders.DECODERS.values()
    }


def known_parts(where: str) -> dict[str, type[Any]]:
    """The classes that a module or a name in a file refers to: of the hierarchy, or the others."""
    inside = where.removeprefix("auctor.").startswith("hierarchy.")
    return hierarchy_parts() if inside else parts()


def _levels(part: Any) -> dict[str, Any]:
    """The arguments of a `Separable` penalty."""
    return dict(zip(("l1", "l2", "lower", "upper"), part.levels, strict=True))


CODEC = Codec(known_parts, omitted={ReadOptions: ("schema",)}, attributes={Separable: _levels})


# --- checks of the contents of a file; all raise ``ValueError`` -----------------------------------


def need(good: bool, what: str) -> None:
    """Raise ``ValueError``, "a model without ...", unless ``good``."""
    if not good:
        raise ValueError(f"a model without {what}")


def number(value: Any, *, finite: bool = False) -> float:
    """A float; with ``finite``, NaN and infinities are refused."""
    found = CODEC.decode(value, {})
    need(type(found) in (int, float), "a number")
    need(not finite or bool(np.isfinite(found)), "a finite number")
    return float(found)


def matrix(value: Any, shape: tuple[int, ...], arrays: Arrays) -> Array:
    """An array of finite numbers of a shape."""
    return floats(CODEC.decode(value, arrays), shape)


def labels(value: Any, arrays: Arrays) -> Array:
    """An array of at least two labels in increasing order."""
    classes: Array = CODEC.decode(value, arrays)
    good = isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2
    need(good and classes.dtype.kind in KINDS + "O", "a list of classes")
    need(bool((classes[:-1] < classes[1:]).all()), "classes that increase")
    if classes.dtype.kind == "f":
        need(bool(np.isfinite(classes).all()), "finite classes")
    for label in classes.tolist():
        if isinstance(label, str):
            label.encode()
    return classes
