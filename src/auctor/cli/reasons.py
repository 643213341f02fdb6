"""The columns of ``auctor predict --reasons``: why each row scores above a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli import names
from auctor.cli.config import load

if TYPE_CHECKING:
    from auctor.core.types import Array

Reasons = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1000,
        help="Write the columns that raise the score most, as many as this, with their values and "
        "what each adds; not to .npy files.",
        show_default=False,
    ),
]
Baseline = Annotated[
    str,
    typer.Option(
        help="What reasons compare a row with: the mean of the training rows, or the best score "
        "that can be attained (the lowest one).",
        autocompletion=names.choices("mean", "best"),
    ),
]
ReasonTexts = Annotated[
    Path | None,
    typer.Option(
        help='TOML file with texts of columns: income = "Income is low for the amount".',
        show_default=False,
    ),
]


class ReasonJob(NamedTuple):
    """How many reasons to write, compared with what, in which words."""

    most: int
    baseline: str
    texts: dict[str, str]

    @property
    def columns(self) -> list[str]:
        """Names of the columns to write."""
        fields = ("", "_text", "_value", "_part") if self.texts else ("", "_value", "_part")
        numbered = [f"reason_{m}{field}" for m in range(1, self.most + 1) for field in fields]
        return [*numbered, "baseline", "rest"]

    def arrays(self, model: Any, rows: Any) -> list[Array]:
        """The columns for some rows; ``score = baseline + the parts + rest``."""
        import numpy as np

        reasons = model.reasons(rows, self.most, baseline=self.baseline, texts=self.texts)
        values = np.array([as_text(value) for value in reasons.values.ravel()], dtype=object)
        tables = [reasons.names, values.reshape(reasons.parts.shape), reasons.parts]
        if self.texts:
            tables.insert(1, reasons.sentences)
        numbered = [table[:, m] for m in range(self.most) for table in tables]
        return [*numbered, np.full(reasons.rest.size, reasons.baseline), reasons.rest]


def as_text(value: Any) -> str:
    """A value as text, "" where missing."""
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def reason_job(
    count: int | None, baseline: str, texts: Path | None, model: Any, kind: str
) -> ReasonJob | None:
    """What was asked of reasons; refuses models that are no sums and files without text."""
    from auctor.core.errors import ParameterError

    if count is None:
        if texts is not None:
            raise ParameterError("`reasons` N; got `reason_texts` alone. Add `reasons`.")
        return None
    if not hasattr(model, "reasons"):
        raise ParameterError(
            "a linear or additive model for `reasons`, whose scores are sums over columns; got "
            "another kind of model. Train one with auctor train."
        )
    if kind == "npy":
        raise ParameterError(
            "a file that can hold text for `reasons`; got .npy. Write .csv, .tsv or .parquet."
        )
    return ReasonJob(count, baseline, {} if texts is None else read_texts(texts))


def read_texts(path: Path) -> dict[str, str]:
    """The texts of columns from a TOML file, by the names of the columns."""
    from auctor.core.errors import ParameterError

    texts = load(path)
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    if wrong:
        raise ParameterError(
            f"a text for each column; got {wrong[0]} = {texts[wrong[0]]!r} in {path}. Quote it."
        )
    return texts
