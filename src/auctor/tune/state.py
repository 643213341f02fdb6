"""The state of a search between calls, and its conversion to JSON and back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import numpy as np

from auctor.core.codec import conforms
from auctor.core.types import FloatArray

#: What a point is asked for.
ROLES = ("design", "trial", "geometry", "spread", "repeat")
#: Largest size of a value; a larger one counts as a failed evaluation, as models would overflow.
LARGEST_VALUE = 1e100
#: Largest entry of a Hessian: values of that size at the smallest radius.
_LARGEST_SECOND = 1e150
#: Largest count that a state read from a file may have.
_MOST = 1 << 53


@dataclass
class Request:
    """A point that was asked for and whose value is not told yet.

    ``role`` is "design", "trial", "geometry", "spread" or "repeat". A trial, a step of the model,
    has the predicted decrease, the index of the incumbent it started from, and its length.
    """

    point: FloatArray
    role: str
    predicted: float = 0.0
    origin: int = -1
    length: float = 0.0
    #: Index of the member that the point is meant to replace.
    leaves: int = -1
    #: Number of values told before it was asked for.
    since: int = 0


@dataclass
class PausedRun:
    """A run that was paused because its value hardly changed any more; it can be resumed.

    Members and centre are indices; ``hessian`` is that of its last model, in units of the cube.
    """

    run: int
    members: list[int]
    center: int
    resolution: float
    hessian: FloatArray | None


@dataclass
class SearchState:
    """The state of a search, on which the next point depends."""

    dims: int
    points: list[FloatArray] = field(default_factory=list)
    #: Mean of the values told for each point; NaN if none was finite.
    values: list[float] = field(default_factory=list)
    #: Number of finite values in that mean.
    counts: list[int] = field(default_factory=list)
    #: Number of the run in which each point was told first.
    runs: list[int] = field(default_factory=list)
    #: Indices of the points that the model interpolates.
    members: list[int] = field(default_factory=list)
    #: Index of the incumbent, the best member, of the current run; -1 before there is one.
    center: int = -1
    radius: float = 0.1
    resolution: float = 0.1
    #: Value of the incumbent when the resolution was last lowered; None before that in a run.
    level_value: float | None = None
    queue: list[FloatArray] = field(default_factory=list)
    pending: list[Request] = field(default_factory=list)
    #: Hessian of the last model, in units of the cube.
    hessian: FloatArray | None = None
    run: int = 0
    #: The best paused run.
    aside: PausedRun | None = None
    failures: int = 0
    #: Length of the last told trial and its ratio of actual to predicted decrease, if it failed.
    last_failure: tuple[float, float] | None = None
    #: Indices of the end points of earlier runs.
    ends: list[int] = field(default_factory=list)
    #: Squared differences of repeated values from their means, and their degrees of freedom; both
    #: are halved at each repeat.
    spread: float = 0.0
    freedom: float = 0.0
    n_repeats: int = 0
    n_failed: int = 0
    n_told: int = 0

    def best(self) -> int:
        """Index of the lowest value so far; -1 if there is none."""
        if not self.values or np.isnan(self.values).all():
            return -1
        return int(np.nanargmin(self.values))

    def noise(self) -> float:
        """Standard deviation of repeated values; 0 if nothing was repeated."""
        return float(np.sqrt(self.spread / self.freedom)) if self.freedom else 0.0

    def to_json(self) -> dict[str, Any]:
        """The state as lists and numbers; failed values become None."""
        kept = dict(vars(self))
        kept["points"] = [point.tolist() for point in self.points]
        kept["queue"] = [point.tolist() for point in self.queue]
        kept["values"] = [None if np.isnan(value) else value for value in self.values]
        kept["hessian"] = _listed(self.hessian)
        if self.aside is not None:
            kept["aside"] = vars(self.aside) | {"hessian": _listed(self.aside.hessian)}
        kept["pending"] = [vars(one) | {"point": one.point.tolist()} for one in self.pending]
        return kept

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> SearchState:
        """The inverse of `to_json`; raises ``ValueError`` for a state that no search has."""
        read = dict(kept)
        read["points"] = [np.array(point, dtype=np.float64) for point in kept["points"]]
        read["queue"] = [np.array(point, dtype=np.float64) for point in kept["queue"]]
        read["values"] = [np.nan if value is None else float(value) for value in kept["values"]]
        read["hessian"] = _matrix(kept["hessian"])
        if kept["aside"] is not None:
            aside = kept["aside"] | {"hessian": _matrix(kept["aside"]["hessian"])}
            read["aside"] = PausedRun(**aside)
        read["pending"] = [
            Request(**(one | {"point": np.array(one["point"], dtype=np.float64)}))
            for one in kept["pending"]
        ]
        if kept["last_failure"] is not None:
            read["last_failure"] = tuple(kept["last_failure"])
        state = cls(**read)
        state._check()
        return state

    def _check(self) -> None:
        """Raise ``ValueError`` if fields have the wrong type, shape or range."""
        for part in (self, *self.pending, *([] if self.aside is None else [self.aside])):
            for name, hint in get_type_hints(type(part)).items():
                _need(conforms(getattr(part, name), hint), name)
        d, n = self.dims, len(self.points)
        # Points of the cube, and at least one that was told or is to be asked for.
        points = [*self.points, *self.queue, *(one.point for one in self.pending)]
        _need(d >= 1 and bool(points), "dims")
        for point in points:
            _need(point.shape == (d,) and bool(((point >= 0.0) & (point <= 1.0)).all()), "points")
        _need(len(self.values) == len(self.counts) == len(self.runs) == n, "values")
        for value, count in zip(self.values, self.counts, strict=True):
            _need(
                not abs(value) > LARGEST_VALUE and (count == 0) == math.isnan(value) and count >= 0,
                "counts",
            )
        # Indices of points with values; the centre is one of the members.
        aside = self.aside
        sets = [(self.members, self.center)]
        sets += [] if aside is None else [(aside.members, aside.center)]
        for members, center in sets:
            _need(len(set(members)) == len(members), "members")
            _need(all(0 <= i < n and self.counts[i] > 0 for i in members), "members")
            _need(center in members or (center == -1 and members is self.members), "center")
        _need(all(0 <= i < n and self.counts[i] > 0 for i in self.ends), "ends")
        _need(all(0 <= run <= _MOST for run in (*self.runs, self.run)), "runs")
        for one in self.pending:
            _need(one.role in ROLES and -1 <= one.origin < n and -1 <= one.leaves < n, "pending")
            _need(one.role != "trial" or (one.predicted > 0.0 and one.length > 0.0), "pending")
        # Sizes, which are finite and no larger than the cube.
        for size in (self.radius, self.resolution, 0.5 if aside is None else aside.resolution):
            _need(0.0 < size <= 1.0, "radius")
        floats = [one.predicted + one.length for one in self.pending]
        floats += [self.spread, self.freedom, self.level_value or 0.0, *(self.last_failure or ())]
        _need(all(map(math.isfinite, floats)), "sizes")
        _need(min(self.spread, self.freedom) >= 0.0, "spread")
        for hessian in (self.hessian, None if aside is None else aside.hessian):
            if hessian is not None:
                small = bool((np.abs(hessian) <= _LARGEST_SECOND).all())
                _need(hessian.shape == (d, d) and small, "hessian")
        whole = [self.failures, self.n_repeats, self.n_failed, self.n_told]
        whole += [one.since for one in self.pending]
        _need(all(0 <= count <= _MOST for count in whole), "counts")


def _need(good: bool, name: str) -> None:
    if not good:
        raise ValueError(f"wrong {name}")


def _listed(matrix: FloatArray | None) -> list[list[float]] | None:
    return None if matrix is None else matrix.tolist()


def _matrix(listed: list[list[float]] | None) -> FloatArray | None:
    return None if listed is None else np.array(listed, dtype=np.float64)
