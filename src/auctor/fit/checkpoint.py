"""Checkpoints of a fit: the best point of every solve, so that an ended fit can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auctor.core.archive import read_archive, write_archive
from auctor.core.checks import check_int
from auctor.core.errors import DataError
from auctor.core.files import AnyPath, check_destination
from auctor.core.json import as_json
from auctor.core.result import Step
from auctor.core.types import Array
from auctor.core.watching import Watcher, watch

WHO = "Checkpoint"
KIND = "fit checkpoint"
#: Version of the file format.
FORMAT = 1
#: Default number of solver steps between two writes. Set by hand: an interrupted run loses this
#: many.
EVERY = 10
#: Share of the run time that writing may take; where a write is slow, fewer steps are written. Set
#: by hand.
SHARE = 0.1


class Checkpoint(Watcher):
    """Writes the best point of every solve to a file, from which the same fit can be resumed.

    The file has the best parameters of every solve, in the order in which a fit runs them, and the
    solver state of the last solve: curvature, cutting planes, smoothing widths, random numbers.

    Parameters
    ----------
    path : path
        Read if it exists. Writes are atomic: the file is never half written.
    data : mapping
        Identifies the rows, such as `Sharded.fingerprint`; a file of other rows is refused.
    parameters : mapping
        Parameters of the fit; a file with other values is refused.
    every : int >= 1
        Steps between two writes.
    inner : Watcher, optional
        Another watcher, to which all calls are passed on.

    Examples
    --------
    >>> import os, tempfile
    >>> from auctor import MetricClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.ckpt")
    ...     checkpoint = Checkpoint(path, {"rows": 4}, {"metric": "log_loss"})
    ...     with checkpoint.keeping():
    ...         model = MetricClassifier("log_loss").fit(X, y)
    ...     Checkpoint(path, {"rows": 4}, {"metric": "log_loss"}).resumed
    True
    """

    def __init__(
        self,
        path: AnyPath,
        data: Mapping[str, Any],
        parameters: Mapping[str, Any],
        *,
        every: int = EVERY,
        inner: Watcher | None = None,
    ) -> None:
        check_int(WHO, "every", every, low=1)
        self.path = check_destination(path, who=WHO)
        self._of = {"data": as_json(dict(data)), "parameters": as_json(dict(parameters))}
        self._every, self._inner = every, inner or Watcher()
        self._points: dict[str, Array] = {}
        self._lowest: dict[str, float] = {}
        self._solve = ""
        self._count = self._steps = 0
        self._written, self._took = 0.0, 0.0
        self._freeze: Callable[[], bytes | None] | None = None
        self.resumed = self.path.exists()
        if self.resumed:
            self._points = _read(self.path, self._of)

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Watch the fits of the block; the best point is written at its end, also on an error."""
        try:
            with watch(self):
                yield
        finally:
            if self._points:
                self.write()

    def start(self) -> Array | None:
        """Start of the next solve: its best point in the file, or ``None``."""
        return self._points.get(f"w{self._count}")

    def state(self) -> bytes | None:
        """Solver state from which the next solve continues, or ``None``."""
        known = self._points.get(f"s{self._count}")
        return None if known is None else known.tobytes()

    def on_fit(self, target: float) -> None:
        """Called when a solve begins."""
        self._solve, self._steps = f"w{self._count}", 0
        self._count += 1
        self._inner.on_fit(target)

    def on_step(self, step: Step) -> bool | None:
        """Keep the best point; write it every ``every`` steps, within `SHARE` of the time."""
        if step.value <= self._lowest.get(self._solve, float("inf")):
            self._lowest[self._solve] = step.value
            self._points[self._solve] = step.w.copy()
        self._steps += 1
        self._freeze = step.freeze
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

    def write(self) -> None:
        """Write the best points and the solver state to the file."""
        start = time.perf_counter()
        state = None if self._freeze is None else self._freeze()
        # Only the solve that is running has a state; that of an earlier one is dropped.
        for name in [name for name in self._points if name.startswith("s")]:
            del self._points[name]
        if state is not None:
            self._points[f"s{self._solve[1:]}"] = np.frombuffer(state, dtype=np.uint8)
        write_archive(self.path, {"format": FORMAT, **self._of}, self._points, who=WHO, kind=KIND)
        self._written = time.perf_counter()
        self._took = self._written - start


def _read(path: Path, wanted: Mapping[str, Any]) -> dict[str, Array]:
    """The points in a file; raises if it was written for other rows or parameters."""
    meta, points = read_archive(path, who=WHO, format=FORMAT, kind=KIND)
    for what in ("data", "parameters"):
        found, now = meta.get(what), wanted[what]
        if found == now:
            continue
        known = found if isinstance(found, dict) else {}
        names = [name for name in now if known.get(name) != now[name]] or sorted(known)
        raise DataError(
            WHO,
            needs=f"the {what} that {path.name} was written with",
            got=f"another {names[0]}: {now.get(names[0])!r} instead of {known.get(names[0])!r}",
            todo="Pass those, or remove the checkpoint to start again.",
        )
    return points
