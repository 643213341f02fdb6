"""Forecasts of load a day ahead: kernel machines on delay embeddings, baselines and metrics."""

from auctor.core.lazy import names_on_first_use

__getattr__, __dir__, __all__ = names_on_first_use(__name__, __file__)
