"""Convex quadratic programs by an active-set method, and support vector machines as such."""

from auctor.lab.qp.chunks import by_chunks
from auctor.lab.qp.margin import Margin, hard_margin, soft_margin, svm_dual
from auctor.lab.qp.program import KktResidual, QuadraticProgram, kkt_residual
from auctor.lab.qp.solver import QpSolution, QpStatus, find_feasible, solve

__all__ = [
    "KktResidual",
    "Margin",
    "QpSolution",
    "QpStatus",
    "QuadraticProgram",
    "by_chunks",
    "find_feasible",
    "hard_margin",
    "kkt_residual",
    "soft_margin",
    "solve",
    "svm_dual",
]
