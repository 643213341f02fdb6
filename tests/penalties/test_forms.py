"""Forms of penalties, as arrays: present where the penalty has them, otherwise an error."""

import numpy as np
import pytest

from auctor.core.capabilities import BLOCKS, SEPARABLE, TREE
from auctor.core.errors import IncompatibleError
from auctor.penalties import L1, GroupL2, TreeL2

GROUPS = GroupL2(0.5, [[0, 1], [2]])


@pytest.mark.parametrize(
    ("form", "penalty", "wanted"),
    [
        (SEPARABLE, L1(0.5), L1(0.5).separable(3)),
        (BLOCKS, GROUPS, GROUPS.blocks(3)),
        (TREE, GROUPS, GROUPS.tree(3)),
    ],
)
def test_a_form_is_that_of_the_penalty(form, penalty, wanted):
    for found, part in zip(form.of(penalty, 3), wanted, strict=True):
        np.testing.assert_array_equal(found, part)


@pytest.mark.parametrize(
    ("form", "penalty", "words"),
    [
        (SEPARABLE, GROUPS, "a penalty that separates over coordinates"),
        (BLOCKS, TreeL2.from_groups(0.5, [[0, 1], [0]], columns=3), "a penalty on disjoint groups"),
    ],
)
def test_a_missing_form_is_named(form, penalty, words):
    assert form.find(penalty, 3) is None
    with pytest.raises(IncompatibleError, match=f"The solver needs {words}"):
        form.of(penalty, 3)
