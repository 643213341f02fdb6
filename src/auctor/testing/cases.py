"""Targets, weights and scores on which every loss is tested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from auctor.core.errors import AuctorError
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, Target

#: Rows of every case.
N_ROWS = 14


@runtime_checkable
class HasWidth(Protocol):
    """A loss with the attribute ``width``: the kit then also tests scores within it of a kink."""

    @property
    def width(self) -> float:
        """Smoothing width in score units; 0 for an exact loss."""


def width_of(loss: Loss) -> float:
    """The smoothing width of a loss; 0 if it has none."""
    return float(loss.width) if isinstance(loss, HasWidth) else 0.0


@dataclass(frozen=True)
class Case:
    """Scores and a target, with a name for messages.

    ``unit`` is the length scale of the loss there, for the steps of finite differences.
    """

    name: str
    scores: FloatArray
    target: Target
    unit: float = 1.0


def target_for(loss: Loss, rng: np.random.Generator, n: int = N_ROWS) -> FloatArray:
    """A random target in the domain of a loss: real numbers, counts, -1/+1, or above 0."""
    binary = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    real, counts = rng.normal(size=n), rng.poisson(2.0, size=n).astype(float)
    choices = (real, counts, rng.permutation(binary), 0.5 + counts)
    for y in choices:
        try:
            loss.check_target(Target(y))
        except AuctorError:
            continue
        return y
    raise AssertionError(f"{type(loss).__name__} refuses real, count, binary and positive targets")


def generic_cases(loss: Loss, rng: np.random.Generator) -> Iterator[Case]:
    """Random scores with and without weights, and scores in the curved part of a smoothed loss."""
    y = target_for(loss, rng)
    weight = rng.uniform(0.2, 3.0, size=N_ROWS)
    if loss.weights == "class":
        weight = np.where(y > 0.0, weight[0], weight[1])
    yield Case("no weights", rng.normal(scale=1.5, size=N_ROWS), Target(y))
    yield Case("weights", rng.normal(scale=1.5, size=N_ROWS), Target(y, weight))
    yield Case("far scores", rng.normal(scale=6.0, size=N_ROWS), Target(y, weight))
    yield Case("near target", y + rng.normal(scale=0.3, size=N_ROWS), Target(y, weight))
    width = width_of(loss)
    if width > 0.0:
        # Margins 1 - y s and residuals s - y within a few widths of their kinks.
        near = y + width * rng.uniform(-2.0, 2.0, size=N_ROWS)
        yield Case("within the width", near, Target(y, weight), unit=min(width, 1.0))


def kinked_scores(y: FloatArray, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Scores at kinks of common losses: ties, margins of exactly 0 and 1, zero residuals."""
    yield np.zeros_like(y)
    yield y.copy()
    yield np.round(rng.normal(scale=1.5, size=y.shape))
    yield np.where(rng.random(y.shape) < 0.5, 0.5, -0.5)
