"""TopDownClassifier: strategies, paths, labels of every form, bad input, scikit-learn's rules."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import auctor
from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.hierarchy import Taxonomy, TopDownClassifier, policies

PATHS = ["a/b/c", "a/b/d", "a/e/f", "g/h", "g/i", "k/only/one"]


def rows(n=400, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(len(PATHS), 8)) * 2.0
    k = rng.integers(len(PATHS), size=n)
    return centres[k] + noise * rng.normal(size=(n, 8)), np.array(PATHS)[k]


X, Y = rows()
NEW, TRUE = rows(200, 1)
MODELS = [
    TopDownClassifier(),
    TopDownClassifier(negatives="siblings"),
    TopDownClassifier(negatives="siblings", loss="logistic", path="greedy"),
    TopDownClassifier(negatives="siblings", loss="logistic", path="beam", beam=3),
    TopDownClassifier(strategy="parent"),
    TopDownClassifier(strategy="parent", path="beam"),
    TopDownClassifier(loss="hinge", calibrate=False),
    TopDownClassifier(penalty="l1", loss="logistic", solver=policies.depth_rule, tol=1e-4),
]


@pytest.mark.parametrize("model", MODELS, ids=[str(k) for k in range(len(MODELS))])
def test_every_way_finds_separated_classes(model):
    fitted = clone(model).set_params(random_state=0).fit(X, Y)
    assert fitted.score(NEW, TRUE) > 0.95
    proba = fitted.predict_proba(NEW)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert fitted.classes_[np.argmax(proba, axis=1)].tolist() == fitted.predict(NEW).tolist()
    sparse = clone(fitted).fit(csr_array(X), Y).predict(csr_array(NEW))
    assert (sparse == fitted.predict(NEW)).mean() > 0.98


def brute_ends(z, taxonomy, softmax, inherit, stay):
    """Log-probability of ending in every node of a row, by the definition."""
    size = taxonomy.n_nodes
    tops = np.flatnonzero(taxonomy.parent < 0)
    path, end = np.full(size, -np.inf), np.full(size, -np.inf)
    for group in range(-1, size):
        below = tops if group < 0 else taxonomy.children.of(group)
        own = 0.0 if group < 0 else path[group]
        above = own if inherit else 0.0
        ends = group >= 0 and stay[group]
        if below.size == 0:
            end[group] = own
        elif below.size == 1 and inherit and not ends:
            path[below] = above
        elif softmax:
            log = log_softmax(np.append(z[below], 0.0) if ends else z[below])
            path[below] = above + log[: below.size]
            if ends:
                end[group] = own + log[-1]
        else:
            path[below] = above + np.log(expit(z[below]))
            if ends:
                end[group] = own + np.log(expit(-z[below])).sum()
    return end


@pytest.mark.parametrize(("softmax", "inherit"), [(False, False), (False, True), (True, True)])
def test_path_scores_are_those_of_the_definition(softmax, inherit):
    from auctor.kernels.hierarchy import descend as kernels

    rng = np.random.default_rng(0)
    taxonomy = Taxonomy.from_paths(PATHS)
    z = rng.normal(size=(20, taxonomy.n_nodes)) * 3.0
    stay = np.append(~taxonomy.leaves & (rng.random(taxonomy.n_nodes) < 0.5), False)
    seen = np.ones(taxonomy.n_nodes, dtype=bool)
    path, end = np.empty(z.shape), np.empty(z.shape)
    top = np.flatnonzero(taxonomy.parent < 0)
    start, child = taxonomy.children
    kernels.path_scores(z, start, child, top, seen, softmax, inherit, stay, path, end)
    wanted = [brute_ends(row, taxonomy, softmax, inherit, stay) for row in z]
    np.testing.assert_allclose(end, wanted, atol=1e-10)
    # A beam as wide as the tree is exact, with dense weights and with compressed ones.
    size = taxonomy.n_nodes
    rows, unit = csr_array(z), csr_array(np.eye(size))
    none = np.zeros(0, dtype=np.int64)
    for weights in (
        (np.eye(size), none, none, np.zeros(0)),
        (np.empty((0, 0)), unit.indptr.astype(int), unit.indices.astype(int), unit.data),
    ):
        found = np.empty(20, dtype=np.int64)
        kernels.beam_search(
            rows.indptr, rows.indices, rows.data, *weights, np.zeros(size), top, start, child,
            seen, softmax, inherit, stay, size, found,
        )  # fmt: skip
        assert found.tolist() == np.argmax(wanted, axis=1).tolist()


@pytest.mark.parametrize("path", ["best", "greedy", "beam"])
@pytest.mark.parametrize("mandatory_leaf", [True, False])
def test_sparse_weights_give_the_paths_of_dense_ones(path, mandatory_leaf):
    model = TopDownClassifier(
        negatives="siblings", path=path, mandatory_leaf=mandatory_leaf, penalty="l1",
        strength=1e-2, loss="logistic", calibrate=True, random_state=0,
    )  # fmt: skip
    wanted = model.fit(X, Y).predict(NEW)
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size
    assert (wanted == TRUE).mean() > 0.8
    model.models_ = model.models_._replace(coef=csr_array(model.coef_))
    np.testing.assert_array_equal(model.predict(NEW), wanted)
    np.testing.assert_array_equal(model.predict(csr_array(NEW)), wanted)


def test_many_weights_are_kept_sparse_and_small_ones_are_cut(monkeypatch):
    """Beyond DENSE_ENTRIES weights; those below SPARSE_SHARE of the largest of a label go."""
    from auctor.hierarchy import nodes

    settings = {"negatives": "siblings", "loss": "logistic", "path": "greedy", "tol": 1e-8}
    dense = TopDownClassifier(**settings).fit(X, Y)
    monkeypatch.setattr(nodes, "DENSE_ENTRIES", 10)
    sparse = TopDownClassifier(**settings).fit(X, Y)
    assert sparse.coef_.format == "csr"
    kept = np.abs(dense.coef_) > nodes.SPARSE_SHARE * np.abs(dense.coef_).max(axis=1)[:, None]
    np.testing.assert_allclose(sparse.coef_.toarray(), np.where(kept, dense.coef_, 0.0))
    np.testing.assert_array_equal(sparse.predict(NEW), dense.predict(NEW))


@pytest.mark.parametrize(
    ("strategy", "penalty"), [("node", "l1"), ("node", "l2"), ("parent", "l2")]
)
def test_leaving_out_empty_columns_changes_nothing(strategy, penalty):
    """Rows with far fewer entries than columns, against the same rows with the columns they use."""
    rng = np.random.default_rng(3)
    wide = np.zeros((len(X), 5000))
    used = np.sort(rng.choice(5000, size=X.shape[1], replace=False))
    wide[:, used] = X
    settings = {"strategy": strategy, "negatives": "siblings", "penalty": penalty, "tol": 1e-9}
    settings |= {"loss": "logistic", "strength": 1e-2, "max_iter": 2000}
    narrow = TopDownClassifier(**settings).fit(csr_array(X), Y)
    whole = TopDownClassifier(**settings).fit(csr_array(wide), Y)
    np.testing.assert_allclose(whole.coef_[:, used], narrow.coef_, atol=1e-4)
    assert np.count_nonzero(whole.coef_) == np.count_nonzero(whole.coef_[:, used])


def test_a_flat_tree_against_all_rows_is_one_vs_rest():
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    flat = np.array([name.replace("/", "-") for name in Y])
    ours = TopDownClassifier(loss="logistic", strength=1e-2, tol=1e-8).fit(X, flat)
    theirs = OneVsRestClassifier(LogisticRegression(C=1.0 / (1e-2 * len(X)), tol=1e-8)).fit(X, flat)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    weights = np.vstack([one.coef_[0] for one in theirs.estimators_])
    np.testing.assert_allclose(ours.coef_, weights, atol=1e-3)


def test_a_parent_is_multinomial_regression():
    from sklearn.linear_model import LogisticRegression

    flat = np.array([name.replace("/", "-") for name in Y])
    ours = TopDownClassifier(strategy="parent", strength=1e-2, tol=1e-9).fit(X, flat)
    theirs = LogisticRegression(C=1.0 / (1e-2 * len(X)), tol=1e-9, max_iter=2000).fit(X, flat)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), atol=1e-4)


@pytest.mark.parametrize("strategy", ["node", "parent"])
@pytest.mark.parametrize("path", ["best", "greedy", "beam"])
def test_paths_may_end_early(strategy, path):
    labels = Y.copy()
    labels[np.char.startswith(labels.astype(str), "a/b")] = "a/b"
    model = TopDownClassifier(
        Taxonomy.from_paths(PATHS),
        strategy=strategy,
        mandatory_leaf=False,
        path=path,
        random_state=0,
    )
    with pytest.warns(DataWarning, match="never predicts 2 labels"):
        model.fit(X, labels)
    assert "a/b" in model.classes_
    assert (model.predict(X) == labels).mean() > 0.9


def test_solvers_of_a_node_agree_at_a_tight_tolerance():
    found = []
    for solver in (policies.depth_rule, policies.size_rule, "proximal_newton", "auto"):
        model = TopDownClassifier(
            loss="logistic", penalty="l1", strength=1e-2, solver=solver, tol=1e-8, max_iter=2000
        )
        found.append(model.fit(X, Y).coef_)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-4)


def test_threads_change_nothing():
    one, two = (TopDownClassifier(n_threads=k, random_state=0).fit(X, Y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_weights_count_like_repeated_rows():
    weight = np.random.default_rng(5).integers(0, 3, size=len(X)).astype(float)
    settings = {"loss": "logistic", "tol": 1e-9, "strength": 1e-2, "max_iter": 1000}
    weighted = TopDownClassifier(**settings).fit(X, Y, sample_weight=weight)
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    repeated = TopDownClassifier(**settings).fit(X[again], Y[again])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_labels_of_every_form():
    table = np.full((len(Y), 3), "", dtype=object)
    for row, name in zip(table, Y, strict=True):
        parts = name.split("/")
        row[: len(parts)] = parts
    taxonomy = Taxonomy.from_paths(PATHS)
    wanted = TopDownClassifier(taxonomy, random_state=0).fit(X, Y).predict(NEW)
    as_table = TopDownClassifier(random_state=0).fit(X, table).predict(NEW)
    assert ["/".join(part for part in row if part) for row in as_table] == wanted.tolist()
    sets = TopDownClassifier(taxonomy, random_state=0).fit(X, [[name] for name in Y]).predict(NEW)
    assert [row[-1] for row in sets] == wanted.tolist()
    matrix = taxonomy.close([[name] for name in Y]).astype(int)
    for kind in (np.asarray, csr_array):
        on = TopDownClassifier(taxonomy, random_state=0).fit(X, kind(matrix)).predict(NEW)
        np.testing.assert_array_equal(on, taxonomy.close([[name] for name in wanted]))


def test_hiclass_takes_the_same_labels():
    hiclass = pytest.importorskip("hiclass")
    table = np.array([name.split("/")[:2] for name in Y], dtype=object)
    from sklearn.linear_model import LogisticRegression

    theirs = hiclass.LocalClassifierPerNode(LogisticRegression()).fit(X, table).predict(NEW)
    ours = TopDownClassifier().fit(X, table).predict(NEW)
    assert (ours == theirs).all(axis=1).mean() > 0.9


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (TopDownClassifier(Taxonomy(["a", "b"])), ["a", "c"], "labels of the taxonomy; got 'c'"),
        (TopDownClassifier(), ["a", ["b"]], "labels of one kind"),
        (TopDownClassifier(), ["a", 1], "labels of one type"),
        (TopDownClassifier(), ["a", None], "a label for every row"),
        (TopDownClassifier(Taxonomy(["a"])), [["a"], []], "none in row 1"),
        (TopDownClassifier(Taxonomy(["a", "b"])), [["a", "b"], ["a"]], "several in row 0"),
        (TopDownClassifier(Taxonomy.from_paths(["a/b"])), ["a", "a/b"], "labels that are leaves"),
        (TopDownClassifier(), [["a"], ["b"]], "a taxonomy for label sets"),
        (TopDownClassifier({"a": None}), ["a", "b"], "needs a Taxonomy"),
        (TopDownClassifier(), ["a", "b", "c"], "3 for 2 rows"),
        (TopDownClassifier(), "ab", "labels for every row"),
    ],
)
def test_bad_labels_are_refused(model, y, message):
    with pytest.raises(DataError, match=message):
        model.fit(np.eye(2), y)


@pytest.mark.parametrize(
    "params",
    [
        {"strategy": "level"}, {"negatives": "some"}, {"path": "worst"}, {"beam": 0},
        {"stop": 1.0}, {"strength": -1.0}, {"loss": "none"}, {"tol": 0.0},
        {"strategy": "parent", "loss": "hinge"}, {"strategy": "parent", "negatives": "all"},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(params):
    with pytest.raises(ParameterError):
        TopDownClassifier(**params).fit(X, Y)


def test_a_graph_is_refused():
    graph = Taxonomy.from_parents({"a": None, "b": None, "c": ["a", "b"]})
    with pytest.raises(DataError, match="one parent for every label"):
        TopDownClassifier(graph).fit(np.eye(2), [["c"], ["c"]])


def test_a_tree_with_one_node():
    model = TopDownClassifier().fit(np.eye(3), ["only"] * 3)
    assert model.predict(np.eye(3)).tolist() == ["only"] * 3
    assert model.predict_proba(np.eye(3)).tolist() == [[1.0]] * 3


def test_pipeline_search_pickle_and_files(tmp_path):
    line = make_pipeline(StandardScaler(), TopDownClassifier(random_state=0))
    search = GridSearchCV(line, {"topdownclassifier__strength": [1e-4, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"topdownclassifier__strength": 1e-4}
    for model in MODELS[:5]:
        model = clone(model).set_params(taxonomy=Taxonomy.from_paths(PATHS)).fit(X, Y)
        auctor.save(model, tmp_path / "m")
        for other in (auctor.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
            assert type(other) is TopDownClassifier
            assert other.taxonomy_ == model.taxonomy_
            np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))
            np.testing.assert_array_equal(other.predict_proba(NEW), model.predict_proba(NEW))


def test_the_report_of_every_node():
    report = TopDownClassifier().fit(X, Y).node_report(NEW, TRUE)
    by_name = {node.name: node for node in report.nodes}
    assert by_name["a"].rows == sum(name.startswith("a/") for name in TRUE)
    # With one path a row, F1 by leaf, micro, is accuracy (check A11).
    leaves = [node for node in report.nodes if node.name in PATHS]
    micro = 2 * sum(n.hits for n in leaves) / sum(n.rows + n.predicted for n in leaves)
    assert micro == pytest.approx((TopDownClassifier().fit(X, Y).predict(NEW) == TRUE).mean())
    from auctor.reports import render_taxonomy

    page = render_taxonomy(report)
    assert page.count("<rect") == len(report.nodes)
    assert report.worst(0)[0].f1 == min(node.f1 for node in report.nodes)


@pytest.mark.filterwarnings("ignore::auctor.core.errors.DataWarning")
def test_scikit_learn_agrees():
    """Labels that are numbers make a flat taxonomy, so that all checks but these apply."""
    check_estimator(
        TopDownClassifier(loss="logistic", tol=1e-6),
        on_skip=None,
        expected_failed_checks={
            "check_non_transformer_estimators_n_iter": "a model for every node: no one count"
        },
    )
