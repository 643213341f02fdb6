"""Options from a TOML file: by the names of the options, with a section for each command."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperOption

from auctor.core.errors import ParameterError
from auctor.core.files import check_readable


def use_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a file the defaults of a command; its command line takes precedence."""
    if path is not None and not ctx.resilient_parsing:
        from auctor.cli.app import built

        options = {name: names(command.params) for name, command in built().items()}
        assert ctx.info_name is not None
        ctx.default_map = settings(load(path), ctx.info_name, options, path)
    return path


def load(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    check_readable(path)
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ParameterError(
            "a file it can read", got=f"{path}: {error.strerror or error}", todo="Check the path."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParameterError("TOML", got=f"{path}: {error}", todo="Correct the file.") from error


def names(params: list[Any]) -> dict[str, Any]:
    """The parameters of a command by the names of their options, without leading dashes."""
    params_by_name = {}
    for param in params:
        for name in (param.name, *param.opts):
            if len(name.lstrip("-")) > 1 and name.lstrip("-") not in ("help", "config"):
                params_by_name[plain(name)] = param
    return params_by_name


def plain(name: str) -> str:
    """A name without leading dashes, with dashes for underscores, so that spellings are equal.

    Examples
    --------
    >>> plain("--l1-ratio"), plain("l1_ratio")
    ('l1-ratio', 'l1-ratio')
    """
    return name.lstrip("-").replace("_", "-")


def settings(
    content: Mapping[str, Any], command: str, options: Mapping[str, Mapping[str, Any]], path: Path
) -> dict[str, Any]:
    """Values for a command, by the names of its parameters.

    Entries before the first section hold for every command that has such an option; entries in the
    section of a command take precedence. Names that are not options are refused.

    Parameters
    ----------
    content : mapping
        The parsed file.
    command : str
        The command that runs.
    options : mapping
        The parameters of every command, by name.
    path : Path
        Path of the file, for error messages.
    """
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in content.items() if isinstance(value, dict)}
    _check(sections, options, f"{path}: the section", "sections are commands")
    everything = {name: param for known in options.values() for name, param in known.items()}
    _check(shared, everything, f"{path}:", "entries are options of a command")
    for section, values in sections.items():
        place = f"{path}, section {section}:"
        _check(values, options[section], place, f"entries are options of auctor {section}")
    mine = options[command]
    defaults = {**_known(shared, mine), **_known(sections.get(command, {}), mine)}
    return {param.name: value for param, value in defaults.values()}


def _known(values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The parameters that a command has, with their values; other entries are left out."""
    return {
        options[plain(name)].name: (options[plain(name)], _value(name, value, options[plain(name)]))
        for name, value in values.items()
        if plain(name) in options
    }


def _check(values: Mapping[str, Any], known: Mapping[str, Any], place: str, meaning: str) -> None:
    """Refuse a name that is not known, and suggest the most similar one."""
    for name in values:
        if plain(name) not in {plain(other) for other in known}:
            near = difflib.get_close_matches(plain(name), list(known), n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}?" if near else "Remove it."
            raise ParameterError(f"known names ({meaning})", got=f"{place} {name}", todo=hint)


def _value(name: str, value: Any, param: Any) -> Any:
    """A value as the command line would have it: text, a list of texts, or a bool for a flag."""
    option = isinstance(param, TyperOption)
    flag = option and bool(param.is_flag)
    several = param.multiple if option else param.nargs == -1
    if flag and isinstance(value, bool):
        return value
    if several and isinstance(value, list) and all(map(_scalar, value)):
        return [str(item) for item in value]
    if not flag and not several and _scalar(value):
        return str(value)
    wanted = "true or false" if flag else "a list" if several else "a number or text"
    raise ParameterError(f"{name} to be {wanted}", got=repr(value), todo="Correct the file.")


def _scalar(value: Any) -> bool:
    """Whether a value is text or a number."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)
