"""How far a fit is, in one line: what `auctor.estimators.watch` can be given.

The line has the iteration, the objective, the gap, a metric on held-out rows and an estimate of
what is left. The estimate leaves out the time of the compiler, which comes once, and the first
point of a search, which starts from nothing. The metric is computed every half second, more often
in the first ten seconds of a fit, and always less often where that would take more than a tenth of
the time.
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
from auctor.reports.info import MetricStep

#: Most seconds between two measurements of the metric.
MEASURE = 0.5
#: The same as a share of the seconds so far, so that short fits are measured along their way too.
MEASURE_SHARE = 0.05
#: Steps over which the rate of the gap is taken.
RECENT = 12

#: Points of a search that must be done before what is left is estimated: the first starts from
#: nothing and says little of the others. Set by hand.
POINTS = 3
#: What is said when the compiler begins for the first time.
COMPILING = "compiling for the first run: this takes seconds once, later runs start at once"

#: The metric on held-out rows, from the parameters and the position of the class.
Measure = Callable[[FloatArray, int], float]


class Line(Protocol):
    """Where progress is written."""

    pause: float

    def show(self, text: str) -> None:
        """Replace or follow the last line."""

    def note(self, text: str) -> None:
        """Write a line that stays."""

    def close(self) -> None:
        """Leave the place clean."""


class Progress(Watcher):
    """Follows fits and writes a line about them.

    Parameters
    ----------
    line : Line, optional
        Where to write; nowhere if ``None``.
    measure : callable, optional
        The metric on held-out rows.
    name : str
        Of that metric.
    clock : callable
        Seconds.

    Attributes
    ----------
    steps : list of MetricStep
        The metric along the fit.
    nonzeros : dict
        For each strength of the paths, numbers of columns in the models, one per fold and class.
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
        self._to_come = 0  # points of the paths after this one
        self._points: list[float] = []  # seconds of each point of the search
        self._last_point = 0.0
        self._compiled, self._compiling_since = 0.0, math.nan
        self._noted = False
        self._shown = self._measured = -math.inf
        self._value = math.nan

    def watch_rows(self, measure: Measure, name: str) -> None:
        """Measure on held-out rows from now on."""
        self._measure, self._name = measure, name

    # --- what a fit tells ---------------------------------------------------------------------

    def on_stage(self, stage: str, number: int, total: int) -> None:
        """A part of a fit begins."""
        if stage != "class":
            self._stages = {}
        self._stages[stage] = (number, total)
        if stage == "fold" and number == 1:
            self._points = []
        self._last_point = self._working()
        self._value, self._measured = math.nan, -math.inf

    def on_plan(self, points: int) -> None:
        """So many points of paths are to come after the path that begins."""
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
        """A solve begins."""
        self._target = target
        self._gaps.clear()

    def on_step(self, step: Step) -> None:
        """A solve took a step."""
        if step.gap > 0.0 and math.isfinite(step.gap):
            self._gaps.append((self._working(), step.gap))
        measured = step.iteration > 0 and self._look(step.w, step.seconds)  # the start says nothing
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
        """A path has come to a strength."""
        columns = int(np.count_nonzero(solution.coef))
        self.nonzeros.setdefault(strength, []).append(columns)
        now = self._working()
        self._points.append(now - self._last_point)
        self._last_point = now
        if not self._due():
            return
        at, classes = self._stages.get("class", (1, 1))
        points = total - number + (classes - at) * total + classes * self._to_come
        self._look(np.append(solution.coef, solution.intercept), sum(self._points))
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
        """Show what is done besides fitting."""
        self._shown = self._clock()
        self._show([text])

    def close(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._line.close()

    def _working(self) -> float:
        """Seconds by the clock, without those of the compiler."""
        return self._clock() - self._compiled

    def _due(self) -> bool:
        """Whether it is time to write again."""
        if self._line is None or self._clock() - self._shown < self._line.pause:
            return False
        self._shown = self._clock()
        return True

    def _show(self, parts: list[str]) -> None:
        if self._line is not None:
            self._line.show("  ".join(parts))

    def _where(self) -> list[str]:
        return [f"{name} {at}/{count}" for name, (at, count) in self._stages.items() if count > 1]

    def _held_out(self) -> list[str]:
        return [] if math.isnan(self._value) else [f"held-out {self._name} {self._value:.4f}"]

    def _look(self, w: FloatArray, seconds: float) -> bool:
        """Measure on the held-out rows, unless it is too early for that; whether it was done."""
        start = self._clock()
        if self._measure is None or "calibration fold" in self._stages or start < self._measured:
            return False
        self._value = self._measure(w, self._stages.get("class", (1, 1))[0] - 1)
        end = self._clock()
        self._measured = end + max(min(MEASURE, MEASURE_SHARE * seconds), 9.0 * (end - start))
        return True


def per_point(seconds: list[float]) -> float:
    """Seconds that a point of a search takes, without the first; NaN if that is not known yet.

    Examples
    --------
    >>> per_point([9.0, 0.5, 1.5]), per_point([9.0, 0.5])
    (1.0, nan)
    """
    if len(seconds) < POINTS:
        return math.nan
    return sum(seconds[1:]) / (len(seconds) - 1)


def remaining(gaps: list[tuple[float, float]], target: float) -> float:
    """Seconds until a gap reaches its target if it goes on falling as it did; NaN if not known.

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
    """A time as people say it.

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
