"""``auctor predict``: scores, labels and probabilities for the rows of a file of any size."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli.files import check_outputs
from auctor.cli.options import (
    AsJson,
    Config,
    DataPath,
    Decimal,
    Delimiter,
    Format,
    Header,
    Label,
    ModelPath,
    Quiet,
    Unreadable,
    ZeroBased,
    examples,
)
from auctor.cli.output import echo_json, say, say_lost
from auctor.cli.reading import check_order, count_lost, read_options, read_text
from auctor.cli.reasons import Baseline, ReasonJob, Reasons, ReasonTexts, reason_job
from auctor.core.markup import printable

if TYPE_CHECKING:
    from auctor.core.types import Array
    from auctor.saved.predictors import Predictor
    from auctor.tables.lost import Lost
    from auctor.tables.options import ReadOptions

#: Formats by the ending of the output's name.
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet", ".npy": "npy"}


@examples(
    "auctor predict model.auctor june.csv --keep id --proba --out scores.csv",
    "auctor predict model.auctor june.csv --keep id --top 100 --per day --out todo.csv",
    "auctor predict model.auctor rows.svm.gz --scores --out scores.npy",
    "auctor predict model.auctor june.csv --keep id --reasons 4 --out reasons.csv",
    "zcat rows.svm.gz | auctor predict model.auctor - --labels --out -",
)
def predict(
    ctx: typer.Context,
    model: ModelPath,
    data: DataPath,
    out: Annotated[
        str,
        typer.Option(
            help="Where to write: a .csv, .tsv, .parquet or .npy file, or - for CSV to standard "
            "output. Text is compressed if .gz, .bz2, .xz or .zst follows."
        ),
    ] = "-",
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Write scores; a row is positive if its score is above 0."),
    ] = False,
    labels: Annotated[bool, typer.Option("--labels", help="Write predicted labels.")] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            "--proba",
            help="Write probabilities; needs a calibrated model, or one trained on log_loss.",
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of DATA to write before the predictions, such as an id; repeatable.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Write a column top: 1 for this number of rows with the highest scores, else 0. "
            "Of equal scores the row that comes first is taken.",
            show_default=False,
        ),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            help="With --top: a column of DATA, such as a day; that number for each value.",
            show_default=False,
        ),
    ] = None,
    reasons: Reasons = None,
    baseline: Baseline = "mean",
    reason_texts: ReasonTexts = None,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    unreadable: Unreadable = "warn",
    quiet: Quiet = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Write a model's predictions for the rows of a file of any size, in the order of the file.

    Columns are matched by name; columns that the model does not use are ignored. Without --scores,
    --labels or --probabilities it writes all that the model has, or only scores to a .npy file.
    With --json it prints what was written, and where.
    """
    from auctor.core.errors import ParameterError
    from auctor.saved.predictors import read_predictor
    from auctor.tables.lost import lost_rows

    check_order("predict", model, data)
    kind = _kind(out)
    check_outputs([out], [model, data, config, reason_texts])
    if as_json and out == "-":
        raise ParameterError("`out` FILE with `as_json`; got `out='-'`. Pass the name of a file.")
    predictor = read_predictor(model)
    wanted = _wanted(
        predictor, kind, {"scores": scores, "labels": labels, "probabilities": probabilities}
    )
    why = reason_job(reasons, baseline, reason_texts, predictor, kind)
    reading = read_options(ctx)
    columns, positive = column_names(predictor, wanted), _positive(predictor)
    columns += [] if why is None else why.columns
    lost: dict[str, Lost] = {}
    rows = _CountedRows(predictions(predictor, data, reading, wanted, lost, why))
    if per is not None and top is None:
        raise ParameterError("`top=` with `per`; got none. Pass both.")
    if top is not None:
        days = None if per is None else _kept(data, reading, [per], columns)[per]
        chunks = list(predictions(predictor, data, reading, ("scores",), {}, None))
        rows = _CountedRows(_side_by_side(_top(chunks, top, days, columns), iter(rows)))
        columns = ["top", *columns]
    if keep:
        kept = _kept(data, reading, keep, columns)
        rows = _CountedRows(_side_by_side(kept, iter(rows)))
        columns = [*dict.fromkeys(keep), *columns]
    _write(out, kind, columns, rows)
    if as_json:
        about = {"model": model, "data": data, "out": out, "rows": rows.count}
        echo_json({**about, "columns": columns, "positive": positive, **lost_rows(lost)})
    say_lost("predict", lost, rows.count)
    if not quiet and not as_json:
        _say_written(out, rows.count, positive)


def _say_written(out: str, rows: int, positive: Any) -> None:
    """Say how many rows went to which file, and which class the scores are about."""
    done = "" if out == "-" else f"{rows:,} rows written to {out}"
    about = "" if positive is None else f"positive class: {positive}"
    if about or done:
        say("; ".join(filter(None, (done, about))))


def predictions(
    model: Predictor,
    data: str,
    reading: ReadOptions,
    wanted: tuple[str, ...],
    lost: dict[str, Lost] | None = None,
    why: ReasonJob | None = None,
) -> Iterator[list[Array]]:
    """For each chunk of a file, the columns to write: scores, labels, probabilities.

    Parameters
    ----------
    model : LinearModel, RegressionModel or WholeEstimator
    data : str
        The file.
    reading : ReadOptions
    wanted : tuple of str
        Keys of `METHODS`.
    lost : dict, optional
        Counts, by column, of the values that the model cannot use; updated in place.
    why : ReasonJob, optional
        Which reasons to add.
    """
    import numpy as np

    from auctor.evaluate.scores import schema_for
    from auctor.tables.stream import stream_rows

    schema = schema_for(model.n_features, model.feature_names, model.schema)
    chunks = stream_rows(data, reading.by_schema(schema, labelled=False))
    for chunk in count_lost(chunks, {} if lost is None else lost):
        columns: list[Array] = []
        for what in wanted:
            values = getattr(model, METHODS[what])(chunk.matrix)
            if getattr(model, "binary", False):
                values = _of_positive(model, what, values)
            columns += list(np.atleast_2d(values.T))  # (n,) is one column, (n, classes) several
        yield columns if why is None else columns + why.arrays(model, chunk.matrix)


def _kept(
    data: str, reading: ReadOptions, keep: list[str], columns: list[str]
) -> dict[str, list[str]]:
    """The columns of ``--keep`` as text; refuses one with the name of a prediction's column."""
    from auctor.core.errors import ParameterError

    taken = [name for name in keep if name in columns]
    if taken:
        raise ParameterError(
            f"columns to keep with other names than the predictions; got {taken[0]!r}. Rename it."
        )
    return read_text(data, keep, reading)


def _top(
    chunks: list[list[Array]], k: int, groups: list[str] | None, columns: list[str]
) -> dict[str, list[str]]:
    """A column of text: 1 for the k highest scores of each group, else 0."""
    import numpy as np

    from auctor.core.errors import DataError, ParameterError
    from auctor.metrics import top_rows

    if len(chunks[0]) != 1 or columns[0] == "prediction":
        raise ParameterError("a classifier of two classes for `top`; got another. Drop `top`.")
    scores = np.concatenate([columns[0] for columns in chunks])
    days = None if groups is None else np.array(groups)
    largest = scores.size if days is None else int(np.unique(days, return_counts=True)[1].max())
    if k > largest:
        raise DataError(f"a `top` of at most the {largest} rows there are; got {k}. Pass less.")
    top = top_rows(scores, k, groups=days)
    return {"top": [str(int(one)) for one in top.tolist()]}


def _side_by_side(
    kept: dict[str, list[str]], chunks: Iterator[list[Array]]
) -> Iterator[list[Array]]:
    """Chunks of the kept columns and the predictions; ``kept`` has the rows of all chunks."""
    import numpy as np

    start = 0
    for columns in chunks:
        stop = start + columns[0].shape[0]
        yield [*(np.array(words[start:stop], dtype=object) for words in kept.values()), *columns]
        start = stop


#: Method of a model that computes each kind of output.
METHODS = {
    "scores": "decision_function",
    "labels": "predict",
    "probabilities": "predict_proba",
    "predictions": "predict",
}


def column_names(model: Predictor, wanted: tuple[str, ...]) -> list[str]:
    """Names of the columns to write; with several classes, one of scores for each class."""
    names = []
    classes = getattr(model, "classes", None)
    for what in wanted:
        single = {"scores": "score", "probabilities": "probability", "labels": "predicted"}.get(
            what, what[:-1]
        )
        if what in ("scores", "probabilities") and classes is not None and classes.size > 2:
            names += [f"{single}_{name}" for name in classes.tolist()]
        else:
            names.append(single)
    return names


def _of_positive(model: Any, what: str, values: Array) -> Array:
    """Scores or probabilities of the positive class; labels are returned unchanged."""
    if what == "scores":
        scores: Array = model.positive_scores(values)
        return scores
    return values[:, model.positive] if what == "probabilities" else values


def _positive(model: Predictor) -> Any:
    """The positive class of a model of two classes, otherwise None."""
    return model.classes.tolist()[model.positive] if getattr(model, "binary", False) else None  # type: ignore[union-attr]


def _wanted(model: Predictor, kind: str, options: dict[str, bool]) -> tuple[str, ...]:
    """Keys of `METHODS`: the options that were given, or by default all that the model has."""
    from auctor.core.errors import Option, ParameterError

    wanted = tuple(what for what, asked in options.items() if asked)
    has_probabilities = getattr(model, "has_probabilities", False)
    if not hasattr(model, "decision_function"):
        if wanted:
            raise ParameterError(
                f"a classifier to write {wanted[0]}",
                got="a regressor",
                todo="Drop {option}.",
                option=Option(wanted[0], bare=True),
            )
        return ("predictions",)
    if "probabilities" in wanted and not has_probabilities:
        raise ParameterError(
            "a calibrated model, or one trained on log_loss, to write probabilities; got a model "
            "without probabilities. Train it with `calibrate='sigmoid'`."
        )
    if wanted:
        return wanted
    if kind == "npy":
        return ("scores",)
    return ("labels", "scores", *(("probabilities",) if has_probabilities else ()))


def _kind(out: str) -> str:
    """The format of the output, by its name; an unknown one is refused before any work."""
    from auctor.core.errors import ParameterError
    from auctor.core.files import check_destination
    from auctor.core.optional import require
    from auctor.tables.formats import COMPRESSED
    from auctor.tables.results import DELIMITERS

    if out == "-":
        return "csv"
    name = Path(out.lower())
    packed = name.suffix in COMPRESSED
    kind = ENDINGS.get(Path(name.stem).suffix if packed else name.suffix)
    if kind is None or (packed and kind not in DELIMITERS):
        raise ParameterError(f"`out` ending in {', '.join(ENDINGS)}, or -; got {out}. Add it.")
    if kind == "parquet":
        require("pyarrow", extra="cli")
    check_destination(Path(out))
    return kind


class _CountedRows:
    """Passes chunks on and counts their rows: ``count`` is complete after the last chunk."""

    def __init__(self, chunks: Iterator[list[Array]]) -> None:
        self._chunks = chunks
        self.count = 0

    def __iter__(self) -> Iterator[list[Array]]:
        for columns in self._chunks:
            self.count += columns[0].shape[0]
            yield columns


def _write(out: str, kind: str, names: list[str], chunks: _CountedRows) -> None:
    """Write chunks of columns to a file of a format, or as CSV to standard output."""
    from auctor.tables.results import delimited_text, write_columns

    if out != "-":
        write_columns(out, names, chunks, format=kind)
        return
    # A label may hold control characters: a pipe has them as they are, a terminal would obey them.
    shown = sys.stdout.isatty()
    for text in delimited_text(names, chunks):
        sys.stdout.write(printable(text, keep="\n") if shown else text)
