"""What commands share: options under one name, reading a file, examples in help."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from auctor.cli import names
from auctor.cli.config import use_config

if TYPE_CHECKING:
    from auctor.saved import Saved
    from auctor.tables import Chunk
    from auctor.tables.read import Table
    from auctor.tables.schema import Schema

C = TypeVar("C", bound=Callable[..., None])

# --- arguments and options, one definition for all commands --------------------------------------

DataPath = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Rows: svmlight, CSV, TSV, Parquet, Arrow, NPZ or NPY; text may be compressed.",
        show_default=False,
    ),
]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that auctor wrote.", show_default=False)
]
Format = Annotated[
    str,
    typer.Option(help="Of DATA; auto goes by the file's name.", autocompletion=names.formats),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Label column, by name or position; found if called label, target, y or class.",
        show_default=False,
    ),
]
Categorical = Annotated[
    str,
    typer.Option(
        help="Columns of text: one_hot, hash or refuse.",
        autocompletion=names.choices("one_hot", "hash", "refuse"),
    ),
]
Buckets = Annotated[int, typer.Option(min=1, help="Columns per hashed column of text.")]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: auto (median, or kept where the model is additive; text: no "
        "category), refuse, mean, median, zero, most_frequent or keep.",
        autocompletion=names.choices(
            "auto", "refuse", "mean", "median", "zero", "most_frequent", "keep"
        ),
    ),
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Train without an intercept.")]
Standardise = Annotated[
    bool | None,
    typer.Option(
        help="Scale number columns to deviation one; by default unless they look scaled. The "
        "model applies to the columns as they are.",
        show_default=False,
    ),
]
ZeroBased = Annotated[
    str,
    typer.Option(
        help="Whether svmlight indices count from 0: auto, yes or no.",
        autocompletion=names.choices("auto", "yes", "no"),
    ),
]
Header = Annotated[
    str,
    typer.Option(
        help="Whether a CSV file starts with names: auto, yes or no.",
        autocompletion=names.choices("auto", "yes", "no"),
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Between the fields of a CSV file; found by default.", show_default=False),
]
Decimal = Annotated[
    str,
    typer.Option(
        help="Decimal sign of the numbers of a CSV file.", autocompletion=names.choices(".", ",")
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="A column to leave out; repeatable.", show_default=False),
]
AsCategory = Annotated[
    list[str] | None,
    typer.Option(
        help="A column to take as categories, such as zip codes; repeatable.", show_default=False
    ),
]
AsNumber = Annotated[
    list[str] | None,
    typer.Option(
        help="A column of amounts, such as $1,200 or 45 %, to take as numbers; repeatable.",
        show_default=False,
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=PATTERN",
        help="A column of dates and how they are written, such as sold=%d/%m/%Y; repeatable.",
        show_default=False,
    ),
]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        "--slice",
        metavar="COLUMN",
        help="Show the metrics in the report for each value of this column of DATA, in the model "
        "or not; repeatable.",
        show_default=False,
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use; all cores by default.")]
Seed = Annotated[int, typer.Option(min=0, help="Of splits, folds and randomised solvers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print progress even if this is no terminal.")
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file with the same names as the options; the command line wins.",
        is_eager=True,
        callback=use_config,
        show_default=False,
    ),
]

Metric = Annotated[
    str,
    typer.Option(
        help="What to train for, such as auc, f1 or precision_at_k(100); see auctor list metrics.",
        autocompletion=names.metrics,
    ),
]
Surrogate = Annotated[
    str,
    typer.Option(help="The loss that stands in for the metric.", autocompletion=names.surrogates),
]
Penalty = Annotated[
    str,
    typer.Option(help="l2, l1, elastic_net or none.", autocompletion=names.penalties),
]
L1Ratio = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, help="Share of l1 in elastic_net.", show_default=False),
]
SolverName = Annotated[
    str, typer.Option("--solver", help="See auctor list solvers.", autocompletion=names.solvers)
]
Tol = Annotated[
    float, typer.Option(min=0.0, help="Gap to reach, as a share of the best constant's loss.")
]
MaxIter = Annotated[int, typer.Option(min=1, help="Most iterations of a fit.")]
MaxSeconds = Annotated[
    float | None, typer.Option(min=0.0, help="Longest time of a fit.", show_default=False)
]


class Reading(NamedTuple):
    """How to read a file, as the options have it."""

    format: str = "auto"
    label: str | None = None
    categorical: str = "one_hot"
    buckets: int = 1024
    missing: str = "refuse"
    zero_based: str = "auto"
    header: str = "auto"
    delimiter: str | None = None
    n_threads: int | None = None
    decimal: str = "."
    drop: tuple[str, ...] = ()
    as_category: tuple[str, ...] = ()
    as_number: tuple[str, ...] = ()
    date: Mapping[str, str] | None = None
    check: bool = False

    def typed(self) -> list[str]:
        """What must be typed again for new rows that are written in the same way."""
        usual = Reading()
        return [
            word
            for name in ("header", "delimiter", "decimal")
            if (value := getattr(self, name)) != getattr(usual, name)
            for word in (f"--{name}", str(value))
        ]


# --- reading ---------------------------------------------------------------------------------


def read(
    path: str,
    options: Reading | None = None,
    *,
    who: str,
    schema: Schema | None = None,
    labelled: bool = True,
) -> Table:
    """A file as a table, encoded by ``schema`` where one is given."""
    from auctor.tables.read import read_table

    options = options or Reading()
    extra: dict[str, Any] = {}
    if schema is None:
        extra = {
            "categorical": options.categorical,
            "buckets": options.buckets,
            "missing": options.missing,
            "drop": options.drop,
            "as_category": options.as_category,
            "as_number": options.as_number,
            "date": options.date,
            "check": options.check,
        }
    return read_table(
        path,
        options.format,
        label=options.label,
        schema=schema,
        labelled=labelled,
        zero_based=yes_no(who, "zero-based", options.zero_based),
        header=yes_no(who, "header", options.header),
        delimiter=options.delimiter,
        decimal=options.decimal,
        n_threads=options.n_threads,
        **extra,
    )


def read_words(
    path: str, options: Reading, columns: Iterable[str], *, who: str
) -> dict[str, list[str]]:
    """Columns of a file as they are written, by name, "" where a value is missing."""
    from auctor.tables.kept import kept_columns
    from auctor.tables.options import ReadOptions

    reading = ReadOptions(
        who,
        label=options.label,
        labelled=False,
        header=yes_no(who, "header", options.header),
        delimiter=options.delimiter,
        decimal=options.decimal,
    )
    return kept_columns(path, options.format, list(dict.fromkeys(columns)), reading)


def check_order(model: Path, data: str, *, who: str) -> None:
    """Refuse a model where the data belong, and say that the two were swapped."""
    from auctor.cli.inspect import is_model
    from auctor.core.errors import ParameterError

    if is_model(data) and not is_model(str(model)):
        raise ParameterError(
            who,
            needs="MODEL first, then DATA",
            got=f"{model} and {data}, which look swapped",
            todo=f"Write {who} {data} {model}.",
        )


def open_model(path: Path, *, who: str) -> Saved:
    """A model file; refuses regressors where classes are needed."""
    from auctor.core.errors import DataError
    from auctor.saved import read_saved

    saved = read_saved(path).of_columns(who)
    if not hasattr(saved.model, "decision_function"):
        raise DataError(
            who,
            needs="a classifier",
            got=f"{type(saved.model).__name__} in {path}",
            todo="Use auctor predict.",
        )
    return saved


def read_chunks(
    path: str, options: Reading, schema: Schema, *, who: str, labelled: bool
) -> Iterator[Chunk]:
    """Chunks of a file of any size, in the columns of a schema."""
    from auctor.tables import open_stream

    return open_stream(
        path,
        options.format,
        label=options.label,
        schema=schema,
        labelled=labelled,
        zero_based=yes_no(who, "zero-based", options.zero_based),
        header=yes_no(who, "header", options.header),
        delimiter=options.delimiter,
        decimal=options.decimal,
    )


def counting(chunks: Iterable[Chunk], unseen: Counter[str]) -> Iterator[Chunk]:
    """The same chunks; counts rows with categories that the model does not know, by column."""
    for chunk in chunks:
        unseen.update(chunk.unseen or {})
        yield chunk


def yes_no(who: str, option: str, text: str) -> bool | str:
    """True, False or "auto".

    Examples
    --------
    >>> yes_no("auctor train", "header", "no")
    False
    """
    from auctor.core.checks import check_choice

    check_choice(who, option, text, ("auto", "yes", "no"))
    return text if text == "auto" else text == "yes"


def class_weights(text: str | None, who: str = "auctor train") -> str | dict[str, float] | None:
    """``balanced``, or weights by label as text.

    Examples
    --------
    >>> class_weights("yes=10,no=1")
    {'yes': 10.0, 'no': 1.0}
    """
    from auctor.core.errors import ParameterError

    if text is None or text == "balanced":
        return text
    weights = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise ParameterError(
                who,
                needs="class weights as balanced or LABEL=WEIGHT,...",
                got=f"{text!r}",
                todo="Write it so.",
            )
    return weights


# --- help ------------------------------------------------------------------------------------


def examples(*lines: str) -> Callable[[C], C]:
    """Show command lines below the help of a command.

    Examples
    --------
    >>> @examples("auctor train clicks.csv --label clicked")
    ... def train() -> None: ...
    >>> epilog(train).splitlines()[-1]
    'auctor train clicks.csv --label clicked'
    """

    def mark(command: C) -> C:
        command.examples = lines  # type: ignore[attr-defined]
        return command

    return mark


def epilog(command: Callable[..., None]) -> str | None:
    """The examples of a command as typer prints them, a paragraph each."""
    lines = getattr(command, "examples", ())
    return "\n\n".join(["Examples:", *lines]) if lines else None


def command_line(ctx: typer.Context) -> str:
    """The command that runs, with what the config file says; without options on output."""
    words = ["auctor", str(ctx.info_name)]
    for param in ctx.command.params:
        value = ctx.params.get(str(param.name))
        if param.name in ("config", "as_json", "quiet", "verbose") or value in (None, (), []):
            continue
        names = (*param.opts, *param.secondary_opts)
        if not names[0].startswith("-"):
            words += [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
        elif isinstance(value, bool):
            if value != param.default:
                words.append(param.opts[0] if value else param.secondary_opts[0])
        elif isinstance(value, list | tuple):
            words += [word for item in value for word in (names[0], str(item))]
        elif str(value) != str(param.default):
            words += [names[0], str(value)]
    return shlex.join(words)
