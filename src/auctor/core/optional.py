"""Optional imports, with an error that says how to install what is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from auctor.core.errors import MissingExtraError


def require(module: str, *, extra: str | None, to: str | None = None) -> ModuleType:
    """Import ``module``, or raise with the extra to install (None: the module's own name).

    ``to`` is what the module is needed for, such as "read CSV".

    Examples
    --------
    >>> require("no_such_module", extra="cli")
    Traceback (most recent call last):
        ...
    auctor.core.errors.MissingExtraError: auctor needs no_such_module; got an environment without it. Run: pip install "auctor[cli]"
    """  # noqa: E501
    package = module if extra is None else f'"auctor[{extra}]"'
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A missing package that the module itself imports is another cause.
        if error.name not in (module, module.partition(".")[0]):
            raise _broken(module, package, error) from error
        needs = module if to is None else f"{module} to {to}"
        todo = f"Run: pip install {package}"
        raise MissingExtraError(needs, got="an environment without it", todo=todo) from error
    except ImportError as error:
        raise _broken(module, package, error) from error


def _broken(module: str, package: str, error: ImportError) -> MissingExtraError:
    """The error for a module that is installed and cannot be imported, with the cause in words."""
    cause = " ".join(str(error).split())
    return MissingExtraError(
        f"a {module} that can be imported; got one that fails with: {cause}. Install versions that "
        f"fit together: pip install -U {package}"
    )
