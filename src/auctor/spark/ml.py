"""`MetricClassifier` for Spark ML: an `Estimator` with Params, and the `Model` that it fits.

Methods such as ``_dummy``, ``_set`` and ``_fit`` begin with an underscore because Spark ML gives
them these names; its documentation says that other libraries override or call them.
"""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any, cast

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCols,
    HasLabelCol,
    HasMaxIter,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasTol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql.functions import struct

from auctor.additive.estimators.classifier import AdditiveClassifier
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.saved import load, save
from auctor.spark.columns import feature_columns
from auctor.spark.score import scorer
from auctor.spark.workers import SparkWorkers, from_spark


def _param(name: str, doc: str, convert: Any) -> Any:
    """A parameter of a class. Its parent is set by Spark, for which `_dummy` is the only way."""
    return Param(Params._dummy(), name, doc, convert)  # noqa: SLF001


class _Columns(
    HasFeaturesCol, HasInputCols, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol
):
    """Columns that are read and written."""

    def features(self) -> str | list[str]:
        """The vector column, or the number columns where ``inputCols`` names them."""
        named = self.isSet(self.inputCols)
        found: str | list[str] = self.getInputCols() if named else self.getFeaturesCol()
        return found


class _Trainer(
    Estimator,
    _Columns,
    HasLabelCol,
    HasWeightCol,
    HasMaxIter,
    HasTol,
    DefaultParamsReadable,
    DefaultParamsWritable,
):
    """An estimator whose rows stay in the tasks of a barrier job."""

    def _model(self) -> MetricClassifier:
        """The estimator of auctor with the parameters."""
        raise NotImplementedError

    def _given(self, param: Any) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _fit(self, dataset: Any) -> SparkMetricClassifierModel:
        model = self._model()
        model.check_parameters()
        weight, missing = self._given(self.weightCol), isinstance(model, AdditiveClassifier)
        data = from_spark(
            dataset, self.features(), self.getLabelCol(), weight=weight, missing=missing
        )
        try:
            model.fit(data)
        finally:
            cast(SparkWorkers, data.workers).close()
        return cast(SparkMetricClassifierModel, self._copyValues(SparkMetricClassifierModel(model)))


class SparkMetricClassifier(_Trainer):
    """`auctor.MetricClassifier` as an estimator of Spark ML, for `Pipeline` and `CrossValidator`.

    The rows stay in the tasks of one barrier job, whose number is at most that of the slots.

    Parameters
    ----------
    featuresCol : str
        Column of vectors, as `VectorAssembler` makes them.
    inputCols : list of str, optional
        Number columns instead.
    labelCol, weightCol, predictionCol, rawPredictionCol, probabilityCol : str
        Labels are numbers, as everywhere in Spark ML; `StringIndexer` makes them of text. The
        column of probabilities is written for ``metric="log_loss"``, whose scores are log-odds.
    metric, surrogate, penalty : str
    strength, l1Ratio, tol : float
    threshold : str
        "auto" or a rule such as "precision(0.9)".
    maxIter : int
    """

    metric = _param("metric", "metric to train for", TypeConverters.toString)
    surrogate = _param("surrogate", "loss that stands in for the metric", TypeConverters.toString)
    penalty = _param("penalty", "l2, l1, elastic_net or none", TypeConverters.toString)
    strength = _param("strength", "multiplier of the penalty", TypeConverters.toFloat)
    l1Ratio = _param("l1Ratio", "share of l1 in the elastic net", TypeConverters.toFloat)
    threshold = _param("threshold", "rule by which scores are cut", TypeConverters.toString)

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(  # noqa: PLR0913 - pyspark reads keywords
        self,
        *,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        probabilityCol: str = "probability",
        metric: str = "auc",
        surrogate: str = "auto",
        penalty: str = "l2",
        strength: float = 1e-4,
        l1Ratio: float | None = None,
        threshold: str = "auto",
        tol: float = 1e-4,
        maxIter: int = 1000,
    ) -> None:
        super().__init__()
        self._setDefault(
            metric="auc", surrogate="auto", penalty="l2", strength=1e-4, threshold="auto",
            tol=1e-4, maxIter=1000,
        )  # fmt: skip
        self._set(**self._input_kwargs)

    def _model(self) -> MetricClassifier:
        return MetricClassifier(
            self._given(self.metric),
            surrogate=self._given(self.surrogate),
            penalty=self._given(self.penalty),
            strength=self._given(self.strength),
            l1_ratio=self._given(self.l1Ratio),
            threshold=self._given(self.threshold),
            tol=self.getTol(),
            max_iter=self.getMaxIter(),
        )


class SparkAdditiveClassifier(_Trainer):
    """`auctor.AdditiveClassifier`, curves with pairs, as an estimator of Spark ML.

    Features may be null. The rows are coded once, one byte per entry, where they are.

    Parameters
    ----------
    featuresCol, inputCols, labelCol, weightCol, predictionCol, rawPredictionCol, probabilityCol
        As in `SparkMetricClassifier`.
    metric : str
    interactions : int
        Number of pairs; by default three per column, if they help on held-out rows.
    members : int
    strength : float
        By default chosen on held-out rows.
    tol : float
    maxIter : int
    """

    metric = _param("metric", "metric to train for", TypeConverters.toString)
    interactions = _param("interactions", "number of pairs", TypeConverters.toInt)
    members = _param("members", "models of which the mean is taken", TypeConverters.toInt)
    strength = _param("strength", "multiplier of the penalty", TypeConverters.toFloat)

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(  # noqa: PLR0913 - pyspark reads keywords
        self,
        *,
        featuresCol: str = "features",
        inputCols: list[str] | None = None,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
        probabilityCol: str = "probability",
        metric: str = "auc",
        interactions: int | None = None,
        members: int = 8,
        strength: float | None = None,
        tol: float = 1e-4,
        maxIter: int = 1000,
    ) -> None:
        super().__init__()
        self._setDefault(metric="auc", members=8, tol=1e-4, maxIter=1000)
        self._set(**self._input_kwargs)

    def _model(self) -> MetricClassifier:
        pairs, strength = self._given(self.interactions), self._given(self.strength)
        return AdditiveClassifier(
            self._given(self.metric),
            interactions="auto" if pairs is None else pairs,
            members=self._given(self.members),
            strength="auto" if strength is None else strength,
            tol=self.getTol(),
            max_iter=self.getMaxIter(),
        )


class SparkMetricClassifierModel(Model, _Columns, MLReadable, MLWritable):
    """A fitted `SparkMetricClassifier`; ``fitted`` is the `auctor.MetricClassifier` inside.

    `transform` adds the score of each class (``rawPredictionCol``), the label (``predictionCol``)
    and, where the metric has them, probabilities (``probabilityCol``), partition by partition.
    """

    def __init__(self, fitted: MetricClassifier | None = None) -> None:
        super().__init__()
        self.fitted = fitted

    def _transform(self, dataset: Any) -> Any:
        assert self.fitted is not None
        model = self.fitted.model_
        likely = model.has_probabilities
        score = scorer(model, probabilities=likely)
        found = score(struct(*feature_columns(dataset, self.features())))
        scored = dataset.withColumn("_auctor", found)
        out = {self.getRawPredictionCol(): array_to_vector(scored["_auctor.raw"])}
        if likely:
            out[self.getProbabilityCol()] = array_to_vector(scored["_auctor.probability"])
        out[self.getPredictionCol()] = scored["_auctor.prediction"]
        return scored.withColumns({name: one for name, one in out.items() if name}).drop("_auctor")

    def write(self) -> MLWriter:
        """Write the parameters, and the model in auctor's own format."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Read what `write` wrote."""
        return _Reader(cls)


class _Writer(MLWriter):
    """The model's file, as text, beside the parameters: on any file system that Spark knows."""

    def __init__(self, instance: SparkMetricClassifierModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the parameters with the model file as one of their fields."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.auctor"
            save(self.instance.fitted, file)
            text = base64.b64encode(file.read_bytes()).decode()
        DefaultParamsWriter.saveMetadata(
            self.instance, path, self.sparkSession, extraMetadata={"auctor": text}
        )


class _Reader(MLReader[Any]):
    """Reads the parameters and the model that `_Writer` has written."""

    def __init__(self, kind: type[SparkMetricClassifierModel]) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> SparkMetricClassifierModel:
        """Read the parameters and the model."""
        kept = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.auctor"
            file.write_bytes(base64.b64decode(kept["auctor"]))
            model = self.kind(load(file))
        # Every reader of pyspark restores the identifier so: `Params` has no public way.
        model._resetUid(kept["uid"])  # noqa: SLF001
        DefaultParamsReader.getAndSetParams(model, kept)
        return model
