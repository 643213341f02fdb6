"""A shared thread pool for kernels that release the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from auctor.core.checks import check_int
from auctor.core.types import Array

#: Multiply-adds of a product from which several threads are used. Set by hand: in smaller products,
#: handing a task to a thread (tens of microseconds) takes longer than the product.
SERIAL_WORK = 60_000

_pool: ThreadPoolExecutor | None = None


def _forget_pool() -> None:
    """Drop the pool in a forked child, whose threads did not survive the fork."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def available_threads(n_threads: int | None = None) -> int:
    """Number of threads: ``n_threads`` where given, else the cores that this process may use.

    ``OMP_NUM_THREADS`` caps the default, as process pools set it to share cores between workers.

    Examples
    --------
    >>> available_threads(3)
    3
    """
    if n_threads is not None:
        return check_int("auctor", "n_threads", n_threads, low=1)
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def run_tasks(tasks: Sequence[Callable[[], object]], n_threads: int) -> None:
    """Run the tasks on up to ``n_threads`` threads, the calling one included; wait for all."""
    global _pool
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
        for task in tasks[first::workers]:
            task()

    futures = [_pool.submit(run_share, k) for k in range(1, workers)]
    run_share(0)
    for future in futures:
        future.result()


@lru_cache(maxsize=1)
def _blas() -> Any:
    """Handle on the loaded BLAS libraries' own thread pools, or ``None``."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


class _Quiet(threading.local):
    """Whether this thread already limits BLAS to one thread; the limit is slow to set."""

    on = False


_quiet = _Quiet()


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Restrict BLAS to the calling thread inside the block.

    BLAS threads spin while they are idle and take cores from the kernels; on small
    factorisations they cost more than they save. Large products are cut into strips that
    `run_tasks` runs in parallel.
    """
    controller = None if _quiet.on else _blas()
    if controller is None:
        yield
        return
    with controller.limit(limits=1, user_api="blas"):
        _quiet.on = True
        try:
            yield
        finally:
            _quiet.on = False


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
