"""What a fit can use besides its parameters and rows, and what it gives: a model and its search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from auctor.core.result import Solution
from auctor.core.types import FloatArray, IntArray
from auctor.fit.calibrate import Calibrator
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import ClassifierParameters, LinearParameters
from auctor.fit.solve import Resume
from auctor.fit.targets import Rows

P_co = TypeVar("P_co", bound=LinearParameters, covariant=True)
M_co = TypeVar("M_co", covariant=True)


class StrengthChoice(NamedTuple):
    """The search for the strength and the surrogate: candidates, scores by fold, and choice.

    Parameters
    ----------
    strengths : array
        Candidates, decreasing.
    scores : (folds, strengths) array
        NaN where a strength was not scored on a fold.
    best_index : int
        Position of the chosen strength.
    surrogate : str, optional
        Name of the chosen surrogate, if the search chose one.
    complete : bool
        False if the user interrupted the search: the model is then that of a fold.
    """

    strengths: FloatArray
    scores: FloatArray
    best_index: int
    surrogate: str | None = None
    complete: bool = True

    @property
    def strength(self) -> float:
        """The chosen strength."""
        return float(self.strengths[self.best_index])


class ModelChoice(NamedTuple):
    """The comparison of kinds of models on the same folds: scores by fold, and the choice.

    Parameters
    ----------
    names : tuple of str
        The kinds, the simplest first.
    scores : (kinds, folds) array
        The metric on held-out rows, greater is better; NaN where it is not defined.
    chosen : int
        Position of the simplest kind whose lag behind the best may be chance.
    """

    names: tuple[str, ...]
    scores: FloatArray
    chosen: int

    @property
    def name(self) -> str:
        """The chosen kind."""
        return self.names[self.chosen]

    @property
    def means(self) -> dict[str, float]:
        """Mean over the folds of the score of each kind; NaN where it has none."""
        known = [one[~np.isnan(one)] for one in self.scores]
        return {
            name: float(one.mean()) if one.size else float("nan")
            for name, one in zip(self.names, known, strict=True)
        }


@dataclass(frozen=True, eq=False)
class FitResult(Generic[P_co, M_co]):
    """A model, the parameters of its fit, and the solutions and the search behind it.

    Parameters
    ----------
    params : parameters
        Their class says which kind of model it is.
    model : LinearModel or RegressionModel
        The model with which it predicts; ``None`` after a search without ``refit``.
    solutions : list of Solution
        One for two classes or a regression, else one per class; empty if they are not known.
    gap, n_iter : optional
        The largest gap and number of iterations of the solutions.
    calibrators : sequence, optional
        The fitted calibrators; a model of log-odds has none here.
    strength : float, optional
        The strength of the penalty, if a search or an additive model picked it.
    odds_slope : float, optional
        Of an additive model of two classes: see `auctor.AdditiveClassifier`.
    oof : (n, k) array, optional
        Of an additive model: scores of each row by the member that leaves it out.
    measured : float, optional
        The metric of these scores.
    fold_scores : (folds,) array, optional
        The metric on the rows of each fold by a model that leaves them out, greater is better.
    choice : ModelChoice, optional
        The comparison of kinds of models that chose this one.
    warnings : list of Warning
        Warnings for the user.
    interrupted : bool
        Whether the user interrupted the fit, which then has the best model so far.
    """

    params: P_co
    model: M_co
    solutions: list[Solution] = field(default_factory=list)
    gap: float | None = None
    n_iter: int | None = None
    calibrators: Sequence[Calibrator] | None = None
    search: StrengthChoice | None = None
    strength: float | None = None
    odds_slope: float | None = None
    oof: FloatArray | None = None
    measured: float | None = None
    fold_scores: FloatArray | None = None
    choice: ModelChoice | None = None
    warnings: list[Warning] = field(default_factory=list)
    interrupted: bool = False


#: A classifier.
ClassifierResult: TypeAlias = FitResult[ClassifierParameters, LinearModel]
#: A regression.
RegressorResult: TypeAlias = FitResult[LinearParameters, RegressionModel]


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
    explored : StrengthSearch or CurveFolds, optional
        Fits to the folds of these rows from which the fit goes on, in place of its own.
    choice : ModelChoice, optional
        The comparison of kinds of models that chose this one.
    """

    names: Sequence[str] | None = None
    previous: Sequence[Solution | None] | None = None
    splits: Sequence[Split] | None = None
    judge: Judge | None = None
    inner: bool = False
    resume: Resume | None = None
    offset: FloatArray | None = None
    labels: Mapping[int, Sequence[str]] = field(default_factory=dict)
    explored: Any = None
    choice: ModelChoice | None = None
