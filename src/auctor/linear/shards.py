"""Training on rows in shards, which stay on the disk: one strength, and a checkpoint to resume."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from auctor.additive.parameters import AdditiveParameters
from auctor.core.errors import Option, ParameterError
from auctor.core.files import AnyPath
from auctor.data import Sharded
from auctor.fit.checkpoint import FREE, Checkpoint
from auctor.fit.parameters import ClassifierParameters, LinearParameters
from auctor.fit.result import ClassifierResult, FitOptions
from auctor.fit.targets import Rows, encode, positive_code
from auctor.fit.train_model import train_model
from auctor.linear.table_parameters import CURVES, TableParameters, model_parameters
from auctor.tables.schema import Schema

#: Parameters that define the problem: a run resumes from a checkpoint only if they are equal.
PROBLEM = (
    "metric",
    "surrogate",
    "penalty",
    "l1_ratio",
    "strength",
    "fit_intercept",
    "standardise",
    "class_weight",
    "pos_label",
)


def shard_parameters(
    table: TableParameters, data: Sharded, *, positive: str | None, scale: bool | None
) -> ClassifierParameters:
    """The parameters of a fit to shards; raises for invalid ones.

    Parameters
    ----------
    table : TableParameters
        "auto" as strength of a linear model is the default number: a search would take many passes
        over the shards. "auto" as model is a linear one.
    positive : str, optional
        The positive class, as text.
    scale : bool, optional
        Whether to standardise the columns; by default only if they are not scaled yet.
    """
    table = replace(table, pos_label=_label(positive, data.labels))
    if data.coding is not None:
        return model_parameters(table, Schema.from_json(data.coding.get("schema")))
    if table.model == "additive":  # its bins need no scaling, and its folds choose the strength
        return model_parameters(table if scale is None else replace(table, standardise=scale))
    if table.strength == "auto":
        table = replace(table, strength=LinearParameters().strength)
    scaled = "auto" if scale is None else scale
    return model_parameters(replace(table, model="linear", standardise=scaled))


def curves_of(table: TableParameters) -> TableParameters:
    """The parameters of curves for a table that is read in blocks; refuses a linear model."""
    if table.model == "linear":
        raise ParameterError(
            "curves for a table that is read in blocks",
            got="{option}",
            todo="Use {option2}, or make shards of the table by auctor convert.",
            option=(Option("model", "linear"), Option("model", "additive")),
        )
    return replace(table, model="additive")


def of_codes(table: TableParameters) -> TableParameters:
    """The parameters without those that decide the bins, for rows that are codes of such bins."""
    return replace(table, n_bins=None, cuts=None, shape=None)


def _label(text: str | None, labels: tuple[Any, Any] | None) -> Any:
    """The label that is written like a text; the labels of shards may be numbers."""
    if text is None or labels is None:
        return text
    by_text = {str(label): label for label in labels}
    if text not in by_text:
        raise ParameterError(
            f"one of the labels {', '.join(by_text)}; got {text}. Correct `pos_label`."
        )
    return by_text[text]


def shard_checkpoint(path: AnyPath, params: ClassifierParameters, data: Sharded) -> Checkpoint:
    """A checkpoint of a fit, which is resumed only for the same rows and the same problem."""
    of_curves = CURVES if isinstance(params, AdditiveParameters) else ()
    names = (*PROBLEM, *of_curves, *FREE)
    parameters = {name: getattr(params, name) for name in names if hasattr(params, name)}
    return Checkpoint(path, data.fingerprint(), parameters)


def train_shards(
    params: ClassifierParameters, data: Sharded, checkpoint: Checkpoint | None = None
) -> ClassifierResult:
    """Fit a classifier to the rows of shards, with their own labels and weights.

    Parameters
    ----------
    params : ClassifierParameters
        From `shard_parameters`.
    data : Sharded
        From `auctor.data.open_shards`, for example.
    checkpoint : Checkpoint, optional
        Saves the best point while the solver runs, and resumes from it.
    """
    weight = data.target.weight
    classes, codes = encode(data.row_labels(), weight)
    positive = positive_code(classes, codes, pos_label=params.pos_label, weight=weight)
    rows = Rows(data, classes, codes, weight, positive=positive)
    saving: AbstractContextManager[object] = nullcontext()
    if checkpoint is not None:
        saving = checkpoint.keeping()
    with saving:
        # A schema has the names of the columns of its table.
        named = data.names is not None and data.coding is None
        names = tuple(map(str, data.names or ())) if named else None
        return train_model(params, rows, FitOptions(names=names, resume=checkpoint))
