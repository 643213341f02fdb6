"""What solvers share along a regularisation path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from auctor.problem import PathMemory, Problem

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
    """The memory of the path that a problem belongs to; a new one for a problem solved alone."""
    memory = problem.memory
    return memory if isinstance(memory, SolverMemory) else SolverMemory()
