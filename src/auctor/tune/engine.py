"""DFO-TR: a model-based trust region that is asked for points and told their values."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.codec import conforms
from auctor.core.errors import DataError, ParameterError, speaks, speaks_as
from auctor.core.files import write_text
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.tune.direct import Maximised, maximise_on_sphere
from auctor.tune.model_set import LINEAR_ABOVE
from auctor.tune.rules import KINDS, RegionRules
from auctor.tune.space import Space
from auctor.tune.state import SearchState
from auctor.tune.trust_region import TrustRegion

#: Version of the format of a saved history; other versions are refused.
FORMAT = 2
#: Parameters of the engine in a history, with their types.
SETTINGS: dict[str, Any] = {
    "dims": int | None,
    "kind": str | RegionRules,
    "start": list[float] | None,
    "radius": float,
    "design": int,
    "model": str,
    "restarts": bool,
    "reach": float,
    "last_radius": float | None,
    "seed": int | None,
    "space": str | None,
    "debug": bool,
}


class DfoTr:
    """Minimise a function on the unit cube from its values alone.

    Points come from a quadratic model of the values near the best point so far: linear at first,
    then with the least change of the Hessian (Frobenius norm), and a full quadratic if the
    dimension is small. The model is minimised in a trust region inside the cube. When a step fails,
    points are added that make the model better conditioned. When a run has converged, the next one
    starts far from all evaluated points.

    Parameters
    ----------
    dims : int, optional
        Dimensions of the cube; None leaves them to `maximise` or `search`.
    kind : {"smooth", "noisy", "stepwise"} or RegionRules
        Rules for the radius. For smooth functions it is halved after a failed step. For stepwise
        functions (metrics, which are piecewise constant) it is multiplied by 0.98. Noisy functions
        are fitted by regression, and their best point is evaluated again after a failed step. Other
        constants are passed as `auctor.tune.rules.RegionRules`.
    start : (dims,) array, optional
        First point; the centre of the cube by default.
    radius : float in (0, 0.5]
        First radius of the trust region.
    design : int
        Number of further points, spread over the cube, before the first model, which is centred at
        the best of all.
    model : {"auto", "linear", "quadratic"}
        Linear models can be used with some hundreds of dimensions; "auto" uses them above 120.
    restarts : bool
        Whether to start again from another point after a run has converged.
    reach : float
        Largest distance of restarts from the start in every coordinate.
    last_radius : float, optional
        Resolution at which a run has converged; by default that of the kind.
    seed : int, optional
        Seed of restarts and of points for the geometry; None is always the same seed.
    space : str, optional
        Description of the space; a saved history is refused for another space.
    debug : bool
        Whether to assert the invariants: the points of a model are distinct points of the cube, its
        centre is the best of them, models interpolate their values, steps are feasible and no worse
        than steepest descent.

    Examples
    --------
    >>> engine = DfoTr(2, seed=0)
    >>> for _ in range(40):
    ...     point = engine.ask(1)
    ...     engine.tell(point, [((point[0] - 0.3) ** 2).sum()])
    >>> engine.best_value < 1e-10
    True
    """

    @speaks
    def __init__(
        self,
        dims: int | None = None,
        *,
        kind: str | RegionRules = "smooth",
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
        if dims is not None:
            check_int("dims", dims, low=1)
        check_real("radius", radius, low=0.0, open_low=True, high=0.5)
        check_real("reach", reach, low=0.0, open_low=True)
        check_int("design", design, low=0)
        self.dims, self.radius, self.design = dims, float(radius), design
        self.kind = kind
        if not isinstance(kind, RegionRules):
            check_choice("kind", kind, tuple(KINDS))
        self.model = check_choice("model", model, ("auto", "linear", "quadratic"))
        self.restarts, self.reach, self.debug, self.seed = bool(restarts), reach, debug, seed
        if last_radius is not None:
            check_real("last_radius", last_radius, low=0.0, open_low=True)
        self.last_radius, self.space = last_radius, space
        self.start = None if start is None else np.array(start, dtype=np.float64)
        self._rng = as_rng(0 if seed is None else seed)
        self._trust_region: TrustRegion | None = None
        if dims is not None:
            state = SearchState(dims, radius=self.radius, resolution=self.radius)
            self._trust_region = self._make(state)
            self._trust_region.begin()

    @speaks
    def check_space(self, dims: int, space: str) -> None:
        """Raise if this search is of another space."""
        if self.state.dims != dims or self.space not in (None, space):
            raise DataError(
                f"an engine of {dims} free variables ({space}) to continue with; got one of "
                f"{self.state.dims} ({self.space or 'without a name'}). Pass the `engine` of the "
                "same space."
            )

    # --- asking and telling -------------------------------------------------------------------

    @speaks
    def ask(self, n: int = 1) -> FloatArray:
        """The next ``n`` points to evaluate, shape (n, dims), inside the cube.

        Further points may be asked for before the values of earlier ones are told: while a step of
        the model is being evaluated, they fill gaps in the trust region.
        """
        check_int("n", n, low=1)
        points = []
        for _ in range(n):
            request = self._running().next()
            request.since = self.state.n_told
            self.state.pending.append(request)
            points.append(request.point.copy())
        return np.array(points)

    @speaks
    def tell(self, points: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Tell the values of points, asked for or not.

        NaN, infinity and values beyond 1e100 mark failed evaluations.

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
                f"as many values as points of {state.dims} coordinates; got {told.shape[0]} values "
                f"and points of shape {rows.shape}. Pass points as ask returned them."
            )
        if not ((rows >= 0.0) & (rows <= 1.0)).all():
            raise DataError(
                f"points in the unit cube; got coordinates from {rows.min():.3g} to "
                f"{rows.max():.3g}. Pass points as ask returned them."
            )
        for row, value in zip(rows, told, strict=True):
            self._running().tell_one(row, float(value))

    @property
    def state(self) -> SearchState:
        """The state of the search; raises before the dimensions are known."""
        return self._running().state

    def _running(self) -> TrustRegion:
        if self._trust_region is None:
            raise ParameterError("dims; got None. Pass `dims=` to ask.")
        return self._trust_region

    @property
    def best_value(self) -> float:
        """Lowest value so far; infinity if none was finite."""
        best = self.state.best()
        return self.state.values[best] if best >= 0 else float("inf")

    @property
    def best_point(self) -> FloatArray | None:
        """Point of the lowest value so far; None if none was finite."""
        best = self.state.best()
        return self.state.points[best].copy() if best >= 0 else None

    @property
    def converged(self) -> bool:
        """Whether a run has reached its last radius."""
        return bool(self.state.ends)

    @property
    def end(self) -> float:
        """Resolution at which a run has converged."""
        return self._running().last_radius

    @property
    def n_failed(self) -> int:
        """Number of evaluations without a finite value."""
        return self.state.n_failed

    # --- saving -------------------------------------------------------------------------------

    @speaks
    def to_json(self) -> dict[str, Any]:
        """The whole search as lists and numbers; `from_json` continues with the same next point."""
        return {
            "format": FORMAT,
            "settings": self._settings(),
            "random": self._rng.bit_generator.state,
            "state": self.state.to_json(),
        }

    @classmethod
    @speaks_as("DfoTr.from_json")
    def from_json(cls, kept: dict[str, Any]) -> Self:
        """The engine from the result of `to_json`; `DataError` for anything else."""
        if not isinstance(kept, dict) or kept.get("format") != FORMAT:
            raise DataError(
                f"a history of format {FORMAT}",
                got=f"{kept.get('format') if isinstance(kept, dict) else type(kept).__name__}"[:80],
                todo="Pass the result of to_json.",
            )
        try:
            state = SearchState.from_json(kept["state"])
            settings = dict(kept["settings"])
            if isinstance(settings["kind"], dict):
                settings["kind"] = RegionRules(**settings["kind"])
            if settings.keys() != SETTINGS.keys() or settings["dims"] not in (None, state.dims):
                raise ValueError("wrong settings")
            for name, hint in SETTINGS.items():
                if not conforms(settings[name], hint):
                    raise ValueError(f"wrong {name}")
            # Without dims, no first points are asked for: the state has them.
            engine = cls(**settings | {"dims": None})
            engine.dims = settings["dims"]
            engine._rng.bit_generator.state = kept["random"]
            engine._trust_region = engine._make(state)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise DataError(
                f"the history of a search; got {f'one that is damaged ({error})'[:160]}. Pass the "
                "result of to_json."
            ) from error
        return engine

    @speaks
    def save(self, path: str | Path) -> None:
        """Write the history as a JSON file with a checksum, atomically."""
        text = json.dumps(self.to_json(), sort_keys=True)
        kept = {"format": FORMAT, "sha256": sha256(text.encode()).hexdigest(), "history": text}
        write_text(path, json.dumps(kept))

    @classmethod
    @speaks_as("DfoTr.load")
    def load(cls, path: str | Path) -> Self:
        """Read a history that `save` wrote; `DataError` if the file is damaged."""
        try:
            match json.loads(Path(path).read_text(encoding="utf-8")):
                case {"format": int(version), "sha256": str(checksum), "history": str(text)}:
                    if version == FORMAT and sha256(text.encode()).hexdigest() == checksum:
                        return cls.from_json(json.loads(text))
            history = "a file that is damaged or of another version"
        except (ValueError, RecursionError) as error:
            history = f"a file that is damaged ({error})"[:160]
        raise DataError(
            f"a history of format {FORMAT} that DfoTr.save wrote; got {history}. Pass another file."
        )

    @speaks
    def with_dims(self, dims: int, start: npt.ArrayLike | None = None) -> Self:
        """A new engine with the same settings for another number of dimensions."""
        settings = self._settings() | {"dims": dims, "start": start, "kind": self.kind}
        return type(self)(**settings)

    @speaks
    def search(
        self,
        evaluate: Callable[[list[FloatArray]], list[float]],
        space: Space,
        *,
        start: FloatArray,
        batch: int,
        seed: int,
    ) -> None:
        """Search a space with these settings until ``evaluate`` raises; a method of `SearchCV`.

        Parameters
        ----------
        evaluate : callable
            From points of the cube to their values.
        space : Space
        start : array
            The first point.
        batch : int
            Number of points to ask for at a time.
        seed : int
            Not used: the settings have a seed.
        """
        engine = self.with_dims(space.dims, start)
        while True:
            points = engine.ask(batch)
            engine.tell(points, evaluate(list(points)))

    @speaks
    def maximise(
        self, value_of: Callable[[FloatArray], float], start: FloatArray, *, budget: int
    ) -> Maximised:
        """Maximise a function of a direction with these settings; see `maximise_metric`.

        ``MetricClassifier(metric="auc", surrogate="exact", solver=DfoTr(...))`` calls this method.
        """
        return maximise_on_sphere(self, lambda w, _: value_of(w), start, budget=budget)

    def _settings(self) -> dict[str, Any]:
        """The parameters as values for JSON."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        if isinstance(self.kind, RegionRules):
            settings["kind"] = asdict(self.kind)
        if self.start is not None:
            settings["start"] = self.start.tolist()
        return settings

    def _make(self, state: SearchState) -> TrustRegion:
        """The trust region of a state, with the settings of this engine."""
        dims = state.dims
        rules = self.kind if isinstance(self.kind, RegionRules) else KINDS[self.kind]
        start = np.full(dims, 0.5) if self.start is None else self.start
        if start.shape != (dims,) or not ((start >= 0.0) & (start <= 1.0)).all():
            raise DataError(
                f"a start of {dims} coordinates in the unit cube; got {start.tolist()}. Clip it."
            )
        return TrustRegion(
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
