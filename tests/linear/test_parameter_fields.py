"""Parameters are dataclass fields, written once, and errors name the class that users know."""

from dataclasses import fields

import pytest
from sklearn.base import clone

from auctor import KernelClassifier, KernelRegressor
from auctor.covariance import SparseInverseCovariance, SparseInverseCovarianceCV
from auctor.hierarchy import HierarchicalMultiLabel, TopDownClassifier
from auctor.tune import SearchCV

CLASSES = [
    KernelClassifier,
    KernelRegressor,
    SparseInverseCovariance,
    SparseInverseCovarianceCV,
    HierarchicalMultiLabel,
    TopDownClassifier,
]


@pytest.mark.parametrize("kind", CLASSES)
def test_the_fields_are_the_parameters(kind):
    names = {one.name for one in fields(kind)}
    model = kind(**{name: f"value of {name}" for name in names})
    assert model.get_params() == {name: f"value of {name}" for name in names}
    assert clone(model).get_params() == model.get_params()
    assert kind().set_params(**model.get_params()).get_params() == model.get_params()


@pytest.mark.parametrize("kind", CLASSES)
def test_the_first_parameter_alone_may_be_given_by_position(kind):
    first = next(iter(one.name for one in fields(kind) if not one.kw_only))
    assert kind("a value").get_params()[first] == "a value"
    with pytest.raises(TypeError, match=rf"{kind.__name__}\..*positional"):
        kind("a value", "another")


@pytest.mark.parametrize("kind", [*CLASSES, SearchCV])
def test_an_unknown_parameter_is_refused_in_the_name_of_the_class(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\b.*'colour'"):
        kind(colour="red")
