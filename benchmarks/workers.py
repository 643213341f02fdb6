"""Worker processes, one per competitor and number of threads; they can be ended and restarted."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.child import ROOT
from benchmarks.competitors import Package
from benchmarks.problems.datasets import DataSet

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip
#: Seconds beyond its cap before a solve that ignores the alarm is ended.
GRACE = 0.5
#: Seconds for imports, compilation on a tiny problem and loading the data.
PREPARE = 240.0


class OverCap(Exception):
    """A solve took longer than it was allowed."""


class Refused(Exception):
    """The competitor raised; the text says what."""


@dataclass
class Worker:
    """A process that runs one competitor."""

    stem: str
    package: Package
    threads: int
    process: subprocess.Popen | None = None
    connection: Connection | None = None
    loaded: str | None = None
    prepared: set[tuple] = field(default_factory=set)

    def start(self) -> None:
        """Start the process with its threads limited by the environment."""
        mine, theirs = socket.socketpair()
        env = dict(os.environ, **dict.fromkeys(THREAD_VARIABLES, str(self.threads)))
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        python = getattr(self.package, "python", lambda: sys.executable)()
        self.process = subprocess.Popen(
            [
                python, "-m", "benchmarks.worker", str(theirs.fileno()), self.stem,
                str(self.threads),
            ],
            env=env, pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL, cwd=ROOT,
        )  # fmt: skip
        theirs.close()
        self.connection = Connection(mine.detach())
        self.loaded = None
        self.prepared.clear()

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.connection.close()
            self.process.kill()
            self.process.wait()
        self.process = None

    def ask(self, limit: float, **request: object) -> dict[str, object]:
        """One request; `OverCap` when the answer takes longer than ``limit`` seconds."""
        if self.process is None:
            self.start()
        try:
            self.connection.send_bytes(pickle.dumps(request, protocol=4))
            if not self.connection.poll(limit):
                self.stop()
                raise OverCap
            answer = pickle.loads(self.connection.recv_bytes())
        except (EOFError, OSError) as error:
            self.stop()
            raise Refused(f"the process died ({type(error).__name__})") from error
        if "over" in answer:
            raise OverCap
        if "error" in answer:
            raise Refused(str(answer["error"]))
        return answer

    def prepare(self, folder: str, **request: object) -> None:
        """Data in memory and code compiled."""
        if self.process is None:
            self.start()
        if self.loaded != folder:
            self.ask(PREPARE, op="load", folder=folder)
            self.loaded = folder
            self.prepared.clear()
        key = tuple(map(repr, request.values()))
        if key not in self.prepared:
            try:
                self.ask(PREPARE, op="prepare", **request)
            except OverCap:
                raise Refused(f"compilation and loading took over {PREPARE:g} s") from None
            self.prepared.add(key)

    def run(self, folder: str, *, tol: float, cap: float, short: bool, **request: object) -> dict:
        """Times, work and coefficients (rows) of one solve."""
        self.prepare(folder, **request)
        answer = self.ask(cap + GRACE + 0.06, op="run", tol=tol, cap=cap, short=short, **request)
        data, indices, indptr = (
            np.frombuffer(part, dtype=kind)
            for part, kind in zip(answer["coefs"], (np.float64, np.int64, np.int64), strict=True)
        )
        packed = sp.csr_array((data, indices, indptr), shape=answer["shape"])
        return answer | {"coefs": packed.toarray()}


class Pool:
    """Every worker, and the data set they share through files."""

    def __init__(self) -> None:
        self.workers: dict[tuple[str, int], Worker] = {}
        self.folder = tempfile.TemporaryDirectory()
        self.stored: dict[str, str] = {}

    def worker(self, stem: str, package: Package, threads: int) -> Worker:
        """The process of a competitor, started when first needed."""
        key = (stem, threads)
        if key not in self.workers:
            self.workers[key] = Worker(stem, package, threads)
        return self.workers[key]

    def store(self, data: DataSet) -> str:
        """Write a data set where workers read it; returns the folder."""
        if data.name not in self.stored:
            folder = Path(self.folder.name) / f"set{len(self.stored)}"
            folder.mkdir()
            np.save(folder / "y.npy", data.y)
            if sp.issparse(data.X):
                for part in ("data", "indices", "indptr"):
                    np.save(folder / f"{part}.npy", getattr(data.X, part))
                np.save(folder / "shape.npy", np.array(data.X.shape))
            else:
                np.save(folder / "X.npy", np.ascontiguousarray(data.X))
            self.stored[data.name] = str(folder)
        return self.stored[data.name]

    def close(self) -> None:
        """End all workers and remove the files."""
        for worker in self.workers.values():
            worker.stop()
        self.folder.cleanup()
        self.workers, self.stored = {}, {}
        self.folder = tempfile.TemporaryDirectory()


#: One pool for a whole run: imports and compilation happen once per competitor.
POOL = Pool()
