"""The structure of messages, and the texts made from it."""

from __future__ import annotations

import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from auctor.core.errors import (
    AuctorError,
    ConvergenceWarning,
    DataError,
    DataLost,
    DataWarning,
    Message,
    MissingExtraError,
    Option,
    speaking,
    speaks,
    speaks_as,
    warn,
)
from auctor.core.optional import require
from auctor.core.result import Solution, Status, Trace


@pytest.mark.parametrize("parts", [{}, {"got": "x"}, {"needs": "a", "does": "b"}])
def test_a_message_says_either_what_is_needed_or_what_is_done(parts):
    with pytest.raises(TypeError, match="either"):
        DataError(**parts)


# --- the name of who needs something ------------------------------------------------------------


def refuse(got):
    raise DataError("rows", got=got, todo="Pass {option}.", option=Option("cv", 3))


@speaks_as("read")
def read(got):
    refuse(got)


@speaks_as("parts")
def parts_of(*parts):
    for part in parts:
        if part is None:
            refuse(part)
        yield part


class Scale:
    @speaks
    def fit(self, got):
        read(got)

    @speaks
    def warned(self):
        warn(DataWarning(does="guesses"))


class Scale2(Scale):
    pass


def test_the_outermost_public_call_is_named():
    with pytest.raises(DataError, match=r"^Scale2 needs rows; got 3. Pass cv=3.$"):
        Scale2().fit(3)
    with pytest.raises(DataError, match=r"^read needs rows"):
        read(3)
    with speaking("auctor train"), pytest.raises(DataError, match=r"^auctor train needs rows"):
        Scale2().fit(3)
    with pytest.raises(DataError, match=r"^auctor needs rows; got 3"):
        refuse(3)


def test_a_user_s_own_estimator_inside_of_ours_names_itself():
    with speaking("SearchCV"), speaking(None), pytest.raises(DataError, match=r"^Scale2 needs"):
        Scale2().fit(3)


def test_a_part_is_named_whoever_calls_it():
    with speaking("read"):
        assert str(DataError("a positive delta", part="Huber")) == "Huber needs a positive delta"


def test_an_error_of_another_thread_takes_the_name_of_the_call_that_it_leaves():
    @speaks_as("solve")
    def solve():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(refuse, 3).result()

    with pytest.raises(DataError, match=r"^solve needs rows; got 3") as caught:
        solve()
    assert caught.value.who == "solve"


def test_a_generator_speaks_at_its_steps_and_not_between_them():
    steps = parts_of(1, None)
    assert next(steps) == 1
    assert DataError("x").who is None
    with pytest.raises(DataError, match=r"^parts needs rows"):
        next(steps)
    assert list(parts_of(1, 2)) == [1, 2]


def test_the_name_ends_with_the_call():
    for _ in range(2):
        with pytest.raises(DataError, match=r"^read needs"):
            read(3)
        assert DataError("x").who is None


def test_decorated_functions_keep_their_signature():
    assert str(inspect.signature(read)) == "(got)"
    assert inspect.isgeneratorfunction(inspect.unwrap(parts_of))
    assert Scale.fit.__name__ == "fit"


def test_a_warning_points_at_the_line_that_called_the_package():
    with pytest.warns(DataWarning, match=r"^Scale guesses") as caught:
        Scale().warned()
    assert caught[0].filename == __file__


def test_a_message_survives_pickling():
    with speaking("a"):
        error = DataError("b", got=3, todo="Pass {option}.", option=Option("cv", 3))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is DataError
    assert str(again) == str(error) == "a needs b; got 3. Pass cv=3."
    assert isinstance(error, AuctorError | Message)
    # One that another process made without a name takes that of the call that gets it.
    unnamed = pickle.dumps(DataLost("rows"))
    assert str(pickle.loads(unnamed)) == "auctor needs rows"
    with speaking("a"):
        assert str(pickle.loads(unnamed)) == "a needs rows"


def test_copies_keep_the_name():
    with speaking("fit"):
        warning = ConvergenceWarning(does="stopped", todo="Increase {option}.", option="tol")
    assert str(warning.of_kind(DataWarning)) == "fit stopped. Increase tol=."
    assert str(warning.naming(Option("max_iter", bare=True))) == "fit stopped. Increase max_iter."


def test_a_missing_extra_is_structured():
    with speaking("auctor demo"), pytest.raises(MissingExtraError) as caught:
        require("no_such_module", extra="cli")
    error = caught.value
    assert (error.who, error.needs) == ("auctor demo", "no_such_module")
    assert error.todo == 'Run: pip install "auctor[cli]"'
    with pytest.raises(MissingExtraError, match="needs no_such_module to read CSV; got"):
        require("no_such_module", extra="cli", to="read CSV")


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
        require("needs_newer", extra="cli")
    with pytest.raises(MissingExtraError, match="No module named 'no_such_module_of_another'"):
        require("needs_other", extra="cli")
