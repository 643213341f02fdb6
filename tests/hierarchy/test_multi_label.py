"""HierarchicalMultiLabel: every decoder, labels, weights, bad input, files, learned weights."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import auctor
from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.hierarchy import HierarchicalMultiLabel, Taxonomy, tune_decoder
from auctor.hierarchy.calibration import Calibration
from auctor.hierarchy.decoders import ExpectedF, Flat, HierarchicalOperator, TopK
from auctor.hierarchy.kernel_ridge import CERTAIN, Kernel, train_kernel
from auctor.hierarchy.metrics import pooled_auprc, set_scores
from auctor.kernel import Nystroem, RandomFeatures

TREE = Taxonomy.from_paths(["a/b/c", "a/b/d", "a/e", "f/g", "f/h"])
GRAPH = Taxonomy.from_parents({"a": None, "f": None, "b": "a", "g": "f", "x": ["b", "g"]})


def rows(taxonomy, n=300, seed=0):
    """Label sets that follow linear scores, closed upwards."""
    rng = np.random.default_rng(seed)
    W = np.random.default_rng(7).normal(size=(6, taxonomy.n_nodes))
    X = rng.normal(size=(n, 6))
    on = X @ W + 0.5 * rng.normal(size=(n, taxonomy.n_nodes)) > 1.5
    return X, taxonomy.close(on)


X, Y = rows(TREE)
NEW, TRUE = rows(TREE, 200, 1)
NAMES = ["expected_f", "flat", "leaf_reduce", "root_map", "hierarchical", "top_k", "mandatory_leaf"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("decoder", [*NAMES, TopK(2), HierarchicalOperator(each="level")], ids=str)
@pytest.mark.parametrize("taxonomy", [TREE, GRAPH], ids=["tree", "graph"])
def test_sets_obey_the_taxonomy(decoder, taxonomy):
    A, on = rows(taxonomy)
    model = HierarchicalMultiLabel(taxonomy, decoder=decoder, random_state=0).fit(A, on)
    said = model.predict(rows(taxonomy, 200, 1)[0])
    assert said.dtype == np.int64
    assert taxonomy.violations(said).size == 0
    assert said.any()


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "square"])
def test_expected_f_is_right_for_every_loss(loss):
    """Calibration makes probabilities of any score: no loss is far behind the best."""
    strength = 1e-3
    model = HierarchicalMultiLabel(TREE, loss=loss, strength=strength, random_state=0).fit(X, Y)
    best = HierarchicalMultiLabel(TREE, strength=strength, random_state=0).fit(X, Y)
    assert model.score(NEW, TRUE) > best.score(NEW, TRUE) - 0.01
    shown = model.predict_proba(NEW).mean(axis=0)
    np.testing.assert_allclose(shown, TRUE.mean(axis=0), atol=0.08)


def test_calibration_of_each_label_and_of_rare_ones():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4000, 3)) * 2.0
    on = rng.random(z.shape) < 1.0 / (1.0 + np.exp(-(z - 0.5)))
    on[:, 2] = False
    on[:5, 2] = True
    found = Calibration.fit(z / np.array([4.0, 2.0, 1.0]), on)
    np.testing.assert_allclose(found.slope[:2], [4.0, 2.0], rtol=0.1)
    np.testing.assert_allclose(found.offset[:2], -0.5, atol=0.15)
    shared = Calibration.fit(z, on, shared=True)
    assert np.unique(shared.slope).size == 1
    # Five rows have no slope of their own.
    assert (
        found.slope[2] == Calibration.fit(z / np.array([4.0, 2.0, 1.0]), on, shared=True).slope[0]
    )


@pytest.mark.parametrize("search", ["dfo", "subgradient"])
@pytest.mark.parametrize("each", ["one", "level", "label"])
def test_learned_weights_are_better_where_they_were_learned(each, search):
    rng = np.random.default_rng(0)
    scores = np.clip(Y * 0.3 + rng.uniform(size=Y.shape) * 0.7, 0.0, 1.0)
    grid = max(
        set_scores(Y, HierarchicalOperator(phi).decode(scores, TREE)).f
        for phi in HierarchicalOperator.candidates
    )
    found = tune_decoder(HierarchicalOperator(each=each, search=search), scores, Y, TREE)
    assert found.objective >= grid if each == "one" else found.objective > grid + 0.01
    assert np.size(found.decoder.phi) == {"one": 1, "level": 3, "label": TREE.n_nodes}[each]
    said = found.decoder.decode(scores, TREE)
    assert set_scores(Y, said).f == pytest.approx(found.objective)


@pytest.mark.sample(2)
@pytest.mark.parametrize("objective", ["f1", "micro_f1", "jaccard", "hamming"])
def test_tuning_follows_its_objective(objective):
    model = HierarchicalMultiLabel(TREE, decoder="flat", objective=objective, random_state=0)
    tuned = model.fit(X, Y).score(X, Y)
    fixed = clone(model).set_params(decoder=Flat(0.9), tune=False).fit(X, Y).score(X, Y)
    assert tuned > fixed


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [(LogisticRegression(), "logistic"), (LinearSVC(), "squared_hinge")],
    ids=str,
)
def test_other_peoples_models(estimator, loss):
    """They give the sets of our models with the same loss and strength, up to the intercept's."""
    model = HierarchicalMultiLabel(TREE, estimator=estimator, random_state=0).fit(X, Y)
    own = HierarchicalMultiLabel(TREE, loss=loss, strength=1.0 / len(X), tol=1e-6, random_state=0)
    assert (model.predict(NEW) == own.fit(X, Y).predict(NEW)).mean() > 0.98
    assert model.score(NEW, TRUE) == pytest.approx(own.score(NEW, TRUE), abs=0.02)


def test_labels_of_every_form():
    sets = TREE.label_sets(Y)
    settings = {"taxonomy": TREE, "random_state": 0}
    wanted = HierarchicalMultiLabel(**settings).fit(X, Y).predict(NEW)
    as_sets = HierarchicalMultiLabel(**settings).fit(X, sets).predict(NEW)
    np.testing.assert_array_equal(TREE.close(as_sets), wanted)
    sparse = HierarchicalMultiLabel(**settings).fit(csr_array(X), csr_array(Y.astype(int)))
    assert (sparse.predict(NEW) == wanted).mean() > 0.99
    # hiclass's arrays of several paths
    cube = np.full((len(sets), 5, 3), "", dtype=object)
    for row, names in zip(cube, sets, strict=True):
        leaves = [n for n in names if not any(m.startswith(f"{n}/") for m in names)]
        for path, name in zip(row, leaves, strict=False):
            path[: name.count("/") + 1] = name.split("/")
    cubes = HierarchicalMultiLabel(**settings).fit(X, cube).predict(NEW)
    np.testing.assert_array_equal(TREE.close(cubes), wanted)


def test_a_label_without_rows_is_said_once_and_never_predicted():
    bigger = Taxonomy.from_paths([*TREE.names, "z/never"])
    sets = TREE.label_sets(Y)
    model = HierarchicalMultiLabel(bigger, decoder=TopK(9), random_state=0)
    with pytest.warns(
        DataWarning, match="never predicts 2 labels, which have no rows: 'z', 'z/never'"
    ) as said:
        model.fit(X, sets)
    assert len(said) == 1
    assert not any("z" in row for row in model.predict(NEW))
    assert model.predict_proba(NEW)[:, [bigger.index("z")]].max() == 0.0


def test_rows_without_labels_are_sets_too():
    on = Y.copy()
    on[:100] = False
    model = HierarchicalMultiLabel(TREE, random_state=0).fit(X, on)
    assert model.decoder_.empty
    found = model.predict(X)
    assert not found.any(axis=1).all()
    # Rows without labels get empty sets more often than the others.
    empty = ~found.any(axis=1)
    assert empty[:100].mean() > empty[100:].mean() + 0.1
    assert model.score(X, on) > 0.5


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({}, [["a"], ["q"]], "labels of the taxonomy; got 'q'"),
        ({}, [["a"], "f"], "labels of one kind"),
        ({}, [["a"], [3]], "labels of one type"),
        ({}, np.ones((2, 3)), "a 0/1 matrix with 8 columns"),
        ({}, np.full((2, 8), 2), "a 0/1 matrix"),
        ({}, [["a"]], "1 for 2 rows"),
        ({}, None, "requires y to be passed"),
        ({"broken": "refuse"}, TREE.indicator([["a/b"], ["a"]]), "together with their parents"),
        ({"taxonomy": None}, np.ones((2, 8)), "a taxonomy for a 0/1 matrix"),
    ],
)
def test_bad_labels_are_refused(params, y, message):
    with pytest.raises(DataError, match=message):
        HierarchicalMultiLabel(**{"taxonomy": TREE, **params}).fit(np.eye(2), y)


@pytest.mark.parametrize(
    "params",
    [
        {"decoder": "best"}, {"decoder": 3}, {"objective": "auc"}, {"cv": 1}, {"loss": "none"},
        {"strength": -1.0}, {"broken": "mend"},
        {"decoder": HierarchicalOperator(search="luck")}, {"decoder": Flat(each="row")},
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(params):
    with pytest.raises(ParameterError):
        HierarchicalMultiLabel(TREE, **params).fit(X, Y)


def test_a_broken_matrix_is_closed_upwards_by_default():
    broken = Y.copy()
    broken[:, TREE.index("a")] = False
    assert TREE.violations(broken).size > 0
    found, wanted = (
        HierarchicalMultiLabel(TREE, random_state=0).fit(X, on).predict_proba(NEW)
        for on in (broken, TREE.close(broken))
    )
    np.testing.assert_array_equal(found, wanted)


def test_a_taxonomy_with_one_label():
    on = (X[:, :1] > 0).astype(int)
    model = HierarchicalMultiLabel(Taxonomy(["a"]), random_state=0).fit(X, on)
    assert (model.predict(X) == on).mean() > 0.9


def test_scores_that_are_nan_are_refused():
    with pytest.raises(DataError, match="got NaN"):
        ExpectedF().decode(np.full((1, TREE.n_nodes), np.nan), TREE)


def test_weights_count():
    weight = np.where(Y[:, TREE.index("f")], 5.0, 0.2)
    plain, heavy = (
        HierarchicalMultiLabel(TREE, random_state=0).fit(X, Y, sample_weight=w)
        for w in (None, weight)
    )
    column = TREE.index("f")
    assert heavy.predict(NEW)[:, column].mean() > plain.predict(NEW)[:, column].mean()
    assert heavy.score(X, Y, sample_weight=weight) != heavy.score(X, Y)


@pytest.mark.slow  # fifty checks
@pytest.mark.filterwarnings("ignore::auctor.core.errors.DataWarning")
def test_scikit_learn_agrees():
    """Labels that are numbers are sets of one; weights move rows between folds."""
    folds = "calibration and tuning are out of fold, and folds are drawn by row"
    check_estimator(
        HierarchicalMultiLabel(),
        on_skip=None,
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": folds,
            "check_sample_weight_equivalence_on_sparse_data": folds,
        },
    )


BENT = Taxonomy.from_paths(["a/b/c", "a/b/d", "f/g"])


def bent(n, seed):
    """Label sets that no linear score separates."""
    A = np.random.default_rng(seed).normal(size=(n, 4))
    angle, far = np.arctan2(A[:, 1], A[:, 0]), (A[:, :2] ** 2).sum(axis=1) > 1.4
    on = np.zeros((n, BENT.n_nodes), dtype=bool)
    for name, part in (("c", far & (np.sin(2 * angle) > 0)), ("d", far), ("g", ~far)):
        on[:, next(t for t, one in enumerate(BENT.names) if one.endswith(name))] = part
    return A, BENT.close(on)


@pytest.mark.parametrize("features", ["kernel", RandomFeatures(300), Nystroem(100)], ids=str)
def test_features_bend_the_scores(features):
    (A, on), (B, wanted) = bent(600, 0), bent(300, 1)
    linear = HierarchicalMultiLabel(BENT, random_state=0).fit(A, on)
    model = HierarchicalMultiLabel(BENT, features=features, random_state=0).fit(A, on)
    assert model.score(B, wanted) > linear.score(B, wanted) + 0.1
    assert model.score(B, wanted) > 0.85
    assert pooled_auprc(wanted, model.predict_proba(B)) > 0.93
    assert BENT.violations(model.predict(B)).size == 0
    # Folds are scored by models that have not seen them.
    held = model.out_of_fold_proba(A, on)
    assert 0.9 < pooled_auprc(on, held) < pooled_auprc(on, model.predict_proba(A)) + 1e-9


def test_kernel_ridge_is_that_of_scikit_learn_for_every_label():
    (A, on), (B, _) = bent(120, 0), bent(40, 1)
    kernel = Kernel(2.0, 0.3, 0.7)
    models = train_kernel(A, on, None, kernel)
    scaled = StandardScaler().fit(A)
    Z, W = scaled.transform(A), scaled.transform(B)
    mean = on.mean(axis=0)
    theirs = KernelRidge(alpha=0.7, kernel="precomputed").fit(kernel.values(Z, Z), on - mean)
    shown = models.scores(B) / (2 * CERTAIN) + 0.5
    np.testing.assert_allclose(shown, theirs.predict(kernel.values(W, Z)) + mean, atol=1e-10)
    # Weights are repetitions, but for the ridge, which is shared by as many rows.
    weight = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    heavy = train_kernel(A, on, weight, kernel)
    mass = weight[weight > 0].mean()
    again = np.repeat(np.arange(120), weight.astype(int))
    repeated = train_kernel(A[again], on[again], None, kernel._replace(ridge=0.7 * mass))
    np.testing.assert_allclose(heavy.scores(B), repeated.scores(B), atol=1e-8)


def test_a_kernel_model_is_saved_and_refused_by_name(tmp_path):
    A, on = bent(150, 0)
    model = HierarchicalMultiLabel(BENT, features="kernel", random_state=0).fit(A, on)
    auctor.save(model, tmp_path / "m")
    other = auctor.load(tmp_path / "m")
    np.testing.assert_array_equal(other.predict_proba(A), model.predict_proba(A))
    with pytest.raises(ParameterError, match="features to be 'kernel' or a transformer"):
        HierarchicalMultiLabel(BENT, features="rbf").fit(A, on)
    with pytest.raises(ParameterError, match="either features or estimator"):
        HierarchicalMultiLabel(BENT, features="kernel", estimator=LogisticRegression()).fit(A, on)
    with pytest.raises(DataError, match="at most 20,000 rows"):
        train_kernel(np.zeros((20_001, 1)), np.zeros((20_001, 1)), None, Kernel(1.0, 1.0))


def test_search_and_files(tmp_path):
    line = make_pipeline(StandardScaler(), HierarchicalMultiLabel(TREE, random_state=0))
    place = "hierarchicalmultilabel__strength"
    search = GridSearchCV(line, {place: [1e-3, 10.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {place: 1e-3}
    for decoder in ("expected_f", HierarchicalOperator(each="level", search="subgradient")):
        model = HierarchicalMultiLabel(TREE, decoder=decoder, random_state=0).fit(X, Y)
        auctor.save(model, tmp_path / "m")
        other = auctor.load(tmp_path / "m")
        np.testing.assert_array_equal(other.predict(NEW), model.predict(NEW))
        np.testing.assert_array_equal(other.predict_proba(NEW), model.predict_proba(NEW))
        auctor.save(other, tmp_path / "again")
        assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    theirs = HierarchicalMultiLabel(TREE, estimator=LogisticRegression()).fit(X, Y)
    with pytest.raises(ParameterError, match="estimator"):
        auctor.save(theirs, tmp_path / "no")
    from auctor.saved import read_model

    with pytest.raises(ParameterError, match=r"auctor\.load"):
        read_model(tmp_path / "m")
