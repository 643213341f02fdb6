"""Check before an export: a schema without hashed categories."""

from __future__ import annotations

from auctor.core.errors import Option, ParameterError
from auctor.tables.schema import Schema


def check_listed(schema: Schema) -> None:
    """Refuse hashed categories: other programs do not have the hash function."""
    hashed = [column.name for column in schema.columns if column.buckets]
    if hashed:
        raise ParameterError(
            "one-hot encoded categories",
            got=f"hashed categories in {hashed[0]!r}",
            todo="Fit with {option}.",
            option=Option("categorical", "one_hot"),
        )
