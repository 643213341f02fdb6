"""Reading a file as the options of a command say: whole, in chunks, or some columns as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from auctor.cli.parameters import date_patterns

if TYPE_CHECKING:
    from auctor.tables import Chunk
    from auctor.tables.read import Table
    from auctor.tables.schema import Schema


class Reading(NamedTuple):
    """The options of a command that say how to read a file."""

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

    @classmethod
    def of(cls, ctx: typer.Context, who: str, **other: Any) -> Reading:
        """The reading options of the command that runs, from its parsed command line.

        Parameters
        ----------
        ctx : typer.Context
            Of the command. Options that the command does not have keep their defaults.
        who : str
            Name used in error messages.
        other : object
            Values that replace those of the command line, by the names of the fields.
        """
        given = {name: value for name, value in ctx.params.items() if name in cls._fields}
        given["n_threads"] = ctx.params.get("threads")
        for name in ("drop", "as_category", "as_number"):  # repeatable options are lists
            given[name] = tuple(given.get(name) or ())
        if "date" in given:
            given["date"] = date_patterns(who, given["date"])
        return cls(**given | other)

    def options_for_new_rows(self) -> list[str]:
        """The options that a later command needs to read new rows written in the same way."""
        usual = Reading()
        return [
            word
            for name in ("header", "delimiter", "decimal")
            if (value := getattr(self, name)) != getattr(usual, name)
            for word in (f"--{name}", str(value))
        ]


def read(
    path: str,
    options: Reading | None = None,
    *,
    who: str,
    schema: Schema | None = None,
    labelled: bool = True,
) -> Table:
    """A file as a table, encoded by ``schema`` if one is given."""
    from auctor.tables.read import read_table

    options = options or Reading()
    extra: dict[str, Any] = {}
    if schema is None:  # a schema already says which columns to use, and how to encode them
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
        n_threads=options.n_threads,
        **_form(options, who),
        **extra,
    )


def read_text(
    path: str, options: Reading, columns: Iterable[str], *, who: str
) -> dict[str, list[str]]:
    """Some columns of a file as text, by name; a missing value is ""."""
    from auctor.tables.options import ReadOptions
    from auctor.tables.text_columns import columns_as_text

    reading = ReadOptions(
        who,
        label=options.label,
        labelled=False,
        header=yes_no(who, "header", options.header),
        delimiter=options.delimiter,
        decimal=options.decimal,
    )
    return columns_as_text(path, options.format, list(dict.fromkeys(columns)), reading)


def read_chunks(
    path: str, options: Reading, schema: Schema, *, who: str, labelled: bool
) -> Iterator[Chunk]:
    """Chunks of a file of any size, with the columns of a schema."""
    from auctor.tables import open_stream

    return open_stream(
        path,
        options.format,
        label=options.label,
        schema=schema,
        labelled=labelled,
        **_form(options, who),
    )


def _form(options: Reading, who: str) -> dict[str, Any]:
    """How the text of a file is written, as keywords of the readers."""
    return {
        "zero_based": yes_no(who, "zero_based", options.zero_based),
        "header": yes_no(who, "header", options.header),
        "delimiter": options.delimiter,
        "decimal": options.decimal,
    }


def count_unseen(chunks: Iterable[Chunk], unseen: Counter[str]) -> Iterator[Chunk]:
    """Pass chunks on; ``unseen`` counts, by column, rows with a category unknown to the model."""
    for chunk in chunks:
        unseen.update(chunk.unseen or {})
        yield chunk


def check_order(model: Path, data: str, *, who: str) -> None:
    """Refuse a model and a data file in the wrong order; the message says that they are swapped."""
    from auctor.cli.inspect import is_model
    from auctor.core.errors import ParameterError

    if is_model(data) and not is_model(str(model)):
        raise ParameterError(
            who,
            needs="MODEL first, then DATA",
            got=f"{model} and {data}, which look swapped",
            todo=f"Write {who} {data} {model}.",
        )


def yes_no(who: str, option: str, text: str) -> bool | str:
    """The value of an option that takes auto, yes or no: "auto", True or False.

    Examples
    --------
    >>> yes_no("auctor train", "header", "no")
    False
    """
    from auctor.core.checks import check_choice

    check_choice(who, option, text, ("auto", "yes", "no"))
    return text if text == "auto" else text == "yes"
