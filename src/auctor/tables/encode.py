"""Encoding of blocks of a table as rows of a matrix, by a schema."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import DataError, Option
from auctor.core.memory import check_memory
from auctor.core.types import Array, FloatArray
from auctor.data.matrices import join_compressed
from auctor.kernels.text.encode import column_facts, count_entries, encode_rows, hash_bytes
from auctor.tables.amounts import all_amounts
from auctor.tables.blocks import INT32_MAX, Block, TableFile
from auctor.tables.columns import listed
from auctor.tables.dates import all_days
from auctor.tables.lost import Lost, add_lost, refuse_lost
from auctor.tables.options import IN_PARTS, reading_option
from auctor.tables.schema import KEEP, Column, Schema
from auctor.tables.words import word_table


def bucket(word: str, buckets: int) -> int:
    """Bucket of a category: the hash of its UTF-8 bytes (`hash_bytes`) modulo ``buckets``.

    It is the same in every process and on every machine.

    Examples
    --------
    >>> [bucket(word, 1024) for word in ("red", "green", "")]
    [5, 149, 961]
    """
    text = np.frombuffer(word.encode(), np.uint8)
    return int(hash_bytes(text, 0, text.size)) % buckets


class Encoder:
    """Turns blocks of one file into rows of a matrix.

    Columns are matched by name, in any order; columns that the schema does not have are ignored. In
    a file without names they are matched by position. ``kinds`` says how to read each column of the
    file.

    Parameters
    ----------
    name : str
        Name of the file, for error messages.
    keeps_missing : bool
        Whether numbers without a fill in the schema stay missing, instead of being refused.
    refuses : bool
        Whether text that is no date or amount is refused, instead of being counted as missing.

    Attributes
    ----------
    lost : dict
        Counts of the values that the schema cannot use, for each column of text.
    """

    def __init__(
        self,
        schema: Schema,
        file: TableFile,
        name: str,
        *,
        keeps_missing: bool = False,
        refuses: bool = False,
    ) -> None:
        self.schema, self.name = schema, name
        self.keeps_missing, self.refuses = keeps_missing, refuses
        self.columns = schema.columns or tuple(Column(name, "number") for name in file.names)
        where = self._places(file)
        self.kinds = ["skip"] * len(file.names)
        for column, place in zip(self.columns, where, strict=True):
            self.kinds[place] = "number" if column.kind == "number" else "category"
        numbers = _numbered(self.kinds, "number")
        categories = _numbered(self.kinds, "category")
        self.text_numbers: list[tuple[int, Column]] = []  # dates and amounts, by place in codes
        self.lost: dict[str, Lost] = {}
        # The place of each column: k >= 0 in the numbers of a block, behind which dates and amounts
        # are appended; -1 - k in its codes.
        places = []
        for column, place in zip(self.columns, where, strict=True):
            if column.kind in ("date", "amount"):
                places.append(len(numbers) + len(self.text_numbers))
                self.text_numbers.append((categories[place], column))
            elif column.kind == "number":
                places.append(numbers[place])
            else:
                places.append(-1 - categories[place])
        self.places = np.array(places, dtype=np.int64)
        widths = [column.width for column in self.columns]
        self.offsets = np.concatenate([[0], np.cumsum(widths)])[:-1].astype(np.int64)
        self.levels = [
            {level: int(offset) + k for k, level in enumerate(column.levels or ())}
            for column, offset in zip(self.columns, self.offsets, strict=True)
        ]
        self.words = [  # columns of free text: their place in the codes, the column, its offset
            (-1 - int(self.places[j]), column, int(self.offsets[j]))
            for j, column in enumerate(self.columns)
            if column.words
        ]
        self.plain = not categories and np.array_equal(self.places, np.arange(len(numbers)))

    def __call__(self, block: Block) -> Any:
        """Rows of the matrix; missing numbers of the block are filled in place."""
        block = self.with_dates(block)
        self._fill(block)
        if self.plain:  # all columns are numbers, in the order of the schema
            return block.numbers
        features = self._features(block)
        n, d = block.n_rows, self.schema.n_features
        if self.schema.is_sparse:
            return self._compressed(block, features)
        check_memory(8 * n * d, f"{n:,} rows of {d:,} columns", todo=IN_PARTS)
        matrix = np.zeros((n, d))
        rows = np.arange(n)
        numbered = {at: len(levels) for at, levels in self.schema.numbered_levels.items()}
        for place, offset in zip(self.places.tolist(), self.offsets.tolist(), strict=True):
            if place >= 0:
                matrix[:, offset] = block.numbers[:, place]
            else:
                code_column = features[:, -1 - place]
                known = code_column >= 0
                if offset in numbered:
                    matrix[:, offset] = np.where(known, code_column - offset, numbered[offset])
                    matrix[code_column == -1, offset] = np.nan
                else:
                    matrix[rows[known], code_column[known]] = 1.0
        for k, column, offset in self.words:
            table = word_table(column.levels or (), block.words[k])
            matrix[:, offset : offset + column.width] = table[block.codes[:, k]]
        return matrix

    def with_dates(self, block: Block) -> Block:
        """The block with dates and amounts appended to its numbers; other text becomes NaN."""
        if not self.text_numbers:
            return block
        columns = []
        for k, column in self.text_numbers:
            values = numbers_in(column, block.words[k])
            self._count(column, block, k, np.isnan(values))
            columns.append(np.append(values, np.nan)[block.codes[:, k]])
        # Without a fill an unreadable value would be reported as a missing one.
        refused = {
            column.name
            for _, column in self.text_numbers
            if self.refuses or (column.fill is None and not self.keeps_missing)
        }
        bad = {name: one for name, one in self.lost.items() if name in refused}
        refuse_lost(bad, self.name)
        return block._replace(numbers=np.column_stack([block.numbers, *columns]))

    def _count(self, column: Column, block: Block, k: int, bad: Array) -> None:
        """Count the rows whose word in the k-th column of text the schema cannot use."""
        codes, words = block.codes[:, k], block.words[k]
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        wrong = np.where(bad, counts, 0)
        rows = int(wrong.sum())
        example = words[int(wrong.argmax())] if rows else ""
        add_lost(self.lost, {column.name: Lost(column, rows, int(counts.sum()), example)})

    def _compressed(self, block: Block, features: Array) -> Any:
        """The rows as a CSR matrix, without explicit zeros."""
        n, d = block.n_rows, self.schema.n_features
        matrix = compressed(block.numbers, features, self.places, self.offsets, d)
        for k, column, offset in self.words:
            row, word = np.nonzero(
                word_table(column.levels or (), block.words[k])[block.codes[:, k]]
            )
            ends = np.searchsorted(row, np.arange(n + 1)).astype(matrix.indptr.dtype)
            matrix = matrix + join_compressed(np.ones(row.size), word + offset, ends, (n, d))
        matrix.has_canonical_format = True
        return matrix

    def _features(self, block: Block) -> Array:
        """Column of the matrix for each category of each row, below 0 for none; shape (n, c).

        Of numbered categories, the column plus the number; -1 for missing ones, -2 for others.
        """
        features = np.full(block.codes.shape, -1, np.int64)
        for j in np.flatnonzero(self.places < 0).tolist():
            k = -1 - int(self.places[j])
            column, offset = self.columns[j], int(self.offsets[j])
            if column.words:  # any number of levels in a row
                continue
            # The last entry of ``columns_of_words`` is for the code -1: the fill, or no category.
            words = [*block.words[k], *([column.fill] if column.fill else [])]
            if column.buckets:
                columns_of_words = [offset + bucket(str(word), column.buckets) for word in words]
            else:
                columns_of_words = [self.levels[j].get(str(word), -1) for word in words]
            self._count(column, block, k, np.array(columns_of_words[: len(block.words[k])]) < 0)
            if column.numbered:  # a level that is not known is not a missing one
                columns_of_words = [-2 if at < 0 else at for at in columns_of_words]
            if not column.fill:
                columns_of_words.append(-1)
            features[:, k] = np.array(columns_of_words, dtype=np.int64)[block.codes[:, k]]
        return features

    def _fill(self, block: Block) -> None:
        """Fill missing numbers in place; refuses missing values of columns without a fill."""
        missing = column_facts(block.numbers)[0]
        refused: dict[str, int] = {}
        for column, place in zip(self.columns, self.places.tolist(), strict=True):
            if place >= 0:
                count = int(missing[place])
                if count and column.fill not in (None, KEEP):
                    values = block.numbers[:, place]
                    values[np.isnan(values)] = column.fill
            else:
                count = 0
                if column.fill is None:
                    count = int((block.codes[:, -1 - place] < 0).sum())
            if count and column.fill is None:
                refused[column.name] = count
        if refused and not self.keeps_missing:
            advice = "Fill or drop them first, or train with {option}."
            option = reading_option("missing", "mean")
            refuse_missing(refused, self.name, advice=advice, option=option)

    def _places(self, file: TableFile) -> list[int]:
        """Position in the file of each column of the schema."""
        wanted = [column.name for column in self.columns]
        places = {name: k for k, name in enumerate(file.names)}
        absent = [name for name in wanted if name not in places]
        by_position = not file.named or not self.schema.columns
        width = len(wanted) if self.schema.columns else self.schema.n_features
        if by_position and len(file.names) == width:
            return list(range(width))
        if not self.schema.columns:
            raise DataError(
                f"{width} columns of numbers; got {len(file.names)} in {self.name}. Pass the "
                "columns that the model was trained on."
            )
        if absent:
            raise DataError(
                f"the columns that the model was trained on; got none named {listed(absent, 20)} "
                f"in {self.name}. Add the missing columns, or rename them."
            )
        return [places[name] for name in wanted]


def compressed(numbers: FloatArray, features: Array, places: Array, offsets: Array, d: int) -> Any:
    """Rows of numbers and of columns of ones as a CSR matrix of d columns, without zeros.

    Each column is at ``places`` k >= 0 of the numbers, and goes to its place in ``offsets``, or it
    is column -1 - k of ``features``: the columns of the matrix that have a one, below 0 for none.
    """
    n = numbers.shape[0]
    entries = count_entries(numbers, features, places)
    kind = np.int32 if max(d, entries) <= INT32_MAX else np.int64
    indptr, indices = np.empty(n + 1, kind), np.empty(entries, kind)
    values = np.empty(entries)
    encode_rows(numbers, features, places, offsets, indptr, indices, values)
    matrix = join_compressed(values, indices, indptr, (n, d))
    matrix.has_canonical_format = True
    return matrix


def numbers_in(column: Column, words: list[str]) -> FloatArray:
    """Dates in days or amounts as numbers, by the kind of the column; NaN for other words."""
    if column.kind == "date":
        return all_days(words, column.pattern)
    return all_amounts(words, column.pattern or ".")


def _numbered(kinds: list[str], kind: str) -> dict[int, int]:
    """The columns of a kind: their rank among the columns of that kind, by position."""
    places = [k for k, one in enumerate(kinds) if one == kind]
    return {place: k for k, place in enumerate(places)}


def refuse_missing(counts: dict[str, int], name: str, *, advice: str, option: str | Option) -> None:
    """Refuse missing values; the message names the columns, with counts."""
    parts = [f"{count} missing in {column!r}" for column, count in counts.items()]
    got = f"{listed(parts, 5)} of {name}"
    raise DataError("a value in every row", got=got, todo=advice, option=option)


def fit_width(matrix: Any, n_features: int) -> Any:
    """A CSR matrix cut or widened to ``n_features`` columns; new columns are zero."""
    n, d = matrix.shape
    if d > n_features:
        return matrix[:, :n_features]
    if d < n_features:
        wider = join_compressed(matrix.data, matrix.indices, matrix.indptr, (n, n_features))
        wider.has_canonical_format = matrix.has_canonical_format
        return wider
    return matrix


def one_hot_schema(schema: Schema, matrix: Any) -> Schema:
    """The schema with a column of zeros and ones for each level, and medians for missing numbers.

    ``matrix`` has the training rows, of which the medians are taken.

    Examples
    --------
    >>> columns = [
    ...     Column("a", "number", KEEP),
    ...     Column("b", "category", "", ("u", "v"), numbered=True),
    ... ]
    >>> rows = np.array([[1.0, 0.0], [3.0, np.nan], [np.nan, 1.0]])
    >>> plain = one_hot_schema(Schema.of(columns, None), rows)
    >>> plain.feature_names, plain.columns[0].fill
    (('a', 'b=u', 'b=v'), 2.0)
    """
    return Schema.of((_plain(*pair, matrix) for pair in schema.places), schema.label)


def one_hot_rows(schema: Schema, plain: Schema, matrix: Any) -> Any:
    """Rows of a schema as those of `one_hot_schema`; the same matrix where nothing differs.

    Examples
    --------
    >>> columns = [
    ...     Column("a", "number", KEEP),
    ...     Column("b", "category", "", ("u", "v"), numbered=True),
    ... ]
    >>> rows = np.array([[1.0, 0.0], [3.0, np.nan], [np.nan, 1.0]])
    >>> schema = Schema.of(columns, None)
    >>> one_hot_rows(schema, one_hot_schema(schema, rows), rows).tolist()
    [[1.0, 1.0, 0.0], [3.0, 0.0, 0.0], [2.0, 0.0, 1.0]]
    """
    gaps = any(column.fill == KEEP for column in schema.columns)
    if not schema.numbered_levels and not (gaps and np.isnan(matrix.sum())):
        return matrix
    numbers: list[Any] = []
    ones: list[Any] = []
    places, offsets = [], []
    for (column, place), (made, goal) in zip(schema.places, plain.places, strict=True):
        if column.numbered:
            codes = matrix[:, place.start]
            known = codes < len(column.levels or ())  # neither missing nor an unknown level
            ones.append(np.where(known, codes + goal.start, -1.0))
            places.append(-len(ones))
            offsets.append(goal.start)
            continue
        for k in range(column.width):  # several columns of the words of a text
            values = matrix[:, place.start + k]
            gap = np.isnan(values) if column.fill == KEEP else np.zeros(0, dtype=bool)
            numbers.append(np.where(gap, made.fill, values) if gap.any() else values)
            places.append(len(numbers) - 1)
            offsets.append(goal.start + k)
    n = matrix.shape[0]
    wide = np.column_stack(numbers) if numbers else np.empty((n, 0))
    features = np.column_stack(ones).astype(np.int64) if ones else np.empty((n, 0), np.int64)
    if plain.is_sparse:
        where = np.array(places), np.array(offsets)
        return compressed(np.ascontiguousarray(wide), features, *where, plain.n_features)
    out = np.zeros((n, plain.n_features))
    for at, offset in zip(places, offsets, strict=True):
        if at >= 0:
            out[:, offset] = wide[:, at]
    row, which = np.nonzero(features >= 0)
    out[row, features[row, which]] = 1.0
    return out


def _plain(column: Column, place: slice, matrix: Any) -> Column:
    """A column without numbers of levels and without missing values."""
    if column.numbered:
        return column._replace(numbered=None)
    if column.fill != KEEP:
        return column
    values = matrix[:, place.start]
    known = values[~np.isnan(values)]
    return column._replace(fill=float(np.median(known)) if known.size else 0.0)
