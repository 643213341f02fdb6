"""How to read a file, from the options of a command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from auctor.cli.parameters import date_patterns

if TYPE_CHECKING:
    from auctor.fit.row_facts import RowFacts
    from auctor.tables import Chunk
    from auctor.tables.lost import Lost
    from auctor.tables.options import ReadOptions


def read_options(ctx: typer.Context, **other: Any) -> ReadOptions:
    """The options of the command that runs which say how to read a file, as values.

    Parameters
    ----------
    ctx : typer.Context
        Of the command. Options that the command does not have keep their defaults.
    other : object
        Values that replace those of the command line, by the names of the fields.
    """
    from auctor.tables.options import ReadOptions

    known = {one.name for one in fields(ReadOptions)}
    values = {name: value for name, value in ctx.params.items() if name in known}
    values["n_threads"] = ctx.params.get("threads")
    for name in ("drop", "as_category", "as_words", "as_number"):  # repeatable options are lists
        values[name] = tuple(values.get(name) or ())
    for name in ("zero_based", "header"):
        values[name] = yes_no(name, values.get(name, "auto"))
    values["date"] = date_patterns(values.get("date"))
    return ReadOptions(**values | other)


def options_for_new_rows(options: ReadOptions) -> list[str]:
    """The options that a later command needs to read new rows written in the same way."""
    from auctor.tables.options import ReadOptions

    usual = ReadOptions()
    shown = {True: "yes", False: "no"}
    return [
        word
        for name in ("header", "delimiter", "decimal")
        if (value := getattr(options, name)) != getattr(usual, name)
        for word in (f"--{name}", shown.get(value, str(value)))
    ]


def row_columns(options: Mapping[str, Any]) -> dict[str, str | None]:
    """Columns that say something about rows, by what they say; costs may be numbers."""
    from auctor.fit.metric import METRICS, second_entry

    names = {name: options.get(name) for name in ("weight", "group", "time", "cost_fp", "cost_fn")}
    metric = str(options.get("metric", ""))
    known = METRICS.get(metric.partition("(")[0].strip())
    per = second_entry(metric, "per")[1] if known is not None and known.second == "per" else None
    return {**names, "per": per}


def without_row_columns(reading: ReadOptions, roles: Mapping[str, str | None]) -> ReadOptions:
    """How to read the columns of the model: without weights, groups and times."""
    aside = [roles.get(role) for role in ("weight", "group", "time", "per")]
    names = [reading.drop] if isinstance(reading.drop, str) else list(reading.drop)
    return replace(reading, drop=(*names, *dict.fromkeys(name for name in aside if name)))


def read_facts(
    path: str, roles: Mapping[str, str | None], reading: ReadOptions, gap: float
) -> RowFacts:
    """Weights, groups, times and costs of the rows of a file."""
    from auctor.fit.row_facts import facts_of_columns, is_number

    costs = [name for role in ("cost_fp", "cost_fn") if (name := roles.get(role))]
    aside = [name for role in ("weight", "group", "time", "per") if (name := roles.get(role))]
    wanted = [*aside, *(name for name in costs if not is_number(name))]
    words = read_text(path, wanted, reading) if wanted else {}
    return facts_of_columns(roles, words, gap)


def read_text(path: str, columns: Iterable[str], options: ReadOptions) -> dict[str, list[str]]:
    """Some columns of a file as text, by name; a missing value is ""."""
    from auctor.tables.gather import columns_as_text

    wanted = list(dict.fromkeys(columns))
    return columns_as_text(path, wanted, options.by_schema(None, labelled=False))


def count_lost(chunks: Iterable[Chunk], lost: dict[str, Lost]) -> Iterator[Chunk]:
    """Pass chunks on; ``lost`` counts, by column, the values that the model cannot use."""
    from auctor.tables.lost import add_lost

    for chunk in chunks:
        add_lost(lost, chunk.lost or {})
        yield chunk


def check_order(command: str, model: Path, data: str) -> None:
    """Refuse a model and a data file in the wrong order; the message says that they are swapped."""
    from auctor.core.errors import ParameterError
    from auctor.saved.describe import is_model

    if is_model(data) and not is_model(str(model)):
        raise ParameterError(
            f"MODEL first, then DATA; got them swapped. Write auctor {command} {data} {model}."
        )


def yes_no(option: str, text: str) -> bool | str:
    """The value of an option that takes auto, yes or no: "auto", True or False.

    Examples
    --------
    >>> yes_no("header", "no")
    False
    """
    from auctor.core.checks import check_choice

    check_choice(option, text, ("auto", "yes", "no"))
    return text if text == "auto" else text == "yes"
