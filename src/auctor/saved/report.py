"""The numbers of a report on a saved model of two classes, measured on labelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from auctor import metrics
from auctor.core.errors import DataError, Option, speaks_as
from auctor.evaluate.describe import ReportContext, TrainRows, costs_of, describe, path_info
from auctor.evaluate.info import DataInfo, MetricStep, ReportInfo
from auctor.evaluate.scores import ScoredRows, own_score, schema_for, score_rows, seen_warning
from auctor.evaluate.trained_metric import Rival
from auctor.fit.model import LinearModel
from auctor.fit.prepare import codes_of
from auctor.saved.predictors import SavedClassifier
from auctor.tables.lost import lost_warnings
from auctor.tables.options import ReadOptions
from auctor.tables.read import Table, read_file
from auctor.tables.schema import Schema


class LabelledRows(NamedTuple):
    """Rows of a file with labels, scored by a model; `labelled_rows` makes them.

    Parameters
    ----------
    source : str
        The file.
    table : Table
        Its rows, encoded for the model.
    scored : ScoredRows
        Their labels and scores.
    """

    source: str
    table: Table
    scored: ScoredRows


@speaks_as("labelled_rows")
def labelled_rows(
    saved: SavedClassifier, path: str, reading: ReadOptions | None = None, *, seed: int = 0
) -> LabelledRows:
    """Read labelled rows and score them with a model of two classes.

    Parameters
    ----------
    saved : SavedClassifier
        A linear or additive model, as `read_classifier` returns it.
    path : str
        A file with the columns of the model and the label; it must have rows of both classes.
    reading : ReadOptions, optional
        How to read the file.
    seed : int
        Random seed of the bootstrap intervals.
    """
    _check_two(saved)
    options = ReadOptions() if reading is None else reading
    table = read_file(path, options.by_schema(_schema(saved)))
    return LabelledRows(path, table, _scored(saved, table, seed))


@speaks_as("report_of")
def report_of(
    saved: SavedClassifier,
    rows: LabelledRows,
    *,
    train: LabelledRows | None = None,
    slices: Mapping[str, Sequence[str]] | None = None,
    title: str | None = None,
    costs: tuple[float, float | None] = (1.0, None),
    beta: float = 1.0,
    command: str = "",
    option: Callable[[Option], str] = Option.in_python,
) -> ReportInfo:
    r"""The numbers of a report on a saved model, which `auctor.reports.render` makes a page of.

    Parameters
    ----------
    saved : SavedClassifier
        A linear or additive model of two classes, as `read_classifier` returns it.
    rows : LabelledRows
        The rows to measure the model on.
    train : LabelledRows, optional
        The rows that the model was trained on: the report then compares the model with a constant,
        logistic regression and boosted trees trained on them.
    slices : mapping, optional
        Columns to show metrics by: name -> value in every row, as text.
    title : str, optional
        By default the metric and the name of the file.
    costs : pair of floats
        Of a false positive and of a false negative; None is the cost under the metric.
    beta : float
        Weight of recall in the F-beta of the report.
    command : str
        The command that makes the report, to show after the one that trained the model.
    option : callable
        How a parameter is shown in the warnings of the report.

    Examples
    --------
    >>> import tempfile
    >>> import auctor
    >>> from auctor.saved.predictors import read_classifier
    >>> from auctor.tables import ReadOptions, read_table
    >>> folder = Path(tempfile.mkdtemp())
    >>> lines = [f"{k % 7},{k % 3},{'yes' if k % 7 > 3 else 'no'}" for k in range(60)]
    >>> _ = (folder / "rows.csv").write_text("\n".join(["a,b,bought", *lines]))
    >>> table = read_table(folder / "rows.csv", ReadOptions(label="bought"))
    >>> model = auctor.MetricClassifier("auc").fit(table.matrix, table.labels)
    >>> auctor.save(model, folder / "model.auctor", schema=table.schema.to_json())
    >>> saved = read_classifier(folder / "model.auctor")
    >>> info = report_of(saved, labelled_rows(saved, str(folder / "rows.csv")))
    >>> info.title, info.models[0].headline.auc.value
    ('auc on rows.csv', 1.0)
    """
    model = _linear(saved)
    false_positive, false_negative = costs
    if false_negative is None:
        false_negative = costs_of(model.metric)[1]
    told = _from_notes(saved, command)
    told = told._replace(warnings=[*told.warnings, *_warnings(saved, rows, option)], slices=slices)
    if train is None:
        told = told._replace(rivals=_constant(saved, rows.scored, option))
    else:
        told = _with_train(saved, train, rows, told)
    return describe(
        f"{model.metric} on {Path(rows.source).name}" if title is None else title,
        model,
        rows.scored,
        rows.table.matrix,
        _schema(saved),
        told,
        data=_data(saved, rows),
        columns=rows.table.summary,
        costs=(false_positive, false_negative),
        beta=beta,
    )


def _warnings(
    saved: SavedClassifier, rows: LabelledRows, option: Callable[[Option], str]
) -> list[str]:
    """Warnings of values that the model cannot use, and of rows of training."""
    count = rows.scored.codes.size
    texts = [*lost_warnings(rows.table.lost, count), seen_warning(saved.notes, rows.source, count)]
    return [warning.render(option=option) for warning in texts if warning is not None]


def _schema(saved: SavedClassifier) -> Schema:
    """The schema by which the columns of a file become those of the model."""
    return schema_for(saved.model.n_features, saved.model.feature_names, saved.schema)


def _linear(saved: SavedClassifier) -> LinearModel:
    """The linear or additive model of a file; refuses others."""
    if not isinstance(saved.model, LinearModel):
        raise DataError(
            f"a linear or additive model for a report; got {saved.name}. Use auctor evaluate."
        )
    return saved.model


def _check_two(saved: SavedClassifier) -> None:
    """Refuse a model of more than two classes, or one without weights or curves."""
    count = _linear(saved).classes.size
    if count != 2:
        raise DataError(f"a model of two classes; got one of {count}. Use auctor evaluate.")


def _scored(saved: SavedClassifier, table: Table, seed: int) -> ScoredRows:
    """Labels, scores and probabilities of the rows of a table; refuses rows of one class."""
    model = saved.model
    assert table.labels is not None
    codes = codes_of(table.labels, model.classes)
    if codes.min() == codes.max():
        raise DataError(
            f"rows of both classes to measure on; got only {model.classes.tolist()[codes[0]]!r}. "
            "Pass a file that has both."
        )
    return score_rows(model, table.matrix, codes, seed=seed)


def _from_notes(saved: SavedClassifier, command: str) -> ReportContext:
    """What the notes in the model file say of its training."""
    notes, result = saved.notes, saved.fitted
    path = None
    if result is not None and result.search is not None:
        path = path_info(result.search, saved.model, _nonzeros(notes))
    steps = [
        MetricStep(*(_number(step, name) for name in MetricStep._fields))
        for step in _list(notes, "metric_steps")
    ]
    return ReportContext(
        seconds=_number(notes, "seconds"),
        train_auc=_number(notes, "train_auc"),
        train_score=_number(notes, "train_score"),
        metric_steps=[step for step in steps if not math.isnan(step.value)],
        path=path,
        solution=result.solutions[0] if result is not None and result.solutions else None,
        name=saved.name if result is None else None,
        warnings=[text for text in _list(notes, "warnings") if isinstance(text, str)],
        command=_commands(notes, command),
        chosen=notes["chosen"] if isinstance(notes.get("chosen"), str) else "",
    )


def _with_train(
    saved: SavedClassifier, train: LabelledRows, rows: LabelledRows, told: ReportContext
) -> ReportContext:
    """Add the metric on the training rows, and the baselines trained on them."""
    from auctor.contenders.baselines import baselines  # needs scikit-learn, which loads slowly

    scored = train.scored
    return told._replace(
        train_auc=metrics.auc(scored.hit, scored.scores, weight=scored.weight),
        train_score=own_score(saved.model, scored),
        rivals=baselines(
            _linear(saved),
            saved.params,
            train.table.matrix,
            scored.hit,
            rows.table.matrix,
            seed=rows.scored.seed,
        ),
        train=TrainRows(train.table.matrix),
    )


def _constant(
    saved: SavedClassifier, rows: ScoredRows, option: Callable[[Option], str]
) -> list[Rival]:
    """The baselines without training rows: a constant score, and why the others are missing."""
    from auctor.contenders.baselines import untrained  # needs scikit-learn, which loads slowly

    needed = (
        "It needs the rows that the model was trained on: pass them with "
        f"{option(Option('train', bare=True))}."
    )
    return untrained(saved.model.metric, rows.hit, needed)


def _data(saved: SavedClassifier, rows: LabelledRows) -> DataInfo:
    """Numbers of rows and columns; those of training come from the notes, 0 if unknown."""
    known = saved.notes.get("data")
    train_rows, positives = (_number(known, name) for name in ("train_rows", "train_positives"))
    names = [str(label) for label in saved.model.classes.tolist()]
    hit, positive = rows.scored.hit, rows.scored.positive
    return DataInfo(
        train_rows=0 if math.isnan(train_rows) else int(train_rows),
        train_positives=0 if math.isnan(positives) else int(positives),
        test_rows=int(hit.size),
        test_positives=int(hit.sum()),
        n_columns=int(rows.table.matrix.shape[1]),
        source=rows.source,
        positive=names[positive],
        negative=names[1 - positive],
    )


def _nonzeros(notes: Mapping[str, Any]) -> list[float]:
    """Numbers of nonzero weights along the path of strengths."""
    path = notes.get("path")
    counts = _list(path, "nonzeros") if isinstance(path, dict) else []
    return [_number({"count": count}, "count") for count in counts]


def _commands(notes: Mapping[str, Any], own: str) -> str:
    """The command that trained the model and the one that made the report, those that are known."""
    trained = notes.get("command")
    return " && ".join(filter(None, (trained if isinstance(trained, str) else "", own)))


def _list(notes: Mapping[str, Any], name: str) -> list[Any]:
    """A list from the notes of a model, which may hold anything; empty if it is not a list."""
    value = notes.get(name)
    return value if isinstance(value, list) else []


def _number(notes: Any, name: str) -> float:
    """A number from the notes of a model; NaN for anything else."""
    value = notes.get(name) if isinstance(notes, dict) else None
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if plain else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return math.nan
