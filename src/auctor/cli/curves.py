"""Options of additive models, which have a curve for each column."""

from __future__ import annotations

from typing import Annotated

import typer

from auctor.cli import names

ModelKind = Annotated[
    str,
    typer.Option(
        help="Kind of model: linear, or additive for a curve for each column.",
        autocompletion=names.choices("linear", "additive"),
    ),
]
Bins = Annotated[
    int, typer.Option(min=2, max=254, help="With additive: largest number of bins per column.")
]
Monotone = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=1,COLUMN=-1",
        help="With additive: columns whose curves may only rise (1) or fall (-1).",
        show_default=False,
    ),
]
Interactions = Annotated[
    int, typer.Option(min=0, help="With additive: how many pairs of columns to add, best first.")
]
