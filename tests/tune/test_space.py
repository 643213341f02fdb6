"""Spaces and their embedding."""

import numpy as np
import pytest
from scipy import stats

from auctor.core.errors import DataError
from auctor.tune import Categorical, Conditional, Float, Integer, Space
from auctor.tune.space import as_dimension

DIMENSIONS = [
    Float(-1.0, 3.0),
    Float(1e-6, 1e3, log=True),
    Float(0.1, 0.3),
    Integer(-2, 5),
    Integer(1, 1000, log=True),
    Categorical(["a", "b"]),
    Categorical([None, "l1", 3]),
    [0.1, 1.0, 10.0],
    (0.5, 2.5),
    (1, 7),
    stats.loguniform(1e-3, 1e3),
    stats.uniform(2.0, 3.0),
    stats.randint(1, 9),
    stats.norm(),
]


@pytest.mark.parametrize("given", DIMENSIONS, ids=[str(k) for k in range(len(DIMENSIONS))])
def test_values_survive_the_way_there_and_back(given):
    dimension = as_dimension("p", given)
    for u in np.random.default_rng(0).random((50, dimension.width)):
        value = dimension.decode(u)
        again = dimension.decode(dimension.encode(value))
        if isinstance(value, float):
            assert again == pytest.approx(value, rel=1e-9)
        else:
            assert again == value
            assert type(again) is type(value)


@pytest.mark.parametrize("given", DIMENSIONS[:5], ids=str)
def test_ends_are_reached_and_never_left(given):
    for u, end in ((0.0, given.low), (1.0, given.high)):
        assert given.decode(np.array([u])) == end
    for u in np.nextafter([0.0, 1.0, 0.3], [1.0, 0.0, 1.0]):
        assert given.low <= given.decode(np.array([u])) <= given.high


def test_integers_have_equal_parts():
    found = [Integer(1, 4).decode(np.array([u])) for u in np.linspace(0.001, 0.999, 4000)]
    assert np.bincount(found)[1:].tolist() == pytest.approx([1000] * 4, abs=3)


def test_fixed_parameters_take_no_coordinate():
    space = Space({"a": Float(2.0, 2.0), "b": Integer(3, 3), "c": ["only"], "d": Float(0.0, 1.0)})
    assert space.dims == 1
    assert space.decode(np.array([0.25])) == {"a": 2.0, "b": 3, "c": "only", "d": 0.25}


def test_conditional_parameters_are_drawn_where_they_exist_and_said():
    space = Space(
        {
            "kernel": ["rbf", "linear"],
            "gamma": Conditional(Float(1e-3, 1.0, log=True), {"kernel": "rbf"}),
        }
    )
    assert space.dims == 1
    rng = np.random.default_rng(0)
    assert set(space.decode(np.array([0.1]), rng)) == {"kernel", "gamma"}
    assert set(space.decode(np.array([0.9]), rng)) == {"kernel"}
    assert "gamma" in str(space.warning())


@pytest.mark.parametrize(
    "call",
    [
        lambda: Space({}),
        lambda: Space([1]),
        lambda: Space({"a": "text"}),
        lambda: Float(1.0, 0.0),
        lambda: Float(0.0, 1.0, log=True),
        lambda: Float(0.0, np.inf),
        lambda: Categorical([]),
        lambda: Space({"a": Float(0.0, 1.0)}).encode({"a": 2.0}),
        lambda: Space({"a": Float(0.0, 1.0)}).encode({}),
        lambda: Space({"a": ["x", "y"]}).encode({"a": "z"}),
    ],
)
def test_bad_spaces_are_refused(call):
    with pytest.raises(DataError):
        call()
