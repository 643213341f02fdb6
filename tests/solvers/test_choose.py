"""The decision table: its rules, what it asks of a problem, inner solvers."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

import auctor.solvers
from auctor.core.errors import IncompatibleError
from auctor.data import as_data
from auctor.lab.solvers import PairDualAscent
from auctor.losses import (
    AveragePrecision,
    ExpectedError,
    Exponential,
    FBeta,
    Hinge,
    Logistic,
    PairwiseHinge,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
    Prbep,
)
from auctor.penalties import L1, L2, ElasticNet, GroupL2, NoPenalty
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.solvers import AsRows, GaussianDiscriminant
from auctor.solvers import choose as public_choose
from auctor.solvers.choose import RULES, Role, able, choose, holding
from auctor.solvers.kinked.smoothing import smoothed_problem
from auctor.solvers.registry import HOMES, SOLVERS, solver_class
from auctor.testing import discover

RNG = np.random.default_rng(2)
X = RNG.normal(size=(300, 8))
Y = np.where(X[:, 0] + RNG.normal(size=300) > 0.3, 1.0, -1.0)
LOSSES = [
    Logistic(), Hinge(), PairwiseHinge(), PairwiseSquaredHinge(), Prbep(), FBeta(),
    PartialPairwiseHinge(0.2),
]  # fmt: skip


class TwoProducts:
    """Data that offers its sizes, its target and the two products, and refuses the rest."""

    def __init__(self, data):
        self._data = data
        self.n_rows, self.n_columns, self.target = data.n_rows, data.n_columns, data.target

    def scores(self, w, offset=0.0):
        return self._data.scores(w, offset)

    def gradient(self, dscores):
        return self._data.gradient(dscores)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_registry_has_the_needs_of_every_solver(name):
    # With less, a module would be imported in vain; with more, a solver that can would be refused.
    assert SOLVERS[name].needs == solver_class(name)().needs


def test_every_name_of_the_room_is_imported_from_where_it_is_defined():
    assert set(HOMES) | {"choose", "resolve"} == set(auctor.solvers.__all__)
    for name, module in HOMES.items():
        assert getattr(auctor.solvers, name).__module__ == module
    paths = [path for path, _ in SOLVERS.values() if ".lab." not in path]
    assert {path.rpartition(".")[2] for path in paths} == {
        kind.__name__ for kind in discover.solvers()
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.solver}-{rule.role}")
def test_options_of_a_rule_add_no_needs(rule):
    assert not rule.make().needs & ~rule.needs
    assert not rule.also & SOLVERS[rule.solver].needs  # said once


@pytest.mark.parametrize("penalty", [L2(1e-3), L2(10.0), L1(1e-2), NoPenalty()], ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_two_products_are_never_asked_for_more(loss, penalty):
    problem = Problem(loss, penalty, TwoProducts(as_data(X, Y)))
    try:
        solver = choose(problem)
    except IncompatibleError:
        assert not able(problem)
        return
    assert not solver.needs & ~problem.provides
    assert not solver.needs & (Need.GRAM | Need.ROWS | Need.COLUMNS)


@pytest.mark.parametrize(
    ("loss", "penalty", "name"),
    [
        (Prbep(), L2(1e-3), "Newton"),
        (Hinge(), L2(1e-3), "Newton"),
        (Hinge(), L1(1e-3), "ProximalNewton"),
        (Prbep(), GroupL2(1e-2, 2), "SubspaceNewton"),
    ],
)
def test_smoothed_problems_are_solved_by_the_same_table(loss, penalty, name):
    problem = smoothed_problem(Problem(loss, penalty, as_data(X, Y)), 0.5)
    assert type(choose(problem, role=Role.SMOOTHED)).__name__ == name
    bare = smoothed_problem(Problem(loss, penalty, TwoProducts(as_data(X, Y))), 0.5)
    assert not choose(bare, role=Role.SMOOTHED).needs & ~bare.provides


def test_equivalent_problems_are_tried_once():
    wide = Problem(Logistic(), L2(1e-4), as_data(RNG.normal(size=(50, 400)), Y[:50]))
    assert type(choose(wide)).__name__ == "RowSpace"
    assert type(choose(wide, role=Role.DIRECT)).__name__ == "Lbfgs"
    names = [rule.solver for rule in holding(wide, Role.DIRECT)]
    assert "row_space" not in names
    assert "lbfgs" in names
    assert public_choose is choose


def test_sums_over_few_rows_are_smoothed_and_losses_without_a_smoothed_form_are_cut():
    few = as_data(X[:60], Y[:60])
    assert type(choose(Problem(Hinge(), L2(1e-3), few))).__name__ == "ProximalPoint"
    assert type(choose(Problem(AveragePrecision(), L2(1e-3), few))).__name__ == "Bmrm"


def test_pairs_under_l1_are_solved_on_a_subspace_where_columns_can_be_read():
    wide = RNG.normal(size=(40, 700))
    for penalty in (L1(1e-2), ElasticNet(1e-2)):
        problem = Problem(PairwiseSquaredHinge(), penalty, as_data(wide, Y[:40]))
        assert type(choose(problem)).__name__ == "SubspaceNewton"
        bare = Problem(PairwiseSquaredHinge(), penalty, TwoProducts(as_data(wide, Y[:40])))
        assert type(choose(bare)).__name__ == "Lhac"


def test_the_span_of_the_rows_is_used_for_few_rows_and_losses_that_gain():
    def chosen(loss, rows, matrix=None):
        data = as_data(RNG.normal(size=(rows, 400)) if matrix is None else matrix, Y[:rows])
        return type(choose(Problem(loss, L2(1e-4), data))).__name__

    assert chosen(Logistic(), 100) == "RowSpace"
    assert chosen(Logistic(), 101) != "RowSpace"
    assert chosen(PairwiseSquaredHinge(), 200) == "RowSpace"
    assert chosen(PairwiseSquaredHinge(), 201) != "RowSpace"
    assert chosen(Exponential(), 50) != "RowSpace"  # its curvature has no bound
    sparse = csr_array(RNG.normal(size=(50, 1000)) * (RNG.random((50, 1000)) < 0.05))
    assert chosen(Logistic(), 50, sparse) == "RowSpace"


def test_problems_over_rows_are_solved_by_the_same_table():
    rows = Problem(Hinge(), L2(1e-3), as_data(X, Y))
    assert type(choose(rows, role=Role.AS_ROWS)).__name__ == "DualCoordinateAscent"
    problem = Problem(Prbep(), L2(0.1), as_data(X, Y))
    state = AsRows().init(problem, problem.start(), RNG)
    assert type(state.inner.solver).__name__ == "DualCoordinateAscent"
    problem = Problem(PairwiseHinge(), L2(0.1), as_data(X[:30], Y[:30]))
    state = PairDualAscent().init(problem, problem.start(), RNG)
    assert type(state.solver).__name__ == "DualCoordinateAscent"


@pytest.mark.parametrize(("columns", "name"), [(99, "ProximalQuasiNewton"), (100, "Lbfgs")])
def test_smoothed_problems_without_a_hessian_depend_on_the_number_of_columns(columns, name):
    data = TwoProducts(as_data(RNG.normal(size=(50, columns)), Y[:50]))
    problem = smoothed_problem(Problem(Hinge(), L2(1e-2), data), 0.5)
    assert type(choose(problem, role=Role.SMOOTHED)).__name__ == name


def test_a_rule_may_set_options_of_its_solver():
    shrunk = choose(Problem(ExpectedError(), L2(0.1), as_data(X, Y)), role=Role.SHRUNK)
    assert shrunk == GaussianDiscriminant(shrinkage="auto")


def test_the_error_says_in_words_what_the_nearest_solver_lacks():
    problem = Problem(PairwiseHinge(), L1(0.1), as_data(X, Y))
    assert choose(problem)  # it has a smoothed form
    with pytest.raises(IncompatibleError) as error:
        choose(problem, role=Role.ROW_SPACE)
    text = str(error.value)
    assert "choose needs a solver for PairwiseHinge" in text
    assert "the nearest, dual, needs a loss with a" in text
    assert "an l2 part on every column" in text
    assert "Need." not in text


def test_choosing_imports_no_other_candidate():
    code = (
        "import sys, numpy as np\n"
        "from auctor.data import as_data\n"
        "from auctor.losses import Squared\n"
        "from auctor.penalties import L2\n"
        "from auctor.problem import Problem\n"
        "from auctor.solvers.choose import choose\n"
        "choose(Problem(Squared(), L2(0.1), as_data(np.eye(3), [1.0, 2.0, 3.0])))\n"
        "rooms = 'kinked', 'sparse', 'wide', 'published', 'gaussian', 'dual'\n"
        "print([m for m in sys.modules if m.startswith(tuple(f'auctor.solvers.{r}' for r in rooms))"
        "])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
