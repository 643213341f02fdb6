"""What holds for every test."""

import gc
import os
import signal
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

# A shell starts what runs in the background with Ctrl-C ignored, and tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER is not None:
    # Two workers on two cores: one thread each for the libraries of others. OpenMP's threads wait
    # by spinning, and a small boosted tree takes a hundred times its time where they share a core.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # Workers, and the processes that tests start, share what they compile: the kernels write one
    # at a time (auctor.kernels.runtime.one_writer).
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "numba"))

# Numba's compiler makes millions of objects, and Python looks for reference cycles among all of
# them again and again: a sixth of the time of the tests. Looking less often takes some megabytes.
gc.set_threshold(20_000)

#: Folders whose tests compile the same kernels: each goes to one worker of pytest-xdist whole, so
#: that it is compiled once. Every other file goes to a worker by itself.
TOGETHER = {
    "streaming": "streams",
    "learners": "streams",
    "solvers": "solvers",
    "losses": "solvers",
    "penalties": "solvers",
    "kernels": "solvers",
}
#: The same for single files.
ALSO = {
    "tests/test_contracts.py": "solvers",
    "tests/problem/test_problem.py": "solvers",
    "tests/test_minimise.py": "solvers",
    "tests/cli/test_stream.py": "streams",
}


def room_of(nodeid: str) -> str:
    """What goes to one worker whole: a group of rooms, or a file."""
    file = nodeid.partition("::")[0]
    return ALSO.get(file) or TOGETHER.get(Path(file).parent.name) or file


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test with the marker ``sample(k)``, all but one in k are slow.

    Which ones depends on their names alone, so that every run has the same, spread over the grid.
    """
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for grid in cases.values():
        (one_in,) = grid[0].get_closest_marker("sample").args
        grid.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in grid[-(-len(grid) // one_in) :]:
            item.add_marker("slow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests go to workers by rooms; the largest first."""
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:  # what pytest-xdist asks one to override
            return room_of(nodeid)

    return ByRoom(config, log)
