"""An adapter to river's interface, which passes one row at a time as a dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from auctor.core.checks import check_int
from auctor.core.errors import DataError, ParameterError, speaks
from auctor.data.matrices import join_compressed
from auctor.streaming.estimators.labels import is_missing
from auctor.streaming.estimators.online import OnlineClassifier


class Riverlike:
    """Give a learner `learn_one` and `predict_one`, as river's models have.

    A feature gets the next free column when it first occurs in `learn_one`; until then its weight
    is zero. Features that a row lacks are 0.

    Parameters
    ----------
    learner : OnlineClassifier
        With ``grow=True``, unless ``features`` lists all features.
    features : iterable of names, optional
        Features in the order of their columns.
    classes : two labels, optional
        By default False and True, 0 and 1, or -1 and +1, depending on the first labels.
    batch : int
        Number of rows that are collected and learned together, which is faster and gives the same
        predictions: these learn the collected rows first. Errors in a row are raised later.

    Examples
    --------
    >>> from auctor.streaming import StreamingAUC
    >>> model = Riverlike(StreamingAUC(grow=True))
    >>> for k in range(20):
    ...     model.learn_one({"size": float(k % 2), "age": k / 20}, k % 2 == 1)
    >>> model.predict_one({"size": 1.0}), model.predict_one({"size": 0.0})
    (True, False)
    """

    @speaks
    def __init__(
        self,
        learner: OnlineClassifier,
        *,
        features: Iterable[Any] = (),
        classes: Any = None,
        batch: int = 1,
    ) -> None:
        self._learner = learner
        self.batch = check_int("batch", batch, low=1)
        self.classes = classes
        self._columns = {name: k for k, name in enumerate(features)}
        if not self._columns and not learner.grow:
            raise ParameterError("a learner that may add columns; got grow=False. Set `grow=True`.")
        self._rows: list[dict[int, float]] = []
        self._labels: list[Any] = []
        self._weights: list[float] = []

    @property
    def learner(self) -> OnlineClassifier:
        """The learner, after it has learned all rows so far."""
        self._learn_kept()
        return self._learner

    @property
    def features(self) -> tuple[Any, ...]:
        """Features in the order of their columns."""
        return tuple(self._columns)

    @speaks
    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a row with label ``y`` and weight ``w``."""
        numbers = {name: _number(name, value) for name, value in x.items()}
        new = [name for name in numbers if name not in self._columns]
        if new and not self._learner.grow:
            raise DataError(
                f"features among those listed; got {new[0]!r}. Set `grow=True`, or list it."
            )
        for name in new:
            self._columns[name] = len(self._columns)
        self._rows.append({self._columns[name]: value for name, value in numbers.items()})
        self._labels.append(y)
        self._weights.append(w)
        if len(self._rows) >= self.batch:
            self._learn_kept()

    @speaks
    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Score of a row, as `decision_function`; 0 before anything was learned."""
        learner = self.learner
        if not hasattr(learner, "state_"):
            return 0.0
        return float(learner.decision_function(self._known(x))[0])

    @speaks
    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Label of a row; None before anything was learned."""
        learner = self.learner
        if not hasattr(learner, "state_"):
            return None
        return learner.predict(self._known(x))[0].item()

    @available_if(lambda self: hasattr(self._learner, "predict_proba"))  # type: ignore[untyped-decorator]
    @speaks
    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Probability of each label; only if the learner has `predict_proba`."""
        learner: Any = self.learner
        if not hasattr(learner, "state_"):
            return {}
        chances = learner.predict_proba(self._known(x))[0]
        return dict(zip(learner.classes_.tolist(), chances.tolist(), strict=True))

    def _learn_kept(self) -> None:
        """Learn the collected rows."""
        if not self._rows:
            return
        rows, labels, weights = self._rows, self._labels, self._weights
        self._rows, self._labels, self._weights = [], [], []
        if self.classes is None and not hasattr(self._learner, "classes_"):
            self.classes = _usual_classes(labels)
        self._learner.partial_fit(
            self._matrix(rows), np.asarray(labels), classes=self.classes, sample_weight=weights
        )

    def _known(self, x: Mapping[Any, Any]) -> Any:
        """A matrix with one row: the features of ``x`` that have a column."""
        columns = self._columns
        row = {columns[name]: _number(name, x[name]) for name in x if name in columns}
        return self._matrix([row])

    def _matrix(self, rows: list[dict[int, float]]) -> Any:
        """A CSR matrix of rows, each a dict from column to value."""
        indptr = np.cumsum([0] + [len(row) for row in rows])
        ordered = [item for row in rows for item in sorted(row.items())]
        indices = np.array([column for column, _ in ordered], dtype=np.int32)
        values = np.array([value for _, value in ordered], dtype=np.float64)
        shape = (len(rows), max(1, len(self._columns)))
        return join_compressed(values, indices, indptr, shape)


def _number(name: Any, value: Any) -> float:
    """A feature value as a float; raises for text."""
    if not isinstance(value, Real | np.bool_):
        raise DataError(
            f"numbers as features; got {value!r} for {name!r}. Encode text first, for example as a "
            "feature of value 1 per word."
        )
    return float(value)


def _usual_classes(labels: list[Any]) -> Any:
    """Both classes, guessed from the labels; None while 1 is the only label."""
    known = [label for label in labels if not is_missing(label)]
    label = next((label for label in known if label != 1), known[0] if known else 1)
    if isinstance(label, bool | np.bool_):
        return [False, True]
    if isinstance(label, Real) and label in (-1, 0, 1):
        return None if label == 1 else [label, 1]
    raise ParameterError(
        f"labels False/True, 0/1 or -1/+1; got {label!r}. Name both: `classes=[..., ...]`."
    )
