"""Problem: the only place where loss, penalty and data meet."""

from auctor.problem.certificate import Certificate
from auctor.problem.intercept import NullModel
from auctor.problem.memory import PathMemory, WarmStart
from auctor.problem.point import BALANCE, Point
from auctor.problem.problem import Problem

__all__ = ["BALANCE", "Certificate", "NullModel", "PathMemory", "Point", "Problem", "WarmStart"]
