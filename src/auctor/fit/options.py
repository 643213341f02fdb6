"""What a fit can use besides its parameters and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from auctor.core.result import Solution
from auctor.core.types import FloatArray, IntArray
from auctor.fit.model import LinearModel
from auctor.fit.solve import Resume
from auctor.fit.targets import Rows

#: Scores a model on rows, greater is better.
Judge: TypeAlias = Callable[[LinearModel, Rows], float]
#: Numbers of the training rows and of the test rows of a fold.
Split: TypeAlias = tuple[IntArray, IntArray]


@dataclass(frozen=True, eq=False)
class FitOptions:
    """What a fit can use besides its parameters and rows.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the columns, by which ``monotone`` may call them.
    previous : sequence of solutions, optional
        Solutions of an earlier fit, for a warm start.
    splits : sequence of (train, test) rows, optional
        Folds of a search for the strength; by default ``cv`` stratified ones.
    judge : callable, optional
        Scores a model on rows in a search, greater is better; by default the metric is used. It
        needs rows that are not scaled yet.
    inner : bool
        Whether the fit is part of another one, which itself tells of solutions that missed their
        tolerance.
    resume : Resume, optional
        Where the solves go on after an interruption, such as a `Checkpoint`. Solves with a warm
        start of their own do not ask it.
    offset : array, optional
        Of an additive model: scores to which those of the model are added.
    labels : mapping, optional
        Of an additive model: columns of categories by number, with the labels of their numbers.
    """

    names: Sequence[str] | None = None
    previous: Sequence[Solution | None] | None = None
    splits: Sequence[Split] | None = None
    judge: Judge | None = None
    inner: bool = False
    resume: Resume | None = None
    offset: FloatArray | None = None
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)
