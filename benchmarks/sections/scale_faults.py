"""A worker or task killed in mid-fit, and a scheduler: how long it takes, and what it costs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from auctor.core.result import Status
from auctor.data import Sharded
from auctor.losses import Logistic, PairwiseSquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Lbfgs
from benchmarks.problems import clusters
from benchmarks.run import Settings, bar, table
from benchmarks.sections.scale_answers import apart

name = "scale_faults"
title = "A worker and a scheduler of Dask, and a task of Spark, killed in mid-fit"
ROWS, COLUMNS, CHUNK = 4000, 20, 500
#: Step of L-BFGS after which somebody is killed.
STEP = 4
#: Seconds in which a fit must go on, or end.
SECONDS = 30.0
START_SECONDS = 240
CASES = {"rows": (Logistic(), np.inf), "pairs, on the workers": (PairwiseSquaredHinge(), 0.0)}


def run(settings: Settings) -> dict[str, object]:
    """Two losses with a worker or task killed; one with the scheduler killed, then resumed."""
    if lacks := clusters.lacks_dask():
        return {"title": title, "bars": [], "tables": [], "notes": [lacks]}
    killed = [["Dask", case, *_worker(*CASES[case])] for case in CASES]
    lacks_spark = clusters.lacks_spark()
    if not lacks_spark:
        killed += [["Spark", case, *_task(*CASES[case])] for case in CASES]
    end, lost, cost = _scheduler()
    return {
        "title": title,
        "bars": [
            bar("worker: longest step, s", max(row[2] for row in killed), SECONDS, at_least=False),
            bar("worker: |dw| / |w|", max(row[3] for row in killed), 1e-12, at_least=False),
            bar("scheduler: seconds to the best point", end, SECONDS, at_least=False),
            bar("gone on with: evaluations / those of one fit", cost, 1.1, at_least=False),
        ],
        "tables": [
            table(
                "A worker, or a task, killed (-9)",
                ["engine", "loss", "longest step, s", "|dw| / |w|"],
                killed,
            ),
            table(
                "The scheduler killed (-9)", ["ended as", "seconds", "evaluations, all / one fit"],
                [[lost, end, cost]],
            ),
        ],
        "notes": [
            f"L-BFGS with l2 on {ROWS:,} rows in {ROWS // CHUNK} partitions on two workers; killed "
            f"after step {STEP}. Another cluster goes on from the state that was kept.",
            lacks_spark
            or "Spark has two slots. A lost task ends the barrier job; another one reads the rows "
            "again, in new processes of Python, which is what takes the time.",
        ],
    }  # fmt: skip


def _rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    return X, np.where(X @ rng.normal(size=COLUMNS) + 3.0 * rng.normal(size=ROWS) > 6.0, 1.0, -1.0)


def _data(client: object) -> Sharded:
    import dask.array as arrays

    from auctor.dask import from_dask

    X, y = _rows()
    rows, labels = arrays.from_array(X, chunks=(CHUNK, COLUMNS)), arrays.from_array(y, chunks=CHUNK)
    return from_dask(rows, labels, client=client)


def _worker(loss: object, gather_below: float) -> tuple[float, float]:
    with clusters.dask(2) as client:
        data = _data(client)
        return _killed(data, loss, gather_below, lambda: next(iter(client.run(os.getpid).values())))


def _task(loss: object, gather_below: float) -> tuple[float, float]:
    from auctor.spark import from_spark

    X, y = _rows()
    with tempfile.TemporaryDirectory() as room, clusters.spark() as session:
        frame = clusters.vectors(session, Path(room, "rows"), csr_array(X), y)
        data = from_spark(frame, "features", "label")
        try:
            return _killed(data, loss, gather_below, _process_of_a_task)
        finally:
            data.workers.close()


def _process_of_a_task() -> int:
    """A process of Python that Spark started and that started none itself."""
    import psutil

    below = psutil.Process().children(recursive=True)
    return next(
        one.pid
        for one in below
        if "pyspark.daemon" in one.cmdline() and one.parent() in below and not one.children()
    )


def _killed(
    data: Sharded, loss: object, gather_below: float, process: Callable[[], int]
) -> tuple[float, float]:
    """Seconds of the longest step, and how far the answer is from that of a quiet fit."""
    data.workers.gather_below = gather_below
    at = []

    def kill(step: object) -> None:
        at.append(step.seconds)
        if step.iteration == STEP:
            os.kill(process(), signal.SIGKILL)

    wanted = minimise(Problem(loss, L2(1e-4), data), Lbfgs(), tol=1e-9)
    found = minimise(Problem(loss, L2(1e-4), data), Lbfgs(), tol=1e-9, on_step=kill)
    return float(np.diff(at).max()), apart(found.coef, wanted.coef)


def _scheduler() -> tuple[float, str, float]:
    """Seconds from the kill to the best point, the status, and the evaluations of both parts."""
    with clusters.dask(2) as client:
        problem = Problem(Logistic(), L2(1e-4), _data(client))
        whole = minimise(problem, Lbfgs(), tol=1e-9)
    with tempfile.TemporaryDirectory() as room:
        kept, killed = [], []

        def solve(client: object, stop: Callable[[], None]) -> object:
            def note(step: object) -> None:
                kept[:] = [step.w.copy(), step.learned()]
                if step.iteration == STEP:
                    stop()
                    killed.append(time.perf_counter())

            problem = Problem(Logistic(), L2(1e-4), _data(client))
            return minimise(problem, Lbfgs(), tol=1e-9, on_step=note, on_failure="ignore")

        lost = _fragile(Path(room, "scheduler.json"), solve)
        end = time.perf_counter() - killed[0]
    assert lost.status is Status.LOST
    with clusters.dask(2) as client:
        problem = Problem(Logistic(), L2(1e-4), _data(client))
        rest = minimise(problem, Lbfgs(), tol=1e-9, w0=kept[0], learned=kept[1])
    assert apart(rest.coef, whole.coef) < 1e-6
    return end, lost.status.value, (lost.evaluations + rest.evaluations) / whole.evaluations


def _fragile(note: Path, solve: Callable[[object, Callable[[], None]], object]) -> object:
    """What a function of a client finds, and of what kills the scheduler of its own."""
    import distributed

    shared = ["--host", clusters.LOOPBACK, "--no-dashboard", "--scheduler-file", str(note)]
    parts = {"dask_scheduler": ["--port", "0"], "dask_worker": ["--no-nanny"]}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler, worker = (
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{one}", *shared, *more], **quiet)
        for one, more in parts.items()
    )
    try:
        client = distributed.Client(
            scheduler_file=str(note), set_as_default=False, timeout=START_SECONDS
        )
        client.wait_for_workers(1, timeout=START_SECONDS)
        found = solve(client, scheduler.kill)
        client.close(timeout=1)
        return found
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
