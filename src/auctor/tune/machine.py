"""The decisions of the trust region: which point next, and what a value means."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray
from auctor.tune.design import coordinate_design, far_from, spread_point
from auctor.tune.region import Region
from auctor.tune.state import Aside, Asked
from auctor.tune.step import check_step, trust_step

#: Failed cuts of the resolution in one call before a new run is started. Set by hand: more than
#: any first radius needs to become the last one.
MOST_CUTS = 60


class Machine(Region):
    """Decides which point is next, and what a value means for the region and the run."""

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
        allowed = 1.0 + self.rules.repeat_share * state.n_told
        if state.counts[state.center] < 2 and state.n_repeats < allowed:
            return Asked(state.points[state.center].copy(), "repeat")
        return None

    # --- radius and runs ----------------------------------------------------------------------

    def _cut(self) -> None:
        """Lower the resolution, or start a new run at the last one."""
        state = self.state
        if self.restarts and self._settled():
            self._put_aside()
            return
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
        self._next_level()

    def _next_level(self) -> None:
        """Cut the resolution, and the radius with it."""
        state, rules = self.state, self.rules
        before = state.resolution
        state.level_value = state.values[state.center]
        state.resolution = max(self.last_radius, 0.1 * before if rules.levels else 0.5 * before)
        if rules.levels:
            state.radius = max(0.5 * before, state.resolution)
        else:
            state.radius = state.resolution

    def _settled(self) -> bool:
        """Whether a whole level of the resolution has changed the best value by almost nothing.

        The next level is a tenth as wide, and a quadratic model gains even less there.
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

    def _put_aside(self) -> None:
        """Start a run elsewhere; this one is taken up again after it if it is the best so far."""
        state = self.state
        kept = state.aside
        if kept is None or state.values[state.center] <= state.values[kept.center]:
            kept = Aside(
                state.run, list(state.members), state.center, state.resolution, state.hessian
            )
        state.aside = None
        self._restart()
        state.aside = kept

    def _beaten(self, kept: Aside) -> bool:
        """Whether the run that has ended is better than the one put aside."""
        state = self.state
        return state.center >= 0 and state.values[state.center] < state.values[kept.center]

    def _take_up(self, kept: Aside) -> None:
        """Go on with a run that was put aside, at the next level of its resolution."""
        state = self.state
        state.aside = None
        state.run, state.members, state.center = kept.run, kept.members, kept.center
        state.hessian, state.resolution = kept.hessian, kept.resolution
        state.queue, state.last_failure = [], None
        state.ends.remove(kept.center)
        self._next_level()

    def _seen_before(self) -> bool:
        """Whether this run is about to find the end of an earlier one again."""
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
        """Start a new run far from everything seen."""
        state = self.state
        if state.center >= 0:
            state.ends.append(state.center)
        kept = state.aside
        if kept is not None and not self._beaten(kept):
            self._take_up(kept)
            return
        state.aside = None
        taken = state.points + [one.point for one in state.pending]
        start = far_from(self.rng, taken, self.start, self.reach)
        state.run = 1 + max(state.runs, default=state.run)
        state.center, state.members, state.hessian = -1, [], None
        state.radius = state.resolution = self.first_radius
        state.level_value = state.last_failure = None
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
