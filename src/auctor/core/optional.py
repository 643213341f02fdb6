"""Optional imports, with an error that says how to install what is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from auctor.core.errors import MissingExtraError


def require(module: str, *, extra: str | None, who: str) -> ModuleType:
    """Import ``module``, or raise with the extra to install (None: the module's own name).

    Examples
    --------
    >>> require("no_such_module", extra="cli", who="auctor demo")
    Traceback (most recent call last):
        ...
    auctor.core.errors.MissingExtraError: auctor demo needs no_such_module; got an environment without it. Run: pip install "auctor[cli]"
    """  # noqa: E501
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module if extra is None else f'"auctor[{extra}]"'
        raise MissingExtraError(
            who,
            needs=module,
            got="an environment without it",
            todo=f"Run: pip install {package}",
        ) from error
