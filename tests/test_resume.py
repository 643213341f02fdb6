"""A solve that was ended goes on with all its solver has learned."""

import os
import pickle

import numpy as np
import pytest

from auctor.core.errors import DataError, DataLost
from auctor.core.result import Status
from auctor.core.types import Target
from auctor.data import Dense, Sharded
from auctor.data.workers import MemoryWorkers
from auctor.fit.checkpoint import Checkpoint
from auctor.lab.solvers import OrthantWise
from auctor.losses import Logistic, PairwiseHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.problem.frozen import BIT_GENERATORS, freeze, thaw
from auctor.solvers import CutsFirst, Lbfgs, Lhac, choose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 40))
Y = np.where(X @ RNG.normal(size=40) + 3.0 * RNG.normal(size=1200) > 4.0, 1.0, -1.0)
CASES = [
    (Logistic(), L2(1e-4), Lbfgs()),
    (Logistic(), L1(1e-3), Lhac()),
    (Logistic(), L1(1e-3), OrthantWise()),
    (PairwiseHinge(), L2(1e-3), CutsFirst()),
    (PairwiseHinge(), L2(1e-3), None),
    (Prbep(), L2(1e-2), None),
]


def problem(loss, penalty):
    shards = [
        Dense(X[some], Target(Y[some]), n_threads=1) for some in np.array_split(np.arange(1200), 3)
    ]
    return Problem(loss, penalty, Sharded(MemoryWorkers(shards)))


@pytest.mark.parametrize(("loss", "penalty", "solver"), CASES, ids=repr)
def test_going_on_costs_no_more_than_one_solve(loss, penalty, solver):
    solver = solver or choose(problem(loss, penalty))
    given = {"tol": 1e-5, "max_iter": 500, "rng": 0, "on_failure": "ignore"}
    whole = minimise(problem(loss, penalty), solver, **given)
    kept = []

    def end(step):
        kept[:] = [step.w.copy(), step.freeze]
        return step.iteration == whole.n_iter // 2

    first = minimise(problem(loss, penalty), solver, on_step=end, **given)
    assert first.status is Status.STOPPED
    w, freeze = kept
    second = minimise(problem(loss, penalty), solver, w0=w, state=freeze(), **given)
    assert first.n_iter + second.n_iter == whole.n_iter
    assert first.evaluations + second.evaluations <= 1.1 * whole.evaluations
    np.testing.assert_allclose(second.coef, whole.coef, rtol=1e-6, atol=1e-9)


def test_a_state_that_cannot_be_read_starts_from_the_parameters():
    one = problem(Logistic(), L2(1e-2))
    wanted = minimise(one, Lbfgs(), tol=1e-8)
    w = np.append(wanted.coef, wanted.intercept)
    for raw in (b"", b"nonsense", pickle.dumps(("Newton", None, 0.0))):
        assert minimise(one, Lbfgs(), tol=1e-6, w0=w, state=raw).n_iter == 0


class Harmful:
    def __reduce__(self):
        return os.getcwd, ()


def test_nothing_but_parts_of_solvers_is_read():
    one = problem(Logistic(), L2(1e-2))
    for harmful in (pickle.dumps(Harmful()), pickle.dumps(np.save), pickle.dumps(eval)):
        with pytest.raises(pickle.UnpicklingError, match="in the state of a solver"):
            thaw(harmful, one)


def calling(module: str, name: str, argument: bytes) -> bytes:
    """A pickle of protocol 4 that calls ``module.name(argument)``."""
    text = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)]
    return (
        b"\x80\x04" + text[0] + text[1] + b"\x93"  # push both names, then the object they name
        + b"C" + bytes([len(argument)]) + argument + b"\x85R."  # push the argument, call
    )  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("auctor.problem.frozen", "pickle.loads"),  # a function of an imported module
        ("auctor.problem.frozen", "io.BytesIO"),  # a class of an imported module
        ("auctor.problem.frozen", "freeze"),  # a function of auctor that rebuilds nothing
        ("auctor.problem.frozen", "Point.__init__"),  # a method
        ("auctor.solvers.relay", "Any"),  # a class imported into a module of solvers
        ("auctor.solvers.dual.ascent", "Point"),  # a class of auctor under another module's name
        ("auctor.problem.problem", "copy"),  # a function imported into a module of problems
        ("auctor.tables.source", "Source"),  # a class of a room that no state refers to
        ("numpy", "dtype"),
    ],
)
def test_names_beside_classes_of_solvers_are_refused(module, name):
    one = problem(Logistic(), L2(1e-2))
    inner = pickle.dumps(Harmful())
    with pytest.raises(pickle.UnpicklingError, match="in the state of a solver"):
        thaw(calling(module, name, inner), one)


def test_the_payload_of_the_refusals_is_a_pickle():
    """The bytes of the test above do call what they name, where names are not checked."""
    assert pickle.loads(calling("auctor.problem.frozen", "pickle.loads", pickle.dumps(7))) == 7


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_a_random_generator_goes_on_where_it_was(kind):
    one = problem(Logistic(), L2(1e-2))
    rng = np.random.Generator(getattr(np.random, kind)(7))
    rng.normal(size=5)
    again = thaw(freeze(rng, one), one)
    np.testing.assert_array_equal(again.normal(size=9), rng.normal(size=9))


@pytest.mark.parametrize("value", [np.float64(1.5), np.int32(-3), np.bool_(True), np.float32(0.1)])
def test_a_number_of_numpy_keeps_its_type(value):
    one = problem(Logistic(), L2(1e-2))
    again = thaw(freeze(value, one), one)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "value",
    [np.array(["a"]), np.array([None]), np.mean, len, np.float64(1.0).item, problem, Harmful()],
    ids=["text", "objects", "numpy function", "builtin", "method", "test function", "object"],
)
def test_what_could_not_be_read_is_not_written(value):
    one = problem(Logistic(), L2(1e-2))
    assert freeze({"state": value}, one) is None


def test_bytes_name_nothing_private_of_numpy():
    """Private modules of numpy move between its versions: no state may depend on them."""
    one = problem(Logistic(), L2(1e-2))
    state = [np.random.default_rng(0), np.float64(1.0), np.eye(2, order="F"), {1, 2}, L2(0.5)]
    assert b"numpy" not in freeze(state, one)


class Leaves(MemoryWorkers):
    """Workers that are gone after some calls."""

    calls = 10**9

    def each(self, method, arguments):
        self.calls -= 1
        if self.calls < 0:
            raise DataLost("Leaves", needs="rows", got="none", todo="Start again.")
        return super().each(method, arguments)


def test_a_checkpoint_brings_a_lost_solve_to_its_end(tmp_path):
    from auctor import MetricClassifier

    shards = [Dense(X, Target(Y), n_threads=1)]
    data = Sharded(Leaves(shards))
    model = MetricClassifier("log_loss", solver="lbfgs", tol=1e-9, strength=1e-4)
    wanted = model.fit(data).solution_
    path = tmp_path / "run.ckpt"
    kept = Checkpoint(path, data.fingerprint(), {}, every=1)
    data.workers.calls = wanted.passes // 2
    with kept.keeping(), pytest.warns(UserWarning, match="no longer be read"):
        model.fit(data)
    lost = model.solution_
    assert lost.status is Status.LOST
    assert lost.coef.any()
    data.workers.calls = 10**9
    again = Checkpoint(path, data.fingerprint(), {})
    with again.keeping():
        model.fit(data)
    done = model.solution_
    assert lost.n_iter + done.n_iter <= wanted.n_iter + 1
    assert lost.evaluations + done.evaluations <= 1.1 * wanted.evaluations + 2
    np.testing.assert_allclose(done.coef, wanted.coef, rtol=1e-6)
    other = Sharded(MemoryWorkers([Dense(X + 1e-9, Target(Y), n_threads=1)]))
    with pytest.raises(DataError, match="another checksum"):
        Checkpoint(path, other.fingerprint(), {})
