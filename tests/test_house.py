"""Rules of the house that neither ruff nor the import contract can state.

Each is a function from a parsed file to what it found, tried first on code that breaks it.
"""

import ast
import io
import re
import sys
import tokenize
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "auctor"
FILES = sorted(SOURCE.rglob("*.py"))
#: Longest file, in lines.
MAX_LINES = 450
#: Largest cyclomatic complexity of a function outside the kernels; `and` and `or` count.
MAX_COMPLEXITY = 20
#: Lines from which a compiled function needs a comment that says what it computes.
LONG_KERNEL = 40
#: Largest whole number that needs no name inside a function of the solvers.
MAX_PLAIN = 10
#: Frames a warning may look up to find the caller.
MAX_STACKLEVEL = 3
#: Underscored names that Python documents as public.
NAMEDTUPLE = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
#: Underscored names by which Spark ML documents that others extend it.
SPARK_ML = {"_copyValues", "_dummy", "_input_kwargs", "_resetUid", "_set", "_setDefault"}
#: Methods that change a dictionary.
WRITES = {"__setitem__", "clear", "pop", "popitem", "setdefault", "update"}
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.match_case)


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


#: Several rules parse the same texts.
parsed = cache(ast.parse)


def tree_of(path):
    return parsed(text_of(path))


@cache
def walked(tree):
    """All nodes of a tree; several rules look at each."""
    return list(ast.walk(tree))


def shown(path, nodes):
    """Places, for a message."""
    return [f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)[:80]}" for node in nodes]


def dotted(node):
    """``a.b.c`` as a list of names, or nothing where it does not start with a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def private(name):
    return name.startswith("_") and not name.endswith("__")


# --- complexity ---------------------------------------------------------------------------------


def own_nodes(function):
    """Nodes of a function without those of functions defined inside."""
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def complexity(function):
    """Ways through a function: one, and one more for every decision."""
    ways = 1
    for node in own_nodes(function):
        if isinstance(node, BRANCHES):
            ways += 1
        elif isinstance(node, ast.BoolOp):
            ways += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            ways += 1 + len(node.ifs)
    return ways


def functions(tree):
    return [n for n in walked(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_complexity_counts_decisions():
    source = "def f(x):\n    if x and x > 1 or x < -1:\n        return [a for a in x if a]\n"
    assert complexity(ast.parse(source).body[0]) == 1 + 1 + 2 + 2


def test_functions_are_simple_outside_kernels():
    found = [
        f"{path.relative_to(SOURCE)}:{function.lineno}: {function.name} {complexity(function)}"
        for path in FILES
        if path.relative_to(SOURCE).parts[0] != "kernels"
        for function in functions(tree_of(path))
        if complexity(function) > MAX_COMPLEXITY
    ]
    assert found == []


def test_files_are_short():
    root = SOURCE.parents[1]
    files = [*FILES, *(root / "tests").rglob("*.py"), *(root / "benchmarks").rglob("*.py")]
    lengths = {str(p.relative_to(root)): len(p.read_text().splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


# --- words --------------------------------------------------------------------------------------


@cache
def comment_lines(text):
    """Numbers of the lines that hold a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0] for token in tokens if token.type == tokenize.COMMENT}


def body_lines(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    quoted = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno - quoted * (first.end_lineno - first.lineno + 1)


def unexplained_loops(text):
    """Long functions without a comment that says what their lines compute."""
    comments = comment_lines(text)
    for function in functions(parsed(text)):
        inside = range(function.lineno, function.end_lineno + 1)
        if body_lines(function) >= LONG_KERNEL and comments.isdisjoint(inside):
            yield function


def test_long_kernels_name_their_equations():
    lines = "".join(f"    x = {k}\n" for k in range(LONG_KERNEL))
    assert len(list(unexplained_loops(f"def f():\n{lines}"))) == 1
    assert list(unexplained_loops(f"def f():\n    # x <- k\n{lines}")) == []
    found = [
        f"{path.relative_to(SOURCE)}:{function.lineno}: {function.name}"
        for path in sorted((SOURCE / "kernels").rglob("*.py"))
        for function in unexplained_loops(text_of(path))
    ]
    assert found == []


def numbers(node):
    """How many numbers an expression is made of; none where it holds anything else."""
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, int | float) and not isinstance(node.value, bool))
    if isinstance(node, ast.UnaryOp):
        return numbers(node.operand)
    if isinstance(node, ast.BinOp | ast.Tuple):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.elts
        counts = [numbers(part) for part in parts]
        return sum(counts) if all(counts) else 0
    return 0


def is_code(node):
    """A whole number, or several: a code, a byte or a place."""
    values = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(isinstance(v, ast.Constant) and isinstance(v.value, int) for v in values)


def constants(body):
    """Assignments of numbers, in a module and in its enumerations."""
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and numbers(node.value):
            yield node
        elif isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(b) for b in node.bases):
            yield from constants(node.body)


def unexplained_constants(text):
    """Numeric constants without a comment of their own, and those that share an assignment."""
    comments = comment_lines(text)
    for node in constants(parsed(text).body):
        together = isinstance(node, ast.Assign) and (
            len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple)
        )
        if together or comments.isdisjoint({node.lineno - 1, node.lineno, node.end_lineno}):
            yield node


def test_numeric_constants_say_what_they_do():
    assert len(list(unexplained_constants("A = 3\n\nB: float = -1e-3\nC = (1, 2.5)\n"))) == 3
    fine = "#: Bytes.\nA = 3\n#: Share.\nC = 0.5\nD = 2.0  # rows\nE = f(1)\n"
    assert list(unexplained_constants(fine)) == []
    assert len(list(unexplained_constants("#: Two shares.\nA = 0.5\nB = 0.25\n"))) == 1
    assert len(list(unexplained_constants("#: Two codes.\nA = 1\nB = 2\n"))) == 1
    assert len(list(unexplained_constants("#: Two codes.\nA, B = 1, 2\n"))) == 1
    assert len(list(unexplained_constants("#: Two codes.\nA = B = 1\n"))) == 1
    enum = "class Slot(IntEnum):\n    #: Rows.\n    ROWS = 0\n    STEPS = 1\n"
    assert len(list(unexplained_constants(enum))) == 1
    found = {path: unexplained_constants(text_of(path)) for path in FILES}
    assert [place for path, nodes in found.items() for place in shown(path, nodes)] == []


def comment_of(node, lines):
    """The comment above a statement and the one beside it, as one line of text."""
    first = node.lineno - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    above = [line.lstrip("#: ") for line in lines[first : node.lineno - 1]]
    return " ".join([*above, lines[node.lineno - 1].partition("#")[2]])


def unsourced_constants(text):
    """Fractions and factors whose comment does not say where the value comes from."""
    lines = text.splitlines()
    for node in constants(parsed(text).body):
        words = comment_of(node, lines)
        if not is_code(node.value) and not re.search(r"Source:|[Ss]et by hand|ounding", words):
            yield node


def test_constants_of_the_solvers_say_where_they_come_from():
    bad = "#: A share.\nA = 0.5\n\nB = 1e-3  # seconds\nC = (0.5, 2.0)\n"
    assert len(list(unsourced_constants(bad))) == 3
    fine = "#: Source:\n#: x.md.\nA = 0.5\nB = 2.0  # Set by hand.\nC = 3\n#: Rounding.\nD = 1e-14"
    assert list(unsourced_constants(fine)) == []
    found = {
        path: unsourced_constants(text_of(path))
        for path in FILES
        if path.relative_to(SOURCE).parts[0] in ("solvers", "problem")
    }
    assert [place for path, nodes in found.items() for place in shown(path, nodes)] == []


def is_plain(value):
    """A small whole number or a half: counts, exponents and factors of formulas."""
    return value == 0.5 or (float(value).is_integer() and abs(value) <= MAX_PLAIN)


def unnamed_numbers(text):
    """Numbers inside functions that are neither plain nor explained by a comment on their line."""
    comments = comment_lines(text)
    for function in functions(parsed(text)):
        if function.name == "examples":  # parameters of solvers that the kit tests
            continue
        for node in (part for line in function.body for part in ast.walk(line)):
            number = isinstance(node, ast.Constant) and numbers(node)
            if number and not is_plain(node.value) and node.lineno not in comments:
                yield node


def test_numbers_inside_functions_of_the_solvers_have_names():
    bad = "def f(x, y=0.1):\n    return 0.01 * x if x > 20 else min(x, -1e-14)\n"
    assert len(list(unnamed_numbers(bad))) == 3
    fine = "def f(x):\n    # x + a/6\n    return 0.5 * x + 2.0 + x / 12.0  # Simpson's rule\n"
    assert list(unnamed_numbers(fine)) == []
    found = {
        path: unnamed_numbers(text_of(path))
        for path in FILES
        if path.relative_to(SOURCE).parts[0] in ("solvers", "problem")
    }
    assert [place for path, nodes in found.items() for place in shown(path, nodes)] == []


def test_the_page_on_the_architecture_names_every_room_and_only_files_that_exist():
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`([\w/]+\.py)`", page))
    assert len(files) > 20
    assert [name for name in sorted(files) if not (SOURCE / name).is_file()] == []
    rooms = {path.parent.relative_to(SOURCE).parts[0] for path in SOURCE.glob("*/__init__.py")}
    assert rooms == {name for name in re.findall(r"`(\w+)/`", page) if (SOURCE / name).is_dir()}
    assert set(re.findall(r"`(\w+)/`", page)) <= rooms


# --- tricks -------------------------------------------------------------------------------------


def targets(tree):
    """What is assigned to or deleted, anywhere."""
    for node in walked(tree):
        if isinstance(node, ast.Assign | ast.Delete):
            yield from node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            yield node.target


def module_table_writes(tree):
    """Writes to ``sys.modules``: stand-ins for imports."""
    for target in targets(tree):
        if isinstance(target, ast.Subscript) and dotted(target.value) == ["sys", "modules"]:
            yield target
    for node in walked(tree):
        path = dotted(node.func) if isinstance(node, ast.Call) else []
        if path[:2] == ["sys", "modules"] and path[-1] in WRITES:
            yield node


def namespace_writes(tree):
    """``vars(x)[...] = ``, ``x.__dict__[...] = `` and their ``update``: another object's cache."""

    def namespace(node):
        if isinstance(node, ast.Call):
            return dotted(node.func) == ["vars"] and bool(node.args)
        return isinstance(node, ast.Attribute) and node.attr == "__dict__"

    for target in targets(tree):
        if isinstance(target, ast.Subscript) and namespace(target.value):
            yield target
    for node in walked(tree):
        called = node.func if isinstance(node, ast.Call) else None
        write = isinstance(called, ast.Attribute) and called.attr in WRITES
        if write and namespace(called.value):
            yield node


def frozen_writes(tree):
    """``object.__setattr__``: a frozen object that is not."""
    for node in walked(tree):
        if isinstance(node, ast.Attribute) and dotted(node) == ["object", "__setattr__"]:
            yield node


def deep_warnings(tree):
    """A ``stacklevel`` that counts the frames of others."""
    for node in walked(tree):
        if isinstance(node, ast.keyword) and node.arg == "stacklevel":
            level = node.value.value if isinstance(node.value, ast.Constant) else None
            if not isinstance(level, int) or level > MAX_STACKLEVEL:
                yield node.value


def process_tricks(tree):
    """``os._exit``, ``gc.freeze``, frames and code objects."""
    bad = {("os", "_exit"), ("gc", "freeze"), ("gc", "disable"), ("sys", "_getframe")}
    bad |= {("inspect", "currentframe"), ("inspect", "stack"), ("types", "CodeType")}
    for node in walked(tree):
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if tuple(dotted(node)) in bad or name in ("__code__", "co_consts", "f_back"):
            yield node


TRICKS = {
    module_table_writes: "import sys\nsys.modules['x'] = None\nsys.modules.setdefault('y', 1)",
    namespace_writes: "vars(p)['gradient'] = g\np.__dict__['a'] = 1\nvars(p).update(a=1)",
    frozen_writes: "object.__setattr__(self, 'a', 1)",
    deep_warnings: "warn('x', stacklevel=4)\nwarn('x', stacklevel=depth)",
    process_tricks: "os._exit(0)\ngc.freeze()\nf.__code__.replace()",
}
EXPECTED = {module_table_writes: 2, namespace_writes: 3, frozen_writes: 1, deep_warnings: 2}
FINE = """
import sys
if "sklearn" in sys.modules:
    vars(x).items()
self.x = 1
super().__setattr__("a", 1)
warn("x", stacklevel=3)
"""


@pytest.mark.parametrize("rule", TRICKS, ids=lambda rule: rule.__name__)
def test_no_tricks(rule):
    assert len(list(rule(ast.parse(TRICKS[rule])))) >= EXPECTED.get(rule, 3)
    assert list(rule(ast.parse(FINE))) == []
    assert [place for path in FILES for place in shown(path, rule(tree_of(path)))] == []


# --- names of others ----------------------------------------------------------------------------


def foreign_imports(tree):
    """Imports of underscored names and modules, of dependencies or of other modules here."""
    for node in walked(tree):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") + [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            parts = [part for alias in node.names for part in alias.name.split(".")]
        else:
            continue
        if parts[0] != "__future__" and any(map(private, parts)):
            yield node


def dependency_names(tree):
    """Local names of what is imported from neither Python nor this package."""
    own = {"auctor", *sys.stdlib_module_names}
    found = set()
    for node in walked(tree):
        if isinstance(node, ast.Import):
            found |= {
                (alias.asname or alias.name).split(".")[0]
                for alias in node.names
                if alias.name.split(".")[0] not in own
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] not in own:
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def defined_names(trees):
    """Underscored names that some file defines: methods, fields, attributes, slots."""
    found = set()
    for tree in trees:
        for node in walked(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def foreign_attributes(tree, known):
    """Underscored attributes of a dependency: reached from its import, or defined nowhere here."""
    imported = dependency_names(tree)
    for node in walked(tree):
        if isinstance(node, ast.Attribute) and private(node.attr):
            reached = dotted(node)[:1]
            outside = bool(reached) and reached[0] in imported
            if outside or (node.attr not in known and node.attr not in NAMEDTUPLE):
                yield node


def test_no_private_name_of_a_dependency():
    bad = ast.parse("import numba.core as c\nc.x._y\nz._shape\nself._own\nt._replace(a=1)")
    assert len(list(foreign_attributes(bad, {"_own"}))) == 2
    assert len(list(foreign_imports(ast.parse("from sklearn._x import y\nimport a._b")))) == 2
    trees = {path: tree_of(path) for path in FILES}
    known = defined_names(trees.values())
    found = []
    for path, tree in trees.items():
        found += shown(path, foreign_imports(tree))
        extends = SPARK_ML if path.match("spark/ml.py") else set()
        found += shown(path, (n for n in foreign_attributes(tree, known) if n.attr not in extends))
    assert found == []
