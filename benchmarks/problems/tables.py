"""Tables as strangers have them: text columns, missing values, numbers in their own units.

Made from the stored sets of `benchmarks.problems.datasets`: codes become words, one-hot columns
become the category they stand for, some entries are blanked with a fixed seed where a set has no
missing values of its own, labels have names, and the rarer class is often the
first in the alphabet.
"""

from __future__ import annotations

import csv
import io
import lzma
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.problems import datasets

#: Rows kept of larger sets, drawn with a fixed seed: keeps a cell at seconds.
ROWS = 20_000
#: Share of the rows that is tested on.
TEST = 0.4
#: Share of the entries of a column that is blanked where the set itself has no missing values.
BLANKED = 0.04
#: Distance of the columns that are blanked: two of three stay complete.
EVERY = 3
#: Units: columns of sets that were scaled before they were stored are multiplied by these in turn.
UNITS = (1.0, 1e3, 1e-3, 40.0, 1e5, 0.1)


@dataclass(frozen=True)
class Table:
    """Rows as text, with the column to predict."""

    name: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    label: str
    labels: np.ndarray

    @property
    def rare(self) -> str:
        """The rarer label."""
        names, counts = np.unique(self.labels, return_counts=True)
        return str(names[int(np.argmin(counts))])

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and to test on, the same share of both classes; a fixed seed."""
        rng, held = np.random.default_rng(1), np.zeros(len(self.labels), dtype=bool)
        for name in np.unique(self.labels):
            of = np.flatnonzero(self.labels == name)
            held[rng.permutation(of)[: max(1, round(TEST * of.size))]] = True
        return np.flatnonzero(~held), np.flatnonzero(held)

    def write(self, path: Path, index: np.ndarray) -> None:
        """Some rows as a CSV file."""
        with open(path, "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow([*self.columns, self.label])
            out.writerows([*self.rows[k], self.labels[k]] for k in index.tolist())


# --- reading and changing -------------------------------------------------------------------------


def _lines(*parts: str) -> list[list[str]]:
    """The fields of a stored CSV file, without blanks around them."""
    with lzma.open(datasets.stored(*parts), "rt") as stream:
        return [[field.strip() for field in row] for row in csv.reader(stream) if row]


def _drawn(rows: list[list[str]], most: int = ROWS) -> list[list[str]]:
    if len(rows) <= most:
        return rows
    keep = np.sort(np.random.default_rng(0).permutation(len(rows))[:most])
    return [rows[k] for k in keep.tolist()]


def _blank(rows: list[list[str]], first: int = 0) -> None:
    """Blank some entries of every third column, in place."""
    rng = np.random.default_rng(2)
    for column in range(first, len(rows[0]), EVERY):
        for k in np.flatnonzero(rng.random(len(rows)) < BLANKED).tolist():
            rows[k][column] = ""


def _made(
    rows: list[list[str]], label: str, labels: Sequence[str], names: Sequence[str] | None = None
) -> tuple[Sequence[str], list[list[str]], str, Sequence[str]]:
    return names or [f"x{j + 1}" for j in range(len(rows[0]))], rows, label, labels


Made = tuple[Sequence[str], list[list[str]], str, Sequence[str]]


def _numbers(X: np.ndarray, units: Sequence[float] = (1.0,)) -> list[list[str]]:
    scaled = X * np.resize(units, X.shape[1])
    return [[f"{value:.6g}" for value in row] for row in scaled.tolist()]


# --- the tables -----------------------------------------------------------------------------------


def _adult(most: int = ROWS) -> Made:
    names = ("age", "workclass", "fnlwgt", "education", "education_num", "marital_status",
             "occupation", "relationship", "race", "sex", "capital_gain", "capital_loss",
             "hours_per_week", "native_country")  # fmt: skip
    lines = _drawn(_lines("adult", "adult.data.xz"), most)
    rows = [["" if field == "?" else field for field in line[:-1]] for line in lines]
    return _made(rows, "income", [line[-1] for line in lines], names)


def _credit(most: int = ROWS) -> Made:
    """With its ID column, which a stranger leaves in."""
    head, *lines = _lines("credit-default", "UCI_Credit_Card.csv.xz")
    lines = _drawn(lines, most)
    words = {
        "SEX": {"1": "male", "2": "female"},
        "EDUCATION": {"1": "graduate school", "2": "university", "3": "high school"},
        "MARRIAGE": {"1": "married", "2": "single"},
    }
    rows = [
        [words[name].get(field, "other") if name in words else field
         for name, field in zip(head[:-1], line[:-1], strict=True)]
        for line in lines
    ]  # fmt: skip
    _blank(rows, 1)
    return _made(rows, head[-1], [line[-1] for line in lines], head[:-1])


def _caravan() -> Made:
    head, *lines = _lines("caravan", "Caravan.csv.xz")
    rows = [[f"type {line[1]}", *line[2:-1]] for line in lines]
    return _made(rows, "Purchase", [line[-1] for line in lines], head[1:-1])


def _diabetes() -> Made:
    """A zero in five of the columns means that nobody measured it."""
    names = ("pregnancies", "glucose", "pressure", "skin", "insulin", "bmi", "pedigree", "age")
    lines = _lines("diabetes", "pima-indians-diabetes.csv.xz")
    rows = [
        ["" if 1 <= j <= 5 and float(field) == 0.0 else field for j, field in enumerate(line[:-1])]
        for line in lines
    ]
    return _made(rows, "diabetes", [line[-1] for line in lines], names)


def _australian() -> Made:
    data = datasets.load("australian")
    categories = {0, 3, 4, 5, 7, 8, 10, 11}
    rows = [
        [f"{'abcdefghijklmno'[int(value)]}" if j in categories else f"{value:g}"
         for j, value in enumerate(row)]
        for row in data.X.tolist()
    ]  # fmt: skip
    _blank(rows)
    return _made(rows, "decision", ["approved" if y > 0 else "denied" for y in data.y])


def _mushrooms() -> Made:
    """Every row has one of the one-hot columns of each attribute, in their order."""
    data = datasets.load("mushrooms")
    ends = data.X.indptr
    rows = [[f"v{j}" for j in data.X.indices[a:b].tolist()] for a, b in pairwise(ends.tolist())]
    return _made(rows, "class", ["poisonous" if y > 0 else "edible" for y in data.y])


def _covertype() -> Made:
    """Wilderness area and soil type as text; the class of 0.5 % of the rows."""
    path = datasets.stored("covertype-nominal", "covertype_nominal_4vs123567.tar.xz")
    with tarfile.open(path) as archive:
        content = archive.extractfile(archive.getmembers()[0])
        assert content is not None
        text = io.TextIOWrapper(content).read()
    lines = _drawn([line.split(",") for line in text[text.index("@data") :].splitlines()[1:]])
    rows = []
    for line in lines:
        ones = [j for j, field in enumerate(line[:-1]) if field == "1"]
        area = next((j for j in ones if j < 4), 0)
        soil = next((j - 3 for j in ones if j >= 4), 0)
        rows.append([f"area {area + 1}", f"soil {soil}"])
    named = {"1": "cottonwood", "0": "other"}
    return _made(rows, "cover", [named[line[-1]] for line in lines], ("area", "soil"))


def _covtype() -> Made:
    lines = _lines("covtype-20k", "covtype.20k.data.xz")
    rows = [
        [*line[:10], f"area {line[10:14].index('1') + 1}", f"soil {line[14:54].index('1') + 1}"]
        for line in lines
    ]
    _blank(rows)
    return _made(rows, "cover", ["krummholz" if line[-1] == "7" else "other" for line in lines])


def _kdd99() -> Made:
    """Attacks other than the two floods that fill the set."""
    floods = {"smurf.", "neptune."}
    kept = [x for x in _lines("kdd99-10pc", "kddcup.data_10_percent.xz") if x[-1] not in floods]
    lines = _drawn(kept)
    labels = ["normal" if line[-1] == "normal." else "attack" for line in lines]
    return _made([line[:-1] for line in lines], "traffic", labels)


def _elec2(most: int = ROWS) -> Made:
    head, *lines = _lines("elec2", "elec.csv.xz")
    lines = _drawn(lines, most)
    rows = _numbers(np.array([line[:-1] for line in lines], dtype=np.float64), UNITS)
    _blank(rows)
    labels = ["UP" if float(line[-1]) > 0.0 else "DOWN" for line in lines]
    return _made(rows, "price", labels, head[:-1])


def _splice() -> Made:
    data = datasets.load("splice")
    rows = [["ACGT"[int(value) - 1] for value in row] for row in data.X.toarray().tolist()]
    return _made(rows, "place", ["splice site" if y > 0 else "plain" for y in data.y])


def _keel(stem: str, *, blank: bool) -> Made:
    lines = datasets.keel_rows(stem)
    rows = [line[:-1] for line in lines]
    if blank:
        _blank(rows)
    return _made(rows, "Class", [line[-1] for line in lines])


def _odds(stem: str) -> Made:
    data = datasets.load(stem)
    X, y = np.asarray(data.X), data.y
    keep = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
    rows = _numbers(X[keep], UNITS)
    _blank(rows)
    return _made(rows, "state", ["anomaly" if y > 0 else "normal" for y in y[keep]])


TABLES: dict[str, Callable[..., Made]] = {
    "diabetes": _diabetes,
    "australian": _australian,
    "splice": _splice,
    "abalone9-18": partial(_keel, "abalone9-18", blank=True),
    "car-good": partial(_keel, "car-good", blank=False),
    "flare-F": partial(_keel, "flare-F", blank=False),
    "winequality-red-4": partial(_keel, "winequality-red-4", blank=True),
    "cardio": partial(_odds, "cardio"),
    "wilt": partial(_odds, "wilt"),
    "page-blocks0": partial(_keel, "page-blocks0", blank=True),
    "caravan": _caravan,
    "mushrooms": _mushrooms,
    "adult": _adult,
    "credit-default": _credit,
    "elec2": _elec2,
    "covertype-nominal": _covertype,
    "covtype": _covtype,
    "kdd99": _kdd99,
    "campaign": partial(_odds, "campaign"),
    "kr-vs-k-zero-one_vs_draw": partial(_keel, "kr-vs-k-zero-one_vs_draw", blank=False),
    "yeast1": partial(_keel, "yeast1", blank=True),
    "waveform": partial(_odds, "waveform"),
}


def make(name: str, **options: int) -> Table:
    """One of the tables; `datasets.MissingDataSet` where its files are not there."""
    columns, rows, label, labels = TABLES[name](**options)
    return Table(name, tuple(columns), rows, label, np.array([str(x) for x in labels]))
