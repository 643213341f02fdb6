"""The trust-region algorithm: which point is next, and the update after a value."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray
from auctor.tune.design import coordinate_design, far_from, spread_point
from auctor.tune.model_set import ModelSet
from auctor.tune.state import LARGEST_VALUE, PausedRun, Request
from auctor.tune.step import SLACK, check_step, trust_step

#: Attempts to find a point in one call, at most, before a new run is started.
MOST_CUTS = 60
#: Predicted decrease, as a share of the best value, that is below rounding.
NO_DECREASE = 1e-15
#: Factor from one level of the resolution to the next. Powell, The BOBYQA algorithm, 2009.
LEVEL_SHARE = 0.1
#: Ratio of actual to predicted decrease up to which the radius is halved or less.
POOR = 0.1
#: Radius, in units of the resolution, up to which it is set to the resolution.
NEAR_RESOLUTION = 1.5


class TrustRegion(ModelSet):
    """Decides which point is next, and updates the region and the run after each value."""

    def begin(self) -> None:
        """Queue the first points: spread over the cube, or along the coordinates."""
        queue = self.state.queue
        queue.append(self.start)
        for _ in range(self.design):
            queue.append(far_from(self.rng, queue, self.start, self.reach))
        if not self.design:
            queue += coordinate_design(self.start, self.first_radius)

    def next(self) -> Request:
        """The next point to evaluate."""
        state = self.state
        for _ in range(MOST_CUTS):
            if state.queue:
                return Request(state.queue.pop(0), "design")
            if state.center < 0:
                if self._waiting():
                    return self._spread(None)
                self._restart()
                continue
            if self._design_is_done():
                self._move_to_best_of_design()
                continue
            request = self._from_model()
            if request is not None:
                return request
        self._restart()
        return Request(state.queue.pop(0), "design")

    def _design_is_done(self) -> bool:
        """Whether all points of the design are told and no model was fitted to them yet."""
        state = self.state
        fresh = self.design > 0 and state.run == 0 and state.hessian is None
        return fresh and not self._waiting()

    def _move_to_best_of_design(self) -> None:
        """Make the best point of the design the centre of the first region."""
        state = self.state
        state.members = [state.center]
        state.hessian = np.zeros((state.dims, state.dims))
        state.queue += coordinate_design(state.points[state.center], state.radius)

    def _from_model(self) -> Request | None:
        """A point from the model; None if the resolution was lowered or a new run started."""
        state, rules = self.state, self.rules
        if self._waiting():
            return self._spread(state.points[state.center])
        if self.restarts and self._seen_before():
            self._restart()
            return None
        if not rules.levels and state.radius <= self.last_radius:
            self._cut()
            return None
        span = self._span_point()
        if span is not None:
            return span
        model, basis = self._fit()
        # After a failed step: check the noise, then improve the geometry, then lower the
        # resolution if the region cannot be blamed.
        failure, state.last_failure = state.last_failure, None
        if failure is not None:
            repeated = self._repeat()
            if repeated is not None:
                return repeated
            request = self._geometry_point(basis)
            if request is not None:
                return request
            length, ratio = failure
            if rules.levels and ratio <= 0.0 and max(state.radius, length) <= state.resolution:
                self._cut()
                return None
        # A step of the model, unless it is too short or predicts no decrease above rounding.
        lower, upper = self._room()
        step = trust_step(model, lower, upper)
        if self.debug:
            check_step(model, step, lower, upper, 1.0)
        length = float(np.linalg.norm(step)) * state.radius
        predicted = -model.change(step)
        limit = rules.short * (state.resolution if rules.levels else state.radius)
        if length < limit or predicted <= NO_DECREASE * abs(state.values[state.center]):
            request = self._geometry_point(basis)
            if request is None:
                self._cut()
            return request
        point = self._place(step)
        return Request(point, "trial", predicted, state.center, length)

    def _waiting(self) -> bool:
        """Whether the next step depends on a value that is not told yet.

        A value is not waited for any longer once ``d + 1`` later ones were told.
        """
        state = self.state
        return any(
            one.role != "spread" and state.n_told - one.since <= state.dims + 1
            for one in state.pending
        )

    def _spread(self, center: FloatArray | None) -> Request:
        """A point away from all others, to evaluate in parallel with the pending ones."""
        state = self.state
        taken = [state.points[i] for i in state.members] + [one.point for one in state.pending]
        if center is None:
            return Request(far_from(self.rng, taken, self.start, self.reach), "spread")
        return Request(spread_point(self.rng, taken, center, state.radius), "spread")

    def _repeat(self) -> Request | None:
        """The incumbent once more, if noise may have made its value too low."""
        state = self.state
        if not self.rules.repeats:
            return None
        allowed = 1.0 + self.rules.repeat_share * state.n_told
        if state.counts[state.center] < 2 and state.n_repeats < allowed:
            return Request(state.points[state.center].copy(), "repeat")
        return None

    # --- radius and runs ----------------------------------------------------------------------

    def _cut(self) -> None:
        """Lower the resolution; at the last one, start a new run."""
        state = self.state
        if self.restarts and self._settled():
            self._pause_run()
            return
        if state.resolution <= self.last_radius * (1.0 + SLACK):
            if self.restarts:
                self._restart()
                return
            # No restarts: continue around the best point near the last radius.
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
        self._next_level()

    def _next_level(self) -> None:
        """Lower the resolution to a tenth (half without levels), and the radius with it."""
        state, rules = self.state, self.rules
        before = state.resolution
        state.level_value = state.values[state.center]
        state.resolution = max(
            self.last_radius, LEVEL_SHARE * before if rules.levels else 0.5 * before
        )
        if rules.levels:
            state.radius = max(0.5 * before, state.resolution)
        else:
            state.radius = state.resolution

    def _settled(self) -> bool:
        """Whether the last level of the resolution hardly lowered the best value.

        The next level has a tenth of the radius, where a quadratic model gains even less.
        """
        state = self.state
        if state.level_value is None or not self.rules.levels:
            return False
        seen = [v for v, run in zip(state.values, state.runs, strict=True) if run == state.run]
        best = state.values[state.center]
        scale = float(np.nanmedian(seen[: state.dims + 1])) - best
        spread = max(state.values[i] for i in state.members) - best
        flat = spread <= np.sqrt(self.rules.settled) * scale
        return flat and state.level_value - best <= self.rules.settled * scale

    def _pause_run(self) -> None:
        """Start a run elsewhere; this one is resumed afterwards if it is the best so far."""
        state = self.state
        kept = state.aside
        if kept is None or state.values[state.center] <= state.values[kept.center]:
            kept = PausedRun(
                state.run, list(state.members), state.center, state.resolution, state.hessian
            )
        state.aside = None
        self._restart()
        state.aside = kept

    def _beaten(self, kept: PausedRun) -> bool:
        """Whether the run that has ended is better than the paused one."""
        state = self.state
        return state.center >= 0 and state.values[state.center] < state.values[kept.center]

    def _resume_run(self, kept: PausedRun) -> None:
        """Resume a paused run at the next level of its resolution."""
        state = self.state
        state.aside = None
        state.run, state.members, state.center = kept.run, kept.members, kept.center
        state.hessian, state.resolution = kept.hessian, kept.resolution
        state.queue, state.last_failure = [], None
        state.ends.remove(kept.center)
        self._next_level()

    def _seen_before(self) -> bool:
        """Whether this run is close to the end of an earlier one, without a lower value."""
        state = self.state
        if not state.ends or state.radius > self.rules.same_end:
            return False
        center, value = state.points[state.center], state.values[state.center]
        return any(
            np.abs(state.points[end] - center).max() < self.rules.same_end
            and value >= state.values[end]
            for end in state.ends
        )

    def _restart(self) -> None:
        """End this run; resume a paused one, or start a new one far from all points."""
        state = self.state
        if state.center >= 0:
            state.ends.append(state.center)
        kept = state.aside
        if kept is not None and not self._beaten(kept):
            self._resume_run(kept)
            return
        state.aside = None
        taken = state.points + [one.point for one in state.pending]
        start = far_from(self.rng, taken, self.start, self.reach)
        state.run = 1 + max(state.runs, default=state.run)
        state.center, state.members, state.hessian = -1, [], None
        state.radius = state.resolution = self.first_radius
        state.level_value = state.last_failure = None
        state.queue = [start, *coordinate_design(start, self.first_radius)]

    # --- values -------------------------------------------------------------------------------

    def tell_one(self, point: FloatArray, value: float) -> None:
        """Update the state by the value of one point; not finite, or huge, if it failed."""
        state = self.state
        request = self._take_pending(point)
        state.n_told += 1
        if not abs(value) <= LARGEST_VALUE:
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
            self._tell_failed(request)
            return
        if request is not None and request.role == "trial" and request.origin == state.center:
            self._tell_trial(index, request)
        else:
            self._add_member(index, leaves=-1 if request is None else request.leaves)

    def _take_pending(self, point: FloatArray) -> Request | None:
        """Remove and return the request for a point; None if it was not asked for."""
        for k, one in enumerate(self.state.pending):
            if np.array_equal(one.point, point):
                return self.state.pending.pop(k)
        return None

    def _known(self, point: FloatArray) -> int:
        """Index of a point that was told before; -1 if it was not."""
        points = self.state.points
        same = np.flatnonzero((np.array(points) == point).all(axis=1)) if points else np.zeros(0)
        return int(same[0]) if same.size else -1

    def _tell_repeat(self, index: int, value: float) -> None:
        """Update a known point by another value: the mean is used, the spread estimates noise.

        Earlier spreads are halved at each repeat, because noise often decreases with the values.
        """
        state = self.state
        if np.isnan(value):
            return
        count, mean = state.counts[index], state.values[index]
        state.counts[index] = count + 1
        if count == 0:  # it failed the first time
            state.values[index] = value
            self._add_member(index)
            return
        state.values[index] = mean + (value - mean) / (count + 1)
        state.n_repeats += 1
        state.spread = 0.5 * state.spread + (value - mean) * (value - state.values[index])
        state.freedom = 0.5 * state.freedom + 1.0
        if state.members:
            state.center = min(state.members, key=lambda i: state.values[i])

    def _tell_failed(self, request: Request | None) -> None:
        """After a failed evaluation: shrink the region, or replace a design point by its mirror."""
        state = self.state
        if request is None or state.center < 0:
            return
        if request.role == "trial":
            state.radius *= 0.5
            state.resolution = min(state.resolution, state.radius)
            if state.radius < self.last_radius:
                self._restart()
        elif request.role in ("design", "geometry"):
            mirrored = np.clip(2.0 * state.points[state.center] - request.point, 0.0, 1.0)
            if not any(np.array_equal(mirrored, seen) for seen in state.points):
                state.queue.append(mirrored)

    def _tell_trial(self, index: int, request: Request) -> None:
        """Update the radius by the ratio of actual to predicted decrease of a step."""
        state, rules = self.state, self.rules
        ratio = (state.values[state.center] - state.values[index]) / request.predicted
        enough = len(state.members) > state.dims + 1
        self._add_member(index)
        # With levels Powell's rule (BOBYQA), else factors of the rules.
        if rules.levels:
            if ratio <= POOR:
                state.radius = min(0.5 * state.radius, request.length)
            elif ratio <= rules.good:
                state.radius = max(0.5 * state.radius, request.length)
            else:
                state.radius = max(0.5 * state.radius, rules.grow * request.length)
            state.radius = min(state.radius, 0.5)
            if state.radius <= NEAR_RESOLUTION * state.resolution:
                state.radius = state.resolution
        elif ratio >= rules.good:
            state.radius = min(state.radius * rules.grow, 0.5)
        elif ratio < rules.accept and enough:
            state.radius *= rules.shrink
        if not rules.levels:
            state.resolution = state.radius
        failed = ratio <= (POOR if rules.levels else rules.accept)
        state.failures = state.failures + 1 if failed else 0
        state.last_failure = (request.length, ratio) if failed else None
