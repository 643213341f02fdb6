"""Least squares: linear by QR, SVD and quadratic programs, non-linear by Levenberg-Marquardt."""

from auctor.least_squares.linear import lasso, min_norm, solve_qr, solve_svd, tikhonov
from auctor.least_squares.methods import GaussNewton, LevenbergMarquardt, SteepestDescent
from auctor.least_squares.poisson import PoissonNetwork
from auctor.least_squares.solver import Fit, FitStatus, solve
from auctor.least_squares.trust_region import TrustStep, trust_step

__all__ = [
    "Fit",
    "FitStatus",
    "GaussNewton",
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
