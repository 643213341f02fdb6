"""The structure of messages, and the texts made from it."""

from __future__ import annotations

import pickle

import pytest

from auctor.core.errors import (
    AuctorError,
    ConvergenceWarning,
    DataError,
    Message,
    MissingExtraError,
    Option,
)
from auctor.core.optional import require
from auctor.core.result import Solution, Status, Trace


@pytest.mark.parametrize("parts", [{}, {"got": "x"}, {"needs": "a", "does": "b"}])
def test_a_message_says_either_what_is_needed_or_what_is_done(parts):
    with pytest.raises(TypeError, match="either"):
        DataError("read_table", **parts)


def test_a_message_survives_pickling():
    error = DataError("a", needs="b", got=3, todo="Pass {option}.", option=Option("cv", 3))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is DataError
    assert str(again) == str(error) == "a needs b; got 3. Pass cv=3."
    assert isinstance(error, AuctorError | Message)


def test_a_missing_extra_is_structured():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_module", extra="cli", who="auctor demo")
    error = caught.value
    assert (error.who, error.needs) == ("auctor demo", "no_such_module")
    assert error.todo == 'Run: pip install "auctor[cli]"'


@pytest.mark.parametrize("status", [one for one in Status if not one.success])
def test_a_missed_tolerance_has_its_numbers_and_one_thing_to_do(status):
    solution = Solution(
        None, 0.0, 1.0, 0.25, True, 1e-3, status, 7, 1.0, 1, 1.0, "Newton", Trace()
    )  # fmt: skip
    warning = solution.warning()
    assert isinstance(warning, ConvergenceWarning)
    assert (warning.who, warning.does) == ("Newton", "stopped after 7 iterations")
    assert warning.got == "a certified gap of 0.25 for a tolerance of 0.001"
    assert status.value in str(warning)
    assert "{" not in str(warning)
    several = solution.warning("missed the tolerance in 3 of 40 fits")
    assert str(several).startswith(
        "Newton missed the tolerance in 3 of 40 fits; in one of them it stopped"
    )


def test_an_extra_that_is_installed_and_broken_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "needs_newer.py").write_text("raise ImportError('numpy 2 is needed')")
    (tmp_path / "needs_other.py").write_text("import no_such_module_of_another")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match="fails with: numpy 2 is needed"):
        require("needs_newer", extra="cli", who="auctor demo")
    with pytest.raises(MissingExtraError, match="No module named 'no_such_module_of_another'"):
        require("needs_other", extra="cli", who="auctor demo")
