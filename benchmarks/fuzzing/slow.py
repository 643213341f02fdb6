"""Plain parsers of svmlight and CSV text, written apart from the fast ones, to compare with."""

from __future__ import annotations

import csv as parser
import io
import math
import re

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
LABELS = ("label", "target", "y", "class")


class Refused(Exception):
    """The text is not well-formed."""


def number(token: bytes) -> float | None:
    """The decimal number that a token spells."""
    if not re.fullmatch(
        rb"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan)", token, re.IGNORECASE
    ):
        return None
    return float(token)


def svmlight(data: bytes) -> tuple[list[float], list[dict[int, float]], int]:
    """Labels, rows as dictionaries, and where indices start."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    bodies = [line.split(b"#")[0] for line in data.split(b"\n")]
    first = 1
    for body in bodies:
        for token in re.split(rb"[ \t]", body)[1:]:
            before, colon, _ = token.partition(b":")
            if colon and re.fullmatch(rb"0+", before):
                first = 0
    labels, rows = [], []
    for body in bodies:
        if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", body):
            raise Refused("a control character")
        tokens = [token for token in re.split(rb"[ \t\r]", body) if token]
        if not tokens:
            continue
        label = number(tokens[0])
        if label is None:
            raise Refused("a label")
        entries = tokens[1:]
        if entries and entries[0].startswith(b"qid:"):
            if not re.fullmatch(rb"qid:\d+", entries[0]):
                raise Refused("a query")
            entries = entries[1:]
        row: dict[int, float] = {}
        for entry in entries:
            parts = re.fullmatch(rb"(\d+):(.+)", entry)
            value = number(parts[2]) if parts else None
            if parts is None or value is None or len(parts[1]) > 18:
                raise Refused("an entry")
            index = int(parts[1]) - first
            if index < 0 or index in row:
                raise Refused("an index")
            row[index] = value
        labels.append(label)
        rows.append(row)
    if not rows:
        raise Refused("no rows")
    return labels, rows, first


def meaning(word: str) -> float | None:
    """A number, NaN for missing, None for text."""
    small = word.lower()
    if small in MISSING:
        return math.nan
    if small in ("true", "false"):
        return float(small == "true")
    return number(word.encode())


class Columns:
    """What a CSV file holds: names, columns of words, and the words of the label."""

    def __init__(self, names: list[str], columns: list[list[str]], labels: list[str]) -> None:
        self.names, self.columns, self.labels = names, columns, labels


def csv(data: bytes, delimiter: str | None) -> Columns:
    """A table with a header if its first line looks like one."""
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        raise Refused("no UTF-8") from error
    if "\0" in text:
        raise Refused("a zero byte")
    text = re.sub(r"\A([ \t]*(\r\n?|\n))+", "", text)
    if not text.strip(" \t"):
        raise Refused("no rows")
    if delimiter is None:
        line = re.split(r"[\r\n]", text, maxsplit=1)[0]
        counts = [line.count(c) for c in ",\t;"]
        delimiter = ",\t;"[counts.index(max(counts))]
    # A last record of our own shows whether all quotes before it are closed.
    found = list(parser.reader(io.StringIO(text + "\nend", newline=""), delimiter=delimiter))
    if found.pop() != ["end"]:
        raise Refused("an open quote")
    blank = [not record or (record[0] and not "".join(record).strip(" \t")) for record in found]
    records = [[word.strip() for word in r] for r, b in zip(found, blank, strict=True) if not b]
    if not records:
        raise Refused("no rows")
    head = records.pop(0)
    usual = any(name in head for name in LABELS)
    numeric = any((f and f.lower() in MISSING) or number(f.encode()) is not None for f in head)
    if not usual and numeric:
        raise Refused("no header, and no label column")
    names = [name or f"column_{k}" for k, name in enumerate(head, 1)]
    if len(set(names)) < len(names) or len(names) < 2:
        raise Refused("names")
    label = next((name for name in LABELS if name in names), None)
    if label is None:
        raise Refused("no label column")
    if not records or any(len(row) != len(names) for row in records):
        raise Refused("ragged rows, or none")
    at = names.index(label)
    columns = [[row[k] for row in records] for k in range(len(names)) if k != at]
    del names[at]
    labels = [row[at] for row in records]
    kinds = {meaning(word) is None for word in labels}
    missing = any(math.isnan(meaning(word) or 0.0) for word in labels)
    if len(kinds) > 1 or missing:
        raise Refused("labels")
    return Columns(names, columns, labels)
