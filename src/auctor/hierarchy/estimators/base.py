"""Base class of the hierarchical estimators: checks of rows and labels, reports."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import DataError, DataWarning, speaks, warn
from auctor.core.types import Array, FloatArray
from auctor.data import as_matrix
from auctor.data.coerce import check_weight
from auctor.fit.registry import resolve_loss, resolve_penalty
from auctor.hierarchy.estimators.labels import Form, Labels, read_labels
from auctor.hierarchy.measures import TaxonomyReport
from auctor.hierarchy.nodes import LOSSES, NodeSettings
from auctor.hierarchy.report import measure
from auctor.hierarchy.taxonomy import Taxonomy

#: Labels without rows that a warning names, at most.
NAMED_LABELS = 5


class CheckedRows(NamedTuple):
    """The checked input of `fit`: matrix, labels as a 0/1 matrix, weights."""

    matrix: Any
    on: Array
    weight: FloatArray | None


class HierarchicalEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of estimators whose labels have a taxonomy."""

    taxonomy: Taxonomy | None
    loss: Any
    penalty: Any
    strength: float
    solver: Any
    tol: float
    max_iter: int

    taxonomy_: Taxonomy
    form_: Form
    models_: Any

    @property
    def coef_(self) -> Any:
        """Weights of all labels."""
        return self.models_.coef

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts of all labels."""
        intercept: FloatArray = self.models_.intercept
        return intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @speaks
    def node_report(self, X: Any, y: Any, *, title: str = "Taxonomy") -> TaxonomyReport:
        """Measures of every label and overall on rows X with labels y.

        ``auctor.reports.render_taxonomy`` draws the result, worst labels first.
        """
        truth = self._truth(y)
        return measure(truth, self.predict_indicator(X), self.taxonomy_, title)

    def predict_indicator(self, X: Any) -> Array:
        """Predicted labels as a 0/1 matrix (n, n_labels)."""
        raise NotImplementedError

    # --- parts ----------------------------------------------------------------------------------

    def _truth(self, y: Any) -> Array:
        """Labels of test rows as a 0/1 matrix."""
        check_is_fitted(self, "models_")
        return read_labels(y, self.taxonomy_).indicator

    def _settings(self, loss: Any = None) -> NodeSettings:
        """The checked settings of the models of all labels."""
        check_real("strength", self.strength, low=0.0)
        check_real("tol", self.tol, low=0.0, open_low=True)
        return NodeSettings(
            resolve_loss(self.loss if loss is None else loss, LOSSES),
            lambda: resolve_penalty(self.penalty, self.strength, None),
            self.solver,
            self.tol,
            self.max_iter,
        )

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, broken: str) -> CheckedRows:
        """The checked rows and labels; sets the attributes that depend on them."""
        check_choice("broken", broken, ("close", "refuse"))
        if self.taxonomy is not None and not isinstance(self.taxonomy, Taxonomy):
            raise DataError(
                f"a Taxonomy; got {repr(self.taxonomy)[:80]}. Make one by Taxonomy.from_parents, "
                "from_edges or from_paths."
            )
        # Labels as a 0/1 matrix with all ancestors, and the taxonomy if paths contain it.
        matrix = as_matrix(X)
        labels: Labels = read_labels(y, self.taxonomy, broken)
        n = matrix.shape[0]
        if labels.indicator.shape[0] != n:
            raise DataError(
                f"labels for every row; got {labels.indicator.shape[0]} for {n} rows. Pass as many."
            )
        weight = None if sample_weight is None else check_weight(sample_weight, n)
        self.taxonomy_, self.form_ = labels.taxonomy, labels.form
        validate_data(self, X, skip_check_array=True)
        # Labels without rows of positive weight cannot be learned.
        counted = labels.indicator if weight is None else labels.indicator[weight > 0.0]
        self.adopt_seen(np.atleast_1d(counted.any(axis=0)))
        if self.empty_labels_:
            more = ", ..." if len(self.empty_labels_) > NAMED_LABELS else ""
            names = ", ".join(repr(name) for name in self.empty_labels_[:NAMED_LABELS])
            warning = DataWarning(
                does=f"never predicts {len(self.empty_labels_)} labels, which have no rows: "
                f"{names}{more}. Drop them from the taxonomy, or pass rows with them."
            )
            warn(warning)
        return CheckedRows(matrix, labels.indicator, weight)

    @speaks
    def adopt_seen(self, seen: Array) -> None:
        """Set which labels have rows, ``seen``, and the list of those without."""
        self.seen_ = seen
        self.empty_labels_ = [self.taxonomy_.names[t] for t in np.flatnonzero(~seen)]

    def _read(self, X: Any) -> Any:
        check_is_fitted(self, "models_")
        matrix = as_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return matrix
