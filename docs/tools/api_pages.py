"""The API reference, from the docstrings of every public name."""

import functools
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

#: Page by page: the module whose ``__all__`` it covers, and its helpers that are documented too.
MODULES = {
    "auctor": ["auctor", "auctor.saved"],
    "kernel": ["auctor.kernel"],
    "losses": ["auctor.losses"],
    "penalties": ["auctor.penalties"],
    "solvers": ["auctor.solvers"],
    "qp": ["auctor.lab.qp"],
    "completion": ["auctor.lab.completion"],
    "least_squares": ["auctor.lab.least_squares"],
    "maps": ["auctor.lab.maps"],
    "metrics": ["auctor.metrics"],
    "data": ["auctor.data", "auctor.tables"],
    "online": ["auctor.streaming"],
    "covariance": ["auctor.covariance"],
    "tune": ["auctor.tune"],
    "boost": ["auctor.boost"],
    "hierarchy": ["auctor.hierarchy", "auctor.hierarchy.metrics", "auctor.hierarchy.policies"],
    "forecast": ["auctor.forecast", "auctor.forecast.metrics"],
    "reports": ["auctor.reports"],
    "testing": ["auctor.testing"],
}
#: Libraries whose methods our classes inherit, by the name of their package.
LIBRARIES = {"sklearn": "scikit-learn"}
#: Sections of numpydoc that list names.
LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")


def make_pages() -> dict[str, str]:
    """Pages by name, with an index."""
    pages = {name: _page(modules) for name, modules in MODULES.items()}
    return {"index": _index(), **pages}


def public_names(module: ModuleType) -> list[str]:
    """What a module exports, modules aside."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
    return [name for name in listed if not isinstance(getattr(module, name), ModuleType)]


def _index() -> str:
    out = ["# Reference", "Every public name, from its docstring."]
    for page, modules in MODULES.items():
        for module in map(importlib.import_module, modules):
            names = [
                f"[`{name}`]({page}.md#{_anchor(module, name)})" for name in public_names(module)
            ]
            if names:
                out += [f"## {module.__name__}", _summary(module), ", ".join(names) + "."]
    return "\n\n".join(out) + "\n"


def _page(modules: list[str]) -> str:
    out = []
    for level, module in enumerate(map(importlib.import_module, modules)):
        names = public_names(module)
        if level and not names:
            continue
        out.append(f"{'#' * (1 + bool(level))} {module.__name__}")
        out.append(to_markdown(inspect.getdoc(module) or ""))
        for name in names:
            heading = f"## {name} {{ #{_anchor(module, name)} }}"
            out += [heading, *_entry(name, getattr(module, name), module)]
    return "\n\n".join(out) + "\n"


def _anchor(module: ModuleType, name: str) -> str:
    return f"{module.__name__}.{name}"


def _entry(name: str, value: Any, module: ModuleType) -> Iterator[str]:
    """Signature, docstring and, for a class, its members."""
    signature = _signature(name, value)
    if signature:
        yield f"```python\n{signature}\n```"
    yield to_markdown(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        listed = [getattr(module, other) for other in public_names(module)]
        yield from _members(
            value, next((b for b in value.__mro__[1:] if b in listed), None), module
        )


def _members(kind: type, base: type | None, module: ModuleType) -> Iterator[str]:
    """Public methods and properties: a line each, or all of their text.

    Those of a base on the same page, and of other libraries, are named; their text is there.
    """
    short, long = [], []
    known = {} if base is None else _own(base)
    if base is not None and known:
        short.append(
            f"- Inherited from [`{base.__name__}`](#{_anchor(module, base.__name__)}): "
            f"{_named(known)}"
        )
    short += [
        f"- Inherited from {library}: {_named(names)}" for library, names in _foreign(kind).items()
    ]
    for name, member in _own(kind).items():
        if name in known:
            continue
        doc = inspect.getdoc(getattr(kind, name, member)) or ""
        if not doc:
            continue
        plain = isinstance(member, property | functools.cached_property)
        shown = name if plain else _signature(name, getattr(kind, name), method=True)
        if "\n\n" in doc and not plain:
            long.append(f"### {name} {{ #{kind.__module__}.{kind.__qualname__}.{name} }}")
            long.append(f"```python\n{shown}\n```")
            long.append(to_markdown(doc))
        else:
            short.append(f"- `{' '.join(shown.split())}`: {_first_line(doc)}")
    if short:
        yield "\n".join(short)
    yield from long


def _own(kind: type) -> dict[str, Any]:
    """Members by name that classes of auctor define, the fields of named tuples aside."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("auctor"):
            continue
        fields = set(getattr(base, "_fields", ())) | set(getattr(base, "__dataclass_fields__", ()))
        for name, member in vars(base).items():
            if not name.startswith("_") and name not in fields and _is_member(member):
                found[name] = member
    return found


def _foreign(kind: type) -> dict[str, list[str]]:
    """Methods that other libraries than Python's own define, by library."""
    found: dict[str, list[str]] = {}
    for name in sorted(name for name in dir(kind) if not name.startswith("_")):
        owner = next((base for base in kind.__mro__ if name in vars(base)), kind)
        library = owner.__module__.partition(".")[0]
        if library in LIBRARIES and _is_member(vars(owner)[name]):
            found.setdefault(LIBRARIES[library], []).append(name)
    return found


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."


def _is_member(member: Any) -> bool:
    kinds = property | functools.cached_property | classmethod | staticmethod
    return isinstance(member, kinds) or inspect.isfunction(member) or hasattr(member, "fn")


def _signature(name: str, value: Any, *, method: bool = False) -> str:
    """A call without annotations, on several lines where it is long; empty if there is none."""
    if not callable(value) or (inspect.isclass(value) and issubclass(value, BaseException)):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(...)"
    empty = inspect.Parameter.empty
    given = [p.replace(annotation=empty) for p in signature.parameters.values()]
    if method and given and given[0].name == "self":
        given = given[1:]
    bare = signature.replace(parameters=given, return_annotation=inspect.Signature.empty)
    line = re.sub(r"<factory>", "...", f"{name}{bare}")
    if len(line) <= 88:
        return line
    inside = line[len(name) + 1 : -1]
    return (
        f"{name}(\n{textwrap.fill(inside, 88, initial_indent='    ', subsequent_indent='    ')}\n)"
    )


def _summary(value: Any) -> str:
    return _first_line(inspect.getdoc(value) or "")


def _first_line(doc: str) -> str:
    return doc.partition("\n\n")[0].replace("\n", " ")


def to_markdown(doc: str) -> str:
    """A numpydoc docstring as Markdown."""
    out = []
    for title, lines in _sections(doc):
        if title:
            out.append(f"**{title}**")
        out.append(_entries(lines) if title in LISTS else _prose(lines))
    return "\n\n".join(text for text in out if text)


def _sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Titles with their lines; the first has no title."""
    lines = doc.splitlines()
    starts = [k for k in range(len(lines) - 1) if lines[k].strip() and _is_rule(lines[k + 1])]
    ends = [*starts, len(lines)]
    yield "", lines[: ends[0]]
    for start, end in zip(starts, ends[1:], strict=True):
        yield lines[start].strip(), lines[start + 2 : end]


def _is_rule(line: str) -> bool:
    return len(line) >= 3 and set(line.strip()) == {"-"}


def _entries(lines: list[str]) -> str:
    """``name : type`` lines with indented text, as a list."""
    out: list[str] = []
    k = 0
    while k < len(lines):
        head = lines[k]
        k += 1
        if not head.strip():
            continue
        body = []
        while k < len(lines) and (not lines[k].strip() or lines[k].startswith(" ")):
            body.append(lines[k])
            k += 1
        name, _, kind = head.partition(" : ")
        shown = ", ".join(f"`{part.strip()}`" for part in name.split(","))
        text = _prose(textwrap.dedent("\n".join(body)).splitlines())
        item = f"- {shown}" + (f": {_escape(kind)}" if kind else "")
        out.append(item + (f"\n\n{textwrap.indent(text, '    ')}" if text else ""))
    return "\n\n".join(out)


def _prose(lines: list[str]) -> str:
    """Text with its doctests, tables and literal blocks fenced."""
    blocks = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    out: list[str] = []
    literal = False
    for block in blocks:
        text = textwrap.dedent(block)
        if not text.strip():
            continue
        if text.startswith(">>>"):
            out.append(f"```pycon\n{text}\n```")
        elif text.startswith("==="):
            out.append(f"```text\n{text.replace('``', '')}\n```")
        elif literal and block.startswith(" "):
            out.append(f"```python\n{text}\n```")
            continue
        elif block.startswith("    "):
            out.append(f"```text\n{text.replace('``', '')}\n```")
        else:
            out.append(_escape(re.sub(r"::$", ":", text)))
        literal = text.endswith("::")
    return "\n\n".join(out)


def _escape(text: str) -> str:
    """Text whose asterisks and angle brackets outside code mean themselves."""
    pieces = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.DOTALL)
    return "".join(
        piece if piece.startswith("`") else piece.replace("*", "\\*").replace("<", "&lt;")
        for piece in pieces
    )
