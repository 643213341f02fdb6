"""The models of `LoadForecaster`: rows of features in, forecasts of all steps of a day out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray, IntArray
from auctor.forecast.clusters import Clusters, indicator, lloyd
from auctor.forecast.embedding import EmbeddedRows
from auctor.forecast.estimators.kernel_kmeans import softmax
from auctor.forecast.estimators.other_models import ModelOptions
from auctor.forecast.ridge import DayKernel, DayRidge, choose_kernel, forward_blocks, train_ridge
from auctor.forecast.tube import Tube, certified_tube, stochastic_tube
from auctor.kernel.parameters import KernelParameters
from auctor.kernel.points import GivenPoints
from auctor.kernels.runtime.parallel import (
    available_threads,
    in_parallel,
    limit_threads,
    quiet_blas,
)

#: Days beyond which Nystroem's features take the place of the kernel matrix.
MOST_DAYS = 5000
#: Landmarks of these features.
LANDMARKS = 1500
#: Half the tube of support vector regression, over the root mean square of the forecast errors.
TUBE = 0.1
#: Tolerance of certified solves, in the same unit.
TOLERANCE = 0.05
#: Passes over the days, and days of a step, of the stochastic solves of clusters.
PASSES = 100.0
BATCH = 20
#: Least strength of these solves times their steps: with less, the first steps are still felt.
STEP_SHARE = 10.0
#: C of the support vector machine between clusters.
GATE_C = 10.0


@dataclass(frozen=True, eq=False)
class KernelDays:
    """Kernel ridge regression of all steps, from one factorisation."""

    machine: DayRidge

    @classmethod
    def fit(cls, rows: EmbeddedRows, options: ModelOptions) -> KernelDays | LandmarkDays:
        """Choose the kernel on later days, then train on all days."""
        kernel = _chosen(rows)
        if len(rows.X) > MOST_DAYS:
            return LandmarkDays.train(kernel, rows)
        return cls(train_ridge(kernel, rows.X, rows.Y))

    def retrained(self, rows: EmbeddedRows) -> KernelDays:
        """The same kernel on other rows."""
        return KernelDays(train_ridge(self.machine.kernel, rows.X, rows.Y))

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts of days."""
        return self.machine.predict(X)


@dataclass(frozen=True, eq=False)
class LandmarkDays:
    """Ridge regression on Nystroem's features of the kernel, for many days."""

    kernel: DayKernel
    landmarks: FloatArray
    root: FloatArray
    coef: FloatArray
    mean: FloatArray
    centre: FloatArray

    @classmethod
    def train(cls, kernel: DayKernel, rows: EmbeddedRows) -> LandmarkDays:
        """Landmarks are drawn from the days; the linear part of the kernel needs none."""
        from auctor.kernel.estimators.features import Nystroem

        landmarks = Nystroem(LANDMARKS, gamma=1.0).fit(kernel.rows(rows.X))
        empty = np.zeros(0)
        self = cls(kernel, landmarks.landmarks_, landmarks.root_, empty, empty, empty)
        return self.retrained(rows)

    def retrained(self, rows: EmbeddedRows) -> LandmarkDays:
        """The same features on other rows."""
        with quiet_blas():
            F, mean = self._features(rows.X), rows.Y.mean(axis=0)
            centre = F.mean(axis=0)
            F = F - centre
            gram = F.T @ F
            gram[np.diag_indices_from(gram)] += self.kernel.strength
            coef = np.linalg.solve(gram, F.T @ (rows.Y - mean))
        return replace(self, coef=coef, mean=mean, centre=centre)

    def _features(self, X: FloatArray) -> FloatArray:
        rows = self.kernel.rows(X)
        gauss = self.kernel._replace(linear=0.0).values(rows, self.landmarks)
        return np.hstack((gauss @ self.root, np.sqrt(self.kernel.linear) * rows))

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts of days."""
        with quiet_blas():
            return (self._features(X) - self.centre) @ self.coef + self.mean


@dataclass(frozen=True, eq=False)
class SvrDays:
    """Support vector regression of every step, on one kernel, to a certified gap.

    The weight of the loss is such that residuals of the usual size pull as hard as in the ridge.
    """

    machine: DayRidge
    tube: Tube
    unit: float
    n_threads: int | None = None

    @classmethod
    def fit(cls, rows: EmbeddedRows, options: ModelOptions) -> SvrDays:
        """Choose the kernel by ridge regression, then train every step."""
        kernel = _chosen(rows)
        unit = _error_unit(kernel, rows)
        tube = Tube(TUBE * unit, options.shift * unit)
        machine = train_tubes(kernel, rows.X, rows.Y, tube, unit, options.n_threads)
        return cls(machine, tube, unit, options.n_threads)

    def retrained(self, rows: EmbeddedRows) -> SvrDays:
        """The same kernel and tube on other rows."""
        kernel = self.machine.kernel
        return replace(
            self, machine=train_tubes(kernel, rows.X, rows.Y, self.tube, self.unit, self.n_threads)
        )

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts of days."""
        return self.machine.predict(X)


@dataclass(frozen=True, eq=False)
class ClusteredDays:
    """The thesis: clusters of days, a machine with a shifted tube each, and a gate between them.

    Parameters
    ----------
    kernel : DayKernel
    rows : (n, p) array
        Training rows in units of the kernel.
    centres : Clusters
    temperature : float
        Of the softmax of distances, in units of the kernel.
    machines : list of DayRidge
    tube : Tube
    unit : float
    options : ModelOptions
    cpu_seconds : list of float
        Time of training each machine; empty once it was saved.
    gate_machine : KernelClassifier, optional
        Of the clusters, with ``gate="svm"``.
    """

    kernel: DayKernel
    rows: FloatArray
    centres: Clusters
    temperature: float
    machines: list[DayRidge]
    tube: Tube
    unit: float
    options: ModelOptions
    cpu_seconds: list[float] = field(default_factory=list)
    gate_machine: Any = None

    @classmethod
    def fit(cls, rows: EmbeddedRows, options: ModelOptions) -> ClusteredDays:
        """Choose the kernel by ridge regression, find the clusters, train a machine in each."""
        kernel = _chosen(rows)
        unit = _error_unit(kernel, rows)
        empty = Clusters(np.zeros((0, 0)), np.zeros(0))
        tube = Tube(max(TUBE, abs(options.shift)) * unit, options.shift * unit)
        return cls(kernel, rows.X, empty, 1.0, [], tube, unit, options).retrained(rows)

    def retrained(self, rows: EmbeddedRows) -> ClusteredDays:
        """Clusters and machines on other rows."""
        options, kernel = self.options, self.kernel
        if options.n_clusters > len(rows.X):
            raise DataError(
                f"at least `n_clusters` days, {options.n_clusters}; got {len(rows.X)}. Pass more."
            )
        points = kernel.rows(rows.X)
        with quiet_blas():
            K = kernel.values(points, points)
            labels, _, _ = lloyd(K, options.n_clusters, as_rng(options.random_state), 300)
            centres = Clusters.of(K, indicator(labels, options.n_clusters))
            apart = centres.distances(K, np.diagonal(K))
        calls = [
            partial(self._machine, rows.X[labels == j], rows.Y[labels == j], j)
            for j in range(options.n_clusters)
        ]
        with limit_threads(options.n_threads):
            machines = in_parallel(calls)
        gate = _svm_gate(K, labels, options) if options.gate == "svm" else None
        return replace(
            self, rows=points, centres=centres, temperature=float(np.median(apart.min(axis=1))),
            machines=[one for one, _ in machines], cpu_seconds=[s for _, s in machines],
            gate_machine=gate,
        )  # fmt: skip

    def _machine(self, X: FloatArray, Y: FloatArray, j: int) -> tuple[DayRidge, float]:
        """The machine of a cluster, with its CPU seconds."""
        start = time.thread_time()
        if self.options.certified:
            machine = train_tubes(self.kernel, X, Y, self.tube, self.unit, 1)
        else:
            rng = np.random.default_rng([j, self.options.random_state or 0])
            machine = train_stochastic(self.kernel, X, Y, self.tube, self.unit, rng)
        return machine, time.thread_time() - start

    def weights(self, X: FloatArray) -> FloatArray:
        """Weights of the clusters for rows, which sum to 1."""
        rows = self.kernel.rows(X)
        cross = self.kernel.values(rows, self.rows)
        if self.gate_machine is not None:
            probability: FloatArray = self.gate_machine.predict_proba(cross)
            return probability
        diagonal = 1.0 + self.kernel.linear * (rows**2).sum(axis=1)
        apart = self.centres.distances(cross, diagonal)
        if self.options.gate == "nearest":
            return indicator(apart.argmin(axis=1), apart.shape[1])
        return softmax(apart, self.temperature)

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts of days: the mean of the machines by the gate's weights."""
        predictions = np.stack([one.predict(X) for one in self.machines], axis=1)
        forecast: FloatArray = np.einsum("nk,nkh->nh", self.weights(X), predictions)
        return forecast


def _svm_gate(K: FloatArray, labels: IntArray, options: ModelOptions) -> Any:
    """A support vector machine with probabilities of the clusters."""
    from auctor.kernel import KernelClassifier

    if options.n_clusters < 2 or np.bincount(labels).min() < 2:
        raise DataError(
            "two clusters or more of two days or more for `gate='svm'`; got clusters of "
            f"{np.bincount(labels).tolist()} days. Pass another `n_clusters=`."
        )
    machine = KernelClassifier(
        "precomputed", C=GATE_C, calibrate="sigmoid", random_state=0, n_threads=options.n_threads
    )
    return machine.fit(K, labels)


def _chosen(rows: EmbeddedRows) -> DayKernel:
    return choose_kernel(rows.X, rows.Y, list(rows.groups.values()))


def _error_unit(kernel: DayKernel, rows: EmbeddedRows) -> float:
    """Root mean square of the errors of ridge regression on the last days."""
    a, b = forward_blocks(len(rows.X))[-1]
    error = rows.Y[b] - train_ridge(kernel, rows.X[a], rows.Y[a]).predict(rows.X[b])
    return float(np.sqrt(np.mean(error**2))) or 1.0


def train_tubes(
    kernel: DayKernel, X: FloatArray, Y: FloatArray, tube: Tube, unit: float, n_threads: int | None
) -> DayRidge:
    """A certified machine for every column of Y on one kernel matrix.

    Ridge regression minimises ``|f|^2/2 + sum r^2 / (2 strength)``, whose pull on a residual of
    size ``unit`` is ``unit / strength``; that is the weight of the loss here.
    """
    rows = kernel.rows(X)
    with quiet_blas():
        points = GivenPoints(kernel.values(rows, rows))
    params = KernelParameters(tol=TOLERANCE * unit, n_threads=1)
    strength = kernel.strength / (unit * len(X))

    def one(y: FloatArray) -> tuple[FloatArray, float]:
        fit, _ = certified_tube(points, y, tube, strength, params)
        return fit.coef, fit.intercept

    with limit_threads(available_threads(n_threads)):
        tubes = in_parallel([partial(one, np.ascontiguousarray(y)) for y in Y.T])
    coef = np.column_stack([coef for coef, _ in tubes])
    return DayRidge(kernel, rows, coef, np.array([intercept for _, intercept in tubes]))


def train_stochastic(
    kernel: DayKernel, X: FloatArray, Y: FloatArray, tube: Tube, unit: float,
    rng: np.random.Generator,
) -> DayRidge:  # fmt: skip
    """The same by stochastic subgradients, all columns of Y on the same batches."""
    rows = kernel.rows(X)
    K = kernel.values(rows, rows)
    steps = PASSES * len(X) / BATCH
    strength = max(kernel.strength / (unit * len(X)), STEP_SHARE / steps)
    fits = [
        stochastic_tube(
            K, np.ascontiguousarray(y), tube, strength, passes=PASSES, batch=BATCH, rng=rng
        )
        for y in Y.T
    ]
    coef = np.column_stack([fit.coef for fit in fits])
    return DayRidge(kernel, rows, coef, np.array([fit.intercept for fit in fits]))
