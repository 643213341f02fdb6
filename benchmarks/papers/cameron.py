"""The lecture notes: figures, and the worked examples X1 to X22, notes beside ours."""

from __future__ import annotations

import ast
from pathlib import Path

from benchmarks.papers.record import read, report, stored
from benchmarks.run import Settings, bar, table

name = "cameron"
TESTS = Path(__file__).resolve().parents[2] / "tests" / "test_lecture_notes.py"
#: Examples without a number of their own in the results: what the notes say, and what holds.
WORDS = {
    "X1": ("every category of RCV1 is linearly separable from the rest", "more columns than rows "
           "can always be separated; the whole of RCV1 is not in the data folder"),
    "X2": ("two clouds with variance 1 are separable", "at that spread hardly ever; with a "
           "deviation of 0.2 always"),
    "X5": ("gradients of ten integers: mean x - 5.5, variance 8.25", "the same"),
    "X18": ("the lasso solution lies in a corner", "the shortest point in the 1-norm has a zero"),
    "X21": ("networks of 8 to 152 layers", "a network of eight layers trains"),
    "X22": ("sqrt(x^2 + 1) is strictly but not strongly convex", "the same"),
}  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Nothing is measured here: the numbers are those of the section notes of classical.md."""
    return summary({})


def proofs() -> dict[str, str]:
    """The test of every example, from the list in the tests."""
    for node in ast.parse(TESTS.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "INDEX":
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {key.value: value.elts[1].value for key, value in pairs}
    return {}


def summary(made: dict, notes: list[str] | None = None) -> dict[str, object]:
    """The figures, and one table of the examples."""
    measured: dict[str, list] = {}
    for example, what, source, printed, ours, ratio in stored("classical", "notes", "Notes"):
        measured.setdefault(example, []).append([what, source, printed, ours, ratio])
    tests, rows = proofs(), []
    for number in range(1, 23):
        example = f"X{number}"
        test = tests.get(example, "-")
        lines = measured.get(example)
        if lines:
            rows += [[example, *line, test] for line in lines]
        else:
            said, holds = WORDS.get(example, ("-", "-"))
            rows.append([example, said, "in words", "-", holds, "-", test])
    head = ["example", "what", "number", "notes", "ours", "ours / notes", "test"]
    found = report(read("cameron"), {}, [table("Examples X1 to X22: notes / ours", head, rows)],
                   made, [*(notes or []), *NOTES])  # fmt: skip
    shown = {row[0] for row in rows}
    return found | {"bars": [*found["bars"], bar("examples in the table", len(shown), 22)]}


NOTES = (
    "Numbers are those of classical.md, section notes; every example has a test besides.",
    "Exact: does not depend on the run. Printed: a count or an error of the notes' own run.",
)
