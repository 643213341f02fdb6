"""Reasons in SQL queries and ONNX graphs: the columns that raise a score most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive import reasons as curves
from auctor.additive.model import AdditiveModel, AdditiveRegressionModel
from auctor.additive.ranges import sql_literal, sql_name
from auctor.core.errors import DataError, ParameterError
from auctor.core.types import FloatArray
from auctor.fit import reasons as lines
from auctor.fit.model import LinearModel, RegressionModel
from auctor.tables.schema import Column

#: Columns with a part of the score, at most, in a query: SQLite unites no more rows.
MOST_SUMMANDS = 500


class Asked(NamedTuple):
    """How many reasons a file should give, compared with what, in which words."""

    most: int
    baseline: str
    texts: Mapping[str, str]

    @property
    def columns(self) -> list[str]:
        """Names of the columns that a query adds."""
        fields = ("", "_text", "_value", "_part") if self.texts else ("", "_value", "_part")
        numbered = [f"reason_{m}{field}" for m in range(1, self.most + 1) for field in fields]
        return [*numbered, "baseline", "rest"]


class Summand(NamedTuple):
    """A column, or pair, with its part of the score and its value as SQL expressions."""

    name: str
    part: str
    value: str


def names_and_base(
    model: LinearModel | RegressionModel, columns: Sequence[Column], asked: Asked
) -> tuple[list[str], FloatArray]:
    """Names of the columns and pairs, and what each adds to the score of the baseline."""
    if model.coef.shape[0] > 1:
        raise DataError(
            f"one score for reasons; got {model.coef.shape[0]} classes. Fit one class against the "
            "rest."
        )
    coef = model.sign * model.coef[0]
    if isinstance(model, AdditiveModel | AdditiveRegressionModel):
        names = list(model.part_names([name for one in columns for name in one.features]))
        base = curves.baseline_parts(model.bins, coef, asked.baseline)
    else:
        names = [column.name for column in columns]
        ranges = lines.known_ranges(model.ranges)
        base = lines.baseline_parts(coef, ranges, columns, asked.baseline)
    lines.check_reasons(asked.most, asked.baseline, asked.texts, names)
    return names, base


def reason_columns(asked: Asked, summands: Sequence[Summand]) -> dict[str, list[str]]:
    """The names of the reasons as scalar subqueries on the rows of the table, by column."""
    if len(summands) > MOST_SUMMANDS:
        raise ParameterError(
            f"at most {MOST_SUMMANDS} columns with weights for reasons in SQL; got "
            f"{len(summands)}. Fit with an l1 penalty, or use ONNX."
        )
    union = " UNION ALL ".join(
        f"SELECT {place} AS place, {sql_literal(one.name)} AS name, {one.part} AS part"
        for place, one in enumerate(summands)
    )
    pick = (
        "(SELECT name FROM ({}) parts WHERE part > 0 ORDER BY part DESC, place LIMIT 1 OFFSET {})"
    )
    return {f"reason_{m + 1}": [pick.format(union, m)] for m in range(asked.most)}


def described(asked: Asked, summands: Sequence[Summand], baseline: float) -> dict[str, str]:
    """Expressions for texts, values and parts of the reasons, and for the baseline, by column."""
    added: dict[str, str] = {}
    for m in range(1, asked.most + 1):
        reason = f"reason_{m}"
        if asked.texts:
            texts = {name: sql_literal(text) for name, text in asked.texts.items()}
            added[f"{reason}_text"] = _case(reason, texts, reason)
        values = {one.name: one.value for one in summands}
        added[f"{reason}_value"] = _case(reason, values, "NULL")
        added[f"{reason}_part"] = _case(reason, {one.name: one.part for one in summands}, "0.0")
    return added | {"baseline": repr(baseline)}


def rest(asked: Asked, score: str) -> str:
    """The expression for the sum of the parts that are no reasons."""
    parts = " - ".join(f"reason_{m}_part" for m in range(1, asked.most + 1))
    return f"{score} - baseline - {parts}"


def _case(column: str, replies: Mapping[str, str], other: str) -> str:
    cases = " ".join(f"WHEN {sql_literal(name)} THEN {what}" for name, what in replies.items())
    return f"CASE {column} {cases} ELSE {other} END" if cases else other


def summands(
    names: Sequence[str], base: FloatArray, parts: Mapping[str, str], values: Mapping[str, str]
) -> Iterator[Summand]:
    """The columns that have a part, by name, minus their parts of the baseline."""
    for name, least in zip(names, base.tolist(), strict=True):
        if name in parts:
            yield Summand(name, f"({parts[name]}) - ({least!r})", values[name])


def as_words(columns: Sequence[str]) -> str:
    """The values of columns as text; of a pair, both."""
    return " || ', ' || ".join(f"CAST({sql_name(column)} AS VARCHAR(200))" for column in columns)


# --- ONNX -----------------------------------------------------------------------------------------


def add_reasons(
    graph: Any, asked: Asked, names: Sequence[str], base: FloatArray, offset: float, parts: str
) -> None:
    """Add the outputs of reasons to a graph; ``parts`` has the part of each column, (rows, P)."""
    kinds, count = graph.kinds, len(names)
    above = graph.add("Sub", parts, graph.constant("baseline_parts", base[None, :]))
    # Places that no column fills: columns of zeros behind all others, with empty names.
    room = graph.constant("room", np.array([0, 0, 0, asked.most]))
    wide = graph.add("Pad", above, room)
    most = graph.constant("n_reasons", np.array([asked.most]))
    graph.nodes.append(
        graph.onnx.helper.make_node(
            "TopK", [graph.add("Relu", wide), most], ["reason_parts", "reason_places"], axis=1
        )
    )
    places = graph.add(
        "Where",
        graph.add("Greater", "reason_parts", graph.constant("no_part", np.float64(0.0))),
        "reason_places",
        graph.constant("no_place", np.int64(count)),
    )
    shape = ["rows", asked.most]
    tables = {"reason_names": [*names, ""]}
    if asked.texts:
        tables["reason_texts"] = [*(asked.texts.get(name, name) for name in names), ""]
    for output, words in tables.items():
        graph.add("Gather", graph.constant(f"all_{output}", np.array(words)), places, name=output)
        graph.output(output, kinds.STRING, shape)
    graph.output("reason_parts", kinds.DOUBLE, shape)
    axis = graph.constant("reasons_axis", np.array([1]))
    total = graph.add("ReduceSum", above, axis, keepdims=0)
    mine = graph.add("ReduceSum", "reason_parts", axis, keepdims=0)
    graph.add("Sub", total, mine, name="rest")
    graph.output("rest", kinds.DOUBLE, ["rows"])
    graph.add("Identity", graph.constant("score_of_baseline", offset + base.sum()), name="baseline")
    graph.output("baseline", kinds.DOUBLE, [])
