"""Losses of the metrics as PyTorch modules: any network, any optimiser, any sampler."""

from typing import Any

from auctor.core.optional import require

__all__ = [
    "AUCLoss",
    "FBetaLoss",
    "GaussianAUCLoss",
    "PartialAUCLoss",
    "PrecisionAtKLoss",
    "Wrapped",
]


def __getattr__(name: str) -> Any:
    """Import the modules on first use, because they import torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("torch", extra="gpu")
    from auctor.torch import losses

    return getattr(losses, name)
