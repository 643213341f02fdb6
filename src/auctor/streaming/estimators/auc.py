"""StreamingAUC, an online learner that needs no tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real, named_parameters
from auctor.core.errors import IncompatibleError, speaks
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import CompressedColumns, FloatArray
from auctor.kernels.streaming import adaptive
from auctor.kernels.streaming.moments import judge_rows
from auctor.streaming import memory, merging, ranker, remembering, running_auc
from auctor.streaming.estimators.online import State, pad_columns
from auctor.streaming.memory import GROWING
from auctor.streaming.modes import check_streaming, fresh_wide, has_memory, is_exact
from auctor.streaming.moments import (
    NAMES,
    MomentClassifier,
    RunningMoments,
    add_rows,
    class_moments,
    columns_seen,
    flush,
    growth_of,
    midpoint,
    ridge_solution,
)

#: Rows between two solves from the moments, at first.
FIRST_REFRESH = 16
#: Rows between two solves from the moments, at most.
LAST_REFRESH = 1 << 16
#: A solve from the moments is repeated when the rows have grown by this share.
REFRESH_SHARE = 0.125
#: Rows per column between two solves from the moments, at least.
REFRESH_ROWS_PER_COLUMN = 1.0
#: Ridges tried in parallel if no strength is given, in units of the mean variance of the columns.
RIDGES = (1e-9, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)
#: Factor on the earlier scores of each ridge at every solve.
RIDGE_FADING = 0.7
#: Arrays of the state, as arguments of the kernel that scores rows by every ridge.
JUDGE_NAMES = ("coef", "centre", "share", "margins", "chosen")
#: Arrays of the state, as arguments of the kernel of the stochastic steps.
WIDE_NAMES = (
    "table",
    "mass",
    "constant",
    "judged",
    "judged_centre",
    "judged_scatter",
    "mix",
    "average",
    "latest",
    "clock",
)
#: Pair losses; "square" needs only moments, no memory of rows.
SURROGATES = (*ranker.SURROGATES, "square")


@named_parameters
@dataclass(eq=False, repr=False)
class StreamingAUC(MomentClassifier):
    """Learn to rank from a stream, in one pass and without tuning.

    Minimises ``mean over pairs of H(1 - w.(x+ - x-)) + strength * Omega(w)`` over the rows so far.
    ``H`` is the loss `surrogate`; by default the smoothed hinge, ``z^2/2`` for z in [0, 1] and
    ``z - 1/2`` above.

    Rows are kept in a memory of fixed size. While all of them fit, ``coef_`` is that minimiser (of
    all rows but the latest few, at most one in 32). Afterwards, and with more than
    ``max_exact_columns`` columns, it is mixed with weights from statistics of all rows, in the
    proportion with the best AUC on rows that are not learned yet. Every row is scored before it is
    learned; ``auc_`` is the AUC of the latest ``window`` of these scores. The threshold of
    `predict` is the midpoint between the mean scores of the classes. The page "Streams" of the
    documentation explains the parts.

    Memory is O(d^2) up to ``max_exact_columns`` columns, O(d) beyond, plus the kept rows.

    Parameters
    ----------
    strength : float >= 0, optional
        Multiplier of the penalty ``Omega = 1/2 |w|^2``. By default it is chosen on held-out rows.
    surrogate : "hinge", "squared_hinge", "logistic" or "square"
        The loss of a pair.
    memory : float >= 0
        Megabytes of rows to keep. Solves need up to a few times as much temporarily.
    forget : float >= 2, optional
        Effective number of rows: each row weighs ``1 - 1/forget`` times the next one. With None all
        rows weigh the same.
    max_exact_columns : int
        Up to this many columns the covariances of both classes are kept.
    window : int
        Number of latest rows in the running AUC.
    trace_every : int
        Rows between points of ``trace_``; doubled whenever there are 256 points.
    passes : int
        Number of passes of `fit` over all rows; only the first one counts for the memory, ``auc_``,
        ``trace_`` and the choice of the strength.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : int, optional
        Seed of the sample of rows in a full memory.

    Attributes
    ----------
    coef_ : (1, d) array
    strength_ : float
    intercept_ : (1,) array
    classes_ : (2,) array
        [1] while that is the only label.
    feature_names_in_ : (d,) array
        Names of the columns, if the first rows were a table with names.
    auc_ : float
        AUC of the window; NaN while it lacks a class.
    trace_ : (points, 2) array
        Number of rows, and ``auc_`` after them.
    rows_seen_, skipped_rows_ : int

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> model = StreamingAUC()
    >>> for _ in range(10):
    ...     y = rng.integers(0, 2, size=200)
    ...     X = rng.normal(size=(200, 3)) + y[:, None]
    ...     model = model.partial_fit(X, y)
    >>> 0.85 < model.auc_ < 0.95
    True
    """

    strength: float | None = None
    _: KW_ONLY
    surrogate: str = "hinge"
    memory: float = 64.0
    forget: float | None = None
    max_exact_columns: int = 1000
    window: int = 10_000
    trace_every: int = 1000

    free_axes: ClassVar[Mapping[str, int]] = dict.fromkeys(GROWING, 0)

    @property
    def auc_(self) -> float:
        """AUC of the latest ``window`` rows, each scored before it was learned."""
        return running_auc.window_auc(self.state_)

    @property
    def trace_(self) -> FloatArray:
        """Number of rows, and AUC of the window after them: (points, 2)."""
        return running_auc.trace_of(self.state_)

    @property
    def strength_(self) -> float:
        """The strength in the objective of ``coef_``."""
        if self.strength is not None:
            return self.strength
        if has_memory(self.state_) and self.state_["blend"][1]:
            return self._ranked(self.state_).strength
        if not is_exact(self.state_):
            return 0.0
        moments = class_moments(self.state_, pooled=True).first(columns_seen(self.state_))
        ridges = self._ridges(self.state_, moments)
        return 2.0 * float(ridges[int(self.state_["chosen"][0])])

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        if self.strength is not None:
            check_real("strength", self.strength, low=0.0)
        if self.forget is not None:
            check_real("forget", self.forget, low=2.0)
        check_choice("surrogate", self.surrogate, SURROGATES)
        check_real("memory", self.memory, low=0.0)
        check_int("max_exact_columns", self.max_exact_columns)
        check_int("window", self.window, low=1)
        check_int("trace_every", self.trace_every, low=1)

    def _ridges(self, state: State, moments: RunningMoments) -> FloatArray:
        """The ridges that are tried; half the strength if that is given."""
        tried, d = state["coef"].shape[0], moments.mean.shape[1]
        if self.strength is not None:
            return np.full(tried, 0.5 * self.strength)
        average = float(np.trace(moments.covariance.sum(axis=0))) / d
        ridges: FloatArray = average * np.array(RIDGES[:tried])
        return ridges

    def _solve(self, state: State, moments: RunningMoments) -> FloatArray:
        ridge = self._ridges(state, moments)[int(state["chosen"][0])]
        return ridge_solution(moments, float(ridge), between=True)

    # --- state ----------------------------------------------------------------------------------

    @speaks
    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        window = running_auc.fresh_window(self.window, self.trace_every)
        window["judging"] = np.ones(1, dtype=np.int64)
        if self.memory and self.surrogate != "square":
            window |= remembering.fresh(d, self.window, rng)
        if d > self.max_exact_columns:
            return window | fresh_wide(d)
        tried = 1 if self.strength is not None else len(RIDGES)
        return {
            **window,
            **super().fresh_state(d, rng),
            "coef": np.zeros((tried, d)),
            "centre": np.zeros((2, tried)),
            "share": np.zeros(2),
            "margins": np.zeros((2, tried)),
            "chosen": np.array([tried // 2]),
            "refresh": np.array([FIRST_REFRESH]),
        }

    @speaks
    def with_arrays_of(self, state: State) -> Self:
        """A learner that is exact or wide for every number of columns, as ``state`` is."""
        params = self.get_params(deep=False)
        return type(self)(**params | {"max_exact_columns": 2 if is_exact(state) else 0})

    @speaks
    def check_state(self, state: State, d: int) -> None:
        """Raise ``ValueError`` if arrays from a file are no valid state."""
        if is_exact(state):
            super().check_state(state, d)
        check_streaming(state, d)

    def state_numbers(self, d: int) -> int:
        """Approximate number of floats in a state of d columns."""
        return 2 * d * d if d <= self.max_exact_columns else 0

    def _before_next_pass(self, state: State) -> None:
        """Stop the running AUC and the choices: rows of a later pass are not new any more."""
        state["judging"][0] = 0

    def _widen(self, state: State, extra: int) -> None:
        if is_exact(state) and state["coef"].shape[1] + extra > self.max_exact_columns:
            self._go_wide(state)
        if is_exact(state):
            super()._widen(state, extra)
        pad_columns(state, {"table": (0,), "coef": (1,), "kept_coef": (0,)}, extra)

    def _go_wide(self, state: State) -> None:
        """Replace the covariances by stochastic gradient steps, which start at their solution."""
        moments = class_moments(state)
        w = self._solution(state, moments)
        wide = fresh_wide(w.size)
        wide["mass"][:] = moments.mass
        wide["latest"][:] = state["latest"]
        wide["clock"][0] = state["clock"][0]
        # Sums of squares and of entries per column, as if the steps had been taken so far.
        variance = np.diagonal(moments.covariance, axis1=1, axis2=2)
        squares = moments.mass @ (variance + moments.mean**2)
        table, sums = wide["table"], adaptive.SUMS
        table[:, : adaptive.TRIED] = w[:, None]
        table[:, adaptive.SQUARES] = squares
        table[:, adaptive.TOUCHED] = state["clock"][0]
        table[:, sums : sums + 2] = (moments.mean * moments.mass[:, None]).T
        wide["constant"][:] = -midpoint(moments.mean, w)
        weight = state["window_weight"]
        wide["average"][0] = np.sqrt(squares / max(moments.mass.sum(), SMALLEST_DIVISOR)).sum()
        wide["average"][2] = squares.sum() / max(moments.mass.sum(), SMALLEST_DIVISOR)
        wide["average"][1] = weight.sum() / max(1, np.count_nonzero(weight))
        for name in [*JUDGE_NAMES, *NAMES, "refresh", "clock"]:
            del state[name]
        state.update(wide)

    # --- learning -------------------------------------------------------------------------------

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        scores = np.empty(y.size)
        remembers = has_memory(state) and bool(state["judging"][0])
        counted = np.cumsum(weight > 0.0, dtype=np.int64) if remembers else None
        low = 0
        while low < y.size:
            # Rows low to high - 1: up to the next point of the trace, refresh of the solutions from
            # the moments, or solve on the memory, whichever comes first. These depend only on the
            # number of rows so far, so that chunks do not matter.
            pause = running_auc.until_point(state)
            if is_exact(state):
                pause = min(pause, int(state["refresh"][0] - state["rows"][0]))
            if counted is not None:
                pause = min(pause, remembering.until_renewal(state, counted, low))
            high = min(y.size, low + pause)
            step = self._learn_exactly if is_exact(state) else self._learn_wide
            step(state, rows, y, weight, low, high, scores)
            if counted is not None:
                remembering.score(state, rows, y, weight, low, high, scores)
            if state["judging"][0]:
                running_auc.remember(state, scores[low:high], y[low:high], weight[low:high])
            else:
                state["rows"] += high - low
            if is_exact(state) and state["rows"][0] == state["refresh"][0]:
                self._refresh(state)
            if counted is not None:
                self._remember(state, rows, y, weight, low, high)
            low = high

    def _remember(
        self,
        state: State,
        rows: CompressedColumns,
        y: FloatArray,
        weight: FloatArray,
        low: int,
        high: int,
    ) -> None:
        """Add rows to the memory, and solve for its rows when that is due."""
        room, latest = memory.MEGABYTE * self.memory, self.forget is not None
        memory.add_rows(state, rows, y, weight, low, high, room=room, latest=latest)
        if state["counted"][0] == state["renew"][0]:
            remembering.renew(state, self._objective, self._means(state))

    def _learn_exactly(
        self,
        state: State,
        rows: CompressedColumns,
        y: FloatArray,
        weight: FloatArray,
        low: int,
        high: int,
        scores: FloatArray,
    ) -> None:
        """Score rows by every ridge, then add them to the moments."""
        arrays = [state[name] for name in JUDGE_NAMES]
        judge_rows(*rows, y, weight, low, high, scores, *arrays)
        add_rows(state, rows, y, weight, low=low, high=high, forget=self.forget)
        state["clock"] += high - low

    def _learn_wide(
        self,
        state: State,
        rows: CompressedColumns,
        y: FloatArray,
        weight: FloatArray,
        low: int,
        high: int,
        scores: FloatArray,
    ) -> None:
        """Score rows and take stochastic gradient steps on them, in O(non-zeros) per row."""
        options = (self._wide_ridge, growth_of(self.forget), float(self.window))
        judging = bool(state["judging"][0])
        arrays = [state[name] for name in WIDE_NAMES]
        adaptive.descend_rows(*rows, y, weight, low, high, judging, *options, scores, *arrays)

    def _refresh(self, state: State) -> None:
        """Choose the ridge with the best separation of new rows so far; solve for all ridges."""
        flush(state)
        seen = columns_seen(state)
        moments = class_moments(state, pooled=True).first(seen)
        # Largest (sum of margins)^2 / sum of squared margins, with the sign of the first sum.
        linear, square = state["margins"]
        if state["judging"][0] and square.any():
            state["chosen"][0] = np.argmax(
                linear * np.abs(linear) / np.maximum(square, SMALLEST_DIVISOR)
            )
            state["margins"] *= RIDGE_FADING
        ridges = self._ridges(state, moments)
        coef = np.stack([ridge_solution(moments, float(ridge), between=True) for ridge in ridges])
        state["coef"][:, :seen] = coef
        state["centre"][:] = np.einsum("sj,kj->sk", moments.mean, coef)
        state["share"][:] = moments.mass / moments.mass.sum() if moments.known else 0.0
        rows = float(state["rows"][0])
        basis = rows if self.forget is None else min(rows, self.forget)
        least = max(FIRST_REFRESH, REFRESH_ROWS_PER_COLUMN * seen)
        wait = max(least, min(REFRESH_SHARE * basis, LAST_REFRESH))
        state["refresh"][0] = rows + int(wait)

    @property
    def _wide_ridge(self) -> float:
        return 0.5 * (self.strength or 0.0)

    def _merge(self, state: State, theirs: State) -> None:
        """Add the state of a learner that was trained on other rows; solve and choose again."""
        for each in (state, theirs):
            if "scatter" not in each:
                raise IncompatibleError(
                    f"at most {self.max_exact_columns} columns, so that covariances are kept; got "
                    f"{self._width(each)}. Increase `max_exact_columns`."
                )
            if "counted" in each:
                merging.check_complete(each)
        super()._merge(state, theirs)
        state["margins"] += theirs["margins"]
        merging.add_window(state, theirs)
        self._refresh(state)
        if has_memory(state):
            merging.add_memory(state, theirs, memory.MEGABYTE * self.memory)
            remembering.renew(state, self._objective, self._means(state))

    # --- answers --------------------------------------------------------------------------------

    def _answer(self, state: State) -> tuple[FloatArray, float]:
        """The mixture of both weights, and the midpoint of its mean scores."""
        own, kept = state["blend"] if has_memory(state) else (1.0, 0.0)
        coef = np.zeros(self._width(state))
        if own:
            coef += own * self._base(state)
        if kept:
            coef += kept * self._ranked(state).coef
        return coef, midpoint(self._means(state), coef)

    def _base(self, state: State) -> FloatArray:
        """Weights from statistics of all rows: from their moments, or by stochastic steps."""
        if is_exact(state):
            return self._solution(state, class_moments(state, pooled=True))
        table, units = state["table"].copy(), np.zeros(3)
        adaptive.set_units(state["mass"], state["average"], float(state["latest"][0]), units)
        adaptive.shrink_all(self._wide_ridge, units, float(state["clock"][0]), table)
        coef: FloatArray = (table[:, : adaptive.TRIED] * state["mix"]).sum(axis=1)
        return coef

    def _width(self, state: State) -> int:
        return int(state["mean"].shape[1] if is_exact(state) else state["table"].shape[0])

    def _means(self, state: State) -> FloatArray:
        """Means of both classes, (2, d)."""
        if is_exact(state):
            return class_moments(state, pooled=True).mean
        sums = state["table"][:, adaptive.SUMS : adaptive.SUMS + 2].T
        means: FloatArray = sums / np.maximum(state["mass"], SMALLEST_DIVISOR)[:, None]
        return means

    @property
    def _objective(self) -> remembering.MemoryObjective:
        return remembering.MemoryObjective(
            ranker.SURROGATES[self.surrogate], self.strength, self.forget
        )

    def _ranked(self, state: State) -> remembering.Ranked:
        """Weights from the rows in memory, cached until `settled_rows` changes."""
        last = remembering.settled_rows(state, self.forget)
        key = (last, int(state["thinned"][0]), self._width(state), self.get_params())
        solve = partial(remembering.ranked, state, self._objective, last)
        return self._answers.get("ranked", key, solve)
