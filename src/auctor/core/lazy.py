"""Packages whose public names are imported on first use.

A room of models holds algorithms, which need numpy and Numba, and estimators, which need
scikit-learn. Its public names stand in the stub ``__init__.pyi``, which type checkers and editors
read; at run time the same stub says which module a name comes from. So the stubs are the one list
of public names: imports, ``auctor list`` and model files read them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def names_on_first_use(
    room: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, read from its stub.

    Modules of the package itself that the stub imports are attributes, but not in ``__all__``.

    Parameters
    ----------
    room : str
        ``__name__`` of the package.
    file : str
        ``__file__`` of the package; the stub lies beside it.

    Examples
    --------
    >>> import auctor.linear
    >>> "MetricClassifier" in dir(auctor.linear)
    True
    """
    modules = _modules(Path(file).with_suffix(".pyi"))

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        if modules[name] == room:  # `from auctor.room import part` names a module of the room
            return import_module(f"{room}.{name}")
        return getattr(import_module(modules[name]), name)

    public = [name for name, home in modules.items() if home != room and not name.startswith("_")]
    return attribute, lambda: sorted(modules), sorted(public)


def _modules(stub: Path) -> dict[str, str]:
    """The module that each name of a stub comes from; all names of a room for ``import *``."""
    modules: dict[str, str] = {}
    for statement in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            home = statement.module or ""
            for name in statement.names:
                if name.name == "*":
                    inner = stub.parent / home.rpartition(".")[2] / "__init__.pyi"
                    modules |= dict.fromkeys(_modules(inner), home)
                else:
                    modules[name.asname or name.name] = home
    return modules
