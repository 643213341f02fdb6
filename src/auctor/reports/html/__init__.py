"""The HTML report: `page` fills the templates, `figures` and `svg` draw."""

from auctor.reports.html.page import MAX_COLUMNS, render
from auctor.reports.html.threshold import threshold_csv

__all__ = ["MAX_COLUMNS", "render", "threshold_csv"]
