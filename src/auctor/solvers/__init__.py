"""Solvers: one family per file; `choose` is the decision table."""

from auctor.solvers.choose import choose, resolve
from auctor.solvers.continuation import Continuation
from auctor.solvers.exact import Exact
from auctor.solvers.gradient import GradientDescent
from auctor.solvers.newton import Newton
from auctor.solvers.proximal import Fista, ProximalGradient
from auctor.solvers.proximal_newton import ProximalNewton
from auctor.solvers.quasi_newton import Lbfgs

__all__ = [
    "Continuation",
    "Exact",
    "Fista",
    "GradientDescent",
    "Lbfgs",
    "Newton",
    "ProximalGradient",
    "ProximalNewton",
    "choose",
    "resolve",
]
