"""Additive models: a curve for each column, pairs of columns, scorecards."""

from auctor.core.lazy import names_on_first_use

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
