"""What holds for every test."""

import os
import signal
from pathlib import Path

# A shell starts what runs in the background with Ctrl-C ignored, and tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Numba's cache on the disk is not safe where two processes compile at the same time: one may load
# what the other wrote for other types. So every worker of pytest-xdist has a cache of its own.
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER is not None and "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parents[1] / "build" / "numba" / WORKER)
