"""Vowpal Wabbit: logistic regression from a file of lines, or from one line at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def text(X: tuple, y: np.ndarray, rows: int) -> list[str]:
    """Rows in the format that it reads."""
    data, indices, indptr = X
    lines = []
    for i in range(rows):
        part = slice(indptr[i], indptr[i + 1])
        entries = zip(indices[part], data[part], strict=True)
        label = "1" if y[i] > 0 else "-1"
        lines.append(label + " |f " + " ".join(f"{j}:{x:.6g}" for j, x in entries))
    return lines


def calls(lines: list[str], path: str, penalty: str) -> dict[str, Callable[[], None]]:
    """A pass over the file, and one over the lines."""
    from vowpalwabbit import Workspace

    options = f"--loss_function logistic {penalty} -b 18 --quiet"

    def file() -> None:
        Workspace(options, d=path).finish()  # as a keyword: read at once

    def api() -> None:
        model = Workspace(options)
        for line in lines:
            model.learn(line)
        model.finish()

    return {"from a file": file, "one line at a time": api}
