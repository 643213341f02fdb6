"""Problem: the only place where loss, penalty and data meet."""

from auctor.problem.certificate import Certificate
from auctor.problem.intercept import NullModel
from auctor.problem.point import BALANCE, Goal, Known, Point
from auctor.problem.problem import Problem

__all__ = ["BALANCE", "Certificate", "Goal", "Known", "NullModel", "Point", "Problem"]
