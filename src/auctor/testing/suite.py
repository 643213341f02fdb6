"""Base class of the conformance suites, and assertions with messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from auctor.core.types import Array

F = TypeVar("F", bound=Callable[..., None])


def when(condition: Callable[[Any], bool], *, evaluates: bool = False) -> Callable[[F], F]:
    """Mark a check as applying only to suites for which ``condition(suite)`` holds.

    ``evaluates`` says that the condition evaluates the part, and so may compile kernels.
    """

    def mark(check: F) -> F:
        check.condition, check.evaluates = condition, evaluates  # type: ignore[attr-defined]
        return check

    return mark


class Suite:
    """A collection of ``check_*`` methods, each of which raises ``AssertionError`` on failure."""

    @classmethod
    def checks(cls) -> list[str]:
        """Names of all checks, in the order they are written.

        Examples
        --------
        >>> from auctor.testing import LossSuite
        >>> "check_gradient" in LossSuite.checks()
        True
        """
        names = [name for base in reversed(cls.__mro__) for name in vars(base)]
        return [name for name in dict.fromkeys(names) if name.startswith("check_")]

    def applies(self, check: str) -> bool:
        """Whether a check applies to this part."""
        condition = getattr(getattr(self, check), "condition", None)
        return condition is None or bool(condition(self))

    def applicable(self) -> list[str]:
        """Names of the checks that apply to this part."""
        return [check for check in self.checks() if self.applies(check)]

    def collectable(self) -> list[str]:
        """Names of the checks that may apply, found without an evaluation of the part.

        A test runner collects these without compiling anything, and asks `applies` at run time.
        """
        return [
            check
            for check in self.checks()
            if getattr(getattr(self, check), "evaluates", False) or self.applies(check)
        ]

    def run(self) -> list[str]:
        """Run all checks that apply and return their names; raises at the first failure."""
        ran = self.applicable()
        for check in ran:
            getattr(self, check)()
        return ran


def expect(condition: object, message: str) -> None:
    """Raise ``AssertionError`` with a message unless ``condition`` holds."""
    if not condition:
        raise AssertionError(message)


def expect_close(
    actual: Any, wanted: Any, what: str, *, rtol: float = 1e-10, scale: Any = None
) -> None:
    """Raise unless the arrays agree to ``rtol`` times ``scale`` (default: the largest wanted)."""
    actual, wanted = np.asarray(actual, dtype=float), np.asarray(wanted, dtype=float)
    expect(actual.shape == wanted.shape, f"{what}: shape {actual.shape}, not {wanted.shape}")
    if scale is None:
        scale = max(float(np.abs(wanted).max(initial=0.0)), 1e-300)
    error = np.abs(actual - wanted) / scale
    worst = float(error.max(initial=0.0))
    expect(worst <= rtol, f"{what}: off by {worst:.3g} relative (allowed {rtol:g})")


class Untouched:
    """Context manager that raises if the contents of arrays change.

    Parameters
    ----------
    arrays : iterable of arrays
        ``None`` entries are ignored.
    freeze : bool
        Whether to make them read-only meanwhile, as arrays of memory maps and pandas are.
    """

    def __init__(self, arrays: Iterable[Array | None], *, freeze: bool = False) -> None:
        self.arrays, self.freeze = [a for a in arrays if a is not None], freeze

    def __enter__(self) -> None:
        self.copies = [a.copy() for a in self.arrays]
        self.flags = [bool(a.flags.writeable) for a in self.arrays]
        for a in self.arrays if self.freeze else ():
            a.setflags(write=False)

    def __exit__(self, *failure: object) -> None:
        for a, copy, flag in zip(self.arrays, self.copies, self.flags, strict=True):
            if self.freeze:
                a.setflags(write=flag)
            expect(np.array_equal(a, copy), "an input array was changed")
