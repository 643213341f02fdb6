"""The HTML report: `page` fills the templates, `figures` and `svg` draw."""

from auctor.reports.html.page import MAX_COLUMNS, render

__all__ = ["MAX_COLUMNS", "render"]
