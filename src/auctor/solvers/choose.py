"""Which solver for which problem: the decision table, in code."""

from __future__ import annotations

from typing import Any

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.hessian import FACTOR_PARAMS
from auctor.minimise import Solver, check_needs
from auctor.problem import Problem
from auctor.solvers.accelerated import AcceleratedProximalQuasiNewton
from auctor.solvers.block import BlockCoordinateDescent
from auctor.solvers.continuation import Continuation
from auctor.solvers.exact import Exact
from auctor.solvers.gradient import GradientDescent
from auctor.solvers.interior_point import InteriorPoint
from auctor.solvers.lhac import Lhac
from auctor.solvers.newton import Newton
from auctor.solvers.orthant import OrthantWise
from auctor.solvers.proximal import Fista, ProximalGradient
from auctor.solvers.proximal_newton import ProximalNewton
from auctor.solvers.proximal_quasi_newton import ProximalQuasiNewton
from auctor.solvers.quasi_newton import Lbfgs
from auctor.solvers.scd import StochasticCoordinateDescent

#: Every solver by the name users type.
SOLVERS: dict[str, type[Any]] = {
    "exact": Exact,
    "newton": Newton,
    "lbfgs": Lbfgs,
    "gradient_descent": GradientDescent,
    "proximal_newton": ProximalNewton,
    "accelerated_proximal_quasi_newton": AcceleratedProximalQuasiNewton,
    "lhac": Lhac,
    "orthant_wise": OrthantWise,
    "proximal_quasi_newton": ProximalQuasiNewton,
    "block_coordinate_descent": BlockCoordinateDescent,
    "interior_point": InteriorPoint,
    "stochastic_coordinate_descent": StochasticCoordinateDescent,
    "fista": Fista,
    "proximal_gradient": ProximalGradient,
    "continuation": Continuation,
}

#: In order: the first solver whose needs the problem meets.
#:
#: ============================  =====================  ==================================
#: loss                          penalty                solver
#: ============================  =====================  ==================================
#: quadratic                     smooth (none, l2)      exact: one linear system
#: smooth, with curvature        smooth, <= 600 columns newton: a few fused passes
#: smooth                        smooth (none, l2)      lbfgs
#: smooth, a sum over rows       separable (l1, box)    proximal_newton: working sets
#: smooth                        any with a prox        fista
#: non-smooth with a smoothing   any of the above       continuation over one of the above
#: ============================  =====================  ==================================
PREFERENCE: tuple[type[Any], ...] = (
    Exact,
    Newton,
    Lbfgs,
    ProximalNewton,
    Fista,
    Continuation,
)


def choose(problem: Problem) -> Solver[Any]:
    """The default solver for a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseSquare
    >>> from auctor.penalties import L2
    >>> choose(Problem(PairwiseSquare(), L2(0.1), as_data(np.eye(2), [1, -1])))
    Exact(direct=None)
    """
    for kind in PREFERENCE:
        if kind is Newton and problem.n_params > FACTOR_PARAMS:
            continue
        if not kind.needs & ~problem.provides:
            solver: Solver[Any] = kind()
            return solver
    raise IncompatibleError(
        f"No solver fits {type(problem.loss).__name__} with {type(problem.penalty).__name__} on "
        f"{type(problem.data).__name__} data; got what these provide: {problem.provides}. "
        "Choose a smooth loss, or one with a smoothed form."
    )


def able(problem: Problem) -> list[str]:
    """Names of the solvers that can do a problem."""
    return [name for name, kind in SOLVERS.items() if not kind.needs & ~problem.provides]


def resolve(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """A solver object for a name, ``"auto"`` or an object, refused up front if it cannot do it."""
    if isinstance(solver, str):
        if solver == "auto":
            return choose(problem)
        if solver not in SOLVERS:
            raise ParameterError(
                f"auctor needs solver to be 'auto', one of {', '.join(map(repr, SOLVERS))} or a "
                f"solver object; got {solver!r}. Pass one of these."
            )
    elif isinstance(solver, type) or not hasattr(solver, "step"):
        raise ParameterError(
            f"auctor needs solver to be a name or a solver object; got {solver!r}. "
            "Pass an instance, such as auctor.solvers.Newton()."
        )
    chosen: Solver[Any] = SOLVERS[solver]() if isinstance(solver, str) else solver
    check_needs(problem, chosen, f"Solvers that can: {', '.join(able(problem)) or 'none'}")
    return chosen
