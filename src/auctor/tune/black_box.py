"""Minimise a function of real variables by `DfoTr`: auctor's interface, and SciPy's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult

from auctor.core.checks import check_int, check_real, check_vector
from auctor.core.errors import DataError, DataWarning, speaks_as, warn
from auctor.core.types import FloatArray
from auctor.tune.engine import DfoTr
from auctor.tune.rules import RegionRules
from auctor.tune.time_limit import within

#: Half the width of the box of an unbounded variable, in units of max(1, |x0|).
FREE_HALF_WIDTH = 1e3
#: First radius of unbounded variables, in units of max(1, |x0|).
UNBOUNDED_RADIUS = 1.0
#: First radius in a box, as a share of its width. 0.5 is the whole box.
BOX_RADIUS = 0.25
#: Last radius of unbounded problems, as a share of the first.
LAST_SHARE = 1e-8
#: Smallest last radius, as a share of the box: some thousands of times the rounding of a point.
SMALLEST_RADIUS = 1e-13
#: Evaluations, at most, for each of the dims + 1 points of a first model in SciPy's form.
CALLS_PER_POINT = 100
#: Name of the only argument of a callback that wants a whole result, by SciPy's convention.
WHOLE_RESULT = "intermediate_result"
#: Status of a result whose callback asked to stop: the one that SciPy gives it.
STOPPED = 99
#: Largest distance of restarts from the start of unbounded problems, in units of the first radius.
RESTART_REACH = 20.0


@speaks_as("minimise_black_box")
def minimise_black_box(  # noqa: PLR0913 - those of scipy.optimize.minimize
    fun: Callable[[FloatArray], float],
    x0: npt.ArrayLike,
    *,
    bounds: Any = None,
    budget: int = 100,
    max_seconds: float | None = None,
    timeout: float | None = None,
    kind: str | RegionRules = "smooth",
    radius: float | None = None,
    tol: float | None = None,
    restarts: bool = True,
    seed: int | None = None,
    on_step: Callable[[OptimizeResult], object] | None = None,
    engine: DfoTr | None = None,
) -> OptimizeResult:
    """Minimise a function from its values alone, in few evaluations.

    Parameters
    ----------
    fun : callable
        From an array of shape (d,) to a number. NaN, a value beyond 1e100 or an exception marks the
        point as failed, and the search goes on.
    x0 : (d,) array
        Start, inside the bounds.
    bounds : sequence of (low, high) or `scipy.optimize.Bounds`, optional
        None or infinity for no bound. Variables with equal bounds are fixed.
    budget : int > 0
        Largest number of evaluations.
    max_seconds : float, optional
        The search ends at the first evaluation after this many seconds.
    timeout : float, optional
        Seconds after which one evaluation counts as failed. It continues in a background thread,
        because Python cannot stop a thread.
    kind : {"smooth", "noisy", "stepwise"} or RegionRules
        See `DfoTr`.
    radius : float, optional
        First radius, as a share of the box; by default a quarter of it, or ``max(1, |x0|)``
        where some variable has no bounds.
    tol : float, optional
        Last radius in the units of the variables, at which a run has converged; by default about
        1e-8 of the first radius without bounds, and as `DfoTr` has it in a box.
    restarts : bool
        Whether the rest of the budget is spent on runs from other starts after one has converged.
    seed : int, optional
    on_step : callable, optional
        Called after every evaluation with ``x``, ``fun`` and ``nfev`` of the best point so far;
        returning True ends the search.
    engine : DfoTr, optional
        A saved search to continue; it must have the same free variables and bounds.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x``, ``fun``, ``nfev``, ``nit`` (runs), ``n_failed``, ``success``, ``status``,
        ``message``, ``history`` (evaluated points and values), ``engine``.

    Examples
    --------
    >>> found = minimise_black_box(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, [0.0, 0.0],
    ...                            bounds=[(-5, 5), (-5, 5)], budget=40)
    >>> bool(found.fun < 1e-10)
    True
    """
    check_int("budget", budget, low=1)
    if timeout is not None:
        check_real("timeout", timeout, low=0.0, open_low=True)
    if tol is not None:
        check_real("tol", tol, low=0.0, open_low=True)
    box = _Box(x0, bounds)
    if engine is None:
        engine = box.engine(kind=kind, radius=radius, tol=tol, restarts=restarts, seed=seed)
    elif box.free.size:
        engine.check_space(box.free.size, box.name())
    # One point at a time: ask, evaluate, tell. Status codes are those of SciPy's convention: 0 for
    # convergence, others for budgets and callbacks.
    begin = time.monotonic()
    points: list[FloatArray] = []
    values: list[float] = []
    status, message = 1, "The budget of evaluations is spent."
    while len(values) < budget:
        u = engine.ask()[0]
        x = box.place(u)
        value = safe_value(fun, x, timeout)
        engine.tell([u], [value])
        points.append(x)
        values.append(value)
        if on_step is not None and on_step(_result(box, engine, points, values)):
            status, message = STOPPED, "A callback asked to stop."
            break
        if (engine.converged and not restarts) or not box.free.size:
            status, message = 0, "The trust region has shrunk to its last radius."
            break
        if max_seconds is not None and time.monotonic() - begin > max_seconds:
            status, message = 2, "The time budget is spent."
            break
    result = _result(box, engine, points, values)
    # Remarks on budgets below a first model and on failed evaluations.
    if len(values) <= box.free.size and status == 1:
        message += f" It was below d + 1 = {box.free.size + 1}: no model could be fitted."
    if not np.isfinite(result.fun):
        status, message = 3, "Every evaluation failed."
        warning = DataWarning(
            does=f"found no finite value in {len(values)} evaluations. Call the function at x0 to "
            "see why."
        )
        warn(warning)
    elif result.n_failed:
        message += f" {result.n_failed} of {len(values)} evaluations failed."
    result.update(status=status, message=message, success=status == 0 or engine.converged)
    return result


@speaks_as("dfo_tr")
def dfo_tr(
    fun: Callable[..., float],
    x0: npt.ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    bounds: Any = None,
    constraints: Sequence[Any] = (),
    callback: Callable[..., object] | None = None,
    maxfev: int | None = None,
    **options: Any,
) -> OptimizeResult:
    """A method for `scipy.optimize.minimize`: ``minimize(fun, x0, method=auctor.tune.dfo_tr)``.

    Parameters
    ----------
    fun, x0, args, bounds
        As in `scipy.optimize.minimize`.
    callback : callable, optional
        As there: called with the best point, or with an `OptimizeResult` of it if its only argument
        is named ``intermediate_result``. ``StopIteration`` ends the search.
    constraints
        Must be empty.
    maxfev : int, optional
        Largest number of evaluations, ``100 (d + 1)`` by default.
    options
        ``kind``, ``radius``, ``tol``, ``restarts`` (False by default), ``seed``, ``max_seconds``,
        ``timeout`` of `minimise_black_box`; derivatives are ignored.

    Examples
    --------
    >>> from scipy.optimize import minimize, rosen
    >>> found = minimize(rosen, [-1.2, 1.0], method=dfo_tr, options={"maxfev": 200})
    >>> bool(found.fun < 1e-8)
    True
    """
    if constraints:
        raise DataError(
            f"no constraints except bounds; got {len(constraints)}. Use `method='COBYQA'`."
        )
    # SciPy passes its own options too, of which derivatives and printing are ignored.
    known = {"kind", "radius", "tol", "restarts", "seed", "max_seconds", "timeout"}
    passed = {name: value for name, value in options.items() if name in known}
    unknown = set(options) - known - {"jac", "hess", "hessp", "disp"}
    if unknown:
        raise DataError(
            f"options among maxfev, {', '.join(sorted(known))}; got {', '.join(sorted(unknown))}. "
            "Leave the others out."
        )
    start = np.atleast_1d(np.asarray(x0, dtype=np.float64))
    whole = callback is not None and list(signature(callback).parameters) == [WHOLE_RESULT]

    def on_step(best: OptimizeResult) -> object:
        """SciPy's callback, which may return True or raise StopIteration to stop."""
        try:
            if callback is None:
                return None
            return callback(**{WHOLE_RESULT: best}) if whole else callback(best.x)
        except StopIteration:
            return True

    return minimise_black_box(
        lambda x: fun(x, *args),
        start,
        bounds=bounds,
        budget=CALLS_PER_POINT * (start.size + 1) if maxfev is None else maxfev,
        on_step=None if callback is None else on_step,
        **({"restarts": False} | passed),
    )


def safe_value(fun: Callable[[Any], Any], x: Any, timeout: float | None = None) -> float:
    """The value of a function; NaN if it raises, takes too long or returns no number."""
    try:
        return within(timeout, lambda: float(np.asarray(fun(x), dtype=np.float64).reshape(())))
    except Exception:
        return float("nan")


class _Box:
    """The map between the free variables of a problem and the unit cube."""

    def __init__(self, x0: npt.ArrayLike, bounds: Any) -> None:
        self.x0 = check_vector("x0", np.atleast_1d(x0))
        if not self.x0.size:
            raise DataError("at least one variable; got none. Pass a start.")
        low, high = _ends(bounds, self.x0.size)
        if not (low <= high).all():
            raise DataError(
                f"lower bounds no greater than upper bounds; got {low[low > high][0]:g} above "
                f"{high[low > high][0]:g}. Swap them."
            )
        if not ((self.x0 >= low) & (self.x0 <= high)).all():
            raise DataError(f"a start inside the bounds; got {self.x0.tolist()}. Clip `x0`.")
        self.hard_low, self.hard_high = low, high
        # Unbounded variables share one scale, that of the largest start.
        scale = max(1.0, float(np.abs(self.x0).max()))
        self.unbounded = not (np.isfinite(low).all() and np.isfinite(high).all())
        self.low = np.where(np.isfinite(low), low, self.x0 - FREE_HALF_WIDTH * scale)
        self.high = np.where(np.isfinite(high), high, self.x0 + FREE_HALF_WIDTH * scale)
        if self.unbounded:
            self.low = np.maximum(self.low, self.x0 - FREE_HALF_WIDTH * scale)
            self.high = np.minimum(self.high, self.x0 + FREE_HALF_WIDTH * scale)
        self.free = np.flatnonzero(self.low < self.high)

    def engine(
        self,
        *,
        kind: str | RegionRules,
        radius: float | None,
        tol: float | None,
        restarts: bool,
        seed: int | None,
    ) -> DfoTr:
        """A `DfoTr` that starts at ``x0``."""
        if not self.free.size:
            return DfoTr(1, kind=kind, seed=seed)
        low, high = self.low[self.free], self.high[self.free]
        start = np.clip((self.x0[self.free] - low) / (high - low), 0.0, 1.0)
        first, reach, last = BOX_RADIUS, 1.0, None
        if self.unbounded:
            first = UNBOUNDED_RADIUS / (2.0 * FREE_HALF_WIDTH)
            reach, last = RESTART_REACH * first, LAST_SHARE * first
        first = first if radius is None else radius
        if tol is not None:
            last = min(max(tol / float((high - low).max()), SMALLEST_RADIUS), first)
        return DfoTr(
            self.free.size,
            kind=kind,
            start=start,
            radius=first,
            restarts=restarts,
            reach=reach,
            last_radius=last,
            seed=seed,
            space=self.name(),
        )

    def name(self) -> str:
        """The free variables and their bounds as text, to compare searches by."""
        ends = zip(self.free, self.low[self.free], self.high[self.free], strict=True)
        return ", ".join(f"{low!r} <= x[{j}] <= {high!r}" for j, low, high in
                         ((int(j), float(low), float(high)) for j, low, high in ends))  # fmt: skip

    def place(self, u: FloatArray) -> FloatArray:
        """The variables at a point of the cube, never outside their bounds."""
        x = self.x0.copy()
        if self.free.size:
            low, high = self.low[self.free], self.high[self.free]
            x[self.free] = (1.0 - u) * low + u * high
        placed: FloatArray = np.clip(x, self.hard_low, self.hard_high)
        return placed


def _ends(bounds: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds as arrays, infinite where there are none."""
    if bounds is None:
        return np.full(d, -np.inf), np.full(d, np.inf)
    if hasattr(bounds, "lb"):
        pairs = np.column_stack([np.broadcast_to(bounds.lb, d), np.broadcast_to(bounds.ub, d)])
    else:
        pairs = np.array(
            [[-np.inf if a is None else a, np.inf if b is None else b] for a, b in bounds],
            dtype=np.float64,
        )
    if pairs.shape != (d, 2) or np.isnan(pairs).any():
        raise DataError(f"{d} pairs of bounds; got shape {pairs.shape}. Pass one (low, high) each.")
    return pairs[:, 0].astype(np.float64), pairs[:, 1].astype(np.float64)


def _result(
    box: _Box, engine: DfoTr, points: list[FloatArray], values: list[float]
) -> OptimizeResult:
    """The state of the search in SciPy's form."""
    best = engine.best_point
    fields: dict[str, Any] = dict(
        x=box.x0.copy() if best is None else box.place(best),
        fun=engine.best_value,
        nfev=len(values),
        nit=1 + max(engine.state.runs, default=0),
        n_failed=engine.n_failed,
        history=(points, values),
        engine=engine,
    )
    result = OptimizeResult()
    result.update(fields)
    return result
