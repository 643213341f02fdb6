"""What a model file says about its model, as plain values for ``auctor inspect``."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from auctor.additive.model import Curves
from auctor.core.errors import speaks_as
from auctor.core.files import AnyPath
from auctor.core.result import Solution
from auctor.evaluate.build import weights
from auctor.evaluate.scores import schema_for
from auctor.fit.calibrate import log_odds
from auctor.fit.model import LinearModel, RegressionModel
from auctor.saved.store import Content, of_pipeline, read_content
from auctor.tables.schema import Schema

#: Notes of a file that are shown.
NOTES = ("command", "chosen", "data", "test", "seconds", "interrupted", "warnings")


@speaks_as("describe_file")
def describe_file(path: AnyPath, *, top: int) -> dict[str, Any]:
    """The contents of the file of a linear or additive model, with the ``top`` largest weights.

    Refuses pipelines, whose columns are not those of a table, and other models.
    """
    content = read_content(path)
    if content.steps is not None:
        raise of_pipeline()
    model, result = content.linear(), content.fitted
    params = content.params
    shown = {name: _plain(value) for name, value in params.items()}
    search = None if result is None else result.search
    surrogate = None if search is None else search.surrogate
    facts = {
        "file": str(path),
        "class": content.name,
        "kind": getattr(model, "kind", None),
        "candidates": {} if result is None or result.choice is None else result.choice.means,
        "version": content.meta["version"],
        "format": content.meta["format"],
        "metric": shown.get("metric", shown.get("loss", "auc")),
        "surrogate": surrogate or shown.get("surrogate", "auto"),
        "params": shown,
        **_fit(content, params),
        "classes": None if isinstance(model, RegressionModel) else model.classes.tolist(),
        "calibrated": result is not None and result.calibrators is not None,
        "log_odds": log_odds(params.get("metric"), params.get("calibrate")),
        **_weights(model, content.schema, top),
        "schema": content.schema,
    }
    return facts | {name: content.notes.get(name) for name in NOTES}


def _plain(value: Any) -> Any:
    """The value of a parameter; an object or an array becomes text."""
    plain = value is None or isinstance(value, bool | int | float | str | Mapping)
    return value if plain else " ".join(repr(value).split())


def _fit(content: Content, params: Mapping[str, Any]) -> dict[str, Any]:
    """How the model was fitted: the largest gap of its problems, or the rows it has seen."""
    facts: dict[str, Any] = {}
    result, learner = content.fitted, content.learner
    if result is not None and result.strength is not None:
        facts["strength"] = result.strength
    elif "strength" in params:
        facts["strength"] = _plain(params["strength"])
    if result is not None and result.solutions:
        worst: Solution = max(result.solutions, key=lambda one: one.gap)
        facts |= {
            "gap": worst.gap,
            "certified": worst.certified,
            "status": worst.status.value,
            "solver": worst.solver,
            "n_iter": worst.n_iter,
        }
    if learner is not None:
        facts["rows_seen"] = learner.rows_seen
    return facts


def _weights(
    model: LinearModel | RegressionModel, stated: dict[str, Any] | None, top: int
) -> dict[str, Any]:
    """Intercepts, thresholds and the largest weights.

    Signs are those of the positive class, which may be the first of the two classes.
    """
    schema = schema_for(model.n_features, model.feature_names, stated)
    names, sign = schema.feature_names, model.sign
    coef, towards, positive, threshold = sign * model.coef + 0.0, [None], None, None
    if isinstance(model, LinearModel):
        towards, threshold = model.classes.tolist(), (sign * model.threshold).tolist()
        if model.binary:  # the model's own signs are those of the second class
            positive = towards[model.positive]
            towards = [positive]
    curved, edits = isinstance(model, Curves), []
    if isinstance(model, Curves):  # importances of curves have no sign
        coef, towards = np.atleast_2d(model.bins.importances(model.coef)), [None]
        names = None if names is None else model.part_names(names)
        own = model.part_names(model.feature_names)
        terms = dict(zip(own, names or own, strict=True))
        edits = [str(replace(one, term=terms.get(one.term, one.term))) for one in model.edits]
    return {
        "positive": positive,
        "curved": curved,
        "edits": edits,
        "intercept": (sign * model.intercept).tolist(),
        "threshold": threshold,
        "n_features": int(coef.shape[1]),
        "n_nonzero": int(np.count_nonzero(np.abs(coef).max(axis=0))),
        "top": [
            {"class": name, "features": _top(row, names, schema, top)}
            for name, row in zip(towards, coef, strict=True)
        ],
    }


def _top(row: Any, names: Any, schema: Schema, top: int) -> tuple[Any, ...]:
    """The ``top`` columns of largest absolute weight."""
    return weights(row, names, top, schema.first_index).top if top else ()


def is_model(path: str) -> bool:
    """Whether a file is a model: it ends in .auctor, or is a zip archive with meta.json."""
    if path.endswith(".auctor"):
        return True
    if not os.path.isfile(path):  # opening a pipe waits for its writer
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "meta.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return False
