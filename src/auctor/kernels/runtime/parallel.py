"""A shared thread pool for kernels that release the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from auctor.core.checks import check_int
from auctor.core.types import Array

#: Multiply-adds of a product from which several threads are used.
SERIAL_WORK = 60_000

_pool: ThreadPoolExecutor | None = None

#: Threads that the code running now may use; ``None``: all cores.
_limit: ContextVar[int | None] = ContextVar("auctor_threads", default=None)

T = TypeVar("T")


@contextmanager
def limit_threads(n_threads: int | None) -> Iterator[None]:
    """Let the block use ``n_threads`` threads at most; ``None`` changes nothing.

    Examples
    --------
    >>> with limit_threads(1):
    ...     available_threads()
    1
    """
    before = _limit.set(_limit.get() if n_threads is None else available_threads(n_threads))
    try:
        yield
    finally:
        _limit.reset(before)


def available_threads(n_threads: int | None = None) -> int:
    """Number of threads: ``n_threads`` where given, else the limit of the block, else all cores.

    Cores are those that this process may use. ``OMP_NUM_THREADS`` caps them, as process pools set
    it to share cores between workers.

    Examples
    --------
    >>> available_threads(3)
    3
    """
    if n_threads is not None:
        return check_int("n_threads", n_threads, low=1)
    if (most := _limit.get()) is not None:
        return most
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def run_tasks(tasks: Sequence[Callable[[], object]], n_threads: int) -> None:
    """Run the tasks on up to ``n_threads`` threads, the calling one included; wait for all.

    Tasks of tasks share the threads: with two tasks on eight threads, each may use four.
    """
    global _pool
    limit = _limit.get()
    n_threads = n_threads if limit is None else min(n_threads, limit)
    workers = min(n_threads, len(tasks))
    if workers <= 1:
        for task in tasks:
            task()
        return
    # Idle threads cost little, so the pool is made once, large enough for later calls.
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=max(64, workers), thread_name_prefix="auctor")

    # Worker k runs the tasks k, k + workers, ...; the calling thread is worker 0.
    def run_share(first: int) -> None:
        with limit_threads(n_threads // workers):
            for task in tasks[first::workers]:
                task()

    futures = [_pool.submit(run_share, k) for k in range(1, workers)]
    run_share(0)
    for future in futures:
        future.result()


def in_parallel(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Results of independent calls, in their order.

    Examples
    --------
    >>> in_parallel([lambda: 1, lambda: 2])
    [1, 2]
    """
    tasks = list(calls)
    results: list[Any] = [None] * len(tasks)

    def run(k: int) -> None:
        results[k] = tasks[k]()

    run_tasks([partial(run, k) for k in range(len(tasks))], available_threads())
    return results


class _Blas(NamedTuple):
    """The BLAS libraries that are loaded: those with one limit for all threads, and OpenMP's."""

    shared: ThreadpoolController
    by_thread: ThreadpoolController


@lru_cache(maxsize=1)
def _blas() -> _Blas:
    loaded = ThreadpoolController().select(user_api="blas")
    layers = {library.get("threading_layer") for library in loaded.info()} - {"openmp", None}
    return _Blas(
        loaded.select(threading_layer=list(layers)), loaded.select(threading_layer="openmp")
    )


class _Quiet:
    """The blocks of all threads that want BLAS on one thread.

    A limit for all threads is set by the first block and lifted by the last, which another thread
    may run.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._blocks = 0
        self._limit: Any = None

    def enter(self) -> None:
        """Count one more block."""
        with self.lock:
            if self._blocks == 0:
                self._limit = _blas().shared.limit(limits=1)
                _release()
            self._blocks += 1

    def leave(self) -> None:
        """Count one block less."""
        with self.lock:
            self._blocks -= 1
            if self._blocks == 0:
                self._limit.restore_original_limits()
                _release()


def _release() -> None:
    """Let other threads change the limit, which threadpoolctl reserves for the one that set it."""
    with _blas().shared.limit(limits=None):
        pass


_quiet = _Quiet()


def _forget_threads() -> None:
    """Drop the pool and the lock in a forked child, where no thread may be left to release it."""
    global _pool
    _pool, _quiet.lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Restrict BLAS to the calling thread inside the block, and in all of the process.

    BLAS threads spin while they are idle and take cores from the kernels; on small
    factorisations they cost more than they save. Large products are cut into strips that
    `run_tasks` runs in parallel.
    """
    with _blas().by_thread.limit(limits=1):
        _quiet.enter()
        try:
            yield
        finally:
            _quiet.leave()


def even_cuts(n: int, parts: int) -> list[int]:
    """Boundaries of ``parts`` nearly equal ranges of ``range(n)``.

    Examples
    --------
    >>> even_cuts(10, 3)
    [0, 3, 6, 10]
    """
    return [n * k // parts for k in range(parts + 1)]


def balanced_cuts(indptr: Array, parts: int) -> list[int]:
    """Row boundaries of ``parts`` ranges with nearly equal numbers of non-zeros."""
    n = indptr.shape[0] - 1
    if parts <= 1:
        return [0, n]
    total = int(indptr[-1])
    # Numbers of another type would have numpy convert all row pointers first, at every product.
    shares = np.array([total * k // parts for k in range(1, parts)], dtype=indptr.dtype)
    return [0, *(min(int(cut), n) for cut in indptr.searchsorted(shares)), n]
