"""Kernel machines: kernel functions, blocks of kernel values, the dual, and predictions."""

from auctor.kernel_machine.functions import Linear, Polynomial, Rbf
from auctor.kernel_machine.machine import KernelModel

__all__ = ["KernelModel", "Linear", "Polynomial", "Rbf"]
