"""Cutting work into ranges and running it on threads."""

import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threadpoolctl

from auctor import MetricClassifier
from auctor.core.errors import ParameterError
from auctor.core.types import PART_ROWS, Target
from auctor.kernels.linalg.sorting import TASK_KEYS, ascending, ascending_order
from auctor.kernels.runtime.parallel import (
    available_threads,
    balanced_cuts,
    even_cuts,
    in_parallel,
    limit_threads,
    quiet_blas,
    run_tasks,
)
from auctor.losses import Logistic, SmoothedHinge, Squared


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


def blas_threads():
    return {
        lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"
    }


@pytest.fixture
def threads_of_blas():
    if blas_threads() == {1}:
        pytest.skip("BLAS has one thread here")
    return blas_threads()


def test_blas_is_quiet_until_the_last_block_ends(threads_of_blas):
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with quiet_blas():
            first_in.set()
            second_in.wait()
        first_out.set()

    def second():
        first_in.wait()
        with quiet_blas():
            second_in.set()
            first_out.wait()
            seen.append(blas_threads())

    threads = [threading.Thread(target=one) for one in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [{1}]
    assert blas_threads() == threads_of_blas


def test_blas_has_its_threads_after_eight_fits_at_once(threads_of_blas):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X[:, 0] > rng.normal(size=200)

    def fit(seed):
        model = MetricClassifier("log_loss", strength=10.0 ** -(seed % 3 + 1))
        return model.fit(X, y).coef_

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fit, range(32)))
    assert blas_threads() == threads_of_blas


def test_tasks_of_tasks_share_the_threads():
    seen = []
    with limit_threads(4):
        run_tasks([lambda: seen.append(available_threads()) for _ in range(2)], 8)
        assert available_threads() == 4
        in_parallel([lambda: seen.append(available_threads()) for _ in range(4)])
    assert sorted(seen) == [1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["distinct", "tied", "close"])
def test_sorts_on_several_threads_are_those_on_one(kind):
    rng = np.random.default_rng(0)
    n = 3 * TASK_KEYS + 5
    values = {
        "distinct": rng.normal(size=n),
        "tied": rng.integers(0, 40, n).astype(float),
        "close": 1.0 + 1e-13 * rng.normal(size=n),  # they differ in the lowest digits alone
    }[kind]
    order = np.argsort(values, kind="stable")
    for threads in (1, 2, 3):
        with limit_threads(threads):
            np.testing.assert_array_equal(ascending_order(values), order)
            np.testing.assert_array_equal(ascending(values), values[order])


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(0.5), Squared()], ids=repr)
def test_losses_on_several_threads_are_those_on_one_bit_for_bit(loss):
    rng = np.random.default_rng(0)
    n = 2 * PART_ROWS + 7
    target = Target(np.where(rng.random(n) < 0.3, 1.0, -1.0), rng.random(n))
    scores = rng.normal(size=n)
    answers = []
    for threads in (1, 3):
        with limit_threads(threads):
            value, grad = loss.value_grad(scores, target)
            answers.append([value, *grad, *loss.curvature(scores, target).diagonal])
            answers[-1].append(loss.conjugate(grad, target))
    assert answers[0] == answers[1]
    one = loss.value_grad(scores[:PART_ROWS], target.take(np.arange(PART_ROWS)))[0]
    two = loss.value_grad(scores[PART_ROWS:], target.take(np.arange(PART_ROWS, n)))[0]
    first = target.share[:PART_ROWS].sum()
    assert answers[0][0] == pytest.approx(first * one + (1.0 - first) * two, rel=1e-12)
