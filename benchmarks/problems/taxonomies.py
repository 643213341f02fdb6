"""Sets whose labels have a taxonomy: rows, label sets and the tree, in the published splits."""

from __future__ import annotations

import lzma
from dataclasses import dataclass

import numpy as np
import scipy.io
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from auctor.hierarchy import Taxonomy
from benchmarks.problems.datasets import data_dir

#: Folder and files of the ARFF sets: training files, then the test file.
ARFF = {
    "cellcycle": ("hmc-cellcycle-fun", "cellcycle_FUN", ("train", "valid"), "test", "."),
    "church": ("hmc-church-fun", "church_FUN", ("train", "valid"), "test", "."),
    "eisen": ("hmc-eisen-fun", "eisen_FUN", ("train", "valid"), "test", "."),
    "gasch1": ("hmc-gasch1-fun", "gasch1_FUN", ("train", "valid"), "test", "."),
    "gasch2": ("hmc-gasch2-fun", "gasch2_FUN", ("train", "valid"), "test", "."),
    "pheno": ("hmc-pheno-fun", "pheno_FUN", ("train", "valid"), "test", "."),
    "diatoms": ("hmc-diatoms", "Diatoms", ("train",), "test", "_"),
    "enron": ("hmc-enron", "Enron_corr", ("trainvalid",), "test", "_"),
    "imclef07a": ("hmc-imclef07a", "ImCLEF07A", ("Train",), "Test", "_"),
}
NEWSGROUPS = [
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
]
#: Rows of rcv1-dev that are trained on, as in the spike that the bars come from.
RCV1_TRAIN = 1550


@dataclass(frozen=True)
class Labelled:
    """Training and test rows with label sets."""

    taxonomy: Taxonomy
    X: object
    Y: np.ndarray
    X_test: object
    Y_test: np.ndarray


def present(*parts: str) -> bool:
    base = data_dir()
    return base is not None and base.joinpath(*parts).exists()


def arff(name: str) -> Labelled:
    """Numbers standardised by the training rows, missing ones at their mean, nominal one-hot."""
    folder, stem, train, test, between = ARFF[name]
    base = data_dir()
    assert base is not None
    files = [base / folder / f"{stem}{between}{part}.arff.xz" for part in (*train, test)]
    tables, labels, counts, paths, nominal = [], [], [], [], []
    for file in files:
        with lzma.open(file, "rt") as stream:
            head, _, body = stream.read().partition("@DATA")
        attributes = [line.split(None, 2) for line in head.splitlines() if line[:4] == "@ATT"]
        paths = attributes[-1][2].split(None, 1)[1].split(",")
        nominal = [one[2].startswith("{") for one in attributes[:-1]]
        rows = [line.split(",") for line in body.splitlines() if line.strip()]
        tables.append(np.array([row[: len(nominal)] for row in rows], dtype=object))
        labels += [row[len(nominal)].split("@") for row in rows]
        counts.append(len(rows))
    table, n = np.vstack(tables), sum(counts[:-1])
    columns = []
    for j, words in enumerate(nominal):
        column = table[:, j]
        if words:
            columns += [(column == word).astype(float) for word in np.unique(column)]
        else:
            columns.append(np.array([np.nan if one == "?" else float(one) for one in column]))
    X = np.column_stack(columns)
    mean, spread = np.nanmean(X[:n], axis=0), np.nanstd(X[:n], axis=0)
    X = np.nan_to_num((X - mean) / np.where(spread > 0.0, spread, 1.0))
    taxonomy = Taxonomy.from_paths(sorted(set(paths) | {p for row in labels for p in row}))
    Y = taxonomy.close(labels)
    return Labelled(taxonomy, X[:n], Y[:n], X[n:], Y[n:])


def rcv1_dev() -> Labelled:
    """Term counts as tf-idf, and the topics of RCV1."""
    base = data_dir()
    assert base is not None
    labels, values, index, start = [], [], [], [0]
    with lzma.open(base / "rcv1-dev" / "rcv1_dev_bow.svm.xz", "rt") as stream:
        for line in stream:
            topics, *entries = line.split()
            labels.append(topics.split(","))
            for entry in entries:
                column, value = entry.split(":")
                index.append(int(column) - 1)
                values.append(float(value))
            start.append(len(index))
    counts = csr_array((values, np.array(index, np.int32), np.array(start, np.int32)))
    X = csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
    edges = []
    for line in (base / "rcv1-subsets" / "rcv1.taxonomy").read_text().splitlines():
        parent, *children = line.split()
        edges += [(None if parent == "Root" else parent, child) for child in children]
    taxonomy = Taxonomy.from_edges(edges)
    Y = taxonomy.close(labels)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:RCV1_TRAIN], order[RCV1_TRAIN:]
    return Labelled(taxonomy, X[train], Y[train], X[test], Y[test])


def newsgroups() -> tuple[csr_array, np.ndarray, csr_array, np.ndarray]:
    """tf-idf of 20 newsgroups, by date, and names as paths."""
    base = data_dir()
    assert base is not None
    stored = scipy.io.loadmat(base / "20newsgroups" / "20Newsgroups.mat")
    X = csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(csr_array(stored["fea"])))
    names = np.array([name.replace(".", "/") for name in NEWSGROUPS])
    y = names[stored["gnd"].ravel().astype(int) - 1]
    train, test = (stored[key].ravel() - 1 for key in ("trainIdx", "testIdx"))
    return X[train], y[train], X[test], y[test]


def generated_tree(n: int, seed: int, columns: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Rows around the leaves of a tree of 10 x 10 x 10: 1,110 labels."""
    centres = np.random.default_rng(0)
    parts = [
        scale * centres.normal(size=(count, columns))
        for scale, count in ((2.0, 10), (1.4, 100), (1.0, 1000))
    ]
    rng = np.random.default_rng(seed)
    leaf = rng.integers(1000, size=n)
    X = parts[0][leaf // 100] + parts[1][leaf // 10] + parts[2][leaf]
    X += 0.7 * rng.normal(size=X.shape)
    return X, np.array([f"{k // 100}/{k // 10 % 10}/{k % 10}" for k in leaf])


def generated_text(
    n: int, seed: int, *, levels: int = 4, columns: int = 50_000, words: int = 80
) -> tuple[csr_array, np.ndarray]:
    """Rows of about 75 words under the leaves of a tree in which every node has ten children.

    Every node has 30 words of its own, drawn from all columns. A row takes six words from each node
    on its path, and the others from all columns, the k-th with a probability in proportion to
    ``1 / (k + 10)``. Values are tf-idf, rows of length 1.
    """
    vocabulary = np.random.default_rng(0)
    sizes = [10 ** (level + 1) for level in range(levels)]
    own = [vocabulary.integers(columns, size=(size, 30)) for size in sizes]
    frequency = np.cumsum(1.0 / (np.arange(columns) + 10.0))
    rng = np.random.default_rng(seed)
    leaf = rng.integers(sizes[-1], size=n)
    token = np.empty((n, words), dtype=np.int64)
    for level, vocab in enumerate(own):
        node = leaf // (sizes[-1] // sizes[level])
        chosen = rng.integers(30, size=(n, 6))
        token[:, 6 * level : 6 * level + 6] = vocab[node[:, None], chosen]
    rest = words - 6 * levels
    drawn = np.searchsorted(frequency, rng.random((n, rest)) * frequency[-1])
    token[:, 6 * levels :] = np.minimum(drawn, columns - 1)
    row = np.repeat(np.arange(n), words)
    counts = csr_array((np.ones(n * words), (row, token.ravel())), shape=(n, columns))
    counts.sum_duplicates()
    weight = -np.log(np.diff(np.append(0.0, frequency)) / frequency[-1])  # known word shares
    counts.data = (1.0 + np.log(counts.data)) * weight[counts.indices]
    lengths = np.sqrt(np.add.reduceat(counts.data**2, counts.indptr[:-1]))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    digits = [leaf // (sizes[-1] // size) % 10 for size in sizes]
    names = digits[0].astype(str)
    for digit in digits[1:]:
        names = np.char.add(np.char.add(names, "/"), digit.astype(str))
    return counts, names
