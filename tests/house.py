"""What the rules of the house share: the files of the package, as texts and as trees."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "auctor"
FILES = sorted(SOURCE.rglob("*.py"))


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
