"""A decision tree whose splits are chosen by the AUC, with scikit-learn's API."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real, named_parameters
from auctor.core.errors import DataError, speaks
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.coerce import refuse_swapped
from auctor.data.matrices import dense_array
from auctor.fit.folds import stratified_folds
from auctor.fit.targets import encode
from auctor.lab.trees.drawing import tree_svg, tree_text
from auctor.lab.trees.tree import AucTree, choose_strength
from auctor.linear.estimators.base import check_columns, column_names, read_labels, read_weight
from auctor.linear.estimators.search import splits_of


@named_parameters
@dataclass(eq=False, repr=False)
class AucTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decision tree for two classes that splits where the AUC gains most (Ferri et al., 2002).

    A split with the shares p and n of the positives and of the negatives of its node on one side
    orders those pairs correctly with the AUC ``(1 + |p - n|) / 2``; the best one of all columns is
    taken, and the leaf whose split gains most pairs of all is split first. The gains add up to the
    AUC of the leaves. The tree is then pruned to the subtree with the largest ``AUC - strength *
    leaves``. The score of a leaf is its share of positives, shrunk along the path from the root.

    Parameters
    ----------
    strength : "auto" or float >= 0
        AUC that a leaf must gain. "auto" is the one with the best mean AUC on rows held out of
        stratified folds.
    max_leaves : int >= 2
        Leaves before pruning, at most.
    min_leaf : float > 0
        Least weight of a leaf; a number of rows, if they have no weights.
    cv : int >= 2, splitter or iterable of (train, test) rows
        Folds of "auto"; a number is that of stratified folds, fewer where a class has fewer rows.
    random_state : int, optional
        Shuffles the folds; None is the same seed every time.

    Attributes
    ----------
    classes_ : (2,) array
    tree_ : AucTree
        The nodes.
    n_leaves_ : int
    strength_ : float
    strengths_, scores_ : array
        With "auto": the strengths that were compared, and their mean AUC on held-out rows.

    Notes
    -----
    Missing values (NaN) of a column go to the side where they gain more. Growing takes O(d n) for
    each level after one sort of every column. For a forest of such trees pass this estimator to
    ``BaggingClassifier`` of scikit-learn.

    References
    ----------
    Ferri, Flach, Hernandez-Orallo, Learning decision trees using the area under the ROC curve,
    ICML 2002.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 2))
    >>> y = (X[:, 0] > 0.7) & (X[:, 1] < 0.5)
    >>> tree = AucTreeClassifier(strength=0.01).fit(X, y)
    >>> print(tree.text(["age", "income"]))
    share of True, rows of weight
    |-- age <= 0.708459: 0.002, 259
    |-- age > 0.708459
    |   |-- income <= 0.503756: 0.990, 84
    |   |-- income > 0.503756: 0.020, 57
    """

    strength: float | str = "auto"
    _: KW_ONLY
    max_leaves: int = 512
    min_leaf: float = 5.0
    cv: Any = 5
    random_state: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        if isinstance(self.strength, str):
            check_choice("strength", self.strength, ("auto",))
        else:
            check_real("strength", self.strength, low=0.0)
        check_int("max_leaves", self.max_leaves, low=2)
        check_real("min_leaf", self.min_leaf, low=0.0, open_low=True)
        if self.random_state is not None:
            check_int("random_state", self.random_state)

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X, labels y of two classes and optional row weights."""
        self.check_parameters()
        refuse_swapped(X, y)
        matrix = self._read(X, reset=True)
        labels = read_labels(y, matrix.shape[0], regressor="a regression tree")
        weight = read_weight(sample_weight, matrix.shape[0])
        self.classes_, codes = encode(labels, weight)
        if self.classes_.size > 2:
            raise DataError(
                "two classes",
                got=f"{self.classes_.size}: Only binary classification is supported. The type of "
                "the target is multiclass",
                todo="Use OneVsRestClassifier of scikit-learn around it.",
            )
        rows = matrix, codes == 1, np.ones(codes.size) if weight is None else weight
        limits = self.max_leaves, float(self.min_leaf)
        if isinstance(self.strength, str):
            found = choose_strength(*rows, self._folds(labels, codes), *limits)
            self.strengths_, self.scores_, self.strength_ = found
        else:
            self.strength_ = float(self.strength)
        self.tree_ = AucTree.grown(*rows, *limits).pruned(self.strength_)
        return self

    def _folds(self, labels: Array, codes: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Training and held-out rows; raises where a class has a single row."""
        splits = splits_of(self.cv, labels, None, classifier=True)
        if splits is not None:
            return splits
        count = min(check_int("cv", self.cv, low=2), int(np.bincount(codes).min()))
        if count < 2:
            raise DataError(
                "two rows of each class to hold some out; got 1 of a class. Set `strength=0.0`."
            )
        return list(stratified_folds(codes, count, self.random_state or 0))

    @property
    def n_leaves_(self) -> int:
        """Number of leaves."""
        return int((~self.tree_.inner).sum())

    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Shares of both classes in the leaf of each row, (n, 2)."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        share = self.tree_.share[self.tree_.nodes_of(rows)]
        return np.column_stack((1.0 - share, share))

    @speaks
    def predict(self, X: Any) -> Array:
        """The class with the larger share in the leaf of each row."""
        share = self.predict_proba(X)[:, 1]
        labels: Array = self.classes_[(share > 0.5).astype(int)]
        return labels

    @speaks
    def text(self, names: Any = None) -> str:
        """The rules as lines of text; ``names`` are those of the columns."""
        return tree_text(self.tree_, self._names(names), str(self.classes_[1]))

    @speaks
    def svg(self, names: Any = None) -> str:
        """The tree as an ``<svg>`` element; ``names`` are those of the columns."""
        return tree_svg(self.tree_, self._names(names), str(self.classes_[1]))

    @speaks
    def adopt(self, classes: Array, nodes: dict[str, Array], strength: float) -> None:
        """Set the attributes of a fitted tree, such as one read from a file."""
        self.classes_, self.strength_ = classes, strength
        self.tree_ = AucTree(**{one.name: nodes[one.name] for one in fields(AucTree)})
        self.tree_.check(self.n_features_in_)

    def _names(self, names: Any) -> list[str]:
        check_is_fitted(self)
        if names is None:
            own = column_names(self)
            names = own or [f"x{j}" for j in range(self.n_features_in_)]
        listed = [str(name) for name in names]
        if len(listed) != self.n_features_in_:
            raise DataError(
                f"{self.n_features_in_} names of columns; got {len(listed)}. Name every column."
            )
        return listed

    def _read(self, X: Any, *, reset: bool) -> FloatArray:
        if not reset:
            check_is_fitted(self)
        matrix = as_matrix(X, finite=False)
        check_columns(self, X if hasattr(X, "shape") else matrix, reset=reset)
        rows = np.asarray(dense_array(matrix), dtype=np.float64)
        if np.isinf(rows).any():
            raise DataError(
                "finite or missing values in X; got infinity. Input X contains infinity: replace "
                "such entries."
            )
        return rows
