"""Texts of errors and warnings mark the parameters that they name by backticks.

"`tol` to be positive" reads ``tol`` in Python and ``--tol`` on the command line; a name that is
typed without backticks is wrong in one of the two.
"""

import ast
import re
from dataclasses import fields
from pathlib import Path

from auctor.core import errors
from auctor.fit.parameters import RegressorParameters
from auctor.linear.table_parameters import TableParameters
from auctor.tables.options import ReadOptions

SOURCE = Path(errors.__file__).parents[1]
KINDS = {name for name in vars(errors) if name.endswith(("Error", "Warning", "Lost"))}
PARAMETERS = {
    one.name for kind in (RegressorParameters, TableParameters, ReadOptions) for one in fields(kind)
}
#: What follows the name of a parameter at the start of a sentence.
CONDITION = r"(\w+) (to (be|map|name|hold)\b|[<>]=? |in [\[(]|of at (most|least))"


def text_of(node):
    """The literal part of a text; what is filled in becomes a dot."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) for part in node.values)
    return "·"


def messages(tree):
    """Texts of every error and warning that a file makes, by argument, with the line."""
    for node in ast.walk(tree):
        name = node.func.id if isinstance(node, ast.Call) and hasattr(node.func, "id") else None
        if name in KINDS:
            given = dict(zip(["needs"], node.args, strict=False))
            given |= {one.arg: one.value for one in node.keywords}
            texts = {key: text_of(value) for key, value in given.items()}
            needs, _, got = texts.get("needs", "").partition("; got ")
            got, _, todo = got.partition(". ")
            yield node.lineno, {"got": got, "todo": todo} | texts | {"needs": needs}


def typed_by_hand(texts):
    """What is wrong with the texts of one message."""
    for key in ("needs", "got", "todo", "does"):
        text = re.sub("`[^`]+`", "", texts.get(key, ""))
        if re.search(r"(^|[\s(])--[a-z·]", text):
            yield f"{key} types an option: {text}"
        outside_calls = re.sub(r"\w+\([^)]*\)?", "", text)  # column_curves(model, score=k) is code
        if key != "got" and re.search(r"\b[a-z]\w*=(?![=A-Z])", outside_calls):
            yield f"{key} types a parameter: {text}"
    needs = texts.get("needs", "")
    first = re.match(r"\w+", needs)
    named = first is not None and "_" in first[0] and first[0] in PARAMETERS
    if named or re.match(CONDITION, needs):
        yield f"needs types a parameter: {needs}"


def test_the_rule_finds_names_that_are_typed_by_hand():
    bad = [
        'DataError("--out FILE")',
        'DataError("a file", todo="Drop (--out) first.")',
        "ParameterError(\"solver='lbfgs' for shards\")",
        'ParameterError("rows", todo=f"Pass free={x}.")',
        'ParameterError("tol to be positive")',
        'ParameterError(f"k of at most {n}")',
        'ParameterError("class_weight of the classes")',
        'DataWarning(does="uses cv=5")',
    ]
    assert all(list(typed_by_hand(texts)) for one in bad for _, texts in messages(ast.parse(one)))
    fine = [
        'ParameterError("`tol` to be positive; got 3. Pass `tol=2`.")',
        'DataError("columns of numbers", todo="Call df.dropna(subset=[1]).")',
        'ParameterError("{option} COLUMN=PATTERN", got="tol=3", option="date")',
        'DataWarning(does="measures on the training rows")',
    ]
    assert len([1 for one in bad + fine for _ in messages(ast.parse(one))]) == len(bad + fine)
    assert [t for one in fine for _, x in messages(ast.parse(one)) for t in typed_by_hand(x)] == []


def test_no_parameter_is_typed_into_a_message():
    found, count = [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        for line, texts in messages(ast.parse(path.read_text(encoding="utf-8"))):
            count += 1
            place = f"{path.relative_to(SOURCE)}:{line}"
            found += [f"{place}: {wrong}" for wrong in typed_by_hand(texts)]
    assert count > 400
    assert found == []
