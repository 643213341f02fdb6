"""Start-up and end of a command, which take longer than a small fit when left alone."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])

#: What importing scikit-learn imports and leaves alone; more than half of the time that takes.
UNUSED = ("numpy.f2py", "numpy.testing", "scipy.special", "scipy.stats", "pandas")

#: What a module is asked for that makes it necessary; Python itself asks for more names like these.
ASKED = ("__all__", "__path__", "__version__")

#: Slots of a frame. Python reserves a power of two of bytes that holds it; half of a megabyte is
#: left for other frames.
SLOTS = 70_000


def with_room(function: F) -> F:
    """A function that does the same, with room for the frames of all it calls beside its own.

    Python maps a page of frames when a call crosses the end of the last one and unmaps it at the
    return, each time around if a loop is there: thousands of times while modules are imported.
    """
    assert isinstance(function, FunctionType)
    code = function.__code__.replace(co_stacksize=SLOTS)
    names, defaults, cells = function.__globals__, function.__defaults__, function.__closure__
    roomy = FunctionType(code, names, function.__name__, defaults, cells)
    roomy.__kwdefaults__ = function.__kwdefaults__
    return cast(F, roomy)


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
    found = {name: find_spec(name) for name in UNUSED if name not in sys.modules}
    stand_ins = [_StandIn(name, spec) for name, spec in found.items() if spec is not None]
    try:
        importlib.import_module("sklearn.base")
    finally:
        for stand_in in stand_ins:
            stand_in.give_way()


class _StandIn(ModuleType):
    """Holds the place of a module until one of its attributes is asked for."""

    def __init__(self, name: str, spec: ModuleSpec) -> None:
        super().__init__(name)
        self.__spec__ = spec
        package, _, leaf = name.rpartition(".")
        self._places = [(sys.modules, name)]
        if package:
            # Where the package would import it by itself, and for ever: it asks for its attribute.
            self._places.append((vars(importlib.import_module(package)), leaf))
        for place, key in self._places:
            place[key] = self

    def give_way(self) -> None:
        """Let the next import find the module itself."""
        for place, key in self._places:
            if place.get(key) is self:
                del place[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ASKED:
            raise AttributeError(name)
        self.give_way()
        return getattr(importlib.import_module(self.__name__), name)
