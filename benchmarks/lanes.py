"""Tasks and lanes of a race: who solves what, on which layout, with how many threads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from benchmarks.competitors import Package, discover
from benchmarks.problems.datasets import DataSet
from benchmarks.problems.forms import Form
from benchmarks.run import Clock
from benchmarks.workers import POOL, Worker

US = "auctor"


@dataclass
class Task:
    """One problem, or one path where strengths are given."""

    data: DataSet
    form: Form
    strengths: list[float] | None = None
    layouts: tuple[str, ...] = ()
    folder: str = ""

    def __post_init__(self) -> None:
        self.layouts = ("csr", "csc") if sp.issparse(self.data.X) else ("dense", "fortran")
        self.folder = POOL.store(self.data)

    def values(self, coefs: np.ndarray) -> np.ndarray:
        """Objectives by the independent judge."""
        levels = self.strengths or [self.form.strength]
        if coefs.shape != (len(levels), self.data.n_columns):
            return np.full(len(levels), np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.form.values(self.data.X, self.data.y, coefs, levels)

    def bound(self, coefs: np.ndarray, values: np.ndarray) -> float:
        """Largest relative duality gap (of every tenth point of a path)."""
        levels = self.strengths or [self.form.strength]
        picked = range(0, len(levels), 10) if len(levels) > 1 else [0]
        gaps = [
            self.form.at(levels[k]).gap(self.data.X, self.data.y, coefs[k]) / values[k]
            for k in picked
        ]
        return max(0.0, *gaps) if len(gaps) > 1 else max(0.0, gaps[0])


@dataclass
class Rung:
    """One solve."""

    values: np.ndarray
    wall: float
    cpu: float
    work: dict[str, object]


@dataclass
class Lane:
    """One competitor, mode, layout and number of threads."""

    worker: Worker
    package: Package
    mode: str
    layout: str
    threads: int
    rungs: dict[float, Rung] = field(default_factory=dict)
    reached: dict[float, float] = field(default_factory=dict)
    clocks: dict[float, Clock] = field(default_factory=dict)
    over: dict[float, float] = field(default_factory=dict)
    missed: dict[float, int] = field(default_factory=dict)
    failure: str | None = None
    spent: float = 0.0

    @property
    def group(self) -> str:
        """Competitor and threads: what a column of the tables is."""
        return f"{self.package.name} [{self.threads}]"

    @property
    def ours(self) -> bool:
        return self.package.name == US

    def seconds(self, eps: float) -> float:
        """Wall seconds known for an accuracy."""
        tol = self.reached.get(eps)
        return math.inf if tol is None else self.rungs[tol].wall

    def run(self, task: Task, tol: float, cap: float, *, short: bool = False) -> dict:
        """One solve in the worker."""
        return self.worker.run(
            task.folder, layout=self.layout, mode=self.mode, form=task.form,
            strengths=task.strengths, tol=tol, cap=cap, short=short,
        )  # fmt: skip


@dataclass
class Memory:
    """What one cell teaches the next: tolerances that worked, lanes that were too slow."""

    tolerance: dict[tuple, float] = field(default_factory=dict)
    #: The largest strength at which a lane exceeded its cap; smaller ones are harder.
    slow: dict[tuple, float] = field(default_factory=dict)


def lanes_of(task: Task, stems: tuple[str, ...] | None) -> tuple[list[Lane], dict[str, str]]:
    """Who runs, and the reasons of those who do not."""
    lanes, skipped = [], {}
    rows, columns = task.data.n_rows, task.data.n_columns
    for stem, package in discover().items():
        if stems and stem not in (*stems, US):
            continue
        modes = package.modes(task.form)
        if not modes or (task.strengths and not hasattr(package, "path")):
            continue
        reason = package.available() or package.refuses(task.form, rows, columns)
        if reason:
            skipped[package.name] = reason
            continue
        forms = [f for f in package.layouts if f in task.layouts] or ["csr"]
        if task.strengths:
            modes = getattr(package, "path_modes", modes)
        modes = [m for m in modes if not refused_mode(package, task, m)]
        for threads in package.threads:
            worker = POOL.worker(stem, package, threads)
            lanes += [Lane(worker, package, m, f, threads) for m in modes for f in forms]
    return lanes, skipped


def refused_mode(package: Package, task: Task, mode: str) -> str | None:
    """A reason why one mode of a competitor is left out."""
    check = getattr(package, "refuses_mode", None)
    return check(mode, task.data.n_rows, task.data.n_columns) if check else None
