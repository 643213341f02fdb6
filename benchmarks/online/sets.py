"""Data sets of the thesis on fast AUC maximisation that are here, and what it printed for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.problems import datasets
from benchmarks.problems.generated import Arrays

#: Columns of `PRINTED`: method and the chapter whose table it is from.
COLUMNS = (
    "regSOLAM 3", "regSOLAM 4", "regSOLAM 6", "SPAM-L2 4", "SPAM-NET 4", "SPAM-L2 6", "SPDAM 5",
    "SPDAM 6", "OPAUC 3", "OAM_seq 3", "OAM_gra 3", "B-SVM-OR 3", "B-LS-SVM 3",
)  # fmt: skip
#: AUC and standard deviation, in units of 1e-4. Chapter 6 does not say which SPAM it ran; where it
#: can be told it is SPAM-L2.
PRINTED = """
diabetes   8140±330 8128±304 8178±309 8272±277 8085±431 8269±339 8275±302 8287±311 8309±350 8264±367 8262±338 8326±328 8325±329
fourclass  8222±276 8213±209 8212±209 8210±203 8211±205 8214±214 8223±275 8217±205 8310±251 8306±247 8295±251 8305±311 8309±309
splice     9237±90 9246±87 9100±155 9263±91 9267±90 9173±143 9227±128 9243±125 9232±99 8594±194 8864±166 9239±89 9245±92
usps       9848±21 9822±36 9690±33 9868±32 9855±29 9775±32 9854±19 9791±33 9620±40 9310±159 9348±122 9630±47 9634±45
a9a        8970±48 8966±43 8951±46 8998±46 8980±47 8995±41 8967±32 8969±48 9002±47 8420±174 8571±173 9009±36 8982±28
mnist      9599±14 9118±29 9267±93 9254±25 9132±26 9467±67 9552±11 9356±28 9242±21 8615±87 8643±112 9340±20 9336±25
ijcnn1     9108±30 9129±30 9161±24 9174±24 9155±24 9285±19 9132±16 9145±19 9269±21 9209±79 9100±92 9337±24 9320±37
covtype    9332±20 9503±12 7658±156 9504±11 9508±11 7990±1 9409±11 8197±13 8244±14 7361±317 7403±289 8248±13 8222±14
sector     9734±36 8767±129 9734±36 8768±126 9077±104 8768±126 9406±62 9406±62 9292±81 9163±87 9043±100 - -
news20     9399±38 8712±73 9399±38 8708±69 8704±70 8708±69 - 8655±28 8871±83 8543±99 8346±94 - -
ionosphere - - 8821±400 - - 9064±376 - 9292±364 - - - - -
svmguide3  - - 6488±328 - - 6073±490 - 6226±407 - - - - -
australian - - 7178±462 - - 7178±466 - 7656±406 - - - - -
breastw    - - 9308±208 - - 9352±168 - 9315±204 - - - - -
"""  # noqa: E501
#: Sets of the thesis that are not here.
ABSENT = (
    "german", "acoustic", "alpha", "beta", "arrhythmia", "cod-rna", "mammography", "spambase",
    "thyroid", "webspam",
)  # fmt: skip


@dataclass(frozen=True)
class ThesisSet:
    """How to read a set, how its rows are normalised, and how it differs from the thesis's."""

    read: Callable[[], Arrays]
    centred: bool = True
    #: Whether classes were put into two groups at random, so that the printed numbers are of
    #: another problem.
    grouped: bool = False
    differs: str = ""

    def load(self) -> Arrays:
        """Rows of length one, as the thesis normalises them, and labels -1 and +1."""
        X, y = self.read()
        return unit_rows(X, self.centred), y


def printed() -> dict[str, dict[str, tuple[float, float]]]:
    """Set -> column -> AUC and standard deviation."""
    found = {}
    for line in PRINTED.strip().splitlines():
        stem, *cells = line.split()
        pairs = zip(COLUMNS, cells, strict=True)
        found[stem] = {
            column: tuple(float(part) / 1e4 for part in cell.split("±"))
            for column, cell in pairs
            if cell != "-"
        }
    return found


def unit_rows(X: object, centred: bool) -> object:
    if sp.issparse(X):
        if not centred:
            length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
            row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            data = X.data / np.where(length > 0.0, length, 1.0)[row]
            return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        X = X.toarray()
    if centred:
        X = X - X.mean(axis=1, keepdims=True)
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return np.ascontiguousarray(X / np.where(length > 0.0, length, 1.0))


def _registered(stem: str) -> Arrays:
    data = datasets.load(stem)
    return data.X, data.y


def _scaled(stem: str) -> Arrays:
    """Columns between -1 and 1, as the LIBSVM collection has them."""
    X, y = _registered(stem)
    low, high = X.min(axis=0), X.max(axis=0)
    return 2.0 * (X - low) / np.where(high > low, high - low, 1.0) - 1.0, y


def _groups(label: np.ndarray) -> np.ndarray:
    """Half of the classes against the others, by a fixed draw."""
    classes = np.unique(label)
    chosen = np.random.default_rng(0).permutation(classes)[: len(classes) // 2]
    return np.where(np.isin(label, chosen), 1.0, -1.0)


def _classes(*parts: str, more: tuple[str, ...] = ()) -> Arrays:
    X, label = datasets.svmlight(*parts)
    if more:
        Z, rest = datasets.svmlight(*more, features=X.shape[1])
        X, label = datasets.as_csr(sp.vstack([X, Z])), np.append(label, rest)
    return X, _groups(label)


def _mnist() -> Arrays:
    X, digit = datasets.mnist_test()
    return X, _groups(digit)


def _covtype() -> Arrays:
    table = np.array(datasets.csv_rows("covtype-20k", "covtype.20k.data.xz"), dtype=np.float64)
    X, label = table[:, :-1], table[:, -1]
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0), _groups(label)


def keel(stem: str) -> Arrays:
    """One of the imbalanced KEEL sets."""
    rows = datasets.keel_rows(stem)
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    return X, np.where([row[-1] == "positive" for row in rows], 1.0, -1.0)


def letter(target: int = 1) -> Arrays:
    """One letter against the others, both parts."""
    X, label = datasets.svmlight("letter", "letter.scale.xz")
    Z, rest = datasets.svmlight("letter", "letter.scale.t.xz", features=X.shape[1])
    label = np.append(label, rest)
    return sp.vstack([X, Z]).toarray(), np.where(label == target, 1.0, -1.0)


_USPS = partial(_classes, "usps", "usps.xz", more=("usps", "usps.t.xz"))
SETS: dict[str, ThesisSet] = {
    "diabetes": ThesisSet(partial(_scaled, "diabetes"), centred=False),
    "fourclass": ThesisSet(partial(_scaled, "fourclass"), centred=False),
    "ionosphere": ThesisSet(partial(_registered, "ionosphere")),
    "australian": ThesisSet(partial(_registered, "australian")),
    "breastw": ThesisSet(partial(keel, "wisconsin")),
    "svmguide3": ThesisSet(partial(_registered, "svmguide3")),
    "splice": ThesisSet(partial(_registered, "splice"), differs="1,000 of 3,175 rows"),
    "usps": ThesisSet(_USPS, grouped=True),
    "ijcnn1": ThesisSet(partial(_registered, "ijcnn1"), differs="49,990 of 141,691 rows"),
    "covtype": ThesisSet(_covtype, grouped=True, differs="the first 20,000 of 581,012 rows"),
    "a9a": ThesisSet(partial(_registered, "a9a")),
    "mnist": ThesisSet(_mnist, grouped=True, differs="10,000 of 60,000 rows"),
    "sector": ThesisSet(
        partial(_classes, "sector", "sector.scale.xz"), centred=False, grouped=True,
        differs="6,412 of 9,619 rows; rows not centred, so that they stay sparse",
    ),
    "news20": ThesisSet(
        partial(_classes, "news20", "news20.xz"), centred=False, grouped=True,
        differs="rows not centred, so that they stay sparse",
    ),
}  # fmt: skip
