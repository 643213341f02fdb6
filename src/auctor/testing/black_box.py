"""Conformance of a black-box optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from auctor.core.types import FloatArray
from auctor.testing.suite import Suite, expect


class AskTell(Protocol):
    """An optimiser of the unit cube that is asked for points and told their values."""

    def ask(self, n: int = 1) -> FloatArray:
        """The next n points, (n, dims)."""
        ...

    def tell(self, points: Any, values: Any) -> None:
        """Tell the values of points."""
        ...

    @property
    def best_value(self) -> float:
        """Lowest value so far."""
        ...

    @property
    def best_point(self) -> FloatArray | None:
        """Point of the lowest value; None if there is none."""
        ...


class Driven(NamedTuple):
    """The best value and point of a search, and all evaluated points in order."""

    best_value: float
    best_point: FloatArray | None
    seen: FloatArray


#: ``drive(function, dims, budget, batch)`` minimises a function on the unit cube, with ``batch``
#: points at a time if the optimiser can. Values that are not finite are failures.
Drive = Callable[[Callable[[FloatArray], float], int, int, int], Driven]


def driven_by(make: Callable[[int], AskTell]) -> Drive:
    """The search by an ask-and-tell optimiser; ``make(dims)`` returns a new one."""

    def drive(
        function: Callable[[FloatArray], float], dims: int, budget: int, batch: int
    ) -> Driven:
        optimiser = make(dims)
        seen: list[FloatArray] = []
        while len(seen) < budget:
            points = optimiser.ask(batch)
            expect(points.shape == (batch, dims), f"ask returned shape {points.shape}")
            optimiser.tell(points, [function(point) for point in points])
            seen += list(points)
        return Driven(optimiser.best_value, optimiser.best_point, np.array(seen))

    return drive


class BlackBoxSuite(Suite):
    """Properties that any black-box optimiser should have.

    Parameters
    ----------
    make : callable, optional
        ``make(dims)`` returns a new ask-and-tell optimiser, always with the same seed.
    close : float
        Largest distance, in the cube, to the minimum of a quadratic in two dimensions after 60
        evaluations.
    drive : callable, optional
        ``drive(function, dims, budget, batch)`` for optimisers that call the function themselves;
        returns a `Driven`. Used instead of ``make``.

    Examples
    --------
    >>> from auctor.tune import DfoTr
    >>> "check_failed_points" in BlackBoxSuite(DfoTr).run()
    True
    """

    def __init__(
        self,
        make: Callable[[int], AskTell] | None = None,
        close: float = 0.05,
        *,
        drive: Drive | None = None,
    ) -> None:
        expect((make is None) != (drive is None), "pass either make or drive")
        self.close = close
        self.drive: Drive = driven_by(make) if make is not None else drive  # type: ignore[assignment]

    def _drive(
        self,
        function: Callable[[FloatArray], float],
        *,
        dims: int = 2,
        budget: int = 60,
        batch: int = 1,
    ) -> Driven:
        """A search with defaults, whose points are checked."""
        driven = self.drive(function, dims, budget, batch)
        expect(driven.seen.shape[1:] == (dims,), f"points have shape {driven.seen.shape}")
        return driven

    @staticmethod
    def _bowl(u: FloatArray) -> float:
        return float(((u - 0.37) ** 2).sum())

    @staticmethod
    def _bowl_at(target: float, unit: float = 1.0) -> Callable[[FloatArray], float]:
        """A quadratic with its minimum, the value ``unit``, at another point."""
        return lambda u: unit * float(((u - target) ** 2).sum()) + unit

    def _bowl_with(self, bad: float) -> Callable[[FloatArray], float]:
        """A quadratic that returns ``bad`` in a part of the cube."""
        return lambda u: bad if u[0] > 0.55 else self._bowl(u)

    def check_points_stay_in_the_cube(self) -> None:
        """No coordinate is below 0 or above 1, not even by rounding."""
        for target in (-1.0, 0.5, 2.0):
            seen = self._drive(self._bowl_at(target), dims=3).seen
            expect(bool((seen >= 0.0).all() and (seen <= 1.0).all()), "a point left the cube")

    def check_bowl(self) -> None:
        """The minimum of a quadratic is found."""
        search = self._drive(self._bowl)
        expect(
            search.best_value <= self.close**2,
            f"a quadratic is only lowered to {search.best_value}",
        )

    def check_best_is_the_lowest_told(self) -> None:
        """The best value and point are those of the lowest value told."""
        told: list[float] = []

        def function(u: FloatArray) -> float:
            told.append(self._bowl(u))
            return told[-1]

        search = self._drive(function)
        expect(search.best_value == min(told), "best_value is not the lowest told")
        point = search.best_point
        expect(
            point is not None and np.array_equal(point, search.seen[int(np.argmin(told))]),
            "best_point is not the point of the lowest value",
        )

    def check_same_points_again(self) -> None:
        """Two new optimisers with the same seed ask for the same points."""
        one, two = (self._drive(self._bowl).seen for _ in range(2))
        expect(np.array_equal(one, two), "the same seed gave other points")

    def check_one_dimension(self) -> None:
        """Functions of one variable are minimised."""
        search = self._drive(self._bowl, dims=1)
        expect(search.best_value <= self.close**2, "one dimension is not searched")

    def check_failed_points(self) -> None:
        """NaN and infinite values do not end the search and are never the best."""
        for bad in (np.nan, np.inf, -np.inf):
            search = self._drive(self._bowl_with(bad))
            expect(np.isfinite(search.best_value), f"{bad} became the best value")
            expect(search.best_value <= 4 * self.close**2, f"{bad} misled the search")

    def check_every_point_failing(self) -> None:
        """If all evaluations fail there is no best point, and the search goes on."""
        search = self._drive(lambda u: np.nan)
        expect(search.best_point is None, "there is a best point without a value")

    def check_constant(self) -> None:
        """A constant function does not end the search."""
        search = self._drive(lambda u: 1.0)
        expect(search.best_value == 1.0, "a constant has another best value")

    def check_large_and_small_values(self) -> None:
        """The scale of the values does not matter."""
        for unit in (1e-12, 1e12):
            search = self._drive(self._bowl_at(0.37, unit))
            expect(search.best_value <= unit * (1.0 + self.close**2), f"values of {unit} are lost")

    def check_batches(self) -> None:
        """Several points can be asked for at once, and differ."""
        # Parallel points know less than sequential ones, so that the bound is looser.
        search = self._drive(self._bowl, batch=4, budget=80)
        expect(search.best_value <= 4 * self.close**2, "batches do not help")
        distinct = len(np.unique(search.seen, axis=0))
        expect(distinct >= 0.8 * len(search.seen), "batches repeat their points")
