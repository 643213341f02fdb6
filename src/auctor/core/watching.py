"""Callbacks for all fits inside a ``with`` block.

A callback is not a parameter of an estimator: parameters are cloned, compared, printed and saved,
and a fit consists of further fits (folds, classes, calibration), each of which would have to pass
it on. So `watch` stores it in a context variable, which every fit of the same thread or task reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

import numpy as np

from auctor.core.result import Solution, Step


class Watcher:
    """Receives the progress of fits; override the methods that you need.

    `on_step` and `on_point` may return True to end the solve or the path they are called from.
    """

    def on_stage(self, stage: str, number: int, total: int) -> None:
        """Part ``number`` of ``total`` begins: a "fold", "class", "calibration fold" or "fit"."""

    def on_plan(self, points: int) -> None:
        """Called when a path begins; about ``points`` points of later paths will follow it."""

    def on_fit(self, target: float) -> None:
        """A solve begins; it ends when the gap is at most ``target``."""

    def on_step(self, step: Step) -> bool | None:
        """A solve took a step."""

    def on_point(self, strength: float, solution: Solution, number: int, total: int) -> bool | None:
        """A path has solved its strength ``number`` of ``total``."""


class _Printer(Watcher):
    """The watcher of ``verbose=1``: prints a line to stderr for each stage, step or point."""

    def on_stage(self, stage: str, number: int, total: int) -> None:
        sys.stderr.write(f"auctor {stage} {number} of {total}\n")

    def on_step(self, step: Step) -> None:
        kind = "gap" if step.certified else "gap*"
        sys.stderr.write(
            f"auctor {step.iteration:4d}  objective {step.value:.8g}  {kind} {step.gap:.3g}  "
            f"passes {step.passes:.0f}  {step.seconds:.2f} s\n"
        )

    def on_point(self, strength: float, solution: Solution, number: int, total: int) -> None:
        kind = "gap" if solution.certified else "gap*"
        sys.stderr.write(
            f"auctor strength {strength:.3g}  objective {solution.value:.8g}  {kind} "
            f"{solution.gap:.3g}  columns {np.count_nonzero(solution.coef)}  "
            f"{solution.seconds:.2f} s\n"
        )


_SILENT, _PRINTER = Watcher(), _Printer()
_current: ContextVar[Watcher | None] = ContextVar("auctor_watcher", default=None)


@contextmanager
def watch(watcher: Watcher) -> Iterator[None]:
    """Report the fits of the block to ``watcher``; ``verbose`` then prints nothing.

    Parameters
    ----------
    watcher : Watcher

    Examples
    --------
    >>> from auctor.linear.estimators.classifier import MetricClassifier
    >>> from auctor.fit import Watcher, watch
    >>> class Objective(Watcher):
    ...     def on_step(self, step):
    ...         print(step.iteration, round(step.value, 3))
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> with watch(Objective()):
    ...     model = MetricClassifier("auc", surrogate="square", strength=1.0).fit(X, y)
    0 1.0
    1 0.22
    """
    token = _current.set(watcher)
    try:
        yield
    finally:
        _current.reset(token)


def tell_stage(stage: str, number: int, total: int, verbose: int = 0) -> None:
    """Report to the watcher that a part of a fit begins."""
    (_current.get() or (_PRINTER if verbose else _SILENT)).on_stage(stage, number, total)


def tell_plan(points: int) -> None:
    """Report to the watcher how many points of paths follow after the path that begins."""
    (_current.get() or _SILENT).on_plan(points)


def step_callback(
    verbose: int, target: Callable[[], float]
) -> Callable[[Step], bool | None] | None:
    """The ``on_step`` callback for `minimise`, for a fit with the tolerance ``target()``."""
    watcher = _current.get() or (_PRINTER if verbose else None)
    if watcher is None:
        return None
    watcher.on_fit(target())
    return watcher.on_step


def point_callback(verbose: int, total: int) -> Callable[[float, Solution], bool | None] | None:
    """The callback that a path of ``total`` strengths calls after each one."""
    watcher = _current.get() or (_PRINTER if verbose else None)
    if watcher is None:
        return None
    numbers = count(1)

    def on_point(strength: float, solution: Solution) -> bool | None:
        return watcher.on_point(strength, solution, next(numbers), total)

    return on_point
