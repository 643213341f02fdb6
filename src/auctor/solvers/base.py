"""What solvers share: protocol, base of their states, memory of a path, penalties as arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from auctor.core.capabilities import BLOCKS, SEPARABLE, TREE
from auctor.core.types import BlockSpec, SeparableSpec, TreeSpec
from auctor.minimise import Solver
from auctor.problem import Point, Problem
from auctor.problem.memory import PathMemory

__all__ = ["STALL_STEPS", "Solver", "State"]

#: Consecutive steps without a lower objective or a higher bound after which a solver has stalled.
STALL_STEPS = 30


@dataclass(frozen=True)
class State:
    """State of a solver between steps; solvers derive their own state from it.

    All fields but the point are given by keyword, so that a derived class may add fields of its
    own, with or without defaults, after the point. Steps make a new state. What a step updates in
    place, because a copy would cost more than the step, is an object of its own that says so: a
    memory of pairs (`Memory`), a bundle of cuts (`Bundle`), the arrays of a dual point
    (`DualWork`), the iterate of an epoch (`Iterate`). Only the latest of the states that share such
    an object can be continued.

    Parameters
    ----------
    point : Point
        The current point, evaluated on the problem itself.
    dual : Point, optional
        A point whose gradient makes a better dual candidate than that of the current one.
    lower : float, optional
        A lower bound of min J that the solver has proved. The gap is then the objective less the
        highest lower bound so far, instead of the duality gap.
    violation : float, optional
        Violation of the optimality conditions of the solver's own model of the data (a structured
        covariance). If given, it is reported as the gap.
    stalled : bool
        Whether no further progress is possible.
    """

    point: Point
    dual: Point | None = field(default=None, kw_only=True)
    lower: float | None = field(default=None, kw_only=True)
    violation: float | None = field(default=None, kw_only=True)
    stalled: bool = field(default=False, kw_only=True)

    def learned(self) -> object:
        """What another solve of the same problem can go on with, as a dataclass of arrays.

        ``None`` where only the point helps. Never bounds and gaps: these are computed again.
        """
        return None

    def resumed(self, learned: object) -> Self:
        """The state at a new start with what an earlier solve has `learned`, after checks of it."""
        return self


def spec_of(problem: Problem, *, intercept: bool = False) -> SeparableSpec:
    """Penalty and bounds per column; with ``intercept``, an unpenalised last entry for it."""
    spec = SEPARABLE.of(problem.penalty, problem.n_columns)
    if not (intercept and problem.has_intercept):
        return spec
    ends = (0.0, 0.0, -math.inf, math.inf)  # l1, l2, lower and upper bound of the intercept
    return SeparableSpec(*(np.append(part, end) for part, end in zip(spec, ends, strict=True)))


def blocks_of(problem: Problem) -> BlockSpec:
    """The groups of a problem's penalty."""
    return BLOCKS.of(problem.penalty, problem.n_columns)


def tree_of(problem: Problem) -> TreeSpec:
    """The nested groups of a problem's penalty."""
    return TREE.of(problem.penalty, problem.n_columns)


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
