"""Least squares: linear by QR, SVD and quadratic programs, non-linear by Levenberg-Marquardt."""

from auctor.lab.least_squares.linear import lasso, min_norm, solve_qr, solve_svd, tikhonov
from auctor.lab.least_squares.methods import GaussNewton, LevenbergMarquardt, SteepestDescent
from auctor.lab.least_squares.poisson import PoissonNetwork
from auctor.lab.least_squares.solver import FitStatus, LeastSquaresFit, solve
from auctor.lab.least_squares.trust_region import TrustStep, trust_step

__all__ = [
    "FitStatus",
    "GaussNewton",
    "LeastSquaresFit",
    "LevenbergMarquardt",
    "PoissonNetwork",
    "SteepestDescent",
    "TrustStep",
    "lasso",
    "min_norm",
    "solve",
    "solve_qr",
    "solve_svd",
    "tikhonov",
    "trust_step",
]
