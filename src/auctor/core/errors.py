"""The exception family.

::

    AuctorError
    ├── DataError            (ValueError)   rows, columns, labels or weights that cannot be used
    ├── DataTypeError        (TypeError)    data of a kind that cannot be read as numbers
    ├── ParameterError       (ValueError)   a parameter outside its range
    ├── IncompatibleError    (ValueError)   a solver that cannot do this problem
    └── MissingExtraError    (ImportError)  an optional dependency that is not installed

    ConvergenceWarning       (UserWarning)  stopped before the tolerance was met
    DataWarning              (UserWarning)  data that may not be meant as they were read

Every message reads "<who> needs <what>; got <value>. <One thing to do>."
"""

from __future__ import annotations


class AuctorError(Exception):
    """Base class of every error auctor raises on purpose."""


class DataError(AuctorError, ValueError):
    """Rows, columns, labels or weights that cannot be used."""


class DataTypeError(AuctorError, TypeError):
    """Data of a kind that cannot be read as numbers."""


class ParameterError(AuctorError, ValueError):
    """A parameter outside its range."""


class IncompatibleError(AuctorError, ValueError):
    """A solver that cannot do this problem."""


class MissingExtraError(AuctorError, ImportError):
    """An optional dependency that is not installed."""


class ConvergenceWarning(UserWarning):
    """The solver stopped before its tolerance was met."""


class DataWarning(UserWarning):
    """Data that may not be meant as they were read."""
