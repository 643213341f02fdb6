"""From a table that may be larger than memory to shards of codes, in two passes.

The first pass learns the schema, the words of categories, and what bins are cut by; the second
writes one byte per entry.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, bin_count
from auctor.additive.coding import coding_of
from auctor.additive.columns import LevelBins
from auctor.additive.parameters import AdditiveParameters, read_monotone, read_wishes
from auctor.additive.sample import ValueTable
from auctor.additive.sketch import MOST_WORDS, TableSketch
from auctor.core.errors import DataError, speaks_as
from auctor.core.files import AnyPath
from auctor.core.types import FloatArray
from auctor.data.shard_writer import SHARD_BYTES
from auctor.tables.arrow import dataset_file
from auctor.tables.blocks import Chunk, TableFile
from auctor.tables.check import check_columns, leave_out_unique
from auctor.tables.encode import Encoder
from auctor.tables.formats import TABLES, format_to_read
from auctor.tables.infer import (
    Note,
    first_kinds,
    infer,
    leave_out_empty,
    note_amounts,
    note_dates,
    note_text,
)
from auctor.tables.options import DEFAULTS, ReadOptions
from auctor.tables.schema import KEEP, ColumnSummary, Schema
from auctor.tables.shards import WrittenShards, write_chunks
from auctor.tables.source import Source
from auctor.tables.stats import ColumnStats


@dataclass
class CodedTable:
    """A table, its schema and the bins of its columns, whose shares are summed in a pass.

    Parameters
    ----------
    file : TableFile
    name : str
    schema : Schema
    summary : tuple of ColumnSummary
    bins : Bins
    tables : list of ValueTable
        What the bins were cut by.
    """

    file: TableFile
    name: str
    schema: Schema
    summary: tuple[ColumnSummary, ...]
    bins: Bins
    tables: list[ValueTable]
    counts: FloatArray | None = None

    def chunks(self) -> Iterator[Chunk]:
        """The codes of all rows."""
        encode = Encoder(self.schema, self.file, self.name, keeps_missing=True)
        self.counts = np.zeros((len(self.bins.columns), 256))
        row = 0
        for block in self.file.blocks(encode.kinds):
            if block.labels is None:
                raise DataError("a label column", got="none", todo="Name it.")
            codes = self.bins.encoded(encode(block))
            self.counts += codes.histograms(np.ones(block.n_rows))
            lines = np.ascontiguousarray(codes.codes().T)
            yield Chunk(lines, block.labels, row, self.schema.feature_names)
            row += block.n_rows

    def coding(self) -> dict[str, Any]:
        """The bins with the shares of all rows, and the schema, as plain values."""
        assert self.counts is not None
        shares = self.counts / self.counts[0].sum()
        bins = self.bins.of_all_rows([table.ends for table in self.tables], shares)
        columns = [
            replace(column, share=share[: column.size]) if isinstance(column, LevelBins) else column
            for column, share in zip(bins.columns, shares, strict=True)
        ]
        summary = [
            one._replace(missing=round(count[0])) if one.kind == "category" else one
            for one, count in zip(self.summary, self.counts.tolist(), strict=True)
        ]
        return coding_of(
            Bins(columns), schema=self.schema.to_json(), columns=[list(one) for one in summary]
        )


@speaks_as("convert")
def write_coded(
    source: Any,
    folder: AnyPath,
    reading: ReadOptions = DEFAULTS,
    params: AdditiveParameters | None = None,
    *,
    shard_bytes: int = SHARD_BYTES,
    notes: list[Note] | None = None,
) -> WrittenShards:
    """Write the rows of a table as shards of codes, one byte per entry; no folder if it fails.

    Parameters
    ----------
    source : path
        A file with columns, or a folder of Parquet files. It is read twice, in blocks.
    folder : path
        A new folder.
    reading : ReadOptions
        Missing values stay missing, and categories are levels.
    params : AdditiveParameters, optional
        What is asked of the bins: ``n_bins``, ``cuts``, ``shape`` by names of columns.
    shard_bytes : int
        Approximate size of a shard.
    notes : list of Note, optional
        Remarks on how the table was read are appended to it.
    """
    options = replace(reading, missing=KEEP, categorical="levels")
    remarks = [] if notes is None else notes
    with _opened(source, options) as (file, name):
        table = learn(file, name, options, params or AdditiveParameters(), remarks)
        return write_chunks(table.chunks(), folder, shard_bytes, table.coding)


@contextmanager
def _opened(source: Any, options: ReadOptions) -> Iterator[tuple[TableFile, str]]:
    """A file with columns, or a folder of Parquet files, and its name."""
    if isinstance(source, str | os.PathLike) and os.path.isdir(source):
        yield dataset_file(source, options), os.fspath(source)
        return
    file = Source(source)
    try:
        file.keep()
        found = format_to_read(options.format, file.name)
        opened = TABLES[found](file, options) if found in TABLES else None
        if opened is None or not opened.names:
            raise DataError(
                "a table with columns to make bins of", got=file.name, todo="Pass CSV or Parquet."
            )
        yield opened, file.name
    finally:
        file.close()


def learn(
    file: TableFile, name: str, options: ReadOptions, params: AdditiveParameters, notes: list[Note]
) -> CodedTable:
    """The schema and the bins of a table, from one pass over its rows.

    A column of numbers with text in a later row, and columns that are left out, take a further one.
    """
    kinds = first_kinds(file, options, name)
    sketch, settled = TableSketch(), False
    while not settled:
        sketch = TableSketch()
        for block in file.blocks(kinds, strict=False):
            if not file.non_numeric:
                sketch.add(block)
        for k in file.non_numeric:
            kinds[k] = "category"
        settled = not file.non_numeric and not (
            sketch.stats.rows
            and (
                leave_out_empty(sketch.stats, file, kinds, name, notes)
                or (options.check and _leave_out(sketch, file, kinds, options, notes))
            )
        )
    if not sketch.stats.rows:
        raise DataError("some rows", got=f"none in {name}", todo="Check the file.")
    if options.check:
        sample = sketch.sample()
        found = check_columns(sample, _stats(sketch), file, kinds, sample.labels, options)
        notes += [finding.note for finding in found]
    notes += note_text(sketch.stats, file, kinds, name, options.decimal)
    schema, summary = infer(sketch.stats, file, kinds, options, name)
    notes += note_dates(schema, name) + note_amounts(schema, options) + _note_words(sketch, schema)
    tables = sketch.tables(schema, file, name)
    names, categories = schema.feature_names, schema.numbered_levels
    signs = read_monotone(params.monotone, names, schema.n_features)
    wishes = read_wishes(params, signs, names, categories)
    most = bin_count(sketch.stats.rows, None, params.n_bins)
    bins = Bins.of_tables(tables, most, categories, wishes)
    return CodedTable(file, name, schema, summary, bins, tables)


def _stats(sketch: TableSketch) -> ColumnStats:
    """Statistics of the rows of the sample."""
    stats = ColumnStats()
    stats.add(sketch.sample())
    return stats


def _leave_out(
    sketch: TableSketch, file: TableFile, kinds: list[str], options: ReadOptions, notes: list[Note]
) -> bool:
    return leave_out_unique(_stats(sketch), file, kinds, options, notes)


def _note_words(sketch: TableSketch, schema: Schema) -> list[Note]:
    """A note on columns of text with more words than are counted."""
    texts = [one for one in schema.columns if one.kind == "category"]
    many = [one.name for one in texts if len(one.levels or ()) >= MOST_WORDS]
    if not many:
        return []
    return [
        Note(
            f"counts at most {MOST_WORDS:,} words of a column, and takes rarer ones of "
            f"{', '.join(map(repr, many))} together."
        )
    ]
