"""Labels with a taxonomy: hierarchical classification and multi-label learning."""

from auctor.core.lazy import names_on_first_use

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
