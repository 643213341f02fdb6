"""L-BFGS steps followed by Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

from auctor.core.checks import check_int
from auctor.solvers.lbfgs import Lbfgs
from auctor.solvers.relay import After, Relay, Stage
from auctor.solvers.smooth.newton import Newton


@dataclass(frozen=True)
class LbfgsThenNewton(Relay):
    """Some steps of L-BFGS, which are enough if columns are well scaled, then Newton steps.

    For data whose weighted Gram matrix costs many passes.

    Parameters
    ----------
    steps : int >= 1
        Number of L-BFGS steps.
    """

    steps: int = 30

    needs = Lbfgs.needs | Newton.needs

    def __post_init__(self) -> None:
        check_int("LbfgsThenNewton", "steps", self.steps, low=1)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """L-BFGS, then Newton."""
        return Stage(Lbfgs(), until=After(self.steps)), Stage(Newton())
