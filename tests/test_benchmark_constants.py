"""The benchmark of constants: what it finds, which values it tries, and that patching is undone."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from benchmarks.constants import found
from benchmarks.constants.compiled import entry_lines, users
from benchmarks.constants.found import Constant
from benchmarks.constants.gone import GONE
from benchmarks.constants.trial import failure, forked, lines_run, patched, same
from benchmarks.constants.values import others
from benchmarks.sections.constants import promising, summary, words

from auctor.solvers import line_search
from auctor.solvers.sparse import block

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"

MODULE = """
HALF = 0.5
#: Bytes.
SIZE: int = 1 << 20
BOTH = (1, 2)
NAME = "x"

def f(a, *, b=HALF):
    return HALF + SIZE

@kernel
def g():
    return SIZE

class State:
    size: int = SIZE

TWICE = 2 * HALF
"""


def test_constants_are_the_numbers_of_a_module():
    assert list(found.numbers(ast.parse(MODULE))) == ["HALF", "SIZE"]
    assert list(found.numbers(ast.parse("LOW = -1e-3\nflag = True\nx.y = 3\n"))) == ["LOW"]


def test_reads_say_when():
    reads = {(name, how) for name, _, how in found.reads(ast.parse(MODULE))}
    assert {(name, how) for name, how in reads if name in ("HALF", "SIZE")} == {
        ("HALF", "run"),
        ("SIZE", "run"),
        ("SIZE", "compiled"),
        ("HALF", "import"),  # by TWICE; defaults are listed on their own
    }
    assert list(found.defaults(ast.parse(MODULE))) == [
        ("HALF", "f", "b"),
        ("SIZE", "State", "size"),
    ]
    several = ast.parse("def f(a, b=HALF, c=3): ...")
    assert list(found.defaults(several)) == [("HALF", "f", "b")]


def exists(label):
    module, _, name = label.rpartition(".")
    path = found.SOURCE / (module.replace(".", "/") + ".py")
    return path.is_file() and name in found.numbers(found.parsed(path))


def test_the_results_name_constants_that_exist_or_say_where_they_went():
    page = (RESULTS / "constants.md").read_text(encoding="utf-8")
    labels = set(re.findall(r"^\| ([a-z_.]+\.[A-Z_]+)(?: in [\w.]+)? \|", page, re.M))
    assert len(labels) > 180
    assert {label for label in labels if not exists(label)} == set(GONE)
    assert [label for label in GONE.values() if label is not None and not exists(label)] == []
    assert re.search(r"UTC at commit [0-9a-f]{7,};", page)


@pytest.mark.slow  # imports every solver; the tests of single modules show how names are found
def test_every_constant_of_the_solvers_is_found():
    every = found.constants()
    assert len(every) > 180
    shrink = every["solvers.line_search.SHRINK"]
    assert shrink.value == line_search.SHRINK
    assert ("auctor.solvers.line_search", "backtrack", "shrink") in shrink.defaults
    assert every["kernels.descent.coordinate.MEMORY"].compiled
    params = every["problem.hessian.FACTOR_PARAMS"]
    assert ("auctor.solvers.pays", "FACTOR_PARAMS") in params.homes
    assert any(path.endswith("pays.py") for path, _ in params.lines)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, (2, 10)),
        (1, (2,)),
        (1e-14, (1e-16, 1e-12)),
        (1e9, (1e7, 1e11)),
        (0.1, (0.025, 0.4)),
        (0.9, (0.225, 0.975)),
        (1.0, (0.25, 4.0)),
        (1.5, (1.125, 3.0)),
        (40.0, (10.0, 160.0)),
    ],
)
def test_other_values_are_of_the_same_kind(value, expected):
    assert others(value) == expected
    assert all(type(one) is type(value) for one in others(value))


@pytest.mark.slow  # it imports every module; the next test patches a constant too
def test_patching_reaches_all_modules_and_defaults_and_is_undone():
    every = found.constants()
    params = every["problem.hessian.FACTOR_PARAMS"]
    pays, hessian = sys.modules["auctor.solvers.pays"], sys.modules["auctor.problem.hessian"]
    with patched(params, 7):
        assert pays.FACTOR_PARAMS == hessian.FACTOR_PARAMS == 7
    assert pays.FACTOR_PARAMS == hessian.FACTOR_PARAMS == params.value
    with patched(every["solvers.line_search.SHRINK"], 0.25):
        assert list(line_search.sizes(most=3)) == [1.0, 0.25, 0.0625]
        assert line_search.backtrack.__kwdefaults__["shrink"] == 0.25
    assert list(line_search.sizes(most=3)) == [1.0, 0.5, 0.25]
    sweeps = every["solvers.sparse.block.FIRST_SWEEPS"]
    owner = sweeps.defaults[0][1]
    made = getattr(block, owner).__init__
    with patched(sweeps, 99):
        assert 99 in made.__defaults__
    assert 99 not in made.__defaults__


def test_patching_is_undone_after_an_error():
    module = sys.modules[__name__]
    constant = Constant(__name__, "LIMIT", 1.0, [(__name__, "LIMIT"), ("not.loaded", "LIMIT")])
    with pytest.raises(ZeroDivisionError, match="2"), patched(constant, 2.0):
        raise ZeroDivisionError(module.LIMIT)
    assert module.LIMIT == 1.0


#: Read by nothing but the tests.
LIMIT = 1.0


def test_lines_of_a_call():
    path = "<here>"
    module = ModuleType("here")
    source = "def f(x):\n    if x:\n        return 1\n    return 2\n"
    exec(compile(source, path, "exec"), vars(module))
    assert lines_run(lambda: module.f(1), {path}) == {(path, 2), (path, 3)}
    assert lines_run(lambda: module.f(0), set()) == set()


def answer(value=1.0, **more):
    base = {
        "passes": 10.0, "iterations": 3, "solver": "S", "seconds": 1.0, "converged": True,
        "value": [value], "gap": [1e-6], "certified": [True], "coef": np.array([[1.0, value]]),
    }  # fmt: skip
    return base | more


def test_what_counts_as_a_change_and_as_a_failure():
    assert same(answer(), answer(seconds=2.0))
    assert not same(answer(), answer(passes=11.0))
    assert not same(answer(), answer(coef=np.array([[1.0, 1.0 + 1e-15]])))
    assert failure(answer(), answer(1.0 + 1e-7)) == ""
    assert failure(answer(), answer(1.1)) == "another answer"
    assert failure(answer(), answer(converged=False)) == "gap not reached"
    assert failure(answer(converged=False), answer(converged=False)) == ""
    assert failure(answer(), answer(seconds=11.0)) == "slow"


def test_a_forked_call_answers_or_says_that_it_died():
    assert forked(lambda: {"x": {"changed": False}}) == {"x": {"changed": False}}
    died = forked(lambda: sys.exit(3))
    assert died["all"]["failure"] == "the process died"


def test_summaries():
    def one(data, passes, seconds, failure="", changed=True):
        return {"changed": changed, "failure": failure, "data": data, "passes": passes,
                "seconds": seconds}  # fmt: skip

    found = {
        "a": one("a", 0.5, 0.8),
        "b": one("b", 2.0, 0.8),
        "c": one("c", 1.0, 0.8),
        "d": one("d", 1.0, None, changed=False),
    }
    s = summary(found)
    assert (s["changed"], s["sets"], s["worst"]) == (3, 3, 2.0)
    assert s["passes"] == pytest.approx(1.0)
    assert promising(s)  # a fifth fewer seconds on three sets
    s = summary(found | {"e": one("e", 9.0, None, "slow")})
    assert s["worst"] == 2.0
    assert words(s["failures"]) == "1 slow"
    assert not promising(s)
    assert summary({"d": found["d"]})["passes"] is None


@pytest.mark.slow  # only the suite `constants` compiles again
def test_compiled_functions_are_compiled_again_after_those_they_call():
    every = found.constants()
    names = [f.py_func.__name__ for f in users(every["kernels.descent.simplex.PIVOT"])]
    assert names.index("_append") < names.index("factorise") < names.index("maximise")
    lines = entry_lines(users(every["kernels.descent.simplex.PIVOT"]))
    assert {path.rsplit("/", 1)[1] for path, _ in lines} == {"bundle.py"}
    assert entry_lines([]) == set()
