"""Activation functions of a network's units, with their first three derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from auctor.core.checks import check_choice
from auctor.core.types import FloatArray


class Activation(NamedTuple):
    """A function of one number; derivatives are written in terms of its value.

    Parameters
    ----------
    first, second, third : callable
        Derivatives as functions of ``value(z)``, which avoids overflow and repeated work.
    """

    name: str
    value: Callable[[FloatArray], FloatArray]
    first: Callable[[FloatArray], FloatArray]
    second: Callable[[FloatArray], FloatArray]
    third: Callable[[FloatArray], FloatArray]


def _sigmoid(z: FloatArray) -> FloatArray:
    value: FloatArray = expit(z)
    return value


def _tanh(z: FloatArray) -> FloatArray:
    value: FloatArray = np.tanh(z)
    return value


RELU = Activation(
    "relu",
    value=lambda z: np.maximum(z, 0.0),
    first=lambda s: (s > 0.0).astype(np.float64),
    second=np.zeros_like,
    third=np.zeros_like,
)
SIGMOID = Activation(
    "sigmoid",
    value=_sigmoid,
    first=lambda s: s * (1.0 - s),
    second=lambda s: s * (1.0 - s) * (1.0 - 2.0 * s),
    third=lambda s: s * (1.0 - s) * (1.0 - 6.0 * s * (1.0 - s)),
)
TANH = Activation(
    "tanh",
    value=_tanh,
    first=lambda s: 1.0 - s * s,
    second=lambda s: -2.0 * s * (1.0 - s * s),
    third=lambda s: (1.0 - s * s) * (6.0 * s * s - 2.0),
)

ACTIVATIONS = {one.name: one for one in (RELU, SIGMOID, TANH)}


def activation(name: str) -> Activation:
    """The activation with this name.

    Examples
    --------
    >>> import numpy as np
    >>> tanh = activation("tanh")
    >>> tanh.first(tanh.value(np.zeros(1)))
    array([1.])
    """
    return ACTIVATIONS[check_choice("activation", name, tuple(ACTIVATIONS))]
