"""Reports: their numbers (`info`), and pages and figures made of them (`html`, `plots`).

Nothing in this package trains a model; reports are made from labels, scores and solutions.
"""

from auctor.evaluate.build import build_report
from auctor.evaluate.curves_info import column_curves
from auctor.evaluate.info import DataInfo, ReportedModel
from auctor.reports.graph import draw_graph
from auctor.reports.html.page import render
from auctor.reports.pictures import curve_pictures
from auctor.reports.taxonomy import render_taxonomy

__all__ = [
    "DataInfo",
    "ReportedModel",
    "build_report",
    "column_curves",
    "curve_pictures",
    "draw_graph",
    "render",
    "render_taxonomy",
]
