"""Results of a solve: the status, the solution, and its trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from auctor.core.errors import ConvergenceWarning, Option
from auctor.core.markup import fact_table
from auctor.core.types import FloatArray


class Status(Enum):
    """Why a solve stopped; the value is the sentence shown to users."""

    CONVERGED = "The gap is below the tolerance."
    MAX_ITER = "The iteration budget ran out before the gap met the tolerance."
    MAX_SECONDS = "The time budget ran out before the gap met the tolerance."
    STALLED = "No further progress is possible in floating point; the gap is above the tolerance."
    NOT_FINITE = "The objective stopped being finite; the best finite point is returned."
    DIVERGED = "The objective rose far above its start; the best point is returned."
    INTERRUPTED = "Interrupted; the best point so far is returned."
    STOPPED = "A callback asked to stop; the best point so far is returned."
    LOST = "The rows could no longer be read; the best point so far is returned."

    @property
    def success(self) -> bool:
        """Whether the tolerance was met."""
        return self is Status.CONVERGED

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        return Status, (self.value,)  # the form that skops can load


@dataclass
class Counts:
    """Work done: one product with X or its transpose is one pass."""

    passes: float = 0.0
    evaluations: int = 0


def _nothing() -> None:
    """The default of `Step.learned`."""


@dataclass(frozen=True)
class Step:
    """One line of the trace; ``on_step`` callbacks receive it.

    Attributes
    ----------
    iteration : int
        Outer iterations done, 0 for the starting point.
    value : float
        Objective J(w).
    gap : float
        Certified gap, or optimality violation, at this point.
    certified : bool
        Whether ``gap`` bounds J(w) - min J.
    seconds : float
        Wall time since the solve began.
    passes : float
        Passes over the data so far (one product with X or its transpose is one pass).
    evaluations : int
        Evaluations of the loss so far.
    w : array
        Current parameters; copy the array to store it.
    learned : callable
        Returns what the solver has learned beside ``w``, with which `minimise` can go on, as a
        dataclass of arrays and numbers; ``None`` where there is nothing of the kind.
    """

    iteration: int
    value: float
    gap: float
    certified: bool
    seconds: float
    passes: float
    evaluations: int
    w: FloatArray = field(repr=False)
    learned: Callable[[], object] = field(default=_nothing, repr=False, compare=False)


@dataclass(frozen=True)
class Trace:
    """The steps of a solve as columns."""

    iteration: tuple[int, ...] = ()
    value: tuple[float, ...] = ()
    gap: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    passes: tuple[float, ...] = ()
    evaluations: tuple[int, ...] = ()

    @classmethod
    def from_steps(cls, steps: list[Step]) -> Trace:
        """Turn a list of steps into columns."""
        return cls(
            iteration=tuple(s.iteration for s in steps),
            value=tuple(s.value for s in steps),
            gap=tuple(s.gap for s in steps),
            seconds=tuple(s.seconds for s in steps),
            passes=tuple(s.passes for s in steps),
            evaluations=tuple(s.evaluations for s in steps),
        )

    def __len__(self) -> int:
        return len(self.iteration)


@dataclass(frozen=True)
class Solution:
    """The outcome of a solve; every field is always present.

    Attributes
    ----------
    coef : (d,) array
        Weights of the columns.
    intercept : float
        Unpenalised offset; 0 where the problem has none.
    value : float
        Objective at the returned point.
    gap : float
        Recomputed at the returned point: a bound on J(w) - min J when ``certified``, otherwise the
        optimality violation.
    certified : bool
        Whether ``gap`` is such a bound.
    tol : float
        The tolerance of the gap, in units of the objective (``tol`` times the objective at 0).
    status : Status
        Why the solve stopped.
    n_iter : int
        Outer iterations.
    passes, evaluations, seconds
        Work done.
    solver : str
        Name of the solver.
    trace : Trace
        One entry per outer iteration.
    """

    coef: FloatArray
    intercept: float
    value: float
    gap: float
    certified: bool
    tol: float
    status: Status
    n_iter: int
    passes: float
    evaluations: int
    seconds: float
    solver: str
    trace: Trace = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met."""
        return self.status.success

    @property
    def gap_kind(self) -> str:
        """Name of the kind of gap."""
        return "certified gap" if self.certified else "optimality violation"

    def advice(self) -> str:
        """One sentence on what happened and one thing to do; empty when converged."""
        return "" if self.converged else str(self.warning())

    def warning(self, before: str = "") -> ConvergenceWarning:
        """The warning for a missed tolerance: what happened and one thing to do.

        Parameters
        ----------
        before : str
            What the solver did before it stopped, such as "missed the tolerance in 3 of 40 fits".
        """
        todo, *options = _ADVICE.get(self.status, _GO_ON)
        stopped = f"stopped after {self.n_iter} iterations"
        return ConvergenceWarning(
            does=f"{before}; in one of them it {stopped}" if before else stopped,
            got=f"a {self.gap_kind} of {self.gap:.3g} for a tolerance of {self.tol:.3g}",
            todo=f"{self.status.value} {todo}",
            option=tuple(options),
            part=self.solver,
        )

    def _repr_html_(self) -> str:
        """A short table for notebooks."""
        return fact_table(
            {
                "status": self.status.value,
                "objective": f"{self.value:.6g}",
                self.gap_kind: f"{self.gap:.2e} (tolerance {self.tol:.2e})",
                "iterations": f"{self.n_iter:,}",
                "passes over the data": f"{self.passes:,.0f}",
                "seconds": f"{self.seconds:.3g}",
                "non-zero weights": f"{np.count_nonzero(self.coef):,} of {self.coef.size:,}",
                "solver": self.solver,
            }
        )


_TOL, _STRENGTH = Option("tol", bare=True), Option("strength", bare=True)
#: What to do about a fit that stopped early, and the parameters that the sentence names.
_ADVICE: dict[Status, tuple[Any, ...]] = {
    Status.MAX_ITER: (
        "Increase {option} or {option2}, or scale the columns.",
        Option("max_iter", bare=True),
        _TOL,
    ),
    Status.MAX_SECONDS: ("Increase {option} or {option2}.", Option("max_seconds", bare=True), _TOL),
    Status.STALLED: ("Increase {option} or {option2}, or scale the columns.", _TOL, _STRENGTH),
    Status.DIVERGED: ("Scale the columns, take smaller steps or increase {option}.", _STRENGTH),
    Status.NOT_FINITE: ("Scale the columns or increase {option}.", _STRENGTH),
}
_GO_ON = ("Fit again with {option} to go on from here.", Option("warm_start", True))
