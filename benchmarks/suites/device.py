"""Device: products, losses and fits on one GPU, as shares of its copy bandwidth."""

from __future__ import annotations

from importlib.util import find_spec

from benchmarks.sections import device_fits, device_losses, device_products

name = "device"
title = "Device: products, losses and fits on one GPU"
sections = (device_products, device_losses, device_fits)
shares = {"device_products": 2.0, "device_losses": 2.0, "device_fits": 3.0}


def missing() -> str | None:
    """Why the suite cannot run here, if it cannot."""
    if find_spec("torch") is None:
        return "no GPU: PyTorch is not installed"
    import torch

    return None if torch.cuda.is_available() else "no GPU"
