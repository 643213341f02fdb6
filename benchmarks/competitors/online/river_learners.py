"""River: learners that take one row at a time, as a dictionary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def calls(rows: list[dict], y: np.ndarray) -> dict[str, Callable[[], None]]:
    """A pass of every learner over the rows, by name."""
    from river import linear_model, optim

    def loop(model: object) -> None:
        for x, label in zip(rows, y, strict=True):
            model.learn_one(x, label)

    labels = {
        "river LogisticRegression": lambda: linear_model.LogisticRegression(
            optim.SGD(0.01), l2=1e-4
        ),
        "river Perceptron": lambda: linear_model.Perceptron(l2=1e-4),
        "river ALMAClassifier": linear_model.ALMAClassifier,
        "river PAClassifier": linear_model.PAClassifier,
    }
    return {name: lambda make=make: loop(make()) for name, make in labels.items()}
