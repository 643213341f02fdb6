"""Files of models of tables, damaged or forged: refusals, or models that work to the end.

The models have curves, levels, means of levels, words, dates, pairs and edits; others are kernel
machines, hierarchies and pipelines. One that is accepted must predict numbers and known labels, say
why, become SQL, and be the same after it is saved and read again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auctor
from auctor import (
    AdditiveClassifier,
    AdditiveRegressor,
    KernelClassifier,
    MetricClassifier,
    TableClassifier,
)
from auctor.core.errors import AuctorError
from auctor.hierarchy import HierarchicalMultiLabel, Taxonomy, TopDownClassifier
from auctor.saved import read_saved
from auctor.tables import ReadOptions
from benchmarks.fuzz import Case
from benchmarks.fuzzing import models
from benchmarks.fuzzing.models import Change, Members, members_of

#: Rows of the table of all models, and levels of its columns of few and of many.
N, FEW, MANY = 400, 4, 300


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Files of models, changed."""
    change = Change(rng, seeds())
    while True:
        yield Case(*change.case(), {})


def check(case: Case) -> str:
    """ "refused" or "accepted"; anything that is wrong raises."""
    path = models.PATH
    path.write_bytes(case.data)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            saved = read_saved(path)
        except AuctorError:
            return "refused"
        same = known().get(key(members_of(case.data) or {}))
        assert same is None or same == outcome(saved.model), "another model"
        use(saved.model, case.kind == "bytes")
    return "accepted"


def use(model: Any, whole: bool) -> None:
    """Predict, say why, export, save and read again."""
    found = outcome(model)
    if isinstance(model, AdditiveClassifier | TableClassifier | MetricClassifier):
        assert np.isin(model.predict(rows_of(model)), model.classes_).all(), "other labels"
    for name in ("reasons", "scorecard"):
        if hasattr(model, name):
            try:
                answer = getattr(model, name)(*([rows_of(model)] if name == "reasons" else []))
                str(answer)
            except AuctorError:
                assert not whole, f"{name} refused"
    with suppress(AuctorError):
        auctor.to_sql(model)
    auctor.save(model, models.AGAIN)
    assert outcome(auctor.load(models.AGAIN)) == found, "another model"


def outcome(model: Any) -> bytes:
    """What a model makes of the rows, bit by bit."""
    rows = rows_of(model)
    scores = getattr(model, "decision_function", model.predict)(rows)
    return np.asarray(scores).tobytes()


def rows_of(model: Any) -> Any:
    """The rows that a model reads: a table, or its columns of numbers."""
    if isinstance(model, TableClassifier):
        return table()
    if isinstance(model, AdditiveClassifier) and hasattr(model, "feature_names_in_"):
        return table()[list(TEXTS)]
    return numbers()


TEXTS = ("city", "name", "age")


@cache
def table() -> pd.DataFrame:
    """Numbers, few and many levels, dates and free text, with missing values."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.normal(40, 9, N), "part": rng.normal(size=N)})
    frame["city"] = rng.choice(["Oslo", "L'Aquila", 'a "b"', "=1+1"], N)
    frame["name"] = [f"n{k}" for k in rng.integers(MANY, size=N)]
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=N), "D")
    words = ["good", "slow", "refund", "late", "rude"]
    frame["note"] = [" ".join(rng.choice(words, 2)) + f" x{k}" for k in range(N)]
    frame.loc[::9, ["age", "note", "name"]] = None
    return frame


@cache
def numbers() -> Any:
    """The numbers of the table."""
    return table()[["age", "part"]].fillna(40.0).to_numpy()


@cache
def label() -> Any:
    """Labels that depend on most columns."""
    t, rng = table(), np.random.default_rng(4)
    score = 0.1 * (t["age"].fillna(40) - 40) + (t["city"] == "Oslo") + t["part"]
    score = score + t["note"].fillna("").str.contains("refund")
    score = score + t["name"].fillna("n0").str[1:].astype(int) % 2
    return np.where(score + rng.normal(size=N) > 1.0, "it's", "no")


def fitted() -> Iterator[Any]:
    """Fitted models of all kinds."""
    t, y, X = table(), label(), numbers()
    reading = ReadOptions(as_words="note", as_category="name")
    yield TableClassifier("auc", reading=reading, strength=1e-2).fit(t, y)
    yield TableClassifier("auc", model="additive", reading=reading, members=2).fit(t, y)
    curves = AdditiveClassifier(members=2, interactions=1).fit(t[list(TEXTS)], y)
    yield curves
    curves.edit("city", {"Oslo": 0.5})
    yield curves
    yield AdditiveClassifier(members=2, monotone=[1, 0]).fit(X, y)
    yield AdditiveClassifier(members=2, interactions=1).fit(X, np.digitize(X[:, 1], [-0.5, 0.5]))
    yield AdditiveRegressor("poisson", members=2).fit(X, np.exp(0.3 * X[:, 1]).round())
    yield KernelClassifier().fit(X[:80], y[:80])
    yield KernelClassifier(kernel="linear", calibrate="sigmoid").fit(X[:80], y[:80])
    yield make_pipeline(StandardScaler(), MetricClassifier("auc", strength=0.01)).fit(X, y)
    taxonomy = Taxonomy.from_parents({"r": None, "a": "r", "b": "r"})
    sets = np.column_stack([np.ones(N), X[:, 1] > 0.0, X[:, 0] > 40.0]).astype(int)
    yield HierarchicalMultiLabel(taxonomy).fit(X, sets)
    yield TopDownClassifier(taxonomy).fit(X, np.where(X[:, 1] > 0.0, "a", "b"))


@cache
def seeds() -> tuple[bytes, ...]:
    """Files of all models."""
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in fitted():
            auctor.save(model, models.PATH)
            made.append(models.PATH.read_bytes())
    return tuple(made)


def key(members: Members) -> bytes:
    """What tells the contents of files apart."""
    return repr(sorted(members.items())).encode()


@cache
def known() -> dict[bytes, bytes]:
    """What each unchanged file makes of the rows, by its contents."""
    found = {}
    for origin in seeds():
        models.AGAIN.write_bytes(origin)
        found[key(members_of(origin) or {})] = outcome(auctor.load(models.AGAIN))
    return found
