"""Stochastic gradients: plain, with momentum, Nesterov's in both forms, and Adam."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_choice, check_real
from auctor.solvers.stochastic.base import Batches, Stochastic, Walk, gradient_at


@dataclass(frozen=True)
class Sgd(Stochastic):
    """Stochastic gradients on batches of rows.

    The cost of a given accuracy does not grow with the number of rows, as long as that is loose;
    for many digits take `Lbfgs` or `Newton`.

    Parameters
    ----------
    step_size : float > 0, optional
        By a range test by default.
    batch : int >= 1
        Rows of a step.
    schedule : {"halving", "constant", "harmonic"}
        ``"halving"`` converges: after an epoch that does not lower the objective it goes back and
        doubles the batch, then halves the step. ``"harmonic"`` is ``step / (1 + k / decay)``.
    decay : float > 0
        Steps after which a harmonic step has halved.
    momentum : float in [0, 1)
        Share of the last step that is repeated.
    nesterov : {"no", "momentum", "sequence"}
        Nesterov's acceleration: ``"momentum"`` with the share ``1 - 3 / (5 + k)``, or
        ``"sequence"`` with ``(1 + sqrt(1 + 4 size^2)) / 2``; ``momentum`` is not read then.

    References
    ----------
    Bottou, Curtis, Nocedal, Optimization methods for large-scale machine learning, 2018;
    Friedlander, Schmidt, Hybrid deterministic-stochastic methods for data fitting, 2012 (batches
    that grow).

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.minimise import minimise
    >>> from auctor.penalties import L2
    >>> from auctor.problem import Problem
    >>> problem = Problem(Squared(), L2(0.5), as_data(np.eye(2), [1, 3]), fit_intercept=False)
    >>> minimise(problem, Sgd(batch=1), rng=0, tol=1e-8).coef.round(3)
    array([0.5, 1.5])
    """

    step_size: float | None = None
    batch: int = 32
    schedule: str = "halving"
    decay: float = 200.0
    momentum: float = 0.0
    nesterov: str = "no"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("Sgd", "momentum", self.momentum, low=0.0, high=1.0, open_high=True)
        check_choice("Sgd", "nesterov", self.nesterov, ("no", "momentum", "sequence"))

    @classmethod
    def examples(cls) -> list[Sgd]:
        """Instances the conformance kit tests."""
        return [cls(), cls(batch=8, momentum=0.5), cls(nesterov="momentum")]

    def advance(self, batches: Batches, walk: Walk, batch: int, step: float) -> None:
        """One step by the rule of the momentum."""
        rows = batches.draw(batch)
        if self.nesterov == "sequence":
            # y+ = x - a g(x); x+ = (1 - c) y+ + c y with c = (1 - size) / size+; size starts at 1.
            ahead = walk.w - step * gradient_at(rows, walk.w)
            before = walk.u if walk.size > 1.0 else ahead
            longer = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * walk.size**2))
            mix = (1.0 - walk.size) / longer
            walk.w = (1.0 - mix) * ahead + mix * before
            walk.u, walk.size = ahead, longer
            return
        share = self.momentum
        at = walk.w
        if self.nesterov == "momentum":
            share = 1.0 - 3.0 / (5.0 + walk.size)
            at, walk.size = walk.w + share * walk.v, walk.size + 1.0
        walk.v = share * walk.v - step * gradient_at(rows, at)
        walk.w = walk.w + walk.v


@dataclass(frozen=True)
class Adam(Stochastic):
    """Stochastic gradients divided by the root of their running mean square.

    Parameters
    ----------
    step_size : float > 0, optional
        By a range test by default; about the change of every parameter in a step.
    batch, schedule, decay
        As for `Sgd`.
    first, second : float in [0, 1)
        Memory of the mean and of the mean square.
    epsilon : float >= 0
        Added to the root.

    References
    ----------
    Kingma, Ba, Adam: a method for stochastic optimization, 2015.
    """

    step_size: float | None = None
    batch: int = 32
    schedule: str = "halving"
    decay: float = 200.0
    first: float = 0.9
    second: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("Adam", "first", self.first, low=0.0, high=1.0, open_high=True)
        check_real("Adam", "second", self.second, low=0.0, high=1.0, open_high=True)
        check_real("Adam", "epsilon", self.epsilon, low=0.0)

    def advance(self, batches: Batches, walk: Walk, batch: int, step: float) -> None:
        """One step; the means are corrected for their start at zero."""
        g = gradient_at(batches.draw(batch), walk.w)
        walk.v = self.first * walk.v + (1.0 - self.first) * g
        walk.u = self.second * walk.u + (1.0 - self.second) * g * g
        mean = walk.v / (1.0 - self.first**walk.size)
        root = np.sqrt(walk.u / (1.0 - self.second**walk.size)) + self.epsilon
        walk.size += 1.0
        walk.w = walk.w - step * np.divide(mean, root, out=np.zeros_like(g), where=root > 0.0)
