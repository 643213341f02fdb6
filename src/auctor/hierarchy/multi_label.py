"""Hierarchical multi-label learning: a model per label, then a decoder that obeys the taxonomy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError, ParameterError
from auctor.core.types import Array, FloatArray, Target
from auctor.data import Dense, Sparse, as_matrix, feature_names, wrap
from auctor.data.coerce import check_weight
from auctor.hierarchy import metrics
from auctor.hierarchy.decoders import DECODERS
from auctor.hierarchy.labels import in_form, read_labels
from auctor.hierarchy.nodes import NodeModels, NodeSettings, NodeTask, node_loss, train_nodes
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.training.registry import resolve_penalty

#: What a decoder's parameters are tuned for: larger is better.
OBJECTIVES: dict[str, Callable[[Array, Array], float]] = {
    "f1": lambda truth, said: metrics.set_scores(truth, said).f,
    "micro_f1": lambda truth, said: metrics.set_scores(truth, said, average="micro").f,
    "jaccard": metrics.jaccard,
    "hamming": lambda truth, said: -metrics.hamming(truth, said),
}


class HierarchicalMultiLabel(BaseEstimator):  # type: ignore[misc]
    """Label sets that obey a taxonomy.

    One linear model per label gives a probability for each; a decoder turns these into a set in
    which every label stands with its parents. The decoder's own parameter (a threshold, the weight
    of the hierarchical norm, the temper of expected F) is tuned out of fold for ``objective``.

    Parameters
    ----------
    taxonomy : Taxonomy, optional
        May be left out where labels are paths.
    decoder : str or object
        "expected_f", "flat", "leaf_reduce", "root_map", "hierarchical", "top_k", "mandatory_leaf",
        or an object with ``decode(scores, taxonomy)``. Sets of "flat" get their ancestors.
    estimator : scikit-learn classifier, optional
        A model for each label instead of ours; it needs ``predict_proba`` or
        ``decision_function``.
    loss : {"logistic", "squared_hinge", ...} or loss object
    penalty : {"l2", "l1", "elastic_net"} or penalty object
    strength : float >= 0
    objective : {"f1", "micro_f1", "jaccard", "hamming"}
    tune : bool
        Whether the decoder's parameter is tuned; False leaves it as it is.
    cv : int >= 2
        Folds of the tuning.
    broken : {"close", "refuse"}
        What happens to rows of a 0/1 matrix with a label but not its parent.
    solver : str, solver object or callable
    tol : float
    max_iter : int
    n_threads : int, optional
    random_state : int, optional
        Shuffles the folds.

    Attributes
    ----------
    taxonomy_ : Taxonomy
    classes_ : list of labels
        In the order of the columns of scores.
    coef_, intercept_ : weights and intercepts of all labels
    decoder_ : the decoder in use, tuned
    objective_ : float
        Its objective out of fold; NaN where nothing was tuned.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.hierarchy import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> names = np.array(["animal/cat", "animal/dog", "plant"])[np.argmax(X, axis=1)]
    >>> model = HierarchicalMultiLabel(taxonomy).fit(X, [[name] for name in names])
    >>> model.score(X, [[name] for name in names]) > 0.9
    True
    """

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        decoder: Any = "expected_f",
        estimator: Any = None,
        loss: Any = "logistic",
        penalty: Any = "l2",
        strength: float = 1e-3,
        objective: str = "f1",
        tune: bool = True,
        cv: int = 3,
        broken: str = "close",
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int = 200,
        n_threads: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.decoder = decoder
        self.estimator = estimator
        self.loss = loss
        self.penalty = penalty
        self.strength = strength
        self.objective = objective
        self.tune = tune
        self.cv = cv
        self.broken = broken
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and their labels.

        Parameters
        ----------
        X : (n, d) table, array or sparse matrix
        Y : labels
            Label sets, paths, or a 0/1 matrix with a column for every label of the taxonomy.
        sample_weight : (n,) array, optional
        """
        who = type(self).__name__
        self._check_parameters(who)
        matrix = as_matrix(X, who=who)
        self.labels_ = read_labels(who, Y, self.taxonomy, self.broken)
        self.taxonomy_, on = self.labels_.taxonomy, self.labels_.indicator
        if on.shape[0] != matrix.shape[0]:
            raise DataError(
                who,
                needs="labels for every row",
                got=f"{on.shape[0]} for {matrix.shape[0]} rows",
                todo="Pass as many.",
            )
        n = matrix.shape[0]
        weight = None if sample_weight is None else check_weight(sample_weight, n, who=who)
        self.n_features_in_ = matrix.shape[1]
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        self.classes_ = list(self.taxonomy_.names)
        self.empty_labels_ = [self.classes_[t] for t in np.flatnonzero(~on.any(axis=0))]
        self.models_ = self._stage_one(matrix, on, weight)
        self.decoder_, self.objective_ = self._stage_two(matrix, on, weight)
        return self

    @property
    def coef_(self) -> Any:
        """Weights of all labels."""
        return self.models_.coef

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts of all labels."""
        intercept: FloatArray = self.models_.intercept
        return intercept

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every label, (n, n_labels), before decoding."""
        check_is_fitted(self)
        return self._probabilities(self.models_, self._read(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Score of every label, (n, n_labels)."""
        proba = np.clip(self.predict_proba(X), 1e-15, 1.0 - 1e-15)
        return np.log(proba) - np.log1p(-proba)

    def predict(self, X: Any) -> Any:
        """Label sets that obey the taxonomy, in the form that the labels had in `fit`."""
        return in_form(self.predict_indicator(X), self.labels_)

    def predict_indicator(self, X: Any) -> Array:
        """Label sets as a 0/1 matrix (n, n_labels)."""
        on = self.decoder_.decode(self.predict_proba(X), self.taxonomy_)
        return self.taxonomy_.close(np.asarray(on, dtype=bool))

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """The objective of the predicted sets; rows count alike."""
        truth = read_labels(type(self).__name__, Y, self.taxonomy_, self.broken).indicator
        return float(OBJECTIVES[self.objective](truth, self.predict_indicator(X)))

    # --- parts ----------------------------------------------------------------------------------

    def _check_parameters(self, who: str) -> None:
        check_choice(who, "objective", self.objective, tuple(OBJECTIVES))
        check_choice(who, "broken", self.broken, ("close", "refuse"))
        check_real(who, "strength", self.strength, low=0.0)
        check_int(who, "cv", self.cv, low=2)
        if isinstance(self.decoder, str):
            check_choice(who, "decoder", self.decoder, tuple(DECODERS))
        elif not hasattr(self.decoder, "decode"):
            raise ParameterError(
                who,
                needs="decoder to be a name or an object with decode(scores, taxonomy)",
                got=repr(self.decoder),
                todo=f"Names: {', '.join(DECODERS)}.",
            )

    def _read(self, X: Any) -> Any:
        matrix = as_matrix(X, who=type(self).__name__)
        if matrix.shape[1] != self.n_features_in_:
            raise DataError(
                type(self).__name__,
                needs=f"{self.n_features_in_} columns, as in fit",
                got=f"{matrix.shape[1]}",
                todo="Pass the same columns.",
            )
        return matrix

    def _stage_one(self, matrix: Any, on: Array, weight: FloatArray | None) -> Any:
        """A model for every label."""
        if self.estimator is not None:
            return _fit_estimators(self.estimator, matrix, on, weight)
        who = type(self).__name__
        settings = NodeSettings(
            node_loss(who, self.loss),
            lambda: resolve_penalty(who, self.penalty, self.strength, None),
            self.solver,
            self.tol,
            self.max_iter,
        )
        data: Dense | Sparse = wrap(matrix, Target(np.empty(0)), n_threads=1)
        tasks = [NodeTask(None, column.astype(np.float64)) for column in on.T]
        return train_nodes(data, tasks, settings, weight=weight, n_threads=self.n_threads)

    def _probabilities(self, models: Any, matrix: Any) -> FloatArray:
        if isinstance(models, NodeModels):
            proba: FloatArray = expit(models.scores(matrix))
            return proba
        return np.column_stack([_probability(model, matrix) for model in models])

    def _stage_two(self, matrix: Any, on: Array, weight: FloatArray | None) -> tuple[Any, float]:
        """The decoder with its parameter tuned out of fold."""
        decoder = DECODERS[self.decoder]() if isinstance(self.decoder, str) else self.decoder
        name = getattr(type(decoder), "tuned", None)
        if not self.tune or name is None:
            return decoder, float("nan")
        proba = self._out_of_fold(matrix, on, weight)
        best, value = decoder, -np.inf
        for candidate in type(decoder).candidates:
            trial = replace(decoder, **{name: candidate})
            said = self.taxonomy_.close(trial.decode(proba, self.taxonomy_))
            found = float(OBJECTIVES[self.objective](on, said))
            if found > value:
                best, value = trial, found
        return best, value

    def _out_of_fold(self, matrix: Any, on: Array, weight: FloatArray | None) -> FloatArray:
        """Probabilities of every row by models that have not seen it."""
        n = on.shape[0]
        order = np.random.default_rng(self.random_state).permutation(n)
        proba = np.zeros(on.shape)
        for held in np.array_split(order, min(self.cv, n)):
            rest = np.setdiff1d(order, held)
            part = None if weight is None else weight[rest]
            models = self._stage_one(matrix[rest], on[rest], part)
            proba[held] = self._probabilities(models, matrix[held])
        return proba


class Constant:
    """The model of a label that all rows have, or none."""

    def __init__(self, value: float) -> None:
        self.value = value


def _fit_estimators(estimator: Any, matrix: Any, on: Array, weight: FloatArray | None) -> list[Any]:
    """A clone of a scikit-learn classifier for every label."""
    models: list[Any] = []
    for column in on.T:
        if column.all() or not column.any():
            models.append(Constant(float(column[0])))
            continue
        extra = {} if weight is None else {"sample_weight": weight}
        models.append(clone(estimator).fit(matrix, column, **extra))
    return models


def _probability(model: Any, matrix: Any) -> FloatArray:
    if isinstance(model, Constant):
        return np.full(matrix.shape[0], model.value)
    if hasattr(model, "predict_proba"):
        proba: FloatArray = model.predict_proba(matrix)[:, 1]
        return proba
    return np.asarray(expit(model.decision_function(matrix)))
