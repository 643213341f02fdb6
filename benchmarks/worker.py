"""The process in which one competitor runs: ``python -m benchmarks.worker FD STEM THREADS``.

It answers requests from `benchmarks.workers` on a socket, one at a time. Being a process of its
own it can be ended when a solve takes too long, and has its own interpreter and thread limits.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.competitors import Package, load
from benchmarks.problems.forms import Form

#: A call shorter than this is repeated untimed until as much has passed, so that cores are awake.
AWAKE = 0.03


class OverTime(Exception):
    """The alarm rang."""


class Server:
    """One package, the current data set, and what was compiled so far."""

    def __init__(self, package: Package, threads: int) -> None:
        self.package, self.threads = package, threads
        self.layouts: dict[str, object] = {}
        self.source: Path | None = None
        self.warm: set[tuple] = set()

    def load(self, folder: str) -> dict[str, object]:
        """Forget the last data set; layouts of the new one are made when first asked for."""
        self.layouts.clear()
        gc.collect()
        self.source = Path(folder)
        self.y = np.load(self.source / "y.npy")
        return {}

    def layout(self, form: str) -> object:
        """A layout of the current data set."""
        if form not in self.layouts:
            self.layouts[form] = as_layout(read(self.source), form)
        return self.layouts[form]

    def prepare(self, layout: str, mode: str, form: Form, strengths: list | None) -> dict:
        """Load the data and compile on a tiny problem; on nobody's clock."""
        self.layout(layout)
        key = (layout, mode, form.kind, strengths is None)
        if key not in self.warm:
            X, y, small = tiny(form)
            levels = None if strengths is None else small.strength * np.array([1.0, 0.5])
            self.solve(as_layout(X, layout), y, small, levels, 1e-2, mode)
            self.warm.add(key)
        gc.collect()
        gc.freeze()  # what is imported by now need not be looked at before every timed solve
        return {}

    def solve(
        self, X: object, y: np.ndarray, form: Form, strengths: object, tol: float, mode: str
    ) -> tuple[np.ndarray, dict[str, object]]:
        """One fit, or one path where strengths are given; coefficients as rows."""
        if strengths is None:
            answer = self.package.fit(X, y, form, tol, mode, self.threads)
            return np.atleast_2d(answer.coef), answer.work
        return self.package.path(X, y, form, np.asarray(strengths), tol, mode, self.threads)

    def run(
        self, layout: str, mode: str, form: Form, strengths: list | None, tol: float, cap: float,
        short: bool,
    ) -> dict[str, object]:  # fmt: skip
        """Time one solve; ``short`` ones are first repeated untimed for a moment."""
        X = self.layout(layout)
        os.environ["AUCTOR_BENCH_SECONDS"] = repr(0.9 * cap)
        gc.collect()
        end = time.perf_counter() + AWAKE
        while short and time.perf_counter() < end:
            self.solve(X, self.y, form, strengths, tol, mode)
        gc.disable()
        try:
            cpu, wall = time.process_time(), time.perf_counter()
            try:
                with alarm(cap):
                    coefs, work = self.solve(X, self.y, form, strengths, tol, mode)
            except Exception as error:
                if time.perf_counter() - wall >= cap:  # some turn the alarm into another error
                    raise OverTime from error
                raise
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        finally:
            gc.enable()
        packed = sp.csr_array(np.asarray(coefs, dtype=np.float64))
        parts = [a.astype(t).tobytes() for a, t in _parts(packed)]
        return {"wall": wall, "cpu": cpu, "work": work, "coefs": parts, "shape": packed.shape}


def _parts(matrix: sp.csr_array) -> list[tuple[np.ndarray, type]]:
    return [(matrix.data, np.float64), (matrix.indices, np.int64), (matrix.indptr, np.int64)]


@contextlib.contextmanager
def alarm(seconds: float) -> object:
    """Raise `OverTime` in Python code; compiled code is ended from outside a little later."""

    def ring(*_: object) -> None:
        raise OverTime

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def read(folder: Path) -> object:
    """The matrix that `benchmarks.workers.store` wrote."""
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy")
    parts = tuple(np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=tuple(np.load(folder / "shape.npy")))


def as_layout(X: object, form: str) -> object:
    """CSR, CSC, dense C order or dense Fortran order, with 32-bit indices."""
    if form == "dense":
        return np.ascontiguousarray(X)
    if form == "fortran":
        return np.asfortranarray(X)
    made = (sp.csr_array if form == "csr" else sp.csc_array)(X)
    made.sort_indices()
    made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    return made


def tiny(form: Form) -> tuple[np.ndarray, np.ndarray, Form]:
    """A problem that takes no time once everything is compiled."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6 * form.group)) * (rng.random((60, 6 * form.group)) < 0.7)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    return X, y, form.at(0.1 if form.penalty == "l2" else 0.2 * form.strength_max(X, y))


def main() -> None:
    """Answer until the other side closes the socket."""
    connection = Connection(int(sys.argv[1]))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # compiled code that prints
    server = Server(load(sys.argv[2]), int(sys.argv[3]))
    while True:
        try:
            request = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            answer = getattr(server, request.pop("op"))(**request)
        except OverTime:
            answer = {"over": True}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        connection.send_bytes(pickle.dumps(answer, protocol=4))


if __name__ == "__main__":
    main()
