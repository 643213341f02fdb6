"""Methods that an estimator has only with some values of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def offered_if(check: Callable[[Any], None]) -> Callable[[Callable[..., T]], Offered[T]]:
    """Decorator of a method that an estimator has only while ``check(estimator)`` does not raise.

    As with `sklearn.utils.metaestimators.available_if`, ``hasattr`` is False otherwise; a call
    raises the error of the check.
    """
    return lambda method: Offered(method, check)


class Offered(Generic[T]):
    """Descriptor of a method with a check, which raises `NotOfferedError`."""

    def __init__(self, method: Callable[..., T], check: Callable[[Any], None]) -> None:
        self.method, self.check = method, check
        self.__doc__ = method.__doc__

    def __get__(self, estimator: Any, owner: type | None = None) -> Callable[..., T]:
        if estimator is None:  # accessed on the class, for its documentation
            return self.method
        self.check(estimator)
        return MethodType(self.method, estimator)
