"""Tables as pandas frames, for models that take categories and missing values as they come."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from benchmarks.problems import datasets, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

#: Most rows of a table.
LARGEST = 50_000
#: Tables of text that are read beyond the rows that `tables` draws.
WHOLE = ("adult", "credit-default", "elec2")


def _of_text(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of text: columns of numbers become numbers, the rest categories."""
    import pandas as pd

    made = tables.make(name, **({"most": LARGEST} if name in WHOLE else {}))
    frame = pd.DataFrame(made.rows, columns=list(made.columns)).replace("", None)
    for column in frame:
        numbers = pd.to_numeric(frame[column], errors="coerce")
        if numbers.notna().sum() == frame[column].notna().sum():
            frame[column] = numbers.astype(np.float64)
        else:
            frame[column] = frame[column].astype("category")
    return frame, made.labels == made.rare


def _of_numbers(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A set of `datasets.load`: numbers alone."""
    import pandas as pd

    data = datasets.load(name)
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    return pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])]), data.y > 0


def _letter() -> tuple[pd.DataFrame, np.ndarray]:
    """The first half of the alphabet against the second."""
    import pandas as pd

    X, y = datasets.svmlight("letter", "letter.scale.xz")
    return pd.DataFrame(X.toarray(), columns=[f"x{j + 1}" for j in range(X.shape[1])]), y <= 13


def _odds(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    import pandas as pd

    X, y = datasets.npz("odds", name)
    return pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])]), y > 0


FRAMES: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    **{
        name: partial(_of_text, name)
        for name in (
            "adult", "credit-default", "elec2", "covtype", "campaign", "caravan", "diabetes",
            "australian", "splice", "car-good", "flare-F", "winequality-red-4", "abalone9-18",
            "page-blocks0", "cardio", "wilt", "kdd99",
        )
    },
    **{
        name: partial(_of_numbers, name)
        for name in (
            "ijcnn1", "svmguide1", "svmguide3", "satimage", "segment", "vehicle", "waveform",
            "vowel",
        )
    },
    **{name: partial(_odds, name) for name in ("satellite", "skin")},
    "letter": _letter,
}  # fmt: skip


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """One of the tables and whether a row is of the rarer class; at most `LARGEST` rows."""
    frame, positive = FRAMES[name]()
    if len(frame) > LARGEST:
        keep = np.sort(np.random.default_rng(0).permutation(len(frame))[:LARGEST])
        frame, positive = frame.iloc[keep].reset_index(drop=True), positive[keep]
    return frame, positive


def split(positive: np.ndarray, seed: int, train_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and to test on, the same share of both classes.

    At most ``train_rows`` and two thirds of all rows are trained on.
    """
    rng = np.random.default_rng(seed)
    train, test = [], []
    share = min(2 / 3, train_rows / positive.size)
    for label in (False, True):
        rows = rng.permutation(np.flatnonzero(positive == label))
        cut = max(1, round(share * rows.size))
        train.append(rows[:cut])
        test.append(rows[cut:])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
