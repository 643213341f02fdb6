"""Check before an export: a schema without hashed categories and columns of free text."""

from __future__ import annotations

from auctor.core.errors import ParameterError
from auctor.tables.schema import Schema


def check_listed(schema: Schema) -> None:
    """Refuse hashed categories and words: other programs do not make these columns alike."""
    texts = [column.name for column in schema.columns if column.words]
    if texts:
        raise ParameterError(
            f"columns of numbers and categories; got the words of {texts[0]!r}. Fit without "
            "`as_words`."
        )
    hashed = [column.name for column in schema.columns if column.buckets]
    if hashed:
        raise ParameterError(
            f"one-hot encoded categories; got hashed categories in {hashed[0]!r}. Fit with "
            "`categorical='one_hot'`."
        )
