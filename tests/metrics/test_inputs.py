import inspect
import re

import numpy as np
import pytest

from auctor import metrics
from auctor.core.errors import DataError, ParameterError

EXTRA = {
    "partial_auc": {"max_fpr": 0.3},
    "precision_at_k": {"k": 2},
    "recall_at_k": {"k": 2},
    "lift_at_k": {"k": 2},
}
#: A metric first; no labels; costs alone; probabilities.
OTHERS = ("by_group", "top_rows", "bayes_threshold", "calibration_error")
FUNCTIONS = [
    name
    for name in metrics.__all__
    if inspect.isfunction(getattr(metrics, name)) and name not in OTHERS
]
NEED_BOTH = {
    "roc_curve",
    "auc",
    "partial_auc",
    "auc_interval",
    "compare_auc",
    "balanced_error",
    "expected_auc",
    "expected_error",
    "gaussian_check",
}
NEED_NONE = {
    "confusion",
    "error_rate",
    "log_loss",
    "precision_at_k",
    "best_threshold",
    "fbeta",
    "savings",
}
GRAMMAR = re.compile(r"^\w+ needs .+; got .+\. .+\.$", re.DOTALL)
Y = np.array([0, 1, 0, 1, 1])
S = np.array([0.5, -1.0, 2.0, 2.0, 3.0])


def call(name, y, scores, **keywords):
    function = getattr(metrics, name)
    rows = (y, scores, scores) if name == "compare_auc" else (y, scores)
    return function(*rows, **EXTRA.get(name, {}), **keywords)


def flat(result):
    return [np.asarray(part) for part in result] if isinstance(result, tuple) else [result]


def test_every_public_name_exists():
    assert len(FUNCTIONS) == 25
    assert sorted(metrics.__all__) == metrics.__all__


def equal(got, expected, rtol=0.0):
    for a, b in zip(flat(got), flat(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol) if rtol else np.testing.assert_array_equal(a, b)


def refuses(name, what, **arguments):
    with pytest.raises(DataError, match=what) as caught:
        call(name, **arguments)
    assert GRAMMAR.match(str(caught.value)), str(caught.value)
    assert str(caught.value).startswith(f"{name} needs ")


# --- what inputs may be: the two ways in, for scores (auc) and for predictions (confusion) --------


@pytest.mark.parametrize(
    "labels",
    [
        Y.astype(bool),
        2 * Y - 1,
        Y.astype(float) + 4,
        np.where(Y == 1, "yes", "no"),
        (Y == 1).tolist(),
        Y.astype(np.uint8) * 255,
        np.where(Y == 1, "b", "a").astype(object),
    ],
    ids=["bool", "signed", "float", "text", "list", "uint8", "object"],
)
@pytest.mark.parametrize("name", ["auc", "confusion"])
def test_any_two_labels(name, labels):
    equal(call(name, labels, S), call(name, Y, S))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"scores": [0.5, np.nan, 2, 2, 3]}, "finite"),
        ({"scores": [0.5, np.inf, 2, 2, 3]}, "finite"),
        ({"scores": [0.5, 1.0]}, "same length"),
        ({"scores": S[:, None]}, "one dimension"),
        ({"scores": ["a", "b", "c", "d", "e"]}, "numbers"),
        ({"y": [], "scores": []}, "at least one row"),
        ({"y": [0, 1, 2, 1, 1]}, "two label values"),
        ({"y": ["a", "b", "c", "a", "a"]}, "two label values"),
        ({"y": [0, 1, np.nan, 1, 1]}, "finite labels"),
        ({"y": np.array([0, "b", None, 1, 1], dtype=object)}, "labels that can be ordered"),
        ({"y": [5, 5, 5, 5, 5]}, "two label values"),
        ({"weight": [1, 1, -1, 1, 1]}, "weight of at least zero"),
        ({"weight": [0, 0, 0, 0, 0]}, "weight above zero"),
        ({"weight": [1, 1, 1]}, r"shape \(5,\)"),
        ({"weight": [1, 1, np.nan, 1, 1]}, "weight to be finite"),
        ({"weight": [1e308] * 5}, "sum"),
    ],
)
def test_refusals(change, what):
    for name in ("auc", "confusion"):
        refuses(name, what, **{"y": Y, "scores": S, **change})


# --- every function goes that way, with its own name, labels, scores and weights ------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_checks_its_inputs(name):
    equal(call(name, np.where(Y == 1, "yes", "no"), S), call(name, Y, S))
    refuses(name, "finite", y=Y, scores=[0.5, np.nan, 2, 2, 3])
    refuses(name, "two label values", y=[0, 1, 2, 1, 1], scores=S)
    refuses(name, "weight of at least zero", y=Y, scores=S, weight=[1, 1, -1, 1, 1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_uses_its_weights(name):
    equal(call(name, Y, S, weight=np.ones(5)), call(name, Y, S), rtol=1e-14)
    # A row of weight zero is absent, whatever it holds.
    y = np.append(Y.astype(float), [np.nan, 7.0])
    scores = np.append(S, [np.nan, np.inf])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 0.0, 0.0])
    equal(call(name, y, scores, weight=weight), call(name, Y, S, weight=weight[:5]))
    one_class_only(name)


def one_class_only(name):
    """Functions refuse rows of one class, or not, as their definition demands."""
    weight = (Y == 1).astype(float)  # all negatives absent
    if name in NEED_BOTH:
        refuses(name, "at least one negative row", y=Y, scores=S, weight=weight)
        refuses(name, "at least one positive row", y=np.zeros(5), scores=S)
    elif name in NEED_NONE:
        call(name, Y, S, weight=weight)
        call(name, -np.ones(5), S)
    else:
        call(name, Y, S, weight=weight)
        refuses(name, "at least one positive row", y=np.zeros(5), scores=S)


def test_absent_class_keeps_its_label():
    # 1 is the lower label here, although alone it would read as positive.
    assert metrics.confusion([1, 1, 2], [1, 1, 2], weight=[1, 1, 0]) == (0, 0, 0, 2)


def test_read_only_and_strided_inputs():
    scores, y = S.copy(), Y.astype(bool)
    scores.flags.writeable = False
    y.flags.writeable = False
    assert metrics.auc(y, scores) == metrics.auc(Y, S)
    wide = np.column_stack([S, S])
    assert metrics.auc(Y[::-1], wide[::-1, 0]) == metrics.auc(Y, S)
    assert metrics.auc(Y, S.astype(np.float32)) == metrics.auc(Y, S)


@pytest.mark.parametrize("name", ["precision_at_k", "recall_at_k", "lift_at_k"])
def test_k_out_of_range(name):
    for k in (0, 6, -1, 0.0, 1.5, True, None, "2", np.nan):
        with pytest.raises(ParameterError, match=f"{name} needs k") as caught:
            getattr(metrics, name)(Y, S, k)
        assert GRAMMAR.match(str(caught.value))


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("auc_interval", {"level": 1.0}),
        ("auc_interval", {"method": "bootstrap"}),
        ("partial_auc", {"max_fpr": 0.0}),
        ("fbeta", {"beta": -1.0}),
        ("best_fbeta", {"beta": np.nan}),
        ("best_threshold", {"criterion": "auc"}),
        ("best_threshold", {"criterion": "cost"}),
        ("best_threshold", {"criterion": "error", "value": 1.0}),
        ("best_threshold", {"criterion": "precision", "value": 1.5}),
        ("best_threshold", {"criterion": "top", "value": 100}),
        ("confusion", {"threshold": np.nan}),
    ],
)
def test_parameters_out_of_range(name, keywords):
    with pytest.raises(ParameterError) as caught:
        getattr(metrics, name)(Y, S, **keywords)
    assert GRAMMAR.match(str(caught.value))


def test_integer_scores_that_floats_do_not_tell_apart():
    y = np.array([0, 1, 0, 1])
    large = 2**60
    with pytest.raises(DataError, match=r"integers beyond 2\^53 that become equal"):
        metrics.auc(y, np.array([large, large + 1, large + 2, large + 3]))
    with pytest.raises(DataError, match=r"integers beyond 2\^53"):
        metrics.auc(y, [2**70, 2**70 + 1, 0, 1])
    apart = large + 1024 * np.array([0, 3, 1, 2])
    assert metrics.auc(y, apart) == 1.0
    assert metrics.auc(y, np.array([large, large, 0, large])) == metrics.auc(y, [1, 1, 0, 1])
