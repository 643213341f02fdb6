"""Reports: the numbers (`info`) and how they are drawn (`html`, `plots`).

Nothing here trains: a report is made from labels, scores and solutions.
"""

from auctor.reports.build import build_report, headline, model_info
from auctor.reports.curves import (
    Calibration,
    CalibrationBin,
    Curve,
    Histogram,
    LiftPoint,
    ThresholdTable,
)
from auctor.reports.html import render
from auctor.reports.info import (
    Candidate,
    ColumnInfo,
    Comparison,
    Convergence,
    DataInfo,
    Feature,
    Fit,
    Headline,
    MetricStep,
    ModelInfo,
    PathInfo,
    ReportInfo,
    Weights,
    plain,
)
from auctor.reports.intervals import Estimate
from auctor.reports.nodes import NodeMeasures, TaxonomyReport
from auctor.reports.taxonomy import render_taxonomy

__all__ = [
    "Calibration",
    "CalibrationBin",
    "Candidate",
    "ColumnInfo",
    "Comparison",
    "Convergence",
    "Curve",
    "DataInfo",
    "Estimate",
    "Feature",
    "Fit",
    "Headline",
    "Histogram",
    "LiftPoint",
    "MetricStep",
    "ModelInfo",
    "NodeMeasures",
    "PathInfo",
    "ReportInfo",
    "TaxonomyReport",
    "ThresholdTable",
    "Weights",
    "build_report",
    "headline",
    "model_info",
    "plain",
    "render",
    "render_taxonomy",
]
