"""``auctor convert``: rows from one format to another, or a model to ONNX or SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import names
from auctor.cli.files import check_inputs, check_outputs
from auctor.cli.options import (
    AsJson,
    Buckets,
    Categorical,
    Config,
    Decimal,
    Delimiter,
    Format,
    Header,
    Label,
    Missing,
    ZeroBased,
    examples,
)
from auctor.cli.output import echo, echo_json, say_warning
from auctor.cli.reading import read_options
from auctor.cli.reasons import Baseline, Reasons, ReasonTexts, read_texts

if TYPE_CHECKING:
    from auctor.tables.infer import Note
    from auctor.tables.options import ReadOptions


@examples(
    "auctor convert clicks.csv clicks.parquet --label clicked",
    "auctor convert a9a.svm.gz a9a.parquet",
    "auctor convert - rows.npz --format csv --label y --missing median",
    "auctor convert big.parquet big.shards --label y",
    "auctor convert model.auctor model.onnx",
    "auctor convert model.auctor model.sql --table customers",
    "auctor convert model.auctor model.sql --table customers --reasons 4",
)
def convert(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="A file of rows, - for standard input, or a model.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file to write.", show_default=False)
    ],
    label: Label = None,
    format: Format = "auto",
    to: Annotated[
        str,
        typer.Option(
            help="Format of OUT; auto chooses by the file's name.", autocompletion=names.formats
        ),
    ] = "auto",
    categorical: Categorical = "auto",
    buckets: Buckets = 1024,
    missing: Missing = "refuse",
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="Accept rows without a label.")
    ] = False,
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    bins: Annotated[
        bool,
        typer.Option(
            "--bins",
            help="Write the codes of bins into a .shards folder, one byte per entry, for curves.",
        ),
    ] = False,
    dtype: Annotated[
        str,
        typer.Option(
            help="Type of the numbers that an ONNX model takes: float64 or float32.",
            autocompletion=names.choices("float64", "float32"),
        ),
    ] = "float64",
    table: Annotated[
        str, typer.Option(help="Name of the table in an SQL query, as it is written after FROM.")
    ] = "rows",
    reasons: Reasons = None,
    baseline: Baseline = "mean",
    reason_texts: ReasonTexts = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Convert rows to another format, or a model to ONNX or SQL.

    Files larger than memory are converted in chunks. Text and missing values are kept if the new
    format can hold them; otherwise they become numbers, as in auctor train. If it fails, OUT is not
    written. If OUT ends in .shards, it is a folder of numbers that auctor train reads from disk.
    A model becomes an ONNX graph, or an SQL query that adds predictions to the rows of a table.
    """
    from auctor.core.checks import check_choice
    from auctor.core.files import check_destination
    from auctor.saved.describe import is_model

    if not (out.suffix == ".shards" and out.is_dir()):  # which write_shards refuses
        check_destination(out)
    check_outputs([out], [source, config])
    check_inputs(source)
    check_choice("dtype", dtype, ("float64", "float32"))
    if is_model(source):
        texts = {} if reason_texts is None else read_texts(reason_texts)
        how = {"reasons": reasons or 0, "baseline": baseline, "texts": texts}
        summary = _export(source, out, dtype, table, how)
    else:
        summary = _rewrite(source, out, read_options(ctx, labelled=not unlabelled), to, bins=bins)
    if as_json:
        echo_json(summary)
    elif "rows" in summary:
        echo(f"{summary['rows']:,} rows, {summary['columns']:,} columns: {out}")
    else:
        echo(f"{summary['class']}, {summary['columns']:,} columns: {out}")


def _rewrite(
    source: str, out: Path, options: ReadOptions, to: str, *, bins: bool
) -> dict[str, Any]:
    """Write rows in another format; returns what was written."""
    from auctor.core.errors import Option, ParameterError
    from auctor.tables.convert import convert as convert_file

    if out.suffix == ".shards":
        return _shards(source, out, options, bins=bins)
    if bins:
        raise ParameterError(
            "a folder of shards for {option}",
            got=out,
            todo="Write to a name that ends in .shards.",
            option=Option("bins", bare=True),
        )
    if out.suffix in (".onnx", ".sql", ".auctor"):
        raise ParameterError(
            f"a model to write {out.suffix}; got rows, {source}. Train a model with auctor train "
            "first."
        )
    done = convert_file(source, out, options, to=to)
    return {
        "in": source,
        "out": str(out),
        "format": done.source,
        "to": done.destination,
        "rows": done.rows,
        "columns": done.columns,
    }


def _shards(source: str, out: Path, options: ReadOptions, *, bins: bool) -> dict[str, Any]:
    """Write rows as a folder of shards; returns what was written."""
    from auctor.core.errors import ParameterError
    from auctor.linear.coded_shards import write_coded
    from auctor.tables.shards import write_shards

    if (options.missing_rule != "refuse" and not bins) or not options.labelled:
        raise ParameterError(
            "rows with labels and without missing values to write shards; got `missing` or "
            "`unlabelled`. Drop the option; convert to Parquet first to fill missing values."
        )
    notes: list[Note] = []
    if bins:
        done = write_coded(source, out, options, notes=notes)
    else:
        done = write_shards(source, out, options)
    for note in notes:
        say_warning(note.warning(), "convert")
    return {
        "in": source,
        "out": str(out),
        "to": "shards",
        "rows": done.rows,
        "columns": done.columns,
        "shards": done.shards,
        "labels": list(done.labels),
    }


def _export(source: str, out: Path, dtype: str, table: str, how: dict[str, Any]) -> dict[str, Any]:
    """Write a model as ONNX or SQL; returns what was written."""
    from auctor.core.errors import ParameterError
    from auctor.export import to_onnx, to_sql
    from auctor.saved import read_saved
    from auctor.tables.schema import Schema

    if out.suffix not in (".onnx", ".sql"):
        raise ParameterError(f"a name ending in .onnx or .sql; got {out}. Add the ending.")
    saved = read_saved(source)
    model = saved.model
    summary = {
        "in": source,
        "out": str(out),
        "class": type(model).__name__,
        "columns": int(model.n_features_in_),
    }
    if out.suffix == ".onnx":
        to_onnx(model, out, dtype=dtype, **how)
        return summary | {"dtype": dtype}
    schema = None if saved.schema is None else Schema.from_json(saved.schema)
    to_sql(model, out, table=table, schema=schema, **how)
    return summary | {"table": table}
