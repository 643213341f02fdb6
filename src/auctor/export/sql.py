"""Export of models as SQL queries, which predict inside a database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from auctor.additive.model import AdditiveModel, AdditiveRegressionModel
from auctor.additive.ranges import sql_literal, sql_name
from auctor.additive.scorecard import score_table
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.files import AnyPath, write_bytes
from auctor.core.markup import printable
from auctor.core.types import FloatArray
from auctor.core.version import __version__
from auctor.export.exported import Exported, check_listed, exported
from auctor.export.reading import as_read
from auctor.export.reasons import (
    Asked,
    as_words,
    described,
    names_and_base,
    reason_columns,
    rest,
    summands,
)
from auctor.fit.calibrate import Calibrator, Isotonic, Sigmoid
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.registry import resolve_loss
from auctor.losses import BaseLoss, Poisson
from auctor.tables.schema import Column, Schema

#: Columns that the query adds to those of the table.
ADDED = ("score", "predicted", "probability", "prediction")
#: Largest number of terms in one pair of parentheses.
MOST_TERMS = 100
#: Largest argument of EXP: databases report an overflow beyond log(largest double) = 709.8.
LARGEST_EXPONENT = 700.0
#: The SQL of each inverse link function of a regressor.
LINKS = {BaseLoss.response: "{}", Poisson.response: "EXP({})"}


@speaks_as("to_sql")
def to_sql(
    model: Any,
    path: AnyPath | None = None,
    *,
    table: str = "rows",
    schema: Schema | None = None,
    reasons: int = 0,
    baseline: str = "mean",
    texts: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Export a fitted model as an SQL query that adds its predictions to the rows of a table.

    The query returns the columns of the table and, for two classes, those of ``auctor predict``:
    ``score`` (of the positive class, minus the threshold), ``predicted`` and, if the model has
    probabilities, ``probability`` of the positive class. Models of more classes have a score for
    each, ``score_0`` and so on, and no probabilities. A regressor has ``prediction``.

    Columns of a table are read as `predict` reads them: text without spaces around it, words for
    missing values such as NA, numbers stored as text. Missing values are NULL; if the model refuses
    them, or text is no number in a column of numbers, its predictions are NULL. Dates are days
    since 1 January 1970, and amounts are numbers, as for `to_onnx`.

    Parameters
    ----------
    model : classifier, regressor or learner
        TableClassifier, MetricClassifier, MetricClassifierCV, AdditiveClassifier, LinearRegressor,
        AdditiveRegressor or a learner of auctor.streaming.
    path : path, optional
        File to write the query to.
    table : str
        Name of the table as it is written after FROM, with quotes if it needs them.
    schema : Schema, optional
        The schema of the table, for a model without one, such as a learner. By default columns
        have the names of `fit`, or x0, x1 and so on.
    reasons : int
        How many reasons to add, as in `MetricClassifier.reasons`: ``reason_1`` (NULL where fewer
        columns raise the score), ``reason_1_value`` as text and ``reason_1_part``, and so on, then
        ``baseline`` and ``rest``; with texts, ``reason_1_text``.
    baseline, texts
        As in `MetricClassifier.reasons`.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import MetricClassifier
    >>> X = np.arange(8.0)[:, None]
    >>> print(to_sql(MetricClassifier("error", threshold=0.0).fit(X, X[:, 0] > 3), table="points"))
    -- auctor ...: MetricClassifier, positive class True
    SELECT scored.*,
      CASE WHEN score > 0 THEN TRUE WHEN score <= 0 THEN FALSE END AS predicted
    FROM (
      SELECT source.*,
        ...
        + ... * "x0"
        AS score
      FROM points source
    ) scored
    """
    parts = exported(model)
    schema = schema if parts.schema is None else parts.schema
    if schema is not None and schema.columns:
        check_listed(schema)
        columns = texts_read = schema.columns
    else:  # an array of numbers
        texts_read = ()
        columns = tuple(Column(name, "number") for name in parts.column_names)
    asked = Asked(reasons, baseline, texts) if reasons else None
    added = ADDED if asked is None else (*ADDED, *asked.columns)
    taken = [column.name for column in columns if column.name.lower() in added]
    if taken:
        raise ParameterError(
            f"columns with other names than {', '.join(added)}; got {taken[0]!r}. Rename the "
            "column before training."
        )
    about = parts.title
    if parts.chosen is not None and parts.chosen.binary:
        about += f", positive class {parts.chosen.classes[parts.chosen.positive]}"
    # Databases disagree about which characters end a comment; none is left in these lines.
    notes = [f"auctor {__version__}: {about}"]
    notes += [
        f"{sql_name(column.name)} is a number of days since 1970-01-01"
        for column in columns
        if column.kind == "date"
    ]
    comments = (f"-- {printable(note)}" for note in notes)
    text = "\n".join([*comments, *_query(parts, columns, texts_read, table, asked)]) + "\n"
    _refuse_unstorable(text)
    if path is not None:
        write_bytes(path, text.encode())
    return text


def _refuse_unstorable(text: str) -> None:
    """Refuse characters that no database has in a name or a value, quoted or not."""
    if character := re.search("[\0\ud800-\udfff]", text):
        around = text[max(0, character.start() - 10) : character.end() + 10]
        raise ParameterError(
            "names and categories without NUL and without halves of surrogate pairs; got "
            f"{around!r}. Rename the column or the category before training."
        )


def _query(
    exported_parts: Exported,
    columns: Sequence[Column],
    texts_read: Sequence[Column],
    table: str,
    asked: Asked | None,
) -> Iterator[str]:
    """The lines of the query, without comments."""
    model, added = exported_parts.model, {}
    if isinstance(model, RegressionModel):
        scores = {"prediction": _regression(exported_parts.title, model, columns)}
        if asked is None:
            yield from _scored(_as_read(scores, texts_read), table)
            return
        scores["score"] = _score(model, 0, columns)
    else:
        scores = _scores(model, columns)
        labels = [sql_literal(label) for label in model.classes.tolist()]
        two = model.binary
        added["predicted"] = (
            _label(model.positive, labels) if two else _highest(list(scores), labels)
        )
        if two and model.calibrators is not None:
            # Calibrators take scores before the threshold was subtracted.
            shift = model.sign * float(model.threshold[0])
            added["probability"] = _probability(model.calibrators[0], _plus("score", shift))
    lines: Iterable[str]
    if asked is None:
        lines = _scored(_as_read(scores, texts_read), table)
    else:
        names, base = names_and_base(model, columns, asked)
        start = model.sign * float(model.intercept[0]) + float(base.sum())
        adds, values = _parts(model, columns)
        adds = {name: "\n".join(as_read([part], texts_read)) for name, part in adds.items()}
        parts = list(summands(names, base, adds, values))
        scores = _as_read(scores, texts_read)
        inner = _scored(scores | reason_columns(asked, parts), table)
        lines = _wrapped(described(asked, parts, start), inner, "source")
        added["rest"] = rest(asked, "score")
    yield from _wrapped(added, lines, "scored")


def _as_read(
    scores: Mapping[str, Sequence[str]], columns: Sequence[Column]
) -> dict[str, list[str]]:
    """Scores of the columns of the table as `predict` reads them."""
    terms = {k: [sums[0], *(f"+ {term}" for term in sums[1:])] for k, sums in scores.items()}
    return {name: list(as_read(lines, columns)) for name, lines in terms.items()}


def _wrapped(added: dict[str, str], lines: Iterable[str], alias: str) -> Iterator[str]:
    """The lines of a query that adds columns to those of another query."""
    yield f"SELECT {alias}.*,"
    yield ",\n".join(f"  {what} AS {name}" for name, what in added.items())
    yield "FROM ("
    yield from (f"  {line}" for line in lines)
    yield f") {alias}"


def _parts(
    model: LinearModel | RegressionModel, columns: Sequence[Column]
) -> tuple[dict[str, str], dict[str, str]]:
    """What each column, or pair, adds to the score, and its value as text, by its name."""
    if isinstance(model, AdditiveModel | AdditiveRegressionModel):
        plain = model.part_names(None)[: model.n_features]
        own = [column.name for column in columns for _ in column.features]
        shown = model.part_names([name for column in columns for name in column.features])
        of = dict(zip(model.part_names(None), shown, strict=True))
        known = dict(zip(plain, own, strict=True))
        texts = [_value(column, level) for column in columns for level in _levels(column)]
        sql_terms = score_table(model, plain, 0).sql_parts(dict(zip(plain, texts, strict=True)))
        parts = {of[" x ".join(group)]: part for group, part in sql_terms.items()}
        values = {of[" x ".join(g)]: as_words([known[name] for name in g]) for g in sql_terms}
        return parts, values
    parts, start = {}, 0
    for column in columns:
        weights = (model.sign * model.coef[0, start : start + column.width]).tolist()
        start += column.width
        if any(weights):
            parts[column.name] = _term(column, weights)
    return parts, {name: as_words([name]) for name in parts}


def _scored(expressions: dict[str, list[str]], table: str) -> Iterator[str]:
    """The lines of a query for the rows of the table and some expressions, lines by name."""
    yield "SELECT source.*,"
    for k, (name, terms) in enumerate(expressions.items()):
        yield from (f"  {line}" for line in terms)
        yield f"  AS {name}" + ("," if k + 1 < len(expressions) else "")
    yield f"FROM {table} source"


def _scores(model: LinearModel, columns: Sequence[Column]) -> dict[str, list[str]]:
    """The terms of each score, by its name."""
    if model.binary:
        return {"score": _score(model, 0, columns)}
    return {f"score_{k}": _score(model, k, columns) for k in range(model.coef.shape[0])}


def _score(model: LinearModel | RegressionModel, k: int, columns: Sequence[Column]) -> list[str]:
    """The terms of a score: of weights, or of the lines of a card of exact points."""
    if isinstance(model, AdditiveModel | AdditiveRegressionModel):
        names = model.part_names(None)[: model.n_features]
        values = (_value(column, level) for column in columns for level in _levels(column))
        return [score_table(model, names, k).to_sql(dict(zip(names, values, strict=True)))]
    sign = model.sign
    return _terms(sign * model.coef[k], sign * float(model.intercept[k]), columns)


def _regression(title: str, model: RegressionModel, columns: Sequence[Column]) -> list[str]:
    """The terms of the prediction of a regressor."""
    link = LINKS.get(type(resolve_loss(model.loss)).response)
    if link is None:
        raise ParameterError(
            f"a regressor with a loss of auctor; got {title}. Use auctor.to_onnx, or another loss."
        )
    terms = _score(model, 0, columns)
    return terms if link == "{}" else [link.format(" + ".join(terms))]


# --- terms ----------------------------------------------------------------------------------------


def _terms(coef: FloatArray, intercept: float, columns: Sequence[Column]) -> list[str]:
    """The intercept and a term for each column with a nonzero weight."""
    terms, start = [], 0
    for column in columns:
        weights = np.asarray(coef[start : start + column.width], dtype=np.float64).tolist()
        start += column.width
        if any(weights):
            terms.append(_term(column, weights))
    while len(terms) > MOST_TERMS:
        parts = [terms[k : k + MOST_TERMS] for k in range(0, len(terms), MOST_TERMS)]
        terms = [f"({' + '.join(part)})" for part in parts]
    return [repr(float(intercept)), *terms]


def _term(column: Column, weights: list[float]) -> str:
    """What a column of the table adds to a score."""
    if column.kind == "category":
        return _category(column, weights)
    return f"{weights[0]!r} * {_value(column)}"


def _category(column: Column, weights: list[float]) -> str:
    """The weight of a row's category; 0 for other categories."""
    cases = [
        f"WHEN {sql_literal(level)} THEN {weight!r}"
        for level, weight in zip(column.levels or (), weights, strict=True)
        if weight
    ]
    return f"CASE {sql_name(column.name)} {' '.join(cases)} ELSE 0.0 END"


def _levels(column: Column) -> Sequence[str | None]:
    """The level of each column of the matrix that a column becomes; [None] for a single one."""
    return (None,) if column.numbered or column.kind != "category" else column.levels or ()


def _value(column: Column, level: str | None = None) -> str:
    """A column of the matrix: a number, or 1 for rows of a category and 0 for others."""
    if level is None:
        return sql_name(column.name)
    return f"CASE {sql_name(column.name)} WHEN {sql_literal(level)} THEN 1.0 ELSE 0.0 END"


# --- labels and probabilities ---------------------------------------------------------------------


def _label(positive: int, labels: list[str]) -> str:
    """The predicted class of two, by the sign of the score; ``positive`` is 0 or 1."""
    yes, no = labels[positive], labels[1 - positive]
    return f"CASE WHEN score > 0 THEN {yes} WHEN score <= 0 THEN {no} END"


def _highest(scores: list[str], labels: list[str]) -> str:
    """The class of the highest score; the first of several equal ones."""
    cases = []
    for k, (score, label) in enumerate(zip(scores, labels, strict=True)):
        tests = " AND ".join(f"{score} >= {other}" for other in scores[k + 1 :])
        cases.append(f"WHEN {tests or f'{score} IS NOT NULL'} THEN {label}")
    return f"CASE {' '.join(cases)} END"


def _probability(calibrator: Calibrator, score: str) -> str:
    """The probability of the positive class, by a calibrator."""
    if isinstance(calibrator, Sigmoid):
        margin = f"({calibrator.slope!r} * ({score}) + {calibrator.offset!r})"
        return (
            f"CASE WHEN {margin} < {-LARGEST_EXPONENT!r} THEN 0.0 "
            f"ELSE 1.0 / (1.0 + EXP(-{margin})) END"
        )
    assert isinstance(calibrator, Isotonic)
    points, levels = calibrator.points.tolist(), calibrator.levels.tolist()
    cases = [f"WHEN ({score}) <= {points[0]!r} THEN {levels[0]!r}"]
    for k in range(len(points) - 1):
        slope = (levels[k + 1] - levels[k]) / (points[k + 1] - points[k])
        piece = f"{levels[k]!r} + {slope!r} * (({score}) - {points[k]!r})"
        cases.append(f"WHEN ({score}) <= {points[k + 1]!r} THEN {piece}")
    cases.append(f"WHEN ({score}) > {points[-1]!r} THEN {levels[-1]!r}")
    return f"CASE {' '.join(cases)} END"


def _plus(name: str, number: float) -> str:
    """A column plus a number; a zero is left out."""
    return f"{name} + {number!r}" if number else name
