"""Problem: the only place where loss, penalty and data meet."""

from auctor.problem.objective import Point
from auctor.problem.problem import Problem

__all__ = ["Point", "Problem"]
