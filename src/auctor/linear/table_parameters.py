"""The parameters of a model of a raw table, and those of the model of its encoded columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from auctor.additive.parameters import AdditiveParameters, column_number, read_monotone, read_pairs
from auctor.core.errors import Option, ParameterError
from auctor.fit.parameters import ClassifierParameters, SearchParameters, parameters_of
from auctor.fit.registry import known
from auctor.fit.train_model import check_params
from auctor.linear.choose import AutoParameters
from auctor.tables.options import DEFAULTS, OF_TABLES, ReadOptions
from auctor.tables.schema import KEEP, Schema

#: Parameters that only additive models have.
CURVES = ("n_bins", "monotone", "shape", "cuts", "interactions", "exclude", "members")
#: Parameters that say how a linear model is fitted.
LINEAR_ONLY = (
    "surrogate", "penalty", "strength", "l1_ratio", "n_strengths", "solver", "fit_intercept",
    "standardise", "threshold_cv", "warm_start",
)  # fmt: skip
_READING = Option("reading", bare=True)


@dataclass(eq=False, repr=False, kw_only=True)
class TableParameters(ClassifierParameters):
    """Parameters of `TableClassifier`."""

    model: str = "auto"
    n_bins: int | None = None
    monotone: Any = None
    shape: Any = None
    cuts: Any = None
    interactions: Any = "auto"
    exclude: Any = None
    members: int = 8
    strength: Any = "auto"
    n_strengths: int | None = None
    cv: Any = 5
    rule: str = "best"
    reading: ReadOptions | None = None

    @property
    def kind_of_model(self) -> str:
        """The ``model``; "auto" is "linear" or "additive" where only that has a parameter given."""
        if self.model != "auto":
            return self.model
        usual = TableParameters()
        for kind, names in (("linear", LINEAR_ONLY), ("additive", CURVES)):
            if any(_differ(getattr(self, name), getattr(usual, name)) for name in names):
                return kind
        reading = self.reading if isinstance(self.reading, ReadOptions) else DEFAULTS
        return "auto" if reading.categorical in ("auto", "levels") else "linear"

    def read_options(self) -> ReadOptions:
        """How to read the table: additive models keep missing values, and categories as levels."""
        reading = DEFAULTS if self.reading is None else self.reading
        if not isinstance(reading, ReadOptions):
            raise ParameterError(
                f"{{option}} to be ReadOptions; got {reading!r}. Pass one.", option=_READING
            )
        others = [name for name in reading.changed() if name not in OF_TABLES]
        if others:
            raise ParameterError(
                f"{{option}} without what only files have ({', '.join(others)}); got {reading!r}. "
                "Drop them: the table says what it is.",
                option=_READING,
            )
        rule = reading.missing or "auto"
        if self.kind_of_model == "linear":
            return replace(reading, missing=rule)
        ways = "levels" if reading.categorical == "auto" else reading.categorical
        return replace(reading, missing=KEEP if rule == "auto" else rule, categorical=ways)


def linear(table: TableParameters) -> ClassifierParameters:
    """Parameters of a linear model; of a search for the strength if that is "auto"."""
    for name in CURVES:
        if getattr(table, name) != getattr(TableParameters, name):
            options = Option(name, bare=True), Option("model", "linear")
            raise _needs_additive(
                "an additive model for {option2}", "{option2} with {option3}", *options
            )
    if table.read_options().categorical == "levels":
        needs, got = "columns of zeros and ones for a linear model", Option("categorical", "levels")
        raise _needs_additive(needs, "{option2}", got)
    if table.read_options().missing == KEEP:
        needs, got = "values in every row for a linear model", Option("missing", KEEP)
        raise _needs_additive(needs, "{option2}", got)
    params = vars(parameters_of(ClassifierParameters, table))
    strength = params.pop("strength")
    if isinstance(strength, str) and strength == "auto":
        if table.penalty != "none":
            search = {"n_strengths": table.n_strengths, "cv": table.cv, "rule": table.rule}
            return SearchParameters(**params, **search)
        strength = 0.0
    return ClassifierParameters(**params, strength=strength)


def additive(table: TableParameters) -> ClassifierParameters:
    """Parameters of an additive model; a default ``penalty`` becomes the default of curves."""
    params = vars(parameters_of(ClassifierParameters, table))
    for name in ("l1_ratio", "standardise"):
        value = params.pop(name)
        if value not in (None, False, getattr(ClassifierParameters, name)):
            raise ParameterError(
                "the default {option2} for an additive model, whose bins need no scaling; got "
                "{option3}. Drop it, or use {option}.",
                option=(Option("model", "linear"), name, Option(name, value)),
            )
    params |= {name: getattr(table, name) for name in CURVES}
    # Defaults of linear models become those of additive models.
    del params["threshold_cv"]
    if params["penalty"] == ClassifierParameters().penalty:
        params["penalty"] = AdditiveParameters().penalty
    if table.n_strengths is not None:
        params["n_strengths"] = table.n_strengths
    return AdditiveParameters(**params, cv=table.cv, rule=table.rule)


def _needs_additive(needs: str, got: str, *options: Option) -> ParameterError:
    """The error for a parameter that only additive models have."""
    return ParameterError(
        needs,
        got=got,
        todo="Use {option}, or drop {option2}.",
        option=(Option("model", "additive"), *options),
    )


def auto(table: TableParameters) -> ClassifierParameters:
    """Parameters of the kinds of models that compete; of one of them if others cannot have them."""
    if table.kind_of_model != "auto":
        return MODELS[table.kind_of_model](table)
    search = linear(replace(table, model="linear", reading=None))
    assert isinstance(search, SearchParameters)
    curves = additive(replace(table, model="additive"))
    named = {one.name: getattr(curves, one.name) for one in fields(curves) if one.init}
    return AutoParameters(**named, linear=search)


def _differ(value: Any, usual: Any) -> bool:
    """Whether a parameter is not its default; arrays and objects are not."""
    return type(value) is not type(usual) or bool(value != usual)


#: Models by name: functions from parameters of a table to those of a model of encoded columns.
MODELS: dict[str, Callable[[TableParameters], ClassifierParameters]] = {
    "auto": auto,
    "linear": linear,
    "additive": additive,
}


def model_parameters(table: TableParameters, schema: Schema | None = None) -> ClassifierParameters:
    """The parameters of the model of the encoded columns; raises for invalid ones.

    With a schema, the columns that ``monotone``, ``shape``, ``cuts``, ``interactions`` and
    ``exclude`` name become numbers of encoded columns, and its levels are categories of an additive
    model.

    Examples
    --------
    >>> model_parameters(TableParameters("f1", strength=0.1)).strength
    0.1
    """
    make = MODELS[known("model", table.model, MODELS)]
    if isinstance(table.strength, str) and table.strength != "auto":
        raise ParameterError(
            f"`strength` to be a number or 'auto'; got {table.strength!r}. Pass one of these."
        )
    made = make(table)
    check_params(made)
    if schema is not None and isinstance(made, AdditiveParameters):
        if made.monotone is not None:
            signs = read_monotone(made.monotone, schema.feature_names, schema.n_features)
            made = replace(made, monotone={int(j): int(signs[j]) for j in np.flatnonzero(signs)})
        names, width = schema.feature_names, schema.n_features
        numbered: dict[str, Any] = {}
        for what in ("interactions", "exclude"):
            if isinstance(pairs := getattr(made, what), list | tuple):
                numbered[what] = read_pairs(what, pairs, names, width)
        for what in ("shape", "cuts"):
            if isinstance(wanted := getattr(made, what), Mapping):
                numbered[what] = {
                    column_number(what, key, names, width): wanted[key] for key in wanted
                }
        made = replace(made, **numbered)
        made = replace(made, categorical=schema.numbered_levels or "auto")
    return made
