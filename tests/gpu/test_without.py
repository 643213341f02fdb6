"""Rooms of engines that are not installed: an error that says what to install."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.errors import MissingExtraError

NAMES = {"torch": ("gpu", "OnDevice"), "jax": ("jax", "auc_loss")}


@pytest.mark.parametrize(("library", "name"), NAMES.items())
def test_a_room_names_the_extra(library, name):
    if find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    with pytest.raises(MissingExtraError, match=rf"needs {library}; .*auctor\[{name[0]}\]"):
        getattr(import_module(f"auctor.{name[0]}"), name[1])


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed")
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_estimator_names_the_extra(device):
    X, y = np.arange(12.0).reshape(-1, 2) % 5, [0, 1, 0, 1, 1, 0]
    with pytest.raises(MissingExtraError, match=r"needs torch; .*auctor\[gpu\]"):
        MetricClassifier("auc", device=device).fit(X, y)
