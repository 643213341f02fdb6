"""`DfoTr` as a sampler of Optuna, and Optuna's samplers as methods; needs the extra ``tune``."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from auctor.core.errors import DataError, speaks
from auctor.core.types import FloatArray
from auctor.tune.engine import DfoTr
from auctor.tune.methods import SEARCH_LAST_RADIUS, SEARCH_RADIUS, Evaluator
from auctor.tune.space import Categorical, Dimension, Float, Integer, Space

_logger = optuna.logging.get_logger("auctor.tune")
#: States of the trials that the engine is told.
FINISHED = (TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED)


@dataclass(frozen=True)
class Stepped:
    """Equally spaced numbers, each with an equal part of a coordinate."""

    low: float
    high: float
    step: float
    count: int

    @property
    def width(self) -> int:
        """One coordinate; none for a single number."""
        return int(self.count > 1)

    @speaks
    def decode(self, u: FloatArray) -> Any:
        """The number at a coordinate; rounding cannot put it above ``high``."""
        return min(self.low + self.step * Integer(0, self.count - 1).decode(u), self.high)

    @speaks
    def encode(self, value: Any) -> FloatArray:
        """The middle of a number's part of the coordinate."""
        at = round((float(value) - self.low) / self.step)
        return Integer(0, self.count - 1).encode(at)


def dimension_of(distribution: BaseDistribution) -> Dimension:
    """The dimension of one of Optuna's distributions.

    Examples
    --------
    >>> dimension_of(FloatDistribution(1e-3, 1.0, log=True))
    Float(low=0.001, high=1.0, log=True)
    """
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(distribution.choices)
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution):
        if step == 1:
            return Integer(int(low), int(high), distribution.log)
        return Stepped(low, high, int(step or 1), int((high - low) // (step or 1)) + 1)
    if step is None:
        return Float(float(low), float(high), distribution.log)
    return Stepped(float(low), float(high), step, round((high - low) / step) + 1)


class OptunaDfoTr(BaseSampler):
    """A sampler for Optuna: ``optuna.create_study(sampler=OptunaDfoTr())``.

    Parameters that every trial has are searched together by `DfoTr`. Others are drawn
    independently, and each is logged once.

    Parameters
    ----------
    seed : int, optional
    engine : DfoTr, optional
        Settings to use instead of the defaults.
    """

    def __init__(self, seed: int | None = None, engine: DfoTr | None = None) -> None:
        self._seed, self._settings = seed, engine
        self._random = RandomSampler(seed)
        self._intersection = IntersectionSearchSpace()
        self._key: dict[str, str] | None = None
        self._engine: DfoTr | None = None
        self._asked: dict[int, FloatArray] = {}
        self._told: set[int] = set()
        self._independent: set[str] = set()
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, kept: Mapping[str, Any]) -> None:
        for name, value in kept.items():
            setattr(self, name, value)
        self._lock = threading.RLock()

    @speaks
    def reseed_rng(self) -> None:
        """Give the independent parameters another random seed, for use in several processes."""
        self._random.reseed_rng()

    @speaks
    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Parameters that every finished trial has, without those of a single value."""
        _refuse_several(study)
        space = self._intersection.calculate(study)
        return {name: one for name, one in space.items() if not one.single()}

    @speaks
    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values of the common parameters, from the engine."""
        _refuse_several(study)
        if not search_space:
            return {}
        space = Space({name: dimension_of(one) for name, one in search_space.items()})
        if not space.dims:
            return {}
        with self._lock:
            engine = self._engine_of(space)
            self._tell_finished(study, space, engine)
            point = engine.ask()[0]
            self._asked[trial.number] = point
        return space.decode(point)

    @speaks
    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A random value of a parameter that the engine does not search."""
        _refuse_several(study)
        if self._engine is not None and param_name not in self._independent:
            self._independent.add(param_name)
            _logger.info(f"{param_name} is drawn independently: not every trial has it.")
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def _engine_of(self, space: Space) -> DfoTr:
        """The engine of a space; for another space a new one, which is told all trials again."""
        key = space.signature()
        if self._engine is None or key != self._key:
            settings = self._settings
            if settings is None:
                settings = DfoTr(
                    radius=SEARCH_RADIUS, last_radius=SEARCH_LAST_RADIUS, seed=self._seed
                )
            self._engine, self._key = settings.with_dims(space.dims), key
            self._asked, self._told = {}, set()
        return self._engine

    def _tell_finished(self, study: Study, space: Space, engine: DfoTr) -> None:
        """Tell the engine the finished trials that it does not know yet."""
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        for trial in study.get_trials(deepcopy=False, states=FINISHED):
            if trial.number in self._told:
                continue
            self._told.add(trial.number)
            point = self._asked.pop(trial.number, None)
            if point is None:
                try:
                    point = space.encode(trial.params)
                except DataError:
                    continue  # a trial of another space
            done = trial.state == TrialState.COMPLETE and trial.value is not None
            engine.tell([point], [sign * float(trial.value or 0.0) if done else np.nan])


def _refuse_several(study: Study) -> None:
    """Raise for a study with several objectives."""
    if len(study.directions) > 1:
        raise DataError(f"one objective; got {len(study.directions)}. Use NSGAIISampler.")


def search_optuna(
    sampler: str, evaluate: Evaluator, space: Space, *, start: FloatArray, batch: int, seed: int
) -> None:
    """Search a cube with one of Optuna's samplers."""
    made = getattr(optuna.samplers, sampler)(seed=seed)
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=made)
        while True:
            trials = [study.ask() for _ in range(batch)]
            points = [
                np.array([trial.suggest_float(f"u{j}", 0.0, 1.0) for j in range(space.dims)])
                for trial in trials
            ]
            for trial, value in zip(trials, evaluate(points), strict=True):
                if np.isfinite(value):
                    study.tell(trial, value)
                else:
                    study.tell(trial, state=TrialState.FAIL)
    finally:
        optuna.logging.set_verbosity(before)
