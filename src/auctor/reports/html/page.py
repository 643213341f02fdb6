"""The numbers of a report as one HTML page that needs no network and no scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from auctor.core.optional import require
from auctor.evaluate.curves_info import CurvesInfo
from auctor.evaluate.info import ReportInfo
from auctor.evaluate.intervals import DRAWS
from auctor.reports.html import additive, figures, threshold
from auctor.reports.text import (
    GAP_MEANING,
    beta_name,
    describe_baseline,
    describe_comparison,
    describe_data,
    describe_fit,
    describe_reason,
    gap_text,
    number,
    short,
)
from auctor.tables.dates import day_text

if TYPE_CHECKING:
    from jinja2 import Environment

#: Largest number of columns of the data that are listed. It bounds the page's size.
MAX_COLUMNS = 200


def render(info: ReportInfo) -> str:
    """The page as text; needs jinja2.

    The ``value`` attribute of each ``<data>`` element has the exact value of its rounded text.
    """
    script = asset("report.js")
    first = info.models[0]
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            info=info,
            first=first,
            policy=_policy(script),
            style=asset("report.css"),
            script=script,
            numbers=embed(threshold.numbers(first)),
            panel=threshold.panel(info),
            curves=figures.curves(info),
            convergence=figures.convergence(info.models),
            path=figures.path(info.path) if info.path is not None else [],
            most_columns=MAX_COLUMNS,
            draws=DRAWS,
            gap_meaning=GAP_MEANING,
            additive=None if info.curves is None else additive_section(info.curves),
            drift_known=any(column.drift is not None for column in info.columns),
            drifting=[column.name for column in info.columns if column.drifts(len(info.columns))],
        )
    )


def additive_section(info: CurvesInfo) -> str:
    """The section of an additive model: curves, pairs and explained rows; needs jinja2."""
    drawn = {
        "columns": additive.curve_figures(info),
        "pairs": additive.pair_figures(info),
        "rows": additive.row_figures(info),
    }
    labelled = [curve.labels is not None for curve in info.columns]
    made = templates().get_template("additive.html.j2")
    return made.render(
        additive=drawn,
        drawn={
            "levels": any(labelled),
            "curves": not all(labelled),
            "columns": len(info.columns),
            "pairs": len(info.pairs),
        },
        curve_style=asset("curves.css"),
    )


@cache
def templates() -> Environment:
    """The templates, with the functions of `auctor.reports.text` as filters."""
    jinja2 = require("jinja2", extra="cli")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("auctor.reports.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "exactly": repr,
        "number": number,
        "short": short,
        "beta_name": beta_name,
        "gap_text": gap_text,
        "describe_data": describe_data,
        "describe_comparison": describe_comparison,
        "describe_baseline": describe_baseline,
        "describe_fit": describe_fit,
        "describe_reason": describe_reason,
        "day_text": day_text,
        "thousands": "{:,}".format,
        "style": figures.style,
    }
    return environment


def embed(value: object) -> str:
    r"""JSON in which no text can end the script element around it.

    Examples
    --------
    >>> embed({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def asset(name: str) -> str:
    """The text of a style sheet or a script of the page."""
    return resources.files("auctor.reports.html").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """The content security policy: only the page's own script and style are allowed."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
