"""A time limit for a call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """The result of a call; raises `TimeoutError` after ``seconds``.

    A call that takes longer continues in a background thread, because Python cannot stop a thread.

    Examples
    --------
    >>> within(1.0, lambda: 3)
    3
    """
    if seconds is None:
        return call()
    results: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not results:
        raise TimeoutError(f"it took longer than {seconds:g} seconds")
    return results[0]
