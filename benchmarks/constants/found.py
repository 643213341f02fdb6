"""The numeric constants of some rooms, found by parsing, with the lines that read them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import auctor

SOURCE = Path(auctor.__file__).resolve().parent
#: Folders and files whose constants are measured.
ROOMS = (
    "solvers",
    "problem",
    "core/cost.py",
    "core/linalg.py",
    "core/rounding.py",
    "core/shift.py",
    "kernels/descent",
)
#: Codes and counts that are fixed by what they stand for, not chosen.
CODES = {
    "auctor.lab.kernels.active_set.OPTIMAL",
    "auctor.lab.kernels.active_set.UNBOUNDED",
    "auctor.lab.kernels.active_set.OUT_OF_STEPS",
    "auctor.kernels.descent.lowrank.GROWING",
    "auctor.kernels.descent.lowrank.SHRINKING",
    "auctor.problem.placed_pairs.PER_RARE",
}
#: Decorators of compiled functions, which keep the values they were compiled with.
COMPILED = {"kernel", "fast_kernel", "inline_kernel"}

#: A line of a file.
Line = tuple[str, int]


@dataclass
class Constant:
    """A module-level number, and where it is read."""

    module: str
    name: str
    value: float
    #: Modules that bind it, each with its name there.
    homes: list[tuple[str, str]] = field(default_factory=list)
    #: Lines of functions that read it when they run.
    lines: set[Line] = field(default_factory=set)
    #: Whether compiled functions read it.
    compiled: bool = False
    #: Defaults that were set to it on import: module, function or dataclass, parameter.
    defaults: list[tuple[str, str, str]] = field(default_factory=list)
    #: Whether anything else was made from it on import, out of reach afterwards.
    bound: bool = False

    @property
    def default_files(self) -> set[str]:
        """Files with defaults that were set to it."""
        return {str(import_module(module).__file__) for module, _, _ in self.defaults}

    def read_by(self, lines: set[Line]) -> bool:
        """Whether a solve that ran these lines read it; a default counts with all its file."""
        return bool(self.lines & lines) or not self.default_files.isdisjoint(p for p, _ in lines)

    @property
    def label(self) -> str:
        """Unique; the name behind its module, without the name of the package."""
        return f"{self.module.removeprefix('auctor.')}.{self.name}"


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    """Dotted name of a file of the library."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_number(node: ast.expr | None) -> bool:
    """Whether an expression is made of numbers alone and is one number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and is_number(node.left) and is_number(node.right)


def numbers(tree: ast.Module) -> Iterator[str]:
    """Names that a module gives to numbers."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_number(node.value):
            yield from (t.id for t in targets if isinstance(t, ast.Name))


def in_rooms(rooms: Iterable[str] = ROOMS) -> list[Path]:
    """The files of some rooms."""
    found = []
    for room in rooms:
        place = SOURCE / room
        found += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return found


def constants() -> dict[str, Constant]:
    """All constants that can be tried, by label."""
    found: dict[tuple[str, str], Constant] = {}
    for path in in_rooms():
        module = module_of(path)
        for name in numbers(parsed(path)):
            if f"{module}.{name}" not in CODES:
                value = getattr(import_module(module), name)
                found[module, name] = Constant(module, name, value, [(module, name)])
    for path in sorted(SOURCE.rglob("*.py")):
        _note_reads(path, found)
    return {constant.label: constant for constant in found.values()}


def _note_reads(path: Path, found: dict[tuple[str, str], Constant]) -> None:
    """Add where one file reads constants."""
    module, tree = module_of(path), parsed(path)
    local = {name: c for (home, name), c in found.items() if home == module}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                constant = found.get((node.module, alias.name))
                if constant is not None:
                    local[alias.asname or alias.name] = constant
                    constant.homes.append((module, alias.asname or alias.name))
    for name, line, how in reads(tree):
        if name in local:
            if how == "run":
                local[name].lines.add((str(path), line))
            local[name].compiled |= how == "compiled"
            local[name].bound |= how == "import"
    for name, owner, parameter in defaults(tree):
        if name in local:
            local[name].defaults.append((module, owner, parameter))


def reads(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Names, lines, and when they are read: on ``import``, on every ``run``, or ``compiled``."""
    yield from _reads(tree, "import")


def defaults(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Names that are defaults, with the function or dataclass and its parameter."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            args = node.args
            last = [*args.posonlyargs, *args.args][len(args.args) - len(args.defaults) :]
            pairs = zip([*last, *args.kwonlyargs], [*args.defaults, *args.kw_defaults], strict=True)
            for parameter, default in pairs:
                if isinstance(default, ast.Name):
                    yield default.id, node.name, parameter.arg
        elif isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.value, ast.Name):
                    yield line.value.id, node.name, ast.unparse(line.target)


def _reads(node: ast.AST, how: str) -> Iterator[tuple[str, int, str]]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id, node.lineno, how
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None and not isinstance(default, ast.Name):
                yield from _reads(default, how)
        compiled = {ast.unparse(d) for d in getattr(node, "decorator_list", [])} & COMPILED
        inside = "compiled" if compiled else "run"
        for part in node.body if isinstance(node.body, list) else [node.body]:
            yield from _reads(part, inside)
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.ClassDef) and _is_field(child)):
            yield from _reads(child, how)


def _is_field(node: ast.AST) -> bool:
    """Whether this is a field of a dataclass with a name as its default; see `defaults`."""
    return isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Name)
