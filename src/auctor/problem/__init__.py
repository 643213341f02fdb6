"""Problem: the only place where loss, penalty and data meet."""

from auctor.problem.problem import BALANCE, Certificate, Goal, Known, Null, Point, Problem

__all__ = ["BALANCE", "Certificate", "Goal", "Known", "Null", "Point", "Problem"]
