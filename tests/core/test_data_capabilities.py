"""Capabilities of data: each gives the data with its protocol, and its absence an error."""

import inspect
import typing

import numpy as np
import pytest

from auctor.core import data_capabilities
from auctor.core.capabilities import Capability
from auctor.core.errors import IncompatibleError
from auctor.core.protocols import Data
from auctor.core.types import Target
from auctor.data import as_data, sharded
from auctor.data.binned import Binned
from auctor.data.emptied import Emptied
from auctor.data.sharded import Sharded
from auctor.losses import Logistic
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.testing.storages import TwoProducts

CAPABILITIES = {
    name: value for name, value in vars(data_capabilities).items() if isinstance(value, Capability)
}
#: The protocol of each capability, from the annotation of its constant.
PROTOCOLS = {
    name: typing.get_args(kind)[1]
    for name, kind in typing.get_type_hints(data_capabilities).items()
    if name in CAPABILITIES
}
X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 1.0]])
TARGET = Target(np.array([1.0, -1.0, 1.0, -1.0]))


def own_members(protocol: type) -> set[str]:
    """Members of a protocol that plain data lack."""
    plain = {name for name, _ in inspect.getmembers(Data) if not name.startswith("_")}
    return {
        name
        for name, _ in inspect.getmembers(protocol)
        if not name.startswith("_") and name not in plain
    }


def test_data_have_the_capabilities_that_they_implement() -> None:
    """The members of one protocol make its capability, and nothing but ``STORED`` else."""
    for name in set(CAPABILITIES) - {"EVERYTHING"}:
        members = dict.fromkeys(CAPABILITIES[name].members)
        data = type("Some", (TwoProducts,), members)(X, TARGET)
        has = {other for other, capability in CAPABILITIES.items() if capability.has(data)}
        assert has == {name, "STORED"}


def test_shards_of_many_columns_offer_no_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Sharded.examples(X, TARGET, 1)["three"]
    assert data_capabilities.GRAM.has(data)
    assert data_capabilities.SECOND_ORDER.has(data)
    assert not data_capabilities.ROWS.has(data)
    monkeypatch.setattr(sharded, "GRAM_COLUMNS", 1)
    assert not data_capabilities.GRAM.has(data)
    assert data_capabilities.SECOND_ORDER.has(data)


def test_a_view_has_the_capabilities_of_the_data_behind_it() -> None:
    for data in (TwoProducts(X, TARGET), as_data(X, TARGET.y)):
        view = Emptied(data, np.array([0]))
        for capability in CAPABILITIES.values():
            assert capability.has(view) == capability.has(data)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_data_in_memory_have_the_members_of_every_protocol(name: str) -> None:
    data = as_data(X, TARGET.y)
    found = CAPABILITIES[name].of(data)
    assert found is data
    assert CAPABILITIES[name].find(data) is data
    members = own_members(PROTOCOLS[name])
    assert "n_entries" in members
    assert all(hasattr(found, member) for member in members)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_data_of_two_products_lack_every_capability(name: str) -> None:
    data, capability = TwoProducts(X, TARGET), CAPABILITIES[name]
    assert capability.find(data) is None
    with pytest.raises(IncompatibleError, match=capability.words) as error:
        capability.of(data)
    assert "; got TwoProducts data. Use another solver, or other data." in str(error.value)


def test_binned_data_have_some_capabilities() -> None:
    data = Binned.examples(X, TARGET, 1)
    for store in data.values():
        assert data_capabilities.ROWS.find(store) is None
        gram = data_capabilities.GRAM.of(store)
        np.testing.assert_allclose(gram.gram(np.ones(4)), X.T @ X)


def test_a_missing_capability_of_a_problem_is_named() -> None:
    """What a problem asks of its data is refused by an error that says what is missing."""
    problem = Problem(Logistic(), L2(1.0), TwoProducts(X, TARGET))
    assert problem.n_entries == X.size
    with pytest.raises(IncompatibleError, match="The solver needs row access to the data"):
        problem.on_rows(np.array([0, 1]), problem.counts)
    with pytest.raises(IncompatibleError, match="weighted Gram matrices of the data"):
        problem.hessian(problem.evaluate(problem.start())).matrix()
