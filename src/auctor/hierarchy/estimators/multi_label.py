"""Hierarchical multi-label learning: a model per label, then a decoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import ClassifierTags

from auctor.core.checks import check_choice, check_int, named_parameters
from auctor.core.errors import ParameterError, speaks
from auctor.core.types import Array, FloatArray, Target
from auctor.data import Dense, Sparse, as_matrix, wrap
from auctor.hierarchy.calibration import Calibration
from auctor.hierarchy.decoders import DECODERS, Decoder, ExpectedF
from auctor.hierarchy.estimators.base import CheckedRows, HierarchicalEstimator
from auctor.hierarchy.estimators.labels import in_form
from auctor.hierarchy.estimators.node_estimators import MappedModels, train_estimators
from auctor.hierarchy.kernel_ridge import choose_kernel, train_kernel
from auctor.hierarchy.nodes import NodeTask, train_nodes
from auctor.hierarchy.taxonomy import Taxonomy
from auctor.hierarchy.tuning import OBJECTIVES, Tuned, tune_decoder


@dataclass(eq=False, repr=False, kw_only=True)
class MultiLabelParameters:
    """Parameters of `HierarchicalMultiLabel`, which describes them."""

    taxonomy: Taxonomy | None = field(default=None, kw_only=False)
    decoder: Any = "expected_f"
    estimator: Any = None
    features: Any = None
    loss: Any = "squared_hinge"
    penalty: Any = "l2"
    strength: float = 3e-4
    objective: str = "f1"
    tune: bool = True
    calibrate: bool = True
    cv: int = 3
    broken: str = "close"
    solver: Any = "auto"
    tol: float = 1e-2
    max_iter: int = 200
    n_threads: int | None = None
    random_state: Any = None


# A dataclass of its own, so that errors on unknown parameters name this class.
@named_parameters
@dataclass(eq=False, repr=False)
class HierarchicalMultiLabel(HierarchicalEstimator, MultiLabelParameters):
    """Multi-label classifier whose label sets are consistent with a taxonomy.

    One linear model per label gives a score, which is calibrated to a probability on held-out
    scores. A decoder turns the probabilities into a set that has, with every label, its parents.
    The decoder's parameter (a threshold, the weight of the hierarchical norm, the exponent of
    expected F) is tuned for ``objective`` on held-out scores.

    Parameters
    ----------
    taxonomy : Taxonomy, optional
        Not needed if labels are paths.
    decoder : str or object
        "expected_f", "flat", "leaf_reduce", "root_map", "hierarchical", "top_k", "mandatory_leaf",
        or an object with ``decode(scores, taxonomy)``, such as
        ``HierarchicalOperator(each="level")``, whose weights per level are tuned by `DfoTr`.
        Ancestors are added to the sets of "flat".
    estimator : scikit-learn classifier, optional
        The model of each label, instead of auctor's; it needs ``decision_function`` or
        ``predict_proba``.
    features : "kernel", transformer or None
        "kernel" is kernel ridge regression for all labels, from one factorisation of the mean of a
        Laplacian and a Gaussian kernel on standardised columns, for up to 20,000 rows; widths and
        ridge are those of the largest pooled AU(PRC) on held-out rows, and loss, penalty, strength
        and solver are not used. A transformer with `fit` and `transform`, such as
        `auctor.kernel.RandomFeatures`, is fitted to the rows that the linear models are fitted to.
    loss : {"logistic", "squared_hinge", ...} or loss object
    penalty : {"l2", "l1", "elastic_net"} or penalty object
    strength : float >= 0
    objective : {"f1", "micro_f1", "jaccard", "hamming"}
        The metric for which the decoder is tuned, and that of `score`.
    tune : bool
        Whether the decoder's parameter is tuned.
    calibrate : bool
        Whether scores are calibrated to log-odds on held-out rows. A label with ten rows, and as
        many rows without it, has its own calibration; all others share one. Without calibration
        the scores are taken as log-odds.
    cv : int >= 2
        Folds of the calibration and the tuning; not used if neither is wanted.
    broken : {"close", "refuse"}
        Whether rows of a 0/1 matrix with a label but without its parent get the parent or raise an
        error.
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
    calibration_ : slopes and offsets that turn scores into log-odds
    empty_labels_ : list
        Labels without rows, which are never predicted.
    kernel_ : widths and ridge
        Only with ``features="kernel"``.
    decoder_ : the tuned decoder
    objective_ : float
        Its objective on held-out scores; NaN if nothing was tuned.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.hierarchy import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant"])
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> names = np.array(["animal/cat", "animal/dog", "plant"])[np.argmax(X, axis=1)]
    >>> model = HierarchicalMultiLabel(taxonomy, random_state=0)
    >>> model = model.fit(X, [[name] for name in names])
    >>> model.score(X, [[name] for name in names]) > 0.9
    True
    """

    @speaks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X and their labels.

        Parameters
        ----------
        X : (n, d) table, array or sparse matrix
        y : labels
            Label sets, paths, or a 0/1 matrix with a column for every label of the taxonomy.
        sample_weight : (n,) array, optional
        """
        self.check_parameters()
        rows = self._read_rows(X, y, sample_weight, self.broken)
        self.classes_ = list(self.taxonomy_.names)
        if self.features == "kernel":
            rng = np.random.default_rng(self.random_state)
            self.kernel_ = choose_kernel(*rows, self.taxonomy_, rng)
        self.models_ = self._train_models(*rows)
        self.calibration_, tuned = self._calibrate_and_tune(rows)
        self.decoder_, self.objective_ = tuned.decoder, tuned.objective
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_label=True)
        return tags

    @speaks
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of every label, (n, n_labels), before decoding."""
        matrix = self._read(X)
        return self._probabilities(self.models_.scores(matrix), self.calibration_)

    @speaks
    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of every label, (n, n_labels), before decoding."""
        matrix = self._read(X)
        return self.calibration_.log_odds(self.models_.scores(matrix))

    @speaks
    def out_of_fold_proba(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray:
        """Out-of-fold probabilities of every label, the input of the tuning.

        X, y and weights must be those of `fit`. The models of the folds are trained again, on the
        same folds if ``random_state`` is a number.
        """
        rows = CheckedRows(self._read(X), self._truth(y), sample_weight)
        return self._probabilities(self._out_of_fold(rows), self.calibration_)

    @speaks
    def predict(self, X: Any) -> Any:
        """Label sets that are consistent with the taxonomy, in the form of the labels in `fit`."""
        return in_form(self.predict_indicator(X), self.taxonomy_, self.form_)

    @speaks
    def predict_indicator(self, X: Any) -> Array:
        """Label sets as a 0/1 matrix (n, n_labels)."""
        proba = self.predict_proba(X)
        on = np.asarray(self.decoder_.decode(proba, self.taxonomy_), dtype=bool)
        on = self.taxonomy_.close(on)
        on[:, ~self.seen_] = False  # descendants of a label without rows have no rows either
        return on

    @speaks
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The objective of the predicted sets."""
        objective = OBJECTIVES[self.objective]
        return float(objective(self._truth(y), self.predict_indicator(X), sample_weight))

    # --- parts ----------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise for invalid parameters."""
        self._settings()
        check_choice("objective", self.objective, tuple(OBJECTIVES))
        check_int("cv", self.cv, low=2)
        known = hasattr(self.features, "fit") and hasattr(self.features, "transform")
        if not (self.features is None or self.features == "kernel" or known):
            raise ParameterError(
                f"`features` to be 'kernel' or a transformer; got {self.features!r}. Pass one with "
                "fit and transform, such as auctor.kernel.RandomFeatures()."
            )
        if self.features == "kernel" and self.estimator is not None:
            raise ParameterError("either `features` or `estimator`; got both. Set one to None.")
        if isinstance(self.decoder, str):
            check_choice("decoder", self.decoder, tuple(DECODERS))
        elif not hasattr(self.decoder, "decode"):
            raise ParameterError(
                "`decoder` to be a name or an object with decode(scores, taxonomy); got "
                f"{self.decoder!r}. Names: {', '.join(DECODERS)}."
            )

    def _train_models(self, matrix: Any, on: Array, weight: FloatArray | None) -> Any:
        """Train a model for every label."""
        if self.features == "kernel":
            return train_kernel(matrix, on, weight, self.kernel_)
        if self.features is not None:
            features = clone(self.features).fit(matrix)
            return MappedModels(
                features, self._train_linear(as_matrix(features.transform(matrix)), on, weight)
            )
        return self._train_linear(matrix, on, weight)

    def _train_linear(self, matrix: Any, on: Array, weight: FloatArray | None) -> Any:
        """Train a linear model, or a clone of the user's estimator, for every label."""
        if self.estimator is not None:
            return train_estimators(self.estimator, matrix, on, weight)
        data: Dense | Sparse = wrap(matrix, Target(np.empty(0)), n_threads=1)
        tasks = [NodeTask(None, column.astype(np.float64)) for column in on.T]
        return train_nodes(data, tasks, self._settings(), weight=weight, n_threads=self.n_threads)

    def _probabilities(self, scores: FloatArray, calibration: Calibration) -> FloatArray:
        """Probabilities from scores; 0 for labels without rows."""
        proba: FloatArray = expit(calibration.log_odds(scores))
        proba[:, ~self.seen_] = 0.0
        return proba

    def _calibrate_and_tune(self, rows: CheckedRows) -> tuple[Calibration, Tuned]:
        """The calibration and the tuned decoder, both from out-of-fold scores."""
        decoder = DECODERS[self.decoder]() if isinstance(self.decoder, str) else self.decoder
        if self.decoder == "expected_f":
            decoder = ExpectedF(empty=not bool(rows.on.any(axis=1).all()))
        tunable = self.tune and isinstance(decoder, Decoder) and decoder.tuned is not None
        calibration = Calibration.identity(self.taxonomy_.n_nodes)
        if not (tunable or self.calibrate):
            return calibration, Tuned(decoder, float("nan"))
        scores = self._out_of_fold(rows)
        if self.calibrate:
            calibration = Calibration.fit(scores, rows.on, rows.weight)
        if not tunable:
            return calibration, Tuned(decoder, float("nan"))
        tuned = tune_decoder(
            decoder,
            self._probabilities(scores, calibration),
            rows.on,
            self.taxonomy_,
            self.objective,
            sample_weight=rows.weight,
        )
        return calibration, tuned

    def _out_of_fold(self, rows: CheckedRows) -> FloatArray:
        """Scores of every row by the models of the fold that holds it out, (n, n_labels)."""
        matrix, on, weight = rows
        n = on.shape[0]
        order = np.random.default_rng(self.random_state).permutation(n)
        scores = np.zeros(on.shape)
        for held in np.array_split(order, min(self.cv, n)):
            rest = np.setdiff1d(order, held)
            part = None if weight is None else weight[rest]
            models = self._train_models(matrix[rest], on[rest], part)
            scores[held] = models.scores(matrix[held])
        return scores
