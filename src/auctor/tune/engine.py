"""DFO-TR: a model-based trust region that is asked for points and told their values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError, ParameterError
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.tune.direct import Maximised, maximise_on_sphere
from auctor.tune.machine import Machine
from auctor.tune.region import LINEAR_ABOVE
from auctor.tune.rules import KINDS, Rules
from auctor.tune.state import State

#: Version of the saved history; a file of another version is refused.
FORMAT = 1


class DfoTr:
    """Minimise a function of the unit cube from its values alone.

    Every point comes from a quadratic model of the values near the best point so far: linear at
    first, then of least change in the Hessian (Frobenius norm), and a full quadratic where the
    dimension allows. The model is minimised in a trust region inside the cube; points that make
    the model better conditioned are asked for when it fails. When a run has converged, the next
    one starts far from everything seen.

    Parameters
    ----------
    dims : int, optional
        Dimensions of the cube; None leaves them to `maximise`.
    kind : {"smooth", "noisy", "stepwise"} or Rules
        Rules of the radius. Smooth functions halve it after a failed step. Stepwise functions
        (metrics, which are constant between steps) keep 0.98 of it. Noisy ones are fitted by
        regression, and their best point is evaluated again before it is trusted. Other constants
        are passed as `auctor.tune.rules.Rules`.
    start : (dims,) array, optional
        First point; the middle of the cube by default.
    radius : float in (0, 0.5]
        First radius of the trust region.
    design : int
        Further points spread over the cube before the first model; the best of all is its centre.
    model : {"auto", "linear", "quadratic"}
        Linear models carry to some hundreds of dimensions; "auto" takes them above 120.
    restarts : bool
        Whether to start again elsewhere after a run has converged.
    reach : float
        Restarts stay within this distance of the start in every coordinate.
    last_radius : float, optional
        Resolution at which a run has converged; by default by kind.
    seed : int, optional
        Of restarts and geometry; None is the same seed every time.
    space : str, optional
        Words for what the cube stands for; a saved history is refused for another space.
    debug : bool
        Assert what models and steps rely on and what they promise: members are distinct points of
        the cube around the best of them, models pass through their values, steps are feasible and
        no worse than steepest descent.

    Examples
    --------
    >>> engine = DfoTr(2, seed=0)
    >>> for _ in range(40):
    ...     point = engine.ask(1)
    ...     engine.tell(point, [((point[0] - 0.3) ** 2).sum()])
    >>> engine.best_value < 1e-10
    True
    """

    def __init__(
        self,
        dims: int | None = None,
        *,
        kind: str | Rules = "smooth",
        start: npt.ArrayLike | None = None,
        radius: float = 0.1,
        design: int = 0,
        model: str = "auto",
        restarts: bool = True,
        reach: float = 1.0,
        last_radius: float | None = None,
        seed: int | None = None,
        space: str | None = None,
        debug: bool = False,
    ) -> None:
        who = "DfoTr"
        if dims is not None:
            check_int(who, "dims", dims, low=1)
        check_real(who, "radius", radius, low=0.0, open_low=True, high=0.5)
        check_real(who, "reach", reach, low=0.0, open_low=True)
        check_int(who, "design", design, low=0)
        self.dims, self.radius, self.design = dims, float(radius), design
        self.kind = kind
        if not isinstance(kind, Rules):
            check_choice(who, "kind", kind, tuple(KINDS))
        self.model = check_choice(who, "model", model, ("auto", "linear", "quadratic"))
        self.restarts, self.reach, self.debug, self.seed = bool(restarts), reach, debug, seed
        self.last_radius, self.space = last_radius, space
        self.start = None if start is None else np.array(start, dtype=np.float64)
        self._rng = as_rng(0 if seed is None else seed)
        self._machine: Machine | None = None
        if dims is not None:
            state = State(dims, radius=self.radius, resolution=self.radius)
            self._machine = self._make(state)
            self._machine.begin()

    def check_space(self, who: str, dims: int, space: str) -> None:
        """Refuse to go on with this search in another space."""
        if self.state.dims != dims or self.space not in (None, space):
            raise DataError(
                who,
                needs=f"a search of {dims} free variables, {space}, to go on with",
                got=f"one of {self.state.dims}, {self.space or 'not named'}",
                todo="Pass the {option} of the same space.",
                option="engine",
            )

    # --- asking and telling -------------------------------------------------------------------

    def ask(self, n: int = 1) -> FloatArray:
        """The next ``n`` points to evaluate, shape (n, dims), inside the cube.

        Points may be asked for before earlier ones were told: while a step of the model is being
        evaluated, further points fill gaps of the model's region.
        """
        check_int("DfoTr.ask", "n", n, low=1)
        found = []
        for _ in range(n):
            asked = self._running().next()
            asked.since = self.state.n_told
            self.state.pending.append(asked)
            found.append(asked.point.copy())
        return np.array(found)

    def tell(self, points: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """The values of some points, asked for or not; NaN or infinity marks a failed evaluation.

        Parameters
        ----------
        points : (n, dims) array
        values : (n,) array
        """
        state = self.state
        rows = np.atleast_2d(np.asarray(points, dtype=np.float64))
        told = np.atleast_1d(np.asarray(values, dtype=np.float64))
        if rows.shape != (told.shape[0], state.dims):
            raise DataError(
                "DfoTr.tell",
                needs=f"as many values as points of {state.dims} coordinates",
                got=f"{told.shape[0]} values and points of shape {rows.shape}",
                todo="Pass points as ask returned them.",
            )
        if not ((rows >= 0.0) & (rows <= 1.0)).all():
            raise DataError(
                "DfoTr.tell",
                needs="points in the unit cube",
                got=f"coordinates from {rows.min():.3g} to {rows.max():.3g}",
                todo="Pass points as ask returned them.",
            )
        for row, value in zip(rows, told, strict=True):
            self._running().tell_one(row, float(value))

    @property
    def state(self) -> State:
        """What the engine remembers; refused before the dimensions are known."""
        return self._running().state

    def _running(self) -> Machine:
        if self._machine is None:
            raise ParameterError(
                "DfoTr", needs="dims", got="None", todo="Pass {option} to ask.", option="dims"
            )
        return self._machine

    @property
    def best_value(self) -> float:
        """Lowest value so far, infinity if none was finite."""
        best = self.state.best()
        return self.state.values[best] if best >= 0 else float("inf")

    @property
    def best_point(self) -> FloatArray | None:
        """Point of the lowest value so far; None if none was finite."""
        best = self.state.best()
        return self.state.points[best].copy() if best >= 0 else None

    @property
    def converged(self) -> bool:
        """Whether a run has reached the last radius."""
        return bool(self.state.ends)

    @property
    def end(self) -> float:
        """Resolution at which a run has converged."""
        return self._running().last_radius

    @property
    def n_failed(self) -> int:
        """Evaluations that gave no finite value."""
        return self.state.n_failed

    # --- saving -------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Everything as plain lists and numbers; `from_json` asks for the same next point."""
        return {
            "format": FORMAT,
            "settings": self._settings(),
            "random": self._rng.bit_generator.state,
            "state": self.state.to_json(),
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Self:
        """The engine of a saved history."""
        if not isinstance(kept, dict) or kept.get("format") != FORMAT:
            raise DataError(
                "DfoTr.from_json",
                needs=f"a history of format {FORMAT}",
                got=f"{kept.get('format') if isinstance(kept, dict) else type(kept).__name__}",
                todo="Pass what to_json returned.",
            )
        settings = dict(kept["settings"])
        if isinstance(settings["kind"], dict):
            settings["kind"] = Rules(**settings["kind"])
        engine = cls(**settings)
        engine._rng.bit_generator.state = kept["random"]
        engine._machine = engine._make(State.from_json(kept["state"]))
        return engine

    def save(self, path: str | Path) -> None:
        """Write the history as a JSON file."""
        Path(path).write_text(json.dumps(self.to_json()), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a history that `save` wrote."""
        return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))

    def with_dims(self, dims: int, start: npt.ArrayLike | None = None) -> Self:
        """A fresh engine of the same settings for another number of dimensions."""
        settings = self._settings() | {"dims": dims, "start": start, "kind": self.kind}
        return type(self)(**settings)

    def maximise(
        self, value_of: Callable[[FloatArray], float], start: FloatArray, *, budget: int
    ) -> Maximised:
        """Maximise a function of a direction with these settings; see `maximise_metric`.

        This is what ``MetricClassifier(metric="auc", surrogate="exact", solver=DfoTr(...))`` calls.
        """
        return maximise_on_sphere(self, lambda w, _: value_of(w), start, budget=budget)

    def _settings(self) -> dict[str, Any]:
        return {
            "dims": self.dims,
            "kind": asdict(self.kind) if isinstance(self.kind, Rules) else self.kind,
            "start": None if self.start is None else self.start.tolist(),
            "radius": self.radius,
            "design": self.design,
            "model": self.model,
            "restarts": self.restarts,
            "reach": self.reach,
            "last_radius": self.last_radius,
            "seed": self.seed,
            "space": self.space,
            "debug": self.debug,
        }

    def _make(self, state: State) -> Machine:
        dims = state.dims
        rules = self.kind if isinstance(self.kind, Rules) else KINDS[self.kind]
        start = np.full(dims, 0.5) if self.start is None else self.start
        if start.shape != (dims,) or not ((start >= 0.0) & (start <= 1.0)).all():
            raise DataError(
                "DfoTr",
                needs=f"a start of {dims} coordinates in the unit cube",
                got=f"{start.tolist()}",
                todo="Clip {option} to the cube.",
                option="start",
            )
        return Machine(
            state=state,
            rules=rules,
            rng=self._rng,
            start=start,
            first_radius=self.radius,
            last_radius=rules.last_radius if self.last_radius is None else self.last_radius,
            design=self.design,
            linear=self.model == "linear" or (self.model == "auto" and dims > LINEAR_ABOVE),
            restarts=self.restarts,
            reach=self.reach,
            debug=self.debug,
        )
