"""Times on a GPU: medians of events, after warming up."""

from __future__ import annotations

import statistics
from collections.abc import Callable

REPEATS = 15


def milliseconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median time of a call on the device."""
    import torch

    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def bandwidth() -> float:
    """Bytes read and written per second by a large copy."""
    import torch

    x = torch.randn(1 << 30, device="cuda")
    y = torch.empty_like(x)
    return 2 * x.nbytes / (milliseconds(lambda: y.copy_(x)) * 1e-3)


def device_name() -> str:
    """The device, and the versions of what ran on it."""
    import torch

    return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
