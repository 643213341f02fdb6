"""``auctor predict``: scores, labels and probabilities for the rows of a file of any size."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
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
    Reading,
    ZeroBased,
    check_order,
    counting,
    examples,
    read_chunks,
    read_words,
)
from auctor.cli.output import echo_json, say, say_unseen

if TYPE_CHECKING:
    from auctor.core.types import Array
    from auctor.training.model import LinearModel, RegressionModel

    Model = LinearModel | RegressionModel

WHO = "auctor predict"
#: Formats by the ending of the output's name.
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet", ".npy": "npy"}
DELIMITERS = {"csv": ",", "tsv": "\t"}


@examples(
    "auctor predict model.auctor june.csv --keep id --proba --out scores.csv",
    "auctor predict model.auctor rows.svm.gz --scores --out scores.npy",
    "zcat rows.svm.gz | auctor predict model.auctor - --labels --out -",
)
def predict(
    model: ModelPath,
    data: DataPath,
    out: Annotated[
        str,
        typer.Option(help="A .csv, .tsv, .parquet or .npy file, or - for CSV on standard output."),
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
            help="Write probabilities (calibrated models, log_loss).",
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of DATA to write before the predictions, such as an id; repeatable.",
            show_default=False,
        ),
    ] = None,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    quiet: Quiet = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Apply a model to rows, in their order and in chunks.

    Columns are matched by name; those the model does not know are left out. Without --scores,
    --labels or --probabilities all there are come out; NPY has scores only by default. --json
    prints what was written, and where.
    """
    from auctor.core.errors import ParameterError
    from auctor.saved import read_model

    check_order(model, data, who=WHO)
    kind = _kind(out)
    check_outputs(WHO, [out], [model, data, config])
    if as_json and out == "-":
        raise ParameterError(
            WHO, needs="--out with a file to print JSON about it", got="-", todo="Pass a file."
        )
    fitted = read_model(model)
    wanted = _wanted(
        fitted, kind, {"scores": scores, "labels": labels, "probabilities": probabilities}
    )
    options = Reading(
        format=format,
        label=label,
        zero_based=zero_based,
        header=header,
        delimiter=delimiter,
        decimal=decimal,
    )
    columns, positive = column_names(fitted, wanted), _positive(fitted)
    unseen: Counter[str] = Counter()
    rows = _Counted(predictions(fitted, data, options, wanted, unseen))
    if keep:
        rows = _Counted(_beside(_kept(data, options, keep, columns), iter(rows)))
        columns = [*dict.fromkeys(keep), *columns]
    _write(out, kind, columns, rows)
    if as_json:
        echo_json(
            {
                "model": model,
                "data": data,
                "out": out,
                "rows": rows.count,
                "columns": columns,
                "positive": positive,
                "unseen": unseen,
            }
        )
    say_unseen(unseen, rows.count)
    if not quiet and not as_json:
        about = "" if positive is None else f"positive class: {positive}"
        done = "" if out == "-" else f"{rows.count:,} rows written to {out}"
        if about or done:
            say("; ".join(filter(None, (done, about))))


def predictions(
    model: Model,
    data: str,
    options: Reading,
    wanted: tuple[str, ...],
    unseen: Counter[str] | None = None,
) -> Iterator[list[Array]]:
    """For each chunk of a file, the columns that are wanted; counts categories never seen."""
    import numpy as np

    from auctor.training.evaluate import schema_for
    from auctor.training.model import LinearModel

    schema = schema_for(model.n_features, model.feature_names, model.schema)
    chunks = read_chunks(data, options, schema, who=WHO, labelled=False)
    for chunk in counting(chunks, Counter() if unseen is None else unseen):
        found: list[Array] = []
        for what in wanted:
            values = getattr(model, METHODS[what])(chunk.matrix)
            if isinstance(model, LinearModel) and model.binary:
                values = _of_positive(model, what, values)
            found += list(np.atleast_2d(values.T))
        yield found


def _kept(data: str, options: Reading, keep: list[str], columns: list[str]) -> dict[str, list[str]]:
    """The columns to write before the predictions; refuses names that these have."""
    from auctor.core.errors import ParameterError

    taken = [name for name in keep if name in columns]
    if taken:
        raise ParameterError(
            WHO,
            needs="columns to keep that are not called as the predictions are",
            got=f"{taken[0]!r}",
            todo="Rename it in the file.",
        )
    return read_words(data, options, keep, who=WHO)


def _beside(kept: dict[str, list[str]], chunks: Iterator[list[Array]]) -> Iterator[list[Array]]:
    """Chunks of predictions, each with its rows of the columns that are kept."""
    import numpy as np

    start = 0
    for columns in chunks:
        stop = start + columns[0].shape[0]
        yield [*(np.array(words[start:stop], dtype=object) for words in kept.values()), *columns]
        start = stop


METHODS = {
    "scores": "decision_function",
    "labels": "predict",
    "probabilities": "predict_proba",
    "predictions": "predict",
}


def column_names(model: Model, wanted: tuple[str, ...]) -> list[str]:
    """Names of the columns to write; several classes have one each for scores."""
    names = []
    classes = getattr(model, "classes", None)
    for what in wanted:
        single = {
            "scores": "score",
            "probabilities": "probability",
            "labels": "predicted",
        }.get(what, what[:-1])
        if what in ("scores", "probabilities") and classes is not None and classes.size > 2:
            names += [f"{single}_{name}" for name in classes.tolist()]
        else:
            names.append(single)
    return names


def _of_positive(model: LinearModel, what: str, values: Array) -> Array:
    """Scores or probabilities of the positive class; labels as they are."""
    if what == "scores":
        return model.positive_scores(values)
    return values[:, model.positive] if what == "probabilities" else values


def _positive(model: Model) -> Any:
    """The class that scores and probabilities are of, where there are two."""
    return model.classes.tolist()[model.positive] if getattr(model, "binary", False) else None  # type: ignore[union-attr]


def _wanted(model: Model, kind: str, asked: dict[str, bool]) -> tuple[str, ...]:
    """What to write: what was asked for, or all that the model has."""
    from auctor.core.errors import ParameterError

    chosen = tuple(what for what, yes in asked.items() if yes)
    likely = getattr(model, "calibrators", None) is not None
    if not hasattr(model, "decision_function"):
        if chosen:
            raise ParameterError(
                WHO,
                needs=f"a classifier to write {chosen[0]}",
                got="a regressor",
                todo=f"Drop --{chosen[0]}.",
            )
        return ("predictions",)
    if "probabilities" in chosen and not likely:
        raise ParameterError(
            WHO,
            needs="a calibrated model, or one of log_loss, to write probabilities",
            got="another",
            todo="Train it with --calibrate sigmoid.",
        )
    if chosen:
        return chosen
    if kind == "npy":
        return ("scores",)
    return ("labels", "scores", *(("probabilities",) if likely else ()))


def _kind(out: str) -> str:
    """The format of the output; refuses, before any work, one that cannot be written."""
    from auctor.core.errors import ParameterError
    from auctor.core.files import check_destination
    from auctor.core.optional import require

    if out == "-":
        return "csv"
    kind = ENDINGS.get(Path(out).suffix.lower())
    if kind is None:
        raise ParameterError(
            WHO, needs=f"--out with {', '.join(ENDINGS)}, or -", got=out, todo="Add the ending."
        )
    if kind == "parquet":
        require("pyarrow", extra="cli", who=WHO)
    check_destination(Path(out), who=WHO)
    return kind


class _Counted:
    """Passes chunks on and counts their rows."""

    def __init__(self, chunks: Iterator[list[Array]]) -> None:
        self._chunks = chunks
        self.count = 0

    def __iter__(self) -> Iterator[list[Array]]:
        for columns in self._chunks:
            self.count += columns[0].shape[0]
            yield columns


def _write(out: str, kind: str, names: list[str], chunks: _Counted) -> None:
    from auctor.core.files import write_bytes

    if kind in DELIMITERS:
        text = _text(names, chunks, DELIMITERS[kind])
        if out != "-":
            write_bytes(out, (part.encode() for part in text), who=WHO)
            return
        for part in text:
            sys.stdout.write(part)
    elif kind == "npy":
        _write_npy(out, names, chunks)
    else:
        _write_parquet(out, names, chunks)


def _text(names: list[str], chunks: _Counted, delimiter: str) -> Iterator[str]:
    """Lines of a table, a chunk at a time; numbers in as many digits as they need."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    for columns in chunks:
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _write_npy(out: str, names: list[str], chunks: _Counted) -> None:
    import numpy as np

    from auctor.core.errors import ParameterError
    from auctor.core.files import replacing

    parts = []
    for columns in chunks:
        if len(columns) > 1 and any(column.dtype.kind not in "iufb" for column in columns):
            raise ParameterError(
                WHO,
                needs="numbers to put several columns into NPY",
                got=f"{', '.join(names)}",
                todo="Ask for one, or write CSV or Parquet.",
            )
        parts.append(columns[0] if len(columns) == 1 else np.column_stack(columns))
    array = np.concatenate(parts)
    with replacing(out, who=WHO) as file:
        np.save(file, array.astype(str) if array.dtype.kind == "O" else array, allow_pickle=False)


def _write_parquet(out: str, names: list[str], chunks: _Counted) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from auctor.core.files import replacing

    with replacing(out, who=WHO) as file:
        writer = None
        for columns in chunks:
            table = pa.table(dict(zip(names, columns, strict=True)))
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
