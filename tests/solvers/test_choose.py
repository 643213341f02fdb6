"""The decision table: its rules, their evidence, what it asks of a problem, inner solvers."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import auctor.solvers
from auctor.core.errors import IncompatibleError
from auctor.core.needs import Access, Need
from auctor.data import as_data
from auctor.losses import (
    ExpectedError,
    FBeta,
    Hinge,
    Logistic,
    PairwiseHinge,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
    Prbep,
)
from auctor.penalties import L1, L2, GroupL2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import GaussianDiscriminant
from auctor.solvers import choose as public_choose
from auctor.solvers.choose import RULES, Role, able, choose, holding
from auctor.solvers.kinked.smoothing import smoothed_problem
from auctor.solvers.registry import HOMES, SOLVERS, solver_class
from auctor.testing import discover

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
RNG = np.random.default_rng(2)
X = RNG.normal(size=(300, 8))
Y = np.where(X[:, 0] + RNG.normal(size=300) > 0.3, 1.0, -1.0)
LOSSES = [
    Logistic(), Hinge(), PairwiseHinge(), PairwiseSquaredHinge(), Prbep(), FBeta(),
    PartialPairwiseHinge(0.2),
]  # fmt: skip


class TwoProducts:
    """Data that offers its sizes, its target and the two products, and refuses the rest."""

    access = Access.PRODUCTS

    def __init__(self, data):
        self._data = data
        self.n_rows, self.n_columns, self.target = data.n_rows, data.n_columns, data.target

    def scores(self, w, offset=0.0):
        return self._data.scores(w, offset)

    def gradient(self, dscores):
        return self._data.gradient(dscores)


def sections(path):
    """Text of every section of a results file, by the name that its heading starts with."""
    found, name = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            name = line[3:].split(":")[0]
        found[name] = found.get(name, "") + line + "\n"
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.solver}-{rule.role}")
def test_every_rule_names_a_section_of_results_with_its_solver(rule):
    name, _, section = rule.evidence.partition("#")
    text = sections(RESULTS / name)[section]
    words = set(re.findall(r"\w+", text))
    assert words & {rule.solver, solver_class(rule.solver).__name__}
    assert text.count("|") > 50  # tables of numbers


@pytest.mark.parametrize("name", SOLVERS)
def test_the_registry_has_the_needs_of_every_solver(name):
    # With less, a module would be imported in vain; with more, a solver that can would be refused.
    assert SOLVERS[name].needs == solver_class(name)().needs


def test_every_name_of_the_room_is_imported_from_where_it_is_defined():
    assert set(HOMES) | {"choose", "resolve"} == set(auctor.solvers.__all__)
    for name, module in HOMES.items():
        assert getattr(auctor.solvers, name).__module__ == f"auctor.solvers.{module}"
    listed = {path.rpartition(".")[2] for path, _ in SOLVERS.values()}
    assert listed == {kind.__name__ for kind in discover.solvers()}


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
    assert type(choose(wide, role=Role.DIRECT)).__name__ == "LbfgsThenNewton"
    names = [rule.solver for rule in holding(wide, Role.DIRECT)]
    assert "row_space" not in names
    assert "lbfgs" in names
    assert public_choose is choose


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
    assert "the nearest, lbfgs, needs a differentiable loss, a differentiable penalty" in text
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
