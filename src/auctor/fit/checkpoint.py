"""Checkpoints of a fit: the best point of every solve, so that an ended fit can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from auctor.core.archive import broken, read_archive, write_archive
from auctor.core.checks import check_int
from auctor.core.codec import Arrays, Codec, as_json
from auctor.core.errors import AuctorError, DataError, speaks
from auctor.core.files import AnyPath, check_destination, sole_writer
from auctor.core.result import Step
from auctor.core.types import Array, FloatArray
from auctor.core.watching import Watcher, watch
from auctor.solvers.lbfgs import Pairs

KIND = "fit checkpoint"
#: Version of the file format.
FORMAT = 2
#: Default number of solver steps between two writes: an interrupted run loses this many.
EVERY = 10
#: Largest share of the run time that writing may take; where it is slow, fewer steps are written.
SHARE = 0.1
#: Parameters that do not define what is fitted: a resumed fit may have other values.
FREE = ("solver", "tol", "max_iter", "max_seconds", "n_threads", "verbose", "random_state")
PLAIN = (bool, int, float, str, type(None))


@dataclass(eq=False)
class Progress:
    """What a checkpoint knows of a fit: arrays and numbers, and no bound and no gap.

    Parameters
    ----------
    points : list of (n_params,) arrays
        The best parameters of every solve, in the order in which a fit runs them.
    learned : Pairs, optional
        What the solver of the last solve had learned beside its point.
    """

    points: list[FloatArray] = field(default_factory=list)
    learned: Pairs | None = None

    def __post_init__(self) -> None:
        if not all(point.ndim == 1 and np.isfinite(point).all() for point in self.points):
            raise ValueError("a point that is not a vector of finite numbers")


CODEC = Codec(lambda where: {"fit.Progress": Progress, "solvers.Pairs": Pairs})


class Checkpoint(Watcher):
    """Writes the best point of every solve to a file, from which the same fit can be resumed.

    A resumed solve starts at the best point of the file. Quasi-Newton solvers (`Lbfgs`, `Lhac`) go
    on with the curvature pairs that they had and take the steps that they would have taken, up to
    rounding. All others start again at that point: cutting planes, for example, are not stored. A
    file holds no bound and no gap: these are computed again, and a damaged or forged file cannot
    make a solution look better than it is.

    Parameters
    ----------
    path : path
        Read if it exists. Writes are atomic: the file is never half written.
    data : mapping
        Identifies the rows, such as `Sharded.fingerprint`; a file of other rows is refused.
    parameters : mapping
        Parameters of the fit; a file with other values is refused, except for the solver, its
        budget and its tolerance, of which `changed` tells.
    every : int >= 1
        Steps between two writes.
    inner : Watcher, optional
        Another watcher, to which all calls are passed on.

    Attributes
    ----------
    resumed : bool
        Whether there was a file.
    changed : dict
        The parameters whose values differ from those in the file: name -> value in the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from auctor import MetricClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = MetricClassifier("log_loss", tol=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.ckpt")
    ...     with Checkpoint(path, {"rows": 4}, model.get_params()).keeping() as checkpoint:
    ...         _ = model.continue_from(checkpoint).fit(X, y)
    ...     model = model.set_params(tol=1e-6, max_iter=50)
    ...     again = Checkpoint(path, {"rows": 4}, model.get_params())
    >>> again.resumed, again.changed
    (True, {'max_iter': 1000, 'tol': 0.1})
    """

    @speaks
    def __init__(
        self,
        path: AnyPath,
        data: Mapping[str, Any],
        parameters: Mapping[str, Any],
        *,
        every: int = EVERY,
        inner: Watcher | None = None,
    ) -> None:
        check_int("every", every, low=1)
        self.path = check_destination(path)
        # Free parameters are only shown: objects, such as solvers, are stored as text.
        plain = {
            name: repr(value) if name in FREE and not isinstance(value, PLAIN) else value
            for name, value in parameters.items()
        }
        self._of = {"data": as_json(dict(data)), "parameters": as_json(plain)}
        self._every, self._inner = every, inner or Watcher()
        self._points: list[Array] = []
        self._lowest: list[float] = []
        self._count = self._steps = 0
        self._written, self._took = 0.0, 0.0
        self._learned: Callable[[], object] = lambda: None
        self._read = Progress()
        self.changed: dict[str, Any] = {}
        self.resumed = self.path.exists()
        if self.resumed:
            self._read, self.changed = _read(self.path, self._of)

    @contextmanager
    def keeping(self) -> Iterator[Self]:
        """Watch the fit of the block; the best point is written at its end, also on an error.

        The fit goes on from the file if it is told to: ``model.continue_from(checkpoint)``.
        """
        with sole_writer(self.path):
            try:
                with watch(self):
                    yield self
            finally:
                if self._points:
                    self.write()

    def start(self) -> Array | None:
        """Start of the next solve: its best point in the file, or ``None``."""
        points = self._read.points
        return points[self._count] if self._count < len(points) else None

    def learned(self) -> object:
        """What the solver of the next solve had learned, or ``None``."""
        last = self._count == len(self._read.points) - 1
        return self._read.learned if last else None

    def on_fit(self, target: float) -> None:
        """Called when a solve begins."""
        self._count, self._steps = self._count + 1, 0
        self._inner.on_fit(target)

    def on_step(self, step: Step) -> bool | None:
        """Keep the best point; write it every ``every`` steps, within `SHARE` of the time."""
        if len(self._points) < self._count:
            self._points.append(step.w.copy())
            self._lowest.append(step.value)
        elif step.value <= self._lowest[-1]:
            self._points[-1], self._lowest[-1] = step.w.copy(), step.value
        self._steps += 1
        self._learned = step.learned
        waited = time.perf_counter() - self._written
        if self._steps % self._every == 0 and waited * SHARE >= self._took:
            self.write()
        return self._inner.on_step(step)

    def on_stage(self, stage: str, number: int, total: int) -> None:
        """Called when a stage of the fit begins."""
        self._inner.on_stage(stage, number, total)

    def on_point(self, strength: float, solution: Any, number: int, total: int) -> bool | None:
        """Called when a path of strengths has solved one of them."""
        return self._inner.on_point(strength, solution, number, total)

    @speaks
    def write(self) -> None:
        """Write the best points, and what the solver has learned, to the file."""
        start = time.perf_counter()
        # The points of solves that this run has not reached yet stay those of the file.
        points = [*self._points, *self._read.points[len(self._points) :]]
        learned = self._learned() if len(points) == len(self._points) else self._read.learned
        arrays: Arrays = {}
        kept = Progress(points, learned if isinstance(learned, Pairs) else None)
        meta = {"format": FORMAT, **self._of, "progress": CODEC.encode(kept, "progress", arrays)}
        write_archive(self.path, meta, arrays, kind=KIND)
        self._written = time.perf_counter()
        self._took = self._written - start


def _read(path: Path, wanted: Mapping[str, Any]) -> tuple[Progress, dict[str, Any]]:
    """The contents of a file, and the free parameters that had other values.

    Raises if it was written for other rows or other parameters.
    """
    meta, arrays = read_archive(path, format=FORMAT, kind=KIND)
    changed = {}
    for what in ("data", "parameters"):
        known, now = meta.get(what), wanted[what]
        known = known if isinstance(known, dict) else {}
        differ = [name for name in {**now, **known} if known.get(name) != now.get(name)]
        if what == "parameters":
            changed = {name: known.get(name) for name in differ if name in FREE}
            differ = [name for name in differ if name not in FREE]
        if differ:
            raise DataError(
                f"the {what} that {path.name} was written with; got another {differ[0]}: "
                f"{now.get(differ[0])!r} instead of {known.get(differ[0])!r}. Pass those, or "
                "remove the checkpoint to start again."
            )
    try:
        progress = CODEC.read(Progress, meta.get("progress"), arrays)
        if arrays:
            raise ValueError("arrays that belong to nothing")
    except (AuctorError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise broken(path, str(error)) from error
    return progress, changed
