"""Variants of LHAC in the thesis that the library does not ship: its other active sets, its line
search, and proximal gradient as inner method. They share all other code with `auctor.solvers.Lhac`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from auctor.core.types import Array
from auctor.kernels.descent.lowrank import GROWING, PINNED, SHRINKING
from auctor.problem import Problem
from auctor.solvers import Lhac
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.lhac import FEW, IMBALANCE, LhacState
from auctor.solvers.sparse.models.lowrank import (
    Descent,
    Inner,
    ModelStep,
    Subproblem,
    advance,
    budget,
    survey,
)

#: Tang 2.7.3; "GRDY-AD" is the library's "greedy", "GRDY-AD plain" the listing with its guard only.
RULES = (
    "STD", "GRDY", "GRDY-CTZ", "GRDY-EP", "GRDY-AD", "GRDY-AD plain", "STD-EP", "STD-EPA",
)  # fmt: skip
EPSILON = {"GRDY-EP": 0.01, "STD-EP": 0.01, "STD-EPA": 0.5}
#: GRDY-CTZ cuts when at least this many coordinates want to leave zero.
MANY = 100


@dataclass(frozen=True)
class Selecting(Lhac):
    """LHAC with one of the thesis's free sets; ``unit`` turns its epsilons into those of the loss.

    Sorted rules need ``order="cyclic"``.
    """

    rule: str = "STD"
    unit: float = 1.0

    def _free_set(self, state: LhacState) -> tuple[Array, bool]:
        if self.rule == "GRDY-AD":
            return super()._free_set(state)
        seen = survey(state.point, spec_of(state.point.problem))
        size, kind = np.abs(seen.steepest), seen.kind
        at_zero = state.point.w[: kind.size] == 0.0
        leaving = at_zero & (kind == GROWING)
        chosen = kind != PINNED
        if self.rule in EPSILON:
            chosen &= ~(leaving & (size <= EPSILON[self.rule] * self.unit))
        partial = False
        if self.rule == "GRDY-AD plain":
            growing, shrinking = kind == GROWING, kind == SHRINKING
            few = int(shrinking.sum())
            partial = few >= FEW and growing.sum() > IMBALANCE * few
            if partial:
                chosen = shrinking | _largest(size, growing, few)
        held = int((chosen & ~leaving).sum())
        if self.rule == "GRDY-CTZ" and held and leaving.sum() >= MANY:
            chosen = _largest(size, chosen, held)
        index = np.flatnonzero(chosen)
        if self.rule.startswith("GRDY"):
            index = index[np.argsort(-size[index], kind="stable")]
        return index, partial


def _largest(size: np.ndarray, among: np.ndarray, count: int) -> np.ndarray:
    candidates = np.flatnonzero(among)
    out = np.zeros_like(among)
    out[candidates[np.argsort(-size[candidates], kind="stable")[:count]]] = True
    return out


@dataclass(frozen=True)
class LineSearching(Lhac):
    """LHAC-L: the L-BFGS matrix as it is, and an Armijo line search along the step."""

    def step(self, problem: Problem, state: LhacState) -> LhacState:
        point = state.point
        index, _ = self._free_set(state)
        model = self._model(point, state.pairs, index)
        passes = budget(self.inner, state.iteration + 1, self.inner_rate)
        candidate = model.solve(state.inner, scale=1.0, extra=0.0, passes=passes)
        d = candidate.w - point.w
        promised = float(point.gradient @ d) - point.penalty
        promised += problem.penalty.value(problem.coef(candidate.w))
        length = 1.0
        for trial in range(60):
            new = problem.evaluate(point.w + length * d)
            if new.value <= point.value + 1e-3 * length * promised:
                done = Descent(new, 1.0, 0.0, candidate.steps, trial + 1)
                return replace(advance(problem, state, done), free=index.shape[0])
            length *= 0.5
        return replace(state, stalled=True)


@dataclass(frozen=True)
class GradientSubproblem(Subproblem):
    """The model minimised by proximal gradient; a pass is one step, about as dear as a sweep."""

    def solve(self, inner: Inner, *, scale: float, extra: float, passes: int) -> ModelStep:
        base, _, rows, hats = self.model
        l1, l2, lower, upper = self.spec
        # Largest eigenvalue relative to the diagonal part: those of a small matrix.
        values = np.linalg.eigvals(-(hats.T @ (rows / base[:, None]))).real if rows.size else [0.0]
        bound = scale * (1.0 + max(0.0, float(np.max(values)))) + extra
        u = self.w.copy()
        for _ in range(passes):
            d = u - self.w
            slope = self.gradient + (scale + extra) * base * d - scale * (rows @ (hats.T @ d))
            step = 1.0 / (bound * base)
            pulled = u - step * slope
            shrunk = np.sign(pulled) * np.maximum(np.abs(pulled) - step * l1, 0.0)
            u = np.clip(shrunk / (1.0 + step * l2), lower, upper)
        d = u - self.w
        curve = (scale + extra) * float(d @ (base * d)) - scale * float((d @ rows) @ (d @ hats))
        w = self.origin.copy()
        w[self.index] = u
        return ModelStep(w, float(self.gradient @ d) + 0.5 * curve, passes * d.shape[0])
