"""The steps of a scikit-learn pipeline that precede our estimator, in files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class SavedStep:
    """A step: its name, its class of scikit-learn, parameters and fitted attributes."""

    name: str
    kind: str
    params: dict[str, Any]
    fitted: dict[str, Any]


def stored(pipeline: Any) -> tuple[list[SavedStep], str]:
    """The steps before the last one, and the name of the last."""
    from auctor.linear.estimators import steps

    *before, (last, _) = pipeline.steps
    return [SavedStep(name, *steps.describe_step(name, step)) for name, step in before], last


def made(saved: list[SavedStep], last: str, model: Any) -> Any:
    """The pipeline of some steps with a fitted model as its last step; imports scikit-learn."""
    from auctor.linear.estimators import steps

    before = [(one.name, steps.rebuild_step(one.kind, one.params, one.fitted)) for one in saved]
    return steps.pipeline([*before, (last, model)])
