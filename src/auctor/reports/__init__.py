"""Reports: their numbers (`info`), and pages and figures made of them (`html`, `plots`).

Nothing in this package trains a model; reports are made from labels, scores and solutions.
"""

from auctor.evaluate.build import build_report, headline, model_info
from auctor.evaluate.curves import (
    CalibrationBin,
    Curve,
    Histogram,
    LiftPoint,
    ReliabilityCurve,
    ThresholdTable,
)
from auctor.evaluate.curves_info import (
    ColumnCurve,
    CurvesInfo,
    PairMap,
    ScoreParts,
    column_curves,
    curves_info,
    pair_maps,
    row_parts,
)
from auctor.evaluate.info import (
    ColumnInfo,
    Comparison,
    Convergence,
    DataInfo,
    Feature,
    FitInfo,
    Headline,
    MetricStep,
    ModelInfo,
    PathInfo,
    ReportedModel,
    ReportInfo,
    Weights,
)
from auctor.evaluate.intervals import Estimate
from auctor.evaluate.rows import CostlyRow, MeasuredRows, Reason
from auctor.evaluate.slices import Slice, Sliced
from auctor.evaluate.trained_metric import Baseline, ReportedMetric, Rival, TrainedMetric
from auctor.hierarchy.measures import NodeMeasures, TaxonomyReport
from auctor.reports.curves_plots import draw_curve, draw_pair, draw_row
from auctor.reports.graph import draw_graph
from auctor.reports.html import render, threshold_csv
from auctor.reports.html.additive import curve_svg, pair_svg, row_svg
from auctor.reports.pictures import CurvePictures, curve_pictures
from auctor.reports.taxonomy import render_taxonomy

__all__ = [
    "Baseline",
    "CalibrationBin",
    "ColumnCurve",
    "ColumnInfo",
    "Comparison",
    "Convergence",
    "CostlyRow",
    "Curve",
    "CurvePictures",
    "CurvesInfo",
    "DataInfo",
    "Estimate",
    "Feature",
    "FitInfo",
    "Headline",
    "Histogram",
    "LiftPoint",
    "MeasuredRows",
    "MetricStep",
    "ModelInfo",
    "NodeMeasures",
    "PairMap",
    "PathInfo",
    "Reason",
    "ReliabilityCurve",
    "ReportInfo",
    "ReportedMetric",
    "ReportedModel",
    "Rival",
    "ScoreParts",
    "Slice",
    "Sliced",
    "TaxonomyReport",
    "ThresholdTable",
    "TrainedMetric",
    "Weights",
    "build_report",
    "column_curves",
    "curve_pictures",
    "curve_svg",
    "curves_info",
    "draw_curve",
    "draw_graph",
    "draw_pair",
    "draw_row",
    "headline",
    "model_info",
    "pair_maps",
    "pair_svg",
    "render",
    "render_taxonomy",
    "row_parts",
    "row_svg",
    "threshold_csv",
]
