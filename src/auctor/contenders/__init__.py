"""The contenders of a comparison: auctor's models, a constant, and the usual models of others."""

from auctor.core.lazy import names_on_first_use

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
