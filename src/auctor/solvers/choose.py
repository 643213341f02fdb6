"""Which solver for which problem: the one decision table, inner solvers included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import Any

from auctor.core.errors import IncompatibleError, speaks_as
from auctor.minimise import Solver, check_needs, check_solver
from auctor.problem import Problem
from auctor.problem.needs import NOTHING, Need, describe
from auctor.solvers.pays import (
    always,
    cheap_matrix,
    covariances_fit,
    cuts_pay,
    dual_pays,
    intercept_matters,
    many_columns,
    matrix_of_columns,
    pairs_matter,
    rows_span,
    sweeps_pay,
    wide_pairs,
    without_matrix,
)
from auctor.solvers.registry import SOLVERS, solver_class


class Role(Flag):
    """Where a problem comes from; a rule may apply to several roles."""

    #: Given by the user.
    GIVEN = auto()
    #: Given by the user; an equivalent problem (`AsRows`, `RowSpace`) has been tried.
    DIRECT = auto()
    #: Given by the user; cutting planes have been tried, and the loss is to be smoothed.
    SMOOTHING = auto()
    #: Given by the user, with class covariances that have to be shrunk.
    SHRUNK = auto()
    #: Made by smoothing: one of many that follow each other, solved from warm starts.
    SMOOTHED = auto()
    #: Made by smoothing: the first of them, started at w = 0. It may have no rule of its own.
    SMOOTHED_START = auto()
    #: Made by `RowSpace`: as many columns as rows.
    ROW_SPACE = auto()
    #: Made by `AsRows` or `PairDualAscent`: a sum over rows in place of a loss on sets or pairs.
    AS_ROWS = auto()


class Why(Enum):
    """Why a rule is there, if not because it is faster than the next rule that holds."""

    #: No other rule of its role holds for these problems.
    ONLY = "no other rule holds"


#: Problems of users, whether an equivalent problem has been tried or not.
_USER = Role.GIVEN | Role.DIRECT


@dataclass(frozen=True)
class Rule:
    """A row of the decision table.

    Parameters
    ----------
    solver : str
        Name of the solver.
    pays : callable
        ``pays(problem)``: whether the solver is the fastest for a problem with these needs.
    role : Role
        The kinds of problems that the rule applies to.
    options : mapping
        Parameters of the solver that differ from its defaults.
    also : Need
        What the problem must provide beyond the needs of the solver.
    why : Why, optional
        Why the rule is there. By default its solver is at least 1.2 times faster than each that is
        next on some problems, in the geometric mean over these (benchmarks/results/rules.md).
    """

    solver: str
    pays: Callable[[Problem], bool] = always
    role: Role = _USER
    options: Mapping[str, Any] = field(default_factory=dict)
    also: Need = NOTHING
    why: Why | None = None

    @property
    def label(self) -> str:
        """Solver, roles and condition, as in the results."""
        condition = "" if self.pays is always else f", {self.pays.__name__}"
        roles = " or ".join(str(role.name) for role in self.role)
        return f"{self.solver} ({roles}{condition})"

    @property
    def needs(self) -> Need:
        """What the problem must provide: the needs of the solver, and those of this rule."""
        return SOLVERS[self.solver].needs | self.also

    def holds(self, problem: Problem) -> bool:
        """Whether the problem provides the needs, and the solver is fast on it."""
        return not self.needs & ~problem.provides and self.pays(problem)

    def make(self) -> Solver[Any]:
        """The solver with the rule's options."""
        made: Solver[Any] = solver_class(self.solver)(**self.options)
        return made


#: L-BFGS steps at the start of a smoothed solve on pairs.
WARM_STEPS = 16
#: L-BFGS steps at that start if they are preconditioned, so that fewer are enough.
PRECONDITIONED_STEPS = 8

_USER_OR_SMOOTHING = _USER | Role.SMOOTHING

#: The first rule that holds decides.
RULES = (
    # Closed forms.
    Rule("gaussian_discriminant", covariances_fit, also=Need.DENSE | Need.ROWS),
    Rule(
        "gaussian_discriminant",
        role=Role.SHRUNK,
        options={"shrinkage": "auto"},
        also=Need.DENSE | Need.ROWS,
        why=Why.ONLY,
    ),
    # Smooth losses, l2 or no penalty.
    Rule("newton", cheap_matrix, also=Need.GRAM),
    Rule("row_space", rows_span, Role.GIVEN),
    Rule("dual", dual_pays),
    Rule("lbfgs"),
    # Smooth losses, penalties with kinks.
    Rule("proximal_newton"),
    Rule("subspace_newton", wide_pairs),
    Rule("lhac"),
    Rule("block_coordinate_descent"),
    Rule("subspace_newton"),
    Rule("fista", why=Why.ONLY),
    # Kinked losses.
    Rule("as_rows", sweeps_pay, Role.GIVEN),
    Rule("cuts_first", cuts_pay),
    Rule("smooth_first", intercept_matters),
    Rule("proximal_point", role=_USER_OR_SMOOTHING),
    Rule("continuation", role=_USER_OR_SMOOTHING),
    Rule("bmrm", why=Why.ONLY),
    # Problems that smoothing makes, solved one after the other from warm starts.
    Rule(
        "lbfgs_then_newton",
        pairs_matter,
        Role.SMOOTHED_START,
        {"steps": WARM_STEPS, "preconditioned_steps": PRECONDITIONED_STEPS},
        also=Need.GRAM,
    ),
    Rule("newton", role=Role.SMOOTHED, also=Need.GRAM),
    Rule("lbfgs", many_columns, Role.SMOOTHED),
    Rule("proximal_newton", matrix_of_columns, Role.SMOOTHED),
    Rule("subspace_newton", role=Role.SMOOTHED),
    Rule("proximal_quasi_newton", without_matrix, Role.SMOOTHED),
    Rule("fista", role=Role.SMOOTHED, why=Why.ONLY),
    # Problems that equal another one: in the span of the rows, or over rows in place of sets.
    Rule("dual", role=Role.ROW_SPACE, also=Need.BOUNDED_CURVATURE),
    Rule("newton", role=Role.ROW_SPACE),
    Rule("dual", role=Role.AS_ROWS),
)


def holding(problem: Problem, role: Role = Role.GIVEN) -> Iterator[Rule]:
    """The rules that hold for a problem of this role, in the order of the table."""
    return (rule for rule in RULES if role in rule.role and rule.holds(problem))


@speaks_as("choose")
def choose(problem: Problem, *, role: Role = Role.GIVEN) -> Solver[Any]:
    """The default solver for a problem.

    Parameters
    ----------
    role : Role
        Where the problem comes from: given by the user, or made by another solver.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseSquare
    >>> from auctor.penalties import L2
    >>> choose(Problem(PairwiseSquare(), L2(0.1), as_data(np.eye(2), [1, -1])))
    Newton(forcing=0.1, max_cg=500)
    """
    rule = next(holding(problem, role), None)
    if rule is None:
        raise IncompatibleError(
            f"a solver for {problem.described}; got {_nearest(problem, role)}. Choose a smooth "
            "loss, or one with a smoothed form."
        )
    return rule.make()


def _nearest(problem: Problem, role: Role) -> str:
    """Text on the solver that lacks least: its name and what the problem does not provide."""
    missing = [(rule.needs & ~problem.provides, rule) for rule in RULES if role in rule.role]
    lacks, rule = min(missing, key=lambda pair: pair[0].value.bit_count())
    return f"none that fits; the nearest, {rule.solver}, needs {describe(lacks)}"


def able(problem: Problem) -> list[str]:
    """Names of the solvers whose needs a problem provides."""
    return [name for name, solver in SOLVERS.items() if not solver.needs & ~problem.provides]


@speaks_as("resolve")
def resolve(solver: str | Solver[Any], problem: Problem, *, role: Role = Role.GIVEN) -> Solver[Any]:
    """A solver object for a name, ``"auto"`` or an object; an error if its needs are not met.

    ``role`` is that of `choose`, for ``"auto"``.
    """
    check_solver(solver, SOLVERS)
    if isinstance(solver, str) and solver == "auto":
        return choose(problem, role=role)
    solver_object: Solver[Any] = solver_class(solver)() if isinstance(solver, str) else solver
    if solver_object.needs & ~problem.provides:
        check_needs(
            problem, solver_object, f"Solvers that can: {', '.join(able(problem)) or 'none'}"
        )
    return solver_object
