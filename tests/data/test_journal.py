"""What workers keep is made again, bit by bit, by workers that take the place of lost ones."""

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.data import Dense, Sharded
from auctor.data.journal import Journal
from auctor.data.workers import RESIDENT, HeldShard, MemoryWorkers, ResidentCall
from auctor.losses import Logistic, PairwiseSquaredHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
Y = np.where(X @ np.arange(5.0) + RNG.normal(size=200) > 3.0, 1.0, -1.0)
PARTS = np.array_split(np.arange(200), 3)


def shards():
    return [Dense(X[part], Target(Y[part]), n_threads=1) for part in PARTS]


class Forgetful(MemoryWorkers):
    """Shards that lose what they keep before every so many calls, and have a journal."""

    gather_below = 0.0

    def __init__(self, every):
        super().__init__(shards(), n_threads=1)
        self.every, self.calls, self.journal = every, 0, Journal()

    def each(self, method, arguments):
        self.calls += 1
        if self.every and self.calls % self.every == 0:
            before = {name for shard in self.held for name in shard.results}
            self.held = [HeldShard(shard) for shard in shards()]
            for made in self.journal.calls():
                super().each(RESIDENT, made)
            after = {name for shard in self.held for name in shard.results}
            assert after == before
        answers = super().each(method, arguments)
        if method == RESIDENT:
            self.journal.note([ResidentCall(*given) for given in arguments])
        return answers


@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquaredHinge(), Prbep()], ids=repr)
def test_a_solve_does_not_notice_that_vectors_were_lost(loss):
    found = {}
    for every in (0, 7):
        problem = Problem(loss, L2(1e-2), Sharded(Forgetful(every)))
        solve = {"tol": 1e-6, "max_iter": 15, "rng": 0, "on_failure": "ignore"}
        found[every] = minimise(problem, choose(problem), **solve)
    assert problem.data.workers.calls > 50
    np.testing.assert_array_equal(found[7].coef, found[0].coef)
    assert found[7].gap == found[0].gap


class Failing(Forgetful):
    """Shards whose next call is interrupted if asked to."""

    fails = False

    def each(self, method, arguments):
        if self.fails:
            self.fails = False
            raise KeyboardInterrupt
        return super().each(method, arguments)


def test_an_interrupted_call_does_not_leave_results_behind():
    workers = Failing(0)
    holder = Sharded(workers).holder
    first, second = (holder.sent(np.full(200, value)) for value in (1.0, 2.0))
    del first
    workers.fails = True
    with pytest.raises(KeyboardInterrupt):
        holder.total("total", second)
    assert holder.total("total", second) == 400.0
    assert {len(shard.results) for shard in workers.held} == {1}
    assert len(workers.journal) == 1


def call(number, *numbers, dropped=(), value=0.0):
    return [ResidentCall(1, number, "combined", (np.full(2, value),), numbers, list(dropped))]


def test_calls_are_forgotten_with_the_last_result_that_comes_from_them():
    journal = Journal()
    journal.note(call(0))
    journal.note(call(1, 0))
    journal.note(call(2, 1, dropped=[0]))
    journal.note(call(3))
    assert len(journal) == 4
    assert [one[0].dropped for one in journal.calls()] == [[], [0], [], []]
    journal.note(call(None, 2, dropped=[1]))
    assert [one[0].dropped for one in journal.calls()] == [[], [0], [1], []]
    journal.note(call(None, dropped=[2]))
    assert [one[0].number for one in journal.calls()] == [3]


def test_vectors_are_taken_down_as_they_were_sent():
    journal, made = Journal(), call(0, value=1.0)
    journal.note(made)
    made[0].arguments[0][:] = 2.0
    [[again]] = journal.calls()
    np.testing.assert_array_equal(again.arguments[0], [1.0, 1.0])
