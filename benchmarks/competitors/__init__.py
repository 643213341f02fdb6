"""The competitors of all suites: packages that solve a form, and folders of those that do not.

A file here is one package that solves problems of the form loss plus penalty. It offers ``name``,
``layouts`` (of csr, csc, dense, fortran; best first), ``threads``, ``START`` (the tolerance tried
first, a loose one), ``available()`` (a reason why it cannot be used, or None), ``modes(form)`` (its
ways to solve a form; none when it cannot), ``refuses(form, rows, columns)`` (a reason, or None),
``fit(X, y, form, tol, mode, threads) -> Fit`` and perhaps ``path(X, y, form, strengths, tol, mode,
threads)``, which returns coefficients as rows and the work; ``path_modes`` and ``refuses_mode``
narrow the modes. They run in worker processes, so that one that exceeds its time can be ended.

Packages that do something else have a folder with a protocol of its own: ``ranking`` (ranking
losses), ``online`` (learners from streams), ``cluster`` (fits on workers) and ``search``
(optimisers without derivatives). ``reasons()`` of a folder says for each of them, by name, why it
cannot be used, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks.problems.forms import Form

#: Fast and reliable ones first: they set the cap for the others.
ORDER = (
    "sklearn_liblinear", "snapml", "auctor", "liblinear", "skglm", "glmnet", "adelie", "celer",
    "sklearn_cd", "sklearn_newton", "cyanure", "glum", "sklearn_saga",
)  # fmt: skip


class Fit(NamedTuple):
    """A solution, and how much work it took in the solver's own words."""

    coef: np.ndarray
    intercept: float
    work: dict[str, object]


class Package(Protocol):
    """What a competitor module offers."""

    name: str
    layouts: tuple[str, ...]
    threads: tuple[int, ...]
    START: float
    available: Callable[[], str | None]
    modes: Callable[[Form], tuple[str, ...]]
    refuses: Callable[[Form, int, int], str | None]
    fit: Callable[..., Fit]


def discover() -> dict[str, Package]:
    """Every competitor file by its stem, those of `ORDER` first."""
    folder = Path(__file__).resolve().parent
    stems = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    stems.sort(key=lambda stem: ORDER.index(stem) if stem in ORDER else len(ORDER))
    return {stem: load(stem) for stem in stems}


def special() -> dict[str, str | None]:
    """The competitors of the folders: why each cannot be used, or None, by name."""
    folder = Path(__file__).resolve().parent
    found: dict[str, str | None] = {}
    for path in sorted(folder.glob("*/__init__.py")):
        found |= import_module(f"benchmarks.competitors.{path.parent.name}").reasons()
    return found


def load(stem: str) -> Package:
    """One competitor module."""
    return import_module(f"benchmarks.competitors.{stem}")


def installed(package: str) -> str | None:
    """A reason why ``package`` cannot be used here, without importing it."""
    return None if find_spec(package) else f"{package} is not installed"
