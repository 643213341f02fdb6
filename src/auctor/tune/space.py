"""Spaces of parameters and their mapping to the unit cube."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from auctor.core.errors import DataError, DataWarning, speaks
from auctor.core.types import FloatArray

#: Tail probability that is cut off on each unbounded side of a scipy distribution.
TAIL = 1e-3
#: Coordinate of a category that is chosen: half way from the threshold to the end of [0, 1].
CHOSEN = 0.75
#: Coordinate of a category that is not chosen: as far from the threshold as CHOSEN.
OTHERS = 0.25
#: Relative difference of a parameter from its value in the cube that counts as rounding.
START_ACCURACY = 1e-6


class Dimension(Protocol):
    """A parameter: its number of coordinates in the cube, and the mapping in both directions."""

    @property
    def width(self) -> int:
        """Number of coordinates in the cube."""
        ...

    def decode(self, u: FloatArray) -> Any:
        """The value at given coordinates."""
        ...

    def encode(self, value: Any) -> FloatArray:
        """Coordinates of a value; the inverse of `decode` up to rounding."""
        ...


def _check_range(low: float, high: float, log: bool) -> None:
    """Raise unless both ends are finite and in order."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high) or (log and low <= 0.0):
        raise DataError(
            "finite ends, low <= high" + (", above 0 on a log scale" if log else ""),
            got=f"({low!r}, {high!r})",
            todo="Pass the range to search.",
        )


@dataclass(frozen=True)
class Float:
    """A real number in [low, high], optionally on a log scale.

    Examples
    --------
    >>> Float(1e-4, 1.0, log=True).decode(np.array([0.5]))
    0.01
    """

    low: float
    high: float
    log: bool = False

    @speaks
    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    @property
    def width(self) -> int:
        """One coordinate; none where both ends are equal."""
        return int(self.low < self.high)

    def decode(self, u: FloatArray) -> float:
        """The number at a coordinate, always in [low, high]."""
        if not self.width:
            return self.low
        share = float(u[0])
        if self.log:
            value = math.exp((1.0 - share) * math.log(self.low) + share * math.log(self.high))
            value = float(f"{value:.15g}")
        else:
            value = (1.0 - share) * self.low + share * self.high
        return min(max(value, self.low), self.high)

    def encode(self, value: Any) -> FloatArray:
        """The coordinate of a number."""
        if not self.width:
            return np.zeros(0)
        low, high, at = self.low, self.high, float(value)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return np.array([(at - low) / (high - low)])


@dataclass(frozen=True)
class Integer:
    """An integer in [low, high]; each has an equal part of the coordinate.

    Examples
    --------
    >>> [Integer(1, 3).decode(np.array([u])) for u in (0.0, 0.4, 0.5, 1.0)]
    [1, 2, 2, 3]
    """

    low: int
    high: int
    log: bool = False

    @speaks
    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def _real(self) -> Float:
        low, high = self.low - 0.5, self.high + 0.5
        return Float(max(low, 0.5) if self.log else low, high, self.log)

    @property
    def width(self) -> int:
        """One coordinate; none where both ends are equal."""
        return int(self.low < self.high)

    def decode(self, u: FloatArray) -> int:
        """The number at a coordinate."""
        if not self.width:
            return int(self.low)
        return int(min(max(math.floor(self._real().decode(u) + 0.5), self.low), self.high))

    def encode(self, value: Any) -> FloatArray:
        """The middle of a number's part of the coordinate."""
        return self._real().encode(value) if self.width else np.zeros(0)


@dataclass(frozen=True)
class Categorical:
    """One of several choices without an order.

    Two choices share one coordinate, split in the middle. With more, every choice has its own
    coordinate and the largest one wins: no order is implied, and each choice is a direction for the
    model. Small steps do not change the choice, so that ``kind="stepwise"`` suits such spaces.
    """

    choices: tuple[Any, ...]

    @speaks
    def __init__(self, choices: Sequence[Any]) -> None:
        super().__setattr__("choices", tuple(choices))
        if not self.choices:
            raise DataError("at least one choice; got none. Pass some choices.")

    @property
    def width(self) -> int:
        """No coordinate for one choice, one for two, else as many as choices."""
        count = len(self.choices)
        return count - 1 if count <= 2 else count

    def decode(self, u: FloatArray) -> Any:
        """The choice at given coordinates."""
        count = len(self.choices)
        if count == 1:
            return self.choices[0]
        return self.choices[int(u[0] >= 0.5) if count == 2 else int(np.argmax(u))]

    def encode(self, value: Any) -> FloatArray:
        """Coordinates of a choice: CHOSEN for itself, OTHERS for the others."""
        index = next(i for i, one in enumerate(self.choices) if one is value or one == value)
        count = len(self.choices)
        if count == 1:
            return np.zeros(0)
        if count == 2:
            return np.array([(OTHERS, CHOSEN)[index]])
        code = np.full(count, OTHERS)
        code[index] = CHOSEN
        return code


@dataclass(frozen=True)
class Ordinal:
    """One of several increasing numbers, each with an equal part of the coordinate."""

    values: tuple[Any, ...]

    @property
    def width(self) -> int:
        """One coordinate; none for a single number."""
        return int(len(self.values) > 1)

    def decode(self, u: FloatArray) -> Any:
        """The number at a coordinate."""
        count = len(self.values)
        return self.values[min(int(float(u[0]) * count), count - 1) if self.width else 0]

    def encode(self, value: Any) -> FloatArray:
        """The middle of a number's part of the coordinate."""
        if not self.width:
            return np.zeros(0)
        return np.array([(self.values.index(value) + 0.5) / len(self.values)])


@dataclass(frozen=True)
class Distribution:
    """A distribution of scipy.stats; the coordinate is the cumulative probability."""

    frozen: Any

    @property
    def width(self) -> int:
        """One coordinate."""
        return 1

    def _ends(self) -> tuple[float, float]:
        low, high = self.frozen.support()
        return (0.0 if math.isfinite(low) else TAIL), (1.0 if math.isfinite(high) else 1.0 - TAIL)

    def decode(self, u: FloatArray) -> Any:
        """The quantile at a coordinate."""
        low, high = self._ends()
        value = self.frozen.ppf(low + (high - low) * float(u[0]))
        start, end = self.frozen.support()
        value = min(max(value, start), end)
        return int(value) if hasattr(self.frozen, "pmf") or self._discrete() else float(value)

    def _discrete(self) -> bool:
        return hasattr(getattr(self.frozen, "dist", None), "pmf")

    def encode(self, value: Any) -> FloatArray:
        """The cumulative probability of a value; of a discrete one, the middle of its step."""
        low, high = self._ends()
        below = float(self.frozen.cdf(value))
        if self._discrete():
            below -= 0.5 * float(self.frozen.pmf(value))
        return np.array([min(max((below - low) / (high - low), 0.0), 1.0)])


@dataclass(frozen=True)
class Conditional:
    """A parameter that exists only for certain values of other parameters.

    It is drawn uniformly from its own range, because a model of the whole cube cannot represent a
    parameter that is sometimes absent; `SearchCV` warns about that.

    Parameters
    ----------
    dimension : dimension, list, pair of ends or distribution
        As in `Space`.
    when : mapping
        Names of other parameters, and the value, or list of values, that they must have.
    """

    dimension: Any
    when: Mapping[str, Any]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the parameter exists for these values of the others."""
        return all(
            values.get(name) in (wanted if isinstance(wanted, list | tuple | set) else (wanted,))
            for name, wanted in self.when.items()
        )


def as_dimension(name: str, value: Any) -> Dimension:
    """The dimension of a list, a pair of ends or a scipy distribution; dimensions unchanged.

    Examples
    --------
    >>> as_dimension("C", [1, 10, 100])
    Ordinal(values=(1, 10, 100))
    >>> as_dimension("kernel", ["rbf", "linear"])
    Categorical(choices=('rbf', 'linear'))
    """
    if hasattr(value, "decode") and hasattr(value, "encode"):
        dimension: Dimension = value
        return dimension
    if hasattr(value, "ppf") and hasattr(value, "support"):
        return Distribution(value)
    if isinstance(value, list | np.ndarray | range):
        choices = list(value)
        ordered = len(choices) > 2 and all(
            isinstance(one, Real | Integral) and not isinstance(one, bool) for one in choices
        )
        if ordered and all(a < b for a, b in pairwise(choices)):
            return Ordinal(tuple(choices))
        return Categorical(choices)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(x, Real) for x in value):
        whole = all(isinstance(x, Integral) for x in value)
        return Integer(*value) if whole else Float(float(value[0]), float(value[1]))
    raise DataError(
        f"{name} to be a Float, an Integer, a Categorical, a list or a scipy distribution; got "
        f"{value!r}. Pass one of these."
    )


def _same(value: Any, wanted: Any) -> bool:
    """Whether two values are equal up to rounding."""
    if isinstance(wanted, Real) and isinstance(value, Real):
        return math.isclose(value, wanted, rel_tol=START_ACCURACY, abs_tol=1e-12)
    return bool(value is wanted or value == wanted)


class Space:
    """Named parameters, mapped to the unit cube.

    Parameters
    ----------
    parameters : mapping
        From names to `Float`, `Integer`, `Categorical`, `Conditional`, a list (increasing numbers
        keep their order), a pair of ends, or a distribution of scipy.stats with ``ppf``.

    Examples
    --------
    >>> space = Space({"C": Float(1e-3, 1e3, log=True), "kernel": ["rbf", "linear"]})
    >>> space.dims
    2
    >>> space.decode(np.array([0.5, 0.9]))
    {'C': 1.0, 'kernel': 'linear'}
    """

    @speaks
    def __init__(self, parameters: Mapping[str, Any]) -> None:
        if not isinstance(parameters, Mapping) or not parameters:
            raise DataError(
                "a mapping of at least one parameter",
                got="none" if isinstance(parameters, Mapping) else type(parameters).__name__,
                todo="Pass names and ranges, such as {'C': Float(1e-3, 1e3, log=True)}.",
            )
        self.conditional = {k: v for k, v in parameters.items() if isinstance(v, Conditional)}
        self.dimensions = {
            name: as_dimension(name, value)
            for name, value in parameters.items()
            if name not in self.conditional
        }
        self.conditional_dimensions = {
            k: as_dimension(k, v.dimension) for k, v in self.conditional.items()
        }
        self.dims = sum(one.width for one in self.dimensions.values())

    def warning(self) -> DataWarning | None:
        """A warning if there are conditional parameters."""
        if not self.conditional:
            return None
        return DataWarning(
            does=f"draws {', '.join(self.conditional)} at random: its model has no conditional "
            "parameters"
        )

    def decode(self, u: FloatArray, rng: np.random.Generator | None = None) -> dict[str, Any]:
        """The parameters at a point of the cube; conditional ones are drawn from ``rng``."""
        values: dict[str, Any] = {}
        at = 0
        for name, dimension in self.dimensions.items():
            values[name] = dimension.decode(u[at : at + dimension.width])
            at += dimension.width
        for name, condition in self.conditional.items():
            if rng is not None and condition.holds(values):
                dimension = self.conditional_dimensions[name]
                values[name] = dimension.decode(rng.random(dimension.width))
        return values

    @speaks
    def encode(self, values: Mapping[str, Any]) -> FloatArray:
        """The point of the cube of given parameters; raises if one is missing or out of range."""
        parts = []
        for name, dimension in self.dimensions.items():
            try:
                part = dimension.encode(values[name])
            except (KeyError, StopIteration, ValueError, TypeError) as error:
                raise DataError(
                    f"a value of {name} inside its range; got {values.get(name)!r}. Pass every "
                    "parameter of the space."
                ) from error
            if not ((part >= 0.0) & (part <= 1.0)).all() or not _same(
                dimension.decode(part), values[name]
            ):
                raise DataError(
                    f"{name} inside its range; got {values[name]!r}. Move it, or widen the range."
                )
            parts.append(part)
        return np.concatenate(parts) if parts else np.zeros(0)

    def signature(self) -> dict[str, str]:
        """Names and ranges as text, to compare spaces by."""
        return {name: repr(one) for name, one in self.dimensions.items()} | {
            name: repr(one) for name, one in self.conditional.items()
        }
