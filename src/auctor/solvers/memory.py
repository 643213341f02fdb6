"""What solvers share along a regularisation path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from auctor.problem import Problem
from auctor.problem.memory import PathMemory

if TYPE_CHECKING:  # the solvers import this module
    from auctor.solvers.kinked.bundle import Bundle
    from auctor.solvers.sparse.history import GradientHistory
    from auctor.solvers.sparse.models.columns import Store
    from auctor.solvers.sparse.models.matrix import MatrixModel
    from auctor.solvers.wide.row_space import Span


@dataclass
class SolverMemory(PathMemory):
    """The parts of solvers that one solve along a path passes to the next.

    Attributes
    ----------
    bundle : Bundle, optional
        Cutting planes: the cuts of the last solve.
    columns : Store, optional
        Coordinate descent: the columns that were copied.
    model : MatrixModel, optional
        Proximal Newton: the latest Hessian.
    history : GradientHistory, optional
        Proximal Newton: gradients of earlier points.
    span : Span, optional
        Solves in the span of the rows: its basis.
    """

    bundle: Bundle | None = None
    columns: Store | None = None
    model: MatrixModel | None = None
    history: GradientHistory | None = None
    span: Span | None = None


def memory_of(problem: Problem) -> SolverMemory:
    """The memory of the path that a problem belongs to.

    A problem that is solved alone has none. It gets an empty memory of its own on every call, so
    that solvers need no second case: they find nothing in it, and what they store is lost. A solver
    that reads something back later in the same solve keeps it in its state.
    """
    memory = problem.memory
    if memory is None:
        return SolverMemory()
    assert isinstance(memory, SolverMemory)  # paths make no other
    return memory
