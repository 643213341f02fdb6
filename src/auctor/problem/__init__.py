"""Problem: the only place where loss, penalty and data meet."""

from auctor.problem.memory import PathMemory, WarmStart
from auctor.problem.problem import BALANCE, Certificate, Null, Point, Problem

__all__ = ["BALANCE", "Certificate", "Null", "PathMemory", "Point", "Problem", "WarmStart"]
