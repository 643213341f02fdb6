"""Choosing the strength: time beside GraphicalLassoCV, and how well the graph is found."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.covariance import GraphicalLassoCV
from sklearn.model_selection import KFold

from auctor.covariance import SparseInverseCovarianceCV, covariance_path, strength_of_empty_graph
from benchmarks.problems import graphs
from benchmarks.problems.datasets import MissingDataSet
from benchmarks.run import Settings, bar, table

name = "covariance_graphs"
#: Variables of the race with GraphicalLassoCV, and strengths of its grid.
SIZES, QUICK_SIZES, GRID = (100, 150), (50,), 10
#: Variables of the graphs that are to be found.
P, QUICK_P = 100, 40
CRITERIA = ("likelihood", "ebic", "stability")


def run(settings: Settings) -> dict[str, object]:
    """Race, then recover edges."""
    races, found, followed, notes = {}, {}, {}, []
    for p in QUICK_SIZES if settings.quick else SIZES:
        races[p] = race(graphs.sample(graphs.chain(p), 2 * p).rows)
        print(f"   cv p = {p} {races[p]}", flush=True)
    p = QUICK_P if settings.quick else P
    for kind, make in graphs.GRAPHS.items():
        for n in (p // 2, 2 * p):
            data = graphs.sample(make(p), n)
            found[f"{kind}, n = {n}"] = recover(data)
            followed[f"{kind}, n = {n}"] = against_all_folds(data.rows)
            print(f"   {kind} {n}", flush=True)
    try:
        whole = estrogen_like(graphs.estrogen()) if not settings.quick else None
    except MissingDataSet as error:
        whole = None
        notes.append(str(error))
    ratio = min((cell["scikit-learn"] / cell["auctor"] for cell in races.values()), default=None)
    methods = [*CRITERIA, "GGLasso EBIC"]
    return {
        "title": "the strength by cross-validation, EBIC and StARS",
        "bars": [
            bar("GraphicalLassoCV's CPU seconds over ours, equal grids", ratio, 20.0),
            bar("SparseInverseCovarianceCV on 200 rows as estrogen-692, CPU seconds",
                None if whole is None else whole["cpu 1"], 60.0, at_least=False),
            bar("its certified gap over the tolerance",
                None if whole is None else whole["gap"] / whole["tol"], 1.0, at_least=False),
        ],
        "tables": [
            table(f"5 folds, {GRID} strengths, chain, n = 2p: CPU seconds",
                  ["p", "auctor", "scikit-learn", "our likelihood less theirs"],
                  [[p, c["auctor"], c["scikit-learn"], c["difference"]] for p, c in races.items()]),
            table(f"Edges found, F1 against the true graph, p = {p}", ["graph", *methods],
                  [[key, *(cell.get(m) for m in methods)] for key, cell in found.items()]),
            table("Folds that follow the first, beside all folds at all 20 strengths",
                  ["graph", "likelihood lost, of its range", "strengths apart", "CPU s, all",
                   "CPU s, following"],
                  [[key, *cell.values()] for key, cell in followed.items()]),
            table("200 rows as estrogen-692, 5 folds, 20 strengths: seconds",
                  ["threads", "CPU s", "wall s"],
                  [] if whole is None else
                  [[k, whole[f"cpu {k}"], whole[f"wall {k}"]] for k in (1, 2)]),
        ],
        "cells": {"races": races, "found": found, "followed": followed, "estrogen": whole},
        "notes": [
            *notes,
            "Likelihood: of 1,000 fresh rows under the two chosen models, by scikit-learn's score.",
            "GGLasso's EBIC: the best of its own models on the same 20 strengths, gamma .5; "
            "entries above 1e-4 are edges.",
        ],
    }  # fmt: skip


def race(rows: np.ndarray) -> dict[str, float]:
    """Cross-validation over the same strengths."""
    S = np.cov(rows, rowvar=False, bias=True)
    grid = strength_of_empty_graph(S) * np.geomspace(1.0, 0.1, GRID)
    model = SparseInverseCovarianceCV(grid, n_threads=1).fit(rows)
    start = time.process_time()
    model = SparseInverseCovarianceCV(grid, n_threads=1).fit(rows)
    mine = time.process_time() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        other = GraphicalLassoCV(alphas=list(grid), cv=5).fit(rows)
        theirs = time.process_time() - start
    fresh = graphs.sample(graphs.chain(rows.shape[1]), 1000, seed=1).rows
    return {
        "auctor": mine, "scikit-learn": theirs,
        "difference": float(model.score(fresh) - other.score(fresh)),
    }  # fmt: skip


def recover(data: graphs.GraphData) -> dict[str, float]:
    """F1 of the edges by every criterion."""
    true = np.triu(data.precision, 1) != 0.0
    found = {}
    for criterion in CRITERIA:
        model = SparseInverseCovarianceCV(criterion=criterion, random_state=0).fit(data.rows)
        found[criterion] = f1(true, np.triu(model.precision_, 1) != 0.0)
    try:
        from gglasso.problem import glasso_problem
    except ImportError:
        return found
    S = data.S
    grid = strength_of_empty_graph(S) * np.geomspace(1.0, 0.1, 20)
    problem = glasso_problem(S, len(data.rows), reg=None, latent=False, do_scaling=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.model_selection(
            modelselect_params={"lambda1_range": grid}, method="eBIC", gamma=0.5
        )
    found["GGLasso EBIC"] = f1(true, np.abs(np.triu(problem.solution.precision_, 1)) > 1e-4)
    return found


def against_all_folds(rows: np.ndarray) -> dict[str, float]:
    """What is lost where folds follow the first, by tight solves of all folds."""
    folds = list(KFold(5).split(rows))
    grid = strength_of_empty_graph(np.cov(rows, rowvar=False, bias=True)) * np.geomspace(1, 0.1, 20)
    start = time.process_time()
    model = SparseInverseCovarianceCV(grid, cv=folds, n_threads=1).fit(rows)
    following = time.process_time() - start
    total = np.zeros(grid.size)
    start = time.process_time()
    for train, test in folds:
        S = np.cov(rows[train], rowvar=False, bias=True)
        left = rows[test] - rows[train].mean(axis=0)
        held = left.T @ left / test.size
        for at, one in enumerate(covariance_path(S, grid, n_threads=1)):
            total[at] += np.linalg.slogdet(one.precision)[1] - np.vdot(held, one.precision)
    everything = time.process_time() - start
    chosen, best = grid.tolist().index(model.strength_), int(total.argmax())
    return {
        "lost": (total[best] - total[chosen]) / np.ptp(total), "apart": abs(chosen - best),
        "everything": everything, "following": following,
    }  # fmt: skip


def f1(true: np.ndarray, found: np.ndarray) -> float:
    """Harmonic mean of precision and recall of the edges."""
    both = float(np.sum(true & found))
    return 2.0 * both / max(1.0, float(true.sum() + found.sum()))


def estrogen_like(S: np.ndarray) -> dict[str, float]:
    """Time of the default choice on rows with the estrogen covariance."""
    values, vectors = np.linalg.eigh(S)
    noise = np.random.default_rng(0).normal(size=(200, len(S)))
    rows = noise * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    found: dict[str, float] = {}
    for threads in (1, 2):
        start, clock = time.process_time(), time.perf_counter()
        model = SparseInverseCovarianceCV(n_threads=threads).fit(rows)
        found[f"cpu {threads}"] = time.process_time() - start
        found[f"wall {threads}"] = time.perf_counter() - clock
    return found | {"gap": model.gap_, "tol": model.solution_.tol, "strength": model.strength_}
