"""Losses of the metrics as functions of JAX arrays: under ``grad``, ``jit`` and ``vmap``."""

from typing import Any

from auctor.core.optional import require

__all__ = ["auc_loss", "f_beta_loss", "partial_auc_loss", "precision_at_k_loss"]


def __getattr__(name: str) -> Any:
    """Import the functions on first use, because they import jax."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("jax", extra="jax")
    from auctor.jax import losses

    return getattr(losses, name)
