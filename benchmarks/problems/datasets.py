"""Registry of data sets: ``load(name)`` gives a CSR or dense float64 matrix and y in {-1, +1}.

Files are read from ``$AUCTOR_DATA``, else from ``../shared/data`` beside the repository. A set that
is not there raises `MissingDataSet` with its name; callers report it and go on.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from benchmarks.problems import generated
from benchmarks.problems.generated import Arrays, Matrix


class MissingDataSet(LookupError):
    """The files of a data set are not on this machine."""


@dataclass(frozen=True)
class DataSet:
    """A named binary problem."""

    name: str
    X: Matrix
    y: np.ndarray

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @property
    def density(self) -> float:
        return self.X.nnz / (self.n_rows * self.n_columns) if sp.issparse(self.X) else 1.0

    def facts(self) -> dict[str, object]:
        """Size in numbers, for the results file."""
        return {
            "rows": self.n_rows,
            "columns": self.n_columns,
            "density": float(self.density),
            "positives": int((self.y > 0).sum()),
        }


def data_dir() -> Path | None:
    """Where the real data sets are, or None."""
    named = os.environ.get("AUCTOR_DATA")
    path = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    return path if path.is_dir() else None


def stored(*parts: str) -> Path:
    """Where a file of a stored set is; `MissingDataSet` where it is not."""
    base = data_dir()
    if base is None:
        raise MissingDataSet(f"{parts[0]} needs the data directory; set AUCTOR_DATA.")
    path = base.joinpath(*parts)
    if not path.exists():
        raise MissingDataSet(f"{parts[0]} is missing: no {'/'.join(parts)} in the data directory.")
    return path


def svmlight(*parts: str, features: int | None = None) -> Arrays:
    from sklearn.datasets import load_svmlight_file

    with lzma.open(stored(*parts)) as stream:
        X, y = load_svmlight_file(io.BytesIO(stream.read()), n_features=features)[:2]
    return as_csr(X), y


def as_csr(X: sp.spmatrix | sp.sparray) -> sp.csr_array:
    """Canonical CSR with 32-bit indices, what every solver takes without a copy."""
    X = sp.csr_array(X, dtype=np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=X.shape)


def csv_rows(*parts: str) -> list[list[str]]:
    with lzma.open(stored(*parts), "rt") as stream:
        return [line.strip().split(",") for line in stream if line.strip()]


def keel_rows(stem: str) -> list[list[str]]:
    """The rows of one of the imbalanced KEEL sets, as text, the class last."""
    with tarfile.open(stored("keel-imbalanced", "keel-imbalanced.tar.xz")) as archive:
        content = archive.extractfile(f"keel-imbalanced/{stem}.dat")
        assert content is not None
        lines = content.read().decode().splitlines()
    return [[field.strip() for field in line.split(",")] for line in lines if line.strip()]


def _signs(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)


def standardised(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _binary(*parts: str, positive: float = 1.0, features: int | None = None) -> Arrays:
    X, y = svmlight(*parts, features=features)
    return X, _signs(y == positive)


def _dense(*parts: str, standardise: bool = False) -> Arrays:
    X, y = _binary(*parts)
    dense = X.toarray()
    return (standardised(dense) if standardise else dense), y


def _one_vs_rest(*parts: str, label: int) -> Arrays:
    X, y = svmlight(*parts)
    return X, _signs(y == label)


def _matlab(*parts: str) -> Arrays:
    content = scipy.io.loadmat(stored(*parts))
    X = np.asarray(content["X"], dtype=np.float64)
    label = np.ravel(content["Y"]).astype(float)
    return standardised(X), _signs(label == label.max())


def _bibtex() -> Arrays:
    """The most frequent of the 159 tags against the rest."""
    content = scipy.io.loadmat(stored("bibtex", "bibtex.mat"))
    tags = np.asarray(content["target"]) > 0
    return as_csr(sp.csr_array(content["data"])), _signs(tags[tags.sum(axis=1).argmax()])


def _covtype() -> Arrays:
    table = np.array(csv_rows("covtype-20k", "covtype.20k.data.xz"), dtype=np.float64)
    return standardised(table[:, :-1]), _signs(table[:, -1] == 2)


def _numbers(folder: str, stem: str) -> Arrays:
    """A table of numbers with its labels beside it."""
    with lzma.open(stored(folder, f"{stem}.data.xz")) as stream:
        X = np.loadtxt(stream)
    with lzma.open(stored(folder, f"{stem}.labels.xz")) as stream:
        return X, _signs(np.loadtxt(stream) > 0)


def npz(folder: str, stem: str) -> Arrays:
    with np.load(stored(folder, f"{stem}.npz")) as content:
        return content["X"].astype(np.float64), _signs(content["y"] > 0)


def mnist_test() -> Arrays:
    """The 10,000 test images of MNIST between 0 and 1, and their digits."""
    with gzip.open(stored("mnist-t10k", "t10k-images-idx3-ubyte.gz")) as stream:
        X = np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0
    with gzip.open(stored("mnist-t10k", "t10k-labels-idx1-ubyte.gz")) as stream:
        return X, np.frombuffer(stream.read(), np.uint8, offset=8).astype(np.float64)


def _caravan() -> Arrays:
    table = [line[1:] for line in csv_rows("caravan", "Caravan.csv.xz")[1:]]
    X = np.array([line[:-1] for line in table], dtype=np.float64)
    return X, _signs(np.array([line[-1].strip('"') == "Yes" for line in table]))


def _pima() -> Arrays:
    table = np.array(csv_rows("diabetes", "pima-indians-diabetes.csv.xz"), dtype=np.float64)
    return table[:, :-1], _signs(table[:, -1] == 1)


def _raw(*parts: str, positive: float = 1.0) -> Arrays:
    """A small set as it is stored, dense."""
    X, y = svmlight(*parts)
    return X.toarray(), _signs(y == positive)


def _kdd99(rows: int = 50_000) -> Arrays:
    """Rare attacks (not normal, smurf, neptune) against the rest, every k-th row, one-hot text."""
    lines = csv_rows("kdd99-10pc", "kddcup.data_10_percent.xz")
    lines = lines[:: max(1, len(lines) // rows)]
    table = np.array(lines, dtype=object)
    label = table[:, -1].astype(str)
    text = [1, 2, 3]
    numbers = np.delete(table[:, :-1], text, axis=1).astype(np.float64)
    blocks = [sp.csr_array(np.sign(numbers) * np.log1p(np.abs(numbers)))]
    for column in text:
        values, code = np.unique(table[:, column].astype(str), return_inverse=True)
        ones = (np.ones(len(code)), (np.arange(len(code)), code))
        blocks.append(sp.csr_array(ones, shape=(len(code), len(values))))
    rare = ~np.isin(label, ["normal.", "smurf.", "neptune."])
    return as_csr(sp.hstack(blocks, format="csr")), _signs(rare)


KOIL = {
    "breast-cancer": "breast_cancer",
    "liver": "liver_disorders",
    "satimage": "satimage_sub",
    **{name: name for name in ("heart", "ionosphere", "segment", "sonar", "vehicle", "vowel")},
}
ODDS = ("campaign", "cardio", "internetads", "pageblocks", "wilt", "waveform")
#: Folders that are not called like their set.
FOLDERS = {
    "leukemia": "leukemia-golub",
    "kdd99": "kdd99-10pc",
    "a9a-standardised": "a9a",
    "letter-A": "letter",
    **dict.fromkeys(KOIL, "koil-uci"),
    **dict.fromkeys(ODDS, "odds"),
}

REGISTRY: dict[str, Callable[[], Arrays]] = {
    "a9a": partial(_binary, "a9a", "a9a.xz", features=123),
    "a9a-standardised": partial(_dense, "a9a", "a9a.xz", standardise=True),
    "w8a": partial(_binary, "w8a", "w8a.xz", features=300),
    "ijcnn1": partial(_binary, "ijcnn1", "ijcnn1.xz", features=22),
    "mushrooms": partial(_binary, "mushrooms", "mushrooms.xz", features=112),
    "splice": partial(_binary, "splice", "splice.xz"),
    "svmguide1": partial(_binary, "svmguide1", "svmguide1.xz"),
    "svmguide3": partial(_binary, "svmguide3", "svmguide3.xz"),
    "lasvm-reuters": partial(_binary, "lasvm-reuters", "reuters.trn.xz"),
    # 14 = rec.sport.hockey (or baseball: LABELS.txt says the two may be exchanged)
    "news20": partial(_one_vs_rest, "news20", "news20.xz", label=14),
    "sector": partial(_one_vs_rest, "sector", "sector.scale.xz", label=1),
    "madelon": partial(_matlab, "madelon", "madelon.mat"),
    "colon-cancer": partial(_dense, "colon-cancer", "colon-cancer.xz"),
    "leukemia": partial(_dense, "leukemia-golub", "leukemia-golub.xz", standardise=True),
    "bibtex": _bibtex,
    "covtype-20k": _covtype,
    "kdd99": _kdd99,
    "australian": partial(_raw, "australian", "australian.xz"),
    "diabetes": _pima,
    "fourclass": partial(_raw, "fourclass", "fourclass.xz"),
    "letter-A": partial(_raw, "letter", "letter.scale.xz"),
    "caravan": _caravan,
    "hiva": partial(_numbers, "hiva", "hiva_train"),
    "sylva": partial(_numbers, "sylva", "sylva_train"),
    **{name: partial(_raw, "koil-uci", f"{stem}.xz") for name, stem in KOIL.items()},
    **{name: partial(npz, "odds", name) for name in ODDS},
    "rcv1-like": generated.rcv1_like,
    "dense100k": generated.correlated_dense,
}


@lru_cache(maxsize=3)
def load(name: str) -> DataSet:
    """Read or generate one data set; `MissingDataSet` says which file is absent."""
    X, y = REGISTRY[name]()
    return DataSet(name, X, y)


def present(name: str) -> bool:
    """Whether the files are there, without parsing them."""
    loader = REGISTRY[name]
    if getattr(loader, "__module__", "") == generated.__name__:
        return True
    folder = FOLDERS.get(name, name)
    base = data_dir()
    return base is not None and (base / folder).is_dir()
