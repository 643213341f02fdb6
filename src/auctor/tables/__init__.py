"""Tables: reading, schema, encoding and writing."""

from auctor.tables.blocks import Chunk
from auctor.tables.options import ReadOptions
from auctor.tables.read import Table, read_table
from auctor.tables.schema import Column, Schema
from auctor.tables.shards import write_shards
from auctor.tables.stream import open_stream
from auctor.tables.svmlight_matrix import read_svmlight
from auctor.tables.write import write_table

__all__ = [
    "Chunk",
    "Column",
    "ReadOptions",
    "Schema",
    "Table",
    "open_stream",
    "read_svmlight",
    "read_table",
    "write_shards",
    "write_table",
]
