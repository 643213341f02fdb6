"""Cutting work into ranges and running it on threads."""

import os
import threading
import tracemalloc

import numpy as np
import pytest

from auctor.core.errors import ParameterError
from auctor.kernels.runtime.parallel import available_threads, balanced_cuts, even_cuts, run_tasks


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("n", [0, 1, 5, 100])
def test_even_cuts_cover_everything_once(n, parts):
    cuts = even_cuts(n, parts)
    assert len(cuts) == parts + 1
    assert (cuts[0], cuts[-1]) == (0, n)
    sizes = np.diff(cuts)
    assert sizes.min() >= 0
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("parts", [1, 2, 5, 16])
def test_balanced_cuts_share_the_entries(dtype, parts):
    counts = np.random.default_rng(0).poisson(3.0, size=400)
    counts[:50] = 0
    indptr = np.append(0, np.cumsum(counts)).astype(dtype)
    cuts = balanced_cuts(indptr, parts)
    assert (cuts[0], cuts[-1]) == (0, 400)
    assert len(cuts) == parts + 1
    shares = np.diff(indptr[cuts].astype(int))
    assert shares.min() >= 0
    assert shares.max() <= counts.sum() / parts + counts.max()


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_balanced_cuts_copy_no_row_pointers(dtype):
    indptr = np.arange(100_001, dtype=dtype)
    tracemalloc.start()
    balanced_cuts(indptr, 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < indptr.nbytes / 10


def test_one_giant_row_and_no_rows_are_cut():
    assert balanced_cuts(np.array([0, 1000], dtype=np.uint32), 3)[-1] == 1
    assert balanced_cuts(np.array([0], dtype=np.uint32), 2) == [0, 0, 0]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_tasks_run_once_each_and_errors_come_back(n_threads):
    done = []
    lock = threading.Lock()

    def task(k):
        with lock:
            done.append(k)

    run_tasks([lambda k=k: task(k) for k in range(11)], n_threads)
    assert sorted(done) == list(range(11))

    def fail():
        raise ZeroDivisionError

    for tasks in ([fail, int, int], [int, int, fail]):
        with pytest.raises(ZeroDivisionError):
            run_tasks(tasks, n_threads)


def test_threads_follow_the_request_and_the_environment(monkeypatch):
    assert available_threads(3) == 3
    for bad in (0, -1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match="n_threads"):
            available_threads(bad)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert available_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert 1 <= available_threads() <= (os.cpu_count() or 1)
