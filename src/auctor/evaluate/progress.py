"""A line about the progress of a fit, for `auctor.linear.watch`.

The line has the iteration, the objective, the gap, a metric on held-out rows and an estimate of
the remaining time. The estimate leaves out compilation, which happens once, and the first point of
a search, which has no warm start. The metric is computed every half second, more often in the first
ten seconds of a fit, and less often if it would take more than a tenth of the time.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from auctor.core.result import Solution, Step
from auctor.core.types import FloatArray
from auctor.core.watching import Watcher
from auctor.evaluate.info import MetricStep

#: Seconds between two measurements of the metric on held-out rows.
MEASURE = 0.5
#: Share of the seconds so far between two measurements, if that is less than `MEASURE`.
MEASURE_SHARE = 0.05
#: Number of steps from which the rate of decrease of the gap is estimated.
RECENT = 12

#: Number of points of a search that must be done before the remaining time is estimated.
POINTS = 3
#: Stages of a fit of curves, each of about the same length.
ADDITIVE = ("strength", "member")
#: Text that is shown when compilation begins for the first time.
COMPILING = "compiling for the first run: this takes seconds once, later runs start at once"

#: The metric on held-out rows, as a function of the weights (with the intercept) and the number of
#: the class.
Measure = Callable[[FloatArray, int], float]


class Line(Protocol):
    """A place to write the line of progress to; ``pause`` is the least time between updates."""

    pause: float

    def show(self, text: str) -> None:
        """Write a line, in place of the last one if possible."""

    def note(self, text: str) -> None:
        """Write a line that is not replaced."""

    def close(self) -> None:
        """Remove the line."""


class Progress(Watcher):
    """Observes fits and writes a line about their progress.

    Parameters
    ----------
    line : Line, optional
        Where to write; None writes nothing.
    measure : callable, optional
        The metric on held-out rows.
    name : str
        Name of that metric.
    clock : callable
        Returns a time in seconds.

    Attributes
    ----------
    steps : list of MetricStep
        The metric on held-out rows during the fit.
    nonzeros : dict
        Numbers of nonzero weights by strength, one for each fold and class.
    """

    def __init__(
        self,
        line: Line | None,
        *,
        measure: Measure | None = None,
        name: str = "metric",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.steps: list[MetricStep] = []
        self.nonzeros: dict[float, list[int]] = {}
        self._line, self._measure, self._name, self._clock = line, measure, name, clock
        self._stages: dict[str, tuple[int, int]] = {}
        self._target = 0.0
        self._gaps: deque[tuple[float, float]] = deque(maxlen=RECENT)
        self._to_come = 0  # points of the paths after the current path
        self._points: list[float] = []  # seconds of each point of the search
        self._last_point = 0.0
        self._compiled, self._compiling_since = 0.0, math.nan
        self._noted = False
        self._shown = self._measured = -math.inf
        self._value = math.nan
        self._began = 0.0

    def watch_rows(self, measure: Measure, name: str) -> None:
        """Set the metric on held-out rows, which is measured from now on."""
        self._measure, self._name = measure, name

    # --- callbacks of a fit -------------------------------------------------------------------

    def on_stage(self, stage: str, number: int, total: int) -> None:
        """Called when a stage of a fit begins: a fold, a class, a calibration fold."""
        if stage != "class":
            self._stages = {}
        self._stages[stage] = (number, total)
        if stage == "fold" and number == 1:
            self._points = []
        self._last_point = self._working()
        self._value, self._measured = math.nan, -math.inf
        if stage in ADDITIVE:  # the time to go at the mean time of those that are done
            if number == 1:
                self._began = self._last_point
            elif self._due():
                mean = (self._last_point - self._began) / (number - 1)
                eta = duration(mean * (total - number + 1))
                self._show([*self._where(), f"at most {eta} for all"])

    def on_plan(self, points: int) -> None:
        """Called with the number of points of the paths that follow the one that begins."""
        self._to_come = points

    def on_compile(self, begins: bool) -> None:
        """The compiler begins or ends: `auctor.kernels.runtime.compiled.report_compilation`."""
        if not begins:
            self._compiled += self._clock() - self._compiling_since
            return
        self._compiling_since = self._clock()
        if self._line is not None and not self._noted:
            self._line.note(COMPILING)
            self._noted = True

    def on_fit(self, target: float) -> None:
        """Called when a solve begins; ``target`` is the gap at which it stops."""
        self._target = target
        self._gaps.clear()

    def on_step(self, step: Step) -> None:
        """Called after each step of a solve."""
        if step.gap > 0.0 and math.isfinite(step.gap):
            self._gaps.append((self._working(), step.gap))
        # The starting point is not measured.
        measured = step.iteration > 0 and self._measure_held_out(step.w, step.seconds)
        if measured and "class" not in self._stages and math.isfinite(self._value):
            self.steps.append(MetricStep(step.seconds, step.passes, self._value))
        if not self._due():
            return
        parts = [
            *self._where(),
            f"iteration {step.iteration}",
            f"objective {step.value:.6g}",
            f"{'gap' if step.certified else 'violation'} {step.gap:.2e}",
            *self._held_out(),
            f"ETA {duration(remaining(list(self._gaps), self._target))}",
        ]
        self._show(parts)

    def on_point(self, strength: float, solution: Solution, number: int, total: int) -> None:
        """Called when a path of strengths has solved a point."""
        columns = int(np.count_nonzero(solution.coef))
        self.nonzeros.setdefault(strength, []).append(columns)
        now = self._working()
        self._points.append(now - self._last_point)
        self._last_point = now
        if not self._due():
            return
        at, classes = self._stages.get("class", (1, 1))
        # Points that are left: of this path, of the paths of further classes, and of later paths.
        points = total - number + (classes - at) * total + classes * self._to_come
        self._measure_held_out(np.append(solution.coef, solution.intercept), sum(self._points))
        self._show(
            [
                *self._where(),
                f"strength {number}/{total} ({strength:.3g})",
                f"columns {columns}",
                f"objective {solution.value:.4g}",
                f"{'gap' if solution.certified else 'violation'} {solution.gap:.2e}",
                *self._held_out(),
                f"ETA {duration(points * per_point(self._points))}",
            ]
        )

    # --- the line -----------------------------------------------------------------------------

    def stage(self, text: str) -> None:
        """Show a stage other than fitting, such as reading."""
        self._shown = self._clock()
        self._show([text])

    def close(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._line.close()

    def _working(self) -> float:
        """Time in seconds without that of compilation."""
        return self._clock() - self._compiled

    def _due(self) -> bool:
        """Whether the line may be updated again; if so, records the time."""
        if self._line is None or self._clock() - self._shown < self._line.pause:
            return False
        self._shown = self._clock()
        return True

    def _show(self, parts: list[str]) -> None:
        if self._line is not None:
            self._line.show("  ".join(parts))

    def _where(self) -> list[str]:
        """The current fold and class, if there are several."""
        return [f"{name} {at}/{count}" for name, (at, count) in self._stages.items() if count > 1]

    def _held_out(self) -> list[str]:
        """The latest metric on held-out rows, if there is one."""
        return [] if math.isnan(self._value) else [f"held-out {self._name} {self._value:.4f}"]

    def _measure_held_out(self, w: FloatArray, seconds: float) -> bool:
        """Measure on the held-out rows if it is time for that; returns whether it was done."""
        start = self._clock()
        if self._measure is None or "calibration fold" in self._stages or start < self._measured:
            return False
        self._value = self._measure(w, self._stages.get("class", (1, 1))[0] - 1)
        end = self._clock()
        # Waiting 9 times as long as the measurement took keeps it below a tenth of the time.
        self._measured = end + max(min(MEASURE, MEASURE_SHARE * seconds), 9.0 * (end - start))
        return True


def per_point(seconds: list[float]) -> float:
    """Mean seconds per point of a search, without the first; NaN for fewer than `POINTS` points.

    Examples
    --------
    >>> per_point([9.0, 0.5, 1.5]), per_point([9.0, 0.5])
    (1.0, nan)
    """
    if len(seconds) < POINTS:
        return math.nan
    return sum(seconds[1:]) / (len(seconds) - 1)


def remaining(gaps: list[tuple[float, float]], target: float) -> float:
    """Seconds until the gap reaches its target at its present rate of decrease; NaN if unknown.

    The rate is that of an exponential through the first and the last of the ``gaps``.

    Parameters
    ----------
    gaps : list of (seconds, gap)
    target : float

    Examples
    --------
    >>> round(remaining([(0.0, 1.0), (1.0, 0.1), (2.0, 0.01)], 1e-4), 6)
    2.0
    """
    if len(gaps) < 3 or target <= 0.0:
        return math.nan
    (first, high), (last, low) = gaps[0], gaps[-1]
    if low <= target:
        return 0.0
    if low >= high or last <= first:
        return math.nan
    rate = math.log(high / low) / (last - first)
    return math.log(low / target) / rate


def duration(seconds: float) -> str:
    """A time in seconds, minutes or hours, as text.

    Examples
    --------
    >>> duration(0.4), duration(75.0), duration(7320.0), duration(float("nan"))
    ('1 s', '1 min 15 s', '2 h 2 min', '?')
    """
    if not math.isfinite(seconds):
        return "?"
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
