"""The decisions of the trust region: which point next, and what a value means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import FloatArray
from auctor.tune.design import coordinate_design, far_from, spread_point
from auctor.tune.model import Basis, Quadratic, check_model, fit_linear, fit_quadratic, full_size
from auctor.tune.rules import REPEAT_SHARE, RIDGE, SAME_END, Rules
from auctor.tune.state import Asked, State
from auctor.tune.step import check_step, largest_value, trust_step

#: Dimensions above which models are linear, unless asked otherwise: a quadratic model of 2d + 1
#: points costs O((3d)^3) per evaluation, 20 ms at d = 100.
LINEAR_ABOVE = 120
#: Most points of a quadratic model, per dimension, beyond which more geometry costs more than it
#: tells. Source: benchmarks/results/dfo.md, smooth problems.
POINTS_PER_DIM = 3
#: Dimensions up to which models grow to full quadratics: 45 points at 8.
FULL_UP_TO = 8
#: A member farther than this many radii is replaced before the resolution is cut (BOBYQA).
FAR = 2.0
#: Failed cuts of the resolution in one call before a new run is started.
MOST_CUTS = 60
#: Singular value of the scaled displacements below which the set spans too little.
LEAST_SPAN = 1e-3


@dataclass
class Machine:
    """One state and the settings that its next point depends on; `DfoTr` describes them."""

    state: State
    rules: Rules
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
        self.most = full if dims <= FULL_UP_TO else min(full, POINTS_PER_DIM * dims + 1)
        if self.linear:
            self.most = dims + 1
        self._last: tuple[tuple[tuple[int, ...], int, float], Basis] | None = None

    def begin(self) -> None:
        """Queue the first points: a design over the cube, or one along the coordinates."""
        queue = self.state.queue
        queue.append(self.start)
        for _ in range(self.design):
            queue.append(far_from(self.rng, queue, self.start, self.reach))
        if not self.design:
            queue += coordinate_design(self.start, self.first_radius)

    def next(self) -> Asked:
        """Decide on one point to evaluate."""
        state = self.state
        for _ in range(MOST_CUTS):
            if state.queue:
                return Asked(state.queue.pop(0), "design")
            if state.center < 0:
                if self._waiting():
                    return self._spread(None)
                self._restart()
                continue
            if self._design_is_done():
                self._center_on_best_of_design()
                continue
            found = self._from_model()
            if found is not None:
                return found
        self._restart()
        return Asked(state.queue.pop(0), "design")

    def _design_is_done(self) -> bool:
        """Whether the design over the whole cube was told and no model was made from it yet."""
        state = self.state
        fresh = self.design > 0 and state.run == 0 and state.hessian is None
        return fresh and not self._waiting()

    def _center_on_best_of_design(self) -> None:
        """The best point of the design becomes the centre of the first region."""
        state = self.state
        state.members = [state.center]
        state.hessian = np.zeros((state.dims, state.dims))
        state.queue += coordinate_design(state.points[state.center], state.radius)

    def _from_model(self) -> Asked | None:
        """A point from the model; None after a cut of the resolution or a new run."""
        state, rules = self.state, self.rules
        if self._waiting():
            return self._spread(state.points[state.center])
        if self.restarts and self._seen_before():
            self._restart()
            return None
        if not rules.levels and state.radius <= self.last_radius:
            self._cut()
            return None
        span = self._widen()
        if span is not None:
            return span
        model, basis = self._fit()
        failure, state.last_failure = state.last_failure, None
        if failure is not None:
            repeated = self._repeat()
            if repeated is not None:
                return repeated
            asked = self._improve(basis)
            if asked is not None:
                return asked
            length, ratio = failure
            if rules.levels and ratio <= 0.0 and max(state.radius, length) <= state.resolution:
                self._cut()
                return None
        lower, upper = self._room()
        step = trust_step(model, lower, upper)
        if self.debug:
            check_step(model, step, lower, upper, 1.0)
        length = float(np.linalg.norm(step)) * state.radius
        predicted = -model.change(step)
        limit = rules.short * (state.resolution if rules.levels else state.radius)
        if length < limit or predicted <= 1e-15 * abs(state.values[state.center]):
            asked = self._improve(basis)
            if asked is None:
                self._cut()
            return asked
        point = self._place(step)
        return Asked(point, "trial", predicted, state.center, length)

    def _waiting(self) -> bool:
        """Whether a point is out whose value the next step depends on.

        A point that does not come back while ``d + 1`` later ones do is not waited for.
        """
        state = self.state
        return any(
            one.role != "spread" and state.n_told - one.since <= state.dims + 1
            for one in state.pending
        )

    def _fit(self) -> tuple[Quadratic, Basis]:
        """The model of the members, in units of the radius."""
        state = self.state
        displacements, values = self._scaled()
        if self.linear:
            model, basis = fit_linear(displacements, values)
        else:
            before = state.hessian
            if before is None:
                before = np.zeros((state.dims, state.dims))
            scaled = before * state.radius**2
            model, basis = fit_quadratic(displacements, values, scaled, self._ridge(values))
            state.hessian = model.hessian / state.radius**2
        self._last = (self._key(), basis)
        if self.debug and not self.rules.repeats and len(values) <= self.most:
            check_model(model, displacements, values)
        return model, basis

    def _basis_of(self, displacements: FloatArray, values: FloatArray) -> Basis:
        """Lagrange functions of the members; those of the last model where they are the same."""
        key = self._key()
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        if self.linear:
            return fit_linear(displacements, values)[1]
        flat = np.zeros((self.state.dims, self.state.dims))
        return fit_quadratic(displacements, values, flat, self._ridge(values))[1]

    def _key(self) -> tuple[tuple[int, ...], int, float]:
        """What the Lagrange functions depend on."""
        return tuple(self.state.members), self.state.center, self.state.radius

    def _ridge(self, values: FloatArray) -> float:
        """Regression instead of interpolation: variance of the noise over that of the curvature."""
        noise = self.state.noise()
        if not self.rules.repeats or noise == 0.0:
            return 0.0
        return RIDGE * float((noise / max(float(np.ptp(values)), noise)) ** 2)

    def _scaled(self) -> tuple[FloatArray, FloatArray]:
        state = self.state
        members = np.array([state.points[i] for i in state.members])
        values = np.array([state.values[i] for i in state.members])
        return (members - state.points[state.center]) / state.radius, values

    def _room(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the displacement, in units of the radius."""
        center = self.state.points[self.state.center]
        return -center / self.state.radius, (1.0 - center) / self.state.radius

    def _place(self, step: FloatArray) -> FloatArray:
        center = self.state.points[self.state.center]
        found: FloatArray = np.clip(center + self.state.radius * step, 0.0, 1.0)
        return found

    # --- geometry -----------------------------------------------------------------------------

    def _widen(self) -> Asked | None:
        """A point outside the span of the members, where they span less than the cube."""
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
        direction = vectors[-1]
        lower, upper = self._room()
        steps = [np.clip(sign * direction, lower, upper) for sign in (1.0, -1.0)]
        step = max(steps, key=lambda one: float(one @ one))
        return Asked(self._place(step), "geometry", origin=state.center)

    def _improve(self, basis: Basis) -> Asked | None:
        """A point that replaces the farthest member, where that is too far away to be of use."""
        state = self.state
        displacements = basis.points
        distance = np.linalg.norm(displacements, axis=1)
        t = int(np.argmax(distance))
        limit = FAR if not self.rules.levels else max(FAR, 10.0 * state.resolution / state.radius)
        if self.linear or not self.rules.levels:
            limit = 10.0
        if distance[t] <= limit:
            return None
        share = max(min(0.1 * float(distance[t]), 1.0), state.resolution / state.radius)
        lower, upper = self._room()
        step = largest_value(basis.function(t), lower, upper, min(share, 1.0))
        if not np.any(step):
            return None
        return Asked(self._place(step), "geometry", origin=state.center, leaves=state.members[t])

    def _spread(self, center: FloatArray | None) -> Asked:
        """A point away from all others, for evaluation beside those that are pending."""
        state = self.state
        taken = [state.points[i] for i in state.members] + [one.point for one in state.pending]
        if center is None:
            return Asked(far_from(self.rng, taken, self.start, self.reach), "spread")
        return Asked(spread_point(self.rng, taken, center, state.radius), "spread")

    def _repeat(self) -> Asked | None:
        """The incumbent again, where its value may be luck: a failed step was judged by it."""
        state = self.state
        if not self.rules.repeats:
            return None
        allowed = 1.0 + REPEAT_SHARE * state.n_told
        if state.counts[state.center] < 2 and state.n_repeats < allowed:
            return Asked(state.points[state.center].copy(), "repeat")
        return None

    # --- radius and runs ----------------------------------------------------------------------

    def _cut(self) -> None:
        """Lower the resolution, or start a new run at the last one."""
        state, rules = self.state, self.rules
        if state.resolution <= self.last_radius * (1.0 + 1e-9):
            if self.restarts:
                self._restart()
                return
            # No further run: go on around the best point with the last radius.
            state.ends.append(state.center)
            state.resolution = state.radius = 10.0 * self.last_radius
            state.queue.append(
                spread_point(
                    self.rng,
                    [state.points[i] for i in state.members],
                    state.points[state.center],
                    state.radius,
                )
            )
            return
        before = state.resolution
        state.resolution = max(self.last_radius, 0.1 * before if rules.levels else 0.5 * before)
        if rules.levels:
            state.radius = max(0.5 * before, state.resolution)
        else:
            state.radius = state.resolution

    def _seen_before(self) -> bool:
        """Whether this run is about to find the end of an earlier one again."""
        state = self.state
        if not state.ends or state.radius > SAME_END:
            return False
        center, value = state.points[state.center], state.values[state.center]
        return any(
            np.abs(state.points[end] - center).max() < SAME_END and value >= state.values[end]
            for end in state.ends
        )

    def _restart(self) -> None:
        """Start a new run far from everything seen."""
        state = self.state
        if state.center >= 0:
            state.ends.append(state.center)
        taken = state.points + [one.point for one in state.pending]
        start = far_from(self.rng, taken, self.start, self.reach)
        state.run += 1
        state.center, state.members, state.hessian = -1, [], None
        state.radius = state.resolution = self.first_radius
        state.last_failure = None
        state.queue = [start, *coordinate_design(start, self.first_radius)]

    # --- what was told ------------------------------------------------------------------------

    def tell_one(self, point: FloatArray, value: float) -> None:
        """Take in the value of one point; NaN or infinity where the evaluation failed."""
        state = self.state
        asked = self._take_pending(point)
        state.n_told += 1
        if not np.isfinite(value):
            state.n_failed += 1
            value = np.nan
        known = self._known(point)
        if known >= 0:
            self._tell_repeat(known, value)
            return
        index = len(state.points)
        state.points.append(point.copy())
        state.values.append(value)
        state.counts.append(0 if np.isnan(value) else 1)
        state.runs.append(state.run)
        if np.isnan(value):
            self._tell_failed(asked)
            return
        if asked is not None and asked.role == "trial" and asked.origin == state.center:
            self._tell_trial(index, asked)
        else:
            self._admit(index, leaves=-1 if asked is None else asked.leaves)

    def _take_pending(self, point: FloatArray) -> Asked | None:
        for k, one in enumerate(self.state.pending):
            if np.array_equal(one.point, point):
                return self.state.pending.pop(k)
        return None

    def _known(self, point: FloatArray) -> int:
        """Index of a point that was told before, -1 if it was not."""
        points = self.state.points
        same = np.flatnonzero((np.array(points) == point).all(axis=1)) if points else np.zeros(0)
        return int(same[0]) if same.size else -1

    def _tell_repeat(self, index: int, value: float) -> None:
        """Another value of a known point: their mean counts, and their spread is noise.

        Earlier spreads count half at each repeat: noise often shrinks with the values.
        """
        state = self.state
        if np.isnan(value):
            return
        count, mean = state.counts[index], state.values[index]
        state.counts[index] = count + 1
        if count == 0:  # it failed the first time
            state.values[index] = value
            self._admit(index)
            return
        state.values[index] = mean + (value - mean) / (count + 1)
        state.n_repeats += 1
        state.spread = 0.5 * state.spread + (value - mean) * (value - state.values[index])
        state.freedom = 0.5 * state.freedom + 1.0
        if state.members:
            state.center = min(state.members, key=lambda i: state.values[i])

    def _tell_failed(self, asked: Asked | None) -> None:
        """A failed evaluation: a trial shrinks the region, a lost design point is mirrored."""
        state = self.state
        if asked is None or state.center < 0:
            return
        if asked.role == "trial":
            state.radius *= 0.5
            state.resolution = min(state.resolution, state.radius)
            if state.radius < self.last_radius:
                self._restart()
        elif asked.role in ("design", "geometry"):
            mirrored = np.clip(2.0 * state.points[state.center] - asked.point, 0.0, 1.0)
            if not any(np.array_equal(mirrored, seen) for seen in state.points):
                state.queue.append(mirrored)

    def _tell_trial(self, index: int, asked: Asked) -> None:
        """Judge a step by the ratio of actual to predicted decrease."""
        state, rules = self.state, self.rules
        ratio = (state.values[state.center] - state.values[index]) / asked.predicted
        enough = len(state.members) > state.dims + 1
        self._admit(index)
        if rules.levels:
            if ratio <= 0.1:
                state.radius = min(0.5 * state.radius, asked.length)
            elif ratio <= rules.good:
                state.radius = max(0.5 * state.radius, asked.length)
            else:
                state.radius = max(0.5 * state.radius, rules.grow * asked.length)
            state.radius = min(state.radius, 0.5)
            if state.radius <= 1.5 * state.resolution:
                state.radius = state.resolution
        elif ratio >= rules.good:
            state.radius = min(state.radius * rules.grow, 0.5)
        elif ratio < rules.accept and enough:
            state.radius *= rules.shrink
        if not rules.levels:
            state.resolution = state.radius
        failed = ratio <= (0.1 if rules.levels else rules.accept)
        state.failures = state.failures + 1 if failed else 0
        state.last_failure = (asked.length, ratio) if failed else None

    def _admit(self, index: int, leaves: int = -1) -> None:
        """Take a point into the set of the model; the best of the set is its centre."""
        state = self.state
        if state.center < 0:
            state.center, state.members = index, [index]
            return
        better = state.values[index] < state.values[state.center]
        if len(state.members) >= self.most:
            gone = leaves if leaves in state.members else self._weakest(index, better)
            if gone < 0:
                return
            state.members.remove(gone)
        elif leaves in state.members:
            state.members.remove(leaves)
        state.members.append(index)
        if better:
            state.center = index

    def _weakest(self, index: int, better: bool) -> int:
        """The member that the new point replaces best: far away, and close to the new one's role.

        The largest ``l_t(x)^2 max(1, (|y_t - x_best| / radius)^4)`` over the members (BOBYQA).
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
