"""What the columns of a table hold, and how they become numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import FloatArray
from auctor.data.encode import refuse_missing
from auctor.data.readers.base import Block, TableFile
from auctor.data.readers.columns import listed
from auctor.data.schema import Column, ColumnSummary, Schema
from auctor.kernels.encode import column_facts

CATEGORICAL = ("one_hot", "hash", "refuse")
MISSING = ("refuse", "mean", "median", "zero", "most_frequent")
#: Rules that need all numbers of a column at once.
WHOLE_COLUMN = ("median", "most_frequent")


class Rules(NamedTuple):
    """How to encode columns.

    Parameters
    ----------
    categorical : {"one_hot", "hash", "refuse"}
    buckets : int
    missing : {"refuse", "mean", "median", "zero", "most_frequent"}
    columns : sequence of str, optional
        Those to use; by default all.
    """

    categorical: str = "one_hot"
    buckets: int = 1024
    missing: str = "refuse"
    columns: Sequence[str] | None = None


@dataclass
class Look:
    """What was seen of some columns.

    Parameters
    ----------
    rows : int
    facts : (4, k) array
        Missing values, smallest, largest and mean of the columns of numbers.
    words : list of dict
        How often each word came, for the columns of words.
    """

    rows: int = 0
    facts: FloatArray = field(default_factory=lambda: np.empty((4, 0)))
    words: list[dict[str, int]] = field(default_factory=list)

    def add(self, block: Block) -> None:
        """Look at more rows."""
        facts = column_facts(block.numbers)
        if not self.rows:
            self.facts = facts
            self.words = [{} for _ in block.words]
        else:
            self._merge(facts, block.n_rows)
        for k, known in enumerate(self.words):
            codes = block.codes[:, k]
            counts = np.bincount(codes[codes >= 0], minlength=len(block.words[k])).tolist()
            for word, count in zip(block.words[k], counts, strict=True):
                known[word] = known.get(word, 0) + count
        self.rows += block.n_rows

    def _merge(self, facts: FloatArray, rows: int) -> None:
        before, after = self.rows - self.facts[0], rows - facts[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            old = np.where(before > 0, self.facts[3] * (before / (before + after)), 0.0)
            new = np.where(after > 0, facts[3] * (after / (before + after)), 0.0)
        self.facts = np.array(
            [
                self.facts[0] + facts[0],
                np.fmin(self.facts[1], facts[1]),
                np.fmax(self.facts[2], facts[2]),
                np.where(before + after > 0, old + new, np.nan),
            ]
        )

    def number(self, name: str, k: int) -> ColumnSummary:
        """Summary of a column of numbers."""
        low, high, mean = (None if np.isnan(x) else float(x) for x in self.facts[1:, k])
        return ColumnSummary(name, "number", int(self.facts[0, k]), None, low, high, mean)

    def category(self, name: str, k: int) -> ColumnSummary:
        """Summary of a column of words."""
        missing = self.rows - sum(self.words[k].values())
        return ColumnSummary(name, "category", missing, len(self.words[k]))


def first_kinds(file: TableFile, rules: Rules, name: str, who: str) -> list[str]:
    """How to read each column, as far as the first rows tell."""
    kinds = ["number"] * len(file.names)
    for k in file.word_columns:
        kinds[k] = "category"
    if rules.columns is not None:
        wanted = set(rules.columns)
        absent = [column for column in rules.columns if column not in set(file.names)]
        if absent:
            raise DataError(
                f"{who} needs columns that are in {name}; got {listed(absent)}. Choose among "
                f"{listed(file.names)}."
            )
        kinds = [k if c in wanted else "skip" for c, k in zip(file.names, kinds, strict=True)]
    blocks = file.blocks(kinds, strict=False)
    next(blocks, None)
    for k in file.surprises:
        kinds[k] = "category"
    return kinds


def look_through(file: TableFile, rules: Rules, name: str, who: str) -> tuple[Look, list[str]]:
    """Look at a whole file without keeping its rows."""
    kinds = first_kinds(file, rules, name, who)
    for strict in (False, True):
        look = Look()
        for block in file.blocks(kinds, strict=strict):
            if not file.surprises:
                look.add(block)
        if not file.surprises:
            break
        for k in file.surprises:
            kinds[k] = "category"
    return look, kinds


def infer(
    look: Look,
    file: TableFile,
    kinds: Sequence[str],
    rules: Rules,
    name: str,
    who: str,
    numbers: FloatArray | None = None,
) -> tuple[Schema, tuple[ColumnSummary, ...]]:
    """How columns become numbers, by what they hold; some rules need the ``numbers`` themselves."""
    columns: list[Column] = []
    summary: list[ColumnSummary] = []
    n = c = 0
    for column, kind in zip(file.names, kinds, strict=True):
        if kind == "number":
            values = None if numbers is None else numbers[:, n]
            columns.append(Column(column, kind, _number_fill(look.facts[:, n], rules, values)))
            summary.append(look.number(column, n))
            n += 1
        elif kind == "category":
            columns.append(_category(column, look.words[c], rules))
            summary.append(look.category(column, c))
            c += 1
    if not look.rows or not columns:
        raise DataError(
            f"{who} needs some rows and columns; got {look.rows} rows of {len(columns)} columns "
            f"besides the label in {name}. Check the file."
        )
    words = [column.name for column in columns if column.kind == "category"]
    if words and rules.categorical == "refuse":
        raise DataError(
            f"{who} needs columns of numbers; got text in {listed(words)} of {name}. "
            "Pass categorical='one_hot' or 'hash', or choose other columns."
        )
    refused = {
        facts.name: facts.missing
        for facts, column in zip(summary, columns, strict=True)
        if facts.missing and column.fill is None
    }
    if refused:
        advice = "missing= with a rule, such as 'mean'"
        if rules.missing != "refuse":
            advice = "columns= without those that hold nothing"
        refuse_missing(refused, name, who, advice=advice)
    schema = Schema.of(columns, file.label)
    if not schema.n_features:
        raise DataError(
            f"{who} needs a column that is not empty; got none in {name}. Check the file."
        )
    return schema, tuple(summary)


def _category(name: str, words: dict[str, int], rules: Rules) -> Column:
    fill = "" if rules.missing == "zero" else None
    if words and rules.missing not in ("refuse", "zero"):
        most = max(words.values())
        fill = min(word for word, count in words.items() if count == most)
    if rules.categorical == "hash":
        return Column(name, "category", fill, buckets=rules.buckets)
    return Column(name, "category", fill, tuple(sorted(words)))


def _number_fill(facts: FloatArray, rules: Rules, values: FloatArray | None) -> float | None:
    if rules.missing == "zero":
        return 0.0
    if rules.missing == "refuse" or np.isnan(facts[1]):
        return None
    if rules.missing == "mean":
        fill = float(facts[3])
    else:
        assert values is not None
        known = values[~np.isnan(values)]
        if rules.missing == "median":
            fill = float(np.median(known))
        else:
            found, counts = np.unique(known, return_counts=True)
            fill = float(found[np.argmax(counts)])
    return fill if np.isfinite(fill) else None
