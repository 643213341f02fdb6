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
from auctor.reports.curves_info import ColumnCurve, PairMap, column_curves, pair_maps
from auctor.reports.curves_plots import curve_svg, draw_curve, draw_pair
from auctor.reports.graph import draw_graph
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
    "ColumnCurve",
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
    "PairMap",
    "PathInfo",
    "ReportInfo",
    "TaxonomyReport",
    "ThresholdTable",
    "Weights",
    "build_report",
    "column_curves",
    "curve_svg",
    "draw_curve",
    "draw_graph",
    "draw_pair",
    "headline",
    "model_info",
    "pair_maps",
    "plain",
    "render",
    "render_taxonomy",
]
