"""Rules of the house that neither ruff nor the import contract can state.

Each is a function from a parsed file to what it found, tried first on code that breaks it.
"""

import ast

import pytest

from tests.house import FILES, SOURCE, shown, tree_of, walked

#: Longest file, in lines.
MAX_LINES = 450
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
    """``object.__setattr__`` outside of ``__post_init__``, where Python documents it."""
    starts = [n for n in walked(tree) if getattr(n, "name", "") == "__post_init__"]
    fine = {id(node) for start in starts for node in ast.walk(start)}
    for node in walked(tree):
        written = isinstance(node, ast.Attribute) and dotted(node) == ["object", "__setattr__"]
        if written and id(node) not in fine:
            yield node


TRICKS = {
    module_table_writes: "import sys\nsys.modules['x'] = None\nsys.modules.setdefault('y', 1)",
    namespace_writes: "vars(p)['gradient'] = g\np.__dict__['a'] = 1\nvars(p).update(a=1)",
    frozen_writes: "object.__setattr__(self, 'a', 1)",
}
EXPECTED = {module_table_writes: 2, namespace_writes: 3, frozen_writes: 1}
FINE = """
import sys
if "sklearn" in sys.modules:
    vars(x).items()
self.x = 1
super().__setattr__("a", 1)
def __post_init__(self):
    object.__setattr__(self, "a", 1)
"""


@pytest.mark.parametrize("rule", TRICKS, ids=lambda rule: rule.__name__)
def test_no_tricks(rule):
    assert len(list(rule(ast.parse(TRICKS[rule])))) >= EXPECTED[rule]
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


def test_no_underscored_import():
    assert len(list(foreign_imports(ast.parse("from sklearn._x import y\nimport a._b")))) == 2
    assert [place for path in FILES for place in shown(path, foreign_imports(tree_of(path)))] == []
