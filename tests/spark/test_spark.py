"""Spark: one barrier job whose tasks answer products; the model is that of the rows in memory."""

import shutil

import numpy as np
import pytest

from auctor import AdditiveClassifier, MetricClassifier
from auctor.core.errors import DataError
from auctor.data import as_data
from auctor.losses import Logistic, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose

sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
pandas = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none"),
    pytest.mark.filterwarnings("ignore"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X @ [1.0, 2.0, 0.0] + RNG.normal(size=400) > 1.5, 1.0, -1.0)


@pytest.fixture(scope="module")
def frame(session):
    table = pandas.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "y"])
    return session.createDataFrame(table)


def test_the_answers_are_those_of_the_rows_in_memory(frame):
    from auctor.spark import from_spark

    data = from_spark(frame, ["a", "b", "c"], "y")
    order = np.argsort(data.scores(np.array([1.0, 0.0, 0.0])))
    mine = np.argsort(X[:, 0])
    np.testing.assert_array_equal(data.target.y[order], Y[mine])
    for loss in (Logistic(), PairwiseHinge()):
        far, near = Problem(loss, L2(1e-2), data), Problem(loss, L2(1e-2), as_data(X, Y))
        found = minimise(far, choose(far), tol=1e-6)
        wanted = minimise(near, choose(near), tol=1e-6)
        assert abs(found.value - wanted.value) <= found.gap + wanted.gap
    with pytest.raises(DataError, match=r"data\.workers\.close\(\)"):
        from_spark(frame, ["a"], "y")
    model, near = (MetricClassifier("auc", surrogate="hinge", strength=1e-2) for _ in range(2))
    model.fit(data)
    data.workers.close()
    np.testing.assert_allclose(model.coef_, near.fit(X, Y).coef_, rtol=1e-6)


def test_sparse_vectors_stay_sparse_and_more_partitions_than_slots_are_fine(frame):
    from pyspark.ml.feature import OneHotEncoder

    import auctor
    from auctor.spark import SparkMetricClassifier

    kinds = frame.selectExpr("double(pmod(int(a * 100), 40)) as kind", "if(y > 0, 1.0, 0.0) as y")
    encoder = OneHotEncoder(inputCols=["kind"], outputCols=["v"], dropLast=False)
    vectors = encoder.fit(kinds).transform(kinds).repartition(5)
    data = auctor.data.spark(vectors, "v", "y")
    try:
        assert data.shape == (400, 40)
        assert data.n_entries == 400  # 16,000 if they were dense
        assert len(data.holder.lengths) == 2
    finally:
        data.workers.close()
    model = SparkMetricClassifier(featuresCol="v", labelCol="y", metric="log_loss").fit(vectors)
    rows = model.transform(vectors).collect()
    X = np.array([row.v.toArray() for row in rows])
    wanted = model.fitted.decision_function(X)
    np.testing.assert_allclose([row.rawPrediction[1] for row in rows], wanted, rtol=1e-12)


def test_columns_and_slots_are_checked_first(frame):
    from auctor.spark import from_spark

    with pytest.raises(DataError, match="'nothing'"):
        from_spark(frame, ["nothing"], "y")
    with pytest.raises(DataError, match="the slots of the cluster"):
        from_spark(frame, ["a"], "y", n_tasks=50)


def test_executors_without_auctor_or_with_another_version_are_refused(frame, monkeypatch):
    from auctor.spark import from_spark, workers

    # The driver says it is newer than what its own tasks, which read the real number, tell it.
    monkeypatch.setattr(workers, "__version__", "99.0")
    with pytest.raises(DataError, match=r"auctor 99\.0 on every executor, as it is here; got"):
        from_spark(frame, ["a"], "y")

    def absent(connection):
        raise ModuleNotFoundError("No module named 'auctor'")

    error = workers.DataLost
    monkeypatch.setattr(workers, "serve", absent)
    with pytest.raises(error, match="Check that executors have auctor"):
        from_spark(frame, ["a"], "y")


def test_labels_of_text_vectors_and_weights(frame):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql.functions import expr

    import auctor

    named = frame.withColumn("kind", expr("if(y > 0, 'bad', 'good')")).withColumn(
        "w", expr("if(a > 0, 2.0D, 1.0D)")
    )
    vectors = VectorAssembler(inputCols=["a", "b", "c"], outputCol="v").transform(named)
    data = auctor.data.spark(vectors, "v", "kind", weight="w")
    model = MetricClassifier("f1", surrogate="logistic", strength=1e-2, standardise=False).fit(data)
    data.workers.close()
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.pos_label_ == "bad"
    near = MetricClassifier("f1", surrogate="logistic", strength=1e-2, standardise=False)
    near.fit(X, np.where(Y > 0, "bad", "good"), sample_weight=1.0 + (X[:, 0] > 0))
    np.testing.assert_allclose(model.coef_, near.coef_, atol=1e-4)
    with pytest.raises(DataError, match="StringIndexer"):
        auctor.data.spark(named.withColumn("kind", expr("string(floor(a))")), ["a"], "kind")
    with pytest.raises(DataError, match="dropna"):
        auctor.data.spark(named.withColumn("y", expr("if(a > 1, null, y)")), ["a"], "y")
    holes = named.withColumn("a", expr("if(a > 1, null, a)"))
    with pytest.raises(DataError, match=r"from_spark needs finite .* column 'a' holds"):
        auctor.data.spark(holes, ["b", "a"], "y")
    with pytest.raises(DataError, match="a weight in every row of 'a'"):
        auctor.data.spark(holes, ["b"], "y", weight="a")
    with pytest.raises(DataError, match="an empty frame"):
        auctor.data.spark(named.where("a > 100"), ["a"], "y")


def test_an_estimator_of_spark_ml(frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import BinaryClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
    from pyspark.sql.functions import expr

    from auctor.spark import SparkMetricClassifier

    labelled = frame.withColumn("label", expr("if(y > 0, 1.0, 0.0)"))
    assemble = VectorAssembler(inputCols=["a", "b", "c"], outputCol="features")
    classify = SparkMetricClassifier(metric="log_loss", strength=1e-2, tol=1e-8)
    fitted = Pipeline(stages=[assemble, classify]).fit(labelled)
    near = MetricClassifier("log_loss", strength=1e-2, tol=1e-8).fit(X, Y > 0)
    np.testing.assert_allclose(fitted.stages[-1].fitted.coef_, near.coef_, atol=1e-5)

    fitted.write().overwrite().save(str(tmp_path / "pipe"))
    for model in (fitted, PipelineModel.load(str(tmp_path / "pipe"))):
        rows = model.transform(labelled).orderBy("a").collect()
        order = np.argsort(X[:, 0])
        found = np.array([row.probability[1] for row in rows])
        np.testing.assert_allclose(found, near.predict_proba(X[order])[:, 1], atol=1e-5)
        raw = np.array([row.rawPrediction[1] for row in rows])
        np.testing.assert_array_equal([row.prediction for row in rows], raw > 0)

    grid = ParamGridBuilder().addGrid(classify.strength, [1e-3, 1e3]).build()
    search = CrossValidator(
        estimator=Pipeline(stages=[assemble, classify]),
        estimatorParamMaps=grid,
        evaluator=BinaryClassificationEvaluator(metricName="areaUnderPR"),
        numFolds=2,
        seed=0,
    )
    best = search.fit(labelled)
    assert best.bestModel.stages[-1].fitted.strength == 1e-3
    again = SparkMetricClassifier.load(_saved(classify, tmp_path / "estimator"))
    assert again.getOrDefault(again.metric) == "log_loss"


def _saved(stage, path):
    stage.save(str(path))
    return str(path)


def test_curves_with_pairs(session):
    from auctor.spark import SparkAdditiveClassifier

    labels = X[:, 0] * X[:, 2] + X[:, 1] > 0.3
    rows = X.copy()
    rows[::7, 1] = np.nan
    table = pandas.DataFrame(np.column_stack([rows, labels]), columns=["a", "b", "c", "y"])
    given = {"members": 2, "interactions": 1, "strength": 0.01, "tol": 1e-9}
    train = SparkAdditiveClassifier(inputCols=["a", "b", "c"], labelCol="y", **given)
    made = session.createDataFrame(table)
    model = train.fit(made)
    # Folds are drawn by row number, so the rows in memory have the order of the partitions.
    order = np.concatenate([[row.a for row in part] for part in made.rdd.glom().collect()])
    place = np.argsort(X[:, 0])[np.argsort(np.argsort(order))]
    near = AdditiveClassifier("auc", **given).fit(rows[place], labels[place])
    np.testing.assert_allclose(model.fitted.coef_, near.coef_, atol=1e-5)
    out = model.transform(made).toPandas().sort_values("a")
    wanted = near.decision_function(rows[np.argsort(X[:, 0])])
    np.testing.assert_allclose([one[1] for one in out["rawPrediction"]], wanted, atol=1e-4)
