"""Saving and loading the steps of a scikit-learn pipeline that precede our estimator."""

from __future__ import annotations

from typing import Any

from auctor.saved.values import CODEC, Arrays, Json, need


def describe(pipeline: Any, arrays: Arrays) -> list[Json]:
    """Names, classes, parameters and fitted attributes of the steps; of the last, only its name."""
    from auctor.linear import steps

    made: list[Json] = []
    *before, (last, _) = pipeline.steps
    for k, (name, step) in enumerate(before):
        kind, params, fitted = steps.describe_step(name, step)
        made.append(
            {
                "name": name,
                "class": kind,
                "params": _encoded(params, f"step.{k}.params", arrays),
                "fitted": _encoded(fitted, f"step.{k}.fitted", arrays),
            }
        )
    return [*made, {"name": last}]


def _encoded(values: dict[str, Any], where: str, arrays: Arrays) -> Json:
    """Values by name as JSON; adds their arrays to ``arrays``."""
    return {key: CODEC.encode(value, f"{where}.{key}", arrays) for key, value in values.items()}


def read(entries: Any, arrays: Arrays) -> list[Any]:
    """The steps of a file, of the last only its name; removes their arrays from ``arrays``."""
    from auctor.linear import steps

    need(isinstance(entries, list) and len(entries) > 0, "steps")
    made: list[Any] = []
    for entry in entries[:-1]:
        need(
            entry.keys() == {"name", "class", "params", "fitted"},
            "steps with name, class, params and fitted",
        )
        params, fitted = (
            {key: CODEC.decode(value, arrays) for key, value in entry[part].items()}
            for part in ("params", "fitted")
        )
        made.append((_name(entry), steps.rebuild_step(entry["class"], params, fitted)))
    need(entries[-1].keys() == {"name"}, "a last step")
    return [*made, _name(entries[-1])]


def _name(entry: Json) -> str:
    """The name of a step."""
    name = entry["name"]
    need(isinstance(name, str), "names of its steps")
    return str(name)


def made(steps: list[Any], model: Any) -> Any:
    """The pipeline of some steps with a fitted model as its last step."""
    from auctor.linear.steps import pipeline

    return pipeline([*steps[:-1], (steps[-1], model)])
