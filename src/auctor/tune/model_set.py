"""The interpolation set of a model: fit, geometry, and which points join and leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import FloatArray
from auctor.tune.model import (
    Basis,
    Quadratic,
    check_members,
    check_model,
    fit_linear,
    fit_quadratic,
    full_size,
)
from auctor.tune.rules import RegionRules
from auctor.tune.state import Request, SearchState
from auctor.tune.step import largest_value

#: Dimensions above which models are linear by default.
LINEAR_ABOVE = 120
#: Length of a geometry step, as a share of the distance of the member that it replaces.
GEOMETRY_SHARE = 0.1
#: Smallest singular value of displacements, in units of the radius, that span the space.
LEAST_SPAN = 1e-3


@dataclass
class ModelSet:
    """The members of a model, in a `SearchState`, with the settings that `DfoTr` describes."""

    state: SearchState
    rules: RegionRules
    rng: np.random.Generator
    start: FloatArray
    first_radius: float
    last_radius: float
    design: int
    linear: bool
    restarts: bool
    reach: float
    debug: bool

    def __post_init__(self) -> None:
        dims = self.state.dims
        full = full_size(dims)
        wide = self.rules.points_per_dim * dims + 1
        # Most members: enough for a full quadratic in few dimensions, else a few per dimension.
        self.most = full if dims <= self.rules.full_up_to else min(full, wide)
        if self.linear:
            self.most = dims + 1
        self._last: tuple[tuple[tuple[int, ...], int, float], Basis] | None = None

    def _fit(self) -> tuple[Quadratic, Basis]:
        """The model of the members and its Lagrange functions, in units of the radius."""
        state = self.state
        displacements, values = self._scaled()
        if self.debug:
            points = np.array([state.points[i] for i in state.members])
            check_members(points, values, state.members.index(state.center))
        before = state.hessian
        if before is None:
            before = np.zeros((state.dims, state.dims))
        if self.linear:
            model, basis = fit_linear(displacements, values)
        else:
            # The stored Hessian is in units of the cube, the model's in units of the radius.
            before = before * state.radius**2
            model, basis = fit_quadratic(displacements, values, before, self._ridge(values))
            state.hessian = model.hessian / state.radius**2
        self._last = (self._key(), basis)
        if self.debug and not self.rules.repeats and len(values) <= self.most:
            check_model(model, basis, values, before)
        return model, basis

    def _basis_of(self, displacements: FloatArray, values: FloatArray) -> Basis:
        """Lagrange functions of the members, from the last model if nothing has changed."""
        key = self._key()
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        if self.linear:
            return fit_linear(displacements, values)[1]
        flat = np.zeros((self.state.dims, self.state.dims))
        return fit_quadratic(displacements, values, flat, self._ridge(values))[1]

    def _key(self) -> tuple[tuple[int, ...], int, float]:
        """Cache key of the Lagrange functions: members, centre and radius."""
        return tuple(self.state.members), self.state.center, self.state.radius

    def _ridge(self, values: FloatArray) -> float:
        """Ridge of the regression for noisy values; 0 means interpolation."""
        noise = self.state.noise()
        if not self.rules.repeats or noise == 0.0:
            return 0.0
        return self.rules.ridge * float((noise / max(float(np.ptp(values)), noise)) ** 2)

    def _scaled(self) -> tuple[FloatArray, FloatArray]:
        """Displacements of the members from the centre, in units of the radius, and values."""
        state = self.state
        members = np.array([state.points[i] for i in state.members])
        values = np.array([state.values[i] for i in state.members])
        return (members - state.points[state.center]) / state.radius, values

    def _room(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the displacement, in units of the radius."""
        center = self.state.points[self.state.center]
        return -center / self.state.radius, (1.0 - center) / self.state.radius

    def _place(self, step: FloatArray) -> FloatArray:
        """The point of the cube at a displacement."""
        center = self.state.points[self.state.center]
        place: FloatArray = np.clip(center + self.state.radius * step, 0.0, 1.0)
        return place

    # --- geometry -----------------------------------------------------------------------------

    def _span_point(self) -> Request | None:
        """A point outside the span of the members, if they do not span the space."""
        state = self.state
        displacements, _ = self._scaled()
        if len(state.members) > state.dims + 1 and state.last_failure is None:
            return None
        near = displacements[np.linalg.norm(displacements, axis=1) > 0.0]
        if len(near) < state.dims:
            _, values, vectors = np.linalg.svd(np.vstack((near, np.zeros((1, state.dims)))))
        else:
            _, values, vectors = np.linalg.svd(near, full_matrices=False)
        if values.shape[0] == state.dims and values[-1] > LEAST_SPAN:
            return None
        # The direction in which the members extend least, with the sign that has more room.
        direction = vectors[-1]
        lower, upper = self._room()
        steps = [np.clip(sign * direction, lower, upper) for sign in (1.0, -1.0)]
        step = max(steps, key=lambda one: float(one @ one))
        return Request(self._place(step), "geometry", origin=state.center)

    def _geometry_point(self, basis: Basis) -> Request | None:
        """A point to replace the farthest member, if that is too far from the centre."""
        state = self.state
        displacements = basis.points
        distance = np.linalg.norm(displacements, axis=1)
        t = int(np.argmax(distance))
        limit = max(self.rules.far, 10.0 * state.resolution / state.radius)
        if self.linear or not self.rules.levels:
            limit = 10.0
        if distance[t] <= limit:
            return None
        # Where the Lagrange function of that member is large, the new point conditions well.
        share = max(min(GEOMETRY_SHARE * float(distance[t]), 1.0), state.resolution / state.radius)
        lower, upper = self._room()
        step = largest_value(basis.function(t), lower, upper, min(share, 1.0))
        if not np.any(step):
            return None
        return Request(self._place(step), "geometry", origin=state.center, leaves=state.members[t])

    def _add_member(self, index: int, leaves: int = -1) -> None:
        """Add a point to the members, in place of one if they are full; update the centre."""
        state = self.state
        if state.center < 0:
            state.center, state.members = index, [index]
            return
        better = state.values[index] < state.values[state.center]
        if len(state.members) >= self.most:
            gone = leaves if leaves in state.members else self._member_to_replace(index, better)
            if gone < 0:
                return
            state.members.remove(gone)
        elif leaves in state.members:
            state.members.remove(leaves)
        state.members.append(index)
        if better:
            state.center = index

    def _member_to_replace(self, index: int, better: bool) -> int:
        """The member that the new point x should replace, -1 for none (BOBYQA's rule).

        It has the largest ``l_t(x)^2 max(1, (|y_t - x_best| / radius)^4)``: it is far away, and its
        Lagrange function is large at x, so that the set stays well conditioned.
        """
        state = self.state
        displacements, values = self._scaled()
        basis = self._basis_of(displacements, values)
        step = (state.points[index] - state.points[state.center]) / state.radius
        origin = step if better else np.zeros(state.dims)
        distance = np.linalg.norm(displacements - origin, axis=1)
        score = basis.at(step) ** 2 * np.maximum(1.0, distance**4)
        if not better:
            score[state.members.index(state.center)] = -1.0
        t = int(np.argmax(score))
        return state.members[t] if score[t] > 0.0 else -1
