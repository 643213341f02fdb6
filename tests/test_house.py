"""Rules of the house that neither ruff nor the import contract can state.

Each is a function from a parsed file to what it found, tried first on code that breaks it.
"""

import ast
import sys

import pytest

from tests.house import FILES, SOURCE, shown, tree_of, walked

#: Longest file, in lines.
MAX_LINES = 450
#: Frames a warning may look up to find the caller.
MAX_STACKLEVEL = 3
#: Counts the frames of this package, so that a warning points at the line of its user.
WARNS = SOURCE / "core" / "errors.py"
#: Underscored names that Python documents as public.
NAMEDTUPLE = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
#: Underscored names by which Spark ML documents that others extend it.
SPARK_ML = {"_copyValues", "_dummy", "_input_kwargs", "_resetUid", "_set", "_setDefault"}
#: Methods that change a dictionary.
WRITES = {"__setitem__", "clear", "pop", "popitem", "setdefault", "update"}


def dotted(node):
    """``a.b.c`` as a list of names, or nothing where it does not start with a name."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def private(name):
    return name.startswith("_") and not name.endswith("__")


def test_files_are_short():
    root = SOURCE.parents[1]
    files = [*FILES, *(root / "tests").rglob("*.py"), *(root / "benchmarks").rglob("*.py")]
    lengths = {str(p.relative_to(root)): len(p.read_text().splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


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
    counts = rule in (process_tricks, deep_warnings)
    files = [path for path in FILES if not counts or path != WARNS]
    assert [place for path in files for place in shown(path, rule(tree_of(path)))] == []


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
