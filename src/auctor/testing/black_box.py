"""Checks that every optimiser of black boxes passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from auctor.core.types import FloatArray
from auctor.testing.suite import Suite, expect


class AskTell(Protocol):
    """An optimiser of the unit cube that is asked for points and told their values."""

    def ask(self, n: int = 1) -> FloatArray:
        """The next points."""
        ...

    def tell(self, points: Any, values: Any) -> None:
        """The values of some points."""
        ...

    @property
    def best_value(self) -> float:
        """Lowest value so far."""
        ...

    @property
    def best_point(self) -> FloatArray | None:
        """Its point."""
        ...


class Driven(NamedTuple):
    """What a search ended with, and the points that it evaluated, in order."""

    best_value: float
    best_point: FloatArray | None
    seen: FloatArray


#: Searches the cube of so many dimensions with a budget, asking for so many points at a time where
#: it can. A function of the unit cube is minimised; not finite values are failures.
Drive = Callable[[Callable[[FloatArray], float], int, int, int], Driven]


def driven_by(make: Callable[[int], AskTell]) -> Drive:
    """A search by an optimiser that is asked and told; ``make(dims)`` gives a fresh one."""

    def drive(
        function: Callable[[FloatArray], float], dims: int, budget: int, batch: int
    ) -> Driven:
        optimiser = make(dims)
        seen: list[FloatArray] = []
        while len(seen) < budget:
            asked = optimiser.ask(batch)
            expect(asked.shape == (batch, dims), f"ask gave shape {asked.shape}")
            optimiser.tell(asked, [function(point) for point in asked])
            seen += list(asked)
        return Driven(optimiser.best_value, optimiser.best_point, np.array(seen))

    return drive


class BlackBoxSuite(Suite):
    """What may be expected of an optimiser whatever its method.

    Parameters
    ----------
    make : callable, optional
        ``make(dims)`` gives a fresh optimiser that is asked and told, the same one every time.
    close : float
        Distance, in the cube, to the minimum of a bowl in two dimensions after 60 evaluations.
    drive : callable, optional
        ``drive(function, dims, budget, batch)`` for optimisers that call the function themselves;
        returns a `Driven`. In the place of ``make``.

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
        found = self.drive(function, dims, budget, batch)
        expect(found.seen.shape[1:] == (dims,), f"points have shape {found.seen.shape}")
        return found

    @staticmethod
    def _bowl(u: FloatArray) -> float:
        return float(((u - 0.37) ** 2).sum())

    @staticmethod
    def _bowl_at(target: float, unit: float = 1.0) -> Callable[[FloatArray], float]:
        """A bowl around another point, in another unit, with a minimum of one unit."""
        return lambda u: unit * float(((u - target) ** 2).sum()) + unit

    def _bowl_with(self, bad: float) -> Callable[[FloatArray], float]:
        """A bowl that fails in a part of the cube."""
        return lambda u: bad if u[0] > 0.55 else self._bowl(u)

    def check_points_stay_in_the_cube(self) -> None:
        """No coordinate is below 0 or above 1, not by rounding."""
        for target in (-1.0, 0.5, 2.0):
            seen = self._drive(self._bowl_at(target), dims=3).seen
            expect(bool((seen >= 0.0).all() and (seen <= 1.0).all()), "a point left the cube")

    def check_bowl(self) -> None:
        """The minimum of a bowl is found."""
        found = self._drive(self._bowl)
        expect(found.best_value <= self.close**2, f"a bowl is left at {found.best_value}")

    def check_best_is_the_lowest_told(self) -> None:
        """The best value and point are those of the lowest value told."""
        told: list[float] = []

        def function(u: FloatArray) -> float:
            told.append(self._bowl(u))
            return told[-1]

        found = self._drive(function)
        expect(found.best_value == min(told), "best_value is not the lowest told")
        point = found.best_point
        expect(
            point is not None and np.array_equal(point, found.seen[int(np.argmin(told))]),
            "best_point is not the point of the lowest value",
        )

    def check_same_points_again(self) -> None:
        """Two fresh optimisers ask for the same points."""
        one, two = (self._drive(self._bowl).seen for _ in range(2))
        expect(np.array_equal(one, two), "the same seed gave other points")

    def check_one_dimension(self) -> None:
        """One coordinate is enough."""
        found = self._drive(self._bowl, dims=1)
        expect(found.best_value <= self.close**2, "one dimension is not searched")

    def check_failed_points(self) -> None:
        """NaN and infinities are survived and never the best."""
        for bad in (np.nan, np.inf, -np.inf):
            found = self._drive(self._bowl_with(bad))
            expect(np.isfinite(found.best_value), f"{bad} became the best value")
            expect(found.best_value <= 4 * self.close**2, f"{bad} spoilt the search")

    def check_every_point_failing(self) -> None:
        """Nothing but failures leaves no best point, and points are still asked for."""
        found = self._drive(lambda u: np.nan)
        expect(found.best_point is None, "there is a best point without a value")

    def check_constant(self) -> None:
        """A constant function is survived."""
        found = self._drive(lambda u: 1.0)
        expect(found.best_value == 1.0, "a constant has another best value")

    def check_large_and_small_values(self) -> None:
        """The unit of the values does not matter."""
        for unit in (1e-12, 1e12):
            found = self._drive(self._bowl_at(0.37, unit))
            expect(found.best_value <= unit * (1.0 + self.close**2), f"values of {unit} are lost")

    def check_batches(self) -> None:
        """Several points can be asked for at once, and differ."""
        found = self._drive(self._bowl, batch=4, budget=80)
        expect(found.best_value <= 4 * self.close**2, "batches do not help")
        distinct = len(np.unique(found.seen, axis=0))
        expect(distinct >= 0.8 * len(found.seen), "batches repeat their points")
