"""Kernel machines: kernel functions, blocks of their values, the dual and what it predicts."""

from auctor.kernel_machine.functions import Linear, Polynomial, Rbf
from auctor.kernel_machine.machine import KernelModel

__all__ = ["KernelModel", "Linear", "Polynomial", "Rbf"]
