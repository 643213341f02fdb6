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
    package = module if extra is None else f'"auctor[{extra}]"'
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A missing package that the module itself imports is another cause.
        if error.name not in (module, module.partition(".")[0]):
            raise _broken(module, package, error, who) from error
        raise MissingExtraError(
            who,
            needs=module,
            got="an environment without it",
            todo=f"Run: pip install {package}",
        ) from error
    except ImportError as error:
        raise _broken(module, package, error, who) from error


def _broken(module: str, package: str, error: ImportError, who: str) -> MissingExtraError:
    """The error for a module that is installed and cannot be imported, with the cause in words."""
    cause = " ".join(str(error).split())
    return MissingExtraError(
        who,
        needs=f"a {module} that can be imported",
        got=f"one that fails with: {cause}",
        todo=f"Install versions that fit together: pip install -U {package}",
    )
