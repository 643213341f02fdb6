"""SPAM: stochastic proximal steps on the pairwise square loss, one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from auctor.core.checks import check_choice, check_real, check_vector
from auctor.core.errors import DataError, IncompatibleError, ParameterError
from auctor.core.types import Array, CompressedColumns, FloatArray, SeparableSpec
from auctor.fit.registry import resolve_penalty
from auctor.lab.kernels import spam as kernels
from auctor.lab.kernels.buckets import BUCKETS
from auctor.lab.kernels.spam import Lazy
from auctor.lab.kernels.spam_lasso import spam_lasso
from auctor.lab.learners.steps import step_power
from auctor.streaming.estimators.online import OnlineClassifier, State, pad_columns
from auctor.streaming.state import all_between, require_that

#: Names of step rules that are no powers.
INVERSE = ("inverse",)


@dataclass(eq=False, repr=False)
class Spam(OnlineClassifier):
    """Linear AUC learner by a stochastic proximal step per row, with any separable penalty.

    Minimises ``mean over pairs of (1 - w.(x+ - x-))^2 + strength * penalty(w)``. With p the share
    of positives and m the class means, a positive row moves w along
    ``-2(1-p)(w.(x - m-) - 1) x``, a negative one along ``-2p(w.(x - m+) + 1) x``, followed by the
    proximal operator of the penalty: in expectation a gradient step on the loss times p(1-p). Until
    both classes have rows, these are counted without a step. The threshold of `predict` is the
    midpoint between the mean scores of the classes.

    Time per row is O(non-zeros), or O(d) if the l2 strength differs between columns or bounds
    exclude zero. Memory is O(d).

    Parameters
    ----------
    strength : float >= 0
        Multiplier of the penalty, as in ``MetricClassifier("auc", surrogate="square")``.
    penalty : "l2", "l1", "elastic_net", "none" or a separable penalty
        A penalty object has its own strength.
    l1_ratio : float in [0, 1], optional
        Share of l1 for ``penalty="elastic_net"``; 0.5 by default.
    step : "inverse", "sqrt", "constant" or float in (0, 1)
        Size of step t: ``1 / (k t + 4 M)`` with k the l2 strength times p(1-p), or
        ``rate / t ** step / M``, with the power 1/2 for "sqrt" and 0 for "constant"; M is the
        square of the mean norm of the rows so far. The last are at most ``1 / (4 M)``. The step of
        a row x is at most ``1 / (4 |x|^2)``.
    rate : float > 0
        Factor of the steps other than "inverse". Theorem 4.1 of Natole's thesis has
        ``k / (128 M)`` for a power in (0, 1), with which w hardly moves.
    average : bool
        Whether to return the average of the iterates, the t-th with weight t, or the last one. The
        last one has exact zeros under l1, the average is closer to the minimiser.
    means : "running", "data" or (prior, negative mean, positive mean)
        Class means and share of positives: of the rows so far; of all rows, by a first pass in
        `fit`; or given.
    passes : int
        Number of passes of `fit` over all rows.
    grow : bool
        Whether columns may be added later.
    missing : "raise" or "skip"
        Whether rows with NaN or infinity raise an error or are left out.
    random_state : None
        Not used.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> Spam(passes=20).fit(X, [0, 0, 1, 1]).score(X, [0, 0, 1, 1])
    1.0

    References
    ----------
    Natole, Ying, Lyu, Stochastic proximal algorithms for AUC maximization, 2018. Averages weigh
    late iterates more: Lacoste-Julien, Schmidt, Bach, A simpler approach to obtaining an O(1/t)
    convergence rate for the projected stochastic subgradient method, 2012.
    """

    strength: float = 1e-4
    _: KW_ONLY
    penalty: Any = "l2"
    l1_ratio: float | None = None
    step: str | float = "inverse"
    rate: float = 10.0
    average: bool = True
    means: Any = "running"

    free_axes: ClassVar[Mapping[str, int]] = {"links": 0, "heads": 0, "levels": 1}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: ``passes`` passes over the rows, in their order."""
        if not (isinstance(self.means, str) and self.means == "data"):
            super().fit(X, y, sample_weight)
            return self
        first = type(self)(**self.get_params() | {"means": "running", "passes": 1})
        first.fit(X, y, sample_weight)
        self._given = _class_means(first.state_)
        try:
            super().fit(X, y, sample_weight)
        finally:
            del self._given
        return self

    # --- parts ----------------------------------------------------------------------------------

    def check_params(self) -> None:
        """Raise ``ParameterError`` for invalid parameters."""
        super().check_params()
        check_real("strength", self.strength, low=0.0)
        step_power(self.step, INVERSE)
        check_real("rate", self.rate, low=0.0, open_low=True)
        if isinstance(self.means, str):
            check_choice("means", self.means, ("running", "data"))

    def fresh_state(self, d: int, rng: np.random.Generator) -> State:
        """State before the first row, for d columns."""
        state: State = {"table": np.zeros((d, 4)), "scalars": np.zeros(len(Lazy))}
        state["scalars"][Lazy.SCALE] = 1.0
        given = getattr(self, "_given", None)
        if given is None and not isinstance(self.means, str):
            given = self._checked_means(d)
        elif given is None and self.means == "data":
            raise ParameterError(
                "all rows at once for `means='data'`; got a first partial_fit. Call fit, or use "
                "`means='running'`."
            )
        if given is not None:
            scalars, (prior, negative, positive) = state["scalars"], given
            scalars[[Lazy.PRIOR, Lazy.POSITIVE, Lazy.NEGATIVE]] = prior, 1.0, 1.0
            state["table"][:, 2], state["table"][:, 3] = positive, negative
        spec = self.penalty_arrays(d)
        state["table"][:, 0] = np.clip(0.0, spec.lower, spec.upper)
        _adopt(state, spec)
        return state

    def _checked_means(self, d: int) -> tuple[float, FloatArray, FloatArray]:
        """Share of positives and class means from the parameter ``means``."""
        try:
            prior, negative, positive = self.means
        except (TypeError, ValueError) as error:
            raise ParameterError(
                "`means` to be 'running', 'data' or (prior, negative mean, positive mean); got "
                f"{self.means!r}. Pass one of these."
            ) from error
        check_real("prior", prior, low=0.0, high=1.0, open_low=True, open_high=True)
        return (
            float(prior),
            check_vector("negative mean", negative, size=d),
            check_vector("positive mean", positive, size=d),
        )

    def check_width(self, d: int) -> None:
        """Raise for a penalty that does not fit ``d`` columns."""
        self.penalty_arrays(d)

    def penalty_arrays(self, d: int) -> SeparableSpec:
        """The arrays of the separable penalty, of length 1 if all columns have the same."""
        penalty = resolve_penalty(self.penalty, self.strength, self.l1_ratio)
        try:
            spec = penalty.separable(1)
        except (DataError, ParameterError):
            spec = penalty.separable(d)
        if spec is None:
            raise IncompatibleError(
                f"a penalty that separates over columns; got {type(penalty).__name__}. Use l1, l2, "
                "elastic_net or a box."
            )
        return spec

    def with_arrays_of(self, state: State) -> Self:
        """A learner without means and penalty, which cannot be used without data."""
        params = self.get_params(deep=False)
        return type(self)(**params | {"means": "running", "penalty": "none", "l1_ratio": None})

    def check_state(self, state: State, d: int) -> None:
        """Raise ``ValueError`` unless penalty and linked lists of the buckets are valid."""
        heads, links, levels = state["heads"], state["links"], state["levels"]
        require_that(
            levels.shape[1] in (1, d) and not np.isnan(levels).any(), "a penalty for the columns"
        )
        used = bool(levels[0].any())
        require_that(
            heads.size == used * BUCKETS and len(links) == used * d, "buckets for l1 alone"
        )
        bucket, after = links.T
        require_that(
            all_between(after, 0, d + 1) and all_between(heads, 0, d + 1), "buckets of columns"
        )
        require_that(not used or _linked(bucket, after, heads), "valid linked lists")

    def _widen(self, state: State, extra: int) -> None:
        axes: dict[str, tuple[int, ...]] = {"table": (0,)}
        if state["levels"].shape[1] > 1:
            axes["levels"] = (1,)
        if state["heads"].size:
            axes["links"] = (0,)
        pad_columns(state, axes, extra)

    def _learn(
        self, state: State, rows: CompressedColumns, y: FloatArray, weight: FloatArray
    ) -> None:
        spec = self.penalty_arrays(state["table"].shape[0])
        if not np.array_equal(np.stack(spec), state["levels"]):
            _adopt(state, spec)
        table = state["table"]
        scalars, start = state["scalars"], (*rows, y, weight)
        rule = step_power(self.step, INVERSE), float(self.rate)
        # Three kernels: all columns at every row; only a ridge; l1 and bounds around zero.
        if not _lazy(spec):
            full = SeparableSpec(*(np.full(table.shape[0], level) for level in spec))
            kernels.spam_dense(*start, *full, *rule, table, scalars)
        elif not spec.l1.any() and np.isinf((spec.lower, spec.upper)).all():
            kernels.spam_ridge(*start, float(spec.l2[0]), *rule, table, scalars)
        else:
            strengths, box = (spec.l1, float(spec.l2[0])), (spec.lower, spec.upper)
            lists = state["heads"], state["links"]
            spam_lasso(*start, *strengths, *box, *rule, table, scalars, *lists)

    def _weights(self, state: State) -> FloatArray:
        # Lazy iterates are w = scale (a - sign(a) l1 shrunk), clipped to the bounds.
        table, s, (l1, _, lower, upper) = state["table"], state["scalars"], state["levels"]
        a, turn = table[:, 0], np.sign(table[:, 0]) * l1
        if self.average and s[Lazy.MASS] > 0.0:
            total = a * s[Lazy.SUM_SCALE] - turn * s[Lazy.SUM_SHRUNK] - table[:, 1]
            w = total / s[Lazy.MASS]
        else:
            w = s[Lazy.SCALE] * (a - turn * s[Lazy.SHRUNK])
        return np.asarray(np.clip(w, lower, upper))

    def _threshold(self, state: State) -> float:
        s = state["scalars"]
        if not min(s[Lazy.POSITIVE], s[Lazy.NEGATIVE]) > 0.0:
            return 0.0
        _, negative, positive = _class_means(state)
        return 0.5 * float(self._weights(state) @ (negative + positive))


def _class_means(state: State) -> tuple[float, FloatArray, FloatArray]:
    """Share of positives, mean of the negatives, mean of the positives."""
    table, s = state["table"], state["scalars"]
    positive, negative = s[Lazy.POSITIVE], s[Lazy.NEGATIVE]
    prior = s[Lazy.PRIOR] or positive / (positive + negative)
    return float(prior), table[:, 3] / negative, table[:, 2] / positive


def _linked(bucket: Array, after: Array, heads: Array) -> bool:
    """Whether each column with a bucket number is exactly once in the linked list of its bucket."""
    (some,) = np.nonzero(bucket)
    (used,) = np.nonzero(heads)
    found, places = [heads[used] - 1], [used]
    # Follow all lists at once, one link at a time; a cycle ends at the second condition.
    while found[-1].size and sum(map(len, found)) <= some.size:
        last = after[found[-1]]
        found.append(last[last > 0] - 1)
        places.append(places[-1][last > 0])
    listed, place = np.concatenate(found), np.concatenate(places)
    once = bool(np.array_equal(np.sort(listed), some))
    return once and bool((bucket[listed] - 1 == place).all())


def _lazy(spec: SeparableSpec) -> bool:
    """Whether proximal steps on columns without an entry in a row can be applied later.

    They can if the bounds contain zero and all columns have the same l2 strength: such a step then
    only shrinks a weight, by the same factor for all columns.
    """
    around = bool((spec.lower <= 0.0).all() and (spec.upper >= 0.0).all())
    return around and bool((spec.l2 == spec.l2[0]).all())


def _adopt(state: State, spec: SeparableSpec) -> None:
    """Switch to a penalty, after the delayed steps of the last one are applied."""
    if "levels" in state:
        kernels.write_back(state["table"], state["scalars"], state["levels"][0])
    used = bool(spec.l1.any())
    state["heads"] = np.zeros(used * BUCKETS, np.int64)
    state["links"] = np.zeros((used * state["table"].shape[0], 2), np.int64)
    state["levels"] = np.stack(spec)
    kernels.write_back(state["table"], state["scalars"], spec.l1)
