"""What Tab offers: names of the registries, read from their source, since importing takes long."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import typer

#: A name and one line about it, as the shells show them.
Offer = tuple[str, str]


def metrics(incomplete: str) -> list[Offer]:
    """Names of metrics."""
    names = {name: _summary(call) for name, call in _metrics().items()}
    short = {name: f"short for {metric}" for name, metric in _aliases().items()}
    return _beginning(incomplete, names | short)


def surrogates(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Surrogates of the metric on the command line, or of all."""
    metric = str(ctx.params.get("metric") or "").partition("(")[0]
    calls = _metrics()
    metric = metric if metric in calls else str(_aliases().get(metric, "")).partition("(")[0]
    asked = [calls[metric]] if metric in calls else list(calls.values())
    known = _top_level("estimators/metric.py")
    found = {name: "" for call in asked for name in _entries(call.args[0], known)}
    return _beginning(incomplete, {"auto": "the metric's first", **found})


def penalties(incomplete: str) -> list[Offer]:
    """Names of penalties."""
    return _beginning(
        incomplete, dict.fromkeys(_registry("estimators/registry.py", "PENALTIES"), "")
    )


def solvers(incomplete: str) -> list[Offer]:
    """Names of solvers."""
    names = dict.fromkeys(_registry("solvers/choose.py", "SOLVERS"), "")
    return _beginning(incomplete, {"auto": "chosen for the problem", **names})


def formats(incomplete: str) -> list[Offer]:
    """Names of file formats."""
    names = dict.fromkeys(_registry("data/formats.py", "TABLES"), "")
    return _beginning(incomplete, {"auto": "by the name of the file", "svmlight": "", **names})


def learners(incomplete: str) -> list[Offer]:
    """Names of online learners."""
    bases: dict[str, list[str]] = {}
    lines: dict[str, str] = {}
    for file in files("auctor").joinpath("online").iterdir():
        if file.name.endswith(".py"):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    bases[node.name] = [
                        base.id for base in node.bases if isinstance(base, ast.Name)
                    ]
                    lines[node.name] = (ast.get_docstring(node) or "").partition("\n")[0]

    def learns(name: str) -> bool:
        return any(base == "OnlineClassifier" or learns(base) for base in bases.get(name, ()))

    exported = ast.literal_eval(_top_level("online/__init__.py")["__all__"])
    names = {learner_name(name): lines[name] for name in exported if learns(name)}
    return _beginning(incomplete, names)


def choices(*names: str) -> Callable[[str], list[Offer]]:
    """Offers fixed names."""

    def offer(incomplete: str) -> list[Offer]:
        return _beginning(incomplete, dict.fromkeys(names, ""))

    return offer


def learner_name(class_name: str) -> str:
    """What a user types for an online learner.

    Examples
    --------
    >>> learner_name("RegSolam"), learner_name("StreamingAUC")
    ('reg_solam', 'streaming')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
    return "streaming" if words == "streaming_auc" else words


def _beginning(incomplete: str, names: dict[str, str]) -> list[Offer]:
    return [(name, line) for name, line in names.items() if name.startswith(incomplete)]


def _metrics() -> dict[str, Any]:
    return _registry("estimators/metric.py", "METRICS")


def _aliases() -> dict[str, Any]:
    return {
        name: ast.literal_eval(value)
        for name, value in _registry("estimators/metric.py", "ALIASES").items()
    }


def _registry(path: str, name: str) -> dict[str, Any]:
    """Keys of a module's dictionary with the expressions of their values."""
    known = _top_level(path)
    return _entries(known[name], known)


@cache
def _top_level(path: str) -> dict[str, ast.expr]:
    """What a module assigns, by name."""
    text = files("auctor").joinpath(*path.split("/")).read_text(encoding="utf-8")
    found: dict[str, ast.expr] = {}
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(value, ast.expr):
                found[target.id] = value
    return found


def _entries(value: ast.expr, known: dict[str, ast.expr]) -> dict[str, Any]:
    """Entries of a dictionary that is written out, named, or the union of such."""
    if isinstance(value, ast.Name):
        return _entries(known[value.id], known)
    if isinstance(value, ast.BinOp):
        return _entries(value.left, known) | _entries(value.right, known)
    assert isinstance(value, ast.Dict)
    return {
        key.value: entry
        for key, entry in zip(value.keys, value.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _summary(call: ast.Call) -> str:
    """The line about a metric: the only text among its arguments."""
    texts = (a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
    return next(texts, "")
