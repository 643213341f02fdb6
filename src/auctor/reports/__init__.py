"""Reports: the numbers (`info`), how they are drawn (`svg`, `html`) and written (`files`).

Nothing here trains: a report is made from labels, scores and solutions.
"""

from auctor.reports.files import check_destination, write_text
from auctor.reports.html import render
from auctor.reports.info import (
    Comparison,
    Convergence,
    Curve,
    DataInfo,
    ModelInfo,
    ReportInfo,
    compare,
    model_info,
    plain,
)

__all__ = [
    "Comparison",
    "Convergence",
    "Curve",
    "DataInfo",
    "ModelInfo",
    "ReportInfo",
    "check_destination",
    "compare",
    "model_info",
    "plain",
    "render",
    "write_text",
]
