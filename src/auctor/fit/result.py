"""What a fit gives: a model, its parameters and the search behind it; measured and saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from auctor.core.result import Solution
from auctor.core.types import FloatArray
from auctor.fit.calibrate import Calibrator
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import ClassifierParameters, LinearParameters

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
    search : StrengthChoice, optional
    strength : float, optional
        The strength of the penalty, if a search or an additive model picked it.
    odds_slope : float, optional
        Of an additive model of two classes: see `auctor.AdditiveClassifier`.
    oof : (n, k) array, optional
        Of an additive model: scores of each row by the member that leaves it out.
    measured : float, optional
        The metric of these scores.
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
    warnings: list[Warning] = field(default_factory=list)
    interrupted: bool = False


#: A classifier.
ClassifierResult: TypeAlias = FitResult[ClassifierParameters, LinearModel]
#: A regression.
RegressorResult: TypeAlias = FitResult[LinearParameters, RegressionModel]
