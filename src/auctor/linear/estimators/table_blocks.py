"""`TableClassifier` on a file that may be larger than memory: its rows are read in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from auctor.additive.parameters import AdditiveParameters
from auctor.core.errors import DataError, Option, ParameterError
from auctor.core.files import AnyPath
from auctor.data import open_shards
from auctor.linear.coded_shards import write_coded
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.linear.from_model import unfitted
from auctor.linear.shards import curves_of, of_codes
from auctor.linear.table_parameters import TableParameters, model_parameters
from auctor.tables.infer import Note
from auctor.tables.schema import Schema


def fit_blocks(
    params: TableParameters, source: AnyPath, label: Any, facts: Mapping[str, Any]
) -> tuple[MetricClassifier, Schema, list[Note]]:
    """Fit curves to the codes of a table, which are files in a temporary folder.

    Returns the model, the schema of the table, and remarks on how it was read.

    Parameters
    ----------
    params : TableParameters
    source : path
        A file with columns, or a folder of Parquet files.
    label : str
        Name of the label column.
    facts : mapping
        Further arguments of `fit`, which need rows in memory.
    """
    if not isinstance(label, str):
        raise DataError(
            "the name of the label column of a file", got=type(label).__name__, todo="Pass it as y."
        )
    needless = [name for name, value in facts.items() if value is not None]
    if needless:
        raise ParameterError(
            "all rows in memory for {option}",
            got="a file",
            todo="Drop {option}, or pass a table.",
            option=Option(needless[0], bare=True),
        )
    table = curves_of(params)
    made = model_parameters(table)
    assert isinstance(made, AdditiveParameters)
    reading = replace(table.read_options(), label=label, check=True)
    with TemporaryDirectory(prefix="auctor-codes-") as room:
        folder = Path(room, "rows.shards")
        notes: list[Note] = []
        write_coded(source, folder, reading, made, notes=notes)
        data = open_shards(folder, positive=params.pos_label)
        assert data.coding is not None
        schema = Schema.from_json(data.coding["schema"])
        model = unfitted(model_parameters(of_codes(table), schema))
        model.fit(data.unnamed())
    return model, schema, notes
