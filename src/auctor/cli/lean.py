"""Start-up and end of a command, which take longer than a small fit when left alone."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

#: What importing scikit-learn imports and leaves alone; more than half of the time that takes.
UNUSED = ("scipy.stats", "pandas")


def with_sklearn(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, which imports scikit-learn by `import_sklearn` when it runs."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        import_sklearn()
        importlib.import_module("auctor.estimators")
        started()
        command(*args, **kwargs)

    return run


@contextmanager
def starting() -> Iterator[None]:
    """No search for garbage until `started`: imports hardly leave any."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        (gc.enable if collects else gc.disable)()


def started() -> None:
    """Search for garbage from here on, but not in what was imported, which stays."""
    gc.freeze()
    gc.enable()


def import_sklearn() -> None:
    """Import scikit-learn, but what it does not use itself only when something does."""
    if "sklearn" in sys.modules:
        return
    stand_ins = {name: _StandIn(name) for name in UNUSED if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        importlib.import_module("sklearn.base")
    finally:
        for stand_in in stand_ins.values():
            stand_in.give_way()


class _StandIn(ModuleType):
    """Holds the place of a module until one of its attributes is asked for."""

    def give_way(self) -> None:
        """Let the next import find the module itself."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.give_way()
        return getattr(importlib.import_module(self.__name__), name)
