"""Estimators of auctor.hierarchy in files: taxonomy, weights and decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from auctor.core.codec import floats
from auctor.core.errors import ParameterError
from auctor.core.types import Array, FloatArray
from auctor.data.matrices import compressed_rows, dense_array, is_dense
from auctor.saved.classes import HIERARCHICAL
from auctor.saved.values import need
from auctor.saved.whole import SavedEstimator


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedHierarchy(SavedEstimator):
    """An estimator of labels with a taxonomy.

    ``sparse`` says how the weights are kept. A `TopDownClassifier` has ``stays``, the inner labels
    at which paths end; a `HierarchicalMultiLabel` has a decoder and its objective. With kernel
    ridge there are the numbers of the ``kernel``, the scaled training ``rows``, to which ``coef``
    belongs, and the ``centre`` and ``scale`` of the columns.
    """

    taxonomy: Any
    form: Any
    sparse: bool
    coef: FloatArray
    intercept: FloatArray
    slope: FloatArray
    offset: FloatArray
    seen: Array
    stays: Array | None = None
    decoder: Any = None
    objective: float | None = None
    kernel: tuple[float, float, float] | None = None
    rows: FloatArray | None = None
    centre: FloatArray | None = None
    scale: FloatArray | None = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """The fitted values of an estimator."""
        models, calibration, values = estimator.models_, estimator.calibration_, vars(estimator)
        objective = values.get("objective_")
        if not hasattr(models, "coef"):
            raise ParameterError(
                f"models of auctor for the labels; got {estimator.estimator!r} as estimator. Fit "
                "it without estimator."
            )
        ridge = {}
        if "kernel_" in values:
            ridge = {name: getattr(models, name) for name in ("rows", "centre", "scale")}
            ridge["kernel"] = tuple(map(float, estimator.kernel_))
        return cls(
            **cls.parameters(estimator),
            taxonomy=estimator.taxonomy_,
            form=estimator.form_,
            sparse=not is_dense(models.coef),
            coef=np.asarray(dense_array(models.coef), dtype=np.float64),
            intercept=models.intercept,
            slope=calibration.slope,
            offset=calibration.offset,
            seen=estimator.seen_,
            stays=getattr(estimator, "stays_", None),
            decoder=values.get("decoder_"),
            objective=None if objective is None else float(objective),
            **ridge,
        )

    def estimator(self) -> Any:
        """The fitted estimator, checked; imports scikit-learn."""
        from auctor.hierarchy.calibration import Calibration
        from auctor.hierarchy.estimators.labels import Form
        from auctor.hierarchy.kernel_ridge import Kernel, KernelModels
        from auctor.hierarchy.nodes import NodeModels
        from auctor.hierarchy.taxonomy import Taxonomy

        need(self.name in HIERARCHICAL, "an estimator of a taxonomy")
        estimator, taxonomy = self.unfitted(), self.taxonomy
        estimator.check_parameters()
        need(isinstance(taxonomy, Taxonomy) and isinstance(self.form, Form), "a taxonomy")
        size, d = taxonomy.n_nodes, self.n_features
        estimator.taxonomy_, estimator.form_ = taxonomy, self.form
        n = size if self.rows is None else len(self.rows)
        coef: Any = floats(self.coef, (size, d) if self.rows is None else (n, size))
        coef = compressed_rows(coef) if self.sparse else coef
        for vector in (self.intercept, self.slope, self.offset):
            floats(vector, (size,))
        estimator.models_ = NodeModels(coef, self.intercept)
        need((self.kernel is not None) == (self.params.get("features") == "kernel"), "a kernel")
        if self.kernel is not None:
            need(min(self.kernel) > 0.0 and max(self.kernel) < np.inf, "a kernel")
            estimator.kernel_ = Kernel(*self.kernel)
            centre, scale = (floats(one, (d,)) for one in (self.centre, self.scale))
            need(bool((scale > 0.0).all()), "scales above 0")
            rows = floats(self.rows, (n, d))
            estimator.models_ = KernelModels(
                estimator.kernel_, centre, scale, rows, coef, self.intercept
            )
        estimator.calibration_ = Calibration(self.slope, self.offset)
        estimator.adopt_seen(_flags(self.seen, size))
        top_down = self.name == "TopDownClassifier"
        need(top_down == (self.stays is not None), "ends of paths")
        need(top_down == (self.decoder is None) == (self.objective is None), "a decoder")
        if top_down:
            _ = taxonomy.parent  # refuses labels with several parents
            estimator.adopt_ends(_flags(self.stays, size))
            need(estimator.ends_.size > 0, "a class")
        else:
            estimator.classes_ = list(taxonomy.names)
            need(hasattr(self.decoder, "decode"), "a decoder")
            estimator.decoder_, estimator.objective_ = self.decoder, self.objective
        return estimator


def _flags(value: Any, size: int) -> Array:
    """A bool array with an entry for every label."""
    need(value.dtype == np.bool_ and value.shape == (size,), "a flag for every label")
    return np.asarray(value)
