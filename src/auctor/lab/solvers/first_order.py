"""Stochastic gradient descent: plain, with momentum, Nesterov's two forms, and Adam."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import speaks_for_itself
from auctor.lab.solvers.stochastic import Batches, Iterate, Stochastic, gradient_at
from auctor.problem import Problem


@dataclass(frozen=True)
class Sgd(Stochastic):
    """Stochastic gradient descent on batches of rows.

    The cost of reaching a loose accuracy does not grow with the number of rows; for a high accuracy
    use `Lbfgs` or `Newton`.

    Parameters
    ----------
    step_size : float > 0, optional
        Set by a range test by default.
    batch : int >= 1
        Rows per step.
    schedule : {"halving", "constant", "harmonic"}
        ``"halving"`` converges: an epoch that does not lower the objective is undone and doubles
        the batch or, if that holds all rows, halves the step. ``"harmonic"`` is
        ``step / (1 + k / decay)``.
    decay : float > 0
        Steps after which a harmonic step has halved.
    momentum : float in [0, 1)
        Share of the last step that is added to the next.
    nesterov : {"no", "momentum", "sequence"}
        Nesterov's acceleration: ``"momentum"`` with momentum ``1 - 3 / (5 + k)``, or ``"sequence"``
        with ``t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2``. Both ignore the parameter ``momentum``.

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

    @speaks_for_itself
    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("momentum", self.momentum, low=0.0, high=1.0, open_high=True)
        check_choice("nesterov", self.nesterov, tuple(MOMENTA))

    @classmethod
    def examples(cls) -> list[Sgd]:
        """Instances the conformance kit tests."""
        return [cls(), cls(batch=8, momentum=0.5), cls(nesterov="momentum")]

    def advance(self, batches: Batches, iterate: Iterate, batch: int, step: float) -> None:
        """One gradient step with the chosen momentum."""
        MOMENTA[self.nesterov](self, batches.draw(batch), iterate, step)


def _plain(solver: Sgd, rows: Problem, iterate: Iterate, step: float) -> None:
    """``v+ = m v - a g(w), w+ = w + v+``."""
    iterate.v = solver.momentum * iterate.v - step * gradient_at(rows, iterate.w)
    iterate.w = iterate.w + iterate.v


def _nesterov_momentum(solver: Sgd, rows: Problem, iterate: Iterate, step: float) -> None:
    """The same with the gradient at ``w + m v`` and ``m = 1 - 3 / (5 + k)``."""
    share = 1.0 - 3.0 / (5.0 + iterate.size)
    at, iterate.size = iterate.w + share * iterate.v, iterate.size + 1.0
    iterate.v = share * iterate.v - step * gradient_at(rows, at)
    iterate.w = iterate.w + iterate.v


def _nesterov_sequence(solver: Sgd, rows: Problem, iterate: Iterate, step: float) -> None:
    """``y+ = x - a g(x)``, ``x+ = (1 - c) y+ + c y`` with ``c = (1 - t) / t+``; t starts at 1."""
    moved = iterate.w - step * gradient_at(rows, iterate.w)
    before = iterate.u if iterate.size > 1.0 else moved
    next_size = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * iterate.size**2))
    mix = (1.0 - iterate.size) / next_size
    iterate.w = (1.0 - mix) * moved + mix * before
    iterate.u, iterate.size = moved, next_size


#: Step of `Sgd` by the name of its acceleration that users type.
MOMENTA: dict[str, Callable[[Sgd, Problem, Iterate, float], None]] = {
    "no": _plain,
    "momentum": _nesterov_momentum,
    "sequence": _nesterov_sequence,
}


@dataclass(frozen=True)
class Adam(Stochastic):
    """Stochastic gradients divided by the root of their running mean square.

    Parameters
    ----------
    step_size : float > 0, optional
        About the change of every parameter in a step; set by a range test by default.
    batch, schedule, decay
        As for `Sgd`.
    first, second : float in [0, 1)
        Decay rates of the running mean and of the running mean square.
    epsilon : float >= 0
        Added to the root of the mean square.

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

    @speaks_for_itself
    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("first", self.first, low=0.0, high=1.0, open_high=True)
        check_real("second", self.second, low=0.0, high=1.0, open_high=True)
        check_real("epsilon", self.epsilon, low=0.0)

    def advance(self, batches: Batches, iterate: Iterate, batch: int, step: float) -> None:
        """One step; the running means are corrected for their start at zero."""
        g = gradient_at(batches.draw(batch), iterate.w)
        iterate.v = self.first * iterate.v + (1.0 - self.first) * g
        iterate.u = self.second * iterate.u + (1.0 - self.second) * g * g
        mean = iterate.v / (1.0 - self.first**iterate.size)
        root = np.sqrt(iterate.u / (1.0 - self.second**iterate.size)) + self.epsilon
        iterate.size += 1.0
        iterate.w = iterate.w - step * np.divide(mean, root, out=np.zeros_like(g), where=root > 0.0)
