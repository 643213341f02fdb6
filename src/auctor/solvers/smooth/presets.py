"""L-BFGS steps followed by Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from auctor.core.checks import check_int
from auctor.core.errors import speaks_for_itself
from auctor.problem import Problem
from auctor.solvers.lbfgs import Lbfgs
from auctor.solvers.relay import Relay, RelayState, Stage
from auctor.solvers.smooth.newton import Newton
from auctor.solvers.smooth.preconditioner import pair_metric


@dataclass(frozen=True)
class LbfgsThenNewton(Relay):
    """Some steps of L-BFGS, which are enough if columns are well scaled, then Newton steps.

    For data whose weighted Gram matrix costs many passes, and for losses on pairs, whose Newton
    steps are expensive.

    Parameters
    ----------
    steps : int >= 1
        Number of L-BFGS steps.
    preconditioned_steps : int >= 1, optional
        Number of L-BFGS steps if they are preconditioned by `pair_metric`; by default they never
        are.
    """

    steps: int = 30
    preconditioned_steps: int | None = None

    needs = Lbfgs.needs | Newton.needs

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("steps", self.steps, low=1)
        if self.preconditioned_steps is not None:
            check_int("preconditioned_steps", self.preconditioned_steps, low=1)

    @property
    def stages(self) -> tuple[Stage[Any], ...]:
        """L-BFGS, then Newton."""
        return Stage(self._lbfgs, until=self._enough), Stage(Newton())

    def _lbfgs(self, problem: Problem) -> Lbfgs:
        return Lbfgs(metric=None if self.preconditioned_steps is None else pair_metric(problem))

    def _enough(self, problem: Problem, state: RelayState[Any]) -> bool:
        """Whether L-BFGS has taken its steps, fewer if it is preconditioned."""
        preconditioned = isinstance(state.solver, Lbfgs) and state.solver.metric is not None
        steps = self.preconditioned_steps if preconditioned else self.steps
        return steps is not None and state.steps >= steps
